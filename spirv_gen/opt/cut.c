/* SPDX-License-Identifier: BSD-3-Clause
 * A walk as several kernels: wavefront mode (Jakob, Speierer, Roussel, Vicini, "Dr.Jit", 2022, section 3.4;
 * Laine, Karras, Aila, "Megakernels Considered Harmful", 2013).
 *
 * The walk is the largest loop at the top of the entry function. Its code is cut into parts: `begin` is what
 * is before the loop, `end` what is behind it, and the body is one or more parts in between. A part is one
 * kernel. An invocation of the trace has a slot of memory, and each part does its code for a list of slots.
 *
 * A value that a part reads and another one has computed is either computed again or kept in a plane of
 * memory, which has a word for each slot. Computed again is what is made of constants, uniforms, states and
 * reads of constant buffers alone, before the loop or before its test; so indices and ranges of lanes take no
 * memory. States have planes always. The last part of the body writes their next values, then does the test
 * of the next trip, and appends slots that go on to a queue. An array that several parts use has a plane for
 * each element.
 *
 * By target: calls of several targets at the top of the body become parts of their own, with a kernel for
 * each target. The selector is the one whose targets are largest. A later call by the same selector joins
 * the part of an earlier one if all that it waits for is plain values (the value of a material and its
 * sample, between which rays are traced). The part before the first such call appends slots to one queue for
 * each target.
 *
 * The order of a queue is that in which invocations have come, which is chance. No result depends on it,
 * because an invocation reads and writes its own slot, and sums that invocations share are exact
 * (accumulate.c: FIXED).
 *
 * Private sums (FLUSH) end with a kernel, so here ACCUMs go to memory at once. */
#include "spirv_gen/opt/cut.h"
#include "spirv_gen/opt/pass.h"

enum { GROUPS_MOST = 8, PARTS_MOST = 2 * GROUPS_MOST + 3, ELEMENTS_MOST = 4096, TARGETS_MOST = 256 };

typedef struct cutter {
    const ir_func *f;
    opt_cut_options options;
    uint32_t loop, first, test, close; /* LOOP; behind its STATEs; WHILE; ENDLOOP */
    uint32_t parts, groups, targets;
    uint32_t selector;         /* of the groups */
    uint8_t *part;             /* per instruction: the part that computes it; of a STATE: none */
    uint8_t *again;            /* per instruction: every part can compute it */
    uint8_t *kept[PARTS_MOST]; /* per part and instruction: it is in the part's code */
    uint8_t *read[PARTS_MOST]; /* per part and instruction: the part takes it from memory */
    uint32_t *plane;           /* per instruction: its first plane + 1, 0: none */
    uint32_t words;
    /* while a part is made */
    uint32_t now, target;
    ir_ref slot;
    uint32_t buffer;
} cutter;

enum { PART_BEGIN = 0, PART_FIRST = 1 };
static uint32_t part_last(const cutter *c) { return c->parts - 2; }
static uint32_t part_end(const cutter *c) { return c->parts - 1; }
/* Parts of calls stand between segments. */
static bool is_call_part(const cutter *c, uint32_t part)
{
    return part > PART_BEGIN && part < part_end(c) && part % 2 == 0;
}

static ir_inst at(const cutter *c, uint32_t id) { return c->f->inst.data[id]; }
static bool is_float(const cutter *c, uint32_t id)
{
    return ir_op_table[at(c, id).op].effect == IR_EFFECT_FLOAT;
}
static bool is_state(const cutter *c, uint32_t id) { return id > c->loop && id < c->first; }
static bool in_test(const cutter *c, uint32_t id) { return id >= c->first && id < c->test; }
/* Does it only compute from its operands, or read what no kernel changes? */
static bool computes(const cutter *c, ir_inst i)
{
    return ir_op_table[i.op].arity > 0 || opt_reads_constant(c->f, i);
}

/* ---- the walk ---- */

static uint32_t find_close(const ir_func *f, uint32_t loop)
{
    for (uint32_t id = loop + 1; id < f->inst.count; id++)
        if (f->inst.data[id].op == IR_ENDLOOP && f->inst.data[id].a == loop)
            return id;
    return 0;
}

static bool find_walk(cutter *c)
{
    const ir_func *f = c->f;
    for (uint32_t id = 1; id < f->inst.count; id++) {
        if (f->inst.data[id].op != IR_LOOP || f->scope.data[id])
            continue;
        uint32_t close = find_close(f, id);
        if (!c->loop || close - id > c->close - c->loop)
            c->loop = id, c->close = close;
    }
    if (!c->loop)
        return false;
    for (c->first = c->loop + 1; at(c, c->first).op == IR_STATE && at(c, c->first).c == c->loop;)
        c->first++;
    for (c->test = c->first; at(c, c->test).op != IR_WHILE || at(c, c->test).b != c->loop;)
        c->test++;
    return true;
}

/* Per function of the module: does a call of it do nothing but compute, and read constant buffers? */
static uint8_t *find_plain(const ir_module *m)
{
    uint8_t *writes = opt_writes(m), *plain = memory_need_zeroed(m->functions.count + 1, 1);
    for (uint32_t k = 0; k < m->functions.count; k++)
        plain[k] = !writes[k];
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = 0; k < m->functions.count; k++) {
            const ir_func *f = m->functions.data[k];
            bool now = plain[k];
            for (uint32_t id = 1; now && id < f->inst.count; id++) {
                ir_inst i = f->inst.data[id];
                if (i.op == IR_LOAD || i.op == IR_DLOAD)
                    now = m->buffers.data[i.b].constant;
                ir_operands o = ir_is_call(i.op) ? ir_call_operands(f, i) : (ir_operands){0};
                for (uint32_t t = 0; t < o.target_count; t++)
                    now &= plain[o.targets[t]] != 0;
            }
            changed |= now != plain[k];
            plain[k] = now;
        }
    }
    memory_free(writes);
    return plain;
}

/* ---- groups of calls ---- */

static bool calls_several(const cutter *c, uint32_t id)
{
    return at(c, id).op == IR_CALL && c->f->scope.data[id] == c->loop &&
           ir_call_operands(c->f, at(c, id)).target_count > 1;
}

/* The selector whose calls have the largest targets, 0: there is none. */
static uint32_t choose_selector(const cutter *c)
{
    uint64_t *size = memory_need_zeroed(c->f->inst.count, sizeof *size);
    uint32_t best = 0;
    for (uint32_t id = c->test; id < c->close; id++) {
        if (!calls_several(c, id))
            continue;
        ir_operands o = ir_call_operands(c->f, at(c, id));
        uint32_t selector = at(c, id).a;
        for (uint32_t k = 0; k < o.target_count; k++)
            size[selector] += c->f->module->functions.data[o.targets[k]]->inst.count;
        if (o.target_count <= TARGETS_MOST && (!best || size[selector] > size[best]))
            best = selector;
    }
    memory_free(size);
    return best;
}

typedef struct hoist {
    cutter *c;
    uint32_t part; /* of the group */
    bool fits;
    ARRAY(uint32_t) slice; /* what has to join the part */
} hoist;

static void hoist_value(void *user, uint32_t id)
{
    hoist *h = user;
    cutter *c = h->c;
    ir_inst i = at(c, id);
    if (!h->fits || is_float(c, id) || id < c->test || c->part[id] <= h->part)
        return;
    h->fits = computes(c, i) && c->f->scope.data[id] == c->loop;
    if (!h->fits)
        return;
    c->part[id] = (uint8_t)h->part;
    array_push(&h->slice, id);
    ir_each_operand(c->f, i, hoist_value, h);
}

/* Whether the call can be done where the part's other calls are; what it waits for then joins the part. */
static bool joins(cutter *c, uint32_t call, uint32_t part, const uint8_t *plain)
{
    hoist h = {.c = c, .part = part, .fits = true};
    ir_operands o = ir_call_operands(c->f, at(c, call));
    for (uint32_t k = 0; k < o.target_count; k++)
        h.fits &= plain[o.targets[k]] != 0;
    ir_each_operand(c->f, at(c, call), hoist_value, &h);
    for (uint32_t k = 0; !h.fits && k < h.slice.count; k++)
        c->part[h.slice.data[k]] = (uint8_t)(part + 1);
    array_free(&h.slice);
    return h.fits;
}

static void take_call(cutter *c, uint32_t call, uint32_t part)
{
    c->part[call] = (uint8_t)part;
    for (uint32_t id = call + 1; at(c, id).op == IR_RESULT && at(c, id).a == call; id++)
        c->part[id] = (uint8_t)part;
}

static bool in_group(const cutter *c, uint32_t id)
{
    return calls_several(c, id) && is_call_part(c, c->part[id]);
}

/* Gives every instruction of the body its part. */
static void find_parts(cutter *c)
{
    uint8_t *plain = find_plain(c->f->module);
    c->selector = c->options.by_target ? choose_selector(c) : 0;
    c->parts = 3;
    for (uint32_t id = c->first; id < c->close; id++)
        c->part[id] = PART_FIRST;
    for (uint32_t id = c->test; c->selector && id < c->close; id++) {
        if (!calls_several(c, id) || at(c, id).a != c->selector)
            continue;
        if (c->groups && joins(c, id, 2 * c->groups, plain)) {
            take_call(c, id, 2 * c->groups);
            continue;
        }
        if (c->groups == GROUPS_MOST)
            break;
        c->targets = ir_call_operands(c->f, at(c, id)).target_count;
        c->groups++, c->parts += 2;
        for (uint32_t k = id; k < c->close; k++)
            if (c->part[k] == 2 * c->groups - 1)
                c->part[k] = (uint8_t)(2 * c->groups + 1);
        take_call(c, id, 2 * c->groups);
    }
    for (uint32_t id = c->close; id < c->f->inst.count; id++)
        c->part[id] = (uint8_t)part_end(c);
    memory_free(plain);
}

/* ---- what parts read of each other ---- */

static bool known_again(const void *user, uint32_t id)
{
    const cutter *c = user;
    return is_float(c, id) || c->again[id] || is_state(c, id);
}

static void find_again(cutter *c)
{
    for (uint32_t id = 1; id < c->test; id++) {
        ir_inst i = at(c, id);
        bool top = c->f->scope.data[id] == (id < c->loop ? 0 : c->loop);
        c->again[id] = top && computes(c, i) && ir_every_operand(c->f, i, known_again, c);
    }
}

typedef struct needs {
    cutter *c;
    uint32_t part;
} needs;

static void need(void *user, uint32_t id)
{
    needs *n = user;
    cutter *c = n->c;
    if (!id || is_float(c, id) || c->kept[n->part][id])
        return;
    if (c->again[id]) {
        c->kept[n->part][id] = 1;
        ir_each_operand(c->f, at(c, id), need, n);
    } else {
        c->read[n->part][id] = 1;
    }
}

/* The test itself comes along as code, on states that it is given. */
static void need_outside_test(void *user, uint32_t id)
{
    const cutter *c = ((needs *)user)->c;
    if (!in_test(c, id) && !is_state(c, id))
        need(user, id);
}

static void need_operands(needs *n, uint32_t id)
{
    cutter *c = n->c;
    ir_inst i = at(c, id);
    if (in_group(c, id)) { /* The selector has become a constant. */
        ir_operands o = ir_call_operands(c->f, i);
        for (uint32_t k = 0; k < o.arg_count; k++)
            need(n, o.args[k]);
    } else if (i.op != IR_FLUSH) {
        ir_each_operand(c->f, i, need, n);
    }
}

static bool is_walk(const cutter *c, uint32_t id)
{
    return id == c->loop || is_state(c, id) || id == c->test || id == c->close;
}

static void find_needs(cutter *c, uint32_t part)
{
    needs n = {c, part};
    c->kept[part] = memory_need_zeroed(c->f->inst.count, 1);
    c->read[part] = memory_need_zeroed(c->f->inst.count, 1);
    for (uint32_t id = 1; id < c->f->inst.count; id++)
        c->kept[part][id] = c->part[id] == part && !is_walk(c, id);
    for (uint32_t id = 1; id < c->f->inst.count; id++)
        if (c->part[id] == part && !is_walk(c, id))
            need_operands(&n, id);
    if (part == PART_FIRST && c->groups)
        need(&n, c->selector);
    if (part != PART_BEGIN && part != part_last(c))
        return;
    for (uint32_t id = c->loop + 1; id < c->first; id++)
        need(&n, part == PART_BEGIN ? at(c, id).a : at(c, id).b);
    for (uint32_t id = c->first; id <= c->test; id++)
        ir_each_operand(c->f, at(c, id), need_outside_test, &n);
}

/* What is kept in memory. */
static void find_planes(cutter *c)
{
    for (uint32_t id = 1; id < c->f->inst.count; id++) {
        bool kept = is_state(c, id);
        for (uint32_t p = 0; p < c->parts; p++)
            kept |= c->read[p][id] != 0;
        if (!kept)
            continue;
        c->plane[id] = c->words + 1;
        c->words += at(c, id).op == IR_LOCAL ? at(c, id).a : 1;
    }
}

static bl_result check_walk(const cutter *c, bl_error *err)
{
    uint8_t *writes = opt_writes(c->f->module);
    const char *why = NULL;
    for (uint32_t id = c->first; id < c->test; id++) {
        ir_inst i = at(c, id);
        bool writes_itself = ir_op_table[i.op].effect == IR_EFFECT_WRITE && i.op != IR_CALL;
        if (writes_itself || opt_calls_writer(c->f, i, writes))
            why = "it writes before the test of its loop";
    }
    memory_free(writes);
    for (uint32_t id = 1; id < c->f->inst.count; id++)
        if (c->plane[id] && at(c, id).op == IR_LOCAL && at(c, id).a > ELEMENTS_MOST)
            why = "an array of more than 4096 elements lives from one part to another";
    return why ? error_set(err, BL_ERROR_UNSUPPORTED, "the walk of \"%s\" cannot be cut into kernels: %s",
                           c->f->name, why)
               : BL_OK;
}

/* ---- memory ---- */

static ir_ref uniform(const cutter *c, ir_func *f, enum opt_cut_uniform k)
{
    return ir_uniform(f, IR_U32, c->options.uniforms + k);
}

static ir_ref place(const cutter *c, ir_func *f, ir_ref plane)
{
    return ir_add(f, ir_mul(f, plane, uniform(c, f, OPT_CUT_SLOTS)), c->slot);
}

static ir_ref load_word(const cutter *c, ir_func *f, ir_type type, ir_ref plane)
{
    ir_ref word = ir_load(f, type == IR_BOOL ? IR_U32 : type, c->buffer, place(c, f, plane));
    return type == IR_BOOL ? ir_ne(f, word, ir_u32(f, 0)) : word;
}

static void store_word(const cutter *c, ir_func *f, ir_ref value, ir_ref plane)
{
    bool truth = ir_type_of(f, value) == IR_BOOL;
    ir_store(f, c->buffer, place(c, f, plane), truth ? ir_to_u32(f, value) : value);
}

static void store_plane(const cutter *c, ir_func *f, ir_ref value, uint32_t id)
{
    store_word(c, f, value, ir_u32(f, c->plane[id] - 1));
}

/* All elements from memory into the array, or back. */
static void move_array(const cutter *c, ir_func *f, ir_ref local, uint32_t id, bool back)
{
    ir_inst i = at(c, id);
    ir_ref k = ir_u32(f, 0), loop = ir_loop(f, &k, 1);
    ir_while(f, ir_lt(f, k, ir_u32(f, i.a)));
    ir_ref plane = ir_add(f, k, ir_u32(f, c->plane[id] - 1));
    if (back)
        store_word(c, f, ir_lload(f, local, k), plane);
    else
        ir_lstore(f, local, k, load_word(c, f, (ir_type)i.type, plane));
    ir_ref next = ir_add(f, k, ir_u32(f, 1));
    ir_endloop(f, loop, &next, 1);
}

static ir_ref load_kept(const cutter *c, ir_func *f, uint32_t id)
{
    ir_inst i = at(c, id);
    if (i.op != IR_LOCAL)
        return load_word(c, f, (ir_type)i.type, ir_u32(f, c->plane[id] - 1));
    ir_ref local = ir_local(f, (ir_type)i.type, i.a);
    move_array(c, f, local, id, false);
    return local;
}

static bool part_stores_to(const cutter *c, uint32_t local)
{
    for (uint32_t id = 1; id < c->f->inst.count; id++)
        if (c->part[id] == c->now && at(c, id).op == IR_LSTORE && at(c, id).a == local)
            return true;
    return false;
}

/* Appends the slot to queue number `class`, where `condition`; none: always. */
static void append_slot(const cutter *c, ir_func *f, ir_ref condition, ir_ref class)
{
    if (condition.id)
        ir_if(f, condition);
    ir_ref counter = uniform(c, f, OPT_CUT_COUNTER), to = uniform(c, f, OPT_CUT_TO);
    if (class.id) {
        counter = ir_add(f, counter, class);
        to = ir_add(f, to, ir_mul(f, class, uniform(c, f, OPT_CUT_SLOTS)));
    }
    ir_ref place_in = ir_atomic_add(f, c->buffer, counter, ir_u32(f, 1));
    ir_store(f, c->buffer, ir_add(f, to, place_in), c->slot);
    if (condition.id) {
        ir_else(f);
        ir_endif(f);
    }
}

/* ---- a part as a kernel ---- */

static cutter *cutter_of(const ir_copier *copier)
{
    const opt_pass *pass = copier->user;
    return pass->user;
}

static uint8_t *keep_part(const opt_pass *pass, const ir_func *f)
{
    const cutter *c = pass->user;
    if (f != c->f)
        return NULL;
    uint8_t *keep = memory_need(f->inst.count);
    for (uint32_t id = 0; id < f->inst.count; id++)
        keep[id] = c->kept[c->now][id];
    return keep;
}

static void begin_part(ir_copier *copier)
{
    cutter *c = cutter_of(copier);
    ir_func *f = copier->to;
    if (copier->from != c->f)
        return;
    c->buffer = ir_buffer_add(f->module, "walks", false, -1);
    ir_ref id = ir_global_id(f);
    ir_if(f, ir_lt(f, id, uniform(c, f, OPT_CUT_COUNT)));
    bool every = c->now == PART_BEGIN || c->now == part_end(c);
    c->slot = every ? id : ir_load(f, IR_U32, c->buffer, ir_add(f, uniform(c, f, OPT_CUT_FROM), id));
    for (uint32_t k = 1; k < c->f->inst.count; k++) {
        if (at(c, k).op == IR_GLOBAL_ID)
            copier->map[k] = c->slot;
        else if (c->read[c->now][k])
            copier->map[k] = load_kept(c, f, k);
    }
}

/* A call of a group has the one target for which the kernel is. */
static bool copy_part(ir_copier *copier, uint32_t id, ir_inst inst)
{
    const cutter *c = cutter_of(copier);
    const opt_pass *pass = copier->user;
    if (copier->from != c->f || inst.op == IR_FLUSH)
        return copier->from == c->f && inst.op == IR_FLUSH;
    if (!in_group(c, id))
        return false;
    ir_operands o = ir_call_operands(c->f, inst);
    ir_func *target = pass->functions[o.targets[c->target]];
    ir_ref *args = memory_need_zeroed(o.arg_count + 1, sizeof *args),
           *results = memory_need_zeroed(ir_result_count(c->f, inst) + 1, sizeof *results);
    for (uint32_t k = 0; k < o.arg_count; k++)
        args[k] = ir_copied(copier, o.args[k]);
    ir_call(copier->to, ir_u32(copier->to, 0), &target, 1, args, o.arg_count, results);
    opt_replace_results(copier, id, results);
    memory_free(args), memory_free(results);
    return true;
}

static void store_values(const cutter *c, ir_copier *copier)
{
    for (uint32_t id = 1; id < c->f->inst.count; id++) {
        if (!c->plane[id] || is_state(c, id))
            continue;
        bool own = c->part[id] == c->now;
        if (at(c, id).op != IR_LOCAL && own)
            store_plane(c, copier->to, ir_copied(copier, id), id);
        else if (at(c, id).op == IR_LOCAL && (own || (c->read[c->now][id] && part_stores_to(c, id))))
            move_array(c, copier->to, copier->map[id], id, true);
    }
}

/* States take their next (at first: initial) values, then the test decides whether the slot goes on. */
static void finish_trip(const cutter *c, ir_copier *copier)
{
    uint32_t count = c->first - c->loop - 1;
    ir_func *f = copier->to;
    ir_ref *next = memory_need_zeroed(count + 1, sizeof *next);
    for (uint32_t k = 0; k < count; k++) {
        ir_inst state = at(c, c->loop + 1 + k);
        uint32_t value = c->now == PART_BEGIN ? state.a : state.b;
        next[k] = ir_copied(copier, value);
        if (value != c->loop + 1 + k)
            store_plane(c, f, next[k], c->loop + 1 + k);
    }
    for (uint32_t k = 0; k < count; k++)
        copier->map[c->loop + 1 + k] = next[k];
    copier->live = NULL;
    ir_copy_range(copier, c->first, c->test);
    append_slot(c, f, ir_copied(copier, at(c, c->test).a), (ir_ref){0});
    memory_free(next);
}

static void end_part(ir_copier *copier)
{
    const cutter *c = cutter_of(copier);
    ir_func *f = copier->to;
    if (copier->from != c->f)
        return;
    store_values(c, copier);
    if (c->now == PART_FIRST && c->groups)
        append_slot(c, f, (ir_ref){0}, ir_min(f, ir_copied(copier, c->selector), ir_u32(f, c->targets - 1)));
    if (c->now == PART_BEGIN || c->now == part_last(c))
        finish_trip(c, copier);
    ir_else(f);
    ir_endif(f);
}

static bl_result make_part(cutter *c, uint32_t part, uint32_t target, ir_module **out, bl_error *err)
{
    c->now = part, c->target = target;
    opt_pass pass = {
        .from = c->f->module,
        .keep = keep_part,
        .hook = copy_part,
        .begin = begin_part,
        .end = end_part,
        .user = c,
    };
    *out = opt_rebuild(&pass);
    return ir_finish(*out, err);
}

static bl_result make_parts(cutter *c, opt_cut *out, bl_error *err)
{
    out->groups = c->groups, out->targets = c->targets, out->words = c->words;
    out->segments = memory_need_zeroed(c->groups + 1, sizeof *out->segments);
    out->calls = memory_need_zeroed(c->groups * c->targets + 1, sizeof *out->calls);
    TRY(make_part(c, PART_BEGIN, 0, &out->begin, err));
    for (uint32_t g = 0; g <= c->groups; g++)
        TRY(make_part(c, PART_FIRST + 2 * g, 0, &out->segments[g], err));
    for (uint32_t k = 0; k < c->groups * c->targets; k++)
        TRY(make_part(c, 2 * (k / c->targets) + 2, k % c->targets, &out->calls[k], err));
    return make_part(c, part_end(c), 0, &out->end, err);
}

bl_result opt_cut_walk(const ir_module *m, const opt_cut_options *options, opt_cut *out, bl_error *err)
{
    *out = (opt_cut){0};
    BL_ASSERT(m->entry && m->error.code == BL_OK, "a module without an entry, or with an error");
    const uint32_t count = m->entry->inst.count;
    cutter c = {.f = m->entry, .options = *options};
    if (!find_walk(&c))
        return error_set(err, BL_ERROR_UNSUPPORTED, "\"%s\" has no walk that could be cut into kernels",
                         m->entry->name);
    c.part = memory_need_zeroed(count, 1), c.again = memory_need_zeroed(count, 1);
    c.plane = memory_need_zeroed(count, sizeof *c.plane);
    find_parts(&c);
    find_again(&c);
    for (uint32_t p = 0; p < c.parts; p++)
        find_needs(&c, p);
    find_planes(&c);
    bl_result r = check_walk(&c, err);
    if (r == BL_OK)
        r = make_parts(&c, out, err);
    if (r != BL_OK)
        opt_cut_free(out);
    memory_free(c.part), memory_free(c.again), memory_free(c.plane);
    for (uint32_t p = 0; p < c.parts; p++)
        memory_free(c.kept[p]), memory_free(c.read[p]);
    return r;
}

void opt_cut_free(opt_cut *cut)
{
    ir_module_destroy(cut->begin), ir_module_destroy(cut->end);
    for (uint32_t g = 0; cut->segments && g <= cut->groups; g++)
        ir_module_destroy(cut->segments[g]);
    for (uint32_t k = 0; cut->calls && k < cut->groups * cut->targets; k++)
        ir_module_destroy(cut->calls[k]);
    memory_free(cut->segments), memory_free(cut->calls);
    *cut = (opt_cut){0};
}
