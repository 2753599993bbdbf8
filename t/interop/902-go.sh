#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The Go implementation of gRPC, with code generated from the published proto.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${LEASED_BUILD:-build}" && pwd)
place=$build/interop/go
mkdir -p "$place" "$build/interop/bin"
fail() {
	echo "not ok - $1"
	exit 1
}

command -v go >/dev/null || fail 'go is there'
# The checkout may be no repository, or another user's: the result must not depend on it.
export GOFLAGS='-buildvcs=false' PATH=$build/interop/bin:$PATH GOBIN=$build/interop/bin
cp "$here"/go/* "$place/"
[ -x "$build/interop/bin/protoc-gen-go" ] ||
	go install google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.6 || fail 'protoc-gen-go can be had'
[ -x "$build/interop/bin/protoc-gen-go-grpc" ] ||
	go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.5.1 ||
	fail 'protoc-gen-go-grpc can be had'
protoc -I"$here/../../proto" --go_out="$place" --go-grpc_out="$place" \
	mindd/lease/v1/lease.proto || fail 'the proto gives Go code'
(cd "$place" && go build -o client . >build.log 2>&1) || {
	cat "$place/build.log"
	fail 'the Go client builds'
}
exec /usr/bin/python3 "$here/../lib/serve.py" 0 "$place/client"
