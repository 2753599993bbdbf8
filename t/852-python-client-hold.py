# SPDX-License-Identifier: Apache-2.0
# Takes long.
"""The Python client: a held lease is renewed while it can be, and is known to be lost before anybody
else can have it."""
import os
import signal
import subprocess
import sys
import threading
import time

import grpc
import pytest

from client import until
from drivers import SLOW
from proxy import Proxy
from pyclient import PACKAGE, Scripted, connect, granted, pb, raises
from server import BUILD, Server
from mindd.client import LeaseHeld, LeaseLost, MindD, MinddError

TTL = 1.0 * SLOW


@pytest.fixture
def m(server):
    with connect(server) as client:
        yield client


def lost_at(lease, limit):
    """Moment at which check() first raises, on the monotonic clock."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        try:
            lease.check()
        except LeaseLost:
            return time.monotonic()
        time.sleep(0.002)
    raise AssertionError(f"not lost within {limit} s")


def test_a_hold_outlives_its_ttl_and_is_released_at_the_end(m, key):
    with m.lease.hold("locks", key, ttl=TTL, metadata={"a": "b"}) as lease:
        first = m.lease.inspect("locks", key).handle
        end = time.monotonic() + 3 * TTL
        while time.monotonic() < end:
            lease.check()
            assert 0 < lease.remaining() <= TTL and not lease.lost
            time.sleep(0.02)
        now = m.lease.inspect("locks", key)
        assert now.handle.holder_id == first.holder_id == lease.holder_id
        assert now.handle.fencing_token == lease.fencing_token > 0
        assert dict(now.handle.metadata) == {"a": "b"}
        assert (lease.namespace, lease.key) == ("locks", key)
    assert not m.lease.inspect("locks", key).held


def test_a_block_that_raises_releases_and_raises(m, key):
    with pytest.raises(KeyError):
        with m.lease.hold("locks", key, ttl=60):
            raise KeyError("of the block")
    assert not m.lease.inspect("locks", key).held


def test_no_thread_stays(m, key):
    before = set(threading.enumerate())
    for _ in range(5):
        with m.lease.hold("locks", key, ttl=60):
            pass
    until(lambda: not [thread for thread in set(threading.enumerate()) - before
                       if thread.name.startswith("mindd")], 5, "the renewers are gone")


def test_a_held_key_is_told_and_a_wait_is_waited(server, m, key):
    with m.lease.hold("locks", key, ttl=60):
        with raises(LeaseHeld):
            with m.lease.hold("locks", key, ttl=60):
                raise AssertionError("entered")
        got = []

        def wait():
            with m.lease.hold("locks", key, ttl=60, wait_for=30) as lease:
                got.append(lease.fencing_token)
        waiter = threading.Thread(target=wait)
        waiter.start()
        server.wait_waiters(key, 1)
    waiter.join(20)
    assert len(got) == 1


def test_after_a_wait_longer_than_the_ttl_the_term_is_fresh(server, m, key):
    handle, seen = m.lease.acquire("locks", key, ttl=60), []

    def wait():
        with m.lease.hold("locks", key, ttl=TTL, wait_for=30) as lease:
            seen.append(lease.remaining())
            lease.check()
    waiter = threading.Thread(target=wait)
    waiter.start()
    server.wait_waiters(key, 1)
    time.sleep(1.5 * TTL)
    m.lease.release(handle.holder_id, "locks", key)
    waiter.join(20)
    assert seen and seen[0] > TTL / 2


@pytest.mark.parametrize("how", ["kill", "freeze", "drop"])
def test_without_the_server_the_loss_is_known_before_the_lease_can_end(how):
    with Server(workers=1) as server, Proxy(server.port) as proxy:
        tree, told = server.tree(), []
        with MindD(proxy.address) as m:
            began = time.monotonic()
            with raises(LeaseLost, "FAILED_PRECONDITION") as caught:
                with m.lease.hold("locks", "k", ttl=2 * TTL, on_lost=told.append) as lease:
                    until(lambda: lease.handle.expires_at.ToDatetime()
                          > first.expires_at.ToDatetime(), 2 * TTL, "it is renewed") \
                        if (first := lease.handle) else None
                    if how == "kill":
                        server.kill()
                    elif how == "freeze":
                        for pid in tree:
                            os.kill(pid, signal.SIGSTOP)
                    else:
                        proxy.silent = True
                    at = lost_at(lease, 3 * TTL)
                    # The last answered request passed the proxy after it was sent.
                    assert began < proxy.answered and at < proxy.answered + 2 * TTL
                    assert lease.lost and lease.remaining() == 0
                    until(lambda: told, 5 * SLOW, "on_lost is called")
        if how == "freeze":
            for pid in tree:
                os.kill(pid, signal.SIGCONT)
        assert len(told) == 1 and isinstance(told[0], LeaseLost)
        assert isinstance(caught.error.__cause__, MinddError), "why it was not renewed is told"
        if how == "kill":
            server.start()


def test_a_short_outage_is_survived(key):
    with Server(workers=2) as server, connect(server) as m:
        with m.lease.hold("locks", key, ttl=8 * SLOW) as lease:
            server.kill()
            before = lease.handle.expires_at.ToDatetime()
            server.start()
            until(lambda: lease.handle.expires_at.ToDatetime() > before, 8 * SLOW, "it is renewed")
            lease.check()
            assert m.lease.inspect("locks", key).handle.holder_id == lease.holder_id


def test_a_release_by_somebody_else_is_noticed(m, key):
    told = []
    with raises(LeaseLost, "FAILED_PRECONDITION", "not held by this holder") as caught:
        with m.lease.hold("locks", key, ttl=TTL, on_lost=told.append) as lease:
            m.lease.release(lease.holder_id, "locks", key)
            lost_at(lease, TTL)
            until(lambda: told, 5 * SLOW, "on_lost is called")
    assert caught.error.reason == "NOT_HOLDER" and told[0] is caught.error


def test_an_error_of_the_block_is_not_hidden_by_the_loss(m, key):
    with pytest.raises(KeyError):
        with m.lease.hold("locks", key, ttl=TTL) as lease:
            m.lease.release(lease.holder_id, "locks", key)
            lost_at(lease, TTL)
            raise KeyError("of the block")


def test_the_lease_of_another_is_left_alone_at_the_end(m, key):
    with raises(LeaseLost):
        with m.lease.hold("locks", key, ttl=TTL) as lease:
            m.lease.release(lease.holder_id, "locks", key)
            other = m.lease.acquire("locks", key, ttl=60)
            lost_at(lease, TTL)
    assert m.lease.inspect("locks", key).handle.holder_id == other.holder_id


def test_an_on_lost_that_fails_or_leaves_the_block_does_no_harm(m, key):
    def fail(_):
        raise RuntimeError("on purpose")
    with raises(LeaseLost):
        with m.lease.hold("locks", key, ttl=TTL, on_lost=fail) as lease:
            m.lease.release(lease.holder_id, "locks", key)
            lost_at(lease, TTL)


def test_renewals_come_at_a_third_of_the_ttl_and_go_on_through_refusals():
    away = (grpc.StatusCode.UNAVAILABLE, "away")
    denied = (grpc.StatusCode.PERMISSION_DENIED, "no")
    renewed = pb.RenewResponse(handle=granted().handle)
    ttl = 3.0 * SLOW
    with Scripted(granted(), away, denied, renewed) as scripted, MindD(scripted.address) as m:
        with m.lease.hold("locks", "k", ttl=ttl) as lease:
            began = time.monotonic()
            until(lambda: len(scripted.seen) >= 4, ttl, "it is renewed")
            assert time.monotonic() - began < ttl * 0.6, "blips are retried soon"
            until(lambda: len(scripted.seen) >= 5, ttl, "it is renewed again")
            took = time.monotonic() - began
            assert ttl * 0.55 <= took, f"{took} s for two renewals and two blips"
            lease.check()
            scripted.script = [pb.ReleaseResponse(existed=True)]
    assert [seen.method for seen in scripted.seen[:5]] == ["Acquire"] + ["Renew"] * 4
    assert scripted.seen[-1].method == "Release"


FROZEN = """
import sys, time
sys.path[:0] = sys.argv[2:]
from mindd.client import MindD, LeaseLost
with MindD(sys.argv[1]) as m:
    try:
        with m.lease.hold("locks", "frozen", ttl=float(1)) as lease:
            print("held", flush=True)
            for line in sys.stdin:
                lease.check()
                print("still held", flush=True)
    except LeaseLost as error:
        print("lost", flush=True)
"""


def test_a_frozen_program_learns_of_the_loss_at_its_next_look(server):
    process = subprocess.Popen(
        [sys.executable, "-c", FROZEN, server.address, PACKAGE, os.path.join(BUILD, "t", "py")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "held\n"
    process.send_signal(signal.SIGSTOP)
    with server.client() as other:
        other.acquire("frozen", ttl=60, wait=20 * SLOW)
        process.send_signal(signal.SIGCONT)
        process.stdin.write("look\n")
        process.stdin.close()
        assert process.stdout.readline() == "lost\n"
        assert process.wait(20) == 0
        assert other.holder("frozen")


def test_margins(m, key):
    with m.lease.hold("locks", key, ttl=10, margin=4) as lease:
        assert lease.remaining() <= 6
    for wrong in (-1, 6):
        with pytest.raises(ValueError):
            m.lease.hold("locks", key, ttl=10, margin=wrong)


def test_misuse_is_told(m, key):
    hold = m.lease.hold("locks", key, ttl=60)
    with pytest.raises(RuntimeError):
        hold.check()
    with hold:
        with pytest.raises(RuntimeError):
            hold.__enter__()


def test_a_client_closed_in_the_block_is_no_second_error(server, key):
    m = connect(server)
    with m.lease.hold("locks", key, ttl=60):
        m.close()
