# SPDX-License-Identifier: Apache-2.0
"""make bench: leased beside what it should be measured against, in one interleaved run.

    run.py BUILD_DIR       BENCH_ROUNDS=5 BENCH_SECONDS=1 by default

Prints the machine, the versions, both sides and their ratio. Rounds go A B A B; best and median are
shown, ratios are of the best (noise only ever slows down)."""
import glob
import os
import platform
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import postgres

BUILD = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else ".")
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
SECONDS = float(os.environ.get("BENCH_SECONDS", "1"))
SHAPES = [(8, 8), (64, 1), (1, 64)]


def program(name):
    return os.path.join(BUILD, name)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def children(pid):
    out = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False)
    return [int(line) for line in out.stdout.split()]


def cpu_ns(pids):
    """Time on a processor of all threads of these processes, from the scheduler."""
    total = 0
    for pid in pids:
        for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
            try:
                with open(path, encoding="ascii") as file:
                    total += int(file.read().split()[0])
            except OSError:
                pass
    return total


def wait_port(port, process):
    for _ in range(500):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        if process.poll() is not None:
            sys.exit("a server did not start")
        time.sleep(0.02)
    sys.exit("a server does not answer")


def pin(core):
    return ["taskset", "-c", str(core)] if os.cpu_count() > 1 else []


class Leased:
    name, service = "leased", "mindd.lease.v1.Lease"

    def __init__(self, workers, pinned, auth=""):
        self.directory = tempfile.mkdtemp(prefix="leased-bench-")
        self.port = free_port()
        self.segment = f"/leased-bench-{os.getpid()}-{self.port}"
        config = os.path.join(self.directory, "leased.yaml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(f"server:\n  grpc:\n    tcp: \"127.0.0.1:{self.port}\"\n"
                       f"  workers: {workers}\n  state_dir: \"{self.directory}/state\"\n"
                       f"observability: {{ logging: {{ level: warn }} }}\n"
                       f"backends:\n  - name: memory\n    driver: memory\n    options:\n"
                       f"      segment: \"{self.segment}\"\n"
                       f"namespaces:\n  - {{ block: lease, name: locks, backend: memory }}\n"
                       + auth)
        os.makedirs(os.path.join(self.directory, "state"))
        self.process = subprocess.Popen((pin(1) if pinned else []) + [program("leased"), "-f", config])
        wait_port(self.port, self.process)
        for _ in range(200):
            self.pids = children(self.process.pid)
            if len(self.pids) == workers:
                break
            time.sleep(0.02)
        time.sleep(0.2)

    def close(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.directory)
        for path in glob.glob("/dev/shm" + self.segment + "*"):
            os.unlink(path)


class Echo:
    name, service = "echo", "bench.Echo"

    def __init__(self):
        self.port = free_port()
        self.process = subprocess.Popen(pin(1) + [program("bench/bench-echo"), str(self.port)],
                                        stdout=subprocess.DEVNULL)
        wait_port(self.port, self.process)
        self.pids = [self.process.pid]

    def close(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def load(server, scenario, *options, token=""):
    command = pin(0) + [program("bench/leasebench"), "--target", f"127.0.0.1:{server.port}",
                        "--service", server.service, *options, scenario]
    before = cpu_ns(server.pids)
    out = subprocess.run(command, capture_output=True, text=True, check=False,
                         env=dict(os.environ, BENCH_TOKEN=token))
    if out.returncode:
        sys.exit(out.stderr)
    figures = dict(part.split("=") for part in out.stdout.split())
    figures["cpu_ns"] = cpu_ns(server.pids) - before
    return {key: float(value) for key, value in figures.items()}


def pairs_beside_echo():
    print("\nAcquire + Release of distinct keys, one worker, server and load on a core each;"
          " calls, not pairs")
    servers = [Leased(1, True), Echo()]
    for connections, streams in SHAPES:
        rounds = {server.name: [] for server in servers}
        for _ in range(ROUNDS):
            for server in servers:
                figures = load(server, "pairs", "--connections", str(connections), "--streams",
                               str(streams), "--seconds", str(SECONDS), "--warmup", "0")
                rounds[server.name].append((figures["calls"] / SECONDS,
                                            figures["cpu_ns"] / 1e3 / figures["calls"],
                                            figures["p50_us"], figures["p99_us"]))
        show_pairs(connections, streams, rounds)
    for server in servers:
        server.close()


def show_pairs(connections, streams, rounds):
    print(f"  {connections} connections x {streams} streams")
    best = {}
    for name, list_ in rounds.items():
        rate, cpu = [one[0] for one in list_], [one[1] for one in list_]
        best[name] = (max(rate), min(cpu))
        print(f"    {name:7} {max(rate):8.0f} calls/s best, {statistics.median(rate):8.0f} median;"
              f" server CPU {min(cpu):6.2f} us/call best, {statistics.median(cpu):6.2f} median;"
              f" p50 {statistics.median(one[2] for one in list_):7.0f} us,"
              f" p99 {statistics.median(one[3] for one in list_):7.0f} us")
    print(f"    ratio   {best['leased'][0] / best['echo'][0]:.2f} of the echo's calls/s (aim 0.90),"
          f" {best['leased'][1] / best['echo'][1]:.2f} of its CPU per call (aim 1.15)")


def tool(*args):
    return subprocess.run([program("leased-token"), *args], capture_output=True, text=True,
                          check=True).stdout.strip()


def checked():
    """The same call with the same header, without auth and with it: what the check costs."""
    print("\nA token with every call that was verified before, beside the same calls without auth;"
          " 8 connections x 8 streams")
    directory = tempfile.mkdtemp(prefix="leased-bench-")
    key, secret = os.path.join(directory, "key"), os.path.join(directory, "secret")
    who = ["--tenant", "bench", "--op", "*", "--namespace", "*"]
    public = tool("keypair", "--file", key)
    entry = tool("new", "--id", "bench", *who, "--file", secret)
    tokens = os.path.join(directory, "tokens.yaml")
    with open(tokens, "w", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, 0o600)) \
            as file:
        file.write("tokens:\n  " + entry + "\n")
    with open(secret, encoding="utf-8") as file:
        opaque = file.read().strip()
    signed = tool("mint", "--file", key, *who)
    for name, token, auth in (
            ("opaque", opaque, f"auth: {{ verifier: tokens, tokens_file: \"{tokens}\" }}\n"),
            ("paseto", signed, f"auth: {{ verifier: paseto, paseto: {{ public_key_hex: {public} }} }}\n")):
        servers = [Leased(1, True), Leased(1, True, auth)]
        rates = [[], []]
        for _ in range(ROUNDS):
            for server, rate in zip(servers, rates):
                figures = load(server, "pairs", "--connections", "8", "--streams", "8", "--seconds",
                               str(SECONDS), "--warmup", "0", token=token)
                rate.append((figures["calls"] / SECONDS, figures["cpu_ns"] / 1e3 / figures["calls"]))
        best = [(max(one[0] for one in rate), min(one[1] for one in rate)) for rate in rates]
        print(f"    {name}: {best[1][0]:.0f} calls/s, {best[1][1]:.2f} us CPU/call;"
              f" without auth {best[0][0]:.0f}, {best[0][1]:.2f};"
              f" ratio {best[1][0] / best[0][0]:.3f} of the calls/s (aim 0.97)")
        for server in servers:
            server.close()
    shutil.rmtree(directory)


def handoff():
    print("\nHand-off to a waiter on another worker (release sent -> grant received) beside a plain"
          " Inspect, 2 workers")
    server = Leased(2, False)
    rounds = [load(server, "handoff", "--seconds", str(SECONDS)) for _ in range(ROUNDS)]
    best = min(rounds, key=lambda one: one["handoff_p50_us"] / one["rtt_p50_us"])
    middle = statistics.median(one["handoff_p50_us"] / one["rtt_p50_us"] for one in rounds)
    print(f"    hand-off p50 {best['handoff_p50_us']:.0f} us, p99 {best['handoff_p99_us']:.0f} us;"
          f" round trip p50 {best['rtt_p50_us']:.0f} us, p99 {best['rtt_p99_us']:.0f} us;"
          f" ratio {best['handoff_p50_us'] / best['rtt_p50_us']:.2f} best,"
          f" {middle:.2f} median (aim 1.50)")
    server.close()


def machine():
    model = "unknown processor"
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
    versions = subprocess.run([program("leased"), "-V"], capture_output=True, text=True, check=True)
    print(f"machine: {model}, {os.cpu_count()} cores, {platform.system()} {platform.release()},"
          f" load {os.getloadavg()[0]:.2f}")
    print(versions.stdout.strip())
    print(f"{ROUNDS} rounds of {SECONDS:g} s")


def main():
    machine()
    pairs_beside_echo()
    checked()
    print("\nThe table alone, without gRPC, beside LMDB (no sync, on tmpfs); best of the rounds",
          flush=True)
    for leases in ("1000", "1000000"):
        subprocess.run([program("bench/bench-table"), leases, str(min(ROUNDS, 3)),
                        str(SECONDS / 2)], check=True)
    handoff()
    sys.stdout.flush()
    postgres.main()


if __name__ == "__main__":
    main()
