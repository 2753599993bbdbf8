# SPDX-License-Identifier: Apache-2.0
"""Opaque tokens: who gets in, with what, and who does not."""
import os
import tempfile

import grpc
import pytest

from client import HELD, not_held, refused, until
from server import Server
from tokens import ALL, HEADER, Bearer, Token, reload, soon, write_private, write_tokens

TOKENS = {
    "full": Token("full"),
    "other": Token("other"),
    "admin": Token("admin", ops=["*"], namespaces=["*"]),
    "reader": Token("reader", ops=["lease.inspect", "list"]),
    "taker": Token("taker", ops=["acquire", "release"]),
    "elsewhere": Token("elsewhere", namespaces=["lease/other", "lease/lock"]),
    "narrow": Token("narrow", prefixes=["deploy/"], max_ttl="5s"),
    "late": Token("late", expires="2020-01-01T00:00:00Z"),
    "early": Token("early", not_before="2120-01-01T00:00:00Z"),
}


@pytest.fixture(scope="module")
def server():
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "tokens.yaml")
        write_tokens(path, TOKENS.values())
        auth = f"auth: {{ verifier: tokens, tokens_file: \"{path}\" }}\n"
        with Server(workers=3, text=auth) as one:
            one.tokens_path = path
            yield one


@pytest.fixture
def bearer(server):
    made = []

    def make(token=None, **more):
        made.append(Bearer(server.address, TOKENS.get(token, token), **more))
        return made[-1]
    yield make
    for one in made:
        one.close()


def test_a_token_opens_what_it_grants_and_its_owner_shows(bearer, key):
    client = bearer("full")
    handle = client.acquire(key)
    assert handle.owner == "acme/full"
    assert client.renew(handle).owner == "acme/full"
    assert client.inspect(key).handle.holder_id == handle.holder_id
    assert key in client.keys()
    assert client.release(handle) is True


HEADERS = [
    ([], "missing x-mindd-capability header", "TOKEN_MISSING"),
    ([(HEADER, "")], "empty bearer token", "TOKEN_MISSING"),
    ([(HEADER, "Bearer")], "empty bearer token", "TOKEN_MISSING"),
    ([(HEADER, "bearer ")], "empty bearer token", "TOKEN_MISSING"),
    ([("authorization", "Bearer {full}")], "missing x-mindd-capability header", "TOKEN_MISSING"),
    ([(HEADER, "Bearer wrong")], "invalid token: it is not known here", "TOKEN_INVALID"),
    ([(HEADER, "Basic {full}")], "invalid token: it is not known here", "TOKEN_INVALID"),
    ([(HEADER, "Bearer {full}{full}")], "invalid token: it is not known here",
     "TOKEN_INVALID"),
    ([(HEADER, "Bearer {cut}")], "invalid token: it is not known here", "TOKEN_INVALID"),
    ([(HEADER, "Bearer {bent}")], "invalid token: it is not known here", "TOKEN_INVALID"),
    ([(HEADER, "Bearer {full},{full}")], "invalid token: it is not known here",
     "TOKEN_INVALID"),
    ([(HEADER, "Bearer {late}")], "token expired", "TOKEN_EXPIRED"),
    ([(HEADER, "Bearer {early}")], "invalid token: it is not valid yet", "TOKEN_INVALID"),
    ([(HEADER, "Bearer {full}"), (HEADER, "Bearer {full}")],
     "invalid token: more than one x-mindd-capability header", "TOKEN_INVALID"),
    ([(HEADER, "Bearer {full}"), (HEADER, "")],
     "invalid token: more than one x-mindd-capability header", "TOKEN_INVALID"),
]


def every_method(client, key):
    yield lambda: client.acquire(key)
    yield lambda: client.acquire(key, wait=30)  # refused before any wait
    yield lambda: client.renew(None, holder="x", key=key)
    yield lambda: client.release(None, holder="x", key=key)
    yield lambda: client.inspect(key)
    yield lambda: client.list()
    # The token is judged before the arguments and the namespace.
    yield lambda: client.acquire("", ttl=None)
    yield lambda: client.inspect("", namespace="nowhere")
    yield lambda: client.raw("Acquire", b"\xff\xff\xff")


@pytest.mark.parametrize("case", range(len(HEADERS)))
def test_every_method_refuses_every_bad_header(bearer, key, case):
    headers, text, reason = HEADERS[case]
    full = TOKENS["full"].secret
    words = {name: token.secret for name, token in TOKENS.items()}
    words.update(cut=full[:-1], bent=full[:-1] + ("A" if full[-1] != "A" else "B"))
    client = bearer(metadata=[(name, value.format(**words)) for name, value in headers])
    for call in every_method(client, key):
        with refused("UNAUTHENTICATED", text, reason):
            call()
    with bearer("admin") as admin:
        assert not admin.inspect(key).held


def every_stub(client):
    return [client.channel.unary_unary("/mindd.lease.v1.Lease/" + name)
            for name in ("Acquire", "Renew", "Release", "Inspect", "List")]


@pytest.mark.parametrize("size", [9000, 64 * 1024])
def test_a_huge_token_is_refused(bearer, key, size):
    client = bearer("x" * size)
    calls = [lambda one=one: one(b"", timeout=10) for one in every_stub(client)]
    for call in calls:
        # The core answers it by its own limit on metadata, or ends the connection.
        with pytest.raises(grpc.RpcError) as caught:
            call()
        assert caught.value.code().name in ("RESOURCE_EXHAUSTED", "UNAVAILABLE")


@pytest.mark.parametrize("form", ["Bearer {}", "bearer {}", "BEARER {}", "Bearer  {}", "{}"])
def test_the_scheme_is_taken_in_any_case_and_may_be_missing(bearer, key, form):
    client = bearer(metadata=[(HEADER, form.format(TOKENS["full"].secret))])
    client.release(client.acquire(key))


def test_arguments_come_before_the_scope_and_the_scope_before_the_namespace(bearer, key):
    client = bearer("reader")
    with refused("INVALID_ARGUMENT", "key required", "INVALID_ARGUMENT"):
        client.acquire("")
    with refused("PERMISSION_DENIED", "op lease.acquire not in capability scope",
                 "OP_NOT_GRANTED"):
        client.acquire(key, namespace="nowhere")
    with refused("NOT_FOUND", 'namespace "nowhere" not configured', "NAMESPACE_UNKNOWN"):
        client.inspect(key, namespace="nowhere")
    with refused("PERMISSION_DENIED", "namespace lease/nowhere not in capability scope",
                 "NAMESPACE_NOT_GRANTED"):
        bearer("elsewhere").inspect(key, namespace="nowhere")


def test_ops_that_are_not_granted(bearer, key):
    for token, granted in (("reader", {"inspect", "list"}), ("taker", {"acquire", "release"})):
        client = bearer(token)
        calls = {"acquire": lambda c=client: c.acquire(key),
                 "renew": lambda c=client: c.renew(None, holder="x", key=key),
                 "release": lambda c=client: c.release(None, holder="x", key=key),
                 "inspect": lambda c=client: c.inspect(key), "list": lambda c=client: c.list()}
        for op in set(ALL) - granted:
            with refused("PERMISSION_DENIED", f"op lease.{op} not in capability scope",
                         "OP_NOT_GRANTED"):
                calls[op]()


def test_namespaces_that_are_not_granted(bearer, key):
    client = bearer("elsewhere")
    client.release(client.acquire(key, namespace="other"))
    for call in list(every_method(client, key))[:6]:
        with refused("PERMISSION_DENIED", "namespace lease/locks not in capability scope",
                     "NAMESPACE_NOT_GRANTED"):
            call()


def test_a_grant_may_be_for_some_keys_and_short_leases_only(bearer, key):
    client = bearer("narrow")
    client.release(client.acquire("deploy/" + key, ttl=5))
    with refused("PERMISSION_DENIED", "ttl exceeds the capability's maximum of 5.000000s"):
        client.acquire("deploy/" + key, ttl=6)
    for bad in (key, "deploy", "deploy-prod/x"):
        with refused("PERMISSION_DENIED", "key not in capability scope", "OP_NOT_GRANTED"):
            client.acquire(bad, ttl=1)
    with refused("PERMISSION_DENIED", "key_prefix not in capability scope"):
        client.list()
    client.list(key_prefix="deploy/")


def test_a_leaked_holder_id_is_of_no_use_to_another_owner(bearer, key):
    mine, thief = bearer("full"), bearer("other")
    handle = mine.acquire(key)
    with not_held():
        thief.renew(handle)
    with not_held():
        thief.release(handle)
    seen = thief._call(thief.stub.Inspect, _inspect(key), None)
    assert seen.held and seen.handle.owner == "acme/full" and seen.handle.holder_id == ""
    listed = thief._call(thief.stub.List, _list(key), None).leases
    assert [(one.key, one.holder_id) for one in listed] == [(key, "")]
    assert mine.renew(handle).holder_id == handle.holder_id


def _inspect(key):
    from mindd.lease.v1 import lease_pb2 as pb
    return pb.InspectRequest(namespace="locks", key=key)


def _list(prefix):
    from mindd.lease.v1 import lease_pb2 as pb
    return pb.ListRequest(namespace="locks", key_prefix=prefix)


def test_break_cleans_up_after_others_but_only_the_lease_it_saw(bearer, key):
    handle = bearer("full").acquire(key)
    admin = bearer("admin")
    with not_held():
        admin.release(handle, holder="01234567-89ab-4cde-8f01-23456789abcd")
    with not_held():
        admin.renew(handle)
    seen = admin.inspect(key)
    assert seen.handle.holder_id == handle.holder_id
    assert admin.release(seen.handle) is True
    assert not admin.inspect(key).held


def test_a_refusal_names_the_owner_to_those_who_may_inspect(bearer, key):
    bearer("full").acquire(key)
    for token, expected in (("other", "acme/full"), ("taker", None)):
        with refused("FAILED_PRECONDITION", HELD, "LEASE_HELD") as box:
            bearer(token).acquire(key)
        assert box.error.info.metadata.get("owner") == expected


def test_a_request_is_not_repeated_for_another_owner(bearer, key):
    first = bearer("full").acquire(key, request_id="r1")
    assert bearer("full").acquire(key, request_id="r1").holder_id == first.holder_id
    with refused("FAILED_PRECONDITION", HELD):
        bearer("other").acquire(key, request_id="r1")


def test_leases_end_and_waiters_are_granted_with_tokens_too(bearer, key):
    handle = bearer("full").acquire(key, ttl=0.3)
    other = bearer("other")
    assert other.acquire(key, wait=10).fencing_token > handle.fencing_token


def test_health_and_reflection_need_no_token_and_the_unknown_stays_unknown(server, bearer):
    assert server.serving()
    channel = bearer().channel
    for method in ("/mindd.lease.v1.Lease/Steal", "/mindd.kv.v1.KV/Get", "/x"):
        with pytest.raises(Exception) as caught:
            channel.unary_unary(method)(b"", timeout=10)
        assert caught.value.code().name == "UNIMPLEMENTED"


def test_no_token_stands_in_the_log_or_a_title(server):
    text = server.log()
    for pid in server.tree():
        with open(f"/proc/{pid}/cmdline", encoding="utf-8") as file:
            text += file.read()
    for token in TOKENS.values():
        assert token.secret not in text
        assert token.secret[:20] not in text


# --- what changes while it runs; these come last, each puts the file back -----------------


def test_a_revoked_token_ends_everywhere_within_a_second(server, bearer, key):
    clients = [bearer("full") for _ in range(9)]
    held = bearer("admin").acquire(key)
    waiting = [client.acquire_soon(key, wait=60) for client in clients]
    until(lambda: bearer("admin").inspect(key).waiters == 9, 10, "nine wait")
    other = bearer("other").acquire_soon(key, wait=60)
    until(lambda: bearer("admin").inspect(key).waiters == 10, 10, "ten wait")
    write_tokens(server.tokens_path, [token for name, token in TOKENS.items() if name != "full"])
    reload(server)
    for one in waiting:
        with refused("UNAUTHENTICATED", "invalid token: it is not known here",
                     "TOKEN_INVALID"):
            one.result(timeout=2)
    for client in clients:
        soon(lambda one=client: one.inspect(key), "TOKEN_INVALID")
    assert bearer("admin").inspect(key).waiters == 1
    bearer("admin").release(held)
    assert other.result().owner == "acme/other"
    write_tokens(server.tokens_path, TOKENS.values())
    reload(server)
    soon(lambda: clients[0].inspect(key + " free"))


def test_a_right_that_is_taken_ends_the_wait(server, bearer, key):
    bearer("admin").acquire(key)
    waiting = bearer("taker").acquire_soon(key, wait=60)
    until(lambda: bearer("admin").inspect(key).waiters == 1, 10, "one waits")
    less = Token("taker", ops=["release"], secret=TOKENS["taker"].secret)
    write_tokens(server.tokens_path,
                 [less if name == "taker" else token for name, token in TOKENS.items()])
    reload(server)
    with refused("PERMISSION_DENIED", "op lease.acquire not in capability scope"):
        waiting.result(timeout=2)
    write_tokens(server.tokens_path, TOKENS.values())
    reload(server)


def test_a_wait_ends_when_the_token_expires(server, bearer, key):
    import datetime
    end = datetime.datetime.utcnow() + datetime.timedelta(seconds=4)
    brief = Token("brief", expires=end.strftime("%Y-%m-%dT%H:%M:%SZ"))
    write_tokens(server.tokens_path, list(TOKENS.values()) + [brief])
    reload(server)
    bearer("admin").acquire(key)
    client = bearer(brief)
    soon(lambda: client.inspect(key + " free"))
    waiting = client.acquire_soon(key, wait=60)
    with refused("UNAUTHENTICATED", "token expired", "TOKEN_EXPIRED"):
        waiting.result(timeout=10)
    assert bearer("admin").inspect(key).waiters == 0
    write_tokens(server.tokens_path, TOKENS.values())
    reload(server)


@pytest.mark.parametrize("text, mode", [("", 0o640), ("tokens: {", 0o640), ("tokens: []\n", 0o644),
                                        ("token: []\n", 0o640)])
def test_a_bad_file_changes_nothing(server, bearer, key, text, mode):
    before = server.log().count("configuration refused")
    write_private(server.tokens_path, text, mode)
    server.send(1)
    until(lambda: server.log().count("configuration refused") > before, 10, "refused")
    bearer("full").inspect(key)
    with refused("UNAUTHENTICATED"):
        bearer("nobody").inspect(key)
    write_tokens(server.tokens_path, TOKENS.values())
    reload(server)
