#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The examples in Go and JavaScript run as they stand; two at once take turns.
set -u
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
build=$(cd "${LEASED_BUILD:-build}" && pwd)
. "$here/../lib/tap.sh"

place=$build/interop/examples
mkdir -p "$place" "$build/interop/bin"
export GOFLAGS='-buildvcs=false' PATH=$build/interop/bin:$PATH GOBIN=$build/interop/bin

# Two runs at the same time: both end well, and the steps of one are not mixed with the other's.
take_turns() {
	local out=$place/turns
	# shellcheck disable=SC2016 # expanded by the inner shell
	/usr/bin/python3 "$here/../lib/serve.py" 0 bash -c '
		export LEASED_ENDPOINT=$LEASED_ADDRESS
		"$@" >>"$0" & first=$!
		"$@" >>"$0" & second=$!
		wait "$first" && wait "$second"' "$out" "$@" || return 1
	cat "$out"
	[ "$(grep -c '^step' "$out")" = 8 ] && [ "$(grep -c '^done' "$out")" = 2 ] &&
		[ "$(sed -n 's/^step [1-4], fencing token //p' "$out" | uniq | wc -l)" = 2 ]
}
go_example() {
	rm -f "$place/turns"
	cp -r "$source/examples/go" "$place/" && cd "$place/go" || return 1
	[ -x "$build/interop/bin/protoc-gen-go" ] ||
		go install google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.6 || return 1
	[ -x "$build/interop/bin/protoc-gen-go-grpc" ] ||
		go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.5.1 || return 1
	protoc -I"$source/proto" --go_out=. --go-grpc_out=. mindd/lease/v1/lease.proto &&
		go vet . && go build -o example . && take_turns "$place/go/example"
}
node_example() {
	rm -f "$place/turns"
	cp -r "$source/examples/node" "$place/" && cd "$place/node" || return 1
	[ -d node_modules/@grpc/grpc-js ] || npm install --silent --no-fund --no-audit || return 1
	take_turns node "$place/node/hold.js" "$source/proto"
}

tap 'the Go example works, one program at a time' go_example
tap 'the JavaScript example works, one program at a time' node_example
tap_end
