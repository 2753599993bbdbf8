# SPDX-License-Identifier: Apache-2.0
"""The Python client under test, from its sources, and a server whose answers are written in the
test."""
import collections
import concurrent.futures
import contextlib
import os
import sys

import grpc

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PACKAGE = os.path.join(SOURCE, "clients", "python")
sys.path.insert(0, PACKAGE)

from mindd.client import MindD  # noqa: E402
from mindd.lease.v1 import lease_pb2 as pb  # noqa: E402
from mindd.lease.v1 import lease_pb2_grpc as pb_grpc  # noqa: E402

APART = (("grpc.use_local_subchannel_pool", 1),)  # no connection is shared with other clients


def connect(server, **more):
    return MindD(server.address, options=APART, **more)


Seen = collections.namedtuple("Seen", "method request headers left")


class Scripted(pb_grpc.LeaseServicer):
    """Answers with what is in `script`, one entry a call: a message, or (code, text[, trailers]).
    The last entry stays. `seen` has what arrived."""

    def __init__(self, *script):
        self.script, self.seen = list(script), []
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
        pb_grpc.add_LeaseServicer_to_server(self, self.server)
        self.address = f"127.0.0.1:{self.server.add_insecure_port('127.0.0.1:0')}"
        self.server.start()

    def _answer(self, method, request, context):
        headers = dict(context.invocation_metadata())
        self.seen.append(Seen(method, request, headers, context.time_remaining()))
        answer = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if not isinstance(answer, tuple):
            return answer
        if len(answer) > 2:
            context.set_trailing_metadata(answer[2])
        return context.abort(*answer[:2])

    def Acquire(self, request, context):
        return self._answer("Acquire", request, context)

    def Renew(self, request, context):
        return self._answer("Renew", request, context)

    def Release(self, request, context):
        return self._answer("Release", request, context)

    def Inspect(self, request, context):
        return self._answer("Inspect", request, context)

    def List(self, request, context):
        return self._answer("List", request, context)

    def close(self):
        self.server.stop(None).wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def granted(**more):
    """An AcquireResponse."""
    return pb.AcquireResponse(handle=pb.LeaseHandle(holder_id="h", namespace="locks", key="k", **more))


@contextlib.contextmanager
def raises(kind, code=None, text=None):
    """with raises(LeaseHeld, "FAILED_PRECONDITION", "already held") as caught: caught.error"""
    class Caught:
        error = None
    caught = Caught()
    try:
        yield caught
    except kind as error:
        caught.error = error
        assert type(error) is kind, f"{type(error).__name__} where {kind.__name__} was expected"
        assert code is None or error.code().name == code, str(error)
        assert text is None or error.details() == text, str(error)
        return
    raise AssertionError(f"no {kind.__name__}")
