/* SPDX-License-Identifier: BSD-3-Clause
 * Values are computed again instead of kept, where more live at once than a lane has registers for. In a
 * differentiated function nearly all values of its forward part wait for its reverse part, and many of them
 * are a few operations away from others that wait anyway. This is rematerialization (Briggs, Cooper, Torczon,
 * Rematerialization, PLDI 1992), on a trace.
 *
 * The place of the module where most values live is looked for: those of a function, and those that wait in
 * its callers. Of the values that wait there, one is chosen whose operands wait there, too, perhaps at the
 * end of a small tree of operations; it is computed again before its next use, and what reads it from there
 * on reads its clone. Cheapest trees come first, of equals the value that would wait longest. Where nothing
 * can be chosen, a value of the caller is looked for, around the call. This goes on until few enough live, or
 * nothing can be done about one place. Then the last clones, which have not lowered the most that live, are
 * forgotten: they would cost and not help.
 *
 * Compilers merge what is computed twice. So an operand of a clone is hidden: its bits are changed by an
 * exclusive or with 0, a 0 that only we know: uniforms are below 2^30, so their uppermost bits are. Divisions
 * are hidden in the same way where one by the same number stands far above: else the reciprocal, which the
 * driver or spv/rounded.c makes, would wait in between. Every value keeps its bits. Modules of doubles stay
 * as they are: bits of theirs are those of the nearest floats. */
#include "spirv_gen/opt/lifetimes.h"
#include "spirv_gen/opt/pass.h"

#include <stdlib.h>

enum {
    TREE_MOST = 8,   /* operations that a value is computed again by */
    CLONES_MOST = 2, /* of a value, in different branches */
    FAR_ABOVE = 60,  /* instructions between divisions by one number */
    GONE = 2,
    ZEROS = 4, /* each is hidden by its own, so that what is hidden twice is not kept either */
};

/* A value, to be computed again before the instruction `at`: ops of the function, the value itself the last.
 */
typedef struct clone {
    uint32_t value, at, count, ops[TREE_MOST];
    uint32_t number; /* clones of the module are numbered from 1, as they are decided */
} clone;

typedef struct function {
    lifetimes *lives;
    uint8_t *cloned;       /* per value: it has clones; GONE: nothing reads it itself */
    ARRAY(clone) clones;   /* by `number` */
    ARRAY(clone) in_order; /* those that are made, by `at` */
    uint32_t made;         /* of these, so far */
} function;

typedef struct recompute {
    const ir_module *m;
    const opt_options *options;
    module_lifetimes lives;
    function *functions;
    uint32_t decided, kept; /* numbers of clones */
    uint32_t hidden;        /* operands so far */
} recompute;

/* ---- what is computed again ---- */

typedef struct tree {
    clone made;
    uint32_t region; /* of its place */
    uint32_t leaves[3 * TREE_MOST], leaf_count;
    uint32_t longer; /* leaves that live longer because of it */
} tree;

typedef struct choice {
    tree trees[CLONES_MOST];
    uint32_t count, cost, wait; /* wait: to the next use */
    uint32_t behind;            /* uses at higher positions are those of clones */
} choice;

static bool is_in(const uint32_t *list, uint32_t count, uint32_t id)
{
    for (uint32_t k = 0; k < count; k++)
        if (list[k] == id)
            return true;
    return false;
}

/* Whether the value lives at `peak` anyway, or costs no register, and can be read where the tree stands. */
static bool is_leaf(const function *fn, const tree *t, uint32_t id, uint32_t peak)
{
    const lifetimes *l = fn->lives;
    return !fn->cloned[id] && lifetimes_begins(l->f, id) < peak && (l->last[id] >= peak || l->uniform[id]) &&
           lifetimes_is_around(l->f, lifetimes_region(l->f, id), t->region);
}

static void add_leaf(const lifetimes *l, tree *t, uint32_t id)
{
    if (is_in(t->leaves, t->leaf_count, id))
        return;
    t->leaves[t->leaf_count++] = id;
    t->longer += lifetimes_register(l, id) && l->last[id] < lifetimes_read(l, id, t->made.at, t->region);
}

/* Adds the op and, before it, what of its operands does not live at `peak`. */
static bool grow(const function *fn, tree *t, uint32_t id, uint32_t peak)
{
    const ir_func *f = fn->lives->f;
    const ir_inst i = f->inst.data[id];
    const uint32_t operands[3] = {i.a, i.b, i.c};
    bool something = false; /* to hide, or hidden already */
    for (uint32_t k = 0; k < ir_op_table[i.op].arity; k++) {
        uint32_t x = operands[k];
        uint8_t op = f->inst.data[x].op;
        if (op != IR_PARAM && ir_op_table[op].effect == IR_EFFECT_FLOAT)
            continue; /* a constant */
        bool computed = is_in(t->made.ops, t->made.count, x), leaf = !computed && is_leaf(fn, t, x, peak);
        if (leaf)
            add_leaf(fn->lives, t, x);
        else if (!computed &&
                 (ir_op_table[op].arity == 0 || t->made.count + 1 >= TREE_MOST || !grow(fn, t, x, peak)))
            return false;
        something |= !leaf || f->inst.data[x].type != IR_BOOL;
    }
    if (!something || t->made.count == TREE_MOST)
        return false;
    t->made.ops[t->made.count++] = id;
    return true;
}

/* What reads the value behind `peak` gets a clone, one for each branch that none stands around. Where `peak`
 * is in a loop that the value is computed before, so does all in the loop. */
static bool choose(const function *fn, uint32_t id, uint32_t peak, choice *c)
{
    const lifetimes *l = fn->lives;
    uint32_t loop = lifetimes_loop(l->f, id, peak < l->f->inst.count ? l->f->scope.data[peak] : 0), taken = 0;
    *c = (choice){.behind = loop ? loop : peak - 1};
    if (fn->cloned[id] || l->needed[id] > c->behind)
        return false;
    for (uint32_t k = l->first[id]; k < l->first[id] + l->left[id]; k++) {
        value_use u = l->uses.data[k];
        if (u.at <= c->behind) {
            taken = u.taken > taken ? u.taken : taken;
            continue;
        }
        tree *t = c->count ? &c->trees[c->count - 1] : NULL;
        if (!t || !lifetimes_is_around(l->f, t->region, u.region)) {
            if (c->count == CLONES_MOST)
                return false;
            t = &c->trees[c->count++];
            *t = (tree){.made = {.value = id, .at = u.at}, .region = u.region};
            if (u.taken || !grow(fn, t, id, peak) || t->longer > 1)
                return false;
            c->cost += t->made.count;
            c->wait = c->wait ? c->wait : u.at;
        }
        if (u.taken || (t->made.at < peak && u.at >= peak))
            return false;
    }
    return c->count > 0 && taken < c->trees[0].made.at; /* a PHI behind a clone would take that */
}

/* Up to where the clone lives. */
static uint32_t clone_last(const lifetimes *l, const tree *t)
{
    uint32_t id = t->made.value, last = t->made.at;
    for (uint32_t k = l->first[id]; k < l->first[id] + l->left[id]; k++) {
        value_use u = l->uses.data[k];
        if (u.at < t->made.at || !lifetimes_is_around(l->f, t->region, u.region))
            continue;
        uint32_t to = u.at;
        for (uint32_t region = u.region; region != t->region; region = l->f->scope.data[region])
            to = l->f->inst.data[region].op == IR_LOOP ? l->end[region] : to;
        last = to > last ? to : last;
    }
    return last;
}

static void keep_leaves(lifetimes *l, const tree *t)
{
    for (uint32_t k = 0; k < t->leaf_count; k++) {
        uint32_t id = t->leaves[k], to = lifetimes_read(l, id, t->made.at, t->region);
        l->needed[id] = to > l->needed[id] ? to : l->needed[id];
        lifetimes_update(l, id);
    }
}

static void take(recompute *r, function *fn, choice *c)
{
    lifetimes *l = fn->lives;
    uint32_t id = c->trees[0].made.value, left = 0;
    for (uint32_t k = 0; k < c->count; k++) {
        tree *t = &c->trees[k];
        l->extra[t->made.at + 1]++, l->extra[clone_last(l, t) + 1]--;
        keep_leaves(l, t);
        t->made.number = ++r->decided;
        array_push(&fn->clones, t->made);
    }
    while (left < l->left[id] && l->uses.data[l->first[id] + left].at <= c->behind)
        left++;
    l->left[id] = left;
    fn->cloned[id] = 1;
    lifetimes_update(l, id);
    lifetimes_count(l);
}

/* Whether one value less lives at this place now. */
static bool lower(recompute *r, function *fn, uint32_t peak)
{
    const lifetimes *l = fn->lives;
    choice best = {0}, c;
    for (uint32_t id = 1; id < l->f->inst.count; id++) {
        bool waits = ir_op_table[l->f->inst.data[id].op].arity > 0 && lifetimes_register(l, id) &&
                     lifetimes_begins(l->f, id) < peak && l->last[id] >= peak;
        if (waits && choose(fn, id, peak, &c) &&
            (!best.count || c.cost < best.cost || (c.cost == best.cost && c.wait > best.wait)))
            best = c;
    }
    if (best.count)
        take(r, fn, &best);
    return best.count > 0;
}

static void decide(recompute *r)
{
    uint32_t k, at, most, lowest = UINT32_MAX;
    while ((most = lifetimes_most(&r->lives, &k, &at)) > r->options->live_most) {
        if (most < lowest)
            lowest = most, r->kept = r->decided;
        while (!lower(r, &r->functions[k], at))
            if (!lifetimes_go_out(&r->lives, &k, &at))
                return;
    }
    r->kept = r->decided;
}

/* ---- emission ---- */

static ir_ref zero(recompute *r, ir_func *f)
{
    uint32_t which = r->hidden++ % ZEROS;
    ir_ref word = ir_uniform(f, IR_U32, r->options->small_uniforms + which % 2);
    return ir_shr(f, word, ir_u32(f, 31 - which / 2));
}

static ir_ref hide(recompute *r, ir_func *f, ir_ref x)
{
    ir_type type = ir_type_of(f, x);
    ir_ref bits = ir_xor(f, type == IR_U32 ? x : ir_bits_to_u32(f, x), zero(r, f));
    return type == IR_F32 ? ir_bits_to_f32(f, bits) : type == IR_I32 ? ir_to_i32(f, bits) : bits;
}

static ir_ref again(recompute *r, ir_copier *c, const clone *k, const ir_ref *made, uint32_t which)
{
    ir_inst i = c->from->inst.data[k->ops[which]];
    const uint32_t operands[3] = {i.a, i.b, i.c}, arity = ir_op_table[i.op].arity;
    ir_ref now[3] = {{0}, {0}, {0}};
    bool hidden = false;
    for (uint32_t n = 0; n < arity; n++)
        for (uint32_t w = 0; w < which; w++)
            if (k->ops[w] == operands[n])
                now[n] = made[w], hidden = true;
    for (uint32_t n = 0; n < arity; n++) {
        if (now[n].id)
            continue;
        now[n] = ir_copied(c, operands[n]);
        if (!hidden && lifetimes_number(c->from, operands[n]))
            now[n] = hide(r, c->to, now[n]), hidden = true;
    }
    return ir_value_op(c->to, (ir_op)i.op, now[0], now[1], now[2]);
}

static void emit_clone(recompute *r, ir_copier *c, const clone *k)
{
    ir_ref made[TREE_MOST];
    for (uint32_t which = 0; which < k->count; which++)
        made[which] = again(r, c, k, made, which);
    c->map[k->value] = made[k->count - 1];
}

/* Whether it is a division by what another one, far above, divides by. */
static bool divides_again(const ir_copier *c, uint32_t id, ir_inst inst)
{
    if (inst.op != IR_DIV || inst.type != IR_F32 || !lifetimes_number(c->from, inst.b))
        return false;
    for (uint32_t k = id; k-- > 1;) {
        ir_inst other = c->from->inst.data[k];
        if (other.op == IR_DIV && other.b == inst.b)
            return id - k > FAR_ABOVE;
    }
    return false;
}

static bool emit(ir_copier *c, uint32_t id, ir_inst inst)
{
    const opt_pass *pass = c->user;
    recompute *r = pass->user;
    function *fn = &r->functions[c->from->index];
    for (; fn->made < fn->in_order.count && fn->in_order.data[fn->made].at == id; fn->made++)
        emit_clone(r, c, &fn->in_order.data[fn->made]);
    if (fn->cloned[id] == GONE)
        return true;
    if (!divides_again(c, id, inst))
        return false;
    ir_ref dividend = ir_copied(c, inst.a);
    c->map[id] = ir_div(c->to, dividend, hide(r, c->to, ir_copied(c, inst.b)));
    return true;
}

/* ---- the pass ---- */

static int by_place(const void *a, const void *b)
{
    const clone *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static void put_in_order(const recompute *r, function *fn)
{
    for (uint32_t k = 0; k < fn->clones.count && fn->clones.data[k].number <= r->kept; k++) {
        uint32_t id = fn->clones.data[k].value;
        array_push(&fn->in_order, fn->clones.data[k]);
        if (fn->lives->left[id] == 0 && fn->lives->needed[id] == 0)
            fn->cloned[id] = GONE;
    }
    if (fn->in_order.count)
        qsort(fn->in_order.data, fn->in_order.count, sizeof *fn->in_order.data, by_place);
}

ir_module *opt_recompute(const ir_module *m, const opt_options *options)
{
    recompute r = {.m = m, .options = options};
    uint32_t k, at;
    ir_module *result = NULL;
    r.functions = memory_need_zeroed((size_t)m->functions.count + 1, sizeof *r.functions);
    r.lives = lifetimes_of_module(m);
    for (k = 0; k < m->functions.count; k++) {
        r.functions[k].lives = &r.lives.of[k];
        r.functions[k].cloned = memory_need_zeroed(m->functions.data[k]->inst.count, 1);
    }
    if (!m->doubles && m->uniform_count > options->small_uniforms + 1 &&
        lifetimes_most(&r.lives, &k, &at) > options->live_most) {
        decide(&r);
        for (k = 0; k < m->functions.count; k++)
            put_in_order(&r, &r.functions[k]);
        opt_pass pass = {.from = m, .hook = emit, .user = &r};
        result = opt_rebuild(&pass);
    }
    for (k = 0; k < m->functions.count; k++) {
        memory_free(r.functions[k].cloned);
        array_free(&r.functions[k].clones), array_free(&r.functions[k].in_order);
    }
    lifetimes_release(&r.lives);
    memory_free(r.functions);
    return result;
}
