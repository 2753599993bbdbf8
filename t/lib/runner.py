# SPDX-License-Identifier: Apache-2.0
"""Runs test files in the order of their numbers, shows TAP, counts.

    runner.py [--label L] [--only REGEX] [--skip REGEX] [--totals FILE] FILE...

A file is a program that speaks TAP (Criterion programs are asked to), a script, a Python program,
or a pytest file. One without any TAP line counts as one test. Totals are added up in FILE."""
import argparse
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
FILE_LIMIT = float(os.environ.get("LEASED_FILE_LIMIT", "420"))  # seconds one file may take


def command(path):
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

    def __init__(self, path, label):
        self.path, self.label = path, label
        self.name = os.path.splitext(os.path.basename(path))[0]
        self.passed = self.failed = self.skipped = 0
        self.lines, self.failing = [], False

    def tell(self, good, text):
        print(f"{'ok' if good else 'not ok'} - {self.label}{self.name}: {text}", flush=True)

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
            print("    " + line, flush=True)

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
            print(f"--- log of {self.path}", flush=True)
            for line in self.lines[-200:]:
                print("    " + line)
            print(f"--- end of log of {self.path}", flush=True)
        print(f"# {self.label}{self.name} took {took:.0f} s", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--label", default="")
    parser.add_argument("--only", default="")
    parser.add_argument("--skip", default="")
    parser.add_argument("--totals", required=True)
    parser.add_argument("files", nargs="*")
    given = parser.parse_args()
    totals = {"passed": 0, "failed": 0, "skipped": 0}
    if os.path.exists(given.totals):
        with open(given.totals, encoding="ascii") as file:
            totals = json.load(file)
    files = sorted(given.files, key=os.path.basename)
    for path in files:
        if re.search(given.only, path) and not (given.skip and re.search(given.skip, path)):
            one = File(path, given.label)
            try:
                one.run()
            except OSError as error:
                one.failed += 1
                one.tell(False, f"can be run: {error}")
            for name in totals:
                totals[name] += getattr(one, name)
            with open(given.totals, "w", encoding="ascii") as file:
                json.dump(totals, file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
