# SPDX-License-Identifier: Apache-2.0
"""The Python client: every refusal has its type, and is what plain gRPC code expects as well."""
import datetime as dt

import grpc
import pytest

import wire
from pyclient import Scripted, connect, granted, raises
from mindd.client import (Cancelled, DeadlineExceeded, InvalidArgument, LeaseHeld, LeaseLost, MindD,
                          MinddError, NamespaceUnknown, PermissionDenied, ResourceExhausted,
                          Unauthenticated, Unavailable)

CODE = grpc.StatusCode


def details(code, text, reason, metadata=(), *more):
    """Trailers as the server makes them, by hand."""
    info = wire.data(1, reason) + wire.data(2, "lease.mindd.dev")
    for pair in metadata:
        info += wire.data(3, wire.entry(*pair))
    out = wire.number(1, code.value[0]) + wire.data(2, text)
    for name, body in (("ErrorInfo", info), *more):
        out += wire.data(3, wire.data(1, "type.googleapis.com/google.rpc." + name)
                         + wire.data(2, body))
    return (("grpc-status-details-bin", out),)


def test_a_held_key_tells_who_since_when_and_how_long(server, key):
    with connect(server) as m:
        before = dt.datetime.now(dt.timezone.utc)
        handle = m.lease.acquire("locks", key, ttl=60)
        with raises(LeaseHeld, "FAILED_PRECONDITION", "already held") as caught:
            m.lease.acquire("locks", key, ttl=60)
    error = caught.error
    assert isinstance(error, grpc.RpcError) and isinstance(error, MinddError)
    assert error.reason == "LEASE_HELD" and error.domain == "lease.mindd.dev"
    assert dt.timedelta(seconds=50) < error.remaining <= dt.timedelta(seconds=60)
    assert dt.timedelta(seconds=50) < error.retry_after <= dt.timedelta(seconds=60)
    assert abs(error.held_since - before) < dt.timedelta(seconds=20)
    assert error.waiters == 0 and error.fencing_token == handle.fencing_token
    assert error.owner == "" and "s left" in str(error)
    assert handle.holder_id not in str(error) + repr(error)
    assert error.code().value[0] == 9 and isinstance(error.__cause__, grpc.RpcError)


def test_the_waiters_are_told(server, key):
    import threading
    with connect(server) as m:
        handle = m.lease.acquire("locks", key, ttl=60)
        thread = threading.Thread(target=lambda: m.lease.acquire("locks", key, ttl=1, wait_for=30))
        thread.start()
        server.wait_waiters(key, 1)
        with raises(LeaseHeld) as caught:
            m.lease.acquire("locks", key, ttl=60)
        assert caught.error.waiters == 1 and "1 waiting" in str(caught.error)
        m.lease.release(handle.holder_id, "locks", key)
        thread.join()


def test_the_owner_is_told():
    text = "already held"
    trailers = details(CODE.FAILED_PRECONDITION, text, "LEASE_HELD",
                       [("owner", "acme/ci"), ("remainingMs", "41200"), ("waiters", "2")])
    with Scripted((CODE.FAILED_PRECONDITION, text, trailers)) as scripted, \
            MindD(scripted.address) as m:
        with raises(LeaseHeld) as caught:
            m.lease.acquire("locks", "k", ttl=5)
    assert caught.error.owner == "acme/ci"
    assert str(caught.error) == \
        "FAILED_PRECONDITION: already held (by acme/ci, 41.2 s left, 2 waiting)"
    assert caught.error.held_since is None and caught.error.fencing_token is None


def test_arguments_and_namespaces(server):
    with connect(server) as m:
        with raises(InvalidArgument, "INVALID_ARGUMENT", "key required") as caught:
            m.lease.acquire("locks", "", ttl=1)
        assert caught.error.fields == ("key",) and caught.error.reason == "INVALID_ARGUMENT"
        with raises(NamespaceUnknown, "NOT_FOUND", 'namespace "nö 😀" not configured') as caught:
            m.lease.inspect("nö 😀", "k")
        assert caught.error.metadata["namespace"] == "nö 😀"
        with raises(InvalidArgument):
            m.lease.release("", "locks", "k")
        with raises(NamespaceUnknown):
            next(m.lease.list("nowhere"))


@pytest.mark.parametrize("code, text, reason, kind", [
    (CODE.UNAUTHENTICATED, "missing x-mindd-capability header", "TOKEN_MISSING", Unauthenticated),
    (CODE.UNAUTHENTICATED, "token expired", "TOKEN_EXPIRED", Unauthenticated),
    (CODE.PERMISSION_DENIED, "op lease.acquire not in capability scope", "OP_NOT_GRANTED",
     PermissionDenied),
    (CODE.RESOURCE_EXHAUSTED, "table full", "TABLE_FULL", ResourceExhausted),
    (CODE.FAILED_PRECONDITION, "not held by this holder", "NOT_HOLDER", LeaseLost),
    (CODE.FAILED_PRECONDITION, "said otherwise", "LEASE_HELD", LeaseHeld),
    (CODE.FAILED_PRECONDITION, "something else", "NEW_REASON", MinddError),
    (CODE.INTERNAL, "bug", "", MinddError),
], ids=str)
def test_each_refusal_has_its_type_and_is_final(code, text, reason, kind):
    with Scripted((code, text, details(code, text, reason))) as scripted, \
            MindD(scripted.address) as m:
        with raises(kind, code.name, text) as caught:
            m.lease.acquire("locks", "k", ttl=5)
        assert caught.error.reason == reason and len(scripted.seen) == 1
        assert dict(caught.error.trailing_metadata())["grpc-status-details-bin"]


@pytest.mark.parametrize("text, kind", [("already held", LeaseHeld),
                                        ("not held by this holder", LeaseLost),
                                        ("else", MinddError)])
def test_a_server_without_details_is_understood(text, kind):
    with Scripted((CODE.FAILED_PRECONDITION, text)) as scripted, MindD(scripted.address) as m:
        with raises(kind, "FAILED_PRECONDITION", text) as caught:
            m.lease.acquire("locks", "k", ttl=5)
        assert caught.error.metadata == {} and caught.error.retry_after is None


@pytest.mark.parametrize("raw", [
    b"\xff\xff\xff", b"", b"\x1a\x7f",
    wire.data(3, wire.data(1, "type.googleapis.com/google.rpc.ErrorInfo")
              + wire.data(2, b"\xff\xff")),
    wire.data(3, wire.data(1, "type.googleapis.com/google.rpc.RetryInfo")
              + wire.data(2, wire.data(1, wire.number(1, 2**62)))),
], ids=["no message", "empty", "cut", "bad info", "absurd delay"])
def test_broken_details_hide_no_error(raw):
    trailers = (("grpc-status-details-bin", raw),)
    with Scripted((CODE.FAILED_PRECONDITION, "already held", trailers)) as scripted, \
            MindD(scripted.address) as m:
        with raises(LeaseHeld, "FAILED_PRECONDITION", "already held"):
            m.lease.acquire("locks", "k", ttl=5)


@pytest.mark.parametrize("left", ["x", "-1", "", "9" * 400, "9" * 20, "٣"],
                         ids=["word", "negative", "empty", "long", "overflow", "other digits"])
def test_odd_numbers_in_details_hide_no_error(left):
    trailers = details(CODE.FAILED_PRECONDITION, "already held", "LEASE_HELD",
                       [("remainingMs", left), ("waiters", left), ("heldSince", left)])
    with Scripted((CODE.FAILED_PRECONDITION, "already held", trailers)) as scripted, \
            MindD(scripted.address) as m:
        with raises(LeaseHeld) as caught:
            m.lease.acquire("locks", "k", ttl=5)
        assert caught.error.held_since is None


def test_nobody_there():
    with MindD("127.0.0.1:1", timeout=0.5) as m:
        with raises(Unavailable, "UNAVAILABLE") as caught:
            m.lease.acquire("locks", "k", ttl=5)
        assert caught.error.reason == ""


def test_no_answer_in_time():
    import socket
    with socket.create_server(("127.0.0.1", 0)) as silent:
        with MindD("127.0.0.1:%d" % silent.getsockname()[1]) as m:
            with raises(DeadlineExceeded, "DEADLINE_EXCEEDED"):
                m.lease.inspect("locks", "k", timeout=0.3)


def test_closing_ends_a_wait(server, key):
    import threading
    m, caught = connect(server), []
    m.lease.acquire("locks", key, ttl=60)

    def wait():
        try:
            m.lease.acquire("locks", key, ttl=60, wait_for=50)
        except MinddError as error:
            caught.append(error)
    thread = threading.Thread(target=wait)
    thread.start()
    server.wait_waiters(key, 1)
    m.close()
    thread.join(10)
    assert [type(error) for error in caught] == [Cancelled]
    server.wait_waiters(key, 0)


def test_code_for_plain_grpc_goes_on_working():
    with Scripted((CODE.FAILED_PRECONDITION, "already held")) as scripted, \
            MindD(scripted.address) as m:
        try:
            m.lease.acquire("locks", "k", ttl=5)
        except grpc.RpcError as error:
            assert error.code() is CODE.FAILED_PRECONDITION and error.details() == "already held"
        else:
            raise AssertionError("no error")
    with Scripted(granted()) as scripted, MindD(scripted.address) as m:
        assert m.lease.acquire("locks", "k", ttl=5).holder_id == "h"
