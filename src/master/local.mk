# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libmaster.a
libmaster_a_SOURCES = \
	src/master/attendant.c src/master/attendant.h \
	src/master/child.c \
	src/master/daemon.c src/master/daemon.h \
	src/master/inherit.c src/master/inherit.h \
	src/master/listen.c src/master/listen.h \
	src/master/listen_unix.c src/master/listen_unix.h \
	src/master/lockfile.c src/master/lockfile.h \
	src/master/master.c src/master/master.h \
	src/master/notify.c src/master/notify.h \
	src/master/owner.c src/master/owner.h \
	src/master/reload.c \
	src/master/retry.c src/master/retry.h \
	src/master/state.h \
	src/master/state_dir.c src/master/state_dir.h \
	src/master/upgrade.c src/master/upgrade.h
