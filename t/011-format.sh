#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The layout of .clang-format, everywhere.
. "$(dirname "$0")/lib/tap.sh"

sources() {
	find src t bench -name '*.[ch]' -not -path '*/build*' -print0
}
format() {
	sources | xargs -0 -r clang-format --dry-run -Werror
}
blanks() {
	git ls-files -z -- '*.c' '*.h' '*.py' '*.sh' '*.am' '*.mk' '*.ac' '*.proto' check quickstart |
		xargs -0 -r grep -nE '[ 	]+$' /dev/null
}

tap 'C files have the layout of .clang-format' format
tap 'no line ends with blanks' nothing blanks
tap_end
