# SPDX-License-Identifier: Apache-2.0
"""Adds mindd.lease.v1 to the package: generated from the published proto by protoc and
grpc_python_plugin (protobuf-compiler and protobuf-compiler-grpc in Debian), never by hand.

The proto is that of the checkout, or the copy that a source distribution carries."""
import os
import shutil
import subprocess

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = os.path.dirname(os.path.abspath(__file__))
NAME = os.path.join("mindd", "lease", "v1", "lease")
MADE = [NAME + "_pb2.py", NAME + "_pb2.pyi", NAME + "_pb2_grpc.py"]


def proto_root():
    places = [os.path.join(HERE, "proto"), os.path.join(HERE, "..", "..", "proto")]
    if os.environ.get("MINDD_PROTO"):
        places.insert(0, os.environ["MINDD_PROTO"])
    for place in places:
        if os.path.exists(os.path.join(place, NAME + ".proto")):
            return place
    raise SystemExit("lease.proto is missing; MINDD_PROTO may name the folder it is below")


def program(variable, name, package):
    found = os.environ.get(variable) or shutil.which(name)
    if not found:
        raise SystemExit(f"{name} is missing (Debian package {package}); {variable} may name it")
    return found


class BuildWithStubs(build_py):
    def run(self):
        super().run()
        os.makedirs(self.build_lib, exist_ok=True)
        plugin = program("GRPC_PYTHON_PLUGIN", "grpc_python_plugin", "protobuf-compiler-grpc")
        subprocess.run([program("PROTOC", "protoc", "protobuf-compiler"), "-I" + proto_root(),
                        "--python_out=" + self.build_lib, "--pyi_out=" + self.build_lib,
                        "--grpc_python_out=" + self.build_lib,
                        "--plugin=protoc-gen-grpc_python=" + plugin, NAME + ".proto"], check=True)
        # Checkers take types from a package only if it says that it has them.
        open(os.path.join(self.build_lib, os.path.dirname(NAME), "py.typed"), "w").close()

    def get_outputs(self, include_bytecode=True):
        made = MADE + [os.path.join(os.path.dirname(NAME), "py.typed")]
        return super().get_outputs(include_bytecode) + [os.path.join(self.build_lib, each)
                                                        for each in made]


class SourceWithProto(sdist):
    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        target = os.path.join(base_dir, "proto", NAME + ".proto")
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(os.path.join(proto_root(), NAME + ".proto"), target)


setup(cmdclass={"build_py": BuildWithStubs, "sdist": SourceWithProto})
