/* SPDX-License-Identifier: MIT */
/*
 * A program with a malloc family of its own, as redis has.  Its blocks carry a
 * mark, and a block without the mark that reaches its free ends the program.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct head {
	size_t size;
	uint64_t mark;
};
#define MARK 0x6f776e2d6d616c6cu

static char *arena;
static size_t used;

void *malloc(size_t size)
{
	struct head *head;

	if (!arena)
		arena = mmap(NULL, (size_t)1 << 32, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			     0);
	head = (struct head *)(arena + used);
	if (size > ((size_t)1 << 31)) {
		errno = ENOMEM;
		return NULL;
	}
	used += sizeof(*head) + ((size + 15) & ~(size_t)15);
	*head = (struct head){ size, MARK };
	return head + 1;
}

void free(void *block)
{
	if (block && ((struct head *)block - 1)->mark != MARK) {
		puts("foreign block");
		_Exit(9);
	}
}

void *calloc(size_t nr, size_t size)
{
	return malloc(nr * size); /* fresh memory of the kernel */
}

void *realloc(void *block, size_t size)
{
	void *moved = malloc(size);
	size_t old = block ? ((struct head *)block - 1)->size : 0;

	if (moved && block)
		memcpy(moved, block, old < size ? old : size);
	return moved;
}

int main(void)
{
	char *line = NULL, *copy;
	size_t len = 0;
	FILE *file;

	for (size_t size = 1000; size < 3000000; size += size / 3) {
		char *p = malloc(size);

		memset(p, 1, size);
		p = realloc(p, size * 2);
		copy = strdup("a copy that the C library makes");
		free(copy);
		free(p);
	}
	file = fopen("/proc/self/status", "r");
	if (file && getline(&line, &len, file) > 0)
		free(line);
	if (file)
		fclose(file);
	copy = calloc(1, 500000);
	puts(copy && copy[499999] == 0 ? "good" : "bad");
	free(copy);
	return 0;
}
