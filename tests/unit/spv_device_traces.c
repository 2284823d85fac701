/* LABELS: swiftshader lavapipe native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Random traces after the whole pipeline, on the device that BL_DEVICE names and in the interpreter: memory
 * must be equal, bit for bit, but for what SPIR-V leaves open (support/device_safe.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "spirv_gen/opt/opt.h"
#include "support/device_run.h"
#include "support/device_safe.h"
#include "support/random_trace.h"
#include "support/todays_share.h"

#include <stdlib.h>
#include <string.h>

static device_run device; /* one for both tests */

/* Of a module of doubles: buffers that keep what a float lacks. The last one holds sums of floats. */
static bool is_paired(uint64_t seed, uint32_t buffer) { return buffer < 3 && (seed >> buffer & 1); }

static ir_module *random_module(uint64_t seed, bool doubles)
{
    random_trace_options options = {.no_fold = seed % 3 == 1, .no_merge = seed % 5 == 1, .size = 40};
    ir_module *m = random_trace(seed, options), *lowered = NULL, *safe;
    m->doubles = doubles;
    for (uint32_t b = 0; doubles && b < m->buffers.count; b++)
        m->buffers.data[b].paired = is_paired(seed, b);
    bl_error err = {0};
    if (opt_run(m, &(opt_options){.accumulate = OPT_ACCUMULATE_CAS}, &lowered, &err) != BL_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
    safe = device_safe(lowered);
    ir_module *parks = seed % 3 ? opt_park_to(safe, &(opt_goal){32, 0, 0}, 1, 2) : NULL;
    if (parks)
        ir_module_destroy(safe), safe = parks;
    if (ir_finish(safe, &err) != BL_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
    ir_module_destroy(lowered);
    ir_module_destroy(m);
    return safe;
}

static void compare_random_trace(uint64_t seed, bool doubles)
{
    uint32_t counts[RANDOM_TRACE_BUFFERS];
    for (uint32_t i = 0; i < RANDOM_TRACE_BUFFERS; i++)
        counts[i] = RANDOM_TRACE_WORDS * (doubles && is_paired(seed, i) ? 2 : 1);
    ir_module *m = random_module(seed, doubles);
    run_memory memory = run_memory_create(counts, RANDOM_TRACE_BUFFERS), expected;
    char what[64];
    for (uint32_t i = 0; i < RANDOM_TRACE_BUFFERS; i++)
        random_trace_fill(seed * 8 + i, memory.words[i], counts[i]);
    random_trace_fill(seed * 8 + 7, memory.uniforms, RANDOM_TRACE_UNIFORMS);
    device_safe_words(memory.uniforms, RANDOM_TRACE_UNIFORMS);
    expected = run_memory_copy(&memory);
    device.addressed = gpu_device_info(device.device)->buffer_address && !doubles
                           ? (uint32_t)seed & 15
                           : 0; /* which buffers by address */
    device.branching_calls = seed % 2;
    device_run_kernel(&device, m, &memory, 1);
    device.addressed = 0, device.branching_calls = false;
    interpret_kernel(m, &expected, 1);
    snprintf(what, sizeof what, "random trace %llu%s", (unsigned long long)seed,
             doubles ? " of doubles" : "");
    run_memory_compare(what, &memory, &expected);
    run_memory_free(&memory);
    run_memory_free(&expected);
    ir_module_destroy(m);
}

/* Those in which a device has once been found to differ: SwiftShader's folds of UMin and of negated quotients
 * (opt/math.c). */
static const uint64_t found[] = {1284, 9134};

enum { MOST_TRACES = 10000, SWIFTSHADER_TRACES = 80 };

static void compare_random_traces(bool doubles)
{
    const char *first = getenv("BL_RANDOM_FIRST"), *wanted = getenv("BL_RANDOM_TRACES"),
               *all = getenv("BL_LONG");
    bool tiers = all && strcmp(all, "1") == 0;
    gpu_kind kind = gpu_device_info(device.device)->kind;
    uint64_t most = kind == GPU_LAVAPIPE ? 200 : MOST_TRACES,
             few = kind == GPU_LAVAPIPE      ? 8
                   : kind == GPU_SWIFTSHADER ? SWIFTSHADER_TRACES /* compiles two in a second */
                                             : 500,
             count = wanted  ? (uint64_t)atoll(wanted)
                     : tiers ? most
                             : few,
             from = first ? (uint64_t)atoll(first)
                    : wanted || tiers
                        ? 0
                        : today() % (most / few - 1) * few; /* others every day, of those that --long takes */
    for (size_t i = 0; i < sizeof found / sizeof *found; i++)
        compare_random_trace(found[i], doubles);
    for (uint64_t seed = from; seed < from + count; seed++)
        compare_random_trace(seed, doubles);
}

static void random_traces_equal_the_interpreter(void **state)
{
    (void)state;
    compare_random_traces(false);
}

static void random_traces_of_doubles_equal_the_interpreter(void **state)
{
    (void)state;
    compare_random_traces(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_traces_equal_the_interpreter),
        cmocka_unit_test(random_traces_of_doubles_equal_the_interpreter), /* last: for devices with doubles */
    };
    if (!device_run_open(&device))
        return device_run_missing();
    const size_t count = sizeof tests / sizeof *tests - !gpu_device_info(device.device)->float64;
    const int failed = _cmocka_run_group_tests("tests", tests, count, NULL, NULL);
    device_run_close(&device);
    return failed;
}
