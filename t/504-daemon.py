#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""-D: the command returns when the server serves, or with the reason why it does not."""
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import proc  # noqa: E402
from stub import Stub, main, until  # noqa: E402


def daemon(server, *args):
    """Starts in the background; (exit status, stderr so far) of the command."""
    pidfile = server.path("pid")
    # A file, not a pipe: with logging to stderr the daemon keeps it.
    pid = os.fork()
    if pid == 0:
        log = os.open(server.path("log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(log, 1)
        os.dup2(log, 2)
        command = server.command("-D", "-p", pidfile, *args)
        os.execv(command[0], command)
    begin = time.monotonic()
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            break
        assert time.monotonic() - begin < 30, "the command does not return"
        time.sleep(0.01)
    if os.path.exists(pidfile):
        with open(pidfile, encoding="utf-8") as file:
            server.pid = int(file.read() or 0) or None
    return os.waitstatus_to_exitcode(status), server.log


def test_the_command_returns_when_all_workers_serve_and_the_pid_is_written():
    with Stub(workers=3) as server:
        status, log = daemon(server)
        assert status == 0, log
        assert server.pid and proc.alive(server.pid)
        assert len(server.workers()) == 3
        assert server.ask()[2] == ["locks"]
        fields = proc.stat(server.pid)
        assert os.getsid(server.pid) != os.getsid(0)
        assert os.getsid(server.pid) != server.pid, "a session leader could get a terminal"
        assert fields[4] == "0", "it has a terminal"
        assert os.readlink(f"/proc/{server.pid}/cwd") == "/"
        for number in (0, 1):
            assert os.readlink(f"/proc/{server.pid}/fd/{number}") == "/dev/null"
        os.kill(server.pid, signal.SIGTERM)
        until("it is gone", lambda: not proc.alive(server.pid))
        assert not os.path.exists(server.path("pid"))


def test_a_reload_finds_the_file_that_was_named_relatively():
    with Stub(workers=1) as server:
        command = server.command
        here = os.getcwd()
        os.chdir(server.directory)
        server.command = lambda *args: [word.replace(server.config, "leased.yaml")
                                        for word in command(*args)]
        try:
            assert daemon(server)[0] == 0
        finally:
            os.chdir(here)
        server.write(workers=1, namespaces=["new"])
        os.kill(server.pid, signal.SIGHUP)
        until("the new file", lambda: server.ask()[2] == ["new"])


def test_logs_go_to_syslog_unless_the_file_says_otherwise():
    with Stub(workers=1) as server:
        with open(server.config, encoding="utf-8") as file:
            text = file.read().replace(", target: stderr", "")
        with open(server.config, "w", encoding="utf-8") as file:
            file.write(text)
        status, log = daemon(server)
        assert status == 0 and log == ""
        assert os.readlink(f"/proc/{server.pid}/fd/2") == "/dev/null"


def test_a_port_in_use_is_told_by_the_command():
    with Stub() as first, Stub() as second:
        first.start()
        second.write(port=first.port)
        status, log = daemon(second)
        assert status == 71
        assert f"it is in use by pid {first.pid}\n" in log
        assert not os.path.exists(second.path("pid"))


def test_a_second_daemon_is_refused_with_the_pid():
    with Stub(workers=1) as server:
        assert daemon(server)[0] == 0
        first = server.pid
        status, log = daemon(server)
        assert status == 71
        assert f"leased already runs with pid {first}\n" in log
        assert server.pid == first and server.ask()[2] == ["locks"]


def test_a_bad_file_and_a_bad_backend_are_told_by_the_command():
    with Stub() as server:
        server.write(more="foo: 1\n")
        assert daemon(server)[0] == 78
        server.write(more="backends: [ { name: down, driver: memory } ]\n")
        status, log = daemon(server)
        assert status == 69 and 'backend "down" does not answer' in log


def test_workers_that_do_not_come_up_fail_the_command():
    with Stub(workers=1, namespaces=["die-young"]) as server:
        status, log = daemon(server)
        assert status == 70
        assert "leased: error: the workers do not come up" in log
        assert not os.path.exists(server.path("pid"))


def test_a_server_killed_while_it_starts_fails_the_command():
    with Stub(workers=1, namespaces=["never-ready"]) as server:
        pid = os.fork()
        if pid == 0:
            try:
                status, _ = daemon(server)
                os._exit(status)
            finally:
                os._exit(99)
        until("the pid is written", lambda: os.path.exists(server.path("pid"))
              and os.path.getsize(server.path("pid")) > 1)
        with open(server.path("pid"), encoding="utf-8") as file:
            os.kill(int(file.read()), signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 70
        assert "the server died while it started" in server.log


if __name__ == "__main__":
    main(globals())
