# SPDX-License-Identifier: Apache-2.0
"""Load in a process of its own: takes, renews, shows, lists and releases leases from several
connections, keeps what it was granted for the oracle, and times every answer.

    load.py '{"address": ..., "keys": 200, "threads": 8, "seconds": 10, "seed": 1, "mode": "mix"}' OUT

OUT gets one grant a line and at its end one line with the summary."""
import collections
import json
import os
import random
import subprocess
import sys
import threading
import time

from client import Client, LeaseError, as_seconds
from oracle import Oracle

HERE = os.path.abspath(__file__)


class Load:
    """Runs load.py; finish() gives the summary and adds the grants to an oracle."""

    def __init__(self, path, **plan):
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
        self.path = path
        self.process = subprocess.Popen([sys.executable, HERE, json.dumps(plan), path],
                                        env=environment)

    def running(self):
        return self.process.poll() is None

    def finish(self, oracle, limit=60):
        try:
            status = self.process.wait(timeout=limit)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
        assert status == 0, f"load ended with {status}"
        with open(self.path, encoding="utf-8") as file:
            *grants, summary = file.read().splitlines()
        oracle.load(grants)
        return json.loads(summary)


class Player:
    """One connection, one thread, one call at a time."""

    def __init__(self, plan, number, oracle):
        self.client = Client(plan["address"], timeout=plan.get("timeout", 10))
        self.plan, self.oracle = plan, oracle
        self.pick = random.Random(plan["seed"] * 1000 + number)
        self.answers = collections.Counter()
        self.worst, self.late = 0.0, []

    def call(self, name, step, allowed=0.0):
        """One timed call; its value, or None when it was refused."""
        sent = time.monotonic()
        try:
            value = step()
            outcome = "OK"
        except LeaseError as error:
            value, outcome = None, error.reason or error.code.name
        took = time.monotonic() - sent - allowed
        self.answers[name + " " + outcome] += 1
        if outcome == "UNAVAILABLE":
            time.sleep(0.01)  # the worker was killed: connect anew
        else:
            self.worst = max(self.worst, took)
            if took > self.plan.get("bound", 1.0):
                self.late.append([name, outcome, round(took, 3), round(sent, 3)])
        return value, outcome, sent

    def hold(self, key, ttl, wait, keep):
        handle, _, sent = self.call("acquire", lambda: self.client.acquire(key, ttl, wait or None),
                                    wait)
        if not handle:
            return
        grant = self.oracle.granted(key, handle.holder_id, handle.fencing_token, sent,
                                    time.monotonic(), ttl, as_seconds(handle.remaining))
        time.sleep(keep)
        if self.pick.random() < 0.3:
            _, outcome, sent = self.call("renew", lambda: self.client.renew(handle, ttl))
            if outcome == "OK":
                self.oracle.renewed(grant, sent, ttl)
            elif outcome == "NOT_HOLDER":
                self.oracle.ended(grant, sent)
        if self.pick.random() < self.plan.get("released", 0.9):
            sent = time.monotonic()
            self.oracle.ended(grant, sent)
            self.call("release", lambda: self.client.release(handle))

    def mix(self):
        key = f"key-{self.pick.randrange(self.plan['keys'])}"
        what = self.pick.random()
        if what < 0.12:
            self.call("inspect", lambda: self.client.inspect(key))
        elif what < 0.14:
            self.call("list", self.client.list)
        else:
            self.hold(key, self.pick.choice((0.4, 0.4, 5.0)), self.pick.choice((0, 0, 0.3)),
                      self.pick.choice((0, 0, 0.01)))

    def pingpong(self):
        self.hold(f"ball-{self.pick.randrange(self.plan['keys'])}", 1.5, 20, 0)

    def play(self, until_):
        step = self.mix if self.plan["mode"] == "mix" else self.pingpong
        while time.monotonic() < until_:
            step()
        self.client.close()


def main(plan, path):
    oracle = Oracle()
    players = [Player(plan, number, oracle) for number in range(plan["threads"])]
    broken = []

    def guarded(player):
        try:
            player.play(time.monotonic() + plan["seconds"])
        except BaseException as error:  # shown by the summary, so that the test fails
            broken.append(repr(error))
    threads = [threading.Thread(target=guarded, args=(player,)) for player in players]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    answers, late = collections.Counter(), []
    for player in players:
        answers.update(player.answers)
        late += player.late
    with open(path, "w", encoding="utf-8") as file:
        oracle.dump(file)
        file.write(json.dumps({"answers": answers, "late": late, "broken": broken,
                               "worst": max(player.worst for player in players)}) + "\n")


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), sys.argv[2])
