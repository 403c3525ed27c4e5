/* SPDX-License-Identifier: MIT */
/*
 * The tightest memory limit over all control groups above this process, and
 * the machine.
 *
 *	/proc/self/cgroup     which group:     4:memory:/a/b   or   0::/a/b
 *	/proc/self/mountinfo  where it shows:  /sys/fs/cgroup/memory, root /a
 *	MOUNT/b, MOUNT        its folder, and all ancestors that can be seen
 *
 * This runs inside malloc: no allocation, no stdio, one scratch area on the
 * stack, and a bounded number of small reads.  Nothing is remembered between
 * two looks, because a process can be moved to another group at any time.
 *
 * A container shows only a part of the tree, and often another part than the
 * paths in /proc/self/cgroup say ("/..", or a path that does not exist below
 * the mount).  Levels that cannot be read are passed over, and the mount's own
 * root is always looked at, so that case needs no special road: the walk ends
 * where the container's limit is.
 *
 * Version 1 is taken as hierarchical (its other mode left the kernel before
 * 5.14).  In a hybrid tree the memory controller belongs to one version only;
 * if /proc/self/cgroup names it for version 1, version 2 is not looked at.
 */
#include "os/limit.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/bits.h"
#include "os/os.h"

/* Levels further up than this are not looked at. */
#define LEVELS_MAX 32
/* Version 1 says "no limit" with the largest multiple of a page. */
#define NO_LIMIT (1ull << 62)

struct scratch {
	char text[8192];   /* the file that is being read */
	char group[1024];  /* our group, as /proc/self/cgroup names it */
	char folder[1536]; /* of the level that is being looked at */
	size_t mount_len;  /* of folder: how much of it is the mount */
	int version;	   /* 1 or 2; 0: no memory group */
};

struct file_names {
	const char *limit;
	const char *soft; /* a second limit, or NULL */
	const char *used;
	const char *active_file;
	const char *inactive_file;
};

static const struct file_names names_of_version[] = {
	[1] = { "/memory.limit_in_bytes", NULL, "/memory.usage_in_bytes",
		"total_active_file", "total_inactive_file" },
	[2] = { "/memory.max", "/memory.high", "/memory.current", "active_file",
		"inactive_file" },
};

/* Parsing: all of it cuts the text in place. */

/* The text up to @end (or the closing 0), and *at behind it; NULL at the end */
static char *cut(char **at, char end)
{
	char *start = *at;
	char *stop;

	if (!*start)
		return NULL;
	stop = strchr(start, end);
	*at = stop ? stop + 1 : start + strlen(start);
	if (stop)
		*stop = 0;
	return start;
}

/* A decimal number and then nothing but blanks; too large reads as the top */
static bool parse_number(const char *text, uint64_t *out)
{
	uint64_t n = 0;

	if (*text < '0' || *text > '9')
		return false;
	for (; *text >= '0' && *text <= '9'; text++)
		if (__builtin_mul_overflow(n, 10u, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*text - '0'), &n))
			n = UINT64_MAX / 10;
	while (*text == ' ' || *text == '\n')
		text++;
	if (*text)
		return false;
	*out = n;
	return true;
}

/* Is @word one of the items of the comma separated @list? */
static bool list_has(const char *list, const char *word)
{
	size_t len = strlen(word);

	while (*list) {
		size_t item = strcspn(list, ",\n");

		if (item == len && !memcmp(list, word, len))
			return true;
		list += item;
		list += *list != 0;
	}
	return false;
}

/* mountinfo writes blanks and backslashes in paths as \ooo. */
static void unescape(char *path)
{
	char *to = path;

	while (*path) {
		if (path[0] == '\\' && path[1] >= '0' && path[1] <= '3' &&
		    path[2] >= '0' && path[2] <= '7' && path[3] >= '0' &&
		    path[3] <= '7') {
			*to++ = (char)((path[1] - '0') << 6 |
				       (path[2] - '0') << 3 | (path[3] - '0'));
			path += 4;
		} else {
			*to++ = *path++;
		}
	}
	*to = 0;
}

static bool copy(char *to, size_t size, const char *from)
{
	size_t len = strlen(from);

	if (len >= size)
		return false;
	memcpy(to, from, len + 1);
	return true;
}

/* Which group are we in? */

/* Of a path that is too long for us its ancestors are better than nothing. */
static void note_group(struct scratch *s, int version, const char *path)
{
	size_t len = min_size(strlen(path), sizeof(s->group) - 1);

	if (path[len])
		while (len > 1 && path[len] != '/')
			len--;
	memcpy(s->group, path, len);
	s->group[len] = 0;
	s->version = version;
}

/* "4:cpu,memory:/path": only the first two colons are separators. */
static void read_group_line(struct scratch *s, char *line)
{
	char *id = cut(&line, ':');
	bool unified = id && !strcmp(id, "0") && *line == ':';
	char *controllers = unified ? line++ : cut(&line, ':');

	if (!id || !controllers || *line != '/')
		return;
	if (unified && s->version != 1)
		note_group(s, 2, line);
	else if (!unified && list_has(controllers, "memory"))
		note_group(s, 1, line);
}

static void find_group(struct scratch *s)
{
	char *at = s->text;
	char *line;

	s->version = 0;
	if (os->read_file("/proc/self/cgroup", s->text, sizeof(s->text)) <= 0)
		return;
	while ((line = cut(&at, '\n')))
		read_group_line(s, line);
}

/* Does the path leave the part of the tree that we can see? */
static bool leaves_view(const char *path)
{
	const char *up = path;

	while ((up = strstr(up, "/.."))) {
		up += 3;
		if (!*up || *up == '/')
			return true;
	}
	return false;
}

/* Where does it show? */

struct mount_line {
	char *root;  /* which group the mount shows as its root */
	char *point; /* where */
	char *type;
	char *options;
};

/* id parent device ROOT POINT options [tags] - TYPE source OPTIONS */
static bool parse_mount(char *line, struct mount_line *out)
{
	char *word;

	for (int i = 0; i < 3; i++)
		if (!cut(&line, ' '))
			return false;
	out->root = cut(&line, ' ');
	out->point = cut(&line, ' ');
	do
		word = cut(&line, ' ');
	while (word && strcmp(word, "-"));
	out->type = cut(&line, ' ');
	cut(&line, ' ');
	out->options = line;
	if (!out->type)
		return false;
	unescape(out->root);
	unescape(out->point);
	return true;
}

static bool holds_memory(const struct mount_line *m, int version)
{
	if (version == 2)
		return !strcmp(m->type, "cgroup2");
	return !strcmp(m->type, "cgroup") && list_has(m->options, "memory");
}

/* How much of @group the mount's root takes up; -1: we are not below it */
static long root_in_group(const char *root, const char *group)
{
	size_t len = strlen(root);

	if (!strcmp(root, "/"))
		return 0;
	if (strncmp(group, root, len) || (group[len] && group[len] != '/'))
		return -1;
	return (long)len;
}

/*
 * Of several mounts the one that shows most ancestors is taken, and of equal
 * ones the last, which hides the others.  A mount that we are not below is
 * better than none: its root stands for us.
 */
static bool better_mount(long root, long best, bool found)
{
	if (!found || best < 0)
		return true;
	return root >= 0 && root <= best;
}

static bool scan_mounts(struct scratch *s, long *below)
{
	char *at = s->text;
	bool found = false;
	char *line;

	while ((line = cut(&at, '\n'))) {
		struct mount_line m;

		if (!parse_mount(line, &m) || !holds_memory(&m, s->version))
			continue;
		long root = root_in_group(m.root, s->group);
		if (!better_mount(root, *below, found) ||
		    !copy(s->folder, sizeof(s->folder), m.point))
			continue;
		*below = root;
		found = true;
	}
	return found;
}

/* Fill folder with the mount point and, below it, our group. */
static void find_folder(struct scratch *s)
{
	long below = 0;
	long got =
		os->read_file("/proc/self/mountinfo", s->text, sizeof(s->text));

	/* Too many mounts to see ours: it is where it is everywhere. */
	if (got <= 0 || !scan_mounts(s, &below))
		copy(s->folder, sizeof(s->folder),
		     s->version == 1 ? "/sys/fs/cgroup/memory"
				     : "/sys/fs/cgroup");
	s->mount_len = strlen(s->folder);
	if (below < 0 || leaves_view(s->group))
		return;
	if (strcmp(s->group + below, "/"))
		copy(s->folder + s->mount_len, sizeof(s->folder) - s->mount_len,
		     s->group + below);
}

/* The levels */

static long read_in_folder(struct scratch *s, const char *name)
{
	size_t len = strlen(s->folder);
	long got;

	if (!copy(s->folder + len, sizeof(s->folder) - len, name))
		return -ENAMETOOLONG;
	got = os->read_file(s->folder, s->text, sizeof(s->text));
	s->folder[len] = 0;
	return got;
}

static bool number_in_folder(struct scratch *s, const char *name, uint64_t *out)
{
	return read_in_folder(s, name) > 0 && parse_number(s->text, out);
}

/* The value of the line "NAME VALUE"; 0 where there is none */
static uint64_t field_of(const char *text, const char *name)
{
	size_t len = strlen(name);
	uint64_t value = 0;

	while (text && (strncmp(text, name, len) || text[len] != ' ')) {
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	if (!text)
		return 0;
	for (text += len; *text == ' '; text++)
		;
	for (; *text >= '0' && *text <= '9'; text++)
		if (__builtin_mul_overflow(value, 10u, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*text - '0'),
					   &value))
			return 0;
	return value;
}

static uint64_t without_file_cache(struct scratch *s,
				   const struct file_names *names,
				   uint64_t used)
{
	uint64_t cache;

	if (read_in_folder(s, "/memory.stat") <= 0)
		return used;
	if (__builtin_add_overflow(field_of(s->text, names->active_file),
				   field_of(s->text, names->inactive_file),
				   &cache))
		return used;
	return used > cache ? used - cache : 0;
}

static bool read_limit(struct scratch *s, const struct file_names *names,
		       uint64_t *out)
{
	uint64_t limit = UINT64_MAX, soft;

	if (!number_in_folder(s, names->limit, &limit))
		limit = UINT64_MAX;
	if (names->soft && number_in_folder(s, names->soft, &soft) &&
	    soft < limit)
		limit = soft;
	*out = limit;
	return limit < NO_LIMIT;
}

static uint64_t left_of(uint64_t limit, uint64_t used)
{
	return used < limit ? limit - used : 0;
}

/* Is less of @limit left, as a share, than of what stands in @best? */
static bool is_tighter(uint64_t limit, uint64_t used,
		       const struct os_limit *best)
{
	if (best->limit == UINT64_MAX)
		return true;
	if (best->limit == 0)
		return false;
	if (limit == 0)
		return true;
	return (unsigned __int128)left_of(limit, used) * best->limit <
	       (unsigned __int128)left_of(best->limit, best->used) * limit;
}

/* What is remembered while walking up; room only where it is asked for. */
struct look {
	struct os_limit best;
	bool wants_room;
	unsigned int percent; /* of each limit, that stays free */
	uint64_t room;
};

static void consider_room(struct look *look, uint64_t limit, uint64_t used)
{
	uint64_t room = left_of(limit - limit / 100 * look->percent, used);

	if (room < look->room)
		look->room = room;
}

static void consider(struct look *look, uint64_t limit, uint64_t used,
		     const char *path)
{
	struct os_limit *best = &look->best;
	size_t len = min_size(strlen(path), sizeof(best->path) - 1);

	consider_room(look, limit, used);
	if (limit < best->smallest)
		best->smallest = limit;
	if (!is_tighter(limit, used, best))
		return;
	best->limit = limit;
	best->used = used;
	memcpy(best->path, path, len);
	best->path[len] = 0;
}

static void look_at_level(struct scratch *s, struct look *look)
{
	const struct file_names *names = &names_of_version[s->version];
	uint64_t limit, used;

	if (!read_limit(s, names, &limit) ||
	    !number_in_folder(s, names->used, &used))
		return;
	if (look->wants_room || used >= limit / 4 * 3)
		used = without_file_cache(s, names, used);
	consider(look, limit, used, s->folder);
}

/* From folder up to the mount point; false when that was the mount point */
static bool go_up(struct scratch *s)
{
	size_t len = strlen(s->folder);

	if (len <= s->mount_len)
		return false;
	while (len > s->mount_len && s->folder[len - 1] != '/')
		len--;
	while (len > s->mount_len && s->folder[len - 1] == '/')
		len--;
	s->folder[len] = 0;
	return true;
}

static void look_at_groups(struct scratch *s, struct look *look)
{
	int level = 0;

	find_group(s);
	if (!s->version)
		return;
	find_folder(s);
	do
		look_at_level(s, look);
	while (++level < LEVELS_MAX && go_up(s));
}

static void look_at_machine(struct scratch *s, struct look *look)
{
	uint64_t total, available;

	if (os->read_file("/proc/meminfo", s->text, sizeof(s->text)) <= 0)
		return;
	total = field_of(s->text, "MemTotal:");
	available = field_of(s->text, "MemAvailable:");
	if (!total || total >= NO_LIMIT >> 10 || available > total)
		return;
	consider(look, total << 10, (total - available) << 10, "machine");
}

static int look_around(struct look *look)
{
	struct scratch s;

	look->best.limit = look->best.smallest = look->room = UINT64_MAX;
	look_at_machine(&s, look);
	look_at_groups(&s, look);
	return look->best.limit == UINT64_MAX ? -ENOENT : 0;
}

int os_limit_tightest(struct os_limit *out)
{
	struct look look = { .percent = 0 };
	int error = look_around(&look);

	if (!error)
		*out = look.best;
	return error;
}

int os_limit_room(unsigned int percent, uint64_t *out)
{
	struct look look = { .wants_room = true, .percent = percent };
	int error = look_around(&look);

	if (!error)
		*out = look.room;
	return error;
}
