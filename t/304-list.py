# SPDX-License-Identifier: Apache-2.0
"""List: order, paging, prefixes, and what it says while leases come and go."""
import random
import threading

import pytest

import wire
from client import refused
from drivers import rounds
from server import Server

ORDER = ["10", "9", "A", "B", "Z", "_x", "a", "a-b", "a_z", "ab", "b", "z", "~", "é", "\uffff", "😀"]


@pytest.fixture(scope="module", params=["C", "en_US.UTF-8"])
def located(request):
    """A server in a locale that sorts differently; the order must not care."""
    with Server(env={"LC_ALL": request.param, "LANG": request.param}) as running:
        yield running


def test_B44_the_order_is_that_of_the_bytes(located):
    with located.connect() as client:
        shuffled = ORDER[:]
        random.Random(44).shuffle(shuffled)
        for key in shuffled:
            client.acquire(key)
        assert client.keys() == ORDER
        for size in (1, 2, 3, 5, 15, 16, 17):
            assert pages(client, size) == ORDER
        assert client.keys("other") == []


def pages(client, size, prefix="", namespace=None):
    found, token = [], ""
    while True:
        answer = client.list(namespace, page_size=size, page_token=token, key_prefix=prefix)
        keys = [lease.key for lease in answer.leases]
        assert len(keys) <= size
        found += keys
        token = answer.next_page_token
        if not token:
            return found
        assert len(keys) == size, "a page that is not the last one is full"


def test_prefixes_are_bytes(client):
    for key in ("p", "p/", "p/a", "p/b", "p0", "q", "p/é", "P/a"):
        client.acquire(key, namespace="other")
    assert client.keys("other", key_prefix="p/") == ["p/", "p/a", "p/b", "p/é"]
    assert client.keys("other", key_prefix="p") == ["p", "p/", "p/a", "p/b", "p/é", "p0"]
    assert client.keys("other", key_prefix="none") == []
    assert pages(client, 2, "p/", "other") == ["p/", "p/a", "p/b", "p/é"]
    answer = client.list("other", key_prefix="p/", page_size=4)
    assert len(answer.leases) == 4 and answer.next_page_token == ""


def test_a_page_token_that_is_not_ours_is_refused(client):
    for token in ("x", "\x7f", "AAAA" * 1000):
        with refused("INVALID_ARGUMENT"):
            client.list(page_token=token)
    with refused("INVALID_ARGUMENT"):
        client.raw("List", wire.data(1, "locks") + wire.data(101, b"1\xff"))


def test_an_expired_lease_is_not_listed(client, key):
    client.acquire(key, ttl=0.1)
    while client.inspect(key).held:
        pass
    assert key not in client.keys()


@pytest.mark.limit(120)
def test_a_list_returns_each_lease_held_throughout_exactly_once(server):
    """Other keys come and go and the held ones are renewed while it runs."""
    steady = [f"steady-{i:04}" for i in range(400)]
    stop, wrong = threading.Event(), []
    with server.connect() as client, server.connect() as lister, server.connect() as noise:
        handles = [client.acquire(key, ttl=100) for key in steady]

        def renew():
            while not stop.is_set():
                for handle in handles:
                    if stop.is_set():
                        break
                    client.renew(handle, ttl=100)

        def come_and_go():
            pick = random.Random(1)
            while not stop.is_set():
                noise.release(noise.acquire(f"steady-{pick.randrange(400):04}-between"))

        def guarded(work):
            try:
                work()
            except BaseException as error:  # a thread's failure must be the test's
                wrong.append(error)
        threads = [threading.Thread(target=guarded, args=(work,)) for work in (renew, come_and_go)]
        for thread in threads:
            thread.start()
        try:
            for size in [0, 7, 100] * (rounds(9, 90) // 3):
                keys = pages(lister, size) if size else lister.keys()
                assert keys == sorted(keys), "out of order"
                assert len(keys) == len(set(keys)), "twice in one list"
                assert [key for key in keys if key in set(steady)] == steady
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        assert not wrong, wrong
        for handle in handles:
            client.release(handle)
