/* SPDX-License-Identifier: MIT */
/* Where a panic goes before os has said what to do with it: a trap. */
#include "base/assert.h"

panic_fn panic_hook;

void panic_at(const char *what, const char *file, int line)
{
	if (panic_hook)
		panic_hook(what, file, line);
	__builtin_trap();
}
