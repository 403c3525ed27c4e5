/* SPDX-License-Identifier: MIT */
/*
 * No restartable sequences here: another CPU kind, the build for one CPU, or
 * ThreadSanitizer, which cannot follow them.  All fail, as constants, so that
 * the compiler drops the call together with what follows on success.
 */
#ifndef PERCPU_ARCH_RSEQ_NONE_H
#define PERCPU_ARCH_RSEQ_NONE_H

#include "percpu/percpu.h"

/* percpu.h chooses; the other one may be in force. */
#ifndef PERCPU_HAVE_RSEQ
#define PERCPU_HAVE_RSEQ 0

static inline int64_t slot_pop(const struct percpu *percpu, uint32_t offset)
{
	(void)percpu, (void)offset;
	return SLOT_NONE;
}

static inline int slot_push_once(const struct percpu *percpu, uint32_t offset,
				 uint32_t page)
{
	(void)percpu, (void)offset, (void)page;
	return SLOT_NONE;
}

static inline bool slot_push(const struct percpu *percpu, uint32_t offset,
			     uint32_t page)
{
	return slot_push_once(percpu, offset, page) > 0;
}

static inline int64_t slot_pop_batch(const struct percpu *percpu,
				     uint32_t offset, uint32_t *out,
				     uint32_t nr)
{
	(void)percpu, (void)offset, (void)out, (void)nr;
	return SLOT_NONE;
}

static inline int64_t slot_pop_oldest(const struct percpu *percpu,
				      uint32_t offset, uint32_t *out,
				      uint32_t nr)
{
	(void)percpu, (void)offset, (void)out, (void)nr;
	return SLOT_NONE;
}

static inline int64_t slot_push_batch(const struct percpu *percpu,
				      uint32_t offset, const uint32_t *in,
				      uint32_t nr)
{
	(void)percpu, (void)offset, (void)in, (void)nr;
	return SLOT_NONE;
}

static inline int slot_move_down(const struct percpu *percpu, uint32_t offset)
{
	(void)percpu, (void)offset;
	return SLOT_NONE;
}

static inline int slot_stock_take(const struct percpu *percpu, uint32_t offset,
				  uint32_t key, uint32_t nr)
{
	(void)percpu, (void)offset, (void)key, (void)nr;
	return SLOT_NONE;
}

static inline int slot_stock_put(const struct percpu *percpu, uint32_t offset,
				 uint32_t key, uint32_t nr, uint32_t max)
{
	(void)percpu, (void)offset, (void)key, (void)nr, (void)max;
	return SLOT_NONE;
}

static inline int slot_stock_swap(const struct percpu *percpu, uint32_t offset,
				  uint64_t word, uint64_t *old)
{
	(void)percpu, (void)offset, (void)word, (void)old;
	return SLOT_NONE;
}

#endif /* PERCPU_HAVE_RSEQ */
#endif /* PERCPU_ARCH_RSEQ_NONE_H */
