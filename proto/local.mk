# SPDX-License-Identifier: Apache-2.0
# The published lease.proto has strings; protobuf-c gives those as C strings and would end them at a
# NUL. So the server decodes a twin with the same field numbers whose strings are bytes: the same
# bytes on the wire, with lengths. It is derived here, so that the two cannot drift apart.
lease_proto = $(srcdir)/proto/mindd/lease/v1/lease.proto
own_protos = \
	google/rpc/error_details.proto \
	google/rpc/status.proto \
	grpc/health/v1/health.proto \
	grpc/reflection/v1/reflection.proto
# What reflection shows: v1alpha has the messages of v1 and needs no code of its own.
shown_protos = mindd/lease/v1/lease.proto $(own_protos) grpc/reflection/v1alpha/reflection.proto
EXTRA_DIST += \
	proto/mindd/lease/v1/lease.proto \
	proto/google/rpc/error_details.proto \
	proto/google/rpc/status.proto \
	proto/grpc/health/v1/health.proto \
	proto/grpc/reflection/v1/reflection.proto \
	proto/grpc/reflection/v1alpha/reflection.proto

# The library ships no code for the well-known types.
generated_sources = \
	proto/wire/lease_wire.pb-c.c \
	proto/google/protobuf/any.pb-c.c \
	proto/google/protobuf/descriptor.pb-c.c \
	proto/google/protobuf/duration.pb-c.c \
	proto/google/protobuf/timestamp.pb-c.c \
	proto/google/rpc/error_details.pb-c.c \
	proto/google/rpc/status.pb-c.c \
	proto/grpc/health/v1/health.pb-c.c \
	proto/grpc/reflection/v1/reflection.pb-c.c
generated_headers = $(generated_sources:.c=.h)

noinst_LIBRARIES += libproto.a
libproto_a_CFLAGS = -std=c17 -w
nodist_libproto_a_SOURCES = $(generated_sources) proto/descriptors.c
BUILT_SOURCES += $(generated_headers)
CLEANFILES += $(generated_sources) $(generated_headers) proto/wire/lease_wire.proto \
	proto/descriptors.c proto/descriptors.bin

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

proto/google/protobuf/any.pb-c.c proto/google/protobuf/descriptor.pb-c.c \
proto/google/protobuf/duration.pb-c.c proto/google/protobuf/timestamp.pb-c.c:
	@$(MKDIR_P) proto
	$(AM_V_GEN)$(PROTOC) --c_out=proto $(@:proto/%.pb-c.c=%.proto)

proto/google/rpc/error_details.pb-c.c: $(srcdir)/proto/google/rpc/error_details.proto
	@$(MKDIR_P) proto
	$(AM_V_GEN)$(PROTOC) -I$(srcdir)/proto --c_out=proto google/rpc/error_details.proto
proto/google/rpc/status.pb-c.c: $(srcdir)/proto/google/rpc/status.proto
	@$(MKDIR_P) proto
	$(AM_V_GEN)$(PROTOC) -I$(srcdir)/proto --c_out=proto google/rpc/status.proto
proto/grpc/health/v1/health.pb-c.c: $(srcdir)/proto/grpc/health/v1/health.proto
	@$(MKDIR_P) proto
	$(AM_V_GEN)$(PROTOC) -I$(srcdir)/proto --c_out=proto grpc/health/v1/health.proto
proto/grpc/reflection/v1/reflection.pb-c.c: $(srcdir)/proto/grpc/reflection/v1/reflection.proto
	@$(MKDIR_P) proto
	$(AM_V_GEN)$(PROTOC) -I$(srcdir)/proto --c_out=proto grpc/reflection/v1/reflection.proto

$(generated_headers): %.h: %.c

# Everything this server speaks, with comments, as one array: reflection serves it.
proto/descriptors.c: $(lease_proto)
	@$(MKDIR_P) proto
	$(AM_V_GEN)$(PROTOC) -I$(srcdir)/proto --include_imports --include_source_info \
		--descriptor_set_out=proto/descriptors.bin $(shown_protos)
	@{ printf '#include <stddef.h>\n#include <stdint.h>\nconst uint8_t descriptors_data[] = {\n'; \
	   od -An -v -tu1 proto/descriptors.bin | $(SED) -e 's/  */,/g' -e 's/^,//' -e 's/$$/,/'; \
	   printf '};\nconst size_t descriptors_size = sizeof descriptors_data;\n'; } > $@.tmp
	@mv $@.tmp $@

# For those who make clients: the service as text and as a descriptor set that stands alone.
mindd_protodir = $(datadir)/mindd/proto/mindd/lease/v1
dist_mindd_proto_DATA = proto/mindd/lease/v1/lease.proto
nodist_mindd_proto_DATA = proto/lease.binpb
mindd_pkgconfigdir = $(datadir)/pkgconfig
nodist_mindd_pkgconfig_DATA = proto/mindd-lease.pc
CLEANFILES += proto/lease.binpb
proto/lease.binpb: $(lease_proto)
	@$(MKDIR_P) proto
	$(AM_V_GEN)$(PROTOC) -I$(srcdir)/proto --include_imports --include_source_info \
		--descriptor_set_out=$@ mindd/lease/v1/lease.proto
