# SPDX-License-Identifier: Apache-2.0
"""The blocking client."""
from __future__ import annotations

from types import TracebackType
from typing import Optional, Sequence, Tuple, Type

import grpc

from ._lease import LeaseClient
from ._values import Token, channel_options

DEFAULT_TARGET = "127.0.0.1:7777"
DEFAULT_TIMEOUT = 10.0


class MindD:
    """A connection to a server; `lease` has the calls.

    target: "host:port" or "unix:/path". token: the capability, or a function that returns it
    (asked before every attempt, may be called from any thread). credentials: what
    grpc.ssl_channel_credentials() makes; without it the connection is not encrypted. timeout:
    seconds a call may take beyond what it waits for the key, attempts that failed included.
    options: gRPC channel arguments that go before those of this package.

    Thread-safe. One is enough for a program; make it after a fork, not before."""

    def __init__(self, target: str = DEFAULT_TARGET, token: Token = None, *,
                 credentials: Optional[grpc.ChannelCredentials] = None,
                 timeout: float = DEFAULT_TIMEOUT,
                 options: Sequence[Tuple[str, object]] = ()) -> None:
        arguments = channel_options(options)
        self._target = target
        if credentials is None:
            self._channel = grpc.insecure_channel(target, options=arguments)
        else:
            self._channel = grpc.secure_channel(target, credentials, options=arguments)
        self.lease = LeaseClient(self._channel, token, timeout)

    def close(self) -> None:
        """Ends the connection; calls under way raise Cancelled."""
        self.lease.close()
        self._channel.close()

    def __enter__(self) -> "MindD":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"MindD({self._target!r})"
