# SPDX-License-Identifier: Apache-2.0
"""A lease client for tests: generated stubs of the published proto, a connection of its own, and a
judge of every error that comes back."""
import contextlib
import datetime
import threading
import time
import uuid

import grpc
from google.protobuf import duration_pb2
from mindd.lease.v1 import lease_pb2 as pb
from mindd.lease.v1 import lease_pb2_grpc as pb_grpc

import wire

DOMAIN = "lease.mindd.dev"
REASONS = {"LEASE_HELD", "NOT_HOLDER", "NAMESPACE_UNKNOWN", "TOKEN_MISSING", "TOKEN_INVALID",
           "TOKEN_EXPIRED", "OP_NOT_GRANTED", "NAMESPACE_NOT_GRANTED", "INVALID_ARGUMENT",
           "TABLE_FULL", "WAITERS_FULL", "BACKEND_DOWN", "DRAINING", "RESTART_GRACE"}
HELD = "already held"
NOT_HELD = "not held by this holder"

OPTIONS = [
    ("grpc.use_local_subchannel_pool", 1),  # one TCP connection per client, as real clients have
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 5000),
    ("grpc.max_reconnect_backoff_ms", 200),
    ("grpc.enable_retries", 0),  # what the server said is what the test sees
]

wall_steps = False  # set by tests that step the server's wall clock

_issued = set()
_issued_lock = threading.Lock()


class LeaseError(Exception):
    """A status that is not OK, decoded: code, text, and the details by type."""

    def __init__(self, error):
        self.code = error.code()
        self.text = error.details()
        self.trailers = dict(error.trailing_metadata() or ())
        raw = self.trailers.get("grpc-status-details-bin")
        self.status = wire.RPC["Status"].FromString(raw) if raw else None
        self.details = [any_.type_url for any_ in self.status.details] if self.status else []
        self.info = self._detail("ErrorInfo")
        self.retry = self._detail("RetryInfo")
        self.bad_request = self._detail("BadRequest")
        super().__init__(f"{self.code.name}: {self.text} {self.reason or ''}")
        self._judge(raw)

    @property
    def reason(self):
        return self.info.reason if self.info else None

    def _detail(self, name):
        found = [any_ for any_ in (self.status.details if self.status else ())
                 if any_.type_url == "type.googleapis.com/google.rpc." + name]
        assert len(found) <= 1, f"{len(found)} {name} in one status"
        return wire.RPC[name].FromString(found[0].value) if found else None

    def _judge(self, raw):
        """What holds of every error of this server."""
        assert self.code not in (grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN), str(self)
        if self.status:
            assert self.status.code == self.code.value[0], "code in the details differs"
            assert self.status.message == self.text, "message in the details differs"
            assert self.info is not None, f"no ErrorInfo in {self.details}"
            assert self.info.domain == DOMAIN and self.info.reason in REASONS, self.info
            text = self.text.encode() + raw
            with _issued_lock:
                leaked = [holder for holder in _issued if holder.encode() in text]
            assert not leaked, "a holder id stands in an error"
        else:
            # The client's own library made it, or the connection broke.
            assert self.code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED,
                                 grpc.StatusCode.DEADLINE_EXCEEDED,
                                 grpc.StatusCode.UNIMPLEMENTED), \
                f"no details in {self.code.name}: {self.text}"


def seconds(value):
    """A Duration from seconds, a timedelta or a Duration; None stays None."""
    if value is None or isinstance(value, duration_pb2.Duration):
        return value
    if isinstance(value, datetime.timedelta):
        value = value.total_seconds()
    nanos = round(value * 1e9)
    return duration_pb2.Duration(seconds=nanos // 10**9, nanos=nanos % 10**9)


def as_seconds(message):
    """Seconds of a Duration or Timestamp, as a float."""
    return message.seconds + message.nanos / 1e9


def micros(message):
    """Whole microseconds of a Duration or Timestamp; nothing finer is allowed on the wire."""
    assert message.nanos % 1000 == 0, f"finer than a microsecond: {message.nanos} ns"
    return message.seconds * 10**6 + message.nanos // 1000


def check_handle(handle):
    parsed = uuid.UUID(handle.holder_id)
    assert str(parsed) == handle.holder_id and parsed.version == 4, handle.holder_id
    assert handle.fencing_token > 0
    left = micros(handle.remaining)
    whole = micros(handle.expires_at) - micros(handle.acquired_at)
    assert 0 < left, f"a lease with {left} us left was shown"
    assert whole > 0 or wall_steps, "it ends before it began"
    with _issued_lock:
        _issued.add(handle.holder_id)
    return handle


class Pending:
    """A call under way. result() is the handle, or raises LeaseError."""

    def __init__(self, start, pick):
        self.sent = time.monotonic()
        self.future = future = start()
        self.received = None
        self._pick = pick
        future.add_done_callback(self._done)

    def _done(self, _):
        self.received = time.monotonic()

    def result(self, timeout=30):
        try:
            return self._pick(self.future.result(timeout=timeout))
        except grpc.FutureTimeoutError:
            raise AssertionError(f"no answer within {timeout} s") from None
        except grpc.FutureCancelledError:
            raise
        except grpc.RpcError as error:
            raise LeaseError(error) from None

    def done(self):
        return self.future.done()

    def cancel(self):
        return self.future.cancel()


class Client:
    def __init__(self, address, namespace="locks", options=(), timeout=15):
        self.channel = grpc.insecure_channel(address, options=OPTIONS + list(options))
        self.stub = pb_grpc.LeaseStub(self.channel)
        self.namespace = namespace
        self.timeout = timeout
        self.worker = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.channel.close()

    def _call(self, method, request, timeout, **more):
        try:
            return method(request, timeout=timeout or self.timeout, **more)
        except grpc.RpcError as error:
            raise LeaseError(error) from None

    def _acquire_request(self, key, ttl, wait, namespace, metadata, request_id):
        return pb.AcquireRequest(namespace=self.namespace if namespace is None else namespace,
                                 key=key, ttl=seconds(ttl), wait_for=seconds(wait),
                                 metadata=metadata or {}, request_id=request_id)

    def acquire(self, key, ttl=60, wait=None, namespace=None, metadata=None, request_id="",
                timeout=None, **more):
        request = self._acquire_request(key, ttl, wait, namespace, metadata, request_id)
        if timeout is None and wait:
            timeout = min(as_seconds(request.wait_for), 3600) + self.timeout
        return check_handle(self._call(self.stub.Acquire, request, timeout, **more).handle)

    def acquire_soon(self, key, ttl=60, wait=None, namespace=None, metadata=None, request_id="",
                     timeout=None):
        """Sends without waiting for the answer: a Pending."""
        request = self._acquire_request(key, ttl, wait, namespace, metadata, request_id)
        return Pending(lambda: self.stub.Acquire.future(request, timeout=timeout),
                       lambda answer: check_handle(answer.handle))

    def renew(self, handle, ttl=60, holder=None, key=None, namespace=None, timeout=None):
        request = pb.RenewRequest(
            holder_id=handle.holder_id if holder is None else holder,
            namespace=(handle.namespace if handle else self.namespace)
            if namespace is None else namespace,
            key=handle.key if key is None else key, ttl=seconds(ttl))
        return check_handle(self._call(self.stub.Renew, request, timeout).handle)

    def release(self, handle, holder=None, key=None, namespace=None, timeout=None):
        request = pb.ReleaseRequest(
            holder_id=handle.holder_id if holder is None else holder,
            namespace=(handle.namespace if handle else self.namespace)
            if namespace is None else namespace,
            key=handle.key if key is None else key)
        return self._call(self.stub.Release, request, timeout).existed

    def release_soon(self, handle, timeout=15):
        """Sends without waiting for the answer: a Pending whose result() is `existed`."""
        request = pb.ReleaseRequest(holder_id=handle.holder_id, namespace=handle.namespace,
                                    key=handle.key)
        return Pending(lambda: self.stub.Release.future(request, timeout=timeout),
                       lambda answer: answer.existed)

    def inspect(self, key, namespace=None, timeout=None):
        request = pb.InspectRequest(namespace=self.namespace if namespace is None else namespace,
                                    key=key)
        answer = self._call(self.stub.Inspect, request, timeout)
        assert answer.held == answer.HasField("handle"), "handle is set exactly when held"
        if answer.held:
            check_handle(answer.handle)
        return answer

    def holder(self, key, namespace=None):
        """The live holder's id, or None."""
        answer = self.inspect(key, namespace)
        return answer.handle.holder_id if answer.held else None

    def list(self, namespace=None, page_size=0, page_token="", key_prefix="", timeout=None):
        request = pb.ListRequest(namespace=self.namespace if namespace is None else namespace,
                                 page_size=page_size, page_token=page_token,
                                 key_prefix=key_prefix)
        answer = self._call(self.stub.List, request, timeout)
        for handle in answer.leases:
            check_handle(handle)
        return answer

    def keys(self, namespace=None, **more):
        return [handle.key for handle in self.list(namespace, **more).leases]

    def raw(self, method, request, timeout=None):
        """Sends bytes as they are to mindd.lease.v1.Lease/`method`; returns bytes."""
        call = self.channel.unary_unary("/mindd.lease.v1.Lease/" + method)
        return self._call(call, request, timeout)


@contextlib.contextmanager
def refused(code, text=None, reason=None):
    """with refused("INVALID_ARGUMENT", "key required"): ... ; yields a box with .error."""
    class Box:
        error = None
    box = Box()
    try:
        yield box
    except LeaseError as error:
        assert error.code.name == code, f"{error} where {code} was expected"
        if text is not None:
            assert error.text == text, f"{error.text!r} where {text!r} was expected"
        if reason is not None:
            assert error.reason == reason, f"{error.reason} where {reason} was expected"
        box.error = error
    else:
        raise AssertionError(f"OK where {code} was expected")


def held():
    return refused("FAILED_PRECONDITION", HELD, "LEASE_HELD")


def not_held():
    return refused("FAILED_PRECONDITION", NOT_HELD, "NOT_HOLDER")


def until(condition, limit, what, pause=0.005):
    """Polls until condition() is true; its value. Fails after `limit` seconds."""
    end = time.monotonic() + limit
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {limit} s")
        time.sleep(pause)
