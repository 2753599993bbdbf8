# SPDX-License-Identifier: Apache-2.0
"""A private Postgres (postgres.sh), and what tests ask of it."""
import os
import shutil
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


class Database:
    def __init__(self, *settings):
        self.directory = tempfile.mkdtemp(prefix="leased-t-pg-")
        self.dsn = self._run("start", *settings).strip()

    def _run(self, what, *more):
        done = subprocess.run([os.path.join(HERE, "postgres.sh"), what, self.directory, *more],
                              capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    @property
    def port(self):
        with open(os.path.join(self.directory, "port"), encoding="ascii") as file:
            return int(file.read())

    def backend(self, name="store", **options):
        """Lines of a configuration file."""
        options = {"dsn": f'"{self.dsn}"'} | options
        return [f"  - name: {name}", "    driver: postgres", "    options:"] + \
            [f"      {key}: {value}" for key, value in options.items()]

    def ask(self, text):
        """Rows as text, columns between |."""
        done = subprocess.run(["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d",
                               self.dsn, "-c", text], capture_output=True, text=True, check=False,
                              timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    def crash(self):
        self._run("crash")

    def resume(self):
        self._run("resume")

    def close(self):
        self._run("stop")
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
