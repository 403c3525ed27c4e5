# SPDX-License-Identifier: MIT
# The short way in.  Meson does the work; this names the usual calls.
BUILD ?= build
MESON_ARGS ?=

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD) --quiet
	@ln -sf cli/quire $(BUILD)/quire
	@echo "built: $(BUILD)/quire   try: $(BUILD)/quire measure -- your program"

$(BUILD)/build.ninja:
	@meson setup $(BUILD) $(MESON_ARGS)

# What CI runs; and the same with real programs, which takes longer.
check:
	./check.sh --no-install

check-all:
	./check.sh --no-install --all

# Dying threads and forks, again and again.
stress: all
	QUIRE_STRESS_SECONDS=120 meson test -C $(BUILD) --suite stress --timeout-multiplier 10

# Looks for operations on free lists that break them, for FUZZ_SECONDS; those it
# had not seen are in build-fuzz/corpus, what failed is named by the last lines.
FUZZ_SECONDS ?= 60
fuzz: build-fuzz/build.ninja
	@ninja -C build-fuzz --quiet tests/fuzz/zone-fuzz
	@mkdir -p build-fuzz/corpus
	build-fuzz/tests/fuzz/zone-fuzz -max_total_time=$(FUZZ_SECONDS) \
		-max_len=1024 -len_control=0 -artifact_prefix=build-fuzz/ \
		build-fuzz/corpus tests/fuzz/corpus

build-fuzz/build.ninja:
	@CC=clang meson setup build-fuzz -Db_sanitize=address -Db_lundef=false \
		-Dassertions=true $(MESON_ARGS)

# The figures of docs/spans.md and of docs/mechanism-a.md to -d.md; two and a half
# hours on an idle machine.  DPDK's mempool is measured where libdpdk-dev is
# installed before the build is set up.
bench: all
	ninja -C $(BUILD) --quiet bench/blocks
	/usr/bin/python3 bench/spans.py $(BUILD)
	/usr/bin/python3 bench/release.py $(BUILD)
	/usr/bin/python3 bench/pages.py $(BUILD)
	/usr/bin/python3 bench/groups.py $(BUILD)

# As clang-format 14 lays it out; check fails otherwise.
format:
	clang-format-14 -i $$(git ls-files '*.[ch]')

install: all
	meson install -C $(BUILD)

clean:
	rm -rf $(BUILD) build-check build-fuzz

.PHONY: all check check-all stress fuzz bench format install clean
