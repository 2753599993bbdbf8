#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Several tasks of one program, one at a time: asyncio.

    aio.py [ADDRESS]         (default 127.0.0.1:7777, or $LEASED_ENDPOINT)"""
import asyncio
import os
import sys

from mindd.client.aio import MindD


async def turn(m, name):
    task = asyncio.current_task()
    async with m.lease.hold("locks", "example/aio", ttl=10, wait_for=30,
                            on_lost=lambda _: task.cancel()) as lease:
        print(f"{name} has its turn, fencing token {lease.fencing_token}", flush=True)
        await asyncio.sleep(0.1)


async def main(address):
    async with MindD(address) as m:
        await asyncio.gather(*(turn(m, f"task {number}") for number in range(3)))
        left = [handle.key async for handle in m.lease.list("locks", key_prefix="example/aio")]
        print(f"held afterwards: {left}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1
                     else os.environ.get("LEASED_ENDPOINT", "127.0.0.1:7777")))
