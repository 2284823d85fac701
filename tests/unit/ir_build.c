/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Builders: what merges, what the first error says, and that misuse of regions, calls and memory is an error,
 * not a crash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "spirv_gen/ir/ir.h"

#include <string.h>

typedef struct fixture {
    ir_module *m;
    ir_func *f;
    ir_ref c, x, y, n; /* bool, f32, f32, u32 */
} fixture;

static fixture begin(void)
{
    fixture t = {.m = ir_module_create()};
    ir_buffer_add(t.m, "constant", true, -1);
    ir_buffer_add(t.m, "memory", false, -1);
    t.f = ir_func_create(t.m, "test");
    t.c = ir_param(t.f, IR_BOOL);
    t.x = ir_param(t.f, IR_F32);
    t.y = ir_param(t.f, IR_F32);
    t.n = ir_param(t.f, IR_U32);
    return t;
}

static void end_well(fixture t)
{
    ir_return(t.f, NULL, 0);
    bl_error err = {0};
    if (ir_finish(t.m, &err) != BL_OK || ir_verify(t.m, &err) != BL_OK)
        fail_msg("%s", err.text);
    ir_module_destroy(t.m);
}

static void end_badly(fixture t, const char *expected)
{
    ir_return(t.f, NULL, 0);
    bl_error err = {0};
    assert_int_not_equal(ir_finish(t.m, &err), BL_OK);
    if (!strstr(err.text, expected))
        fail_msg("the error is \"%s\", expected \"%s\" in it", err.text, expected);
    ir_module_destroy(t.m);
}

static void equal_values_merge(void **state)
{
    (void)state;
    fixture t = begin();
    assert_true(ir_same(ir_add(t.f, t.x, t.y), ir_add(t.f, t.y, t.x)));
    assert_false(ir_same(ir_sub(t.f, t.x, t.y), ir_sub(t.f, t.y, t.x)));
    assert_true(ir_same(ir_load(t.f, IR_F32, 0, t.n), ir_load(t.f, IR_F32, 0, t.n)));
    assert_false(ir_same(ir_load(t.f, IR_F32, 1, t.n), ir_load(t.f, IR_F32, 1, t.n)));
    ir_ref branch = ir_if(t.f, t.c), inside = ir_mul(t.f, t.x, t.y), outer = ir_add(t.f, t.x, t.y);
    ir_else(t.f);
    assert_false(ir_same(inside, ir_mul(t.f, t.x, t.y)));
    assert_true(ir_same(outer, ir_add(t.f, t.x, t.y)));
    ir_endif(t.f);
    assert_true(ir_same(ir_phi(t.f, branch, t.x, t.x), t.x));
    end_well(t);
}

static void constants_are_valid_everywhere(void **state)
{
    (void)state;
    fixture t = begin();
    ir_if(t.f, t.c);
    ir_ref inside = ir_f32(t.f, 3.0f), uniform = ir_uniform(t.f, IR_F32, 2);
    ir_else(t.f);
    ir_endif(t.f);
    assert_true(ir_same(ir_f32(t.f, 3.0f), inside));
    ir_add(t.f, inside, uniform);
    end_well(t);
}

static void a_branch_value_is_not_visible_outside(void **state)
{
    (void)state;
    fixture t = begin();
    ir_if(t.f, t.c);
    ir_ref inside = ir_mul(t.f, t.x, t.y);
    ir_else(t.f);
    ir_endif(t.f);
    ir_neg(t.f, inside);
    end_badly(t, "has ended");
}

static void a_phi_takes_values_of_its_branches(void **state)
{
    (void)state;
    fixture t = begin();
    ir_ref branch = ir_if(t.f, t.c), inside = ir_mul(t.f, t.x, t.y);
    ir_else(t.f);
    ir_endif(t.f);
    ir_phi(t.f, branch, t.x, inside);
    end_badly(t, "does not belong to its branch");
}

static void a_phi_takes_nothing_from_behind_its_if(void **state)
{
    (void)state;
    fixture t = begin();
    ir_ref branch = ir_if(t.f, t.c), inside = ir_mul(t.f, t.x, t.y);
    ir_else(t.f);
    ir_endif(t.f);
    ir_ref first = ir_phi(t.f, branch, inside, t.x);
    ir_phi(t.f, branch, t.x, first);
    end_badly(t, "does not belong to its branch");
}

static void a_phi_follows_its_if(void **state)
{
    (void)state;
    fixture t = begin();
    ir_ref branch = ir_if(t.f, t.c);
    ir_else(t.f);
    ir_endif(t.f);
    ir_mul(t.f, t.x, t.y);
    ir_phi(t.f, branch, t.x, t.y);
    end_badly(t, "does not follow its endif");
}

static void a_region_is_not_a_value(void **state)
{
    (void)state;
    fixture t = begin();
    ir_ref branch = ir_if(t.f, t.c);
    ir_else(t.f);
    ir_endif(t.f);
    ir_store(t.f, 1, t.n, branch);
    end_badly(t, "is not a value");
}

static void a_local_array_is_not_a_value(void **state)
{
    (void)state;
    fixture t = begin();
    ir_add(t.f, t.x, ir_local(t.f, IR_F32, 4));
    end_badly(t, "is not a value");
}

static void a_loop_has_one_while(void **state)
{
    (void)state;
    fixture t = begin();
    ir_ref s = t.x, loop = ir_loop(t.f, &s, 1);
    ir_endloop(t.f, loop, &s, 1);
    end_badly(t, "has no while");
    t = begin();
    s = t.x;
    ir_loop(t.f, &s, 1);
    ir_while(t.f, t.c);
    ir_while(t.f, t.c);
    end_badly(t, "one already");
}

static void next_values_match_the_states(void **state)
{
    (void)state;
    for (uint32_t count = 0; count < 4; count++) {
        fixture t = begin();
        ir_ref s[2] = {t.x, t.n}, next[4] = {t.y, t.n, t.x, t.x}, loop = ir_loop(t.f, s, 2);
        ir_while(t.f, t.c);
        ir_endloop(t.f, loop, next, count);
        if (count == 2)
            end_well(t);
        else
            end_badly(t, "next values");
    }
    fixture t = begin();
    ir_ref s = t.x, loop = ir_loop(t.f, &s, 1);
    ir_while(t.f, t.c);
    ir_endloop(t.f, loop, &t.n, 1);
    end_badly(t, "is u32, expected f32");
}

static void states_remain_after_their_loop(void **state)
{
    (void)state;
    fixture t = begin();
    ir_ref s = t.x, loop = ir_loop(t.f, &s, 1);
    ir_while(t.f, t.c);
    ir_ref next = ir_add(t.f, s, t.y);
    ir_endloop(t.f, loop, &next, 1);
    ir_neg(t.f, s);
    ir_neg(t.f, next);
    end_badly(t, "has ended");
}

static void regions_close_in_order(void **state)
{
    (void)state;
    fixture t = begin();
    ir_else(t.f);
    end_badly(t, "else without an open if");
    t = begin();
    ir_if(t.f, t.c);
    ir_endif(t.f);
    end_badly(t, "endif without an open else");
    t = begin();
    ir_if(t.f, t.c);
    end_badly(t, "return inside an open if");
    t = begin();
    ir_if(t.f, t.c);
    ir_while(t.f, t.c);
    end_badly(t, "while without an open loop");
}

static void calls_match_their_targets(void **state)
{
    (void)state;
    fixture t = begin();
    ir_func *g = ir_func_create(t.m, "g"), *h = ir_func_create(t.m, "h"), *open = ir_func_create(t.m, "open");
    ir_ref a = ir_param(g, IR_F32), r;
    ir_return(g, &a, 1);
    ir_return(h, NULL, 0);
    ir_call(t.f, t.n, (ir_func *[]){g}, 1, &t.x, 1, &r);
    assert_int_equal(ir_type_of(t.f, r), IR_F32);
    ir_call(t.f, t.n, (ir_func *[]){open}, 1, NULL, 0, NULL);
    assert_non_null(strstr(t.m->error.text, "not finished"));
    t.m->error.code = BL_OK;
    ir_call(t.f, t.n, (ir_func *[]){g, h}, 2, &t.x, 1, &r);
    assert_non_null(strstr(t.m->error.text, "differ in signature"));
    t.m->error.code = BL_OK;
    ir_call(t.f, t.n, (ir_func *[]){g}, 1, &t.n, 1, &r);
    assert_true(ir_is_none(r));
    end_badly(t, "is u32, expected f32");
}

static void memory_is_checked(void **state)
{
    (void)state;
    fixture t = begin();
    ir_store(t.f, 0, t.n, t.x);
    end_badly(t, "is constant");
    t = begin();
    ir_load(t.f, IR_F32, 7, t.n);
    end_badly(t, "does not exist");
    t = begin();
    ir_load(t.f, IR_F32, 0, t.x);
    end_badly(t, "is f32, expected u32");
    t = begin();
    ir_store(t.f, 1, t.n, t.c);
    end_badly(t, "memory holds");
    t = begin();
    ir_dload(t.f, 0, t.n, t.n);
    end_badly(t, "no gradient partner");
    t = begin();
    ir_local(t.f, IR_F32, 0);
    end_badly(t, "elements");
    t = begin();
    ir_lload(t.f, t.x, t.n);
    end_badly(t, "not a local array");
}

static void references_of_nowhere_are_errors(void **state)
{
    (void)state;
    fixture t = begin();
    ir_neg(t.f, (ir_ref){0});
    end_badly(t, "does not exist");
    t = begin();
    ir_neg(t.f, (ir_ref){4000000000u});
    end_badly(t, "does not exist");
    t = begin();
    ir_phi(t.f, (ir_ref){0}, t.x, t.y);
    end_badly(t, "does not follow its endif");
}

static void inlining_copies_the_body(void **state)
{
    (void)state;
    fixture t = begin();
    ir_func *g = ir_func_create(t.m, "g");
    ir_ref a = ir_param(g, IR_F32), square = ir_mul(g, a, a), r;
    ir_return(g, &square, 1);
    ir_inline(t.f, g, &t.x, &r);
    assert_true(ir_same(r, ir_mul(t.f, t.x, t.x)));
    end_well(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_values_merge),
        cmocka_unit_test(constants_are_valid_everywhere),
        cmocka_unit_test(a_branch_value_is_not_visible_outside),
        cmocka_unit_test(a_phi_takes_values_of_its_branches),
        cmocka_unit_test(a_phi_takes_nothing_from_behind_its_if),
        cmocka_unit_test(a_phi_follows_its_if),
        cmocka_unit_test(a_region_is_not_a_value),
        cmocka_unit_test(a_local_array_is_not_a_value),
        cmocka_unit_test(a_loop_has_one_while),
        cmocka_unit_test(next_values_match_the_states),
        cmocka_unit_test(states_remain_after_their_loop),
        cmocka_unit_test(regions_close_in_order),
        cmocka_unit_test(calls_match_their_targets),
        cmocka_unit_test(memory_is_checked),
        cmocka_unit_test(references_of_nowhere_are_errors),
        cmocka_unit_test(inlining_copies_the_body),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
