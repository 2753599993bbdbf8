# SPDX-License-Identifier: Apache-2.0
"""A Debian of its own in a folder, for tests that install packages: made by debootstrap, with a
network, processes and shared memory of its own. Needs root."""
import os
import shutil
import subprocess
import tempfile

BUILD = os.path.abspath(os.environ.get("LEASED_BUILD", "build"))
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
ENV = {"PATH": PATH, "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive", "HOME": "/root"}
# Beside what the packages themselves need.
TOOLS = "pkg-config, protobuf-compiler, libprotobuf-dev, logrotate, jq, procps"


def mirror():
    """Where this host takes Debian 12 from."""
    rows = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME)",
                           "Created-By: Packages"], stdout=subprocess.PIPE, text=True, check=True)
    for row in rows.stdout.splitlines():
        uri, _, codename = row.partition(" ")
        if codename == "bookworm":
            return uri
    raise AssertionError("apt knows no place that has bookworm")


def run(*command, **more):
    """Runs a command on the host; a failure shows all it said."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, **more)
    assert done.returncode == 0, f"{' '.join(command)}: {done.returncode}\n{done.stdout}"
    return done.stdout


def depends(packages):
    fields = []
    for package in packages:
        for field in ("Pre-Depends", "Depends"):
            value = run("dpkg-deb", "-f", package, field).strip()
            fields += [value] if value else []
    # The small one is enough where systemd does not run.
    return ", ".join(fields).replace("systemd | systemd-standalone-sysusers",
                                     "systemd-standalone-sysusers")


def base(packages):
    """A tarball of a system that has all the packages need, made once."""
    folder = os.path.join(BUILD, "package")
    bare, ready = os.path.join(folder, "bare"), os.path.join(folder, "base.tar")
    needed = f"{depends(packages)}, {TOOLS}"
    note = os.path.join(folder, "base.depends")
    if os.path.exists(ready) and os.path.exists(note):
        with open(note, encoding="utf-8") as file:
            if file.read() == needed:
                return ready
    os.makedirs(folder, exist_ok=True)
    shutil.rmtree(bare, ignore_errors=True)
    run("debootstrap", "--variant=minbase", "bookworm", bare, mirror(), env=dict(os.environ, PATH=PATH))
    for path in ("/etc/resolv.conf", "/etc/hosts"):
        shutil.copy(path, bare + path)
    policy = bare + "/usr/sbin/policy-rc.d"
    with open(policy, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\nexit 101\n")
    os.chmod(policy, 0o755)
    proxy = {name: value for name, value in os.environ.items() if "proxy" in name.lower()}
    for command in (["update"], ["satisfy", "-y", "--no-install-recommends", needed], ["clean"]):
        run("chroot", bare, "apt-get", "-qq", *command, env={**ENV, **proxy})
    os.unlink(policy)
    run("tar", "-C", bare, "-cf", ready, ".")
    shutil.rmtree(bare)
    with open(note, "w", encoding="utf-8") as file:
        file.write(needed)
    return ready


class Machine:
    """A fresh system that runs; /packages in it has the packages."""

    def __init__(self, packages):
        self.pid = None
        self.root = tempfile.mkdtemp(prefix="leased-chroot-")
        os.chmod(self.root, 0o755)
        run("tar", "-C", self.root, "-xf", base(packages))
        os.mkdir(self.path("/packages"))
        for package in packages:
            shutil.copy(package, self.path("/packages"))
        # Without an init system nothing would be started: this says that one is there.
        self.write("/usr/sbin/policy-rc.d", "#!/bin/sh\nexit 0\n")
        os.chmod(self.path("/usr/sbin/policy-rc.d"), 0o755)
        # "up" is said when the namespaces are furnished. The first process keeps them, and buries
        # the orphans: a shell does while it waits.
        self.first = subprocess.Popen(
            ["unshare", "--mount", "--net", "--pid", "--ipc", "--fork", "--kill-child", "sh", "-ec",
             'ip link set lo up; mount -t proc proc "$1/proc"; mount -t tmpfs tmpfs "$1/dev/shm"; '
             'mount -t tmpfs tmpfs "$1/run"; echo up; exec chroot "$1" sh -c "while sleep 1; do :; done"',
             "-", self.root], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=ENV)
        assert self.first.stdout.readline() == "up\n"
        with open(f"/proc/{self.first.pid}/task/{self.first.pid}/children", encoding="ascii") as file:
            self.pid = file.read().split()[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.first.kill()  # and with it all that runs inside
        self.first.wait()
        self.first.stdout.close()
        shutil.rmtree(self.root)

    def path(self, name):
        """As this process sees it; with what is mounted inside once that runs."""
        return (f"/proc/{self.pid}/root" if self.pid else self.root) + name

    def command(self, *words):
        return ["nsenter", "--target", self.pid, "--mount", "--net", "--pid", "--ipc", "chroot",
                self.root, *words]

    def start(self, *words):
        return subprocess.Popen(self.command(*words), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV)

    def do(self, *words):
        """(exit status, all that was said)."""
        # A file, not a pipe: what is started here may live on.
        with tempfile.TemporaryFile("w+", encoding="utf-8") as said:
            done = subprocess.run(self.command(*words), stdin=subprocess.DEVNULL, stdout=said,
                                  stderr=said, env=ENV, check=False, timeout=120)
            said.seek(0)
            return done.returncode, said.read()

    def must(self, *words):
        status, said = self.do(*words)
        assert status == 0, f"{' '.join(words)}: {status}\n{said}"
        return said

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
