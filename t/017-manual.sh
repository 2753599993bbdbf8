#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The manual pages as mandoc reads them.
. "$(dirname "$0")/lib/tap.sh"

pages() {
	[ -n "$(git ls-files man/ | grep -E '\.[1-8]$')" ] || {
		echo 'no manual page'
		return 1
	}
	git ls-files -- 'man/*.[1-8]' | xargs mandoc -T lint -W warning
}
links() { # relative links in documents lead somewhere
	local file target
	for file in README.md NEWS doc/*.md src/*/README*; do
		[ -e "$file" ] || continue
		grep -oE '\]\([^)#:]+\)' "$file" | sed 's/^](//; s/)$//' | while read -r target; do
			[ -e "$(dirname "$file")/$target" ] || echo "$file: $target"
		done
	done
}

tap 'the manual pages are clean' pages
tap 'links of documents lead somewhere' nothing links
tap_end
