#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The JavaScript implementation of gRPC, with the published proto.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${LEASED_BUILD:-build}" && pwd)
place=$build/interop/node
mkdir -p "$place"
cp "$here/node/client.js" "$place/"
if [ ! -d "$place/node_modules/@grpc/grpc-js" ]; then
	npm install --silent --no-fund --no-audit --prefix "$place" \
		@grpc/grpc-js@1 @grpc/proto-loader@0.7 || {
		echo 'not ok - the packages can be had'
		exit 1
	}
fi
exec /usr/bin/python3 "$here/../lib/serve.py" 0 node "$place/client.js" "$here/../../proto"
