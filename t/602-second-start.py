# SPDX-License-Identifier: Apache-2.0
"""Two servers never serve one port, one socket or one table."""
import os
import signal
import subprocess
import time

import pytest

import proc
from client import Client, LeaseError
from drivers import slack
from server import BINARY, Server


def refuses_to_start(second, *words, limit=5, prefix=()):
    """Starts it; must end by itself with an error that holds the words."""
    second.write_config()
    began = time.monotonic()
    done = subprocess.run(list(prefix) + [BINARY, "-f", second.config], capture_output=True,
                          text=True, timeout=slack(limit + 10), check=False,
                          stdin=subprocess.DEVNULL)
    assert time.monotonic() - began < slack(limit)
    assert done.returncode not in (0, -signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS), done
    for word in words:
        assert str(word) in done.stderr, f"{word!r} is not in:\n{done.stderr}"
    return done


@pytest.fixture(scope="module")
def first():
    with Server(uds=True) as running:
        yield running


def test_B27_the_same_configuration(first):
    refuses_to_start(first, first.master)
    assert first.serving()


def test_B27_the_same_port_and_another_table(first):
    second = Server(port=first.port, start=False)
    refuses_to_start(second, first.address, first.master)
    second.remove()


@pytest.mark.memory
def test_B27_the_same_table_and_another_port(first):
    second = Server(tag=first.tag, start=False)
    refuses_to_start(second, first.master, first.tag)
    os.unlink(second.config)
    second.tag = "none-" + second.tag  # its removal must not take the first one's segment
    second.remove()
    assert first.serving()


def test_B27_the_same_unix_socket(first):
    second = Server(uds=True, start=False)
    second.socket_path = first.socket_path
    refuses_to_start(second, first.socket_path, first.master)
    second.remove()
    with first.client() as client:
        client.keys()
    assert os.path.exists(first.socket_path), "the second start took the socket away"


def test_B27_another_user(first):
    second = Server(port=first.port, start=False)
    second.write_config()
    os.chmod(second.directory, 0o755)
    os.chown(os.path.join(second.directory, "state"), 65534, 65534)
    refuses_to_start(second, first.address, prefix=("setpriv", "--reuid=65534", "--regid=65534",
                                                    "--clear-groups"))
    second.remove()


def test_B27_forty_fresh_connections_have_one_winner(first):
    won = 0
    for _ in range(40):
        with first.client() as client:
            try:
                client.acquire("B27")
                won += 1
            except LeaseError as error:
                assert error.reason == "LEASE_HELD"
    assert won == 1


def test_B27_one_process_tree_listens(first):
    tree = first.tree()
    owners = proc.socket_owners(tree)
    inodes = proc.listeners(first.port)
    assert len(inodes) == 1, "more than one listening socket: the port is shared"
    assert owners[inodes[0]] in tree


def test_the_unix_socket_serves_the_same_leases(first):
    with first.client() as tcp:
        handle = tcp.acquire("over-tcp")
        with Client("unix:" + first.socket_path) as local:
            assert local.holder("over-tcp") == handle.holder_id
            local.release(handle)
            other = local.acquire("over-unix")
        assert tcp.holder("over-unix") == other.holder_id
