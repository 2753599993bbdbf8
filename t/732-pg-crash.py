# SPDX-License-Identifier: Apache-2.0
"""A database that crashes again and again under load."""
import threading

import pytest

from client import Client, LeaseError, until
from database import Database
from drivers import rounds, slack
from server import Server

pytestmark = pytest.mark.memory  # brings its own driver along


class Taker(threading.Thread):
    """Takes keys of its own for ever, until the database is gone."""

    def __init__(self, address, name):
        super().__init__()
        self.address, self.prefix = address, name
        self.told, self.broken = [], None

    def run(self):
        try:
            with Client(self.address) as client:
                for number in range(100000):
                    key = f"{self.prefix}-{number}"
                    handle = client.acquire(key, ttl=3600)
                    self.told.append((key, handle.holder_id))
                    if number % 4 == 3:
                        self.told.pop()  # until it is told that it is free
                        client.release(handle)
                        self.told.append((key, None))
        except LeaseError as error:
            if error.reason != "BACKEND_DOWN":
                self.broken = error
        except BaseException as error:  # the test judges it
            self.broken = error


@pytest.mark.limit(180)
def test_a_crash_of_the_database_loses_no_lease_that_was_told():
    """The log is written late on purpose: only the barrier makes it reach the disk."""
    with Database("wal_writer_delay=10s", "wal_writer_flush_after=0",
                  "recovery_init_sync_method=syncfs") as own, \
            Server(workers=2, backends=own.backend(timeout="1s")) as server:
        for turn in range(rounds(3, 20)):
            takers = [Taker(server.address, f"{turn}-{number}") for number in range(8)]
            for taker in takers:
                taker.start()
            until(lambda: all(len(taker.told) > 3 for taker in takers), slack(10), "all are told")
            own.crash()
            for taker in takers:
                taker.join()
                assert not taker.broken, taker.broken
            own.resume()
            rows = dict(row.split("|") for row in own.ask(
                "SELECT key, holder_id FROM leases WHERE expires_at > clock_timestamp()"))
            told = [one for taker in takers for one in taker.told]
            lost = [key for key, holder in told if rows.get(key) != holder]
            assert not lost, f"{len(lost)} of {len(told)} told are not so: {lost[:5]}"
            server.wait_serving(20)
            # The health of one worker says nothing of the other.
            for client in server.connect_apart(2):
                with client:
                    until(lambda: answered(client), slack(10), "the worker is back")


def answered(client):
    try:
        return client.inspect("any") is not None
    except LeaseError as error:
        assert error.reason == "BACKEND_DOWN", error
        return False
