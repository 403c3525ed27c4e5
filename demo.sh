#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# demo.sh [--no-install]: is it worth it?  Installs what is missing on a bare
# Debian 12 (it says what), builds quire, and measures two programs:
#
#	gcc -O2 on a large C file, which gains nothing, and is told so
#	examples/photo.py, a photograph normalised with numpy
#
# Each runs some seventy times, alternated between all that could help.
set -u
cd "$(dirname "$0")" || exit 1
# shellcheck source=scripts/need.sh
. scripts/need.sh

install=yes
case "$*" in
'') ;;
--no-install) install=no ;;
*) echo "usage: demo.sh [--no-install]" >&2; exit 2 ;;
esac

# The malloc libraries are rows of the table; numpy, PIL and the photograph are
# the example; stb is the large C file.
need $install gcc=cmd:gcc libc6-dev='file:/usr/include/stdio.h' \
	make=cmd:make meson=cmd:meson ninja-build=cmd:ninja \
	pkg-config=cmd:pkg-config python3=file:/usr/bin/python3 \
	python3-numpy=py:numpy python3-pil=py:PIL \
	lomiri-wallpapers-16.04=file:/usr/share/backgrounds/aitzgorri_*.jpg \
	libstb-dev=file:/usr/include/stb/stb_truetype.h \
	libjemalloc2='file:/usr/lib/*/libjemalloc.so.2' \
	libmimalloc2.0='file:/usr/lib/*/libmimalloc.so.2*' \
	libtcmalloc-minimal4='file:/usr/lib/*/libtcmalloc_minimal.so.4'

make || die "the build failed"

# One file with nothing left to include, so that gcc only compiles.
source=build/demo-large.c
gcc -E -P -x c -o "$source" - <<-'END' || die "cannot write $source"
	#define STB_TRUETYPE_IMPLEMENTATION
	#include <stb/stb_truetype.h>
END

echo
echo "== gcc -O2 on $(wc -l <"$source") lines of C: nothing to gain is expected"
build/quire measure -- gcc -O2 -w -c "$source" -o build/demo-large.o ||
	die "measure failed on gcc"
echo
echo "== a photograph of 6 megapixels, normalised with numpy"
build/quire measure -- /usr/bin/python3 examples/photo.py
