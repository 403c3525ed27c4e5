/* SPDX-License-Identifier: MIT */
/*
 * The reader of ELF files: right on real ones, unharmed by broken ones.  The
 * broken ones are made from our own file: cut at every early length, with
 * random bytes, with counts and offsets at their extremes.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "elf_file.h"
#include "statistics.h"

static unsigned char own[1 << 16]; /* the head of our own file */
static size_t own_len;

static int load_own(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	ssize_t n = read(fd, own, sizeof(own));

	(void)state;
	close(fd);
	own_len = n > 0 ? (size_t)n : 0;
	return own_len < sizeof(ElfW(Ehdr));
}

/* elf_look() on @len bytes. */
static int look_at(const void *bytes, size_t len, struct elf_facts *out)
{
	int fd = memfd_create("elf", 0), rc;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), (ssize_t)len);
	rc = elf_look(fd, out);
	close(fd);
	return rc;
}

static void own_file(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	struct elf_facts facts;

	(void)state;
	assert_int_equal(elf_look(fd, &facts), 0);
	close(fd);
	assert_true(facts.native);
	assert_true(facts.dynamic);
	assert_false(facts.go);
	assert_non_null(strstr(facts.interpreter, "ld"));
}

/* The path of a loaded object whose name has @arg->name in it. */
struct wanted {
	const char *name;
	char path[256];
};

static int note_path(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct wanted *w = arg;

	(void)size;
	if (!strstr(info->dlpi_name, w->name))
		return 0;
	strncpy(w->path, info->dlpi_name, sizeof(w->path) - 1);
	return 1;
}

static void libc_defines_malloc(void **state)
{
	struct wanted libc = { "libc.so", "" }, cmocka = { "libcmocka", "" };
	struct elf_facts facts;
	int fd;

	(void)state;
	dl_iterate_phdr(note_path, &libc);
	fd = open(libc.path, O_RDONLY);
	if (fd < 0)
		skip();
	assert_int_equal(elf_look(fd, &facts), 0);
	close(fd);
	assert_true(facts.defines_malloc);
	dl_iterate_phdr(note_path, &cmocka);
	fd = open(cmocka.path, O_RDONLY);
	if (fd < 0)
		skip();
	assert_int_equal(elf_look(fd, &facts), 0);
	close(fd);
	assert_false(facts.defines_malloc);
}

static void no_elf_at_all(void **state)
{
	struct elf_facts facts;

	(void)state;
	assert_int_equal(look_at("", 0, &facts), -ENOEXEC);
	assert_int_equal(look_at("\177EL", 3, &facts), -ENOEXEC);
	assert_int_equal(
		look_at("#!/bin/sh\nexit 0\n# long enough\n", 31, &facts),
		-ENOEXEC);
}

static void other_machines(void **state)
{
	struct elf_facts facts;
	unsigned char head[64];

	(void)state;
	memcpy(head, own, sizeof(head));
	head[EI_CLASS] = ELFCLASS32;
	assert_int_equal(look_at(head, 52, &facts), 0);
	assert_false(facts.native);
	memcpy(head, own, sizeof(head));
	head[EI_DATA] ^= 3;
	assert_int_equal(look_at(head, 64, &facts), 0);
	assert_false(facts.native);
	memcpy(head, own, sizeof(head));
	head[18] ^= 0xff;
	assert_int_equal(look_at(head, 64, &facts), 0);
	assert_false(facts.native);
}

static void cut_at_every_length(void **state)
{
	struct elf_facts facts;
	size_t len;

	(void)state;
	for (len = 0; len < 4096 && len < own_len; len++)
		look_at(own, len, &facts);
}

/* Any answer will do; the sanitizers watch. */
static void random_bytes(void **state)
{
	unsigned char *copy = malloc(own_len);
	struct elf_facts facts;
	uint64_t rng = 17;
	int i, k;

	(void)state;
	for (i = 0; i < 20000; i++) {
		memcpy(copy, own, 2048);
		for (k = 0; k < 8; k++)
			copy[16 + statistics_random(&rng, 1024)] =
				(unsigned char)statistics_random(&rng, 256);
		look_at(copy, 2048, &facts);
	}
	free(copy);
}

static void extremes_in_the_header(void **state)
{
	static const uint16_t counts[] = { 0, 1, 255, 256, 257, 0xffff };
	static const uint64_t offsets[] = {
		0, 1, 1 << 20, UINT64_MAX, UINT64_MAX - 56, INT64_MAX
	};
	struct elf_facts facts;
	ElfW(Ehdr) h;
	size_t i, k;

	(void)state;
	for (i = 0; i < 6; i++) {
		for (k = 0; k < 6; k++) {
			memcpy(&h, own, sizeof(h));
			h.e_phnum = counts[i];
			h.e_phoff = offsets[k];
			look_at(&h, sizeof(h), &facts);
		}
	}
	memcpy(&h, own, sizeof(h));
	h.e_phentsize = 1;
	assert_int_equal(look_at(&h, sizeof(h), &facts), -EBADMSG);
}

/* Each number of each program header at its extremes. */
static void extremes_in_the_segments(void **state)
{
	static const uint64_t values[] = {
		0, 1, 7, 1 << 30, INT64_MAX, UINT64_MAX, UINT64_MAX - 4095
	};
	unsigned char *copy = malloc(own_len);
	struct elf_facts facts;
	ElfW(Ehdr) h;
	size_t at, i;

	(void)state;
	memcpy(&h, own, sizeof(h));
	for (at = h.e_phoff; at + 8 <= h.e_phoff + h.e_phnum * 56u; at += 8) {
		for (i = 0; i < sizeof(values) / sizeof(*values); i++) {
			memcpy(copy, own, own_len);
			memcpy(copy + at, &values[i], 8);
			look_at(copy, own_len, &facts);
		}
	}
	free(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_file),
		cmocka_unit_test(libc_defines_malloc),
		cmocka_unit_test(no_elf_at_all),
		cmocka_unit_test(other_machines),
		cmocka_unit_test(cut_at_every_length),
		cmocka_unit_test(random_bytes),
		cmocka_unit_test(extremes_in_the_header),
		cmocka_unit_test(extremes_in_the_segments),
	};

	return cmocka_run_group_tests(tests, load_own, NULL);
}
