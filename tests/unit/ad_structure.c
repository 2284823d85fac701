/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Derivatives through branches, calls and memory: against central differences of the f64 interpreter, by
 * hand-written functions and by random ones; and that nothing is emitted for what was not asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "spirv_gen/ad/ad.h"
#include "spirv_gen/opt/opt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PARAMS = 8, WORDS = 16, VALUES = 0, GRADIENTS = 1, INDICES = 2 };

/* ---- helpers ---- */

typedef struct machine {
    double values[WORDS], gradients[WORDS];
    uint32_t indices[WORDS], status[WORDS];
    ir_eval_buffer buffers[4];
    ir_eval_env env;
} machine;

static void machine_init(machine *k)
{
    memset(k, 0, sizeof *k);
    for (int i = 0; i < WORDS; i++)
        k->values[i] = 0.3 + 0.1 * i;
    k->buffers[VALUES] = (ir_eval_buffer){.reals = k->values, .count = WORDS};
    k->buffers[GRADIENTS] = (ir_eval_buffer){.reals = k->gradients, .count = WORDS};
    k->buffers[INDICES] = (ir_eval_buffer){.words = k->indices, .count = WORDS};
    k->env = (ir_eval_env){.buffers = k->buffers, .buffer_count = 3, .f64 = true};
}

static ir_module *module_with_memory(void)
{
    ir_module *m = ir_module_create();
    ir_buffer_add(m, "values", true, GRADIENTS);
    ir_buffer_add(m, "gradients", false, -1);
    ir_buffer_add(m, "indices", true, -1);
    return m;
}

static void check_module(ir_module *m)
{
    bl_error err = {0};
    if (ir_finish(m, &err) != BL_OK || ir_verify(m, &err) != BL_OK)
        fail_msg("%s", err.text);
}

static void eval(machine *k, const ir_func *f, const double *x, uint32_t count, ir_value *results)
{
    ir_value args[MAX_PARAMS + 4];
    bl_error err = {0};
    for (uint32_t i = 0; i < count; i++)
        args[i].f = x[i];
    if (ir_eval(f, args, results, &k->env, &err) != BL_OK)
        fail_msg("%s", err.text);
}

static double value_at(machine *k, const ir_func *f, const double *x, uint32_t count, uint32_t which,
                       double shift)
{
    double moved[MAX_PARAMS];
    ir_value y[MAX_PARAMS];
    memcpy(moved, x, count * sizeof *x);
    moved[which] += shift;
    eval(k, f, moved, count, y);
    return y[0].f;
}

/* Central difference; false where a kink or the curvature spoils it. */
static bool difference(machine *k, const ir_func *f, const double *x, uint32_t count, uint32_t which,
                       double *slope)
{
    double h = 1e-5;
    double wide = (value_at(k, f, x, count, which, h) - value_at(k, f, x, count, which, -h)) / (2 * h);
    double narrow =
        (value_at(k, f, x, count, which, h / 4) - value_at(k, f, x, count, which, -h / 4)) / (h / 2);
    *slope = narrow;
    return isfinite(narrow) && fabs(wide - narrow) <= 1e-5 * (1 + fabs(narrow));
}

static void is_near(double got, double expected, const char *what, uint32_t which)
{
    if (!(fabs(got - expected) <= 1e-5 * (1 + fabs(expected))))
        fail_msg("%s: derivative %u is %.9g, differences give %.9g", what, which, got, expected);
}

/* Passes order functions anew, callees first. */
static const ir_func *function_named(const ir_module *m, const char *name)
{
    for (uint32_t i = 0; i < m->functions.count; i++)
        if (strcmp(m->functions.data[i]->name, name) == 0)
            return m->functions.data[i];
    fail_msg("no function %s", name);
    return NULL;
}

static void is_equal(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-12))
        fail_msg("%.17g, expected %.17g", got, expected);
}

/* The derived function, as built and after the passes, against differences in every parameter at x. Returns
 * how many could be compared. */
static uint32_t check_vjp(ir_func *f, const double *x, const char *what)
{
    machine k;
    machine_init(&k);
    uint32_t n = f->params.count, compared = 0;
    double args[MAX_PARAMS + 1];
    ir_value adjoint[MAX_PARAMS], again[MAX_PARAMS];
    ir_func *vjp = ad_vjp(f);
    check_module(f->module);
    assert_non_null(vjp);
    memcpy(args, x, n * sizeof *x);
    args[n] = -0.7;
    eval(&k, vjp, args, n + 1, adjoint);
    for (uint32_t i = 0; i < n; i++) {
        double slope;
        if (!difference(&k, f, x, n, i, &slope))
            continue;
        is_near(adjoint[i].f, -0.7 * slope, what, i);
        compared++;
    }
    ir_module *inlined = opt_inline_single(f->module), *dead = opt_dead(inlined);
    check_module(dead);
    k.env.f64 = false; /* passes fold in f32 */
    eval(&k, vjp, args, n + 1, adjoint);
    eval(&k, function_named(dead, vjp->name), args, n + 1, again);
    for (uint32_t i = 0; i < n; i++)
        assert_true(again[i].f == adjoint[i].f || (isnan(again[i].f) && isnan(adjoint[i].f)));
    ir_module_destroy(inlined);
    ir_module_destroy(dead);
    return compared;
}

static uint32_t count_ops(const ir_module *m, ir_op op)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < m->functions.count; i++)
        for (uint32_t id = 1; id < m->functions.data[i]->inst.count; id++)
            count += m->functions.data[i]->inst.data[id].op == op;
    return count;
}

/* ---- branches ---- */

/* y = x0 < x1 ? (z = x0 < 0 ? sin(x0) x1 : x0^2 x2, z * exp(x2) + x1) : x2 x2, used twice */
static void nested_branches(void **state)
{
    (void)state;
    ir_module *m = ir_module_create();
    ir_func *f = ir_func_create(m, "nest");
    ir_ref x0 = ir_param(f, IR_F32), x1 = ir_param(f, IR_F32), x2 = ir_param(f, IR_F32);
    ir_ref shared = ir_mul(f, x1, x2), zero = ir_f32(f, 0);
    ir_ref outer = ir_if(f, ir_lt(f, x0, x1));
    ir_ref inner = ir_if(f, ir_lt(f, x0, zero));
    ir_ref a = ir_mul(f, ir_sin(f, x0), x1);
    ir_else(f);
    ir_ref b = ir_mul(f, ir_mul(f, x0, x0), shared);
    ir_endif(f);
    ir_ref z = ir_phi(f, inner, a, b);
    ir_ref then_value = ir_add(f, ir_mul(f, z, ir_exp(f, x2)), x1), then_other = ir_mul(f, z, z);
    ir_else(f);
    ir_ref else_value = ir_mul(f, x2, x2), else_other = ir_cos(f, ir_mul(f, else_value, x0));
    ir_endif(f);
    ir_ref p = ir_phi(f, outer, then_value, else_value), q = ir_phi(f, outer, then_other, else_other);
    ir_ref y = ir_add(f, ir_mul(f, p, q), ir_mul(f, shared, p));
    ir_return(f, &y, 1);
    assert_int_equal(check_vjp(f, (double[]){-0.5, 0.4, 0.9}, "inner then"), 3);
    assert_int_equal(check_vjp(f, (double[]){0.2, 0.4, 0.9}, "inner else"), 3);
    assert_int_equal(check_vjp(f, (double[]){0.6, 0.4, 0.9}, "outer else"), 3);
    ir_module_destroy(m);
}

/* PHIs that only choose between outside values need no branch in the derivative. */
static void choosing_phis_become_selects(void **state)
{
    (void)state;
    ir_module *m = ir_module_create();
    ir_func *f = ir_func_create(m, "choose");
    ir_ref x0 = ir_param(f, IR_F32), x1 = ir_param(f, IR_F32);
    ir_ref branch = ir_if(f, ir_lt(f, x0, x1));
    ir_else(f);
    ir_endif(f);
    ir_ref p = ir_phi(f, branch, x0, x1), y = ir_mul(f, p, p);
    ir_return(f, &y, 1);
    ir_func *vjp = ad_vjp(f);
    ir_module *dead = opt_dead(m);
    uint32_t branches = 0;
    const ir_func *derived = function_named(dead, vjp->name);
    for (uint32_t id = 1; id < derived->inst.count; id++)
        branches += derived->inst.data[id].op == IR_IF;
    assert_int_equal(branches, 1); /* the recomputed one */
    ir_module_destroy(dead);
    assert_int_equal(check_vjp(f, (double[]){0.2, 0.5}, "then"), 2);
    assert_int_equal(check_vjp(f, (double[]){0.7, 0.5}, "else"), 2);
    ir_module_destroy(m);
}

/* A loop that computes a constant of the derivative is repeated inside the branch; a value of it scales the
 * result. */
static void constant_loops_in_branches_are_repeated(void **state)
{
    (void)state;
    ir_module *m = ir_module_create();
    ir_func *f = ir_func_create(m, "loop_inside");
    ir_ref x0 = ir_param(f, IR_F32), x1 = ir_param(f, IR_F32);
    ir_ref branch = ir_if(f, ir_lt(f, x0, x1));
    ir_ref s[2] = {ir_f32(f, 1), ir_u32(f, 0)};
    ir_ref loop = ir_loop(f, s, 2);
    ir_while(f, ir_lt(f, s[1], ir_u32(f, 3)));
    ir_endloop(f, loop, (ir_ref[]){ir_mul(f, s[0], ir_f32(f, 1.5f)), ir_add(f, s[1], ir_u32(f, 1))}, 2);
    ir_ref a = ir_mul(f, s[0], ir_mul(f, x0, x1));
    ir_else(f);
    ir_endif(f);
    ir_ref y = ir_phi(f, branch, a, x1);
    ir_return(f, &y, 1);
    assert_int_equal(check_vjp(f, (double[]){0.2, 0.5}, "loop"), 2);
    ir_module_destroy(m);
}

/* ---- calls ---- */

/* Three targets: two results each; the third has no derivative. */
static ir_func *make_target(ir_module *m, int kind)
{
    ir_func *f = ir_func_create(m, kind == 0 ? "product" : kind == 1 ? "wave" : "flat");
    ir_ref x = ir_param(f, IR_F32), n = ir_param(f, IR_U32), y = ir_param(f, IR_F32);
    ir_ref results[2];
    if (kind == 0) {
        results[0] = ir_mul(f, x, y);
        results[1] = ir_add(f, x, ir_mul(f, y, y));
    } else if (kind == 1) {
        ir_ref branch = ir_if(f, ir_lt(f, n, ir_u32(f, 5)));
        ir_ref a = ir_sin(f, ir_mul(f, x, y));
        ir_else(f);
        ir_endif(f);
        results[0] = ir_phi(f, branch, a, y);
        results[1] = ir_mul(f, x, ir_f32(f, 3));
    } else {
        results[0] = ir_floor(f, x);
        results[1] = ir_to_f32(f, n);
    }
    ir_return(f, results, 2);
    return f;
}

static void calls_with_several_targets(void **state)
{
    (void)state;
    for (uint32_t selector = 0; selector < 3; selector++) {
        ir_module *m = ir_module_create();
        ir_func *targets[3] = {make_target(m, 0), make_target(m, 1), make_target(m, 2)};
        ir_func *f = ir_func_create(m, "caller");
        ir_ref x0 = ir_param(f, IR_F32), x1 = ir_param(f, IR_F32), r[2], r2[2];
        ir_ref which = ir_to_u32(f, ir_detach(f, ir_param(f, IR_F32)));
        ir_call(f, which, targets, 3, (ir_ref[]){x0, ir_u32(f, 3), ir_mul(f, x0, x1)}, 3, r);
        ir_ref inside = ir_if(f, ir_lt(f, x0, x1));
        ir_call(f, which, targets, 3, (ir_ref[]){r[0], ir_u32(f, 9), x1}, 3, r2);
        ir_ref a = ir_mul(f, r2[0], r2[1]);
        ir_else(f);
        ir_endif(f);
        ir_ref chosen = ir_phi(f, inside, a, r[1]), y = ir_add(f, chosen, ir_mul(f, r[1], x1));
        ir_return(f, &y, 1);
        check_vjp(f, (double[]){0.3, 0.8, selector}, "then");
        check_vjp(f, (double[]){1.3, 0.8, selector}, "else");
        ir_module_destroy(m);
    }
}

/* Names of derived functions survive the text form. */
static void derived_functions_are_read_back(void **state)
{
    (void)state;
    ir_module *m = ir_module_create(), *again = NULL;
    text first = {0}, second = {0};
    bl_error err = {0};
    assert_non_null(ad_vjp(make_target(m, 1)));
    check_module(m);
    ir_print(m, &first);
    if (ir_parse(first.data, &again, &err) != BL_OK)
        fail_msg("%s", err.text);
    ir_print(again, &second);
    assert_string_equal(first.data, second.data);
    text_free(&first);
    text_free(&second);
    ir_module_destroy(m);
    ir_module_destroy(again);
}

static void derived_functions_exist_once(void **state)
{
    (void)state;
    ir_module *m = ir_module_create();
    ir_func *f = make_target(m, 0);
    ir_func *vjp = ad_vjp(f);
    assert_ptr_equal(ad_vjp(f), vjp);
    assert_int_equal(vjp->params.count, 5);
    assert_int_equal(vjp->results.count, 2);
    assert_null(ad_vjp(make_target(m, 2)));
    ir_module_destroy(m);
}

/* A constant argument gets no code: the derived function has one result less. */
static void inactive_arguments_are_left_out(void **state)
{
    (void)state;
    ir_module *m = ir_module_create();
    ir_func *target = make_target(m, 0), *f = ir_func_create(m, "caller");
    ir_ref x = ir_param(f, IR_F32), fixed = ir_param(f, IR_F32), r[2], adjoint;
    ir_call(f, ir_u32(f, 0), &target, 1, (ir_ref[]){ir_mul(f, x, x), ir_u32(f, 0), fixed}, 3, r);
    ad_backward(f, &r[0], (ir_ref[]){ir_f32(f, 1)}, 1, &x, &adjoint, 1);
    ir_return(f, &adjoint, 1);
    check_module(m);
    const ir_func *derived = m->functions.data[m->functions.count - 1];
    assert_int_equal(derived->params.count, 4); /* three and the adjoint of one result */
    assert_int_equal(derived->results.count, 1);
    machine k;
    machine_init(&k);
    ir_value y;
    eval(&k, f, (double[]){2, 7}, 2, &y);
    is_equal(y.f, 28);
    ir_module_destroy(m);
}

/* ---- memory ---- */

/* sum of squares of values[indices[0]], values[indices[1]], each times values[3] */
static ir_ref trace_memory(ir_func *f, bool with_gradient)
{
    ir_ref none = ir_u32(f, ~0u), three = ir_u32(f, 3), sum = ir_f32(f, 0);
    for (uint32_t i = 0; i < 2; i++) {
        ir_ref at = ir_load(f, IR_U32, INDICES, ir_u32(f, i));
        ir_ref v =
            ir_dload(f, VALUES, at, with_gradient ? ir_load(f, IR_U32, INDICES, ir_u32(f, 2 + i)) : none);
        sum = ir_add(f, sum, ir_mul(f, v, v));
    }
    return ir_mul(f, sum, ir_dload(f, VALUES, three, with_gradient ? three : none));
}

static void memory_reads_scatter(void **state)
{
    (void)state;
    ir_module *m = module_with_memory();
    ir_func *f = ir_func_create(m, "f"), *primal = ir_func_create(m, "primal");
    ir_ref y = trace_memory(primal, false);
    ir_return(primal, &y, 1);
    ad_backward(f, (ir_ref[]){trace_memory(f, true)}, (ir_ref[]){ir_f32(f, 2)}, 1, NULL, NULL, 0);
    ir_return(f, NULL, 0);
    check_module(m);
    assert_int_equal(count_ops(m, IR_ACCUM), 3);
    static const uint32_t indices[3][4] = {{1, 2, 1, 2}, {2, 2, 2, 2}, {3, 5, 3, ~0u}};
    for (int i = 0; i < 3; i++) {
        machine k;
        machine_init(&k);
        memcpy(k.indices, indices[i], sizeof indices[i]);
        eval(&k, f, NULL, 0, NULL);
        for (uint32_t w = 0; w < WORDS; w++) {
            ir_value up, down;
            double h = 1e-6, middle = k.values[w];
            k.values[w] = middle + h;
            eval(&k, primal, NULL, 0, &up);
            k.values[w] = middle - h;
            eval(&k, primal, NULL, 0, &down);
            k.values[w] = middle;
            is_near(k.gradients[w], w == 5 ? 0 : 2 * (up.f - down.f) / (2 * h), "memory",
                    w); /* 5 has no gradient */
        }
    }
    ir_module_destroy(m);
}

/* Reads inside a callee and inside a branch of it scatter, too, and only where they are taken. */
static void memory_reads_in_callees_scatter(void **state)
{
    (void)state;
    ir_module *m = module_with_memory();
    ir_func *callee = ir_func_create(m, "textured"), *f = ir_func_create(m, "f");
    ir_ref index = ir_param(callee, IR_U32), x = ir_param(callee, IR_F32);
    ir_ref branch = ir_if(callee, ir_lt(callee, x, ir_f32(callee, 1)));
    ir_ref a = ir_mul(callee, x, ir_dload(callee, VALUES, index, index));
    ir_else(callee);
    ir_ref b = ir_dload(callee, VALUES, ir_add(callee, index, ir_u32(callee, 1)), ir_u32(callee, 7));
    ir_endif(callee);
    ir_ref result = ir_phi(callee, branch, a, b);
    ir_return(callee, &result, 1);
    ir_ref p = ir_param(f, IR_F32), r;
    ir_call(f, ir_u32(f, 0), &callee, 1, (ir_ref[]){ir_u32(f, 4), p}, 2, &r);
    ad_backward(f, (ir_ref[]){ir_mul(f, r, r)}, (ir_ref[]){ir_f32(f, 1)}, 1, NULL, NULL, 0);
    ir_return(f, NULL, 0);
    check_module(m);
    machine k;
    machine_init(&k);
    eval(&k, f, (double[]){0.5}, 1, NULL);
    is_equal(k.gradients[4], 2 * 0.25 * k.values[4]);
    is_equal(k.gradients[7], 0);
    machine_init(&k);
    eval(&k, f, (double[]){1.5}, 1, NULL);
    is_equal(k.gradients[4], 0);
    is_equal(k.gradients[7], 2 * k.values[5]);
    ir_module_destroy(m);
}

/* ---- activity ---- */

static void nothing_is_emitted_without_a_request(void **state)
{
    (void)state;
    ir_module *m = module_with_memory();
    ir_func *f = ir_func_create(m, "f");
    ir_ref x = ir_param(f, IR_F32), none = ir_u32(f, ~0u), at = ir_u32(f, 2);
    ir_ref quiet = ir_mul(f, ir_dload(f, VALUES, at, none), x);
    ir_ref detached = ir_detach(f, ir_dload(f, VALUES, at, at));
    ir_ref replaced = ir_replace_grad(f, ir_dload(f, VALUES, at, ir_u32(f, 3)), quiet);
    ir_ref y = ir_add(f, ir_mul(f, quiet, detached),
                      ir_add(f, replaced, ir_floor(f, ir_dload(f, VALUES, at, ir_u32(f, 4)))));
    ir_ref seed = ir_f32(f, 1), adjoint, unused = ir_param(f, IR_F32);
    uint32_t before = f->inst.count;
    ad_backward(f, &y, &seed, 1, NULL, NULL, 0);
    assert_int_equal(f->inst.count, before);
    ad_backward(f, &y, &seed, 1, &unused, &adjoint, 1);
    assert_true(ir_const_is(f, adjoint, 0));
    assert_int_equal(count_ops(m, IR_ACCUM), 0);
    ir_return(f, NULL, 0);
    check_module(m);
    ir_module_destroy(m);
}

/* x + y has the seed itself as adjoint of both: no code at all. */
static void adjoints_are_sparse(void **state)
{
    (void)state;
    ir_module *m = ir_module_create();
    ir_func *f = ir_func_create(m, "f");
    ir_ref in[2] = {ir_param(f, IR_F32), ir_param(f, IR_F32)}, seed = ir_param(f, IR_F32), adjoint[2];
    ir_ref y = ir_add(f, in[0], in[1]);
    uint32_t before = f->inst.count;
    ad_backward(f, &y, &seed, 1, in, adjoint, 2);
    assert_int_equal(f->inst.count, before);
    assert_true(ir_same(adjoint[0], seed) && ir_same(adjoint[1], seed));
    ir_module_destroy(m);
}

/* The sweep ends at what is asked for: nothing behind it is touched. */
static void the_sweep_stops_at_wrt(void **state)
{
    (void)state;
    ir_module *m = module_with_memory();
    ir_func *f = ir_func_create(m, "f");
    ir_ref v = ir_dload(f, VALUES, ir_u32(f, 1), ir_u32(f, 1)), mid = ir_mul(f, v, v), seed = ir_f32(f, 1),
           adjoint;
    ad_backward(f, (ir_ref[]){ir_mul(f, mid, ir_f32(f, 3))}, &seed, 1, &mid, &adjoint, 1);
    assert_int_equal(count_ops(m, IR_ACCUM), 0);
    assert_true(ir_const_is(f, adjoint, 3));
    ir_module_destroy(m);
}

/* ---- what is refused ---- */

static void expect_error(ir_module *m, const char *text_part)
{
    bl_error err = {0};
    assert_int_not_equal(ir_finish(m, &err), BL_OK);
    if (!strstr(err.text, text_part))
        fail_msg("expected \"%s\" in: %s", text_part, err.text);
    ir_module_destroy(m);
}

static ir_ref trace_loop(ir_func *f, ir_ref start, ir_ref factor)
{
    ir_ref s[2] = {start, ir_u32(f, 0)};
    ir_ref loop = ir_loop(f, s, 2);
    ir_while(f, ir_lt(f, s[1], ir_u32(f, 3)));
    ir_endloop(f, loop, (ir_ref[]){ir_mul(f, s[0], factor), ir_add(f, s[1], ir_u32(f, 1))}, 2);
    return s[0];
}

static void loops_are_refused(void **state)
{
    (void)state;
    for (int by_next = 0; by_next < 2;
         by_next++) { /* the parameter enters as initial value, or in the body */
        ir_module *m = ir_module_create();
        ir_func *f = ir_func_create(m, "f");
        ir_ref x = ir_param(f, IR_F32), two = ir_f32(f, 2);
        ir_ref y = by_next ? trace_loop(f, two, x) : trace_loop(f, x, two);
        ir_return(f, &y, 1);
        ad_vjp(f);
        expect_error(m, "replaying");
    }
}

static void detached_loops_are_constants(void **state)
{
    (void)state;
    ir_module *m = ir_module_create();
    ir_func *f = ir_func_create(m, "f");
    ir_ref x = ir_param(f, IR_F32), seed = ir_f32(f, 1), adjoint;
    ir_ref y = ir_mul(f, x, ir_detach(f, trace_loop(f, x, x)));
    ad_backward(f, &y, &seed, 1, &x, &adjoint, 1);
    ir_return(f, &adjoint, 1);
    check_module(m);
    machine k;
    machine_init(&k);
    ir_value v;
    eval(&k, f, (double[]){1.5}, 1, &v);
    is_equal(v.f, 1.5 * 1.5 * 1.5 * 1.5);
    ir_module_destroy(m);
}

/* The state of a loop that is still open may turn out to depend on anything. */
static void open_states_have_to_be_detached(void **state)
{
    (void)state;
    for (int detach = 0; detach < 2; detach++) {
        ir_module *m = module_with_memory();
        ir_func *f = ir_func_create(m, "f");
        ir_ref s[2] = {ir_f32(f, 1), ir_u32(f, 0)}, seed = ir_f32(f, 1);
        ir_ref loop = ir_loop(f, s, 2);
        ir_while(f, ir_lt(f, s[1], ir_u32(f, 3)));
        ir_ref v = ir_dload(f, VALUES, s[1], s[1]);
        ir_ref y = ir_mul(f, v, detach ? ir_detach(f, s[0]) : s[0]);
        ad_backward(f, &y, &seed, 1, NULL, NULL, 0);
        ir_endloop(f, loop, (ir_ref[]){y, ir_add(f, s[1], ir_u32(f, 1))}, 2);
        ir_return(f, NULL, 0);
        if (!detach) {
            expect_error(m, "detach the state");
            continue;
        }
        check_module(m);
        machine k;
        machine_init(&k);
        eval(&k, f, NULL, 0, NULL);
        is_equal(k.gradients[0], 1);
        is_equal(k.gradients[2], k.values[0] * k.values[1]);
        ir_module_destroy(m);
    }
}

static void effects_are_not_repeated(void **state)
{
    (void)state;
    for (int needed = 0; needed < 2; needed++) {
        ir_module *m = module_with_memory();
        ir_func *f = ir_func_create(m, "f");
        ir_ref x = ir_param(f, IR_F32), at = ir_u32(f, 0), seed = ir_f32(f, 1), adjoint;
        ir_ref branch = ir_if(f, ir_lt(f, x, ir_f32(f, 1)));
        ir_ref ticket = ir_atomic_add(f, GRADIENTS, at, x);
        ir_store(f, GRADIENTS, ir_u32(f, 1), x);
        ir_ref a = ir_mul(f, x, needed ? ticket : x);
        ir_else(f);
        ir_endif(f);
        ir_ref y = ir_phi(f, branch, a, x);
        ad_backward(f, &y, &seed, 1, &x, &adjoint, 1);
        ir_return(f, &adjoint, 1);
        if (needed) {
            expect_error(m, "writes memory");
            continue;
        }
        check_module(m);
        assert_int_equal(count_ops(m, IR_ATOMIC_ADD), 1);
        assert_int_equal(count_ops(m, IR_STORE), 1);
        ir_module_destroy(m);
    }
}

/* ---- random functions ---- */

typedef struct pool {
    ir_ref values[256];
    uint32_t count;
} pool;

static uint32_t random_state = 7;
static uint32_t random_below(uint32_t limit)
{
    random_state = random_state * 747796405u + 2891336453u;
    uint32_t word = ((random_state >> ((random_state >> 28) + 4)) ^ random_state) * 277803737u;
    return ((word ^ (word >> 22)) & 0xFFFFFFu) % limit;
}

static ir_ref pick(const pool *p) { return p->values[random_below(p->count)]; }

/* A random op whose value and slope stay moderate. */
static ir_ref random_value(ir_func *f, const pool *p)
{
    ir_ref a = pick(p), b = pick(p), c = pick(p), half = ir_f32(f, 0.5f);
    switch (random_below(12)) {
    case 0:
        return ir_add(f, a, b);
    case 1:
        return ir_sub(f, a, b);
    case 2:
        return ir_mul(f, ir_sin(f, a), b);
    case 3:
        return ir_div(f, a, ir_add(f, ir_f32(f, 2), ir_cos(f, b)));
    case 4:
        return ir_min(f, a, b);
    case 5:
        return ir_max(f, a, ir_neg(f, b));
    case 6:
        return ir_select(f, ir_lt(f, a, b), c, ir_mul(f, a, half));
    case 7:
        return ir_sqrt(f, ir_add(f, ir_mul(f, a, a), half));
    case 8:
        return ir_log(f, ir_add(f, ir_abs(f, a), half));
    case 9:
        return ir_exp(f, ir_sin(f, a));
    case 10:
        return ir_atan2(f, a, ir_add(f, ir_abs(f, b), half));
    default:
        return ir_pow(f, ir_add(f, ir_abs(f, a), half), ir_sin(f, b));
    }
}

static void random_block(ir_func *f, pool *p, ir_func *const *targets, uint32_t length, uint32_t depth);

static void random_if(ir_func *f, pool *p, ir_func *const *targets, uint32_t depth)
{
    uint32_t kept = p->count, results = 1 + random_below(3);
    ir_ref values[2][3], branch = ir_if(f, ir_lt(f, pick(p), pick(p)));
    for (int side = 0; side < 2; side++) {
        random_block(f, p, targets, random_below(6), depth - 1);
        for (uint32_t k = 0; k < results; k++)
            values[side][k] = pick(p);
        p->count = kept;
        if (side == 0)
            ir_else(f);
    }
    ir_endif(f);
    for (uint32_t k = 0; k < results; k++)
        p->values[p->count++] = ir_phi(f, branch, values[0][k], values[1][k]);
}

static void random_block(ir_func *f, pool *p, ir_func *const *targets, uint32_t length, uint32_t depth)
{
    for (uint32_t i = 0; i < length; i++) {
        uint32_t what = random_below(8);
        if (what == 0 && depth) {
            random_if(f, p, targets, depth);
        } else if (what == 1 && targets) {
            ir_ref which = ir_select(f, ir_lt(f, pick(p), pick(p)), ir_u32(f, 0), ir_u32(f, 1));
            ir_call(f, which, targets, 2, (ir_ref[]){pick(p), pick(p)}, 2, &p->values[p->count]);
            p->count += 2;
        } else {
            p->values[p->count] = random_value(f, p);
            p->count++;
        }
    }
}

static ir_func *random_function(ir_module *m, const char *name, ir_func *const *targets, uint32_t params,
                                uint32_t results)
{
    ir_func *f = ir_func_create(m, name);
    pool p = {.count = params};
    ir_ref out[4];
    for (uint32_t k = 0; k < params; k++)
        p.values[k] = ir_param(f, IR_F32);
    random_block(f, &p, targets, 10, 3);
    for (uint32_t k = 0; k < results; k++)
        out[k] = p.values[p.count - 1 - k];
    ir_return(f, out, results);
    return f;
}

static void random_functions(void **state)
{
    (void)state;
    uint32_t compared = 0, expected = 0;
    for (uint32_t seed = 1; seed <= 300; seed++) {
        char what[32];
        double x[4];
        random_state = seed * 977u;
        snprintf(what, sizeof what, "seed %u", seed);
        ir_module *m = ir_module_create();
        m->no_fold = seed % 4 == 0;
        m->no_merge = seed % 4 == 1;
        ir_func *inner[2] = {random_function(m, "i0", NULL, 2, 2), random_function(m, "i1", NULL, 2, 2)};
        ir_func *outer[2] = {random_function(m, "o0", inner, 2, 2), random_function(m, "o1", inner, 2, 2)};
        ir_func *f = random_function(m, "f", outer, 4, 1);
        for (int k = 0; k < 4; k++)
            x[k] = random_below(1000) * 0.002 - 1;
        if (ad_vjp(f)) {
            compared += check_vjp(f, x, what);
            expected += 4;
        }
        ir_module_destroy(m);
    }
    assert_true(expected > 1000 && compared > expected * 9 / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nested_branches),
        cmocka_unit_test(choosing_phis_become_selects),
        cmocka_unit_test(constant_loops_in_branches_are_repeated),
        cmocka_unit_test(calls_with_several_targets),
        cmocka_unit_test(derived_functions_are_read_back),
        cmocka_unit_test(derived_functions_exist_once),
        cmocka_unit_test(inactive_arguments_are_left_out),
        cmocka_unit_test(memory_reads_scatter),
        cmocka_unit_test(memory_reads_in_callees_scatter),
        cmocka_unit_test(nothing_is_emitted_without_a_request),
        cmocka_unit_test(adjoints_are_sparse),
        cmocka_unit_test(the_sweep_stops_at_wrt),
        cmocka_unit_test(loops_are_refused),
        cmocka_unit_test(detached_loops_are_constants),
        cmocka_unit_test(open_states_have_to_be_detached),
        cmocka_unit_test(effects_are_not_repeated),
        cmocka_unit_test(random_functions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
