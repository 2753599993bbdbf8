#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# leasectl mcp with the client of the protocol's own TypeScript SDK.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${LEASED_BUILD:-build}" && pwd)
place=$build/interop/mcp
mkdir -p "$place"
cp "$here/mcp/client.mjs" "$place/"
if [ ! -d "$place/node_modules/@modelcontextprotocol/sdk" ]; then
	npm install --silent --no-fund --no-audit --prefix "$place" \
		@modelcontextprotocol/sdk@1.17.0 || {
		echo 'not ok - the package can be had'
		exit 1
	}
fi
exec /usr/bin/python3 "$here/../lib/serve.py" 0 node "$place/client.mjs" "$build/leasectl"
