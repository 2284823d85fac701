/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Every optimisation of the pipeline is worth something: for each there is a trace that is larger without it,
 * whatever the others do, and that computes the same. A pass that does nothing, or that nobody calls, fails
 * here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "spirv_gen/opt/opt.h"
#include "spirv_gen/spv/spv.h"

#include <spirv/unified1/spirv.h>
#include <string.h>

enum { WORDS = 8 };

#define BUFFERS "buffer @0 \"in\" constant\nbuffer @1 \"out\"\n"
#define TWO_TARGETS                                                                                          \
    "func $0 \"one\" (f32 f32) {\n %1 = param f32 0\n %2 = param f32 1\n %3 = mul f32 %1 %2\n return %3 "    \
    "%1\n}\n"                                                                                                \
    "func $1 \"two\" (f32 f32) {\n %1 = param f32 0\n %2 = param f32 1\n %3 = sub f32 %1 %2\n return %3 "    \
    "%1\n}\n"
#define MAIN                                                                                                 \
    "func $2 \"main\" () entry {\n %1 = const u32 0\n %2 = const u32 1\n %3 = load f32 %1 @0\n %4 = load "   \
    "f32 %2 @0\n %5 = load u32 %1 @0\n"
#define END "\n}\n"

static const struct {
    opt_switch without;
    const char *trace;
} cases[] = {
    /* what the gradient's index is computed from, which nobody reads once differentiation is over */
    {OPT_DEAD, "buffer @0 \"in\" constant gradient @1\nbuffer @1 \"out\"\nfunc $0 \"main\" () entry {\n %1 = "
               "const u32 0\n %2 = load u32 %1 @0\n"
               " %3 = mul u32 %2 %2\n %4 = dload f32 %1 @0 %3\n store %1 @1 %4" END},
    /* the second result of both targets is their first argument */
    {OPT_CALL_RESULTS,
     BUFFERS TWO_TARGETS MAIN " %6 = call %5 [$0 $1] (%3 %4)\n %7 = result f32 %6 0\n %8 = result f32 %6 1\n"
                              " store %1 @1 %7\n store %2 @1 %8" END},
    {OPT_CALL_ARGUMENTS, BUFFERS TWO_TARGETS MAIN
     " %6 = const f32 2.5\n %7 = call %5 [$0 $1] (%3 %6)\n %8 = result f32 %7 0\n store %1 @1 %8" END},
    /* nobody reads the first result */
    {OPT_CALL_UNUSED, BUFFERS
     "func $0 \"one\" (f32 f32) {\n %1 = param f32 0\n %2 = param f32 1\n %3 = mul f32 %1 %2\n %4 = neg f32 "
     "%1\n return %3 %4\n}\n"
     "func $1 \"two\" (f32 f32) {\n %1 = param f32 0\n %2 = param f32 1\n %3 = sub f32 %1 %2\n return %3 "
     "%1\n}\n" MAIN
     " %6 = call %5 [$0 $1] (%3 %4)\n %7 = result f32 %6 0\n %8 = result f32 %6 1\n store %1 @1 %8" END},
    {OPT_MERGE,
     BUFFERS "func $0 \"one\" (f32) {\n %1 = param f32 0\n %2 = mul f32 %1 %1\n return %2\n}\n"
             "func $1 \"two\" (f32) {\n %1 = param f32 0\n %2 = mul f32 %1 %1\n return %2\n}\n" MAIN
             " %6 = call %5 [$0 $1] (%3)\n %7 = result f32 %6 0\n store %1 @1 %7" END},
    {OPT_INLINE_SINGLE,
     BUFFERS "func $0 \"one\" (f32) {\n %1 = param f32 0\n %2 = mul f32 %1 %1\n return %2\n}\n"
             "func $1 \"unused\" () {\n return\n}\n" MAIN
             " %6 = call %1 [$0] (%3)\n %7 = result f32 %6 0\n store %1 @1 %7" END},
    /* the second state keeps its value */
    {OPT_LOOP_STATES, BUFFERS "func $0 \"main\" () entry {\n %1 = const u32 0\n %2 = const u32 1\n %3 = load "
                              "u32 %1 @0\n %4 = const u32 5\n %5 = loop\n"
                              " %6 = state u32 %1 %10 %5\n %7 = state u32 %3 %7 %5\n %8 = lt bool %6 %4\n "
                              "while %8 %5\n %10 = add u32 %6 %2\n"
                              " store %6 @1 %7\n endloop %5" END},
    {OPT_LOADS, BUFFERS "func $0 \"main\" () entry {\n %1 = const u32 0\n %2 = const u32 1\n %3 = load u32 "
                        "%2 @1\n %4 = load u32 %2 @1\n"
                        " %5 = add u32 %3 %4\n store %1 @1 %5" END},
    /* the square of what both targets read */
    {OPT_CALL_COMMON,
     BUFFERS "func $0 \"one\" (u32) {\n %1 = param u32 0\n %2 = load f32 %1 @0\n %3 = mul f32 %2 %2\n %4 = "
             "neg f32 %3\n return %4\n}\n"
             "func $1 \"two\" (u32) {\n %1 = param u32 0\n %2 = load f32 %1 @0\n %3 = mul f32 %2 %2\n return "
             "%3\n}\n" MAIN " %6 = call %5 [$0 $1] (%5)\n %7 = result f32 %6 0\n store %1 @1 %7" END},
    /* both branches of the loop's body read and square one word */
    {OPT_LOOP_INVARIANTS, BUFFERS
     "func $0 \"main\" () entry {\n %1 = const u32 0\n %2 = const u32 1\n %3 = const u32 5\n %4 = loop\n"
     " %5 = state u32 %1 %18 %4\n %6 = lt bool %5 %3\n while %6 %4\n %8 = lt bool %5 %2\n %9 = if %8\n"
     " %10 = load u32 %3 @0\n %11 = mul u32 %10 %10\n store %5 @1 %11\n else %9\n %14 = load u32 %3 @0\n"
     " %15 = mul u32 %14 %14\n store %1 @1 %15\n endif %9\n %18 = add u32 %5 %2\n endloop %4" END},
    /* both targets add to a gradient */
    {OPT_CALL_ACCUMS, BUFFERS
     "func $0 \"one\" (f32) {\n %1 = param f32 0\n %2 = const u32 4\n accum %2 @1 %1\n return %1\n}\n"
     "func $1 \"two\" (f32) {\n %1 = param f32 0\n %2 = const u32 5\n %3 = neg f32 %1\n accum %2 @1 %3\n "
     "return %3\n}\n" MAIN " %6 = call %5 [$0 $1] (%3)\n %7 = result f32 %6 0\n store %1 @1 %7" END},
    /* neighbours at a multiple of four */
    {OPT_VECTOR_LOADS, BUFFERS "func $0 \"main\" () entry {\n %1 = global_id u32\n %2 = const u32 4\n %3 = "
                               "mul u32 %1 %2\n %4 = load u32 %3 @0\n"
                               " %5 = const u32 1\n %6 = add u32 %3 %5\n %7 = load u32 %6 @0\n %8 = xor u32 "
                               "%4 %7\n store %1 @1 %8" END},
};

static ir_module *lowered(const char *trace, uint32_t off)
{
    ir_module *m, *result;
    bl_error err = {0};
    if (ir_parse(trace, &m, &err) != BL_OK ||
        opt_run(m, &(opt_options){.off = off, .accumulate = OPT_ACCUMULATE_CAS}, &result, &err) != BL_OK ||
        ir_verify(result, &err) != BL_OK)
        fail_msg("%s\n%s", err.text, trace);
    ir_module_destroy(m);
    return result;
}

static uint32_t loads_of_kernel(const ir_module *m, bool scalar_loads)
{
    enum { HEADER_WORDS = 5 };
    spv_code code;
    bl_error err = {0};
    uint32_t loads = 0;
    if (spv_generate(m, &(spv_options){.scalar_loads = scalar_loads}, &code, &err) != BL_OK)
        fail_msg("%s", err.text);
    for (size_t k = HEADER_WORDS; k < code.word_count; k += code.words[k] >> SpvWordCountShift)
        loads += (code.words[k] & SpvOpCodeMask) == SpvOpLoad;
    spv_code_free(&code);
    return loads;
}

static uint32_t size_of(const ir_module *m, uint32_t off)
{
    opt_size s = opt_measure(m);
    return s.functions + s.ops + s.call_bytes + s.state_bytes + loads_of_kernel(m, off & OPT_VECTOR_LOADS);
}

static void run(const ir_module *m, uint32_t out[WORDS])
{
    uint32_t in[WORDS] = {1, 0x40000000u, 3, 4};
    ir_eval_buffer buffers[2] = {{.words = in, .count = WORDS}, {.words = out, .count = WORDS}};
    ir_eval_env env = {.buffers = buffers, .buffer_count = 2, .step_limit = 10000};
    bl_error err = {0};
    memset(out, 0, WORDS * sizeof *out);
    if (ir_eval(m->entry, NULL, NULL, &env, &err) != BL_OK)
        fail_msg("%s", err.text);
}

static const char *name_of(opt_switch which)
{
    uint32_t k = 0;
    while (which >> k != 1)
        k++;
    return opt_switch_names[k];
}

static void a_trace_is_larger_without(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        ir_module *with = lowered(cases[k].trace, 0), *without = lowered(cases[k].trace, cases[k].without);
        uint32_t small[WORDS], large[WORDS];
        uint32_t least = size_of(with, 0), most = size_of(without, cases[k].without);
        if (least >= most)
            fail_msg("%s: size %u with it, %u without", name_of(cases[k].without), least, most);
        run(with, small);
        run(without, large);
        assert_memory_equal(small, large, sizeof small);
        ir_module_destroy(with);
        ir_module_destroy(without);
    }
}

static void every_switch_has_a_trace(void **state)
{
    (void)state;
    uint32_t seen = 0;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        seen |= cases[k].without;
    assert_int_equal(seen, (1u << OPT_SWITCH_COUNT) - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_trace_is_larger_without),
                                       cmocka_unit_test(every_switch_has_a_trace)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
