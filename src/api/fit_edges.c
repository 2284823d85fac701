/* SPDX-License-Identifier: BSD-3-Clause
 * Where on moving edges samples look is learnt (docs/theory/edges.md) and costs what many samples cost. From
 * one step of a fit to the next little changes. So a step of every few learns, and those after it choose by
 * the same tables. Whatever the tables say, a gradient's expectation is the same: they were made of earlier
 * random numbers, and every cell keeps a share of its probability.
 *
 * The tables are by what one sensor sees, and there is room for one set. So fits of several views learn at
 * every look, and so do batches. */
#include "api/fit_edges.h"
#include "api/edges.h"
#include "api/fit_words.h"

enum { LEARN_STEPS_APART = 8 };

static bool keeps(const bl_fit *fit) { return fit->seen_count == 1 && !fit->desc.batch; }

bool fit_edges_learnt(const bl_fit *fit)
{
    return keeps(fit) && (fit->status.step - fit->desc.first_step) % LEARN_STEPS_APART != 0;
}

/* ---- in a checkpoint: the tables ---- */

uint32_t fit_edges_words(const bl_fit *fit) { return keeps(fit) ? edges_tables_of(fit->job).count : 0; }

bl_result fit_edges_move(bl_fit *fit, float *words, bool store, bl_error *err)
{
    const edges_tables tables = edges_tables_of(fit->job);
    if (!fit_edges_words(fit))
        return BL_OK;
    return fit_move_words(fit->job->values, 4ull * tables.first, words, tables.count, store, err);
}
