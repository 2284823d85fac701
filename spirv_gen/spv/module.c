/* SPDX-License-Identifier: BSD-3-Clause
 * A SPIR-V module as it grows: one word stream per section, ids handed out in order of emission, and
 * hash-consed types and constants. The five scalar types are declared first, so that asking for one never
 * makes an id; what makes ids is never called twice within one expression, because C leaves the order open
 * and equal traces have to give equal words.
 *
 * Hash-consing: the candidate is appended to SPV_GLOBALS with result id 0 and looked up by its words; if an
 * equal one exists the candidate is cut off again, otherwise it receives the next id. Variables are not
 * interned. Capabilities and extensions are recorded by whoever needs them, once each. */
#include "spirv_gen/spv/module.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { SPV_VERSION_1_5 = 0x00010500, SPV_HEADER_WORDS = 5, SPV_FIRST_TABLE = 256 };

void spv_fail(spv_gen *g, const char *format, ...)
{
    char message[512];
    va_list list;
    if (g->error.code != BL_OK)
        return;
    va_start(list, format);
    vsnprintf(message, sizeof message, format, list);
    va_end(list);
    error_set(&g->error, BL_ERROR_COMPILE, "%s", message);
}

uint32_t spv_id(spv_gen *g) { return ++g->last_id; }

/* ---- words ---- */

static void push_words(spv_stream *s, const uint32_t *words, uint32_t count)
{
    if (count == 0)
        return;
    array_reserve(s, s->count + count);
    memcpy(s->data + s->count, words, count * sizeof *words);
    s->count += count;
}

void spv_emit(spv_gen *g, spv_section section, SpvOp op, const uint32_t *operands, uint32_t count)
{
    spv_stream *s = &g->section[section];
    BL_ASSERT(count < 0xffff, "%u operands of opcode %u", count, (unsigned)op);
    array_push(s, (count + 1) << SpvWordCountShift | (uint32_t)op);
    push_words(s, operands, count);
}

uint32_t spv_emit_value(spv_gen *g, spv_section section, SpvOp op, uint32_t type, const uint32_t *operands,
                        uint32_t count)
{
    spv_stream *s = &g->section[section];
    uint32_t id = spv_id(g);
    BL_ASSERT(count + 2 < 0xffff, "%u operands of opcode %u", count, (unsigned)op);
    BL_ASSERT(type > 0 && type < id, "the type of opcode %u is %%%u", (unsigned)op, type);
    array_push(s, (count + 3) << SpvWordCountShift | (uint32_t)op);
    array_push(s, type);
    array_push(s, id);
    push_words(s, operands, count);
    return id;
}

/* A literal string is zero-terminated UTF-8, low byte first, padded to whole words. */
static void push_string(spv_stream *s, const char *string)
{
    size_t length = strlen(string) + 1;
    for (size_t i = 0; i < length; i += 4) {
        uint32_t word = 0;
        for (size_t k = i; k < length && k < i + 4; k++)
            word |= (uint32_t)(unsigned char)string[k] << (8 * (k - i));
        array_push(s, word);
    }
}

void spv_emit_text(spv_gen *g, spv_section section, SpvOp op, spv_words before, const char *string,
                   spv_words after)
{
    spv_stream *s = &g->section[section];
    uint32_t start = s->count;
    array_push(s, (uint32_t)op);
    push_words(s, before.data, before.count);
    push_string(s, string);
    push_words(s, after.data, after.count);
    BL_ASSERT(s->count - start <= 0xffff, "instruction of %u words", s->count - start);
    s->data[start] |= (s->count - start) << SpvWordCountShift;
}

void spv_name(spv_gen *g, uint32_t id, const char *name)
{
    if (g->options.names && name && *name)
        spv_emit_text(g, SPV_NAMES, SpvOpName, (spv_words){&id, 1}, name, (spv_words){0});
}

/* ---- once-only declarations ---- */

void spv_capability(spv_gen *g, SpvCapability capability)
{
    const spv_stream *s = &g->section[SPV_CAPABILITIES];
    for (uint32_t i = 1; i < s->count; i += 2)
        if (s->data[i] == (uint32_t)capability)
            return;
    SPV_EMIT(g, SPV_CAPABILITIES, SpvOpCapability, (uint32_t)capability);
}

void spv_extension(spv_gen *g, const char *name)
{
    const spv_stream *s = &g->section[SPV_EXTENSIONS];
    for (uint32_t i = 0; i < s->count; i += s->data[i] >> SpvWordCountShift)
        if (strcmp((const char *)(s->data + i + 1), name) == 0)
            return;
    spv_emit_text(g, SPV_EXTENSIONS, SpvOpExtension, (spv_words){0}, name, (spv_words){0});
}

uint32_t spv_glsl(spv_gen *g)
{
    if (g->glsl == 0) {
        g->glsl = spv_id(g);
        spv_emit_text(g, SPV_IMPORTS, SpvOpExtInstImport, (spv_words){&g->glsl, 1}, "GLSL.std.450",
                      (spv_words){0});
    }
    return g->glsl;
}

/* ---- types and constants ---- */

static uint32_t hash_words(const uint32_t *words, uint32_t count)
{
    uint32_t h = 2166136261u; /* FNV-1a over words */
    for (uint32_t i = 0; i < count; i++)
        h = (h ^ words[i]) * 16777619u;
    return h ^ h >> 15;
}

/* Where the result id of an instruction of SPV_GLOBALS is: a constant has its type before it. */
static uint32_t result_word(uint32_t first)
{
    uint32_t op = first & SpvOpCodeMask;
    return op == SpvOpConstant || op == SpvOpConstantTrue || op == SpvOpConstantFalse ? 2 : 1;
}

static bool equal_but_result(const uint32_t *a, const uint32_t *b)
{
    uint32_t count = a[0] >> SpvWordCountShift, result = result_word(a[0]);
    if (a[0] != b[0])
        return false;
    for (uint32_t i = 1; i < count; i++)
        if (i != result && a[i] != b[i])
            return false;
    return true;
}

static void grow_table(spv_gen *g)
{
    uint32_t capacity = g->interned.count ? g->interned.count * 2 : SPV_FIRST_TABLE;
    const spv_stream *s = &g->section[SPV_GLOBALS];
    uint32_t *old = g->interned.data, old_count = g->interned.count;
    memset(&g->interned, 0, sizeof g->interned);
    array_reserve(&g->interned, capacity);
    memset(g->interned.data, 0, capacity * sizeof *g->interned.data);
    g->interned.count = capacity;
    for (uint32_t i = 0; i < old_count; i++) {
        uint32_t words[64], *at = s->data + (old[i] ? old[i] - 1 : 0), count;
        if (old[i] == 0)
            continue;
        count = at[0] >> SpvWordCountShift;
        memcpy(words, at, count * sizeof *words);
        words[result_word(at[0])] = 0;
        uint32_t slot = hash_words(words, count) & (capacity - 1);
        while (g->interned.data[slot])
            slot = (slot + 1) & (capacity - 1);
        g->interned.data[slot] = old[i];
    }
    array_release(old);
}

/* The instruction at `start`, the last of SPV_GLOBALS, has result id 0: finds its equal or gives it an id. */
static uint32_t intern(spv_gen *g, uint32_t start)
{
    spv_stream *s = &g->section[SPV_GLOBALS];
    uint32_t count = s->count - start, result = result_word(s->data[start]), slot;
    BL_ASSERT(count <= 64, "interned instruction of %u words", count);
    BL_ASSERT(result < count && s->data[start + result] == 0, "a candidate of %u words has a result", count);
    if ((g->interned_count + 1) * 2 > g->interned.count)
        grow_table(g);
    slot = hash_words(s->data + start, count) & (g->interned.count - 1);
    for (; g->interned.data[slot]; slot = (slot + 1) & (g->interned.count - 1)) {
        const uint32_t *found = s->data + g->interned.data[slot] - 1;
        if (equal_but_result(found, s->data + start)) {
            s->count = start;
            return found[result];
        }
    }
    g->interned.data[slot] = start + 1;
    g->interned_count++;
    return s->data[start + result] = spv_id(g);
}

uint32_t spv_type_of(spv_gen *g, SpvOp op, const uint32_t *operands, uint32_t count)
{
    spv_stream *s = &g->section[SPV_GLOBALS];
    uint32_t start = s->count;
    array_push(s, (count + 2) << SpvWordCountShift | (uint32_t)op);
    array_push(s, 0u);
    push_words(s, operands, count);
    return intern(g, start);
}

uint32_t spv_type(spv_gen *g, ir_type type)
{
    switch (type) {
    case IR_VOID:
        return spv_type_of(g, SpvOpTypeVoid, NULL, 0);
    case IR_BOOL:
        return spv_type_of(g, SpvOpTypeBool, NULL, 0);
    case IR_I32:
        return spv_type_of(g, SpvOpTypeInt, (const uint32_t[]){32, 1}, 2);
    case IR_U32:
        return spv_type_of(g, SpvOpTypeInt, (const uint32_t[]){32, 0}, 2);
    case IR_F32:
        return spv_type_of(g, SpvOpTypeFloat, (const uint32_t[]){g->m->doubles ? 64 : 32}, 1);
    default:
        BL_ASSERT(false, "type %d", (int)type);
    }
}

uint32_t spv_pointer(spv_gen *g, SpvStorageClass storage, uint32_t type)
{
    BL_ASSERT(type > 0 && type <= g->last_id, "a pointer to type %%%u", type);
    return spv_type_of(g, SpvOpTypePointer, (const uint32_t[]){(uint32_t)storage, type}, 2);
}

/* A float's bits as a double. */
static uint64_t widened(uint32_t bits)
{
    float single;
    uint64_t wide;
    memcpy(&single, &bits, sizeof single);
    const double value = (double)single;
    memcpy(&wide, &value, sizeof wide);
    return wide;
}

uint32_t spv_const(spv_gen *g, ir_type type, uint32_t bits)
{
    spv_stream *s = &g->section[SPV_GLOBALS];
    uint32_t type_id = spv_type(g, type), start = s->count;
    if (type == IR_BOOL) {
        array_push(s, 3u << SpvWordCountShift | (bits ? SpvOpConstantTrue : SpvOpConstantFalse));
        array_push(s, type_id);
        array_push(s, 0u);
    } else if (type == IR_F32 && g->m->doubles) {
        const uint64_t wide = widened(bits);
        array_push(s, 5u << SpvWordCountShift | SpvOpConstant);
        array_push(s, type_id);
        array_push(s, 0u);
        array_push(s, (uint32_t)wide);
        array_push(s, (uint32_t)(wide >> 32));
    } else {
        array_push(s, 4u << SpvWordCountShift | SpvOpConstant);
        array_push(s, type_id);
        array_push(s, 0u);
        array_push(s, bits);
    }
    return intern(g, start);
}

uint32_t spv_global(spv_gen *g, SpvStorageClass storage, uint32_t type)
{
    uint32_t pointer = spv_pointer(g, storage, type);
    uint32_t variable =
        spv_emit_value(g, SPV_GLOBALS, SpvOpVariable, pointer, (const uint32_t[]){(uint32_t)storage}, 1);
    array_push(&g->interface, variable);
    return variable;
}

/* ---- frame of the module ---- */

void spv_module_begin(spv_gen *g)
{
    uint32_t void_type, function_type;
    for (int type = IR_VOID; type < IR_TYPE_COUNT; type++)
        spv_type(g, (ir_type)type);
    spv_float(g);
    spv_capability(g, SpvCapabilityShader);
    if (g->m->doubles)
        spv_capability(g, SpvCapabilityFloat64);
    if (g->options.addressed)
        spv_capability(g, SpvCapabilityPhysicalStorageBufferAddresses);
    SPV_EMIT(g, SPV_MEMORY_MODEL, SpvOpMemoryModel,
             g->options.addressed ? SpvAddressingModelPhysicalStorageBuffer64 : SpvAddressingModelLogical,
             SpvMemoryModelGLSL450);
    void_type = spv_type(g, IR_VOID);
    function_type = spv_type_of(g, SpvOpTypeFunction, &void_type, 1);
    g->main = spv_id(g);
    spv_name(g, g->main, g->m->entry->name);
    SPV_EMIT(g, SPV_FUNCTION, SpvOpFunction, void_type, g->main, SpvFunctionControlMaskNone, function_type);
    g->block = spv_id(g);
    SPV_EMIT(g, SPV_FUNCTION, SpvOpLabel, g->block);
    SPV_EMIT(g, SPV_MODES, SpvOpExecutionMode, g->main, SpvExecutionModeLocalSize, g->options.local_size, 1,
             1);
    if (g->options.signed_zero_inf_nan_preserve) {
        spv_capability(g, SpvCapabilitySignedZeroInfNanPreserve);
        SPV_EMIT(g, SPV_MODES, SpvOpExecutionMode, g->main, SpvExecutionModeSignedZeroInfNanPreserve, 32);
    }
}

bl_result spv_module_end(spv_gen *g, spv_code *out)
{
    const uint32_t header[SPV_HEADER_WORDS] = {SpvMagicNumber, SPV_VERSION_1_5, 0, g->last_id + 1, 0};
    size_t count = SPV_HEADER_WORDS;
    BL_ASSERT(g->regions.count == 0, "%u regions of \"%s\" are open at its end", g->regions.count,
              g->m->entry->name);
    SPV_EMIT(g, SPV_BODY, SpvOpReturn);
    SPV_EMIT(g, SPV_BODY, SpvOpFunctionEnd);
    const uint32_t entry[2] = {SpvExecutionModelGLCompute, g->main};
    spv_emit_text(g, SPV_ENTRY, SpvOpEntryPoint, (spv_words){entry, 2}, "main",
                  (spv_words){g->interface.data, g->interface.count});
    for (int i = 0; i < SPV_SECTION_COUNT; i++)
        count += g->section[i].count;
    out->words = memory_need(count * sizeof *out->words);
    if (out->words == NULL)
        return error_set(&g->error, BL_ERROR_MEMORY, "out of memory for %zu words of SPIR-V", count);
    memcpy(out->words, header, sizeof header);
    out->word_count = SPV_HEADER_WORDS;
    for (int i = 0; i < SPV_SECTION_COUNT; i++) {
        if (g->section[i].count)
            memcpy(out->words + out->word_count, g->section[i].data,
                   g->section[i].count * sizeof *out->words);
        out->word_count += g->section[i].count;
    }
    return BL_OK;
}
