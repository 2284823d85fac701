/* SPDX-License-Identifier: BSD-3-Clause
 * One pool of visible reals and one of indices; closing a region cuts them back. A seed makes the same
 * choices whatever is folded or merged. */
#include "support/random_smooth.h"
#include "support/random_trace.h"

enum { POOL = 512, DEPTH = 3 };

typedef struct generator {
    uint64_t state;
    smooth_options options;
    ir_func *f;
    ir_ref reals[POOL], indices[POOL];
    uint32_t real_count, index_count;
    ir_ref array;            /* a local array of 4 reals, or none */
    ir_func *const *callees; /* two of 2 reals -> 2 reals; NULL */
} generator;

static uint32_t below(generator *g, uint32_t limit) { return random_below(&g->state, limit); }
static ir_ref pick(generator *g) { return g->reals[below(g, g->real_count)]; }
static ir_ref pick_index(generator *g)
{
    return g->index_count && below(g, 2) ? g->indices[below(g, g->index_count)]
                                         : ir_u32(g->f, below(g, SMOOTH_WORDS));
}

static void keep(generator *g, ir_ref r)
{
    if (g->real_count < POOL)
        g->reals[g->real_count++] = r;
}

static ir_ref condition(generator *g)
{
    ir_ref a = pick(g), b = pick(g);
    return ir_lt(g->f, a, b);
}

static ir_ref value(generator *g)
{
    ir_func *f = g->f;
    ir_ref a = pick(g), b = pick(g), c = pick(g), half = ir_f32(f, 0.5f);
    switch (below(g, 15)) {
    case 0:
        return ir_add(f, a, b);
    case 1:
        return ir_sub(f, a, b);
    case 2:
        return ir_mul(f, ir_sin(f, a), b);
    case 3:
        return ir_div(f, a, ir_add(f, ir_f32(f, 2), ir_cos(f, b)));
    case 4:
        return ir_min(f, a, b);
    case 5:
        return ir_max(f, a, ir_neg(f, b));
    case 6:
        return ir_select(f, ir_lt(f, a, b), c, ir_mul(f, a, half));
    case 7:
        return ir_sqrt(f, ir_add(f, ir_mul(f, a, a), half));
    case 8:
        return ir_log(f, ir_add(f, ir_abs(f, a), half));
    case 9:
        return ir_exp(f, ir_sin(f, a));
    case 10:
        return ir_atan2(f, a, ir_add(f, ir_abs(f, b), half));
    case 11:
        return ir_pow(f, ir_add(f, ir_abs(f, a), half), ir_sin(f, b));
    case 12:
        return ir_acos(f, ir_mul(f, ir_sin(f, a), half));
    case 13:
        return ir_mul(f, ir_cos(f, a), c);
    default:
        return ir_floor(f, ir_mul(f, a, ir_f32(f, 0.01f)));
    }
}

static ir_ref read_memory(generator *g)
{
    ir_func *f = g->f;
    ir_ref at = pick_index(g), target = at;
    if (g->options.some_constant && below(g, 3) == 0)
        target = ir_select(f, condition(g), at, ir_u32(f, ~0u));
    return ir_dload(f, SMOOTH_VALUES, at, target);
}

static void use_array(generator *g)
{
    ir_func *f = g->f;
    ir_ref at = ir_and(f, pick_index(g), ir_u32(f, 3));
    if (below(g, 2))
        keep(g, ir_lload(f, g->array, at));
    else
        ir_lstore(f, g->array, at, pick(g));
}

static void block(generator *g, uint32_t length, uint32_t depth);

static void branch(generator *g, uint32_t depth)
{
    uint32_t reals = g->real_count, indices = g->index_count, results = 1 + below(g, 3);
    ir_ref values[2][3], opened = ir_if(g->f, condition(g));
    for (int side = 0; side < 2; side++) {
        block(g, below(g, 6), depth - 1);
        for (uint32_t k = 0; k < results; k++)
            values[side][k] = pick(g);
        g->real_count = reals, g->index_count = indices;
        if (side == 0)
            ir_else(g->f);
    }
    ir_endif(g->f);
    for (uint32_t k = 0; k < results; k++)
        keep(g, ir_phi(g->f, opened, values[0][k], values[1][k]));
}

/* A counted loop over an index and up to three reals. Where all are sum loops, bodies see their states only
 * detached. */
static void loop(generator *g, uint32_t depth)
{
    ir_func *f = g->f;
    bool sums = g->options.sums_only || below(g, 2);
    uint32_t count = 2 + below(g, 3), reals = g->real_count, indices = g->index_count;
    ir_ref state[4] = {ir_u32(f, 0)}, next[4];
    for (uint32_t k = 1; k < count; k++)
        state[k] = pick(g);
    ir_ref opened = ir_loop(f, state, count);
    for (uint32_t k = 1; k < count; k++)
        keep(g, g->options.sums_only ? ir_detach(f, state[k]) : state[k]);
    g->indices[g->index_count++] = state[0];
    if (below(g, 2))
        block(g, below(g, 4), depth - 1);
    ir_while(f, ir_lt(f, state[0], ir_u32(f, below(g, SMOOTH_TRIPS + 1))));
    block(g, 1 + below(g, 6), depth - 1);
    next[0] = ir_add(f, state[0], ir_u32(f, 1));
    for (uint32_t k = 1; k < count; k++) {
        ir_ref term = ir_sin(f, pick(g));
        next[k] = !sums         ? term
                  : below(g, 2) ? ir_add(f, state[k], term)
                                : ir_sub(f, ir_add(f, term, state[k]), pick(g));
    }
    g->real_count = reals, g->index_count = indices;
    ir_endloop(f, opened, next, count);
    for (uint32_t k = 1; k < count; k++)
        keep(g, state[k]);
}

static void call(generator *g)
{
    ir_func *f = g->f;
    ir_ref selector = ir_select(f, condition(g), ir_u32(f, 0), ir_u32(f, 1)), a = pick(g), results[2];
    ir_call(f, selector, g->callees, 2, (ir_ref[]){a, pick(g)}, 2, results);
    keep(g, results[0]);
    keep(g, results[1]);
}

static void block(generator *g, uint32_t length, uint32_t depth)
{
    for (uint32_t k = 0; k < length; k++) {
        uint32_t choice = below(g, 12);
        if (choice == 0 && depth)
            branch(g, depth);
        else if (choice == 1 && depth && !g->options.no_loops)
            loop(g, depth);
        else if (choice == 2 && g->callees)
            call(g);
        else if (choice == 3 || choice == 5)
            keep(g, read_memory(g));
        else if (choice == 4 && !ir_is_none(g->array) && (depth == DEPTH || !g->options.flat_locals))
            use_array(g);
        else
            keep(g, value(g));
    }
}

/* Opens a function and fills it. */
static ir_func *body(generator *g, ir_module *m, const char *name, uint32_t params, ir_func *const *callees)
{
    ir_func *f = g->f = ir_func_create(m, name);
    g->callees = callees;
    g->real_count = g->index_count = 0;
    g->array = (ir_ref){0};
    for (uint32_t k = 0; k < params; k++)
        keep(g, ir_param(f, IR_F32));
    if (!g->options.no_locals) {
        g->array = ir_local(f, IR_F32, 4);
        for (uint32_t k = 0; k < 4; k++)
            ir_lstore(f, g->array, ir_u32(f, k), pick(g));
    }
    keep(g, ir_mul(f, ir_sin(f, read_memory(g)), pick(g)));
    block(g, 10, DEPTH);
    return f;
}

static ir_func *callee(generator *g, ir_module *m, const char *name, ir_func *const *callees)
{
    ir_func *f = body(g, m, name, 2, callees);
    ir_return(f, (ir_ref[]){g->reals[g->real_count - 1], g->reals[g->real_count - 2]}, 2);
    return f;
}

ir_module *smooth_module(smooth_options options)
{
    ir_module *m = ir_module_create();
    m->no_fold = options.no_fold;
    m->no_merge = options.no_merge;
    ir_buffer_add(m, "values", true, SMOOTH_GRADIENTS);
    ir_buffer_add(m, "gradients", false, -1);
    ir_buffer_add(m, "tangents", true, -1);
    ir_buffer_add(m, "tangents of gradients", false, -1);
    m->buffers.data[SMOOTH_VALUES].tangent = SMOOTH_TANGENTS;
    m->buffers.data[SMOOTH_GRADIENTS].tangent = SMOOTH_GRADIENT_TANGENTS;
    return m;
}

ir_func *smooth_function(ir_module *m, uint64_t seed, smooth_options options, ir_ref out[SMOOTH_RESULTS])
{
    generator g = {.state = seed, .options = options};
    ir_func *inner[2], *outer[2];
    inner[0] = callee(&g, m, "inner", NULL), inner[1] = callee(&g, m, "inner", NULL);
    outer[0] = callee(&g, m, "outer", inner), outer[1] = callee(&g, m, "outer", inner);
    ir_func *f = body(&g, m, "main", SMOOTH_PARAMS, outer);
    for (uint32_t k = 0; k < SMOOTH_RESULTS; k++)
        out[k] = g.reals[g.real_count - 1 - k];
    return f;
}
