/* SPDX-License-Identifier: MIT */
/*
 * Named points between two shared actions.
 *
 * Races are tested by stepping, not by hoping: in a build with -Dsteps=true a
 * test sets step_hook and can stop a thread at STEP("name"), run another one,
 * or deliver a signal.  In every other build STEP is nothing.
 */
#ifndef BASE_STEP_H
#define BASE_STEP_H

#ifndef CONFIG_STEP
#define CONFIG_STEP 0
#endif

#if CONFIG_STEP
extern void (*step_hook)(const char *name);
#define STEP(name)                                                             \
	do {                                                                   \
		if (step_hook)                                                 \
			step_hook(name);                                       \
	} while (0)
#else
#define STEP(name) ((void)0)
#endif

#endif /* BASE_STEP_H */
