#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Instructions of the steps of a call, counted by callgrind: no step may have grown by more than 5 %.

    230-instructions.py --write    keeps what is measured now as the new measure

The figures are those of gcc 12 with -O2 on Debian 12; they do not depend on the machine's speed."""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from stub import BUILD, main  # noqa: E402

KEPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", "instructions.txt")
PROGRAM = os.path.join(BUILD, "t", "hot-path")
TIMES = 1000
ALLOWED = 1.05
STEPS = ("acquire", "refuse", "inspect", "renew", "release", "decode", "encode")


def count(step):
    with tempfile.NamedTemporaryFile(prefix="callgrind-") as out:
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--toggle-collect=step_{step}",
             f"--callgrind-out-file={out.name}", PROGRAM],
            capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stderr
        total = re.search(r"^(?:totals|summary): (\d+)$", open(out.name, encoding="ascii").read(),
                          re.MULTILINE)
    assert total and int(total[1]) > 0, f"step_{step} was not seen"
    return round(int(total[1]) / TIMES)


def kept():
    with open(KEPT, encoding="ascii") as file:
        return {name: int(number) for name, number in
                (line.split() for line in file if not line.startswith("#"))}


def judged(step):
    def test():
        now, before = count(step), kept()[step]
        print(f"# {step}: {now} instructions, {before} before", flush=True)
        assert now <= before * ALLOWED, \
            f"{step} takes {now} instructions, {now / before - 1:.1%} more than {before}"
    return test


def write():
    with open(KEPT, "w", encoding="ascii") as file:
        file.write("# Instructions of one step, see t/230-instructions.py\n")
        for step in STEPS:
            file.write(f"{step} {count(step)}\n")


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write()
    else:
        main({f"test_{step}_takes_no_more_instructions": judged(step) for step in STEPS})
