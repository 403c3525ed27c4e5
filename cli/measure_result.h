/* SPDX-License-Identifier: MIT */
/*
 * The result of `quire measure` as JSON.  Needs jansson (result.h).
 */
#ifndef QUIRE_CLI_MEASURE_RESULT_H
#define QUIRE_CLI_MEASURE_RESULT_H

#include "prescribe.h"
#include "result.h"
#include "rounds.h"

/* measure_result - build it; free it with result_free() */
struct result *measure_result(const struct rounds *rounds,
			      const struct prescription *p,
			      const struct prescribe_view *view);

#endif /* QUIRE_CLI_MEASURE_RESULT_H */
