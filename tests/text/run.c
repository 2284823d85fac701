/* SPDX-License-Identifier: BSD-3-Clause
 * Runner of text cases: text_runner [--update] FILE...
 *
 * A file holds cases, separated by lines `====`. A case is directives, a trace, a line `----`, and what is
 * expected:
 *
 *     # pass: dead, inline         passes by name (the table below), in order
 *     # eval: 0 2.5 7 true         function index, then arguments
 *     # uniforms: 1 0x3f800000     words: u32, i32, hexadecimal bits, or f32 with a point
 *     # buffer: 0 1 2.5            buffer index, then its words
 *     # f64                        reals in double precision
 *     # spirv                      generate code; `spirv: scalar_loads` with that option
 *
 * Without `eval` and `spirv` the trace is printed after the passes; with eval the results, and the words of
 * every buffer that is not constant; with spirv the instructions of the kernel's function. A failure of any
 * step is the expected text `error: ...`. --update writes what was found in place of what was expected. */
#include "spirv_gen/ad/ad.h"
#include "spirv_gen/opt/cut.h"
#include "spirv_gen/opt/pass.h"
#include "spirv_gen/spv/spv.h"

#include <math.h>
#include <spirv-tools/libspirv.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WORDS = 64, MAX_BUFFERS = 16, MAX_LINE = 512 };

/* ---- passes ---- */

static ir_module *rebuild(const ir_module *m)
{
    opt_pass pass = {.from = m};
    return opt_rebuild(&pass);
}

static ir_module *accumulate_float(const ir_module *m)
{
    opt_options o = {.accumulate = OPT_ACCUMULATE_FLOAT};
    return opt_accumulate_lower(m, &o);
}

static ir_module *accumulate_cas(const ir_module *m)
{
    opt_options o = {.accumulate = OPT_ACCUMULATE_CAS};
    return opt_accumulate_lower(m, &o);
}

static ir_module *call_accums(const ir_module *m) { return opt_call_accums(m, &(opt_options){0}); }

/* Of few elements, summed in fixed point: privately where the entry flushes. */
static ir_module *call_accums_private(const ir_module *m)
{
    opt_options o = {.accumulate = OPT_ACCUMULATE_FIXED, .gradient_elements = 8};
    return opt_call_accums(m, &o);
}

/* Derived functions of the last function. */
static ir_module *with_jvp(const ir_module *m)
{
    ir_module *out = rebuild(m);
    ad_jvp(out->functions.data[m->functions.count - 1]);
    return out;
}

static ir_module *with_vjp(const ir_module *m)
{
    ir_module *out = rebuild(m);
    ad_vjp(out->functions.data[m->functions.count - 1]);
    return out;
}

/* Three values may live; uniforms 0 and 1 are small. */
static ir_module *recompute(const ir_module *m) { return opt_recompute(m, &(opt_options){.live_most = 3}); }

/* Two values may live, four wait, one instruction is near. */
static ir_module *park(const ir_module *m) { return opt_park_to(m, &(opt_goal){4, 2, 0}, 1, 1); }

static ir_module *unroll_2(const ir_module *m) { return opt_unroll(m, 2); }

static ir_module *bounds(const ir_module *m)
{
    opt_sites sites = {0};
    opt_options o = {.accumulate = OPT_ACCUMULATE_CAS, .sites = &sites};
    ir_module *out = opt_bounds(m, &o);
    opt_sites_free(&sites);
    return out;
}

/* Places of grid and entries in words 0 and 1 of buffer 0. */
static ir_module *rays(const ir_module *m)
{
    opt_options o = {.entry_base_word = 1, .stack_size = 8};
    return opt_rays(m, &o);
}

/* The walk of the entry cut into kernels: part 0 is `begin`, parts 1 to groups + 1 are segments, the next
 * ones calls of the first target, the last one is `end`. */
static ir_module *cut_part(const ir_module *m, bool by_target, uint32_t part)
{
    const opt_cut_options o = {.uniforms = m->uniform_count, .by_target = by_target};
    bl_error err = {0};
    opt_cut cut;
    opt_pass copy = {.from = m};
    if (opt_cut_walk(m, &o, &cut, &err) != BL_OK) {
        ir_module *out = opt_rebuild(&copy);
        out->error = err;
        return out;
    }
    const uint32_t groups = cut.groups;
    copy.from = part == 0                ? cut.begin
                : part <= groups + 1     ? cut.segments[part - 1]
                : part <= 2 * groups + 1 ? cut.calls[(part - groups - 2) * cut.targets]
                                         : cut.end;
    ir_module *whole = opt_rebuild(&copy), *out = opt_dead(whole); /* the part computes what it may need */
    ir_module_destroy(whole);
    opt_cut_free(&cut);
    return out;
}

static ir_module *cut_begin(const ir_module *m) { return cut_part(m, false, 0); }
static ir_module *cut_body(const ir_module *m) { return cut_part(m, false, 1); }
static ir_module *cut_end(const ir_module *m) { return cut_part(m, false, 2); }
static ir_module *cut_target_first(const ir_module *m) { return cut_part(m, true, 1); }
static ir_module *cut_target_last(const ir_module *m) { return cut_part(m, true, 2); }
static ir_module *cut_target_call(const ir_module *m) { return cut_part(m, true, 3); }

static const struct {
    const char *name;
    ir_module *(*run)(const ir_module *m);
} passes[] = {
    {"rebuild", rebuild}, /* nothing but the builder's folding and merging */
    {"dead", opt_dead},
    {"inline", opt_inline_single},
    {"call_results", opt_call_results},
    {"call_arguments", opt_call_arguments},
    {"call_unused", opt_call_unused},
    {"call_common", opt_call_common},
    {"call_accums", call_accums},
    {"call_accums-private", call_accums_private},
    {"merge", opt_merge},
    {"loop_states", opt_loop_states},
    {"loads", opt_loads},
    {"loop_invariants", opt_loop_invariants},
    {"rays", rays},
    {"cut-begin", cut_begin}, /* a walk as three kernels; one more buffer */
    {"cut-body", cut_body},
    {"cut-end", cut_end},
    {"cut-target-first", cut_target_first}, /* by target, of one group of calls */
    {"cut-target-call", cut_target_call},
    {"cut-target-last", cut_target_last},
    {"bounds", bounds}, /* one more buffer */
    {"math", opt_math},
    {"order", opt_order},
    {"recompute", recompute},
    {"park", park},
    {"accumulate-float", accumulate_float},
    {"accumulate-cas", accumulate_cas},
    {"jvp", with_jvp}, /* the last function's derivative joins the module */
    {"vjp", with_vjp},
    {"unroll-2", unroll_2},
};

static bl_result run_pass(const char *name, size_t length, ir_module **m, bl_error *err)
{
    for (size_t k = 0; k < sizeof passes / sizeof *passes; k++) {
        if (strlen(passes[k].name) != length || memcmp(passes[k].name, name, length) != 0)
            continue;
        ir_module *next = passes[k].run(*m);
        next = next ? next : rebuild(*m); /* nothing to change */
        ir_module_destroy(*m);
        *m = next;
        TRY(ir_finish(next, err));
        return ir_verify(next, err);
    }
    return error_set(err, BL_ERROR_ARGUMENT, "no pass \"%.*s\"", (int)length, name);
}

static bl_result run_passes(const char *list, ir_module **m, bl_error *err)
{
    while (*(list += strspn(list, " ,"))) {
        size_t length = strcspn(list, " ,");
        TRY(run_pass(list, length, m, err));
        list += length;
    }
    return BL_OK;
}

/* ---- evaluation ---- */

typedef struct directives {
    char pass[MAX_LINE], eval[MAX_LINE], uniforms[MAX_LINE], buffer[MAX_BUFFERS][MAX_LINE];
    uint32_t buffer_count;
    bool f64, spirv, scalar_loads;
} directives;

static bool real_spelling(const char *word) { return strncmp(word, "0x", 2) != 0 && strpbrk(word, ".en"); }

static uint32_t float_word(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static uint32_t parse_word(const char *word)
{
    if (strcmp(word, "true") == 0)
        return 1;
    if (strcmp(word, "false") == 0)
        return 0;
    return real_spelling(word) ? float_word(strtof(word, NULL)) : (uint32_t)strtoll(word, NULL, 0);
}

static uint32_t parse_words(const char *list, uint32_t *words, const char **spelling)
{
    static char copy[MAX_LINE];
    uint32_t count = 0;
    snprintf(copy, sizeof copy, "%s", list);
    for (char *w = strtok(copy, " ,\r"); w && count < MAX_WORDS; w = strtok(NULL, " ,\r")) {
        if (spelling)
            spelling[count] = w;
        words[count++] = parse_word(w);
    }
    return count;
}

static void print_word(uint32_t word, text *out)
{
    float f;
    memcpy(&f, &word, sizeof f);
    if (word < 0x1000000u || word >= 0xFF800000u)
        text_add(out, " %d", (int32_t)word);
    else
        text_add(out, " 0x%08x(%.7g)", word, (double)f);
}

static void print_value(ir_type type, bool f64, ir_value v, text *out)
{
    if (type == IR_F32 && isnan(v.f))
        text_add(out, "f32 nan\n");
    else if (type == IR_F32)
        text_add(out, f64 ? "f32 %.17g\n" : "f32 %.9g\n", v.f);
    else if (type == IR_BOOL)
        text_add(out, "bool %s\n", v.b ? "true" : "false");
    else
        text_add(out, type == IR_I32 ? "i32 %d\n" : "u32 %u\n", v.u);
}

static bl_result read_args(const ir_func *f, const char *const *spelling, const uint32_t *words,
                           uint32_t count, ir_value *args, bl_error *err)
{
    if (count != f->params.count)
        return error_set(err, BL_ERROR_ARGUMENT, "eval: %u arguments, the function has %u parameters", count,
                         f->params.count);
    for (uint32_t k = 0; k < count; k++) {
        args[k] = (ir_value){0};
        if (f->params.data[k] == IR_F32 && strncmp(spelling[k], "0x", 2) != 0)
            args[k].f = strtod(spelling[k], NULL);
        else if (f->params.data[k] == IR_F32) {
            float value;
            memcpy(&value, &words[k], sizeof value);
            args[k].f = (double)value;
        } else if (f->params.data[k] == IR_BOOL)
            args[k].b = words[k] != 0;
        else
            args[k].u = words[k];
    }
    return BL_OK;
}

static bl_result evaluate(const directives *d, const ir_module *m, text *out, bl_error *err)
{
    static uint32_t words[MAX_BUFFERS][MAX_WORDS];
    uint32_t line[MAX_WORDS] = {0}, uniforms[MAX_WORDS] = {0};
    const char *spelling[MAX_WORDS];
    ir_eval_buffer buffers[MAX_BUFFERS] = {{0}};
    ir_eval_env env = {.buffers = buffers, .uniforms = uniforms, .f64 = d->f64, .step_limit = 100000};
    env.uniform_count = parse_words(d->uniforms, uniforms, NULL);
    for (uint32_t k = 0; k < d->buffer_count; k++) {
        uint32_t count = parse_words(d->buffer[k], line, NULL);
        if (count == 0 || line[0] >= MAX_BUFFERS)
            return error_set(err, BL_ERROR_ARGUMENT, "buffer: an index below %d and words", MAX_BUFFERS);
        memcpy(words[line[0]], line + 1, (count - 1) * sizeof *line);
        buffers[line[0]] = (ir_eval_buffer){.words = words[line[0]], .count = count - 1};
        env.buffer_count = line[0] + 1 > env.buffer_count ? line[0] + 1 : env.buffer_count;
    }
    uint32_t count = parse_words(d->eval, line, spelling);
    if (count == 0 || line[0] >= m->functions.count)
        return error_set(err, BL_ERROR_ARGUMENT, "eval: no such function");
    const ir_func *f = m->functions.data[line[0]];
    ir_value args[MAX_WORDS], results[MAX_WORDS];
    if (f->results.count > MAX_WORDS)
        return error_set(err, BL_ERROR_ARGUMENT, "eval: too many results");
    TRY(read_args(f, spelling + 1, line + 1, count - 1, args, err));
    TRY(ir_eval(f, args, results, &env, err));
    for (uint32_t k = 0; k < f->results.count; k++)
        print_value(ir_type_of(f, f->results.data[k]), d->f64, results[k], out);
    for (uint32_t k = 0; k < env.buffer_count && k < m->buffers.count; k++) {
        if (m->buffers.data[k].constant)
            continue;
        text_add(out, "buffer @%u:", k);
        for (uint64_t w = 0; w < buffers[k].count; w++)
            print_word(words[k][w], out);
        text_add(out, "\n");
    }
    return BL_OK;
}

/* ---- code generation ---- */

static bl_result disassemble(const directives *d, const ir_module *m, text *out, bl_error *err)
{
    spv_code code;
    TRY(spv_generate(m, &(spv_options){.names = true, .scalar_loads = d->scalar_loads}, &code, err));
    spv_context context = spvContextCreate(SPV_ENV_VULKAN_1_2);
    spv_text listing = NULL;
    spv_result_t result = spvBinaryToText(
        context, code.words, code.word_count,
        SPV_BINARY_TO_TEXT_OPTION_NO_HEADER | SPV_BINARY_TO_TEXT_OPTION_FRIENDLY_NAMES, &listing, NULL);
    const char *function = result == SPV_SUCCESS ? strstr(listing->str, "OpLabel") : NULL;
    if (function)
        text_add(out, "%s", strchr(function, '\n') + 1);
    spvTextDestroy(listing);
    spvContextDestroy(context);
    spv_code_free(&code);
    return function ? BL_OK : error_set(err, BL_ERROR_COMPILE, "no listing of the SPIR-V");
}

/* ---- cases ---- */

/* The rest of a line `# name:...`, or NULL. */
static const char *directive(const char *line, size_t length, const char *name)
{
    size_t n = strlen(name);
    return length >= 2 + n && memcmp(line, "# ", 2) == 0 && memcmp(line + 2, name, n) == 0 ? line + 2 + n
                                                                                           : NULL;
}

static void read_directives(const char *source, directives *d)
{
    while (*source) {
        size_t length = strcspn(source, "\n");
        const char *rest;
        char *to = (rest = directive(source, length, "pass:"))       ? d->pass
                   : (rest = directive(source, length, "eval:"))     ? d->eval
                   : (rest = directive(source, length, "uniforms:")) ? d->uniforms
                   : (rest = directive(source, length, "buffer:")) && d->buffer_count < MAX_BUFFERS
                       ? d->buffer[d->buffer_count++]
                       : NULL;
        if (to)
            snprintf(to, MAX_LINE, "%.*s", (int)(source + length - rest), rest);
        d->f64 |= directive(source, length, "f64") != NULL;
        d->spirv |= directive(source, length, "spirv") != NULL;
        d->scalar_loads |= directive(source, length, "spirv: scalar_loads") != NULL;
        source += length + (source[length] == '\n');
    }
}

static bl_result run_source(const char *source, text *out, bl_error *err)
{
    directives d = {0};
    ir_module *m;
    read_directives(source, &d);
    TRY(ir_parse(source, &m, err));
    bl_result result = run_passes(d.pass, &m, err);
    if (result == BL_OK && d.eval[0])
        result = evaluate(&d, m, out, err);
    else if (result == BL_OK && d.spirv)
        result = disassemble(&d, m, out, err);
    else if (result == BL_OK)
        ir_print(m, out);
    ir_module_destroy(m);
    return result;
}

static void run_case(const char *source, text *out)
{
    bl_error err = {0};
    if (run_source(source, out, &err) == BL_OK)
        return;
    out->length = 0;
    text_add(out, "error: %s\n", err.text);
}

/* Lines of both texts, without what they share at the start and the end. */
static void print_diff(const char *expected, const char *got)
{
    size_t start = 0, same_end = 0, e = strlen(expected), g = strlen(got);
    for (size_t k = 0; expected[k] && expected[k] == got[k]; k++)
        if (expected[k] == '\n')
            start = k + 1;
    for (size_t k = 1; k <= e - start && k <= g - start && expected[e - k] == got[g - k]; k++)
        if (k + 1 > e - start || k + 1 > g - start || expected[e - k - 1] == '\n')
            same_end = k;
    const char *side_text[2] = {expected, got};
    const size_t end[2] = {e - same_end, g - same_end};
    for (int side = 0; side < 2; side++)
        for (size_t k = start; k < end[side];) {
            size_t length = strcspn(side_text[side] + k, "\n");
            printf("  %c %.*s\n", "-+"[side], (int)length, side_text[side] + k);
            k += length + 1;
        }
}

/* Start of the line that consists of `separator`, or NULL. */
static char *find_line(char *source, const char *separator)
{
    size_t n = strlen(separator);
    for (char *at = source; at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        if (strncmp(at, separator, n) == 0 && (at[n] == '\n' || at[n] == 0))
            return at;
    return NULL;
}

/* Runs the case `source` (which it cuts up) and appends it with what was found to `updated`. */
static bool check_case(const char *file, int number, char *source, text *updated)
{
    static char nothing[1];
    char *separator = find_line(source, "----"), *expected = nothing;
    if (separator) {
        expected = separator + 4 + (separator[4] == '\n');
        *separator = 0;
    }
    text got = {0};
    text_add(&got, "%s", "");
    run_case(source, &got);
    bool same = separator && strcmp(expected, got.data) == 0;
    if (!same) {
        printf("%s: case %d: expected (-) and found (+) differ%s\n", file, number,
               separator ? "" : ": the case has no line ----");
        print_diff(expected, got.data);
    }
    text_add(updated, "%s----\n%s", source, got.data);
    text_free(&got);
    return same;
}

static bool check_file(const char *file, bool update)
{
    void *data;
    size_t size;
    bl_error err = {0};
    if (file_read(file, (size_t)1 << 24, &data, &size, &err) != BL_OK) {
        printf("%s\n", err.text);
        return false;
    }
    text updated = {0};
    bool ok = true;
    int number = 1;
    for (char *source = data, *next; source; source = next, number++) {
        char *separator = find_line(source, "====");
        next = separator ? separator + 4 + (separator[4] == '\n') : NULL;
        if (separator)
            *separator = 0;
        if (number > 1)
            text_add(&updated, "====\n");
        ok &= check_case(file, number, source, &updated);
    }
    if (update && !ok) {
        ok = file_write(file, updated.data, updated.length, &err) == BL_OK;
        printf("%s: %s\n", file, ok ? "updated" : err.text);
    }
    text_free(&updated);
    free(data);
    return ok;
}

int main(int argc, char **argv)
{
    bool update = argc > 1 && strcmp(argv[1], "--update") == 0, ok = true;
    int first = update ? 2 : 1;
    if (first >= argc) {
        fprintf(stderr, "usage: %s [--update] FILE...\n", argv[0]);
        return 2;
    }
    for (int k = first; k < argc; k++)
        ok &= check_file(argv[k], update);
    return ok ? 0 : 1;
}
