# SPDX-License-Identifier: Apache-2.0
"""The Python client: what its documentation shows, and the five calls."""
import datetime as dt
import io
import threading
from contextlib import redirect_stdout

import grpc
import pytest

from drivers import slack
from pyclient import Scripted, connect, granted, pb, raises
from mindd.client import InvalidArgument, LeaseHeld, LeaseLost, MindD

DOCUMENTED = '''
import datetime as dt

handle = m.lease.acquire("locks", "deploy", ttl=dt.timedelta(seconds=60))
try:
    do_work()
    m.lease.renew(handle.holder_id, "locks", "deploy", ttl=dt.timedelta(seconds=300))
finally:
    m.lease.release(handle.holder_id, "locks", "deploy")

# Who holds what right now (for cleanup / observability).
for h in m.lease.list("locks"):
    print(h.key, h.holder_id, h.expires_at.ToDatetime())
'''


@pytest.fixture
def m(server):
    with connect(server) as client:
        yield client


def test_the_documented_example_works_word_for_word(server, new_key):
    with MindD(server.address, token="any") as m:
        other = m.lease.acquire("locks", new_key(), ttl=60)
        during, printed = [], io.StringIO()
        names = {"m": m, "do_work": lambda: during.append(m.lease.inspect("locks", "deploy"))}
        with redirect_stdout(printed):
            exec(DOCUMENTED, names)
        assert during[0].held and during[0].handle.holder_id == names["handle"].holder_id
        assert not m.lease.inspect("locks", "deploy").held
        assert f"{other.key} {other.holder_id} 2" in printed.getvalue()
        m.lease.release(other.holder_id, "locks", other.key)


def test_the_handle_is_the_message_with_all_that_the_server_told(m, key):
    handle = m.lease.acquire("locks", key, ttl=60, metadata={"why": "test"})
    assert isinstance(handle, pb.LeaseHandle) and handle.metadata["why"] == "test"
    assert handle.fencing_token > 0 and handle.expires_at.ToDatetime() > dt.datetime(2020, 1, 1)
    seen = m.lease.inspect("locks", key)
    assert seen.held and seen.handle.holder_id == handle.holder_id and seen.waiters == 0


@pytest.mark.parametrize("ttl", [dt.timedelta(seconds=90), 90, 90.0, dt.timedelta(minutes=1.5)])
def test_lengths_of_time_are_timedeltas_or_seconds(m, key, ttl):
    left = m.lease.acquire("locks", key, ttl=ttl).remaining.ToTimedelta()
    assert dt.timedelta(seconds=89) < left <= dt.timedelta(seconds=90)


def test_fractions_of_a_second_count(m, key):
    left = m.lease.acquire("locks", key, ttl=dt.timedelta(milliseconds=1500)).remaining
    assert 1.5 - slack(0.3) < left.seconds + left.nanos / 1e9 <= 1.5


@pytest.mark.parametrize("ttl", [0, -1, -0.5, dt.timedelta(microseconds=-1)])
def test_a_ttl_that_is_not_positive_is_refused_by_the_server(m, key, ttl):
    with raises(InvalidArgument, "INVALID_ARGUMENT", "ttl required and must be > 0") as caught:
        m.lease.acquire("locks", key, ttl=ttl)
    assert caught.error.fields == ("ttl",)


@pytest.mark.parametrize("ttl, kind", [("60s", TypeError), (True, TypeError), (float("nan"), ValueError),
                                       (float("inf"), ValueError)])
def test_what_is_no_length_of_time_is_told_before_anything_is_sent(m, key, ttl, kind):
    with pytest.raises(kind):
        m.lease.acquire("locks", key, ttl=ttl)


def test_renew_moves_the_end_and_release_ends(m, key):
    handle = m.lease.acquire("locks", key, ttl=5)
    renewed = m.lease.renew(handle.holder_id, "locks", key, ttl=dt.timedelta(seconds=300))
    assert renewed.remaining.seconds >= 299 and renewed.fencing_token == handle.fencing_token
    assert m.lease.release(handle.holder_id, "locks", key) is True
    assert m.lease.release(handle.holder_id, "locks", key) is False
    with raises(LeaseLost, "FAILED_PRECONDITION", "not held by this holder"):
        m.lease.renew(handle.holder_id, "locks", key, ttl=5)


def test_wait_for_waits_in_the_queue(server, m, key):
    first, got = m.lease.acquire("locks", key, ttl=60), []
    waiter = threading.Thread(target=lambda: got.append(
        m.lease.acquire("locks", key, ttl=60, wait_for=dt.timedelta(seconds=30))))
    waiter.start()
    server.wait_waiters(key, 1)
    m.lease.release(first.holder_id, "locks", key)
    waiter.join(20)
    assert got and got[0].fencing_token > first.fencing_token


def test_a_wait_that_runs_out_is_the_servers_answer_not_a_deadline(m, key):
    m.lease.acquire("locks", key, ttl=60)
    with raises(LeaseHeld, "FAILED_PRECONDITION", "already held"):
        m.lease.acquire("locks", key, ttl=60, wait_for=0.3)


def test_a_negative_wait_is_left_to_the_server(m, key):
    with raises(InvalidArgument):
        m.lease.acquire("locks", key, ttl=60, wait_for=-1)


def test_list_goes_over_pages_in_order(m, new_key):
    keys = sorted(f"page/{i:04}" for i in range(250))
    handles = [m.lease.acquire("other", name, ttl=60) for name in keys]
    m.lease.acquire("other", "zebra", ttl=60)
    inner, pages = m.lease._stub.List, []

    def counted(request, **more):
        pages.append(request)
        return inner(request, **more)
    m.lease._stub.List = counted
    seen = list(m.lease.list("other", key_prefix="page/", page_size=100))
    assert [handle.key for handle in seen] == keys and len(pages) == 3
    assert [handle.holder_id for handle in seen] == [handle.holder_id for handle in handles]
    lazily = m.lease.list("other", page_size=10)
    del pages[:]
    assert [next(lazily).key for _ in range(5)] == keys[:5] and len(pages) == 1
    assert [handle.key for handle in m.lease.list("other")] == keys + ["zebra"]


def test_many_threads_share_one_client(m, key):
    counter, wrong = [0], []

    def work():
        try:
            for _ in range(10):
                handle = m.lease.acquire("locks", key, ttl=60, wait_for=50)
                before = counter[0]
                m.lease.inspect("locks", key)
                counter[0] = before + 1
                m.lease.release(handle.holder_id, "locks", key)
        except grpc.RpcError as error:
            wrong.append(error)
    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and counter[0] == 80


def test_unix_sockets():
    from server import Server
    with Server(workers=1, uds=True) as running:
        with MindD("unix:" + running.socket_path) as m:
            assert m.lease.acquire("locks", "k", ttl=5).holder_id


@pytest.mark.parametrize("token, header", [("t0k", "Bearer t0k"), ("t0k\n", "Bearer t0k"),
                                           (lambda: "fresh", "Bearer fresh"), (None, None)])
def test_the_token_goes_with_every_call(token, header):
    with Scripted(granted()) as scripted, MindD(scripted.address, token) as m:
        m.lease.acquire("locks", "k", ttl=5)
        assert scripted.seen[0].headers.get("x-mindd-capability") == header


def test_a_rotated_token_takes_effect_on_the_next_attempt():
    tokens = iter(["old", "new"])
    with Scripted((grpc.StatusCode.UNAVAILABLE, "away"), granted()) as scripted:
        with MindD(scripted.address, lambda: next(tokens)) as m:
            m.lease.acquire("locks", "k", ttl=5)
        assert [seen.headers["x-mindd-capability"] for seen in scripted.seen] == \
            ["Bearer old", "Bearer new"]


def test_the_token_is_never_shown():
    with MindD("127.0.0.1:1", token="s3cret") as m:
        assert "s3cret" not in repr(m) + repr(m.lease)
    with MindD("127.0.0.1:1", token="s3cret\nX: y") as m:
        with pytest.raises(ValueError) as caught:
            m.lease.inspect("locks", "k")
        assert "s3cret" not in str(caught.value)
