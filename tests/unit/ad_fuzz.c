/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Derivatives of random functions with branches, loops, calls, memory and local arrays, in the f64
 * interpreter:
 *
 *   forward mode against central differences (where a kink is too near for them, two steps disagree: such
 *   seeds are counted, not compared);
 *   reverse against forward mode by the dot-product test, <u, J v> = <J' u, v>, parameters and memory at
 *   once; also reverse mode of
 *   loops that were written out against forward mode of the loops;
 *   forward mode at the current place against derived functions; after the passes against before;
 *   forward over reverse against differences of gradients.
 *
 * BL_FUZZ_SEEDS sets the number of seeds (500; 10000 under BL_LONG=1), BL_FUZZ_FIRST the first one, which a
 * failure prints. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "spirv_gen/ad/ad.h"
#include "spirv_gen/opt/opt.h"
#include "support/random_smooth.h"
#include "support/random_trace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ARGS_MOST = SMOOTH_PARAMS * 2 + SMOOTH_RESULTS * 2, SHARE_COMPARED = 70 /* percent of the seeds */ };

typedef struct point { /* where a function is, and along what direction it moves */
    double x[SMOOTH_PARAMS], v[SMOOTH_PARAMS];
    double memory[SMOOTH_BUFFERS][SMOOTH_WORDS];
} point;

static uint64_t number(const char *name, uint64_t otherwise)
{
    const char *value = getenv(name);
    return value && *value ? strtoull(value, NULL, 0) : otherwise;
}

static double uniform(uint64_t *state) { return (double)(random_bits(state) >> 40) * 0x1p-23 - 1; }

static point random_point(uint64_t seed)
{
    point p = {0};
    uint64_t state = seed * 31 + 7;
    for (uint32_t k = 0; k < SMOOTH_PARAMS; k++)
        p.x[k] = uniform(&state), p.v[k] = uniform(&state);
    for (uint32_t k = 0; k < SMOOTH_WORDS; k++)
        p.memory[SMOOTH_VALUES][k] = uniform(&state), p.memory[SMOOTH_TANGENTS][k] = uniform(&state);
    return p;
}

static void fail_with(uint64_t seed, const ir_module *m, const char *what)
{
    text t = {0};
    ir_print(m, &t);
    fprintf(stderr, "%s", t.data);
    text_free(&t);
    fail_msg("seed %llu: %s", (unsigned long long)seed, what);
}

static void check_valid(uint64_t seed, ir_module *m)
{
    bl_error err = {0};
    if (ir_finish(m, &err) != BL_OK || ir_verify(m, &err) != BL_OK)
        fail_with(seed, m, err.text);
}

static void eval(uint64_t seed, const ir_func *f, point *p, const double *args, bool f64, double *results)
{
    ir_value in[ARGS_MOST], out[ARGS_MOST] = {{0}};
    ir_eval_buffer buffers[SMOOTH_BUFFERS];
    bl_error err = {0};
    for (uint32_t k = 0; k < f->params.count; k++)
        in[k].f = f64 ? args[k] : (double)(float)args[k];
    for (uint32_t k = 0; k < SMOOTH_BUFFERS; k++)
        buffers[k] = (ir_eval_buffer){.reals = p->memory[k], .count = SMOOTH_WORDS};
    ir_eval_env env = {
        .buffers = buffers, .buffer_count = SMOOTH_BUFFERS, .f64 = f64, .step_limit = 10000000};
    if (ir_eval(f, in, out, &env, &err) != BL_OK)
        fail_with(seed, f->module, err.text);
    for (uint32_t k = 0; k < f->results.count; k++)
        results[k] = out[k].f;
}

/* f at the point moved by h along its direction, memory included. */
static void moved(uint64_t seed, const ir_func *f, const point *p, double h, double *results)
{
    point q = *p;
    for (uint32_t k = 0; k < SMOOTH_PARAMS; k++)
        q.x[k] += h * q.v[k];
    for (uint32_t k = 0; k < SMOOTH_WORDS; k++)
        q.memory[SMOOTH_VALUES][k] += h * q.memory[SMOOTH_TANGENTS][k];
    eval(seed, f, &q, q.x, true, results);
}

/* Central differences of all results; false where they do not settle. */
static bool differences(uint64_t seed, const ir_func *f, const point *p, double *slope, uint32_t count)
{
    const double h = 1e-5;
    double wide[2][ARGS_MOST], narrow[2][ARGS_MOST];
    for (int side = 0; side < 2; side++) {
        moved(seed, f, p, side ? h : -h, wide[side]);
        moved(seed, f, p, (side ? h : -h) / 4, narrow[side]);
    }
    bool settled = true;
    for (uint32_t k = 0; k < count; k++) {
        double rough = (wide[1][k] - wide[0][k]) / (2 * h);
        slope[k] = (narrow[1][k] - narrow[0][k]) / (h / 2);
        settled &= isfinite(slope[k]) && fabs(rough - slope[k]) <= 3e-6 * (1 + fabs(slope[k]));
    }
    return settled;
}

/* A number of a derivative, and the same in another way. */
typedef struct number_pair {
    const char *name;
    uint32_t index;
    double got, expected;
} number_pair;

static void expect_near(uint64_t seed, const ir_module *m, number_pair p, double tolerance)
{
    char reason[128];
    if (fabs(p.got - p.expected) <= tolerance * (1 + fabs(p.expected)))
        return;
    snprintf(reason, sizeof reason, "%s %u is %.12g, expected %.12g", p.name, p.index, p.got, p.expected);
    fail_with(seed, m, reason);
}

static ir_func *ended(ir_module *m, uint64_t seed, smooth_options o)
{
    ir_ref out[SMOOTH_RESULTS];
    o.no_fold |= seed % 5 == 0, o.no_merge |= seed % 5 == 1;
    ir_func *f = smooth_function(m, seed, o, out);
    ir_return(f, out, SMOOTH_RESULTS);
    return f;
}

/* Tangents of the results along the point's direction. */
static void tangents(uint64_t seed, const ir_func *jvp, point *p, bool f64, double *out)
{
    double args[ARGS_MOST], results[ARGS_MOST];
    memcpy(args, p->x, sizeof p->x);
    memcpy(args + SMOOTH_PARAMS, p->v, sizeof p->v);
    eval(seed, jvp, p, args, f64, results);
    memcpy(out, results + SMOOTH_RESULTS, SMOOTH_RESULTS * sizeof *out);
}

typedef bool (*seed_check)(uint64_t seed); /* false: nothing could be compared */

static void each_seed(seed_check check)
{
    const char *all = getenv("BL_LONG");
    uint64_t first = number("BL_FUZZ_FIRST", 1),
             count = number("BL_FUZZ_SEEDS", all && strcmp(all, "1") == 0 ? 10000 : 500), compared = 0;
    for (uint64_t k = 0; k < count; k++)
        compared += check(first + k);
    print_message("%llu of %llu seeds compared\n", (unsigned long long)compared, (unsigned long long)count);
    assert_true(count < 20 || compared * 100 >= count * SHARE_COMPARED);
}

/* ---- the tests ---- */

static bool forward_is_differences(uint64_t seed)
{
    ir_module *m = smooth_module((smooth_options){0});
    ir_func *f = ended(m, seed, (smooth_options){0}), *jvp = ad_jvp(f);
    check_valid(seed, m);
    point p = random_point(seed);
    double slope[SMOOTH_RESULTS], got[SMOOTH_RESULTS];
    tangents(seed, jvp, &p, true, got);
    bool settled = differences(seed, f, &p, slope, SMOOTH_RESULTS);
    for (uint32_t k = 0; settled && k < SMOOTH_RESULTS; k++)
        expect_near(seed, m, (number_pair){"tangent", k, got[k], slope[k]}, 1e-5);
    ir_module_destroy(m);
    return settled;
}

static ir_func *function_named(const ir_module *m, const char *name)
{
    for (uint32_t k = 0; k < m->functions.count; k++)
        if (strcmp(m->functions.data[k]->name, name) == 0)
            return m->functions.data[k];
    fail_msg("no function %s", name);
    return NULL;
}

/* <u, J v> = <J' u, v>; J' of the function itself, or of what it is with its loops written out. */
static bool transpose(uint64_t seed, smooth_options o, bool unrolled)
{
    ir_module *m = smooth_module(o), *out = NULL;
    ir_func *f = ended(m, seed, o), *jvp = ad_jvp(f), *vjp;
    if (unrolled)
        out = opt_unroll(m, SMOOTH_TRIPS);
    vjp = ad_vjp(unrolled ? function_named(out, "main") : f);
    check_valid(seed, m);
    if (unrolled)
        check_valid(seed, out);
    point p = random_point(seed);
    double u[SMOOTH_RESULTS], tangent[SMOOTH_RESULTS], args[ARGS_MOST], adjoint[ARGS_MOST],
        forward = 0, reverse = 0, size = 0;
    uint64_t state = seed;
    tangents(seed, jvp, &p, true, tangent);
    for (uint32_t k = 0; k < SMOOTH_RESULTS; k++) {
        u[k] = uniform(&state);
        forward += u[k] * tangent[k];
        size += fabs(u[k] * tangent[k]);
    }
    if (vjp) {
        memcpy(args, p.x, sizeof p.x);
        memcpy(args + SMOOTH_PARAMS, u, sizeof u);
        eval(seed, vjp, &p, args, true, adjoint);
        for (uint32_t k = 0; k < SMOOTH_PARAMS; k++)
            reverse += adjoint[k] * p.v[k];
        for (uint32_t k = 0; k < SMOOTH_WORDS; k++)
            reverse += p.memory[SMOOTH_GRADIENTS][k] * p.memory[SMOOTH_TANGENTS][k];
    }
    bool usable = isfinite(size);
    if (usable)
        expect_near(seed, m, (number_pair){"product", 0, reverse, forward}, 1e-9 * (1 + size));
    ir_module_destroy(m);
    ir_module_destroy(out);
    return usable && size > 0;
}

static bool reverse_is_transpose(uint64_t seed)
{
    return transpose(seed, (smooth_options){.sums_only = true, .some_constant = true, .flat_locals = true},
                     false);
}

static bool unrolled_is_transpose(uint64_t seed)
{
    return transpose(seed, (smooth_options){.some_constant = true, .flat_locals = true}, true);
}

/* In the function itself, whose parameters are then followed by their tangents. */
static bool in_place_is_derived(uint64_t seed)
{
    const smooth_options o = {.no_locals = true};
    ir_module *m = smooth_module(o);
    ir_func *f = ended(m, seed, o), *jvp = ad_jvp(f);
    ir_ref out[SMOOTH_RESULTS], moved_out[SMOOTH_RESULTS], given[SMOOTH_PARAMS], params[SMOOTH_PARAMS];
    ir_func *g = smooth_function(m, seed, o, out);
    for (uint32_t k = 0; k < SMOOTH_PARAMS; k++)
        given[k] = ir_param(g, IR_F32), params[k] = (ir_ref){k + 1};
    ad_forward(g, params, given, SMOOTH_PARAMS, out, moved_out, SMOOTH_RESULTS);
    ir_return(g, moved_out, SMOOTH_RESULTS);
    check_valid(seed, m);
    point p = random_point(seed);
    double expected[SMOOTH_RESULTS], args[ARGS_MOST], got[ARGS_MOST];
    tangents(seed, jvp, &p, true, expected);
    memcpy(args, p.x, sizeof p.x);
    memcpy(args + SMOOTH_PARAMS, p.v, sizeof p.v);
    eval(seed, g, &p, args, true, got);
    bool usable = true;
    for (uint32_t k = 0; k < SMOOTH_RESULTS; k++)
        usable &= isfinite(expected[k]);
    for (uint32_t k = 0; usable && k < SMOOTH_RESULTS; k++)
        expect_near(seed, m, (number_pair){"tangent", k, got[k], expected[k]}, 1e-12);
    ir_module_destroy(m);
    return usable;
}

static bool passes_keep_tangents(uint64_t seed)
{
    ir_module *m = smooth_module((smooth_options){0});
    ir_func *jvp = ad_jvp(ended(m, seed, (smooth_options){0}));
    check_valid(seed, m);
    ir_module *inlined = opt_inline_single(m), *dead = opt_dead(inlined);
    check_valid(seed, dead);
    point p = random_point(seed), q = p;
    double expected[SMOOTH_RESULTS], got[SMOOTH_RESULTS];
    tangents(seed, jvp, &p, false, expected);
    tangents(seed, function_named(dead, jvp->name), &q, false, got);
    for (uint32_t k = 0; k < SMOOTH_RESULTS; k++)
        if (got[k] != expected[k] && !(isnan(got[k]) && isnan(expected[k])))
            fail_with(seed, dead, "the passes change a tangent");
    ir_module_destroy(inlined);
    ir_module_destroy(dead);
    ir_module_destroy(m);
    return true;
}

/* The tangent of a gradient: of parameters as results, of memory in the buffer beside the gradients. */
static bool forward_over_reverse_is_differences(uint64_t seed)
{
    const smooth_options o = {.no_loops = true, .no_locals = true};
    ir_module *m = smooth_module(o);
    ir_func *vjp = ad_vjp(ended(m, seed, o)), *hvp = vjp ? ad_jvp(vjp) : NULL;
    check_valid(seed, m);
    if (!hvp) {
        ir_module_destroy(m);
        return false;
    }
    enum { ADJOINTS = SMOOTH_PARAMS + SMOOTH_WORDS };
    const double h = 1e-5;
    double seeds[SMOOTH_RESULTS] = {0.7, -0.4, 0.9}, args[2 * ARGS_MOST] = {0},
           out[4][ARGS_MOST + SMOOTH_WORDS], got[ADJOINTS];
    point p = random_point(seed);
    for (int k = 0; k < 4; k++) { /* gradients at -h, h, -h/4, h/4 */
        double step = (k % 2 ? h : -h) / (k < 2 ? 1 : 4);
        point q = p;
        for (uint32_t i = 0; i < SMOOTH_PARAMS; i++)
            args[i] = p.x[i] + step * p.v[i];
        for (uint32_t i = 0; i < SMOOTH_WORDS; i++)
            q.memory[SMOOTH_VALUES][i] += step * p.memory[SMOOTH_TANGENTS][i];
        memcpy(args + SMOOTH_PARAMS, seeds, sizeof seeds);
        eval(seed, vjp, &q, args, true, out[k]);
        memcpy(out[k] + SMOOTH_PARAMS, q.memory[SMOOTH_GRADIENTS], sizeof q.memory[0]);
    }
    memcpy(args, p.x, sizeof p.x);
    memcpy(args + SMOOTH_PARAMS, seeds, sizeof seeds);
    memcpy(args + SMOOTH_PARAMS + SMOOTH_RESULTS, p.v, sizeof p.v); /* seeds do not move: zeros follow */
    memset(args + 2 * SMOOTH_PARAMS + SMOOTH_RESULTS, 0, sizeof seeds);
    double results[ARGS_MOST];
    eval(seed, hvp, &p, args, true, results);
    memcpy(got, results + SMOOTH_PARAMS, SMOOTH_PARAMS * sizeof *got);
    memcpy(got + SMOOTH_PARAMS, p.memory[SMOOTH_GRADIENT_TANGENTS], sizeof p.memory[0]);
    bool settled = true;
    for (uint32_t k = 0; k < ADJOINTS; k++) {
        double rough = (out[1][k] - out[0][k]) / (2 * h), slope = (out[3][k] - out[2][k]) / (h / 2);
        settled &= isfinite(slope) && fabs(rough - slope) <= 3e-6 * (1 + fabs(slope));
        if (settled)
            expect_near(seed, m, (number_pair){"second derivative", k, got[k], slope}, 2e-5);
    }
    ir_module_destroy(m);
    return settled;
}

static void forward_equals_differences(void **state)
{
    (void)state;
    each_seed(forward_is_differences);
}
static void reverse_is_the_transpose_of_forward(void **state)
{
    (void)state;
    each_seed(reverse_is_transpose);
}
static void reverse_of_unrolled_loops_is_too(void **state)
{
    (void)state;
    each_seed(unrolled_is_transpose);
}
static void in_place_equals_derived_functions(void **state)
{
    (void)state;
    each_seed(in_place_is_derived);
}
static void passes_do_not_change_tangents(void **state)
{
    (void)state;
    each_seed(passes_keep_tangents);
}
static void forward_over_reverse_equals_differences(void **state)
{
    (void)state;
    each_seed(forward_over_reverse_is_differences);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_equals_differences),
        cmocka_unit_test(in_place_equals_derived_functions),
        cmocka_unit_test(passes_do_not_change_tangents),
        cmocka_unit_test(reverse_is_the_transpose_of_forward),
        cmocka_unit_test(reverse_of_unrolled_loops_is_too),
        cmocka_unit_test(forward_over_reverse_equals_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
