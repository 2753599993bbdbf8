# SPDX-License-Identifier: Apache-2.0
"""Servers on one Postgres: all starting at once, without the right to create, fighting for one key,
with many waiters."""
import os
import subprocess
import threading
import time

import pytest

from client import Client, LeaseError, as_seconds, held, until
from database import Database
from drivers import slack
from oracle import Oracle
from server import Server

pytestmark = pytest.mark.memory  # brings its own driver along

SCHEMA = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "etc",
                      "schema.sql")


@pytest.fixture(scope="module")
def database():
    with Database() as running:
        yield running


def test_eight_servers_start_at_once_on_an_empty_database():
    with Database("max_connections=60") as empty:
        servers = [Server(workers=1, start=False, backends=empty.backend(connections=1))
                   for _ in range(8)]
        try:
            for server in servers:
                server.launch()
            for server in servers:
                server.wait_serving(30)
            clients = [server.client() for server in servers]
            pending = [client.acquire_soon("k", ttl=600) for client in clients]
            won = []
            for one in pending:
                try:
                    won.append(one.result())
                except LeaseError as error:
                    assert error.reason == "LEASE_HELD", error
            assert len(won) == 1
            assert empty.ask("SELECT count(*) FROM pg_class WHERE relname = 'leases'") == ["1"]
            for client in clients:
                assert client.holder("k") == won[0].holder_id
                client.close()
        finally:
            for server in servers:
                server.close()


def test_a_role_that_may_not_create_says_so_and_goes_on_when_the_table_is_there():
    with Database() as own:
        dsn = f'"{own.dsn.replace("user=leased", "user=plain")}"'
        with Server(workers=1, start=False, backends=own.backend(dsn=dsn)) as server:
            server.launch()
            until(lambda: "permission denied" in server.log(), slack(15), "the log names the reason")
            assert not server.serving()
            subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", SCHEMA, own.dsn],
                           check=True, capture_output=True)
            own.ask("GRANT SELECT, INSERT, UPDATE, DELETE ON leases TO plain")
            server.wait_serving(15)
            with server.client() as client:
                handle = client.acquire("k")
                assert client.release(handle)


class Fight(threading.Thread):
    """One client that takes a key with a short lease again and again."""

    def __init__(self, address, oracle, end, ttl):
        super().__init__()
        self.address, self.oracle, self.end, self.ttl = address, oracle, end, ttl
        self.short, self.broken = [], None

    def run(self):
        try:
            with Client(self.address) as client:
                while time.monotonic() < self.end:
                    self.once(client)
        except BaseException as error:  # the test judges it
            self.broken = error

    def once(self, client):
        sent = time.monotonic()
        try:
            handle = client.acquire("hot", ttl=self.ttl)
        except LeaseError as error:
            assert error.reason == "LEASE_HELD", error
            return
        received = time.monotonic()
        left = as_seconds(handle.remaining)
        whole = as_seconds(handle.expires_at) - as_seconds(handle.acquired_at)
        if abs(whole - self.ttl) > 0.001 or left + received - sent < self.ttl:
            self.short.append((whole, left, received - sent))
        self.oracle.granted("hot", handle.holder_id, handle.fencing_token, sent, received,
                            self.ttl)


def test_B35_many_fight_for_one_key_with_short_leases(database):
    """Each grant has its whole time, and no two hold at once; over two hosts."""
    backends = database.backend(table="hot")
    oracle = Oracle()
    with Server(workers=1, backends=backends) as one, Server(workers=1, backends=backends) as two:
        end = time.monotonic() + 4
        fights = [Fight((one, two)[number % 2].address, oracle, end, 0.05)
                  for number in range(64)]
        for fight in fights:
            fight.start()
        for fight in fights:
            fight.join()
    broken = [fight.broken for fight in fights if fight.broken]
    assert not broken, broken[0]
    short = [one for fight in fights for one in fight.short]
    assert not short, f"granted with less than its time: {short[:3]}"
    assert len(oracle) > 10
    oracle.check()


def test_B33_fencing_tokens_grow_whichever_host_is_asked(database):
    backends = database.backend(table="tokens")
    with Server(workers=1, backends=backends) as one, Server(workers=1, backends=backends) as two, \
            one.client() as first, two.client() as second:
        last = 0
        for turn in range(60):
            mine, theirs = (first, second) if turn % 2 else (second, first)
            handle = mine.acquire("k", ttl=600)
            assert handle.fencing_token > last
            last = handle.fencing_token
            with held():
                theirs.acquire("k")
            if turn % 3:
                theirs.release(handle)
            else:  # also when it ends by itself
                mine.renew(handle, ttl=0.01)
                until(lambda: not theirs.inspect("k").held, 5, "it is over")
        assert database.ask("SELECT fence FROM tokens WHERE key = 'k'") == [str(last)]


def test_B38_waiters_leave_room_for_everybody(database):
    with Server(workers=2, backends=database.backend(table="room")) as server, \
            server.client() as client:
        handles = [client.acquire(f"k{number}", ttl=600) for number in range(10)]
        clients = server.connect_apart(2)
        waiting = [clients[number % 2].acquire_soon(f"k{number % 10}", ttl=600, wait=60)
                   for number in range(200)]
        for number in range(10):
            server.wait_waiters(f"k{number}", 20)
        for handle in handles:
            for step in (lambda: client.renew(handle, ttl=600), lambda: client.inspect("k0"),
                         client.list, lambda: client.acquire("free-" + handle.key, ttl=600)):
                sent = time.monotonic()
                step()
                assert time.monotonic() - sent < slack(0.5)
        assert int(database.ask("SELECT count(*) FROM pg_stat_activity WHERE application_name ="
                                " 'leased'")[0]) <= 2 * 4, "two to work, one barrier, one to listen"
        assert database.ask("SELECT count(*) FROM pg_stat_activity WHERE state ="
                            " 'idle in transaction' AND state_change < clock_timestamp() -"
                            " interval '1 s'") == ["0"]
        for handle in handles:
            sent = time.monotonic()
            client.release(handle)
            assert time.monotonic() - sent < slack(0.5)
        until(lambda: sum(one.done() for one in waiting) == 10, 5, "one of each key is granted")
        for one in waiting:
            one.cancel()
        for one in clients:
            one.close()
