/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * opt/exact.c: division and square root are rounded correctly whatever the device's own are off by. The
 * interpreter's are exact, so a pass of this test takes every quotient and root of the lowered trace -3 to 3
 * ulp away from where it is, as a device may. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "spirv_gen/opt/pass.h"

#include <math.h>
#include <string.h>

enum { A, B, OFF, RESULT, WORDS, SAMPLES = 40000 };

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* ---- a device that is off ---- */

static bool put_off(ir_copier *c, uint32_t id, ir_inst inst)
{
    ir_func *f = c->to;
    if (inst.type != IR_F32 || (inst.op != IR_DIV && inst.op != IR_SQRT))
        return false;
    ir_ref a = ir_copied(c, inst.a);
    ir_ref right = inst.op == IR_DIV ? ir_div(f, a, ir_copied(c, inst.b)) : ir_sqrt(f, a);
    c->map[id] =
        ir_bits_to_f32(f, ir_add(f, ir_bits_to_u32(f, right), ir_load(f, IR_U32, 0, ir_u32(f, OFF))));
    return true;
}

typedef struct program {
    ir_module *m;
    uint32_t words[WORDS];
    ir_eval_buffer buffer;
    ir_eval_env env;
} program;

static void make(program *p, ir_op op, bool exact)
{
    ir_module *m = ir_module_create(), *lowered;
    uint32_t memory = ir_buffer_add(m, "memory", false, -1);
    ir_func *f = ir_func_create(m, "main");
    bl_error err = {0};
    ir_ref a = ir_load(f, IR_F32, memory, ir_u32(f, A)), b = ir_load(f, IR_F32, memory, ir_u32(f, B));
    ir_store(f, memory, ir_u32(f, RESULT), op == IR_DIV ? ir_div(f, a, b) : ir_sqrt(f, a));
    ir_return(f, NULL, 0);
    m->entry = f;
    if (opt_run(m, &(opt_options){.own_division = exact, .own_root = exact}, &lowered, &err) != BL_OK)
        fail_msg("%s", err.text);
    ir_module_destroy(m);
    opt_pass off = {.from = lowered, .hook = put_off};
    *p = (program){.m = opt_rebuild(&off)};
    ir_module_destroy(lowered);
    if (ir_finish(p->m, &err) != BL_OK || ir_verify(p->m, &err) != BL_OK)
        fail_msg("%s", err.text);
    p->buffer = (ir_eval_buffer){.words = p->words, .count = WORDS};
    p->env = (ir_eval_env){.buffers = &p->buffer, .buffer_count = 1};
}

static uint32_t run(program *p, uint32_t a, uint32_t b, int32_t off)
{
    bl_error err = {0};
    p->words[A] = a, p->words[B] = b, p->words[OFF] = (uint32_t)off;
    if (ir_eval(p->m->entry, NULL, NULL, &p->env, &err) != BL_OK)
        fail_msg("%s", err.text);
    return p->words[RESULT];
}

/* ---- operands ---- */

static uint32_t random_word(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 32);
}

/* Every third mantissa is next to a power of two, where a binade ends. */
static uint32_t operand(uint64_t *state, uint32_t k)
{
    uint32_t word = random_word(state);
    if (k % 3 == 0)
        word = (word & 0xff800000u) | ((word & 7) < 4 ? word & 3 : 0x7fffff - (word & 3));
    return word;
}

static bool is_normal(uint32_t word) { return (word >> 23 & 255) - 1 < 254; }

/* What the device is left to do is wrong by what it is off by, so these results are not compared. */
static uint32_t count_wrong(ir_op op, bool exact, uint32_t *compared)
{
    program p;
    uint64_t state = 5;
    uint32_t wrong = 0;
    make(&p, op, exact);
    for (uint32_t k = 0; k < SAMPLES; k++) {
        uint32_t a = operand(&state, k), b = operand(&state, k / 3);
        a = op == IR_SQRT ? a & 0x7fffffffu : a;
        float right = op == IR_DIV ? float_of(a) / float_of(b) : sqrtf(float_of(a));
        if (!is_normal(a) || (op == IR_DIV && !is_normal(b)) || !is_normal(bits_of(right)))
            continue;
        ++*compared;
        wrong += run(&p, a, b, (int32_t)(random_word(&state) % 7) - 3) != bits_of(right);
    }
    ir_module_destroy(p.m);
    return wrong;
}

static void check(ir_op op)
{
    uint32_t compared = 0, without = count_wrong(op, false, &compared);
    assert_true(compared > SAMPLES / 2);
    assert_true(without > compared / 2); /* the device is off: the check would see it */
    compared = 0;
    assert_int_equal(count_wrong(op, true, &compared), 0);
}

static void division_is_rounded(void **state)
{
    (void)state;
    check(IR_DIV);
}
static void roots_are_rounded(void **state)
{
    (void)state;
    check(IR_SQRT);
}

/* Zeros, infinities, NaN, denormal results: the device's own, which here is not off. */
static void the_rest_is_the_devices(void **state)
{
    static const uint32_t special[] = {0,           0x80000000u, 0x7f800000u, 0xff800000u, 0x7fc00000u,
                                       0x00000001u, 0x00800000u, 0x7f7fffffu, 0x3f800000u, 0xbf800000u};
    enum { COUNT = sizeof special / sizeof *special };
    (void)state;
    program quotient, root;
    make(&quotient, IR_DIV, true);
    make(&root, IR_SQRT, true);
    for (uint32_t i = 0; i < COUNT * COUNT; i++) {
        uint32_t a = special[i / COUNT], b = special[i % COUNT];
        float right = float_of(a) / float_of(b), whole = sqrtf(float_of(a));
        uint32_t got = run(&quotient, a, b, 0), taken = run(&root, a, b, 0);
        assert_true(isnan(right) ? isnan(float_of(got)) : got == bits_of(right));
        assert_true(isnan(whole) ? isnan(float_of(taken)) : taken == bits_of(whole));
    }
    ir_module_destroy(quotient.m);
    ir_module_destroy(root.m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(division_is_rounded),
        cmocka_unit_test(roots_are_rounded),
        cmocka_unit_test(the_rest_is_the_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
