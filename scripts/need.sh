# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# need INSTALL PACKAGE=PROBE...: what check.sh and demo.sh have in common.
#
# Sees what is missing by looking for the thing itself (a compiler that came
# from elsewhere is as good), says what it will install, and installs that from
# Debian.  With INSTALL "no" it installs nothing.  Where it cannot go on it
# ends the script with one line that says why.
#
#	cmd:NAME     a command          pc:NAME    a pkg-config module
#	py:MODULE    of Debian's python file:GLOB  a file

die() {
	echo "$(basename "$0"): $*" >&2
	exit 1
}

present() {
	local what=${1#*:}
	case $1 in
	cmd:*) command -v "$what" >/dev/null ;;
	pc:*) pkg-config --exists "$what" 2>/dev/null ;;
	py:*) /usr/bin/python3 -c "import $what" 2>/dev/null ;;
	file:*) compgen -G "$what" >/dev/null ;;
	*) false ;;
	esac
}

# Sets `missing` to the packages that are not there.
find_missing() {
	local entry
	missing=()
	hash -r
	for entry; do
		present "${entry#*=}" || missing+=("${entry%%=*}")
	done
}

# Sets `as_root` to what goes before a command to run it as root.
find_root() {
	as_root=()
	[ "$(id -u)" = 0 ] && return
	local hint="as root: apt-get install ${missing[*]}"
	command -v sudo >/dev/null ||
		die "neither root nor sudo; $hint"
	as_root=(sudo)
	[ -t 0 ] || as_root+=(-n)
	"${as_root[@]}" true || die "sudo refuses; $hint"
}

apt() {
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
		http_proxy="${http_proxy:-}" https_proxy="${https_proxy:-}" \
		apt-get -qq -o Dpkg::Use-Pty=0 -o Acquire::Retries=2 "$@" \
		</dev/null >>"$apt_log" 2>&1
}

install_missing() {
	apt update
	apt install -y --no-install-recommends "${missing[@]}"
}

need() {
	local install=$1
	shift
	find_missing "$@"
	[ ${#missing[@]} = 0 ] && return
	[ "$install" = yes ] ||
		die "missing, and --no-install: ${missing[*]}"
	command -v apt-get >/dev/null ||
		die "not a Debian system; install what Debian calls: ${missing[*]}"
	find_root
	echo "installing from Debian with apt-get: ${missing[*]}"
	apt_log=$(mktemp)
	# Mirrors fail for a moment: once more before giving up.
	if ! install_missing && ! { sleep 5 && install_missing; }; then
		die "apt-get failed (no network? all it said: $apt_log):" \
			"$(grep -E '^(E|Err):?' "$apt_log" | tail -n 1 |
				sed -E 's#[a-z]+://[^ ]*##g')"
	fi
	rm -f "$apt_log"
	find_missing "$@"
	[ ${#missing[@]} = 0 ] || die "installed, yet not found: ${missing[*]}"
}
