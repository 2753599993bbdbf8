#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Why a lock alone is not enough, and what is.

    fencing.py [ADDRESS]     (default 127.0.0.1:7777, or $LEASED_ENDPOINT)

Program A takes the lease, reads, and is frozen before it writes: a long pause of its garbage
collector, a suspended laptop, a network that hangs. The lease ends, B takes it and writes. Then A wakes
up. It cannot know that time has passed, so the write must be refused where it arrives: every grant
of a key has a larger fencing token, and the table remembers the largest it has seen."""
import os
import sqlite3
import sys
import time

from mindd.client import LeaseHeld, MindD

NAMESPACE, KEY = "locks", "example/fencing"


class Stale(Exception):
    """The writer's lease is not the newest any more."""


class Account:
    """A row that takes writes only from the newest holder of the lease."""

    def __init__(self, path):
        self.database = sqlite3.connect(path, isolation_level=None)
        self.database.execute("CREATE TABLE IF NOT EXISTS account (name TEXT PRIMARY KEY, "
                              "balance INTEGER NOT NULL, fencing_token INTEGER NOT NULL)")
        self.database.execute("INSERT OR IGNORE INTO account VALUES ('shared', 100, 0)")

    def read(self):
        return self.database.execute(
            "SELECT balance FROM account WHERE name = 'shared'").fetchone()[0]

    def write(self, balance, token):
        """One statement: the check and the write cannot be told apart. Equal tokens pass, a holder
        may write more than once. It is refused in the database, whatever the writer believes."""
        done = self.database.execute(
            "UPDATE account SET balance = ?, fencing_token = ? "
            "WHERE name = 'shared' AND fencing_token <= ?", (balance, token, token))
        if done.rowcount == 0:
            raise Stale(f"token {token} is older than what the table has seen")


def take(m, ttl):
    """The lease, as soon as it is free."""
    return m.lease.acquire(NAMESPACE, KEY, ttl=ttl, wait_for=30)


def main(address, path=":memory:"):
    account = Account(path)
    with MindD(address) as a, MindD(address) as b:
        old = take(a, ttl=1)
        seen = account.read()
        print(f"A holds the lease with token {old.fencing_token}, reads {seen}, and freezes")
        try:
            b.lease.acquire(NAMESPACE, KEY, ttl=10)
        except LeaseHeld as error:
            print(f"B has to wait: {error}")

        new = take(b, ttl=10)  # granted at the moment A's lease ends
        account.write(account.read() - 30, new.fencing_token)
        print(f"B holds the lease with token {new.fencing_token}, writes {account.read()}")

        time.sleep(0.1)
        print(f"A wakes up and would write {seen - 50}: B's withdrawal would be gone")
        try:
            account.write(seen - 50, old.fencing_token)
        except Stale as error:
            print(f"refused: {error}")
        else:
            sys.exit("the stale write went through")
        b.lease.release(new.holder_id, NAMESPACE, KEY)
    print(f"the account has {account.read()}")
    return account.read()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("LEASED_ENDPOINT", "127.0.0.1:7777"))
