/* SPDX-License-Identifier: BSD-3-Clause
 * The frame of every pass: a new module with the same buffers, in which each needed function is emitted again
 * through the builder, so that folding and merging see the code once more. A pass is a hook on single
 * instructions (ir_copier) or a choice of what to keep. Callees are rebuilt before their callers, because a
 * CALL wants finished targets; recursion cannot occur for the same reason. */
#include "spirv_gen/opt/pass.h"

#include <stdlib.h>

static void rebuild_function(opt_pass *pass, const ir_func *from);

static void rebuild_targets(opt_pass *pass, const ir_func *from, const uint8_t *keep)
{
    for (uint32_t id = 1; id < from->inst.count; id++) {
        ir_inst inst = from->inst.data[id];
        if ((keep && !keep[id]) || (inst.op != IR_CALL && inst.op != IR_RAY_CLOSEST && inst.op != IR_RAY_ANY))
            continue;
        ir_operands o = ir_call_operands(from, inst);
        for (uint32_t k = 0; k < o.target_count; k++)
            rebuild_function(pass, pass->from->functions.data[o.targets[k]]);
    }
}

static bool stays(uint8_t *const *which, const ir_func *f, uint32_t k)
{
    return !which || which[f->index][k];
}

static void map_parameters(const opt_pass *pass, const ir_func *from, ir_func *to, ir_ref *map)
{
    ir_ref *params = memory_need_zeroed(from->params.count + 1, sizeof *params);
    for (uint32_t k = 0; k < from->params.count; k++)
        if (stays(pass->params, from, k))
            params[k] = ir_param(to, (ir_type)from->params.data[k]);
    for (uint32_t id = 1; id < from->inst.count; id++)
        if (from->inst.data[id].op == IR_PARAM)
            map[id] = params[from->inst.data[id].a];
    memory_free(params);
}

static void copy_body(opt_pass *pass, const ir_func *from, ir_func *to, const uint8_t *keep)
{
    ir_ref *map = memory_need_zeroed(from->inst.count, sizeof *map);
    ARRAY(ir_ref) results = {0};
    map_parameters(pass, from, to, map);
    ir_copier c = {
        .from = from,
        .to = to,
        .map = map,
        .functions = pass->functions,
        .live = keep,
        .hook = pass->hook,
        .keep_suspended = pass->keep_suspended,
        .user = pass,
    };
    if (pass->begin)
        pass->begin(&c);
    ir_copy_range(&c, 1, from->inst.count);
    for (uint32_t k = 0; k < from->results.count; k++)
        if (stays(pass->results, from, k))
            array_push(&results, ir_copied(&c, from->results.data[k].id));
    if (pass->end)
        pass->end(&c);
    for (uint32_t k = 0; k < pass->more_results.count; k++)
        array_push(&results, pass->more_results.data[k]);
    pass->more_results.count = 0;
    ir_return(to, results.data, results.count);
    array_free(&results);
    memory_free(map);
}

static void rebuild_function(opt_pass *pass, const ir_func *from)
{
    if (pass->functions[from->index] || pass->to->error.code != BL_OK)
        return;
    if (pass->same && pass->same[from->index] != from->index) {
        rebuild_function(pass, pass->from->functions.data[pass->same[from->index]]);
        pass->functions[from->index] = pass->functions[pass->same[from->index]];
        return;
    }
    BL_ASSERT(from->finished, "pass over the unfinished function \"%s\"", from->name);
    uint8_t *keep = pass->keep ? pass->keep(pass, from) : NULL;
    rebuild_targets(pass, from, keep);
    ir_func *to = ir_func_create(pass->to, from->name);
    ir_func_reserve(to, from->inst.count);
    pass->functions[from->index] = to;
    copy_body(pass, from, to, keep);
    memory_free(keep);
}

ir_module *opt_rebuild(opt_pass *pass)
{
    const ir_module *from = pass->from;
    ir_module *to = pass->to = ir_module_create();
    pass->functions = memory_need_zeroed(from->functions.count + 1, sizeof *pass->functions);
    to->doubles = from->doubles;
    to->no_fold = from->no_fold;
    to->no_merge = from->no_merge;
    to->uniform_count = from->uniform_count;
    for (uint32_t k = 0; k < from->buffers.count; k++) {
        const ir_buffer *b = &from->buffers.data[k];
        ir_buffer_add(to, b->name, b->constant, b->gradient);
        to->buffers.data[k].tangent = b->tangent;
        to->buffers.data[k].paired = b->paired;
        to->buffers.data[k].known = b->known, to->buffers.data[k].known_count = b->known_count;
    }
    for (uint32_t k = 0; k < from->functions.count; k++)
        if (!from->entry || from->entry == from->functions.data[k])
            rebuild_function(pass, from->functions.data[k]);
    to->entry = from->entry ? pass->functions[from->entry->index] : NULL;
    memory_free(pass->functions);
    array_free(&pass->more_results);
    pass->functions = NULL;
    return to;
}

bool opt_holds(const ir_module *m, ir_op op)
{
    for (uint32_t k = 0; k < m->functions.count; k++)
        for (uint32_t id = 1; id < m->functions.data[k]->inst.count; id++)
            if (m->functions.data[k]->inst.data[id].op == op)
                return true;
    return false;
}

bool opt_reads_constant(const ir_func *f, ir_inst inst)
{
    return inst.op == IR_LOAD && f->module->buffers.data[inst.b].constant;
}

void opt_emit_call(ir_copier *c, ir_inst call, const ir_ref *args, uint32_t arg_count, ir_ref *results)
{
    const opt_pass *pass = c->user;
    ir_operands o = ir_call_operands(c->from, call);
    ir_func **targets = memory_need((o.target_count + 1) * sizeof *targets);
    for (uint32_t k = 0; k < o.target_count; k++)
        targets[k] = pass->functions[o.targets[k]];
    ir_call(c->to, ir_copied(c, call.a), targets, o.target_count, args, arg_count, results);
    memory_free(targets);
}

void opt_replace_results(ir_copier *c, uint32_t id, const ir_ref *results)
{
    for (uint32_t k = id + 1; k < c->from->inst.count; k++) {
        ir_inst inst = c->from->inst.data[k];
        if (inst.op != IR_RESULT || inst.a != id)
            break;
        c->map[k] = results[inst.b];
    }
}
