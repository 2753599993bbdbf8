# SPDX-License-Identifier: Apache-2.0
bin_PROGRAMS += leasectl
leasectl_CFLAGS = $(AM_CFLAGS) $(GRPC_CFLAGS) $(PROTOBUF_C_CFLAGS)
leasectl_SOURCES = \
	src/leasectl/answer.c src/leasectl/answer.h \
	src/leasectl/catalog.c src/leasectl/catalog.h \
	src/leasectl/client.c src/leasectl/client.h \
	src/leasectl/command.c src/leasectl/command.h \
	src/leasectl/completion.c src/leasectl/completion.h \
	src/leasectl/credentials.c src/leasectl/credentials.h \
	src/leasectl/duration.c src/leasectl/duration.h \
	src/leasectl/failure.c src/leasectl/failure.h \
	src/leasectl/family.c src/leasectl/family.h \
	src/leasectl/guard.c src/leasectl/guard.h \
	src/leasectl/health.c src/leasectl/health.h \
	src/leasectl/hold.c src/leasectl/hold.h \
	src/leasectl/keeper.c src/leasectl/keeper.h \
	src/leasectl/lease.c src/leasectl/lease.h \
	src/leasectl/list.c src/leasectl/list.h \
	src/leasectl/main.c \
	src/leasectl/mcp.c src/leasectl/mcp.h \
	src/leasectl/option.c src/leasectl/option.h \
	src/leasectl/options.c src/leasectl/options.def src/leasectl/options.h \
	src/leasectl/post.c src/leasectl/post.h \
	src/leasectl/relay.c src/leasectl/relay.h \
	src/leasectl/run.c src/leasectl/run.h \
	src/leasectl/session.c src/leasectl/session.h \
	src/leasectl/show.c src/leasectl/show.h \
	src/leasectl/signals.c src/leasectl/signals.h \
	src/leasectl/supervisor.c src/leasectl/supervisor.h \
	src/leasectl/text.c src/leasectl/text.h \
	src/leasectl/tool.c src/leasectl/tool.h \
	src/leasectl/top.c src/leasectl/top.h \
	src/leasectl/unary.c src/leasectl/unary.h \
	src/leasectl/verbs.def \
	src/leasectl/waiter.c src/leasectl/waiter.h \
	src/leasectl/waiting.c src/leasectl/waiting.h \
	src/leasectl/watch.c src/leasectl/watch.h
leasectl_LDADD = libproto.a libbase.a \
	$(GRPC_LIBS) $(PROTOBUF_C_LIBS) $(JANSSON_LIBS) $(LIBS)

$(leasectl_OBJECTS): | $(generated_headers)
