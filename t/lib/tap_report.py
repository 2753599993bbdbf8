# SPDX-License-Identifier: Apache-2.0
"""pytest speaks TAP: one line per test as soon as it is done, the reason of a failure below it."""


def pytest_runtest_logreport(report):
    if report.when != "call" and report.passed:
        return
    name = report.nodeid.rpartition("::")[2].removeprefix("test_").replace("_", " ")
    if report.when == "teardown":
        name += " (afterwards)"
    if report.skipped:
        print(f"ok - {name} # SKIP {report.longrepr[2] if report.longrepr else ''}", flush=True)
    elif report.passed:
        print(f"ok - {name} # {report.duration:.1f} s", flush=True)
    else:
        print(f"not ok - {name}", flush=True)
        for line in str(report.longrepr).splitlines():
            print("# " + line, flush=True)


def pytest_collectreport(report):
    if report.failed:
        print(f"not ok - {report.nodeid} can be loaded")
        for line in str(report.longrepr).splitlines():
            print("# " + line, flush=True)
