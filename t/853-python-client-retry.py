# SPDX-License-Identifier: Apache-2.0
# Takes long.
"""The Python client: a call that met an outage is repeated, and never makes two leases of one."""
import os
import random
import signal
import threading
import time

import grpc
import pytest

from client import until
from drivers import SLOW, rounds
from proxy import Proxy
from pyclient import APART, Scripted, connect, granted, pb, raises
from server import Server
from mindd.client import Cancelled, MindD, Unavailable

AWAY = (grpc.StatusCode.UNAVAILABLE, "away")


def in_thread(call):
    """(thread, box): box gets the answer or the error."""
    box = []

    def run():
        try:
            box.append(call())
        except grpc.RpcError as error:
            box.append(error)
    thread = threading.Thread(target=run)
    thread.start()
    return thread, box


@pytest.mark.parametrize("code", ["UNAVAILABLE", "CANCELLED"])
def test_a_passing_fault_is_retried_with_the_same_request_id(code):
    fault = (grpc.StatusCode[code], "fault")
    with Scripted(fault, fault, fault, granted()) as scripted, MindD(scripted.address) as m:
        assert m.lease.acquire("locks", "k", ttl=5).holder_id == "h"
        assert m.lease.acquire("locks", "k", ttl=5).holder_id == "h"
    ids = [seen.request.request_id for seen in scripted.seen]
    assert len(ids) == 5 and len(set(ids[:4])) == 1 and 0 < len(ids[0]) <= 64
    assert ids[4] != ids[0], "another call is another request"


def test_a_request_id_of_the_caller_is_kept():
    with Scripted(AWAY, granted()) as scripted, MindD(scripted.address) as m:
        m.lease.acquire("locks", "k", ttl=5, request_id="mine")
        assert [seen.request.request_id for seen in scripted.seen] == ["mine", "mine"]


def test_the_last_fault_is_told_when_time_is_over():
    with Scripted(AWAY) as scripted, MindD(scripted.address, timeout=0.7) as m:
        began = time.monotonic()
        with raises(Unavailable, "UNAVAILABLE", "away"):
            m.lease.inspect("locks", "k")
        assert time.monotonic() - began <= 0.7 + 0.5 * SLOW
        assert 3 <= len(scripted.seen) <= 12, "back-off, not a storm"


def test_each_attempt_has_a_fresh_deadline_above_what_is_left_of_the_wait():
    with Scripted(AWAY, AWAY, AWAY, granted()) as scripted, MindD(scripted.address) as m:
        m.lease.acquire("locks", "k", ttl=5, wait_for=20)
    waits = [seen.request.wait_for.ToTimedelta().total_seconds() for seen in scripted.seen]
    assert waits[0] == 20 and waits == sorted(waits, reverse=True) and waits[-1] < 20
    for seen, wait in zip(scripted.seen, waits):
        assert wait + 1 < seen.left <= wait + 6  # rounded up on the wire


def test_the_limit_of_the_caller_is_the_limit():
    with Scripted(granted()) as scripted, MindD(scripted.address) as m:
        m.lease.acquire("locks", "k", ttl=5, wait_for=20, timeout=3)
        assert scripted.seen[0].left <= 3.2  # rounded up on the wire


def lose_answers(m, name, count):
    """The next answers of this call are lost on their way back: the server has acted."""
    inner, left = getattr(m.lease._stub, name), [count]

    class Lost(grpc.RpcError):
        def code(self):
            return grpc.StatusCode.UNAVAILABLE

        def details(self):
            return "Socket closed"

        def trailing_metadata(self):
            return ()

    def call(request, **more):
        answer = inner(request, **more)
        if left[0]:
            left[0] -= 1
            raise Lost
        return answer
    setattr(m.lease._stub, name, call)


def test_lost_answers_make_one_lease(server, key):
    with connect(server) as m, server.client() as other:
        lose_answers(m, "Acquire", 3)
        handle = m.lease.acquire("locks", key, ttl=60)
        assert other.holder(key) == handle.holder_id
        lose_answers(m, "Renew", 1)
        renewed = m.lease.renew(handle.holder_id, "locks", key, ttl=90)
        assert renewed.fencing_token == handle.fencing_token
        lose_answers(m, "Release", 1)
        assert m.lease.release(handle.holder_id, "locks", key) is False
        assert other.holder(key) is None


def test_a_waiter_whose_worker_is_killed_stands_in_line_again(key):
    with Server(workers=1) as server, server.client() as other, connect(server) as m:
        holder = other.acquire(key, ttl=300)
        thread, box = in_thread(lambda: m.lease.acquire("locks", key, ttl=60, wait_for=60))
        server.wait_waiters(key, 1)
        (worker,) = server.worker_pids()
        os.kill(worker, signal.SIGKILL)
        until(lambda: worker not in server.worker_pids() and server.worker_pids(), 10 * SLOW,
              "another worker")
        server.wait_waiters(key, 1, limit=20)
        assert not box
        with server.client() as again:
            again.release(holder)
            thread.join(20)
            assert again.holder(key) == box[0].holder_id
            assert box[0].fencing_token > holder.fencing_token
            assert again.inspect(key).waiters == 0, "it stands in line once"


@pytest.mark.limit(150)
def test_killed_workers_never_make_two_leases_of_one_call(new_key):
    with Server(workers=2) as server, connect(server, timeout=40 * SLOW) as m:
        for _ in range(rounds(12, 200)):
            keys = [new_key() for _ in range(8)]
            calls = [in_thread(lambda key=key: m.lease.acquire("locks", key, ttl=300, wait_for=20))
                     for key in keys]
            time.sleep(random.uniform(0, 0.004))
            for pid in server.worker_pids():
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            for thread, _ in calls:
                thread.join()
            for key, (_, (handle,)) in zip(keys, calls):
                assert isinstance(handle, pb.LeaseHandle), handle
                seen = m.lease.inspect("locks", key)
                assert seen.held and seen.handle.holder_id == handle.holder_id
                assert seen.waiters == 0 and seen.handle.fencing_token == handle.fencing_token
                assert m.lease.release(handle.holder_id, "locks", key, timeout=20)


def test_a_server_that_starts_late_is_waited_for(key):
    with Server(workers=1, start=False) as server:
        with connect(server, timeout=30 * SLOW) as m:
            thread, box = in_thread(lambda: m.lease.acquire("locks", key, ttl=60))
            time.sleep(0.5)
            server.start()
            began = time.monotonic()
            thread.join(30)
            assert isinstance(box[0], pb.LeaseHandle), box[0]
            # gRPC's own pace would be seconds to minutes.
            assert time.monotonic() - began < 3 * SLOW


def test_closing_in_an_outage_is_quiet():
    noise, hook = [], threading.excepthook
    threading.excepthook = noise.append
    try:
        for i in range(30):
            m = MindD("127.0.0.1:1", options=APART)
            thread, box = in_thread(lambda m=m: m.lease.inspect("locks", "k"))
            time.sleep(0.01 * i)
            m.close()
            thread.join(10)
            assert isinstance(box[0], (Unavailable, Cancelled)), box
    finally:
        threading.excepthook = hook
    assert not noise, noise


def test_a_close_between_two_attempts_gives_the_call_up(monkeypatch):
    m = MindD("127.0.0.1:1", options=APART)
    metadata = m.lease._metadata
    calls = []

    def close_before_the_second():
        calls.append(1)
        if len(calls) == 2:
            m.close()
        return metadata()
    monkeypatch.setattr(m.lease, "_metadata", close_before_the_second)
    with pytest.raises(Cancelled) as told:
        m.lease.inspect("locks", "k")
    assert told.value.details() == "the client was closed" and len(calls) == 2
    with pytest.raises(ValueError):  # after the close it is a mistake of the caller's
        m.lease.inspect("locks", "k")


def test_an_outage_is_not_a_refusal_while_the_server_drains(key):
    """A waiter is told UNAVAILABLE by a server that stops, and finds its successor."""
    with Server(workers=1) as server, connect(server, timeout=30 * SLOW) as m:
        with server.client() as other:
            holder = other.acquire(key, ttl=300)
        thread, box = in_thread(lambda: m.lease.acquire("locks", key, ttl=60, wait_for=60))
        server.wait_waiters(key, 1)
        server.stop()
        server.start()
        server.wait_waiters(key, 1, limit=20)
        with server.client() as other:
            other.release(holder)
        thread.join(20)
        assert isinstance(box[0], pb.LeaseHandle), box[0]


def test_a_quiet_wait_notices_a_dead_wire_and_stands_in_line_again(server, key):
    options = APART + (("grpc.keepalive_time_ms", 1000), ("grpc.keepalive_timeout_ms", 1000),
                       ("grpc.http2.ping_timeout_ms", 1000),
                       ("grpc.http2.min_time_between_pings_ms", 500))
    with Proxy(server.port) as proxy, server.client() as other, \
            MindD(proxy.address, options=options, timeout=30 * SLOW) as m:
        holder = other.acquire(key, ttl=300)
        thread, box = in_thread(lambda: m.lease.acquire("locks", key, ttl=60, wait_for=100))
        server.wait_waiters(key, 1)
        time.sleep(2.5)  # pings go and come: the wait must survive them
        assert proxy.connections == 1 and not box
        proxy.silent = True
        until(lambda: proxy.connections > 1, 10 * SLOW, "the client connects anew")
        proxy.silent = False
        other.release(holder)
        thread.join(30 * SLOW)
        assert isinstance(box[0], pb.LeaseHandle), box
        until(lambda: other.holder(key) == box[0].holder_id, 5, "one lease is left")
