# The short way in.  Meson does the work; this names the usual calls.
BUILD ?= build
MESON_ARGS ?=

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD) --quiet
	@echo "built: $(BUILD)/quire   try: $(BUILD)/quire measure -- your program"

$(BUILD)/build.ninja:
	@meson setup $(BUILD) $(MESON_ARGS)

check:
	./check.sh --no-install

install: all
	meson install -C $(BUILD)

clean:
	rm -rf $(BUILD)

.PHONY: all check install clean
