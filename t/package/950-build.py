#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The packages: what is in them, what lintian says, whether two builds are the same."""
# Runs alone.
import glob
import hashlib
import os
import re
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from chroot import BUILD, run  # noqa: E402
from stub import main  # noqa: E402

TREE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
DEB = os.path.join(BUILD, "deb")
EXPOSURE = 1.5
FILES = {
    "leased": """etc/apparmor.d/leased etc/default/leased etc/init.d/leased etc/leased/leased.yaml
        etc/logrotate.d/leased lib/systemd/system/leased.service usr/lib/sysusers.d/leased.conf
        usr/lib/tmpfiles.d/leased.conf usr/sbin/leased usr/bin/leased-token
        usr/share/man/man1/leased-token.1.gz usr/share/man/man5/leased.yaml.5.gz
        usr/share/man/man8/leased.8.gz usr/share/leased/tokens.yaml""",
    "leasectl": """usr/bin/leasectl usr/share/bash-completion/completions/leasectl
        usr/share/man/man1/leasectl.1.gz""",
    "mindd-lease-proto": """usr/share/mindd/proto/mindd/lease/v1/lease.proto
        usr/share/mindd/proto/mindd/lease/v1/lease.binpb usr/share/pkgconfig/mindd-lease.pc""",
    "python3-mindd-lease": """usr/lib/python3/dist-packages/mindd/client/__init__.py
        usr/lib/python3/dist-packages/mindd/client/py.typed
        usr/lib/python3/dist-packages/mindd/lease/v1/lease_pb2.py
        usr/lib/python3/dist-packages/mindd/lease/v1/lease_pb2_grpc.py""",
}


def debs(folder):
    return {os.path.basename(path).split("_")[0]: path
            for path in glob.glob(os.path.join(folder, "*.deb")) if "dbgsym" not in path}


def contents(path):
    """{path: mode} of the plain files."""
    rows = [row.split(None, 5) for row in run("dpkg-deb", "-c", path).splitlines()]
    return {row[5].removeprefix("./"): row[0] for row in rows if row[0].startswith("-")}


def test_make_deb_builds_the_four_packages():
    run("make", "-C", BUILD, "-s", "deb")
    assert set(debs(DEB)) == set(FILES), os.listdir(DEB)
    for name, files in FILES.items():
        missing = set(files.split()) - set(contents(debs(DEB)[name]))
        assert not missing, missing
    # Namespaces of Python that other packages share.
    inside = contents(debs(DEB)["python3-mindd-lease"])
    assert not [path for path in inside if re.search(r"mindd/(lease/(v1/)?)?__init__", path)]


def test_no_package_has_a_file_of_another():
    seen = {}
    for name, path in debs(DEB).items():
        for file in contents(path):
            assert file not in seen, (file, name, seen[file])
            seen[file] = name


def test_lintian_finds_nothing_however_pedantic():
    changes, = glob.glob(os.path.join(DEB, "*.changes"))
    assert run("lintian", "-EvIL", "+pedantic", "--allow-root", changes) == ""


def test_another_build_in_another_place_and_time_zone_is_the_same():
    with tempfile.TemporaryDirectory(prefix="leased-again-") as again:
        source, = glob.glob(os.path.join(DEB, "*.tar.xz"))
        tree = os.path.join(again, "a place with a longer name".replace(" ", "-"))
        os.mkdir(tree)
        run("tar", "-C", tree, "--strip-components=1", "-xf", source)
        env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "TZ": "Pacific/Kiritimati", "HOME": again,
               "LC_ALL": "de_DE.UTF-8", "DEB_BUILD_OPTIONS": "nocheck parallel=1",
               "DEB_BUILD_PROFILES": "nocheck"}
        run("sh", "-c", "umask 027; exec dpkg-buildpackage -us -uc -b", cwd=tree, env=env)
        first, second = debs(DEB), debs(again)
        assert set(first) == set(second)
        different = [name for name in first if digest(first[name]) != digest(second[name])]
        assert not different, different


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def test_the_unit_is_hardened():
    unit = os.path.join(TREE, "debian", "leased.service")
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(unit, folder)
        said = run("systemd-analyze", "security", "--offline=true",
                   os.path.join(folder, "leased.service"))
    exposure = float(re.search(r"Overall exposure level for \S+: ([0-9.]+)", said)[1])
    assert exposure <= EXPOSURE, said
    with open(unit, encoding="utf-8") as file:
        text = file.read()
    # It would remove the table of leases with every restart.
    assert not re.search(r"^RemoveIPC=(yes|true|1|on)", text, re.M)


def test_the_profile_of_apparmor_compiles():
    run("apparmor_parser", "--skip-kernel-load", "--skip-cache",
        os.path.join(TREE, "etc", "apparmor.d", "leased"))


def test_the_pkg_config_file_leads_to_the_proto():
    with tempfile.TemporaryDirectory() as root:
        run("dpkg-deb", "-x", debs(DEB)["mindd-lease-proto"], root)
        env = dict(os.environ, PKG_CONFIG_PATH=os.path.join(root, "usr/share/pkgconfig"))
        proto = run("pkg-config", "--define-variable=prefix=" + root + "/usr",
                    "--variable=protodir", "mindd-lease", env=env).strip()
        assert os.path.exists(os.path.join(proto, "mindd/lease/v1/lease.proto")), proto


if __name__ == "__main__":
    main(globals())
