# SPDX-License-Identifier: Apache-2.0
# Takes long.
"""Waiting: first come first served, no wake-up is missed, an expiry wakes as a release does."""
import random
import threading
import time

import pytest

from client import LeaseError, as_seconds, held
from drivers import DRIVER, rounds, slack
from remote import Remote


@pytest.mark.memory
@pytest.mark.limit(90)
def test_waiters_are_served_in_the_order_they_came_across_workers(server, key):
    clients = server.connect_apart(4)
    holder = clients[0].acquire(key)
    waiting = []
    for i in range(24):
        waiting.append(clients[i % 4].acquire_soon(key, wait=60, metadata={"n": str(i)}))
        server.wait_waiters(key, i + 1)
    clients[0].release(holder)
    tokens = []
    for i, one in enumerate(waiting):
        handle = one.result()
        assert clients[0].inspect(key).handle.metadata["n"] == str(i)
        assert not any(later.done() for later in waiting[i + 1:]), "somebody overtook"
        tokens.append(handle.fencing_token)
        clients[(i + 1) % 4].release(handle)
    assert tokens == sorted(tokens)
    for client in clients:
        client.close()


def test_a_plain_acquire_does_not_overtake(server, pair, key):
    handle = pair[0].acquire(key)
    waiting = pair[1].acquire_soon(key, wait=20)
    server.wait_waiters(key, 1)
    pair[0].release(handle)
    with held():
        pair[0].acquire(key)
    waiting.result()


def test_the_ttl_of_a_waiter_starts_at_its_grant(server, pair, key):
    handle = pair[0].acquire(key)
    waiting = pair[1].acquire_soon(key, ttl=5, wait=20)
    server.wait_waiters(key, 1)
    time.sleep(1)
    pair[0].release(handle)
    granted = waiting.result()
    assert as_seconds(granted.remaining) > 4.5


def test_a_renew_by_the_holder_keeps_the_waiter_waiting(server, pair, key):
    t0 = time.monotonic()
    handle = pair[0].acquire(key, ttl=0.5)
    waiting = pair[1].acquire_soon(key, wait=20)
    server.wait_waiters(key, 1)
    for _ in range(5):
        time.sleep(0.2)
        t0 = time.monotonic()
        pair[0].renew(handle, ttl=0.5)
    waiting.result()
    assert waiting.received >= t0 + 0.5


@pytest.mark.limit(180)
def test_B11_no_wake_up_is_missed_whenever_the_release_comes(server, new_key):
    clients = server.connect_apart(3)
    clients.append(server.connect_to(clients[0].worker))
    pairs = [(a, b) for a in clients for b in clients if a is not b]
    worst, count = 0.0, rounds(500, 5000)
    for i in range(count):
        a, b = pairs[i % len(pairs)]
        key, delta = new_key(), 0.005 * i / count
        handle = a.acquire(key, ttl=60)
        sent = time.monotonic()
        waiting = b.acquire_soon(key, ttl=5, wait=30)
        while time.monotonic() < sent + delta:
            pass
        a.release(handle)
        released = time.monotonic()
        granted = waiting.result()
        worst = max(worst, waiting.received - max(released, waiting.sent))
        b.release(granted)
    for client in clients:
        client.close()
    print(f"# worst of {count} hand-overs: {worst * 1e3:.1f} ms")
    assert worst <= slack(DRIVER.handover), f"{worst:.3f} s"


def hold_in_turn(clients, key, holder_end):
    """Waiters on different workers, each holds 100 ms; returns the times of their grants."""
    waiting = [client.acquire_soon(key, ttl=30, wait=30) for client in clients]
    grants, left = [], list(zip(clients, waiting))
    end = time.monotonic() + 40
    while left:
        assert time.monotonic() < end, "a waiter was not granted"
        for pair in left:
            if pair[1].done():
                handle = pair[1].result()
                grants.append((pair[1].received, None))
                time.sleep(0.1)
                pair[0].release(handle)
                grants[-1] = (pair[1].received, time.monotonic())
                left.remove(pair)
                break
        else:
            time.sleep(0.001)
    first_t0, first_t1 = holder_end
    assert grants[0][0] >= first_t0, "granted early"
    assert grants[0][0] <= first_t1 + slack(DRIVER.late), "granted late"
    for (_, released), (granted, _) in zip(grants, grants[1:]):
        assert granted - released <= slack(DRIVER.handover)


@pytest.mark.parametrize("renewals", [0, 5])
def test_B12_the_lease_of_a_killed_holder_goes_to_the_waiters(server, key, renewals):
    clients = server.connect_apart(3)
    with Remote(server.address) as dying:
        answer = dying.do("acquire", key=key, ttl=2, lease="h")
        for _ in range(renewals):
            answer = dying.do("renew", lease="h", ttl=2)
        assert answer["ok"], answer
        dying.close()
        hold_in_turn(clients, key, (answer["t0"] + 2, answer["received"] + 2))
    for client in clients:
        client.close()


@pytest.mark.limit(90)
def test_B12_a_waiter_that_comes_at_the_deadline_is_served(pair, new_key):
    pick = random.Random(12)
    for _ in range(rounds(150, 2000)):
        key = new_key()
        t0 = time.monotonic()
        pair[0].acquire(key, ttl=0.05)
        t1 = time.monotonic()
        start = (t0 + t1) / 2 + 0.05 + pick.uniform(-0.001, 0.001)
        while time.monotonic() < start:
            pass
        waiting = pair[1].acquire_soon(key, wait=20)
        waiting.result()
        assert waiting.received >= t0 + 0.05, "granted early"
        late = waiting.received - max(t1 + 0.05, waiting.sent)
        assert late <= slack(DRIVER.late), f"granted {late:.3f} s late"


def test_a_wait_ends_on_time_whatever_else_happens_on_the_key(server, pair, key):
    """Neither renewals nor other waiters' ends move a waiter's own limit."""
    handle = pair[0].acquire(key, ttl=60)
    stop = threading.Event()

    def renew():
        while not stop.is_set():
            pair[0].renew(handle, ttl=60)
    thread = threading.Thread(target=renew)
    thread.start()
    try:
        sent = time.monotonic()
        waiting = {wait: pair[1].acquire_soon(key, wait=wait) for wait in (0.3, 0.6, 1.0)}
        for wait, one in waiting.items():
            try:
                one.result()
                raise AssertionError("granted while it was held")
            except LeaseError as error:
                assert error.reason == "LEASE_HELD", error
            took = one.received - sent
            assert wait <= took <= wait + slack(DRIVER.late), (wait, took)
    finally:
        stop.set()
        thread.join()
