#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What clang-tidy says of the sources, with the checks of .clang-tidy.
. "$(dirname "$0")/lib/tap.sh"

build=${LEASED_BUILD:-build}
judge() {
	# shellcheck disable=SC2046 # flags are words
	find src -name '*.c' -print0 | xargs -0 -r -n 8 -P "$(nproc)" clang-tidy --quiet \
		--warnings-as-errors='*' -- -std=c17 -DHAVE_CONFIG_H -I src -I "$build" -I "$build/src" \
		-I "$build/proto" $(pkg-config --cflags grpc libprotobuf-c jansson yaml-0.1 libpq) 2>&1 |
		grep -vE '^[0-9]+ warnings? (generated|treated)|^Suppressed|^Use -'
	return "${PIPESTATUS[1]}"
}

tap 'clang-tidy finds nothing' judge
tap_end
