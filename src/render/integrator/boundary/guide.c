/* SPDX-License-Identifier: BSD-3-Clause
 * Which parts of all curves samples look at. Most curves are hidden, or light nothing that the sensor sees.
 * So each pass of edges first learns: a few samples in every cell of the curves say how much goes past the
 * edge there to the image. Then cells are chosen in proportion to that, as Zhang et al. (2023) choose
 * boundary segments by what a first pass has found.
 *
 * What is learnt does not depend on the loss, nor on which parameters move and how. So the derivative of the
 * image and a gradient have the same samples. Every cell keeps a share of its probability before, for what a
 * few samples did not find. */
#include "render/integrator/boundary/boundary.h"
#include "render/shape/silhouette_words.h"

/* KEPT: of the probability before. TRUST: samples of a cell are averaged with so much of all others. */
static const float KEPT = 0.25f, TRUST = 0.1f;
static const float ONE_BELOW = 0x1.fffffep-1f;

static ir_ref head_word(tracer *t, uint32_t word)
{
    return t_word(t, t_word(t, t_u32(t, 0), HEADER_SILHOUETTES), word);
}

/* The cumulative probabilities of a pass's cells; their values stand behind. */
static ir_ref table_of(tracer *t, ir_ref which)
{
    ir_func *f = t->f;
    ir_ref words = ir_mul(f, head_word(t, SILHOUETTE_CELL_COUNT), t_u32(t, CELL_TABLE_WORDS));
    return ir_add(f, head_word(t, SILHOUETTE_GUIDE), ir_mul(f, which, words));
}

boundary_cell boundary_choose_cell(walk *w, const boundary_guide *g, ir_ref *u)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref table = table_of(t, t_u32(t, g->table)), cells = head_word(t, SILHOUETTE_CELL_COUNT), inside,
           one = t_f32(t, 1);
    ir_ref k = warp_discrete_rest(t, table, cells, one, *u, &inside), at = ir_add(f, table, k);
    ir_ref p = ir_sub(f, ir_load(f, IR_F32, BUFFER_VALUES, at),
                      warp_interval_begin(t, BUFFER_VALUES, table, k)),
           value = ir_load(f, IR_F32, BUFFER_VALUES, ir_add(f, at, cells));
    *u = ir_select(f, g->usual, ir_min(f, inside, t_f32(t, ONE_BELOW)), *u);
    return (boundary_cell){ir_select(f, g->usual, k, g->own), ir_select(f, g->usual, p, one),
                           ir_select(f, g->usual, value, one)};
}

/* ---- what has been learnt, as a table ---- */

/* Of a cell: how much was found, how much could be, its probability before, and the square of what was found.
 */
typedef struct cell_record {
    ir_ref found, possible, before, square;
} cell_record;

static ir_ref finite_sample(tracer *t, ir_ref word)
{
    ir_func *f = t->f;
    ir_ref v = ir_load(f, IR_F32, BUFFER_SAMPLES, word);
    return ir_select(f, ir_lt(f, v, t_f32(t, 1e30f)), v, t_f32(t, 0));
}

/* The samples of the cells beside it speak for a cell, too. */
static cell_record record_of(tracer *t, ir_ref k, ir_ref count)
{
    ir_func *f = t->f;
    ir_ref one = t_u32(t, 1), last = ir_sub(f, count, one), zero = t_f32(t, 0);
    ir_ref at[3] = {ir_sub(f, ir_max(f, k, one), one), k, ir_min(f, ir_add(f, k, one), last)};
    cell_record r = {zero, zero, zero, zero};
    for (int i = 0; i < 3; i++) {
        ir_ref word = ir_mul(f, at[i], t_u32(t, CELL_LEARNT_WORDS)), share = t_f32(t, i == 1 ? 0.5f : 0.25f);
        r.found = t_mad(t, finite_sample(t, word), share, r.found);
        r.possible = t_mad(t, finite_sample(t, t_offset(t, word, 1)), share, r.possible);
        r.square = t_mad(t, finite_sample(t, t_offset(t, word, 2)), share, r.square);
    }
    ir_ref cell = ir_add(f, head_word(t, SILHOUETTE_CELLS), ir_mul(f, k, t_u32(t, CELL_WORDS)));
    r.before = t_real(t, cell, CELL_PROBABILITY);
    return r;
}

/* How many cells can be chosen: the first ones, where only what moves matters. */
static ir_ref count_of(tracer *t, ir_ref which)
{
    ir_func *f = t->f;
    ir_ref cells = head_word(t, SILHOUETTE_CELL_COUNT), moving = head_word(t, SILHOUETTE_CELLS_MOVING);
    ir_ref some = ir_and(f, ir_eq(f, which, t_u32(t, EDGE_TABLE_SEEN)), ir_ne(f, moving, t_u32(t, 0)));
    return t->plan->camera ? cells : ir_select(f, some, moving, cells);
}

/* Cells that a lane works on: first, .., end - 1. */
typedef struct cell_range {
    ir_ref first, end;
} cell_range;

static cell_range cells_of(tracer *t, ir_ref own, ir_ref most)
{
    ir_func *f = t->f;
    ir_ref cells = head_word(t, SILHOUETTE_CELL_COUNT), lanes = t_u32(t, LEARN_LANES),
           each = ir_div(f, ir_add(f, cells, t_u32(t, LEARN_LANES - 1)), lanes), first = ir_mul(f, own, each);
    return (cell_range){first, ir_min(f, ir_add(f, first, each), most)};
}

/* Where the sums of a lane stand in BUFFER_SAMPLES: behind what was found for the cells. */
static ir_ref sums_word(tracer *t, ir_ref own)
{
    ir_func *f = t->f;
    ir_ref behind = ir_mul(f, head_word(t, SILHOUETTE_CELL_COUNT), t_u32(t, CELL_LEARNT_WORDS));
    return ir_add(f, behind, ir_mul(f, own, t_u32(t, LEARN_SUMS)));
}

static ir_ref variance_word(tracer *t, ir_ref own)
{
    return ir_add(t->f, sums_word(t, t_u32(t, LEARN_LANES)), own);
}

void boundary_add_up(tracer *t, ir_ref which, ir_ref own)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), count = count_of(t, which);
    cell_range cells = cells_of(t, own, count);
    ir_ref state[4] = {cells.first, zero, zero, zero}, loop = ir_loop(f, state, 4);
    ir_while(f, ir_lt(f, state[0], cells.end));
    cell_record r = record_of(t, state[0], count);
    ir_ref next[4] = {ir_add(f, state[0], t_u32(t, 1)), ir_add(f, state[1], r.found),
                      ir_add(f, state[2], r.possible), ir_add(f, state[3], r.before)};
    ir_endloop(f, loop, next, 4);
    for (uint32_t k = 0; k < LEARN_SUMS; k++)
        ir_store(f, BUFFER_SAMPLES, t_offset(t, sums_word(t, own), k), state[1 + k]);
}

/* The sums of the lanes before `end`, in their order. */
static cell_record sums_before(tracer *t, ir_ref end)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), state[4] = {t_u32(t, 0), zero, zero, zero}, loop = ir_loop(f, state, 4),
           next[4];
    ir_while(f, ir_lt(f, state[0], end));
    ir_ref word = sums_word(t, state[0]);
    next[0] = ir_add(f, state[0], t_u32(t, 1));
    for (uint32_t k = 0; k < LEARN_SUMS; k++)
        next[1 + k] = ir_add(f, state[1 + k], ir_load(f, IR_F32, BUFFER_SAMPLES, t_offset(t, word, k)));
    ir_endloop(f, loop, next, 4);
    return (cell_record){state[1], state[2], state[3], zero};
}

/* The shares of a probability: of what was found, and of the probability before. */
typedef struct cell_shares {
    ir_ref found, before;
} cell_shares;

/* A cumulative probability, from sums. */
static ir_ref level_of(tracer *t, const cell_record *sums, const cell_shares *by)
{
    ir_ref level = t_mad(t, sums->found, by->found, ir_mul(t->f, sums->before, by->before));
    return ir_min(t->f, level, t_f32(t, 1));
}

void boundary_learn(tracer *t, ir_ref which, ir_ref own)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_u32(t, 1), real = t_f32(t, 1), count = count_of(t, which),
           cells = head_word(t, SILHOUETTE_CELL_COUNT), last = ir_sub(f, count, one),
           table = table_of(t, which);
    cell_record all = sums_before(t, t_u32(t, LEARN_LANES)), begin = sums_before(t, own),
                end = sums_before(t, ir_add(f, own, one));
    ir_ref found = ir_gt(f, all.found, zero), before = t_ratio(t, real, all.before);
    const cell_shares by = {t_ratio(t, t_f32(t, 1 - KEPT), all.found),
                            ir_mul(f, before, ir_select(f, found, t_f32(t, KEPT), real))};
    /* What a lane's last cell has is what the next lane begins with, so the table never falls. */
    ir_ref most = level_of(t, &end, &by);
    cell_range range = cells_of(t, own, cells);
    ir_ref state[3] = {range.first, level_of(t, &begin, &by), zero}, loop = ir_loop(f, state, 3);
    ir_while(f, ir_lt(f, state[0], range.end));
    cell_record r = record_of(t, ir_min(f, state[0], last), count);
    ir_ref next = ir_add(f, state[0], one), some = ir_mul(f, ir_mul(f, r.before, before), t_f32(t, TRUST));
    ir_ref own_level = t_mad(t, r.found, by.found, ir_mul(f, r.before, by.before));
    ir_ref sum = ir_add(f, state[1], own_level);
    sum = ir_select(f, ir_ge(f, next, range.end), most, ir_min(f, sum, most));
    sum = ir_select(f, ir_ge(f, state[0], last), real, sum);
    ir_ref value = t_ratio(t, t_mad(t, some, all.found, r.found), t_mad(t, some, all.possible, r.possible));
    ir_ref at = ir_add(f, table, state[0]);
    ir_store(f, BUFFER_VALUES, at, sum);
    ir_store(f, BUFFER_VALUES, ir_add(f, at, cells), ir_select(f, ir_gt(f, value, zero), value, real));
    /* Of samples that take a cell with probability p, the square's mean is the sum of square / p. */
    ir_ref square = ir_select(f, ir_le(f, state[0], last), t_ratio(t, r.square, own_level), zero);
    ir_endloop(f, loop, (ir_ref[]){next, sum, ir_add(f, state[2], square)}, 3);
    ir_store(f, BUFFER_SAMPLES, variance_word(t, own), state[2]);
}

/* ---- how many samples a pass takes ---- */

/* What a sample of each pass costs, roughly: paths past two sides, and the walk to where the edge is seen
 * from. */
static const float COSTS[EDGE_TABLES] = {1, 2, 1};
static const float SPARED_MOST = 4;

static ir_ref variance_of_pass(tracer *t, ir_ref which)
{
    return ir_add(t->f, table_of(t, t_u32(t, EDGE_TABLES)), which);
}

void boundary_add_variance(tracer *t, ir_ref which)
{
    ir_func *f = t->f;
    ir_ref state[2] = {t_u32(t, 0), t_f32(t, 0)}, loop = ir_loop(f, state, 2);
    ir_while(f, ir_lt(f, state[0], t_u32(t, LEARN_LANES)));
    ir_ref next[2] = {ir_add(f, state[0], t_u32(t, 1)),
                      ir_add(f, state[1], ir_load(f, IR_F32, BUFFER_SAMPLES, variance_word(t, state[0])))};
    ir_endloop(f, loop, next, 2);
    ir_store(f, BUFFER_VALUES, variance_of_pass(t, which), state[1]);
}

ir_ref boundary_spared(tracer *t, enum edge_table own)
{
    ir_func *f = t->f;
    ir_ref most = t_f32(t, 0), size[EDGE_TABLES], one = t_f32(t, 1);
    for (uint32_t k = 0; k < EDGE_TABLES; k++) {
        ir_ref v = ir_load(f, IR_F32, BUFFER_VALUES, variance_of_pass(t, t_u32(t, k)));
        size[k] = ir_sqrt(f, ir_mul(f, v, t_f32(t, 1 / COSTS[k])));
        most = ir_max(f, most, size[k]);
    }
    ir_ref times = t_ratio(t, most, size[own]), some = ir_gt(f, size[own], t_f32(t, 0));
    times = ir_select(f, some, ir_min(f, times, t_f32(t, SPARED_MOST)), t_f32(t, SPARED_MOST));
    times = ir_select(f, ir_gt(f, most, t_f32(t, 0)), times, one);
    return ir_to_u32(f, ir_add(f, ir_max(f, times, one), t_f32(t, 0.5f)));
}
