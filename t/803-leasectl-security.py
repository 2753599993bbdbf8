# SPDX-License-Identifier: Apache-2.0
"""leasectl shows its capability and knows whom it talks to: a server with tokens, and one behind TLS."""
import os
import subprocess
from concurrent import futures

import grpc
import pytest

from leasectl import environment, leasectl
from mindd.lease.v1 import lease_pb2 as pb
from server import Server
from tokens import HEADER, Token, write_private, write_tokens

TOKEN = Token("deployer")
NARROW = Token("reader", ops=["inspect", "list"])


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    place = tmp_path_factory.mktemp("tokens")
    write_tokens(str(place / "tokens.yaml"), [TOKEN, NARROW])
    for token in (TOKEN, NARROW):
        write_private(str(place / token.name), token.secret + "\n", 0o600)
    write_private(str(place / "wrong"), "lt_wrong\n", 0o600)
    text = f"auth: {{ verifier: tokens, tokens_file: \"{place}/tokens.yaml\" }}\n"
    with Server(workers=1, text=text) as server:
        server.place = str(place)
        yield server


def test_a_token_from_a_file_opens_and_shows_its_owner(guarded, key):
    token = os.path.join(guarded.place, "deployer")
    status, out, _ = leasectl(guarded.address, "acquire", f"locks/{key}", "-o", "json",
                              LEASED_TOKEN_FILE=token)
    assert status == 0 and '"owner": "acme/deployer"' in out, out
    status, out, _ = leasectl(guarded.address, "run", f"locks/{key}-run", "--token-file", token,
                              "--", "echo", "done")
    assert (status, out) == (0, "done\n")


@pytest.mark.parametrize("token", [None, "wrong", "reader"])
@pytest.mark.parametrize("verb", [["acquire"], ["run", "--wait", "60s"]])
def test_without_the_right_token_it_is_denied_at_once(guarded, key, token, verb):
    more = {"LEASED_TOKEN_FILE": os.path.join(guarded.place, token)} if token else {}
    tail = ["--", "echo", "never"] if verb[0] == "run" else []
    status, out, errors = leasectl(guarded.address, verb[0], f"locks/{key}", *verb[1:], *tail,
                                   **more)
    assert status == 77 and out == "", (status, out, errors)
    for one in (TOKEN, NARROW):
        assert one.secret not in errors


def make(place, *args):
    subprocess.run(["openssl", *args], cwd=place, check=True, capture_output=True)


@pytest.fixture(scope="module")
def behind_tls(tmp_path_factory):
    """A stand-in that answers Inspect behind TLS and keeps the metadata it was shown."""
    place = tmp_path_factory.mktemp("tls")
    for name in ("ca", "stranger"):
        make(place, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
             f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem")
    make(place, "req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-addext",
         "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", "server.key", "-out", "server.csr")
    make(place, "x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-days",
         "2", "-CAcreateserial", "-copy_extensions", "copy", "-out", "server.pem")
    seen = []

    def inspect(_, context):
        seen.append(dict(context.invocation_metadata()))
        return pb.InspectResponse(held=False)
    handler = grpc.method_handlers_generic_handler("mindd.lease.v1.Lease", {
        "Inspect": grpc.unary_unary_rpc_method_handler(
            inspect, request_deserializer=pb.InspectRequest.FromString,
            response_serializer=pb.InspectResponse.SerializeToString)})
    server = grpc.server(futures.ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers((handler,))
    pair = ((place / "server.key").read_bytes(), (place / "server.pem").read_bytes())
    port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([pair]))
    server.start()
    yield place, f"127.0.0.1:{port}", seen
    server.stop(None)


def test_tls_with_the_right_authority_carries_the_token(behind_tls):
    place, address, seen = behind_tls
    write_private(str(place / "token"), TOKEN.secret + "\n", 0o600)
    status, _, errors = leasectl(address, "inspect", "locks/k", LEASED_CA_FILE=str(place / "ca.pem"),
                                 LEASED_TOKEN_FILE=str(place / "token"))
    assert status == 1 and "free" in errors, errors
    assert seen[-1][HEADER] == f"Bearer {TOKEN.secret}"


def test_another_authority_is_no_server_of_ours(behind_tls):
    place, address, seen = behind_tls
    before = len(seen)
    status, out, _ = leasectl(address, "inspect", "locks/k", "--timeout", "2s",
                              LEASED_CA_FILE=str(place / "stranger.pem"))
    assert status == 69 and out == "" and len(seen) == before


def test_a_missing_authority_is_misuse_and_nothing_is_sent(behind_tls):
    _, address, seen = behind_tls
    before = len(seen)
    done = subprocess.run([os.path.join(os.environ["LEASED_BUILD"], "leasectl"), "inspect", "locks/k",
                           "--ca-file", "/nowhere.pem"], env=environment(address),
                          capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode not in (0, 69) and "/nowhere.pem" in done.stderr and len(seen) == before
