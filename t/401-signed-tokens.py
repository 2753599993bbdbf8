# SPDX-License-Identifier: Apache-2.0
"""Signed tokens against a real server: PASETO made by leased-token, JWT made by hand, and forgeries
of both."""
import base64
import hashlib
import hmac
import json
import os
import subprocess
import time

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from client import refused, until
from server import BUILD, Server
from tokens import Bearer, reload, soon, write_private

TOOL = os.path.join(BUILD, "leased-token")
UNKNOWN_SIGNATURE = "invalid token: its signature is not by a key that is known here"
NO_JWT = "invalid token: it is no JSON Web Token"
WRONG_ALGORITHM = "invalid token: its algorithm is not one that is accepted here"
NO_PASETO = "invalid token: it is no v4.public token"


def tool(*args, stdin=None, status=0):
    done = subprocess.run([TOOL, *args], input=stdin, capture_output=True, text=True, timeout=20,
                          check=False)
    assert done.returncode == status, done
    return done.stdout.strip()


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unb64(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def bend(text, at):
    """Changes six bits in the middle of a base64 text, so that other bytes come out."""
    return text[:at] + ("A" if text[at] != "A" else "B") + text[at + 1:]


def sees(server, token, key="k"):
    with Bearer(server.address, token) as client:
        return client.inspect(key)


def refuses(server, token, text, reason="TOKEN_INVALID"):
    with Bearer(server.address, token) as client:
        for call in (lambda: client.inspect("k"), lambda: client.acquire("k", wait=30)):
            with refused("UNAUTHENTICATED", text, reason):
                call()


# --- PASETO --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def paseto(tmp_path_factory):
    path = tmp_path_factory.mktemp("paseto")
    keys = [tool("keypair", "--file", str(path / f"key{i}")) for i in range(3)]
    auth = "auth: { verifier: paseto, paseto: { public_key_hexes: [%s] } }\n"
    with Server(workers=2, text=auth % f"\"{keys[0]}\", \"{keys[1]}\"") as server:
        server.keys, server.path, server.auth = keys, path, auth
        yield server


def mint(server, number=0, *more, tenant="acme", op="*", namespace="*", ttl="1h"):
    return tool("mint", "--file", str(server.path / f"key{number}"), "--tenant", tenant, "--op",
                op, "--namespace", namespace, "--ttl", ttl, *more)


def test_tokens_of_each_key_open_the_server(paseto):
    for number in (0, 1):
        token = mint(paseto, number, "--agent", "a1")
        with Bearer(paseto.address, token) as client:
            handle = client.acquire(f"k{number}")
            assert handle.owner == "acme/a1"
            assert client.release(handle)
    refuses(paseto, mint(paseto, 2), UNKNOWN_SIGNATURE)


def test_ops_and_namespaces_are_those_of_the_token(paseto):
    with Bearer(paseto.address, mint(paseto, op="acquire,lease.release",
                                     namespace="lease/x,lease/lo*")) as client:
        client.release(client.acquire("scoped"))
        with refused("PERMISSION_DENIED", "op lease.inspect not in capability scope"):
            client.inspect("scoped")
        with refused("PERMISSION_DENIED", "namespace lease/other not in capability scope"):
            client.acquire("scoped", namespace="other")


def test_B49_forged_and_stale_ones_do_not(paseto):
    good, other = mint(paseto), mint(paseto, tenant="evil")
    body, other_body = good[len("v4.public."):], other[len("v4.public."):]
    raw, other_raw = unb64(body), unb64(other_body)
    sees(paseto, good)
    for forged in ("v4.public." + b64(other_raw[:-64] + raw[-64:]), "v4.public." + b64(raw[:-64]),
                   "v4.public." + b64(raw[:-64] + bytes(64)), good + ".eyJraWQiOiJ4In0",
                   "v4.public." + bend(body, 20), "v4.public." + bend(body, len(body) - 30)):
        with Bearer(paseto.address, forged) as client, \
                refused("UNAUTHENTICATED", UNKNOWN_SIGNATURE, "TOKEN_INVALID"):
            client.inspect("k")
    for forged in ("v4.local." + body, "v3.public." + body, "v2.public." + body, body, good + "=",
                   "v4.public.", "v4.public." + b64(raw[:60]), good + "..", good + "."):
        refuses(paseto, forged, NO_PASETO)
    brief = mint(paseto, ttl="3s")
    sees(paseto, brief)
    soon(lambda: sees(paseto, brief), "TOKEN_EXPIRED")
    refuses(paseto, brief, "token expired", "TOKEN_EXPIRED")


def test_a_key_that_is_dropped_ends_its_tokens_and_waits(paseto):
    first, second = mint(paseto, 0), mint(paseto, 1)
    with Bearer(paseto.address, first) as client, Bearer(paseto.address, second) as waiter:
        handle = client.acquire("rotate")
        waiting = waiter.acquire_soon("rotate", wait=60)
        until(lambda: client.inspect("rotate").waiters == 1, 10, "one waits")
        paseto.text = paseto.auth % f"\"{paseto.keys[0]}\", \"{paseto.keys[2]}\""
        paseto.write_config()
        reload(paseto)
        with refused("UNAUTHENTICATED", UNKNOWN_SIGNATURE, "TOKEN_INVALID"):
            waiting.result(timeout=2)
        soon(lambda: sees(paseto, second), "TOKEN_INVALID")
        refuses(paseto, second, UNKNOWN_SIGNATURE)
        soon(lambda: sees(paseto, mint(paseto, 2)))
        client.release(handle)


def test_B51_the_tool_shows_what_it_made_and_keeps_secrets_to_itself(paseto):
    token = mint(paseto, 0, "--agent", "a1", "--id", "t-1")
    claims = json.loads(tool("show", "--public-key", paseto.keys[0], stdin=token + "\n"))
    assert (claims["iss"], claims["tenant"], claims["agent"], claims["jti"]) == \
        ("mindd", "acme", "a1", "t-1")
    assert json.loads(tool("show", stdin=token)) == claims
    tool("show", "--public-key", paseto.keys[1], stdin=token, status=1)
    tool("show", stdin="v4.public.x", status=1)
    assert os.stat(paseto.path / "key0").st_mode & 0o777 == 0o600
    tool("keypair", "--file", str(paseto.path / "key0"), status=1)  # never over an old key
    for wrong in (["mint"], ["new"], ["keypair"], ["other"], [], ["new", "--op", "fly"],
                  ["new", "--namespace", "locks"], ["mint", "--ttl", "5"], ["show", "--x"]):
        tool(*wrong, status=64)


# --- opaque tokens from the tool -------------------------------------------------------------


def test_an_opaque_token_of_the_tool_opens_a_server(tmp_path):
    secret = tmp_path / "secret"
    entry = tool("new", "--id", 'ci "x"', "--tenant", "acme", "--agent", "ci", "--op",
                 "acquire,release", "--namespace", "lease/locks", "--key-prefix", "deploy/",
                 "--max-ttl", "5m", "--ttl", "1h", "--file", str(secret))
    token = secret.read_text(encoding="utf-8").strip()
    assert token not in entry and os.stat(secret).st_mode & 0o777 == 0o600
    path = tmp_path / "tokens.yaml"
    write_private(str(path), "tokens:\n  " + entry + "\n")
    auth = f"auth: {{ verifier: tokens, tokens_file: \"{path}\" }}\n"
    with Server(workers=1, text=auth) as server, Bearer(server.address, token) as client:
        assert client.acquire("deploy/x").owner == "acme/ci"


# --- JWT -----------------------------------------------------------------------------------


def number64(number):
    return b64(number.to_bytes((number.bit_length() + 7) // 8, "big"))


class Keys:
    def __init__(self):
        self.rsa = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.ec = ec.generate_private_key(ec.SECP256R1())
        self.secret = os.urandom(32)
        numbers = self.rsa.public_key().public_numbers()
        point = self.ec.public_key().public_numbers()
        self.jwk = {
            "RS256": {"kty": "RSA", "n": number64(numbers.n), "e": number64(numbers.e)},
            "ES256": {"kty": "EC", "crv": "P-256", "x": b64(point.x.to_bytes(32, "big")),
                      "y": b64(point.y.to_bytes(32, "big"))},
            "HS256": {"kty": "oct", "k": b64(self.secret)},
        }

    def sign(self, algorithm, text):
        if algorithm == "RS256":
            return self.rsa.sign(text, padding.PKCS1v15(), hashes.SHA256())
        if algorithm == "ES256":
            r, s = decode_dss_signature(self.ec.sign(text, ec.ECDSA(hashes.SHA256())))
            return r.to_bytes(32, "big") + s.to_bytes(32, "big")
        return hmac.digest(self.secret, text, "sha256")


def claims(**more):
    return {"iss": "mindd", "tenant": "acme", "agent": "j", "ops": ["*"], "namespaces": ["lease/*"],
            "exp": int(time.time()) + 3600, **more}


def jwt(keys, algorithm, header=None, payload=None, signature=None):
    head = b64(json.dumps(header or {"alg": algorithm, "typ": "JWT"}).encode())
    body = head + "." + b64(json.dumps(payload or claims()).encode())
    return body + "." + b64(keys.sign(algorithm, body.encode()) if signature is None else signature)


@pytest.fixture(scope="module", params=["RS256", "ES256", "HS256"])
def jwts(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("jwt")
    keys = Keys()
    file = path / "key.json"
    write_private(str(file), json.dumps(keys.jwk[request.param]))
    auth = (f"auth: {{ verifier: jwt, jwt: {{ keys: [ {{ alg: {request.param}, "
            f"file: \"{file}\" }} ] }} }}\n")
    with Server(workers=1, text=auth) as server:
        server.keys, server.algorithm, server.file = keys, request.param, file
        yield server


def test_a_token_of_the_pinned_algorithm_opens_the_server(jwts):
    with Bearer(jwts.address, jwt(jwts.keys, jwts.algorithm)) as client:
        handle = client.acquire("k")
        assert handle.owner == "acme/j"
        client.release(handle)


def test_no_other_algorithm_counts(jwts):
    keys, own = jwts.keys, jwts.algorithm
    for other in {"RS256", "ES256", "HS256"} - {own}:
        refuses(jwts, jwt(keys, other), WRONG_ALGORITHM)
        # The header says one thing, the signature is another.
        refuses(jwts, jwt(keys, other, header={"alg": own}), UNKNOWN_SIGNATURE)
    for none in ("none", "None", "NONE", "nOnE", "HS384", "RS512", "PS256", "EdDSA", "", "hs256"):
        for signature in (b"x", keys.sign(own, b"")):
            refuses(jwts, jwt(keys, own, header={"alg": none}, signature=signature),
                    WRONG_ALGORITHM)
        body = jwt(keys, own, header={"alg": none}).rsplit(".", 1)[0]
        refuses(jwts, body + ".", NO_JWT)
        refuses(jwts, body, NO_JWT)


def test_a_public_key_is_no_secret(jwts):
    """The classic confusion: HS256 with what everybody knows as the key."""
    pem = [key.public_key().public_bytes(serialization.Encoding.PEM,
                                         serialization.PublicFormat.SubjectPublicKeyInfo)
           for key in (jwts.keys.rsa, jwts.keys.ec)]
    known = pem + [json.dumps(jwts.keys.jwk["RS256"]).encode(), b"",
                   jwts.file.read_bytes() if jwts.algorithm != "HS256" else b"x"]
    text = UNKNOWN_SIGNATURE if jwts.algorithm == "HS256" else WRONG_ALGORITHM
    for secret in known:
        body = jwt(jwts.keys, "HS256").rsplit(".", 1)[0]
        refuses(jwts, body + "." + b64(hmac.digest(secret, body.encode(), hashlib.sha256)), text)


def test_parts_that_were_touched(jwts):
    keys, own = jwts.keys, jwts.algorithm
    good, other = jwt(keys, own).split("."), jwt(keys, own, payload=claims(tenant="x")).split(".")
    for parts in ([good[0], other[1], good[2]], [other[0], good[1], other[2]],
                  [good[0], good[1], bend(good[2], 9)], [good[0], bend(good[1], 20), good[2]],
                  [good[0], good[1], good[1]]):
        refuses(jwts, ".".join(parts), UNKNOWN_SIGNATURE)
    for bad in (".".join(good + ["x"]), good[1], "." + ".".join(good[1:]), "..", "a.b.c",
                ".".join(good) + "=", ".".join([good[0], good[1], ""])):
        refuses(jwts, bad, NO_JWT)
    for header in ({"alg": own, "crit": ["x"]}, {"alg": own, "b64": False}, {"typ": "JWT"},
                   {"alg": 1}, {"alg": None}, [own]):
        refuses(jwts, jwt(keys, own, header=header), NO_JWT)
    sees(jwts, jwt(keys, own, header={"alg": own, "kid": "../../etc/passwd", "jwk": keys.jwk[own],
                                      "jku": "http://127.0.0.1:1/"}))


def test_times_of_every_kind(jwts):
    keys, own, now = jwts.keys, jwts.algorithm, int(time.time())
    sees(jwts, jwt(keys, own, payload=claims(exp=now + 60.5, nbf=now - 1)))
    refuses(jwts, jwt(keys, own, payload=claims(exp=now - 1)), "token expired", "TOKEN_EXPIRED")
    refuses(jwts, jwt(keys, own, payload=claims(nbf=now + 60)),
            "invalid token: it is not valid yet")
    for wrong in (None, str(now + 60), 1e18, -1, [], True):
        refuses(jwts, jwt(keys, own, payload=claims(exp=wrong)),
                "invalid token: it has no valid exp")
    refuses(jwts, jwt(keys, own, payload=claims(iss="other")),
            "invalid token: its issuer is not mindd")
    refuses(jwts, jwt(keys, own, payload=claims(exp=2**63)),
            "invalid token: its claims are no JSON object")
