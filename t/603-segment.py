# SPDX-License-Identifier: Apache-2.0
"""What a start finds in shared memory: leases of the run before, leftovers, traps."""
import glob
import hashlib
import os
import signal
import subprocess

import pytest

import wire
from client import LeaseError
from drivers import rounds, slack
from server import BINARY, Server

pytestmark = pytest.mark.memory


def shm_files(server):
    return sorted(glob.glob(f"/dev/shm/{server.tag}*"))


def segment(server):
    return "/dev/shm/" + server.tag


def shm_blocks(server):
    return sum(os.stat(path).st_blocks for path in shm_files(server))


@pytest.mark.limit(180)
def test_B29_leases_outlive_many_kills_with_other_workers_and_sizes():
    server = Server(workers=2)
    with server:
        with server.connect() as client:
            handle = client.acquire("k", ttl=3600, metadata={"a": "b"})
            token, blocks = handle.fencing_token, shm_blocks(server)
        for i in range(rounds(12, 200)):
            server.kill()
            server.workers = 1 + i % 4
            if i % 3 == 2:
                server.options = {"capacity": 1000 * (1 + i % 5)}
            subprocess.run([BINARY, "-t", "-f", server.config], check=True, capture_output=True)
            server.start()
            with server.connect() as client:
                shown = client.inspect("k")
                assert shown.held, f"lost after start {i}:\n{server.log()}"
                assert shown.handle.holder_id == handle.holder_id
                assert dict(shown.handle.metadata) == {"a": "b"}
                other = client.acquire("other")
                assert other.fencing_token > token, "a fencing token went back"
                token = other.fencing_token
                client.release(other)
                assert client.keys() == ["k"]
        assert shm_blocks(server) < blocks * 4 + 8192, "shared memory grows with every start"
        assert len(shm_files(server)) <= 3, shm_files(server)


def test_a_kill_with_waiters_and_grants_leaves_a_working_table():
    server = Server(workers=2)
    with server:
        with server.connect() as client, server.connect() as other:
            handles = {f"k{i}": client.acquire(f"k{i}", ttl=3600) for i in range(50)}
            for i in range(50):
                other.acquire_soon(f"k{i}", wait=600)
            server.wait_waiters("k49", 1)
            server.kill()
        server.start()
        with server.connect() as client:
            assert client.keys() == sorted(handles)
            for key, handle in handles.items():
                assert client.inspect(key).waiters == 0, "a waiter of the dead run is in line"
                assert client.release(handle)
                client.release(client.acquire(key))
            assert client.keys() == []


def trap(kind, path, directory):
    if kind == "empty":
        open(path, "wb").close()
    elif kind == "garbage":
        with open(path, "wb") as file:
            file.write(os.urandom(1 << 16))
    elif kind == "larger":
        with open(path, "wb") as file:
            file.truncate(1 << 33)
    elif kind == "another user":
        with open(path, "wb") as file:
            file.write(b"\0" * 4096)
        os.chown(path, 65534, 65534)
    else:
        target = os.path.join(directory, "target")
        with open(target, "wb") as file:
            file.write(b"precious" * 1000)
        os.symlink(target, path)
        return target
    return path


@pytest.mark.parametrize("kind", ["empty", "garbage", "larger", "another user", "symlink"])
def test_B29_a_foreign_segment_is_replaced_or_refused_and_never_followed(kind):
    server = Server(workers=1, start=False)
    with server:
        target = trap(kind, segment(server), server.directory)
        digest = hashlib.sha256(open(target, "rb").read()).digest() if kind == "symlink" else None
        server.launch()
        try:
            server.wait_serving(5)
        except AssertionError:
            status = server.process.poll()
            assert status is not None and status > 0, f"neither serves nor refuses: {status}"
            assert server.tag in server.log(), server.log()
        else:
            assert kind not in ("another user", "symlink"), "a foreign object was used"
            with server.connect() as client:
                assert client.keys() == []
                client.release(client.acquire("k"))
            assert server.stop() == 0
        if kind == "symlink":
            assert hashlib.sha256(open(target, "rb").read()).digest() == digest
        if kind == "another user":
            assert os.stat(segment(server)).st_uid == 65534
        server.process = None


def tiny(size):
    return ["unshare", "--mount", "--fork", "--kill-child", "sh", "-c",
            f'mount -t tmpfs -o size={size} none /dev/shm && exec "$0" "$@"']


def test_B29_too_little_shared_memory_is_an_error_at_the_start():
    server = Server(workers=1, prefix=tiny("256k"), start=False)
    with server:
        server.launch()
        status = server.process.wait(timeout=slack(10))
        assert status > 0 and status != 128 + signal.SIGBUS, status
        assert "error" in server.log(), server.log()
        server.process = None


@pytest.mark.limit(120)
def test_B29_shared_memory_that_runs_out_later_is_a_refusal_and_no_crash():
    """The table is larger than what is left of /dev/shm: it refuses, and all that frees works."""
    server = Server(workers=2, prefix=tiny("48m"))
    with server:
        pids = server.worker_pids()
        with server.connect() as client:
            acquire = client.channel.unary_unary("/mindd.lease.v1.Lease/Acquire")
            refused, granted, i = False, 0, 0
            while not refused and i < 40000:
                calls = [acquire.future(wire.acquire(key=f"{i + j}", ttl=wire.duration(600),
                                                     metadata=[("m", "x" * 4000)]),
                                        timeout=slack(20)) for j in range(100)]
                i += 100
                for call in calls:
                    error = call.exception()
                    if error:
                        assert LeaseError(error).reason == "TABLE_FULL", LeaseError(error)
                        refused = True
                    else:
                        granted += 1
            assert refused and granted > 100, (refused, granted)
            assert server.worker_pids() == pids, "a worker died"
            answer = client.list(page_size=100)
            for handle in answer.leases:
                client.renew(handle)
                assert client.release(handle)
            client.acquire("again", metadata={"m": "x" * 4000})
        assert server.stop() == 0


def test_the_segment_is_for_its_owner_only():
    with Server(workers=1) as server:
        for path in shm_files(server):
            assert os.stat(path).st_mode & 0o077 == 0, path
