# SPDX-License-Identifier: Apache-2.0
"""Tokens for tests: the file of opaque ones, and a client that shows what it is given."""
import hashlib
import os
import secrets

import grpc

from client import Client, LeaseError, until
from mindd.lease.v1 import lease_pb2_grpc as pb_grpc

HEADER = "x-mindd-capability"
ALL = ["acquire", "renew", "release", "inspect", "list"]


class Token:
    """An opaque token: its secret and its entry in the file."""

    def __init__(self, name, ops=ALL, namespaces=("lease/*",), tenant="acme", agent=None,
                 expires=None, not_before=None, prefixes=(), max_ttl=None, secret=None):
        self.secret = secret or "lt_" + secrets.token_urlsafe(32)
        self.name = name
        grant = [f"ops: [{', '.join(repr(op) for op in ops)}]",
                 f"namespaces: [{', '.join(repr(text) for text in namespaces)}]"]
        if prefixes:
            grant.append(f"key_prefixes: [{', '.join(repr(text) for text in prefixes)}]")
        if max_ttl:
            grant.append(f"max_ttl: {max_ttl}")
        lines = [f"  - id: {name}", f"    tenant: {tenant}", f"    agent: {agent or name}",
                 f"    sha256: {hashlib.sha256(self.secret.encode()).hexdigest()}"]
        lines += [f"    expires: {expires}"] if expires else []
        lines += [f"    not_before: {not_before}"] if not_before else []
        self.entry = "\n".join(lines + ["    grants:", f"      - {{ {', '.join(grant)} }}"])
        self.owner = f"{tenant}/{agent or name}"


def write_tokens(path, tokens, mode=0o640):
    text = "tokens:\n" + "\n".join(token.entry for token in tokens) + "\n"
    write_private(path, text if tokens else "tokens: []\n", mode)


def write_private(path, text, mode=0o640):
    new = path + ".new"
    with open(new, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(new, mode)
    os.rename(new, path)


class _Show(grpc.UnaryUnaryClientInterceptor):
    def __init__(self, metadata):
        self.metadata = metadata

    def intercept_unary_unary(self, continuation, details, request):
        class Details(grpc.ClientCallDetails):
            method, timeout, credentials = details.method, details.timeout, details.credentials
            metadata = list(details.metadata or []) + self.metadata
            wait_for_ready, compression = details.wait_for_ready, details.compression
        return continuation(Details(), request)


class Bearer(Client):
    """A client that shows a token with every call; `metadata` instead of it for odd headers."""

    def __init__(self, address, token=None, metadata=None, **more):
        super().__init__(address, **more)
        if metadata is None:
            secret = getattr(token, "secret", token)
            metadata = [] if token is None else [(HEADER, f"Bearer {secret}")]
        self.channel = grpc.intercept_channel(self.channel, _Show(list(metadata)))
        self.stub = pb_grpc.LeaseStub(self.channel)

    def close(self):
        self.channel._channel.close()


def reload(server, signal_number=1):
    before = server.log().count("configuration reloaded")
    server.send(signal_number)
    until(lambda: server.log().count("configuration reloaded") > before, 10, "reloaded")


def reason_of(call):
    """The reason of a refusal, None when there was none."""
    try:
        call()
    except LeaseError as error:
        return error.reason
    return None


def soon(call, reason=None):
    """The workers take a reload within a second of each other: until the call ends so."""
    until(lambda: reason_of(call) == reason, 5, f"the call ends with {reason}", pause=0.02)
