# SPDX-License-Identifier: Apache-2.0
"""leasectl mcp, driven by a scripted client over its stdin and stdout."""
import json
import os
import select
import signal
import subprocess
import time

import pytest

from client import until
from drivers import SLOW
from leasectl import LEASECTL, environment
from proxy import Proxy
from server import Server


class Agent:
    def __init__(self, address, start=True, version="2025-06-18", name="scripted"):
        self.process = subprocess.Popen([LEASECTL, "mcp"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, env=environment(address))
        self.count, self.waiting, self.notices, self.buffer = 0, {}, [], b""
        if start:
            self.server = self.ask("initialize", protocolVersion=version, capabilities={},
                                   clientInfo={"name": name, "version": "1"})
            self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.stdin.close()
            assert self.process.wait(10 * SLOW) == 0
        self.process.stdout.close()

    def write(self, message):
        text = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.process.stdin.write(text + b"\n")
        self.process.stdin.flush()

    def read(self, limit=10):
        end = time.monotonic() + limit * SLOW
        while b"\n" not in self.buffer:
            left = end - time.monotonic()
            assert left > 0, "no message"
            if select.select([self.process.stdout], [], [], left)[0]:
                part = os.read(self.process.stdout.fileno(), 65536)
                assert part, "end of output"
                self.buffer += part
        line, _, self.buffer = self.buffer.partition(b"\n")
        return json.loads(line)

    def send(self, method, **params):
        self.count += 1
        self.write({"jsonrpc": "2.0", "id": self.count, "method": method, "params": params})
        return self.count

    def answer(self, number, limit=10):
        while number not in self.waiting:
            message = self.read(limit)
            assert message["jsonrpc"] == "2.0"
            if "id" in message:
                self.waiting[message["id"]] = message
            else:
                self.notices.append(message)
        return self.waiting.pop(number)

    def ask(self, method, **params):
        answer = self.answer(self.send(method, **params))
        assert "error" not in answer, answer
        return answer["result"]

    def begin(self, tool, **arguments):
        return self.send("tools/call", name=tool, arguments=arguments)

    def end(self, number):
        """(is an error, text, structured content)."""
        result = self.answer(number)["result"]
        assert all(part["type"] == "text" for part in result["content"])
        return (result["isError"], "\n".join(part["text"] for part in result["content"]),
                result.get("structuredContent"))

    def tool(self, tool, **arguments):
        return self.end(self.begin(tool, **arguments))


@pytest.fixture
def agent(server):
    with Agent(server.address) as running:
        yield running


@pytest.mark.parametrize("asked, got", [("2025-06-18", "2025-06-18"), ("2024-11-05", "2024-11-05"),
                                        ("2025-03-26", "2025-03-26"), ("1999-01-01", "2025-06-18")])
def test_versions_are_negotiated(server, asked, got):
    with Agent(server.address, version=asked) as agent:
        assert agent.server["protocolVersion"] == got
        assert agent.server["serverInfo"]["name"] == "leasectl"
        assert agent.server["capabilities"]["tools"] == {"listChanged": False}
        assert "lease_acquire" in agent.server["instructions"]


def test_tools_are_described_by_schemas(agent):
    tools = {tool["name"]: tool for tool in agent.ask("tools/list")["tools"]}
    assert set(tools) == {"lease_acquire", "lease_renew", "lease_release", "lease_inspect",
                          "lease_list"}
    for tool in tools.values():
        assert tool["inputSchema"]["type"] == "object" and tool["description"]
        assert tool["inputSchema"].get("required", []) in ([], ["key"])
    assert tools["lease_list"]["annotations"]["readOnlyHint"] is True


def test_a_lease_is_taken_and_given_back(agent, client, key):
    error, text, data = agent.tool("lease_acquire", key=key, ttl="30s", note="rebase")
    assert not error and "You hold the lease" in text
    handle = client.inspect(key).handle
    assert data["handle"]["holderId"] == handle.holder_id
    assert data["handle"]["fencingToken"] == str(handle.fencing_token)
    assert dict(handle.metadata) == {"client": "scripted", "note": "rebase"}
    assert "own lease" in agent.tool("lease_inspect", key=key)[1]
    assert "holds that lease already" in agent.tool("lease_acquire", key=key)[1]
    error, text, data = agent.tool("lease_renew", key=key, ttl="10m")
    assert not error and client.inspect(key).handle.remaining.seconds > 500
    assert agent.tool("lease_release", key=key)[:2] == (False, "The lease is given back.")
    assert not client.inspect(key).held
    assert agent.tool("lease_release", key=key)[0] is True


def test_a_refusal_says_who_how_long_and_what_next(server, agent, client, key):
    with Agent(server.address, name="other") as other:
        other.tool("lease_acquire", key=key, note="fixing the build")
        error, text, data = agent.tool("lease_acquire", key=key)
        assert error
        for part in ("client: other", "note: fixing the build", "left unless renewed", "wait",
                     "lease_inspect"):
            assert part in text, text
        assert data["held"] is True and data["handle"]["metadata"]["client"] == "other"
        assert "holderId" not in data["handle"]
        assert "holderId" not in agent.tool("lease_list", prefix=key)[2]["leases"][0]
        assert agent.tool("lease_release", key=key)[0] is True
        assert client.inspect(key).held


def test_waiting_does_not_block_other_calls(agent, client, server, key):
    handle = client.acquire(key)
    number = agent.begin("lease_acquire", key=key, wait="30s")
    server.wait_waiters(key, 1)
    error, text, data = agent.tool("lease_inspect", key=key)
    assert not error and "1 waiting" in text and data["waiters"] == 1
    client.release(handle)
    assert agent.end(number)[0] is False
    assert client.inspect(key).held


def test_a_cancelled_wait_leaves_the_line(agent, client, server, key):
    client.acquire(key)
    number = agent.begin("lease_acquire", key=key, wait="60s")
    server.wait_waiters(key, 1)
    agent.write({"jsonrpc": "2.0", "method": "notifications/cancelled",
                 "params": {"requestId": number}})
    server.wait_waiters(key, 0)
    agent.ask("ping")
    assert number not in agent.waiting


def test_leases_are_renewed_while_the_session_lives_and_released_at_its_end(server, client, key):
    with Agent(server.address) as agent:
        agent.tool("lease_acquire", key=key, ttl="5s")
        holder = client.inspect(key).handle.holder_id
        end = time.monotonic() + 7
        until(lambda: time.monotonic() > end, 10, "more than the ttl has passed")
        assert client.inspect(key).handle.holder_id == holder
        waiting = client.acquire_soon(key, ttl=5, wait=20)
        server.wait_waiters(key, 1)
    waiting.result(timeout=3 * SLOW)


@pytest.mark.parametrize("how", ["TERM", "INT", "HUP", "reader"])
def test_every_end_of_the_session_releases(server, client, key, how):
    with Agent(server.address) as agent:
        agent.tool("lease_acquire", key=key, ttl="60s")
        if how == "reader":
            agent.process.stdout.close()
            agent.send("ping")
        else:
            agent.process.send_signal(getattr(signal, "SIG" + how))
        assert agent.process.wait(5 * SLOW) == 0
    assert not client.inspect(key).held


def test_a_loss_is_told_at_once_and_with_the_next_result(agent, client, key):
    agent.tool("lease_acquire", key=key, ttl="5s")
    client.release(client.inspect(key).handle)
    message = agent.read()
    assert message["method"] == "notifications/message"
    assert message["params"]["level"] == "warning" and "was lost" in message["params"]["data"]
    error, text, _ = agent.tool("lease_list")
    assert not error and f"locks/{key} was lost" in text
    assert "was lost" not in agent.tool("lease_list")[1]


def test_an_outage_is_survived_and_is_not_told_as_held():
    with Server(workers=1) as server, Proxy(server.port) as proxy, Agent(proxy.address) as agent:
        agent.tool("lease_acquire", key="k", ttl="6s")
        proxy.broken = True
        error, text, _ = agent.tool("lease_acquire", key="other")
        assert error and "cannot reach the server" in text and "try again" in text
        until(lambda: time.monotonic() - proxy.answered > 3, 10, "a renewal was missed")
        proxy.broken = False
        healed = time.monotonic()
        until(lambda: proxy.answered > healed, 3 * SLOW, "it renews again")
        assert "own lease" in agent.tool("lease_inspect", key="k")[1]


@pytest.mark.parametrize("arguments, says", [
    ({}, "key is required"), ({"key": ""}, "key is required"), ({"key": 5}, "is a string"),
    ({"key": "k", "ttl": "1s"}, "at least 5s"), ({"key": "k", "ttl": "soon"}, "no duration"),
    ({"key": "k", "namespace": "nope"}, 'namespace "nope" not configured'),
    ({"key": "k", "wait": "100d"}, "wait_for"), ({"key": "k" * 600}, "512")])
def test_wrong_arguments_are_told_to_the_agent(agent, arguments, says):
    error, text, _ = agent.tool("lease_acquire", **arguments)
    assert error and says in text, text


def test_broken_messages_are_refused_and_survived(server):
    with Agent(server.address, start=False) as agent:
        for text, code in ((b"{", -32700), (b"[]", -32600), (b"5", -32600), (b'"x"', -32600),
                           (b"{}", -32600), (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
                           (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
                           (b'{"jsonrpc":"2.0","id":"a","method":"nope"}', -32601),
                           (b'\xff\xfe', -32700)):
            agent.write(text)
            assert agent.read()["error"]["code"] == code, text
        agent.write(b'{"jsonrpc":"2.0","method":"nope"}')
        agent.write(b'{"jsonrpc":"2.0","id":7,"result":{}}')
        agent.write(b"")
        agent.write(b'[{"jsonrpc":"2.0","id":"x","method":"ping"},{"jsonrpc":"2.0","method":"y"}]')
        assert agent.read() == [{"jsonrpc": "2.0", "id": "x", "result": {}}]
        agent.write({"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": {"name": "rm"}})
        assert agent.read()["error"]["code"] == -32602
        agent.write(b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":'
                    b'{"name":"lease_list","arguments":[1]}}')
        assert agent.read()["result"]["isError"] is True


def test_a_line_without_an_end_ends_the_session(server):
    with Agent(server.address, start=False) as agent:
        try:
            agent.process.stdin.write(b"x" * (2 << 20))
            agent.process.stdin.flush()
        except BrokenPipeError:
            pass
        assert agent.process.wait(10 * SLOW) == 0
        agent.process.stdin = open(os.devnull, "wb")
