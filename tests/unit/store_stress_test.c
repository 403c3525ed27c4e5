/* SPDX-License-Identifier: MIT */
/*
 * Threads that allocate, free, resize and exchange blocks, and end at any time,
 * while the helper thread takes everything away that it can, others trim, note
 * and lock everything, and the process forks.  Each child allocates, frees what
 * it inherited, looks at its memory, and ends.
 *
 *	QUIRE_STRESS_SECONDS=n	instead of 8
 *
 * The forks are left out under the thread sanitizer, which does not know the
 * locks of other threads in a child.
 */
#include "region.h"

#include <pthread.h>
#include <time.h>

#include "base/atomic.h"
#include "region/keeper.h"

#define NR_THREADS 6
#define OWN	   8
#define SHARED	   32

/* In the first page of each block; the last byte is marked as well. */
struct head {
	uint64_t bytes;
	uint64_t check;
};

static struct store store;
static uint32_t stop;			/* atomic */
static uint64_t handed_out, taken_back; /* atomic */
static struct head *shared[SHARED];	/* atomic: blocks on their way */
/* blocks that a child may free: nobody else looks at them */
static struct head *inherited[4];

static uint64_t check_of(const struct head *head)
{
	return ((uintptr_t)head ^ head->bytes) * 0x9e3779b97f4a7c15ull;
}

static char *last_byte(struct head *head)
{
	return (char *)head + head->bytes - 1;
}

static void mark(struct head *head, size_t bytes)
{
	head->bytes = bytes;
	head->check = check_of(head);
	*last_byte(head) = (char)head->check;
}

static void verify(struct head *head)
{
	ASSERT(head->check == check_of(head));
	ASSERT(*last_byte(head) == (char)head->check);
}

static size_t random_size(uint64_t *seed)
{
	size_t bits = 12 + random_below(seed, 11); /* up to 8 MiB */

	return ((size_t)1 << bits) + random_below(seed, (size_t)1 << bits);
}

static struct head *make(uint64_t *seed)
{
	size_t bytes = random_size(seed);
	bool zero = random_below(seed, 4) == 0;
	size_t align = random_below(seed, 6) ? PAGE_SIZE : 256 * KIB;
	struct head *head = store_alloc(&store, bytes, align, zero);

	ASSERT(head);
	ASSERT((uintptr_t)head % align == 0);
	if (zero) {
		const char *text = (const char *)head;

		ASSERT(!text[0] && !text[bytes / 2] && !text[bytes - 1]);
	}
	mark(head, bytes);
	add_relaxed(&handed_out, 1);
	return head;
}

static void drop(struct head *head)
{
	if (!head)
		return;
	verify(head);
	head->check = 0;
	ASSERT(store_free(&store, head) == 0);
	add_relaxed(&taken_back, 1);
}

static struct head *resize(struct head *head, uint64_t *seed)
{
	size_t old = head->bytes, bytes = random_size(seed);
	struct head *moved;

	verify(head);
	moved = store_resize(&store, head, bytes);
	ASSERT(moved);
	ASSERT(moved->bytes == old);
	mark(moved, bytes);
	return moved;
}

static struct head *pass_on(struct head *head, uint64_t *seed)
{
	struct head **place = &shared[random_below(seed, SHARED)];

	return __atomic_exchange_n(place, head, __ATOMIC_ACQ_REL);
}

/* The program changes a block; its next owner must not notice. */
static void change(struct head *head)
{
	store_note(&store, head, head->bytes, NOTE_TAINT);
	ASSERT(!madvise(head, PAGE_SIZE, MADV_DONTDUMP));
}

static void odd_job(uint64_t *seed)
{
	int local;

	switch (random_below(seed, 40)) {
	case 0:
		store_trim(&store);
		break;
	case 1:
		store_note_all(&store);
		break;
	case 2:
		keeper_bar(&store);
		keeper_unbar(&store);
		break;
	case 3: {
		uint64_t counter[QUIRE_NR_COUNTERS];

		store_snapshot(&store, counter);
		break;
	}
	case 4:
		ASSERT(store_free(&store, &local) == -ENOENT);
		break;
	default:
		break;
	}
}

static void one_step(struct head **own, uint64_t *seed)
{
	struct head **place = &own[random_below(seed, OWN)];

	switch (random_below(seed, 8)) {
	case 0:
	case 1:
	case 2:
		drop(*place);
		*place = make(seed);
		break;
	case 3:
		drop(*place);
		*place = NULL;
		break;
	case 4:
		*place = pass_on(*place, seed);
		break;
	case 5:
		if (*place)
			*place = resize(*place, seed);
		break;
	case 6:
		if (*place && random_below(seed, 4) == 0)
			change(*place);
		break;
	default:
		odd_job(seed);
	}
}

/* A life of some hundred steps; what it holds it leaves to others. */
static void *life(void *arg)
{
	uint64_t seed = (uintptr_t)arg;
	uint64_t steps = 50 + random_below(&seed, 1000);
	struct head *own[OWN] = { NULL };

	while (steps-- && !load_relaxed(&stop))
		one_step(own, &seed);
	for (int i = 0; i < OWN; i++)
		drop(pass_on(own[i], &seed));
	return NULL;
}

/* One after the other, so that threads end all the time. */
static void *lives(void *arg)
{
	uint64_t seed = (uintptr_t)arg * 0x9e3779b97f4a7c15ull + 1;

	while (!load_relaxed(&stop)) {
		pthread_t thread;
		void *its_seed = (void *)(uintptr_t)(next_random(&seed) | 1);

		ASSERT(!pthread_create(&thread, NULL, life, its_seed));
		pthread_join(thread, NULL);
	}
	return NULL;
}

/*
 * Blocks that were on their way between threads are not looked at: their
 * content may be half written.  store_check is for a store at rest, which a
 * child is not quite: other threads' blocks were half handed out.
 */
static void be_a_child(uint64_t seed)
{
	struct head *own[OWN] = { NULL };

	store_fork_child(&store);
	/* its allocator's lock may be held by a thread that is not here */
	if (UNDER_SANITIZER)
		store.options.thread_bytes = SIZE_MAX;
	for (unsigned int i = 0; i < store.nr_shards; i++)
		shard_check(&store.shards[i]);
	if (random_below(&seed, 2))
		own[0] = make(&seed);
	for (int i = 0; i < 4; i++)
		drop(inherited[i]);
	for (int i = 0; i < 200; i++)
		one_step(own, &seed);
	for (int i = 0; i < OWN; i++)
		drop(own[i]);
	keeper_bar(&store); /* it would work on while we look */
	for (unsigned int i = 0; i < store.nr_shards; i++)
		shard_check(&store.shards[i]);
	_exit(0);
}

static void fork_once(uint64_t *seed)
{
	uint64_t its_seed = next_random(seed) | 1;
	int status;
	pid_t child;

	store_fork_prepare(&store);
	child = fork();
	ASSERT(child >= 0);
	if (!child) {
		alarm(60); /* a hang is a failure */
		/* what the threads pass around is theirs */
		memset(shared, 0, sizeof(shared));
		be_a_child(its_seed);
	}
	store_fork_parent(&store);
	ASSERT(waitpid(child, &status, 0) == child);
	ASSERT(status == 0);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void open_for(unsigned int round)
{
	struct store_options options;

	store_options_default(&options);
	options.decay_ms = round % 3 == 2 ? 0 : 1 + round % 3 * 20;
	options.thread_bytes = 0;
	options.nr_shards = 1 + round % 4;
	options.keep_bytes = round % 2 ? 8 * MIB : GIB;
	options.zero_max_bytes = MIB;
	options.thp = round % 2 ? THP_AUTO : THP_NEVER;
	ASSERT(!store_open(&store, &options));
	store_relaxed(&stop, 0);
	handed_out = taken_back = 0;
}

/*
 * The kernel puts an unmap before the map that gives the addresses out again.
 * The thread sanitizer does not see that, because the calls are made directly,
 * so the order is said once more.
 */
static uint64_t kernel_order; /* atomic */
static struct os_ops os_ordered;

static int ordered_unmap(void *addr, size_t len)
{
	add_acq_rel(&kernel_order, 1);
	return os_kernel.unmap(addr, len);
}

static int ordered_map(size_t len, size_t align, void **out)
{
	int error = os_kernel.map(len, align, out);

	add_acq_rel(&kernel_order, 1);
	return error;
}

static int ordered_reserve(size_t len, size_t align, void **out)
{
	int error = os_kernel.reserve(len, align, out);

	add_acq_rel(&kernel_order, 1);
	return error;
}

static int ordered_move(void *old, size_t old_len, void *dst, size_t new_len)
{
	add_acq_rel(&kernel_order, 1);
	return os_kernel.move(old, old_len, dst, new_len);
}

static void order_calls(void)
{
	os_ordered = os_kernel;
	os_ordered.map = ordered_map;
	os_ordered.unmap = ordered_unmap;
	os_ordered.reserve = ordered_reserve;
	os_ordered.move = ordered_move;
	os = &os_ordered;
}

static void one_round(unsigned int round, double seconds)
{
	uint64_t seed = round + 77;
	pthread_t thread[NR_THREADS];
	double end = now() + seconds;

	open_for(round);
	for (int i = 0; i < 4; i++)
		inherited[i] = make(&seed);
	for (uintptr_t i = 0; i < NR_THREADS; i++)
		ASSERT(!pthread_create(&thread[i], NULL, lives,
				       (void *)(i + 1 + round * 100)));
	while (now() < end) {
		if (UNDER_TSAN)
			usleep(10000);
		else
			fork_once(&seed);
	}
	store_relaxed(&stop, 1);
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < SHARED; i++) {
		drop(shared[i]);
		shared[i] = NULL;
	}
	for (int i = 0; i < 4; i++)
		drop(inherited[i]);
	ASSERT(handed_out == taken_back);
	keeper_bar(&store);
	check_all(&store, 0);
	ASSERT(COUNT(&store, bytes_live) == 0);
	store_close(&store);
}

int main(void)
{
	const char *text = getenv("QUIRE_STRESS_SECONDS");
	double seconds = text ? strtod(text, NULL) : 8;
	unsigned int rounds = seconds > 16 ? (unsigned int)(seconds / 2) : 8;

	if (CONFIG_UP)
		return 77;
	if (UNDER_TSAN)
		order_calls();
	for (unsigned int round = 0; round < rounds; round++)
		one_round(round, seconds / rounds);
	return 0;
}
