# SPDX-License-Identifier: Apache-2.0
"""What any server of this API must do, whatever its driver."""
import concurrent.futures
import time

from client import LeaseError, as_seconds, check_handle, held, micros, not_held, refused
from drivers import DRIVER, slack


def test_acquire_and_release_go_round(client, key):
    first = client.acquire(key, ttl=30)
    assert (first.namespace, first.key) == ("locks", key)
    assert micros(first.expires_at) - micros(first.acquired_at) == 30 * 10**6
    assert client.release(first) is True
    second = client.acquire(key, ttl=30)
    assert second.holder_id != first.holder_id
    assert second.fencing_token > first.fencing_token


def test_acquire_of_a_held_key_fails_fast(pair, key):
    pair[0].acquire(key)
    before = time.monotonic()
    with held():
        pair[1].acquire(key)
    assert time.monotonic() - before < slack(DRIVER.fail_fast)


def test_wait_for_unblocks_on_release(server, pair, key):
    handle = pair[0].acquire(key)
    waiting = pair[1].acquire_soon(key, wait=20)
    server.wait_waiters(key, 1)
    assert not waiting.done()
    pair[0].release(handle)
    released = time.monotonic()
    granted = waiting.result()
    assert waiting.received - released < slack(DRIVER.handover)
    assert granted.fencing_token > handle.fencing_token


def test_wait_for_runs_out_after_about_its_time(pair, key):
    pair[0].acquire(key)
    before = time.monotonic()
    with held():
        pair[1].acquire(key, wait=0.4)
    took = time.monotonic() - before
    assert 0.4 <= took < 0.4 + slack(DRIVER.late), took


def test_an_expired_lease_is_taken_over(pair, key):
    first = pair[0].acquire(key, ttl=0.2)
    end = time.monotonic() + 0.2 + slack(DRIVER.late)
    while True:
        try:
            second = pair[1].acquire(key)
            break
        except LeaseError:
            assert time.monotonic() < end, "the expired lease was not taken over"
    assert second.holder_id != first.holder_id
    assert second.fencing_token > first.fencing_token


def test_renew_extends_and_refuses_a_wrong_holder(pair, key):
    handle = pair[0].acquire(key, ttl=5, metadata={"who": "first"})
    renewed = pair[0].renew(handle, ttl=50)
    assert renewed.holder_id == handle.holder_id
    assert renewed.acquired_at == handle.acquired_at
    assert renewed.fencing_token == handle.fencing_token
    assert dict(renewed.metadata) == {"who": "first"}
    assert 49 < as_seconds(renewed.remaining) <= 50
    assert as_seconds(renewed.expires_at) - as_seconds(handle.expires_at) > 40
    with not_held():
        pair[1].renew(handle, holder="01234567-89ab-4cde-8f01-23456789abcd")


def test_release_refuses_a_wrong_holder(pair, key):
    handle = pair[0].acquire(key)
    with not_held():
        pair[1].release(handle, holder="01234567-89ab-4cde-8f01-23456789abcd")
    assert pair[1].holder(key) == handle.holder_id


def test_fifty_acquires_at_once_have_one_winner(server, key):
    clients = [server.client() for _ in range(50)]
    with concurrent.futures.ThreadPoolExecutor(50) as pool:
        def attempt(client):
            try:
                return client.acquire(key)
            except LeaseError as error:
                assert error.reason == "LEASE_HELD", error
                return None
        won = [handle for handle in pool.map(attempt, clients) if handle]
    for client in clients:
        client.close()
    assert len(won) == 1


def test_list_shows_order_metadata_and_only_its_namespace(client):
    marks = {f"scope-{name}": {"made-by": name} for name in ("b", "a", "C", "c")}
    handles = {key: client.acquire(key, metadata=marks[key]) for key in marks}
    client.acquire("scope-elsewhere", namespace="other")
    shown = [lease for lease in client.list().leases if lease.key.startswith("scope-")]
    assert [lease.key for lease in shown] == ["scope-C", "scope-a", "scope-b", "scope-c"]
    for lease in shown:
        check_handle(lease)
        assert lease.holder_id == handles[lease.key].holder_id
        assert dict(lease.metadata) == marks[lease.key]
        assert lease.acquired_at == handles[lease.key].acquired_at
    client.release(handles["scope-a"])
    assert "scope-a" not in client.keys()


def test_inspect_shows_a_held_key_and_a_free_one(client, key):
    assert client.inspect(key).held is False
    handle = client.acquire(key, metadata={"a": "b"})
    shown = client.inspect(key)
    assert shown.held and shown.handle.holder_id == handle.holder_id
    assert dict(shown.handle.metadata) == {"a": "b"}
    client.release(handle)
    assert client.inspect(key).held is False


def test_an_unknown_namespace_is_not_found(client, key):
    with refused("NOT_FOUND", 'namespace "nowhere" not configured', "NAMESPACE_UNKNOWN"):
        client.acquire(key, namespace="nowhere")
