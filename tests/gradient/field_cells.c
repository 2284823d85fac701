/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Empty cells of a radiance field are skipped, in the interpreter. Image and gradient have the same bits as
 * without cells, where most of a field is truly empty: by coefficients, and by densities behind softplus.
 * Behind relu, voxels within empty cells have a derivative all the same: the one-sided difference of the
 * image. tests/gradient/field_device.c does the first on devices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_eval.h"
#include "support/sparse_field.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 6, SAMPLES = 150 };

static scene_eval *create(const char *activation, float empty, const char *integrator, uint32_t wanted)
{
    arena a = {0};
    const char *const *from = sparse_field_parameters + SPARSE_PARAMETERS - wanted;
    scene_eval *e = scene_eval_create(sparse_field_xml(&a, activation, integrator, SIDE), ".", from, wanted);
    float *density = arena_alloc(&a, SPARSE_VOXELS * sizeof *density),
          *sh = arena_alloc(&a, SPARSE_VOXELS * SPARSE_CHANNELS * sizeof *sh);
    sparse_field_density(empty, density), sparse_field_coefficients(sh);
    double *into = e->values + scene_eval_value_first(e, sparse_field_parameters[SPARSE_DENSITY]);
    for (uint32_t i = 0; i < SPARSE_VOXELS; i++)
        into[i] = (double)density[i];
    into = e->values + scene_eval_value_first(e, sparse_field_parameters[SPARSE_SH_COEFFS]);
    for (uint32_t i = 0; i < SPARSE_VOXELS * SPARSE_CHANNELS; i++)
        into[i] = (double)sh[i];
    for (uint32_t i = 0; i < 3 * SIDE * SIDE; i++)
        e->adjoint[i] = 1 + (float)(i % 3);
    arena_free(&a);
    return e;
}

static void run(scene_eval *e, render_pass pass, uint32_t n, bool f64)
{
    bl_error err = {0};
    scene_eval_at at = {.pixel = n * 7 % (SIDE * SIDE), .sample = n, .seed = 3, .f64 = f64};
    if (scene_eval_run(e, pass, at, &err) != BL_OK)
        fail_msg("%s", err.text);
    assert_int_equal(e->status[STATUS_NON_FINITE] + e->status[STATUS_DRIFT], 0);
}

/* ---- the same bits ---- */

typedef struct bits_case {
    const char *name, *activation;
    float empty;
    uint32_t wanted; /* 1: only the coefficients, 2: densities, too */
} bits_case;
static const bits_case bits_cases[] = {
    {"relu, by coefficients", "relu", 0, 1},
    {"relu", "relu", 0, 2},
    {"softplus, by coefficients", "softplus", -18, 1},
    {"softplus, just not empty", "softplus", -13, 1},
    {"softplus", "softplus", -1600, 2},
};

static void no_bit_changes(void **state)
{
    const bits_case *c = *state;
    uint32_t lit = 0, moved = 0;
    scene_eval *with = create(c->activation, c->empty, "", c->wanted),
               *without = create(c->activation, c->empty, "", c->wanted);
    without->plan->off |= PLAN_CELLS;
    size_t elements = with->plan->gradient_count, film = 3 * SIDE * SIDE * sizeof *with->film;
    for (uint32_t n = 0; n < 2 * SAMPLES; n++) {
        bool f64 = n % 2 && (c->empty == 0 || c->empty < -750); /* in f64 other opacities are not 0 */
        run(with, RENDER_PRIMAL, n, f64), run(without, RENDER_PRIMAL, n, f64);
        if (memcmp(with->film, without->film, film) != 0)
            fail_msg("%s, sample %u: the image changes", c->name, n);
        lit += fabs(with->film[3 * (n * 7 % (SIDE * SIDE))] - 0.7) > 1e-3;
        run(with, RENDER_GRADIENT, n, f64), run(without, RENDER_GRADIENT, n, f64);
        for (size_t i = 0; i < elements; i++) {
            moved += with->gradient[i] != 0;
            if (with->gradient[i] != without->gradient[i])
                fail_msg("%s, sample %u, element %zu: %.17g with cells, %.17g without", c->name, n, i,
                         with->gradient[i], without->gradient[i]);
        }
    }
    print_message("%s: %u of %d samples see the field, %u derivatives\n", c->name, lit, 2 * SAMPLES, moved);
    assert_true(lit > 10 && moved > 1000);
    for (int k = 0; k < 2; k++) { /* they are two kernels */
        render_pass pass = k ? RENDER_GRADIENT : RENDER_PRIMAL;
        assert_true(with->modules[pass]->entry->inst.count > without->modules[pass]->entry->inst.count);
    }
    scene_eval_destroy(with), scene_eval_destroy(without);
}

/* ---- derivatives in empty space ---- */

/* Whether all voxels near voxel i are empty, so that it lies in an empty cell and so do its neighbours. */
static bool lies_in_empty_cell(const double *density, uint32_t i)
{
    enum { REACH = 6 };
    const int at[3] = {(int)(i % SPARSE_SIDE), (int)(i / SPARSE_SIDE % SPARSE_SIDE),
                       (int)(i / (SPARSE_SIDE * SPARSE_SIDE))};
    for (uint32_t k = 0; k < SPARSE_VOXELS; k++)
        if (density[k] > 0 && abs((int)(k % SPARSE_SIDE) - at[0]) < REACH &&
            abs((int)(k / SPARSE_SIDE % SPARSE_SIDE) - at[1]) < REACH &&
            abs((int)(k / (SPARSE_SIDE * SPARSE_SIDE)) - at[2]) < REACH)
            return false;
    return true;
}

static double one_sided(scene_eval *e, double *value, double step, uint32_t n)
{
    uint32_t pixel = n * 7 % (SIDE * SIDE);
    run(e, RENDER_PRIMAL, n, true);
    double before = scene_eval_weighted(e, pixel);
    *value += step;
    run(e, RENDER_PRIMAL, n, true);
    *value -= step;
    return (scene_eval_weighted(e, pixel) - before) / step;
}

static void empty_voxels_can_come_back(void **state)
{
    (void)state;
    static const double steps[2] = {1e-3, 1e-5};
    uint32_t compared = 0;
    scene_eval *e = create("relu", 0, "<boolean name='jitter' value='false'/>", 2);
    double *density = e->values + scene_eval_value_first(e, sparse_field_parameters[SPARSE_DENSITY]);
    const double *g = e->gradient + scene_eval_gradient_first(e, sparse_field_parameters[SPARSE_DENSITY]);
    for (uint32_t n = 0; n < SAMPLES; n++) {
        run(e, RENDER_GRADIENT, n, true);
        uint32_t most = 0;
        for (uint32_t i = 0; i < SPARSE_VOXELS; i++)
            if (fabs(g[i]) > fabs(g[most]) && lies_in_empty_cell(density, i))
                most = i;
        if (!lies_in_empty_cell(density, most) || g[most] == 0)
            continue;
        double wanted = g[most], off[2];
        for (int k = 0; k < 2; k++)
            off[k] = fabs(one_sided(e, &density[most], steps[k], n) - wanted);
        if (!(off[0] <= 0.1 * fabs(wanted) + 1e-6 && off[1] <= off[0] / 50 + 1e-8))
            fail_msg("voxel %u, sample %u: %.9g, one-sided differences are off by %.3g and %.3g", most, n,
                     wanted, off[0], off[1]);
        compared++;
    }
    print_message("%u derivatives of empty voxels\n", compared);
    assert_true(compared > SAMPLES / 4);
    scene_eval_destroy(e);
}

int main(void)
{
    enum { CASES = sizeof bits_cases / sizeof *bits_cases };
    struct CMUnitTest tests[CASES + 1] = {cmocka_unit_test(empty_voxels_can_come_back)};
    for (uint32_t k = 0; k < CASES; k++)
        tests[1 + k] = (struct CMUnitTest){bits_cases[k].name, no_bit_changes, NULL, NULL,
                                           (void *)(uintptr_t)&bits_cases[k]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
