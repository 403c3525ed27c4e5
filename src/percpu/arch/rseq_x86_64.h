/* SPDX-License-Identifier: MIT */
/*
 * The operations of percpu.h as restartable sequences, x86-64.
 *
 * What a sequence is.  A thread can tell the kernel "these instructions must
 * run in one piece, on this CPU" by storing the address of a descriptor into
 * its rseq area:
 *
 *	descriptor	flags, start, length, abort address
 *	rseq area	cpu_id_start, cpu_id, -> descriptor
 *
 * The kernel does nothing until it preempts the thread, moves it to another
 * CPU, delivers a signal to it, or is asked to by membarrier.  Then it compares
 * the thread's instruction pointer with the descriptor.  Inside, the thread
 * goes on at the abort address; outside, the descriptor is forgotten.
 * So nothing has to be stored when a sequence ends.
 *
 * What follows from it for the code below.
 *
 * [S1] A section reads what it likes, writes what nobody looks at (array
 *	entries beyond head, the caller's buffer, room below tail), and ends in
 *	one store that makes it true: the committing store, the last instruction
 *	before label 3.  Interrupted before it, nothing has happened; once it is
 *	executed the section is over, so it cannot happen twice.
 * [S2] The number of the CPU is read inside.  Read before, it could be of a CPU
 *	that the thread has left, and no abort would tell.
 * [S3] The number is compared as unsigned: a thread without an area has -1, one
 *	whose registration was refused -2.  It is compared as bytes of strides,
 *	since it is multiplied while it is loaded: -1 and -2 stay the largest.
 *	(The product of 8192 would be 0 again; no x86 has a CPU of that number.)
 *	Where the mode is not rseq the bound is 0, so that all are too large.
 * [S4] Closed is looked at inside, and by the same load that says where to
 *	stop: a closed list has its oldest entry beyond any head and room for
 *	none.  So there is no test for it, and no load of it that could be older
 *	or newer than that of the end it guards.
 * [S5] The kernel reads the descriptor while sections run, so it must stay
 *	mapped: the library is linked so that it is never unloaded.
 * [S6] In front of the abort address stands a number that the process told
 *	the kernel when it registered.  Without it the kernel would kill the
 *	process: an abort address must not be a way to send a thread anywhere.
 *
 * The abort leads to a label of C, outside of the section; all that was in
 * registers is lost, so nothing but "interrupted" is returned.  Beginning anew
 * is left to the slow path, which has to come to this list anyway: it costs the
 * fast one nothing, and a debugger that steps through a section, and aborts
 * it at each step, is rid of it after PERCPU_TRIES rounds.
 *
 * Sections make no call and touch no stack.  They may fault (a buffer, an array
 * entry that is touched first): a fault that is served without a switch goes
 * on, one with a switch aborts.
 */
#ifndef PERCPU_ARCH_RSEQ_X86_64_H
#define PERCPU_ARCH_RSEQ_X86_64_H

#include "percpu/percpu.h"

/* percpu.h chooses; the other one may be in force. */
#ifndef PERCPU_HAVE_RSEQ
#define PERCPU_HAVE_RSEQ 1

/*
 * Bytes from the thread pointer to the rseq area, the same for all threads;
 * set before the first list is made, never 0 after.  Tests point it elsewhere.
 */
extern ptrdiff_t percpu_rseq_offset __attribute__((visibility("hidden")));

/* Where a thread's variable stands, as such an offset. */
static inline ptrdiff_t rseq_offset_of(const void *variable)
{
	const char *self;

	__asm__("movq %%fs:0, %0" : "=r"(self));
	return (const char *)variable - self;
}

/* clang-format off */

/*
 * Label 1: the descriptor.  2: first instruction of the section.  3: the first
 * one behind it.  4: where the kernel sends whoever was interrupted inside.
 * Debuggers look for the list of descriptors, to step over sections.
 */
#define RSEQ_DESCRIPTOR							\
	".pushsection __rseq_cs, \"aw\", @progbits\n\t"			\
	".balign 32\n"							\
	"1:\n\t"							\
	".long 0, 0\n\t"						\
	".quad 2f, 3f - 2f, 4f\n\t"					\
	".popsection\n\t"						\
	".pushsection __rseq_cs_ptr_array, \"aw\", @progbits\n\t"	\
	".quad 1b\n\t"							\
	".popsection\n\t"

/* [S6] The signature is the last half of "ud1 0x53053053(%rip),%edi", so that
 * what stands there reads as an instruction, and traps if it is executed. */
#define RSEQ_LEAVE							\
	"\n3:\n\t"							\
	".pushsection .text.unlikely, \"ax\", @progbits\n\t"		\
	".byte 0x0f, 0xb9, 0x3d\n\t"					\
	".long 0x53053053\n"						\
	"4:\n\t"							\
	"jmp %l[aborted]\n\t"						\
	".popsection\n\t"

/* From here on whatever stops this thread sends it to 4.  slot: the list. */
#define RSEQ_ENTER							\
	RSEQ_DESCRIPTOR							\
	"leaq 1b(%%rip), %[slot]\n\t"					\
	"movq %[slot], %%fs:8(%[area])\n"				\
	"2:\n\t"							\
	"imull %[stride], %%fs:4(%[area]), %k[slot]\n\t" /* [S2] */	\
	"cmpl %[end], %k[slot]\n\t" /* [S3] */				\
	"jae %l[none]\n\t"						\
	"addq %[base], %[slot]\n\t"					\
	"addq %[offset], %[slot]\n\t"

#define RSEQ_IN								\
	[area] "r"(percpu_rseq_offset), [end] "m"(percpu->rseq_end),	\
	[base] "m"(percpu->base), [stride] "i"(PERCPU_STRIDE),		\
	[offset] "r"((uint64_t)offset)

/* struct slot; percpu.c asserts that it is so */
#define TAIL  "0(%[slot])" /* 16 bits */
#define TOP   "2(%[slot])" /* 16 bits */
#define HEAD  "4(%[slot])"
#define LIMIT "8(%[slot])"
#define SIZE  "12(%[slot])"
#define ENTRY(index) "64(%[slot], %q[" #index "], 4)"
#define BELOW(index) "60(%[slot], %q[" #index "], 4)"

static inline int64_t slot_pop(const struct percpu *percpu, uint32_t offset)
{
	uint64_t slot, head, page;

	__asm__ inline volatile goto(
		RSEQ_ENTER
		"movl " HEAD ", %k[page]\n\t"
		"cmpw " TAIL ", %w[page]\n\t" /* [S4] */
		"jbe %l[none]\n\t"
		"leal -1(%q[page]), %k[head]\n\t"
		"movl " BELOW(page) ", %k[page]\n\t"
		"movl %k[head], " HEAD
		RSEQ_LEAVE
		: [slot] "=&r"(slot), [head] "=&r"(head), [page] "=&r"(page)
		: RSEQ_IN
		: "memory", "cc"
		: none, aborted);
	if (page > UINT32_MAX)
		__builtin_unreachable(); /* so it is no negative number */
	return (int64_t)page;
none:
	return SLOT_NONE;
aborted:
	return SLOT_ABORTED;
}

/* 1, or negative. */
static inline int slot_push_once(const struct percpu *percpu, uint32_t offset,
				 uint32_t page)
{
	uint64_t slot, head;

	__asm__ inline volatile goto(
		RSEQ_ENTER
		"movl " HEAD ", %k[head]\n\t"
		"cmpw " TOP ", %w[head]\n\t" /* [S4] */
		"jae %l[none]\n\t"
		"movl %k[page], " ENTRY(head) "\n\t"
		"incl %k[head]\n\t"
		"movl %k[head], " HEAD
		RSEQ_LEAVE
		: [slot] "=&r"(slot), [head] "=&r"(head)
		: RSEQ_IN, [page] "r"(page)
		: "memory", "cc"
		: none, aborted);
	return 1;
none:
	return SLOT_NONE;
aborted:
	return SLOT_ABORTED;
}

static inline bool slot_push(const struct percpu *percpu, uint32_t offset,
			     uint32_t page)
{
	return slot_push_once(percpu, offset, page) > 0;
}

/* A value above 0 in taken, to be cut to nr; i: 0.  Flags are of a subtraction
 * that gave it: below 0 where the list is closed [S4]. */
#define RSEQ_CUT							\
	"jbe %l[none]\n\t"						\
	"cmpl %[nr], %k[taken]\n\t"					\
	"cmoval %[nr], %k[taken]\n\t"					\
	"xorl %k[i], %k[i]\n\t"						\
	"testl %k[taken], %k[taken]\n\t"				\
	"je %l[none]\n"

/* One entry further, as long as there are entries to take. */
#define RSEQ_NEXT							\
	"incl %k[i]\n\t"						\
	"cmpl %k[taken], %k[i]\n\t"					\
	"jne 5b\n\t"

/* The newest; out[0] is what slot_pop would have returned. */
static inline int64_t slot_pop_batch(const struct percpu *percpu,
				     uint32_t offset, uint32_t *out,
				     uint32_t nr)
{
	uint64_t slot, at, i, taken, page;

	__asm__ inline volatile goto(
		RSEQ_ENTER
		"movl " HEAD ", %k[at]\n\t"
		"movzwl " TAIL ", %k[page]\n\t"
		"movl %k[at], %k[taken]\n\t"
		"subl %k[page], %k[taken]\n\t"
		RSEQ_CUT
		"5:\n\t"
		"movl " BELOW(at) ", %k[page]\n\t"
		"movl %k[page], (%[out], %q[i], 4)\n\t"
		"decl %k[at]\n\t"
		RSEQ_NEXT
		"movl %k[at], " HEAD
		RSEQ_LEAVE
		: [slot] "=&r"(slot), [at] "=&r"(at), [i] "=&r"(i),
		  [taken] "=&r"(taken), [page] "=&r"(page)
		: RSEQ_IN, [out] "r"(out), [nr] "r"(nr)
		: "memory", "cc"
		: none, aborted);
	return (int64_t)taken;
none:
	return SLOT_NONE;
aborted:
	return SLOT_ABORTED;
}

/*
 * The oldest; commits tail and top, which others may be changing (closing, a
 * new limit): limit is looked at first, so that whoever changes it finds at
 * most one store of a section that had not seen it [C3].
 */
static inline int64_t slot_pop_oldest(const struct percpu *percpu,
				      uint32_t offset, uint32_t *out,
				      uint32_t nr)
{
	uint64_t slot, at, i, taken, page, top;

	__asm__ inline volatile goto(
		RSEQ_ENTER
		"movl " LIMIT ", %k[top]\n\t"
		"testl %k[top], %k[top]\n\t"
		"je %l[none]\n\t"
		"movl " HEAD ", %k[taken]\n\t"
		"movzwl " TAIL ", %k[at]\n\t"
		"subl %k[at], %k[taken]\n\t"
		RSEQ_CUT
		"5:\n\t"
		"movl " ENTRY(at) ", %k[page]\n\t"
		"movl %k[page], (%[out], %q[i], 4)\n\t"
		"incl %k[at]\n\t"
		RSEQ_NEXT
		/* top: the smaller of tail + limit and the array's end */
		"addl %k[at], %k[top]\n\t"
		"cmpl " SIZE ", %k[top]\n\t"
		"cmoval " SIZE ", %k[top]\n\t"
		"shll $16, %k[top]\n\t"
		"orl %k[at], %k[top]\n\t"
		"movl %k[top], " TAIL
		RSEQ_LEAVE
		: [slot] "=&r"(slot), [at] "=&r"(at), [i] "=&r"(i),
		  [taken] "=&r"(taken), [page] "=&r"(page), [top] "=&r"(top)
		: RSEQ_IN, [out] "r"(out), [nr] "r"(nr)
		: "memory", "cc"
		: none, aborted);
	return (int64_t)taken;
none:
	return SLOT_NONE;
aborted:
	return SLOT_ABORTED;
}

/* As many as fit below the top; in[0] first. */
static inline int64_t slot_push_batch(const struct percpu *percpu,
				      uint32_t offset, const uint32_t *in,
				      uint32_t nr)
{
	uint64_t slot, at, i, taken, page;

	__asm__ inline volatile goto(
		RSEQ_ENTER
		"movl " HEAD ", %k[at]\n\t"
		"movzwl " TOP ", %k[taken]\n\t"
		"subl %k[at], %k[taken]\n\t"
		RSEQ_CUT
		"5:\n\t"
		"movl (%[in], %q[i], 4), %k[page]\n\t"
		"movl %k[page], " ENTRY(at) "\n\t"
		"incl %k[at]\n\t"
		RSEQ_NEXT
		"movl %k[at], " HEAD
		RSEQ_LEAVE
		: [slot] "=&r"(slot), [at] "=&r"(at), [i] "=&r"(i),
		  [taken] "=&r"(taken), [page] "=&r"(page)
		: RSEQ_IN, [in] "r"(in), [nr] "r"(nr)
		: "memory", "cc"
		: none, aborted);
	return (int64_t)taken;
none:
	return SLOT_NONE;
aborted:
	return SLOT_ABORTED;
}

/*
 * Move all entries to the array's beginning, where they leave room for more
 * [C7].  Into room below tail only, so that an abort finds them untouched
 * [S1].  0, or negative: there is nothing to gain, or not room enough yet.
 */
static inline int slot_move_down(const struct percpu *percpu, uint32_t offset)
{
	uint64_t slot, at, i, taken, page, top;

	__asm__ inline volatile goto(
		RSEQ_ENTER
		"movl " LIMIT ", %k[top]\n\t"
		"movl " HEAD ", %k[taken]\n\t"
		"movzwl " TAIL ", %k[at]\n\t"
		"subl %k[at], %k[taken]\n\t"
		"jb %l[none]\n\t" /* closed */
		"cmpl %k[top], %k[taken]\n\t"
		"jae %l[none]\n\t" /* full, or about to be closed */
		"cmpl %k[taken], %k[at]\n\t"
		"jb %l[none]\n\t" /* they would overlap */
		"xorl %k[i], %k[i]\n\t"
		"testl %k[taken], %k[taken]\n\t"
		"je 6f\n"
		"5:\n\t"
		"movl " ENTRY(at) ", %k[page]\n\t"
		"movl %k[page], " ENTRY(i) "\n\t"
		"incl %k[at]\n\t"
		RSEQ_NEXT
		"\n6:\n\t"
		/* tail 0, top limit, head the count: all in one store */
		"shlq $32, %[taken]\n\t"
		"shlq $16, %[top]\n\t"
		"orq %[top], %[taken]\n\t"
		"movq %[taken], " TAIL
		RSEQ_LEAVE
		: [slot] "=&r"(slot), [at] "=&r"(at), [i] "=&r"(i),
		  [taken] "=&r"(taken), [page] "=&r"(page), [top] "=&r"(top)
		: RSEQ_IN
		: "memory", "cc"
		: none, aborted);
	return 0;
none:
	return SLOT_NONE;
aborted:
	return SLOT_ABORTED;
}

/*
 * Stocks.  The number stands in the lower half, and it alone is stored, and so
 * it alone is loaded: a load wider than the store before it would have to wait
 * for that.  The key changes by swapping only.  limit is looked at inside [S4];
 * whoever closed the list changes words after the sections that saw it open.
 */
#define STOCK_AT "64(%[slot], %q[at], 8)"
#define STOCK_OF "68(%[slot], %q[at], 8)"
#define RSEQ_STOCK							\
	"cmpl $0, " LIMIT "\n\t"					\
	"je %l[none]\n\t"						\
	"cmpl %[key], " STOCK_OF "\n\t"					\
	"jne %l[none]\n\t"						\
	"movl " STOCK_AT ", %k[word]\n\t"

static inline int slot_stock_take(const struct percpu *percpu, uint32_t offset,
				  uint32_t key, uint32_t nr)
{
	uint64_t slot, word;

	__asm__ volatile goto(
		RSEQ_ENTER
		RSEQ_STOCK
		"subl %[nr], %k[word]\n\t"
		"jb %l[none]\n\t"
		"movl %k[word], " STOCK_AT
		RSEQ_LEAVE
		: [slot] "=&r"(slot), [word] "=&r"(word)
		: RSEQ_IN, [at] "r"((uint64_t)STOCK_WORD(key)),
		  [key] "r"(key), [nr] "ri"(nr)
		: "memory", "cc"
		: none, aborted);
	return 1;
none:
	return SLOT_NONE;
aborted:
	return SLOT_ABORTED;
}

static inline int slot_stock_put(const struct percpu *percpu, uint32_t offset,
				 uint32_t key, uint32_t nr, uint32_t max)
{
	uint64_t slot, word;

	__asm__ volatile goto(
		RSEQ_ENTER
		RSEQ_STOCK
		"addl %[nr], %k[word]\n\t"
		"jc %l[none]\n\t"
		"cmpl %[max], %k[word]\n\t"
		"ja %l[none]\n\t"
		"movl %k[word], " STOCK_AT
		RSEQ_LEAVE
		: [slot] "=&r"(slot), [word] "=&r"(word)
		: RSEQ_IN, [at] "r"((uint64_t)STOCK_WORD(key)),
		  [key] "r"(key), [nr] "ri"(nr), [max] "ri"(max)
		: "memory", "cc"
		: none, aborted);
	return 1;
none:
	return SLOT_NONE;
aborted:
	return SLOT_ABORTED;
}

static inline int slot_stock_swap(const struct percpu *percpu, uint32_t offset,
				  uint64_t new_word, uint64_t *old)
{
	uint64_t slot, word;

	__asm__ volatile goto(
		RSEQ_ENTER
		"cmpl $0, " LIMIT "\n\t"
		"je %l[none]\n\t"
		"movq " STOCK_AT ", %[word]\n\t"
		"movq %[new], " STOCK_AT
		RSEQ_LEAVE
		: [slot] "=&r"(slot), [word] "=&r"(word)
		: RSEQ_IN,
		  [at] "r"((uint64_t)STOCK_WORD(STOCK_KEY(new_word))),
		  [new] "r"(new_word)
		: "memory", "cc"
		: none, aborted);
	*old = word;
	return 1;
none:
	return SLOT_NONE;
aborted:
	return SLOT_ABORTED;
}

#undef STOCK_AT
#undef STOCK_OF
#undef RSEQ_STOCK
#undef TAIL
#undef TOP
#undef HEAD
#undef LIMIT
#undef SIZE
#undef ENTRY
#undef BELOW

/* clang-format on */

#endif /* PERCPU_HAVE_RSEQ */
#endif /* PERCPU_ARCH_RSEQ_X86_64_H */
