# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libconfig.a
libconfig_a_CFLAGS = $(AM_CFLAGS) $(YAML_CFLAGS)
libconfig_a_SOURCES = \
	src/config/attached.c \
	src/config/auth.c \
	src/config/backends.c \
	src/config/config.c src/config/config.h \
	src/config/document.c src/config/document.h \
	src/config/dsn.c src/config/dsn.h \
	src/config/dump.c \
	src/config/guess.c \
	src/config/listen.c \
	src/config/namespaces.c \
	src/config/notes.c \
	src/config/reader.c src/config/reader.h \
	src/config/renew.c \
	src/config/report.c src/config/report.h \
	src/config/scalar.c src/config/scalar.h \
	src/config/schema.c src/config/schema.h \
	src/config/section.c \
	src/config/tokens.c \
	src/config/utf8.c src/config/utf8.h
