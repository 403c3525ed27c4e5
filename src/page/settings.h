/* SPDX-License-Identifier: MIT */
/* What QUIRE_OPTIONS says of zones: pcp, drain, depot, decay, strict. */
#ifndef PAGE_SETTINGS_H
#define PAGE_SETTINGS_H

#include <quire/page.h>

/* Fill in what is at its default.  No lock held; not for handlers. */
void settings_apply(struct quire_zone_options *options);

#endif /* PAGE_SETTINGS_H */
