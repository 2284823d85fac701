/* SPDX-License-Identifier: BSD-3-Clause
 * A generator with one pool of visible values per type. A block is a number of picks; a pick emits one
 * construct and puts its values into the pools; closing a region cuts the pools back to what they held when
 * it was opened. */
#include "support/random_trace.h"

#include <string.h>

enum { POOL = 256, CALLEES = 4, DEPTH = 3 };

typedef struct pool {
    ir_ref refs[POOL];
    uint32_t count;
} pool;

typedef struct generator {
    uint64_t state;
    random_trace_options options;
    ir_func *f;
    pool values[IR_TYPE_COUNT];
    struct {
        ir_ref array;
        ir_type type;
    } locals[8];
    uint32_t local_count;
    ir_func *callees[CALLEES]; /* pairs of equal signature */
    uint32_t callee_count;
} generator;

uint64_t random_bits(uint64_t *state) /* splitmix64 */
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

uint32_t random_below(uint64_t *state, uint32_t limit)
{
    return (uint32_t)((random_bits(state) >> 32) * limit >> 32);
}

static uint32_t below(generator *g, uint32_t limit) { return random_below(&g->state, limit); }

static uint32_t random_word(uint64_t *state)
{
    static const uint32_t special[] = {0u,          1u,          2u,          ~0u,
                                       0x80000000u, 0x7FFFFFFFu, 31u,         0x3F800000u,
                                       0xBF800000u, 0x3F000000u, 0x40490FDBu, 0x7F800000u,
                                       0x7FC00000u, 0x4F000000u, 0x00800000u, 0xFF800000u};
    uint64_t bits = random_bits(state);
    float real = (float)((double)(bits >> 40) * 0x1p-20 - 8.0);
    uint32_t word;
    switch (bits & 3) {
    case 0:
        return special[bits >> 4 & 15];
    case 1:
        return (uint32_t)(bits >> 4 & 127);
    case 2:
        memcpy(&word, &real, sizeof word);
        return word;
    default:
        return (uint32_t)(bits >> 32);
    }
}

void random_trace_fill(uint64_t seed, uint32_t *words, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        words[k] = random_word(&seed);
}

/* ---- values ---- */

static void keep(generator *g, ir_ref r, ir_type type)
{
    pool *p = &g->values[type];
    if (p->count < POOL)
        p->refs[p->count++] = r;
    else
        p->refs[POOL / 2 + below(g, POOL / 2)] = r;
}

static ir_ref any_const(generator *g, ir_type type)
{
    uint32_t word = random_word(&g->state);
    return ir_const(g->f, type, type == IR_BOOL ? word & 1u : word);
}

/* A visible value, rather a new one than an old one; sometimes a constant. */
static ir_ref any(generator *g, ir_type type)
{
    const pool *p = &g->values[type];
    if (p->count == 0 || below(g, 8) == 0)
        return any_const(g, type);
    uint32_t recent = p->count < 8 ? p->count : 8;
    return below(g, 2) ? p->refs[p->count - 1 - below(g, recent)] : p->refs[below(g, p->count)];
}

static ir_type any_type(generator *g) { return (ir_type)(IR_BOOL + below(g, 4)); }
static ir_type word_type(generator *g) { return (ir_type)(IR_I32 + below(g, 3)); }
static ir_ref any_index(generator *g)
{
    return ir_and(g->f, any(g, IR_U32), ir_u32(g->f, RANDOM_TRACE_WORDS - 1));
}

static bool steering(ir_op op)
{
    return op == IR_SIN || op == IR_COS || op == IR_EXP || op == IR_LOG || op == IR_POW || op == IR_ATAN2 ||
           op == IR_ACOS;
}

/* Types of the operands and the result of a value op. */
static void choose_types(generator *g, ir_op op, ir_type type[3], ir_type *result)
{
    ir_type any_of_4 = any_type(g), number = word_type(g), integer = (ir_type)(IR_I32 + below(g, 2));
    ir_type t = number;
    switch ((ir_rule)ir_op_table[op].rule) {
    case IR_RULE_INT:
    case IR_RULE_SHIFT:
    case IR_RULE_BITS_F:
        t = integer;
        break;
    case IR_RULE_REAL:
        t = IR_F32;
        break;
    case IR_RULE_LOGIC:
        t = any_of_4 == IR_F32 ? IR_BOOL : any_of_4;
        break;
    case IR_RULE_COMPARE:
    case IR_RULE_SELECT:
    case IR_RULE_TO_I32:
    case IR_RULE_TO_U32:
    case IR_RULE_TO_F32:
    case IR_RULE_SAME:
        t = any_of_4;
        break;
    default:
        break;
    }
    type[0] = type[1] = type[2] = *result = t;
    switch ((ir_rule)ir_op_table[op].rule) {
    case IR_RULE_COMPARE:
    case IR_RULE_ORDER:
        *result = IR_BOOL;
        break;
    case IR_RULE_SHIFT:
        type[1] = IR_U32;
        break;
    case IR_RULE_SELECT:
        type[0] = IR_BOOL;
        break;
    case IR_RULE_TO_I32:
        *result = IR_I32;
        break;
    case IR_RULE_TO_U32:
    case IR_RULE_BITS_U:
        *result = IR_U32;
        break;
    case IR_RULE_TO_F32:
    case IR_RULE_BITS_F:
        *result = IR_F32;
        break;
    default:
        break;
    }
}

static void pick_value_op(generator *g)
{
    ir_op op;
    do
        op = (ir_op)(1 + below(g, IR_OP_COUNT - 1));
    while (!ir_op_table[op].arity || (g->options.no_steering && steering(op)));
    ir_type type[3], result;
    choose_types(g, op, type, &result);
    ir_ref a = any(g, type[0]), b = any(g, type[1]), c = any(g, type[2]);
    if (below(g, 8) == 0)
        b = type[0] == type[1] ? a : b;
    keep(g, ir_value_op(g->f, op, a, b, c), result);
}

/* ---- memory ---- */

/* Two of four neighbours, which code generation may read as one vector. */
static void load_neighbours(generator *g, ir_type type)
{
    ir_ref first = ir_and(g->f, any(g, IR_U32), ir_u32(g->f, RANDOM_TRACE_WORDS - 4));
    for (int k = 0; k < 2; k++)
        keep(g, ir_load(g->f, type, 0, ir_add(g->f, first, ir_u32(g->f, below(g, 4)))), type);
}

static void pick_memory(generator *g)
{
    ir_func *f = g->f;
    ir_type type = word_type(g);
    ir_ref index = any_index(g), value = any(g, type);
    switch (below(g, 8)) {
    case 0:
        if (below(g, 2))
            load_neighbours(g, type);
        else
            keep(g, ir_load(f, type, 0, index), type);
        break;
    case 1:
        keep(g, ir_load(f, type, 1, index), type);
        break;
    case 2:
        keep(g, ir_dload(f, 2, index, index), IR_F32);
        break;
    case 3:
        ir_accum(f, 3, ir_select(f, any(g, IR_BOOL), index, ir_u32(f, ~0u)), any(g, IR_F32));
        ir_flush(f, 3, any(g, IR_BOOL));
        break;
    case 4:
        if (type != IR_I32)
            keep(g, ir_atomic_add(f, 1, index, value), type);
        break;
    case 5:
        keep(g, ir_atomic_cas(f, 1, index, any(g, IR_U32), any(g, IR_U32)), IR_U32);
        break;
    case 6:
        keep(g, ir_uniform(f, type, below(g, RANDOM_TRACE_UNIFORMS)), type);
        break;
    default:
        ir_store(f, 1, index, value);
        break;
    }
}

enum { LOCAL_SIZE = 4 };

static void pick_local(generator *g)
{
    ir_func *f = g->f;
    if (g->local_count < 2 || (g->local_count < 8 && below(g, 4) == 0)) {
        ir_type type = any_type(g);
        ir_ref array = ir_local(f, type, LOCAL_SIZE);
        for (uint32_t k = 0; k < LOCAL_SIZE; k++)
            ir_lstore(f, array, ir_u32(f, k), any(g, type));
        g->locals[g->local_count].array = array;
        g->locals[g->local_count++].type = type;
        return;
    }
    uint32_t k = below(g, g->local_count);
    ir_ref index = ir_and(f, any(g, IR_U32), ir_u32(f, LOCAL_SIZE - 1));
    if (below(g, 2))
        keep(g, ir_lload(f, g->locals[k].array, index), g->locals[k].type);
    else
        ir_lstore(f, g->locals[k].array, index, any(g, g->locals[k].type));
}

/* ---- control ---- */

typedef struct mark {
    uint32_t count[IR_TYPE_COUNT], local_count;
} mark;

static mark mark_now(const generator *g)
{
    mark m = {.local_count = g->local_count};
    for (unsigned t = 0; t < IR_TYPE_COUNT; t++)
        m.count[t] = g->values[t].count;
    return m;
}

/* A full pool may have overwritten old entries by inner values: a region starts with room. */
static bool has_room(const generator *g)
{
    for (unsigned t = 0; t < IR_TYPE_COUNT; t++)
        if (g->values[t].count > POOL - 64)
            return false;
    return true;
}

static void cut(generator *g, mark m)
{
    g->local_count = m.local_count;
    for (unsigned t = 0; t < IR_TYPE_COUNT; t++)
        g->values[t].count = m.count[t];
}

static void block(generator *g, uint32_t size, uint32_t depth);

static void pick_if(generator *g, uint32_t depth)
{
    ir_type type[3];
    ir_ref then_value[3], else_value[3];
    uint32_t count = below(g, 4);
    ir_ref branch = ir_if(g->f, any(g, IR_BOOL));
    mark m = mark_now(g);
    block(g, 1 + below(g, 8), depth + 1);
    for (uint32_t k = 0; k < count; k++)
        then_value[k] = any(g, type[k] = any_type(g));
    cut(g, m);
    ir_else(g->f);
    if (below(g, 3))
        block(g, 1 + below(g, 8), depth + 1);
    for (uint32_t k = 0; k < count; k++)
        else_value[k] = any(g, type[k]);
    cut(g, m);
    ir_endif(g->f);
    for (uint32_t k = 0; k < count; k++)
        keep(g, ir_phi(g->f, branch, then_value[k], else_value[k]), type[k]);
}

/* A counted loop with further random states, which may end early by a random condition. */
static void pick_loop(generator *g, uint32_t depth)
{
    ir_func *f = g->f;
    ir_type type[4] = {IR_U32, IR_VOID, IR_VOID, IR_VOID};
    ir_ref state[4] = {ir_u32(f, 0)}, next[4];
    uint32_t count = 1 + below(g, 4);
    for (uint32_t k = 1; k < count; k++)
        state[k] = any(g, type[k] = any_type(g));
    mark outside = mark_now(g);
    ir_ref loop = ir_loop(f, state, count);
    for (uint32_t k = 0; k < count; k++)
        keep(g, state[k], type[k]);
    if (below(g, 2))
        block(g, 1 + below(g, 5), depth + 1);
    ir_ref go = ir_lt(f, state[0], ir_u32(f, 1 + below(g, 3)));
    if (below(g, 4) == 0)
        go = ir_and(f, go, any(g, IR_BOOL));
    ir_while(f, go);
    block(g, 1 + below(g, 8), depth + 1);
    next[0] = ir_add(f, state[0], ir_u32(f, 1));
    for (uint32_t k = 1; k < count; k++)
        next[k] = any(g, type[k]);
    cut(g, outside);
    ir_endloop(f, loop, next, count);
    for (uint32_t k = 0; k < count; k++)
        keep(g, state[k], type[k]);
}

static void pick_call(generator *g)
{
    if (!g->callee_count)
        return;
    uint32_t first = below(g, g->callee_count / 2) * 2, count = 1 + below(g, 2);
    ir_func *const *targets = g->callees + first;
    ir_ref args[8], results[8];
    for (uint32_t k = 0; k < targets[0]->params.count; k++)
        args[k] = any(g, (ir_type)targets[0]->params.data[k]);
    ir_ref selector = count == 1 ? ir_u32(g->f, 0) : ir_and(g->f, any(g, IR_U32), ir_u32(g->f, 1));
    ir_call(g->f, selector, targets, count, args, targets[0]->params.count, results);
    for (uint32_t k = 0; k < targets[0]->results.count; k++)
        keep(g, results[k], ir_type_of(targets[0], targets[0]->results.data[k]));
}

static void block(generator *g, uint32_t size, uint32_t depth)
{
    for (uint32_t k = 0; k < size; k++) {
        uint32_t choice = below(g, 40);
        bool control = !g->options.no_control && depth < DEPTH && has_room(g);
        if (choice < 3 && control)
            pick_if(g, depth);
        else if (choice < 5 && control)
            pick_loop(g, depth);
        else if (choice < 7 && !g->options.no_control)
            pick_call(g);
        else if (choice < 10)
            pick_local(g);
        else if (choice < 16)
            pick_memory(g);
        else
            pick_value_op(g);
    }
}

/* ---- functions ---- */

/* Starts a function with values that cannot be folded. */
static void begin(generator *g, ir_func *f, const ir_type *params, uint32_t param_count)
{
    g->f = f;
    g->local_count = 0;
    memset(g->values, 0, sizeof g->values);
    for (uint32_t k = 0; k < param_count; k++)
        keep(g, ir_param(f, params[k]), params[k]);
    keep(g, ir_uniform(f, IR_U32, below(g, RANDOM_TRACE_UNIFORMS)), IR_U32);
    keep(g, ir_global_id(f), IR_U32);
    for (ir_type t = IR_I32; t < IR_TYPE_COUNT; t++)
        for (uint32_t k = 0; k < 2; k++)
            keep(g, ir_load(f, t, below(g, 2), ir_u32(f, below(g, RANDOM_TRACE_WORDS))), t);
    for (uint32_t k = 0; k < 2; k++)
        keep(g, ir_lt(f, any(g, IR_F32), any(g, IR_F32)), IR_BOOL);
}

static void make_callee(generator *g, ir_module *m, const ir_type *params, uint32_t param_count,
                        const ir_type *results, uint32_t result_count)
{
    begin(g, ir_func_create(m, "callee"), params, param_count);
    block(g, 4 + below(g, 16), 1);
    ir_ref values[4];
    for (uint32_t k = 0; k < result_count; k++)
        values[k] = any(g, results[k]);
    ir_return(g->f, values, result_count);
}

static void make_pair(generator *g, ir_module *m)
{
    ir_type params[4], results[4];
    uint32_t param_count = below(g, 4), result_count = below(g, 4);
    for (uint32_t k = 0; k < 4; k++) {
        params[k] = any_type(g);
        results[k] = any_type(g);
    }
    ir_func *pair[2];
    for (uint32_t k = 0; k < 2; k++) {
        make_callee(g, m, params, param_count, results, result_count);
        pair[k] = g->f;
    }
    g->callees[g->callee_count++] = pair[0]; /* not before: a function may not call its like */
    g->callees[g->callee_count++] = pair[1];
}

static void store_everything(generator *g)
{
    for (ir_type t = IR_BOOL; t < IR_TYPE_COUNT; t++)
        for (uint32_t k = 0; k < 8 && g->values[t].count; k++) {
            ir_ref value = any(g, t);
            ir_store(g->f, 1, ir_u32(g->f, t * 8u + k), t == IR_BOOL ? ir_to_u32(g->f, value) : value);
        }
}

ir_module *random_trace(uint64_t seed, random_trace_options options)
{
    ir_module *m = ir_module_create();
    m->no_fold = options.no_fold;
    m->no_merge = options.no_merge;
    ir_buffer_add(m, "data", true, -1);
    ir_buffer_add(m, "memory", false, -1);
    ir_buffer_add(m, "parameters", true, 3);
    ir_buffer_add(m, "gradients", false, -1);
    m->uniform_count = RANDOM_TRACE_UNIFORMS;
    generator g = {.state = seed, .options = options};
    uint32_t pairs = options.no_control ? 0 : below(&g, CALLEES / 2 + 1);
    for (uint32_t k = 0; k < pairs; k++)
        make_pair(&g, m);
    begin(&g, ir_func_create(m, "main"), NULL, 0);
    m->entry = g.f;
    block(&g, options.size ? options.size : 60, 0);
    store_everything(&g);
    ir_return(g.f, NULL, 0);
    return m;
}
