# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libpg.a
libpg_a_CFLAGS = $(AM_CFLAGS) $(PQ_CFLAGS)
libpg_a_SOURCES = \
	src/pg/ask.c \
	src/pg/ask.h \
	src/pg/barrier.c \
	src/pg/barrier.h \
	src/pg/board.c \
	src/pg/board.h \
	src/pg/call.c \
	src/pg/call.h \
	src/pg/connector.c \
	src/pg/connector.h \
	src/pg/driver.c \
	src/pg/driver.h \
	src/pg/engine.c \
	src/pg/engine.h \
	src/pg/failure.c \
	src/pg/failure.h \
	src/pg/key.c \
	src/pg/key.h \
	src/pg/kinds.c \
	src/pg/kinds.h \
	src/pg/link.c \
	src/pg/link.h \
	src/pg/list.c \
	src/pg/look.c \
	src/pg/mail.c \
	src/pg/mail.h \
	src/pg/metadata.c \
	src/pg/metadata.h \
	src/pg/reap.c \
	src/pg/reap.h \
	src/pg/schema.c \
	src/pg/schema.h \
	src/pg/session.c \
	src/pg/session.h \
	src/pg/shared.h \
	src/pg/sql.c \
	src/pg/sql.h \
	src/pg/thread.c \
	src/pg/thread.h \
	src/pg/ticket.c \
	src/pg/ticket.h \
	src/pg/timer.c \
	src/pg/timer.h \
	src/pg/undo.c \
	src/pg/undo.h \
	src/pg/value.c \
	src/pg/value.h \
	src/pg/wait.c \
	src/pg/wait.h \
	src/pg/worker.c \
	src/pg/worker.h
EXTRA_DIST += etc/schema.sql
