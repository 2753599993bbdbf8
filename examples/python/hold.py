#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Does a piece of work that only one program at a time may do.

    hold.py [ADDRESS]        (default 127.0.0.1:7777, or $LEASED_ENDPOINT)

The lease is renewed in the background for as long as the work takes, and ends by itself a few
seconds after this program dies."""
import os
import sys
import time

from mindd.client import LeaseHeld, LeaseLost, MindD


def work(lease):
    for step in range(1, 4):
        lease.check()  # before each step that must not be done twice
        print(f"step {step}, fencing token {lease.fencing_token}", flush=True)
        time.sleep(float(os.environ.get("STEP", "0.2")))


def main(address):
    with MindD(address) as m:
        try:
            with m.lease.hold("locks", "example/hold", ttl=10, wait_for=30,
                              metadata={"program": "hold.py"}) as lease:
                work(lease)
        except LeaseHeld as error:
            sys.exit(f"somebody else is at work: {error}")
        except LeaseLost as error:
            sys.exit(f"the lease was lost on the way, the work is not done: {error}")
    print("done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("LEASED_ENDPOINT", "127.0.0.1:7777"))
