# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# For tests in shell: `tap NAME COMMAND...` is one test; what the command prints is shown when it
# fails. `tap_end` is the last line of the file.
tap_wrong=0

tap() {
	local name=$1 output
	shift
	if output=$("$@" 2>&1); then
		echo "ok - $name"
	else
		echo "not ok - $name"
		printf '%s\n' "$output" | sed 's/^/# /'
		tap_wrong=1
	fi
}

tap_end() {
	exit "$tap_wrong"
}

# Runs a command that prints what is wrong, one finding a line; any output is a failure.
nothing() {
	local found
	found=$("$@") || true
	[ -z "$found" ] || {
		printf '%s\n' "$found"
		return 1
	}
}

# The tree under test.
cd "${LEASED_SOURCE:-$(dirname "${BASH_SOURCE[0]}")/../..}" || exit 1
