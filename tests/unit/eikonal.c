/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Rays in a varying index (integrator/eikonal/ray.h), run by the interpreter in double and single precision:
 * known lenses focus, the Hamiltonian stays, the way back leads to the start, errors fall with the square of
 * the step, and the derivatives of the whole way are those of its steps written out, and of differences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "render/integrator/eikonal/ray.h"
#include "spirv_gen/ad/ad.h"

#include <math.h>
#include <string.h>

enum { VALUES, GRADIENTS, TANGENTS, BUFFERS, VALUE_COUNT = 6, NUMBERS_MOST = 64, CHANNELS = 2 };

typedef struct machine {
    ir_module *m;
    double memory[BUFFERS][VALUE_COUNT];
    bool f32;
} machine;

/* ---- media ---- */

static medium_index luneburg(tracer *t, const eikonal_law *law, vec3 p)
{
    ir_func *f = t->f;
    ir_ref n = ir_sqrt(f, ir_sub(f, t_f32(t, 2), v3_dot(t, p, p)));
    (void)law;
    return (medium_index){n, v3_scale(t, p, ir_neg(f, ir_div(f, t_f32(t, 1), n)))};
}

static medium_index maxwell(tracer *t, const eikonal_law *law, vec3 p)
{
    ir_func *f = t->f;
    ir_ref over = ir_div(f, t_f32(t, 1), ir_add(f, t_f32(t, 1), v3_dot(t, p, p)));
    (void)law;
    return (medium_index){ir_mul(f, t_f32(t, 2), over),
                          v3_scale(t, p, ir_mul(f, t_f32(t, -4), ir_mul(f, over, over)))};
}

static ir_ref value(tracer *t, uint32_t k)
{
    ir_ref at = t_u32(t, k);
    return t->differentiated ? ir_dload(t->f, VALUES, at, at) : ir_load(t->f, IR_F32, VALUES, at);
}

/* n = v0 + v1 x y + v2 z^2 + v3 x */
static medium_index polynomial(tracer *t, const eikonal_law *law, vec3 p)
{
    ir_func *f = t->f;
    ir_ref v1 = value(t, 1), v2 = value(t, 2), v3_ = value(t, 3), z2 = ir_mul(f, t_f32(t, 2), p.z);
    (void)law;
    ir_ref n =
        t_mad(t, v1, ir_mul(f, p.x, p.y), t_mad(t, v2, t_sqr(t, p.z), t_mad(t, v3_, p.x, value(t, 0))));
    return (medium_index){n, v3(t_mad(t, v1, p.y, v3_), ir_mul(f, v1, p.x), ir_mul(f, v2, z2))};
}

static color absorbing(tracer *t, const eikonal_law *law, vec3 p)
{
    (void)law;
    ir_ref v = value(t, 4);
    return (color){{t_mad(t, v, t_sqr(t, p.x), v), ir_mul(t->f, v, t_mad(t, p.y, p.z, t_f32(t, 2)))}};
}

static color shining(tracer *t, const eikonal_law *law, vec3 p)
{
    (void)law;
    ir_ref v = value(t, 5);
    return (color){{ir_mul(t->f, v, t_sqr(t, p.y)), t_mad(t, v, p.x, t_f32(t, 1))}};
}

typedef struct medium_case {
    medium_index (*index)(tracer *t, const eikonal_law *law, vec3 p);
    bool lit;
    float step;
} medium_case;

static eikonal_law law_of(tracer *t, const void *of, ir_ref record)
{
    const medium_case *c = of;
    return (eikonal_law){.of = of,
                         .record = record,
                         .step = t_f32(t, c->step),
                         .index = c->index,
                         .extinction = c->lit ? absorbing : NULL,
                         .emission = c->lit ? shining : NULL};
}

static tracer tracer_of(ir_func *f) { return (tracer){.f = f, .light = LIGHT_RGB, .channels = CHANNELS}; }

/* ---- functions ---- */

typedef enum way { BEGIN, STEP, BACK, ARRIVE } way;

/* One function of the header: parameters are a state, or o and d; of ARRIVE a state and a point. */
static ir_func *function(ir_module *m, const medium_case *c, way what)
{
    ir_func *f = ir_func_create(m, "function");
    tracer t = tracer_of(f);
    eikonal_law law = law_of(&t, c, t_u32(&t, 0));
    ir_ref in[EIKONAL_NUMBERS_MOST + 3], out[EIKONAL_NUMBERS_MOST];
    uint32_t n = what == BEGIN ? 6 : c->lit ? 6 + 2 * CHANNELS : 6, count;
    for (uint32_t k = 0; k < n + (what == ARRIVE ? 3 : 0); k++)
        in[k] = ir_param(f, IR_F32);
    if (what == ARRIVE) {
        eikonal_state s = eikonal_unpack(&t, c->lit, in);
        eikonal_arrival a = eikonal_arrive(&t, &law, &s, vec3_at(in + n));
        vec3_put(a.v, out), count = 3;
    } else {
        eikonal_state s;
        if (what == BEGIN)
            s = eikonal_begin(&t, &law, vec3_at(in), vec3_at(in + 3));
        else
            s = eikonal_unpack(&t, c->lit, in),
            s = (what == STEP ? eikonal_step : eikonal_back)(&t, &law, &s);
        count = eikonal_pack(&t, c->lit, &s, out);
    }
    ir_return(f, out, count);
    return f;
}

static machine new_machine(bool f32)
{
    machine k = {.m = ir_module_create(), .memory = {[VALUES] = {1.4, .13, -.17, .09, .3, .7}}, .f32 = f32};
    ir_buffer_add(k.m, "values", true, GRADIENTS);
    ir_buffer_add(k.m, "gradients", false, -1);
    ir_buffer_add(k.m, "tangents", true, -1);
    k.m->buffers.data[VALUES].tangent = TANGENTS;
    return k;
}

/* Runs f. Where it takes a word, that is args[k], rounded. In single precision only ACCUM is in double. */
static void run(machine *k, const ir_func *f, const double *args, double *results)
{
    ir_value in[NUMBERS_MOST] = {{0}}, out[NUMBERS_MOST] = {{0}};
    ir_eval_buffer buffers[BUFFERS];
    bl_error err = {0};
    if (ir_finish(k->m, &err) != BL_OK)
        fail_msg("%s", err.text);
    for (uint32_t i = 0; i < f->params.count; i++) {
        if (f->params.data[i] == IR_U32)
            in[i].u = (uint32_t)args[i];
        else
            in[i].f = k->f32 ? (double)(float)args[i] : args[i];
    }
    for (uint32_t i = 0; i < BUFFERS; i++)
        buffers[i] = (ir_eval_buffer){.reals = k->memory[i], .count = VALUE_COUNT};
    ir_eval_env env = {.buffers = buffers, .buffer_count = BUFFERS, .f64 = !k->f32};
    if (ir_eval(f, in, out, &env, &err) != BL_OK)
        fail_msg("%s", err.text);
    for (uint32_t i = 0; i < f->results.count; i++)
        results[i] = out[i].f;
}

/* ---- lenses ---- */

static double dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/* Walks from o along d until the unit sphere is left. Sets the point, and the velocity there. */
static void through_ball(machine *k, const medium_case *c, const double ray[6], double p[3], double v[3])
{
    double s[NUMBERS_MOST], next[NUMBERS_MOST];
    const ir_func *step = function(k->m, c, STEP), *arrive = function(k->m, c, ARRIVE);
    run(k, function(k->m, c, BEGIN), ray, s);
    for (int i = 0; i < 100000; i++) {
        run(k, step, s, next);
        if (dot(next, next) >= 1 && dot(s, s + 3) > 0)
            break;
        memcpy(s, next, sizeof s);
    }
    double a = dot(s + 3, s + 3), b = dot(s, s + 3), q = dot(s, s) - 1, t = (-b + sqrt(b * b - a * q)) / a;
    for (int j = 0; j < 3; j++)
        p[j] = s[j] + t * s[3 + j];
    memcpy(s + 6, p, 3 * sizeof *p);
    run(k, arrive, s, v);
}

/* The largest distance from (1, 0, 0) of rays along x, or from (-1, 0, 0) in all directions. */
static double focus_error(bool f32, bool is_maxwell, float step)
{
    machine k = new_machine(f32);
    medium_case c = {is_maxwell ? maxwell : luneburg, false, step};
    double worst = 0;
    for (int i = 1; i < 20; i++) {
        double h = i * .05, p[3], v[3], ray[6] = {-sqrt(1 - h * h), .6 * h, .8 * h, 1, 0, 0};
        if (is_maxwell) {
            double a = 1.3 * h;
            memcpy(ray, (double[]){-1, 0, 0, cos(a), .6 * sin(a), -.8 * sin(a)}, sizeof ray);
        }
        through_ball(&k, &c, ray, p, v);
        worst = fmax(worst, sqrt((p[0] - 1) * (p[0] - 1) + p[1] * p[1] + p[2] * p[2]));
        assert_true(fabs(sqrt(dot(v, v)) - 1) <
                    1e-4 + 4 * (double)step * (double)step);         /* both have the index 1 at the border */
        double leaves = is_maxwell ? cos(1.3 * h) : sqrt(1 - h * h); /* of the direction, along x */
        assert_true(fabs(v[0] - leaves) < 1e-4 + 4 * (double)step * (double)step);
    }
    ir_module_destroy(k.m);
    return worst;
}

static void lenses_focus(void **state)
{
    (void)state;
    for (int lens = 0; lens < 2; lens++)
        for (int f32 = 0; f32 < 2; f32++) {
            double worst = 0;
            for (int k = 0; k < 4; k++) {
                double step = .04 / (1 << k), error = focus_error(f32, lens, (float)step);
                worst = fmax(worst, error / (step * step));
                print_message("%s, f%d: off by %.2e with the step %g\n", lens ? "maxwell" : "luneburg",
                              f32 ? 32 : 64, error, step);
                assert_true(step > .02 || error < 1e-3);
            }
            assert_true(worst < 1 || f32);
        }
}

/* ---- conservation ---- */

/* (|v|^2 - n^2) / 2 at the whole step; the velocity there is the mean of those half a step before and after
 * it. */
static double hamiltonian(const double *before, const double *s, bool is_maxwell)
{
    double v[3], r = dot(s, s);
    for (int j = 0; j < 3; j++)
        v[j] = .5 * (before[3 + j] + s[3 + j]);
    double n2 = is_maxwell ? 4 / ((1 + r) * (1 + r)) : 2 - r;
    return .5 * (dot(v, v) - n2);
}

static void hamiltonian_stays(void **state)
{
    (void)state;
    for (int lens = 0; lens < 2; lens++)
        for (int f32 = 0; f32 < 2; f32++) {
            machine k = new_machine(f32);
            medium_case c = {lens ? maxwell : luneburg, false, .01f};
            const ir_func *step = function(k.m, &c, STEP);
            double s[NUMBERS_MOST], next[NUMBERS_MOST], most = 0;
            run(&k, function(k.m, &c, BEGIN), (double[]){.3, .2, -.4, .6, 0, .8}, s);
            for (int i = 0; i < 1000; i++, memcpy(s, next, sizeof s)) {
                run(&k, step, s, next);
                most = fmax(most, fabs(hamiltonian(s, next, lens)));
            }
            print_message("%s, f%d: at most %.1e after 1000 steps\n", lens ? "maxwell" : "luneburg",
                          f32 ? 32 : 64, most);
            assert_true(most < 1e-4);
            ir_module_destroy(k.m);
        }
}

static void the_way_back_leads_to_the_start(void **state)
{
    (void)state;
    for (int f32 = 0; f32 < 2; f32++) {
        machine k = new_machine(f32);
        medium_case c = {polynomial, true, .01f};
        const ir_func *step = function(k.m, &c, STEP), *back = function(k.m, &c, BACK);
        double start[NUMBERS_MOST], s[NUMBERS_MOST], far, off = 0;
        run(&k, function(k.m, &c, BEGIN), (double[]){.3, .2, -.4, .6, 0, .8}, start);
        memcpy(s, start, sizeof s);
        for (int i = 0; i < 200; i++)
            run(&k, step, s, s);
        far = fabs(s[0] - start[0]) + fabs(s[6]);
        for (int i = 0; i < 200; i++)
            run(&k, back, s, s);
        for (uint32_t j = 0; j < 6 + CHANNELS; j++)
            off = fmax(off, fabs(s[j] - start[j]));
        print_message("f%d: back to %.1e\n", f32 ? 32 : 64, off);
        assert_true(far > 1 && off < (f32 ? 2e-5 : 1e-13));
        ir_module_destroy(k.m);
    }
}

/* ---- derivatives ---- */

enum { STEPS = 12, STATE_NUMBERS = 6 + 2 * CHANNELS };
static const medium_case differentiated_case = {polynomial, true, .05f};
static const double start_ray[6] = {.3, .2, -.4, .6, 0, .8};
static const double seeds[STATE_NUMBERS] = {.7, -.3, .9, .2, .8, -.5, .4, -.6, .35, .95};

static eikonal_plan plan_of(ir_func *f, bool runs)
{
    eikonal_plan p = {tracer_of(f), true, runs, law_of, &differentiated_case};
    p.t.differentiated = true;
    return p;
}

/* The end of the way from o along d (parameters), of steps that are written out. */
static ir_func *unrolled(ir_module *m)
{
    ir_func *f = ir_func_create(m, "unrolled");
    eikonal_plan p = plan_of(f, true);
    ir_ref in[6], out[EIKONAL_NUMBERS_MOST];
    for (int k = 0; k < 6; k++)
        in[k] = ir_param(f, IR_F32);
    eikonal_law law = law_of(&p.t, p.of, t_u32(&p.t, 0));
    eikonal_state s = eikonal_begin(&p.t, &law, vec3_at(in), vec3_at(in + 3));
    for (int k = 0; k < STEPS; k++)
        s = eikonal_step(&p.t, &law, &s);
    eikonal_pack(&p.t, true, &s, out);
    ir_return(f, out, STATE_NUMBERS);
    return f;
}

/* The same by eikonal_flown. Where it does not run, the end is given by the parameters behind o and d. fixed:
 * these have no derivatives. */
static ir_func *as_one_function(ir_module *m, bool runs, bool fixed)
{
    ir_func *f = ir_func_create(m, "flown");
    eikonal_plan p = plan_of(f, runs);
    ir_func *flown = eikonal_flown(m, &p);
    ir_ref in[8 + STATE_NUMBERS], out[STATE_NUMBERS];
    for (uint32_t k = 0; k < 6 + STATE_NUMBERS; k++)
        in[k < 6 ? 1 + k : 2 + k] = ir_param(f, IR_F32);
    for (uint32_t k = 0; k < 6 + STATE_NUMBERS && fixed; k++)
        in[k < 6 ? 1 + k : 2 + k] = ir_detach(f, in[k < 6 ? 1 + k : 2 + k]);
    in[0] = ir_u32(f, 0), in[7] = ir_u32(f, STEPS);
    ir_call(f, ir_u32(f, 0), &flown, 1, in, 8 + STATE_NUMBERS, out);
    ir_return(f, out, STATE_NUMBERS);
    return f;
}

static void off(const char *what, bool f32, const double *a, const double *b, uint32_t count)
{
    double worst = 0, size = 0;
    for (uint32_t k = 0; k < count; k++)
        worst = fmax(worst, fabs(a[k] - b[k])), size = fmax(size, fabs(b[k]));
    print_message("%s, f%d: %.1e of %.2g\n", what, f32 ? 32 : 64, worst, size);
    assert_true(size > .1 && worst <= (f32 ? 3e-6 : 1e-13) * size);
}

static void derivatives_are_those_of_steps_written_out(void **state)
{
    (void)state;
    for (int f32 = 0; f32 < 2; f32++)
        for (int runs = 0; runs < 2; runs++) {
            machine k = new_machine(f32);
            double args[6 + 2 * STATE_NUMBERS] = {0}, wanted[NUMBERS_MOST], found[NUMBERS_MOST],
                                sums[VALUE_COUNT];
            memcpy(args, start_ray, sizeof start_ray);
            ir_func *whole = unrolled(k.m), *one = as_one_function(k.m, runs, false);
            run(&k, whole, args, args + 6);
            run(&k, one, args, found);
            off("end", f32, found, args + 6, STATE_NUMBERS);
            /* reverse */
            double reverse[6 + STATE_NUMBERS];
            memcpy(reverse, start_ray, sizeof start_ray), memcpy(reverse + 6, seeds, sizeof seeds);
            run(&k, ad_vjp(whole), reverse, wanted);
            memcpy(sums, k.memory[GRADIENTS], sizeof sums);
            memset(k.memory[GRADIENTS], 0, sizeof sums);
            memcpy(args + 6 + STATE_NUMBERS, seeds, sizeof seeds);
            run(&k, ad_vjp(one), args, found);
            off("by the ray", f32, found, wanted, 6);
            off("by the values", f32, k.memory[GRADIENTS], sums, VALUE_COUNT);
            for (uint32_t j = 0; j < VALUE_COUNT; j++)
                assert_true(sums[j] != 0);
            /* of a ray that is given */
            memset(k.memory[GRADIENTS], 0, sizeof sums);
            run(&k, ad_vjp(as_one_function(k.m, runs, true)), args, found);
            off("by the values, along a fixed ray", f32, k.memory[GRADIENTS], sums, VALUE_COUNT);
            /* forward */
            double moved[2 * (6 + STATE_NUMBERS)] = {0}, short_[12];
            memcpy(k.memory[TANGENTS], (double[]){.2, -.5, .4, .7, .3, -.6}, sizeof sums);
            memcpy(moved, args, (6 + STATE_NUMBERS) * sizeof *args);
            memcpy(moved + 6 + STATE_NUMBERS, (double[]){.1, .4, -.2, .3, .6, -.7}, 6 * sizeof *moved);
            memcpy(short_, start_ray, sizeof start_ray);
            memcpy(short_ + 6, moved + 6 + STATE_NUMBERS, 6 * sizeof *moved);
            run(&k, ad_jvp(whole), short_, wanted);
            run(&k, ad_jvp(one), moved, found);
            off("forward", f32, found + STATE_NUMBERS, wanted + STATE_NUMBERS, STATE_NUMBERS);
            ir_module_destroy(k.m);
        }
}

/* Neither derivative has arrays, or writes anything but gradients; how many steps there are is an argument.
 */
static void nothing_of_the_way_is_stored(void **state)
{
    (void)state;
    machine k = new_machine(false);
    eikonal_plan p = plan_of(NULL, false);
    const ir_func *flown = eikonal_flown(k.m, &p), *both[2] = {flown->jvp, flown->vjp};
    for (int i = 0; i < 2; i++)
        for (uint32_t id = 1; id < both[i]->inst.count; id++) {
            uint8_t op = both[i]->inst.data[id].op;
            assert_true(op != IR_LOCAL && op != IR_LSTORE && op != IR_STORE);
        }
    ir_module_destroy(k.m);
}

/* The seeded sum of the end, with one of the values moved. */
static double moved_sum(machine *k, const ir_func *whole, uint32_t which, double by)
{
    double out[NUMBERS_MOST], sum = 0, kept = k->memory[VALUES][which];
    k->memory[VALUES][which] += by;
    run(k, whole, start_ray, out);
    k->memory[VALUES][which] = kept;
    for (uint32_t j = 0; j < STATE_NUMBERS; j++)
        sum += seeds[j] * out[j];
    return sum;
}

static void differences_approach_the_adjoint(void **state)
{
    (void)state;
    machine k = new_machine(false);
    double args[6 + 2 * STATE_NUMBERS], found[NUMBERS_MOST];
    ir_func *whole = unrolled(k.m);
    memcpy(args, start_ray, sizeof start_ray), memcpy(args + 6 + STATE_NUMBERS, seeds, sizeof seeds);
    run(&k, whole, args, args + 6);
    run(&k, ad_vjp(as_one_function(k.m, false, false)), args, found);
    for (uint32_t j = 0; j < VALUE_COUNT; j++) {
        double error[2];
        for (int i = 0; i < 2; i++) {
            double h = i ? 1e-3 : 1e-2;
            error[i] = fabs((moved_sum(&k, whole, j, h) - moved_sum(&k, whole, j, -h)) / (2 * h) -
                            k.memory[GRADIENTS][j]);
        }
        print_message("value %u: %.6f, differences off by %.1e and %.1e\n", j, k.memory[GRADIENTS][j],
                      error[0], error[1]);
        assert_true(error[0] < 1e-3 && error[1] < fmax(error[0] / 50, 1e-10));
    }
    ir_module_destroy(k.m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lenses_focus),
        cmocka_unit_test(hamiltonian_stays),
        cmocka_unit_test(the_way_back_leads_to_the_start),
        cmocka_unit_test(derivatives_are_those_of_steps_written_out),
        cmocka_unit_test(nothing_of_the_way_is_stored),
        cmocka_unit_test(differences_approach_the_adjoint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
