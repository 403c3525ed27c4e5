/* SPDX-License-Identifier: MIT */
/*
 * quire - keeps, places and frees memory by the page.
 *
 * This header pulls in all of the public API.
 */
#ifndef QUIRE_QUIRE_H
#define QUIRE_QUIRE_H

#include <quire/doctor.h>
#include <quire/group.h>
#include <quire/page.h>
#include <quire/region.h>
#include <quire/stat.h>

#ifdef __cplusplus
extern "C" {
#endif

#define QUIRE_VERSION_MAJOR 0
#define QUIRE_VERSION_MINOR 1
#define QUIRE_VERSION_PATCH 0

/*
 * quire_version - "MAJOR.MINOR.PATCH" of the library that is linked
 * Constant string; safe everywhere, signal handlers too.
 */
const char *quire_version(void);

#ifdef __cplusplus
}
#endif

#endif /* QUIRE_QUIRE_H */
