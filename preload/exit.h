/* SPDX-License-Identifier: MIT */
/*
 * The last moment before the kernel takes the process down.
 *
 * A library that links exit.c wraps _exit and _Exit.  exit(3) ends in the C
 * library's own _exit, which no wrapper sees: there the destructor of the
 * library is the last moment.
 */
#ifndef PRELOAD_EXIT_H
#define PRELOAD_EXIT_H

/*
 * exit_watch - call @fn before _exit, _Exit and at the end of quick_exit
 * From the constructor.  @fn may be called in a signal handler, in a vfork
 * child and more than once.
 */
void exit_watch(void (*fn)(void));

#endif /* PRELOAD_EXIT_H */
