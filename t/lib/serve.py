# SPDX-License-Identifier: Apache-2.0
"""Runs a command beside a server of its own: serve.py PORT COMMAND... (PORT 0: any free one).
The command finds the address in LEASED_ADDRESS; its exit status is this program's."""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.environ.get("LEASED_BUILD", "build"), "t", "py")]

from server import Server  # noqa: E402


def main(port, command):
    with Server(workers=2, port=int(port) or None) as server:
        return subprocess.call(command, env=dict(os.environ, LEASED_ADDRESS=server.address))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
