# SPDX-License-Identifier: Apache-2.0
"""leasectl on a terminal: Ctrl-C is counted once, jobs stop and go on, pipelines keep their terminal,
waiting is one line that is rewritten (B55, B52)."""
import fcntl
import os
import pty
import re
import select
import shlex
import signal
import struct
import subprocess
import termios
import time

import pytest

from client import until
from drivers import SLOW
from leasectl import LEASECTL, environment

COUNTER = "trap 'echo got-$((n=n+1))' INT; echo ready; " \
          "while [ ! -e {stop} ]; do sleep 0.05; done; exit 21"


class Terminal:
    """A program on a pty of its own, as the leader of its session."""

    def __init__(self, argv, env):
        self.fd, slave = pty.openpty()
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 120, 0, 0))
        # setsid(1) and not fork() here: the gRPC of this process would not bear it.
        self.process = subprocess.Popen(["setsid", "--ctty", *argv], stdin=slave, stdout=slave,
                                        stderr=slave, env=env)
        os.close(slave)
        self.text = ""

    def read(self):
        while select.select([self.fd], [], [], 0)[0]:
            try:
                part = os.read(self.fd, 65536)
            except OSError:
                return
            if not part:
                return
            self.text += part.decode(errors="replace")

    def see(self, what, limit=10, count=1):
        def seen():
            self.read()
            return len(re.findall(what, self.text)) >= count
        try:
            until(seen, limit * SLOW, f"{what!r} is seen")
        except AssertionError as error:
            raise AssertionError(f"{error}; the terminal shows:\n{self.text}") from None

    def type(self, text):
        os.write(self.fd, text.encode())

    def wait(self, limit=10):
        def ended():
            self.read()
            return self.process.poll() is not None
        until(ended, limit * SLOW, f"it has ended:\n{self.text}")
        self.read()
        return self.process.returncode

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.fd)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


@pytest.fixture
def shell(server):
    """An interactive shell with job control."""
    env = environment(server.address, PS1="$ ", TERM="xterm", HISTFILE="", L=LEASECTL)
    with Terminal(["bash", "--norc", "--noprofile", "-i"], env) as terminal:
        terminal.see(r"\$ ")
        yield terminal


def test_ctrl_c_reaches_the_command_once_without_a_shell_B55(server, key, tmp_path):
    stop = tmp_path / "stop"
    argv = [LEASECTL, "run", f"locks/{key}", "--", "sh", "-c", COUNTER.format(stop=stop)]
    with Terminal(argv, environment(server.address)) as terminal:
        terminal.see("ready")
        terminal.type("\x03")
        terminal.see("got-1")
        terminal.type("\x03")
        terminal.see("got-2")
        stop.touch()
        assert terminal.wait() == 21
        assert terminal.text.count("got-") == 2, terminal.text


@pytest.mark.parametrize("form", ["{}", "{} | (trap '' INT; cat)", "true | {}", "sh -c {quoted}", "{} > /dev/tty",
                                  "(trap 'echo outer' INT; {})"],
                         ids=["alone", "pipe-out", "pipe-in", "script", "redirected", "subshell"])
def test_ctrl_c_reaches_the_command_once_in_a_shell_B55(shell, client, key, tmp_path, form):
    stop = tmp_path / "stop"
    command = f"$L run locks/{key} -- sh -c {shlex.quote(COUNTER.format(stop=stop))}"
    script = tmp_path / "script"
    script.write_text(command + "\necho after\n")
    shell.type(form.format(command, quoted=shlex.quote(f". {script}")) + "; echo status-$?\n")
    shell.see(r"[\r\n]ready")
    shell.type("\x03")
    shell.see(r"(\n|\^C)got-1")
    end = time.monotonic() + 0.3
    until(lambda: time.monotonic() > end, 5, "a second would have come")
    stop.touch()
    until(lambda: not client.inspect(key).held, 5 * SLOW, "it has ended")
    if form in ("{}", "true | {}", "{} > /dev/tty"):
        shell.see("status-21")
    shell.read()
    assert "\nafter" not in shell.text, "Ctrl-C ends a script"
    assert len(re.findall(r"got-\d", shell.text.replace("got-$", ""))) == 1, shell.text
    shell.type("stty -a | grep -c isig\n")
    shell.see(r"[\r\n]1[\r\n]")


def test_ctrl_z_and_fg_B55(shell, client, key):
    shell.type(f"$L run locks/{key} -- sh -c 'echo ready; read line; echo \"line=$line\"; exit 3'\n")
    shell.see(r"[\r\n]ready")
    shell.type("\x1a")
    shell.see("stays held")
    shell.see("Stopped")
    assert client.inspect(key).held
    shell.type("echo still-$((1+1))\n")
    shell.see("still-2")
    shell.type("fg\n")
    shell.see(r"\$ fg\r\n.*run locks")
    shell.type("hello\n")
    shell.see("line=hello")
    shell.type("echo status-$?\n")
    shell.see("status-3")
    assert not client.inspect(key).held


def test_a_job_in_the_background_can_come_to_the_front_B55(shell, client, key):
    shell.type(f"$L run locks/{key} -- sh -c 'read line; echo \"line=$line\"; exit 3' &\n")
    shell.see("stays held")  # it wants to read, and the terminal is the shell's
    shell.type("\n")
    shell.see("Stopped")
    shell.type("fg\n")
    shell.see(r"\$ fg\r\n.*run locks")
    shell.type("hello\n")
    shell.see("line=hello")
    until(lambda: not client.inspect(key).held, 5 * SLOW, "the lease is given back")


def test_nested_runs_on_a_terminal_B55(shell, client, new_key, tmp_path):
    outer, inner, stop = new_key(), new_key(), tmp_path / "stop"
    command = f"$L run locks/{inner} -- sh -c {shlex.quote(COUNTER.format(stop=stop))}"
    shell.type(f"$L run locks/{outer} -- $L{command[2:]}; echo status-$?\n")
    shell.see(r"[\r\n]ready")
    shell.type("\x03")
    shell.see("got-1")
    stop.touch()
    shell.see("status-21")
    assert len(re.findall(r"got-\d", shell.text.replace("got-$", ""))) == 1, shell.text
    assert not client.inspect(outer).held and not client.inspect(inner).held


def test_waiting_is_one_line_that_is_rewritten(server, client):
    key = "deploy"
    handle = client.acquire(key, ttl=100)
    other = client.acquire_soon(key, ttl=100, wait=60)
    server.wait_waiters(key, 1)
    argv = [LEASECTL, "acquire", f"locks/{key}", "-w", "1m", "-o", "name"]
    with Terminal(argv, environment(server.address)) as terminal:
        terminal.see(r"expires in \S+, you are 2nd")
        client.release(handle)
        first = other.result()
        terminal.see("you are 1st")
        client.release(first)
        assert terminal.wait() == 0
        assert terminal.text.endswith(f"\r\x1b[Klocks/{key}\r\n"), repr(terminal.text)
        before = terminal.text.rpartition("\r\x1b[K")[0]
        assert "\n" not in before and before.count("\r\x1b[K") >= 2
        assert "-" not in re.findall(r"expires in (\S+),", before)[0]


def test_a_narrow_terminal_is_not_overflown(server, client, new_key):
    key = "k" * 200 + new_key()
    handle = client.acquire(key)
    argv = [LEASECTL, "acquire", f"locks/{key}", "-w", "2500ms"]
    with Terminal(argv, environment(server.address)) as terminal:
        assert terminal.wait() == 75, terminal.text
        lines = [line for line in terminal.text.split("\r\x1b[K") if line.startswith("waiting")]
        assert lines and all(len(line) < 120 for line in lines)
    client.release(handle)


@pytest.mark.parametrize("form", ["{} | cat", "{}; true", "{} & wait", "x=$({}); echo $x"],
                         ids=["pipeline", "script", "background", "substitution"])
def test_B52_all_descendants_are_dead_in_every_form_of_a_script(server, client, key, form):
    mark = f"{70000 + os.getpid() % 10000}.{abs(hash(form)) % 10000:04}"
    run = (f"{LEASECTL} run locks/{key} --ttl 3s -- "
           f"sh -c '(setsid sleep {mark} &); sleep {mark} & wait'")

    def sleepers():
        return subprocess.run(["pgrep", "-f", f"^sleep {mark}$"], capture_output=True, text=True,
                              check=False).stdout.split()
    terminal = Terminal(["bash", "--norc", "-c", form.format(run)], environment(server.address))
    try:
        until(lambda: len(sleepers()) == 2, 10 * SLOW, "both run")
        client.release(client.inspect(key).handle)  # lost
        until(lambda: not sleepers(), 6 * SLOW, "both are gone")
    finally:
        for left in sleepers():
            os.kill(int(left), signal.SIGKILL)
        terminal.close()
