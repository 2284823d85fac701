/* SPDX-License-Identifier: BSD-3-Clause
 * How long fixed kernels (src/fit/kernels) take to be recorded, optimised and generated as SPIR-V: the best
 * CPU time of fifty, microseconds, for each and for all of them together. It is a tool, not a test.
 *
 *     build/tests/fixed_codegen */
#include "fit/kernels/traces.h"
#include "spirv_gen/opt/opt.h"
#include "spirv_gen/spv/spv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TIMES = 50 };

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double seconds_of(ir_module *(*trace)(void))
{
    double best = HUGE_VAL;
    for (int i = 0; i < TIMES; i++) {
        bl_error err = {0};
        spv_code code;
        double begin = cpu_seconds();
        ir_module *recorded = trace(), *lowered = NULL;
        if (opt_run(recorded, &(opt_options){0}, &lowered, &err) != BL_OK ||
            spv_generate(lowered, &(spv_options){.names = true}, &code, &err) != BL_OK) {
            fprintf(stderr, "%s\n", err.text);
            exit(1);
        }
        spv_code_free(&code);
        ir_module_destroy(recorded), ir_module_destroy(lowered);
        best = fmin(best, cpu_seconds() - begin);
    }
    return best;
}

int main(void)
{
    double all = 0;
#define ROW(NAME, name, buffers)                                                                             \
    {                                                                                                        \
        double seconds = seconds_of(fit_trace_##name);                                                       \
        printf("%-20s %6.0f\n", #name, 1e6 * seconds);                                                       \
        all += seconds;                                                                                      \
    }
    FIT_KERNEL_TABLE(ROW)
#undef ROW
    printf("%-20s %6.0f\n", "all", 1e6 * all);
    return 0;
}
