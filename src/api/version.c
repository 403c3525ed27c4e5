/* SPDX-License-Identifier: MIT */
/* The version, as the build knows it; it must agree with the header. */
#include <quire/quire.h>

#define TEXT_OF(x) #x
#define TEXT(x)	   TEXT_OF(x)

__attribute__((visibility("default"))) const char *quire_version(void)
{
	return TEXT(QUIRE_VERSION_MAJOR) "." TEXT(QUIRE_VERSION_MINOR) "." TEXT(
		QUIRE_VERSION_PATCH);
}
