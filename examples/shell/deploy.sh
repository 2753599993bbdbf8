#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Two ways to guard a script with a lease. The server is that of $LEASED_ENDPOINT.
#
#   deploy.sh            needs leasectl and jq in the PATH
set -eu

# 1. Let leasectl run the work: it renews in the background, and ends the work before the lease could
#    pass to another. This is the one to use.
leasectl run locks/example/shell --ttl 10s --wait 30s -- sh -c '
	echo "at work on $LEASE_KEY with fencing token $LEASE_FENCING_TOKEN"
'

# 2. By hand, for work that is surely shorter than the ttl. The lease is given back however the script
#    ends.
holder=$(leasectl acquire locks/example/shell --ttl 60s --wait 30s -o json | jq -r .handle.holderId)
trap 'leasectl release locks/example/shell --holder "$holder" >/dev/null' EXIT
leasectl inspect locks/example/shell -o json | jq -r '"held: \(.held)"'

# Whoever comes now without waiting is refused.
status=0
leasectl acquire locks/example/shell -o json >/dev/null 2>&1 || status=$?
echo "a second acquire ends with status $status"
