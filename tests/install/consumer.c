/* SPDX-License-Identifier: MIT */
/*
 * A program of somebody else: built by check.sh against what was installed,
 * with the flags of pkg-config and nothing more.
 */
#include <quire/quire.h>

#include <stdio.h>
#include <string.h>

static int count_fact(const struct quire_fact *fact, void *arg)
{
	(void)fact;
	++*(int *)arg;
	return 0;
}

int main(void)
{
	const struct quire_counter_info *info = quire_counter_info(0);
	char version[32];
	int facts = 0;

	snprintf(version, sizeof(version), "%d.%d.%d", QUIRE_VERSION_MAJOR,
		 QUIRE_VERSION_MINOR, QUIRE_VERSION_PATCH);
	if (strcmp(version, quire_version()))
		return 1;
	if (!info || strcmp(info->name, "span_alloc"))
		return 2;
	if (quire_doctor_each(count_fact, &facts) || !facts)
		return 3;
	printf("quire %s, %d facts\n", version, facts);
	return 0;
}
