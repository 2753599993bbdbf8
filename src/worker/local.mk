# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libworker.a
libworker_a_CFLAGS = $(AM_CFLAGS) $(GRPC_CFLAGS) $(PROTOBUF_C_CFLAGS)
libworker_a_SOURCES = \
	src/worker/acceptor.c src/worker/acceptor.h \
	src/worker/allocator.c src/worker/allocator.h \
	src/worker/call.c src/worker/call.h \
	src/worker/codec.c src/worker/codec.h \
	src/worker/descriptors.h \
	src/worker/health.c src/worker/health.h \
	src/worker/identity.c src/worker/identity.h \
	src/worker/reflection.c src/worker/reflection.h \
	src/worker/server.c src/worker/server.h \
	src/worker/status.c src/worker/status.h \
	src/worker/stream.c src/worker/stream.h \
	src/worker/symbol.c src/worker/symbol.h \
	src/worker/tag.h \
	src/worker/worker.c src/worker/worker.h

$(libworker_a_OBJECTS): | $(generated_headers)
