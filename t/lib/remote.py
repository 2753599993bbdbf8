# SPDX-License-Identifier: Apache-2.0
"""A client in a process of its own, so that it can be frozen and killed.

As a program: reads one JSON command a line from standard input, starts it at once, and writes one
JSON line per answer: {"id", "ok", "t0", "received", ...}. As a module: Remote starts and drives it.
"""
import json
import os
import select
import subprocess
import sys
import threading
import time

from client import Client, LeaseError
from drivers import SLOW

HERE = os.path.abspath(__file__)


class Remote:
    def __init__(self, address, prefix=()):
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
        self.process = subprocess.Popen(
            list(prefix) + [sys.executable, HERE, address], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, env=environment)
        self._count, self._buffer, self._answers = 0, b"", {}
        self.wait(self.send("ready"), 20)

    def send(self, command, **arguments):
        """Sends a command; its id for wait()."""
        self._count += 1
        line = json.dumps({"id": self._count, "do": command, **arguments}) + "\n"
        self.process.stdin.write(line.encode())
        self.process.stdin.flush()
        return self._count

    def wait(self, ident, limit=10):
        """The answer to a command."""
        end = time.monotonic() + limit * SLOW
        output = self.process.stdout.fileno()
        while ident not in self._answers:
            left = end - time.monotonic()
            ready = left > 0 and select.select([output], [], [], left)[0]
            assert ready, f"no answer from the client process within {limit} s"
            chunk = os.read(output, 65536)
            assert chunk, "the client process has ended"
            *lines, self._buffer = (self._buffer + chunk).split(b"\n")
            for line in lines:
                answer = json.loads(line)
                self._answers[answer["id"]] = answer
        return self._answers.pop(ident)

    def do(self, command, limit=10, **arguments):
        return self.wait(self.send(command, **arguments), limit)

    def signal(self, number):
        self.process.send_signal(number)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def serve(address):
    client = Client(address, timeout=600)
    lock, handles = threading.Lock(), {}

    def run(command):
        do = command["do"]
        handle = handles.get(command.get("lease"))
        time.sleep(command.get("after", 0))
        answer = {"id": command["id"], "ok": True, "t0": time.monotonic()}
        try:
            if do == "acquire":
                handle = client.acquire(command["key"], command["ttl"], command.get("wait"),
                                        metadata=command.get("metadata"))
                handles[command["lease"]] = handle
                answer.update(holder=handle.holder_id, token=handle.fencing_token)
            elif do == "renew":
                client.renew(handle, command["ttl"])
            elif do == "release":
                answer["existed"] = client.release(handle)
        except LeaseError as error:
            answer.update(ok=False, code=error.code.name, text=error.text, reason=error.reason)
        answer["received"] = time.monotonic()
        with lock:
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()

    for line in sys.stdin:
        threading.Thread(target=run, args=(json.loads(line),), daemon=True).start()


if __name__ == "__main__":
    serve(sys.argv[1])
