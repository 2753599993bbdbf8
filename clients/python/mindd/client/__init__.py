# SPDX-License-Identifier: Apache-2.0
"""Client of the mindd lease service.

    from mindd.client import MindD

    with MindD("127.0.0.1:7777", token=token) as m:
        with m.lease.hold("locks", "deploy", ttl=30, wait_for=60) as lease:
            for step in work:
                lease.check()
                step(lease.fencing_token)

mindd.client.aio has the same for asyncio."""
from ._hold import Hold
from ._lease import LeaseClient
from ._mindd import MindD
from .errors import (Cancelled, DeadlineExceeded, InvalidArgument, LeaseHeld, LeaseLost, MinddError,
                     NamespaceUnknown, PermissionDenied, ResourceExhausted, Unauthenticated,
                     Unavailable)

__all__ = ["Cancelled", "DeadlineExceeded", "Hold", "InvalidArgument", "LeaseClient", "LeaseHeld",
           "LeaseLost", "MindD", "MinddError", "NamespaceUnknown", "PermissionDenied",
           "ResourceExhausted", "Unauthenticated", "Unavailable"]
