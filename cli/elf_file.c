/* SPDX-License-Identifier: MIT */
/*
 * The few facts of an ELF file that decide whether a preload library can
 * reach its malloc.
 *
 * The file may be hostile or cut: it is read with pread() into buffers of our
 * own (a mapping would raise SIGBUS when the file shrinks), each count has a
 * bound, each offset is checked without wrapping.
 *
 * malloc is looked for as ld.so does, through the hash table of the dynamic
 * symbols: an executable that defines it comes before every preloaded library
 * in the search, so the preload would never be called.
 */
#include "elf_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	MAX_PHDR = 256,
	MAX_DYNAMIC = 1024,
	MAX_CHAIN = 1 << 20,
	MAX_NEEDED = 128,
};

struct elf_reader {
	int fd;
	uint64_t size; /* of the file */
	unsigned int nr_phdr;
	ElfW(Phdr) phdr[MAX_PHDR];
};

/* Read exactly @len bytes at @off, or fail. */
static int read_at(const struct elf_reader *r, uint64_t off, void *buf,
		   size_t len)
{
	ssize_t n;

	if (len > r->size || off > r->size - len)
		return -EBADMSG;
	n = pread(r->fd, buf, len, (off_t)off);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EBADMSG;
}

/* The file offset of address @addr of @len bytes; false if none has it. */
static bool offset_of(const struct elf_reader *r, uint64_t addr, uint64_t len,
		      uint64_t *off)
{
	unsigned int i;

	for (i = 0; i < r->nr_phdr; i++) {
		const ElfW(Phdr) *p = &r->phdr[i];

		if (p->p_type != PT_LOAD || addr < p->p_vaddr ||
		    len > p->p_filesz || addr - p->p_vaddr > p->p_filesz - len)
			continue;
		if (p->p_offset > r->size)
			return false;
		*off = p->p_offset + (addr - p->p_vaddr);
		return true;
	}
	return false;
}

static int read_addr(const struct elf_reader *r, uint64_t addr, void *buf,
		     size_t len)
{
	uint64_t off;

	if (!offset_of(r, addr, len, &off))
		return -EBADMSG;
	return read_at(r, off, buf, len);
}

/* What the dynamic section says about symbols; 0 is "not there". */
struct dynamic_facts {
	uint64_t symtab, strtab, gnu_hash, hash;
	uint64_t needed[MAX_NEEDED]; /* places in strtab */
	unsigned int nr_needed;
};

static int read_dynamic(const struct elf_reader *r, const ElfW(Phdr) * p,
			struct dynamic_facts *d)
{
	unsigned int i, max = p->p_filesz / sizeof(ElfW(Dyn));
	ElfW(Dyn) dyn;
	int rc;

	for (i = 0; i < max && i < MAX_DYNAMIC; i++) {
		rc = read_at(r, p->p_offset + i * sizeof(dyn), &dyn,
			     sizeof(dyn));
		if (rc)
			return rc;
		if (dyn.d_tag == DT_NULL)
			break;
		if (dyn.d_tag == DT_SYMTAB)
			d->symtab = dyn.d_un.d_ptr;
		else if (dyn.d_tag == DT_STRTAB)
			d->strtab = dyn.d_un.d_ptr;
		else if (dyn.d_tag == DT_GNU_HASH)
			d->gnu_hash = dyn.d_un.d_ptr;
		else if (dyn.d_tag == DT_HASH)
			d->hash = dyn.d_un.d_ptr;
		else if (dyn.d_tag == DT_NEEDED && d->nr_needed < MAX_NEEDED)
			d->needed[d->nr_needed++] = dyn.d_un.d_val;
	}
	return 0;
}

/* Is symbol @nr a definition of @name? */
static bool defines(const struct elf_reader *r, const struct dynamic_facts *d,
		    uint32_t nr, const char *name)
{
	char text[16] = "";
	size_t len = strlen(name) + 1;
	ElfW(Sym) sym;

	if (len > sizeof(text) ||
	    read_addr(r, d->symtab + (uint64_t)nr * sizeof(sym), &sym,
		      sizeof(sym)) ||
	    sym.st_shndx == SHN_UNDEF ||
	    read_addr(r, d->strtab + sym.st_name, text, len))
		return false;
	return memcmp(text, name, len) == 0;
}

static uint32_t gnu_hash_of(const char *s)
{
	uint32_t h = 5381;

	for (; *s; s++)
		h = h * 33 + (unsigned char)*s;
	return h;
}

static bool find_by_gnu_hash(const struct elf_reader *r,
			     const struct dynamic_facts *d, const char *name)
{
	uint32_t head[4]; /* buckets, first symbol, bloom words, shift */
	uint32_t want = gnu_hash_of(name), nr, h, i;
	uint64_t buckets, chain;

	if (read_addr(r, d->gnu_hash, head, sizeof(head)) || !head[0])
		return false;
	buckets = d->gnu_hash + sizeof(head) +
		  (uint64_t)head[2] * sizeof(ElfW(Addr));
	chain = buckets + (uint64_t)head[0] * sizeof(h);
	if (read_addr(r, buckets + want % head[0] * sizeof(nr), &nr,
		      sizeof(nr)) ||
	    nr < head[1])
		return false;
	for (i = 0; i < MAX_CHAIN; i++, nr++) {
		if (read_addr(r, chain + (uint64_t)(nr - head[1]) * sizeof(h),
			      &h, sizeof(h)))
			return false;
		if ((h | 1) == (want | 1) && defines(r, d, nr, name))
			return true;
		if (h & 1)
			return false;
	}
	return false;
}

/* The old table has the count of symbols: try them all. */
static bool find_by_hash(const struct elf_reader *r,
			 const struct dynamic_facts *d, const char *name)
{
	uint32_t head[2], i;

	if (read_addr(r, d->hash, head, sizeof(head)))
		return false;
	for (i = 1; i < head[1] && i < MAX_CHAIN; i++)
		if (defines(r, d, i, name))
			return true;
	return false;
}

/* gcc's libasan.so.N, clang's libclang_rt.asan-MACHINE.so */
static bool needs_asan(const struct elf_reader *r,
		       const struct dynamic_facts *d)
{
	static const char *const names[] = { "libasan.so", "libclang_rt.asan" };
	char text[24];
	unsigned int i, k;

	for (i = 0; i < d->nr_needed; i++)
		for (k = 0; k < 2; k++)
			if (!read_addr(r, d->strtab + d->needed[i], text,
				       strlen(names[k])) &&
			    !memcmp(text, names[k], strlen(names[k])))
				return true;
	return false;
}

static int look_at_symbols(const struct elf_reader *r, struct elf_facts *out)
{
	struct dynamic_facts d = { 0 };
	unsigned int i;
	int rc;

	for (i = 0; i < r->nr_phdr; i++) {
		if (r->phdr[i].p_type != PT_DYNAMIC)
			continue;
		rc = read_dynamic(r, &r->phdr[i], &d);
		if (rc)
			return rc;
	}
	if (!d.symtab || !d.strtab)
		return 0;
	out->needs_asan = needs_asan(r, &d);
	if (d.gnu_hash)
		out->defines_malloc = find_by_gnu_hash(r, &d, "malloc");
	else if (d.hash)
		out->defines_malloc = find_by_hash(r, &d, "malloc");
	return 0;
}

static int read_interpreter(const struct elf_reader *r, const ElfW(Phdr) * p,
			    struct elf_facts *out)
{
	size_t len = p->p_filesz;

	if (len < 2 || len > sizeof(out->interpreter))
		return -EBADMSG;
	if (read_at(r, p->p_offset, out->interpreter, len))
		return -EBADMSG;
	if (out->interpreter[len - 1])
		return -EBADMSG;
	out->dynamic = true;
	return 0;
}

/* Go's linker leaves a note with the name "Go". */
static bool is_go_note(const struct elf_reader *r, const ElfW(Phdr) * p)
{
	struct {
		uint32_t namesz, descsz, type;
		char name[4];
	} note;

	return p->p_filesz >= sizeof(note) &&
	       read_at(r, p->p_offset, &note, sizeof(note)) == 0 &&
	       note.namesz == 4 && memcmp(note.name, "Go\0", 4) == 0;
}

static int look_at_segments(struct elf_reader *r, struct elf_facts *out)
{
	unsigned int i;
	int rc;

	for (i = 0; i < r->nr_phdr; i++) {
		const ElfW(Phdr) *p = &r->phdr[i];

		if (p->p_type == PT_INTERP) {
			rc = read_interpreter(r, p, out);
			if (rc)
				return rc;
		} else if (p->p_type == PT_NOTE && is_go_note(r, p)) {
			out->go = true;
		}
	}
	return out->dynamic ? look_at_symbols(r, out) : 0;
}

/* The machine that we were compiled for, as our own file says. */
static uint16_t own_machine(void)
{
	unsigned char head[20] = { 0 };
	uint16_t machine = EM_NONE;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return EM_NONE;
	if (pread(fd, head, sizeof(head), 0) == (ssize_t)sizeof(head))
		memcpy(&machine, head + 18, sizeof(machine));
	close(fd);
	return machine;
}

static bool is_native(const ElfW(Ehdr) * h)
{
	uint16_t machine = own_machine();
	int data = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB
							     : ELFDATA2MSB;

	if (h->e_ident[EI_CLASS] !=
	    (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32))
		return false;
	return h->e_ident[EI_DATA] == data &&
	       (machine == EM_NONE || h->e_machine == machine);
}

int elf_look(int fd, struct elf_facts *out)
{
	struct elf_reader r = { .fd = fd };
	struct stat st;
	ElfW(Ehdr) h;
	int rc;

	memset(out, 0, sizeof(*out));
	if (fstat(fd, &st))
		return -errno;
	r.size = st.st_size > 0 ? (uint64_t)st.st_size : 0;
	if (read_at(&r, 0, h.e_ident, EI_NIDENT) ||
	    memcmp(h.e_ident, ELFMAG, SELFMAG) != 0)
		return -ENOEXEC;
	/* e_machine stands at the same place in every kind of ELF file */
	if (read_at(&r, 0, &h, 20))
		return -EBADMSG;
	out->native = is_native(&h);
	if (!out->native)
		return 0;
	rc = read_at(&r, 0, &h, sizeof(h));
	if (rc)
		return rc;
	if (h.e_phentsize != sizeof(r.phdr[0]) || !h.e_phnum ||
	    h.e_phnum > MAX_PHDR)
		return -EBADMSG;
	rc = read_at(&r, h.e_phoff, r.phdr, h.e_phnum * sizeof(r.phdr[0]));
	if (rc)
		return rc;
	r.nr_phdr = h.e_phnum;
	return look_at_segments(&r, out);
}
