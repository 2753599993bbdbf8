# SPDX-License-Identifier: Apache-2.0
# Runs alone.
"""A worker is killed every 30 ms for a minute under load. No lease is held twice, every answer
comes in time, and afterwards the table holds exactly what it was made for."""
import os
import random
import signal
import time

import pytest

import wire
from client import Client, refused, until
from drivers import SCALE, FULL, slack
from load import Load
from oracle import Oracle
from server import Server

pytestmark = pytest.mark.memory

CAPACITY = 10000
SECONDS = 600 if FULL else 60 * SCALE


def storm(server, seconds, every, pick, at_once=1):
    """Kills workers until the time is over; the number of kills, and the longest time that there
    was no worker at all."""
    kills, began, last, outage = 0, time.monotonic(), time.monotonic(), 0.0
    end = began + seconds
    while time.monotonic() < end:
        pids = server.worker_pids()
        if pids:
            last = time.monotonic()
        outage = max(outage, time.monotonic() - last)
        for pid in pick.sample(pids, min(at_once, len(pids))):
            try:
                os.kill(pid, signal.SIGKILL)
                kills += 1
            except ProcessLookupError:
                pass
        began += every
        time.sleep(max(0, began - time.monotonic()))
    return kills, outage


def pipelined(client, method, requests):
    """Sends all, 200 under way at a time; yields the answers."""
    call = client.channel.unary_unary("/mindd.lease.v1.Lease/" + method)
    for at in range(0, len(requests), 200):
        for pending in [call.future(request, timeout=slack(20))
                        for request in requests[at:at + 200]]:
            yield pending.result()


def fill_and_empty(server, turn):
    """N of N succeed, one more does not, all are listed in order, all are released."""
    keys = [f"fill-{turn}-{i:06}" for i in range(CAPACITY)]
    with Client(server.address, options=[("grpc.max_receive_message_length", 64 << 20)]) as client:
        requests = [wire.acquire(key=key, ttl=wire.duration(600)) for key in keys]
        assert len(list(pipelined(client, "Acquire", requests))) == CAPACITY
        with refused("RESOURCE_EXHAUSTED", None, "TABLE_FULL"):
            client.acquire("one-more")
        leases = client.list(timeout=slack(20)).leases
        assert [lease.key for lease in leases] == keys
        requests = [wire.release(lease.holder_id, key=lease.key) for lease in leases]
        for answer in pipelined(client, "Release", requests):
            assert wire.first(answer, 1) == 1
        assert client.keys() == []


@pytest.mark.limit(60 + 120 if not FULL else 900)
@pytest.mark.parametrize("form", ["one at a time", "all at once", "two at once"][:3 if SCALE == 1 else 1])
def test_B21_kills_under_load_lose_nothing(form):
    main = form == "one at a time"
    seconds = SECONDS if main else min(SECONDS / 2, 5)
    every, at_once = {"one at a time": (slack(0.03), 1), "all at once": (2.0, 4),
                      "two at once": (0.5, 2)}[form]
    with Server(workers=4, options={"capacity": CAPACITY}) as server:
        with server.connect() as client:
            kept = [client.acquire(f"kept-{i}", ttl=3600) for i in range(100)]
        loads = [Load(os.path.join(server.directory, f"load-{i}"), address=server.address,
                      keys=200, threads=8, seconds=seconds + 1, seed=i, mode="mix")
                 for i in range(2)]
        kills, outage = storm(server, seconds, every, random.Random(21), at_once)
        oracle, answers, late = Oracle(), {}, []
        for load in loads:
            summary = load.finish(oracle, slack(60))
            assert not summary["broken"], summary["broken"]
            late += summary["late"]
            for name, count in summary["answers"].items():
                answers[name] = answers.get(name, 0) + count
        print(f"# {kills} kills, {len(oracle)} grants, {answers}")
        print(f"# without any worker for at most {outage:.2f} s")
        print(f"# {len(late)} late answers: {sorted(late, key=lambda one: -one[2])[:5]}")
        oracle.check()
        assert outage < slack(2), "workers that were killed are not started again in time"
        assert len(oracle) > 20 * seconds / slack(1), "hardly any load"
        bad = [name for name in answers if name.split()[1] not in
               ("OK", "LEASE_HELD", "NOT_HOLDER", "UNAVAILABLE")]
        assert not bad, answers
        limit = slack(1)
        assert not [one for one in late if one[2] > limit], f"answers after more than {limit} s"
        until(lambda: len(server.worker_pids()) == 4, slack(10), "all workers live again")
        with server.connect() as client:
            for handle in kept:
                assert client.renew(handle).fencing_token == handle.fencing_token, "lost a lease"
                assert client.release(handle)
            until(lambda: not client.keys(), slack(10), "all leases of the storm end")
        for turn in range(2 if main else 1):
            fill_and_empty(server, turn)
