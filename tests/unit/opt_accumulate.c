/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Lowering of gradient accumulation, run by the interpreter: fixed-point sums against 64-bit integers in C,
 * counters, float and compare-exchange forms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "spirv_gen/opt/opt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    GRADIENTS,
    SCALES,
    STATUS,
    BUFFERS,
    ELEMENTS = 8,
    SCALE_BASE = 3,
    OVERFLOW_WORD = 1,
    UNDERFLOW_WORD = 2,
    NON_FINITE_WORD = 3
};
static bool apart; /* what is not finite is counted by itself */
static bool gpu;   /* kernels are for a device that shares out registers */

typedef struct adder {
    ir_module *module;
    const ir_func *f; /* (index, value) */
    uint32_t gradients[2 * ELEMENTS], scales[SCALE_BASE + ELEMENTS], status[4];
} adder;

static uint32_t float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float bits_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static ir_module *start_module(void)
{
    ir_module *m = ir_module_create();
    ir_buffer_add(m, "gradients", false, -1);
    ir_buffer_add(m, "scales", true, -1);
    ir_buffer_add(m, "status", false, -1);
    return m;
}

/* elements: 0, many */
static ir_module *optimised(ir_module *m, opt_accumulate how, uint32_t elements)
{
    ir_module *out;
    opt_options o = {
        .accumulate = how,
        .gradient_elements = elements,
        .scale_buffer = SCALES,
        .scale_base = SCALE_BASE,
        .status_buffer = STATUS,
        .overflow_word = OVERFLOW_WORD,
        .underflow_word = UNDERFLOW_WORD,
        .non_finite_word = apart ? NON_FINITE_WORD : 0,
        .live_most = gpu ? 1000 : 0,
    };
    bl_error err = {0};
    if (ir_finish(m, &err) != BL_OK || opt_run(m, &o, &out, &err) != BL_OK || ir_verify(out, &err) != BL_OK)
        fail_msg("%s", err.text);
    ir_module_destroy(m);
    return out;
}

static ir_module *trace_accum(opt_accumulate how, const uint32_t *constant_index)
{
    ir_module *m = start_module();
    ir_func *f = ir_func_create(m, "add");
    ir_ref index = ir_param(f, IR_U32), value = ir_param(f, IR_F32);
    ir_accum(f, GRADIENTS, constant_index ? ir_u32(f, *constant_index) : index, value);
    ir_return(f, NULL, 0);
    return optimised(m, how, 0);
}

static adder adder_create(opt_accumulate how, float scale)
{
    adder a = {.module = trace_accum(how, NULL)};
    a.f = a.module->functions.data[0];
    for (int i = 0; i < ELEMENTS; i++)
        a.scales[SCALE_BASE + i] = float_bits(scale);
    return a;
}

static void evaluate(adder *a, const ir_value *args)
{
    ir_eval_buffer buffers[BUFFERS] = {{.words = a->gradients, .count = 2 * ELEMENTS},
                                       {.words = a->scales, .count = SCALE_BASE + ELEMENTS},
                                       {.words = a->status, .count = 4}};
    ir_eval_env env = {.buffers = buffers, .buffer_count = BUFFERS, .step_limit = 10000};
    bl_error err = {0};
    if (ir_eval(a->f, args, NULL, &env, &err) != BL_OK)
        fail_msg("%s", err.text);
}

static void add(adder *a, uint32_t index, float value)
{
    ir_value args[2] = {{.u = index}, {.u = 0}};
    args[1].f = (double)value;
    evaluate(a, args);
}

static int64_t sum_of(const adder *a, uint32_t index)
{
    return (int64_t)((uint64_t)a->gradients[2 * index + 1] << 32 | a->gradients[2 * index]);
}

static int64_t rounded(float value, float scale)
{
    float x = value * scale;
    return (int64_t)(x < 0 ? x - 0.5f : x + 0.5f);
}

static void expect_status(const adder *a, uint32_t overflow, uint32_t underflow)
{
    assert_int_equal(a->status[OVERFLOW_WORD], overflow);
    assert_int_equal(a->status[UNDERFLOW_WORD], underflow);
    assert_int_equal(a->status[0] | a->status[3], 0);
}

static uint32_t random_state = 1;
static uint32_t random_word(void)
{
    random_state = random_state * 747796405u + 2891336453u;
    uint32_t word = ((random_state >> ((random_state >> 28) + 4)) ^ random_state) * 277803737u;
    return word ^ (word >> 22);
}

/* Magnitudes from 1 to nearly 2^52 in units of the scale, both signs. */
static float random_value(float scale)
{
    float mantissa = 1 + (float)(random_word() >> 9) / 8388608.0f;
    float value = ldexpf(mantissa, (int)(random_word() % 52)) / scale;
    return random_word() & 1 ? -value : value;
}

static void sums_are_exact_in_any_order(void **state)
{
    (void)state;
    enum { COUNT = 4000 };
    static float values[COUNT];
    static uint32_t indices[COUNT];
    const float scale = 1024;
    int64_t expected[ELEMENTS] = {0};
    adder forward = adder_create(OPT_ACCUMULATE_FIXED, scale),
          backward = adder_create(OPT_ACCUMULATE_FIXED, scale);
    for (int i = 0; i < COUNT; i++) {
        values[i] = random_value(scale);
        indices[i] = random_word() % ELEMENTS;
        expected[indices[i]] += rounded(values[i], scale);
        add(&forward, indices[i], values[i]);
    }
    for (int i = COUNT; i-- > 0;)
        add(&backward, indices[i], values[i]);
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        assert_true(sum_of(&forward, i) == expected[i]);
        assert_true(sum_of(&backward, i) == expected[i]);
    }
    expect_status(&forward, 0, 0);
    ir_module_destroy(forward.module);
    ir_module_destroy(backward.module);
}

static void carries_and_borrows(void **state)
{
    (void)state;
    static const float steps[] = {4294967040.0f,
                                  255,
                                  1,
                                  -1,
                                  -1,
                                  -4294967296.0f,
                                  4294967296.0f,
                                  1,
                                  -2,
                                  -4294967040.0f,
                                  -3,
                                  0.5f,
                                  -0.5f,
                                  1.49f,
                                  -1.5f,
                                  8388607.5f,
                                  8388609.0f,
                                  -8388609.0f,
                                  16777215.0f,
                                  1125899906842624.0f,
                                  -1125899906842624.0f,
                                  1e-30f};
    adder a = adder_create(OPT_ACCUMULATE_FIXED, 1);
    int64_t expected = 0;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        expected += rounded(steps[i], 1);
        add(&a, 2, steps[i]);
        assert_true(sum_of(&a, 2) == expected);
    }
    expect_status(&a, 0, 1);
    for (uint32_t i = 0; i < ELEMENTS; i++)
        assert_true(i == 2 || sum_of(&a, i) == 0);
    ir_module_destroy(a.module);
}

/* Where a word ends, where its sign turns, where floats are integers and where they are no longer odd: to the
 * nearest integer below 2^23 (or, where adding 1/2 rounds, the next), one off at most below 2^24, exact from
 * there on. */
static void every_size_is_added_as_it_is(void **state)
{
    (void)state;
    adder a = adder_create(OPT_ACCUMULATE_FIXED, 1);
    int64_t before = 0;
    for (int power = -2; power < 49; power++)
        for (int half = 2; half < 12; half++)
            for (int step = -2; step <= 2; step++)
                for (int sign = -1; sign <= 1; sign += 2) {
                    float value = ldexpf((float)half / 2, power), size = value;
                    for (int k = 0; k < abs(step); k++)
                        size = nextafterf(size, step < 0 ? 0 : INFINITY);
                    value = (float)sign * size;
                    add(&a, 6, value);
                    double error = fabs((double)(sum_of(&a, 6) - before) - (double)value);
                    double most = size < 0x1p23f ? 0.5 + 0x1p-24 : size < 0x1p24f ? 1 : 0;
                    if (!(error <= most))
                        fail_msg("%a was added as %lld", (double)value, (long long)(sum_of(&a, 6) - before));
                    before = sum_of(&a, 6);
                }
    assert_int_equal(a.status[OVERFLOW_WORD], 0);
    ir_module_destroy(a.module);
}

static void the_scale_belongs_to_the_element(void **state)
{
    (void)state;
    adder a = adder_create(OPT_ACCUMULATE_FIXED, 1);
    a.scales[SCALE_BASE + 5] = float_bits(65536);
    add(&a, 5, 0.25f);
    add(&a, 4, 3);
    assert_int_equal(sum_of(&a, 5), 16384);
    assert_int_equal(sum_of(&a, 4), 3);
    ir_module_destroy(a.module);
}

static void overflow_is_counted_and_not_added(void **state)
{
    (void)state;
    adder a = adder_create(OPT_ACCUMULATE_FIXED, 1);
    add(&a, 0, 7);
    static const float bad[] = {INFINITY, -INFINITY, NAN, 4503599627370496.0f, -4503599627370496.0f, 1e38f};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        add(&a, 0, bad[i]);
    expect_status(&a, 6, 0);
    assert_int_equal(sum_of(&a, 0), 7);
    add(&a, 0, 4503599358935040.0f); /* the largest that fits */
    expect_status(&a, 6, 0);
    assert_true(sum_of(&a, 0) == 7 + 4503599358935040);
    ir_module_destroy(a.module);
}

/* No sum reaches the wrap at 2^63 uncounted. */
static void overflow_of_the_sum_is_counted(void **state)
{
    (void)state;
    for (int sign = -1; sign <= 1; sign += 2) {
        adder a = adder_create(OPT_ACCUMULATE_FIXED, 1);
        uint32_t added = 0;
        while (a.status[OVERFLOW_WORD] == 0 && added < 5000) {
            add(&a, 1, (float)sign * 4503599358935040.0f);
            added++;
        }
        assert_true(added > 1000 && added < 1100); /* 2^62 / 2^52 */
        assert_true((sum_of(&a, 1) > 0) == (sign > 0));
        ir_module_destroy(a.module);
    }
}

static void underflow_is_counted(void **state)
{
    (void)state;
    adder a = adder_create(OPT_ACCUMULATE_FIXED, 16);
    add(&a, 0, 0.03f); /* 0.48 units */
    add(&a, 0, -0.03f);
    add(&a, 0, 0);
    add(&a, 0, -0.0f);
    expect_status(&a, 0, 2);
    add(&a, 0, 0.0313f);
    expect_status(&a, 0, 2);
    assert_int_equal(sum_of(&a, 0), 1);
    ir_module_destroy(a.module);
}

static void no_index_adds_nothing(void **state)
{
    (void)state;
    for (int how = 0; how < 3; how++) {
        adder a = adder_create((opt_accumulate)how, 1);
        add(&a, ~0u, 1);
        add(&a, ~0u, INFINITY);
        expect_status(&a, 0, 0);
        for (uint32_t i = 0; i < ELEMENTS; i++)
            assert_int_equal(sum_of(&a, i), 0);
        ir_module_destroy(a.module);
        uint32_t none = ~0u, two = 2;
        ir_module *dropped = trace_accum((opt_accumulate)how, &none),
                  *kept = trace_accum((opt_accumulate)how, &two);
        for (uint32_t id = 1; id < dropped->functions.data[0]->inst.count; id++)
            assert_int_equal(dropped->functions.data[0]->inst.data[id].op, IR_PARAM);
        assert_true(kept->functions.data[0]->inst.count > 3);
        ir_module_destroy(dropped);
        ir_module_destroy(kept);
    }
}

/* ---- lists ---- */

enum { LISTED = 4 };

/* (base, values ..): adds to the base's elements 0, 3, 1, 4, and then, of another base where there is one, to
 * element 2. */
static adder lister(const uint32_t *other)
{
    static const uint32_t element[LISTED] = {0, 3, 1, 4};
    ir_module *m = start_module();
    ir_func *f = ir_func_create(m, "add");
    ir_ref base = ir_param(f, IR_U32), value[LISTED];
    for (int k = 0; k < LISTED; k++)
        value[k] = ir_param(f, IR_F32);
    for (int k = 0; k < LISTED; k++)
        ir_accum(f, GRADIENTS, ir_element(f, base, ir_u32(f, element[k])), value[k]);
    if (other)
        ir_accum(f, GRADIENTS, ir_element(f, ir_add(f, base, ir_u32(f, *other)), ir_u32(f, 2)), value[0]);
    ir_return(f, NULL, 0);
    adder a = {.module = optimised(m, OPT_ACCUMULATE_FIXED, 0)};
    a.f = a.module->functions.data[0];
    return a;
}

static void add_all(adder *a, uint32_t base, const float values[LISTED])
{
    ir_value args[1 + LISTED] = {{.u = base}};
    for (int k = 0; k < LISTED; k++)
        args[1 + k].f = (double)values[k];
    evaluate(a, args);
}

static uint32_t loads_of(const adder *a, uint32_t buffer)
{
    uint32_t count = 0;
    for (uint32_t id = 1; id < a->f->inst.count; id++)
        count += a->f->inst.data[id].op == IR_LOAD && a->f->inst.data[id].b == buffer;
    return count;
}

/* What one lookup adds has one scale, that of its base, and is counted once. */
static void elements_of_a_base_are_added_together(void **state)
{
    (void)state;
    const uint32_t other = 1;
    adder a = lister(&other);
    assert_int_equal(loads_of(&a, SCALES), 2);
    a.scales[SCALE_BASE + 2] = float_bits(16), a.scales[SCALE_BASE + 3] = float_bits(4);
    add_all(&a, 2, (const float[]){1.5f, -2, 3, 0.01f});
    assert_true(sum_of(&a, 2) == 24 && sum_of(&a, 5) == -32 + 6 && sum_of(&a, 3) == 48 && sum_of(&a, 6) == 0);
    expect_status(&a, 0, 0);
    add_all(&a, ~0u, (const float[]){INFINITY, 1, 1, 1}); /* but element 2 of base 0, whose scale is 0 */
    expect_status(&a, 1, 0);
    assert_true(sum_of(&a, 0) == 0 && sum_of(&a, 2) == 24);
    ir_module_destroy(a.module);
}

static void a_list_is_counted_once(void **state)
{
    (void)state;
    static const struct {
        float values[LISTED];
        uint32_t overflow, underflow;
    } cases[] = {{{0.1f, -0.1f, 0.1f, 0.1f}, 0, 1},
                 {{0.1f, -0.3f, 0.1f, 0.1f}, 0, 0},
                 {{0, 0, -0.0f, 0}, 0, 0},
                 {{1e-30f, 1, 0, 0}, 0, 0},
                 {{1, 2, NAN, 4}, 1, 0},
                 {{1, 2, 3, -INFINITY}, 1, 0},
                 {{0x1p51f, -0x1p51f, 0, 0}, 1, 0},
                 {{INFINITY, -INFINITY, 0, 0}, 1, 0},
                 {{0x1p51f, -0x1p50f, 0x1p49f, 1}, 0, 0}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        adder a = lister(NULL);
        a.scales[SCALE_BASE + 1] = float_bits(1);
        add_all(&a, 1, cases[k].values);
        expect_status(&a, cases[k].overflow, cases[k].underflow);
        static const uint32_t element[LISTED] = {0, 3, 1, 4};
        for (int c = 0; c < LISTED; c++)
            assert_true(sum_of(&a, 1 + element[c]) ==
                        (cases[k].overflow ? 0 : rounded(cases[k].values[c], 1)));
        ir_module_destroy(a.module);
    }
}

static uint32_t count_of(const adder *a, ir_op op)
{
    uint32_t count = 0;
    for (uint32_t id = 1; id < a->f->inst.count; id++)
        count += a->f->inst.data[id].op == op;
    return count;
}

/* More than a GPU adds to before high words move. One of them carries, some borrow. */
static void high_words_of_a_list_move(void **state)
{
    enum { COUNT = 6 };
    static const float values[COUNT] = {-1, 0x1p31f, -0x1p33f, 7, -5, 0x1p40f};
    (void)state;
    ir_module *m = start_module();
    ir_func *f = ir_func_create(m, "add");
    ir_ref base = ir_param(f, IR_U32);
    for (uint32_t k = 0; k < COUNT; k++)
        ir_accum(f, GRADIENTS, ir_element(f, base, ir_u32(f, k)), ir_f32(f, values[k]));
    ir_return(f, NULL, 0);
    adder a = {.module = optimised(m, OPT_ACCUMULATE_FIXED, 0)};
    a.f = a.module->functions.data[0];
    a.scales[SCALE_BASE + 1] = float_bits(1);
    assert_int_equal(count_of(&a, IR_LOOP), gpu ? 0 : 1);
    for (int times = 1; times <= 3; times++) {
        evaluate(&a, &(ir_value){.u = 1});
        for (uint32_t k = 0; k < COUNT; k++)
            assert_true(sum_of(&a, 1 + k) == times * (int64_t)values[k]);
    }
    expect_status(&a, 0, 0);
    a.gradients[2 * (1 + 4) + 1] = 0xC0000000u; /* the fifth sum is at the end of its range */
    a.gradients[2 * (1 + 4)] = 0;
    evaluate(&a, &(ir_value){.u = 1});
    expect_status(&a, 1, 0);
    ir_module_destroy(a.module);
}

static void float_forms_add_floats(void **state)
{
    (void)state;
    for (int how = OPT_ACCUMULATE_FLOAT; how <= OPT_ACCUMULATE_CAS; how++) {
        adder a = adder_create((opt_accumulate)how, 1);
        float expected[ELEMENTS] = {0};
        for (int i = 0; i < 200; i++) {
            uint32_t at = random_word() % ELEMENTS;
            float value = (float)(random_word() >> 8) / 65536.0f - 128;
            expected[at] += value;
            add(&a, at, value);
        }
        for (int i = 0; i < ELEMENTS; i++)
            assert_true(bits_float(a.gradients[i]) == expected[i]);
        ir_module_destroy(a.module);
    }
}

static adder flusher(const float *values, size_t count, uint32_t elements)
{
    ir_module *m = start_module();
    ir_func *f = m->entry = ir_func_create(m, "main");
    for (size_t i = 0; i < count; i++)
        ir_accum(f, GRADIENTS, ir_u32(f, 3), ir_f32(f, values[i]));
    ir_accum(f, GRADIENTS, ir_u32(f, ~0u), ir_f32(f, INFINITY));
    ir_flush(f, GRADIENTS, ir_bool(f, true));
    ir_return(f, NULL, 0);
    adder a = {.module = optimised(m, OPT_ACCUMULATE_FIXED, elements)};
    a.f = a.module->entry;
    a.scales[SCALE_BASE + 3] = float_bits(16);
    return a;
}

/* Of many elements counts alone are private until then. */
static void a_flush_carries_counts_to_memory(void **state)
{
    (void)state;
    static const float values[] = {INFINITY, 0.03f, 5, -7, -NAN, 0.03f, -0.03f};
    adder a = flusher(values, sizeof values / sizeof *values, 0);
    add(&a, 0, 0);
    add(&a, 0, 0);
    expect_status(&a, 4, 6);
    assert_int_equal(sum_of(&a, 3), 2 * 16 * (5 - 7));
    ir_module_destroy(a.module);
}

/* Of few elements sums are, too: what one invocation adds to one of them is one value. */
static void a_flush_carries_sums_to_memory(void **state)
{
    (void)state;
    static const struct {
        float values[4];
        uint32_t overflow, underflow;
        int sum; /* of two invocations */
    } cases[] = {{{0.03f, 5, 0.04f, -7}, 0, 0, -62},
                 {{0.03f, 0, 0, -0.04f}, 0, 2, 0},
                 {{1, INFINITY, 2, 3}, 2, 0, 0},
                 {{1, -NAN, 2, 3}, 2, 0, 0},
                 {{1, 2, -3, 0}, 0, 0, 0}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        adder a = flusher(cases[k].values, 4, ELEMENTS);
        add(&a, 0, 0);
        add(&a, 0, 0);
        expect_status(&a, cases[k].overflow, cases[k].underflow);
        assert_int_equal(sum_of(&a, 3), cases[k].sum);
        ir_module_destroy(a.module);
    }
}

static void what_is_not_finite_is_counted_apart(void **state)
{
    (void)state;
    static const opt_accumulate ways[] = {OPT_ACCUMULATE_FIXED, OPT_ACCUMULATE_FLOAT, OPT_ACCUMULATE_CAS};
    static const float bad[] = {INFINITY, -INFINITY, NAN};
    apart = true;
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
        bool fixed = ways[k] == OPT_ACCUMULATE_FIXED;
        adder a = adder_create(ways[k], 1);
        add(&a, 0, 7);
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
            add(&a, 0, bad[i]);
        assert_int_equal(a.status[NON_FINITE_WORD], 3);
        assert_true(fixed ? sum_of(&a, 0) == 7 : bits_float(a.gradients[0]) == 7);
        add(&a, 0, fixed ? 1e38f : 1);
        assert_int_equal(a.status[OVERFLOW_WORD], fixed);
        assert_int_equal(a.status[NON_FINITE_WORD], 3);
        ir_module_destroy(a.module);
    }
    apart = false;
}

/* One value of an invocation that is not finite does not take along what the others have added. */
static void a_flush_carries_what_is_finite(void **state)
{
    (void)state;
    static const float values[] = {1, -NAN, 2, 3};
    apart = true;
    for (uint32_t elements = 0; elements <= ELEMENTS; elements += ELEMENTS) {
        adder a = flusher(values, 4, elements);
        add(&a, 0, 0);
        add(&a, 0, 0);
        assert_int_equal(a.status[NON_FINITE_WORD], 2);
        assert_int_equal(a.status[OVERFLOW_WORD] | a.status[UNDERFLOW_WORD], 0);
        assert_int_equal(sum_of(&a, 3), 2 * 16 * (1 + 2 + 3));
        ir_module_destroy(a.module);
    }
    apart = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_exact_in_any_order),
        cmocka_unit_test(carries_and_borrows),
        cmocka_unit_test(every_size_is_added_as_it_is),
        cmocka_unit_test(the_scale_belongs_to_the_element),
        cmocka_unit_test(overflow_is_counted_and_not_added),
        cmocka_unit_test(overflow_of_the_sum_is_counted),
        cmocka_unit_test(underflow_is_counted),
        cmocka_unit_test(a_flush_carries_counts_to_memory),
        cmocka_unit_test(a_flush_carries_sums_to_memory),
        cmocka_unit_test(what_is_not_finite_is_counted_apart),
        cmocka_unit_test(a_flush_carries_what_is_finite),
        cmocka_unit_test(no_index_adds_nothing),
        cmocka_unit_test(elements_of_a_base_are_added_together),
        cmocka_unit_test(a_list_is_counted_once),
        cmocka_unit_test(high_words_of_a_list_move),
        cmocka_unit_test(float_forms_add_floats),
    };
    int failed = _cmocka_run_group_tests("CPUs", tests, sizeof tests / sizeof *tests, NULL, NULL);
    gpu = true;
    return failed + _cmocka_run_group_tests("GPUs", tests, sizeof tests / sizeof *tests, NULL, NULL);
}
