#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs in the background.
# What clang-tidy says of the sources, with the checks of .clang-tidy.
. "$(dirname "$0")/lib/tap.sh"

build=${LEASED_BUILD:-build}
flags="-std=c17 -pthread -DHAVE_CONFIG_H -I src -I $build -I $build/src -I $build/proto
	$(pkg-config --cflags grpc libprotobuf-c jansson yaml-0.1 libpq cjose libmicrohttpd)"
# The analyzer's default of 225000 nodes per function takes minutes and finds the same.
[ "${LEASED_TEST_FULL:-}" = 1 ] || flags+=" -Xclang -analyzer-config -Xclang max-nodes=40000"
export flags

judge() {
	# shellcheck disable=SC2016 # expanded by the inner shell
	find src -name '*.c' -print0 | xargs -0 -r -n 4 -P "$(nproc)" \
		bash -c 'clang-tidy --quiet --warnings-as-errors="*" "$@" -- $flags' tidy 2>&1 |
		grep -vE '^[0-9]+ warnings? (generated|treated)|^Suppressed|^Use -'
	return "${PIPESTATUS[1]}"
}

tap 'clang-tidy finds nothing' judge
tap_end
