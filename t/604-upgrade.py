# SPDX-License-Identifier: Apache-2.0
"""USR2: the running server becomes the program that is installed now. The pid and the ports stay, no
connection is refused, no lease is lost; what cannot be run changes nothing."""
import os
import shutil
import signal
import socket
import threading

import pytest

from client import Client, LeaseError, refused, until
from drivers import slack
from server import BINARY, Server


@pytest.fixture
def installed(tmp_path):
    """A program that a package manager could replace."""
    path = tmp_path / "leased"
    shutil.copy(BINARY, path)
    return str(path)


def install(path, source=BINARY):
    """As a package manager does: the new file appears under the old name at once."""
    shutil.copy(source, path + ".new")
    os.chmod(path + ".new", 0o755)
    os.rename(path + ".new", path)


def upgrade(server):
    before = set(server.worker_pids())
    server.send(signal.SIGUSR2)
    until(lambda: len(set(server.worker_pids()) - before) >= server.workers and server.serving(),
          slack(20), "new workers serve")


def program_of(server):
    return os.stat(f"/proc/{server.process.pid}/exe").st_ino


class Knocker:
    """Connects all the time and counts refusals."""

    def __init__(self, connect):
        self.connect, self.made, self.refused = connect, 0, []
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.over.wait(slack(0.005)):
            try:
                with self.connect():
                    self.made += 1
            except OSError as error:
                self.refused.append(str(error))

    def finish(self):
        self.over.set()
        self.thread.join()
        assert not self.refused, self.refused[:3]
        assert self.made > 0


def connect_unix(path):
    one = socket.socket(socket.AF_UNIX)
    try:
        one.connect(path)
    except OSError:
        one.close()
        raise
    return one


def test_the_new_program_has_the_pid_the_ports_and_the_leases(installed):
    with Server(workers=2, binary=installed, uds=True) as server:
        with server.connect() as client:
            handle = client.acquire("k", ttl=600, metadata={"a": "b"})
        knockers = [Knocker(lambda: socket.create_connection(("127.0.0.1", server.port))),
                    Knocker(lambda: connect_unix(server.socket_path))]
        old, pid = program_of(server), server.process.pid
        install(installed)
        upgrade(server)
        assert program_of(server) != old, "still the old program"
        assert server.process.poll() is None and server.process.pid == pid
        for address in (server.address, "unix:" + server.socket_path):
            with Client(address) as client:
                with refused("FAILED_PRECONDITION", None, "LEASE_HELD"):
                    client.acquire("k")
                shown = client.inspect("k").handle
                assert shown.holder_id == handle.holder_id and dict(shown.metadata) == {"a": "b"}
        with server.connect() as client:
            assert client.renew(handle, ttl=600).fencing_token == handle.fencing_token
            assert client.acquire("other").fencing_token > handle.fencing_token
        for knocker in knockers:
            knocker.finish()
        upgrade(server)  # and again, with what was inherited
        assert server.process.pid == pid


def test_waiting_calls_are_told_and_new_ones_served(installed):
    with Server(workers=2, binary=installed) as server, server.connect() as client:
        handle = client.acquire("k", ttl=600)
        waiting = client.acquire_soon("k", ttl=600, wait=600)
        server.wait_waiters("k", 1)
        upgrade(server)
        with refused("UNAVAILABLE", None, "DRAINING"):
            waiting.result()
        with server.connect() as later:
            again = later.acquire_soon("k", ttl=600, wait=600)
            server.wait_waiters("k", 1)
            later.release(handle)
            assert again.result().fencing_token > handle.fencing_token


def broken(kind, path):
    if kind == "missing":
        os.unlink(path)
    elif kind == "no program":
        with open(path + ".new", "w", encoding="ascii") as file:
            file.write("this is no program\n")
        os.chmod(path + ".new", 0o755)
        os.rename(path + ".new", path)
    elif kind == "refuses":
        install(path, "/bin/false")
    else:
        with open(path + ".new", "w", encoding="ascii") as file:
            file.write("#!/bin/sh\nexec sleep 600\n")
        os.chmod(path + ".new", 0o755)
        os.rename(path + ".new", path)


@pytest.mark.parametrize("kind", ["missing", "no program", "refuses", "hangs"])
def test_a_program_that_is_no_good_changes_nothing(installed, kind):
    with Server(workers=2, binary=installed) as server, server.connect() as client:
        handle = client.acquire("k", ttl=600)
        waiting = client.acquire_soon("k", ttl=600, wait=600)
        server.wait_waiters("k", 1)
        workers = server.worker_pids()
        broken(kind, installed)
        server.send(signal.SIGUSR2)
        until(lambda: "upgrade refused" in server.log(), slack(20), "the log says so")
        assert sorted(server.worker_pids()) == sorted(workers) and not waiting.done()
        client.release(handle)
        waiting.result()


def test_a_wrong_file_changes_nothing(installed):
    with Server(workers=1, binary=installed) as server, server.connect() as client:
        handle = client.acquire("k", ttl=600)
        workers = server.worker_pids()
        good = server.configuration()
        with open(server.config, "a", encoding="utf-8") as file:
            file.write("limits: { max_tll: 1h }\n")
        server.send(signal.SIGUSR2)
        until(lambda: "upgrade refused" in server.log(), slack(20), "the log says so")
        assert "max_tll" in server.log(), "what is wrong stands in the log"
        assert server.worker_pids() == workers and client.holder("k") == handle.holder_id
        with open(server.config, "w", encoding="utf-8") as file:
            file.write(good)


def test_a_stop_during_an_upgrade_is_a_stop(installed):
    with Server(workers=2, binary=installed) as server, server.connect() as client:
        client.acquire("k", ttl=600)
        waiting = client.acquire_soon("k", ttl=600, wait=600)
        server.wait_waiters("k", 1)
        server.send(signal.SIGUSR2)
        until(lambda: "stopping" in server.log(), slack(20), "workers are told to end")
        server.send(signal.SIGTERM)
        # Either the old program heard it or the new one, which had inherited it.
        assert server.stop(number=None) == 0
        with pytest.raises(LeaseError):
            waiting.result()


def test_an_address_that_is_gone_from_the_file_is_closed(installed):
    with Server(workers=1, binary=installed) as server:
        old = server.port
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            server.port = probe.getsockname()[1]
        server.write_config()
        upgrade(server)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", old))
