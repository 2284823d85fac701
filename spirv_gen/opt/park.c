/* SPDX-License-Identifier: BSD-3-Clause
 * Values wait in memory of the workgroup, where more live at once than a lane has registers for: states of
 * loops, results of calls and whatever recompute.c could not compute again. They are stored where they are
 * computed, to words that are the lane's own, and loaded before their next use. So no lane waits for another.
 * Compilers for CPUs know this as spilling (Chaitin, Register allocation & spilling via graph coloring, PLDI
 * 1982). Drivers spill, too, but to the memory of the device.
 *
 * The life of such a value falls into pieces: one begins where it is computed, the others where it is loaded.
 * A piece ends where the next use is far away. At the place of the module where most values live, that value
 * is chosen whose pieces leave free the most of its life for each load; where there is none, one of the
 * caller, around the call. A word serves several values whose times there do not meet. Functions have theirs
 * behind those of their callers (ir_parking).
 *
 * Memory of the workgroup that a lane takes lets fewer waves run, as registers do. So there are goals
 * (opt_goal): what a lane may take there, and how many values may live then. The first goal that can be met
 * is, by as few loads as it takes; if none can, as few values live as the words allow. Modules of doubles
 * stay as they are: words hold 32 bits. */
#include "spirv_gen/opt/lifetimes.h"
#include "spirv_gen/opt/pass.h"

#include <stdlib.h>

enum { PIECES_MOST = 8, NEAR = 40 };

/* A part of a value's life in a register. */
typedef struct piece {
    uint32_t value, at; /* loaded before this instruction; the first one: computed there */
    uint32_t region, last;
    uint32_t loop; /* the innermost one around the load that the place where most live is in, and the value
                      is computed before; 0: none */
    ir_ref made;
} piece;

typedef struct parked {
    piece pieces[PIECES_MOST];
    uint32_t count, word;
    uint32_t from, to; /* the word is taken between these positions */
    uint32_t behind;   /* the instruction that the store comes behind; 0: the function's beginning */
    uint32_t left;     /* uses that the first piece serves */
    uint32_t number;   /* values of the module are numbered from 1, as they are chosen */
    double worth;
} parked;

typedef struct load {
    uint32_t value, at, piece;
} load;
typedef struct store {
    uint32_t value, behind;
} store;

typedef struct function {
    lifetimes *lives;
    uint32_t *place;         /* per value: its index + 1 in `parked`; 0: it waits in a register */
    uint32_t *while_of;      /* per LOOP */
    ARRAY(parked) parked;    /* by `number` */
    ARRAY(load) loads;       /* of those that are kept, by `at` */
    ARRAY(store) stores;     /* by `behind` */
    uint32_t loaded, stored; /* of these, so far */
    uint32_t words, base;    /* own ones, behind those of callers */
    ir_ref parking;
} function;

/* How far it has come after so many values. */
typedef struct moment {
    uint32_t count, words, live;
} moment;

typedef struct park {
    const ir_module *m;
    module_lifetimes lives;
    function *functions;
    ARRAY(moment) moments;
    uint32_t words_most, near;
    uint32_t kept; /* values that are parked in the end are those up to this number */
} park;

/* ---- pieces ---- */

/* PHIs follow each other, as RESULTs do. */
static bool belong_together(ir_inst a, ir_inst b)
{
    return a.op == b.op && ((a.op == IR_PHI && a.c == b.c) || (a.op == IR_RESULT && a.a == b.a));
}

/* What is computed before a loop's WHILE is stored behind it: the test must stay a few ops (spv/loop.c). */
static uint32_t store_behind(const function *fn, uint32_t id)
{
    const ir_func *f = fn->lives->f;
    uint32_t region = lifetimes_region(f, id), behind = id;
    if (f->inst.data[id].op == IR_PARAM)
        return 0;
    if (region && f->inst.data[region].op == IR_LOOP && id < fn->while_of[region])
        return fn->while_of[region];
    for (uint32_t k = id + 1; k < f->inst.count; k++) {
        if (belong_together(f->inst.data[id], f->inst.data[k]))
            behind = k;
        else if (ir_op_table[f->inst.data[k].op].effect != IR_EFFECT_FLOAT)
            break;
    }
    return behind;
}

static bool is_in_loop(const lifetimes *l, uint32_t loop, uint32_t at)
{
    return loop < at && at <= l->end[loop];
}

/* What a load for this use would serve: before the outermost loop that is only around the use, since it is
 * the same in every trip; but inside of loops that `peak` is in. */
static piece piece_for(const lifetimes *l, uint32_t id, value_use u, uint32_t peak)
{
    const ir_func *f = l->f;
    uint32_t own = lifetimes_region(f, id);
    piece p = {.value = id, .at = u.at, .region = u.region, .last = u.at};
    for (uint32_t r = u.region; r; r = f->scope.data[r]) {
        if (f->inst.data[r].op != IR_LOOP || lifetimes_is_around(f, r, own))
            continue;
        if (!is_in_loop(l, r, peak))
            p.at = r, p.region = f->scope.data[r], p.last = l->end[r], p.loop = 0;
        else if (!p.loop)
            p.loop = r;
    }
    return p;
}

/* Whether the piece may go on to that use. */
static bool serves(const park *r, const lifetimes *l, const piece *p, const piece *use, uint32_t peak)
{
    bool crosses = p->at < peak && use->last >= peak;
    return !crosses && p->loop == use->loop && use->at <= p->last + r->near &&
           lifetimes_is_around(l->f, p->region, use->region);
}

static bool add_use(const park *r, const lifetimes *l, parked *v, value_use u, uint32_t peak)
{
    uint32_t id = v->pieces[0].value, to = lifetimes_read(l, id, u.at, u.region);
    piece use = piece_for(l, id, u, peak), *now = &v->pieces[v->count - 1];
    if (serves(r, l, now, &use, peak))
        now->last = use.last > now->last ? use.last : now->last;
    else if (v->count == PIECES_MOST)
        return false;
    else
        v->pieces[v->count++] = use;
    v->left += v->count == 1;
    if (v->count > 1)
        v->to = to > v->to ? to : v->to;
    return true;
}

/* Pieces of a value that leave `peak` free. What is read behind the loop that it is computed in stays: a
 * lane that leaves the loop at its bottom has not come by the store. */
static bool cut(const park *r, const function *fn, uint32_t id, uint32_t peak, parked *v)
{
    const lifetimes *l = fn->lives;
    uint32_t begins = lifetimes_begins(l->f, id), own = lifetimes_region(l->f, id), lives = 0;
    *v = (parked){.count = 1, .from = begins, .behind = store_behind(fn, id)};
    v->pieces[0] = (piece){.value = id, .at = begins, .region = own, .last = v->behind};
    for (uint32_t k = l->first[id]; k < l->first[id] + l->left[id]; k++)
        if (!lifetimes_is_around(l->f, own, l->uses.data[k].region) ||
            !add_use(r, l, v, l->uses.data[k], peak))
            return false;
    for (uint32_t k = 0; k < v->count; k++) {
        if (v->pieces[k].at < peak && v->pieces[k].last >= peak)
            return false;
        lives += v->pieces[k].last - v->pieces[k].at;
    }
    uint32_t freed = l->last[id] - begins > lives ? l->last[id] - begins - lives : 0;
    v->worth = (double)freed / v->count;
    return v->count > 1 && freed > r->near;
}

/* ---- words ---- */

/* Of all functions. Callers stand behind what they call. */
static uint32_t count_words(park *r)
{
    uint32_t most = 0;
    for (uint32_t k = 0; k < r->m->functions.count; k++)
        r->functions[k].base = 0;
    for (uint32_t k = r->m->functions.count; k-- > 0;) {
        const function *fn = &r->functions[k];
        const ir_func *f = fn->lives->f;
        uint32_t end = fn->base + fn->words;
        most = end > most ? end : most;
        for (uint32_t id = 1; id < f->inst.count; id++) {
            if (!ir_is_call(f->inst.data[id].op))
                continue;
            ir_operands o = ir_call_operands(f, f->inst.data[id]);
            for (uint32_t t = 0; t < o.target_count; t++)
                if (r->functions[o.targets[t]].base < end)
                    r->functions[o.targets[t]].base = end;
        }
    }
    return most;
}

static uint32_t free_word(const function *fn, const parked *v)
{
    for (uint32_t word = 0;; word++) {
        bool taken = false;
        for (uint32_t k = 0; k < fn->parked.count; k++) {
            const parked *other = &fn->parked.data[k];
            taken |= other->word == word && other->from <= v->to && v->from <= other->to;
        }
        if (!taken)
            return word;
    }
}

/* ---- what is parked ---- */

static bool take(park *r, function *fn, parked *v)
{
    lifetimes *l = fn->lives;
    uint32_t id = v->pieces[0].value, words = fn->words;
    v->word = free_word(fn, v);
    fn->words = v->word < words ? words : v->word + 1;
    if (count_words(r) > r->words_most) {
        fn->words = words;
        return false;
    }
    for (uint32_t k = 1; k < v->count; k++)
        l->extra[v->pieces[k].at + 1]++, l->extra[v->pieces[k].last + 1]--;
    l->left[id] = v->left, l->needed[id] = v->behind;
    v->number = r->moments.data[r->moments.count - 1].count + 1;
    array_push(&fn->parked, *v);
    fn->place[id] = fn->parked.count;
    lifetimes_update(l, id);
    lifetimes_count(l);
    return true;
}

static bool lower(park *r, function *fn, uint32_t peak)
{
    const lifetimes *l = fn->lives;
    parked best = {0}, v;
    for (uint32_t id = 1; id < l->f->inst.count; id++) {
        bool waits = lifetimes_register(l, id) && !fn->place[id] && lifetimes_begins(l->f, id) < peak &&
                     l->last[id] >= peak;
        if (waits && cut(r, fn, id, peak, &v) && v.worth > best.worth)
            best = v;
    }
    return best.count > 0 && take(r, fn, &best);
}

/* Whether one value less lives at this place now. */
static bool lower_at(park *r, uint32_t k, uint32_t at)
{
    do
        if (lower(r, &r->functions[k], at))
            return true;
    while (lifetimes_go_out(&r->lives, &k, &at));
    return false;
}

/* The first moment of the goal, or the best one; NULL: it cannot be met. */
static const moment *find(const park *r, opt_goal goal)
{
    const moment *best = NULL;
    for (uint32_t k = 0; k < r->moments.count && !(best && best->live <= goal.live); k++) {
        const moment *now = &r->moments.data[k];
        if (now->words <= goal.words && (!best || now->live < best->live))
            best = now;
    }
    return best && best->live <= goal.live + goal.over ? best : NULL;
}

static void decide(park *r, const opt_goal *wanted, uint32_t count)
{
    uint32_t k, at, done = 0, least = UINT32_MAX;
    do {
        moment now = {done++, count_words(r), lifetimes_most(&r->lives, &k, &at)};
        array_push(&r->moments, now);
        if (now.live < least)
            least = now.live, r->kept = now.count;
    } while (least > wanted[0].live && lower_at(r, k, at));
    for (uint32_t g = 0; g < count; g++) {
        const moment *met = find(r, wanted[g]);
        if (met) {
            r->kept = met->count;
            return;
        }
    }
}

/* ---- emission ---- */

static function *function_of(const ir_copier *c)
{
    const opt_pass *pass = c->user;
    return &((park *)pass->user)->functions[c->from->index];
}

static parked *parked_of(const function *fn, uint32_t id) { return &fn->parked.data[fn->place[id] - 1]; }

static void emit_load(ir_copier *c, const function *fn, const load *l)
{
    ir_type type = (ir_type)c->from->inst.data[l->value].type;
    parked *v = parked_of(fn, l->value);
    ir_ref word = ir_lload(c->to, fn->parking, ir_u32(c->to, fn->base + v->word));
    c->map[l->value] = type == IR_F32   ? ir_bits_to_f32(c->to, word)
                       : type == IR_I32 ? ir_to_i32(c->to, word)
                                        : word;
    v->pieces[l->piece].made = c->map[l->value];
}

static void emit_store(ir_copier *c, const function *fn, uint32_t id)
{
    ir_ref value = ir_copied(c, id), word = value;
    parked *v = parked_of(fn, id);
    if (ir_type_of(c->to, value) != IR_U32)
        word = ir_bits_to_u32(c->to, value);
    ir_lstore(c->to, fn->parking, ir_u32(c->to, fn->base + v->word), word);
    v->pieces[0].made = value;
}

static void emit_loads(ir_copier *c, function *fn, uint32_t at)
{
    for (; fn->loaded < fn->loads.count && fn->loads.data[fn->loaded].at == at; fn->loaded++)
        emit_load(c, fn, &fn->loads.data[fn->loaded]);
}

static void emit_stores(ir_copier *c, function *fn, uint32_t behind)
{
    for (; fn->stored < fn->stores.count && fn->stores.data[fn->stored].behind == behind; fn->stored++)
        emit_store(c, fn, fn->stores.data[fn->stored].value);
}

/* What a PHI takes at the end of a branch, where the piece of that branch counts. */
static ir_ref taken(ir_copier *c, const function *fn, uint32_t id, uint32_t at)
{
    if (!fn->place[id])
        return ir_copied(c, id);
    const parked *v = parked_of(fn, id);
    uint32_t k = v->count - 1;
    while (k && v->pieces[k].at > at)
        k--;
    return v->pieces[k].made.id ? v->pieces[k].made : ir_copied(c, id); /* not stored yet */
}

static void emit_phi(ir_copier *c, const function *fn, uint32_t id, ir_inst inst)
{
    uint32_t or_else = fn->lives->end[inst.c];
    ir_ref then = taken(c, fn, inst.a, or_else), otherwise = taken(c, fn, inst.b, fn->lives->end[or_else]);
    c->map[id] = ir_phi(c->to, c->map[inst.c], then, otherwise);
}

static void begin_function(ir_copier *c)
{
    function *fn = function_of(c);
    if (fn->loads.count)
        fn->parking = ir_parking(c->to, fn->base + fn->words);
    emit_stores(c, fn, 0);
}

static bool emit(ir_copier *c, uint32_t id, ir_inst inst)
{
    function *fn = function_of(c);
    if (!fn->loads.count)
        return false;
    emit_loads(c, fn, id);
    if (inst.op == IR_PHI)
        emit_phi(c, fn, id, inst);
    else
        ir_copy_inst(c, id);
    emit_stores(c, fn, id);
    if (id + 1 == c->from->inst.count)
        emit_loads(c, fn, id + 1); /* for results */
    return true;
}

/* ---- the pass ---- */

static int by_at(const void *a, const void *b)
{
    const load *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->value < y->value ? -1 : x->value > y->value;
}

static int by_behind(const void *a, const void *b)
{
    const store *x = a, *y = b;
    if (x->behind != y->behind)
        return x->behind < y->behind ? -1 : 1;
    return x->value < y->value ? -1 : x->value > y->value;
}

static void put_in_order(const park *r, function *fn)
{
    fn->words = 0;
    for (uint32_t k = 0; k < fn->parked.count; k++) {
        const parked *v = &fn->parked.data[k];
        uint32_t id = v->pieces[0].value;
        if (v->number > r->kept) {
            fn->place[id] = 0;
            continue;
        }
        for (uint32_t n = 1; n < v->count; n++)
            array_push(&fn->loads, ((load){id, v->pieces[n].at, n}));
        array_push(&fn->stores, ((store){id, v->behind}));
        fn->words = v->word < fn->words ? fn->words : v->word + 1;
    }
    if (!fn->loads.count)
        return;
    qsort(fn->loads.data, fn->loads.count, sizeof *fn->loads.data, by_at);
    qsort(fn->stores.data, fn->stores.count, sizeof *fn->stores.data, by_behind);
}

static void begin(park *r)
{
    r->lives = lifetimes_of_module(r->m);
    r->functions = memory_need_zeroed((size_t)r->m->functions.count + 1, sizeof *r->functions);
    for (uint32_t k = 0; k < r->m->functions.count; k++) {
        const ir_func *f = r->m->functions.data[k];
        function *fn = &r->functions[k];
        fn->lives = &r->lives.of[k];
        fn->place = memory_need_zeroed(f->inst.count, sizeof *fn->place);
        fn->while_of = memory_need_zeroed(f->inst.count, sizeof *fn->while_of);
        for (uint32_t id = 1; id < f->inst.count; id++)
            if (f->inst.data[id].op == IR_WHILE)
                fn->while_of[f->inst.data[id].b] = id;
    }
}

static void end(park *r)
{
    for (uint32_t k = 0; k < r->m->functions.count; k++) {
        function *fn = &r->functions[k];
        memory_free(fn->place);
        memory_free(fn->while_of);
        array_free(&fn->parked), array_free(&fn->loads), array_free(&fn->stores);
    }
    array_free(&r->moments);
    memory_free(r->functions);
    lifetimes_release(&r->lives);
}

/* Their words are those of all functions, so there are no others. */
static bool has_parkings(const ir_module *m)
{
    for (uint32_t k = 0; k < m->functions.count; k++)
        for (uint32_t id = 1; id < m->functions.data[k]->inst.count; id++)
            if (m->functions.data[k]->inst.data[id].op == IR_LOCAL &&
                (m->functions.data[k]->inst.data[id].flags & IR_PARKED))
                return true;
    return false;
}

ir_module *opt_park_to(const ir_module *m, const opt_goal *wanted, uint32_t count, uint32_t near)
{
    park r = {.m = m, .near = near};
    ir_module *result = NULL;
    for (uint32_t k = 0; k < count; k++)
        r.words_most = wanted[k].words > r.words_most ? wanted[k].words : r.words_most;
    if (m->doubles || has_parkings(m))
        return NULL;
    begin(&r);
    decide(&r, wanted, count);
    if (r.kept) {
        for (uint32_t k = 0; k < m->functions.count; k++)
            put_in_order(&r, &r.functions[k]);
        count_words(&r);
        opt_pass pass = {.from = m, .begin = begin_function, .hook = emit, .user = &r};
        result = opt_rebuild(&pass);
    }
    end(&r);
    return result;
}

ir_module *opt_park(const ir_module *m, const opt_options *o)
{
    return opt_park_to(m, o->parking, o->parking_count, NEAR);
}
