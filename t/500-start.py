#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Starting: sockets, second starts, pid files, what fails and how it says so."""
import os
import signal
import socket
import stat
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import proc  # noqa: E402
from stub import BINARY, Stub, main, until  # noqa: E402


def test_all_addresses_are_served_by_all_workers():
    with Stub(workers=3, uds=True) as server:
        server.start()
        seen = set()
        until("each worker answered", lambda: seen.add(server.ask()[0]) or len(seen) == 3)
        assert server.ask(server.uds)[2] == ["locks"]
        assert stat.S_IMODE(os.stat(server.uds).st_mode) == 0o660
        assert stat.S_IMODE(os.stat(server.path("state")).st_mode) == 0o750


def test_a_second_start_on_the_port_is_refused_with_the_pid_B27():
    with Stub() as first, Stub() as second:
        first.start()
        second.write(port=first.port)
        begin = time.monotonic()
        status, errors = second.run()
        assert time.monotonic() - begin < 5
        assert status == 71
        assert errors.endswith(f"leased: error: cannot listen on 127.0.0.1:{first.port}: "
                               f"it is in use by pid {first.pid}\n"), errors
        assert first.ask()[2] == ["locks"]
        assert len(proc.listeners(first.port)) == 1


def test_a_second_start_on_a_wildcard_names_the_pid_too_B27():
    with Stub() as first, Stub(more="auth: { verifier: none }\n") as second:
        first.start()
        with open(second.config, encoding="utf-8") as file:
            text = file.read().replace(f"127.0.0.1:{second.port}", f":{first.port}")
        with open(second.config, "w", encoding="utf-8") as file:
            file.write(text)
        status, errors = second.run()
        assert status == 71
        assert f"in use by pid {first.pid}\n" in errors, errors


def test_a_port_of_another_program_is_refused_with_its_pid():
    with Stub() as server, socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        server.write(port=other.getsockname()[1])
        status, errors = server.run()
        assert status == 71
        assert f"in use by pid {os.getpid()}\n" in errors, errors


def test_connections_in_time_wait_are_no_obstacle():
    with Stub() as server:
        for _ in range(3):
            server.start()
            server.ask()
            assert server.stop()[0] == 0
            os.unlink(server.path("log"))


def test_a_second_start_on_the_socket_is_refused_with_the_pid_B27():
    with Stub(uds=True) as first, Stub() as second:
        first.start()
        second.uds = first.uds
        second.write()
        status, errors = second.run()
        assert status == 71
        assert errors.endswith(f"leased: error: cannot listen on {first.uds}: "
                               f"it is in use by pid {first.pid}\n"), errors
        assert first.ask(first.uds)[2] == ["locks"]


def test_a_socket_of_another_program_is_refused_with_its_pid():
    with Stub(uds=True) as server, socket.socket(socket.AF_UNIX) as other:
        other.bind(server.uds)
        other.listen()
        status, errors = server.run()
        assert status == 71
        assert f"in use by pid {os.getpid()}\n" in errors, errors
        assert os.path.exists(server.uds)


def test_the_socket_of_a_dead_server_is_replaced_and_removed_at_the_end():
    with Stub(uds=True) as server:
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(server.uds)
        server.start()
        server.ask(server.uds)
        assert server.stop()[0] == 0
        assert not os.path.exists(server.uds)
        assert not os.path.exists(server.uds + ".lock")


def test_a_socket_put_in_the_place_of_ours_is_not_removed():
    with Stub(uds=True) as server:
        server.start()
        os.unlink(server.uds)
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(server.uds)
            assert server.stop()[0] == 0
            assert os.path.exists(server.uds)


def test_a_file_that_is_no_socket_is_left_alone():
    with Stub(uds=True) as server:
        with open(server.uds, "w", encoding="utf-8") as file:
            file.write("precious")
        status, errors = server.run()
        assert status == 71 and "it exists and is no socket" in errors, errors
        with open(server.uds, encoding="utf-8") as file:
            assert file.read() == "precious"


def test_a_tree_killed_at_once_can_be_started_again_at_once_B29():
    with Stub(uds=True) as server:
        for _ in range(20):
            server.start("-p", server.path("pid"))
            victims = [server.pid, *server.workers()]
            for pid in victims:
                os.kill(pid, signal.SIGKILL)
            server.process.wait(10)
            os.unlink(server.path("log"))
        server.start("-p", server.path("pid"))
        server.ask(server.uds)


def test_a_master_killed_alone_takes_its_workers_with_it_and_leaves_the_port():
    with Stub(workers=3, uds=True) as server:
        server.start()
        workers = server.workers()
        assert len(workers) == 3
        server.send(signal.SIGKILL)
        server.process.wait(10)
        until("the workers are gone", lambda: not any(map(proc.alive, workers)), 2)
        os.unlink(server.path("log"))
        server.start()


def test_the_pid_file_guards_the_server_and_goes_with_it():
    with Stub() as first, Stub() as second:
        pidfile = first.path("pid")
        with open(pidfile, "w", encoding="utf-8") as file:
            file.write("1\n")  # alive, but it does not hold the file
        first.start("-p", pidfile)
        with open(pidfile, encoding="utf-8") as file:
            assert file.read() == f"{first.pid}\n"
        status, errors = second.run("-p", pidfile)
        assert status == 71
        assert errors == (f"leased: error: pid file {pidfile}: leased already runs with pid "
                          f"{first.pid}\n")
        assert first.stop()[0] == 0
        assert not os.path.exists(pidfile)


def test_a_pid_file_that_cannot_be_written_fails_the_start():
    with Stub() as server:
        status, errors = server.run("-p", server.path("no/where"))
        assert status == 71 and "No such file or directory" in errors
        os.symlink("/etc/passwd", server.path("link"))
        assert server.run("-p", server.path("link"))[0] == 71


def test_a_backend_that_cannot_be_prepared_fails_the_start():
    with Stub() as server:
        server.write(more="backends: [ { name: down-1, driver: memory } ]\n")
        status, errors = server.run("-p", server.path("pid"))
        assert status == 69
        assert errors.endswith(
            'leased: error: backend "down-1": backend "down-1" does not answer\n'), errors
        assert not os.path.exists(server.path("pid"))


def test_a_bad_file_fails_the_start_with_78_and_misuse_with_64():
    with Stub() as server:
        server.write(more="foo: 1\n")
        status, errors = server.run()
        assert status == 78 and 'error: unknown key "foo"' in errors
        for args in (["-x"], ["--nope"], ["-f"], ["-w", "0"], ["-w", "65"], ["-w", "4x"], ["more"],
                     ["-f", ""], ["-p", ""]):
            done = subprocess.run([BINARY, *args], check=False, capture_output=True)
            assert done.returncode == 64, args
            assert b"Try 'leased --help'." in done.stderr
        done = subprocess.run([BINARY, "-f", "/no/such"], check=False, capture_output=True)
        assert done.returncode == 78
        done = subprocess.run([BINARY, "-f", "/dev/zero"], check=False, capture_output=True)
        assert done.returncode == 78 and b"not a regular file" in done.stderr


def test_port_zero_is_chosen_by_the_kernel_and_told():
    with Stub() as server:
        server.write(port="0")
        server.start()
        line = [line for line in server.log.splitlines() if "listening address=" in line][0]
        server.port = int(line.rpartition(":")[2])
        assert server.ask()[2] == ["locks"]


def test_a_running_server_can_be_judged_and_dumped_beside_it():
    with Stub() as server:
        server.start()
        assert server.run("-t")[0] == 0
        assert server.run("-T")[0] == 0
        assert server.ask()[2] == ["locks"]


def test_the_master_may_open_as_many_files_as_it_is_allowed():
    with Stub() as server:
        server.start()
        with open(f"/proc/{server.pid}/limits", encoding="ascii") as file:
            limit = [line.split() for line in file if line.startswith("Max open files")][0]
        assert limit[3] == limit[4]


def test_a_file_that_everybody_may_change_is_told_of_B56():
    with Stub() as server:
        server.start()
        assert "everybody may change" not in server.log
        server.stop()
        os.chmod(server.config, 0o666)
        server.start()
        until("the warning", lambda: "warn master: everybody may change the configuration file"
              in server.log)


def test_an_open_address_is_told_of():
    with Stub(more="auth: { verifier: none }\n") as server:
        with open(server.config, encoding="utf-8") as file:
            text = file.read().replace("127.0.0.1:", "0.0.0.0:")
        with open(server.config, "w", encoding="utf-8") as file:
            file.write(text)
        server.start()
        assert "warn master: anybody who can reach this address may take and break leases " \
            f"address=0.0.0.0:{server.port} verifier=none" in server.log


def test_quiet_and_verbose_move_the_level_for_workers_too():
    for flags, least in ((["-q"], "warn"), (["-qqqq"], "fatal"), ([], "info"), (["-v"], "debug")):
        with Stub(workers=1) as server:
            with open(server.config, encoding="utf-8") as file:
                text = file.read().replace("level: debug, ", "")
            with open(server.config, "w", encoding="utf-8") as file:
                file.write(text)
            server.start(*flags, serving=False)
            until("it serves", lambda: proc.listeners(server.port) and server.ask())
            server.send(signal.SIGHUP)
            server.stop()
            levels = {line.split()[1] for line in server.log.splitlines()}
            order = ("debug", "info", "warn", "error", "fatal")
            assert all(order.index(level) >= order.index(least) for level in levels), server.log
            assert (least in levels) == (least in ("debug", "info")), server.log


if __name__ == "__main__":
    main(globals())
