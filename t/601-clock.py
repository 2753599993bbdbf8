# SPDX-License-Identifier: Apache-2.0
"""Steps of the wall clock, time spent suspended, and a boot in between."""
import os
import struct
import time

import pytest

import proc
import client as client_module
from client import LeaseError, as_seconds, held, not_held, refused, until
from drivers import DRIVER, slack
from server import BUILD, Server

HOUR = 3600


class Stepped:
    """A server whose wall clock can be stepped; its other clocks are the real ones."""

    def __init__(self):
        self.server = Server(workers=2, start=False)
        self.file = os.path.join(self.server.directory, "step")
        with open(self.file, "wb") as file:
            file.write(struct.pack("=q", 0))
        self.step = 0
        self.server.env = {"LD_PRELOAD": os.path.join(BUILD, "t", "wallstep.so"),
                           "LEASED_WALL_STEP": self.file}
        self.server.start()

    def by(self, seconds):
        self.step = seconds
        with open(self.file, "r+b", buffering=0) as file:
            file.write(struct.pack("=q", seconds))

    def now(self):
        return time.time() + self.step


STEPS = {"forward": [(0.5, HOUR)], "back": [(0.5, -HOUR)], "forward and back": [(0.5, HOUR),
         (1.0, 0)]}


@pytest.mark.memory
@pytest.mark.limit(60)
@pytest.mark.parametrize("steps", STEPS.values(), ids=list(STEPS))
def test_B25_a_step_of_the_wall_clock_changes_no_lifetime(steps, monkeypatch):
    ttl, stepped = 5.0, Stepped()
    # acquired_at was said before the step and expires_at is said after it.
    monkeypatch.setattr(client_module, "wall_steps", True)
    with stepped.server as server:
        a, b = server.connect_apart(2)
        other = a.acquire("other", ttl=60)
        t0 = time.monotonic()
        handle = a.acquire("k", ttl=ttl)
        t1 = time.monotonic()
        short = b.acquire_soon("other", wait=2)
        long_ = b.acquire_soon("k", wait=20, ttl=60)
        server.wait_waiters("k", 1)
        for at, step in steps:
            time.sleep(max(0, t0 + at - time.monotonic()))
            stepped.by(step)

        def agrees():
            shown = a.inspect("k").handle
            return abs(as_seconds(shown.expires_at) - stepped.now() -
                       as_seconds(shown.remaining)) < 1
        until(agrees, 2, "expires_at agrees with the wall clock and the time left")
        with held():
            short.result()
        assert 2 <= short.received - short.sent <= 2 + slack(DRIVER.late)
        assert a.renew(other, ttl=60).holder_id == other.holder_id
        cpu = {pid: proc.cpu_seconds(pid) for pid in server.tree()}
        from_ = time.monotonic()
        granted = long_.result()
        assert long_.received >= t0 + ttl, "granted early"
        assert long_.received <= t1 + ttl + slack(DRIVER.late), "granted late"
        spent = sum(proc.cpu_seconds(pid) - before for pid, before in cpu.items())
        assert spent / max(0.5, time.monotonic() - from_) < slack(0.2), "it spins"
        with not_held():
            a.renew(handle)
        assert a.keys() == ["k", "other"]
        assert b.release(granted)
        a.close()
        b.close()


def offset(clock, seconds):
    return ["unshare", "--fork", "--kill-child", "--time", f"--{clock}", str(seconds)]


@pytest.mark.memory
@pytest.mark.parametrize("clock,lives", [("boottime", False), ("monotonic", True)])
def test_B26_suspended_time_counts(clock, lives):
    """Stands in for a suspend: the same segment is found again by a server whose boot clock (or
    only its monotonic clock, which stands still in a suspend) has gone on by five minutes."""
    server = Server(workers=2)
    with server:
        with server.connect() as client:
            handle = client.acquire("k", ttl=60)
            longer = client.acquire("longer", ttl=3600)
        server.kill()
        server.prefix = offset(clock, 300)
        server.start()
        with server.connect() as client:
            if lives:
                assert client.renew(handle, ttl=60).holder_id == handle.holder_id
            else:
                with not_held():
                    client.renew(handle)
                assert client.acquire("k").fencing_token > handle.fencing_token
                left = client.inspect("longer").handle.remaining.seconds
                assert 3600 - 300 - 60 < left < 3600 - 299
            assert client.renew(longer).holder_id == longer.holder_id
        server.kill()
        server.process = None


@pytest.mark.memory
def test_fencing_tokens_and_grace_survive_the_loss_of_the_segment():
    """Stands in for a reboot: the state directory is there, the shared memory is not."""
    server = Server(workers=2, options={"restart_grace": "3s"})
    with server:
        with server.connect() as client:
            handle = client.acquire("k", ttl=600)
        server.kill()
        for name in os.listdir("/dev/shm"):
            if name.startswith(server.tag):
                os.unlink("/dev/shm/" + name)
        started = time.monotonic()
        server.start()
        with server.connect() as client:
            with refused("UNAVAILABLE", None, "RESTART_GRACE"):
                client.acquire("k")
            assert not client.inspect("k").held
            with not_held():
                client.renew(handle)

            def granted():
                try:
                    return client.acquire("k")
                except LeaseError as error:
                    assert error.reason == "RESTART_GRACE", error
                    return None
            again = until(granted, slack(5), "the grace ends")
            assert time.monotonic() - started >= 2.5, "the grace was too short"
            assert again.fencing_token > handle.fencing_token
