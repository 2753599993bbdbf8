# SPDX-License-Identifier: Apache-2.0
"""Different keys are different, whatever their hashes or joined names have in common."""
import random

import pytest

import wire
from client import held
from drivers import rounds, slack
from server import Server

# Pairs with equal hashes: CRC-32, FNV-1a, FNV-1, djb2, and PostgreSQL's hashtext.
PAIRS = [("plumless", "buckeroo"), ("costarring", "liquid"), ("declinate", "macallums"),
         ("altarage", "zinke"), ("creamwove", "quists"), ("hetairas", "mentioner"),
         ("k48136", "k127628"), ("k34391", "k37751")]
for length in (63, 64, 65, 255, 256, 257, 511, 512):
    PAIRS.append(("p" * (length - 1) + "a", "p" * (length - 1) + "b"))
PAIRS += [("p" * length, "p" * (length + 1)) for length in (63, 64, 127, 255, 256, 511)]
PAIRS += [("a ", "a"), ("A", "a"), ("é", "e\u0301"), ("a/", "a")]


@pytest.mark.parametrize("first,second", PAIRS, ids=[f"{a[:12]}({len(a)})-{b[:12]}({len(b)})"
                                                     for a, b in PAIRS])
def test_B43_a_pair_of_keys_is_independent(server, pair, first, second):
    one, two = pair[0].acquire(first), pair[1].acquire(second)
    assert one.holder_id != two.holder_id
    waits_one = pair[1].acquire_soon(first, wait=20)
    waits_two = pair[0].acquire_soon(second, wait=20)
    server.wait_waiters(first, 1)
    server.wait_waiters(second, 1)
    pair[0].release(one)
    got_one = waits_one.result()
    assert not waits_two.done() and pair[0].holder(second) == two.holder_id
    pair[1].release(two)
    got_two = waits_two.result()
    assert pair[0].holder(first) == got_one.holder_id
    pair[0].release(got_one)
    assert pair[0].holder(second) == got_two.holder_id
    pair[0].release(got_two)


JOINED = ["/", ":", ".", "|", "\x1f", " ", ","]
NAMESPACES = ["a", "plumless", "buckeroo", "costarring", "liquid"] + ["a" + c + "b" for c in JOINED]


def quoted(name):
    return '"' + "".join(c if c.isalnum() else f"\\x{ord(c):02x}" for c in name) + '"'


@pytest.fixture(scope="module")
def many():
    with Server(namespaces=[quoted(name) for name in NAMESPACES]) as running:
        yield running


def test_B43_joined_names_are_not_confused(many):
    with many.connect() as client:
        for mark in JOINED:
            one = client.acquire("b" + mark + "c", namespace="a")
            two = client.acquire("c", namespace="a" + mark + "b")
            client.release(one)
            assert client.holder("c", "a" + mark + "b") == two.holder_id
            client.release(two)


def test_B43_namespaces_with_equal_hashes_are_independent(many):
    with many.connect() as client:
        for first, second in (("plumless", "buckeroo"), ("costarring", "liquid")):
            one, two = client.acquire("k", namespace=first), client.acquire("k", namespace=second)
            with held():
                client.acquire("k", namespace=first)
            client.release(one)
            assert client.keys(second) == ["k"] and client.keys(first) == []
            client.release(two)


@pytest.mark.limit(240)
def test_B43_many_random_keys_live_at_once(server):
    """All of them are granted, and List returns exactly them."""
    pick = random.Random(43)
    count = rounds(5000, 100000)
    alphabet = "abcXYZ019-_./:é😀"
    keys = sorted({"".join(pick.choices(alphabet, k=pick.randrange(1, 60)))
                   for _ in range(count)}, key=lambda key: key.encode())
    with server.connect(options=[("grpc.max_receive_message_length", 256 << 20)]) as client:
        acquire = client.channel.unary_unary("/mindd.lease.v1.Lease/Acquire")
        for at in range(0, len(keys), 200):
            calls = [acquire.future(wire.acquire("other", key, wire.duration(900)),
                                    timeout=slack(20)) for key in keys[at:at + 200]]
            for call in calls:
                call.result()
        answer = client.list("other", timeout=slack(30))
        assert [lease.key for lease in answer.leases] == keys
        release = client.channel.unary_unary("/mindd.lease.v1.Lease/Release")
        leases = list(answer.leases)
        for at in range(0, len(leases), 200):
            calls = [release.future(wire.release(lease.holder_id, "other", lease.key),
                                    timeout=slack(20)) for lease in leases[at:at + 200]]
            for call in calls:
                assert wire.first(call.result(), 1) == 1
        assert client.keys("other") == []
