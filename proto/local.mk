# SPDX-License-Identifier: Apache-2.0
# The published lease.proto has strings; protobuf-c gives those as C strings and would end them at a
# NUL. So the server decodes a twin with the same field numbers whose strings are bytes: the same
# bytes on the wire, with lengths. It is derived here, so that the two cannot drift apart.
lease_proto = $(srcdir)/proto/mindd/lease/v1/lease.proto
EXTRA_DIST += proto/mindd/lease/v1/lease.proto

noinst_LIBRARIES += libproto.a
libproto_a_CFLAGS = -std=c17 -Wno-all -Wno-extra
nodist_libproto_a_SOURCES = \
	proto/wire/lease_wire.pb-c.c proto/wire/lease_wire.pb-c.h \
	proto/google/protobuf/duration.pb-c.c proto/google/protobuf/duration.pb-c.h \
	proto/google/protobuf/timestamp.pb-c.c proto/google/protobuf/timestamp.pb-c.h
BUILT_SOURCES += $(nodist_libproto_a_SOURCES)
CLEANFILES += $(nodist_libproto_a_SOURCES) proto/wire/lease_wire.proto

proto/wire/lease_wire.proto: $(lease_proto)
	@$(MKDIR_P) proto/wire
	$(AM_V_GEN)$(SED) -e 's/^package .*/package leased.wire;/' \
		-e '/^option /d' -e '/^ *\/\//d' \
		-e '/^service /,/^}/d' \
		-e 's/^\( *\)map<string, string> /\1repeated MetadataEntry /' \
		-e 's/^\( *\)repeated string /\1repeated bytes /' \
		-e 's/^\( *\)string /\1bytes /' $(lease_proto) > $@.tmp
	@printf '\nmessage MetadataEntry {\n  bytes key = 1;\n  bytes value = 2;\n}\n' >> $@.tmp
	@mv $@.tmp $@

proto/wire/lease_wire.pb-c.c: proto/wire/lease_wire.proto
	$(AM_V_GEN)$(PROTOC) -Iproto/wire --c_out=proto/wire proto/wire/lease_wire.proto
proto/wire/lease_wire.pb-c.h: proto/wire/lease_wire.pb-c.c

# The library ships no code for the well-known types.
proto/google/protobuf/duration.pb-c.c:
	@$(MKDIR_P) proto
	$(AM_V_GEN)$(PROTOC) --c_out=proto google/protobuf/duration.proto
proto/google/protobuf/duration.pb-c.h: proto/google/protobuf/duration.pb-c.c
proto/google/protobuf/timestamp.pb-c.c:
	@$(MKDIR_P) proto
	$(AM_V_GEN)$(PROTOC) --c_out=proto google/protobuf/timestamp.proto
proto/google/protobuf/timestamp.pb-c.h: proto/google/protobuf/timestamp.pb-c.c
