/* SPDX-License-Identifier: BSD-3-Clause
 * The passes in order. Each one goes through `step`, which names it, dumps on request, verifies in builds
 * with tests (BL_VERIFY_PASSES) and frees what the pass has read. A pass with nothing to change costs a look
 * at the module, not its rebuild.
 *
 * Order: dead code first, because differentiation emits primal copies that nobody reads and every later pass
 * would expand them. Results that are known leave their calls, then known arguments enter them, which leaves
 * both without use; bodies are compared when they have nothing left that nobody reads. Calls are inlined when
 * merging has left them one target, and before rays and gradients are lowered, so that their operands are as
 * constant as they get. What targets have in common leaves them when loads are plain and traversals are
 * there, which call intersections by kind; values leave loops when all loops are there. Steering functions
 * are expanded last, so that equal calls of them have been merged before; a final sweep drops what became
 * unused. */
#include "spirv_gen/opt/pass.h"

typedef struct pipeline {
    const ir_module *source; /* the caller's: never freed */
    const ir_module *now;
    const opt_options *options;
    bl_error *err;
} pipeline;

static void drop(pipeline *p)
{
    if (p->now != p->source)
        ir_module_destroy((ir_module *)(uintptr_t)p->now); /* ours: made by a pass */
    p->now = NULL;
}

/* What a pass takes: its copy of the module, and some words about each instruction. */
enum { BYTES_PER_INSTRUCTION = 192 };

static bl_result check_memory(const ir_module *m, bl_error *err)
{
    size_t count = 0;
    for (uint32_t k = 0; k < m->functions.count; k++)
        count += m->functions.data[k]->inst.count;
    return memory_check(count * BYTES_PER_INSTRUCTION, err);
}

/* Goes on with what a pass has made, where it has changed anything. */
static bl_result step(pipeline *p, const char *name, ir_module *next)
{
    if (!next)
        return BL_OK;
    drop(p);
    p->now = next;
    TRY(check_memory(next, p->err));
    if (next->error.code != BL_OK)
        return error_set(p->err, next->error.code, "pass %s: %s", name, next->error.text);
#ifdef BL_VERIFY_PASSES
    bl_error why = {0};
    if (ir_verify(next, &why) != BL_OK)
        return error_set(p->err, BL_ERROR_COMPILE, "after pass %s: %s", name, why.text);
#endif
    if (p->options->dump)
        p->options->dump(p->options->user, name, next);
    return BL_OK;
}

const char *const opt_switch_names[OPT_SWITCH_COUNT] = {
    "dead",        "call_results", "call_arguments", "call_unused",     "merge",       "inline_single",
    "loop_states", "loads",        "call_common",    "loop_invariants", "call_accums", "vector_loads"};

static bl_result simplify(pipeline *p, opt_switch which, ir_module *(*pass)(const ir_module *m))
{
    uint32_t bit = 0;
    while (which >> bit != 1)
        bit++;
    return p->options->off & which ? BL_OK : step(p, opt_switch_names[bit], pass(p->now));
}

static ir_module *inline_calls(const ir_module *m)
{
    return opt_holds(m, IR_CALL) ? opt_inline_single(m) : NULL;
}

static const struct {
    opt_switch which;
    ir_module *(*run)(const ir_module *m);
} simplifications[] = {
    {OPT_DEAD, opt_dead},
    {OPT_CALL_RESULTS, opt_call_results},
    {OPT_CALL_ARGUMENTS, opt_call_arguments},
    {OPT_CALL_UNUSED, opt_call_unused},
    {OPT_MERGE, opt_merge},
    {OPT_INLINE_SINGLE, inline_calls},
    {OPT_LOOP_STATES, opt_loop_states},
    {OPT_LOADS, opt_loads},
};

static bl_result run_simplifications(pipeline *p)
{
    for (uint32_t k = 0; k < sizeof simplifications / sizeof *simplifications; k++)
        TRY(simplify(p, simplifications[k].which, simplifications[k].run));
    return BL_OK;
}

static bl_result run(pipeline *p)
{
    const opt_options *o = p->options;
    TRY(run_simplifications(p));
    if (!o->ray_queries && (opt_holds(p->now, IR_RAY_CLOSEST) || opt_holds(p->now, IR_RAY_ANY)))
        TRY(step(p, "rays", opt_rays(p->now, o)));
    TRY(simplify(p, OPT_CALL_COMMON, opt_call_common));
    if (!(o->off & OPT_CALL_ACCUMS))
        TRY(step(p, "call_accums", opt_call_accums(p->now, o)));
    if (o->sites)
        TRY(step(p, "bounds", opt_bounds(p->now, o)));
    if (opt_holds(p->now, IR_ACCUM) || opt_holds(p->now, IR_FLUSH))
        TRY(step(p, "accumulate", opt_accumulate_lower(p->now, o)));
    TRY(simplify(p, OPT_LOOP_INVARIANTS, opt_loop_invariants));
    TRY(step(p, "math", opt_math(p->now)));
    TRY(simplify(p, OPT_DEAD, o->off & OPT_CALL_UNUSED ? opt_dead : opt_call_unused));
    if (!o->live_most)
        return BL_OK;
    TRY(step(p, "order", opt_order(p->now)));
    TRY(step(p, "recompute", opt_recompute(p->now, o)));
    return o->parking_count ? step(p, "park", opt_park(p->now, o)) : BL_OK;
}

static bl_result run_on(const ir_module *m, const opt_options *options, bl_result (*steps)(pipeline *p),
                        ir_module **out, bl_error *err)
{
    *out = NULL;
    if (m->error.code != BL_OK)
        return error_set(err, m->error.code, "%s", m->error.text);
    pipeline p = {.source = m, .now = m, .options = options, .err = err};
    bl_result result = check_memory(m, err);
    if (result == BL_OK)
        result = steps(&p);
    if (result == BL_OK)
        *out = (ir_module *)(uintptr_t)p.now;
    else
        drop(&p);
    return result;
}

bl_result opt_run(const ir_module *m, const opt_options *options, ir_module **out, bl_error *err)
{
    return run_on(m, options, run, out, err);
}

bl_result opt_simplify(const ir_module *m, const opt_options *options, ir_module **out, bl_error *err)
{
    TRY(run_on(m, options, run_simplifications, out, err));
    opt_pass copy = {.from = m};
    if (*out == m) /* nothing was to change */
        *out = opt_rebuild(&copy);
    return BL_OK;
}
