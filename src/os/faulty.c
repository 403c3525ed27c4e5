/* SPDX-License-Identifier: MIT */
/* The table of faulty.h: each entry asks first whether it is its turn. */
#include "os/faulty.h"

#include <errno.h>
#include <stdbool.h>

#include "base/atomic.h"

struct os_ops os_faulty;

/* set by the test's thread */
static const struct os_ops *base;
static enum faulty_kind armed_kind;
static unsigned int armed_at;
static bool armed_for_ever;
static int errors[FAULTY_NR_KINDS];
/* atomic, relaxed */
static unsigned int calls;
static unsigned int hits;

/* 0, or the negative errno with which this call fails. */
static int turn_of(enum faulty_kind kind)
{
	unsigned int call;

	if (!armed_at || (armed_kind != FAULTY_ALL && armed_kind != kind))
		return 0;
	call = add_relaxed(&calls, 1) + 1;
	if (armed_for_ever ? call < armed_at : call != armed_at)
		return 0;
	add_relaxed(&hits, 1);
	return -errors[kind];
}

static int faulty_map(size_t len, size_t align, void **out)
{
	int error = turn_of(FAULTY_MAP);

	return error ? error : base->map(len, align, out);
}

static int faulty_map_backed(size_t len, size_t align, enum os_backing backing,
			     void **out)
{
	int error = turn_of(FAULTY_MAP);

	return error ? error : base->map_backed(len, align, backing, out);
}

static int faulty_reserve(size_t len, size_t align, void **out)
{
	int error = turn_of(FAULTY_RESERVE);

	return error ? error : base->reserve(len, align, out);
}

static int faulty_unmap(void *addr, size_t len)
{
	int error = turn_of(FAULTY_UNMAP);

	return error ? error : base->unmap(addr, len);
}

static int faulty_advise(void *addr, size_t len, enum os_advice advice)
{
	int error = turn_of(advice == OS_POPULATE ? FAULTY_POPULATE
						  : FAULTY_ADVISE);

	return error ? error : base->advise(addr, len, advice);
}

static int faulty_place(void *addr, size_t len, enum os_policy policy,
			const struct os_nodes *nodes)
{
	int error = turn_of(FAULTY_PLACE);

	return error ? error : base->place(addr, len, policy, nodes);
}

static int faulty_resident(void *addr, size_t len, unsigned char *pages)
{
	int error = turn_of(FAULTY_RESIDENT);

	return error ? error : base->resident(addr, len, pages);
}

static int faulty_background(void)
{
	int error = turn_of(FAULTY_BACKGROUND);

	return error ? error : base->background();
}

static int faulty_at_fork(void (*prepare)(void), void (*parent)(void),
			  void (*child)(void))
{
	int error = turn_of(FAULTY_AT_FORK);

	return error ? error : base->at_fork(prepare, parent, child);
}

static int faulty_move(void *old, size_t old_len, void *dst, size_t new_len)
{
	int error = turn_of(FAULTY_MOVE);

	return error ? error : base->move(old, old_len, dst, new_len);
}

static long faulty_read_file(const char *path, char *buf, size_t len)
{
	int error = turn_of(FAULTY_READ_FILE);

	return error ? error : base->read_file(path, buf, len);
}

static int faulty_share(const char *path, size_t len, void **out)
{
	int error = turn_of(FAULTY_SHARE);

	return error ? error : base->share(path, len, out);
}

static int faulty_thread_start(const char *name, void (*body)(void *),
			       void *arg, struct os_thread *thread)
{
	int error = turn_of(FAULTY_THREAD);

	return error ? error : base->thread_start(name, body, arg, thread);
}

static int faulty_rseq_offset(ptrdiff_t *out)
{
	int error = turn_of(FAULTY_RSEQ);

	return error ? error : base->rseq_offset(out);
}

static int faulty_restart_register(void)
{
	int error = turn_of(FAULTY_RESTART_REGISTER);

	return error ? error : base->restart_register();
}

static int faulty_restart_others(int cpu)
{
	int error = turn_of(FAULTY_RESTART);

	return error ? error : base->restart_others(cpu);
}

static const int usual_errors[FAULTY_NR_KINDS] = {
	[FAULTY_MAP] = ENOMEM,	     [FAULTY_RESERVE] = ENOMEM,
	[FAULTY_UNMAP] = ENOMEM,     [FAULTY_ADVISE] = EINVAL,
	[FAULTY_MOVE] = ENOMEM,	     [FAULTY_READ_FILE] = EACCES,
	[FAULTY_SHARE] = EPERM,	     [FAULTY_THREAD] = EAGAIN,
	[FAULTY_PLACE] = EPERM,	     [FAULTY_RESIDENT] = EAGAIN,
	[FAULTY_BACKGROUND] = EPERM, [FAULTY_AT_FORK] = ENOMEM,
	[FAULTY_POPULATE] = ENOMEM,  [FAULTY_RSEQ] = ENOSYS,
	[FAULTY_RESTART] = EPERM,    [FAULTY_RESTART_REGISTER] = EPERM,
};

void faulty_start(const struct os_ops *over)
{
	base = over;
	os_faulty = *over;
	os_faulty.name = "faulty";
	os_faulty.map = faulty_map;
	os_faulty.map_backed = faulty_map_backed;
	os_faulty.reserve = faulty_reserve;
	os_faulty.unmap = faulty_unmap;
	os_faulty.advise = faulty_advise;
	os_faulty.move = faulty_move;
	os_faulty.place = faulty_place;
	os_faulty.resident = faulty_resident;
	os_faulty.background = faulty_background;
	os_faulty.at_fork = faulty_at_fork;
	os_faulty.read_file = faulty_read_file;
	os_faulty.share = faulty_share;
	os_faulty.rseq_offset = faulty_rseq_offset;
	os_faulty.restart_register = faulty_restart_register;
	os_faulty.restart_others = faulty_restart_others;
	os_faulty.thread_start = faulty_thread_start;
	for (int i = 0; i < FAULTY_NR_KINDS; i++)
		errors[i] = usual_errors[i];
	faulty_arm(0, FAULTY_ALL);
	os = &os_faulty;
}

void faulty_stop(void)
{
	os = base;
}

static void arm(unsigned int n, enum faulty_kind kind, bool for_ever)
{
	armed_kind = kind;
	armed_at = n;
	armed_for_ever = for_ever;
	calls = 0;
	hits = 0;
}

void faulty_arm(unsigned int n, enum faulty_kind kind)
{
	arm(n, kind, false);
}

void faulty_arm_from(unsigned int n, enum faulty_kind kind)
{
	arm(n, kind, true);
}

void faulty_errno(enum faulty_kind kind, int error)
{
	errors[kind] = error;
}

unsigned int faulty_hits(void)
{
	return load_relaxed(&hits);
}
