# SPDX-License-Identifier: Apache-2.0
"""What is forgotten, misspelt or careless in `auth` is an error and never an open server."""
import os
import subprocess

import pytest

from client import refused, until
from server import BINARY, Server
from tokens import Bearer, Token, reload, soon, write_private, write_tokens

TOKEN = Token("t")
PUBLIC = "[\"0.0.0.0:0\"]"
KEY = "1eb9dbbbbc047c03fd70604e0071f0987e16b28b757225c11f00415d0e20b1a2"


def judge(tmp_path, text):
    path = tmp_path / "leased.yaml"
    path.write_text(text.replace("@", str(tmp_path)), encoding="utf-8")
    done = subprocess.run([BINARY, "-t", "-f", str(path)], capture_output=True, text=True,
                          timeout=20, check=False)
    assert "Sanitizer" not in done.stderr
    return done.returncode, done.stderr


@pytest.fixture
def files(tmp_path):
    write_tokens(str(tmp_path / "tokens.yaml"), [TOKEN])
    write_private(str(tmp_path / "key.json"), '{"kty":"oct","k":"' + "A" * 43 + '"}')
    return tmp_path


GOOD = [
    "",
    "auth: { verifier: none }",
    "auth: { verifier: tokens, tokens_file: @/tokens.yaml }",
    f"auth: {{ verifier: paseto, paseto: {{ public_key_hex: {KEY} }} }}",
    f"auth: {{ verifier: paseto, paseto: {{ public_key_hexes: [{KEY}, {KEY}] }} }}",
    "auth: { verifier: jwt, jwt: { keys: [ { alg: HS256, file: @/key.json } ] } }",
    "server: { grpc: { tcp: " + PUBLIC + " } }\nauth: { verifier: none }",
    "server: { grpc: { tcp: " + PUBLIC + " } }\n"
    "auth: { verifier: tokens, tokens_file: @/tokens.yaml, insecure: true }",
]
BAD = [
    ("server: { grpc: { tcp: " + PUBLIC + " } }", "nobody has to prove who they are"),
    ("server: { grpc: { tcp: " + PUBLIC + " } }\nauth: { insecure: true }",
     "nobody has to prove who they are"),
    ("server: { grpc: { tcp: " + PUBLIC + " } }\n"
     "auth: { verifier: tokens, tokens_file: @/tokens.yaml }", "unencrypted"),
    ("auht: { verifier: tokens, tokens_file: @/tokens.yaml }", "did you mean \"auth\""),
    ("auth: { verifer: tokens }", "did you mean \"verifier\""),
    ("auth: { verifier: token, tokens_file: @/tokens.yaml }", "did you mean \"tokens\""),
    ("auth: { verifier: }", "auth.verifier has no value"),
    ("auth: { tokens_file: @/tokens.yaml }", "no effect without auth.verifier"),
    ("auth: { verifier: none, tokens_file: @/tokens.yaml }", "no effect with this"),
    ("auth: { verifier: tokens }", "auth.tokens_file is needed"),
    ("auth: { verifier: paseto }", "auth.paseto.public_key_hexes is needed"),
    ("auth: { verifier: paseto, paseto: { public_key_hexes: [] } }", "is needed"),
    ("auth: { verifier: paseto, paseto: { public_key_hex: \"\" } }", "has no value"),
    ("auth: { verifier: paseto, paseto: { public_key_hex: " + "0" * 64 + " } }", "Ed25519"),
    ("auth: { verifier: paseto, paseto: { public_key_hex: " + KEY[:-2] + " } }", "64 hexadecimal"),
    ("auth: { verifier: jwt }", "auth.jwt.keys is needed"),
    ("auth: { verifier: jwt, jwt: { keys: [ { file: @/key.json } ] } }", "needs an alg"),
    ("auth: { verifier: jwt, jwt: { keys: [ { alg: none, file: @/key.json } ] } }",
     "unknown value \"none\""),
    ("auth: { verifier: jwt, jwt: { keys: [ { alg: RS256, file: @/key.json } ] } }",
     "no RSA key"),
    ("auth: { verifier: tokens, tokens_file: tokens.yaml }", "must be absolute"),
    ("auth: { verifier: tokens, tokens_file: @/missing.yaml }", "No such file"),
    ("auth: { verifier: tokens, tokens_file: @ }", "Is a directory"),
]


@pytest.mark.parametrize("case", range(len(GOOD)))
def test_what_is_meant_is_taken(files, case):
    status, text = judge(files, GOOD[case])
    assert status == 0, text
    # What -T prints is the same configuration.
    done = subprocess.run([BINARY, "-T", "-f", str(files / "leased.yaml")], capture_output=True,
                          text=True, timeout=20, check=True)
    assert judge(files, done.stdout) == (0, text)


@pytest.mark.parametrize("case", range(len(BAD)))
def test_what_is_wrong_is_said(files, case):
    status, text = judge(files, BAD[case][0])
    assert status == 78 and BAD[case][1] in text, text


FILES = [
    ("", 0o640, "the file is empty"),
    ("\n\n", 0o640, "the file says nothing"),
    ("tokens: []\n", 0o644, "everybody may read"),
    ("tokens: []\n", 0o642, "everybody may read"),
    ("tokens: []\n", 0o660, "its group may change"),
    ("tokens: x\n", 0o640, "tokens must be a list"),
    ("tokens: [\n", 0o640, "error"),
    ("tokens:\n  -\n", 0o640, "needs id, tenant"),
    (TOKEN.entry, 0o640, "must be a map"),
    ("tokens:\n" + TOKEN.entry + "\n" + TOKEN.entry, 0o640, "are one"),
    ("tokens:\n" + TOKEN.entry.replace("sha256: ", "sha256: 0"), 0o640, "64 hexadecimal"),
    ("tokens:\n  - { id: x, tenant: t, sha256: \"\", grants: [{ ops: ['*'], namespaces: ['*'] }] }",
     0o640, "sha256 has no value"),
    ("tokens:\n  - { id: x, tenant: t, sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495"
     "991b7852b855, grants: [{ ops: ['*'], namespaces: ['*'] }] }", 0o640, "of an empty token"),
    ("tokens:\n" + TOKEN.entry.replace("'acquire'", "'aquire'"), 0o640, "did you mean"),
    ("tokens:\n" + TOKEN.entry.replace("lease/*", "locks"), 0o640, "matches no namespace"),
    ("tokens:\n" + TOKEN.entry.replace("tenant: acme", "tenant: a/b"), 0o640, "has no '/'"),
    ("tokens:\n" + TOKEN.entry.replace("grants:", "grant:"), 0o640, "did you mean \"grants\""),
    ("tokens:\n" + TOKEN.entry + "\n    expires: tomorrow\n", 0o640, "written in UTC"),
]


@pytest.mark.parametrize("case", range(len(FILES)))
def test_a_careless_token_file_is_an_error(files, case):
    text, mode, expected = FILES[case]
    write_private(str(files / "tokens.yaml"), text, mode)
    status, errors = judge(files, GOOD[2])
    assert status == 78 and expected in errors, errors
    assert TOKEN.secret not in errors


def test_blank_lines_and_line_ends_of_an_editor_do_no_harm(files):
    text = ("tokens:\n" + TOKEN.entry + "\n\n\n").replace("\n", "\r\n")
    write_private(str(files / "tokens.yaml"), "\ufeff" + text)
    assert judge(files, GOOD[2])[0] == 0


def test_no_tokens_open_nothing(files):
    write_private(str(files / "tokens.yaml"), "tokens:\n")
    auth = f"auth: {{ verifier: tokens, tokens_file: \"{files}/tokens.yaml\" }}\n"
    with Server(workers=1, text=auth) as server:
        for secret in ("", "x", "tokens", "[]"):
            with Bearer(server.address, secret) as client, refused("UNAUTHENTICATED"):
                client.inspect("k")


def test_a_reload_opens_no_server_that_others_reach(files):
    """The addresses stay as they are; so must the protection."""
    closed = f"auth: {{ verifier: tokens, insecure: true, tokens_file: \"{files}/tokens.yaml\" }}\n"
    with Server(workers=1, text=closed, also=["0.0.0.0:0"]) as server:
        server.also = []
        for text in ("", f"auth: {{ verifier: tokens, tokens_file: \"{files}/tokens.yaml\" }}\n"):
            before = server.log().count("configuration refused")
            server.text = text
            server.write_config()
            server.send(1)
            until(lambda n=before: server.log().count("configuration refused") > n, 10, "refused")
        with Bearer(server.address) as client, refused("UNAUTHENTICATED"):
            client.inspect("k")
        server.text = "auth: { verifier: none }\n"
        server.write_config()
        reload(server)
        with Bearer(server.address) as client:
            soon(lambda: client.inspect("k"))


def test_the_bytes_that_were_judged_reach_the_workers_that_are_born_later(files):
    path = str(files / "tokens.yaml")
    auth = f"auth: {{ verifier: tokens, tokens_file: \"{path}\" }}\n"
    with Server(workers=1, text=auth) as server:
        os.unlink(path)
        old = server.worker_pids()
        os.kill(old[0], 9)
        until(lambda: server.worker_pids() not in ([], old) and server.serving(), 10, "another")
        with Bearer(server.address, TOKEN) as client:
            client.inspect("k")


def test_a_wait_that_began_without_auth_ends_when_a_reload_brings_it(files):
    with Server(workers=1) as server, Bearer(server.address) as client:
        client.acquire("k")
        waiting = client.acquire_soon("k", wait=60)
        until(lambda: client.inspect("k").waiters == 1, 10, "one waits")
        server.text = f"auth: {{ verifier: tokens, tokens_file: \"{files}/tokens.yaml\" }}\n"
        server.write_config()
        reload(server)
        with refused("UNAUTHENTICATED", "missing x-mindd-capability header", "TOKEN_MISSING"):
            waiting.result(timeout=5)
        # Back without: who waits then with a token goes on waiting, and gets the lease.
        with Bearer(server.address, TOKEN) as other:
            waiting = other.acquire_soon("k2", wait=60)
            assert waiting.result().owner == TOKEN.owner
            waiting = other.acquire_soon("k2", wait=60)
            until(lambda: other.inspect("k2").waiters == 1, 10, "one waits")
            server.text = ""
            server.write_config()
            reload(server)
            soon(lambda: client.inspect("k2"))
            seen = client.inspect("k2")
            assert seen.waiters == 1 and client.release(seen.handle)
            assert waiting.result(timeout=5).owner == TOKEN.owner
