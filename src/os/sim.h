/* SPDX-License-Identifier: MIT */
/*
 * A system of which a test sets the clock and the files.
 *
 * Memory, threads and sleeping are Linux's own; only now_ms and read_file are
 * not.  For tests: not part of any library.  One test at a time, one thread
 * that sets; readers may be other threads once all is set.
 */
#ifndef OS_SIM_H
#define OS_SIM_H

#include <stdint.h>

#include "os/os.h"

/* A copy of os_kernel's entries but for the two; filled by sim_start. */
extern struct os_ops os_sim;

/* Put it under everything: clock at 0, no file; and take it away again. */
void sim_start(void);
void sim_stop(void);

void sim_advance_ms(uint64_t ms);

/*
 * The file @path holds @text from now on.  A path that was never set is not
 * there (-ENOENT); NULL makes it one that cannot be read (-EACCES).  The
 * strings are not copied.
 */
void sim_file_set(const char *path, const char *text);
void sim_files_clear(void);

/* How many times read_file was called since sim_start. */
unsigned int sim_reads(void);

#endif /* OS_SIM_H */
