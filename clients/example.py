#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Takes a lease, shows it, renews it and gives it back.

    example.py ADDRESS DIRECTORY

DIRECTORY holds what protoc and grpc_python_plugin make of proto/mindd/lease/v1/lease.proto."""
import sys

import grpc
from google.protobuf.duration_pb2 import Duration

sys.path.insert(0, sys.argv[2])
from mindd.lease.v1 import lease_pb2 as pb  # noqa: E402
from mindd.lease.v1 import lease_pb2_grpc as pb_grpc  # noqa: E402


def show(step, answer):
    print(f"\n-- {step}")
    print("   " + str(answer).strip().replace("\n", "\n   "), flush=True)


def main(address):
    with grpc.insecure_channel(address) as channel:
        grpc.channel_ready_future(channel).result(timeout=20)
        lease = pb_grpc.LeaseStub(channel)

        handle = lease.Acquire(pb.AcquireRequest(
            namespace="locks", key="deploy", ttl=Duration(seconds=60),
            metadata={"why": "quickstart"}), timeout=5).handle
        show("Acquire locks/deploy for 60 s", handle)
        try:
            lease.Acquire(pb.AcquireRequest(namespace="locks", key="deploy",
                                            ttl=Duration(seconds=60)), timeout=5)
        except grpc.RpcError as error:
            show("Acquire it once more", f"{error.code().name}: {error.details()}")
        show("Inspect it", lease.Inspect(pb.InspectRequest(namespace="locks", key="deploy"),
                                         timeout=5))
        show("Renew it for 300 s", lease.Renew(pb.RenewRequest(
            holder_id=handle.holder_id, namespace="locks", key="deploy",
            ttl=Duration(seconds=300)), timeout=5).handle)
        show("Release it", lease.Release(pb.ReleaseRequest(
            holder_id=handle.holder_id, namespace="locks", key="deploy"), timeout=5))
        left = lease.List(pb.ListRequest(namespace="locks"), timeout=5).leases
        show("List what is held", [held.key for held in left])
    print()


if __name__ == "__main__":
    main(sys.argv[1])
