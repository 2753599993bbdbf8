#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Workers that die: successors, back-off, what the master keeps of them."""
import os
import re
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import proc  # noqa: E402
from stub import Stub, main, until  # noqa: E402


def successor(server, pid, seconds=10):
    """Kills a worker; the pid of the one that serves in its slot afterwards."""
    others = set(server.workers()) - {pid}
    os.kill(pid, signal.SIGKILL)

    def new():
        fresh = set(server.workers()) - others - {pid}
        return fresh.pop() if fresh else None
    return until("a successor", new, seconds)


def settled(server, count=2):
    """All workers are ready and lived their first second, so that no successor has to wait."""
    def ready():
        pids = server.workers()
        return len(pids) == count and all(f"worker is ready slot={slot} pid=" in server.log
                                          for slot in range(count)) and pids
    pids = until("all ready", ready)
    youngest = max(int(proc.stat(pid)[19]) for pid in pids) / os.sysconf("SC_CLK_TCK")
    until("they are older than a second",
          lambda: time.clock_gettime(time.CLOCK_BOOTTIME) > youngest + 1.05)
    return pids


def test_a_killed_worker_is_replaced_at_once_and_the_others_serve_on():
    with Stub(workers=2) as server:
        server.start()
        victim, other = settled(server)
        begin = time.monotonic()
        new = successor(server, victim)
        until("it is ready", lambda: f" pid={new}\n" in server.log)
        assert time.monotonic() - begin < 2
        assert server.ask()[1] in (new, other)
        assert other in server.workers()
        assert re.search(rf"error master: worker died slot=\d pid={victim} signal=Killed", server.log)


def test_all_workers_killed_at_once_come_back_B21():
    with Stub(workers=4) as server:
        server.start()
        victims = settled(server, 4)
        for pid in victims:
            os.kill(pid, signal.SIGKILL)
        until("four new ones", lambda: len(set(server.workers()) - set(victims)) == 4, 2)
        assert server.ask()[1] not in victims
        assert proc.threads(server.pid) == 1


def test_workers_that_die_young_are_started_ever_later():
    with Stub(workers=1, namespaces=["die-young"]) as server:
        server.start(serving=False)

        def waits():
            return [int(ms) for ms in re.findall(r"died young.* wait_ms=(\d+)", server.log)]
        until("four deaths", lambda: len(waits()) >= 4)
        assert waits()[:4] == [100, 200, 400, 800]
        assert "worker died slot=0" in server.log and " status=3 " in server.log
        assert server.stop()[0] == 0


def test_the_wait_ends_with_a_worker_that_lives():
    with Stub(workers=1) as server:
        server.start()
        for _ in range(2):  # of its own fault, as it seems: the second waits
            pid = until("a worker", server.workers)[0]
            os.kill(pid, signal.SIGABRT)
            until("buried", lambda dead=pid: f"worker died slot=0 pid={dead}" in server.log)
        assert "wait_ms=100" in server.log
        settled(server, 1)
        begin = time.monotonic()
        successor(server, server.workers()[0])
        assert time.monotonic() - begin < 1


def test_a_worker_killed_from_outside_need_not_wait_however_young_B21():
    with Stub(workers=1) as server:
        server.start()
        for _ in range(20):
            pid = until("a worker", server.workers)[0]
            until("ready", lambda mine=pid: f"worker is ready slot=0 pid={mine}\n" in server.log)
            os.kill(pid, signal.SIGKILL)
            until("buried", lambda dead=pid: f"worker died slot=0 pid={dead}" in server.log)
        assert "wait_ms" not in server.log


def test_the_master_stops_even_while_a_successor_waits():
    with Stub(workers=1, namespaces=["die-young"]) as server:
        server.start(serving=False)
        until("a wait", lambda: "wait_ms=800" in server.log)
        status, took = server.stop()
        assert status == 0 and took < 1


def test_two_hundred_deaths_leave_no_descriptor_behind_and_one_thread_B31():
    with Stub(workers=2) as server:
        server.start()
        before = proc.descriptors(server.pid)
        seen = set(server.workers())
        for turn in range(1, 101):
            until("two are ready", lambda births=2 * turn:
                  server.log.count("worker is ready") == births)
            for pid in server.workers():
                os.kill(pid, signal.SIGKILL)
            until("both buried", lambda deaths=2 * turn: server.log.count("worker died") == deaths)
            assert proc.threads(server.pid) == 1
            seen.update(server.workers())
        until("two are ready", lambda: server.log.count("worker is ready") == 202)
        assert proc.descriptors(server.pid) == before
        assert server.ask()[2] == ["locks"]
        assert not [pid for pid in seen if (proc.stat(pid) or "X")[0] == "Z"]


def test_a_worker_has_only_its_own_descriptors():
    with Stub(workers=4, uds=True) as server:
        server.start()
        pids = settled(server, 4)
        new = successor(server, pids[0])
        until("ready", lambda: f" pid={new}\n" in server.log)
        counts = {pid: proc.descriptors(pid) for pid in server.workers()}
        # 0 1 2, two listening sockets, the lock of the socket file, the control end.
        assert set(counts.values()) == {7}, counts


def test_a_worker_that_is_not_ready_is_told_of():
    with Stub(workers=1, namespaces=["never-ready"]) as server:
        server.start(serving=False)
        until("the complaint", lambda: "error master: worker is not ready slot=0" in server.log, 15)
        assert "serving" not in server.log
        assert server.stop()[0] == 0


if __name__ == "__main__":
    main(globals())
