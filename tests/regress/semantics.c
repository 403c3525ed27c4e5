/* SPDX-License-Identifier: MIT */
/*
 * A transcript of what the malloc family does at its edges.  It prints nothing
 * that may differ between two correct libraries (no addresses, no sizes beyond
 * "at least what was asked"), so that the outputs with and without the preload
 * library must be the same, line by line.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define K	  ((size_t)1 << 10)
#define M	  ((size_t)1 << 20)
#define G	  ((size_t)1 << 30)
#define UNTOUCHED 4711

static const size_t sizes[] = {
	0,	 1,	64 * K,	   128 * K - 1, 128 * K, 128 * K + 1,
	200 * K, 2 * M, 2 * M - 1, 2 * M + 1,	33 * M,	 40 * M + 4095,
};
#define NR(array) (sizeof(array) / sizeof((array)[0]))

static const char *error_name(int error)
{
	switch (error) {
	case UNTOUCHED:
		return "untouched";
	case ENOMEM:
		return "ENOMEM";
	case EINVAL:
		return "EINVAL";
	case 0:
		return "0";
	default:
		return strerror(error);
	}
}

static unsigned char pattern(size_t i)
{
	return (unsigned char)(i * 31 + i / 4096 * 7 + 5);
}

static void fill(unsigned char *p, size_t size)
{
	for (size_t i = 0; i < size; i += i + 4096 < size ? 509 : 1)
		p[i] = pattern(i);
}

static bool is_filled(const unsigned char *p, size_t size)
{
	for (size_t i = 0; i < size; i += 509)
		if (i + 4096 < size && p[i] != pattern(i))
			return false;
	return true;
}

static bool is_zero(const unsigned char *p, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (p[i])
			return false;
	return true;
}

/* NULL or not, errno, alignment, room */
static void tell(const char *what, size_t a, size_t b, void *p, size_t want,
		 size_t align)
{
	int error = errno;

	printf("%s(%zu, %zu): %s errno %s", what, a, b, p ? "block" : "NULL",
	       error_name(error));
	if (p)
		printf(" aligned %d room %d",
		       (uintptr_t)p % (align ? align : 1) == 0,
		       malloc_usable_size(p) >= want);
	printf("\n");
}

static void free_told(void *p)
{
	errno = UNTOUCHED;
	free(p);
	if (errno != UNTOUCHED)
		printf("free changed errno to %s\n", error_name(errno));
}

static void do_sizes(void)
{
	for (size_t i = 0; i < NR(sizes); i++) {
		void *p;

		for (int again = 0; again < 3; again++) {
			errno = UNTOUCHED;
			p = malloc(sizes[i]);
			tell("malloc", sizes[i], 0, p, sizes[i], 16);
			if (p)
				memset(p, 0xa5, sizes[i]);
			free_told(p);
			errno = UNTOUCHED;
			p = calloc(1, sizes[i]);
			tell("calloc", 1, sizes[i], p, sizes[i], 16);
			printf("zero %d\n", is_zero(p, sizes[i]));
			memset(p, 0x5a, sizes[i]);
			free_told(p);
		}
		errno = UNTOUCHED;
		p = valloc(sizes[i]);
		tell("valloc", sizes[i], 0, p, sizes[i], 4096);
		free_told(p);
		errno = UNTOUCHED;
		p = pvalloc(sizes[i]);
		tell("pvalloc", sizes[i], 0, p, (sizes[i] + 4095) & ~4095ul,
		     4096);
		free_told(p);
	}
}

static const size_t aligns[] = {
	0,	   1,
	2,	   3,
	4,	   7,
	8,	   16,
	24,	   48,
	4096,	   4097,
	8192,	   64 * K,
	3 * 4096,  128 * K,
	2 * M,	   1 * G,
	1 * G + 1, SIZE_MAX / 2 + 1,
	SIZE_MAX,  SIZE_MAX - 4095,
};
static const size_t aligned_sizes[] = {
	0,	   1,	   100,		 64 * K,	  128 * K,  200001,
	3 * M + 5, 64 * M, SIZE_MAX / 2, SIZE_MAX - 4096, SIZE_MAX,
};

/* Which alignment a block of an odd one has is the library's own affair. */
static size_t promised(size_t align)
{
	return align && (align & (align - 1)) == 0 ? align : 1;
}

static void do_one_aligned(size_t align, size_t size)
{
	void *const untouched = (void *)0x1230;
	void *out = untouched;
	int result;
	void *p;

	errno = UNTOUCHED;
	result = posix_memalign(&out, align, size);
	printf("posix_memalign(%zu, %zu): %s errno %s out %s", align, size,
	       error_name(result), error_name(errno),
	       out == untouched ? "untouched"
	       : out		? "block"
				: "NULL");
	if (!result && out)
		printf(" aligned %d room %d", (uintptr_t)out % align == 0,
		       malloc_usable_size(out) >= size);
	printf("\n");
	if (!result)
		free_told(out);
	errno = UNTOUCHED;
	p = aligned_alloc(align, size);
	tell("aligned_alloc", align, size, p, size, promised(align));
	free_told(p);
	errno = UNTOUCHED;
	p = memalign(align, size);
	tell("memalign", align, size, p, size, promised(align));
	free_told(p);
}

static void do_aligned(void)
{
	for (size_t i = 0; i < NR(aligns); i++)
		for (size_t j = 0; j < NR(aligned_sizes); j++)
			do_one_aligned(aligns[i], aligned_sizes[j]);
}

/* Sizes that cannot be, and products that wrap. */
static void do_impossible(void)
{
	static const size_t huge[] = {
		SIZE_MAX,	 SIZE_MAX - 1,	  SIZE_MAX - 4095,
		SIZE_MAX - 4096, SIZE_MAX / 2,	  SIZE_MAX / 2 + 1,
		(size_t)1 << 47, (size_t)1 << 60,
	};
	static const struct {
		size_t nr, size;
	} products[] = {
		{ SIZE_MAX, 2 },	   { 2, SIZE_MAX },
		{ SIZE_MAX, SIZE_MAX },	   { (size_t)1 << 32, (size_t)1 << 32 },
		{ SIZE_MAX / 2 + 1, 2 },   { SIZE_MAX / 4096 + 1, 4096 },
		{ SIZE_MAX, 0 },	   { 0, SIZE_MAX },
		{ SIZE_MAX / 16 + 2, 16 }, { 0, 0 },
		{ (size_t)1 << 48, 16 },   { 3, SIZE_MAX / 3 },
	};
	static const size_t before[] = { 0, 100, 300 * K, 4 * M };

	for (size_t i = 0; i < NR(huge); i++) {
		errno = UNTOUCHED;
		tell("malloc", huge[i], 0, malloc(huge[i]), 0, 0);
		errno = UNTOUCHED;
		tell("calloc", 1, huge[i], calloc(1, huge[i]), 0, 0);
		errno = UNTOUCHED;
		tell("valloc", huge[i], 0, valloc(huge[i]), 0, 0);
		errno = UNTOUCHED;
		tell("pvalloc", huge[i], 0, pvalloc(huge[i]), 0, 0);
	}
	for (size_t i = 0; i < NR(products); i++) {
		void *p;

		errno = UNTOUCHED;
		p = calloc(products[i].nr, products[i].size);
		tell("calloc", products[i].nr, products[i].size, p, 0, 16);
		free_told(p);
	}
	for (size_t j = 0; j < NR(before); j++) {
		for (size_t i = 0; i < NR(huge); i++) {
			unsigned char *p = malloc(before[j]), *q;

			fill(p, before[j]);
			errno = UNTOUCHED;
			q = realloc(p, huge[i]);
			tell("realloc", before[j], huge[i], q, 0, 0);
			printf("kept %d\n", is_filled(p, before[j]));
			free_told(p);
		}
		for (size_t i = 0; i < NR(products); i++) {
			unsigned char *p = malloc(before[j]), *q;

			fill(p, before[j]);
			errno = UNTOUCHED;
			q = reallocarray(p, products[i].nr, products[i].size);
			tell("reallocarray", products[i].nr, products[i].size,
			     q, 0, 0);
			/* a size of 0 has freed it */
			if (products[i].nr && products[i].size) {
				printf("kept %d\n", is_filled(p, before[j]));
				free_told(p);
			}
		}
	}
}

static void do_realloc(void)
{
	for (size_t i = 0; i < NR(sizes); i++) {
		for (size_t j = 0; j < NR(sizes); j++) {
			size_t least =
				sizes[i] < sizes[j] ? sizes[i] : sizes[j];
			unsigned char *p = malloc(sizes[i]);

			fill(p, sizes[i]);
			errno = UNTOUCHED;
			p = realloc(p, sizes[j]);
			tell("realloc", sizes[i], sizes[j], p, sizes[j], 16);
			if (!p)
				continue;
			printf("kept %d\n", is_filled(p, least));
			free_told(p);
		}
		errno = UNTOUCHED;
		void *fresh = realloc(NULL, sizes[i]);
		tell("realloc NULL", sizes[i], 0, fresh, sizes[i], 16);
		free_told(fresh);
		errno = UNTOUCHED;
		fresh = reallocarray(NULL, 3, sizes[i]);
		tell("reallocarray NULL", 3, sizes[i], fresh, 3 * sizes[i], 16);
		free_told(fresh);
	}
}

/* One block up and down over the threshold, its content looked after. */
static void do_realloc_walk(void)
{
	size_t size = 1;
	unsigned char *p = malloc(size);
	uint32_t random = 12345;

	p[0] = pattern(0);
	for (int i = 0; i < 400; i++) {
		size_t next, least;

		random = random * 1664525 + 1013904223;
		next = 1 + (random >> 8) % (i % 50 == 49 ? 40 * M : 400 * K);
		p = realloc(p, next);
		least = size < next ? size : next;
		for (size_t k = 0; k < least; k += 61)
			if (p[k] != pattern(k)) {
				printf("walk: step %d lost byte %zu\n", i, k);
				k = least;
			}
		for (size_t k = 0; k < next; k++)
			p[k] = pattern(k);
		size = next;
	}
	free(p);
	printf("walk done\n");
}

/* In place, growing by little, as vectors of bytes do. */
static void do_realloc_growth(void)
{
	unsigned char *p = NULL;
	bool good = true;

	for (size_t size = 4096; size < 8 * M; size += 4096 + size / 9) {
		size_t old = p ? size * 9 / 10 - 8192 : 0;

		p = realloc(p, size);
		if (size > 16384)
			for (size_t k = 0; k < old && k < 4096; k++)
				good = good && p[k] == pattern(k);
		for (size_t k = 0; k < size; k++)
			p[k] = pattern(k);
	}
	free(p);
	printf("growth %d\n", good);
}

/* A block that is recycled for calloc is zero again, whatever its size. */
static void do_recycled_zero(void)
{
	for (size_t i = 0; i < 30; i++) {
		size_t size = 128 * K + i * 1400001;
		void *p = malloc(size), *q;

		memset(p, 0xff, size);
		free(p);
		q = calloc(size / 16 + 1, 16);
		printf("recycled %zu zero %d\n", size,
		       is_zero(q, size / 16 * 16));
		memset(q, 0xee, size);
		free(q);
	}
}

typedef void (*free_sized_fn)(void *, size_t);
typedef void (*free_aligned_sized_fn)(void *, size_t, size_t);

/* Only where there: the C library may not have them while we do. */
static void do_free_sized(void)
{
	free_sized_fn sized = (free_sized_fn)dlsym(RTLD_DEFAULT, "free_sized");
	free_aligned_sized_fn aligned = (free_aligned_sized_fn)dlsym(
		RTLD_DEFAULT, "free_aligned_sized");

	for (size_t i = 0; i < NR(sizes); i++) {
		errno = UNTOUCHED;
		void *p = malloc(sizes[i]);

		if (sized)
			sized(p, sizes[i]);
		else
			free(p);
		p = aligned_alloc(64 * K, sizes[i]);
		if (aligned)
			aligned(p, 64 * K, sizes[i]);
		else
			free(p);
		printf("free_sized errno %s\n", error_name(errno));
	}
	if (sized)
		sized(NULL, 0);
	if (aligned)
		aligned(NULL, 8, 0);
}

/* No more address space: NULL and ENOMEM, and all goes on afterwards. */
static void do_no_memory(void)
{
	struct rlimit limit = { 3 * G, 3 * G };
	void *block[64];
	size_t nr = 0;

	if (setrlimit(RLIMIT_AS, &limit)) {
		printf("no RLIMIT_AS\n");
		return;
	}
	for (; nr < NR(block); nr++) {
		errno = UNTOUCHED;
		block[nr] = malloc(256 * M);
		if (!block[nr])
			break;
	}
	printf("address space: ended %d errno %s\n", nr < NR(block),
	       error_name(errno));
	errno = UNTOUCHED;
	tell("calloc", 1, 4 * G, calloc(1, 4 * G), 0, 0);
	errno = UNTOUCHED;
	tell("memalign", 2 * M, 4 * G, memalign(2 * M, 4 * G), 0, 0);
	void *out = (void *)8;
	errno = UNTOUCHED;
	int result = posix_memalign(&out, 4096, 4 * G);
	printf("posix_memalign: %s errno %s out %s\n", error_name(result),
	       error_name(errno), out == (void *)8 ? "untouched" : "changed");
	errno = UNTOUCHED;
	void *p = malloc(100 * K);
	tell("malloc", 100 * K, 0, p, 100 * K, 16);
	errno = UNTOUCHED;
	void *q = realloc(p, 4 * G);
	tell("realloc", 100 * K, 4 * G, q, 0, 0);
	free_told(p);
	errno = UNTOUCHED;
	q = realloc(block[0], 4 * G);
	tell("realloc", 256 * M, 4 * G, q, 0, 0);
	/* what is kept must not stand in the way of another size */
	while (nr)
		free_told(block[--nr]);
	errno = UNTOUCHED;
	p = malloc(1500 * M);
	tell("malloc", 1500 * M, 0, p, 1500 * M, 16);
	free_told(p);
	errno = UNTOUCHED;
	p = calloc(1500, M);
	tell("calloc", 1500, M, p, 1500 * M, 16);
	free_told(p);
}

/* Many alive at once never overlap. */
static void do_overlap(void)
{
	enum { N = 300 };
	unsigned char *block[N] = { NULL };
	size_t size[N] = { 0 };
	uint32_t random = 99;
	bool good = true;

	for (int i = 0; i < 6000; i++) {
		int k;

		random = random * 1664525 + 1013904223;
		k = (int)((random >> 8) % N);
		if (block[k]) {
			good = good && block[k][0] == (unsigned char)k &&
			       block[k][size[k] / 2] == (unsigned char)k &&
			       block[k][size[k] - 1] == (unsigned char)k;
			free(block[k]);
			block[k] = NULL;
			continue;
		}
		size[k] = 60 * K + (random >> 4) % (600 * K);
		switch (random >> 28) {
		case 0:
			block[k] = memalign(1 << 16, size[k]);
			break;
		case 1:
			block[k] = calloc(1, size[k]);
			good = good && is_zero(block[k], size[k]);
			break;
		default:
			block[k] = malloc(size[k]);
		}
		block[k][0] = block[k][size[k] / 2] = block[k][size[k] - 1] =
			(unsigned char)k;
	}
	for (int k = 0; k < N; k++)
		free(block[k]);
	printf("overlap: good %d\n", good);
}

int main(void)
{
	static char buffer[1 << 16];

	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	do_sizes();
	do_aligned();
	do_impossible();
	do_realloc();
	do_realloc_walk();
	do_realloc_growth();
	do_recycled_zero();
	do_free_sized();
	do_overlap();
	printf("malloc_usable_size(NULL) %zu\n", malloc_usable_size(NULL));
	errno = UNTOUCHED;
	malloc_trim(0);
	printf("malloc_trim errno %s\n", error_name(errno));
	do_no_memory();
	return 0;
}
