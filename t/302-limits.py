# SPDX-License-Identifier: Apache-2.0
"""Limits of requests, at the edge and one beyond it."""
import grpc
import pytest

import wire
from client import as_seconds, micros, refused
from google.protobuf import duration_pb2

WEEK = 7 * 24 * 3600
HOUR = 3600


def too_big(*words):
    """INVALID_ARGUMENT whose text names the field and the limit."""
    class Check:
        def __enter__(self):
            self.inner = refused("INVALID_ARGUMENT", None, "INVALID_ARGUMENT")
            self.box = self.inner.__enter__()

        def __exit__(self, *details):
            result = self.inner.__exit__(*details)
            for word in words:
                assert str(word) in self.box.error.text, self.box.error.text
            return result
    return Check()


def duration(seconds, nanos=0):
    return duration_pb2.Duration(seconds=seconds, nanos=nanos)


@pytest.mark.parametrize("letter,size", [("k", 512), ("é", 256), ("😀", 128)],
                         ids=["ascii", "two-bytes", "four-bytes"])
def test_a_key_of_512_bytes_and_one_more(client, letter, size):
    longest = letter * size
    handle = client.acquire(longest)
    assert handle.key == longest
    assert client.holder(longest) == handle.holder_id
    assert longest in client.keys()
    for beyond in (longest + "x", longest + letter, "x" * 100000):
        with too_big("key", 512):
            client.acquire(beyond)
        with too_big("key", 512):
            client.inspect(beyond)
        with too_big("key", 512):
            client.renew(handle, key=beyond)
        with too_big("key", 512):
            client.release(handle, key=beyond)
    assert client.release(handle)


def test_a_namespace_of_more_than_128_bytes(client):
    with refused("NOT_FOUND"):
        client.acquire("k", namespace="n" * 128)
    with too_big("namespace", 128):
        client.acquire("k", namespace="n" * 129)
    with too_big("namespace", 128):
        client.list(namespace="n" * 129)
    with refused("INVALID_ARGUMENT"):
        client.acquire("k", namespace="")


def test_metadata_of_64_entries_and_one_more(client, key):
    full = {f"{i:02}": "v" for i in range(64)}
    handle = client.acquire(key, metadata=full)
    assert dict(client.inspect(key).handle.metadata) == full
    client.release(handle)
    with too_big("metadata", 64):
        client.acquire(key, metadata={**full, "one": "more"})
    assert not client.inspect(key).held


def test_metadata_of_8_KiB_and_one_byte_more(client, key):
    handle = client.acquire(key, metadata={"k": "v" * 8191})
    assert client.inspect(key).handle.metadata["k"] == "v" * 8191
    assert client.renew(handle).metadata["k"] == "v" * 8191
    client.release(handle)
    handle = client.acquire(key, metadata={"k" * 8192: ""})
    client.release(handle)
    spread = {f"{i:02}": "v" * 126 for i in range(64)}  # 64 * 128 = 8192
    handle = client.acquire(key, metadata=spread)
    assert dict(handle.metadata) == spread
    client.release(handle)
    for beyond in ({"k": "v" * 8192}, {"k" * 8193: ""}, {**spread, "00": "v" * 127},
                   {"k": "v" * 1000000}):
        with too_big("metadata", 8192):
            client.acquire(key, metadata=beyond)
    assert not client.inspect(key).held


def test_an_empty_metadata_key_is_refused(client, key):
    with refused("INVALID_ARGUMENT"):
        client.acquire(key, metadata={"": "v"})


def test_empty_metadata_values_are_kept(client, key):
    client.acquire(key, metadata={"empty": "", "space": " "})
    assert dict(client.inspect(key).handle.metadata) == {"empty": "", "space": " "}


def test_a_request_id_of_64_bytes_and_one_more(client, key):
    first = client.acquire(key, request_id="r" * 64)
    assert client.acquire(key, request_id="r" * 64).holder_id == first.holder_id
    with too_big("request_id", 64):
        client.acquire(key, request_id="r" * 65)


def test_the_longest_ttl_and_one_nanosecond_more(client, key):
    handle = client.acquire(key, ttl=duration(WEEK))
    assert micros(handle.expires_at) - micros(handle.acquired_at) == WEEK * 10**6
    with too_big("ttl", WEEK):
        client.renew(handle, ttl=duration(WEEK, 1))
    with too_big("ttl", WEEK):
        client.renew(handle, ttl=duration(WEEK + 1))
    client.release(handle)
    for beyond in (duration(WEEK, 1), duration(WEEK + 1)):
        with too_big("ttl", WEEK):
            client.acquire(key, ttl=beyond)
    assert not client.inspect(key).held


def test_the_longest_wait_and_one_nanosecond_more(client, key):
    handle = client.acquire(key, wait=duration(HOUR))
    client.release(handle)
    for beyond in (duration(HOUR, 1), duration(HOUR + 1), duration(315576000000)):
        with too_big("wait_for", HOUR):
            client.acquire(key, wait=beyond)
    assert not client.inspect(key).held


@pytest.mark.parametrize("nanos,micro", [(1, 1000), (999, 1000), (1000, 1000), (999999, 1000),
                                         (1000000, 1000), (1000001, 1001), (1001000, 1001),
                                         (1999999, 2000)])
def test_small_ttls_round_up_to_a_millisecond_then_to_microseconds(client, key, nanos, micro):
    handle = client.acquire(key, ttl=duration(0, nanos))
    assert micros(handle.expires_at) - micros(handle.acquired_at) == micro


def test_remaining_is_what_was_asked_for(client, key):
    handle = client.acquire(key, ttl=33.5)
    assert 33.4 < as_seconds(handle.remaining) <= 33.5
    left = client.inspect(key).handle.remaining
    assert 33.0 < as_seconds(left) <= as_seconds(handle.remaining)


def test_a_message_over_the_limit_is_refused_and_the_next_call_works(client, key):
    call = client.channel.unary_unary("/mindd.lease.v1.Lease/Acquire")
    with pytest.raises(grpc.RpcError) as caught:
        call(wire.acquire(key=b"k" * (5 << 20), ttl=wire.duration(5)), timeout=10)
    # The transport refuses it before the server sees a call.
    assert caught.value.code() in (grpc.StatusCode.RESOURCE_EXHAUSTED,
                                   grpc.StatusCode.INVALID_ARGUMENT)
    client.acquire(key)
