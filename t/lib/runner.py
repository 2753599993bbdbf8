# SPDX-License-Identifier: Apache-2.0
"""Runs test files in the order of their numbers, shows TAP, counts.

    runner.py [--label L] [--only REGEX] [--skip REGEX] [--jobs N] [--totals FILE] FILE...

With --jobs, files run beside each other, but those that load the machine or measure it and say so by
a line `# Runs alone.` follow one by one. Those that say `# Takes long.` begin first. One that says `# Runs in the background.` gives way to all.

A file is a program that speaks TAP (Criterion programs are asked to), a script, a Python program,
or a pytest file. One without any TAP line counts as one test. Totals are added up in FILE."""
import argparse
import concurrent.futures
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
LINE = re.compile(r"^(not )?ok\b(?:\s+\d+)?\s*-?\s*(.*)$")
# For test programs that run by themselves under the address sanitizer.
os.environ.setdefault("LSAN_OPTIONS", "print_suppressions=0:suppressions="
                      + os.path.join(HERE, "lsan.supp"))
FILE_LIMIT = float(os.environ.get("LEASED_FILE_LIMIT", "420"))  # seconds one file may take


def command(path):
    return (["nice", "-n", "19"] if says(path, "in the background") else []) + bare(path)


def bare(path):
    if path.endswith(".py"):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if "__main__" in text:
            return ["/usr/bin/python3", path]
        return ["/usr/bin/python3", "-m", "pytest", "-p", "tap_report", "-c",
                os.path.join(TESTS, "pytest.ini"), "--rootdir", TESTS, path]
    if path.endswith(".sh"):
        return ["bash", path]
    with open(path, "rb") as file:
        criterion = b"libcriterion" in file.read()
    return [path, "--tap", "--jobs=2"] if criterion else [path]


class File:
    """One run of one test file."""

    def __init__(self, path, label, live):
        self.output = None if live else []
        self.path, self.label = path, label
        self.name = os.path.splitext(os.path.basename(path))[0]
        self.passed = self.failed = self.skipped = 0
        self.lines, self.failing = [], False

    def say(self, text):
        """Whole files at once when several run beside each other."""
        if self.output is None:
            print(text, flush=True)
        else:
            self.output.append(text)

    def tell(self, good, text):
        self.say(f"{'ok' if good else 'not ok'} - {self.label}{self.name}: {text}")

    def take(self, line):
        """Shows the line when it matters now; the whole log is shown after a failure."""
        self.lines.append(line)
        match = LINE.match(line)
        if match:
            text = re.sub(r"\s+# [0-9.]+ s$", "", match[2])
            if "# SKIP" in line.upper():
                self.skipped += 1
            elif match[1]:
                self.failed += 1
            else:
                self.passed += 1
            self.failing = bool(match[1])
            self.tell(not match[1], match[2] if match[1] else text)
        elif self.failing or line.startswith("# "):
            self.say("    " + line)

    def run(self):
        began, done = time.monotonic(), threading.Event()
        process = subprocess.Popen(command(self.path), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   errors="replace", start_new_session=True,
                                   env=dict(os.environ, PYTHONPATH=HERE))
        late = []

        def stop():
            if not done.wait(FILE_LIMIT):
                late.append(True)
                os.killpg(process.pid, signal.SIGKILL)
        watch = threading.Thread(target=stop, daemon=True)
        watch.start()
        for line in process.stdout:
            self.take(line.rstrip("\n"))
        status = process.wait()
        done.set()
        watch.join()
        self.judge(status, bool(late), time.monotonic() - began)

    def judge(self, status, late, took):
        if late:
            self.failed += 1
            self.tell(False, f"is done within {FILE_LIMIT:.0f} s")
        elif status != 0 and self.failed == 0:
            self.failed += 1
            self.tell(False, f"ends with status 0 (was {status})")
        elif self.passed + self.failed + self.skipped == 0:
            self.passed += 1
            self.tell(True, "passes")
        if self.failed:
            self.say(f"--- log of {self.path}")
            for line in self.lines[-200:]:
                self.say("    " + line)
            self.say(f"--- end of log of {self.path}")
        self.say(f"# {self.label}{self.name} took {took:.0f} s")


class Totals:
    def __init__(self, path):
        self.path, self.lock = path, threading.Lock()
        self.have = {"passed": 0, "failed": 0, "skipped": 0, "files": {}}
        if os.path.exists(path):
            with open(path, encoding="ascii") as file:
                self.have = json.load(file)

    def run(self, path, label, live):
        one = File(path, label, live)
        try:
            one.run()
        except OSError as error:
            one.failed += 1
            one.tell(False, f"can be run: {error}")
        with self.lock:
            for name in ("passed", "failed", "skipped"):
                self.have[name] += getattr(one, name)
            self.have["files"].setdefault(one.name, {})[label.strip()] = [one.passed, one.failed]
            if one.output:
                print("\n".join(one.output), flush=True)
            with open(self.path, "w", encoding="ascii") as file:
                json.dump(self.have, file)


def says(path, how):
    with open(path, "rb") as file:
        return f"# Runs {how}.".encode() in file.read(2000)


def says_long(path):
    with open(path, "rb") as file:
        return b"# Takes long." in file.read(2000)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--label", default="")
    parser.add_argument("--only", default="")
    parser.add_argument("--skip", default="")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--totals", required=True)
    parser.add_argument("files", nargs="*")
    given = parser.parse_args()
    totals = Totals(given.totals)
    files = [path for path in sorted(given.files, key=lambda path: (not says_long(path),
                                                                    os.path.basename(path)))
             if re.search(given.only, path) and not (given.skip and re.search(given.skip, path))]
    alone = [path for path in files if given.jobs == 1 or says(path, "alone")]
    behind = [path for path in files if path not in alone and says(path, "in the background")]
    beside = [path for path in files if path not in alone + behind]
    pool = concurrent.futures.ThreadPoolExecutor
    with pool(1) as back, pool(given.jobs) as front:
        waiting = [back.submit(totals.run, path, given.label, False) for path in behind]
        waiting += [front.submit(totals.run, path, given.label, False) for path in beside]
        for done in waiting:
            done.result()
    for path in alone:
        totals.run(path, given.label, True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
