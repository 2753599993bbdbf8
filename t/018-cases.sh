#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# t/CASES and the tests say the same.
. "$(dirname "$0")/lib/tap.sh"

lines() {
	grep -vE '^(#|$)' t/CASES
}
missing() { # files that do not exist or do not name their case
	local number rest file
	while read -r number rest; do
		for file in ${rest##*: }; do
			if [ ! -e "t/$file" ]; then
				echo "$number: t/$file is not there"
			elif ! grep -qE "${number}([^0-9]|$)" "t/$file"; then
				echo "$number: t/$file does not name it"
			fi
		done
	done < <(lines)
}
unlisted() { # numbers in names of tests that are not in the list
	git ls-files -z -- 't/*.py' 't/*.c' | xargs -0 grep -hoE '\bB[0-9]{2}_|_B[0-9]{2}\b' | tr -d _ |
		sort -u | while read -r number; do
		lines | grep -q "^$number " || echo "$number is tested and not listed"
	done
}
twice() {
	lines | cut -d' ' -f1 | sort | uniq -d
}

tap 'each case has tests that name it' nothing missing
tap 'each case that a test names is listed' nothing unlisted
tap 'no case is listed twice' nothing twice
tap_end
