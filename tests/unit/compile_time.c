/* LABELS: nodevice serial */
/* SPDX-License-Identifier: BSD-3-Clause
 * Recording, passes and code generation take time linear in the size of a trace. `unit_compile_time --table`
 * prints what scripts/plot-compile-time draws: ops as generated and milliseconds of CPU for each, from 1000
 * to 200,000 ops.
 *
 * The trace is what renderers make: straight-line code, branches and loops with results, loads and stores,
 * calls of a few functions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "spirv_gen/opt/opt.h"
#include "spirv_gen/spv/spv.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { DATA, MEMORY, TARGETS = 4, OPS_PER_BLOCK = 40 };

typedef struct sample {
    uint32_t ops;
    double record, passes, generate; /* seconds of CPU */
} sample;

static double cpu(void) { return (double)clock() / CLOCKS_PER_SEC; }

static ir_func *callee(ir_module *m, uint32_t k)
{
    ir_func *f = ir_func_create(m, "callee");
    ir_ref x = ir_param(f, IR_F32), y = ir_load(f, IR_F32, DATA, ir_u32(f, k));
    for (uint32_t i = 0; i < 4; i++)
        x = ir_add(f, ir_mul(f, x, y), ir_f32(f, 0.5f + (float)k));
    ir_return(f, &x, 1);
    return f;
}

/* About OPS_PER_BLOCK ops, different in every block. */
static ir_ref block(ir_func *f, ir_func *const *targets, ir_ref x, uint32_t k)
{
    ir_ref at = ir_add(f, ir_global_id(f), ir_u32(f, k)), loaded = ir_load(f, IR_F32, MEMORY, at),
           count = ir_u32(f, 0), called;
    for (uint32_t i = 0; i < 6; i++)
        x = ir_sub(f, ir_mul(f, x, loaded), ir_f32(f, (float)(k + i)));
    ir_ref branch = ir_if(f, ir_lt(f, x, loaded));
    ir_ref yes = ir_div(f, x, ir_f32(f, 3)), no = x;
    ir_else(f);
    ir_endif(f);
    x = ir_phi(f, branch, yes, no);
    ir_ref state[2] = {x, count}, loop = ir_loop(f, state, 2);
    ir_while(f, ir_lt(f, state[1], ir_u32(f, 3)));
    ir_endloop(f, loop, (ir_ref[]){ir_mul(f, state[0], x), ir_add(f, state[1], ir_u32(f, 1))}, 2);
    ir_call(f, ir_and(f, at, ir_u32(f, TARGETS - 1)), targets, TARGETS, &state[0], 1, &called);
    if (k % 4 == 0)
        ir_store(f, MEMORY, at, called);
    return called;
}

static ir_module *record(uint32_t ops)
{
    ir_module *m = ir_module_create();
    ir_buffer_add(m, "data", true, -1);
    ir_buffer_add(m, "memory", false, -1);
    ir_func *targets[TARGETS], *f;
    for (uint32_t k = 0; k < TARGETS; k++)
        targets[k] = callee(m, k);
    f = ir_func_create(m, "main");
    ir_ref x = ir_f32(f, 1);
    for (uint32_t k = 0; k < ops / OPS_PER_BLOCK; k++)
        x = block(f, targets, x, k);
    ir_store(f, MEMORY, ir_u32(f, 0), x);
    ir_return(f, NULL, 0);
    m->entry = f;
    return m;
}

static sample measure(uint32_t ops)
{
    bl_error err = {0};
    ir_module *lowered;
    spv_code code;
    double start = cpu();
    ir_module *m = record(ops);
    double recorded = cpu();
    if (opt_run(m, &(opt_options){.accumulate = OPT_ACCUMULATE_CAS}, &lowered, &err) != BL_OK)
        fail_msg("%s", err.text);
    double optimised = cpu();
    if (spv_generate(lowered, NULL, &code, &err) != BL_OK)
        fail_msg("%s", err.text);
    sample s = {
        .ops = opt_measure(lowered).ops,
        .record = recorded - start,
        .passes = optimised - recorded,
        .generate = cpu() - optimised,
    };
    spv_code_free(&code);
    ir_module_destroy(lowered);
    ir_module_destroy(m);
    return s;
}

static double total(sample s) { return s.record + s.passes + s.generate; }

static sample fastest_of_three(uint32_t ops)
{
    sample best = measure(ops);
    for (int k = 0; k < 2; k++) {
        sample s = measure(ops);
        best = total(s) < total(best) ? s : best;
    }
    return best;
}

static void time_is_linear_in_ops(void **state)
{
    (void)state;
    sample small = fastest_of_three(5000), large = fastest_of_three(80000);
    double growth = total(large) / total(small) / ((double)large.ops / small.ops);
    print_message("%u ops in %.1f ms, %u in %.1f ms: time per op grows by %.2f\n", small.ops,
                  1e3 * total(small), large.ops, 1e3 * total(large), growth);
    assert_true(growth < 3); /* 16 if time were quadratic; caches are worth up to 2 */
}

static int print_samples(void)
{
    static const uint32_t sizes[] = {1000, 2000, 5000, 10000, 20000, 50000, 100000, 200000};
    puts("ops record_ms passes_ms generate_ms");
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        sample s = fastest_of_three(sizes[k]);
        printf("%u %.3f %.3f %.3f\n", s.ops, 1e3 * s.record, 1e3 * s.passes, 1e3 * s.generate);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(time_is_linear_in_ops)};
    if (argc > 1 && strcmp(argv[1], "--table") == 0)
        return print_samples();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
