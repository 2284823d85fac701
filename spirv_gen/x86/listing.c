/* SPDX-License-Identifier: BSD-3-Clause
 * The code of a kernel as text beside the trace that it is made of.
 *
 *     ;; AVX-512, 16 lanes: 1904 bytes of code, ..       what is not of the trace begins with two semicolons
 *     prologue:                                          section
 *     ..
 *     $1:                                                the subroutine of function $1
 *     ; func $1 "shade" (f32) {                          a line of the trace, as ir_print writes it
 *     ;   %4 = mul f32 %1 %3 -> zmm5                     an instruction, and the place of its value
 *        2c0  62f14c48592b          vmulps ..            its code: the offset, the bytes, what they mean
 *     L7:                                                what jumps refer to
 *
 * The code of an instruction follows its line. A line without code belongs to an instruction that needs none:
 * its value is a constant, is computed by the prologue (which shows the line a second time), by another
 * instruction, or by nobody. The places of operands in the workspace and in frames are named at the end of
 * a line. All bytes of the code appear, in order. */
#include "spirv_gen/x86/lanes.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { NO_LABEL = ~0, BYTES_COLUMN = 22, NAME_COLUMN = 84 };

typedef struct bound_label {
    uint32_t at, label;
} bound_label;

typedef struct word_owner { /* the value that the prologue writes to a word; function + 1, 0: none */
    uint32_t function, id;
} word_owner;

typedef struct listing {
    x86_gen *g;
    const x86_header *h;
    text *out;
    ZydisDecoder decoder;
    ZydisFormatter formatter;
    ARRAY(bound_label) labels; /* of jumps, by place */
    uint32_t label, fixup;     /* the next ones */
    uint32_t target;           /* what the instruction that is being written refers to */
    uint32_t *function_of;     /* a label's function + 1; 0: it is none's */
    word_owner *owners;        /* of the words from X86_WORKSPACE_CONSTANTS on */
    const x86_function *fn;    /* whose trace is in `trace` */
    text trace;
    ARRAY(uint32_t) lines; /* where lines of `trace` begin: [0] is the head, [i] that of instruction i */
    bool in_functions;     /* the section is a function's: rbp is its frame */
} listing;

/* ---- names of places ---- */

static void add_buffer(const listing *l, uint32_t buffer, text *out)
{
    if (buffer < l->g->m->buffers.count)
        text_add(out, "@%u \"%s\"", buffer, l->g->m->buffers.data[buffer].name);
}

static void add_constant(const listing *l, uint32_t word, text *out)
{
    float value;
    const word_owner *owner = &l->owners[word];
    uint32_t bits = l->g->constants.data[word];
    memcpy(&value, &bits, sizeof value);
    if (owner->function)
        text_add(out, "%%%u of $%u", owner->id, owner->function - 1);
    else if (bits < 1u << 23 || bits > (uint32_t)-1024)
        text_add(out, "%d", (int32_t)bits);
    else
        text_add(out, "0x%08x, %.9g", bits, (double)value);
}

static void add_word(const listing *l, int64_t at, text *out)
{
    int64_t word = (at - X86_WORKSPACE_CONSTANTS) / 4;
    if (at < 0)
        return;
    if (at < X86_WORKSPACE_UNIFORMS)
        add_buffer(l, (uint32_t)at / 8, out);
    else if (at < X86_WORKSPACE_SIZES)
        text_add(out, "uniform %d", (int)(at - X86_WORKSPACE_UNIFORMS) / 4);
    else if (at >= X86_WORKSPACE_RAYS && at < X86_WORKSPACE_CONSTANTS)
        text_add(out, "x86_rays");
    else if (at == l->g->iota)
        text_add(out, "0, 1, 2, ..");
    else if (word >= 0 && word < l->g->constants.count)
        add_constant(l, (uint32_t)word, out);
}

static void add_slot(const listing *l, int64_t at, text *out)
{
    int64_t bytes = l->g->slot, results = at - l->fn->param_bytes;
    if (at < 0)
        return;
    if (results < 0)
        text_add(out, "parameter %d", (int)(at / bytes));
    else if (results < bytes * l->fn->f->results.count)
        text_add(out, "result %d", (int)(results / bytes));
    else if (at >= l->fn->frame_bytes)
        text_add(out, "the callee's frame + %d", (int)(at - l->fn->frame_bytes));
}

static void add_place(const listing *l, const ZydisDecodedOperandMem *m, text *out)
{
    int64_t at = m->disp.value;
    uint32_t fixed = (uint32_t)m->base - ZYDIS_REGISTER_R10;
    if (m->base == ZYDIS_REGISTER_RBX)
        add_word(l, at + X86_BIAS, out);
    else if (m->base == ZYDIS_REGISTER_RBP && l->in_functions)
        add_slot(l, at, out);
    else if (m->base == ZYDIS_REGISTER_R9 && at == (int64_t)X86_TEMPORARIES * l->g->bytes)
        text_add(out, "invocations");
    else if (m->base == ZYDIS_REGISTER_RDI && at == offsetof(x86_rays, begin))
        text_add(out, "begin");
    else if (m->base == ZYDIS_REGISTER_RDI && at == offsetof(x86_rays, resume))
        text_add(out, "resume");
    else if (fixed < X86_FIXED_BUFFERS)
        add_buffer(l, l->g->fixed_buffer[fixed], out);
}

static void add_label(const listing *l, uint32_t label, text *out)
{
    uint32_t function = l->function_of[label];
    text_add(out, function ? "$%u" : "L%u", function ? function - 1 : label);
}

/* ---- the place of a value, behind its instruction ---- */

static void add_memory(const char *base, int64_t at, text *out)
{
    text_add(out, " -> [%s%c0x%llx]", base, at < 0 ? '-' : '+', (unsigned long long)llabs(at));
}

static void add_value_place(const listing *l, uint32_t id, text *out)
{
    const x86_value *v = &l->fn->values[id];
    char vectors = l->g->target == X86_AVX512 ? 'z' : 'y';
    if (v->place == X86_NOWHERE || v->fusion == X86_UNUSED || !(v->in_register || v->named))
        return;
    if (v->place == X86_WORD)
        add_memory("rbx", (int64_t)v->at - X86_BIAS, out);
    else if (v->in_register && v->place == X86_MASK && l->g->target == X86_AVX512)
        text_add(out, " -> k%u", v->reg);
    else if (v->in_register)
        text_add(out, " -> %cmm%u", vectors, v->reg);
    else if (v->at == X86_GLOBAL_ID)
        add_memory("r9", (int64_t)X86_TEMPORARIES * l->g->bytes, out);
    else
        add_memory("rbp", v->at, out);
}

/* ---- the trace ---- */

/* ir_print_func writes a line for each instruction that is no NOP. */
static void read_trace(listing *l, const x86_function *fn)
{
    if (l->fn == fn)
        return;
    text_free(&l->trace);
    l->fn = fn, l->trace = (text){0}, l->lines.count = 0;
    ir_print_func(fn->f, &l->trace);
    uint32_t at = 0;
    for (uint32_t i = 0; i <= fn->f->inst.count; i++) {
        array_push(&l->lines, at);
        if (i == 0 || i == fn->f->inst.count || fn->f->inst.data[i].op != IR_NOP)
            at += (uint32_t)strcspn(l->trace.data + at, "\n") + 1;
    }
}

static void put_trace_line(listing *l, uint32_t line)
{
    const char *begin = l->trace.data + l->lines.data[line];
    if (line > 0 && line < l->fn->f->inst.count && l->fn->f->inst.data[line].op == IR_NOP)
        return;
    text_add(l->out, "; %.*s", (int)strcspn(begin, "\n"), begin);
    if (line > 0 && line < l->fn->f->inst.count)
        add_value_place(l, line, l->out);
    text_add(l->out, "\n");
}

/* ---- code ---- */

static void put_bytes(listing *l, uint32_t at, uint32_t count)
{
    text_add(l->out, "%6x  ", at);
    for (uint32_t k = 0; k < count; k++)
        text_add(l->out, "%02x", l->g->code.bytes.data[at + k]);
    text_add(l->out, "%*s  ", 2 * count < BYTES_COLUMN ? (int)(BYTES_COLUMN - 2 * count) : 0, "");
}

/* A word of a table of distances. */
static uint32_t put_distance(listing *l, uint32_t at, x86_fixup f)
{
    put_bytes(l, at, 4);
    text_add(l->out, ".long ");
    add_label(l, f.label, l->out);
    text_add(l->out, " - ");
    add_label(l, f.origin, l->out);
    text_add(l->out, "\n");
    return at + 4;
}

/* At the end of a line: the name of the callee, or of the place in memory. */
static void put_name(listing *l, size_t line, const ZydisDecodedInstruction *i, const ZydisDecodedOperand *o)
{
    text name = {0};
    uint32_t function = l->target == (uint32_t)NO_LABEL ? 0 : l->function_of[l->target];
    if (function)
        text_add(&name, "\"%s\"", l->g->functions[function - 1].f->name);
    for (uint32_t k = 0; k < i->operand_count_visible && !name.length; k++)
        if (o[k].type == ZYDIS_OPERAND_TYPE_MEMORY && i->mnemonic != ZYDIS_MNEMONIC_LEA)
            add_place(l, &o[k].mem, &name);
    size_t width = l->out->length - line;
    if (name.length)
        text_add(l->out, "%*s ; %s", width < NAME_COLUMN ? (int)(NAME_COLUMN - width) : 0, "", name.data);
    text_free(&name);
}

/* A jump, a call or a LEA of a label. */
static void put_reference(listing *l, const ZydisDecodedInstruction *i, const ZydisDecodedOperand *o)
{
    bool address = o->type == ZYDIS_OPERAND_TYPE_REGISTER;
    text_add(l->out, "%s ", ZydisMnemonicGetString(i->mnemonic));
    if (address)
        text_add(l->out, "%s, [", ZydisRegisterGetString(o->reg.value));
    add_label(l, l->target, l->out);
    text_add(l->out, address ? "]" : "");
}

static void put_plain(listing *l, uint32_t at, const ZydisDecodedInstruction *i, const ZydisDecodedOperand *o)
{
    char line[256];
    ZyanStatus status = ZydisFormatterFormatInstruction(&l->formatter, i, o, i->operand_count_visible, line,
                                                        sizeof line, at, NULL);
    BL_ASSERT(ZYAN_SUCCESS(status), "the instruction at %x has no text", at);
    text_add(l->out, "%s", line);
}

static uint32_t put_instruction(listing *l, uint32_t at)
{
    ZydisDecodedInstruction i;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    const x86_assembler *code = &l->g->code;
    size_t begin = l->out->length;
    ZyanStatus status =
        ZydisDecoderDecodeFull(&l->decoder, code->bytes.data + at, code->bytes.count - at, &i, operands);
    BL_ASSERT(ZYAN_SUCCESS(status), "the bytes at %x are no instruction", at);
    l->target = (uint32_t)NO_LABEL;
    if (l->fixup < code->fixups.count && code->fixups.data[l->fixup].at + 4 == at + i.length)
        l->target = code->fixups.data[l->fixup++].label;
    put_bytes(l, at, i.length);
    if (l->target != (uint32_t)NO_LABEL)
        put_reference(l, &i, operands);
    else
        put_plain(l, at, &i, operands);
    put_name(l, begin, &i, operands);
    text_add(l->out, "\n");
    return at + i.length;
}

static void put_code(listing *l, uint32_t at, uint32_t end)
{
    const x86_assembler *code = &l->g->code;
    while (at < end) {
        for (; l->label < l->labels.count && l->labels.data[l->label].at <= at; l->label++)
            text_add(l->out, "L%u:\n", l->labels.data[l->label].label);
        const x86_fixup *next = l->fixup < code->fixups.count ? &code->fixups.data[l->fixup] : NULL;
        if (next && next->at == at)
            at = put_distance(l, at, *next), l->fixup++;
        else
            at = put_instruction(l, at);
    }
    BL_ASSERT(at == end, "an instruction at the end of a part goes on to %x, beyond %x", at, end);
}

/* ---- summaries ---- */

typedef struct counts {
    uint32_t registers, memory, words, loads, groups;
} counts;

static void count_function(const x86_function *fn, counts *c)
{
    for (uint32_t i = 1; i < fn->f->inst.count; i++) {
        const x86_value *v = &fn->values[i];
        uint8_t op = fn->f->inst.data[i].op;
        if (v->place == X86_NOWHERE || v->fusion == X86_UNUSED || op == IR_CONST || op == IR_UNIFORM)
            continue;
        c->registers += v->in_register;
        c->memory += v->place != X86_WORD && !v->in_register && v->named;
        c->words += v->place == X86_WORD;
    }
    for (uint32_t k = 0; k < fn->groups.count; k++) {
        uint32_t loads = 0;
        const x86_group *group = &fn->groups.data[k];
        for (uint32_t q = group->quad; q < group->quad + group->quad_count; q++)
            for (uint32_t w = 0; w < 4; w++)
                loads += fn->quads.data[q].id[w] != 0;
        c->loads += loads, c->groups += loads > 0;
    }
}

static void put_counts(listing *l, counts c)
{
    text_add(l->out,
             ";; values: %u in registers, %u in memory, %u computed by the prologue; %u loads in %u groups\n",
             c.registers, c.memory, c.words, c.loads, c.groups);
}

static void put_head(listing *l)
{
    const x86_gen *g = l->g;
    counts all = {0};
    uint32_t most = 0;
    for (uint32_t k = 0; k < g->m->functions.count; k++) {
        count_function(&g->functions[k], &all);
        most = g->functions[k].frame_bytes > most ? g->functions[k].frame_bytes : most;
    }
    text_add(l->out,
             ";; %s, %u lanes: %u bytes of code, %u functions; %u words of constants and of the prologue\n",
             g->target == X86_AVX512 ? "AVX-512" : "AVX2", g->lanes, l->h->code_bytes, g->m->functions.count,
             g->constants.count);
    text_add(l->out, ";; a workspace of %u bytes: %u of them frames, the largest %u\n", l->h->workspace_bytes,
             g->functions[g->m->entry->index].depth_bytes, most);
    put_counts(l, all);
    text_add(l->out, ";; rbx: the workspace + %d, rbp: the frame, r9: temporaries", X86_BIAS);
    for (uint32_t k = 0; k < X86_FIXED_BUFFERS; k++)
        if (g->fixed_buffer[k] != ~0u) {
            text_add(l->out, ", r%u: ", 10 + k);
            add_buffer(l, g->fixed_buffer[k], l->out);
        }
    text_add(l->out, "\n");
}

/* ---- parts ---- */

static uint32_t end_of_function(const listing *l, uint32_t mark)
{
    for (mark++; mark < l->g->marks.count; mark++)
        if (l->g->marks.data[mark].part == X86_FUNCTION)
            return l->g->marks.data[mark].at;
    return l->g->code.bytes.count;
}

static void begin_function(listing *l, uint32_t mark)
{
    const x86_mark *m = &l->g->marks.data[mark];
    const x86_function *fn = &l->g->functions[m->function];
    counts c = {0};
    l->in_functions = true;
    read_trace(l, fn);
    count_function(fn, &c);
    text_add(l->out, "\n$%u:\n", m->function);
    put_trace_line(l, 0);
    text_add(l->out, ";; %u bytes of code, a frame of %u\n", end_of_function(l, mark) - m->at,
             fn->frame_bytes);
    put_counts(l, c);
}

/* What the trace has behind the last instruction: the results, and the brace. */
static void end_function(listing *l)
{
    uint32_t end = l->fn->f->inst.count;
    if (l->fn->f->results.count)
        put_trace_line(l, end);
    text_add(l->out, "; }\n");
}

/* The prologue shows what it computes, under the heads of functions. */
static void begin_instruction(listing *l, const x86_mark *m, bool has_code)
{
    const x86_function *before = l->fn;
    if (!l->in_functions && !has_code)
        return;
    read_trace(l, &l->g->functions[m->function]);
    if (!l->in_functions && l->fn != before)
        put_trace_line(l, 0);
    put_trace_line(l, m->id);
}

static void begin_part(listing *l, uint32_t mark, uint32_t end)
{
    const x86_mark *m = &l->g->marks.data[mark];
    switch ((x86_part)m->part) {
    case X86_PROLOGUE:
        text_add(l->out, "\nprologue:\n");
        break;
    case X86_RUN:
        text_add(l->out, "\nrun:\n");
        break;
    case X86_FUNCTION:
        begin_function(l, mark);
        break;
    case X86_INSTRUCTION:
        begin_instruction(l, m, end > m->at);
        break;
    case X86_END:
        if (l->in_functions)
            end_function(l);
        else
            text_add(l->out, ";; the end of the prologue\n");
        break;
    }
}

/* ---- the whole ---- */

static int by_place(const void *x, const void *y)
{
    const bound_label *a = x, *b = y;
    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    return a->label < b->label ? -1 : a->label > b->label;
}

/* The labels that something refers to, each once. */
static void find_labels(listing *l)
{
    const x86_assembler *code = &l->g->code;
    uint8_t *wanted = arena_alloc(&l->g->memory, code->labels.count + 1);
    for (uint32_t k = 0; k < code->fixups.count; k++) {
        wanted[code->fixups.data[k].label] = 1;
        if (code->fixups.data[k].origin != (uint32_t)X86_NO_ORIGIN)
            wanted[code->fixups.data[k].origin] = 1;
    }
    for (uint32_t k = 0; k < code->labels.count; k++) {
        bound_label b = {.at = code->labels.data[k], .label = k};
        if (wanted[k] && !l->function_of[k])
            array_push(&l->labels, b);
    }
    if (l->labels.count)
        qsort(l->labels.data, l->labels.count, sizeof *l->labels.data, by_place);
}

static void find_owners(listing *l)
{
    for (uint32_t k = 0; k < l->g->m->functions.count; k++) {
        const x86_function *fn = &l->g->functions[k];
        l->function_of[fn->label] = k + 1;
        for (uint32_t i = 1; i < fn->f->inst.count; i++) {
            const x86_value *v = &fn->values[i];
            uint8_t op = fn->f->inst.data[i].op;
            if (v->place == X86_WORD && v->named && op != IR_CONST && op != IR_UNIFORM)
                l->owners[(v->at - X86_WORKSPACE_CONSTANTS) / 4] = (word_owner){.function = k + 1, .id = i};
        }
    }
}

static void prepare_zydis(listing *l)
{
    ZyanStatus status = ZydisDecoderInit(&l->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    if (ZYAN_SUCCESS(status))
        status = ZydisFormatterInit(&l->formatter, ZYDIS_FORMATTER_STYLE_INTEL);
    if (ZYAN_SUCCESS(status))
        status = ZydisFormatterSetProperty(&l->formatter, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
    BL_ASSERT(ZYAN_SUCCESS(status), "Zydis has no formatter");
}

void x86_write_listing(x86_gen *g, const x86_header *h, text *out)
{
    listing l = {.g = g, .h = h, .out = out, .target = (uint32_t)NO_LABEL};
    l.function_of = arena_alloc(&g->memory, (g->code.labels.count + 1) * sizeof *l.function_of);
    l.owners = arena_alloc(&g->memory, (g->constants.count + 1) * sizeof *l.owners);
    prepare_zydis(&l);
    find_owners(&l);
    find_labels(&l);
    put_head(&l);
    for (uint32_t k = 0; k < g->marks.count; k++) {
        uint32_t end = k + 1 < g->marks.count ? g->marks.data[k + 1].at : g->code.bytes.count;
        begin_part(&l, k, end);
        put_code(&l, g->marks.data[k].at, end);
    }
    array_free(&l.labels);
    array_free(&l.lines);
    text_free(&l.trace);
}
