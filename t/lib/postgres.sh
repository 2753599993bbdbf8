#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A private Postgres for tests: nothing of the system's own clusters is touched.
#
#   postgres.sh start DIR [SETTING=VALUE...]   makes and starts one in DIR, prints its DSN
#   postgres.sh crash DIR                      kills it as a power failure would; DIR stays
#   postgres.sh resume DIR                     starts it again
#   postgres.sh stop DIR                       ends it and removes DIR
#
# Run by root, the server runs as user postgres. The DSN leads to a unix socket in DIR; TCP on
# 127.0.0.1 has the same port. Role and database are called leased; role plain may create nothing.
set -euo pipefail

fail() {
	printf 'postgres.sh: %s\n' "$*" >&2
	exit 1
}

binaries() { # the newest version that is installed
	local dir
	for dir in $(printf '%s\n' /usr/lib/postgresql/*/bin | sort -Vr); do
		[ -x "$dir/initdb" ] && echo "$dir" && return
	done
	dirname "$(command -v initdb)" 2>/dev/null || fail 'package postgresql is missing'
}

as_server() {
	if [ "$(id -u)" = 0 ]; then
		setpriv --reuid=postgres --regid=postgres --clear-groups --inh-caps=-all -- "$@"
	else
		"$@"
	fi
}

free_port() {
	/usr/bin/python3 -c 'import socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

dsn() {
	printf 'host=%s port=%s user=leased dbname=leased\n' "$dir" "$(cat "$dir/port")"
}

query() { # DATABASE TEXT
	"$bin/psql" -X -q -v ON_ERROR_STOP=1 -h "$dir" -p "$(cat "$dir/port")" -U leased -d "$1" -c "$2"
}

launch() {
	as_server "$bin/pg_ctl" -D "$dir/data" -l "$dir/log" -w -t 60 -s start >/dev/null 2>&1 ||
		fail "the server does not start: $(tail -n 5 "$dir/log")"
}

start() {
	local port setting
	port=$(free_port)
	mkdir -p "$dir"
	[ "$(id -u)" != 0 ] || chown postgres "$dir"
	chmod 755 "$dir"
	echo "$port" >"$dir/port"
	as_server "$bin/initdb" -D "$dir/data" -U leased --no-sync --auth=trust -E UTF8 --locale=C.UTF-8 \
		>"$dir/initdb.log" 2>&1 || fail "initdb: $(tail -n 5 "$dir/initdb.log")"
	{
		printf '%s\n' "port = $port" "unix_socket_directories = '$dir'" \
			"listen_addresses = '127.0.0.1'" 'shared_buffers = 32MB' \
			'log_min_messages = warning'
		for setting; do printf '%s\n' "$setting"; done
	} >>"$dir/data/postgresql.conf"
	launch
	query postgres 'CREATE DATABASE leased'
	query leased 'CREATE ROLE plain LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC'
	dsn
}

[ $# -ge 2 ] || fail 'see the head of this file'
what=$1 dir=$2
shift 2
bin=$(binaries)
case $what in
start) start "$@" ;;
crash) as_server "$bin/pg_ctl" -D "$dir/data" -m immediate -w -s stop ;;
resume) launch ;;
stop)
	as_server "$bin/pg_ctl" -D "$dir/data" -m immediate -w -s stop >/dev/null 2>&1 || true
	rm -rf "$dir"
	;;
*) fail "unknown command $what" ;;
esac
