# SPDX-License-Identifier: Apache-2.0
"""Bytes that no well-behaved client sends."""
import re

import grpc
import pytest

import wire
from client import LeaseError, refused, until

MIN64, MIN32, MAX32 = -(1 << 63), -(1 << 31), (1 << 31) - 1
BAD = {
    "one second less a nanosecond": wire.duration(1, -1),
    "minus one nanosecond": wire.duration(0, -1),
    "minus one second": wire.duration(-1),
    "minus one second and a nanosecond": wire.duration(-1, 1),
    "a thousand million nanoseconds": wire.duration(0, 10**9),
    "the most nanoseconds": wire.duration(1, MAX32),
    "the least seconds": wire.duration(MIN64),
    "the least nanoseconds": wire.duration(0, MIN32),
    "the least of both": wire.duration(MIN64, MIN32),
    "the most seconds": wire.duration((1 << 63) - 1, 999999999),
    "beyond ten thousand years": wire.duration(315576000001),
}


@pytest.mark.parametrize("bad", BAD.values(), ids=list(BAD))
def test_B07_a_malformed_duration_is_refused_and_stores_nothing(client, key, bad):
    with refused("INVALID_ARGUMENT", "ttl required and must be > 0"):
        client.raw("Acquire", wire.acquire(key=key, ttl=bad))
    assert not client.inspect(key).held
    with refused("INVALID_ARGUMENT"):
        client.raw("Acquire", wire.acquire(key=key, ttl=wire.duration(5), wait_for=bad))
    assert not client.inspect(key).held
    handle = client.acquire(key, ttl=60)
    with refused("INVALID_ARGUMENT", "ttl required and must be > 0"):
        client.raw("Renew", wire.renew(handle.holder_id, key=key, ttl=bad))
    assert client.inspect(key).handle.expires_at == handle.expires_at


def test_B07_zero_and_absent_are_the_same(client, key):
    for ttl in (None, b"", wire.number(1, 0) + wire.number(2, 0)):
        with refused("INVALID_ARGUMENT", "ttl required and must be > 0"):
            client.raw("Acquire", wire.acquire(key=key, ttl=ttl))
    assert not client.inspect(key).held


def test_B07_the_smallest_durations_are_leases(client, key):
    for nanos in (1, 999, 999999, 1000000):
        answer = client.raw("Acquire", wire.acquire(key=key, ttl=wire.duration(0, nanos),
                                                    wait_for=wire.duration(2)))
        handle = wire.first(answer, 1)
        assert wire.first(handle, 4) != wire.first(handle, 5), "it ends when it begins"


@pytest.mark.parametrize("method", ["Acquire", "Renew", "Release", "Inspect", "List"])
def test_garbage_is_an_invalid_argument(client, method):
    for garbage in (b"\xff", b"\x0a\xff\xff\xff\xff\x0f", b"\x0a\x05ab", b"\x07", b"\x0b\x0c",
                    b"\x1a\x02\x08", b"\x00" * 10, b"\x0a" + b"\x80" * 10 + b"\x01"):
        with refused("INVALID_ARGUMENT"):
            client.raw(method, garbage)


@pytest.mark.parametrize("method,text", [("Acquire", "key required"), ("Inspect", "key required"),
                                         ("Renew", "key and holder_id required"),
                                         ("Release", "key and holder_id required")])
def test_an_empty_message_lacks_its_key(client, method, text):
    with refused("INVALID_ARGUMENT", text):
        client.raw(method, b"")


def test_unknown_fields_are_ignored(client, key):
    more = wire.number(90, 7) + wire.data(91, b"later") + b"\xe5\x05\1\2\3\4"
    answer = client.raw("Acquire", wire.acquire(key=key, ttl=wire.duration(5)) + more)
    assert wire.first(wire.first(answer, 1), 3) == key.encode()


def test_the_last_of_a_field_sent_twice_counts(client, key):
    answer = client.raw("Acquire", wire.acquire(key="not-" + key) +
                        wire.acquire(key=key, ttl=wire.duration(5)))
    assert wire.first(wire.first(answer, 1), 3) == key.encode()


def test_a_metadata_key_sent_twice_keeps_the_last_value(client, key):
    client.raw("Acquire", wire.acquire(key=key, ttl=wire.duration(5),
                                       metadata=[("a", "1"), ("b", "2"), ("a", "3")]))
    assert dict(client.inspect(key).handle.metadata) == {"a": "3", "b": "2"}


BROKEN = {
    "a lone byte": b"a\xff", "an overlong slash": b"a\xc0\xaf", "an overlong NUL": b"\xc0\x80",
    "a surrogate": b"\xed\xa0\x80", "cut off": b"a\xe2\x82", "beyond Unicode": b"\xf4\x90\x80\x80",
    "a NUL inside": b"a\0b", "a NUL at the end": b"a\0", "a NUL alone": b"\0",
}


@pytest.mark.parametrize("name", BROKEN.values(), ids=list(BROKEN))
def test_B45_broken_names_are_refused_everywhere(client, key, name):
    ttl = wire.duration(30)
    handle = client.acquire("a") if not client.inspect("a").held else None
    stranger = "01234567-89ab-4cde-8f01-23456789abcd"
    for method, request in (
            ("Acquire", wire.acquire(key=name, ttl=ttl)),
            ("Acquire", wire.acquire(namespace=name, key=key, ttl=ttl)),
            ("Acquire", wire.acquire(key=key, ttl=ttl, metadata=[(name, "v")])),
            ("Acquire", wire.acquire(key=key, ttl=ttl, metadata=[("k", name)])),
            ("Acquire", wire.acquire(key=key, ttl=ttl, request_id=name)),
            ("Inspect", wire.inspect(key=name)),
            ("Inspect", wire.inspect(namespace=name, key=key)),
            ("Renew", wire.renew(stranger, key=name, ttl=ttl)),
            ("Renew", wire.renew(stranger, namespace=name, key=key, ttl=ttl)),
            ("Release", wire.release(stranger, key=name)),
            ("List", wire.data(1, name)),
            ("List", wire.data(1, "locks") + wire.data(102, name))):
        with refused("INVALID_ARGUMENT"):
            client.raw(method, request)
    assert not client.inspect(key).held
    # `a` followed by a NUL is not `a`.
    if handle:
        assert client.holder("a") == handle.holder_id
        client.release(handle)


def test_B45_a_broken_holder_id_is_a_wrong_holder(client, key):
    handle = client.acquire(key)
    for holder in (b"\xff", b"\0", handle.holder_id.encode() + b"\0", b"\xc0\x80" * 18):
        with refused("FAILED_PRECONDITION", "not held by this holder", "NOT_HOLDER"):
            client.raw("Release", wire.release(holder, key=key))
    assert client.holder(key) == handle.holder_id


ODD = ["\uffff", "😀", "a b", " ", "\t", "مرحبا", "%", "%s%n", "'", '"', "\n", "a\n2026-01-01 bug x: forged", "$1",
       "';-- ", "\\", "\x7f", "\x1b[31m", "é", "../..//etc/passwd", "\u202eabc", "{}", "a/b"]


@pytest.mark.parametrize("odd", ODD, ids=[ascii(odd).strip("'\"") for odd in ODD])
def test_B45_odd_names_come_back_byte_for_byte(client, odd):
    handle = client.acquire(odd, metadata={odd: odd, "k": odd})
    shown = client.inspect(odd).handle
    assert shown.key == odd and dict(shown.metadata) == {odd: odd, "k": odd}
    assert odd in client.keys()
    with refused("FAILED_PRECONDITION", "already held") as box:
        client.acquire(odd)
    assert box.error.text == "already held"
    # A text that quotes the name survives the way to the client.
    with refused("NOT_FOUND", f'namespace "{odd}" not configured') as box:
        client.acquire(odd, namespace=odd)
    assert box.error.info.metadata["namespace"] == odd
    assert client.release(handle)


def test_B45_names_do_not_break_the_log(server, client):
    for odd in ("a\n2026-01-01T00:00:00.000Z bug master: forged", "\x1b[2J", "\r\n"):
        for namespace in ("locks", odd):
            try:
                client.release(client.acquire(odd, namespace=namespace))
            except LeaseError:
                pass
    for line in server.log().splitlines():
        assert re.match(r"\S+Z (debug|info|warn|error) [a-z0-9-]+: ", line), ascii(line)
        assert "forged" not in line.split(": ")[0]
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", line), ascii(line)


def test_B45_names_that_normalise_alike_are_different_keys(client):
    one, two = "caf\u00e9", "cafe\u0301"
    first, second = client.acquire(one), client.acquire(two)
    assert first.holder_id != second.holder_id
    client.release(first)
    assert client.holder(two) == second.holder_id
    client.release(second)


def test_headers_at_the_limit_are_no_harm(client, key):
    call = client.channel.unary_unary("/mindd.lease.v1.Lease/Inspect")
    try:
        call(wire.inspect(key=key), timeout=5, metadata=(("x-long", "v" * 20000),))
    except grpc.RpcError as error:
        assert error.code() in (grpc.StatusCode.RESOURCE_EXHAUSTED,
                                grpc.StatusCode.UNAVAILABLE), error

    def answers():
        try:
            return not client.inspect(key).held
        except LeaseError as error:  # the transport may have closed the connection
            assert error.code is grpc.StatusCode.UNAVAILABLE, error
            return False
    until(answers, 5, "the same client goes on")
