/* SPDX-License-Identifier: BSD-3-Clause
 * The reference interpreter: a linear walk over the instructions of a function, one value per instruction.
 *
 * A plan is made once per function and ir_eval: where each IF, ELSE, WHILE and ENDLOOP jumps to, a frame with
 * the constants and uniforms already in it (they may sit in a branch that does not run), places for the
 * results of calls and for local arrays. There is no recursion in a trace, so one frame per function is
 * enough and a call allocates nothing.
 *
 * Defined here: next values of a loop are read together before any STATE changes; the frame's slot of an IF
 * remembers the branch that was taken, for its PHIs; an element of a local array that was never written reads
 * as NaN, 0xCDCDCDCD or false. What a device leaves undefined (access out of range, selector out of range) is
 * an error that names the instruction. The function must satisfy ir_verify. */
#include "spirv_gen/ir/internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { UNWRITTEN = 0xCDCDCDCDu };

typedef struct plan {
    const ir_func *f;
    uint32_t *link;   /* by instruction; IF: ELSE, ELSE: ENDIF, WHILE: ENDLOOP, ENDLOOP: last STATE (or LOOP);
                          CALL, LOCAL: their first element in `extra` */
    ir_value *values; /* by instruction */
    ir_value *extra;  /* results of calls, elements of local arrays */
    ir_value *scratch;              /* next values of a loop */
    ARRAY(uint32_t) params, locals; /* instructions */
    bool running;
} plan;

typedef struct machine {
    plan **plans; /* by function index */
    ir_eval_env *env;
    bl_error *err;
    uint64_t steps, limit;
} machine;

static bl_result fail(machine *m, const ir_func *f, uint32_t at, const char *format, ...) BL_PRINTF(4, 5);
static bl_result fail(machine *m, const ir_func *f, uint32_t at, const char *format, ...)
{
    char detail[384];
    va_list args;
    va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    text t = {0};
    if (at < f->inst.count)
        ir_print_inst(f, at, &t);
    error_set(m->err, BL_ERROR_ARGUMENT, "eval: function \"%.200s\", instruction %u `%.200s`: %s", f->name,
              at, t.data ? t.data : "", detail);
    text_free(&t);
    return BL_ERROR_ARGUMENT;
}

/* ---- plans ---- */

static void *allocate(uint64_t count, size_t size)
{
    void *p = memory_need_zeroed(count ? count : 1, size);
    return p;
}

static void plan_free(plan *p)
{
    if (!p)
        return;
    memory_free(p->link);
    memory_free(p->values);
    memory_free(p->extra);
    memory_free(p->scratch);
    array_free(&p->params);
    array_free(&p->locals);
    memory_free(p);
}

/* Jumps, and how much room calls, local arrays and the STATEs of a loop need. */
static void plan_links(plan *p)
{
    const ir_func *f = p->f;
    uint32_t extra = 0, scratch = 0, states = 0;
    for (uint32_t id = 1; id < f->inst.count; id++) {
        ir_inst i = f->inst.data[id];
        states = i.op == IR_STATE ? states + 1 : 0;
        scratch = states > scratch ? states : scratch;
        switch (i.op) {
        case IR_PARAM:
            array_push(&p->params, id);
            break;
        case IR_STATE:
            p->link[i.c] = id;
            break; /* LOOP: its last STATE */
        case IR_ELSE:
            p->link[i.a] = id;
            break;
        case IR_ENDIF:
            BL_ASSERT(p->link[i.a] > i.a, "%%%u has no ELSE", i.a);
            p->link[p->link[i.a]] = id;
            break;
        case IR_WHILE:
            p->values[i.b].u = id;
            break; /* LOOP: its WHILE, only for now */
        case IR_ENDLOOP:
            BL_ASSERT(p->values[i.a].u > i.a, "loop %%%u has no WHILE", i.a);
            p->link[id] = p->link[i.a] ? p->link[i.a] : i.a;
            p->link[p->values[i.a].u] = id;
            break;
        case IR_LOCAL:
            array_push(&p->locals, id);
            p->link[id] = extra;
            extra += i.a;
            break;
        case IR_CALL:
            p->link[id] = extra;
            extra += ir_result_count(f, i);
            break;
        default:
            break;
        }
    }
    p->extra = allocate(extra, sizeof *p->extra);
    p->scratch = allocate(scratch, sizeof *p->scratch);
}

static double bits_real(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return (double)f;
}

static uint32_t real_bits(double value)
{
    float f = (float)value;
    uint32_t bits;
    if (isnan(value))
        return 0x7FC00000u; /* as in eval_op.c */
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static ir_value from_word(ir_type type, uint32_t word)
{
    ir_value v = {0};
    v.f = 0;
    if (type == IR_F32)
        v.f = bits_real(word);
    else if (type == IR_BOOL)
        v.b = word != 0;
    else
        v.u = word;
    return v;
}

static bl_result plan_floating(machine *m, plan *p)
{
    const ir_func *f = p->f;
    for (uint32_t id = 1; id < f->inst.count; id++) {
        ir_inst i = f->inst.data[id];
        if (i.op == IR_CONST)
            p->values[id] = from_word((ir_type)i.type, i.a);
        else if (i.op == IR_GLOBAL_ID)
            p->values[id].u = m->env->global_id;
        else if (i.op == IR_UNIFORM && i.a < m->env->uniform_count)
            p->values[id] = from_word((ir_type)i.type, m->env->uniforms[i.a]);
        else if (i.op == IR_UNIFORM)
            return fail(m, f, id, "only %u uniform words were given", m->env->uniform_count);
    }
    return BL_OK;
}

static bl_result plan_get(machine *m, const ir_func *f, plan **out)
{
    BL_ASSERT(f->module->functions.data[f->index] == f, "\"%s\" is not number %u of its module", f->name,
              f->index);
    plan **slot = &m->plans[f->index];
    *out = *slot;
    if (*slot)
        return BL_OK;
    if (!f->finished)
        return fail(m, f, 0, "the function is not finished");
    plan *p = *slot = *out = allocate(1, sizeof *p);
    p->f = f;
    p->link = allocate(f->inst.count, sizeof *p->link);
    p->values = allocate(f->inst.count, sizeof *p->values);
    plan_links(p);
    return plan_floating(m, p);
}

/* ---- memory ---- */

/* An element of a buffer: one of the two is there, the other one NULL. rest: of a real in a paired buffer,
 * what its word lacks; else NULL. */
typedef struct buffer_element {
    uint32_t *word, *rest;
    double *real;
} buffer_element;

/* The instruction reads or writes two words; atomics and ACCUM know one. */
static bool is_pair(const ir_func *f, uint32_t at, ir_type type)
{
    ir_inst i = f->inst.data[at];
    return type == IR_F32 && f->module->doubles && f->module->buffers.data[i.b].paired &&
           (i.op == IR_LOAD || i.op == IR_DLOAD || i.op == IR_STORE);
}

/* The element of a buffer that instruction `at` reads or writes. */
static bl_result find_element(machine *m, const ir_func *f, uint32_t at, uint32_t index, ir_type type,
                              buffer_element *out)
{
    uint32_t buffer = f->inst.data[at].b;
    *out = (buffer_element){0};
    if (buffer >= m->env->buffer_count)
        return fail(m, f, at, "only %u buffers were given", m->env->buffer_count);
    ir_eval_buffer *b = &m->env->buffers[buffer];
    if (index >= b->count || (b->words && is_pair(f, at, type) && index >= b->count / 2))
        return fail(m, f, at, "index %u out of range, buffer \"%s\" has %llu words", index,
                    f->module->buffers.data[buffer].name, (unsigned long long)b->count);
    if (type == IR_F32 && b->reals)
        out->real = b->reals + index;
    else if (b->words)
        out->word = b->words + index, out->rest = is_pair(f, at, type) ? out->word + b->count / 2 : NULL;
    else
        return fail(m, f, at, "buffer \"%s\" holds reals only", f->module->buffers.data[buffer].name);
    return BL_OK;
}

static ir_value read_element(const machine *m, ir_type type, buffer_element e)
{
    ir_value v = {0};
    if (e.rest)
        return (ir_value){.f = bits_real(*e.word) + bits_real(*e.rest)};
    if (!e.real)
        return from_word(type, *e.word);
    v.f = m->env->f64 ? *e.real : (double)(float)*e.real;
    return v;
}

static void write_element(ir_type type, buffer_element e, ir_value v)
{
    if (e.real)
        *e.real = v.f;
    else
        *e.word = type == IR_F32 ? real_bits(v.f) : type == IR_BOOL ? v.b : v.u;
    if (e.rest) /* 0 where the difference is no number: of an infinity */
        *e.rest = isfinite(v.f - bits_real(*e.word)) ? real_bits(v.f - bits_real(*e.word)) : 0;
}

/* gradient[a] += c; a buffer of reals accumulates in double precision in f32 runs, too. */
static bl_result accumulate(machine *m, plan *p, uint32_t at, uint32_t index)
{
    buffer_element e;
    double value = p->values[p->f->inst.data[at].c].f;
    if (index == ~0u)
        return BL_OK;
    TRY(find_element(m, p->f, at, index, IR_F32, &e));
    if (e.real)
        *e.real += value;
    else
        *e.word = real_bits(m->env->f64 ? bits_real(*e.word) + value
                                        : (double)((float)bits_real(*e.word) + (float)value));
    return BL_OK;
}

/* Words are added as floats in f64 runs, too, as devices do. */
static ir_value add(const machine *m, ir_type type, buffer_element e, ir_value a, ir_value b)
{
    return ir_eval_op(IR_ADD, type, m->env->f64 && e.real, a, b, b);
}

static bl_result step_memory(machine *m, plan *p, uint32_t at)
{
    const ir_func *f = p->f;
    ir_inst i = f->inst.data[at];
    ir_value *v = p->values;
    uint32_t index = v[i.a].u;
    buffer_element e;
    if (i.op == IR_ACCUM)
        return accumulate(m, p, at, index);
    ir_type type = (ir_type)(i.op == IR_STORE ? f->inst.data[i.c].type : i.type);
    TRY(find_element(m, f, at, index, type, &e));
    ir_value old = i.op == IR_STORE ? (ir_value){0} : read_element(m, type, e);
    switch (i.op) {
    case IR_STORE:
        write_element(type, e, v[i.c]);
        break;
    case IR_ATOMIC_ADD:
        write_element(type, e, add(m, type, e, old, v[i.c]));
        break;
    case IR_ATOMIC_CAS:
        if (old.u == v[f->pool.data[i.c]].u)
            write_element(type, e, v[f->pool.data[i.c + 1]]);
        break;
    default:
        break; /* LOAD, DLOAD */
    }
    v[at] = old;
    return BL_OK;
}

static bl_result step_local(machine *m, plan *p, uint32_t at)
{
    ir_inst i = p->f->inst.data[at];
    uint32_t index = p->values[i.b].u, count = p->f->inst.data[i.a].a;
    if (index >= count)
        return fail(m, p->f, at, "index %u out of range, the array has %u elements", index, count);
    ir_value *element = p->extra + p->link[i.a] + index;
    if (i.op == IR_LLOAD)
        p->values[at] = *element;
    else
        *element = p->values[i.c];
    return BL_OK;
}

static void locals_reset(plan *p)
{
    for (uint32_t k = 0; k < p->locals.count; k++) {
        ir_inst local = p->f->inst.data[p->locals.data[k]];
        ir_value v = from_word((ir_type)local.type, local.type == IR_BOOL ? 0 : UNWRITTEN);
        if (local.type == IR_F32)
            v.f = (double)NAN;
        for (uint32_t e = 0; e < local.a; e++)
            p->extra[p->link[p->locals.data[k]] + e] = v;
    }
}

/* ---- control ---- */

static bl_result run(machine *m, plan *p);

static bl_result step_call(machine *m, plan *p, uint32_t at)
{
    const ir_func *f = p->f;
    ir_operands o = ir_call_operands(f, f->inst.data[at]);
    uint32_t selector = p->values[f->inst.data[at].a].u;
    plan *callee;
    if (selector >= o.target_count)
        return fail(m, f, at, "selector %u, there are %u targets", selector, o.target_count);
    TRY(plan_get(m, f->module->functions.data[o.targets[selector]], &callee));
    if (callee->running)
        return fail(m, f, at, "recursion");
    for (uint32_t k = 0; k < callee->params.count; k++) {
        uint32_t param = callee->params.data[k];
        callee->values[param] = p->values[o.args[callee->f->inst.data[param].a]];
    }
    TRY(run(m, callee));
    for (uint32_t k = 0; k < callee->f->results.count; k++)
        p->extra[p->link[at] + k] = callee->values[callee->f->results.data[k].id];
    return BL_OK;
}

/* Gives the STATEs of a loop their initial or their next values, all at once. */
static void step_states(plan *p, uint32_t loop, bool next)
{
    const ir_inst *inst = p->f->inst.data + loop + 1;
    ir_value *v = p->values;
    uint32_t count = p->link[loop] ? p->link[loop] - loop : 0;
    for (uint32_t k = 0; k < count; k++)
        p->scratch[k] = v[next ? inst[k].b : inst[k].a];
    for (uint32_t k = 0; k < count; k++)
        v[loop + 1 + k] = p->scratch[k];
}

/* Returns where to go on after control op `at` (its successor is one later). */
static uint32_t step_control(plan *p, uint32_t at)
{
    ir_inst i = p->f->inst.data[at];
    ir_value *v = p->values;
    switch (i.op) {
    case IR_IF:
        v[at].b = v[i.a].b;
        return v[i.a].b ? at : p->link[at];
    case IR_ELSE:
        return p->link[at];
    case IR_PHI:
        v[at] = v[i.c].b ? v[i.a] : v[i.b];
        return at;
    case IR_LOOP:
        step_states(p, at, false);
        return p->link[at] ? p->link[at] : at;
    case IR_WHILE:
        return v[i.a].b ? at : p->link[at];
    case IR_ENDLOOP:
        step_states(p, i.a, true);
        return p->link[at];
    case IR_RESULT:
        v[at] = p->extra[p->link[i.a] + i.b];
        return at;
    default:
        return at; /* ENDIF, STATE, LOCAL, floating values, NOP */
    }
}

static bl_result step_effect(machine *m, plan *p, uint32_t at)
{
    switch (p->f->inst.data[at].op) {
    case IR_CALL:
        return step_call(m, p, at);
    case IR_RAY_CLOSEST:
    case IR_RAY_ANY:
        return fail(m, p->f, at, "rays have to be lowered before");
    case IR_LLOAD:
    case IR_LSTORE:
        return step_local(m, p, at);
    case IR_FLUSH:
        return BL_OK; /* ACCUM has reached memory already */
    default:
        return step_memory(m, p, at);
    }
}

static bl_result run(machine *m, plan *p)
{
    const ir_inst *inst = p->f->inst.data;
    ir_value *v = p->values;
    bool f64 = m->env->f64;
    p->running = true;
    locals_reset(p);
    for (uint32_t at = 1; at < p->f->inst.count; at++) {
        ir_inst i = inst[at];
        if (++m->steps > m->limit)
            return fail(m, p->f, at, "step limit of %llu instructions reached", (unsigned long long)m->limit);
        const ir_op_info *info = &ir_op_table[i.op];
        if (info->arity)
            v[at] = ir_eval_op((ir_op)i.op, (ir_type)inst[i.op == IR_SELECT ? i.b : i.a].type, f64, v[i.a],
                               v[i.b], v[i.c]);
        else if (info->effect == IR_EFFECT_READ || info->effect == IR_EFFECT_WRITE)
            TRY(step_effect(m, p, at));
        else
            at = step_control(p, at);
    }
    p->running = false;
    return BL_OK;
}

static bl_result run_top(machine *m, const ir_func *f, const ir_value *args, ir_value *results)
{
    plan *p;
    TRY(plan_get(m, f, &p));
    for (uint32_t k = 0; k < p->params.count; k++) {
        uint32_t id = p->params.data[k];
        p->values[id] = args[f->inst.data[id].a];
        if (f->inst.data[id].type == IR_F32 && !m->env->f64)
            p->values[id].f = (double)(float)p->values[id].f;
    }
    TRY(run(m, p));
    for (uint32_t k = 0; k < f->results.count; k++)
        results[k] = p->values[f->results.data[k].id];
    return BL_OK;
}

bl_result ir_eval(const ir_func *f, const ir_value *args, ir_value *results, ir_eval_env *env, bl_error *err)
{
    machine m = {.env = env, .err = err, .limit = env->step_limit ? env->step_limit : (uint64_t)1 << 40};
    uint32_t count = f->module->functions.count;
    m.plans = allocate(count, sizeof *m.plans);
    bl_result result = run_top(&m, f, args, results);
    for (uint32_t k = 0; k < count; k++)
        plan_free(m.plans[k]);
    memory_free(m.plans);
    return result;
}
