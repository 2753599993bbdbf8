# SPDX-License-Identifier: Apache-2.0
"""Health and reflection: what grpcurl and load balancers ask first."""
import queue
import time

import grpc
import pytest
from google.protobuf import descriptor_pb2

import proc
import wire
from drivers import slack
from server import Server

SERVICE = "mindd.lease.v1.Lease"


def check(client, service=""):
    call = client.channel.unary_unary("/grpc.health.v1.Health/Check")
    return wire.health_status(call(wire.health_request(service), timeout=5))


def test_health_of_the_server_and_of_the_service(client):
    assert check(client) == wire.HEALTH_SERVING
    assert check(client, SERVICE) == wire.HEALTH_SERVING


def test_health_of_an_unknown_service_is_not_found(client):
    with pytest.raises(grpc.RpcError) as caught:
        check(client, "no.such.Service")
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND


def test_watch_tells_the_state_at_once_and_stays_open(client):
    watch = client.channel.unary_stream("/grpc.health.v1.Health/Watch")
    known = watch(wire.health_request(SERVICE), timeout=10)
    assert wire.health_status(next(known)) == wire.HEALTH_SERVING
    unknown = watch(wire.health_request("no.such.Service"), timeout=10)
    assert wire.health_status(next(unknown)) == wire.HEALTH_SERVICE_UNKNOWN
    assert known.is_active() and unknown.is_active()
    known.cancel()
    unknown.cancel()


class Reflection:
    """One stream; ask() sends a request and returns its answer."""

    def __init__(self, client, version):
        self.messages = wire.REFLECTION[version]
        self.queue = queue.Queue()
        self.stream = client.channel.stream_stream(
            f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=self.messages["ServerReflectionResponse"].FromString,
        )(iter(self.queue.get, None), timeout=20)

    def ask(self, **question):
        self.queue.put(self.messages["ServerReflectionRequest"](**question))
        return next(self.stream)

    def files(self, **question):
        answer = self.ask(**question)
        files = {}
        for raw in answer.file_descriptor_response.file_descriptor_proto:
            file = descriptor_pb2.FileDescriptorProto.FromString(raw)
            files[file.name] = file
        return files

    def close(self):
        self.queue.put(None)
        list(self.stream)


@pytest.fixture(params=["v1", "v1alpha"])
def reflection(request, client):
    stream = Reflection(client, request.param)
    yield stream
    stream.close()


def test_B50_list_names_the_services(reflection):
    names = [s.name for s in reflection.ask(list_services="*").list_services_response.service]
    for name in (SERVICE, "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
                 "grpc.reflection.v1alpha.ServerReflection"):
        assert name in names, names
    assert len(names) == len(set(names))


@pytest.mark.parametrize("symbol", [SERVICE, SERVICE + ".Acquire", "mindd.lease.v1.LeaseHandle",
                                    "mindd.lease.v1.LeaseHandle.holder_id",
                                    "mindd.lease.v1.AcquireRequest.MetadataEntry"])
def test_B50_a_symbol_of_the_service_is_found_with_its_imports(reflection, symbol):
    files = reflection.files(file_containing_symbol=symbol)
    lease = files["mindd/lease/v1/lease.proto"]
    assert set(lease.dependency) <= set(files), "an imported file is missing"
    assert {"google/protobuf/duration.proto", "google/protobuf/timestamp.proto"} <= set(files)
    methods = [method.name for method in lease.service[0].method]
    assert methods == ["Acquire", "Renew", "Release", "Inspect", "List"]


def test_B50_the_descriptors_carry_comments(reflection):
    files = reflection.files(file_containing_symbol=SERVICE)
    locations = files["mindd/lease/v1/lease.proto"].source_code_info.location
    comments = {tuple(location.path): location.leading_comments for location in locations}
    assert comments.get((6, 0)), "the service has no comment"
    assert comments.get((6, 0, 2, 0)), "Acquire has no comment"


def test_B50_files_are_found_by_name(reflection):
    for name in ("mindd/lease/v1/lease.proto", "google/protobuf/duration.proto"):
        assert name in reflection.files(file_by_filename=name)


def test_B50_other_packages_are_found_by_symbol(reflection):
    assert reflection.files(file_containing_symbol="google.protobuf.Duration")
    assert reflection.files(file_containing_symbol="grpc.health.v1.Health")


def test_B50_what_is_unknown_is_an_error_in_the_stream(reflection):
    not_found = grpc.StatusCode.NOT_FOUND.value[0]
    for question in ({"file_containing_symbol": "no.such.Thing"},
                     {"file_containing_symbol": ""}, {"file_by_filename": "no/such.proto"},
                     {"file_containing_symbol": SERVICE + ".Steal"},
                     {"file_containing_symbol": "mindd.lease.v1"},
                     {"file_containing_symbol": "x" * 10000}):
        answer = reflection.ask(**question)
        assert answer.error_response.error_code == not_found, (question, answer)
    assert reflection.ask(list_services="").list_services_response.service


def test_B50_a_question_about_extensions_does_not_end_the_stream(reflection):
    reflection.ask(all_extension_numbers_of_type="mindd.lease.v1.LeaseHandle")
    extension = {"containing_type": "mindd.lease.v1.LeaseHandle", "extension_number": 100}
    reflection.ask(file_containing_extension=extension)
    assert reflection.ask(list_services="").list_services_response.service


def test_B50_an_empty_question_is_answered_or_ends_the_stream_cleanly(client):
    stream = Reflection(client, "v1")
    try:
        stream.ask()
    except grpc.RpcError as error:
        assert error.code() is grpc.StatusCode.INVALID_ARGUMENT, error
    else:
        stream.close()


@pytest.mark.limit(60)
def test_B50_idle_streams_cost_no_threads_and_do_not_delay_the_stop():
    with Server(workers=1) as server:
        worker = server.worker_pids()[0]
        with server.connect() as client:
            before = proc.threads(worker)
            streams = [Reflection(client, "v1") for _ in range(300)]
            for stream in streams:
                stream.ask(list_services="*")
            assert proc.threads(worker) <= before + 8
            assert check(client) == wire.HEALTH_SERVING
            began = time.monotonic()
            assert server.stop() == 0
            assert time.monotonic() - began < slack(10)


@pytest.mark.parametrize("switch,path", [
    ("health", "/grpc.health.v1.Health/Check"),
    ("reflection", "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"),
    ("reflection", "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo")])
def test_what_is_switched_off_is_unimplemented(switch, path):
    server = Server(workers=1, server_text=f"  {switch}: false", start=False)
    with server:
        server.launch()
        with server.client() as client:
            grpc.channel_ready_future(client.channel).result(timeout=slack(10))
            client.release(client.acquire("k", timeout=slack(10)))
            with pytest.raises(grpc.RpcError) as caught:
                client.channel.unary_unary(path)(b"", timeout=5)
            assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
