# SPDX-License-Identifier: Apache-2.0
"""The tools of the tests, judged first: a judge that cannot say no proves nothing."""
import io
import json
import os
import subprocess
import sys

import pytest

import wire
from oracle import Oracle

HERE = os.path.dirname(os.path.abspath(__file__))


def grants(*rows):
    oracle = Oracle()
    for token, start, end in rows:
        oracle.granted("k", f"h{token}", token, start, start, end - start)
    return oracle


def test_the_oracle_accepts_grants_that_follow_each_other():
    grants((1, 0, 10), (2, 10, 20), (3, 25, 30)).check()


def test_the_oracle_sees_two_holders_at_once():
    assert len(grants((1, 0, 10), (2, 9.999, 20)).conflicts()) == 1
    with pytest.raises(AssertionError):
        grants((1, 0, 10), (2, 5, 6)).check()


def test_the_oracle_sees_a_token_that_was_given_twice():
    assert any("twice" in text for text in grants((1, 0, 10), (1, 20, 30)).conflicts())


def test_the_oracle_sees_a_token_that_went_back():
    assert grants((2, 0, 10), (1, 20, 30)).conflicts()


def test_the_oracle_keeps_keys_apart():
    oracle = grants((1, 0, 10))
    oracle.granted("other", "h", 2, 5, 5, 10)
    oracle.check()


def test_a_release_ends_a_grant_and_a_renewal_extends_it():
    oracle = Oracle()
    first = oracle.granted("k", "a", 1, 0, 0.1, 10)
    oracle.granted("k", "b", 2, 5, 5.1, 10)
    assert oracle.conflicts()
    oracle.ended(first, 5)
    oracle.check()
    oracle.renewed(first, 3, 10)
    assert oracle.conflicts()


def test_the_oracle_sees_two_holders_after_a_wait():
    oracle = Oracle()
    first = oracle.granted("k", "a", 1, 0, 20, 5, remaining=5)  # asked at 0, granted at 20
    oracle.granted("k", "b", 2, 20, 21, 5)
    assert oracle.conflicts()
    oracle.ended(first, 20.5)
    oracle.check()


def test_grants_of_other_processes_are_judged_too():
    text = io.StringIO()
    grants((1, 0, 10)).dump(text)
    other = grants((2, 5, 6))
    other.load(text.getvalue().splitlines())
    assert other.conflicts()


@pytest.mark.parametrize("value,expected", [(0, b"\0"), (127, b"\x7f"), (128, b"\x80\x01"),
                                            (-1, b"\xff" * 9 + b"\x01")])
def test_varints(value, expected):
    assert wire.varint(value) == expected


def test_what_is_written_by_hand_reads_back():
    message = wire.acquire(key=b"k\0", ttl=wire.duration(1, -2), metadata=[("a", b"\xff")])
    assert wire.first(message, 2) == b"k\0"
    assert wire.fields(wire.first(message, 3)) == [(1, 1), (2, (1 << 64) - 2)]
    plain = wire.PLAIN["AcquireRequest"](namespace="locks", key="x")
    plain.ttl.seconds = 60
    assert plain.SerializeToString() == wire.acquire(key="x", ttl=wire.duration(60))


def run(*files, limit="30"):
    totals = os.path.join(os.environ.get("LEASED_BUILD", "build"), f"totals-{os.getpid()}.json")
    environment = dict(os.environ, LEASED_FILE_LIMIT=limit)
    done = subprocess.run([sys.executable, os.path.join(HERE, "lib", "runner.py"), "--totals",
                           totals, *files], capture_output=True, text=True, env=environment,
                          check=True)
    with open(totals, encoding="ascii") as file:
        have = json.load(file)
    os.unlink(totals)
    return (have["passed"], have["failed"], have["skipped"]), done.stdout


@pytest.mark.parametrize("script,counts", [
    ("echo 'ok - a'; echo 'not ok - b'; echo 'ok - c # SKIP no'; exit 1", (1, 1, 1)),
    ("exit 0", (1, 0, 0)),
    ("exit 3", (0, 1, 0)),
    ("echo 'ok - a'; exit 3", (1, 1, 0)),
    ("echo 'ok - a'; kill -9 $$", (1, 1, 0)),
    ("echo 'ok - a'; sleep 30", (1, 1, 0))], ids=["mixed", "silent", "fails", "fails after ok",
                                                  "dies", "hangs"])
def test_the_runner_counts(tmp_path, script, counts):
    path = tmp_path / "000-x.sh"
    path.write_text(script)
    assert run(str(path), limit="3")[0] == counts


def test_the_runner_counts_pytest_and_shows_the_failure(tmp_path):
    path = tmp_path / "000-x.py"
    path.write_text("def test_good():\n    pass\ndef test_bad_thing():\n    assert 1 == 2\n")
    counts, output = run(str(path))
    assert counts == (1, 1, 0), output
    assert "not ok - 000-x: bad thing" in output and "assert 1 == 2" in output
