#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The manual, the sample and the program say the same."""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from stub import BINARY, BUILD, main  # noqa: E402

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGES = {name: os.path.join(SOURCE, "man", name) for name in ("leased.8", "leased.yaml.5")}
# The program with its real drivers; the stub knows the same options and keys, but not all drivers.
LEASED = os.path.join(BUILD, "leased")
if not os.path.exists(LEASED):
    LEASED = BINARY


def run(*args):
    done = subprocess.run([LEASED, *args], capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout, done.stderr


def page(name):
    with open(PAGES[name], encoding="utf-8") as file:
        return file.read()


def keys(dump):
    """The full names of all keys of a dump, comments too: server.grpc.tcp, backends[].name …"""
    names, path = [], []  # path: (indentation, name) of the maps around
    for line in dump.splitlines():
        match = re.match(r"( *)(- )?(?:# )?([a-z_]+):", line)
        if not match:
            continue
        indent = len(match[1]) + len(match[2] or "")
        path = [(at, name) for at, name in path if at < len(match[1]) or (at < indent and match[2])]
        if match[2]:
            path[-1] = (path[-1][0], path[-1][1].removesuffix("[]") + "[]")
        path.append((indent, match[3]))
        names.append(".".join(name for _, name in path))
    return names


def test_each_option_of_help_stands_in_the_page_and_each_of_the_page_in_help():
    status, text, _ = run("--help")
    assert status == 0
    flags = re.findall(r"^  -(\w), --([a-z-]+)", text, re.MULTILINE)
    assert len(flags) == 10
    items = re.findall(r"^\.It Fl (\w)(?: Ar \w+)? , Fl -([a-z-]+)", page("leased.8"), re.MULTILINE)
    assert sorted(flags) == sorted(items)


def dumps():
    """All keys with their defaults, of each driver."""
    for driver in ("{driver: memory}", "{driver: postgres, options: {dsn: host=db}}"):
        fd = os.memfd_create("settings", 0)
        os.write(fd, f"backends: [{{name: memory, {driver[1:]}]\n".encode())
        done = subprocess.run([LEASED, "-T", "-f", f"/proc/self/fd/{fd}"], capture_output=True,
                              text=True, check=False, pass_fds=[fd])
        os.close(fd)
        assert done.returncode == 0, done.stderr
        yield done.stdout


def test_each_key_of_the_dump_has_an_item_in_the_page():
    found = keys("".join(dumps()))
    assert "backends[].options.durability" in found, found
    assert "backends[].options.capacity" in found, found
    assert "server.grpc.tls.cert_file" in found and "namespaces[].backend" in found, found
    leaves = [key for key in found if not any(other.startswith((key + ".", key + "[]."))
                                              for other in found)]
    items = re.findall(r"^\.It Cm (\S+)", page("leased.yaml.5"), re.MULTILINE)
    missing = [key for key in leaves if key not in items
               and key.removeprefix("backends[].options.") not in items]
    assert not missing, missing


def test_each_default_of_the_dump_is_the_one_of_the_page():
    dump = "".join(dumps())
    text = page("leased.yaml.5")
    for key, value in re.findall(r"^ *([a-z_]+): (\w+)$", dump, re.MULTILINE):
        if key in ("workers", "driver", "block", "target"):
            continue  # depend on the host, or are no default
        item = re.search(rf"^\.It Cm \S*\b{key} .*?(?=^\.It|^\.El)", text,
                         re.MULTILINE | re.DOTALL)
        assert item, key
        assert f"Default: {value}" in item[0], (key, value)


def test_the_pages_are_well_formed():
    assert shutil.which("mandoc"), "mandoc is needed"
    done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", *PAGES.values()],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout == "", done.stdout


def test_the_page_names_each_exit_status_of_the_program():
    text = page("leased.8")
    for status in ("0", "64", "69", "70", "71", "78"):
        assert f".It {status}\n" in text, status


def test_the_sample_is_valid_and_says_the_defaults():
    status, _, errors = run("-t", "-f", os.path.join(SOURCE, "etc", "leased.yaml"))
    assert status == 0 and errors.endswith("configuration is valid\n"), errors
    assert run("-tq", "-f", os.path.join(SOURCE, "etc", "leased.yaml"))[2] == ""
    sample, without = (run("-T", *args)[1] for args in
                       (["-f", os.path.join(SOURCE, "etc", "leased.yaml")], []))
    assert sample == without


def test_the_example_of_the_page_is_valid():
    text = page("leased.yaml.5")
    example = re.search(r"^\.Bd -literal -offset indent\n(server:.*?)^\.Ed", text,
                        re.MULTILINE | re.DOTALL)
    path = f"/proc/self/fd/{os.memfd_create('example', 0)}"
    with open(path, "w", encoding="utf-8") as file:
        file.write(example[1])
    done = subprocess.run([LEASED, "-t", "-f", path], capture_output=True, text=True, check=False,
                          pass_fds=[int(path.rpartition("/")[2])])
    assert done.returncode == 0, done.stderr


def test_the_version_names_the_drivers_and_the_libraries():
    status, text, _ = run("--version")
    assert status == 0
    assert re.match(r"leased \d+\.\d+\.\d+\ndrivers: memory", text), text
    for library in ("grpc-core", "protobuf-c", "yaml", "jansson"):
        assert re.search(rf"{library} \d+\.\d+", text), library


def test_the_dump_is_yaml_that_the_program_reads_back_unchanged():
    _, dump, _ = run("-T", "-f", os.path.join(SOURCE, "etc", "leased.yaml"))
    fd = os.memfd_create("dump", 0)
    os.write(fd, dump.encode())
    done = subprocess.run([LEASED, "-T", "-f", f"/proc/self/fd/{fd}"], capture_output=True,
                          text=True, check=False, pass_fds=[fd])
    assert done.returncode == 0 and done.stdout == dump, done.stderr


if __name__ == "__main__":
    main(globals())
