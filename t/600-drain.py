# SPDX-License-Identifier: Apache-2.0
"""What clients see when the server stops."""
import socket
import time

import pytest

import wire
from client import LeaseError, refused, until
from drivers import slack
from server import Server


@pytest.mark.parametrize("also", ["nothing", "a release"])
def test_B18_waiters_end_unavailable_and_the_tree_is_gone_in_time(also):
    with Server() as server:
        clients = server.connect_apart(4)
        held_ = [clients[i % 4].acquire(f"k{i}", ttl=600) for i in range(20)]
        waiting = [clients[i % 4].acquire_soon(f"k{i % 20}", ttl=600, wait=3600)
                   for i in range(100)]
        for i in range(20):
            server.wait_waiters(f"k{i}", 5)
        began = time.monotonic()
        server.send(15)
        if also == "a release":
            for handle in held_[:5]:
                try:
                    clients[0].release(handle, timeout=5)
                except LeaseError as error:
                    # Sent into a connection that is closing: the transport answers CANCELLED for
                    # a call that the server never saw.
                    assert error.code.name in ("UNAVAILABLE", "CANCELLED"), error
        assert server.stop(number=None) == 0
        assert time.monotonic() - began < slack(10)
        reasons = []
        for one in waiting:
            try:
                one.result()
                reasons.append("granted")
            except LeaseError as error:
                assert error.code.name == "UNAVAILABLE", error
                reasons.append(error.reason)
        if also == "nothing":
            assert reasons.count("DRAINING") == 100, reasons
        else:
            assert reasons.count("granted") <= 5 and reasons.count("DRAINING") >= 95, reasons
        for client in clients:
            client.close()
        # Leases outlive the server, in both drivers.
        server.start()
        with server.connect() as client:
            for handle in held_[5:]:
                assert client.renew(handle, ttl=600).fencing_token == handle.fencing_token


def test_B18_a_stop_without_calls_is_quick():
    with Server(workers=2) as server, server.connect() as client:
        client.acquire("k")
        began = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - began < slack(5)


def test_a_client_that_does_not_answer_does_not_hold_up_the_stop():
    with Server(workers=2) as server:
        silent = []
        for _ in range(4):
            one = socket.create_connection(server.address.rsplit(":", 1))
            one.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
            assert one.recv(9)[3] == 4, "the server's settings"
            silent.append(one)
        began = time.monotonic()
        assert server.stop() == 0
        # Far from `shutdown_timeout`, which is for calls under way.
        assert time.monotonic() - began < slack(4)
        for one in silent:
            one.close()


def test_health_tells_of_the_stop_before_the_end():
    with Server(workers=1) as server, server.connect() as client:
        watch = client.channel.unary_stream("/grpc.health.v1.Health/Watch")(b"", timeout=20)
        assert wire.health_status(next(watch)) == wire.HEALTH_SERVING
        client.acquire("k")
        waiting = client.acquire_soon("k", wait=60)
        server.wait_waiters("k", 1)
        server.send(15)
        assert wire.health_status(next(watch)) == wire.HEALTH_NOT_SERVING
        with refused("UNAVAILABLE", None, "DRAINING"):
            waiting.result()
        assert server.stop(number=None) == 0


def test_an_interrupt_stops_as_a_termination_does():
    with Server(workers=2) as server:
        assert server.stop(number=2) == 0


def test_a_reload_leaves_leases_waiters_and_connections_alone():
    with Server(workers=2) as server, server.connect() as client:
        handle = client.acquire("k")
        waiting = client.acquire_soon("k", wait=60)
        server.wait_waiters("k", 1)
        with refused("NOT_FOUND"):
            client.acquire("k", namespace="later")
        server.namespaces.append("later")
        server.write_config()
        server.send(1)

        def known():
            try:
                client.inspect("k", namespace="later")
                return True
            except LeaseError as error:
                assert error.reason == "NAMESPACE_UNKNOWN", error
                return False
        until(known, slack(5), "the new namespace is served")
        assert not waiting.done() and client.holder("k") == handle.holder_id
        client.release(handle)
        waiting.result()
