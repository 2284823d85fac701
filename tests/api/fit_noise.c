/* LABELS: native */
/* SPDX-License-Identifier: BSD-3-Clause
 * The noise of a fit's gradients through the public functions: looking at it changes nothing, and what it
 * says is what many gradients of the same values say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 8, VALUES = 3 * SIDE * SIDE, STEPS = 7, PARAMETERS = 2 };

static scene_device device;
static float target[VALUES];
static const char *const names[PARAMETERS] = {"wall.reflectance.value", "lamp.radiance.value"};

static bl_scene *room(void)
{
    arena a = {0};
    bl_scene *s = scene_device_load(
        &device,
        scene_xml(&a, "<integrator type='path'><integer name='max_depth' value='3'/></integrator>",
                  arena_printf(&a, scene_sensor_format, SIDE, SIDE),
                  "<bsdf type='diffuse' id='wall'><rgb name='reflectance' value='.5'/></bsdf>"
                  "<shape type='rectangle'><transform name='to_world'><scale value='2'/></transform><ref "
                  "id='wall'/></shape>"
                  "<shape type='rectangle'><transform name='to_world'><rotate x='1' angle='170'/><translate "
                  "z='2'/></transform>"
                  "<emitter type='area' id='lamp'><rgb name='radiance' value='3'/></emitter></shape>"),
        ".");
    arena_free(&a);
    return s;
}

static const bl_fit_parameter wall_and_lamp[PARAMETERS] = {
    {.name = "wall.reflectance.value", .initial = (const float[]){0.4f, 0.5f, 0.6f}},
    {.name = "lamp.radiance.value", .rate = 0.5, .initial = (const float[]){1, 1, 1}}};

static bl_fit_desc plain(void)
{
    return (bl_fit_desc){
        .parameters = wall_and_lamp, .parameter_count = PARAMETERS, .target = target, .spp = 4, .seed = 11};
}

static bl_fit *create(const bl_scene *scene, const bl_fit_desc *desc)
{
    bl_fit *fit;
    SCENE_MUST(&device, bl_fit_create(device.device, scene, desc, &fit));
    return fit;
}

typedef struct outcome {
    float values[PARAMETERS][3];
    double loss[STEPS];
} outcome;

static void walk(const bl_scene *scene, const bl_fit_desc *desc, outcome *o)
{
    bl_fit *fit = create(scene, desc);
    bl_fit_noise noise;
    for (uint32_t step = 0; step < STEPS; step++) {
        bl_fit_status status;
        SCENE_MUST(&device, bl_fit_step(fit, &status));
        o->loss[step] = status.loss;
        SCENE_MUST(&device, bl_fit_get_noise(fit, 1, &noise));
        assert_int_equal(noise.step,
                         desc->variance_steps ? 1 + step / desc->variance_steps * desc->variance_steps : 0);
        assert_true(!desc->variance_steps == !(noise.variance > 0));
    }
    for (uint32_t k = 0; k < PARAMETERS; k++)
        SCENE_MUST(&device, bl_fit_get(fit, k, o->values[k]));
    assert_int_equal(bl_fit_get_noise(fit, PARAMETERS, &noise), BL_ERROR_ARGUMENT);
    bl_fit_destroy(fit);
}

static void looking_changes_nothing(void **state)
{
    (void)state;
    static outcome with, without;
    bl_scene *scene = room();
    const bl_fit_view views[2] = {{.target = target}, {.target = target, .weight = 3}};
    for (int several = 0; several < 3; several++)
        for (bl_gradient_form form = BL_FORM_FUSED; form < BL_FORM_COUNT; form++) {
            bl_fit_desc desc = plain();
            desc.form = form, desc.common_numbers = form == BL_FORM_FUSED;
            if (several)
                desc.target = NULL, desc.views = views, desc.view_count = 2;
            desc.batch = several == 2 ? 20 : 0;
            walk(scene, &desc, &without);
            desc.variance_steps = 3;
            walk(scene, &desc, &with);
            assert_memory_equal(with.loss, without.loss, sizeof with.loss);
            assert_memory_equal(with.values, without.values, sizeof with.values);
        }
    bl_scene_destroy(scene);
}

/* ---- what it says ---- */

enum { LOOKS = 1000, GRADIENTS = 1000 };

/* Means of variance and square over the looks of a fit that stays where it is. */
static void look(const bl_scene *scene, bl_gradient_form form, double variance[PARAMETERS],
                 double square[PARAMETERS])
{
    bl_fit_parameter still[PARAMETERS] = {wall_and_lamp[0], wall_and_lamp[1]};
    still[0].rate = still[1].rate = 1e-30;
    bl_fit_desc desc = plain();
    desc.form = form, desc.variance_steps = 1, desc.parameters = still;
    bl_fit *fit = create(scene, &desc);
    for (int step = 0; step < LOOKS; step++) {
        SCENE_MUST(&device, bl_fit_step(fit, NULL));
        for (uint32_t k = 0; k < PARAMETERS; k++) {
            bl_fit_noise one;
            SCENE_MUST(&device, bl_fit_get_noise(fit, k, &one));
            variance[k] += one.variance / LOOKS, square[k] += one.square / LOOKS;
        }
    }
    bl_fit_destroy(fit);
}

/* The same of gradients of a job. */
static void measure(const bl_scene *scene, bl_gradient_form form, double variance[PARAMETERS],
                    double square[PARAMETERS])
{
    bl_job *job;
    double sum[PARAMETERS][3] = {{0}}, squares[PARAMETERS][3] = {{0}};
    SCENE_MUST(&device,
               bl_job_create(device.device, scene,
                             &(bl_job_desc){.parameters = names, .parameter_count = PARAMETERS}, &job));
    for (uint32_t k = 0; k < PARAMETERS; k++)
        SCENE_MUST(&device, bl_job_set_parameter(job, scene_device_find(&device, scene, names[k]),
                                                 wall_and_lamp[k].initial));
    for (uint32_t seed = 0; seed < GRADIENTS; seed++) {
        SCENE_MUST(
            &device,
            bl_job_gradient(job, &(bl_gradient_desc){.target = target, .form = form, .spp = 4, .seed = seed},
                            NULL));
        for (uint32_t k = 0; k < PARAMETERS; k++) {
            float g[3];
            SCENE_MUST(&device, bl_job_read_gradient(job, k, g));
            for (int c = 0; c < 3; c++)
                sum[k][c] += (double)g[c], squares[k][c] += (double)g[c] * (double)g[c];
        }
    }
    for (uint32_t k = 0; k < PARAMETERS; k++)
        for (int c = 0; c < 3; c++) {
            const double mean = sum[k][c] / GRADIENTS;
            variance[k] += (squares[k][c] / GRADIENTS - mean * mean) / 3, square[k] += mean * mean / 3;
        }
    bl_job_destroy(job);
}

/* Both variances have a relative standard error of about sqrt(2 / 1000) = 4.5 %, so their ratio of 6 %. A
 * product of two gradients has the variance 2 square variance + variance^2; that of the mean of many is less.
 * Several values of a parameter are taken as one, since they see the same paths. */
static void it_is_the_noise_of_many_gradients(void **state)
{
    (void)state;
    bl_scene *scene = room();
    for (bl_gradient_form form = BL_FORM_FUSED; form <= BL_FORM_TWO_WALK; form++) {
        double variance[2][PARAMETERS] = {{0}}, square[2][PARAMETERS] = {{0}};
        look(scene, form, variance[0], square[0]);
        measure(scene, form, variance[1], square[1]);
        for (uint32_t k = 0; k < PARAMETERS; k++) {
            const double v = variance[1][k], s = square[1][k],
                         error = sqrt((6 * s * v + v * v) / LOOKS) + v / GRADIENTS;
            print_message("%s, %s: variance %.3g (of many: %.3g), square %.4g (%.4g, +- %.2g)\n",
                          bl_gradient_form_name(form), names[k], variance[0][k], v, square[0][k], s, error);
            assert_true(variance[0][k] < 1.3 * v && v < 1.3 * variance[0][k]);
            assert_true(fabs(square[0][k] - s) < 4 * error);
        }
    }
    bl_scene_destroy(scene);
}

int main(void)
{
    for (int i = 0; i < VALUES; i++)
        target[i] = (float)(i % 7) / 7;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(looking_changes_nothing),
        cmocka_unit_test(it_is_the_noise_of_many_gradients),
    };
    return SCENE_DEVICE_RUN(&device, NULL, "fit noise", tests);
}
