#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# check.sh [--quick | --all] [--no-install]: all that CI checks.
#
#	--quick       lint, the release build and its tests, symbols, install
#	--all         also the suite `programs`: real programs, slow
#	--no-install  install nothing; say what is missing and stop
#
# On a bare Debian 12 with nothing but git it installs what it needs and says
# so first.  Each step builds from scratch in a folder of its own below
# build-check/ and leaves its log in build-check/logs/.  The last line is
# "N passed, N failed, N skipped": tests, and one for each step.  Exits with 1
# if anything failed.
set -u
cd "$(dirname "$0")" || exit 1
# shellcheck source=scripts/need.sh
. scripts/need.sh

install=yes scope=usual
for argument; do
	case $argument in
	--no-install) install=no ;;
	--quick) scope=quick ;;
	--all) scope=all ;;
	*)
		echo "usage: check.sh [--quick | --all] [--no-install]" >&2
		exit 2
		;;
	esac
done

needed=(
	gcc=cmd:gcc 'g++=cmd:g++' 'libc6-dev=file:/usr/include/stdio.h'
	make=cmd:make meson=cmd:meson ninja-build=cmd:ninja
	binutils=cmd:readelf python3=cmd:python3
	pkg-config=cmd:pkg-config libcmocka-dev=pc:cmocka
	libjansson-dev=pc:jansson libhwloc-dev=pc:hwloc
	clang=cmd:clang clang-format-14=cmd:clang-format-14
	shellcheck=cmd:shellcheck mandoc=cmd:mandoc valgrind=cmd:valgrind
)
# What the suite `programs` runs: without one of them its test skips.
programs=(
	python3-numpy=py:numpy python3-pil=py:PIL imagemagick=cmd:convert
	xz-utils=cmd:xz bzip2=cmd:bzip2 zstd=cmd:zstd sqlite3=cmd:sqlite3
	git=cmd:git perl=cmd:perl redis-server=cmd:redis-server
	redis-tools=cmd:redis-benchmark sysbench=cmd:sysbench
	postgresql=file:/usr/lib/postgresql/*/bin/initdb
	nodejs=cmd:node default-jdk-headless=cmd:javac
)
# Peers in benches; two hundred packages come with it.
peers=(libdpdk-dev=pc:libdpdk)
[ $scope = all ] && needed+=("${programs[@]}" "${peers[@]}")
need $install "${needed[@]}"

out=build-check
mkdir -p $out/logs || die "cannot write to $PWD/$out"
passed=0 failed=0 skipped=0

# --- how a step runs ---

# step NAME FUNCTION ARGUMENT...: a function that returns 77 skips.
step() {
	local name=$1 log=$out/logs/$1.log start=$SECONDS before rc
	shift
	before="$passed $failed $skipped"
	printf '%-10s ' "$name"
	"$@" >"$log" 2>&1 </dev/null
	rc=$?
	case $rc in
	0) passed=$((passed + 1)) ;;
	77) skipped=$((skipped + 1)) ;;
	*) failed=$((failed + 1)) ;;
	esac
	report_step $rc $((SECONDS - start)) "$log" "$before"
}

report_step() {
	local rc=$1 seconds=$2 log=$3 p f s word=ok
	read -r p f s <<<"$4"
	[ "$rc" = 77 ] && word=skipped
	[ "$rc" != 77 ] && [ "$rc" != 0 ] && word=FAILED
	printf '%-8s %4d s   %d passed, %d failed, %d skipped\n' $word \
		"$seconds" $((passed - p)) $((failed - f)) $((skipped - s))
	[ $word = ok ] && return
	[ $word = skipped ] && tail -n 1 "$log" | sed 's/^/    /' && return
	grep -vE '^\[[0-9]+/[0-9]+\] (Compiling|Linking|Generating)' "$log" |
		tail -n 40 | sed 's/^/    /'
	echo "    the whole log: $log"
}

# build FOLDER OPTION...
build() {
	local folder=$out/$1
	shift
	rm -rf "$folder"
	meson setup "$folder" --werror "$@" && ninja -C "$folder"
}

# run_tests FOLDER LOGNAME OPTION...: counts what meson ran; none is a failure.
run_tests() {
	local folder=$out/$1 log=$2 json rc p s all
	shift 2
	rm -f "$folder/meson-logs/$log"*.json
	meson test -C "$folder" --no-rebuild --print-errorlogs \
		--logbase "$log" "$@"
	rc=$?
	# With a wrapper its name is part of the file's.
	json=$(compgen -G "$folder/meson-logs/$log*.json") ||
		{ echo "no test ran"; return 1; }
	all=$(grep -c '"result": "' "$json")
	p=$(grep -cE '"result": "(OK|EXPECTEDFAIL)"' "$json")
	s=$(grep -c '"result": "SKIP"' "$json")
	passed=$((passed + p)) skipped=$((skipped + s))
	failed=$((failed + all - p - s))
	[ "$all" -gt 0 ] || { echo "no test ran"; return 1; }
	return $rc
}

build_and_test() {
	local folder=$1 options=$2
	shift 2
	# Options are words without spaces.
	# shellcheck disable=SC2086
	build "$folder" $options && run_tests "$folder" tests "$@"
}

# --- lint ---

layers() {
	scripts/check-layers && scripts/check-layers --self-test
}

shell_files() {
	find . -path './build*' -prune -o -path ./.git -prune -o \
		-type f -print | sort | while read -r file; do
		case $file in *.sh | *.bash) echo "$file" && continue ;; esac
		head -c 64 "$file" | head -n 1 |
			grep -aqE '^#!.*[ /](ba)?sh( |$)' && echo "$file"
	done
}

python_files() {
	find . -path './build*' -prune -o -path ./.git -prune -o \
		-type f -print | sort | while read -r file; do
		case $file in *.py) echo "$file" && continue ;; esac
		head -c 64 "$file" | head -n 1 | grep -aq '^#!.*python' &&
			echo "$file"
	done
}

shell_lint() {
	local files
	mapfile -t files < <(shell_files)
	echo "${files[@]}"
	shellcheck -x "${files[@]}"
}

python_lint() {
	local files
	mapfile -t files < <(python_files)
	python3 -c 'import ast, sys
for name in sys.argv[1:]:
    ast.parse(open(name, encoding="utf-8").read(), name)' "${files[@]}"
}

format() {
	local files
	mapfile -t files < <(find include src preload cli tests examples \
		-name '*.[ch]' | sort)
	clang-format-14 --dry-run --Werror "${files[@]}"
}

# Our pages carry a version, not a date.
man_lint() {
	! mandoc -T lint -W warning man/*.1 | grep -v 'missing date, using ""'
}

# --- builds ---

# As installed: a program finds us by pkg-config alone, shared and static.
installed() {
	local stage=$PWD/$out/stage libdir program=$out/consumer
	rm -rf "$stage"
	DESTDIR=$stage meson install -C $out/release --no-rebuild || return
	libdir=$(dirname "$(find "$stage" -name libquire.a)")
	local -x PKG_CONFIG_PATH=$libdir/pkgconfig
	local -x PKG_CONFIG_SYSROOT_DIR=$stage
	local compile=(gcc -Wall -Werror tests/install/consumer.c -o "$program")
	local flags needs
	read -ra flags < <(pkg-config --cflags --libs quire)
	"${compile[@]}" "${flags[@]}" &&
		readelf -d "$program" | grep 'NEEDED.*libquire\.so\.0' &&
		LD_LIBRARY_PATH=$libdir "$program" || return
	# Ours static, what it needs shared: Debian has no static hwloc.
	read -ra needs < <(pkg-config --print-requires-private quire |
		PKG_CONFIG_SYSROOT_DIR='' xargs -r pkg-config --libs)
	read -ra flags < <(pkg-config --cflags quire)
	"${compile[@]}" "${flags[@]}" "$libdir/libquire.a" "${needs[@]}" \
		-pthread && "$program" || return
	QUIRE_LIBDIR=$libdir/quire "$stage/usr/local/bin/quire" run -- true &&
		test -s "$stage/usr/local/share/man/man1/quire.1"
}

# Sanitizers lose their shadow memory to a widely randomised address space.
fixed_addresses() {
	wrapper=()
	setarch -R true 2>/dev/null && wrapper=(--wrapper 'setarch -R')
}

sanitizer_runs() {
	echo 'int main(void) { return 0; }' >$out/probe.c
	gcc "$1" $out/probe.c -o $out/probe || return
	${wrapper[0]:+setarch -R} $out/probe
}

# sanitized FOLDER SANITIZERS SUITE...
# -Wno-tsan: fences stand only between processes, which TSan does not follow.
sanitized() {
	local folder=$1 kinds=$2 flags wrapper suites=()
	shift 2
	fixed_addresses
	sanitizer_runs "-fsanitize=$kinds" ||
		{ echo "this kernel does not let $kinds run"; return 77; }
	suites=("${@/#/--suite=}")
	flags=-fno-sanitize-recover=all
	[ "$kinds" = thread ] && flags=-Wno-tsan
	build_and_test "$folder" \
		"-Db_sanitize=$kinds -Dassertions=true -Dc_args=$flags" \
		--timeout-multiplier 5 "${wrapper[@]}" "${suites[@]}"
}

debug_clang() {
	CC=clang build_and_test debug "-Dassertions=true -Dsteps=true" "$@"
}

stress() {
	local rc=0
	run_tests debug stress --suite stress || rc=1
	run_tests release stress --suite stress || rc=1
	return $rc
}

usual=(--no-suite programs --no-suite stress --no-suite fault)

step layers layers
step shell shell_lint
step python python_lint
step format format
step man man_lint
step counters scripts/gen-counters --check
step headers scripts/check-headers
step release build_and_test release "" "${usual[@]}"
step symbols scripts/check-symbols $out/release
step install installed
if [ $scope != quick ]; then
	step debug debug_clang "${usual[@]}"
	step fault run_tests debug fault --suite fault
	step stress stress
	step asan sanitized asan address,undefined unit fault
	step tsan sanitized tsan thread unit stress
	step up build_and_test up -Dup=true "${usual[@]}"
	step up-size scripts/check-up $out/release $out/up
	# What runs under the preload library knows none of these.
	step minimal build_and_test minimal \
		"-Djansson=disabled -Dhwloc=disabled -Ddpdk=disabled" \
		"${usual[@]}" --no-suite preload --no-suite regress
fi
[ $scope = all ] && step programs run_tests release programs --suite programs

echo "$((SECONDS / 60)) min $((SECONDS % 60)) s"
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ] && [ $passed -gt 0 ]
