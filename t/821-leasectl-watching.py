# SPDX-License-Identifier: Apache-2.0
"""leasectl watch, top and completion."""
import importlib.util
import json
import os
import subprocess

import pytest

from client import until
from drivers import SLOW
from leasectl import LEASECTL, environment, leasectl
from server import Server

SOURCE = os.environ.get("LEASED_SOURCE", os.getcwd())


@pytest.fixture
def terminal():
    path = os.path.join(os.path.dirname(__file__), "820-leasectl-terminal.py")
    spec = importlib.util.spec_from_file_location("terminal", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Terminal


class Watch:
    def __init__(self, address, *args):
        self.process = subprocess.Popen([LEASECTL, "watch", "locks", "-i", "30ms", *args],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env=environment(address))
        os.set_blocking(self.process.stdout.fileno(), False)
        self.text = ""

    def events(self):
        try:
            self.text += os.read(self.process.stdout.fileno(), 1 << 16).decode()
        except BlockingIOError:
            pass
        lines = self.text.split("\n")[:-1]
        return [(one["event"], one["handle"]["key"]) for one in map(json.loads, lines)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


def test_every_change_is_one_event(server, client, new_key):
    prefix = new_key()
    a, b, c = (f"{prefix}/{name}" for name in "abc")
    first = client.acquire(a, ttl=60)
    with Watch(server.address, "--prefix", prefix) as watch:
        want = [("acquired", a)]
        until(lambda: watch.events() == want, 5 * SLOW, "what is held already is told")
        second = client.acquire(b, ttl=60)
        want.append(("acquired", b))
        until(lambda: watch.events() == want, 5 * SLOW, "an acquire")
        client.renew(first, ttl=90)
        want.append(("renewed", a))
        until(lambda: watch.events() == want, 5 * SLOW, "a renewal")
        client.release(second)
        want.append(("released", b))
        until(lambda: watch.events() == want, 5 * SLOW, "a release")
        client.acquire(c, ttl=0.4)
        want += [("acquired", c), ("expired", c)]
        until(lambda: watch.events() == want, 5 * SLOW, "an expiry")
        client.release(first)
        again = client.acquire(a)
        want += [("released", a), ("acquired", a)]
        until(lambda: watch.events() == want, 5 * SLOW, "a change of hands")
        client.release(again)


def test_watch_goes_on_after_an_outage():
    with Server(workers=1) as server, Watch(server.address) as watch:
        with server.client() as client:
            client.acquire("a", ttl=60)
        until(lambda: watch.events() == [("acquired", "a")], 5 * SLOW, "it is told")
        server.kill()
        server.start()
        with server.client() as client:
            client.acquire("b", ttl=60)
        until(lambda: watch.events()[-1] == ("acquired", "b"), 10 * SLOW, "it is told")


def test_top_is_refreshed_and_q_quits(server, client, new_key, terminal):
    prefix = new_key()
    env = environment(server.address, TERM="xterm")
    handle = client.acquire(f"{prefix}/one", metadata={"a": "\x1b[2J"})
    with terminal([LEASECTL, "top", "locks", "-i", "100ms", "-p", prefix], env) as screen:
        screen.see("1 held")
        screen.see(f"{prefix}/one")
        for number in range(40):
            client.acquire(f"{prefix}/{number:02}")
        screen.see("41 held")
        screen.see("and 22 more")
        client.release(handle)
        screen.see("40 held")
        screen.type("q")
        assert screen.wait() == 0
        assert screen.text.endswith("\x1b[?25h\x1b[?1049l")


def test_top_without_a_terminal_is_list(server, client, key):
    client.acquire(key)
    status, text, _ = leasectl(server.address, "top", "locks", "-p", key)
    assert status == 0 and text.startswith("KEY") and key in text


def test_the_installed_completion_is_what_is_printed(server):
    with open(os.path.join(SOURCE, "etc", "leasectl.bash-completion"), encoding="utf-8") as file:
        assert leasectl(server.address, "completion", "bash")[1] == file.read()
    assert leasectl(server.address, "completion", "zsh")[1].startswith("#compdef leasectl\n")
    assert "complete -c leasectl" in leasectl(server.address, "completion", "fish")[1]
    assert leasectl(server.address, "completion", "csh")[0] == 64


def complete(server, line, directory):
    script = f"""
        PATH={os.path.dirname(LEASECTL)}:$PATH
        . <(leasectl completion bash)
        COMP_WORDS=({line} "$1"); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
        _leasectl
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    last = "" if line.endswith(" ") else None
    words = line.split()
    if last is None:
        last = words.pop()
    script = script.replace(f"({line} ", f"({' '.join(words)} ")
    return subprocess.run(["bash", "-c", script, "bash", last], capture_output=True, text=True,
                          cwd=directory, check=True, env=environment(server.address)
                          ).stdout.splitlines()


def test_bash_completes_verbs_options_and_keys(server, client, new_key, tmp_path):
    prefix = new_key().replace("_", "-")
    keys = [f"{prefix}/a b", f"{prefix}/$(touch made)`touch made`", f"{prefix}/c"]
    for key in keys:
        client.acquire(key)
    assert complete(server, "leasectl re", tmp_path) == ["renew", "release"]
    assert "--on-lost" in complete(server, "leasectl run --", tmp_path)
    assert "--on-lost" not in complete(server, "leasectl list --", tmp_path)
    assert complete(server, "leasectl -o js", tmp_path) == ["json", "jsonl"]
    found = complete(server, f"leasectl inspect locks/{prefix}/", tmp_path)
    assert f"locks/{prefix}/c" in found and f"locks/{prefix}/a\\ b" in found and len(found) == 3
    assert not os.listdir(tmp_path), "a key was executed"
