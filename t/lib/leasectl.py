# SPDX-License-Identifier: Apache-2.0
"""Runs leasectl: once to its end, or as a `run` whose command and all below it are watched."""
import os
import selectors
import shutil
import signal
import subprocess
import tempfile
import threading
import time

import proc
from client import until
from drivers import SLOW
from server import BUILD, LSAN

LEASECTL = os.path.join(BUILD, "leasectl")


def environment(address, **more):
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(("LEASE_", "LEASED_")) or name == "LEASED_BUILD"}
    env.update(LEASED_ENDPOINT=address, NO_COLOR="1", LSAN_OPTIONS=f"suppressions={LSAN}:"
               "print_suppressions=0")
    env.update(more)
    return env


def leasectl(address, *args, stdin="", seconds=30, **more):
    """(exit status, stdout, stderr)."""
    done = subprocess.run([LEASECTL, *args], input=stdin, capture_output=True, text=True,
                          timeout=seconds * SLOW, check=False, env=environment(address, **more))
    return done.returncode, done.stdout, done.stderr


class Watched:
    """A `leasectl run` of a shell script that starts with `exec 9>$FIFO`: whatever descends from it
    holds the write end, so the end of file is the death of the last of them."""

    def __init__(self, address, key, script, ttl, args=(), **more):
        self.directory = tempfile.mkdtemp(prefix="leasectl-t-")
        fifo = os.path.join(self.directory, "alive")
        os.mkfifo(fifo)
        self.reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        self.ttl, self.key = ttl, key
        self.died = self.died_wall = None
        self.begun = threading.Event()
        self.words = []
        begin = 'exec 9>"$FIFO"; echo $$ >&9; '
        self.errors = open(os.path.join(self.directory, "errors"), "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [LEASECTL, "run", f"locks/{key}", f"--ttl={round(ttl * 1000)}ms", *args, "--", "sh",
             "-c", begin + script], stdin=subprocess.DEVNULL, stdout=self.errors,
            stderr=self.errors, start_new_session=True, env=environment(address, FIFO=fifo, **more))
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()

    def _watch(self):
        with selectors.DefaultSelector() as waiting:
            waiting.register(self.reader, selectors.EVENT_READ)
            text = b""
            while True:
                waiting.select(60)
                try:
                    part = os.read(self.reader, 4096)
                except BlockingIOError:
                    continue
                if part:
                    text += part
                    self.words = text.decode().split()
                    self.begun.set()
                elif self.begun.is_set():
                    self.died, self.died_wall = time.monotonic(), time.time()
                    return
                elif self.process.poll() is not None:
                    return
                else:
                    time.sleep(0.002)  # nobody has opened it yet: that reads as an end of file

    def wait_begun(self):
        until(self.begun.is_set, 10 * SLOW, f"the command of {self.key} runs\n{self.told()}")
        return self

    @property
    def child(self):
        return int(self.words[0])

    @property
    def keeper(self):
        for pid in proc.children(self.process.pid):
            try:
                with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
                    if pid != self.child and file.read().startswith("leasectl-keeper"):
                        return pid
            except OSError:
                pass  # it has just ended
        return None

    def told(self):
        self.errors.flush()
        with open(self.errors.name, encoding="utf-8", errors="replace") as file:
            return file.read()

    def wait_dead(self, limit):
        until(lambda: self.died, limit * SLOW, f"everything below {self.key} is gone")
        return self.died

    def wait(self, limit=15):
        status = self.process.wait(timeout=limit * SLOW)
        self.thread.join(1)
        return status

    def close(self):
        # The keeper is let live: it ends what is below.
        for number in (signal.SIGCONT, signal.SIGKILL):
            self.process.send_signal(number)  # knows when the number is somebody else's by now
        self.process.wait()
        self.thread.join(3)
        os.close(self.reader)
        self.errors.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
