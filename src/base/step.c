/* SPDX-License-Identifier: MIT */
/* The hook of step.h; only in builds that have step points. */
#include "base/step.h"

#if CONFIG_STEP
void (*step_hook)(const char *name);
#else
/* ISO C wants something in every file. */
typedef int step_nothing;
#endif
