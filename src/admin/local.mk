# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libadmin.a
libadmin_a_CFLAGS = $(AM_CFLAGS) $(MICROHTTPD_CFLAGS)
libadmin_a_SOURCES = \
	src/admin/admin.c src/admin/admin.h \
	src/admin/metrics.c src/admin/metrics.h
