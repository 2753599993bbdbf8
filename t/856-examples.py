# SPDX-License-Identifier: Apache-2.0
"""The examples in Python and shell run as they stand."""
import os
import re
import signal
import subprocess

import pytest

from client import held
from drivers import SLOW
from pyclient import PACKAGE, SOURCE
from server import BUILD

EXAMPLES = os.path.join(SOURCE, "examples")
LEASECTL = os.path.join(BUILD, "leasectl")


def environment(server, **more):
    path = f"{PACKAGE}:{os.path.join(BUILD, 't', 'py')}"
    return dict(os.environ, PYTHONPATH=path, LEASED_ENDPOINT=server.address, **more)


def run(server, *command, status=0, **more):
    done = subprocess.run(command, env=environment(server, **more), text=True, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=60 * SLOW)
    assert done.returncode == status, done.stdout
    return done.stdout


def python(name):
    return ["/usr/bin/python3", os.path.join(EXAMPLES, "python", name)]


def test_hold(server):
    said = run(server, *python("hold.py"))
    assert said.count("step") == 3 and said.endswith("done\n")
    with server.client() as client:
        assert not client.inspect("example/hold").held


def test_hold_is_exclusive_and_ends_with_its_program(server):
    process = subprocess.Popen(python("hold.py"), stdout=subprocess.PIPE, text=True,
                               env=environment(server, STEP="60"))
    assert process.stdout.readline().startswith("step 1")
    with server.client() as client:
        with held():
            client.acquire("example/hold")
        process.send_signal(signal.SIGKILL)
        process.wait()
        handle = client.acquire("example/hold", wait=20)
        client.release(handle)


def test_the_stale_writer_is_refused_by_its_token(server):
    said = run(server, *python("fencing.py"))
    tokens = [int(number) for number in re.findall(r"holds the lease with token (\d+)", said)]
    assert len(tokens) == 2 and tokens[1] > tokens[0]
    assert f"refused: token {tokens[0]} is older" in said
    assert said.endswith("the account has 70\n"), "B's withdrawal is kept, A's is not"


def test_without_the_guard_the_stale_write_would_go_through(server, tmp_path):
    """The example proves something: with the guard taken out it ends otherwise."""
    with open(os.path.join(EXAMPLES, "python", "fencing.py"), encoding="utf-8") as file:
        text = file.read()
    unguarded = text.replace(" AND fencing_token <= ?\", (balance, token, token))",
                             "\", (balance, token))")
    assert unguarded != text
    (tmp_path / "unguarded.py").write_text(unguarded)
    said = run(server, "/usr/bin/python3", str(tmp_path / "unguarded.py"), status=1)
    assert "the stale write went through" in said


def test_asyncio(server):
    said = run(server, *python("aio.py"))
    tokens = [int(number) for number in re.findall(r"fencing token (\d+)", said)]
    assert len(tokens) == 3 and tokens == sorted(set(tokens))
    assert said.endswith("held afterwards: []\n")


@pytest.mark.limit(90)
def test_shell(server):
    path = f"{os.path.dirname(LEASECTL)}:{os.environ['PATH']}"
    said = run(server, "sh", os.path.join(EXAMPLES, "shell", "deploy.sh"), PATH=path)
    assert re.search(r"at work on example/shell with fencing token \d+", said)
    assert "held: true" in said and re.search("ends with status [1-9]", said)
    with server.client() as client:
        assert not client.inspect("example/shell").held
