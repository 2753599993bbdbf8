#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Names that say something, files and functions that can be read at once.
. "$(dirname "$0")/lib/tap.sh"

source_files() {
	git ls-files -- '*.c' '*.h' '*.py' '*.sh' '*.proto' '*.mk' '*.am' '*.ac' check quickstart .ci/run
}
vague() {
	source_files | grep -E '(^|/)(util|utils|misc|common|helper|helpers|stuff|tools)\.[a-z]+$'
}
unlicensed() {
	source_files | while read -r file; do
		[ ! -e "$file" ] || [ ! -s "$file" ] ||
			head -n 5 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' ||
			echo "$file: no licence line"
	done
}
long_files() { # MOST: a file of more lines needs a comment with WHY: at its top, and 800 are the end
	source_files | grep -E '\.(c|h|py|sh|proto)$' | while read -r file; do
		[ ! -e "$file" ] || awk -v most="$1" -v file="$file" \
			'NR <= 20 && /WHY:/ { most = 800 }
			END { if (NR > most) print file ": " NR " lines, at most " most }' "$file"
	done
}
functions() {
	git ls-files -- "$1/*.c" | xargs -r ctags -x --c-kinds=f --fields=+neS \
		--_xformat='%F	%n	%e	%N	%S' 2>/dev/null
}
long_functions() { # FOLDER MOST: a function of more lines needs a comment with WHY: inside or above
	functions "$1" | while IFS='	' read -r file begin end name _; do
		[ $((end - begin + 1)) -le "$2" ] && continue
		sed -n "$((begin > 6 ? begin - 6 : 1)),${end}p" "$file" | grep -q 'WHY:' ||
			echo "$file:$begin: $name has $((end - begin + 1)) lines, at most $2"
	done
}
many_parameters() { # MOST
	functions src | while IFS='	' read -r file begin _ name signature; do
		commas=$(tr -cd , <<<"$signature" | wc -c)
		[ "$commas" -lt "$1" ] ||
			sed -n "$((begin > 3 ? begin - 3 : 1)),${begin}p" "$file" | grep -q 'WHY:' || echo "$file:$begin: $name takes $((commas + 1)), at most $1"
	done
}
poisoned() {
	git ls-files -- 'src/*.c' 'src/*.h' | xargs -r grep -nwE '(strcpy|strcat|gets|vsprintf)\(' /dev/null
}

tap 'no file has a vague name' nothing vague
tap 'every file names its licence' nothing unlicensed
tap 'no file is longer than 500 lines without a reason' nothing long_files 500
tap 'no function of the server is longer than 50 lines without a reason' \
	nothing long_functions src 50
tap 'no function of the tests is longer than 80 lines without a reason' nothing long_functions t 80
tap 'no function takes more than 5 parameters' nothing many_parameters 5
tap 'no function without a limit is used on strings' nothing poisoned
tap_end
