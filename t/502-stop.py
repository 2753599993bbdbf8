#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stopping: everything is gone within ten seconds, in order where possible."""
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import proc  # noqa: E402
from stub import Stub, main, until  # noqa: E402


def test_term_and_int_drain_the_workers_and_end_with_0_B18():
    for number in (signal.SIGTERM, signal.SIGINT):
        with Stub(workers=3, namespaces=["slow-drain"], uds=True) as server:
            server.start("-p", server.path("pid"))
            workers = server.workers()
            status, took = server.stop(number)
            assert status == 0 and 0.25 < took < 10
            assert not any(map(proc.alive, workers))
            assert "worker died" not in server.log and "killed" not in server.log
            assert server.log.endswith("info master: stopped\n")
            assert not os.path.exists(server.path("pid")) and not os.path.exists(server.uds)


def test_a_worker_that_ignores_the_drain_is_killed_a_second_after_its_time_B18():
    with Stub(workers=2, namespaces=["ignore-drain"]) as server:
        server.start()
        status, took = server.stop()
        assert status == 0 and 1.9 < took < 5
        assert server.log.count("worker does not end and is killed") == 2


def test_the_longest_time_still_ends_within_ten_seconds_B18():
    with Stub(workers=1, namespaces=["ignore-drain"]) as server:
        with open(server.config, encoding="utf-8") as file:
            text = file.read().replace("shutdown_timeout: 1s", "shutdown_timeout: 10s")
        with open(server.config, "w", encoding="utf-8") as file:
            file.write(text)
        server.start()
        status, took = server.stop(seconds=10)
        assert status == 0 and took > 8


def test_told_twice_the_master_waits_no_longer():
    with Stub(workers=2, namespaces=["ignore-drain"]) as server:
        server.start()
        server.send(signal.SIGTERM)
        until("the first was taken", lambda: "stopping signal=TERM" in server.log)
        status, took = server.stop(signal.SIGINT)
        assert status == 0 and took < 1
        assert "told again to stop" in server.log


def test_a_worker_that_dies_while_the_server_stops_has_no_successor():
    with Stub(workers=2, namespaces=["ignore-drain"]) as server:
        server.start()
        victim = server.workers()[0]
        server.send(signal.SIGTERM)
        until("stopping", lambda: "stopping" in server.log)
        os.kill(victim, signal.SIGKILL)
        until("it is gone", lambda: len(server.workers()) == 1)
        server.process.wait(10)
        assert server.log.count("worker started") == 2


def test_term_hup_and_a_death_at_once_end_in_order():
    with Stub(workers=2) as server:
        server.start()
        server.send(signal.SIGSTOP)
        victim = server.workers()[0]
        os.kill(victim, signal.SIGKILL)
        until("it is dead", lambda: not proc.alive(victim))
        server.send(signal.SIGHUP)
        server.send(signal.SIGTERM)
        server.send(signal.SIGCONT)
        assert server.process.wait(10) == 0
        death, stopping = server.log.index("worker died"), server.log.index("stopping")
        assert death < stopping
        assert "reloaded" not in server.log and server.log.count("worker started") <= 3


def test_a_term_while_starting_ends_the_start():
    with Stub(workers=1, namespaces=["never-ready"]) as server:
        server.start(serving=False)
        until("a worker", lambda: "worker started" in server.log)
        begin = time.monotonic()
        assert server.stop()[0] == 0
        assert time.monotonic() - begin < 5


if __name__ == "__main__":
    main(globals())
