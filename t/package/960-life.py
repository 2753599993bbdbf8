#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The life of the packages in a Debian of its own: install, use, upgrade, remove, purge."""
# Runs alone.
import glob
import json
import os
import re
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from chroot import BUILD, Machine, run  # noqa: E402
from stub import main, until  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
CONFIG = "/etc/leased/leased.yaml"
MARK = "# of the next version\n"


def packages():
    if not glob.glob(os.path.join(BUILD, "deb", "leased_*.deb")):
        run("make", "-C", BUILD, "-s", "deb")
    return sorted(path for path in glob.glob(os.path.join(BUILD, "deb", "*.deb"))
                  if "dbgsym" not in path)


def installed(also=()):
    machine = Machine(packages())
    try:
        machine.must("sh", "-c", "dpkg -i /packages/leased_* /packages/leasectl_* "
                     + " ".join(f"/packages/{name}_*" for name in also))
    except BaseException:
        machine.__exit__()
        raise
    return machine


def next_version(machine):
    """The same server as a later version whose own configuration differs."""
    old = next(path for path in packages() if os.path.basename(path).startswith("leased_"))
    with tempfile.TemporaryDirectory() as tree:
        run("dpkg-deb", "-R", old, tree)
        control = os.path.join(tree, "DEBIAN/control")
        with open(control, encoding="utf-8") as file:
            text = file.read()
        with open(control, "w", encoding="utf-8") as file:
            file.write(re.sub(r"^Version: (.*)$", r"Version: \1+next", text, flags=re.M))
        with open(tree + CONFIG, "a", encoding="utf-8") as file:
            file.write(MARK)
        run("dpkg-deb", "--root-owner-group", "-b", tree, machine.path("/packages/next.deb"))
    return "/packages/next.deb"


def master(machine):
    try:
        return int(machine.read("/run/leased/leased.pid"))
    except FileNotFoundError:
        return None


def held(machine, key):
    return json.loads(machine.must("leasectl", "inspect", key, "-o", "json"))


def acquire(machine, key):
    return json.loads(machine.must("leasectl", "acquire", key, "-t", "10m", "-o", "json"))["handle"]


def wait_waiters(machine, key, count):
    until(f"{count} waiters", lambda: held(machine, key).get("waiters", 0) == count, 30)


def test_an_installed_server_serves_and_is_furnished():
    with installed(["python3-mindd-lease", "mindd-lease-proto"]) as machine:
        machine.must("service", "leased", "status")
        machine.must("leasectl", "health")
        assert machine.must("stat", "-c", "%U:%G %a", "/etc/leased/tokens.yaml",
                            "/var/lib/leased", CONFIG).splitlines() == [
            "root:leased 640", "leased:leased 750", "root:root 644"]
        assert "leased" in machine.must("ps", "-o", "user=", "-p", str(master(machine)))
        assert machine.must("dpkg", "--verify", "leased", "leasectl") == ""


def test_the_tests_that_the_package_ships_pass():
    with installed(["python3-mindd-lease", "mindd-lease-proto"]) as machine:
        for name in ("service", "python"):
            shutil.copy(os.path.join(HERE, "..", "..", "debian", "tests", name),
                        machine.path("/packages/"))
            machine.must("sh", "-ec", f"cd $(mktemp -d) && /packages/{name}")


def test_an_upgrade_with_waiters_drops_no_lease():
    for edited in (False, True):
        with installed() as machine:
            if edited:
                machine.write(CONFIG, machine.read(CONFIG) + "# edited\n")
            lease = acquire(machine, "locks/upgrade")
            waiters = [machine.start("leasectl", "acquire", "locks/upgrade", "-w", "5m", "-o", "json")
                       for _ in range(5)]
            wait_waiters(machine, "locks/upgrade", 5)
            before = master(machine)
            said = machine.must("dpkg", "--force-confold", "-i", next_version(machine))
            after = master(machine)
            assert after and after != before, said
            now = held(machine, "locks/upgrade")
            assert now["handle"]["holderId"] == lease["holderId"], now
            assert now["handle"]["fencingToken"] == lease["fencingToken"], now
            assert (MARK in machine.read(CONFIG)) != edited
            assert ("# edited" in machine.read(CONFIG)) == edited
            judge_waiters(machine, lease, waiters)


def judge_waiters(machine, lease, waiters):
    """Each was told that the server goes away, or waits on and gets the lease in its turn."""
    machine.must("leasectl", "release", "locks/upgrade", "-H", lease["holderId"])
    tokens = []
    while waiters:
        done = until("a waiter is answered",
                     lambda: [each for each in waiters if each.poll() is not None], 30)
        for each in done:
            waiters.remove(each)
            out, err = each.communicate()
            if each.returncode == 0:
                handle = json.loads(out)["handle"]
                tokens.append(int(handle["fencingToken"]))
                machine.must("leasectl", "release", "locks/upgrade", "-H", handle["holderId"])
            else:
                assert each.returncode == 69, (each.returncode, err)
    assert tokens == sorted(set(tokens))
    assert all(token > int(lease["fencingToken"]) for token in tokens)


def test_an_upgrade_with_a_configuration_that_is_not_valid_leaves_the_server_alone():
    with installed() as machine:
        lease = acquire(machine, "locks/a")
        machine.write(CONFIG, machine.read(CONFIG) + "nonsense: true\n")
        before = master(machine)
        said = machine.must("dpkg", "--force-confold", "-i", next_version(machine))
        assert "nonsense" in said and "not started or restarted" in said, said
        assert master(machine) == before
        assert held(machine, "locks/a")["handle"]["holderId"] == lease["holderId"]
        assert "ok installed" in machine.must("dpkg", "-s", "leased")


def test_a_removed_package_keeps_what_a_purged_one_loses():
    with installed() as machine:
        lease = acquire(machine, "locks/a")
        token = int(lease["fencingToken"])
        said = machine.must("dpkg", "-r", "leased")
        assert master(machine) is None, said
        assert machine.do("pgrep", "-x", "leased") == (1, ""), said
        assert machine.do("dash", "/etc/init.d/leased", "start") == (0, "")
        assert machine.do("dash", "/etc/init.d/leased", "status")[0] == 3
        for path in (CONFIG, "/etc/leased/tokens.yaml", "/var/lib/leased"):
            assert os.path.exists(machine.path(path)), path
        machine.must("sh", "-c", "dpkg -i /packages/leased_*")
        assert held(machine, "locks/a")["handle"]["holderId"] == lease["holderId"]
        machine.must("leasectl", "release", "locks/a", "-H", lease["holderId"])
        assert int(acquire(machine, "locks/a")["fencingToken"]) > token
        machine.must("dpkg", "-P", "leased")
        left = machine.must("sh", "-c", "find / -xdev -path /packages -prune -o -path /proc -prune "
                            "-o -name '*leased*' -print; ls /dev/shm")
        # Users are never removed; their files of bookkeeping stay as well.
        assert not [line for line in left.splitlines()
                    if not line.startswith("/var/lib/systemd/deb-systemd-helper")], left
        assert machine.do("pgrep", "-x", "leased")[0] == 1


def test_a_purge_with_the_server_running_and_its_files_edited_leaves_nothing_running():
    with installed() as machine:
        machine.write(CONFIG, machine.read(CONFIG) + "nonsense: true\n")
        machine.write("/etc/leased/own.yaml", "")
        said = machine.must("dpkg", "-P", "leased")
        assert machine.do("pgrep", "-x", "leased") == (1, ""), said
        assert os.listdir(machine.path("/etc/leased")) == ["own.yaml"]


def test_a_file_that_the_administrator_removed_stays_away():
    with installed() as machine:
        os.unlink(machine.path("/etc/leased/tokens.yaml"))
        machine.must("dpkg", "-i", next_version(machine))
        assert not os.path.exists(machine.path("/etc/leased/tokens.yaml"))


def test_a_port_in_use_is_no_reason_not_to_be_installed():
    with installed() as machine:
        machine.must("service", "leased", "stop")
        machine.must("leased", "-D", "-p", "/tmp/pid", "-f", CONFIG)
        said = machine.must("dpkg", "-i", next_version(machine))
        assert "not started or restarted" in said, said
        assert "ok installed" in machine.must("dpkg", "-s", "leased")
        machine.must("leasectl", "health")


if __name__ == "__main__":
    main(globals())
