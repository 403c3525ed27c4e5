/* SPDX-License-Identifier: MIT */
/* QUIRE_OPTIONS for zones.  It is read once in a process, so each line is tried
 * in a child of its own. */
#include "pages.h"

#include "os/option.h"

static char said[8192];

/* What @body writes to stderr, in a child with these options. */
static int told(const char *options, void (*body)(void))
{
	int pipe_of[2], status;
	ssize_t n, at = 0;
	pid_t child;

	assert_int_equal(pipe(pipe_of), 0);
	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		dup2(pipe_of[1], STDERR_FILENO);
		close(pipe_of[0]);
		close(pipe_of[1]);
		setenv("QUIRE_OPTIONS", options, 1);
		body();
		_exit(0);
	}
	close(pipe_of[1]);
	while ((n = read(pipe_of[0], said + at, sizeof(said) - 1 - at)) > 0)
		at += n;
	said[at] = 0;
	close(pipe_of[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static struct quire_zone *open_two(const struct quire_zone_options *options)
{
	struct quire_zone *zone;

	CHILD_CHECK(!quire_zone_open(options, &zone));
	CHILD_CHECK(!quire_zone_close(zone));
	CHILD_CHECK(!quire_zone_open(options, &zone));
	return zone;
}

static void defaults_are_overridden(void)
{
	struct quire_zone_options options = zone_plain();
	struct quire_zone *zone;
	struct quire_zone_facts facts = { .size = sizeof(facts) };

	options.bytes = 64 << 20;
	zone = open_two(&options);
	CHILD_CHECK(!quire_zone_describe(zone, &facts));
	CHILD_CHECK(facts.pcp == (CONFIG_UP ? QUIRE_PCP_OFF : QUIRE_PCP_LOCK));
	CHILD_CHECK(facts.drain == QUIRE_DRAIN_PREFETCH);
	CHILD_CHECK(zone->flags == (QUIRE_ZONE_NO_DEPOT));
	options.pcp = QUIRE_PCP_OFF;
	options.drain = QUIRE_DRAIN_PICK;
	zone = open_two(&options);
	CHILD_CHECK(!quire_zone_describe(zone, &facts));
	CHILD_CHECK(facts.pcp == QUIRE_PCP_OFF);
	CHILD_CHECK(facts.drain == QUIRE_DRAIN_PICK);
}

static void decay_is_for_regions(void)
{
	struct quire_region *region;
	struct quire_zone_options options = zone_plain();

	options.bytes = 64 << 20;
	CHILD_CHECK(open_two(&options)->decay_ms == UINT64_MAX);
	CHILD_CHECK(!quire_region_open(64 << 20, NULL, &region));
	options.region = region;
	CHILD_CHECK(open_two(&options)->decay_ms == 3000);
	options.decay_ms = 7;
}

static void open_plain_zone(void)
{
	struct quire_zone_options options = zone_plain();

	options.bytes = 64 << 20;
	open_two(&options);
}

static void keys(void **state)
{
	(void)state;
	assert_int_equal(told("pcp=lock,drain=pick+prefetch,depot=off",
			      defaults_are_overridden),
			 0);
	assert_string_equal(said, "");
	assert_int_equal(told("decay=3s", decay_is_for_regions), 0);
	assert_string_equal(said, "");
	assert_int_equal(told("strict=0,depot=on,pcp=auto,drain=single",
			      open_plain_zone),
			 0);
	assert_string_equal(said, "");
}

static unsigned int times(const char *what)
{
	unsigned int nr = 0;

	for (const char *at = said; (at = strstr(at, what)); at++)
		nr++;
	return nr;
}

static void what_is_wrong_is_said_once(void **state)
{
	(void)state;
	assert_int_equal(told("colour=blue,threshold=1M,stat_dir=/x,keep=1G",
			      open_plain_zone),
			 0);
	assert_int_equal(times("\n"), 1);
	assert_int_equal(times("unknown key 'colour'"), 1);
	assert_int_equal(told("pcp=mutex,decay,depot=", open_plain_zone), 0);
	assert_int_equal(times("\n"), 3);
	assert_int_equal(times("bad value in QUIRE_OPTIONS: 'pcp=mutex'"), 1);
	assert_int_equal(times("'decay'"), 1);
	assert_int_equal(told("help", open_plain_zone), 0);
	assert_int_equal(times("\n"), 6);
	assert_int_equal(times("pick+prefetch"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys),
		cmocka_unit_test(what_is_wrong_is_said_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
