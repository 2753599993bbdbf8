# SPDX-License-Identifier: Apache-2.0
"""Typed errors. Each is a grpc.RpcError with code() and details() as well, so that code written for
plain gRPC goes on working."""
from __future__ import annotations

import datetime
from typing import Any, Mapping, Optional, Tuple, Type

import grpc

from ._details import Details, read

_HELD, _NOT_HOLDER = "already held", "not held by this holder"


class MinddError(grpc.RpcError):
    """Any answer that is not OK.

    reason and metadata are those of the server's google.rpc.ErrorInfo, empty when it sent none (a
    broken connection, for example); retry_after is its advice, fields what it found wrong."""

    def __init__(self, code: grpc.StatusCode, details: str, told: Optional[Details] = None,
                 trailers: Tuple[Tuple[str, Any], ...] = ()) -> None:
        told = told or Details()
        super().__init__(details)
        self._code, self._details, self._trailers = code, details, trailers
        self.reason: str = told.reason
        self.domain: str = told.domain
        self.metadata: Mapping[str, str] = told.metadata
        self.retry_after: Optional[datetime.timedelta] = told.retry_after
        self.fields: Tuple[str, ...] = told.fields

    def code(self) -> grpc.StatusCode:
        return self._code

    def details(self) -> str:
        return self._details

    def trailing_metadata(self) -> Tuple[Tuple[str, Any], ...]:
        return self._trailers

    def __str__(self) -> str:
        return f"{self._code.name}: {self._details}"


class LeaseHeld(MinddError):
    """Somebody holds the key. What is known of that lease, as it was when the server answered; None
    where the server did not tell."""
    owner: str = ""
    held_since: Optional[datetime.datetime] = None
    remaining: Optional[datetime.timedelta] = None
    waiters: Optional[int] = None
    fencing_token: Optional[int] = None

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.owner = self.metadata.get("owner", "")
        self.held_since = _time(self.metadata.get("heldSince"))
        self.remaining = _milliseconds(self.metadata.get("remainingMs"))
        self.waiters = _number(self.metadata.get("waiters"))
        self.fencing_token = _number(self.metadata.get("fencingToken"))

    def __str__(self) -> str:
        known = [f"by {self.owner}"] if self.owner else []
        if self.remaining is not None:
            known.append(f"{self.remaining.total_seconds():.1f} s left")
        if self.waiters:
            known.append(f"{self.waiters} waiting")
        return super().__str__() + (f" ({', '.join(known)})" if known else "")


class LeaseLost(MinddError):
    """The lease is not held by this holder (any more). It never comes back: whatever it guarded must
    be left alone."""


class InvalidArgument(MinddError):
    """A value is missing or out of range; fields names it."""


class NamespaceUnknown(MinddError):
    """The server has no such namespace."""


class Unauthenticated(MinddError):
    """No token, or one that is not valid (any more)."""


class PermissionDenied(MinddError):
    """The token is good, but not for this operation or namespace."""


class ResourceExhausted(MinddError):
    """The table or the queue of waiters is full."""


class Unavailable(MinddError):
    """The server or its backend cannot be reached. Says nothing about any lease."""


class DeadlineExceeded(MinddError):
    """No answer in time. Says nothing about any lease."""


class Cancelled(MinddError):
    """The call was given up."""


_BY_REASON: Mapping[str, Type[MinddError]] = {"LEASE_HELD": LeaseHeld, "NOT_HOLDER": LeaseLost}
# For servers that send no details.
_BY_TEXT: Mapping[str, Type[MinddError]] = {_HELD: LeaseHeld, _NOT_HOLDER: LeaseLost}
_BY_CODE: Mapping[grpc.StatusCode, Type[MinddError]] = {
    grpc.StatusCode.INVALID_ARGUMENT: InvalidArgument,
    grpc.StatusCode.NOT_FOUND: NamespaceUnknown,
    grpc.StatusCode.UNAUTHENTICATED: Unauthenticated,
    grpc.StatusCode.PERMISSION_DENIED: PermissionDenied,
    grpc.StatusCode.RESOURCE_EXHAUSTED: ResourceExhausted,
    grpc.StatusCode.UNAVAILABLE: Unavailable,
    grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineExceeded,
    grpc.StatusCode.CANCELLED: Cancelled,
}


def from_rpc(error: grpc.RpcError) -> MinddError:
    """The typed error of what gRPC raised."""
    if isinstance(error, MinddError):
        return error
    code, text = error.code(), error.details() or ""
    trailers = tuple((key, value) for key, value in error.trailing_metadata() or ())
    told = read(trailers)
    kind = _BY_CODE.get(code, MinddError)
    if code == grpc.StatusCode.FAILED_PRECONDITION:
        kind = _BY_REASON.get(told.reason) or _BY_TEXT.get(text, MinddError)
    return kind(code, text, told, trailers)


def given_up(text: str) -> Cancelled:
    """An end that this side chose."""
    return Cancelled(grpc.StatusCode.CANCELLED, text)


def lost(text: str) -> LeaseLost:
    """A loss that this side found out by itself."""
    return LeaseLost(grpc.StatusCode.FAILED_PRECONDITION, text)


def _number(text: Optional[str]) -> Optional[int]:
    return int(text) if text and text.isdecimal() and len(text) < 21 else None


def _milliseconds(text: Optional[str]) -> Optional[datetime.timedelta]:
    number = _number(text)
    try:
        return None if number is None else datetime.timedelta(milliseconds=number)
    except OverflowError:
        return None


def _time(text: Optional[str]) -> Optional[datetime.datetime]:
    try:
        return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")) if text else None
    except ValueError:
        return None
