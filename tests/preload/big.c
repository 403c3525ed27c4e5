/* SPDX-License-Identifier: MIT */
/*
 * big NR BYTES [fork]: malloc, fill and free one block of BYTES, NR times, by
 * mmap each (no dynamic threshold).  With `fork` a child does so once more.
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void use_blocks(long nr, size_t bytes)
{
	for (long i = 0; i < nr; i++) {
		char *block = malloc(bytes);

		if (!block)
			_exit(9);
		memset(block, (int)i + 1, bytes);
		__asm__ volatile("" : : "r"(block) : "memory");
		free(block);
	}
}

int main(int argc, char **argv)
{
	int status = 0;

	if (argc < 3)
		return 2;
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	use_blocks(atol(argv[1]), strtoul(argv[2], NULL, 0));
	if (argc > 3) {
		pid_t child = fork();

		if (!child) {
			use_blocks(3, strtoul(argv[2], NULL, 0));
			exit(0);
		}
		waitpid(child, &status, 0);
	}
	return status != 0;
}
