# SPDX-License-Identifier: Apache-2.0
"""The Postgres part of make bench: the driver without gRPC beside pgbench, on a private server.

    postgres.py BUILD_DIR      BENCH_ROUNDS, BENCH_SECONDS; BENCH_CHURN=1000000 pairs of the last table

pgbench runs the driver's own two statements, prepared, as two transactions, with as many backends as
the driver has work connections. Rounds go A B A B; ratios are of the best."""
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else ".")
SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
SECONDS = float(os.environ.get("BENCH_SECONDS", "1"))
CHURN = int(os.environ.get("BENCH_CHURN", "1000000"))
PROGRAM = os.path.join(BUILD, "bench", "bench-pg")
DEPTH = 32  # calls under way per connection of the driver
SETTINGS = ("-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c enable_bitmapscan=off"
            " -c jit=off -c synchronous_commit=")


class Database:
    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="leased-bench-pg-")
        self.dsn = self._script("start", "shared_preload_libraries='pg_stat_statements'",
                                "pg_stat_statements.track='none'", "shared_buffers=256MB").strip()
        self.one("CREATE EXTENSION pg_stat_statements")

    def _script(self, what, *more):
        script = os.path.join(SOURCE, "t", "lib", "postgres.sh")
        out = subprocess.run(["bash", script, what, self.directory, *more], check=True,
                             capture_output=True, text=True)
        return out.stdout

    def close(self):
        self._script("stop")

    def one(self, sql):
        """The first line that a query gives."""
        out = subprocess.run(["psql", "-XAtqc", sql, self.dsn], check=True, capture_output=True,
                             text=True)
        return out.stdout.strip()

    def log_bytes(self, since="0/0"):
        return int(self.one(f"SELECT pg_current_wal_insert_lsn() - '{since}'::pg_lsn"))

    def renew_table(self):
        """Every measurement starts with the same table; the driver makes it."""
        self.one("DROP TABLE IF EXISTS leases")
        load(self, "pairs", 1, "async", 1, 0, 1, 1)


def figures(text):
    return {name: float(value) for name, value in
            (part.split("=") for part in text.split())}


def load(database, what, *arguments):
    out = subprocess.run([PROGRAM, database.dsn, what, *map(str, arguments)], check=False,
                         capture_output=True, text=True)
    if out.returncode:
        sys.exit(f"bench-pg {what}: {out.stderr}")
    return figures(out.stdout)


def statements():
    """The driver's acquire and release with what never changes written out."""
    out = subprocess.run([PROGRAM, "sql"], check=True, capture_output=True, text=True)
    values = [{1: "'locks'::text", 2: ":key::text", 3: ":holder::uuid", 4: "'600 s'::interval",
               5: "''::text", 6: "''::text", 7: "'{}'::text"},
              {1: "'locks'::text", 2: ":key::text", 3: ":holder::uuid", 4: "''::text",
               5: "false"}]
    return [re.sub(r"\$(\d)(::\w+)?", lambda found, value=value: value[int(found[1])], text)
            for text, value in zip(out.stdout.splitlines(), values)]


def pgbench(database, script, clients, durable, seconds=SECONDS):
    path = os.path.join(database.directory, "script")
    with open(path, "w", encoding="utf-8") as file:
        file.write(script)
    environment = dict(os.environ, PGOPTIONS=SETTINGS + ("on" if durable else "off"))
    out = subprocess.run(
        ["pgbench", "-n", "-M", "prepared", "-f", path, "-c", str(clients), "-j", str(clients),
         "-T", str(max(1, round(seconds))), database.dsn], check=False, capture_output=True,
        text=True, env=environment)
    found = re.search(r"^tps = ([0-9.]+)", out.stdout, re.M)
    if out.returncode or not found:
        sys.exit(f"pgbench: {out.stderr}")
    return float(found[1])


def pair_script():
    acquire, release = statements()
    return ("\\set number 1000 * :client_id + random(0, 999)\n\\set key :number\n"
            "\\set low random(100000000000, 999999999999)\n"
            f"{_with_holder(acquire)};\n{_with_holder(release)};\n")


def _with_holder(text):
    return text.replace(":holder::uuid", "('00000000-0000-4000-8000-' || :low::text)::uuid")


def show(names, rounds, unit, aim):
    for name in names:
        print(f"    {name:8} {max(rounds[name]):8.0f} {unit} best,"
              f" {statistics.median(rounds[name]):8.0f} median")
    first, second = (max(rounds[name]) for name in names)
    middle = statistics.median(a / b for a, b in zip(*(rounds[name] for name in names)))
    print(f"    ratio    {first / second:.2f} best, {middle:.2f} median of the rounds"
          f" (aim {aim})", flush=True)


def pairs(database, durable, connections, aim):
    print(f"  {'durable' if durable else 'asynchronous'}, {connections} backends,"
          f" {DEPTH} calls under way on each of the driver's")
    rounds = {"driver": [], "pgbench": []}
    for _ in range(ROUNDS):
        rounds["driver"].append(load(database, "pairs", connections,
                                     "barrier" if durable else "async", DEPTH * connections,
                                     SECONDS, 0, 1000 * connections)["rate"])
        rounds["pgbench"].append(pgbench(database, pair_script(), connections, durable))
    show(("driver", "pgbench"), rounds, "pairs/s", aim)


def refused(database):
    """The driver's refusals beside those of a plain ON CONFLICT, which writes for each."""
    print("\nAcquire of keys that others hold, 2 backends, commits wait for the disk")
    plain = ("\\set key random(0, 63)\nINSERT INTO leases AS l (namespace, key, holder_id, fence,"
             " acquired_at, expires_at) VALUES ('locks', 'held-' || :key::text,"
             " '00000000-0000-4000-8000-000000000001', 1, clock_timestamp(), clock_timestamp() +"
             " interval '600 s') ON CONFLICT (namespace, key) DO UPDATE SET holder_id ="
             " EXCLUDED.holder_id, fence = l.fence + 1, acquired_at = EXCLUDED.acquired_at,"
             " expires_at = EXCLUDED.expires_at WHERE l.expires_at <= clock_timestamp();\n")
    rounds, log = {"driver": [], "plain": []}, {"driver": [], "plain": []}
    database.one("CHECKPOINT")
    for _ in range(ROUNDS):
        database.one("UPDATE leases SET expires_at = clock_timestamp()")
        with Talk(database, "refused", 2, "commit", 2 * DEPTH, SECONDS) as talk:
            talk.hear()
            settle(database)
            before = database.one("SELECT pg_current_wal_insert_lsn()")
            said = talk.hear(answer=True)
            rounds["driver"].append(said["rate"])
            log["driver"].append(database.log_bytes(before) / said["refused"])
            before = database.one("SELECT pg_current_wal_insert_lsn()")
            rate = pgbench(database, plain, 2, True)
            rounds["plain"].append(rate)
            log["plain"].append(database.log_bytes(before) / (rate * max(1, round(SECONDS))))
    show(("driver", "plain"), rounds, "refusals/s", "3.0")
    for name, list_ in log.items():
        print(f"    {name:8} {min(list_):.1f} bytes of WAL per refusal (least), {max(list_):.1f}"
              " (most; the server's own records count as well)")


def settle(database):
    """Until the server has nothing of its own to write."""
    for _ in range(100):
        before = database.one("SELECT pg_current_wal_insert_lsn()")
        time.sleep(0.1)
        if database.one("SELECT pg_current_wal_insert_lsn()") == before:
            return


class Talk:
    """bench-pg in a scenario of several parts."""

    def __init__(self, database, what, *arguments):
        self.process = subprocess.Popen([PROGRAM, database.dsn, what, *map(str, arguments)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def hear(self, answer=False):
        if answer:
            self.process.stdin.write("\n")
            self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit("bench-pg ended")
        return figures(line)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def disk_us(database):
    """What the disk takes for one small synchronous write, median."""
    took = []
    path = os.path.join(database.directory, "probe")
    with open(path, "wb", buffering=0) as file:
        for _ in range(200):
            file.seek(0)
            file.write(b"x" * 8192)
            before = time.monotonic()
            os.fdatasync(file.fileno())
            took.append(time.monotonic() - before)
    return statistics.median(took) * 1e6


def handoff(database):
    print("\nHand-off between two hosts, nothing else going on (release sent -> grant received)")
    print(f"    fdatasync of 8 kB takes {disk_us(database):.0f} us, median")
    for durability in ("async", "barrier"):
        rounds = [load(database, "handoff", durability, SECONDS * 2) for _ in range(ROUNDS)]
        best = min(rounds, key=lambda one: one["p50_us"])
        print(f"    {durability:8} p50 {best['p50_us']:.0f} us, p99 {best['p99_us']:.0f} us best;"
              f" {statistics.median(one['p50_us'] for one in rounds):.0f} and"
              f" {statistics.median(one['p99_us'] for one in rounds):.0f} median"
              f" (aim 1000 and 5000; {best['handoffs']:.0f} a round)", flush=True)


def waiting(database):
    print("\n1,000 waiters in one worker, for 5 s (aim: at most 20 statements/s)")
    ours = ("SELECT coalesce(sum(calls), 0) FROM pg_stat_statements WHERE query !~"
            " 'pg_stat_statements'")
    database.one("ALTER SYSTEM SET pg_stat_statements.track = 'top'")
    database.one("SELECT pg_reload_conf()")
    for keys in (1, 1000):
        database.one("UPDATE leases SET expires_at = clock_timestamp()")
        with Talk(database, "waiters", 1000, keys, 5) as talk:
            talk.hear()
            before = float(database.one(ours))
            waiters = talk.hear()["waiting"]
            count = float(database.one(ours)) - before
        print(f"    on {keys:4} keys: {count / 5:.1f} statements/s, {waiters:.0f} still wait",
              flush=True)
    database.one("ALTER SYSTEM RESET pg_stat_statements.track")
    database.one("SELECT pg_reload_conf()")


def churn(database):
    database.renew_table()
    said = load(database, "pairs", 2, "async", 64, 0, CHURN, 1000)
    time.sleep(1.5)  # the sessions of the load report what they did when they end
    heap, hot, updates = database.one(
        "SELECT pg_relation_size('leases') || ' ' || n_tup_hot_upd || ' ' || n_tup_upd FROM"
        " pg_stat_user_tables WHERE relname = 'leases'").split()
    index = database.one("SELECT pg_relation_size('leases_pkey')")
    print(f"\n{said['pairs']:.0f} pairs on about 1,000 keys, {said['rate']:.0f}/s: heap"
          f" {int(heap) / 1e6:.2f} MB (aim 4), index {int(index) / 1e3:.0f} kB,"
          f" {100 * int(hot) / int(updates):.2f} % of the updates were HOT (aim 99)", flush=True)


def main():
    database = Database()
    try:
        print("\nThe Postgres driver without gRPC beside pgbench doing the same two statements;"
              f" {database.one('SHOW server_version')}, unix socket, shared_buffers 256 MB")
        database.renew_table()
        for connections, aim in ((1, "2.5"), (2, "1.8"), (4, "1.3")):
            pairs(database, False, connections, aim)
        pairs(database, True, 4, "3.0")
        refused(database)
        handoff(database)
        waiting(database)
        churn(database)
    finally:
        database.close()


if __name__ == "__main__":
    main()
