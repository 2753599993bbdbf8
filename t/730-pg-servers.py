# SPDX-License-Identifier: Apache-2.0
# Takes long.
"""Servers on one database: hosts with other clocks and zones, one of them killed, beside the memory
driver, behind a pooler, without the database."""
import os
import pwd
import struct
import subprocess
import time

import grpc
import pytest

import wire
from client import Client, LeaseError, as_seconds, held, refused, until
from database import Database
from drivers import slack
from load import Load
from oracle import Oracle
from server import BUILD, Server, free_port

pytestmark = pytest.mark.memory  # brings its own driver along


@pytest.fixture(scope="module")
def database():
    with Database() as running:
        yield running


def host(database, table, step=0, zone="UTC", **more):
    """A server as on a host of its own: its wall clock is wrong by `step` seconds."""
    one = Server(workers=2, start=False, backends=database.backend(table=table), **more)
    path = os.path.join(one.directory, "step")
    with open(path, "wb") as file:
        file.write(struct.pack("=q", step))
    one.env = {"LD_PRELOAD": os.path.join(BUILD, "t", "wallstep.so"), "LEASED_WALL_STEP": path,
               "TZ": zone}
    one.start()
    return one


def grants(oracle, first):
    return len(oracle) - first


@pytest.mark.limit(120)
def test_B33_two_hosts_one_killed_in_the_middle(database):
    with host(database, "hosts", 180, "Pacific/Kiritimati") as one, \
            host(database, "hosts", -180, "America/St_Johns") as two:
        loads = [Load(os.path.join(server.directory, f"load-{number}"), address=server.address,
                      keys=40, threads=6, seconds=8, seed=number, mode="mix")
                 for number, server in enumerate((one, two))]
        rows = "SELECT count(*) FROM hosts WHERE expires_at > clock_timestamp()"
        until(lambda: int(database.ask(rows)[0]) > 0, 10, "leases are there")
        began = time.monotonic()
        until(lambda: time.monotonic() - began > 2, 5, "both have worked")
        one.kill()
        one.start()
        oracle, counts = Oracle(), []
        for load in loads:
            before = len(oracle)
            summary = load.finish(oracle, slack(60))
            assert not summary["broken"], summary["broken"]
            counts.append(grants(oracle, before))
        print(f"# {counts} grants")
        assert min(counts) > 50, counts
        oracle.check()


def test_B33_the_end_of_a_lease_is_the_same_on_every_host(database):
    with host(database, "ends", 180) as one, host(database, "ends", -180) as two, \
            one.client() as first, two.client() as second:
        handle = first.acquire("k", ttl=60)
        shown = [client.inspect("k").handle for client in (first, second)]
        assert shown[0].expires_at == shown[1].expires_at == handle.expires_at
        assert shown[0].acquired_at == shown[1].acquired_at
        with held():
            second.acquire("k")
        renewed = second.renew(handle, ttl=90)
        assert first.inspect("k").handle.expires_at == renewed.expires_at
        waiting = first.acquire_soon("k", ttl=60, wait=30)
        until(lambda: second.inspect("k").waiters or first.inspect("k").waiters, 5, "it waits")
        second.release(handle)
        assert waiting.result().fencing_token > handle.fencing_token


def test_B40_the_longest_names_wait_and_are_woken_on_another_host(database):
    key = "k" * 512
    with host(database, "longest") as one, host(database, "longest") as two, \
            one.client() as first, two.client() as second:
        handle = first.acquire(key, ttl=600, metadata={"m": "x" * 3000})
        waiting = second.acquire_soon(key, ttl=60, wait=60)
        until(lambda: database.ask("SELECT waiters_until > clock_timestamp() FROM longest "
                                   "WHERE key <> ''") == ["t"], 5, "it waits")
        sent = time.monotonic()
        first.release(handle)
        waiting.result()
        assert time.monotonic() - sent < slack(0.5), "woken, not found by a later look"


def test_memory_and_postgres_in_one_server(database):
    backends = database.backend("shared", table="mixed") + \
        ["  - name: own", "    driver: memory", "    options:", "      capacity: 100"]
    with Server(workers=2, start=False, backends=backends, namespaces=[]) as server:
        server.backends[-1:] += [f"      segment: \"/{server.tag}\""]
        server.text = ("  - { block: lease, name: everywhere, backend: shared }\n"
                       "  - { block: lease, name: here, backend: own }\n")
        server.start()
        with server.client() as client:
            handles = {name: client.acquire("k", ttl=60, namespace=name)
                       for name in ("everywhere", "here")}
            assert database.ask("SELECT namespace, key FROM mixed WHERE key <> ''") == \
                ["everywhere|k"]
            for name, handle in handles.items():
                with held():
                    client.acquire("k", namespace=name)
                assert client.release(handle, namespace=name)
            assert not client.inspect("k", namespace="everywhere").held


def health_of(server, service):
    with grpc.insecure_channel(server.address) as channel:
        answer = channel.unary_unary("/grpc.health.v1.Health/Check")(
            wire.health_request(service), timeout=5)
    return wire.health_status(answer)


def test_an_outage_is_told_by_calls_and_by_health_and_ends_by_itself():
    with Database() as own, Server(workers=2, backends=own.backend(timeout="1s")) as server, \
            server.client() as client:
        handle = client.acquire("k", ttl=600)
        waiting = client.acquire_soon("k", wait=60)
        own.crash()
        service = "mindd.lease.v1.Lease/locks"
        until(lambda: health_of(server, service) == wire.HEALTH_NOT_SERVING, slack(10),
              "health says so")
        sent = time.monotonic()
        with refused("UNAVAILABLE", None, "BACKEND_DOWN"):
            client.acquire("other")
        assert time.monotonic() - sent < slack(1.5)
        with refused("UNAVAILABLE", None, "BACKEND_DOWN"):
            waiting.result()
        own.resume()
        until(lambda: health_of(server, service) == wire.HEALTH_SERVING, slack(20), "it is back")

        def answered():  # the other worker finds it back by itself, too
            try:
                return client.inspect("k")
            except LeaseError as error:
                assert error.reason == "BACKEND_DOWN", error
                return None
        shown = until(answered, slack(20), "it answers")
        assert shown.handle.holder_id == handle.holder_id, "what was told is there"
        assert as_seconds(client.renew(handle, ttl=60).remaining) > 50
        client.acquire("other")


def test_B51_a_password_is_shown_nowhere(database):
    secret = "hunter2-secret"
    dsn = f'"host=127.0.0.1 port={database.port} user=nobody dbname=none password={secret}"'
    with Server(workers=1, start=False,
                backends=database.backend(dsn=dsn, timeout="1s")) as server:
        server.launch()
        until(lambda: "backend=store" in server.log() and "nobody" in server.log(), slack(15),
              "the failure is logged")
        with Client(server.address) as client, refused("UNAVAILABLE") as told:
            client.acquire("k")
        dump = subprocess.run([server.binary, "-T", "-f", server.config], capture_output=True,
                              text=True, check=True)
        lines = [open(f"/proc/{pid}/cmdline", encoding="utf-8").read() for pid in server.tree()]
        for text in (server.log(), dump.stdout, dump.stderr, *lines, str(told.error)):
            assert secret not in text
        assert 'dsn: "********"' in dump.stdout


@pytest.fixture
def pooler(database, tmp_path):
    """pgbouncer in transaction mode, as the database's user."""
    user = pwd.getpwnam("postgres") if os.getuid() == 0 else None
    port, directory = free_port(), database.directory
    config = os.path.join(directory, "pgbouncer.ini")
    with open(config, "w", encoding="ascii") as file:
        file.write(f"[databases]\nleased = host={directory} port={database.port} user=leased\n"
                   f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n"
                   "unix_socket_dir =\nauth_type = any\npool_mode = transaction\n"
                   "default_pool_size = 4\nignore_startup_parameters = options,extra_float_digits\n")
    with open(tmp_path / "log", "wb") as log:
        process = subprocess.Popen(
            ["/usr/sbin/pgbouncer", config], stdout=log, stderr=log,
            user=user.pw_uid if user else None, group=user.pw_gid if user else None)
    yield f"host=127.0.0.1 port={port} user=leased dbname=leased"
    process.kill()
    process.wait()


def test_B39_a_pooler_is_refused_with_a_message(database, pooler):
    dsn = f'"{pooler}"'
    with Server(workers=1, start=False, backends=database.backend(dsn=dsn, timeout="1s",
                                                                  table="pooled")) as server:
        server.launch()
        until(lambda: "goes through a pooler (such as pgbouncer)" in server.log(), slack(15),
              "the log names the reason")
        with Client(server.address) as client:
            with refused("UNAVAILABLE", None, "BACKEND_DOWN"):
                client.acquire("k")
        assert database.ask("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == ["0"]
