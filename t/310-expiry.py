# SPDX-License-Identifier: Apache-2.0
# Takes long.
"""When a lease ends, and that it stays ended."""
import time

import pytest
from google.protobuf import duration_pb2

from client import LeaseError, held, micros, not_held, refused
from drivers import DRIVER, rounds, slack

INT64 = (1 << 63) - 1


def sleep_past(t1, ttl, more):
    """Until `more` after the last moment at which the lease can have ended."""
    time.sleep(max(0, t1 + ttl + more - time.monotonic()))


def test_B01_a_dead_lease_does_not_come_back_when_nobody_took_it(client, key):
    handle = client.acquire(key, ttl=0.3)
    sleep_past(time.monotonic(), 0.3, 0.1)
    with not_held():
        client.renew(handle, ttl=5)
    end = time.monotonic() + 5
    while time.monotonic() < end:
        assert not client.inspect(key).held
        time.sleep(0.25)


def test_B01_nor_when_somebody_had_it_in_between(pair, key):
    handle = pair[0].acquire(key, ttl=0.3)
    sleep_past(time.monotonic(), 0.3, slack(DRIVER.late))
    pair[1].release(pair[1].acquire(key))
    with not_held():
        pair[0].renew(handle, ttl=5)
    assert not pair[0].inspect(key).held


def test_B01_nor_when_somebody_has_it_now(pair, key):
    handle = pair[0].acquire(key, ttl=0.3)
    sleep_past(time.monotonic(), 0.3, slack(DRIVER.late))
    second = pair[1].acquire(key, ttl=60, metadata={"who": "second"})
    with not_held():
        pair[0].renew(handle, ttl=5)
    with not_held():
        pair[0].release(handle)
    shown = pair[0].inspect(key).handle
    assert shown.holder_id == second.holder_id
    assert shown.expires_at == second.expires_at
    assert dict(shown.metadata) == {"who": "second"}


def test_B01_a_millisecond_after_the_deadline_is_after_it(client, new_key):
    for _ in range(rounds(30, 100)):
        key = new_key()
        handle = client.acquire(key, ttl=0.05)
        sleep_past(time.monotonic(), 0.05, 0.001)
        with not_held():
            client.renew(handle, ttl=5)
        assert not client.inspect(key).held


TTLS = [(0.02, 40), (0.05, 30), (0.25, 8), (1.0, 1), (1.5, 1), (7.0, 1)]


def judge_grant(t0, t1, ttl, received):
    assert received >= t0 + ttl, f"granted {t0 + ttl - received:.6f} s early"
    late = received - (t1 + ttl)
    assert late <= slack(DRIVER.late), f"granted {late:.3f} s late"


@pytest.mark.limit(120)
@pytest.mark.parametrize("ttl,count", TTLS, ids=[f"{ttl}s" for ttl, _ in TTLS])
def test_B04_a_waiter_gets_an_abandoned_lease_in_its_window(pair, new_key, ttl, count):
    for _ in range(rounds(count, 200 if ttl < 1 else 20)):
        key = new_key()
        t0 = time.monotonic()
        pair[0].acquire(key, ttl=ttl)
        t1 = time.monotonic()
        waiting = pair[1].acquire_soon(key, wait=20, ttl=60)
        handle = waiting.result()
        judge_grant(t0, t1, ttl, waiting.received)
        pair[1].release(handle)


@pytest.mark.limit(120)
@pytest.mark.parametrize("ttl,count", TTLS[:4], ids=[f"{ttl}s" for ttl, _ in TTLS[:4]])
def test_B04_a_poller_gets_an_abandoned_lease_in_its_window(pair, new_key, ttl, count):
    for _ in range(rounds(count, 200)):
        key = new_key()
        t0 = time.monotonic()
        pair[0].acquire(key, ttl=ttl)
        t1 = time.monotonic()
        while True:
            try:
                handle = pair[1].acquire(key)
            except LeaseError as error:
                assert error.reason == "LEASE_HELD"
                assert time.monotonic() < t1 + ttl + 5
                time.sleep(0.005)
                continue
            received = time.monotonic()
            break
        judge_grant(t0, t1, ttl, received - 0.005 if received > t1 + ttl + 0.005 else received)
        pair[1].release(handle)


@pytest.mark.parametrize("ttl,count", TTLS[:3], ids=[f"{ttl}s" for ttl, _ in TTLS[:3]])
def test_B04_when_inspect_says_free_the_next_acquire_succeeds(pair, new_key, ttl, count):
    for _ in range(rounds(count, 200)):
        key = new_key()
        t0 = time.monotonic()
        pair[0].acquire(key, ttl=ttl)
        while pair[1].inspect(key).held:
            assert time.monotonic() < t0 + ttl + 5
        assert time.monotonic() >= t0 + ttl, "inspect says free too early"
        pair[0].acquire(key, ttl=0.01)


@pytest.mark.parametrize("wait", [None, 0], ids=["absent", "zero"])
def test_B04_without_a_wait_a_held_key_is_refused_at_once(pair, key, wait):
    pair[0].acquire(key)
    took = []
    for _ in range(20):
        before = time.monotonic()
        with held():
            pair[1].acquire(key, wait=wait)
        took.append(time.monotonic() - before)
    assert sorted(took)[-2] < slack(DRIVER.fail_fast), sorted(took)


def test_renew_sets_the_deadline_to_now_plus_ttl_also_shorter(pair, new_key):
    for before, after in ((60, 0.2), (0.3, 0.6)):
        key = new_key()
        handle = pair[0].acquire(key, ttl=before)
        t0 = time.monotonic()
        renewed = pair[0].renew(handle, ttl=after)
        t1 = time.monotonic()
        assert micros(renewed.remaining) <= after * 10**6
        waiting = pair[1].acquire_soon(key, wait=20)
        waiting.result()
        judge_grant(t0, t1, after, waiting.received)


HUGE = [9223372036, 9223372037, 1 << 31, (1 << 32) + 1, 1 << 53, INT64, 315576000000,
        315576000001, 253402300799 - int(time.time()), 253402300800 - int(time.time()),
        INT64 // 1000, INT64 // 10**6, INT64 // 10**6 + 1, 604801]


@pytest.mark.parametrize("seconds", HUGE)
def test_B06_a_huge_ttl_is_refused_and_never_wraps(pair, key, seconds):
    huge = duration_pb2.Duration(seconds=seconds, nanos=999999999)
    with refused("INVALID_ARGUMENT", None, "INVALID_ARGUMENT"):
        pair[0].acquire(key, ttl=huge)
    assert not pair[0].inspect(key).held
    handle = pair[0].acquire(key, ttl=60)
    with refused("INVALID_ARGUMENT"):
        pair[0].renew(handle, ttl=huge)
    with refused("INVALID_ARGUMENT"):
        pair[1].acquire(key, wait=huge)
    with held():
        pair[1].acquire(key)
    assert pair[1].inspect(key).handle.expires_at == handle.expires_at


def test_B06_a_huge_wait_is_refused_on_a_free_key_too(client, key):
    with refused("INVALID_ARGUMENT"):
        client.acquire(key, wait=duration_pb2.Duration(seconds=INT64))
    assert not client.inspect(key).held


@pytest.mark.parametrize("ttl", [1, 3600, 86400, 604800])
def test_B06_a_long_ttl_is_what_it_says(pair, key, ttl):
    handle = pair[0].acquire(key, ttl=ttl)
    assert micros(handle.expires_at) - micros(handle.acquired_at) == ttl * 10**6
    assert handle.expires_at.ToDatetime().year <= 9999
    assert abs(micros(handle.acquired_at) / 1e6 - time.time()) < 5
    with held():
        pair[1].acquire(key)
