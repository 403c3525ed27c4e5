/* SPDX-License-Identifier: MIT */
/*
 * The few facts of an ELF file that decide whether a preload library can
 * reach its malloc.
 */
#ifndef QUIRE_CLI_ELF_FILE_H
#define QUIRE_CLI_ELF_FILE_H

#include <stdbool.h>

struct elf_facts {
	bool native;	     /* word size, byte order and machine are ours */
	bool dynamic;	     /* it names a program interpreter */
	bool go;	     /* it bears the note of the Go linker */
	bool defines_malloc; /* its dynamic symbols define malloc */
	bool needs_asan;     /* it is linked with AddressSanitizer's library */
	char interpreter[256]; /* "" if none */
};

/*
 * elf_look - read the facts of the open file @fd
 * Believes nothing in it: every offset and count is checked against the file.
 * Returns 0; -ENOEXEC if it is no ELF file; -EBADMSG if it is a broken one;
 * another negative errno of reading.
 */
int elf_look(int fd, struct elf_facts *out);

#endif /* QUIRE_CLI_ELF_FILE_H */
