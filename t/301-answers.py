# SPDX-License-Identifier: Apache-2.0
"""Every row of the table of answers: exact code, exact text, exact reason, the field at fault."""
import time

import grpc
import pytest

import wire
from client import HELD, LeaseError, as_seconds, held, not_held, refused
from drivers import DRIVER

TTL_TEXT = "ttl required and must be > 0"
STRANGER = "01234567-89ab-4cde-8f01-23456789abcd"


def invalid(text, field):
    class Check:
        def __enter__(self):
            self.inner = refused("INVALID_ARGUMENT", text, "INVALID_ARGUMENT")
            self.box = self.inner.__enter__()
            return self.box

        def __exit__(self, *details):
            result = self.inner.__exit__(*details)
            bad = self.box.error.bad_request
            assert bad and [v.field for v in bad.field_violations] == [field], bad
            return result
    return Check()


def test_acquire_without_a_key(client):
    with invalid("key required", "key"):
        client.acquire("")


def test_inspect_without_a_key(client):
    with invalid("key required", "key"):
        client.inspect("")


def test_renew_without_a_key(client, key):
    handle = client.acquire(key)
    with invalid("key and holder_id required", "key"):
        client.renew(handle, key="")


def test_renew_without_a_holder(client, key):
    handle = client.acquire(key)
    with invalid("key and holder_id required", "holder_id"):
        client.renew(handle, holder="")


def test_release_without_a_key(client, key):
    handle = client.acquire(key)
    with invalid("key and holder_id required", "key"):
        client.release(handle, key="")


def test_release_without_a_holder(client, key):
    handle = client.acquire(key)
    with invalid("key and holder_id required", "holder_id"):
        client.release(handle, holder="")


def test_acquire_without_a_ttl(client, key):
    with invalid(TTL_TEXT, "ttl"):
        client.acquire(key, ttl=None)
    assert not client.inspect(key).held


def test_renew_without_a_ttl_changes_nothing(client, key):
    handle = client.acquire(key, ttl=60)
    with invalid(TTL_TEXT, "ttl"):
        client.renew(handle, ttl=None)
    assert client.inspect(key).handle.expires_at == handle.expires_at


def test_a_zero_ttl(client, key):
    with invalid(TTL_TEXT, "ttl"):
        client.acquire(key, ttl=0)


def test_the_first_check_that_fails_decides(client):
    # Arguments come before the namespace.
    with refused("INVALID_ARGUMENT", "key required"):
        client.acquire("", namespace="nowhere", ttl=None)
    with refused("INVALID_ARGUMENT", TTL_TEXT):
        client.acquire("k", namespace="nowhere", ttl=None)
    with refused("NOT_FOUND"):
        client.acquire("k", namespace="nowhere")


@pytest.mark.parametrize("call", ["acquire", "renew", "release", "inspect", "list"])
def test_an_unknown_namespace_in(client, call):
    text = 'namespace "no-such" not configured'
    with refused("NOT_FOUND", text, "NAMESPACE_UNKNOWN") as box:
        if call == "acquire":
            client.acquire("k", namespace="no-such")
        elif call == "list":
            client.list(namespace="no-such")
        elif call == "inspect":
            client.inspect("k", namespace="no-such")
        else:
            getattr(client, call)(None, holder=STRANGER, key="k", namespace="no-such")
    assert box.error.info.metadata["namespace"] == "no-such"


def test_a_wait_that_ran_out_is_already_held(pair, key):
    pair[0].acquire(key)
    with held():
        pair[1].acquire(key, wait=0.1)


def test_an_explicit_wait_of_zero_fails_at_once(pair, key):
    pair[0].acquire(key)
    before = time.monotonic()
    with held():
        pair[1].acquire(key, wait=0)
    assert time.monotonic() - before < 1


def test_a_held_key_is_refused_with_its_details(pair, key):
    handle = pair[0].acquire(key, ttl=40, metadata={"secret": "of the holder"})
    with held() as box:
        pair[1].acquire(key)
    error = box.error
    assert error.code is grpc.StatusCode.FAILED_PRECONDITION and error.text == HELD
    assert sorted(url.rpartition(".")[2] for url in error.details) == ["ErrorInfo", "RetryInfo"]
    info = error.info.metadata
    assert int(info["fencingToken"]) == handle.fencing_token
    assert 39000 < int(info["remainingMs"]) <= 40000
    assert info["waiters"] == "0"
    assert info["heldSince"].endswith("Z") and "T" in info["heldSince"]
    since = handle.acquired_at.ToDatetime().isoformat(timespec="seconds")
    assert info["heldSince"].startswith(since), (info["heldSince"], since)
    assert 39 < as_seconds(error.retry.retry_delay) <= 40
    assert "owner" not in info or info["owner"] == ""
    assert "secret" not in str(error.status)


def test_a_held_key_tells_how_many_wait(server, pair, key):
    pair[0].acquire(key)
    waiting = pair[1].acquire_soon(key, wait=20)
    server.wait_waiters(key, 1)
    with held() as box:
        pair[1].acquire(key)
    assert box.error.info.metadata["waiters"] == "1"
    waiting.cancel()


def test_refusals_without_a_holder_carry_one_detail(pair, key):
    handle = pair[0].acquire(key)
    with not_held() as box:
        pair[1].release(handle, holder=STRANGER)
    assert [url.rpartition(".")[2] for url in box.error.details] == ["ErrorInfo"]
    with refused("NOT_FOUND") as box:
        pair[1].inspect(key, namespace="no-such")
    assert [url.rpartition(".")[2] for url in box.error.details] == ["ErrorInfo"]


@pytest.mark.parametrize("holder", [
    STRANGER, "x", "0" * 35, "0" * 36, "0" * 37, "{" + STRANGER + "}", "é" * 18, "\n", "%s%n",
    "z" * 100000, STRANGER + "\0"], ids=lambda holder: f"{len(holder)}-characters")
def test_any_other_text_is_a_wrong_holder(client, key, holder):
    handle = client.acquire(key)
    with not_held():
        client.renew(handle, holder=holder)
    with not_held():
        client.release(handle, holder=holder)
    assert client.holder(key) == handle.holder_id


def test_an_upper_case_holder_is_a_wrong_holder(client, key):
    handle = client.acquire(key)
    upper = handle.holder_id.upper()
    if upper != handle.holder_id:
        with not_held():
            client.renew(handle, holder=upper)
        with not_held():
            client.release(handle, holder=upper)


def test_release_of_a_free_key_is_harmless(client, key):
    assert client.release(None, holder=STRANGER, key=key, namespace="locks") is False
    handle = client.acquire(key)
    assert client.release(handle) is True
    assert client.release(handle) is False
    assert client.release(handle) is False


def test_release_of_an_expired_lease_is_harmless(client, key):
    handle = client.acquire(key, ttl=0.05)
    while client.inspect(key).held:
        pass
    assert client.release(handle) is False


def test_renew_of_a_free_key_is_not_held(client, key):
    handle = client.acquire(key)
    client.release(handle)
    with not_held():
        client.renew(handle)


def test_release_with_an_old_holder_while_another_holds(pair, key):
    old = pair[0].acquire(key)
    pair[0].release(old)
    new = pair[1].acquire(key)
    with not_held():
        pair[0].release(old)
    with not_held():
        pair[0].renew(old)
    assert pair[0].holder(key) == new.holder_id


def test_a_second_acquire_of_ones_own_key_is_already_held(client, key):
    client.acquire(key)
    with held():
        client.acquire(key)


def test_the_deadline_of_the_client_ends_a_wait(server, pair, key):
    pair[0].acquire(key)
    with refused("DEADLINE_EXCEEDED"):
        pair[1].acquire(key, wait=20, timeout=0.3)
    server.wait_waiters(key, 0, limit=DRIVER.orphan + 1)


def test_a_cancel_ends_a_wait(server, pair, key):
    pair[0].acquire(key)
    waiting = pair[1].acquire_soon(key, wait=20)
    server.wait_waiters(key, 1)
    waiting.cancel()
    server.wait_waiters(key, 0, limit=DRIVER.orphan + 1)


def test_unknown_methods_and_services_are_unimplemented(client):
    for path in ("/mindd.lease.v1.Lease/Steal", "/mindd.lease.v2.Lease/Acquire", "/x/y",
                 "/grpc.health.v1.Health/List"):
        with pytest.raises(grpc.RpcError) as caught:
            client.channel.unary_unary(path)(b"", timeout=5)
        assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED, (path, caught.value)


def test_a_header_of_capability_is_accepted(client, key):
    handle = client.acquire(key, metadata={"a": "b"})
    call = client.channel.unary_unary("/mindd.lease.v1.Lease/Inspect")
    for value in ("Bearer abc", "bearer abc", "abc"):
        answer = call(wire.inspect(key=key), timeout=5,
                      metadata=(("x-mindd-capability", value),))
        assert wire.first(answer, 1) == 1
    client.release(handle)


def test_errors_come_without_initial_metadata_and_message(client, key):
    client.acquire(key)
    call = client.channel.unary_unary("/mindd.lease.v1.Lease/Acquire").future(
        wire.acquire(key=key, ttl=wire.duration(5)), timeout=5)
    error = call.exception()
    assert LeaseError(error).reason == "LEASE_HELD"
    assert not list(call.initial_metadata()), "not trailers-only"
