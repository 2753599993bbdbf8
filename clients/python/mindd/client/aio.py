# SPDX-License-Identifier: Apache-2.0
"""The client for asyncio: as mindd.client, with await.

    from mindd.client.aio import MindD

    async with MindD("127.0.0.1:7777", token=token) as m:
        async with m.lease.hold("locks", "deploy", ttl=30, wait_for=60) as lease:
            ...
            lease.check()"""
from __future__ import annotations

import asyncio
import inspect as python_inspect
import logging
from types import TracebackType
from typing import Any, AsyncIterator, Callable, Mapping, Optional, Sequence, Tuple, Type

import grpc
from mindd.lease.v1 import lease_pb2 as pb
from mindd.lease.v1 import lease_pb2_grpc as pb_grpc

from . import _requests
from ._mindd import DEFAULT_TARGET, DEFAULT_TIMEOUT
from ._retry import Attempts
from ._term import Term, check_margin
from ._values import Span, Token, boottime, capability, channel_options, seconds
from .errors import LeaseLost, MinddError, from_rpc, lost

__all__ = ["Hold", "LeaseClient", "MindD"]

_LOG = logging.getLogger("mindd.client")
_SLICE, _RELEASE = 1.0, 5.0  # as in _hold


class LeaseClient:
    """The five calls and hold; arguments, answers and errors are those of mindd.client."""

    def __init__(self, channel: grpc.aio.Channel, token: Token, timeout: float) -> None:
        self._stub = pb_grpc.LeaseStub(channel)
        self._token, self._timeout = token, timeout

    async def acquire(self, namespace: str, key: str, *, ttl: Span,
                      wait_for: Optional[Span] = None, metadata: Optional[Mapping[str, str]] = None,
                      request_id: Optional[str] = None,
                      timeout: Optional[float] = None) -> pb.LeaseHandle:
        """Cancelling the task takes the waiter out of the queue."""
        make = _requests.acquire(namespace, key, ttl, metadata, request_id)
        first = True

        def attempt(attempts: Attempts) -> pb.AcquireRequest:
            nonlocal first
            given, first = wait_for if first else attempts.wait_left(), False
            return make(given)
        wait = _requests.wait_of(wait_for)
        answer = await self._call(self._stub.Acquire, attempt,
                                  Attempts(self._timeout, timeout, wait))
        return answer.handle

    async def renew(self, holder_id: str, namespace: str, key: str, *, ttl: Span,
                    timeout: Optional[float] = None) -> pb.LeaseHandle:
        request = _requests.renew(holder_id, namespace, key, ttl)
        return (await self._simple(self._stub.Renew, request, timeout)).handle

    async def release(self, holder_id: str, namespace: str, key: str, *,
                      timeout: Optional[float] = None) -> bool:
        request = _requests.release(holder_id, namespace, key)
        return (await self._simple(self._stub.Release, request, timeout)).existed

    async def inspect(self, namespace: str, key: str, *,
                      timeout: Optional[float] = None) -> pb.InspectResponse:
        return await self._simple(self._stub.Inspect, _requests.inspect(namespace, key), timeout)

    async def list(self, namespace: str, *, key_prefix: str = "",
                   page_size: int = _requests.PAGE,
                   timeout: Optional[float] = None) -> AsyncIterator[pb.LeaseHandle]:
        """async for handle in client.lease.list("locks"): ..."""
        token = ""
        while True:
            request = _requests.page(namespace, key_prefix, page_size, token)
            answer = await self._simple(self._stub.List, request, timeout)
            for handle in answer.leases:
                yield handle
            token = answer.next_page_token
            if not token:
                return

    def hold(self, namespace: str, key: str, *, ttl: Span, wait_for: Optional[Span] = None,
             metadata: Optional[Mapping[str, str]] = None, margin: Optional[Span] = None,
             on_lost: Optional[Callable[[LeaseLost], Any]] = None) -> "Hold":
        """async with client.lease.hold("locks", "deploy", ttl=30) as lease: ..."""
        return Hold(self, (namespace, key), ttl, margin=margin, on_lost=on_lost,
                    acquire={"wait_for": wait_for, "metadata": metadata})

    async def renew_once(self, request: pb.RenewRequest, timeout: float) -> pb.LeaseHandle:
        """One attempt; for Hold. Raises what gRPC raises."""
        answer = await self._stub.Renew(request, timeout=timeout,
                                        metadata=capability(self._token))
        return answer.handle

    async def _simple(self, method: Any, request: Any, timeout: Optional[float]) -> Any:
        return await self._call(method, lambda _: request, Attempts(self._timeout, timeout))

    async def _call(self, method: Any, make: Callable[[Attempts], Any],
                    attempts: Attempts) -> Any:
        # A cancel by this side is asyncio.CancelledError and passes through: what arrives as an
        # error with the code CANCELLED came from elsewhere.
        while True:
            try:
                return await method(make(attempts), timeout=attempts.timeout(),
                                    metadata=capability(self._token))
            except grpc.RpcError as raised:
                error = from_rpc(raised)
                pause = attempts.pause_after(error)
                if pause is None:
                    raise error from raised
            await asyncio.sleep(pause)


class Hold:
    """As mindd.client.Hold; the renewer is a task of the loop. A block that keeps the loop from
    running keeps the lease from being renewed. on_lost may be a coroutine function; to end the
    block from outside, let it cancel the block's task."""

    def __init__(self, client: LeaseClient, name: Tuple[str, str], ttl: Span, *,
                 margin: Optional[Span], on_lost: Optional[Callable[[LeaseLost], Any]],
                 acquire: Mapping[str, Any]) -> None:
        self._client, self._name, self._ttl = client, name, ttl
        self._margin = check_margin(ttl, margin)
        self._on_lost, self._acquire = on_lost, acquire
        self._handle: Optional[pb.LeaseHandle] = None
        self._term: Optional[Term] = None
        self._task: Optional["asyncio.Task[None]"] = None

    @property
    def handle(self) -> pb.LeaseHandle:
        """As last told by the server."""
        if self._handle is None:
            raise RuntimeError("the lease is taken by entering the async with block")
        return self._handle

    @property
    def namespace(self) -> str:
        return self._name[0]

    @property
    def key(self) -> str:
        return self._name[1]

    @property
    def holder_id(self) -> str:
        return self.handle.holder_id

    @property
    def fencing_token(self) -> int:
        """Grows with every grant of the key. Give it to what the lease guards."""
        return self.handle.fencing_token

    @property
    def lost(self) -> bool:
        return self._term is not None and self._term.loss() is not None

    def remaining(self) -> float:
        """Seconds for which the lease is certain; 0 when lost."""
        return self._term.left() if self._term else 0.0

    def check(self) -> None:
        """Raises LeaseLost once the lease is no longer certain. Costs no call."""
        if self._term is None:
            raise RuntimeError("the lease is taken by entering the async with block")
        error = self._term.loss()
        if error:
            raise error.with_traceback(None)

    async def __aenter__(self) -> "Hold":
        if self._term:
            raise RuntimeError("a hold is entered once")
        sent = boottime()
        self._handle = await self._client.acquire(*self._name, ttl=self._ttl, **self._acquire)
        try:
            self._term = Term("/".join(self._name), seconds(self._ttl), self._margin, sent)
            if self._term.stale():
                sent = boottime()
                self._handle = await self._client.renew(self.holder_id, *self._name, ttl=self._ttl)
                self._term.extend(sent)
            self._task = asyncio.create_task(self._renewer(self._term))
        except BaseException:
            await self._give_back()
            raise
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]],
                        error: Optional[BaseException], _: Optional[TracebackType]) -> None:
        loss = self._term.loss() if self._term else None
        # A task that is telling on_lost is left to finish.
        if self._task and not loss:
            self._task.cancel()
            await asyncio.wait([self._task])
        await self._give_back()
        if loss and kind is None:
            raise loss.with_traceback(None)

    async def _give_back(self) -> None:
        patience = max(min(_RELEASE, self.remaining() + 0.5), 0.5)
        try:
            await self._client.release(self.holder_id, *self._name, timeout=patience)
        except (MinddError, grpc.aio.UsageError) as error:
            if not self.lost:
                _LOG.warning("lease %s was not released, it ends by itself: %s",
                             "/".join(self._name), error)

    async def _renewer(self, term: Term) -> None:
        while True:
            await asyncio.sleep(min(term.pause(), _SLICE))
            if term.loss():
                break
            if term.pause() > 0:
                continue
            try:
                request = _requests.renew(self.holder_id, *self._name, self._ttl)
                sent = boottime()
                self._handle = await self._client.renew_once(request, term.renewal_timeout())
                term.extend(sent)
            except grpc.RpcError as raised:
                error = from_rpc(raised)
                if isinstance(error, LeaseLost):
                    term.lose(error)
                else:
                    term.failed(error)
            except Exception as error:  # whatever it is, the renewer must not die silently
                term.failed(error)
        await self._tell(term)

    async def _tell(self, term: Term) -> None:
        error = term.loss() or lost("the lease is lost")
        _LOG.warning("lease %s is lost: %s", "/".join(self._name), error)
        if self._on_lost:
            try:
                told = self._on_lost(error)
                if python_inspect.isawaitable(told):
                    await told
            except Exception:
                _LOG.exception("on_lost of lease %s failed", "/".join(self._name))


class MindD:
    """As mindd.client.MindD, for the event loop it is made in."""

    def __init__(self, target: str = DEFAULT_TARGET, token: Token = None, *,
                 credentials: Optional[grpc.ChannelCredentials] = None,
                 timeout: float = DEFAULT_TIMEOUT,
                 options: Sequence[Tuple[str, object]] = ()) -> None:
        arguments = channel_options(options)
        self._target = target
        if credentials is None:
            self._channel = grpc.aio.insecure_channel(target, options=arguments)
        else:
            self._channel = grpc.aio.secure_channel(target, credentials, options=arguments)
        self.lease = LeaseClient(self._channel, token, timeout)

    async def close(self) -> None:
        """Ends the connection and the calls under way."""
        await self._channel.close()

    async def __aenter__(self) -> "MindD":
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]],
                        error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"MindD({self._target!r})"
