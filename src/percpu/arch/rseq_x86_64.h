/* SPDX-License-Identifier: MIT */
/*
 * The operations of percpu.h as restartable sequences, x86-64.
 */
#ifndef PERCPU_ARCH_RSEQ_X86_64_H
#define PERCPU_ARCH_RSEQ_X86_64_H

#define PERCPU_HAVE_RSEQ 1

/* Bytes from the thread pointer to the rseq area, the same for all threads. */
extern ptrdiff_t percpu_rseq_offset;

/* clang-format off */

/*
 * Label 1: the descriptor.  2: first instruction of the section.  3: the first
 * one behind it.  4: where the kernel sends whoever was interrupted inside.
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

/* The signature in front of 4 is the last half of "ud1 0x53053053(%rip),%edi",
 * so that what stands there reads as instructions. */
#define RSEQ_ABORT							\
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
	"movl %%fs:4(%[area]), %k[slot]\n\t"				\
	"cmpl %[nr_rseq], %k[slot]\n\t"					\
	"jae %l[none]\n\t"						\
	"shlq %%cl, %[slot]\n\t"					\
	"addq %[base], %[slot]\n\t"					\
	"addq %[offset], %[slot]\n\t"

#define RSEQ_LEAVE							\
	"\n3:\n\t"							\
	RSEQ_ABORT

#define RSEQ_IN								\
	[area] "r"(percpu_rseq_offset), [nr_rseq] "m"(percpu->nr_rseq),	\
	[base] "m"(percpu->base), "c"(percpu->shift),			\
	[offset] "r"((uint64_t)offset)

#define TAIL  "0(%[slot])"
#define HEAD  "4(%[slot])"
#define LIMIT "8(%[slot])"
#define MASK  "12(%[slot])"
#define RING(index) "64(%[slot], %q[" #index "], 4)"

static inline int64_t slot_pop(const struct percpu *percpu, uint32_t offset)
{
	uint64_t slot, head, page;

	__asm__ volatile goto(
		RSEQ_ENTER
		"cmpl $0, " LIMIT "\n\t"
		"je %l[none]\n\t"
		"movl " HEAD ", %k[head]\n\t"
		"cmpl " TAIL ", %k[head]\n\t"
		"je %l[none]\n\t"
		"decl %k[head]\n\t"
		"movl " MASK ", %k[page]\n\t"
		"andl %k[head], %k[page]\n\t"
		"movl " RING(page) ", %k[page]\n\t"
		"movl %k[head], " HEAD
		RSEQ_LEAVE
		: [slot] "=&r"(slot), [head] "=&r"(head), [page] "=&r"(page)
		: RSEQ_IN
		: "memory", "cc"
		: none, aborted);
	return (int64_t)page;
none:
	return SLOT_NONE;
aborted:
	return SLOT_ABORTED;
}

static inline int slot_push_once(const struct percpu *percpu, uint32_t offset,
				 uint32_t page)
{
	uint64_t slot, head, index;

	__asm__ volatile goto(
		RSEQ_ENTER
		"movl " HEAD ", %k[head]\n\t"
		"movl %k[head], %k[index]\n\t"
		"subl " TAIL ", %k[index]\n\t"
		"cmpl " LIMIT ", %k[index]\n\t"
		"jae %l[none]\n\t"
		"movl " MASK ", %k[index]\n\t"
		"andl %k[head], %k[index]\n\t"
		"movl %k[page], " RING(index) "\n\t"
		"incl %k[head]\n\t"
		"movl %k[head], " HEAD
		RSEQ_LEAVE
		: [slot] "=&r"(slot), [head] "=&r"(head), [index] "=&r"(index)
		: RSEQ_IN, [page] "r"(page)
		: "memory", "cc"
		: none, aborted);
	return 1;
none:
	return SLOT_NONE;
aborted:
	return SLOT_ABORTED;
}

/* taken: the smaller of what is wanted and what there is. */
#define RSEQ_COUNT							\
	"cmpl $0, " LIMIT "\n\t"					\
	"je %l[none]\n\t"						\
	"movl " HEAD ", %k[taken]\n\t"					\
	"subl " TAIL ", %k[taken]\n\t"					\
	"cmpl %[nr], %k[taken]\n\t"					\
	"cmovael %[nr], %k[taken]\n\t"					\
	"xorl %k[i], %k[i]\n\t"						\
	"testl %k[taken], %k[taken]\n\t"				\
	"je %l[none]\n\t"

static inline int64_t slot_pop_batch(const struct percpu *percpu,
				     uint32_t offset, uint32_t *out,
				     uint32_t nr)
{
	uint64_t slot, at, i, taken, page;

	__asm__ volatile goto(
		RSEQ_ENTER
		RSEQ_COUNT
		"movl " HEAD ", %k[at]\n"
		"6:\n\t"
		"decl %k[at]\n\t"
		"movl " MASK ", %k[page]\n\t"
		"andl %k[at], %k[page]\n\t"
		"movl " RING(page) ", %k[page]\n\t"
		"movl %k[page], (%[out], %q[i], 4)\n\t"
		"incl %k[i]\n\t"
		"cmpl %k[taken], %k[i]\n\t"
		"jne 6b\n\t"
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

static inline int64_t slot_pop_oldest(const struct percpu *percpu,
				      uint32_t offset, uint32_t *out,
				      uint32_t nr)
{
	uint64_t slot, at, i, taken, page;

	__asm__ volatile goto(
		RSEQ_ENTER
		RSEQ_COUNT
		"movl " TAIL ", %k[at]\n"
		"6:\n\t"
		"movl " MASK ", %k[page]\n\t"
		"andl %k[at], %k[page]\n\t"
		"movl " RING(page) ", %k[page]\n\t"
		"movl %k[page], (%[out], %q[i], 4)\n\t"
		"incl %k[at]\n\t"
		"incl %k[i]\n\t"
		"cmpl %k[taken], %k[i]\n\t"
		"jne 6b\n\t"
		"movl %k[at], " TAIL
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

static inline int64_t slot_push_batch(const struct percpu *percpu,
				      uint32_t offset, const uint32_t *in,
				      uint32_t nr)
{
	uint64_t slot, at, i, taken, page, index;

	__asm__ volatile goto(
		RSEQ_ENTER
		"movl " LIMIT ", %k[taken]\n\t"
		"movl " HEAD ", %k[at]\n\t"
		"movl %k[at], %k[i]\n\t"
		"subl " TAIL ", %k[i]\n\t"
		"subl %k[i], %k[taken]\n\t"
		"jbe %l[none]\n\t"
		"cmpl %[nr], %k[taken]\n\t"
		"cmovael %[nr], %k[taken]\n\t"
		"xorl %k[i], %k[i]\n\t"
		"testl %k[taken], %k[taken]\n\t"
		"je %l[none]\n"
		"6:\n\t"
		"movl (%[in], %q[i], 4), %k[page]\n\t"
		"movl " MASK ", %k[index]\n\t"
		"andl %k[at], %k[index]\n\t"
		"movl %k[page], " RING(index) "\n\t"
		"incl %k[at]\n\t"
		"incl %k[i]\n\t"
		"cmpl %k[taken], %k[i]\n\t"
		"jne 6b\n\t"
		"movl %k[at], " HEAD
		RSEQ_LEAVE
		: [slot] "=&r"(slot), [at] "=&r"(at), [i] "=&r"(i),
		  [taken] "=&r"(taken), [page] "=&r"(page),
		  [index] "=&r"(index)
		: RSEQ_IN, [in] "r"(in), [nr] "r"(nr)
		: "memory", "cc"
		: none, aborted);
	return (int64_t)taken;
none:
	return SLOT_NONE;
aborted:
	return SLOT_ABORTED;
}

/* clang-format on */

#endif /* PERCPU_ARCH_RSEQ_X86_64_H */
