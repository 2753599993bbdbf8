# SPDX-License-Identifier: Apache-2.0
# Runs alone.
"""Two keys passed among many waiters at full speed, first in peace, then with kills."""
import os
import random
import signal
import time

import pytest

from drivers import FULL, SCALE, slack
from load import Load
from oracle import Oracle
from server import Server


@pytest.mark.memory
@pytest.mark.limit(120 if not FULL else 900)
@pytest.mark.parametrize("kills", [False, True], ids=["in peace", "with kills"])
def test_B23_no_hand_over_takes_long(kills):
    seconds = 300 if FULL else max(5, 12 * SCALE)
    pick = random.Random(23)
    with Server(workers=4) as server:
        loads = [Load(os.path.join(server.directory, f"load-{i}"), address=server.address, keys=2,
                      threads=8, seconds=seconds, seed=i, mode="pingpong", released=1, bound=2.0,
                      timeout=30)
                 for i in range(2)]
        end = time.monotonic() + seconds
        while kills and time.monotonic() < end:
            time.sleep(0.2)
            pids = server.worker_pids()
            if pids:
                os.kill(pick.choice(pids), signal.SIGKILL)
        oracle = Oracle()
        for load in loads:
            # A last waiter may have to see out its 20 s when all its rivals are gone.
            summary = load.finish(oracle, slack(seconds + 40))
            print(f"# {summary['answers']}")
            assert not summary["broken"], summary["broken"]
            assert not [name for name in summary["answers"] if name.split()[1] not in
                        ("OK", "LEASE_HELD", "NOT_HOLDER", "UNAVAILABLE")], summary
            assert "acquire LEASE_HELD" not in summary["answers"], "somebody starved for 20 s"
        oracle.check()
        # Time from the end of one grant to the start of the next one, key by key: with waiters
        # always there it is the hand-over. A grant that died with its worker ends at its ttl.
        worst, by_key = 0.0, {}
        for grant in oracle._grants:
            by_key.setdefault(grant["key"], []).append(grant)
        for grants in by_key.values():
            grants.sort(key=lambda grant: grant["start"])
            for before, after in zip(grants, grants[1:]):
                worst = max(worst, after["start"] - before["end"])
        print(f"# {len(oracle)} grants, longest gap {worst:.3f} s")
        assert worst <= slack(2 if kills else 1)
