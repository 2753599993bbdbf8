#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""HUP: a good file is taken over whole, a bad one changes nothing."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import proc  # noqa: E402
from stub import Stub, free_port, main, until  # noqa: E402


def reload(server, word="configuration reloaded"):
    before = server.log.count(word)
    server.send(signal.SIGHUP)
    until(word, lambda: server.log.count(word) > before)


def everywhere(server, names, workers):
    """Each worker has been seen with these namespaces, none with others from then on."""
    seen = set()

    def ask():
        slot, _, found = server.ask()
        if found == names:
            seen.add(slot)
        return len(seen) == workers
    until(f"all have {names}", ask)
    for _ in range(10):
        assert server.ask()[2] == names


def test_a_good_file_reaches_all_workers_and_none_is_restarted():
    with Stub(workers=3) as server:
        server.start()
        pids = server.workers()
        for names in (["locks", "more"], ["other"], ["locks"]):
            server.write(workers=3, namespaces=names)
            reload(server)
            everywhere(server, names, 3)
        assert server.workers() == pids


def test_a_bad_file_changes_nothing_and_is_logged_with_its_place():
    with Stub(workers=2) as server:
        server.start()
        pids = server.workers()
        bad = ("foo: 1\n", "limits: { max_ttl: 5 }\n", "\t\n", "a: &x []\n", "namespaces: []\n")
        for more in bad:
            server.write(namespaces=["changed"], more=more)
            reload(server, "configuration refused")
        assert f'error="{server.config}:8:1: error: unknown key \\"foo\\""' in server.log
        os.unlink(server.config)
        reload(server, "No such file or directory")
        assert server.ask()[2] == ["locks"]
        assert server.workers() == pids
        # What is forked later begins with the old settings too.
        os.kill(pids[0], signal.SIGKILL)
        until("a successor", lambda: len(set(server.workers()) - set(pids)) == 1)
        everywhere(server, ["locks"], 2)


def test_a_worker_forked_after_the_reload_begins_with_the_new_file():
    with Stub(workers=1) as server:
        server.start()
        server.write(workers=1, namespaces=["new"])
        reload(server)
        os.unlink(server.config)
        old = server.workers()
        os.kill(old[0], signal.SIGKILL)
        until("a successor", lambda: server.workers() and server.workers() != old)
        assert server.ask()[2] == ["new"]


def test_the_number_of_workers_grows_and_shrinks_without_touching_the_rest():
    with Stub(workers=2) as server:
        server.start()
        first = server.workers()
        server.write(workers=5)
        reload(server)
        until("five", lambda: len(server.workers()) == 5)
        seen = set()
        until("all five answer", lambda: seen.add(server.ask()[0]) or len(seen) == 5)
        server.write(workers=2)
        reload(server)
        until("two", lambda: server.workers() == first)
        assert "worker died" not in server.log


def test_a_slot_given_back_while_it_drains_is_filled_again():
    with Stub(workers=2, namespaces=["slow-drain"]) as server:
        server.start()
        server.write(workers=1, namespaces=["slow-drain"])
        reload(server)
        server.write(workers=2, namespaces=["slow-drain"])
        reload(server)
        seen = set()
        until("both answer", lambda: seen.add(server.ask()[0]) or seen == {0, 1})
        assert len(server.workers()) == 2


def test_workers_of_the_command_line_outlast_a_reload():
    with Stub(workers=2) as server:
        server.start("-w", "3")
        assert len(server.workers()) == 3
        server.write(workers=1)
        reload(server)
        assert len(server.workers()) == 3


def test_keys_that_only_a_restart_applies_are_named_and_kept():
    with Stub(workers=1) as server:
        server.start()
        port, server_port = free_port(), server.port
        server.write(workers=1, port=port, namespaces=["locks"],
                     more="backends: [ { name: late, driver: memory } ]\n")
        reload(server)
        assert "a changed key waits for a restart key=server.grpc" in server.log
        assert "a changed key waits for a restart key=backends" in server.log
        assert "key=server.state_dir" not in server.log
        server.port = server_port
        assert server.ask()[2] == ["locks"]
        assert not proc.listeners(port)
        # Back to what runs: nothing waits any more.
        before = server.log.count("waits for a restart")
        server.write(workers=1)
        reload(server)
        assert server.log.count("waits for a restart") == before


def test_entries_of_other_blocks_are_told_once_by_the_master_B56():
    with Stub(workers=3) as server:
        with open(server.config, "a", encoding="utf-8") as file:
            file.write("# end\n")
        with open(server.config, encoding="utf-8") as file:
            text = file.read().replace("namespaces: [", "namespaces: [{ block: queue, name: q }, ")
        with open(server.config, "w", encoding="utf-8") as file:
            file.write(text)
        server.start()
        assert server.log.count("namespace of another block is skipped block=queue line=7") == 1
        reload(server)
        assert server.log.count("namespace of another block is skipped block=queue line=7") == 2


def test_fifty_reloads_leave_nothing_behind_B31():
    with Stub(workers=2) as server:
        server.start()
        pids = server.workers()
        before = proc.descriptors(server.pid), [proc.descriptors(pid) for pid in pids]
        for i in range(50):
            server.write(namespaces=[f"n{i}"])
            reload(server)
        everywhere(server, ["n49"], 2)
        until("descriptors are as before, when the last question's are closed", lambda: (
            proc.descriptors(server.pid), [proc.descriptors(pid) for pid in pids]) == before)
        assert server.workers() == pids


def test_a_server_without_a_file_has_nothing_to_read_again():
    with Stub(workers=1) as server:
        command = server.command
        server.command = lambda *args: [word for word in command(*args)
                                        if word not in ("-f", server.config)]
        os.environ["STATE_DIRECTORY"] = server.path("state")
        try:
            if proc.listeners(7777):  # the default port is somebody's: the file-less start cannot be
                status, errors = server.run()
                assert status == 71 and "127.0.0.1:7777" in errors
                return
            server.start("-w", "1")
        finally:
            del os.environ["STATE_DIRECTORY"]
        server.port = 7777
        reload(server, "there is no configuration file to read again")
        assert server.ask()[2] == ["locks"]


if __name__ == "__main__":
    main(globals())
