# SPDX-License-Identifier: Apache-2.0
"""What all pytest files here share: a limit of time per test, servers and keys."""
import faulthandler
import itertools
import os
import signal
import sys

import pytest

_HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(_HERE, "lib"))
sys.path.insert(0, os.path.join(os.environ.get("LEASED_BUILD", "build"), "t", "py"))

import tap_report  # noqa: E402
from drivers import DRIVER, FULL, SLOW  # noqa: E402
from server import Server  # noqa: E402

LIMIT = 60  # seconds a test may take unless it says otherwise with @pytest.mark.limit(seconds)


def pytest_configure(config):
    config.addinivalue_line("markers", "limit(seconds): time that the test may take")
    config.addinivalue_line("markers", "memory: a property of the memory driver")
    config.addinivalue_line("markers", "full: only with --full")
    faulthandler.enable()
    if not config.pluginmanager.has_plugin("tap_report"):
        config.pluginmanager.register(tap_report, "tap_report")


def pytest_collection_modifyitems(items):
    """Tests of another driver are no tests of this one: they are left out, not skipped."""
    items[:] = [item for item in items
                if (DRIVER.name == "memory" or not item.get_closest_marker("memory"))
                and (FULL or not item.get_closest_marker("full"))]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    mark = item.get_closest_marker("limit")
    limit = (mark.args[0] if mark else LIMIT) * SLOW

    def late(*_):
        faulthandler.dump_traceback(all_threads=True)
        raise TimeoutError(f"not done after {limit:.0f} s")
    previous = signal.signal(signal.SIGALRM, late)
    signal.alarm(int(limit) + 1)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)


@pytest.fixture(scope="module")
def server():
    """Four workers, namespaces `locks` and `other`."""
    with Server() as running:
        yield running


@pytest.fixture
def client(server):
    with server.connect() as connected:
        yield connected


@pytest.fixture
def pair(server):
    """Two clients on two different workers."""
    clients = server.connect_apart(2)
    yield clients
    for connected in clients:
        connected.close()


_keys = itertools.count(1)


@pytest.fixture
def key(request):
    """A key nobody else uses."""
    return f"{request.node.name}-{next(_keys)}"


@pytest.fixture
def new_key(request):
    """Makes keys nobody else uses."""
    return lambda: f"{request.node.name}-{next(_keys)}"
