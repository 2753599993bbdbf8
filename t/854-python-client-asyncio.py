# SPDX-License-Identifier: Apache-2.0
"""The Python client for asyncio: the same calls, errors and held leases."""
import asyncio
import os
import signal
import time

import grpc
import pytest

from client import until
from drivers import SLOW
from pyclient import APART, Scripted, granted, pb, raises
from server import Server
from mindd.client import (InvalidArgument, LeaseHeld, LeaseLost, NamespaceUnknown, Unavailable)
from mindd.client.aio import MindD

TTL = 1.0 * SLOW


def connect(server, **more):
    return MindD(server.address, options=APART, **more)


async def eventually(condition, limit, what):
    end = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < end, f"{what}: not within {limit} s"
        await asyncio.sleep(0.01)


def test_the_five_calls(server, new_key):
    async def main():
        async with connect(server, token="any") as m:
            key, more = new_key(), [f"aio/{i:03}" for i in range(25)]
            handle = await m.lease.acquire("locks", key, ttl=60, metadata={"a": "b"})
            with raises(LeaseHeld, "FAILED_PRECONDITION", "already held") as caught:
                await m.lease.acquire("locks", key, ttl=60, wait_for=0.1)
            assert caught.error.fencing_token == handle.fencing_token
            await m.lease.renew(handle.holder_id, "locks", key, ttl=300)
            assert (await m.lease.inspect("locks", key)).handle.remaining.seconds > 200
            await asyncio.gather(*(m.lease.acquire("locks", each, ttl=60) for each in more))
            seen = [each.key async for each in m.lease.list("locks", key_prefix="aio/",
                                                           page_size=10)]
            assert seen == more
            assert await m.lease.release(handle.holder_id, "locks", key) is True
            assert await m.lease.release(handle.holder_id, "locks", key) is False
            with raises(LeaseLost):
                await m.lease.renew(handle.holder_id, "locks", key, ttl=5)
            with raises(InvalidArgument):
                await m.lease.acquire("locks", "", ttl=5)
            with raises(NamespaceUnknown):
                await m.lease.inspect("nowhere", "k")
    asyncio.run(main())


def test_a_cancelled_task_leaves_the_queue(server, key):
    async def main():
        async with connect(server) as m:
            handle = await m.lease.acquire("locks", key, ttl=60)
            task = asyncio.create_task(m.lease.acquire("locks", key, ttl=60, wait_for=50))
            while (await m.lease.inspect("locks", key)).waiters != 1:
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            while (await m.lease.inspect("locks", key)).waiters:
                await asyncio.sleep(0.01)
            assert (await m.lease.inspect("locks", key)).handle.holder_id == handle.holder_id
    asyncio.run(asyncio.wait_for(main(), 30 * SLOW))


@pytest.mark.parametrize("code", ["UNAVAILABLE", "CANCELLED"])
def test_a_passing_fault_is_retried_with_the_same_request_id(code):
    async def main(address):
        async with MindD(address) as m:
            return await m.lease.acquire("locks", "k", ttl=5, wait_for=20)
    fault = (grpc.StatusCode[code], "fault")
    with Scripted(fault, fault, granted()) as scripted:
        assert asyncio.run(main(scripted.address)).holder_id == "h"
    assert len({seen.request.request_id for seen in scripted.seen}) == 1
    assert len(scripted.seen) == 3
    assert scripted.seen[2].request.wait_for.ToTimedelta().total_seconds() < 20


def test_nobody_there():
    async def main():
        async with MindD("127.0.0.1:1", timeout=0.5) as m:
            with raises(Unavailable):
                await m.lease.inspect("locks", "k")
    asyncio.run(main())


def test_a_hold_outlives_its_ttl_and_is_released_at_the_end(server, key):
    async def main():
        async with connect(server) as m:
            async with m.lease.hold("locks", key, ttl=TTL) as lease:
                await asyncio.sleep(2.5 * TTL)
                lease.check()
                assert 0 < lease.remaining() <= TTL
                seen = await m.lease.inspect("locks", key)
                assert seen.handle.holder_id == lease.holder_id
                assert seen.handle.fencing_token == lease.fencing_token
            assert not (await m.lease.inspect("locks", key)).held
            with pytest.raises(KeyError):
                async with m.lease.hold("locks", key, ttl=TTL):
                    raise KeyError("of the block")
            assert not (await m.lease.inspect("locks", key)).held
    asyncio.run(main())


def test_after_a_wait_longer_than_the_ttl_the_term_is_fresh(server, key):
    async def main():
        async with connect(server) as m:
            handle = await m.lease.acquire("locks", key, ttl=60)

            async def wait():
                async with m.lease.hold("locks", key, ttl=TTL, wait_for=30) as lease:
                    lease.check()
                    return lease.remaining()
            task = asyncio.create_task(wait())
            await asyncio.sleep(1.5 * TTL)
            assert not task.done()
            await m.lease.release(handle.holder_id, "locks", key)
            assert await task > TTL / 2
    asyncio.run(main())


@pytest.mark.parametrize("how", ["kill", "freeze"])
def test_without_the_server_the_loss_is_known_before_the_lease_can_end(how):
    told = []

    async def main(server, tree):
        async def tell(error):
            told.append(error)
        async with connect(server) as m:
            with raises(LeaseLost):
                async with m.lease.hold("locks", "k", ttl=2 * TTL, on_lost=tell) as lease:
                    await asyncio.sleep(TTL)
                    for pid in tree:
                        os.kill(pid, signal.SIGKILL if how == "kill" else signal.SIGSTOP)
                    gone = time.monotonic()
                    await eventually(lambda: lease.lost, 3 * TTL, "lost")
                    assert time.monotonic() < gone + 2 * TTL
                    with raises(LeaseLost):
                        lease.check()
    with Server(workers=1) as server:
        tree = server.tree()
        asyncio.run(main(server, tree))
        if how == "kill":
            server.kill()
            server.start()
        else:
            for pid in tree:
                os.kill(pid, signal.SIGCONT)
    assert len(told) == 1 and isinstance(told[0], LeaseLost)


def test_on_lost_can_end_the_block_from_outside(server, key):
    async def main():
        async with connect(server) as m:
            async def work():
                task = asyncio.current_task()
                async with m.lease.hold("locks", key, ttl=TTL,
                                        on_lost=lambda _: task.cancel()) as lease:
                    await m.lease.release(lease.holder_id, "locks", key)
                    await asyncio.sleep(60)
            with pytest.raises(asyncio.CancelledError):
                await asyncio.wait_for(asyncio.create_task(work()), 10 * SLOW)
    began = time.monotonic()
    asyncio.run(main())
    assert time.monotonic() - began < 10 * SLOW


def test_a_cancelled_block_releases(server, key):
    async def main():
        async with connect(server) as m:
            async def work():
                async with m.lease.hold("locks", key, ttl=60):
                    entered.set()
                    await asyncio.sleep(60)
            entered = asyncio.Event()
            task = asyncio.create_task(work())
            await entered.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert not (await m.lease.inspect("locks", key)).held
    asyncio.run(main())


def test_a_renewal_that_fails_is_repeated():
    away = (grpc.StatusCode.UNAVAILABLE, "away")
    renewed = pb.RenewResponse(handle=granted().handle)

    async def main(scripted):
        async with MindD(scripted.address) as m:
            async with m.lease.hold("locks", "k", ttl=3 * SLOW) as lease:
                await eventually(lambda: len(scripted.seen) >= 4, 3 * SLOW, "renewed")
                lease.check()
                scripted.script = [pb.ReleaseResponse(existed=True)]
    with Scripted(granted(), away, away, renewed) as scripted:
        asyncio.run(main(scripted))
    until(lambda: scripted.seen[-1].method == "Release", 5, "released")
