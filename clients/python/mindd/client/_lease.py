# SPDX-License-Identifier: Apache-2.0
"""The five calls, blocking."""
from __future__ import annotations

import threading
from typing import Any, Callable, Iterator, Mapping, Optional

import grpc
from mindd.lease.v1 import lease_pb2 as pb
from mindd.lease.v1 import lease_pb2_grpc as pb_grpc

from . import _requests
from ._hold import Hold
from ._retry import Attempts
from ._values import Span, Token, capability
from .errors import Cancelled, LeaseLost, from_rpc, given_up


class LeaseClient:
    """Leases of one server. Every method may be called from any thread, and raises a MinddError for
    every answer but OK. timeout (seconds) limits the call with all its attempts; without it, the
    client's own timeout is granted, for acquire beyond wait_for."""

    def __init__(self, channel: grpc.Channel, token: Token, timeout: float) -> None:
        self._channel, self._stub = channel, pb_grpc.LeaseStub(channel)
        self._token, self._timeout = token, timeout
        self._closed = threading.Event()

    def close(self) -> None:
        """No attempt is made from now on."""
        self._closed.set()

    def acquire(self, namespace: str, key: str, *, ttl: Span, wait_for: Optional[Span] = None,
                metadata: Optional[Mapping[str, str]] = None, request_id: Optional[str] = None,
                timeout: Optional[float] = None) -> pb.LeaseHandle:
        """Takes the lease of a key, or raises LeaseHeld, at once or when wait_for has run out.

        Attempts that find the server unreachable are repeated; they share one request_id (made here
        unless given), so that an attempt whose answer was lost does not stand in the way of the
        next."""
        make = _requests.acquire(namespace, key, ttl, metadata, request_id)
        wait = _requests.wait_of(wait_for)
        first = True

        def attempt(attempts: Attempts) -> pb.AcquireRequest:
            nonlocal first
            given, first = wait_for if first else attempts.wait_left(), False
            return make(given)
        answer = self._call(self._stub.Acquire, attempt,
                            Attempts(self._timeout, timeout, wait))
        return answer.handle

    def renew(self, holder_id: str, namespace: str, key: str, *, ttl: Span,
              timeout: Optional[float] = None) -> pb.LeaseHandle:
        """Moves the end of a live lease to now + ttl, or raises LeaseLost."""
        request = _requests.renew(holder_id, namespace, key, ttl)
        return self._simple(self._stub.Renew, request, timeout).handle

    def release(self, holder_id: str, namespace: str, key: str, *,
                timeout: Optional[float] = None) -> bool:
        """Ends a lease. False: nobody held the key (also when an earlier attempt of this very call
        ended the lease and its answer was lost). LeaseLost: somebody else holds it."""
        request = _requests.release(holder_id, namespace, key)
        return self._simple(self._stub.Release, request, timeout).existed

    def inspect(self, namespace: str, key: str, *,
                timeout: Optional[float] = None) -> pb.InspectResponse:
        """One key: held, handle (only when held), waiters."""
        return self._simple(self._stub.Inspect, _requests.inspect(namespace, key), timeout)

    def list(self, namespace: str, *, key_prefix: str = "", page_size: int = _requests.PAGE,
             timeout: Optional[float] = None) -> Iterator[pb.LeaseHandle]:
        """All held leases of a namespace, ordered by key; asks for the next page when it is needed.
        timeout is per page."""
        token = ""
        while True:
            request = _requests.page(namespace, key_prefix, page_size, token)
            answer = self._simple(self._stub.List, request, timeout)
            yield from answer.leases
            token = answer.next_page_token
            if not token:
                return

    def hold(self, namespace: str, key: str, *, ttl: Span, wait_for: Optional[Span] = None,
             metadata: Optional[Mapping[str, str]] = None, margin: Optional[Span] = None,
             on_lost: Optional[Callable[[LeaseLost], Any]] = None) -> Hold:
        """with client.lease.hold("locks", "deploy", ttl=30) as lease: ...

        Acquires on entry, renews in the background, releases at the end. See Hold."""
        return Hold(self, (namespace, key), ttl, margin=margin, on_lost=on_lost,
                    acquire={"wait_for": wait_for, "metadata": metadata})

    def start_renew(self, request: pb.RenewRequest, timeout: float) -> grpc.Future:
        """One attempt that can be cancelled; for Hold. Its result() raises what gRPC raises."""
        return self._stub.Renew.future(request, timeout=timeout, metadata=self._metadata())

    def pause(self, length: float, unless: threading.Event) -> bool:
        """Sleeps after a failure; True when `unless` was set meanwhile. While nobody is in a call,
        gRPC looks at its sockets only every few seconds; someone who watches the channel makes it
        look all the time, so that the new connection is there when it is needed."""
        def watch(_: grpc.ChannelConnectivity) -> None:
            pass
        if self._closed.is_set():
            return unless.wait(length)
        try:
            self._channel.subscribe(watch)
        except ValueError:  # closed, perhaps this very moment
            return unless.wait(length)
        try:
            return unless.wait(length)
        finally:
            self._channel.unsubscribe(watch)

    def _metadata(self) -> Any:
        return capability(self._token)

    def _simple(self, method: Any, request: Any, timeout: Optional[float]) -> Any:
        return self._call(method, lambda _: request, Attempts(self._timeout, timeout))

    def _call(self, method: Any, make: Callable[[Attempts], Any], attempts: Attempts) -> Any:
        begun_closed = self._closed.is_set()
        while True:
            try:
                return method(make(attempts), timeout=attempts.timeout(),
                              metadata=self._metadata())
            except ValueError as raised:
                if begun_closed or not self._closed.is_set():
                    raise
                raise given_up("the client was closed") from raised  # between two attempts
            except grpc.RpcError as raised:
                error = from_rpc(raised)
                if isinstance(error, Cancelled) and self._closed.is_set():
                    raise error from raised
                pause = attempts.pause_after(error)
                if pause is None or self.pause(pause, self._closed):
                    raise error from raised
