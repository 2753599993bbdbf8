# SPDX-License-Identifier: Apache-2.0
"""Reads google.rpc.Status and what leased puts into it.

The messages live in a descriptor pool of their own: the default pool may already have them from
another package, and two descriptions of one file there are an error."""
from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from typing import Any, Iterable, Mapping, Optional, Tuple, Union

from google.protobuf import (any_pb2, descriptor_pb2, descriptor_pool, duration_pb2,
                             message_factory)
from google.protobuf.message import DecodeError

_KEY = "grpc-status-details-bin"
_FIELD = descriptor_pb2.FieldDescriptorProto


def _field(message: Any, number: int, name: str, kind: Union[int, str], many: bool = False) -> None:
    one = message.field.add(name=name, number=number,
                            label=_FIELD.LABEL_REPEATED if many else _FIELD.LABEL_OPTIONAL)
    if isinstance(kind, str):
        one.type, one.type_name = _FIELD.TYPE_MESSAGE, kind
    else:
        one.type = kind


def _describe() -> Any:
    file = descriptor_pb2.FileDescriptorProto(
        name="mindd/client/details.proto", package="google.rpc", syntax="proto3",
        dependency=["google/protobuf/any.proto", "google/protobuf/duration.proto"])
    status = file.message_type.add(name="Status")
    _field(status, 1, "code", _FIELD.TYPE_INT32)
    _field(status, 2, "message", _FIELD.TYPE_STRING)
    _field(status, 3, "details", ".google.protobuf.Any", many=True)
    info = file.message_type.add(name="ErrorInfo")
    _field(info, 1, "reason", _FIELD.TYPE_STRING)
    _field(info, 2, "domain", _FIELD.TYPE_STRING)
    _field(info, 3, "metadata", ".google.rpc.ErrorInfo.MetadataEntry", many=True)
    entry = info.nested_type.add(name="MetadataEntry")
    entry.options.map_entry = True
    _field(entry, 1, "key", _FIELD.TYPE_STRING)
    _field(entry, 2, "value", _FIELD.TYPE_STRING)
    retry = file.message_type.add(name="RetryInfo")
    _field(retry, 1, "retry_delay", ".google.protobuf.Duration")
    bad = file.message_type.add(name="BadRequest")
    _field(bad, 1, "field_violations", ".google.rpc.BadRequest.FieldViolation", many=True)
    violation = bad.nested_type.add(name="FieldViolation")
    _field(violation, 1, "field", _FIELD.TYPE_STRING)
    _field(violation, 2, "description", _FIELD.TYPE_STRING)
    return file


def _classes() -> dict[str, Any]:
    pool = descriptor_pool.DescriptorPool()
    for known in (any_pb2, duration_pb2):
        pool.AddSerializedFile(known.DESCRIPTOR.serialized_pb)
    pool.AddSerializedFile(_describe().SerializeToString())
    if hasattr(message_factory, "GetMessageClass"):
        make = message_factory.GetMessageClass
    else:  # protobuf before 4.22
        make = getattr(message_factory.MessageFactory(pool), "GetPrototype")
    return {name: make(pool.FindMessageTypeByName("google.rpc." + name))
            for name in ("Status", "ErrorInfo", "RetryInfo", "BadRequest")}


_CLASSES = _classes()


@dataclass(frozen=True)
class Details:
    """What the server told beside code and text; empty where it told nothing."""
    reason: str = ""
    domain: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    retry_after: Optional[datetime.timedelta] = None
    fields: Tuple[str, ...] = ()


def read(trailers: Optional[Iterable[Tuple[str, Any]]]) -> Details:
    """Details of a call's trailing metadata. What cannot be read is as if it were not there: an
    error must reach the caller whatever stands in it."""
    for key, value in trailers or ():
        if key == _KEY:
            try:
                return _decode(value)
            except (DecodeError, ValueError, TypeError, OverflowError):
                return Details()
    return Details()


def _decode(raw: bytes) -> Details:
    reason = domain = ""
    metadata: Mapping[str, str] = {}
    retry_after, fields = None, []
    for item in _CLASSES["Status"].FromString(raw).details:
        name = item.type_url.rpartition(".")[2]
        if item.type_url.rpartition("/")[2] != "google.rpc." + name or name not in _CLASSES:
            continue
        message = _CLASSES[name].FromString(item.value)
        if name == "ErrorInfo":
            reason, domain, metadata = message.reason, message.domain, dict(message.metadata)
        elif name == "RetryInfo":
            delay = message.retry_delay
            retry_after = datetime.timedelta(seconds=delay.seconds, microseconds=delay.nanos / 1e3)
        elif name == "BadRequest":
            fields = [one.field for one in message.field_violations]
    return Details(reason, domain, metadata, retry_after, tuple(fields))
