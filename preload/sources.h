/* SPDX-License-Identifier: MIT */
/* Whose malloc the program calls, and whose stands behind ours. */
#ifndef PRELOAD_SOURCES_H
#define PRELOAD_SOURCES_H

/*
 * note_sources - write both paths into the record of the process
 * @next_malloc: an address in the next library, or NULL if there is none to
 * name.  From a constructor, after stat_page_open.
 */
void note_sources(const void *next_malloc);

#endif /* PRELOAD_SOURCES_H */
