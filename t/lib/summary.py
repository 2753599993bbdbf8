# SPDX-License-Identifier: Apache-2.0
"""summary.py TOTALS: what ran on which driver, then the count; status 0 when all of it passed."""
import json
import os
import sys


def matrix(files):
    """The tests that know no driver, and what they said of each."""
    both = {name: of for name, of in sorted(files.items()) if "postgres" in of}
    if not both:
        return
    print(f"{'the same tests on each driver':32} {'memory':>14} {'postgres':>14}")
    for name, of in both.items():
        cells = [f"{of[label][0]} ok" + (f", {of[label][1]} NOT" if of[label][1] else "")
                 if label in of else "-" for label in ("", "postgres")]
        print(f"{name:32} {cells[0]:>14} {cells[1]:>14}")


def main(path):
    have = {}
    if os.path.exists(path):
        with open(path, encoding="ascii") as file:
            have = json.load(file)
    passed, failed, skipped = (have.get(name, 0) for name in ("passed", "failed", "skipped"))
    matrix(have.get("files", {}))
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or not passed or (skipped and os.environ.get("CI") == "true") else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
