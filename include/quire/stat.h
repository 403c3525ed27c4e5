/* SPDX-License-Identifier: MIT */
/*
 * Counters of quire, and the record that a process under quire leaves.
 *
 * A process that runs with the preload library and with the option
 * `stat_dir=DIR` keeps one small file DIR/PID: what it is, whether quire could
 * serve it, its counters, and when its last own instruction ran.  `quire run`
 * and `quire measure` read these files.  The layout of the file is private;
 * these functions read it.
 *
 * All functions here: thread-safe; not for signal handlers; no state, so
 * nothing happens over fork; `errno` is left alone; nothing is printed.
 */
#ifndef QUIRE_STAT_H
#define QUIRE_STAT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum quire_counter {
#define COUNTER(name, unit, kind, help) QUIRE_COUNTER_##name,
#include <quire/counters.def>
#undef COUNTER
	QUIRE_NR_COUNTERS
};

enum quire_counter_kind {
	QUIRE_KIND_SUM,
	QUIRE_KIND_GAUGE,
	QUIRE_KIND_PEAK,
};

/*
 * What one counter is.  The strings are constant and live for ever.
 */
struct quire_counter_info {
	const char *name;
	const char *unit;
	const char *help;
	enum quire_counter_kind kind;
};

/*
 * quire_counter_info - describe counter @nr (0 .. QUIRE_NR_COUNTERS - 1)
 * Returns NULL for any other number.
 */
const struct quire_counter_info *quire_counter_info(unsigned int nr);

/* Which of our libraries a process had loaded. */
#define QUIRE_LOADED_PRELOAD (1u << 0)
#define QUIRE_LOADED_STAMP   (1u << 1)
#define QUIRE_LOADED_RECORD  (1u << 2)

/*
 * One process, as it last described itself.  Times are nanoseconds of
 * CLOCK_MONOTONIC, sizes are bytes.  A value that the process could not tell
 * is 0.
 */
struct quire_process {
	size_t size; /* set by the caller: sizeof(struct quire_process) */
	uint32_t pid;
	uint32_t parent;
	uint32_t loaded;   /* QUIRE_LOADED_… */
	uint32_t ended;	   /* 1: it left by exit or _exit, not by a signal */
	uint64_t start_ns; /* our library started */
	uint64_t last_user_ns; /* the last moment before the kernel took the
				  process down */
	uint64_t rss_end;      /* resident when it ended */
	uint64_t rss_peak;     /* VmHWM when it ended */
	uint64_t threads_peak; /* largest number of threads seen (at the end and
				  at each publication) */
	char exe[256];	       /* path of its executable, cut if longer */
	char malloc_from[256]; /* path of the object whose malloc the program
				  calls */
	char next_from[256];   /* preload only: the object that serves smaller
				  blocks */
	uint64_t counter[QUIRE_NR_COUNTERS];
};

/*
 * quire_process_read - read the record file @path into @out
 * @out: size must be set; written only on success
 * Returns 0, -ENOENT, -EINVAL (size not known), -EBADMSG (not such a file, or
 * of another version), or the errno of reading.  A record that is being
 * written at the same time is read again, a bounded number of times.
 */
int quire_process_read(const char *path, struct quire_process *out);

/*
 * quire_process_text / _json - print the counters of @p into @buf
 * @len: size of @buf in bytes, the closing 0 included
 * Text is one "name value unit" a line, counters that are 0 left out; JSON is
 * one flat object of numbers with every counter in it.
 * Returns the length that the whole text has, like snprintf; -EINVAL if
 * p->size is not known.
 */
int quire_process_text(const struct quire_process *p, char *buf, size_t len);
int quire_process_json(const struct quire_process *p, char *buf, size_t len);

#ifdef __cplusplus
}
#endif

#endif /* QUIRE_STAT_H */
