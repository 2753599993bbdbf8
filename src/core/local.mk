# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libcore.a
libcore_a_SOURCES = \
	src/core/capability.c src/core/capability.h \
	src/core/admin.h \
	src/core/board.c src/core/board.h \
	src/core/control.c src/core/control.h \
	src/core/driver.h \
	src/core/holder.c src/core/holder.h \
	src/core/lease.h \
	src/core/limits.h \
	src/core/meter.c src/core/meter.h \
	src/core/op.c src/core/op.h \
	src/core/option.h \
	src/core/rules.c src/core/rules.h \
	src/core/service.c src/core/service.h \
	src/core/settings.c src/core/settings.h \
	src/core/verifier.h \
	src/core/worker.h
