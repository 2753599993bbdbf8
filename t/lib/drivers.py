# SPDX-License-Identifier: Apache-2.0
"""What differs between the drivers under test. LEASED_TEST_DRIVER names the one that runs."""
import os


class Memory:
    name = "memory"
    late = 0.15        # a grant may come so long after its window
    fail_fast = 0.05   # "already held" without a wait
    handover = 0.2     # release answered -> waiter granted
    undo = 0.3         # cancel -> the key is free again
    orphan = 0.2       # waiter gone -> the next one is granted
    skew = 0           # microseconds by which a remaining time may be told too short

    def backend(self, tag, options):
        lines = ["  - name: store", "    driver: memory", "    options:",
                 f"      segment: \"/{tag}\""]
        return lines + [f"      {name}: {value}" for name, value in options.items()]


class Postgres:
    name = "postgres"
    late = 0.5
    fail_fast = 0.2
    handover = 0.4
    undo = 1.0
    orphan = 1.0
    skew = 500000

    def backend(self, tag, options):
        dsn = os.environ["LEASED_TEST_DSN"]
        lines = ["  - name: store", "    driver: postgres", "    options:",
                 f"      dsn: \"{dsn}\"", f"      schema: \"{tag.replace('-', '_')}\""]
        # The memory driver's sizes have no meaning here.
        return lines + [f"      {name}: {value}" for name, value in options.items()
                        if name not in ("capacity", "waiters", "restart_grace")]


DRIVER = {"memory": Memory, "postgres": Postgres}[os.environ.get("LEASED_TEST_DRIVER", "memory")]()

# A sanitized build or a busy machine is slower, the contract is not: only the tolerances of this
# test bench stretch, never a bound in the wrong direction (an early grant is always a failure).
SLOW = float(os.environ.get("LEASED_TEST_SLOW", "1"))
FULL = os.environ.get("LEASED_TEST_FULL") == "1"
# Shrinks repetitions in runs that repeat the whole suite under a sanitizer.
SCALE = float(os.environ.get("LEASED_TEST_SCALE", "1"))


def rounds(normal, full):
    """How often to repeat: the full count with --full, else what fits into the time of a check."""
    return full if FULL else max(min(normal, 3), int(normal * SCALE))


def slack(limit):
    return limit * SLOW
