#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Scripts and Python files, judged without running them.
. "$(dirname "$0")/lib/tap.sh"

shells() {
	shellcheck -S warning -x -P SCRIPTDIR quickstart check .ci/run t/*.sh t/lib/*.sh t/interop/*.sh debian/leased.init debian/*.post* debian/tests/[!c]* \
		examples/*/*.sh
}
python() {
	git ls-files -z -- '*.py' | xargs -0 -r /usr/bin/python3 -m pyflakes
}
help_works() {
	./check --help | grep -q -- --interop && ./quickstart --help | grep -q -- --once
}
unknown_refused() {
	! ./check --no-such && ! ./quickstart --no-such
}

tap 'shellcheck finds nothing' shells
tap 'pyflakes finds nothing' python
tap 'quickstart and check explain themselves' help_works
tap 'quickstart and check refuse what they do not know' unknown_refused
tap_end
