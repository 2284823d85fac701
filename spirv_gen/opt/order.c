/* SPDX-License-Identifier: BSD-3-Clause
 * Values are computed late, so that few of them live at once: what a GPU's lane can keep in registers decides
 * how many lanes run, and whether some values go through memory. Drivers' compilers keep the order of a
 * kernel's arithmetic by and large. Traces name a value where it is known, long before derivatives use it.
 *
 * Each function is walked from its end to its beginning, with the set of values that live at that point.
 * Value ops move; all else keeps its place and order (reads of memory, effects, control flow), and between
 * two such places, a segment, ops are put in place one after another, from the last to the first. One whose
 * users all stand below is ready. Placing it ends its own life and begins those of its operands that do not
 * live yet: of the ready ops the one with the least balance comes next, of equals the one that stood last.
 *
 * An op also leaves its segment downwards where that lets fewer values live, into a branch, too, when all its
 * users are there; never into a loop. So an op is computed as often as before or less, and every value keeps
 * its bits. This is list scheduling for register pressure (Goodman and Hsu, Code scheduling and register
 * allocation in large basic blocks, ICS 1988), with liveness over regions. */
#include "spirv_gen/opt/pass.h"

#include <string.h>

enum { TOP = 0 };

typedef struct order {
    const ir_func *f;
    uint32_t *left;   /* per value op: users that are not placed yet */
    uint32_t *target; /* per value op: the region of all users placed so far, the innermost around them */
    uint8_t *used;    /* per value op: it has a user that is placed */
    uint8_t *live;    /* per instruction: its value lives at this point of the walk */
    uint32_t *depth;  /* per region, by its instruction */
    uint32_t *end;    /* per IF: its ELSE; per ELSE: its ENDIF */
    uint32_t *before; /* per anchor: the first of the ops that are placed before it; 0: none */
    uint32_t *next;   /* per placed op: the op after it; 0: none */
    uint32_t region;  /* of this point */
    ARRAY(uint32_t) ready;  /* of other segments than this one */
    ARRAY(uint32_t) own;    /* ready, of this one */
    ARRAY(uint8_t *) saved; /* sets of live values around open IFs, two each */
} order;

/* ---- regions ---- */

static uint32_t parent(const order *o, uint32_t region) { return o->f->scope.data[region]; }

static uint32_t common(const order *o, uint32_t a, uint32_t b)
{
    while (a != b) {
        uint32_t *deeper = o->depth[a] >= o->depth[b] ? &a : &b;
        *deeper = parent(o, *deeper);
    }
    return a;
}

static bool is_around(const order *o, uint32_t outer, uint32_t inner)
{
    while (o->depth[inner] > o->depth[outer])
        inner = parent(o, inner);
    return inner == outer;
}

/* The innermost region, between that of the op and that of its users, that is not in a loop which the op is
 * not in. */
static uint32_t lowest_region(const order *o, uint32_t id)
{
    uint32_t own = o->f->scope.data[id], lowest = o->target[id];
    for (uint32_t r = lowest; r != own; r = parent(o, r))
        if (o->f->inst.data[r].op == IR_LOOP)
            lowest = parent(o, r);
    return lowest;
}

/* Whether an op of this region could stand here: around this point there is no loop inside it. */
static bool is_reached(const order *o, uint32_t from)
{
    uint32_t r = o->region;
    while (r != from && o->f->inst.data[r].op != IR_LOOP && o->depth[r] > o->depth[from])
        r = parent(o, r);
    return r == from;
}

/* ---- values ---- */

static bool moves(const order *o, uint32_t id) { return ir_op_table[o->f->inst.data[id].op].arity > 0; }

static bool takes_register(const order *o, uint32_t id)
{
    uint8_t op = o->f->inst.data[id].op;
    return op == IR_PARAM || (op != IR_LOCAL && ir_op_table[op].effect != IR_EFFECT_FLOAT &&
                              o->f->inst.data[id].type != IR_VOID);
}

static void count_use(void *user, uint32_t id)
{
    order *o = user;
    o->left[id]++;
}

static void forget_use(void *user, uint32_t id)
{
    order *o = user;
    o->left[id]--;
}

/* A user in o->region has been placed. */
static void note_use(void *user, uint32_t id)
{
    order *o = user;
    if (takes_register(o, id))
        o->live[id] = 1;
    if (!moves(o, id))
        return;
    BL_ASSERT(o->left[id] > 0, "%%%u has more users than were counted", id);
    o->target[id] = o->used[id] ? common(o, o->target[id], o->region) : o->region;
    o->used[id] = 1;
    if (--o->left[id] == 0)
        array_push(&o->ready, id);
}

typedef struct begun {
    const order *o;
    int count;
    uint32_t seen[3];
} begun;

static void count_begun(void *user, uint32_t id)
{
    begun *b = user;
    if (!takes_register(b->o, id) || b->o->live[id])
        return;
    for (int k = 0; k < b->count; k++)
        if (b->seen[k] == id)
            return;
    b->seen[b->count++] = id;
}

/* How many more values live above the op than below it, if it is placed here. */
static int balance(const order *o, uint32_t id)
{
    begun b = {.o = o};
    ir_each_operand(o->f, o->f->inst.data[id], count_begun, &b);
    return b.count - 1;
}

/* ---- a segment ---- */

static void place(order *o, uint32_t id, uint32_t anchor)
{
    o->next[id] = o->before[anchor], o->before[anchor] = id;
    o->live[id] = 0;
    ir_each_operand(o->f, o->f->inst.data[id], note_use, o);
}

/* Moves what has become ready and stands at `first` or below it from the list of all to this segment's. */
static void claim(order *o, uint32_t first)
{
    uint32_t kept = 0;
    for (uint32_t k = 0; k < o->ready.count; k++) {
        uint32_t id = o->ready.data[k];
        if (id >= first && o->f->scope.data[id] == o->region)
            array_push(&o->own, id);
        else
            o->ready.data[kept++] = id;
    }
    o->ready.count = kept;
}

/* Whether the op, of another segment, may stand at this point, where it has all its users or will have. */
static bool may_stand_here(const order *o, uint32_t id)
{
    return o->depth[o->region] >= o->depth[o->f->scope.data[id]] &&
           is_around(o, o->region, lowest_region(o, id));
}

/* Whether fewer values live when the op stands here, perhaps together with ops that it alone reads, with
 * those that these alone read, and so on: a tree. */
static bool pays_here(const order *o, uint32_t id)
{
    enum { TREE_MOST = 24 };
    uint32_t tree[TREE_MOST + 3], count = 1;
    tree[0] = id;
    for (uint32_t k = 0; k < count; k++) {
        begun b = {.o = o};
        ir_each_operand(o->f, o->f->inst.data[tree[k]], count_begun, &b);
        for (int i = 0; i < b.count; i++) {
            uint32_t from = b.seen[i];
            bool alone = moves(o, from) && o->left[from] == 1 && !o->used[from];
            if (!alone || count == TREE_MOST || !is_reached(o, o->f->scope.data[from]))
                return false;
            tree[count++] = from;
        }
    }
    return true;
}

static bool takes_from(const order *o, uint32_t id) { return may_stand_here(o, id) && pays_here(o, id); }

/* The index of the op to place next among those of this segment; own.count: there is none. */
static uint32_t best_own(const order *o)
{
    uint32_t best = o->own.count;
    int least = 0;
    for (uint32_t k = 0; k < o->own.count; k++) {
        int now = balance(o, o->own.data[k]);
        if (best == o->own.count || now < least || (now == least && o->own.data[k] > o->own.data[best]))
            best = k, least = now;
    }
    return best;
}

/* Places before the anchor an op of another segment that ends more lives than it begins. */
static bool place_other(order *o, uint32_t anchor)
{
    for (uint32_t k = 0; k < o->ready.count; k++) {
        uint32_t id = o->ready.data[k];
        if (!takes_from(o, id))
            continue;
        o->ready.data[k] = o->ready.data[--o->ready.count];
        place(o, id, anchor);
        return true;
    }
    return false;
}

/* The segment [first, anchor), whose place is before the anchor. */
static void place_segment(order *o, uint32_t first, uint32_t anchor)
{
    for (;;) {
        claim(o, first);
        if (place_other(o, anchor))
            continue;
        uint32_t k = best_own(o);
        if (k == o->own.count)
            return;
        uint32_t id = o->own.data[k];
        o->own.data[k] = o->own.data[--o->own.count];
        place(o, id, anchor);
    }
}

/* ---- the walk ---- */

static uint8_t *copy_live(const order *o)
{
    uint8_t *copy = memory_need(o->f->inst.count);
    memcpy(copy, o->live, o->f->inst.count);
    return copy;
}

static void drop_live(order *o, uint8_t *saved)
{
    memcpy(o->live, saved, o->f->inst.count);
    memory_free(saved);
}

/* The next PHI of the IF after this place; 0: there is none. They stand behind its ENDIF, with what floats.
 */
static uint32_t next_phi(const order *o, uint32_t if_id, uint32_t place)
{
    for (uint32_t k = place + 1; k < o->f->inst.count; k++) {
        ir_inst i = o->f->inst.data[k];
        if (i.op == IR_PHI && i.c == if_id)
            return k;
        if (ir_op_table[i.op].effect != IR_EFFECT_FLOAT)
            break;
    }
    return 0;
}

/* From below: what the PHIs of the IF take from this branch lives. */
static void enter_branch(order *o, uint32_t if_id, uint32_t region)
{
    o->region = region;
    for (uint32_t k = o->end[o->end[if_id]]; (k = next_phi(o, if_id, k));)
        note_use(o, region == if_id ? o->f->inst.data[k].a : o->f->inst.data[k].b);
}

static void leave_endif(order *o, uint32_t id, uint32_t if_id)
{
    for (uint32_t k = id; (k = next_phi(o, if_id, k));)
        o->live[k] = 0;
    array_push(&o->saved, copy_live(o));
    enter_branch(o, if_id, o->end[if_id]);
}

static void leave_else(order *o, uint32_t if_id)
{
    uint8_t *above_else = copy_live(o);
    drop_live(o, o->saved.data[o->saved.count - 1]);
    o->saved.data[o->saved.count - 1] = above_else;
    enter_branch(o, if_id, if_id);
}

static void leave_if(order *o, uint32_t id, ir_inst i)
{
    uint8_t *above_else = o->saved.data[--o->saved.count];
    for (uint32_t k = 0; k < id; k++)
        o->live[k] |= above_else[k];
    memory_free(above_else);
    o->region = o->f->scope.data[id];
    note_use(o, i.a);
}

static void live_if_outside(void *user, uint32_t id)
{
    order *o = user;
    if (takes_register(o, id) && id < o->region)
        o->live[id] = 1;
}

/* States stand right behind their loop. */
static bool is_state(const order *o, uint32_t id, uint32_t loop)
{
    return o->f->inst.data[id].op == IR_STATE && o->f->inst.data[id].c == loop;
}

/* What a loop reads of what stands before it lives through it. */
static void leave_endloop(order *o, uint32_t id, uint32_t loop)
{
    o->region = loop;
    for (uint32_t k = loop; k < id; k++)
        if (!is_state(o, k, loop))
            ir_each_operand(o->f, o->f->inst.data[k], live_if_outside, o);
    for (uint32_t k = loop + 1; is_state(o, k, loop); k++)
        note_use(o, o->f->inst.data[k].b);
}

static void leave_loop(order *o, uint32_t id)
{
    o->region = o->f->scope.data[id];
    for (uint32_t k = id + 1; is_state(o, k, id); k++)
        o->live[k] = 0, note_use(o, o->f->inst.data[k].a);
}

/* Above an instruction that keeps its place. */
static void pass_anchor(order *o, uint32_t id)
{
    ir_inst i = o->f->inst.data[id];
    o->live[id] = 0;
    switch (i.op) {
    case IR_ENDIF:
        leave_endif(o, id, i.a);
        break;
    case IR_ELSE:
        leave_else(o, i.a);
        break;
    case IR_IF:
        leave_if(o, id, i);
        break;
    case IR_ENDLOOP:
        leave_endloop(o, id, i.a);
        break;
    case IR_LOOP:
        leave_loop(o, id);
        break;
    default:
        for (uint32_t k = id + 1; k < o->f->inst.count && o->f->inst.data[k].op == IR_RESULT; k++)
            o->live[k] = 0;
        ir_each_operand(o->f, i, note_use, o);
        break;
    }
}

/* What belongs to another instruction or has no place. */
static bool is_anchor(const order *o, uint32_t id)
{
    uint8_t op = o->f->inst.data[id].op;
    return !moves(o, id) && op != IR_NOP && op != IR_PHI && op != IR_STATE && op != IR_RESULT &&
           ir_op_table[op].effect != IR_EFFECT_FLOAT;
}

static void walk(order *o)
{
    uint32_t count = o->f->inst.count, anchor = 0; /* 0: the end of the function */
    o->region = TOP;
    for (uint32_t k = 0; k < o->f->results.count; k++)
        note_use(o, o->f->results.data[k].id);
    for (uint32_t id = count; id-- > 1;) {
        if (!is_anchor(o, id))
            continue;
        place_segment(o, id + 1, anchor);
        pass_anchor(o, id);
        anchor = id;
    }
    place_segment(o, 1, anchor);
}

static void find_regions(order *o)
{
    for (uint32_t id = 1; id < o->f->inst.count; id++) {
        ir_inst i = o->f->inst.data[id];
        if (i.op == IR_IF || i.op == IR_ELSE || i.op == IR_LOOP)
            o->depth[id] = o->depth[o->f->scope.data[id]] + 1;
        if (i.op == IR_ELSE)
            o->end[i.a] = id;
        if (i.op == IR_ENDIF)
            o->end[o->end[i.a]] = id;
        ir_each_operand(o->f, i, count_use, o);
    }
    for (uint32_t k = 0; k < o->f->results.count; k++)
        o->left[o->f->results.data[k].id]++;
    for (uint32_t id = o->f->inst.count; id-- > 1;) /* what nobody needs is no user */
        if (moves(o, id) && o->left[id] == 0)
            ir_each_operand(o->f, o->f->inst.data[id], forget_use, o);
}

/* ---- the pass ---- */

static void release(order *o)
{
    void *const all[] = {o->left, o->target, o->used, o->live, o->depth, o->end, o->before, o->next};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        memory_free(all[k]);
    array_free(&o->ready), array_free(&o->own), array_free(&o->saved);
    *o = (order){0};
}

static void begin_function(ir_copier *c)
{
    const opt_pass *pass = c->user;
    order *o = pass->user;
    uint32_t count = c->from->inst.count;
    release(o);
    o->f = c->from;
    uint32_t **words[] = {&o->left, &o->target, &o->depth, &o->end, &o->before, &o->next};
    uint8_t **bytes[] = {&o->used, &o->live};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        *words[k] = memory_need_zeroed(count, sizeof **words[k]);
    for (size_t k = 0; k < sizeof bytes / sizeof *bytes; k++)
        *bytes[k] = memory_need_zeroed(count, 1);
    find_regions(o);
    walk(o);
}

static void emit_before(const order *o, ir_copier *c, uint32_t anchor)
{
    for (uint32_t id = o->before[anchor]; id; id = o->next[id])
        ir_copy_inst(c, id);
}

static bool emit_in_order(ir_copier *c, uint32_t id, ir_inst inst)
{
    const opt_pass *pass = c->user;
    const order *o = pass->user;
    (void)inst;
    if (is_anchor(o, id))
        emit_before(o, c, id);
    if (!moves(o, id))
        ir_copy_inst(c, id);
    if (id + 1 == o->f->inst.count)
        emit_before(o, c, 0);
    return true;
}

ir_module *opt_order(const ir_module *m)
{
    order o = {0};
    opt_pass pass = {.from = m, .begin = begin_function, .hook = emit_in_order, .user = &o};
    ir_module *result = opt_rebuild(&pass);
    release(&o);
    return result;
}
