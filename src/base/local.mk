# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libbase.a
libbase_a_SOURCES = \
	src/base/arena.c src/base/arena.h \
	src/base/bytes.c src/base/bytes.h \
	src/base/check.c src/base/check.h \
	src/base/clock.c src/base/clock.h \
	src/base/err.c src/base/err.h src/base/err.def \
	src/base/log.c src/base/log.h
