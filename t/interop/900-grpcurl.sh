#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A command-line client that knows nothing but what the server tells it by reflection. When grpcurl
# cannot be had, `buf curl` stands in.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${LEASED_BUILD:-build}" && pwd)
export PATH=$build/interop/bin:$build/interop/buf/node_modules/.bin:$PATH

obtain() {
	command -v grpcurl >/dev/null && return
	mkdir -p "$build/interop/bin" "$build/interop/buf"
	if command -v go >/dev/null; then
		GOBIN=$build/interop/bin GOFLAGS=-buildvcs=false \
			go install github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.3 && return
	fi
	command -v buf >/dev/null && return
	npm install --silent --no-fund --no-audit --prefix "$build/interop/buf" @bufbuild/buf
}

if [ "${1:-}" != inside ]; then
	obtain || {
		echo 'not ok - grpcurl or buf can be had'
		exit 1
	}
	command -v jq >/dev/null || {
		echo 'not ok - jq is there'
		exit 1
	}
	# In a network of its own, so that the port of the documentation is free.
	exec unshare --net bash -c "ip link set lo up && exec /usr/bin/python3 '$here/../lib/serve.py' \
		7777 bash '$here/900-grpcurl.sh' inside"
fi

. "$here/../lib/tap.sh"
export TOKEN=any

if ! command -v grpcurl >/dev/null; then
	# The same words for the other tool: grpcurl [-plaintext] -H H -d D ADDRESS METHOD.
	grpcurl() {
		local header=() data='{}'
		while [ $# -gt 2 ]; do
			case $1 in
			-H) header=(-H "$2") && shift ;;
			-d) data=$2 && shift ;;
			esac
			shift
		done
		buf curl --protocol grpc --http2-prior-knowledge "${header[@]}" -d "$data" "http://$1/$2"
	}
	export -f grpcurl
	echo '# grpcurl cannot be had: buf curl stands in'
fi

transcript() {
	set -eu
# Acquire a lease.
ACQ=$(grpcurl -plaintext -H "x-mindd-capability: Bearer $TOKEN" \
  -d '{"namespace":"locks","key":"deploy","ttl":"60s"}' \
  127.0.0.1:7777 mindd.lease.v1.Lease/Acquire)
HOLDER=$(echo "$ACQ" | jq -r '.handle.holderId')

# Renew it.
grpcurl -plaintext -H "x-mindd-capability: Bearer $TOKEN" \
  -d "{\"namespace\":\"locks\",\"key\":\"deploy\",\"holder_id\":\"$HOLDER\",\"ttl\":\"300s\"}" \
  127.0.0.1:7777 mindd.lease.v1.Lease/Renew

# Release.
grpcurl -plaintext -H "x-mindd-capability: Bearer $TOKEN" \
  -d "{\"namespace\":\"locks\",\"key\":\"deploy\",\"holder_id\":\"$HOLDER\"}" \
  127.0.0.1:7777 mindd.lease.v1.Lease/Release
}
script=$(declare -f transcript)

call() { # METHOD JSON
	grpcurl -plaintext -d "$2" 127.0.0.1:7777 "mindd.lease.v1.Lease/$1"
}
steps() {
	bash -c "$script; transcript" >"$build/interop/transcript" || return 1
	cat "$build/interop/transcript"
	[ "$(jq -s '.[-1].existed' "$build/interop/transcript")" = true ] &&
		[ "$(jq -s '.[0].handle.key' "$build/interop/transcript")" = '"deploy"' ]
}
long_ttl_prints() {
	call Acquire '{"namespace":"locks","key":"long","ttl":"604800s"}' |
		jq -e '.handle.expiresAt | test("^2[0-9]{3}-.*Z$")' &&
		call Acquire '{"namespace":"locks","key":"fraction","ttl":"1.5s"}' | jq -e .handle.remaining
}
refused() {
	local output
	! output=$(call Acquire '{"namespace":"locks","key":"long","ttl":"5s"}' 2>&1) || return 1
	echo "$output"
	grep -qi 'already held' <<<"$output" && grep -qE 'FailedPrecondition|failed_precondition' <<<"$output"
}
details() {
	local output
	! output=$(grpcurl -plaintext -format-error -d '{"namespace":"locks","key":"long","ttl":"5s"}' \
		127.0.0.1:7777 mindd.lease.v1.Lease/Acquire 2>&1) || return 1
	echo "$output"
	grep -q LEASE_HELD <<<"$output" && grep -q lease.mindd.dev <<<"$output"
}
lists() {
	grpcurl -plaintext 127.0.0.1:7777 list | tee /dev/stderr | grep -qx mindd.lease.v1.Lease &&
		[ "$(grpcurl -plaintext 127.0.0.1:7777 list mindd.lease.v1.Lease | wc -l)" = 5 ]
}
describes() {
	local service message
	service=$(grpcurl -plaintext 127.0.0.1:7777 describe mindd.lease.v1.Lease) &&
		message=$(grpcurl -plaintext 127.0.0.1:7777 describe mindd.lease.v1.AcquireRequest) || return 1
	printf '%s\n' "$service" "$message"
	grep -q 'rpc Acquire' <<<"$service" && grep -q '//' <<<"$service" &&
		grep -q 'google.protobuf.Duration' <<<"$message"
}
healthy() {
	grpcurl -plaintext 127.0.0.1:7777 grpc.health.v1.Health/Check | jq -e '.status == "SERVING"'
}
odd_names() {
	call Acquire '{"namespace":"locks","key":"😀 %s é","ttl":"60s"}' | jq -e '.handle.key == "😀 %s é"' &&
		! call Acquire '{"namespace":"😀%","key":"k","ttl":"60s"}' 2>"$build/interop/odd" &&
		cat "$build/interop/odd" && grep -q '😀' "$build/interop/odd"
}

tap 'the transcript of the documentation works word for word' steps
tap 'replies with the longest and with fractional times print' long_ttl_prints
tap 'a held key is refused in words' refused
tap 'names that are not ASCII come back, also in errors' odd_names
if [ "$(type -t grpcurl)" = file ]; then
	tap 'B50 list shows the service and its five methods' lists
	tap 'B50 describe shows methods, comments and imported types' describes
	tap 'the details of an error are decoded' details
	tap 'health answers' healthy
fi
tap_end
