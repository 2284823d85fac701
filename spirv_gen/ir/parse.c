/* SPDX-License-Identifier: BSD-3-Clause
 * Text to trace; print.c describes the text. The instructions are appended as they stand, without folding or
 * merging, so that a text case can hold any trace, and the module is verified at the end.
 *
 * Names may be any numbers and are resolved at the end of each function: an operand is first stored as a
 * fixup. Besides what print writes, constants may be decimal (f32 `1.5`, i32 `-3`, bool `true`), and `;` and
 * `#` start comments. The source is not trusted: every count is limited before memory is taken (internal.h),
 * every failure names line and token. */
#include "spirv_gen/ir/internal.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

typedef struct token {
    const char *text;
    size_t length;
    uint32_t line;
} token;

typedef struct fixup {
    uint32_t label, line;
    uint32_t at;   /* instruction, pool entry or result */
    uint8_t where; /* 0, 1, 2: operand a, b, c; then: */
} fixup;
enum { FIX_POOL = 3, FIX_RESULT = 4 };

typedef struct parser {
    const char *cursor;
    uint32_t line;
    token now; /* the token that is looked at; length 0 at the end */
    ir_module *m;
    ir_func *f;
    ARRAY(uint32_t) labels;  /* instruction by label, 0: none */
    ARRAY(uint32_t) defined; /* labels of this function */
    ARRAY(fixup) fixups;
    ARRAY(uint32_t) regions; /* open regions */
    uint32_t total;          /* instructions of the module */
    bl_error *err;
    bool failed;
} parser;

static bool fail_at(parser *p, uint32_t line, const char *format, ...) BL_PRINTF(3, 4);
static bool fail_at(parser *p, uint32_t line, const char *format, ...)
{
    if (p->failed)
        return false;
    p->failed = true;
    char detail[512];
    va_list args;
    va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    error_set(p->err, BL_ERROR_FORMAT, "trace text, line %u: %s", line, detail);
    return false;
}

/* Prefixes the token that is looked at. */
static bool fail(parser *p, const char *problem)
{
    int length = p->now.length < 40 ? (int)p->now.length : 40;
    if (length == 0)
        return fail_at(p, p->line, "at the end: %s", problem);
    return fail_at(p, p->now.line, "at '%.*s': %s", length, p->now.text, problem);
}

/* ---- tokens ---- */

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '+' || c == '-';
}

static void skip_space(parser *p)
{
    for (;; p->cursor++) {
        if (*p->cursor == ';' || *p->cursor == '#')
            while (*p->cursor && *p->cursor != '\n')
                p->cursor++;
        if (!is_space(*p->cursor))
            return;
        p->line += *p->cursor == '\n';
    }
}

static void next(parser *p)
{
    skip_space(p);
    const char *start = p->cursor;
    p->now = (token){.text = start, .line = p->line};
    if (*start == '"') {
        p->cursor++;
        while (*p->cursor && *p->cursor != '"' && *p->cursor != '\n')
            p->cursor++;
        p->cursor += *p->cursor == '"';
    } else if (is_word(*start) || *start == '%' || *start == '@' || *start == '$' || *start == '!') {
        p->cursor++;
        while (is_word(*p->cursor))
            p->cursor++;
    } else if (*start) {
        p->cursor++;
    }
    p->now.length = (size_t)(p->cursor - start);
}

static bool at_end(const parser *p) { return p->now.length == 0; }

static bool looking_at(const parser *p, const char *word)
{
    return p->now.length == strlen(word) && memcmp(p->now.text, word, p->now.length) == 0;
}

static bool accept(parser *p, const char *word)
{
    if (p->failed || !looking_at(p, word))
        return false;
    next(p);
    return true;
}

static bool expect(parser *p, const char *word)
{
    char problem[64];
    snprintf(problem, sizeof problem, "expected %s", word);
    return accept(p, word) || fail(p, problem);
}

/* Unsigned number in the token after `skip` characters: decimal or 0x.. */
static bool token_number(parser *p, size_t skip, uint32_t limit, uint32_t *out)
{
    const char *c = p->now.text + skip, *end = p->now.text + p->now.length;
    bool hex = end - c > 2 && c[0] == '0' && c[1] == 'x';
    uint64_t value = 0;
    c += hex ? 2 : 0;
    if (c >= end)
        return fail(p, "expected a number");
    for (; c < end; c++) {
        unsigned digit = *c >= '0' && *c <= '9'   ? (unsigned)(*c - '0')
                         : *c >= 'a' && *c <= 'f' ? (unsigned)(*c - 'a') + 10u
                                                  : 99u;
        if (digit >= (hex ? 16u : 10u))
            return fail(p, "expected a number");
        value = value * (hex ? 16u : 10u) + digit;
        if (value > limit)
            return fail(p, "the number is too large");
    }
    *out = (uint32_t)value;
    return true;
}

static bool number(parser *p, uint32_t limit, uint32_t *out)
{
    if (p->failed || !token_number(p, 0, limit, out))
        return false;
    next(p);
    return true;
}

/* %n, @n, $n, !n */
static bool sigil(parser *p, char mark, uint32_t limit, uint32_t *out)
{
    if (p->failed)
        return false;
    if (at_end(p) || p->now.text[0] != mark) {
        char problem[32];
        snprintf(problem, sizeof problem, "expected %c and a number", mark);
        return fail(p, problem);
    }
    if (!token_number(p, 1, limit, out))
        return false;
    next(p);
    return true;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A quoted string with \xx escapes, into the module's arena. The bound is of what is meant, not of how it is
 * written. */
static bool string(parser *p, char **out)
{
    token t = p->now;
    if (p->failed)
        return false;
    if (t.length < 2 || t.text[0] != '"' || t.text[t.length - 1] != '"')
        return fail(p, "expected a \"name\"");
    char *s = *out = arena_alloc(&p->m->arena, t.length);
    for (size_t k = 1; k + 1 < t.length; k++) {
        char c = t.text[k];
        if (c == '\\') {
            int high = k + 3 < t.length ? hex_digit(t.text[k + 1]) : -1,
                low = high >= 0 ? hex_digit(t.text[k + 2]) : -1;
            if (low < 0 || high + low == 0)
                return fail(p, "a backslash wants two hexadecimal digits");
            c = (char)(high * 16 + low);
            k += 2;
        }
        *s++ = c;
    }
    if (s - *out > IR_MAX_NAME - 2)
        return fail_at(p, t.line, "a name has at most %d characters", IR_MAX_NAME - 2);
    next(p);
    return true;
}

/* Returns whether the token is a type's name; VOID is none. */
static bool accept_type(parser *p, uint8_t *type)
{
    for (uint8_t t = IR_BOOL; t < IR_TYPE_COUNT; t++)
        if (accept(p, ir_type_names[t])) {
            *type = t;
            return true;
        }
    return false;
}

/* ---- operands ---- */

static bool add_fixup(parser *p, uint8_t where, uint32_t at)
{
    uint32_t label, line = p->now.line;
    if (!sigil(p, '%', IR_MAX_LABEL, &label))
        return false;
    array_push(&p->fixups, ((fixup){.label = label, .line = line, .at = at, .where = where}));
    return true;
}

static bool real_literal(parser *p, uint32_t *bits)
{
    char copy[64], *end;
    if (p->now.length >= sizeof copy)
        return fail(p, "the number is too long");
    memcpy(copy, p->now.text, p->now.length);
    copy[p->now.length] = 0;
    float value = strtof(copy, &end);
    if (end == copy || *end || !isfinite(value))
        return fail(p, "expected a number");
    memcpy(bits, &value, sizeof *bits);
    next(p);
    return true;
}

static bool const_bits(parser *p, uint8_t type, uint32_t *bits)
{
    bool hex = p->now.length > 2 && p->now.text[0] == '0' && p->now.text[1] == 'x';
    if (type == IR_BOOL && (looking_at(p, "true") || looking_at(p, "false"))) {
        *bits = looking_at(p, "true");
        next(p);
        return true;
    }
    if (type == IR_F32 && !hex)
        return real_literal(p, bits);
    if (type != IR_I32 || at_end(p) || p->now.text[0] != '-')
        return number(p, UINT32_MAX, bits);
    if (!token_number(p, 1, 2147483648u, bits))
        return false;
    *bits = 0u - *bits;
    next(p);
    return true;
}

static bool pool_refs(parser *p, uint32_t *count)
{
    if (!expect(p, "("))
        return false;
    for (*count = 0; !accept(p, ")"); ++*count) {
        if (*count >= IR_MAX_OPERANDS)
            return fail(p, "too many operands");
        if (!add_fixup(p, FIX_POOL, p->f->pool.count))
            return false;
        array_push(&p->f->pool, 0u);
    }
    return true;
}

static bool pool_operands(parser *p, ir_inst *i)
{
    uint32_t count, start = p->f->pool.count;
    if (i->op == IR_ATOMIC_CAS) {
        i->c = start;
        return pool_refs(p, &count) && (count == 2 || fail(p, "expected (%expected %new) before this"));
    }
    i->b = start;
    if (!expect(p, "["))
        return false;
    array_push(&p->f->pool, 0u);
    while (!accept(p, "]")) {
        uint32_t target;
        if (p->f->pool.data[start] >= IR_MAX_OPERANDS)
            return fail(p, "too many targets");
        if (!sigil(p, '$', IR_MAX_FUNCTIONS - 1, &target))
            return false;
        array_push(&p->f->pool, target);
        p->f->pool.data[start]++;
    }
    uint32_t size = p->f->pool.count;
    array_push(&p->f->pool, 0u);
    if (!pool_refs(p, &count))
        return false;
    p->f->pool.data[size] = count;
    return true;
}

static bool operand(parser *p, ir_inst *i, uint32_t id, uint8_t slot)
{
    uint32_t *value = slot == 0 ? &i->a : slot == 1 ? &i->b : &i->c;
    switch (ir_op_table[i->op].kind[slot]) {
    case IR_KIND_REF:
        return add_fixup(p, slot, id);
    case IR_KIND_POOL:
        return pool_operands(p, i);
    case IR_KIND_NONE:
        return true;
    default:
        break;
    }
    switch (ir_imm_kind((ir_op)i->op, slot)) {
    case IR_IMM_LABEL:
        return add_fixup(p, slot, id);
    case IR_IMM_BUFFER:
        return sigil(p, '@', IR_MAX_BUFFERS - 1, value);
    case IR_IMM_BITS:
        return const_bits(p, i->type, value);
    default:
        return number(p, i->op == IR_UNIFORM ? IR_MAX_UNIFORMS - 1 : IR_MAX_LOCAL, value);
    }
}

/* ---- instructions ---- */

static bool define(parser *p, uint32_t label, uint32_t id)
{
    static const uint32_t none = 0;
    while (p->labels.count <= label)
        array_push(&p->labels, none);
    if (p->labels.data[label])
        return fail_at(p, p->now.line, "%%%u is defined twice", label);
    p->labels.data[label] = id;
    array_push(&p->defined, label);
    return true;
}

/* Keeps the stack of open regions; whether it is the right region that closes is for verify to say. */
static uint32_t region_of(parser *p, uint8_t op)
{
    uint32_t n = p->regions.count;
    bool closes = op == IR_ELSE || op == IR_ENDIF || op == IR_ENDLOOP;
    if (closes && n)
        p->regions.count = --n;
    n -= op == IR_STATE && n > 0;
    return n ? p->regions.data[n - 1] : 0;
}

static void append(parser *p, ir_inst i)
{
    uint32_t id = p->f->inst.count, scope = region_of(p, i.op);
    array_push(&p->f->inst, i);
    array_push(&p->f->scope, scope);
    if (i.op == IR_IF || i.op == IR_ELSE || i.op == IR_LOOP)
        array_push(&p->regions, id);
}

static bool op_name(parser *p, uint8_t *op)
{
    for (unsigned k = 1; k < IR_OP_COUNT; k++)
        if (looking_at(p, ir_op_table[k].name)) {
            *op = (uint8_t)k;
            next(p);
            return true;
        }
    return fail(p, "no op of this name");
}

static bool instruction(parser *p)
{
    ir_inst i = {0};
    uint32_t id = p->f->inst.count, label = 0, flags = 0;
    bool named = p->now.text[0] == '%';
    if (++p->total > IR_MAX_INSTRUCTIONS)
        return fail(p, "too many instructions");
    if (named && !(sigil(p, '%', IR_MAX_LABEL, &label) && define(p, label, id) && expect(p, "=")))
        return false;
    if (!op_name(p, &i.op))
        return false;
    accept_type(p, &i.type);
    if (!at_end(p) && p->now.text[0] == '!' && !sigil(p, '!', UINT16_MAX, &flags))
        return false;
    i.flags = (uint16_t)flags;
    for (uint8_t slot = 0; slot < 3; slot++)
        if (!operand(p, &i, id, slot))
            return false;
    if (named && !ir_is_named(i))
        return fail_at(p, p->now.line, "%%%u names an instruction without a value", label);
    append(p, i);
    return true;
}

static bool resolve(parser *p)
{
    for (uint32_t k = 0; k < p->fixups.count; k++) {
        fixup fix = p->fixups.data[k];
        uint32_t id = fix.label < p->labels.count ? p->labels.data[fix.label] : 0;
        if (!id)
            return fail_at(p, fix.line, "%%%u is not defined in function \"%.100s\"", fix.label, p->f->name);
        if (fix.where == FIX_POOL)
            p->f->pool.data[fix.at] = id;
        else if (fix.where == FIX_RESULT)
            p->f->results.data[fix.at].id = id;
        else
            *(fix.where == 0   ? &p->f->inst.data[fix.at].a
              : fix.where == 1 ? &p->f->inst.data[fix.at].b
                               : &p->f->inst.data[fix.at].c) = id;
    }
    for (uint32_t k = 0; k < p->defined.count; k++)
        p->labels.data[p->defined.data[k]] = 0;
    p->fixups.count = p->defined.count = p->regions.count = 0;
    return true;
}

/* ---- functions and modules ---- */

static bool return_values(parser *p)
{
    ir_ref none = {0};
    while (!looking_at(p, "}")) {
        if (p->f->results.count >= IR_MAX_PARAMS)
            return fail(p, "too many results");
        if (!add_fixup(p, FIX_RESULT, p->f->results.count))
            return false;
        array_push(&p->f->results, none);
    }
    return true;
}

static bool function_head(parser *p)
{
    uint32_t index;
    char *name;
    if (!sigil(p, '$', IR_MAX_FUNCTIONS - 1, &index) || !string(p, &name) || !expect(p, "("))
        return false;
    if (index != p->m->functions.count)
        return fail(p, "functions are numbered from $0 in order");
    p->f = ir_func_create(p->m, name);
    uint8_t type;
    while (accept_type(p, &type)) {
        if (p->f->params.count >= IR_MAX_PARAMS)
            return fail(p, "too many parameters");
        array_push(&p->f->params, type);
    }
    if (!expect(p, ")"))
        return false;
    if (looking_at(p, "entry")) {
        if (p->m->entry)
            return fail(p, "a module has one entry");
        p->m->entry = p->f;
        next(p);
    }
    return expect(p, "{");
}

static bool function(parser *p)
{
    if (!function_head(p))
        return false;
    bool ended = false;
    while (!ended && !looking_at(p, "}")) {
        if (at_end(p))
            return fail(p, "the function has no }");
        ended = accept(p, "return");
        if (!(ended ? return_values(p) : instruction(p)))
            return false;
    }
    if (!expect(p, "}") || !resolve(p))
        return false;
    ir_return(p->f, NULL, 0); /* ends the function; its results are there already */
    return true;
}

static bool buffer(parser *p)
{
    uint32_t index, gradient = 0, tangent = 0;
    char *name;
    if (!sigil(p, '@', IR_MAX_BUFFERS - 1, &index) || !string(p, &name))
        return false;
    if (index != p->m->buffers.count)
        return fail(p, "buffers are numbered from @0 in order");
    bool constant = accept(p, "constant"), partner = accept(p, "gradient");
    if (partner && !sigil(p, '@', IR_MAX_BUFFERS - 1, &gradient))
        return false;
    bool tangents = accept(p, "tangent");
    if (tangents && !sigil(p, '@', IR_MAX_BUFFERS - 1, &tangent))
        return false;
    ir_buffer_add(p->m, name, constant, partner ? (int32_t)gradient : -1);
    p->m->buffers.data[index].paired = accept(p, "paired");
    p->m->buffers.data[index].tangent = tangents ? (int32_t)tangent : -1;
    return true;
}

static bool doubles(parser *p)
{
    p->m->doubles = true;
    return true;
}

static bool module(parser *p)
{
    next(p);
    while (!at_end(p)) {
        bool ok = accept(p, "buffer")     ? buffer(p)
                  : accept(p, "doubles")  ? doubles(p)
                  : accept(p, "uniforms") ? number(p, IR_MAX_UNIFORMS, &p->m->uniform_count)
                  : accept(p, "func")     ? function(p)
                                          : fail(p, "expected buffer, doubles, uniforms or func");
        if (!ok)
            return false;
    }
    return true;
}

bl_result ir_parse(const char *source, ir_module **out, bl_error *err)
{
    bl_error local;
    parser p = {.cursor = source, .line = 1, .m = ir_module_create(), .err = err ? err : &local};
    *out = NULL;
    bl_result result = module(&p) ? ir_verify(p.m, p.err) : BL_ERROR_FORMAT;
    array_free(&p.labels);
    array_free(&p.defined);
    array_free(&p.fixups);
    array_free(&p.regions);
    if (result == BL_OK)
        *out = p.m;
    else
        ir_module_destroy(p.m);
    return result;
}
