# SPDX-License-Identifier: Apache-2.0
"""Values on their way to the wire, and the clock that local deadlines are counted on."""
from __future__ import annotations

import datetime
import math
import time
from typing import Callable, Optional, Sequence, Tuple, Union

from google.protobuf.duration_pb2 import Duration

Span = Union[datetime.timedelta, float, int, Duration]
Token = Union[str, Callable[[], str], None]
Metadata = Sequence[Tuple[str, str]]

_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def boottime() -> float:
    """Seconds on a clock that nobody sets and that goes on while the machine is suspended."""
    return time.clock_gettime(_CLOCK)


def seconds(span: Span) -> float:
    if isinstance(span, Duration):
        return span.seconds + span.nanos / 1e9
    if isinstance(span, datetime.timedelta):
        return span.total_seconds()
    if isinstance(span, bool) or not isinstance(span, (int, float)):
        raise TypeError(f"a timedelta or seconds are needed, not {type(span).__name__}")
    if not math.isfinite(span):
        raise ValueError(f"{span} is no length of time")
    return float(span)


def duration(span: Optional[Span]) -> Optional[Duration]:
    """The Duration of a timedelta or of seconds; what is out of range is left for the server to
    judge, as far as it can be written down."""
    if span is None or isinstance(span, Duration):
        return span
    if isinstance(span, datetime.timedelta):
        nanos = (span // datetime.timedelta(microseconds=1)) * 1000
    else:
        nanos = round(seconds(span) * 1e9)
    whole, rest = divmod(abs(nanos), 10**9)
    sign = -1 if nanos < 0 else 1
    return Duration(seconds=sign * whole, nanos=sign * rest)


def capability(token: Token) -> Metadata:
    """The header that carries the token; a callable is asked anew for every attempt, so that a
    rotated token takes effect. The token itself never stands in an error."""
    text = token() if callable(token) else token
    if text is None:
        return ()
    text = text.strip()
    if not text.isascii() or not all(32 < ord(sign) < 127 for sign in text):
        raise ValueError("the token has characters that no token has")
    return (("x-mindd-capability", "Bearer " + text),)


def channel_options(extra: Sequence[Tuple[str, object]]) -> list[Tuple[str, object]]:
    """gRPC's defaults are made for busy connections. A waiting acquire is quiet: pings must keep it
    alive and notice a dead peer, and after an outage the connection must be back long before a
    lease ends, not after gRPC's two minutes. Later entries win."""
    options: dict[str, object] = dict([
        ("grpc.keepalive_time_ms", 30000),
        ("grpc.keepalive_timeout_ms", 10000),
        ("grpc.http2.ping_timeout_ms", 10000),  # what later versions of gRPC go by
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.http2.min_time_between_pings_ms", 10000),
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.min_reconnect_backoff_ms", 5000),
        ("grpc.max_reconnect_backoff_ms", 1000),
        ("grpc.max_receive_message_length", -1),
        ("grpc.enable_retries", 0),  # this package retries by itself: with fresh deadlines
    ])
    options.update(extra)
    return list(options.items())
