/* SPDX-License-Identifier: BSD-3-Clause
 * Checked kernels: no access leaves its buffer or local array, and the first one that would is reported.
 *
 * A checked kernel has one more buffer behind its own n: words [0, n) are the sizes of the others in words,
 * then come the words of opt_report. An access whose index is out of range reads word 0 instead, or is left
 * out, and
 *     if (site == 0) site = number of this access + 1, place = index
 * in two variables of its function. At the function's end
 *     if (site != 0) if (compare_exchange(report.site, 0, site) == 0) report.index = place, report.invocation
 *     = ..
 * so that there is one branch a function: drivers took minutes over one an access. The number is a place in
 * opt_sites, which says in words what access it is.
 *
 * Runs when rays have become loads, so that traversal is checked, and before gradients become atomics, so
 * that what the program calls ACCUM is reported as such. (The words that accumulate.c itself touches follow
 * from the index that is checked here.) Gradients in fixed point have two words an element. Rays that a
 * device answers (spv/ray.c, x86/ray.c) are not in the trace, so what that reads is not checked. */
#include "spirv_gen/opt/pass.h"

#include <stdlib.h>

typedef struct bounds {
    opt_sites *sites;
    uint32_t buffer;    /* the report's */
    bool pairs;         /* gradients in fixed point */
    const ir_func *in;  /* what is being copied */
    ir_ref site, place; /* its two variables, local arrays of one element; none: it accesses nothing */
} bounds;

static bool is_local(ir_inst inst) { return inst.op == IR_LLOAD || inst.op == IR_LSTORE; }

static bool is_access(ir_inst inst)
{
    switch (inst.op) {
    case IR_LOAD:
    case IR_DLOAD:
    case IR_STORE:
    case IR_ATOMIC_ADD:
    case IR_ATOMIC_CAS:
    case IR_ACCUM:
    case IR_LLOAD:
    case IR_LSTORE:
        return true;
    default:
        return false;
    }
}

/* ---- what is reported ---- */

static uint32_t add_site(const bounds *b, const ir_copier *c, uint32_t id, ir_inst inst)
{
    const ir_func *f = c->from, *entry = f->module->entry;
    arena *memory = &b->sites->memory;
    text code = {0};
    ir_print_inst(f, id, &code);
    opt_site site = {
        .kernel = arena_strdup(memory, entry ? entry->name : f->name),
        .place = arena_printf(memory, "function \"%s\", instruction %u `%s`", f->name, id, code.data),
        .element_words = inst.op == IR_ACCUM && b->pairs ? 2 : 1,
    };
    if (is_local(inst))
        site.array_size = f->inst.data[inst.a].a;
    else
        site.buffer = inst.b, site.name = arena_strdup(memory, f->module->buffers.data[inst.b].name);
    text_free(&code);
    array_push(&b->sites->list, site);
    return b->sites->list.count - 1;
}

static ir_ref word(const ir_copier *c, const bounds *b, enum opt_report field)
{
    return ir_u32(c->to, b->buffer + field);
}

static void begin_function(bounds *b, ir_copier *c)
{
    ir_func *f = c->to;
    bool any = false;
    for (uint32_t id = 1; id < c->from->inst.count; id++)
        any |= is_access(c->from->inst.data[id]);
    b->in = c->from, b->site = b->place = (ir_ref){0};
    if (!any)
        return;
    b->site = ir_local(f, IR_U32, 1), b->place = ir_local(f, IR_U32, 1);
    ir_lstore(f, b->site, ir_u32(f, 0), ir_u32(f, 0));
    ir_lstore(f, b->place, ir_u32(f, 0), ir_u32(f, 0));
}

static void end_function(ir_copier *c)
{
    bounds *b = ((const opt_pass *)c->user)->user;
    ir_func *f = c->to;
    if (b->in != c->from || ir_is_none(b->site))
        return;
    ir_ref zero = ir_u32(f, 0), site = ir_lload(f, b->site, zero);
    ir_if(f, ir_ne(f, site, zero));
    ir_ref before = ir_atomic_cas(f, b->buffer, word(c, b, OPT_REPORT_SITE), zero, site);
    ir_if(f, ir_eq(f, before, zero));
    ir_store(f, b->buffer, word(c, b, OPT_REPORT_INDEX), ir_lload(f, b->place, zero));
    ir_store(f, b->buffer, word(c, b, OPT_REPORT_INVOCATION), ir_global_id(f));
    ir_else(f);
    ir_endif(f);
    ir_else(f);
    ir_endif(f);
}

/* ---- accesses ---- */

/* Elements that the access may choose from. */
static ir_ref limit(const ir_copier *c, const bounds *b, ir_inst inst)
{
    ir_func *f = c->to;
    if (is_local(inst))
        return ir_u32(f, c->from->inst.data[inst.a].a);
    ir_ref words = ir_load(f, IR_U32, b->buffer, ir_u32(f, inst.b));
    return inst.op == IR_ACCUM && b->pairs ? ir_shr(f, words, ir_u32(f, 1)) : words;
}

/* bool: the access may happen. */
static ir_ref check(ir_copier *c, const bounds *b, uint32_t id, ir_inst inst, ir_ref index)
{
    ir_func *f = c->to;
    ir_ref inside = ir_lt(f, index, limit(c, b, inst)), bad = ir_not(f, inside), zero = ir_u32(f, 0);
    if (inst.op == IR_ACCUM)
        bad = ir_and(f, bad, ir_ne(f, index, ir_u32(f, ~0u))); /* which adds nowhere */
    ir_ref site = ir_lload(f, b->site, zero), place = ir_lload(f, b->place, zero);
    ir_ref first = ir_and(f, bad, ir_eq(f, site, zero));
    ir_lstore(f, b->site, zero, ir_select(f, first, ir_u32(f, add_site(b, c, id, inst) + 1), site));
    ir_lstore(f, b->place, zero, ir_select(f, first, index, place));
    return inside;
}

static void write_if(ir_copier *c, uint32_t id, ir_ref inside)
{
    ir_ref branch = ir_if(c->to, inside);
    ir_copy_inst(c, id);
    ir_else(c->to);
    ir_endif(c->to);
    if (c->map[id].id)
        c->map[id] = ir_phi(c->to, branch, c->map[id], ir_const(c->to, ir_type_of(c->to, c->map[id]), 0));
}

static bool check_access(ir_copier *c, uint32_t id, ir_inst inst)
{
    bounds *b = ((const opt_pass *)c->user)->user;
    ir_func *f = c->to;
    if (b->in != c->from)
        begin_function(b, c);
    if (!is_access(inst))
        return false;
    ir_ref index = ir_copied(c, is_local(inst) ? inst.b : inst.a), inside = check(c, b, id, inst, index);
    if (inst.op == IR_LOAD || inst.op == IR_DLOAD)
        c->map[id] = ir_load(f, (ir_type)inst.type, inst.b, ir_select(f, inside, index, ir_u32(f, 0)));
    else if (inst.op == IR_LLOAD)
        c->map[id] = ir_lload(f, ir_copied(c, inst.a), ir_select(f, inside, index, ir_u32(f, 0)));
    else
        write_if(c, id, inside);
    return true;
}

ir_module *opt_bounds(const ir_module *m, const opt_options *o)
{
    bounds b = {
        .sites = o->sites, .buffer = m->buffers.count, .pairs = o->accumulate == OPT_ACCUMULATE_FIXED};
    opt_pass copy = {.from = m};
    ir_module *with = opt_rebuild(&copy);
    ir_buffer_add(with, "bounds", false, -1);
    opt_pass pass = {.from = with, .options = o, .hook = check_access, .end = end_function, .user = &b};
    ir_module *result = opt_rebuild(&pass);
    ir_module_destroy(with);
    return result;
}

void opt_sites_free(opt_sites *sites)
{
    array_free(&sites->list);
    arena_free(&sites->memory);
}
