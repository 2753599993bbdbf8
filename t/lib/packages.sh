# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Debian packages and the build. Sourced by quickstart and check from the top of the tree.
# shellcheck disable=SC2034 # used by those who source this

packages_build=(gcc libc6-dev make autoconf automake pkg-config protobuf-compiler libprotobuf-dev
	protobuf-c-compiler libprotobuf-c-dev libgrpc-dev libjansson-dev libyaml-dev libpq-dev
	libunistring-dev libsodium-dev libcjose-dev libmicrohttpd-dev)
packages_client=(python3 python3-grpcio python3-protobuf protobuf-compiler-grpc)
packages_test=(python3-cryptography libcriterion-dev liblmdb-dev python3-pytest python3-pyflakes python3-yaml python3-prometheus-client python3-pip
	python3-setuptools python3-venv python3-wheel clang-format clang-tidy
	cppcheck shellcheck mandoc universal-ctags iproute2 procps util-linux jq locales git openssl
	postgresql-15 postgresql-contrib pgbouncer valgrind)
# For make deb, and for the tests of what it makes.
packages_deb=(dpkg-dev debhelper dh-apparmor dh-python pybuild-plugin-pyproject python3-all
	python3-setuptools python3-wheel)
packages_deb+=(lintian debootstrap apparmor systemd)

say() {
	printf '== %s\n' "$*"
}

refuse() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

# The system this is made for; anything else is refused rather than half supported.
require_debian() {
	local id='' version=''
	if [ -r /etc/os-release ]; then
		id=$(. /etc/os-release && printf %s "${ID:-}")
		version=$(. /etc/os-release && printf %s "${VERSION_ID:-}")
	fi
	[ "$id" = debian ] && [ "$version" = 12 ] ||
		refuse "made for Debian 12; this is ${id:-an unknown system} ${version:-}." \
			"Install what README.md names under Building, then run ./configure && make."
}

# Installs those of the given packages that are missing; does not touch the network when none is.
install_packages() {
	local missing=() name as_root=()
	for name; do
		[ "$(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null)" = installed ] ||
			missing+=("$name")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	if [ "$(id -u)" != 0 ]; then
		command -v sudo >/dev/null ||
			refuse "these packages are missing and there is no sudo: ${missing[*]}"
		as_root=(sudo)
	fi
	say "installing ${missing[*]}"
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq update
	without_cluster "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y \
		--no-install-recommends "${missing[@]}" >/dev/null
}

# without_cluster COMMAND...: package postgresql-15 makes and starts a database of its own when it is
# installed; the tests make theirs in temporary directories, and the machine needs none.
without_cluster() {
	local file=/etc/postgresql-common/createcluster.d/leased-check.conf status=0
	"${as_root[@]}" mkdir -p "${file%/*}"
	echo 'create_main_cluster = false' | "${as_root[@]}" tee "$file" >/dev/null
	"$@" || status=$?
	"${as_root[@]}" rm -f "$file"
	return "$status"
}

# build_tree DIR [configure arguments...]: configures DIR once. Make then keeps it up to date.
build_configure() {
	local dir=$1
	shift
	if [ ! -x configure ]; then
		say 'making configure'
		autoreconf -fi 2>/dev/null || autoreconf -fi
	fi
	if [ ! -e "$dir/config.status" ]; then
		say "configuring $dir"
		mkdir -p "$dir"
		(cd "$dir" && "$OLDPWD/configure" -q "$@")
	fi
}

# build_make DIR TARGET...
build_make() {
	local dir=$1
	shift
	make -C "$dir" -s --no-print-directory V=1 -j"$(nproc)" "$@"
}
