#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The init script under dash: every action in every state. Its copy differs from what the package
installs in the paths and the user alone."""
import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "lib"))
import proc  # noqa: E402
from stub import BINARY, Stub, main, until  # noqa: E402

SCRIPT = os.path.join(HERE, "..", "debian", "leased.init")
ACTIONS = ("start", "stop", "restart", "try-restart", "reload", "force-reload", "status",
           "configtest")
FAILED, USAGE, UNKNOWN, NOT_ALLOWED, NOT_INSTALLED, NOT_CONFIGURED, NOT_RUNNING = range(1, 8)


def me():
    return subprocess.run(["id", "-un"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


class Service(Stub):
    """A server that only the script starts and stops."""

    def __init__(self, **paths):
        super().__init__(workers=2)
        with open(SCRIPT, encoding="utf-8") as file:
            text = file.read()
        places = {"DAEMON": BINARY, "CONFIG": self.config, "DEFAULTS": self.path("default"),
                  "RUNDIR": self.path("run"), "STATEDIR": self.path("state"),
                  "LEASED_USER": me(), **paths}
        for name, value in places.items():
            text, count = re.subn(f"^{name}=.*$", f"{name}={value}", text, flags=re.M)
            assert count == 1, name
        with open(self.path("leased"), "w", encoding="utf-8") as file:
            file.write(text)
        self.said = ""

    def __exit__(self, *_):
        self.pid = self.master()
        super().__exit__()

    def do(self, *action, prefix=()):
        """The script's exit status."""
        # A file, not a pipe: a server that logs to stderr keeps it.
        with open(self.path("said"), "w+", encoding="utf-8") as said:
            done = subprocess.run([*prefix, "/bin/dash", self.path("leased"), *action], cwd="/",
                                  stdin=subprocess.DEVNULL, stdout=said, stderr=said, timeout=50,
                                  check=False)
            said.seek(0)
            self.said = said.read()
        return done.returncode

    @property
    def pidfile(self):
        return self.path("run/leased.pid")

    def write_pid(self, text):
        os.makedirs(self.path("run"), exist_ok=True)
        with open(self.pidfile, "w", encoding="utf-8") as file:
            file.write(text)

    def master(self):
        """The pid of the server, None when none runs."""
        try:
            with open(self.pidfile, encoding="utf-8") as file:
                pid = int(file.read())
            exe = os.readlink(f"/proc/{pid}/exe")
        except (OSError, ValueError):
            return None
        config = self.config.encode()
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return pid if exe == BINARY and config in file.read() else None

    def crash(self):
        pid = self.master()
        workers = proc.children(pid)
        os.kill(pid, signal.SIGKILL)
        until("all are gone", lambda: not any(map(proc.alive, [pid, *workers])))
        assert os.path.exists(self.pidfile)

    def spoil(self):
        with open(self.config, "a", encoding="utf-8") as file:
            file.write("nonsense: true\n")

    def judge(self, action, expected):
        """expected: exit status and what runs then - 'same', 'new' or None."""
        status, after = expected
        before = self.master()
        got = self.do(action)
        what = f"{action}: {got}\n{self.said}"
        assert got == status, what
        now = self.master()
        if after == "same":
            assert before and now == before, what
        elif after == "new":
            assert now and now != before, what
        else:
            assert now is None, what
        if now:
            assert self.ask()[2], what  # without another try: the port answers
        return what


def expectations(start, stop, restart, try_restart, reload, status, configtest):
    return dict(zip(ACTIONS, (start, stop, restart, try_restart, reload, reload, status, configtest)))


IDLE = {
    "start": (0, "new"), "stop": (0, None), "restart": (0, "new"), "try-restart": (0, None),
    "reload": (NOT_RUNNING, None), "force-reload": (NOT_RUNNING, None), "status": (3, None),
    "configtest": (0, None),
}


def test_in_a_server_that_runs():
    table = expectations((0, "same"), (0, None), (0, "new"), (0, "new"), (0, "same"), (0, "same"),
                         (0, "same"))
    for action, expected in table.items():
        with Service() as service:
            assert service.do("start") == 0, service.said
            service.write(workers=2, namespaces=["changed"])
            service.judge(action, expected)
            if action == "stop":
                assert not os.path.exists(service.pidfile)
            if action in ("reload", "force-reload"):
                until("the new file", lambda: service.ask()[2] == ["changed"])  # noqa: B023
            if action in ("restart", "try-restart"):
                assert service.ask()[2] == ["changed"]


def test_in_a_server_that_is_stopped():
    for action, expected in IDLE.items():
        with Service() as service:
            service.judge(action, expected)
    with Service() as service:
        assert service.do("start") == 0 and service.do("stop") == 0
        service.judge("status", (3, None))
        service.judge("start", (0, "new"))


def test_in_a_server_that_crashed():
    for action, expected in {**IDLE, "status": (1, None)}.items():
        with Service() as service:
            assert service.do("start") == 0, service.said
            service.crash()
            service.judge(action, expected)
            if action == "stop":
                service.judge("status", (3, None))


def test_a_start_right_after_the_crash_of_the_master():
    with Service() as service:
        assert service.do("start") == 0, service.said
        for _ in range(3):
            os.kill(service.master(), signal.SIGKILL)
            service.judge("start", (0, "new"))


@contextlib.contextmanager
def bystander(kind):
    """A process that must not be touched: any, or another server of the same program."""
    if kind == "other program":
        with subprocess.Popen(["sleep", "60"]) as process:
            yield process
            process.kill()
    else:
        with Stub(workers=1) as other:
            other.start()
            yield other.process
            assert other.ask()[2] == ["locks"]


def test_with_a_pid_file_that_names_another_process():
    for kind in ("other program", "same program"):
        with bystander(kind) as process:
            for action, (status, after) in {**IDLE, "status": (1, None)}.items():
                with Service() as service:
                    service.write_pid(f"{process.pid}\n")
                    service.judge(action, (status, after))
                    assert process.poll() is None, f"{action} ended a {kind}"


def test_with_a_pid_file_full_of_nonsense():
    for text in ("", "\n", "0\n", "-1\n", "1\n", "words\n", f"{os.getpid()} 1\n", "9" * 40):
        with Service() as service:
            service.write_pid(text)
            service.judge("status", (1, None))
            service.judge("reload", (NOT_RUNNING, None))
            service.judge("stop", (0, None))
            service.write_pid(text)
            service.judge("start", (0, "new"))


def test_with_a_port_that_is_in_use():
    table = {**IDLE, "start": (FAILED, None), "restart": (FAILED, None)}
    for action, expected in table.items():
        with Service() as service, socket.socket() as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            other.bind(("127.0.0.1", service.port))
            other.listen()
            said = service.judge(action, expected)
            if action in ("start", "restart"):
                assert "in use" in said and str(os.getpid()) in said, said
            other.settimeout(5)
            with socket.create_connection(("127.0.0.1", service.port)):
                other.accept()[0].close()


def test_with_a_file_that_is_not_valid():
    table = {**IDLE, "start": (NOT_CONFIGURED, None), "restart": (NOT_CONFIGURED, None),
             "configtest": (NOT_CONFIGURED, None)}
    for action, expected in table.items():
        with Service() as service:
            service.spoil()
            said = service.judge(action, expected)
            if expected[0] == NOT_CONFIGURED:
                assert "nonsense" in said and service.config in said, said


def test_a_file_that_is_not_valid_takes_no_server_down():
    bad = (NOT_CONFIGURED, "same")
    table = expectations((0, "same"), (0, None), bad, bad, bad, (0, "same"), bad)
    for action, expected in table.items():
        with Service() as service:
            assert service.do("start") == 0, service.said
            service.spoil()
            service.judge(action, expected)


def test_actions_that_are_none():
    with Service() as service:
        assert service.do() == USAGE
        assert service.do("start", "stop") == USAGE
        assert service.do("fly") == UNKNOWN and "try-restart" in service.said


def test_after_the_program_was_removed():
    with Service(DAEMON="/nowhere/leased") as service:
        table = dict.fromkeys(ACTIONS, NOT_INSTALLED) | {"start": 0, "stop": 0, "status": 3}
        for action, status in table.items():
            assert service.do(action) == status, action
        assert service.said == ""


def test_another_user_is_refused():
    prefix = ()
    if os.getuid() == 0:
        prefix = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    with Service(LEASED_USER="another", CONFIG="/dev/null", DAEMON="/bin/true") as service:
        os.chmod(service.directory, 0o755)
        for action in ACTIONS[:6]:
            assert service.do(action, prefix=prefix) == NOT_ALLOWED, service.said


def test_options_of_the_default_file_are_used():
    with Service() as service:
        with open(service.path("default"), "w", encoding="utf-8") as file:
            file.write('LEASED_OPTS="-w 3 -v"\n')
        assert service.do("start") == 0, service.said
        assert len(proc.children(service.master())) == 3


def test_logs_that_were_moved_are_no_end():
    with Service() as service:
        assert service.do("rotate") == NOT_RUNNING
        assert service.do("start") == 0, service.said
        service.judge("rotate", (0, "same"))
        service.judge("status", (0, "same"))


def test_the_script_needs_no_bash():
    assert shutil.which("dash")
    with open(SCRIPT, encoding="utf-8") as file:
        assert file.readline() == "#!/bin/sh\n"
    subprocess.run(["dash", "-n", SCRIPT], check=True)


if __name__ == "__main__":
    main(globals())
