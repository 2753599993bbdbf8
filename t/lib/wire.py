# SPDX-License-Identifier: Apache-2.0
"""Protobuf by hand: bytes that no generated client would send, and the messages of other packages
that the tests must read. Nothing here is derived from the server's own files, so a wrong field
number there is seen here."""
from google.protobuf import any_pb2  # noqa: F401  (registers google.protobuf.Any)
from google.protobuf import descriptor_pb2, descriptor_pool, duration_pb2, message_factory
from google.protobuf import timestamp_pb2


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7f:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    """A varint field; negative numbers take ten bytes, as int32 and int64 do."""
    return varint(field << 3) + varint(value)


def data(field, value):
    """A length-delimited field: string, bytes or message."""
    if isinstance(value, str):
        value = value.encode()
    return varint(field << 3 | 2) + varint(len(value)) + value


def duration(seconds=0, nanos=0):
    out = b""
    if seconds:
        out += number(1, seconds)
    if nanos:
        out += number(2, nanos)
    return out


def entry(key, value):
    return data(1, key) + data(2, value)


def acquire(namespace="locks", key=None, ttl=None, wait_for=None, metadata=(), request_id=None):
    """AcquireRequest; every part may be raw bytes, None leaves it out."""
    out = b""
    for field, value in ((1, namespace), (2, key), (3, ttl), (4, wait_for)):
        if value is not None:
            out += data(field, value)
    for pair in metadata:
        out += data(5, entry(*pair))
    if request_id is not None:
        out += data(100, request_id)
    return out


def renew(holder=None, namespace="locks", key=None, ttl=None):
    out = b""
    for field, value in ((1, holder), (2, namespace), (3, key), (4, ttl)):
        if value is not None:
            out += data(field, value)
    return out


def release(holder=None, namespace="locks", key=None):
    return renew(holder, namespace, key)


def inspect(namespace="locks", key=None):
    return data(1, namespace) + (b"" if key is None else data(2, key))


def fields(buffer):
    """The top-level fields of a message as (number, value) pairs, in order."""
    at, out = 0, []

    def take():
        nonlocal at
        value = shift = 0
        while True:
            byte = buffer[at]
            at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(buffer):
        tag = take()
        if tag & 7 == 0:
            out.append((tag >> 3, take()))
        elif tag & 7 == 2:
            length = take()
            out.append((tag >> 3, bytes(buffer[at:at + length])))
            at += length
        else:
            raise ValueError(f"unexpected wire type {tag & 7}")
    if at != len(buffer):
        raise ValueError("message ends in the middle of a field")
    return out


def first(buffer, field, fallback=None):
    return next((value for have, value in fields(buffer) if have == field), fallback)


_TYPES = {"string": 9, "bool": 8, "int32": 5, "int64": 3, "uint64": 4, "uint32": 13, "bytes": 12}


def _add_field(message, line):
    """`[oneof|repeated] type name number` or `map name number` (string to string)."""
    words = line.split()
    field = message.field.add()
    field.label = 1
    if words[0] == "oneof":  # one per message is enough here; an empty member is sent
        if not message.oneof_decl:
            message.oneof_decl.add().name = "which"
        field.oneof_index = 0
        words = words[1:]
    if words[0] == "repeated":
        field.label = 3
        words = words[1:]
    kind, field.name, field.number = words[0], words[1], int(words[2])
    if kind == "map":
        pair = message.nested_type.add()
        pair.name = "".join(part.capitalize() for part in field.name.split("_")) + "Entry"
        pair.options.map_entry = True
        _add_field(pair, "string key 1")
        _add_field(pair, "string value 2")
        field.label, field.type = 3, 11
        field.type_name = pair.name
    elif kind in _TYPES:
        field.type = _TYPES[kind]
    elif kind.startswith("enum:"):
        field.type, field.type_name = 14, kind[5:]
    else:
        field.type, field.type_name = 11, kind
    return field


def build(pool, package, messages, imports=()):
    """Messages of one package from {name: [field lines]}; returns {name: class}."""
    file = descriptor_pb2.FileDescriptorProto()
    file.name, file.package, file.syntax = package.replace(".", "/") + ".proto", package, "proto3"
    file.dependency.extend(imports)
    for name, lines in messages.items():
        message = file.message_type.add()
        message.name = name
        for line in lines:
            _add_field(message, line)
    pool.Add(file)
    factory = message_factory.MessageFactory(pool)
    return {name: factory.GetPrototype(pool.FindMessageTypeByName(f"{package}.{name}"))
            for name in messages}


def _pool():
    pool = descriptor_pool.DescriptorPool()
    for module in (duration_pb2, timestamp_pb2, any_pb2):
        pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
    return pool


_POOL = _pool()
_WELL = ["google/protobuf/duration.proto", "google/protobuf/timestamp.proto",
         "google/protobuf/any.proto"]

# google.rpc as the public API guidelines describe it.
RPC = build(_POOL, "google.rpc", {
    "Status": ["int32 code 1", "string message 2", "repeated .google.protobuf.Any details 3"],
    "ErrorInfo": ["string reason 1", "string domain 2", "map metadata 3"],
    "RetryInfo": [".google.protobuf.Duration retry_delay 1"],
    "FieldViolation": ["string field 1", "string description 2"],
    "BadRequest": ["repeated .google.rpc.FieldViolation field_violations 1"],
}, _WELL)

# The plain API, without any field of number 100 or more: what a stock client knows.
PLAIN = build(_POOL, "mindd.lease.v1", {
    "LeaseHandle": ["string holder_id 1", "string namespace 2", "string key 3",
                    ".google.protobuf.Timestamp acquired_at 4",
                    ".google.protobuf.Timestamp expires_at 5", "map metadata 6"],
    "AcquireRequest": ["string namespace 1", "string key 2", ".google.protobuf.Duration ttl 3",
                       ".google.protobuf.Duration wait_for 4", "map metadata 5"],
    "AcquireResponse": [".mindd.lease.v1.LeaseHandle handle 1"],
    "RenewRequest": ["string holder_id 1", "string namespace 2", "string key 3",
                     ".google.protobuf.Duration ttl 4"],
    "RenewResponse": [".mindd.lease.v1.LeaseHandle handle 1"],
    "ReleaseRequest": ["string holder_id 1", "string namespace 2", "string key 3"],
    "ReleaseResponse": ["bool existed 1"],
    "InspectRequest": ["string namespace 1", "string key 2"],
    "InspectResponse": ["bool held 1", ".mindd.lease.v1.LeaseHandle handle 2"],
    "ListRequest": ["string namespace 1"],
    "ListResponse": ["repeated .mindd.lease.v1.LeaseHandle leases 1"],
}, _WELL)

# grpc.reflection.v1 and v1alpha have the same fields.
_REFLECTION = {
    "ExtensionRequest": ["string containing_type 1", "int32 extension_number 2"],
    "ServerReflectionRequest": ["string host 1", "oneof string file_by_filename 3",
                                "oneof string file_containing_symbol 4",
                                "oneof .{}.ExtensionRequest file_containing_extension 5",
                                "oneof string all_extension_numbers_of_type 6",
                                "oneof string list_services 7"],
    "FileDescriptorResponse": ["repeated bytes file_descriptor_proto 1"],
    "ExtensionNumberResponse": ["string base_type_name 1", "repeated int32 extension_number 2"],
    "ServiceResponse": ["string name 1"],
    "ListServiceResponse": ["repeated .{}.ServiceResponse service 1"],
    "ErrorResponse": ["int32 error_code 1", "string error_message 2"],
    "ServerReflectionResponse": ["string valid_host 1",
                                 ".{}.ServerReflectionRequest original_request 2",
                                 "oneof .{}.FileDescriptorResponse file_descriptor_response 4",
                                 "oneof .{}.ExtensionNumberResponse "
                                 "all_extension_numbers_response 5",
                                 "oneof .{}.ListServiceResponse list_services_response 6",
                                 "oneof .{}.ErrorResponse error_response 7"],
}


def _reflection(version):
    package = "grpc.reflection." + version
    messages = {name: [line.replace("{}", package) for line in lines]
                for name, lines in _REFLECTION.items()}
    return build(_POOL, package, messages)


REFLECTION = {version: _reflection(version) for version in ("v1", "v1alpha")}

HEALTH_UNKNOWN, HEALTH_SERVING, HEALTH_NOT_SERVING, HEALTH_SERVICE_UNKNOWN = range(4)


def health_request(service=""):
    return data(1, service) if service else b""


def health_status(answer):
    return first(answer, 1, HEALTH_UNKNOWN)
