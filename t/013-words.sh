#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The tree works anywhere: no paths of one machine, no address of a package registry.
. "$(dirname "$0")/lib/tap.sh"

tracked() {
	git grep -nIE "$@" -- . ':!t/013-words.sh' ':!LICENSE'
}
paths() {
	tracked '(^|[^a-zA-Z0-9_.$}/])/(work|home|root|Users)/[a-zA-Z]'
}
registries() {
	tracked -i '(https?://|@)[a-z0-9.-]*(registry|mirror|proxy|pypi|npmjs|crates|maven|deb\.debian)'
}
temporary() { # left behind by somebody's build
	git ls-files | grep -E '\.(o|a|orig|rej|swp|pyc|gcda|gcno|log)$|~$'
}

tap 'no path of one machine stands in the tree' nothing paths
tap 'no address of a package registry stands in the tree' nothing registries
tap 'nothing that was built is tracked' nothing temporary
tap_end
