# SPDX-License-Identifier: Apache-2.0
"""A client that asks often whether the server is alive gets answers, not the door."""
import socket

import pytest

from client import Client, held
from drivers import slack

EAGER = [("grpc.keepalive_time_ms", 400), ("grpc.keepalive_timeout_ms", 5000),
         ("grpc.http2.max_pings_without_data", 0), ("grpc.keepalive_permit_without_calls", 1)]
PING, GOAWAY, SETTINGS = 6, 7, 4


def test_B19_a_long_quiet_wait_outlives_frequent_pings(server, key):
    with server.connect() as other, Client(server.address, options=EAGER) as eager:
        handle = other.acquire(key, ttl=60)
        with held():
            eager.acquire(key, wait=5)  # a dozen pings; a core's own patience ends after two
        waiting = eager.acquire_soon(key, wait=30)
        server.wait_waiters(key, 1)
        other.release(handle)
        waiting.result()


def frames(wire):
    """(type, flags, payload) until the other side closes."""
    stream = wire.makefile("rb")
    while head := stream.read(9):
        size = int.from_bytes(head[:3], "big")
        yield head[3], head[4], stream.read(size)


@pytest.mark.parametrize("count", [1, 200])
def test_B19_every_ping_is_answered_also_without_a_call(server, count):
    with socket.create_connection(server.address.rsplit(":", 1)) as wire:
        wire.settimeout(slack(10))
        wire.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, SETTINGS, 0, 0, 0, 0, 0]))
        wire.sendall(b"".join(bytes([0, 0, 8, PING, 0, 0, 0, 0, 0]) + i.to_bytes(8, "big")
                              for i in range(count)))
        answered = []
        for kind, flags, payload in frames(wire):
            assert kind != GOAWAY, payload
            if kind == PING and flags & 1:
                answered.append(int.from_bytes(payload, "big"))
            if len(answered) == count:
                break
        assert answered == list(range(count))
