/* SPDX-License-Identifier: MIT */
/*
 * Who gives memory back to the kernel, and when.
 *
 * Age is counted in ticks, an eighth of decay_ms each, that pass only while
 * somebody looks: a stamp made while nobody did is never taken for an old one.
 * A zone is looked at while something in it may become old, and then for as
 * long as the lists of idle CPUs need to shrink to their least, which nothing
 * else would see to (spec A11).
 *
 * One helper thread for the process looks at all zones.  It is started when
 * something is wanted, ends when nothing was for long, and where it cannot be
 * had, slow-path calls look by the clock.
 *
 * [V1] A zone that somebody visits (decay_visits) is not closed: closing waits.
 * [V2] One thread at a time visits a zone; only it moves the zone's ticks.
 * [V3] No lock is held over a look at a zone.
 */
#include "base/assert.h"
#include "base/atomic.h"
#include "base/step.h"
#include "os/os.h"
#include "page/lend.h"
#include "page/zone.h"

#define AGE_TICKS   8
#define OLD_TICKS   (AGE_TICKS + 1) /* the tick of the stamp was under way */
#define QUIET_LOOKS 32
#define IDLE_MS	    5000
#define RETRY_MS    1000
#define NEVER_MS    UINT64_MAX
#define ASLEEP	    UINT32_MAX

enum helper {
	HELPER_NONE,
	HELPER_RUNS,
	HELPER_ENDED, /* by itself; to be joined */
	HELPER_JOINED /* being joined right now */
};

static struct {
	struct lock lock; /* RANK_DECAY */
	/* decay lock */
	struct list zones;
	struct os_thread thread;
	bool stop;
	uint64_t retry_ms;
	uint64_t nr_started, nr_refused; /* read anywhere */
	/* atomic */
	uint32_t helper; /* enum; written under the decay lock */
	uint32_t word;	 /* futex: news for the thread */
	uint64_t due_ms; /* without a thread: the next look; 0: none */
} decay = {
	.lock = { .rank = RANK_DECAY },
	.zones = { &decay.zones, &decay.zones },
};

/* Looking */

static uint64_t tick_ms(const struct quire_zone *zone)
{
	return zone->decay_ms / AGE_TICKS ? zone->decay_ms / AGE_TICKS : 1;
}

static void move_tick(struct quire_zone *zone, uint64_t ticks)
{
	for (unsigned int i = 0; i < zone->nr_buddies; i++) {
		struct buddy *buddy = &zone->buddies[i];
		uint32_t step = ticks < OLD_TICKS ? (uint32_t)ticks : OLD_TICKS;
		uint32_t tick;

		lock_take(&buddy->lock);
		tick = buddy->tick + step;
		if (tick < step) /* it went round; 0 is no stamp */
			tick++;
		store_relaxed(&buddy->tick, tick);
		lock_release(&buddy->lock);
	}
}

/*
 * Only after QUIET_LOOKS is a zone left alone, so that one whose blocks come
 * and go does not ring at each of them.
 */
static void fall_asleep(struct quire_zone *zone)
{
	zone->decay_quiet = ASLEEP;
	store_relaxed(&zone->decay_wanted, 0);
	/* Pairs with the fence in decay_wanted: either its caller sees 0, or
	 * what it freed is seen here. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	STEP("decay: nothing wanted");
	if (!lend_has_dirty(zone))
		return;
	zone->decay_quiet = 0;
	store_relaxed(&zone->decay_wanted, 1);
}

static void look_again(struct quire_zone *zone, uint64_t ticks)
{
	size_t found = 0, cached = pcp_count(zone);

	gate_enter(zone, false);
	move_tick(zone, ticks);
	lend_move_begin(zone);
	pcp_decay(zone);
	lend_move_end(zone);
	gate_leave(zone);
	for (unsigned int i = 0; i < zone->nr_buddies; i++)
		found += lend_discard(zone, &zone->buddies[i], OLD_TICKS,
				      SIZE_MAX);
	if (found || pcp_count(zone) != cached)
		zone->decay_quiet = 0;
	else if (++zone->decay_quiet >= QUIET_LOOKS)
		fall_asleep(zone);
}

/* Time that passed while nothing was wanted does not count. */
static void look_at(struct quire_zone *zone, uint64_t now_ms)
{
	uint64_t ticks = (now_ms - zone->decay_looked_ms) / tick_ms(zone);

	if (zone->decay_quiet == ASLEEP) {
		zone->decay_quiet = 0;
		zone->decay_looked_ms = now_ms;
	} else if (ticks) {
		zone->decay_looked_ms += ticks * tick_ms(zone);
		look_again(zone, ticks);
	}
}

static uint64_t wait_of(const struct quire_zone *zone, uint64_t now_ms)
{
	uint64_t due = zone->decay_looked_ms + tick_ms(zone);

	if (!load_relaxed(&zone->decay_wanted))
		return NEVER_MS;
	return due > now_ms ? due - now_ms : 1;
}

static bool may_visit_locked(const struct quire_zone *zone)
{
	return load_relaxed(&zone->decay_wanted) && !zone->decay_visits &&
	       !zone->decay_closing && !load_relaxed(&zone->offline);
}

static uint64_t visit_locked(struct quire_zone *zone, uint64_t now_ms)
{
	uint64_t wait;

	store_relaxed(&zone->decay_visits, 1);
	lock_release(&decay.lock);
	look_at(zone, now_ms);
	wait = wait_of(zone, now_ms);
	lock_take(&decay.lock);
	store_relaxed(&zone->decay_visits, 0);
	if (zone->decay_closing)
		os->wake(&zone->decay_visits);
	return wait;
}

/* [V1] keeps the zone, and so its link, while the lock is given up. */
uint64_t decay_look(uint64_t now_ms)
{
	uint64_t wait = NEVER_MS;

	lock_take(&decay.lock);
	for (struct list *item = decay.zones.next; item != &decay.zones;) {
		struct quire_zone *zone =
			container_of(item, struct quire_zone, decay_link);

		if (may_visit_locked(zone)) {
			uint64_t ms = visit_locked(zone, now_ms);

			wait = ms < wait ? ms : wait;
		}
		item = item->next;
	}
	lock_release(&decay.lock);
	return wait;
}

/* The thread */

static bool something_wanted_locked(void)
{
	list_for_each (item, &decay.zones)
		if (may_visit_locked(
			    container_of(item, struct quire_zone, decay_link)))
			return true;
	return false;
}

/* Says that it ends, and then makes sure that nobody counted on it. */
static bool may_end(uint32_t word)
{
	bool end;

	lock_take(&decay.lock);
	store_relaxed(&decay.helper, HELPER_ENDED);
	/* pairs with the fence in decay_wanted */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	end = load_relaxed(&decay.word) == word && !something_wanted_locked();
	if (!end)
		store_relaxed(&decay.helper, HELPER_RUNS);
	lock_release(&decay.lock);
	return end;
}

static bool asked_to_stop(void)
{
	bool stop;

	lock_take(&decay.lock);
	stop = decay.stop;
	lock_release(&decay.lock);
	return stop;
}

static void helper_main(void *arg)
{
	(void)arg;
	while (!asked_to_stop()) {
		/* pairs with the release in ring */
		uint32_t word = load_acquire(&decay.word);
		uint64_t wait = decay_look(os->now_ms());

		os->wait(&decay.word, word, wait == NEVER_MS ? IDLE_MS : wait);
		if (wait == NEVER_MS && may_end(word))
			return;
	}
}

static void ring(void)
{
	__atomic_fetch_add(&decay.word, 1, __ATOMIC_RELEASE);
	os->wake(&decay.word);
}

static void join_ended_locked(void)
{
	if (decay.helper != HELPER_ENDED)
		return;
	os->thread_join(&decay.thread); /* it holds no lock any more */
	store_relaxed(&decay.helper, HELPER_NONE);
}

static void look_by_clock_from(uint64_t now_ms)
{
	uint64_t none = 0;

	if (!load_relaxed(&decay.due_ms))
		cas_acquire(&decay.due_ms, none, now_ms + 1);
}

static void start_locked(uint64_t now_ms)
{
	if (CONFIG_UP || now_ms < decay.retry_ms) {
		look_by_clock_from(now_ms);
		return;
	}
	join_ended_locked();
	if (decay.helper != HELPER_NONE)
		return;
	if (os->thread_start("quire/decay", helper_main, NULL, &decay.thread)) {
		decay.nr_refused++;
		decay.retry_ms = now_ms + RETRY_MS;
		look_by_clock_from(now_ms);
		return;
	}
	decay.nr_started++;
	store_relaxed(&decay.due_ms, 0);
	store_relaxed(&decay.helper, HELPER_RUNS);
}

/* Starting a thread allocates, and that can come back to us on this thread. */
static void start(uint64_t now_ms)
{
	if (lock_holds_from(RANK_DECAY))
		return;
	lock_take(&decay.lock);
	start_locked(now_ms);
	lock_release(&decay.lock);
}

static void __attribute__((noinline)) look_by_clock(uint64_t due)
{
	uint64_t now_ms = os->now_ms(), wait;

	if (now_ms < due || lock_holds_from(RANK_DECAY) ||
	    !cas_acquire(&decay.due_ms, due, now_ms + RETRY_MS))
		return;
	if (!CONFIG_UP)
		start(now_ms);
	if (load_relaxed(&decay.helper) == HELPER_RUNS)
		return;
	wait = decay_look(now_ms);
	store_relaxed(&decay.due_ms, wait == NEVER_MS ? 0 : now_ms + wait);
}

void decay_poll(void)
{
	uint64_t due = load_relaxed(&decay.due_ms);

	if (unlikely(due))
		look_by_clock(due);
}

void decay_wanted(struct quire_zone *zone)
{
	bool runs = load_relaxed(&decay.helper) == HELPER_RUNS;

	if (load_relaxed(&zone->decay_wanted) && likely(runs))
		return;
	if (zone->decay_ms == NEVER_MS || !zone->may_discard ||
	    load_relaxed(&zone->offline))
		return;
	store_relaxed(&zone->decay_wanted, 1);
	/* pairs with those in fall_asleep and may_end */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (load_relaxed(&decay.helper) == HELPER_RUNS)
		ring();
	else if (load_relaxed(&decay.due_ms))
		decay_poll();
	else
		start(os->now_ms());
}

/* Zones come and go */

void decay_zone_opened(struct quire_zone *zone)
{
	zone->decay_quiet = ASLEEP;
	zone->decay_visits = 0;
	zone->decay_closing = false;
	lock_take(&decay.lock);
	list_add_tail(&decay.zones, &zone->decay_link);
	lock_release(&decay.lock);
}

static void stop_helper_locked(void)
{
	join_ended_locked();
	if (decay.helper != HELPER_RUNS)
		return;
	decay.stop = true;
	store_relaxed(&decay.helper, HELPER_JOINED);
	ring();
	lock_release(&decay.lock);
	os->thread_join(&decay.thread);
	lock_take(&decay.lock);
	decay.stop = false;
	store_relaxed(&decay.helper, HELPER_NONE);
	store_relaxed(&decay.due_ms, 0);
}

void decay_zone_closing(struct quire_zone *zone)
{
	lock_take(&decay.lock);
	zone->decay_closing = true;
	while (zone->decay_visits) {
		lock_release(&decay.lock);
		os->wait(&zone->decay_visits, 1, NEVER_MS);
		lock_take(&decay.lock);
	}
	list_remove(&zone->decay_link);
	if (list_empty(&decay.zones))
		stop_helper_locked();
	lock_release(&decay.lock);
}

void decay_counts(uint64_t *nr_started, uint64_t *nr_refused)
{
	lock_take(&decay.lock);
	*nr_started = decay.nr_started;
	*nr_refused = decay.nr_refused;
	lock_release(&decay.lock);
}

/* Fork */

void decay_fork_prepare(void)
{
	lock_take(&decay.lock);
}

void decay_fork_parent(void)
{
	lock_release(&decay.lock);
}

/* The thread is the parent's; the child's starts when something is wanted. */
void decay_fork_child(void)
{
	lock_reset_in_child(&decay.lock);
	store_relaxed(&decay.helper, HELPER_NONE);
	store_relaxed(&decay.due_ms, 0);
	decay.stop = false;
	decay.retry_ms = 0;
	list_for_each (item, &decay.zones) {
		struct quire_zone *zone =
			container_of(item, struct quire_zone, decay_link);

		zone->decay_visits = 0;
		zone->decay_closing = false;
	}
}
