/* SPDX-License-Identifier: BSD-3-Clause
 * Checks everything that the head of ir.h promises about a module, from nothing but its instructions, so that
 * it can judge what came from text or from a pass.
 *
 * One walk per function keeps the stack of open regions and the bytes `open` (by region instruction): an
 * operand is visible where it floats, or was defined before and the region that holds it is open. Then
 * operand types by rule. Then what needs neighbours: STATEs right after their LOOP, RESULTs right after their
 * call, PHIs right after their ENDIF (with only floating values between), one WHILE per loop. A depth-first
 * search over calls finds recursion, which SPIR-V does not have. The checks of an instruction never look at a
 * later one before that has been checked, except at ENDLOOP (next values). */
#include "spirv_gen/ir/internal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

typedef struct region {
    uint32_t id;    /* IF, ELSE, LOOP */
    uint32_t start; /* ELSE: its IF */
    bool tested;    /* LOOP: has had its WHILE */
} region;

typedef struct verifier {
    const ir_module *m;
    const ir_func *f;
    ARRAY(region) regions;
    uint8_t *open;     /* by instruction */
    uint32_t *else_of; /* by IF */
    uint32_t at;       /* the instruction being checked */
    uint32_t endif_of; /* the IF whose ENDIF has only PHIs and floating values behind it so far, or 0 */
    bl_error *err;
    bool failed;
} verifier;

static bool fail(verifier *v, const char *format, ...) BL_PRINTF(2, 3);
static bool fail(verifier *v, const char *format, ...)
{
    if (v->failed)
        return false;
    v->failed = true;
    char detail[512];
    va_list args;
    va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    text t = {0};
    if (v->f && v->at && v->at < v->f->inst.count)
        ir_print_inst(v->f, v->at, &t);
    else if (v->f && v->at)
        text_add(&t, "return");
    error_set(v->err, BL_ERROR_COMPILE, "verify: function \"%.200s\", instruction %u `%.200s`: %s",
              v->f ? v->f->name : "", v->at, t.data ? t.data : "", detail);
    text_free(&t);
    return false;
}

/* ---- operands ---- */

static const ir_inst *inst(const verifier *v, uint32_t id) { return &v->f->inst.data[id]; }

static bool floats(const verifier *v, uint32_t id)
{
    return ir_op_table[inst(v, id)->op].effect == IR_EFFECT_FLOAT;
}

static bool visible(const verifier *v, uint32_t id)
{
    return floats(v, id) || (id < v->at && v->open[v->f->scope.data[id]]);
}

static bool is_value(ir_inst i) { return i.type != IR_VOID && i.op != IR_LOCAL; }

/* The reference exists and is a value; says nothing about visibility. */
static bool exists(verifier *v, uint32_t id)
{
    if (id == 0 || id >= v->f->inst.count)
        return fail(v, "operand %%%u does not exist", id);
    ir_inst i = *inst(v, id);
    if (i.op >= IR_OP_COUNT || i.type >= IR_TYPE_COUNT || !is_value(i))
        return fail(v, "operand %%%u is not a value", id);
    return true;
}

static bool usable(verifier *v, uint32_t id)
{
    return exists(v, id) && (visible(v, id) || fail(v, "operand %%%u is not visible here", id));
}

static bool typed(verifier *v, uint32_t id, ir_type type)
{
    if (!usable(v, id))
        return false;
    ir_type is = (ir_type)inst(v, id)->type;
    return is == type ||
           fail(v, "operand %%%u is %s, expected %s", id, ir_type_names[is], ir_type_names[type]);
}

static bool result_is(verifier *v, ir_type type)
{
    ir_type is = (ir_type)inst(v, v->at)->type;
    return is == type || fail(v, "result type is %s, expected %s", ir_type_names[is], ir_type_names[type]);
}

static bool is_word(uint8_t type) { return type == IR_I32 || type == IR_U32 || type == IR_F32; }

static bool check_value_op(verifier *v, ir_inst i)
{
    const ir_op_info *info = &ir_op_table[i.op];
    const uint32_t operand[3] = {i.a, i.b, i.c};
    ir_type type[3] = {IR_VOID, IR_VOID, IR_VOID};
    for (unsigned k = 0; k < info->arity; k++) {
        if (!usable(v, operand[k]))
            return false;
        type[k] = (ir_type)inst(v, operand[k])->type;
    }
    ir_type result = ir_rule_result((ir_rule)info->rule, type[0], type[1], type[2], info->arity);
    if (result == IR_VOID)
        return fail(v, "wrong operand types");
    return result_is(v, result);
}

/* ---- regions ---- */

static region *innermost(verifier *v)
{
    return v->regions.count ? &v->regions.data[v->regions.count - 1] : NULL;
}

static void region_open(verifier *v, uint32_t id, uint32_t start)
{
    array_push(&v->regions, ((region){.id = id, .start = start}));
    v->open[id] = 1;
}

static void region_close(verifier *v)
{
    v->open[innermost(v)->id] = 0;
    v->regions.count--;
}

static bool check_if(verifier *v, ir_inst i)
{
    if (!typed(v, i.a, IR_BOOL))
        return false;
    region_open(v, v->at, 0);
    return true;
}

static bool check_else(verifier *v, ir_inst i)
{
    region *r = innermost(v);
    if (!r || r->id != i.a || inst(v, r->id)->op != IR_IF)
        return fail(v, "the innermost open region is not this if");
    region_close(v);
    region_open(v, v->at, i.a);
    v->else_of[i.a] = v->at;
    return true;
}

static bool check_endif(verifier *v, ir_inst i)
{
    region *r = innermost(v);
    if (!r || r->start != i.a || inst(v, r->id)->op != IR_ELSE)
        return fail(v, "the innermost open region is not the else of this if");
    region_close(v);
    return true;
}

/* A value at the end of a branch that has been closed: defined directly in it, or outside before the IF. */
static bool branch_value(verifier *v, uint32_t id, uint32_t branch, uint32_t if_id)
{
    if (!exists(v, id) || !result_is(v, (ir_type)inst(v, id)->type))
        return false;
    bool inside = id > branch && id < v->at && v->f->scope.data[id] == branch;
    bool outside = floats(v, id) || (id < if_id && visible(v, id));
    return inside || outside || fail(v, "operand %%%u does not belong to its branch", id);
}

static bool check_phi(verifier *v, ir_inst i)
{
    if (!v->endif_of || v->endif_of != i.c)
        return fail(v, "does not follow the endif of %%%u", i.c);
    return branch_value(v, i.a, i.c, i.c) && branch_value(v, i.b, v->else_of[i.c], i.c);
}

static bool check_loop(verifier *v)
{
    region_open(v, v->at, 0);
    return true;
}

static bool check_state(verifier *v, ir_inst i)
{
    ir_inst before = *inst(v, v->at - 1);
    region *r = innermost(v);
    bool first = before.op == IR_LOOP && v->at - 1 == i.c;
    if (!r || r->id != i.c || !(first || (before.op == IR_STATE && before.c == i.c)))
        return fail(v, "does not follow its loop");
    if (!exists(v, i.a) || !result_is(v, (ir_type)inst(v, i.a)->type))
        return false;
    return floats(v, i.a) || (i.a < i.c && visible(v, i.a)) ||
           fail(v, "operand %%%u is not visible before the loop", i.a);
}

static bool check_while(verifier *v, ir_inst i)
{
    region *r = innermost(v);
    if (!r || r->id != i.b || inst(v, r->id)->op != IR_LOOP)
        return fail(v, "the innermost open region is not this loop");
    if (r->tested)
        return fail(v, "the loop has a while already");
    r->tested = true;
    return typed(v, i.a, IR_BOOL);
}

static bool check_endloop(verifier *v, ir_inst i)
{
    region *r = innermost(v);
    if (!r || r->id != i.a || inst(v, r->id)->op != IR_LOOP)
        return fail(v, "the innermost open region is not this loop");
    if (!r->tested)
        return fail(v, "the loop has no while");
    for (uint32_t s = i.a + 1; inst(v, s)->op == IR_STATE && inst(v, s)->c == i.a; s++)
        if (!typed(v, inst(v, s)->b, (ir_type)inst(v, s)->type))
            return false;
    region_close(v);
    return true;
}

/* ---- calls ---- */

static bool same_signature(const ir_func *x, const ir_func *y)
{
    if (x->params.count != y->params.count || x->results.count != y->results.count)
        return false;
    for (uint32_t k = 0; k < x->params.count; k++)
        if (x->params.data[k] != y->params.data[k])
            return false;
    for (uint32_t k = 0; k < x->results.count; k++)
        if (ir_type_of(x, x->results.data[k]) != ir_type_of(y, y->results.data[k]))
            return false;
    return true;
}

static bool intersects(const ir_func *t)
{
    bool fits = t->params.count == 9 && t->results.count == 3 && t->params.data[0] == IR_U32;
    for (uint32_t k = 1; fits && k < 9; k++)
        fits = t->params.data[k] == IR_F32;
    for (uint32_t k = 0; fits && k < 3; k++)
        fits = ir_type_of(t, t->results.data[k]) == IR_F32;
    return fits;
}

static bool check_call(verifier *v, ir_inst i)
{
    ir_operands o;
    if (!ir_checked_operands(v->f, i, &o))
        return fail(v, "operand list outside the pool");
    if (i.op == IR_CALL && !typed(v, i.a, IR_U32))
        return false;
    if (o.target_count == 0)
        return fail(v, "no targets");
    for (uint32_t k = 0; k < o.target_count; k++) {
        if (o.targets[k] >= v->m->functions.count)
            return fail(v, "function $%u does not exist", o.targets[k]);
        if (!same_signature(v->m->functions.data[o.targets[0]], v->m->functions.data[o.targets[k]]))
            return fail(v, "targets $%u and $%u differ in signature", o.targets[0], o.targets[k]);
    }
    const ir_func *target = v->m->functions.data[o.targets[0]];
    if (i.op != IR_CALL && !intersects(target))
        return fail(v, "$%u has not the signature of an intersection function", o.targets[0]);
    uint32_t skip = i.op == IR_CALL ? 0 : 1,
             expected = target->params.count - skip;                   /* a ray does not pass `data` */
    bool next = i.op == IR_RAY_CLOSEST && o.arg_count == expected + 1; /* ir_ray_next */
    if (o.arg_count != expected && !next)
        return fail(v, "%u arguments, expected %u", o.arg_count, expected);
    for (uint32_t k = 0; k < o.arg_count; k++)
        if (!typed(v, o.args[k], k < expected ? (ir_type)target->params.data[k + skip] : IR_U32))
            return false;
    return result_is(v, IR_VOID);
}

static bool check_result(verifier *v, ir_inst i)
{
    ir_inst before = *inst(v, v->at - 1);
    if (!(ir_is_call(before.op) && i.a == v->at - 1) && !(before.op == IR_RESULT && before.a == i.a))
        return fail(v, "does not follow its call");
    ir_inst call = *inst(v, i.a);
    if (i.b >= ir_result_count(v->f, call))
        return fail(v, "the call has %u results", ir_result_count(v->f, call));
    return result_is(v, ir_result_type(v->f, call, i.b));
}

/* ---- memory ---- */

static bool check_buffer(verifier *v, ir_inst i)
{
    if (i.b >= v->m->buffers.count)
        return fail(v, "buffer @%u does not exist", i.b);
    if (ir_op_table[i.op].effect == IR_EFFECT_WRITE && v->m->buffers.data[i.b].constant)
        return fail(v, "buffer @%u is constant", i.b);
    return typed(v, i.a, i.op == IR_FLUSH ? IR_BOOL : IR_U32);
}

static bool check_cas(verifier *v, ir_inst i)
{
    if ((uint64_t)i.c + 2 > v->f->pool.count)
        return fail(v, "operand list outside the pool");
    return typed(v, v->f->pool.data[i.c], IR_U32) && typed(v, v->f->pool.data[i.c + 1], IR_U32) &&
           result_is(v, IR_U32);
}

static bool check_memory(verifier *v, ir_inst i)
{
    if (!check_buffer(v, i))
        return false;
    switch (i.op) {
    case IR_LOAD:
        return is_word(i.type) || fail(v, "memory holds i32, u32 and f32");
    case IR_DLOAD:
        if (v->m->buffers.data[i.b].gradient < 0)
            return fail(v, "buffer @%u has no gradient partner", i.b);
        return typed(v, i.c, IR_U32) && result_is(v, IR_F32);
    case IR_STORE:
        return usable(v, i.c) && (is_word(inst(v, i.c)->type) || fail(v, "memory holds i32, u32 and f32")) &&
               result_is(v, IR_VOID);
    case IR_ACCUM:
        return typed(v, i.c, IR_F32) && result_is(v, IR_VOID);
    case IR_FLUSH:
        return result_is(v, IR_VOID);
    case IR_ATOMIC_CAS:
        return check_cas(v, i);
    default: /* ATOMIC_ADD */
        return usable(v, i.c) && result_is(v, (ir_type)inst(v, i.c)->type) &&
               (i.type == IR_U32 || i.type == IR_F32 || fail(v, "of u32 or f32 only"));
    }
}

static bool check_local(verifier *v, ir_inst i)
{
    if (i.a == 0 || i.a >= v->at || inst(v, i.a)->op != IR_LOCAL)
        return fail(v, "%%%u is not a local array", i.a);
    if (!visible(v, i.a))
        return fail(v, "operand %%%u is not visible here", i.a);
    ir_type element = (ir_type)inst(v, i.a)->type;
    if (!typed(v, i.b, IR_U32))
        return false;
    return i.op == IR_LLOAD ? result_is(v, element) : typed(v, i.c, element) && result_is(v, IR_VOID);
}

static bool check_floating(verifier *v, ir_inst i)
{
    switch (i.op) {
    case IR_CONST:
        if (i.type == IR_VOID || (i.type == IR_BOOL && i.a > 1))
            return fail(v, "not a constant");
        return true;
    case IR_PARAM:
        if (i.a >= v->f->params.count)
            return fail(v, "the function has %u parameters", v->f->params.count);
        return result_is(v, (ir_type)v->f->params.data[i.a]);
    case IR_UNIFORM:
        if (i.a >= v->m->uniform_count)
            return fail(v, "the module has %u uniform words", v->m->uniform_count);
        return is_word(i.type) || fail(v, "uniforms are i32, u32 and f32");
    default:
        return result_is(v, IR_U32); /* GLOBAL_ID */
    }
}

/* ---- functions ---- */

static bool check_inst(verifier *v, ir_inst i)
{
    if (ir_op_table[i.op].arity)
        return check_value_op(v, i);
    switch (i.op) {
    case IR_NOP:
        return result_is(v, IR_VOID);
    case IR_IF:
        return result_is(v, IR_VOID) && check_if(v, i);
    case IR_ELSE:
        return result_is(v, IR_VOID) && check_else(v, i);
    case IR_ENDIF:
        return result_is(v, IR_VOID) && check_endif(v, i);
    case IR_PHI:
        return check_phi(v, i);
    case IR_LOOP:
        return result_is(v, IR_VOID) && check_loop(v);
    case IR_STATE:
        return check_state(v, i);
    case IR_WHILE:
        return result_is(v, IR_VOID) && check_while(v, i);
    case IR_ENDLOOP:
        return result_is(v, IR_VOID) && check_endloop(v, i);
    case IR_CALL:
    case IR_RAY_CLOSEST:
    case IR_RAY_ANY:
        return check_call(v, i);
    case IR_RESULT:
        return check_result(v, i);
    case IR_LOCAL:
        return (i.type != IR_VOID && i.a > 0 && i.a <= IR_MAX_LOCAL) ||
               fail(v, "between 1 and %d elements", IR_MAX_LOCAL);
    case IR_LLOAD:
    case IR_LSTORE:
        return check_local(v, i);
    default:
        return ir_op_table[i.op].effect == IR_EFFECT_FLOAT ? check_floating(v, i) : check_memory(v, i);
    }
}

/* The region that must be in f->scope for the next instruction: its own parent for those that open or close
 * one. */
static uint32_t expected_scope(verifier *v, ir_inst i)
{
    uint32_t n = v->regions.count;
    bool outside = i.op == IR_ELSE || i.op == IR_ENDIF || i.op == IR_ENDLOOP || i.op == IR_STATE;
    n -= outside && n > 0;
    return n ? v->regions.data[n - 1].id : 0;
}

static bool check_func(verifier *v)
{
    const ir_func *f = v->f;
    if (!f->finished)
        return fail(v, "not finished");
    if (f->inst.count == 0 || f->inst.data[0].op != IR_NOP || f->scope.count != f->inst.count)
        return fail(v, "broken arrays");
    for (v->at = 1; v->at < f->inst.count; v->at++) {
        ir_inst i = f->inst.data[v->at];
        if (i.op >= IR_OP_COUNT || i.type >= IR_TYPE_COUNT)
            return fail(v, "unknown op %u or type %u", i.op, i.type);
        uint32_t scope = expected_scope(v, i);
        if (!check_inst(v, i))
            return false;
        if (i.op != IR_PHI && !floats(v, v->at))
            v->endif_of = i.op == IR_ENDIF ? i.a : 0;
        if (f->scope.data[v->at] != scope)
            return fail(v, "recorded in region %u, found in %u", f->scope.data[v->at], scope);
    }
    if (v->regions.count) {
        v->at = innermost(v)->id;
        return fail(v, "never closed");
    }
    for (uint32_t k = 0; k < f->results.count; k++)
        if (!usable(v, f->results.data[k].id))
            return false;
    return true;
}

/* Result references are looked at by callers, which may be checked earlier. */
static bool check_signature(verifier *v)
{
    const ir_func *f = v->f;
    for (uint32_t k = 0; k < f->params.count; k++)
        if (f->params.data[k] == IR_VOID || f->params.data[k] >= IR_TYPE_COUNT)
            return fail(v, "parameter %u has no type", k);
    for (uint32_t k = 0; k < f->results.count; k++)
        if (!exists(v, f->results.data[k].id))
            return false;
    return true;
}

/* ---- modules ---- */

/* Depth-first over calls; color: 0 new, 1 on the way down, 2 done. Depth is bounded by the number of
 * functions. */
static bool acyclic(verifier *v, uint32_t index, uint8_t *color)
{
    const ir_func *f = v->m->functions.data[index];
    color[index] = 1;
    for (uint32_t id = 1; id < f->inst.count; id++) {
        if (!ir_is_call(f->inst.data[id].op))
            continue;
        ir_operands o = ir_call_operands(f, f->inst.data[id]);
        for (uint32_t k = 0; k < o.target_count; k++) {
            uint32_t target = o.targets[k];
            if (color[target] == 1) {
                v->f = f;
                v->at = id;
                return fail(v, "recursion");
            }
            if (color[target] == 0 && !acyclic(v, target, color))
                return false;
        }
    }
    color[index] = 2;
    return true;
}

static bool check_functions(verifier *v)
{
    for (uint32_t k = 0; k < v->m->functions.count && !v->failed; k++) {
        v->f = v->m->functions.data[k];
        v->at = 0;
        if (v->f->module != v->m || v->f->index != k)
            return fail(v, "not at its index in its module");
        check_signature(v);
    }
    for (uint32_t k = 0; k < v->m->functions.count && !v->failed; k++) {
        v->f = v->m->functions.data[k];
        v->at = 0;
        v->regions.count = 0;
        v->endif_of = 0;
        v->open = memory_need_zeroed(v->f->inst.count + 1, sizeof *v->open);
        v->else_of = memory_need_zeroed(v->f->inst.count + 1, sizeof *v->else_of);
        v->open[0] = 1;
        check_func(v);
        memory_free(v->open);
        memory_free(v->else_of);
    }
    return !v->failed;
}

static bool check_module(verifier *v)
{
    const ir_module *m = v->m;
    for (uint32_t k = 0; k < m->buffers.count; k++) {
        int32_t gradient = m->buffers.data[k].gradient, tangent = m->buffers.data[k].tangent;
        if (gradient < -1 || (gradient >= 0 && (uint32_t)gradient >= m->buffers.count))
            return fail(v, "buffer @%u: gradient buffer @%d does not exist", k, gradient);
        if (tangent < -1 || (tangent >= 0 && (uint32_t)tangent >= m->buffers.count))
            return fail(v, "buffer @%u: tangent buffer @%d does not exist", k, tangent);
    }
    if (!check_functions(v))
        return false;
    uint8_t *color = memory_need_zeroed(m->functions.count + 1, 1);
    for (uint32_t k = 0; k < m->functions.count && !v->failed; k++)
        if (color[k] == 0)
            acyclic(v, k, color);
    memory_free(color);
    v->f = m->entry;
    v->at = 0;
    if (!v->failed && m->entry && (m->entry->params.count || m->entry->results.count))
        return fail(v, "the entry has parameters or results");
    return !v->failed;
}

bl_result ir_verify(const ir_module *m, bl_error *err)
{
    if (m->error.code != BL_OK)
        return error_set(err, m->error.code, "%s", m->error.text);
    bl_error local;
    verifier v = {.m = m, .err = err ? err : &local};
    bool ok = check_module(&v);
    array_free(&v.regions);
    return ok ? BL_OK : BL_ERROR_COMPILE;
}
