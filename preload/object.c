/* SPDX-License-Identifier: MIT */
/*
 * dladdr without its lock.
 *
 * dladdr takes the loader's lock, which another thread may hold while it runs
 * constructors, or may have held when we were forked off.  _dl_find_object is
 * made for unwinders and takes none.  The symbol is searched by walking the
 * hash table of the object from end to end: slow (a millisecond for a large
 * library), but only a few addresses are ever looked up.
 */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>

#include "object.h"

/* The tables of one object. */
struct tables {
	const ElfW(Sym) * symbols;
	const char *names;
	const uint32_t *gnu_hash;
	const uint32_t *sysv_hash;
};

struct search {
	const struct tables *in;
	uintptr_t base, address;
	const ElfW(Sym) * found;
};

static struct link_map *map_of(const void *address)
{
	struct dl_find_object found;

	if (_dl_find_object((void *)(uintptr_t)address, &found))
		return NULL;
	return found.dlfo_link_map;
}

const char *object_path(const void *address)
{
	struct link_map *map = map_of(address);

	return map ? map->l_name : NULL;
}

/* Some objects (the vDSO) keep offsets where others have addresses. */
static const void *table_at(const struct link_map *map, ElfW(Addr) value)
{
	return (const void *)(value < map->l_addr ? value + map->l_addr
						  : value);
}

static struct tables tables_of(const struct link_map *map)
{
	struct tables t = { NULL, NULL, NULL, NULL };

	for (const ElfW(Dyn) *d = map->l_ld; d && d->d_tag != DT_NULL; d++) {
		const void *at = table_at(map, d->d_un.d_ptr);

		if (d->d_tag == DT_SYMTAB)
			t.symbols = at;
		else if (d->d_tag == DT_STRTAB)
			t.names = at;
		else if (d->d_tag == DT_GNU_HASH)
			t.gnu_hash = at;
		else if (d->d_tag == DT_HASH)
			t.sysv_hash = at;
	}
	return t;
}

static void look_at(struct search *s, uint32_t nr)
{
	const ElfW(Sym) *sym = &s->in->symbols[nr];
	uintptr_t start = s->base + sym->st_value;

	if (sym->st_shndx == SHN_UNDEF || (sym->st_info & 15) != STT_FUNC)
		return;
	if (s->address >= start && s->address - start < sym->st_size)
		s->found = sym;
}

/* Header of 4 words, bloom filter, buckets, chains; a chain ends at bit 0. */
static void walk_gnu(struct search *s)
{
	const uint32_t *head = s->in->gnu_hash;
	const uint32_t *buckets =
		head + 4 + head[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
	const uint32_t *chains = buckets + head[0];

	for (uint32_t b = 0; b < head[0] && !s->found; b++) {
		uint32_t nr = buckets[b];

		if (nr < head[1])
			continue;
		do {
			look_at(s, nr);
		} while (!(chains[nr++ - head[1]] & 1));
	}
}

static void walk_sysv(struct search *s)
{
	for (uint32_t nr = 1; nr < s->in->sysv_hash[1] && !s->found; nr++)
		look_at(s, nr);
}

int object_find(const void *address, struct object_place *out)
{
	struct link_map *map = map_of(address);
	struct tables tables;
	struct search s;

	if (!map)
		return -1;
	tables = tables_of(map);
	s = (struct search){ &tables, map->l_addr, (uintptr_t)address, NULL };
	if (tables.symbols && tables.names && tables.gnu_hash)
		walk_gnu(&s);
	else if (tables.symbols && tables.names && tables.sysv_hash)
		walk_sysv(&s);
	out->path = map->l_name;
	out->base = map->l_addr;
	out->symbol = s.found ? tables.names + s.found->st_name : NULL;
	out->symbol_at = s.found ? s.base + s.found->st_value : 0;
	return 0;
}

/*
 * Is @nr a definition of @name?  An executable that takes the address of an
 * imported function has a symbol for it too, with a value (its PLT entry) but
 * undefined: that one is not.
 */
static bool is_definition(const struct tables *t, uint32_t nr, const char *name)
{
	const ElfW(Sym) *sym = &t->symbols[nr];
	unsigned int type = sym->st_info & 15;

	return sym->st_shndx != SHN_UNDEF &&
	       (type == STT_FUNC || type == STT_GNU_IFUNC) &&
	       !strcmp(t->names + sym->st_name, name);
}

static bool defines_gnu(const struct tables *t, const char *name)
{
	const uint32_t *head = t->gnu_hash;
	const uint32_t *buckets =
		head + 4 + head[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
	const uint32_t *chains = buckets + head[0];
	uint32_t hash = 5381, nr;

	for (const char *c = name; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	nr = head[0] ? buckets[hash % head[0]] : 0;
	if (nr < head[1] || !nr)
		return false;
	for (;; nr++) {
		uint32_t chain = chains[nr - head[1]];

		if ((chain | 1) == (hash | 1) && is_definition(t, nr, name))
			return true;
		if (chain & 1)
			return false;
	}
}

static bool defines_sysv(const struct tables *t, const char *name)
{
	for (uint32_t nr = 1; nr < t->sysv_hash[1]; nr++)
		if (is_definition(t, nr, name))
			return true;
	return false;
}

static bool defines(const struct link_map *map, const char *name)
{
	struct tables t = tables_of(map);

	if (!t.symbols || !t.names)
		return false;
	if (t.gnu_hash)
		return defines_gnu(&t, name);
	return t.sysv_hash && defines_sysv(&t, name);
}

const char *object_defining(const char *name)
{
	struct link_map *map =
		map_of((const void *)(uintptr_t)&object_defining);

	while (map && map->l_prev)
		map = map->l_prev;
	while (map && !defines(map, name))
		map = map->l_next;
	return map ? map->l_name : NULL;
}
