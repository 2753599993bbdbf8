# SPDX-License-Identifier: Apache-2.0
"""A lease that is kept alive while a block of code runs."""
from __future__ import annotations

import logging
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional, Tuple, Type

import grpc
from mindd.lease.v1 import lease_pb2 as pb

from . import _requests
from ._term import Term, check_margin
from ._values import Span, boottime, seconds
from .errors import LeaseLost, MinddError, from_rpc, lost

if TYPE_CHECKING:
    from ._lease import LeaseClient

_LOG = logging.getLogger("mindd.client")
_SLICE = 1.0      # longest sleep of the renewer: sleeps do not count suspended time, the term does
_RELEASE = 5.0    # patience for the release at the end; after it the lease ends by itself


class Hold:
    """The lease inside `with client.lease.hold(...) as lease`.

    A thread renews it at a third of the ttl, with jitter, and again and again through outages. Its
    local deadline is counted from before the last answered request was sent, so it passes before
    the server can give the key to anybody else. When it passes, or when the server says so, the
    lease is lost: check() raises LeaseLost, on_lost is called once (from the renewing thread, unless
    the block ends first), and a block that ends as if all were well raises LeaseLost as well.
    Nothing stops the block from outside: it must look. What must not happen even to a frozen
    program is kept out by fencing_token, at the resource."""

    def __init__(self, client: "LeaseClient", name: Tuple[str, str], ttl: Span, *,
                 margin: Optional[Span], on_lost: Optional[Callable[[LeaseLost], Any]],
                 acquire: Mapping[str, Any]) -> None:
        self._client, self._name, self._ttl = client, name, ttl
        self._margin = check_margin(ttl, margin)
        self._on_lost, self._acquire = on_lost, acquire
        self._handle: Optional[pb.LeaseHandle] = None
        self._term: Optional[Term] = None
        self._thread: Optional[threading.Thread] = None
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._call: Optional[grpc.Future] = None

    # --- what the block may ask ---------------------------------------------------------------

    @property
    def handle(self) -> pb.LeaseHandle:
        """As last told by the server."""
        if self._handle is None:
            raise RuntimeError("the lease is taken by entering the with block")
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
            raise RuntimeError("the lease is taken by entering the with block")
        error = self._term.loss()
        if error:
            raise error.with_traceback(None)

    # --- the block ----------------------------------------------------------------------------

    def __enter__(self) -> "Hold":
        if self._term:
            raise RuntimeError("a hold is entered once")
        sent = boottime()
        self._handle = self._client.acquire(*self._name, ttl=self._ttl, **self._acquire)
        try:
            self._term = Term("/".join(self._name), seconds(self._ttl), self._margin, sent)
            if self._term.stale():
                self._renew_now()
            self._thread = threading.Thread(target=self._renewer, name="mindd-lease-renewer",
                                            daemon=True)
            self._thread.start()
        except BaseException:
            self._give_back()
            raise
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 _: Optional[TracebackType]) -> None:
        loss = self._term.loss() if self._term else None
        self._stop.set()
        with self._lock:
            if self._call:
                self._call.cancel()
        if self._thread and self._thread is not threading.current_thread():
            self._thread.join(_SLICE)  # longer only while on_lost runs
        self._give_back()
        if loss and kind is None:
            raise loss.with_traceback(None)

    def _give_back(self) -> None:
        patience = max(min(_RELEASE, self.remaining() + 0.5), 0.5)
        try:
            self._client.release(self.holder_id, *self._name, timeout=patience)
        except (MinddError, ValueError) as error:  # ValueError: the channel is closed
            if not self.lost:
                _LOG.warning("lease %s was not released, it ends by itself: %s",
                             "/".join(self._name), error)

    # --- the renewing thread ------------------------------------------------------------------

    def _renew_now(self) -> None:
        """Before the block begins: the wait for the key used up too much of the term."""
        assert self._term
        sent = boottime()
        self._handle = self._client.renew(self.holder_id, *self._name, ttl=self._ttl)
        self._term.extend(sent)

    def _attempt(self, term: Term) -> None:
        request = _requests.renew(self.holder_id, *self._name, self._ttl)
        sent = boottime()
        with self._lock:
            if self._stop.is_set():
                return
            self._call = self._client.start_renew(request, term.renewal_timeout())
        try:
            self._handle = self._call.result().handle
            term.extend(sent)
        except grpc.RpcError as raised:
            error = from_rpc(raised)
            if isinstance(error, LeaseLost):
                term.lose(error)
            else:
                term.failed(error)

    def _sleep(self, term: Term) -> bool:
        length = min(term.pause(), _SLICE)
        if term.last_error is None:
            return self._stop.wait(length)
        return self._client.pause(length, self._stop)

    def _renewer(self) -> None:
        term = self._term
        assert term
        while not self._sleep(term):
            if term.loss():
                break
            if term.pause() > 0:
                continue
            try:
                self._attempt(term)
            except grpc.FutureCancelledError:
                pass
            except Exception as error:  # whatever it is, the renewer must not die silently
                term.failed(error)
        if not self._stop.is_set():
            self._tell(term)

    def _tell(self, term: Term) -> None:
        error = term.loss() or lost("the lease is lost")
        _LOG.warning("lease %s is lost: %s", "/".join(self._name), error)
        if self._on_lost:
            try:
                self._on_lost(error)
            except Exception:
                _LOG.exception("on_lost of lease %s failed", "/".join(self._name))
