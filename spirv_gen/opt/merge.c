/* SPDX-License-Identifier: BSD-3-Clause
 * Functions with equal bodies become one. Two bodies are equal if their instructions are, name by name:
 * re-emission numbers them in the order of their code, so what an earlier pass has rebuilt is in normal form.
 * Targets of calls count by what they have merged with, so callees are compared before their callers.
 *
 * The targets of a call keep their places, and its selector its meaning: code generation gives equal targets
 * one block, and a call whose targets are all equal is one for inline_single.c. */
#include "spirv_gen/opt/pass.h"

#include <stdlib.h>
#include <string.h>

typedef struct merger {
    const ir_module *m;
    uint32_t *same; /* per function: the first one with its body */
    uint32_t *hash;
    uint32_t *done; /* functions with a body of their own, so far */
    uint8_t *visited;
    uint32_t done_count;
} merger;

static bool has_pool(ir_inst i)
{
    return ir_op_table[i.op].kind[1] == IR_KIND_POOL || ir_op_table[i.op].kind[2] == IR_KIND_POOL;
}

static bool is_call(ir_inst i) { return i.op == IR_CALL || i.op == IR_RAY_CLOSEST || i.op == IR_RAY_ANY; }

static uint32_t hash_body(const ir_func *f)
{
    uint32_t h = f->params.count * 31 + f->results.count;
    for (uint32_t id = 1; id < f->inst.count; id++) {
        ir_inst i = f->inst.data[id];
        h = (h ^ i.op ^ (uint32_t)i.type << 8 ^ i.a) * 0x9E3779B1u;
        h = (h ^ h >> 15) + (has_pool(i) ? 0 : i.b * 31 + i.c);
    }
    return h;
}

static bool same_calls(const merger *g, const ir_func *x, ir_inst a, const ir_func *y, ir_inst b)
{
    ir_operands p = ir_call_operands(x, a), q = ir_call_operands(y, b);
    if (a.a != b.a || p.target_count != q.target_count || p.arg_count != q.arg_count)
        return false;
    for (uint32_t k = 0; k < p.target_count; k++)
        if (g->same[p.targets[k]] != g->same[q.targets[k]])
            return false;
    return memcmp(p.args, q.args, p.arg_count * sizeof *p.args) == 0;
}

static bool same_inst(const merger *g, const ir_func *x, const ir_func *y, uint32_t id)
{
    ir_inst a = x->inst.data[id], b = y->inst.data[id];
    if (a.op != b.op || a.type != b.type || a.flags != b.flags)
        return false;
    if (is_call(a))
        return same_calls(g, x, a, y, b);
    if (has_pool(a))
        return a.a == b.a && a.b == b.b &&
               memcmp(x->pool.data + a.c, y->pool.data + b.c, 2 * sizeof *x->pool.data) == 0;
    return a.a == b.a && a.b == b.b && a.c == b.c;
}

static bool same_body(const merger *g, const ir_func *x, const ir_func *y)
{
    if (x->inst.count != y->inst.count || x->params.count != y->params.count ||
        x->results.count != y->results.count)
        return false;
    for (uint32_t k = 0; k < x->params.count; k++)
        if (x->params.data[k] != y->params.data[k])
            return false;
    for (uint32_t k = 0; k < x->results.count; k++)
        if (!ir_same(x->results.data[k], y->results.data[k]))
            return false;
    for (uint32_t id = 1; id < x->inst.count; id++)
        if (!same_inst(g, x, y, id))
            return false;
    return true;
}

static void visit(merger *g, uint32_t index)
{
    const ir_func *f = g->m->functions.data[index];
    if (g->visited[index])
        return;
    g->visited[index] = 1;
    for (uint32_t id = 1; id < f->inst.count; id++) {
        ir_operands o = is_call(f->inst.data[id]) ? ir_call_operands(f, f->inst.data[id]) : (ir_operands){0};
        for (uint32_t k = 0; k < o.target_count; k++)
            visit(g, o.targets[k]);
    }
    g->same[index] = index;
    g->hash[index] = hash_body(f);
    for (uint32_t k = 0; k < g->done_count && g->same[index] == index; k++)
        if (g->hash[g->done[k]] == g->hash[index] && same_body(g, g->m->functions.data[g->done[k]], f))
            g->same[index] = g->done[k];
    if (g->same[index] == index)
        g->done[g->done_count++] = index;
}

ir_module *opt_merge(const ir_module *m)
{
    uint32_t count = m->functions.count;
    merger g = {
        .m = m,
        .same = memory_need_zeroed(count + 1, sizeof *g.same),
        .hash = memory_need_zeroed(count + 1, sizeof *g.hash),
        .done = memory_need_zeroed(count + 1, sizeof *g.done),
        .visited = memory_need_zeroed(count + 1, 1),
    };
    for (uint32_t k = 0; k < count; k++)
        visit(&g, k);
    opt_pass pass = {.from = m, .same = g.same};
    ir_module *result = g.done_count < count ? opt_rebuild(&pass) : NULL;
    memory_free(g.same), memory_free(g.hash), memory_free(g.done), memory_free(g.visited);
    return result;
}
