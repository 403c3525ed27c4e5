/* SPDX-License-Identifier: MIT */
/* Public doors of src/stat: arguments are checked here, nothing else. */
#include <errno.h>

#include <quire/stat.h>

#include "stat/page.h"
#include "stat/stat.h"

#define PUBLIC __attribute__((visibility("default")))

PUBLIC const struct quire_counter_info *quire_counter_info(unsigned int nr)
{
	return stat_info(nr);
}

PUBLIC int quire_process_read(const char *path, struct quire_process *out)
{
	if (!path || !out || out->size != sizeof(*out))
		return -EINVAL;
	return stat_page_read(path, out);
}

PUBLIC int quire_process_text(const struct quire_process *p, char *buf,
			      size_t len)
{
	if (!p || p->size != sizeof(*p) || (!buf && len))
		return -EINVAL;
	return stat_text(p->counter, buf, len);
}

PUBLIC int quire_process_json(const struct quire_process *p, char *buf,
			      size_t len)
{
	if (!p || p->size != sizeof(*p) || (!buf && len))
		return -EINVAL;
	return stat_json(p->counter, buf, len);
}
