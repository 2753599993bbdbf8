#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the service manager is told: a socket of the test's own stands for that of systemd."""
import contextlib
import os
import signal
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from stub import Stub, main, until  # noqa: E402

NAMES = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")


@contextlib.contextmanager
def environment(**values):
    old = {name: os.environ.pop(name, None) for name in NAMES}
    os.environ.update(values)
    try:
        yield
    finally:
        for name in NAMES:
            os.environ.pop(name, None)
            if old[name] is not None:
                os.environ[name] = old[name]


class Manager:
    """The other end of the socket; abstract: a name in no folder."""

    def __init__(self, server, abstract=False):
        path = server.path("notify")
        self.name = "@" + path if abstract else path
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + path if abstract else path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def hear(self, seconds=10):
        """The next datagram as {name: value}."""
        self.socket.settimeout(seconds)
        text = self.socket.recv(4096).decode()
        return dict(line.split("=", 1) for line in text.splitlines())

    def quiet(self):
        self.socket.setblocking(False)
        try:
            return self.socket.recv(4096)
        except BlockingIOError:
            return None


def microseconds():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000


def test_ready_is_told_once_and_when_all_workers_serve():
    for abstract in (False, True):
        with Stub(workers=3) as server, Manager(server, abstract) as manager:
            with environment(NOTIFY_SOCKET=manager.name):
                server.start()
            word = manager.hear()
            assert word["READY"] == "1" and word["STATUS"] == "3 workers serve"
            assert len(server.workers()) == 3
            os.kill(server.workers()[0], signal.SIGKILL)
            until("a successor", lambda: len(server.workers()) == 3)
            assert server.ask()[2] == ["locks"]
            assert manager.quiet() is None, "a worker's death is none of the manager's business"


def test_nothing_is_ready_while_a_worker_is_not():
    with Stub(workers=2, namespaces=["never-ready"]) as server, Manager(server) as manager:
        with environment(NOTIFY_SOCKET=manager.name):
            server.start(serving=False)
        until("workers", lambda: len(server.workers()) == 2)
        assert manager.quiet() is None
        server.send(signal.SIGTERM)
        assert "READY" not in manager.hear()


def test_stopping_is_told_before_the_last_worker_ends():
    with Stub(workers=1, namespaces=["slow-drain"]) as server, Manager(server) as manager:
        with environment(NOTIFY_SOCKET=manager.name):
            server.start()
        assert "READY" in manager.hear()
        server.send(signal.SIGTERM)
        assert manager.hear()["STOPPING"] == "1"
        assert server.process.poll() is None, "told only at the end"
        assert server.process.wait(10) == 0
        assert manager.quiet() is None


def test_a_reload_is_framed_and_dated_whether_it_is_taken_or_refused():
    with Stub(workers=2) as server, Manager(server) as manager:
        with environment(NOTIFY_SOCKET=manager.name):
            server.start()
        manager.hear()
        for text in (None, "nonsense: true\n"):
            if text:
                with open(server.config, "a", encoding="utf-8") as file:
                    file.write(text)
            before = microseconds()
            server.send(signal.SIGHUP)
            word = manager.hear()
            assert word["RELOADING"] == "1"
            assert before <= int(word["MONOTONIC_USEC"]) <= microseconds()
            assert manager.hear()["READY"] == "1"
        assert server.ask()[2] == ["locks"]


def test_the_watchdog_hears_of_the_main_loop_and_not_of_one_that_stands_still():
    with Stub(workers=1) as server, Manager(server) as manager:
        with environment(NOTIFY_SOCKET=manager.name, WATCHDOG_USEC="600000"):
            server.start()
        assert "READY" in manager.hear()
        begin = time.monotonic()
        for _ in range(4):
            assert manager.hear(5) == {"WATCHDOG": "1"}
        # The first comes at once, and three at a third of the time each.
        assert time.monotonic() - begin >= 0.4
        server.send(signal.SIGSTOP)
        until("it stands still", lambda: open(f"/proc/{server.pid}/stat", encoding="ascii")
              .read().rpartition(")")[2].split()[0] == "T")
        while manager.quiet():
            pass
        try:
            manager.hear(1)
            raise AssertionError("a word from a process that is stopped")
        except TimeoutError:
            pass
        server.send(signal.SIGCONT)
        assert manager.hear(5) == {"WATCHDOG": "1"}


def test_a_watchdog_of_another_process_hears_nothing():
    with Stub(workers=1) as server, Manager(server) as manager:
        with environment(NOTIFY_SOCKET=manager.name, WATCHDOG_USEC="30000", WATCHDOG_PID="1"):
            server.start()
        assert "READY" in manager.hear()
        try:
            word = manager.hear(0.5)
            raise AssertionError(word)
        except TimeoutError:
            pass


def test_a_manager_that_is_gone_or_does_not_read_stops_nothing():
    with Stub(workers=1) as server:
        for name in (server.path("nobody"), "@" + server.path("nobody"), "relative", "/" + "x" * 300):
            with environment(NOTIFY_SOCKET=name):
                server.start()
            assert server.ask()[2] == ["locks"]
            assert "service manager cannot be reached" in server.log
            assert server.stop()[0] == 0
            os.unlink(server.path("log"))
    with Stub(workers=1) as server, Manager(server) as manager:
        with environment(NOTIFY_SOCKET=manager.name, WATCHDOG_USEC="3000"):
            server.start()
        until("the socket is full", lambda: "service manager does not hear" in server.log)
        assert server.ask()[2] == ["locks"]
        assert server.stop()[0] == 0


def test_without_a_manager_nothing_is_told_or_logged():
    with Stub(workers=1) as server:
        with environment():
            server.start()
        assert "service manager" not in server.log
        assert server.stop()[0] == 0


if __name__ == "__main__":
    main(globals())
