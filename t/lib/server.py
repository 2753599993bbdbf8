# SPDX-License-Identifier: Apache-2.0
"""Starts and stops a `leased` of its own for tests: free port, unique segment, state in a temporary
directory, nothing left behind."""
import atexit
import glob
import itertools
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import grpc

import proc
import wire
from client import Client, until
from drivers import DRIVER, SLOW

BUILD = os.path.abspath(os.environ.get("LEASED_BUILD", "build"))
BINARY = os.path.join(BUILD, "leased")
LSAN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lsan.supp")

_count = itertools.count(1)
_living = []


def free_port(host="127.0.0.1"):
    """A port that was free a moment ago."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.bind((host, 0))
        return probe.getsockname()[1]


def _environment(directory, extra):
    env = dict(os.environ, **(extra or {}))
    # Reports of workers go to files: their stderr is shared and they may be killed at any time.
    log = os.path.join(directory, "sanitizer")
    env["ASAN_OPTIONS"] = f"log_path={log}:detect_stack_use_after_return=1:"
    env["ASAN_OPTIONS"] += "abort_on_error=0:verify_asan_link_order=0"
    env["UBSAN_OPTIONS"] = f"log_path={log}:print_stacktrace=1"
    env["LSAN_OPTIONS"] = f"suppressions={LSAN}:print_suppressions=0"
    env.pop("STATE_DIRECTORY", None)
    return env


class Server:
    def __init__(self, workers=4, options=None, text="", server_text="", namespaces=("locks",
                 "other"), uds=False, prefix=(), env=None, start=True, args=(), tag=None, port=None,
                 also=(), binary=BINARY, backends=None):
        self.workers = workers
        self.directory = tempfile.mkdtemp(prefix="leased-t-")
        self.tag = tag or f"leased-t-{os.getpid()}-{next(_count)}"
        self.port = port or free_port()
        self.also = list(also)  # more addresses to listen on
        self.options, self.text, self.server_text = dict(options or {}), text, server_text
        self.namespaces = list(namespaces)
        self.socket_path = os.path.join(self.directory, "leased.sock") if uds else None
        self.prefix, self.args, self.env = list(prefix), list(args), env
        self.process, self.binary = None, binary
        self.backends = backends  # lines of the file; the default is one of the driver under test
        _living.append(self)
        if start:
            self.start()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.close(judge=kind is None)

    # --- the files -------------------------------------------------------------------------

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    @property
    def config(self):
        return os.path.join(self.directory, "leased.yaml")

    @property
    def log_path(self):
        return os.path.join(self.directory, "log")

    def configuration(self):
        addresses = ", ".join(f'"{address}"' for address in [self.address] + self.also)
        lines = ["server:", "  grpc:", f"    tcp: [{addresses}]"]
        if self.socket_path:
            lines.append(f"    uds: \"{self.socket_path}\"")
        lines += [f"  workers: {self.workers}", f"  state_dir: \"{self.directory}/state\""]
        lines += self.server_text.splitlines()
        lines += ["backends:"] + (self.backends or DRIVER.backend(self.tag, self.options))
        lines += ["namespaces:"]
        lines += [f"  - {{ block: lease, name: {name}, backend: store }}"
                  for name in self.namespaces]
        return "\n".join(lines) + "\n" + self.text

    def write_config(self):
        os.makedirs(os.path.join(self.directory, "state"), exist_ok=True)
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(self.configuration())

    def log(self):
        try:
            with open(self.log_path, encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError:
            return ""

    # --- life ------------------------------------------------------------------------------

    def launch(self):
        """Starts the process and does not wait for it."""
        self.write_config()
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                self.prefix + [self.binary, "-f", self.config] + self.args, stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, env=_environment(self.directory, self.env),
                start_new_session=True)

    def start(self, limit=15):
        self.launch()
        self.wait_serving(limit)
        return self

    def serving(self, timeout=1):
        with grpc.insecure_channel(self.address, options=[
                ("grpc.use_local_subchannel_pool", 1)]) as channel:
            try:
                answer = channel.unary_unary("/grpc.health.v1.Health/Check")(b"", timeout=timeout)
            except grpc.RpcError:
                return False
        return wire.health_status(answer) == wire.HEALTH_SERVING

    def wait_serving(self, limit=15):
        def ready():
            assert self.process.poll() is None, \
                f"leased ended with {self.process.returncode}:\n{self.log()}"
            return len(self.worker_pids()) >= self.workers and self.serving()
        try:
            until(ready, limit * SLOW, "leased serves", pause=0.02)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.log()}") from None

    @property
    def master(self):
        """The master's pid: with a prefix such as unshare it is a descendant of what was run."""
        pid = self.process.pid
        for _ in range(4):
            if os.path.basename(_exe(pid)).removesuffix(" (deleted)") == "leased":
                return pid
            below = proc.children(pid)
            if not below:
                return pid
            pid = below[0]
        return pid

    def worker_pids(self):
        return proc.children(self.master)

    def tree(self):
        return [self.master] + self.worker_pids()

    def send(self, number):
        os.kill(self.master, number)

    def stop(self, limit=12, number=signal.SIGTERM):
        """Stops it in an orderly way; the exit status. With number=None it was told before: a second
        signal means "at once" and cuts off the last answers."""
        tree = self.tree()
        try:
            if number is not None:
                os.kill(tree[0], number)
        except ProcessLookupError:
            pass
        try:
            status = self.process.wait(timeout=limit * SLOW)
        except subprocess.TimeoutExpired:
            stacks = self.log()
            self.kill()
            raise AssertionError(f"leased did not stop within {limit} s\n{stacks}") from None
        left = [pid for pid in tree if proc.alive(pid)]
        assert not left, f"left running after the master's end: {left}"
        return status

    def kill(self):
        """SIGKILL for the whole tree; returns when all are gone."""
        if not self.process:
            return
        tree = self.tree()
        for pid in tree + [self.process.pid]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()
        until(lambda: not any(proc.alive(pid) for pid in tree), 10, "the tree is gone")

    def reports(self):
        """Texts of sanitizer reports and of lines that tell of a bug."""
        found = []
        for path in glob.glob(os.path.join(self.directory, "sanitizer*")):
            with open(path, encoding="utf-8", errors="replace") as file:
                found.append(file.read())
        found += [line for line in self.log().splitlines()
                  if re.match(r"\S+ (bug|fatal) ", line) or "Sanitizer" in line]
        return found

    def close(self, judge=True):
        """Ends it whatever its state, removes what it made. judge: a bug found on the way and an
        end that is not clean are failures."""
        wrong = []
        try:
            if self.process and self.process.poll() is None:
                if judge:
                    status = self.stop()
                    if status != 0:
                        wrong.append(f"exit status {status}")
                else:
                    self.kill()
            wrong += self.reports()
        finally:
            log = self.log()
            if self.process and self.process.poll() is None:
                self.kill()
            self.remove()
        if judge and wrong:
            raise AssertionError("\n".join(wrong) + "\n--- log\n" + log[-4000:])

    def remove(self):
        for path in glob.glob(f"/dev/shm/{self.tag}*"):
            os.unlink(path)
        shutil.rmtree(self.directory, ignore_errors=True)
        if self in _living:
            _living.remove(self)

    # --- clients ---------------------------------------------------------------------------

    def client(self, **more):
        return Client(self.address, **more)

    def served_by(self):
        """{client port: pid of the worker that has the connection}."""
        owners = proc.socket_owners(self.worker_pids())
        return {port: owners[inode] for port, inode in proc.tcp_connections(self.port).items()
                if inode in owners}

    def connect(self, **more):
        """A client whose connection stands; .worker is the pid that serves it."""
        before = proc.tcp_own(self.port)
        client = self.client(**more)
        grpc.channel_ready_future(client.channel).result(timeout=10 * SLOW)

        def found():
            mine = proc.tcp_own(self.port) - before
            new = {port: pid for port, pid in self.served_by().items() if port in mine}
            return new if len(new) == 1 else None
        served = until(found, 5 * SLOW, "the new connection has a worker")
        client.worker = next(iter(served.values()))
        return client

    def connect_apart(self, count):
        """Clients on `count` different workers."""
        chosen, spare = {}, []
        for _ in range(64):
            client = self.connect()
            if client.worker in chosen:
                spare.append(client)
            else:
                chosen[client.worker] = client
            if len(chosen) == count:
                break
        for client in spare:
            client.close()
        assert len(chosen) == count, f"64 connections reached only {len(chosen)} workers"
        return list(chosen.values())

    def connect_to(self, pid):
        """A client served by the worker `pid`."""
        spare = []
        try:
            for _ in range(64):
                client = self.connect()
                if client.worker == pid:
                    return client
                spare.append(client)
        finally:
            for client in spare:
                client.close()
        raise AssertionError(f"64 connections and none reached worker {pid}")

    def connect_beside(self, pid):
        """A client served by any worker but `pid`."""
        spare = []
        try:
            for _ in range(64):
                client = self.connect()
                if client.worker != pid:
                    return client
                spare.append(client)
        finally:
            for client in spare:
                client.close()
        raise AssertionError(f"64 connections and all reached worker {pid}")

    def wait_waiters(self, key, count, limit=5, namespace="locks"):
        """Returns when exactly `count` waiters are queued on the key."""
        with self.client() as client:
            until(lambda: client.inspect(key, namespace).waiters == count, limit * SLOW,
                  f"{count} waiters on {key!r}")


def _exe(pid):
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return ""


@atexit.register
def _remove_all():
    for server in list(_living):
        try:
            server.close(judge=False)
        except (AssertionError, OSError):
            pass


def wait_gone(pids, limit):
    until(lambda: not any(proc.alive(pid) for pid in pids), limit, f"{pids} are gone")


def now():
    return time.monotonic()
