/* SPDX-License-Identifier: BSD-3-Clause
 * LABELS: nodevice
 * Loop state (render/integrator/walk/loop_state.h): one function visits the fields of a struct, whether they
 * are written or read. Every field gets another update in each trip, so a field that is lost, or read in
 * another one's place, ends with another number than the same loop in C. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "render/integrator/walk/loop_state.h"

enum { FIELDS = 10, TRIPS = 5 };

typedef struct carried {
    vec3 v;
    color c;
    vec2 u;
    ir_ref pair[2];
} carried;

static void state_carried(loop_state *s, carried *p)
{
    const tracer t = {.channels = 3};
    state_vec3(s, &p->v), state_color(s, &t, &p->c), state_vec2(s, &p->u), state_refs(s, p->pair, 2);
}

static void fields(carried *p, ir_ref *out[FIELDS])
{
    ir_ref *const all[FIELDS] = {&p->v.x,    &p->v.y, &p->v.z, &p->c.c[0],  &p->c.c[1],
                                 &p->c.c[2], &p->u.x, &p->u.y, &p->pair[0], &p->pair[1]};
    for (int k = 0; k < FIELDS; k++)
        out[k] = all[k];
}

static void evaluate(ir_module *m, const double *args, uint32_t count, double results[FIELDS])
{
    ir_value in[1 + FIELDS], out[FIELDS];
    for (uint32_t k = 0; k < count; k++)
        in[k].f = args[k];
    bl_error err = {0};
    if (ir_finish(m, &err) != BL_OK || ir_eval(m->entry, in, out, &(ir_eval_env){.f64 = true}, &err) != BL_OK)
        fail_msg("%s", err.text);
    for (int k = 0; k < FIELDS; k++)
        results[k] = out[k].f;
    ir_module_destroy(m);
}

/* Field k begins at k + 1. A trip multiplies it by 2 and adds k. */
static void a_loop_carries_every_field(void **state)
{
    (void)state;
    ir_module *m = ir_module_create();
    ir_func *f = m->entry = ir_func_create(m, "loop");
    tracer t = {.f = f, .channels = 3};
    carried p;
    ir_ref *field[FIELDS], results[FIELDS], trip = t_u32(&t, 0);
    fields(&p, field);
    for (int k = 0; k < FIELDS; k++)
        *field[k] = t_f32(&t, (float)(k + 1));
    loop_state s = {0}, next = {0};
    state_ref(&s, &trip), state_carried(&s, &p);
    assert_int_equal(s.count, 1 + FIELDS);
    ir_ref loop = state_loop(f, &s);
    state_ref(&s, &trip), state_carried(&s, &p);
    ir_while(f, ir_lt(f, trip, t_u32(&t, TRIPS)));
    for (int k = 0; k < FIELDS; k++)
        *field[k] = t_mad(&t, *field[k], t_f32(&t, 2), t_f32(&t, (float)k));
    trip = ir_add(f, trip, t_u32(&t, 1));
    state_ref(&next, &trip), state_carried(&next, &p);
    state_endloop(f, loop, &s, &next);
    state_ref(&s, &trip), state_carried(&s, &p);
    state_end(&s);
    for (int k = 0; k < FIELDS; k++)
        results[k] = *field[k];
    ir_return(f, results, FIELDS);
    double got[FIELDS];
    evaluate(m, NULL, 0, got);
    for (int k = 0; k < FIELDS; k++) {
        double x = k + 1;
        for (int n = 0; n < TRIPS; n++)
            x = 2 * x + k;
        assert_true(got[k] == x);
    }
}

static void one_of_two_states_is_selected(void **state)
{
    (void)state;
    for (int first = 0; first < 2; first++) {
        ir_module *m = ir_module_create();
        ir_func *f = m->entry = ir_func_create(m, "select");
        tracer t = {.f = f, .channels = 3};
        carried a, b;
        ir_ref *of_a[FIELDS], *of_b[FIELDS], results[FIELDS], u = ir_param(f, IR_F32);
        fields(&a, of_a), fields(&b, of_b);
        for (int k = 0; k < FIELDS; k++)
            *of_a[k] = t_f32(&t, (float)(k + 1)), *of_b[k] = t_f32(&t, (float)(-k - 1));
        loop_state s = {0}, others = {0};
        state_carried(&s, &a), state_carried(&others, &b);
        state_select(f, ir_gt(f, u, t_f32(&t, 0)), &s, &others);
        state_carried(&s, &a);
        state_end(&s);
        for (int k = 0; k < FIELDS; k++)
            results[k] = *of_a[k];
        ir_return(f, results, FIELDS);
        double got[FIELDS];
        evaluate(m, (double[1]){first ? 1 : -1}, 1, got);
        for (int k = 0; k < FIELDS; k++)
            assert_true(got[k] == (first ? k + 1 : -k - 1));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_carries_every_field),
        cmocka_unit_test(one_of_two_states_is_selected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
