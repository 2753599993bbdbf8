#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Writes doc/leasectl.md: what leasectl shows in a real terminal, taken from tmux. Needs a build and tmux.
#
#   doc/leasectl-screens.sh [BUILD_DIR]
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(cd "${1:-build}" && pwd)
place=$(mktemp -d)
port=$(/usr/bin/python3 -c 'import socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
tmux() { command tmux -L "leasectl-screens-$$" -f /dev/null "$@"; }
cleanup() {
	tmux kill-server 2>/dev/null || true
	kill "$server" 2>/dev/null || true
	wait "$server" 2>/dev/null || true
	rm -rf "$place" "/dev/shm/leased-screens-$$"*
}

cat >"$place/leased.yaml" <<END
server: { grpc: { tcp: "127.0.0.1:$port" }, workers: 2, state_dir: "$place/state" }
backends: [{ name: memory, driver: memory, options: { segment: "/leased-screens-$$" } }]
namespaces: [{ block: lease, name: locks, backend: memory }]
END
mkdir "$place/state"
"$build/leased" -q -f "$place/leased.yaml" 2>"$place/log" &
server=$!
trap cleanup EXIT
export LEASED_ENDPOINT=127.0.0.1:$port PATH=$build:$PATH PS1='$ ' HISTFILE=
until leasectl health >/dev/null 2>&1; do sleep 0.1; done

tmux new-session -d -s alpha -x 96 -y 14 "env PS1='$ ' bash --norc --noprofile"
tmux new-session -d -s beta -x 96 -y 14 "env PS1='$ ' bash --norc --noprofile"

screen() { tmux capture-pane -p -t "$1" | sed -e 's/[[:space:]]*$//' -e :a -e '/^\n*$/{$d;N;ba' -e '}'; }
await() { # PANE REGEX: until the screen shows it
	local i
	for ((i = 0; i < 150; i++)); do
		screen "$1" | grep -qE -- "$2" && return 0
		sleep 0.1
	done
	echo "not seen: $2" >&2
	screen "$1" >&2
	return 1
}
enter() { tmux send-keys -t "$1" "$2" Enter; }
fresh() {
	tmux send-keys -t "$1" C-l
	tmux clear-history -t "$1"
}
show() { # TITLE PANE TEXT
	printf '## %s\n\n%s\n\n```\n' "$1" "$3"
	screen "$2"
	printf '```\n\n'
}

{
	cat <<-'END'
		# leasectl in a terminal

		Screens of a real terminal (tmux, 96 columns), written by `doc/leasectl-screens.sh`. The manual is
		[leasectl(1)](../man/leasectl.1).

	END
	enter alpha 'leasectl acquire locks/deploy --ttl 2m'
	await alpha 'holder|[0-9a-f]{8}-'
	enter alpha 'leasectl list locks'
	await alpha '^[$] leasectl list'
	enter alpha 'echo $?'
	await alpha '^0$'
	show 'Taking a lease' alpha 'The result goes to stdout (`-o json` for programs), everything else to stderr.'

	fresh beta
	enter beta 'leasectl acquire locks/deploy; echo "status $?"'
	await beta 'status 75'
	show 'A refusal' beta 'Who holds it, for how long, and the time that is left. Status 75: try again later.'

	fresh beta
	enter beta 'leasectl run locks/deploy --ttl 30s --wait 5m -- sh -c "echo deploying; sleep 2; echo done"'
	await beta 'wait|left'
	sleep 1.2
	show 'Waiting in line' beta 'One line, rewritten in place.'

	fresh alpha
	enter alpha 'leasectl top locks'
	await alpha 'deploy'
	show 'leasectl top' alpha 'Refreshed until `q`.'
	tmux send-keys -t alpha q
	fresh alpha
	enter alpha 'leasectl release locks/deploy $(leasectl inspect locks/deploy -o json | jq -r .handle.holderId); echo "status $?"'
	await alpha 'status 0'
	await beta '^done'
	show 'The command runs when its turn comes' beta 'The lease is given back when the command and all below it are gone; the status is the command'"'"'s own.'

	fresh beta
	enter beta 'leasectl run locks/nightly --ttl 4s -- sleep 60; echo "status $?"'
	for i in $(seq 100); do leasectl inspect locks/nightly 2>/dev/null | grep -q nightly && break; sleep 0.1; done
	sleep 0.5
	pkill -STOP -P "$server" && kill -STOP "$server"
	await beta 'status 124'
	kill -CONT "$server" && pkill -CONT -P "$server"
	show 'A lost lease' beta 'The server was frozen: the command is ended before anyone else can get the lease. Status 124.'
} >"$place/leasectl.md"
sed -i -e :a -e '/^\n*$/{$d;N;ba' -e '}' "$place/leasectl.md"
cp "$place/leasectl.md" doc/leasectl.md
