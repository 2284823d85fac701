/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Ellipsoids that emit, in the interpreter, against two other ways:
 *
 *   a sort    what comes along single rays, against tests/support/gaussians.c, which sorts all hits and
 *             composites them in double precision; and its central differences with shrinking steps against
 *             path replay
 *   unrolled  along camera rays: path replay, fused and in two kernels, against reverse mode over the ray
 *             that is written out, against forward mode, and against differences in which kernels stay in
 *             their order
 *
 * In all degrees, with linear and sRGB colours, with few kernels a ray and with many, with extents that the
 * opacity shrinks, and with kernels that stand in the same place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/gaussians.h"
#include "support/sample_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static char *folder;

typedef struct field_case {
    const char *name;
    uint32_t count, degree;
    double size;
    gaussian_view view;
    bool plain;
} field_case;

static const field_case cases[] = {
    {"degree 0, sRGB", 16, 0, 0.25, {3, false, true, 64}, false},
    {"degree 1, linear", 16, 1, 0.25, {3, false, false, 64}, false},
    {"degree 2, sRGB, arrays in the file", 12, 2, 0.25, {2.5, false, true, 64}, true},
    {"degree 3, linear", 8, 3, 0.35, {3, false, false, -1}, false},
    {"three kernels a ray", 16, 0, 0.4, {3, false, true, 3}, false},
    {"extents by opacity", 16, 1, 0.3, {3, true, false, 64}, true},
};
enum { CASES = sizeof cases / sizeof *cases };
static const char *const parameters[] = {"e.data", "e.sh_coeffs", "e.opacities"};

static const char *scene_of(arena *a, const field_case *c, const gaussians *g, const char *sensor)
{
    bl_error err = {0};
    if (gaussians_write(g, c->plain, arena_printf(a, "%s/kernels.ply", folder), &err) != BL_OK)
        fail_msg("%s", err.text);
    const char *integrator =
        arena_printf(a,
                     "<integrator type='volprim_rf_basic'><integer name='max_depth' value='%d'/><boolean "
                     "name='srgb_primitives' value='%s'/></integrator>",
                     c->view.max_depth, c->view.srgb ? "true" : "false");
    const char *body = arena_printf(
        a,
        "<shape type='ellipsoids' id='e'><string name='filename' value='kernels.ply'/><float name='extent' "
        "value='%g'/><boolean name='extent_adaptive_clamping' value='%s'/></shape>",
        c->view.extent, c->view.adaptive ? "true" : "false");
    return arena_printf(a, "<scene version='3.0.0'>%s%s%s</scene>", integrator, sensor, body);
}

/* ---- against a sort ---- */

typedef struct line {
    double o[3], d[3];
} line;

/* A ray from outside through the middle, with numbers that f32 holds exactly. */
static line random_line(uint32_t *random)
{
    line l;
    double length = 0;
    for (int k = 0; k < 3; k++)
        l.d[k] = 2 * scene_random(random) - 1, length += l.d[k] * l.d[k];
    for (int k = 0; k < 3; k++) {
        l.o[k] = (double)(float)(0.8 * scene_random(random) - 0.4 - 4 * l.d[k] / sqrt(length));
        l.d[k] /= sqrt(length);
    }
    return l;
}

static scene_eval *eval_line(arena *a, const field_case *c, const gaussians *g, const line *l)
{
    const char *sensor =
        arena_printf(a,
                     "<sensor type='radiancemeter'><point name='origin' value='%.17g,%.17g,%.17g'/><vector "
                     "name='direction' value='%.17g,%.17g,%.17g'/><film type='hdrfilm'><integer name='width' "
                     "value='1'/><integer name='height' value='1'/><rfilter type='box'/></film></sensor>",
                     l->o[0], l->o[1], l->o[2], l->d[0], l->d[1], l->d[2]);
    return scene_eval_create(scene_of(a, c, g, sensor), folder, parameters, 3);
}

static void run(scene_eval *e, render_pass pass)
{
    bl_error err = {0};
    if (scene_eval_run(e, pass, (scene_eval_at){0, 0, 3, 1, true}, &err) != BL_OK)
        fail_msg("%s", err.text);
    assert_int_equal(e->status[STATUS_DRIFT] + e->status[STATUS_NON_FINITE], 0);
}

/* What the image's weighted sum is, of values moved along a direction. */
static double weighted(const field_case *c, const gaussians *g, const double *values, const double *along,
                       double step, const line *l, const float *weights)
{
    uint32_t count = gaussians_value_count(g);
    double *moved = malloc(count * sizeof *moved), rgb[3], sum = 0;
    assert_non_null(moved);
    for (uint32_t i = 0; i < count; i++)
        moved[i] = values[i] + (along ? step * along[i] : 0);
    gaussians_radiance(moved, g->count, g->coefficients, c->view, l->o, l->d, rgb, NULL);
    for (int k = 0; k < 3; k++)
        sum += rgb[k] * (double)weights[k];
    free(moved);
    return sum;
}

/* Replay against central differences of the sort, whose error falls with the square of the step. Where a step
 * of the image lies between, the smallest step has the last word. */
static void differences_agree(const field_case *c, const gaussians *g, scene_eval *e, const double *values,
                              const line *l, uint32_t *random)
{
    uint32_t count = gaussians_value_count(g);
    double *along = calloc(count, sizeof *along), replay = 0, size = 0, error = 0;
    assert_non_null(along);
    for (uint32_t i = 0; i < count; i++) {
        along[i] = 2 * scene_random(random) - 1;
        replay += along[i] * e->gradient[i], size += fabs(along[i] * e->gradient[i]);
    }
    for (double step = 1e-3; step > 5e-7; step /= 8)
        error = fabs((weighted(c, g, values, along, step, l, e->adjoint) -
                      weighted(c, g, values, along, -step, l, e->adjoint)) /
                         (2 * step) -
                     replay);
    if (!(error <= 3e-6 * size + 1e-9))
        fail_msg("%s: replay %.12g, differences off by %g of %g", c->name, replay, error, size);
    free(along);
}

static void rays_agree_with_a_sort(void **state)
{
    enum { LINES = 60 };
    const field_case *c = *state;
    gaussians g = gaussians_random(c->count, c->degree, c->size, 5);
    double *values = calloc(gaussians_value_count(&g), sizeof *values);
    assert_non_null(values);
    gaussians_values(&g, values);
    uint32_t random = 9, met = 0, most = 0;
    for (uint32_t i = 0; i < LINES; i++) {
        arena a = {0};
        line l = random_line(&random);
        scene_eval *e = eval_line(&a, c, &g, &l);
        double rgb[3];
        uint32_t visited;
        assert_int_equal(e->plan->gradient_count, gaussians_value_count(&g));
        const double *loaded = e->values + scene_eval_value_first(e, "e.data");
        for (uint32_t k = 0; k < gaussians_value_count(&g); k++)
            assert_true(fabs(loaded[k] - values[k]) <= 2e-7 * fabs(values[k]) + 1e-7);
        memcpy(values, loaded, gaussians_value_count(&g) * sizeof *values);
        gaussians_radiance(values, g.count, g.coefficients, c->view, l.o, l.d, rgb, &visited);
        run(e, RENDER_PRIMAL);
        for (int k = 0; k < 3; k++)
            if (!(fabs(e->film[k] - rgb[k]) <= 2e-6 * (1 + rgb[k])))
                fail_msg("%s, ray %u, colour %d: %.9g, of a sort %.9g", c->name, i, k, e->film[k], rgb[k]);
        for (int k = 0; k < 3; k++)
            e->adjoint[k] = (float)(0.5 + scene_random(&random));
        run(e, RENDER_GRADIENT);
        differences_agree(c, &g, e, values, &l, &random);
        met += visited > 0, most = visited > most ? visited : most;
        scene_eval_destroy(e);
        arena_free(&a);
    }
    if (met < LINES / 2 || most < 3 || (c->view.max_depth == 3 && most != 3))
        fail_msg("%s: %u rays meet kernels, at most %u of them", c->name, met, most);
    free(values);
}

/* ---- against reverse mode over the ray, forward mode, and differences along rays that stay ---- */

static const char camera[] =
    "<sensor type='perspective'><float name='fov' value='30'/><transform name='to_world'><lookat "
    "origin='.5,.7,5' target='0,0,0' up='0,1,0'/></transform><film type='hdrfilm'><integer name='width' "
    "value='6'/><integer name='height' value='6'/><rfilter type='gaussian'/></film></sensor>";

/* <gradient, direction> of forward mode: the weighted sum of the image's tangent. */
static void forward_agrees(sample_check *s, scene_eval_at at, const double *replay, uint32_t *random)
{
    double along = 0;
    for (uint32_t k = 0; k < 3; k++) {
        uint32_t value = scene_eval_value_first(s->e, parameters[k]);
        for (uint32_t i = 0; i < s->count[k]; i++) {
            s->e->tangent[value + i] = 2 * scene_random(random) - 1;
            along += s->e->tangent[value + i] * replay[s->first[k] + i];
        }
    }
    sample_check_run_clean(s, RENDER_FORWARD, at);
    sample_check_near(s, at, (sample_pair){"forward mode", 0, along, scene_eval_weighted(s->e, at.pixel)},
                      1e-9 * sample_check_largest(s, replay) * sqrt(s->elements));
}

/* Differences with steps that shrink. Where no bend lies within a step, the error of the five-point stencil
 * falls with the fourth power. Bends are those of colours at 0 and of sRGB, and the smallest step is within
 * them. Returns whether the error fell so. */
static bool frozen_agrees(sample_check *s, scene_eval_at at, const double *replay)
{
    enum { STEPS = 6 };
    double scale = sample_check_largest(s, replay), error[STEPS], step = 8e-3, rounding = 0;
    for (int k = 0; k < STEPS; k++, step /= 4) {
        sample_difference d = sample_check_differences(s, at, replay, step, 0);
        error[k] = fabs(d.along - d.difference), rounding = 1e-14 * (scale + d.here) / step;
    }
    if (!(error[STEPS - 1] <= 1e-9 * scale + rounding))
        fail_msg("%s: differences are off by %g of %g", s->variant, error[STEPS - 1], scale);
    return error[1] <= error[0] / 100 || error[0] <= 1e-9 * scale;
}

static void replay_agrees_with_unrolled(void **state)
{
    enum { SAMPLES = 40 };
    const field_case *c = *state;
    arena a = {0};
    gaussians g = gaussians_random(c->count, c->degree, c->size, 6);
    scene_case named = {.name = c->name, .parameters = {parameters[0], parameters[1], parameters[2]}};
    sample_check s = {.scene = &named, .variant = c->name};
    uint32_t random = 31, compared = 0, smooth = 0;
    scene_eval *e = scene_eval_create(scene_of(&a, c, &g, camera), folder, parameters, 3);
    e->options.unrolled_depth = c->count + 1;
    sample_check_begin(&s, e, &random);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        double replay[SAMPLE_CHECK_ELEMENTS];
        scene_eval_at at = sample_check_draw(&random, false);
        sample_check_unrolled(&s, at, 1e-4, 0, replay);
        sample_check_run_clean(&s, RENDER_ADJOINT, at);
        sample_check_same(&s, at, "separate kernels", replay, 1e-4 * sample_check_largest(&s, replay));
        at.f64 = true;
        sample_check_unrolled(&s, at, 1e-9, 0, replay);
        sample_check_run_clean(&s, RENDER_ADJOINT, at);
        sample_check_same(&s, at, "separate kernels", replay, 1e-9 * sample_check_largest(&s, replay));
        forward_agrees(&s, at, replay, &random);
        if (sample_check_largest(&s, replay) > 0)
            compared++, smooth += frozen_agrees(&s, at, replay);
    }
    if (smooth < compared * 2 / 3)
        fail_msg("%s: of %u samples the error fell with the fourth power in %u", c->name, compared, smooth);
    for (uint32_t k = 0; k < 3; k++)
        sample_check_expect_reached(&s, k, s.count[k] / 2);
    scene_eval_destroy(e);
    arena_free(&a);
}

/* ---- kernels in the same place ---- */

static void swap_colours(gaussians *g)
{
    double first[3];
    memcpy(first, g->harmonics[0][0], sizeof first);
    memcpy(g->harmonics[0][0], g->harmonics[1][0], sizeof first);
    memcpy(g->harmonics[1][0], first, sizeof first);
}

/* Two of them in one place, of other colours: both are seen, in the order of the hierarchy, which is one or
 * the other. */
static void equal_distances_lose_none(void **state)
{
    (void)state;
    const field_case c = {"twins", 2, 0, 0.3, {3, false, false, 64}, true};
    arena a = {0};
    gaussians g = gaussians_random(2, 0, 0.3, 8);
    memcpy(g.center[1], g.center[0], sizeof g.center[0]);
    memcpy(g.log_scale[1], g.log_scale[0], sizeof g.log_scale[0]);
    memcpy(g.rotation[1], g.rotation[0], sizeof g.rotation[0]);
    g.logit[0] = g.logit[1] = 0, g.harmonics[0][0][0] = 1, g.harmonics[1][0][0] = -1;
    const line l = {.o = {g.center[0][0], g.center[0][1] + 0.0625, 4}, .d = {0, 0, -1}};
    scene_eval *e = eval_line(&a, &c, &g, &l);
    run(e, RENDER_PRIMAL);
    double nearest = INFINITY, most = 0;
    for (int order = 0; order < 2; order++) {
        double values[28], rgb[3], off = 0;
        uint32_t visited;
        gaussians_values(&g, values);
        gaussians_radiance(values, 2, 1, c.view, l.o, l.d, rgb, &visited);
        assert_int_equal(visited, 2);
        for (int k = 0; k < 3; k++)
            off = fmax(off, fabs(e->film[k] - rgb[k]));
        nearest = fmin(nearest, off), most = fmax(most, off);
        swap_colours(&g);
    }
    assert_true(nearest < 2e-6 && most > 1e-2);
    scene_eval_destroy(e);
    arena_free(&a);
}

int main(void)
{
    struct CMUnitTest tests[2 * CASES + 1];
    folder = scene_files_create();
    if (!folder)
        return 1;
    for (uint32_t k = 0; k < CASES; k++) {
        void *c = (void *)(uintptr_t)&cases[k];
        tests[2 * k] = (struct CMUnitTest){cases[k].name, rays_agree_with_a_sort, NULL, NULL, c};
        tests[2 * k + 1] = (struct CMUnitTest){cases[k].name, replay_agrees_with_unrolled, NULL, NULL, c};
    }
    tests[2 * CASES] = (struct CMUnitTest)cmocka_unit_test(equal_distances_lose_none);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    scene_files_remove(folder);
    return failed;
}
