# SPDX-License-Identifier: Apache-2.0
"""leasectl run: what the command sees, signals, exit statuses, and what is left (B55)."""
import os
import signal
import subprocess

import pytest

import proc
from client import until
from drivers import SLOW
from leasectl import LEASECTL, Watched, environment, leasectl
from server import free_port

FORWARDED = ["INT", "TERM", "HUP", "QUIT", "USR1", "USR2", "ALRM"]


@pytest.fixture
def run(server, key):
    return lambda *args, **more: leasectl(server.address, "run", f"locks/{key}", "--", *args, **more)


@pytest.mark.parametrize("code", [0, 1, 42, 64, 124, 255])
def test_the_exit_status_is_the_commands_B55(run, code):
    assert run("sh", "-c", f"exit {code}")[0] == code


@pytest.mark.parametrize("name", ["TERM", "KILL", "SEGV", "INT", "USR1"])
def test_a_command_that_dies_by_a_signal_is_128_and_its_number_B55(run, name):
    number = getattr(signal, "SIG" + name)
    assert run("sh", "-c", f"ulimit -c 0; kill -{name} $$; sleep 5")[0] == 128 + number


def test_missing_and_not_executable_commands_B55(run, client, key):
    status, text, errors = run("no-such-command-here")
    assert (status, text) == (127, "") and "no-such-command-here" in errors
    assert run("/etc/passwd")[0] == 126
    assert run("/etc/passwd/x")[0] == 127
    assert not client.inspect(key).held


def test_arguments_pass_as_they_are_B55(run):
    given = ["", "a b", "'\"", "two\nlines", "--ttl", "--", "-x", "$HOME", "*", "ü"]
    _, text, errors = run("printf", "[%s]", *given)
    assert text == "".join(f"[{one}]" for one in given), errors


def test_stdin_and_stdout_are_the_commands_B55(run):
    data = "line\n" * 100_000
    assert run("cat", stdin=data)[1] == data
    assert run("sh", "-c", "echo out; echo err >&2")[1:] == ("out\n", "err\n")


def test_the_command_knows_its_lease(server, client, key):
    script = 'echo "$LEASE_NAMESPACE $LEASE_KEY $LEASE_FENCING_TOKEN $LEASE_HOLDER_ID ' \
             '$LEASE_EXPIRES_AT" >&9; sleep 1000'
    with Watched(server.address, key, script, 20, LEASE_KEY="outer") as watched:
        watched.wait_begun()
        until(lambda: len(watched.words) == 6, 5, "the command has told")
        handle = client.inspect(key).handle
        assert watched.words[1:5] == ["locks", key, str(handle.fencing_token), handle.holder_id]
        assert watched.words[5][:15] == handle.expires_at.ToJsonString()[:15]


def test_no_descriptor_of_leasectl_reaches_the_command_B55(run):
    # Looked at a second time: the first look has a descriptor of its own.
    _, text, _ = run("/usr/bin/python3", "-c", "import os; d = '/proc/self/fd/'; print("
                     "*sorted(fd for fd in os.listdir(d) if os.path.exists(d + fd)))")
    assert text.split() == ["0", "1", "2"], text


def test_signals_and_dispositions_are_as_before(server, run):
    show = "grep -E '^Sig(Blk|Ign):' /proc/self/status"
    want = subprocess.run(["sh", "-c", show], capture_output=True, text=True, check=True,
                          env=environment(server.address)).stdout
    assert run("sh", "-c", show)[1] == want


@pytest.mark.parametrize("name", FORWARDED)
def test_signals_reach_the_command_once_B55(server, client, key, name):
    script = f"trap 'echo got >&9; n=1' {name}; echo ready >&9; " \
             "while [ -z \"$n\" ]; do sleep 0.05; done; sleep 0.3; exit 9"
    with Watched(server.address, key, script, 20) as watched:
        until(lambda: "ready" in watched.words, 5 * SLOW, "the trap is set")
        os.kill(watched.process.pid, getattr(signal, "SIG" + name))
        assert watched.wait() == 9, watched.told()
        assert watched.words.count("got") == 1
    assert not client.inspect(key).held


def test_a_second_interrupt_kills(server, key):
    script = "trap 'echo got >&9' INT; echo ready >&9; while :; do sleep 0.05; done"
    with Watched(server.address, key, script, 20) as watched:
        until(lambda: "ready" in watched.words, 5 * SLOW, "the trap is set")
        os.kill(watched.process.pid, signal.SIGINT)
        until(lambda: "got" in watched.words, 5 * SLOW, "the first has come")
        os.kill(watched.process.pid, signal.SIGINT)
        assert watched.wait() == 128 + signal.SIGKILL


def test_stop_and_continue_reach_the_group_B55(server, key):
    with Watched(server.address, key, "sleep 1000 & wait", 20) as watched:
        watched.wait_begun()
        state = {"T": False}
        os.kill(watched.process.pid, signal.SIGTSTP)
        for pid in (watched.child, watched.process.pid):
            until(lambda pid=pid: proc.stat(pid)[0] == "T", 5 * SLOW, f"{pid} is stopped")
        assert "stays held" in watched.told() and not state["T"]
        os.kill(watched.process.pid, signal.SIGCONT)
        for pid in (watched.process.pid, watched.child):
            until(lambda pid=pid: proc.stat(pid)[0] != "T", 5 * SLOW, f"{pid} goes on")
        os.kill(watched.process.pid, signal.SIGTERM)
        assert watched.wait() == 128 + signal.SIGTERM


def test_the_lease_is_given_back_only_when_all_are_gone_B55(server, client, key):
    script = "(trap 'sleep 0.7; exit' TERM; echo ready >&9; while :; do sleep 0.02; done) & " \
             "setsid sleep 1000 & sleep 0.3; exit 3"
    with Watched(server.address, key, script, 20) as watched:
        until(lambda: "ready" in watched.words, 5 * SLOW, "it runs")
        granted = client.acquire_soon(key, ttl=5, wait=20).result()
        begin = granted.acquired_at.seconds + granted.acquired_at.nanos / 1e9
        assert watched.wait() == 3, watched.told()
        assert watched.died_wall < begin
        client.release(granted)


def test_nested_runs_release_inside_out_B55(server, client, new_key):
    outer, inner = new_key(), new_key()
    script = f'echo $LEASE_KEY; {LEASECTL} run locks/{inner} -- sh -c "echo \\$LEASE_KEY; exit 4"'
    status, text, errors = leasectl(server.address, "run", f"locks/{outer}", "--", "sh", "-c", script)
    assert (status, text.split()) == (4, [outer, inner]), errors
    assert not client.inspect(outer).held and not client.inspect(inner).held


def test_a_lost_outer_lease_ends_the_inner_command(server, client, new_key):
    outer, inner = new_key(), new_key()
    script = f"trap '' TERM; {LEASECTL} run locks/{inner} --ttl 2s -- sh -c 'trap \"\" TERM; echo in >&9; " \
             "sleep 1000; sleep 1000'"
    with Watched(server.address, outer, script, 2 * SLOW) as watched:
        until(lambda: "in" in watched.words, 5 * SLOW, "the inner one runs")
        client.release(client.inspect(outer).handle)
        watched.wait_dead(2.5)
        assert watched.wait() == 124
        until(lambda: not client.inspect(inner).held, 3 * SLOW, "the inner lease is over")


@pytest.mark.parametrize("extra, status", [((), 75), (("-E", "0"), 0), (("-E", "17"), 17)])
def test_not_obtained_B55(server, client, key, extra, status):
    client.acquire(key)
    for wait in ((), ("--wait", "300ms")):
        got, text, errors = leasectl(server.address, "run", f"locks/{key}", *extra, *wait, "--",
                                     "echo", "ran")
        assert (got, text) == (status, "") and "already held" in errors


def test_the_wait_outlives_an_absent_server(server, key):
    """With --wait the server may come later; without a lease the command never runs."""
    status, text, errors = leasectl(f"127.0.0.1:{free_port()}", "run", f"locks/{key}", "--wait",
                                    "1s", "--", "echo", "ran")
    assert (status, text) == (69, "") and "trying again" in errors


@pytest.mark.parametrize("name", ["INT", "TERM", "HUP"])
def test_a_signal_while_waiting_leaves_the_line(server, client, key, name):
    handle = client.acquire(key)
    with subprocess.Popen([LEASECTL, "run", f"locks/{key}", "-w", "1m", "--", "echo", "ran"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          env=environment(server.address)) as waiting:
        server.wait_waiters(key, 1)
        number = getattr(signal, "SIG" + name)
        waiting.send_signal(number)
        assert waiting.wait(5 * SLOW) == 128 + number
        assert waiting.stdout.read() == b""
    until(lambda: client.inspect(key).waiters == 0, 3 * SLOW, "the waiter is gone")
    client.release(handle)


def test_a_lease_that_was_waited_for_longer_than_its_ttl_is_whole(server, client, key):
    handle = client.acquire(key)
    with subprocess.Popen([LEASECTL, "run", f"locks/{key}", "-w", "1m", "--ttl", "1s", "-q", "--",
                           "sh", "-c", "sleep 1.5; exit 6"], env=environment(server.address)) as one:
        server.wait_waiters(key, 1)
        until(lambda: client.list(key_prefix=key).leases and
              client.inspect(key).handle.remaining.seconds < 59, 5, "more than the ttl has passed")
        client.release(handle)
        assert one.wait(10 * SLOW) == 6


def test_a_caller_that_ignores_children_is_served_B55(server, key):
    done = subprocess.run(["python3", "-c", "import os, signal, sys\n"
                           "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
                           "os.execv(sys.argv[1], sys.argv[1:])\n", LEASECTL, "run", f"locks/{key}",
                           "--", "sh", "-c", "exit 5"], check=False, env=environment(server.address))
    assert done.returncode == 5
