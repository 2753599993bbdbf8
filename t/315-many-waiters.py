# SPDX-License-Identifier: Apache-2.0
# Runs alone.
"""Calls that wait cost neither threads nor anybody else's time."""
import time

import pytest
from mindd.lease.v1 import lease_pb2 as pb

import proc
import wire
from client import Client, refused, until
from drivers import rounds, slack
from server import Server


def p99(times):
    return sorted(times)[int(len(times) * 0.99)]


@pytest.mark.limit(120)
def test_B16_two_thousand_waiters_do_not_keep_the_holder_out():
    with Server(workers=4) as server, server.connect() as holder, server.connect() as other:
        handle = holder.acquire("k", ttl=120)
        mine = other.acquire("mine", ttl=120)
        threads = {pid: proc.threads(pid) for pid in server.worker_pids()}
        clients = [server.client() for _ in range(100)]
        calls = [client.stub.Acquire.future(_request(client), timeout=100)
                 for client in clients for _ in range(20)]
        server.wait_waiters("k", 2000, limit=30)
        for pid, before in threads.items():
            assert proc.threads(pid) <= before + 16, "threads grow with the waiters"
        times = {"inspect": [], "list": [], "renew": [], "acquire": []}
        for i in range(rounds(60, 300)):
            for name, step in (("inspect", lambda: other.inspect("k")),
                               ("list", other.list),
                               ("renew", lambda: other.renew(mine)),
                               ("acquire", lambda i=i: other.acquire(f"free-{i}"))):
                before = time.monotonic()
                step()
                times[name].append(time.monotonic() - before)
        for name, taken in times.items():
            assert p99(taken) < slack(0.1), f"{name}: p99 {p99(taken):.3f} s"
        before = time.monotonic()
        with server.connect() as fresh:
            fresh.acquire("fresh")
        assert time.monotonic() - before < slack(1)
        before = time.monotonic()
        holder.release(handle)
        assert time.monotonic() - before < slack(0.1)
        # The chain goes on: each grant lasts 10 ms and ends by itself.
        until(lambda: sum(call.done() for call in calls) > 100, slack(20), "a hundred grants")
        for client in clients:
            client.close()


def _request(client):
    request = pb.AcquireRequest(namespace=client.namespace, key="k")
    request.ttl.nanos, request.wait_for.seconds = 10**7, 90
    return request


@pytest.mark.memory
@pytest.mark.limit(60)
def test_the_limit_of_waiters_refuses_waiters_and_nothing_else():
    with Server(workers=1, options={"waiters": 64}) as server, server.connect() as client:
        handle = client.acquire("k")
        waiting = [client.acquire_soon("k", wait=30) for _ in range(64)]
        server.wait_waiters("k", 64)
        with refused("RESOURCE_EXHAUSTED", None, "WAITERS_FULL"):
            client.acquire("k", wait=5)
        other = client.acquire("free", wait=5)
        client.renew(other)
        client.inspect("k")
        assert client.keys() == ["free", "k"]
        client.renew(handle)
        client.release(handle)
        first = waiting[0].result()
        waiting.append(client.acquire_soon("k", wait=30))
        server.wait_waiters("k", 64)
        assert not waiting[-1].done()
        client.release(first)


@pytest.mark.memory
@pytest.mark.limit(120)
def test_a_full_table_refuses_grants_and_nothing_else():
    capacity = 1000
    with Server(workers=2, options={"capacity": capacity}) as server:
        with server.connect() as client, server.connect() as other:
            for turn in range(3):
                keys = [f"{turn}-{i:05}" for i in range(capacity)]
                handles = [client.acquire(key, ttl=300) for key in keys]
                for _ in range(3):
                    with refused("RESOURCE_EXHAUSTED", None, "TABLE_FULL"):
                        other.acquire("one-more")
                assert client.keys() == keys
                other.renew(handles[7])
                waiting = other.acquire_soon(keys[5], wait=20, ttl=60)
                server.wait_waiters(keys[5], 1)
                client.release(handles[5])
                client.release(waiting.result())
                other.acquire(keys[5])
                with refused("RESOURCE_EXHAUSTED", None, "TABLE_FULL"):
                    client.acquire("one-more")
                for handle in client.list().leases:
                    client.release(handle)
                assert client.keys() == []


@pytest.mark.memory
@pytest.mark.limit(120)
def test_a_table_full_of_expired_leases_fills_again():
    capacity = 1000
    with Server(workers=2, options={"capacity": capacity}) as server, server.connect() as client:
        acquire = client.channel.unary_unary("/mindd.lease.v1.Lease/Acquire")
        for turn in range(3):
            # Long enough to fill the table before the first one ends.
            calls = [acquire.future(wire.acquire(key=f"{turn}-{i}", ttl=wire.duration(4)),
                                    timeout=slack(20)) for i in range(capacity)]
            for call in calls:
                call.result()
            with refused("RESOURCE_EXHAUSTED", None, "TABLE_FULL"):
                client.acquire("one-more")
            until(lambda: client.keys() == [], 4 + slack(2), "all expired")


@pytest.mark.memory
@pytest.mark.limit(150)
def test_a_hundred_thousand_calls_wait_at_once_without_a_thread_each():
    """Ten keys' worth of queues, a few connections, two workers; then the server stops cleanly."""
    count, connections = rounds(100000, 100000), 8
    with Server(workers=2, options={"waiters": 100000}) as server:
        holder = server.connect()
        for i in range(10):
            holder.acquire(f"k{i}", ttl=600)
        threads = {pid: proc.threads(pid) for pid in server.worker_pids()}
        clients = [Client(server.address) for _ in range(connections)]
        calls = []  # one that is forgotten is cancelled
        for i in range(count):
            call = clients[i % connections].channel.unary_unary("/mindd.lease.v1.Lease/Acquire")
            calls.append(call.future(wire.acquire(key=f"k{i % 10}", ttl=wire.duration(60),
                                                  wait_for=wire.duration(600)), timeout=600))
        until(lambda: sum(holder.inspect(f"k{i}").waiters for i in range(10)) == count,
              slack(60), f"{count} waiters")
        for pid, before in threads.items():
            assert proc.threads(pid) <= before + 16
        worst = 0.0
        for i in range(100):
            before = time.monotonic()
            holder.release(holder.acquire(f"free-{i}"))
            worst = max(worst, time.monotonic() - before)
        assert worst < slack(0.5), worst
        for client in clients:
            client.close()
        until(lambda: sum(holder.inspect(f"k{i}").waiters for i in range(10)) == 0,
              slack(30), "all of them are gone")
        holder.close()
