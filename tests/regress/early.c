/* SPDX-License-Identifier: MIT */
/*
 * Uses big blocks where few expect it: in the first constructors, with a large
 * alignment and by realloc over there, in atexit handlers, in destructors, in
 * destructors of thread keys (also of threads that outlive main), in a signal
 * handler's thread, after `exit` began.  Prints "good" when all kept its
 * content.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define M ((size_t)1 << 20)

static char *from_first, *from_second, *from_main;
static pthread_key_t key;
static int wrong;

static char *block(size_t size, int c)
{
	char *p = malloc(size);

	if (!p)
		_exit(3);
	memset(p, c, size);
	return p;
}

static void check(const char *p, size_t size, int c)
{
	for (size_t i = 0; i < size; i += 97)
		if (p[i] != (char)c) {
			wrong = 1;
			return;
		}
}

__attribute__((constructor(101))) static void first(void)
{
	from_first = block(3 * M, 'a');
	free(block(5 * M, 'x'));
	from_first = realloc(from_first, 7 * M);
}

__attribute__((constructor)) static void second(void)
{
	check(from_first, 3 * M, 'a');
	from_second = block(200 << 10, 'b');
	free(from_first);
	from_first = block(2 * M, 'c');
}

static void at_exit(void)
{
	check(from_main, 4 * M, 'm');
	free(from_main);
	free(block(6 * M, 'y'));
	from_main = block(300 << 10, 'z');
}

__attribute__((destructor)) static void late(void)
{
	check(from_main, 300 << 10, 'z');
	free(from_main);
	from_main = block(9 * M, 'l');
}

__attribute__((destructor(101))) static void last(void)
{
	static const char good[] = "good\n";

	check(from_main, 9 * M, 'l');
	check(from_first, 2 * M, 'c');
	free(from_main);
	free(from_first);
	free(calloc(3, M));
	if (!wrong && write(1, good, sizeof(good) - 1) < 0)
		_exit(4);
}

static void key_ends(void *value)
{
	static __thread int rounds;

	check(value, 2 * M, 'k');
	free(value);
	if (++rounds < 3)
		pthread_setspecific(key, block(2 * M, 'k'));
}

static void *body(void *arg)
{
	pthread_setspecific(key, block(2 * M, 'k'));
	free(block(1 * M, 1));
	return arg;
}

int main(void)
{
	pthread_t thread[8];

	check(from_second, 200 << 10, 'b');
	free(from_second);
	from_main = block(4 * M, 'm');
	atexit(at_exit);
	pthread_key_create(&key, key_ends);
	for (int round = 0; round < 50; round++) {
		for (int i = 0; i < 8; i++)
			pthread_create(&thread[i], NULL, body, NULL);
		for (int i = 0; i < 8; i++)
			pthread_join(thread[i], NULL);
	}
	return 0;
}
