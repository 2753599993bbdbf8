# SPDX-License-Identifier: Apache-2.0
"""Runs t/stub-leased, the real master with workers that speak no gRPC: a connection is answered with
one line, `slot pid namespace…`. Needs nothing but the standard library."""
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import proc  # noqa: E402

BUILD = os.path.abspath(os.environ.get("LEASED_BUILD", "build"))
BINARY = os.path.join(BUILD, "t", "stub-leased")


def until(what, condition, seconds=10):
    """Polls for a named state; its value, or a failure after `seconds`."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.01)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Stub:
    """A directory with a configuration, and perhaps a server that runs on it."""

    def __init__(self, workers=2, namespaces=("locks",), uds=False, port=None, more=""):
        self.directory = tempfile.mkdtemp(prefix="leased-stub-")
        self.port = port or free_port()
        self.uds = os.path.join(self.directory, "s.sock") if uds else None
        self.process = None
        self.pid = None
        self.write(workers, namespaces, more)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.pid and proc.alive(self.pid):
            os.kill(self.pid, signal.SIGKILL)
            until("the killed master is gone", lambda: self.gone(self.pid))
        shutil.rmtree(self.directory)

    def gone(self, pid):
        if self.process and self.process.pid == pid:
            self.process.poll()
        return not proc.alive(pid)

    def path(self, name):
        return os.path.join(self.directory, name)

    @property
    def config(self):
        return self.path("leased.yaml")

    @property
    def log(self):
        try:
            with open(self.path("log"), encoding="utf-8", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def write(self, workers=2, namespaces=("locks",), more="", port=None):
        uds = f", uds: {self.uds}" if self.uds else ""
        names = ", ".join(f"{{ block: lease, name: {name} }}" for name in namespaces)
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(f"server:\n  grpc: {{ tcp: '127.0.0.1:{port or self.port}'{uds} }}\n"
                       f"  workers: {workers}\n  state_dir: {self.path('state')}\n"
                       f"  shutdown_timeout: 1s\n"
                       f"observability: {{ logging: {{ level: debug, target: stderr }} }}\n"
                       f"namespaces: [{names}]\n{more}")

    def command(self, *args):
        return [BINARY, "-f", self.config, *args]

    def run(self, *args, seconds=30):
        """Runs to its end; (exit status, stderr)."""
        done = subprocess.run(self.command(*args), stdin=subprocess.DEVNULL, timeout=seconds,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              check=False)
        return done.returncode, done.stderr

    def start(self, *args, serving=True):
        with open(self.path("log"), "ab") as log:
            self.process = subprocess.Popen(self.command(*args), stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, start_new_session=True)
        self.pid = self.process.pid
        if serving:
            until("serving", lambda: " serving pid=" in self.log or self.process.poll())
            assert self.process.poll() is None, self.log
        return self

    def workers(self):
        return proc.children(self.pid)

    def ask(self, address=None):
        """(slot, pid, [namespace…]) from whichever worker answers."""
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as client:
            client.settimeout(10)
            client.connect(address or ("127.0.0.1", self.port))
            line = b""
            while not line.endswith(b"\n"):
                part = client.recv(4096)
                assert part, "closed without an answer"
                line += part
        words = line.decode().split()
        return int(words[0]), int(words[1]), words[2:]

    def send(self, number):
        os.kill(self.pid, number)

    def stop(self, number=signal.SIGTERM, seconds=10):
        """(exit status, seconds it took)."""
        begin = time.monotonic()
        self.send(number)
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired as error:
            raise AssertionError(f"still there after {seconds} s:\n{self.log}") from error
        return status, time.monotonic() - begin


def main(names):
    """Runs the tests of a file without pytest, as TAP."""
    tests = [(name, value) for name, value in names.items() if name.startswith("test_")]
    failed = 0
    print(f"1..{len(tests)}", flush=True)
    for number, (name, test) in enumerate(tests, 1):
        title = name.removeprefix("test_").replace("_", " ")
        try:
            test()
            print(f"ok {number} - {title}", flush=True)
        except Exception as error:  # pylint: disable=broad-except
            failed += 1
            print(f"not ok {number} - {title}", flush=True)
            for line in f"{type(error).__name__}: {error}".splitlines():
                print("# " + line, flush=True)
    sys.exit(1 if failed else 0)
