#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs in the background.
# What cppcheck says of the sources.
. "$(dirname "$0")/lib/tap.sh"

build=${LEASED_BUILD:-build}
judge() {
	cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr \
		--suppressions-list=t/lib/cppcheck.supp --error-exitcode=1 -j "$(nproc)" \
		--template='{file}:{line}: {severity}: {message} [{id}]' \
		-I src -I "$build" -I "$build/proto" src
}

tap 'cppcheck finds nothing' judge
tap_end
