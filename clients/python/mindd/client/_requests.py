# SPDX-License-Identifier: Apache-2.0
"""Requests, the same for threads and for asyncio."""
from __future__ import annotations

import uuid
from typing import Callable, Mapping, Optional

from mindd.lease.v1 import lease_pb2 as pb

from ._values import Span, duration, seconds

PAGE = 1000  # leases asked for at once by list


def acquire(namespace: str, key: str, ttl: Span, metadata: Optional[Mapping[str, str]],
            request_id: Optional[str]) -> Callable[[Optional[Span]], pb.AcquireRequest]:
    """A function that makes the request of one attempt from the wait that is left. All attempts
    share one request id: a second one is answered with the lease of the first."""
    if request_id is None:
        request_id = str(uuid.uuid4())

    def attempt(wait: Optional[Span]) -> pb.AcquireRequest:
        return pb.AcquireRequest(namespace=namespace, key=key, ttl=duration(ttl),
                                 wait_for=duration(wait), metadata=metadata or {},
                                 request_id=request_id)
    attempt(None)  # what cannot be written down is told before anything is sent
    return attempt


def renew(holder_id: str, namespace: str, key: str, ttl: Span) -> pb.RenewRequest:
    return pb.RenewRequest(holder_id=holder_id, namespace=namespace, key=key, ttl=duration(ttl))


def release(holder_id: str, namespace: str, key: str) -> pb.ReleaseRequest:
    return pb.ReleaseRequest(holder_id=holder_id, namespace=namespace, key=key)


def inspect(namespace: str, key: str) -> pb.InspectRequest:
    return pb.InspectRequest(namespace=namespace, key=key)


def page(namespace: str, key_prefix: str, page_size: int, token: str) -> pb.ListRequest:
    return pb.ListRequest(namespace=namespace, key_prefix=key_prefix, page_size=page_size,
                          page_token=token)


def wait_of(wait_for: Optional[Span]) -> float:
    """Seconds the caller is ready to wait; the server refuses what is negative."""
    return 0.0 if wait_for is None else seconds(wait_for)
