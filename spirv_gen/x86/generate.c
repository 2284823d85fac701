/* SPDX-License-Identifier: BSD-3-Clause
 * This file makes a kernel of a module. It analyses every function, then generates the prologue, the entry
 * and a subroutine per function. x86.h says what a kernel is, generate.h where values are. */
#include "spirv_gen/x86/lanes.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { CODE_ALIGNMENT = 16, WORKSPACE_ALIGNMENT = 64 };

void x86_fail(x86_gen *g, const char *format, ...)
{
    char why[256];
    va_list args;
    if (g->error.code != BL_OK)
        return;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    error_set(&g->error, BL_ERROR_COMPILE, "%s", why);
}

/* ---- constants: a hash table by their bits, with open addressing ---- */

static uint32_t word_place(uint32_t index) { return X86_WORKSPACE_CONSTANTS + 4 * index; }

uint32_t x86_new_word(x86_gen *g)
{
    array_push(&g->constants, 0u);
    return word_place(g->constants.count - 1);
}

static uint32_t *table_entry(x86_gen *g, uint32_t *table, uint32_t size, uint32_t bits)
{
    uint32_t at = (bits * 2654435761u) % size;
    while (table[at] && g->constants.data[table[at] - 1] != bits)
        at = (at + 1) % size;
    return &table[at];
}

static void grow_table(x86_gen *g)
{
    uint32_t size = 2 * g->constant_table_size + 509, *table = arena_alloc(&g->memory, size * sizeof *table);
    for (uint32_t i = 0; i < g->constant_table_size; i++)
        if (g->constant_table[i])
            *table_entry(g, table, size, g->constants.data[g->constant_table[i] - 1]) = g->constant_table[i];
    g->constant_table = table, g->constant_table_size = size;
}

uint32_t x86_constant(x86_gen *g, uint32_t bits)
{
    if (2 * g->constants.count >= g->constant_table_size)
        grow_table(g);
    uint32_t *entry = table_entry(g, g->constant_table, g->constant_table_size, bits);
    if (!*entry) {
        array_push(&g->constants, bits);
        *entry = g->constants.count;
    }
    return word_place(*entry - 1);
}

uint32_t x86_constant_double(x86_gen *g, uint64_t bits)
{
    const uint32_t words[2] = {(uint32_t)bits, (uint32_t)(bits >> 32)};
    for (uint32_t k = 0; k < g->doubles_at.count; k++) {
        const uint32_t at = g->doubles_at.data[k];
        if (memcmp(g->constants.data + at, words, sizeof words) == 0)
            return word_place(at);
    }
    array_push(&g->doubles_at, g->constants.count);
    array_push(&g->constants, words[0]);
    array_push(&g->constants, words[1]);
    return word_place(g->constants.count - 2);
}

/* ---- functions ---- */

typedef void (*lowering)(x86_gen *g, uint32_t id, ir_inst inst);

static void nothing(x86_gen *g, uint32_t id, ir_inst inst) { (void)g, (void)id, (void)inst; }

static const lowering lowerings[IR_OP_COUNT] = {
    [IR_NOP] = nothing,
#define IR_VALUE(NAME, name, n, rule, commutes, fold, f, i, u, b, sf, si, su, sb, adjoint)                   \
    [IR_##NAME] = x86_value_op,
#define IR_STRUCT(NAME, name, effect, a, b, c, adjoint)
#include "spirv_gen/ir/ops.def"
#undef IR_VALUE
#undef IR_STRUCT
    [IR_CONST] = nothing,
    [IR_PARAM] = nothing,
    [IR_UNIFORM] = x86_uniform,
    [IR_GLOBAL_ID] = nothing,
    [IR_IF] = x86_if,
    [IR_ELSE] = x86_else,
    [IR_ENDIF] = x86_endif,
    [IR_PHI] = x86_phi,
    [IR_LOOP] = x86_loop,
    [IR_STATE] = nothing,
    [IR_WHILE] = x86_while,
    [IR_ENDLOOP] = x86_endloop,
    [IR_CALL] = x86_call,
    [IR_RESULT] = x86_result,
    [IR_RAY_CLOSEST] = x86_ray,
    [IR_RAY_ANY] = x86_ray,
    [IR_LOAD] = x86_load,
    [IR_DLOAD] = x86_load,
    [IR_STORE] = x86_store,
    [IR_ATOMIC_ADD] = x86_atomic_add,
    [IR_ATOMIC_CAS] = x86_atomic_cas,
    [IR_LOCAL] = nothing,
    [IR_LLOAD] = x86_local_load,
    [IR_LSTORE] = x86_local_store,
};

static void mark(x86_gen *g, x86_part part, uint32_t id)
{
    x86_mark m = {.at = g->code.bytes.count, .part = part, .function = g->fn ? g->fn->f->index : 0, .id = id};
    if (g->listed)
        array_push(&g->marks, m);
}

static bool has_code(const x86_value *v) { return v->fusion != X86_UNUSED && v->fusion != X86_GROUP_MEMBER; }

static void generate_function(x86_gen *g, x86_function *fn)
{
    g->fn = fn;
    g->open.count = 0;
    x86_align(&g->code, CODE_ALIGNMENT);
    x86_bind(&g->code, fn->label);
    mark(g, X86_FUNCTION, 0);
    if (fn->refill.loop)
        x86_bind(&g->code, fn->refill.body);
    for (uint32_t i = 1; i < fn->f->inst.count; i++) {
        ir_inst inst = fn->f->inst.data[i];
        mark(g, X86_INSTRUCTION, i);
        if (!lowerings[inst.op])
            x86_fail(g, "x86: function \"%s\": %%%u %s should have been lowered by a pass", fn->f->name, i,
                     ir_op_table[inst.op].name);
        else if (has_code(&fn->values[i]) && fn->values[i].place != X86_WORD)
            lowerings[inst.op](g, i, inst);
    }
    mark(g, X86_END, 0);
    x86_return(g);
}

/* Generates the code of a function's uniform values. */
static void generate_words(x86_gen *g, x86_function *fn)
{
    g->fn = fn;
    for (uint32_t i = 1; i < fn->f->inst.count; i++) {
        ir_inst inst = fn->f->inst.data[i];
        if (fn->values[i].place != X86_WORD || !has_code(&fn->values[i]))
            continue;
        mark(g, X86_INSTRUCTION, i);
        lowerings[inst.op](g, i, inst);
    }
}

/* ---- the two ways in ---- */

static const ZydisRegister kept_registers[] = {ZYDIS_REGISTER_RBX, ZYDIS_REGISTER_RBP, ZYDIS_REGISTER_R12,
                                               ZYDIS_REGISTER_R13, ZYDIS_REGISTER_R14, ZYDIS_REGISTER_R15};
enum { KEPT = sizeof kept_registers / sizeof *kept_registers };

/* Gives registers to the buffers that most instructions load from or store to. */
static void choose_buffers(x86_gen *g)
{
    uint32_t reads[X86_BUFFERS_MOST] = {0};
    for (uint32_t k = 0; k < g->m->functions.count; k++) {
        const ir_func *f = g->m->functions.data[k];
        for (uint32_t i = 1; i < f->inst.count; i++)
            if (f->inst.data[i].op == IR_LOAD || f->inst.data[i].op == IR_DLOAD ||
                f->inst.data[i].op == IR_STORE)
                reads[f->inst.data[i].b]++;
    }
    for (uint32_t k = 0; k < X86_FIXED_BUFFERS; k++) {
        uint32_t most = 0;
        for (uint32_t b = 1; b < X86_BUFFERS_MOST; b++)
            most = reads[b] > reads[most] ? b : most;
        g->fixed_buffer[k] = reads[most] ? most : ~0u;
        reads[most] = 0;
    }
}

/* The buffer of sums, where all that the module does to it is to add integers. */
static void find_sums(x86_gen *g)
{
    g->sums = g->options->sums;
    for (uint32_t k = 0; g->sums && k < g->m->functions.count; k++) {
        const ir_func *f = g->m->functions.data[k];
        for (uint32_t i = 1; i < f->inst.count; i++) {
            ir_inst inst = f->inst.data[i];
            bool memory = inst.op == IR_LOAD || inst.op == IR_DLOAD || inst.op == IR_STORE ||
                          inst.op == IR_ATOMIC_CAS || (inst.op == IR_ATOMIC_ADD && inst.type == IR_F32);
            if (memory && inst.b + 1 == g->sums)
                g->sums = 0;
        }
    }
}

/* rdi holds the workspace. Returns the place in the code where x86_patch writes the distance from rbx to the
 * first frame, once it is known. */
static uint32_t begin_entry(x86_gen *g)
{
    enum { FAR = 1 << 20 };
    for (uint32_t k = 0; k < KEPT; k++)
        GP(g, PUSH, x86_reg(kept_registers[k]));
    GP(g, LEA, x86_reg(ZYDIS_REGISTER_RBX), x86_at(ZYDIS_REGISTER_RDI, X86_BIAS, 8));
    for (uint32_t k = 0; k < X86_FIXED_BUFFERS; k++)
        if (g->fixed_buffer[k] != ~0u)
            GP(g, MOV, x86_reg(x86_fixed_register(k)),
               x86_word(g, X86_WORKSPACE_BUFFERS + 8 * g->fixed_buffer[k], 8));
    GP(g, LEA, x86_reg(ZYDIS_REGISTER_RBP), x86_at(ZYDIS_REGISTER_RBX, FAR, 8));
    uint32_t patch = g->code.bytes.count - 4;
    GP(g, LEA, x86_reg(ZYDIS_REGISTER_R9),
       x86_at(ZYDIS_REGISTER_RBP, -(int64_t)(X86_TEMPORARIES + 1) * g->bytes, 8));
    x86_mask_set(g, x86_active(g), true);
    return patch;
}

static void end_entry(x86_gen *g)
{
    GP0(g, VZEROUPPER);
    for (uint32_t k = KEPT; k > 0; k--)
        GP(g, POP, x86_reg(kept_registers[k - 1]));
    GP0(g, RET);
}

/* esi holds the first invocation, edx their number. */
static void set_invocations(x86_gen *g)
{
    x86_operand word = x86_reg(ZYDIS_REGISTER_XMM0), all = x86_v(g, 0), iota = x86_word(g, g->iota, g->bytes);
    GP(g, VMOVD, word, EDX);
    VEC(g, VPBROADCASTD, all, word);
    VEC(g, VMOVUPS, x86_v(g, 1), iota);
    x86_compare_lanes(g, x86_active(g), IR_U32, X86_LESS, 1, all);
    GP(g, VMOVD, word, ESI);
    VEC(g, VPBROADCASTD, all, word);
    VEC(g, VPADDD, all, all, iota);
    VEC(g, VMOVUPS, x86_temporary(g, X86_TEMPORARIES), all);
}

/* ---- the module ---- */

static uint32_t depth_bytes(x86_gen *g, x86_function *fn)
{
    uint32_t deepest = 0;
    if (fn->depth_bytes)
        return fn->depth_bytes;
    for (uint32_t i = 1; i < fn->f->inst.count; i++) {
        if (!ir_is_call(fn->f->inst.data[i].op))
            continue;
        ir_operands o = ir_call_operands(fn->f, fn->f->inst.data[i]);
        for (uint32_t k = 0; k < o.target_count; k++) {
            x86_function *target = &g->functions[o.targets[k]];
            uint32_t depth = depth_bytes(g, target);
            target->called_in_part = target->called_in_part || o.target_count > 1;
            deepest = depth > deepest ? depth : deepest;
        }
    }
    fn->depth_bytes = fn->frame_bytes + deepest + WORKSPACE_ALIGNMENT;
    return fn->depth_bytes;
}

static void analyse(x86_gen *g)
{
    g->functions = arena_alloc(&g->memory, (g->m->functions.count + 1) * sizeof *g->functions);
    for (uint32_t k = 0; k < g->m->functions.count; k++) {
        x86_function *fn = &g->functions[k];
        const ir_func *f = fn->f = g->m->functions.data[k];
        fn->values = arena_alloc(&g->memory, f->inst.count * sizeof *fn->values);
        fn->regions = arena_alloc(&g->memory, f->inst.count * sizeof *fn->regions);
        fn->group_of = arena_alloc(&g->memory, f->inst.count * sizeof *fn->group_of);
        fn->label = x86_label(&g->code);
        x86_analyse(g, fn);
        if (f == g->m->entry)
            x86_plan_refill(g, fn);
        x86_allocate(g, fn);
    }
}

static uint32_t round_up(uint32_t value, uint32_t to) { return (value + to - 1) / to * to; }

static uint32_t name_bytes(const x86_gen *g)
{
    size_t bytes = 0;
    for (uint32_t k = 0; k < g->m->functions.count; k++)
        bytes += strlen(g->m->functions.data[k]->name) + 1;
    return (uint32_t)bytes;
}

static x86_header generate(x86_gen *g)
{
    x86_function *entry = &g->functions[g->m->entry->index];
    uint32_t depth = depth_bytes(g, entry);
    x86_header h = {.magic = X86_MAGIC, .version = X86_VERSION, .target = g->target, .lanes = g->lanes};
    h.prologue = g->code.bytes.count;
    mark(g, X86_PROLOGUE, 0);
    uint32_t patch[2] = {begin_entry(g)};
    g->in_prologue = true;
    for (uint32_t k = 0; k < g->m->functions.count; k++)
        generate_words(g, &g->functions[k]);
    g->in_prologue = false;
    mark(g, X86_END, 0);
    g->fn = entry;
    if (entry->refill.loop)
        x86_begin_refills(g);
    end_entry(g);
    x86_align(&g->code, CODE_ALIGNMENT);
    h.run = g->code.bytes.count;
    mark(g, X86_RUN, 0);
    patch[1] = begin_entry(g);
    set_invocations(g);
    g->fn = entry;
    if (entry->refill.loop)
        x86_begin_range(g);
    x86_jump(&g->code, ZYDIS_MNEMONIC_CALL, entry->label);
    end_entry(g);
    for (uint32_t k = 0; k < g->m->functions.count; k++)
        generate_function(g, &g->functions[k]);
    h.constant_count = round_up(g->constants.count, 16);
    uint32_t frames =
        round_up(word_place(h.constant_count) + (X86_TEMPORARIES + 1) * g->bytes, WORKSPACE_ALIGNMENT);
    if (g->code.error.code == BL_OK) {
        x86_patch(&g->code, patch[0], frames - X86_BIAS);
        x86_patch(&g->code, patch[1], frames - X86_BIAS);
    }
    x86_link(&g->code);
    h.workspace_bytes = frames + depth;
    h.code_bytes = g->code.bytes.count;
    h.buffer_count = g->m->buffers.count;
    h.uniform_count = g->m->uniform_count;
    h.has_rays = g->has_rays;
    h.refills = entry->refill.loop != 0;
    h.sums = g->sums;
    if (g->sums)
        h.status_buffer = g->options->status_buffer, h.overflow_word = g->options->overflow_word;
    h.function_count = g->m->functions.count, h.name_bytes = name_bytes(g);
    return h;
}

static size_t words_for(uint32_t bytes) { return ((size_t)bytes + 3) / 4; }

/* Where the functions begin, then their names. */
static void write_names(const x86_gen *g, uint32_t *to)
{
    char *name = (char *)(to + g->m->functions.count);
    for (uint32_t k = 0; k < g->m->functions.count; k++) {
        to[k] = g->code.labels.data[g->functions[k].label];
        name = stpcpy(name, g->m->functions.data[k]->name) + 1;
    }
}

static void write(const x86_gen *g, const x86_header *h, x86_code *out)
{
    size_t constants = sizeof *h / 4, code = constants + h->constant_count,
           names = code + words_for(h->code_bytes);
    out->word_count = names + h->function_count + words_for(h->name_bytes);
    out->words = memory_need_zeroed(out->word_count, 4);
    memcpy(out->words, h, sizeof *h);
    memcpy(out->words + constants, g->constants.data, 4 * (size_t)g->constants.count);
    memcpy(out->words + code, g->code.bytes.data, h->code_bytes);
    write_names(g, out->words + names);
}

static bool fits(x86_gen *g)
{
    if (g->m->buffers.count > X86_BUFFERS_MOST || g->m->uniform_count > X86_UNIFORMS_MOST)
        x86_fail(g, "x86: %u buffers and %u words of uniforms; a kernel has at most %d and %d",
                 g->m->buffers.count, g->m->uniform_count, X86_BUFFERS_MOST, X86_UNIFORMS_MOST);
    return g->error.code == BL_OK;
}

uint32_t x86_lanes(x86_target target) { return target == X86_AVX512 ? 16 : 8; }

/* Makes the words, or the listing of their code; the other of `out` and `listing` is NULL. */
static bl_result make(const ir_module *m, const x86_options *options, x86_code *out, text *listing,
                      bl_error *err)
{
    BL_ASSERT(m->entry && options->target != X86_NONE, "a module without entry, or no target");
    x86_gen g = {.m = m, .options = options, .target = options->target, .lanes = x86_lanes(options->target)};
    g.doubles = m->doubles, g.lanes = g.doubles ? g.lanes / 2 : g.lanes;
    g.bytes = 4 * g.lanes, g.slot = g.doubles ? 2 * g.bytes : g.bytes, g.listed = listing != NULL;
    if (fits(&g)) {
        for (uint32_t lane = 0; lane < 16; lane++)
            array_push(&g.constants, lane);
        g.iota = word_place(0);
        choose_buffers(&g);
        find_sums(&g);
        analyse(&g);
        x86_header h = generate(&g);
        if (g.error.code == BL_OK)
            g.error = g.code.error;
        if (g.error.code == BL_OK && out)
            write(&g, &h, out);
        if (g.error.code == BL_OK && listing)
            x86_write_listing(&g, &h, listing);
    }
    bl_error why = g.error;
    for (uint32_t k = 0; g.functions && k < m->functions.count; k++) {
        array_free(&g.functions[k].groups);
        array_free(&g.functions[k].quads);
        array_free(&g.functions[k].kept);
        array_free(&g.functions[k].refill.values);
    }
    array_free(&g.constants);
    array_free(&g.doubles_at);
    array_free(&g.open);
    array_free(&g.marks);
    x86_assembler_free(&g.code);
    arena_free(&g.memory);
    return why.code == BL_OK ? BL_OK : error_set(err, why.code, "%s", why.text);
}

bl_result x86_generate(const ir_module *m, const x86_options *options, x86_code *out, bl_error *err)
{
    *out = (x86_code){0};
    return make(m, options, out, NULL, err);
}

bl_result x86_list(const ir_module *m, const x86_options *options, text *out, bl_error *err)
{
    return make(m, options, NULL, out, err);
}

void x86_code_free(x86_code *code)
{
    memory_free(code->words);
    *code = (x86_code){0};
}
