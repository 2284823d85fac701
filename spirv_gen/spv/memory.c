/* SPDX-License-Identifier: BSD-3-Clause
 * Buffers, push constants, the invocation index and local arrays.
 *
 * Buffer i is binding i of set 0, a Block of one runtime array of u32; other types are bit casts of its
 * words, bool is word != 0. Float atomics need a float pointer, reads of neighbouring words (vector_loads.c)
 * one to four words, and logical addressing has no pointer casts: such a binding gets another variable, whose
 * array is of floats or vectors, and all are then decorated Aliased. Atomics are relaxed at device scope. A
 * buffer that spv_options.addressed names is reached through its device address, which is loaded once, at the
 * start of the function, from the two words at its binding and cast to a pointer as a pair (no device here
 * needs 64-bit integers for it).
 *
 * With spv_options.volatile_memory, loads and stores of a buffer that a kernel does both of are Volatile. An
 * invocation must see what it has stored itself. NVIDIA's driver (580.159) does not keep to that in the
 * kernel of sampling tables, which changes words in a loop and adds them up in another: on an H100 sums were
 * off until these accesses were Volatile.
 *
 * Push constants are a Block of u32 members. Everything is declared when first used. */
#include "spirv_gen/spv/module.h"

enum { MAX_PUSH_WORDS = 32, MAX_GROUPS = 65535 /* per dimension of a dispatch: gpu.h, gpu_batch_dispatch */ };

/* ---- words and values ---- */

static uint32_t from_word(spv_gen *g, spv_section section, ir_type type, uint32_t word)
{
    uint32_t operands[2] = {word, 0};
    if (type == IR_U32)
        return word;
    if (type == IR_F32 && g->m->doubles)
        return spv_double_of_word(g, section, word);
    if (type != IR_BOOL)
        return spv_emit_value(g, section, SpvOpBitcast, spv_type(g, type), operands, 1);
    operands[1] = spv_u32(g, 0);
    return spv_emit_value(g, section, SpvOpINotEqual, spv_type(g, type), operands, 2);
}

static uint32_t to_word(spv_gen *g, ir_type type, uint32_t value)
{
    if (type == IR_U32)
        return value;
    if (type == IR_F32 && g->m->doubles)
        return spv_word_of_double(g, value);
    if (type != IR_BOOL)
        return SPV_VALUE(g, SpvOpBitcast, spv_type(g, IR_U32), value);
    uint32_t one = spv_u32(g, 1), zero = spv_u32(g, 0);
    return SPV_VALUE(g, SpvOpSelect, spv_type(g, IR_U32), value, one, zero);
}

/* ---- uniforms and the invocation index, loaded at the start of the function ---- */

static uint32_t push_block(spv_gen *g)
{
    uint32_t members[MAX_PUSH_WORDS], count = g->m->uniform_count, type;
    BL_ASSERT(count > 0 && count <= MAX_PUSH_WORDS, "a block of %u push-constant words", count);
    for (uint32_t i = 0; i < count; i++)
        members[i] = spv_type(g, IR_U32);
    type = spv_type_of(g, SpvOpTypeStruct, members, count);
    SPV_EMIT(g, SPV_DECORATIONS, SpvOpDecorate, type, SpvDecorationBlock);
    for (uint32_t i = 0; i < count; i++)
        SPV_EMIT(g, SPV_DECORATIONS, SpvOpMemberDecorate, type, i, SpvDecorationOffset, 4 * i);
    return spv_global(g, SpvStorageClassPushConstant, type);
}

static uint32_t push_word(spv_gen *g, uint32_t word)
{
    uint32_t pointer = spv_pointer(g, SpvStorageClassPushConstant, spv_type(g, IR_U32)), at[2];
    if (g->push == 0)
        g->push = push_block(g);
    at[0] = g->push;
    at[1] = spv_u32(g, word);
    pointer = spv_emit_value(g, SPV_PREAMBLE, SpvOpAccessChain, pointer, at, 2);
    return spv_emit_value(g, SPV_PREAMBLE, SpvOpLoad, spv_type(g, IR_U32), &pointer, 1);
}

uint32_t spv_uniform(spv_gen *g, ir_type type, uint32_t word)
{
    if (word >= g->m->uniform_count || g->m->uniform_count > MAX_PUSH_WORDS) {
        spv_fail(g, "spv: uniform %u of %u push-constant words; a kernel has at most %d", word,
                 g->m->uniform_count, MAX_PUSH_WORDS);
        return 1;
    }
    if (g->uniforms[word][IR_U32] == 0)
        g->uniforms[word][IR_U32] = push_word(g, word);
    if (g->uniforms[word][type] == 0)
        g->uniforms[word][type] = from_word(g, SPV_PREAMBLE, type, g->uniforms[word][IR_U32]);
    return g->uniforms[word][type];
}

/* x + y * (groups per row * local size); z is not used. */
uint32_t spv_global_id(spv_gen *g)
{
    uint32_t word = spv_type(g, IR_U32), vector, input, loaded, x, y, row;
    if (g->global_id)
        return g->global_id;
    vector = spv_type_of(g, SpvOpTypeVector, (const uint32_t[]){word, 3}, 2);
    input = spv_global(g, SpvStorageClassInput, vector);
    SPV_EMIT(g, SPV_DECORATIONS, SpvOpDecorate, input, SpvDecorationBuiltIn, SpvBuiltInGlobalInvocationId);
    row = spv_u32(g, MAX_GROUPS * g->options.local_size);
    loaded = spv_emit_value(g, SPV_PREAMBLE, SpvOpLoad, vector, &input, 1);
    x = spv_emit_value(g, SPV_PREAMBLE, SpvOpCompositeExtract, word, (const uint32_t[]){loaded, 0}, 2);
    y = spv_emit_value(g, SPV_PREAMBLE, SpvOpCompositeExtract, word, (const uint32_t[]){loaded, 1}, 2);
    y = spv_emit_value(g, SPV_PREAMBLE, SpvOpIMul, word, (const uint32_t[]){y, row}, 2);
    g->global_id = spv_emit_value(g, SPV_PREAMBLE, SpvOpIAdd, word, (const uint32_t[]){x, y}, 2);
    spv_name(g, g->global_id, "global_id");
    return g->global_id;
}

/* ---- buffers ---- */

static uint32_t element_type(spv_gen *g, spv_view view)
{
    uint32_t word = view == SPV_REALS ? spv_float(g) : spv_type(g, IR_U32);
    return view == SPV_QUADS ? spv_type_of(g, SpvOpTypeVector, (const uint32_t[]){word, 4}, 2) : word;
}

static uint32_t element_bytes(spv_view view) { return view == SPV_QUADS ? 16 : 4; }

static uint32_t block_type(spv_gen *g, spv_view view)
{
    uint32_t *cached = &g->block_type[view], array;
    if (*cached)
        return *cached;
    array = element_type(g, view);
    array = spv_type_of(g, SpvOpTypeRuntimeArray, &array, 1);
    *cached = spv_type_of(g, SpvOpTypeStruct, &array, 1);
    SPV_EMIT(g, SPV_DECORATIONS, SpvOpDecorate, array, SpvDecorationArrayStride, element_bytes(view));
    SPV_EMIT(g, SPV_DECORATIONS, SpvOpDecorate, *cached, SpvDecorationBlock);
    SPV_EMIT(g, SPV_DECORATIONS, SpvOpMemberDecorate, *cached, 0, SpvDecorationOffset, 0);
    return *cached;
}

static uint32_t declare_view(spv_gen *g, uint32_t buffer, spv_view view)
{
    uint32_t variable = spv_global(g, SpvStorageClassStorageBuffer, block_type(g, view));
    SPV_EMIT(g, SPV_DECORATIONS, SpvOpDecorate, variable, SpvDecorationDescriptorSet, 0);
    SPV_EMIT(g, SPV_DECORATIONS, SpvOpDecorate, variable, SpvDecorationBinding, buffer);
    if (g->m->buffers.data[buffer].constant)
        SPV_EMIT(g, SPV_DECORATIONS, SpvOpDecorate, variable, SpvDecorationNonWritable);
    spv_name(g, variable, g->m->buffers.data[buffer].name);
    return variable;
}

static bool is_addressed(const spv_gen *g, uint32_t buffer)
{
    return buffer < 32 && g->options.addressed >> buffer & 1;
}

/* uvec2: the words at the binding. */
static uint32_t load_address(spv_gen *g, uint32_t buffer)
{
    uint32_t word = spv_type(g, IR_U32), pointer = spv_pointer(g, SpvStorageClassStorageBuffer, word),
             halves[2], member = spv_u32(g, 0);
    uint32_t view = declare_view(g, buffer, SPV_WORDS),
             pair = spv_type_of(g, SpvOpTypeVector, (const uint32_t[]){word, 2}, 2);
    for (uint32_t k = 0; k < 2; k++) {
        const uint32_t at[3] = {view, member, spv_u32(g, k)};
        uint32_t half = spv_emit_value(g, SPV_PREAMBLE, SpvOpAccessChain, pointer, at, 3);
        halves[k] = spv_emit_value(g, SPV_PREAMBLE, SpvOpLoad, word, &half, 1);
    }
    return spv_emit_value(g, SPV_PREAMBLE, SpvOpCompositeConstruct, pair, halves, 2);
}

/* The buffer as a pointer to its Block. */
static uint32_t addressed_view(spv_gen *g, uint32_t buffer, spv_view view)
{
    uint32_t *address = &g->bindings[buffer].address;
    if (*address == 0)
        *address = load_address(g, buffer);
    uint32_t type = spv_pointer(g, SpvStorageClassPhysicalStorageBuffer, block_type(g, view));
    return spv_emit_value(g, SPV_PREAMBLE, SpvOpBitcast, type, address, 1);
}

/* Finds what the kernel loads from and stores to. */
void spv_memory_begin(spv_gen *g)
{
    for (uint32_t k = 0; k < g->m->functions.count && g->options.volatile_memory; k++) {
        const ir_func *f = g->m->functions.data[k];
        for (uint32_t id = 1; id < f->inst.count; id++) {
            ir_inst i = f->inst.data[id];
            if (i.op == IR_LOAD || i.op == IR_DLOAD)
                g->bindings[i.b].loaded = true;
            else if (i.op == IR_STORE)
                g->bindings[i.b].stored = true;
        }
    }
}

/* Memory operands of a load or store. Returns their number. */
static uint32_t memory_operands(const spv_gen *g, uint32_t buffer, spv_view view, uint32_t operands[2])
{
    const spv_binding *b = &g->bindings[buffer];
    bool aligned = is_addressed(g, buffer), is_volatile = b->loaded && b->stored;
    operands[0] =
        (aligned ? SpvMemoryAccessAlignedMask : 0) | (is_volatile ? SpvMemoryAccessVolatileMask : 0);
    operands[1] = element_bytes(view);
    return operands[0] == 0 ? 0 : aligned ? 2 : 1;
}

static uint32_t pointer_to(spv_gen *g, uint32_t buffer, uint32_t index, spv_view view)
{
    BL_ASSERT(buffer < g->m->buffers.count, "buffer %u of %u", buffer, g->m->buffers.count);
    bool addressed = is_addressed(g, buffer);
    SpvStorageClass storage = addressed ? SpvStorageClassPhysicalStorageBuffer : SpvStorageClassStorageBuffer;
    uint32_t *seen = &g->bindings[buffer].view[view], type = spv_pointer(g, storage, element_type(g, view)),
             member = spv_u32(g, 0);
    if (*seen == 0)
        *seen = addressed ? addressed_view(g, buffer, view) : declare_view(g, buffer, view);
    return SPV_VALUE(g, SpvOpAccessChain, type, *seen, member, index);
}

uint32_t spv_load_element(spv_gen *g, uint32_t buffer, uint32_t index, spv_view view)
{
    uint32_t operands[3] = {pointer_to(g, buffer, index, view)}, type = element_type(g, view);
    uint32_t count = memory_operands(g, buffer, view, operands + 1);
    return spv_emit_value(g, SPV_BODY, SpvOpLoad, type, operands, 1 + count);
}

uint32_t spv_load_word(spv_gen *g, uint32_t buffer, uint32_t index)
{
    return spv_load_element(g, buffer, index, SPV_WORDS);
}

static uint32_t element_pointer(spv_gen *g, spv_frame *frame, ir_inst inst, spv_view view)
{
    return pointer_to(g, inst.b, spv_operand(g, frame, inst.a), view);
}

uint32_t spv_half_length(spv_gen *g, uint32_t buffer)
{
    spv_binding *b = &g->bindings[buffer];
    uint32_t word = spv_type(g, IR_U32), one = spv_u32(g, 1);
    if (is_addressed(g, buffer))
        spv_fail(g, "spv: buffer \"%s\" of doubles is larger than a binding of the device reaches",
                 g->m->buffers.data[buffer].name);
    if (b->half || g->error.code != BL_OK)
        return b->half ? b->half : one;
    if (b->view[SPV_WORDS] == 0)
        b->view[SPV_WORDS] = declare_view(g, buffer, SPV_WORDS);
    const uint32_t array[2] = {b->view[SPV_WORDS], 0};
    uint32_t length = spv_emit_value(g, SPV_PREAMBLE, SpvOpArrayLength, word, array, 2);
    b->half =
        spv_emit_value(g, SPV_PREAMBLE, SpvOpShiftRightLogical, word, (const uint32_t[]){length, one}, 2);
    return b->half;
}

static uint32_t load_pair(spv_gen *g, uint32_t buffer, uint32_t index)
{
    uint32_t word = spv_load_word(g, buffer, index), at = spv_rest_index(g, buffer, index);
    return spv_double_of_pair(g, word, spv_load_word(g, buffer, at));
}

void spv_lower_load(spv_gen *g, spv_frame *frame, uint32_t id, ir_inst inst)
{
    uint32_t index = spv_operand(g, frame, inst.a);
    bool pair = spv_is_pair(g, inst.b, (ir_type)inst.type);
    uint32_t word = pair ? 0 : spv_vector_word(g, frame, id, index);
    if (word == 0 && !pair)
        word = spv_load_word(g, inst.b, index);
    frame->id[id] = pair ? load_pair(g, inst.b, index) : from_word(g, SPV_BODY, (ir_type)inst.type, word);
    spv_name(g, frame->id[id], g->m->buffers.data[inst.b].name);
}

static void store_word(spv_gen *g, uint32_t buffer, uint32_t index, uint32_t word)
{
    uint32_t operands[4] = {pointer_to(g, buffer, index, SPV_WORDS), word};
    spv_emit(g, SPV_BODY, SpvOpStore, operands, 2 + memory_operands(g, buffer, SPV_WORDS, operands + 2));
}

void spv_lower_store(spv_gen *g, spv_frame *frame, uint32_t id, ir_inst inst)
{
    ir_type type = ir_type_of(frame->f, (ir_ref){inst.c});
    uint32_t value = spv_operand(g, frame, inst.c), word = to_word(g, type, value);
    uint32_t index = spv_operand(g, frame, inst.a);
    (void)id;
    store_word(g, inst.b, index, word);
    if (!spv_is_pair(g, inst.b, type))
        return;
    uint32_t rest = spv_rest_word(g, value), at = spv_rest_index(g, inst.b, index);
    store_word(g, inst.b, at, rest);
}

void spv_lower_atomic_add(spv_gen *g, spv_frame *frame, uint32_t id, ir_inst inst)
{
    ir_type type = (ir_type)inst.type;
    uint32_t value = spv_operand(g, frame, inst.c),
             pointer = element_pointer(g, frame, inst, type == IR_F32 ? SPV_REALS : SPV_WORDS);
    uint32_t scope = spv_u32(g, SpvScopeDevice), relaxed = spv_u32(g, SpvMemorySemanticsMaskNone);
    if (type == IR_F32) {
        spv_capability(g, SpvCapabilityAtomicFloat32AddEXT);
        spv_extension(g, "SPV_EXT_shader_atomic_float_add");
    }
    if (type == IR_F32 && g->m->doubles) { /* floats, as memory holds them */
        uint32_t single = SPV_VALUE(g, SpvOpFConvert, spv_float(g), value);
        uint32_t old = SPV_VALUE(g, SpvOpAtomicFAddEXT, spv_float(g), pointer, scope, relaxed, single);
        frame->id[id] = SPV_VALUE(g, SpvOpFConvert, spv_type(g, IR_F32), old);
        return;
    }
    frame->id[id] = SPV_VALUE(g, type == IR_F32 ? SpvOpAtomicFAddEXT : SpvOpAtomicIAdd, spv_type(g, type),
                              pointer, scope, relaxed, value);
}

void spv_lower_atomic_cas(spv_gen *g, spv_frame *frame, uint32_t id, ir_inst inst)
{
    const uint32_t *refs = frame->f->pool.data + inst.c;
    uint32_t expected = spv_operand(g, frame, refs[0]), value = spv_operand(g, frame, refs[1]);
    uint32_t pointer = element_pointer(g, frame, inst, SPV_WORDS);
    uint32_t scope = spv_u32(g, SpvScopeDevice), relaxed = spv_u32(g, SpvMemorySemanticsMaskNone);
    frame->id[id] = SPV_VALUE(g, SpvOpAtomicCompareExchange, spv_type(g, IR_U32), pointer, scope, relaxed,
                              relaxed, value, expected);
}

void spv_memory_end(spv_gen *g)
{
    for (uint32_t i = 0; i < g->m->buffers.count; i++) {
        const uint32_t *view = g->bindings[i].view;
        bool several = (view[SPV_WORDS] != 0) + (view[SPV_REALS] != 0) + (view[SPV_QUADS] != 0) > 1;
        for (int k = 0; k < SPV_VIEW_COUNT && several && !is_addressed(g, i); k++)
            if (view[k])
                SPV_EMIT(g, SPV_DECORATIONS, SpvOpDecorate, view[k], SpvDecorationAliased);
    }
}

/* ---- local arrays: a function has one variable per LOCAL, whatever the number of places it is inlined at,
 * because contents do not outlive it and it is never active twice ---- */

static bool is_parking(const ir_func *f, uint32_t local)
{
    return f->inst.data[local].op == IR_LOCAL && (f->inst.data[local].flags & IR_PARKED);
}

/* As many elements as the largest parking of all functions has. */
static uint32_t parking_elements(const ir_module *m)
{
    uint32_t most = 0;
    for (uint32_t k = 0; k < m->functions.count; k++)
        for (uint32_t id = 1; id < m->functions.data[k]->inst.count; id++)
            if (is_parking(m->functions.data[k], id) && m->functions.data[k]->inst.data[id].a > most)
                most = m->functions.data[k]->inst.data[id].a;
    return most;
}

/* [element][lane], so that lanes of a subgroup access neighbouring words. */
static uint32_t parking(spv_gen *g)
{
    if (g->parking)
        return g->parking;
    uint32_t word = spv_type(g, IR_U32), lanes = spv_u32(g, g->options.local_size),
             count = spv_u32(g, parking_elements(g->m)),
             row = spv_type_of(g, SpvOpTypeArray, (const uint32_t[]){word, lanes}, 2),
             rows = spv_type_of(g, SpvOpTypeArray, (const uint32_t[]){row, count}, 2);
    g->parking = spv_global(g, SpvStorageClassWorkgroup, rows);
    spv_name(g, g->parking, "parked");
    uint32_t lane = spv_global(g, SpvStorageClassInput, word);
    SPV_EMIT(g, SPV_DECORATIONS, SpvOpDecorate, lane, SpvDecorationBuiltIn, SpvBuiltInLocalInvocationIndex);
    g->lane = spv_emit_value(g, SPV_PREAMBLE, SpvOpLoad, word, &lane, 1);
    return g->parking;
}

void spv_lower_local(spv_gen *g, spv_frame *frame, uint32_t id, ir_inst inst)
{
    const ir_func *f = frame->f;
    uint32_t **variables = &g->locals[f->index], array[2];
    if (is_parking(f, id)) {
        frame->id[id] = parking(g);
        return;
    }
    if (inst.a == 0) {
        spv_fail(g, "spv: function \"%s\": %%%u is a local array of no elements", f->name, id);
        return;
    }
    if (*variables == NULL)
        *variables = arena_alloc(&g->arena, f->inst.count * sizeof **variables);
    if ((*variables)[id] == 0) {
        const uint32_t storage = SpvStorageClassFunction;
        array[0] = spv_type(g, (ir_type)inst.type);
        array[1] = spv_u32(g, inst.a);
        uint32_t pointer = spv_pointer(g, SpvStorageClassFunction, spv_type_of(g, SpvOpTypeArray, array, 2));
        (*variables)[id] = spv_emit_value(g, SPV_VARIABLES, SpvOpVariable, pointer, &storage, 1);
        spv_name(g, (*variables)[id], "local");
    }
    frame->id[id] = (*variables)[id];
}

static uint32_t local_pointer(spv_gen *g, spv_frame *frame, ir_inst inst)
{
    BL_ASSERT(frame->f->inst.data[inst.a].op == IR_LOCAL, "%%%u is no local array", inst.a);
    ir_type element = ir_type_of(frame->f, (ir_ref){inst.a});
    bool parked = is_parking(frame->f, inst.a);
    uint32_t type =
        spv_pointer(g, parked ? SpvStorageClassWorkgroup : SpvStorageClassFunction, spv_type(g, element));
    uint32_t variable = spv_operand(g, frame, inst.a), index = spv_operand(g, frame, inst.b);
    if (parked)
        return SPV_VALUE(g, SpvOpAccessChain, type, variable, index, g->lane);
    return SPV_VALUE(g, SpvOpAccessChain, type, variable, index);
}

void spv_lower_lload(spv_gen *g, spv_frame *frame, uint32_t id, ir_inst inst)
{
    uint32_t operands[2] = {local_pointer(g, frame, inst), SpvMemoryAccessVolatileMask};
    uint32_t count = is_parking(frame->f, inst.a) ? 2 : 1;
    frame->id[id] = spv_emit_value(g, SPV_BODY, SpvOpLoad, spv_type(g, (ir_type)inst.type), operands, count);
}

void spv_lower_lstore(spv_gen *g, spv_frame *frame, uint32_t id, ir_inst inst)
{
    uint32_t value = spv_operand(g, frame, inst.c);
    (void)id;
    uint32_t operands[3] = {local_pointer(g, frame, inst), value, SpvMemoryAccessVolatileMask};
    spv_emit(g, SPV_BODY, SpvOpStore, operands, is_parking(frame->f, inst.a) ? 3 : 2);
}
