# SPDX-License-Identifier: Apache-2.0
"""What operators see: metrics that count exactly, health, and an HTTP side that harms nobody."""
import os
import re
import signal
import socket
import urllib.error
import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

import proc
from client import held, refused, until
from drivers import slack
from server import Server, free_port

NAMES = """leased_build_info leased_start_time_seconds leased_config_last_reload_successful
leased_config_last_reload_success_timestamp_seconds leased_worker_calls_total leased_workers_ready
leased_worker_restarts_total leased_backend_up grpc_server_handled_total leased_results_total
leased_acquire_wait_seconds""".split()


class Watched(Server):
    """A server with metrics; workers are the children that are not the admin process."""

    def __init__(self, path="/metrics", **more):
        self.admin_port = free_port()
        super().__init__(text=f"observability: {{ metrics: {{ prometheus: {{ addr: "
                         f"\"127.0.0.1:{self.admin_port}\", path: {path} }} }} }}\n", **more)

    def get(self, path="/metrics", method="GET"):
        request = urllib.request.Request(f"http://127.0.0.1:{self.admin_port}{path}", method=method)
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, answer.read().decode(), answer.headers
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(), error.headers

    def numbers(self):
        status, text, _ = self.get()
        assert status == 200
        return {name: float(value) for name, value in
                re.findall(r"^([^#\s]\S*) (\S+)$", text, re.MULTILINE)}

    def admin_pid(self):
        inode = None
        with open("/proc/net/tcp", encoding="ascii") as file:
            for line in file:
                fields = line.split()
                if fields[1] == f"0100007F:{self.admin_port:04X}" and fields[3] == "0A":
                    inode = fields[9]
        for pid in proc.children(self.master):
            for fd in os.listdir(f"/proc/{pid}/fd"):
                try:
                    if os.readlink(f"/proc/{pid}/fd/{fd}") == f"socket:[{inode}]":
                        return pid
                except OSError:
                    pass
        return None


@pytest.fixture(scope="module")
def server():
    with Watched(workers=2) as one:
        yield one


def call(method, code):
    return ('grpc_server_handled_total{grpc_type="unary",grpc_service="mindd.lease.v1.Lease",'
            f'grpc_method="{method}",grpc_code="{code}"}}')


def result(method, reason):
    return f'leased_results_total{{method="{method}",reason="{reason}"}}'


def test_every_call_is_counted_once_by_method_code_and_reason(server, key):
    before = server.numbers()
    with server.connect() as client:
        handles = [client.acquire(f"{key}-{i}") for i in range(7)]
        for _ in range(3):
            with held():
                client.acquire(f"{key}-0")
        with refused("INVALID_ARGUMENT"):
            client.acquire("")
        client.renew(handles[0])
        client.inspect(key)
        client.list()
        for handle in handles[:5]:
            client.release(handle)
    after = server.numbers()

    def grown(name):
        return after.get(name, 0) - before.get(name, 0)
    assert grown(call("Acquire", "OK")) == 7
    assert grown(call("Acquire", "FailedPrecondition")) == 3
    assert grown(call("Acquire", "InvalidArgument")) == 1
    assert [grown(call(method, "OK")) for method in ("Renew", "Inspect", "List", "Release")] == \
        [1, 1, 1, 5]
    assert grown(result("Acquire", "OK")) == 7 and grown(result("Acquire", "LEASE_HELD")) == 3
    workers = [name for name in after if name.startswith("leased_worker_calls_total")]
    assert len(workers) == 2 and sum(grown(name) for name in workers) == 19


def test_a_wait_lands_in_its_bucket(server, key):
    before = server.numbers()
    with server.connect() as client:
        handle = client.acquire(key)
        waiting = client.acquire_soon(key, wait=30)
        server.wait_waiters(key, 1)
        client.release(handle)
        waiting.result()
    after = server.numbers()
    assert after["leased_acquire_wait_seconds_count"] == \
        before["leased_acquire_wait_seconds_count"] + 1
    assert after['leased_acquire_wait_seconds_bucket{le="60"}'] == \
        before['leased_acquire_wait_seconds_bucket{le="60"}'] + 1
    assert after["leased_acquire_wait_seconds_sum"] > before["leased_acquire_wait_seconds_sum"]


def test_the_page_is_what_prometheus_reads_and_names_no_key(server):
    with server.connect() as client:
        client.acquire("a-key-that-must-not-be-a-label")
    _, text, headers = server.get()
    assert headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert "a-key-that" not in text
    families = re.findall(r"^# TYPE (\S+)", text, re.MULTILINE)
    assert sorted(families) == sorted(NAMES)
    parsed = {family.name: family for family in text_string_to_metric_families(text)}
    assert sorted(parsed) == sorted(name.removesuffix("_total") for name in NAMES)
    for name, family in parsed.items():
        assert family.documentation and family.samples, name
        assert (family.type == "counter") == (name + "_total" in NAMES), name
    with open(os.path.join(os.path.dirname(__file__), "..", "man", "leased.8"),
              encoding="utf-8") as file:
        page = file.read()
    assert [name for name in families if f".It Li {name}" not in page] == []


def test_health_and_what_is_not_there(server):
    assert server.get("/healthz")[:2] == (200, "ok\n")
    assert server.get("/readyz")[:2] == (200, "ok\n")
    assert server.get("/")[0] == 404 and server.get("/metrics/x")[0] == 404
    status, _, headers = server.get("/metrics", method="POST")
    assert status == 405 and headers["Allow"] == "GET, HEAD"
    status, text, headers = server.get("/metrics", method="HEAD")
    assert status == 200 and text == "" and int(headers["Content-Length"]) > 100


@pytest.mark.parametrize("noise", [b"", b"\r\n\r\n", b"GET\r\n\r\n", b"\x16\x03\x01\x02\x00",
                                   b"GET /" + b"x" * 100000 + b" HTTP/1.1\r\n\r\n",
                                   b"GET /metrics HTTP/1.1\r\n" + b"A: b\r\n" * 20000 + b"\r\n",
                                   b"GET /%00%0a../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n"],
                         ids=["nothing", "blank", "cut", "tls", "long", "headers", "path"])
def test_noise_is_survived(server, noise):
    pid = server.admin_pid()
    with socket.create_connection(("127.0.0.1", server.admin_port)) as wire:
        try:
            wire.sendall(noise)
            wire.shutdown(socket.SHUT_WR)
            wire.settimeout(slack(5))
            while wire.recv(65536):
                pass
        except OSError:
            pass
    assert server.get("/healthz")[0] == 200 and server.admin_pid() == pid


def test_a_dead_admin_process_is_replaced_and_its_counters_are_there(server, key):
    with server.connect() as client:
        client.acquire(key)
    before, pid = server.numbers(), server.admin_pid()
    os.kill(pid, signal.SIGKILL)
    until(lambda: server.admin_pid() not in (None, pid), slack(10), "another one is there")
    until(lambda: server.get("/healthz")[0] == 200, slack(10), "it answers")
    assert server.numbers()[call("Acquire", "OK")] == before[call("Acquire", "OK")]


def test_a_killed_worker_is_counted_and_loses_no_number():
    with Watched(workers=1) as server:
        with server.connect() as client:
            client.acquire("k")
        admin = server.admin_pid()
        worker = next(pid for pid in server.worker_pids() if pid != admin)
        os.kill(worker, signal.SIGKILL)
        until(lambda: server.numbers()["leased_worker_restarts_total"] == 1 and server.serving(),
              slack(10), "its successor serves")
        assert server.numbers()[call("Acquire", "OK")] == 1
        assert server.numbers()["leased_workers_ready"] == 1
        assert server.numbers()['leased_backend_up{backend="store",driver="memory"}'] == 1


def test_a_refused_reload_is_seen():
    with Watched(workers=1) as server:
        good = server.configuration()
        assert server.numbers()["leased_config_last_reload_successful"] == 1
        with open(server.config, "a", encoding="utf-8") as file:
            file.write("nonsense: 1\n")
        server.send(signal.SIGHUP)
        until(lambda: server.numbers()["leased_config_last_reload_successful"] == 0, slack(10),
              "the metric says so")
        with open(server.config, "w", encoding="utf-8") as file:
            file.write(good)
        server.send(signal.SIGHUP)
        until(lambda: server.numbers()["leased_config_last_reload_successful"] == 1, slack(10),
              "and that it is over")


def test_a_busy_port_is_an_error_at_the_start(server):
    with Watched(workers=1, start=False) as other:
        other.text = other.text.replace(str(other.admin_port), str(server.admin_port))
        other.launch()
        assert other.process.wait(slack(20)) == 71
        assert f"127.0.0.1:{server.admin_port}: it is in use by pid" in other.log()


def test_an_upgrade_brings_it_along():
    with Watched(workers=1) as server:
        pid = server.admin_pid()
        server.send(signal.SIGUSR2)
        until(lambda: server.admin_pid() not in (None, pid) and server.serving(), slack(20),
              "both are new")
        assert server.get("/readyz")[0] == 200
