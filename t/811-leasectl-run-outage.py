# SPDX-License-Identifier: Apache-2.0
# Takes long.
"""An outage that ends before the lease does not disturb the command; renewals come often and go on
after failures (B53)."""
import os
import signal

import pytest

from client import until
from drivers import SLOW
from leasectl import Watched
from proxy import Proxy
from server import Server, now

SCRIPT = "trap 'echo disturbed >&9' TERM INT HUP; while :; do sleep 0.05; done"


def pass_time(seconds):
    end = now() + seconds
    until(lambda: now() >= end, seconds + 5, "time has passed")


def undisturbed(run, client, holder):
    handle = client.inspect(run.key).handle
    assert handle.holder_id == holder, "another lease"
    assert run.died is None and "disturbed" not in run.words, run.told()
    assert run.process.poll() is None, run.told()


def test_renewals_come_within_half_of_the_ttl_B53(server, client, key):
    with Proxy(server.port) as proxy, Watched(proxy.address, key, SCRIPT, 1.5 * SLOW) as run:
        run.wait_begun()
        pass_time(4 * run.ttl)
        assert 0 < proxy.gap <= run.ttl / 2
        assert proxy.connections == 1
        undisturbed(run, client, client.inspect(key).handle.holder_id)


def test_the_death_of_the_worker_in_use_is_no_loss_B53():
    with Server(workers=2) as server, server.client() as client, \
            Watched(server.address, "k", SCRIPT, 3 * SLOW) as run:
        run.wait_begun()
        handle = client.inspect("k").handle
        owners = server.served_by()
        for _ in range(3):
            for pid in set(owners.values()):
                os.kill(pid, signal.SIGKILL)
            until(server.serving, 5 * SLOW, "it serves again")
            owners = server.served_by()
        pass_time(1.2 * run.ttl)
        with server.client() as fresh:
            undisturbed(run, fresh, handle.holder_id)


@pytest.mark.parametrize("how", ["broken", "silent"])
def test_an_outage_shorter_than_the_lease_is_survived_B53(server, client, key, how):
    with Proxy(server.port) as proxy, Watched(proxy.address, key, SCRIPT, 6 * SLOW,
                                              args=["--kill-grace=600ms"]) as run:
        run.wait_begun()
        holder = client.inspect(key).handle.holder_id
        for _ in range(2):
            setattr(proxy, how, True)
            until(lambda: now() - proxy.answered > 0.55 * run.ttl, run.ttl, "it has lasted")
            setattr(proxy, how, False)
            healed = now()
            until(lambda: proxy.answered > healed, 1.5 * SLOW, "it renews soon after the outage")
            undisturbed(run, client, holder)
        assert "cannot be renewed" in run.told()


def test_a_restart_of_the_whole_server_is_survived_B53():
    with Server(workers=1) as server, Watched(server.address, "k", SCRIPT, 9 * SLOW) as run:
        run.wait_begun()
        with server.client() as client:
            holder = client.inspect("k").handle.holder_id
        server.kill()
        server.start()
        with server.client() as client:
            before = client.inspect("k").handle.expires_at.ToNanoseconds()
            until(lambda: client.inspect("k").handle.expires_at.ToNanoseconds() > before,
                  run.ttl / 2, "it is renewed at the new server")
            undisturbed(run, client, holder)


def test_a_definite_loss_stops_the_command_at_once_B53(server, client, key):
    with Watched(server.address, key, "trap '' TERM; sleep 1000; sleep 1000", 6 * SLOW,
                 args=["--kill-grace=200ms"]) as run:
        run.wait_begun()
        client.release(client.inspect(key).handle)
        begin = now()
        died = run.wait_dead(6)
        assert died - begin < run.ttl / 3 + 0.7 * SLOW
        assert run.wait() == 124 and "is lost: not held by this holder" in run.told()
