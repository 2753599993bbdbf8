# SPDX-License-Identifier: Apache-2.0
"""leasectl: the verbs that are one call each, their output and exit statuses."""
import json
import os
import re
import stat
import subprocess

import pytest

from client import until
from drivers import SLOW
from leasectl import LEASECTL, environment, leasectl
from server import free_port

FORMS = ("table", "wide", "json", "jsonl", "name")


@pytest.fixture
def ctl(server):
    return lambda *args, **more: leasectl(server.address, *args, **more)


def test_a_lease_is_taken_shown_renewed_and_given_back(ctl, client, key):
    status, text, errors = ctl("acquire", f"locks/{key}", "--ttl", "60s", "-m", "note=a b", "-o",
                               "json")
    assert (status, errors) == (0, "")
    handle = json.loads(text)["handle"]
    seen = client.inspect(key).handle
    assert handle["holderId"] == seen.holder_id
    assert handle["fencingToken"] == str(seen.fencing_token)
    assert handle["metadata"] == {"note": "a b"} and handle["key"] == key
    assert re.fullmatch(r"59\.\d+s|60s", handle["remaining"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", handle["expiresAt"])
    assert handle["acquiredAt"] == seen.acquired_at.ToJsonString()
    status, text, _ = ctl("inspect", "-n", "locks", "-k", key, "-o", "json")
    assert status == 0 and json.loads(text)["held"] is True
    status, text, _ = ctl("renew", f"locks/{key}", "--holder", handle["holderId"], "-t", "5m",
                          "-o", "jsonl")
    assert status == 0 and text.count("\n") == 1
    assert re.fullmatch(r"299\.\d+s|300s", json.loads(text)["handle"]["remaining"])
    assert ctl("release", f"locks/{key}", handle["holderId"])[0] == 0
    status, text, errors = ctl("release", f"locks/{key}", handle["holderId"])
    assert (status, text) == (1, "") and "held by nobody" in errors
    status, text, errors = ctl("inspect", f"locks/{key}")
    assert (status, text) == (1, "") and "is free" in errors


def test_a_refusal_names_who_how_long_and_the_time_left(ctl, client, key):
    client.acquire(key, ttl=40)
    status, text, errors = ctl("acquire", f"locks/{key}")
    assert (status, text) == (75, "")
    assert re.fullmatch(rf"leasectl: locks/{re.escape(key)}: already held for 0\.\ds "
                        r"\(since \S+Z\), \S+s left\n", errors), errors


def test_a_wrong_holder_is_a_clean_no(ctl, client, key):
    client.acquire(key)
    for verb in ("renew", "release"):
        status, text, errors = ctl(verb, f"locks/{key}", "--holder", "somebody")
        assert (status, text) == (1, "") and "not held by this holder" in errors


def test_waiting_ends_with_the_lease_or_with_75(ctl, client, server, key):
    handle = client.acquire(key)
    status, _, errors = ctl("acquire", f"locks/{key}", "--wait", "700ms")
    assert status == 75
    assert re.search(r"waiting for locks/\S+: held by \S+ for \S+, expires in \S+, "
                     r"you are 1st \(0\.\ds so far\)\n", errors), errors
    with subprocess.Popen([LEASECTL, "acquire", f"locks/{key}", "-w", "20s"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=environment(server.address)) as waiting:
        server.wait_waiters(key, 1)
        client.release(handle)
        text, _ = waiting.communicate(timeout=10 * SLOW)
        assert waiting.returncode == 0 and key in text


def test_a_quiet_wait_says_nothing(ctl, client, key):
    client.acquire(key)
    status, text, errors = ctl("acquire", f"locks/{key}", "--wait", "400ms", "-q")
    assert status == 75 and text == "" and errors.count("\n") == 1


@pytest.mark.parametrize("form", FORMS)
def test_lists_of_any_length_come_whole_and_ordered(ctl, client, new_key, form):
    prefix = new_key()
    count = 2300 if form == "jsonl" else 30
    waiting = [client.acquire_soon(f"{prefix}/{number:05}", ttl=120) for number in range(count)]
    for one in waiting:
        one.result()
    status, text, errors = ctl("list", "locks", "--prefix", prefix, "-o", form)
    assert (status, errors) == (0, "")
    want = [f"{prefix}/{number:05}" for number in range(count)]
    if form == "json":
        assert [lease["key"] for lease in json.loads(text)["leases"]] == want
    elif form == "jsonl":
        assert [json.loads(line)["key"] for line in text.splitlines()] == want
    elif form == "name":
        assert text.splitlines() == ["locks/" + key for key in want]
    else:
        lines = text.splitlines()
        assert lines[0].split()[-1] == ("METADATA" if form == "wide" else "TOKEN")
        column = 1 if form == "wide" else 0
        assert [line.split()[column] for line in lines[1:]] == want


def test_an_empty_list_is_no_error(ctl):
    assert json.loads(ctl("list", "other", "-o", "json", "--prefix", "none such")[1]) == {}
    assert ctl("list", "other", "-o", "jsonl", "--prefix", "none such")[:2] == (0, "")


def test_names_cannot_move_the_cursor(ctl, client, new_key):
    key = new_key() + "\x1b[2J\r\n\u202e"
    handle = client.acquire(key, metadata={"a": "\x1b]0;title\x07"})
    status, text, _ = ctl("list", "locks", "-o", "wide", "--prefix", key)
    assert status == 0 and "\x1b" not in text and "\r" not in text and "\u202e" not in text
    assert "\\x1b[2J\\x0d\\x0a" in text and text.count("\n") == 2
    status, text, _ = ctl("inspect", "-n", "locks", "-k", key, "-o", "json")
    assert json.loads(text)["handle"]["key"] == key
    client.release(handle)


@pytest.mark.parametrize("args, status", [
    (("acquire", "locks/"), 64), (("acquire",), 64), (("acquire", "nope/k"), 64), ((), 64),
    (("acquire", "locks/k", "--ttl", "0"), 64), (("acquire", "locks/k", "--ttl", "5x"), 64),
    (("acquire", "locks/k", "--ttl", "9d1d"), 64), (("acquire", "locks/k", "--ttl", "400d"), 64),
    (("nope",), 64), (("list", "--nope"), 64), (("list", "--ttl", "3s"), 64),
    (("acquire", "locks/k", "-o", "yaml"), 64), (("renew", "locks/k"), 64),
    (("run", "locks/k", "true"), 64), (("run", "locks/k", "--"), 64),
    (("run", "locks/k", "--ttl", "500ms", "--", "true"), 64),
    (("run", "locks/k", "--ttl", "6s", "--kill-grace", "3s", "--", "true"), 64),
    (("run", "locks/k", "--on-lost", "pray", "--", "true"), 64),
    (("list", "locks", "--token-file", "/nonexistent"), 64),
    (("inspect", "locks/none-such"), 1), (("health",), 0), (("version",), 0), (("--help",), 0),
    (("run", "--help"), 0), (("-V",), 0)])
def test_exit_statuses(ctl, args, status):
    got, text, errors = ctl(*args)
    assert got == status, errors
    assert bool(text) == (status == 0) and bool(errors) == (status != 0)


@pytest.mark.parametrize("text, want", [
    ("90", "90s"), ("1m30s", "90s"), ("1.5m", "90s"), ("2500ms", "2.500s"), ("0.25h", "900s")])
def test_durations(ctl, client, new_key, text, want):
    key = new_key()
    assert ctl("acquire", f"locks/{key}", "--ttl", text, "-q")[0] == 0
    handle = client.inspect(key).handle
    spent = handle.expires_at.ToNanoseconds() - handle.acquired_at.ToNanoseconds()
    assert abs(spent / 1e9 - float(want[:-1])) < 0.01


@pytest.mark.parametrize("verb", [("list", "locks"), ("health",), ("acquire", "locks/k"),
                                  ("run", "locks/k", "--", "true")])
def test_an_absent_server_is_69_at_once(verb):
    status, text, errors = leasectl(f"127.0.0.1:{free_port()}", *verb, seconds=5)
    assert (status, text) == (69, "") and "cannot reach the server" in errors


def test_health_tells_of_services(ctl):
    assert ctl("health")[:2] == (0, "SERVING\n")
    assert json.loads(ctl("health", "mindd.lease.v1.Lease", "-o", "json")[1]) == {
        "status": "SERVING"}
    assert ctl("health", "nope")[0] == 64


TOKENS = {"T\n": 0, "T\r\n": 0, "T": 0, "  T \n\n": 0, "\ufeffT\n": 0, "": 64, "\n": 64, "a b": 64,
          "a\nb\n": 64}


@pytest.mark.parametrize("text", list(TOKENS))
def test_token_files_B48(ctl, tmp_path, text):
    path = tmp_path / "token"
    path.write_text(text, newline="")
    path.chmod(0o600)
    status, _, errors = ctl("list", "locks", "-o", "name", LEASED_TOKEN_FILE=str(path))
    assert status == TOKENS[text], errors
    assert "T" not in errors.replace("Try", "") and "warning" not in errors


def test_token_files_that_others_may_read_or_that_are_none_B48(ctl, tmp_path):
    path = tmp_path / "token"
    path.write_text("T")
    path.chmod(0o644)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o644
    status, _, errors = ctl("list", "locks", "-o", "name", "--token-file", str(path))
    assert status == 0 and "others may read" in errors
    assert ctl("list", "locks", "--token-file", str(tmp_path))[0] == 64


def test_a_unix_socket_is_an_endpoint(tmp_path):
    from server import Server
    with Server(workers=1, uds=True) as server:
        assert leasectl(f"unix:{server.socket_path}", "health")[:2] == (0, "SERVING\n")


def test_colour_only_when_asked_for(ctl, client, key):
    client.acquire(key)
    assert "\033" not in ctl("inspect", f"locks/{key}")[1]
    assert "\033[1m" in ctl("inspect", f"locks/{key}", "--color", "always")[1]


def test_a_full_disk_is_no_success(server):
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([LEASECTL, "version"], stdout=full, stderr=subprocess.PIPE,
                              check=False, env=environment(server.address))
    assert done.returncode == 70


def test_an_acquire_that_is_interrupted_leaves_no_waiter(ctl, client, server, key):
    client.acquire(key)
    with subprocess.Popen([LEASECTL, "acquire", f"locks/{key}", "-w", "1m", "-q"],
                          env=environment(server.address)) as waiting:
        server.wait_waiters(key, 1)
        waiting.terminate()
        assert waiting.wait(5) == -15
    until(lambda: client.inspect(key).waiters == 0, 3 * SLOW, "the waiter is gone")
