# SPDX-License-Identifier: Apache-2.0
"""The Python client as a package: built, installed and used without any network, typed, and in step
with the server."""
import ast
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

import pytest

from pyclient import PACKAGE, SOURCE

PROTO = os.path.join(os.path.realpath(SOURCE), "proto")
PYTHON = "/usr/bin/python3"


def run(*command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **more)
    assert done.returncode == 0, f"{command}\n{done.stdout}"
    return done.stdout


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A copy of the sources, so that nothing is built in the tree."""
    place = tmp_path_factory.mktemp("package")
    shutil.copytree(PACKAGE, place / "source",
                    ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
    return place


def wheel_of(source, out, **env):
    run(PYTHON, "-m", "pip", "wheel", "--quiet", "--no-index", "--no-deps", "--no-build-isolation",
        "--disable-pip-version-check", "-w", str(out), str(source), env=dict(os.environ, **env))
    (wheel,) = [name for name in os.listdir(out) if name.endswith(".whl")]
    return os.path.join(out, wheel)


@pytest.fixture(scope="module")
def wheel(place):
    return wheel_of(place / "source", place / "wheel", MINDD_PROTO=PROTO)


@pytest.fixture(scope="module")
def venv(place, wheel):
    where = place / "venv"
    run(PYTHON, "-m", "venv", "--system-site-packages", str(where))
    run(str(where / "bin" / "pip"), "install", "--quiet", "--no-index", "--no-deps",
        "--disable-pip-version-check", wheel)
    return where


def test_the_wheel_has_the_client_the_generated_code_and_the_types(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    for name in ("client/__init__.py", "client/aio.py", "client/py.typed", "lease/v1/lease_pb2.py",
                 "lease/v1/lease_pb2.pyi", "lease/v1/lease_pb2_grpc.py", "lease/v1/py.typed"):
        assert "mindd/" + name in names
    # Other packages may live beside these.
    assert not {"mindd/__init__.py", "mindd/lease/__init__.py", "mindd/lease/v1/__init__.py"} & names
    record = zipfile.ZipFile(wheel).read(next(name for name in names if name.endswith("RECORD")))
    assert b"mindd/lease/v1/lease_pb2.py," in record


@pytest.mark.limit(120)
def test_the_wheel_installs_into_a_venv_and_works(server, venv, key):
    script = (
        "import sys, grpc\n"
        "from mindd.client import MindD, LeaseHeld\n"
        "import mindd.client\n"
        "assert mindd.client.__file__.startswith(sys.argv[2]), mindd.client.__file__\n"
        "with MindD(sys.argv[1]) as m:\n"
        "    with m.lease.hold('locks', sys.argv[3], ttl=5) as lease:\n"
        "        try:\n"
        "            m.lease.acquire('locks', sys.argv[3], ttl=5)\n"
        "        except LeaseHeld as error:\n"
        "            print(error.details(), lease.fencing_token)\n")
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    said = run(str(venv / "bin" / "python"), "-c", script, server.address, str(venv), key,
               env=clean, cwd="/")
    assert said.startswith("already held ")


@pytest.mark.limit(120)
def test_a_source_distribution_carries_the_proto(place):
    run(PYTHON, "setup.py", "--quiet", "sdist", "-d", str(place / "sdist"),
        cwd=place / "source", env=dict(os.environ, MINDD_PROTO=PROTO))
    (name,) = os.listdir(place / "sdist")
    with tarfile.open(place / "sdist" / name) as archive:
        archive.extractall(place / "unpacked")
    (folder,) = os.listdir(place / "unpacked")
    unpacked = place / "unpacked" / folder
    carried = (unpacked / "proto" / "mindd" / "lease" / "v1" / "lease.proto").read_bytes()
    with open(os.path.join(PROTO, "mindd", "lease", "v1", "lease.proto"), "rb") as own:
        assert carried == own.read()
    assert wheel_of(unpacked, place / "again").endswith(".whl")


def test_a_build_without_the_compiler_says_what_is_missing(place):
    done = subprocess.run([PYTHON, "setup.py", "--quiet", "build", "-b", str(place / "none")],
                          cwd=place / "source", text=True, capture_output=True, check=False,
                          env={"PATH": str(place), "MINDD_PROTO": PROTO})
    assert done.returncode != 0 and "protobuf-compiler-grpc" in done.stderr


def test_the_package_has_the_version_of_the_server():
    with open(os.path.join(SOURCE, "configure.ac"), encoding="utf-8") as file:
        server = re.search(r"AC_INIT\(\[leased\], \[([^]]+)\]", file.read())[1]
    with open(os.path.join(PACKAGE, "pyproject.toml"), encoding="utf-8") as file:
        assert f'\nversion = "{server}"\n' in file.read()


def test_nothing_but_grpcio_and_protobuf_is_needed():
    wanted = set()
    for folder, _, names in os.walk(os.path.join(PACKAGE, "mindd")):
        for name in names:
            if name.endswith(".py"):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    tree = ast.parse(file.read())
                for node in ast.walk(tree):
                    if isinstance(node, ast.Import):
                        wanted |= {alias.name.split(".")[0] for alias in node.names}
                    elif isinstance(node, ast.ImportFrom) and not node.level:
                        wanted.add(node.module.split(".")[0])
    assert wanted - set(sys.stdlib_module_names) == {"google", "grpc", "mindd"}


def test_every_public_function_has_types_and_a_text():
    bare = []
    for name in ("_lease.py", "_hold.py", "_mindd.py", "_values.py", "_term.py", "_retry.py",
                 "errors.py", "aio.py"):
        with open(os.path.join(PACKAGE, "mindd", "client", name), encoding="utf-8") as file:
            tree = ast.parse(file.read())
        assert ast.get_docstring(tree)
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                arguments = node.args.args + node.args.kwonlyargs
                if node.returns is None or any(each.annotation is None for each in arguments
                                               if each.arg != "self"):
                    bare.append(f"{name}:{node.lineno} {node.name}")
            elif isinstance(node, ast.ClassDef) and not ast.get_docstring(node):
                bare.append(f"{name}:{node.lineno} {node.name} has no text")
    assert not bare, bare


def test_it_lives_beside_another_package_that_brings_the_same_google_messages():
    """Descriptions of google.rpc in the default pool, as googleapis-common-protos puts them."""
    script = (
        "from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, duration_pb2\n"
        "from mindd.client import _details\n"
        "file = descriptor_pb2.FileDescriptorProto(name='google/rpc/status.proto',"
        " package='google.rpc', syntax='proto3')\n"
        "file.message_type.add(name='Status')\n"
        "descriptor_pool.Default().AddSerializedFile(file.SerializeToString())\n"
        "assert _details.read((('grpc-status-details-bin', b''),)).reason == ''\n")
    stubs = os.path.join(os.environ.get("LEASED_BUILD", "build"), "t", "py")
    run(PYTHON, "-c", script, env=dict(os.environ, PYTHONPATH=f"{PACKAGE}:{stubs}"))
