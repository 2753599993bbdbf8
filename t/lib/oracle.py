# SPDX-License-Identifier: Apache-2.0
"""Judges whether two holders were ever sure of one key at the same time.

Each grant gives an interval in which its client could rely on the lease: from the moment the reply
was received to the earliest of t0 + ttl (t0: before the request was sent), the moment a Release was
sent, and the moment a Renew was sent that was refused. A Renew that is granted moves the end to its
own t0 + ttl. For a grant after a wait t0 + ttl says nothing, as the ttl began with the grant: there
the server's own `remaining` counts from the receipt, less the longest time that a reply may have
been under way (the same bound that the tests of answers hold). Times are CLOCK_MONOTONIC, which all
processes of one machine share."""
import json
import threading

from drivers import slack

UNDER_WAY = slack(1.0)


class Oracle:
    def __init__(self):
        self._lock = threading.Lock()
        self._grants = []

    def granted(self, key, holder, token, t0, received, ttl, remaining=0):
        grant = {"key": key, "holder": holder, "token": token, "start": received,
                 "end": max(t0 + ttl, received + remaining - UNDER_WAY)}
        with self._lock:
            self._grants.append(grant)
        return grant

    @staticmethod
    def renewed(grant, t0, ttl):
        grant["end"] = t0 + ttl

    @staticmethod
    def ended(grant, sent):
        """A Release, or a Renew that was refused, was sent at this time."""
        grant["end"] = min(grant["end"], sent)

    def dump(self, stream):
        """One grant a line, for another process's load()."""
        with self._lock:
            for grant in self._grants:
                stream.write(json.dumps(grant) + "\n")

    def load(self, stream):
        for line in stream:
            self._grants.append(json.loads(line))

    def __len__(self):
        return len(self._grants)

    def holders(self):
        return {grant["holder"] for grant in self._grants}

    def conflicts(self):
        """Texts, one per pair of overlapping grants and per fencing token that did not grow."""
        by_key, wrong = {}, []
        for grant in self._grants:
            by_key.setdefault(grant["key"], []).append(grant)
        for key, grants in by_key.items():
            grants.sort(key=lambda grant: grant["token"])
            previous = None
            for grant in grants:
                if previous and grant["token"] == previous["token"]:
                    wrong.append(f"{key}: fencing token {grant['token']} was given twice")
                # In the order of the tokens, so a token that went back shows as an overlap.
                if previous and previous["end"] > grant["start"]:
                    wrong.append(f"{key}: token {previous['token']} was sure of it until "
                                 f"{previous['end']:.6f}, token {grant['token']} from "
                                 f"{grant['start']:.6f}")
                previous = grant
        return wrong

    def check(self):
        wrong = self.conflicts()
        assert not wrong, f"{len(wrong)} conflicts:\n" + "\n".join(wrong[:20])
