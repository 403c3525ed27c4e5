/* SPDX-License-Identifier: MIT */
/*
 * Shared words.  All atomics of quire go through these names, so that a build
 * can put a modelled machine under the same source.  Relaxed means statistics
 * or a hint; every acquire names its release in a comment where it stands.
 */
#ifndef BASE_ATOMIC_H
#define BASE_ATOMIC_H

#define load_relaxed(p)	       __atomic_load_n((p), __ATOMIC_RELAXED)
#define load_acquire(p)	       __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define store_relaxed(p, v)    __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define store_release(p, v)    __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define add_relaxed(p, v)      __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define add_acq_rel(p, v)      __atomic_fetch_add((p), (v), __ATOMIC_ACQ_REL)
#define exchange_acquire(p, v) __atomic_exchange_n((p), (v), __ATOMIC_ACQUIRE)
#define exchange_acq_rel(p, v) __atomic_exchange_n((p), (v), __ATOMIC_ACQ_REL)
#define exchange_release(p, v) __atomic_exchange_n((p), (v), __ATOMIC_RELEASE)

/* True when *p was @expected and is now @desired. */
#define cas_acquire(p, expected, desired)                                      \
	__extension__({                                                        \
		__typeof__(*(p)) cas_old = (expected);                         \
		__atomic_compare_exchange_n((p), &cas_old, (desired), 0,       \
					    __ATOMIC_ACQUIRE,                  \
					    __ATOMIC_RELAXED);                 \
	})

/* The same, and what was written before is seen by whoever acquires. */
#define cas_acq_rel(p, expected, desired)                                      \
	__extension__({                                                        \
		__typeof__(*(p)) cas_old = (expected);                         \
		__atomic_compare_exchange_n((p), &cas_old, (desired), 0,       \
					    __ATOMIC_ACQ_REL,                  \
					    __ATOMIC_RELAXED);                 \
	})

#endif /* BASE_ATOMIC_H */
