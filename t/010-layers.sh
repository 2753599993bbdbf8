#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Who may include whom. The table is that of doc/architecture.md.
. "$(dirname "$0")/lib/tap.sh"

declare -A may=(
	[base]='base'
	[core]='base core'
	[config]='base core config'
	[shm]='base core shm'
	[pg]='base core pg'
	[auth]='base core auth'
	[token]='base core auth config token'
	[worker]='base core worker'
	[admin]='base core admin'
	[master]='base core master'
	[leasectl]='base core leasectl'
)

# Headers of libraries that stay in one room: regex, rooms.
foreign=(
	'<grpc/|<protobuf-c/|"[a-z_/]*\.pb-c\.h"=worker leasectl'
	'<libpq-fe\.h>=pg'
	'<yaml\.h>=config'
	'<sodium\.h>=auth config pg shm token'
	'<cjose/=auth'
	'<microhttpd\.h>=admin'
)
# Words in code that stay in one room.
words=(
	'pthread_mutexattr_setrobust|pthread_mutex_consistent|PTHREAD_MUTEX_ROBUST|EOWNERDEAD=shm'
	'PTHREAD_PROCESS_SHARED=shm'
	'shm_open|shm_unlink=shm'
)

rooms_included() { # ROOT: file, line and text of each include of a room that is not allowed
	local root=$1 file room target
	for file in "$root"/src/*/*.[ch]; do
		[ -e "$file" ] || continue
		room=$(basename "$(dirname "$file")")
		while IFS=: read -r line text; do
			target=$(sed -E 's/.*"([a-z]+)\/.*/\1/' <<<"$text")
			[[ -v may[$target] ]] || continue # generated messages: see foreign
			[[ " ${may[$room]-} " == *" $target "* ]] || echo "$file:$line: $text"
		done < <(grep -nE '^#include "[a-z]+/' "$file")
	done
}

kept_in_room() { # ROOT PREFIX RULE...: matches outside of the rooms that a rule names
	local root=$1 prefix=$2 rule room
	shift 2
	for rule; do
		grep -rnE --include='*.[ch]' "$prefix(${rule%=*})" "$root/src" 2>/dev/null |
			while IFS= read -r found; do
				room=${found#"$root"/src/}
				room=${room%%/*}
				[[ " ${rule##*=} " == *" $room "* ]] || echo "$found"
			done
	done
}

drivers_named() { # ROOT: only main.c names a driver
	grep -rnE --include='*.[ch]' '#include "(shm|pg)/driver\.h"' "$1/src" |
		grep -vE "^$1/src/(main\.c|shm/|pg/)"
}

unknown_rooms() { # ROOT
	local dir
	for dir in "$1"/src/*/; do
		[[ -v may[$(basename "$dir")] ]] || echo "$dir has no row in the table"
	done
}

reuseport() { # ROOT
	grep -rnE --include='*.[ch]' 'setsockopt\(.*SO_REUSEPORT' "$1/src"
}

undocumented() { # every room with code has its row in the document
	local dir
	for dir in src/*/; do
		compgen -G "$dir*.c" >/dev/null || continue
		grep -q "\`$dir\`" doc/architecture.md || echo "$dir has no row in doc/architecture.md"
	done
}

tap 'rooms include only rooms below them' nothing rooms_included .
tap 'headers of libraries stay in their room' nothing kept_in_room . '^#include +' "${foreign[@]}"
tap 'shared-memory primitives stay in their room' nothing kept_in_room . '' "${words[@]}"
tap 'only main.c names the drivers' nothing drivers_named .
tap 'every room is in the table' nothing unknown_rooms .
tap 'no socket is shared by SO_REUSEPORT' nothing reuseport .
tap 'every room is in the architecture' nothing undocumented

# A tree that breaks every rule: each check must find it.
bad=$(mktemp -d)
trap 'rm -rf "$bad"' EXIT
mkdir -p "$bad/src/core" "$bad/src/shm" "$bad/src/util"
cat >"$bad/src/core/bad.c" <<'END'
#include "shm/table.h"
#include <grpc/grpc.h>
#include "proto/lease.pb-c.h"
#include "shm/driver.h"
int x = EOWNERDEAD;
int y = setsockopt(1, 2, SO_REUSEPORT, 0, 0);
END
finds() { # reads $expected, set by the caller for one call
	[ "$("$@" | wc -l)" -ge "${expected:-1}" ]
}
expected=2 tap 'a forbidden include would be found' finds rooms_included "$bad"
expected=2 tap 'a header in the wrong room would be found' \
	finds kept_in_room "$bad" '^#include +' "${foreign[@]}"
expected=1 tap 'a primitive in the wrong room would be found' finds kept_in_room "$bad" '' "${words[@]}"
expected=1 tap 'a driver named elsewhere would be found' finds drivers_named "$bad"
expected=1 tap 'an unknown room would be found' finds unknown_rooms "$bad"
expected=1 tap 'a shared port would be found' finds reuseport "$bad"
tap_end
