/* LABELS: swiftshader lavapipe native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Radiance fields on a device. Skipped cells change no bit of image and gradient. A thousand samples along a
 * ray leave no drift, in any form of the gradient, and take no more memory than sixty. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <backlight/backlight_testing.h>

#include "support/scene_cases.h"
#include "support/scene_device.h"
#include "support/sparse_field.h"
#include "support/todays_share.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static scene_device device;

/* ---- empty cells ---- */

enum { SIDE = 16, SPARSE_VALUES = SPARSE_VOXELS * (1 + SPARSE_CHANNELS) };

typedef struct cells_case {
    const char *name, *activation;
    float empty;
} cells_case;
static const cells_case cells_cases[] = {{"relu", "relu", 0}, {"softplus", "softplus", -120}};

static uint32_t cells_off(void)
{
    for (uint32_t k = 0; bl_optimisation_name(k); k++)
        if (strcmp(bl_optimisation_name(k), "cells") == 0)
            return 1u << k;
    fail_msg("no optimisation is called cells");
    return 0;
}

typedef struct rendered {
    float image[3 * SIDE * SIDE];
    float gradient[SPARSE_VALUES];
    bl_kernel_info kernel;
} rendered;

static rendered *with_passes_off(const cells_case *c, const bl_scene *scene, uint32_t off)
{
    bl_job *job = NULL;
    rendered *r = calloc(1, sizeof *r);
    float *values = malloc(SPARSE_VALUES * sizeof *values), weights[3 * SIDE * SIDE];
    assert_true(r && values);
    SCENE_MUST(&device, bl_job_create(device.device, scene,
                                      &(bl_job_desc){.parameters = sparse_field_parameters,
                                                     .parameter_count = SPARSE_PARAMETERS,
                                                     .testing = &(bl_job_testing){.passes_off = off}},
                                      &job));
    sparse_field_density(c->empty, values), sparse_field_coefficients(values + SPARSE_VOXELS);
    for (int k = 0; k < SPARSE_PARAMETERS; k++)
        SCENE_MUST(&device,
                   bl_job_set_parameter(job, scene_device_find(&device, scene, sparse_field_parameters[k]),
                                        values + (k ? SPARSE_VOXELS : 0)));
    SCENE_MUST(&device, bl_job_render(job, &(bl_render_desc){.spp = 4, .seed = 3}, r->image, NULL));
    for (uint32_t i = 0; i < 3 * SIDE * SIDE; i++)
        weights[i] = 1 + (float)(i % 5);
    bl_stats stats;
    SCENE_MUST(&device,
               bl_job_gradient(job, &(bl_gradient_desc){.spp = 4, .seed = 5, .adjoint = weights}, &stats));
    assert_int_equal(stats.drifted + stats.overflowed + stats.non_finite, 0);
    for (uint32_t k = 0; k < SPARSE_PARAMETERS; k++)
        SCENE_MUST(&device, bl_job_read_gradient(job, k, r->gradient + (k ? SPARSE_VOXELS : 0)));
    SCENE_MUST(&device, bl_job_compile(job, BL_PASS_PRIMAL, &r->kernel));
    bl_job_destroy(job);
    free(values);
    return r;
}

static void cells_change_no_bit(void **state)
{
    const cells_case *c = *state;
    arena a = {0};
    bl_scene *scene = scene_device_load(&device, sparse_field_xml(&a, c->activation, "", SIDE), ".");
    rendered *with = with_passes_off(c, scene, 0), *without = with_passes_off(c, scene, cells_off());
    uint32_t seen = 0, moved = 0;
    for (uint32_t i = 0; i < 3 * SIDE * SIDE; i += 3)
        seen += fabsf(with->image[i] - 0.7f) > 1e-3f;
    for (uint32_t i = 0; i < SPARSE_VALUES; i++)
        moved += with->gradient[i] != 0;
    print_message("%u pixels see the field, %u derivatives are not 0\n", seen, moved);
    assert_true(seen > SIDE && moved > 1000);
    assert_true(with->kernel.spirv_words > without->kernel.spirv_words); /* they are two kernels */
    assert_memory_equal(with->image, without->image, sizeof with->image);
    assert_memory_equal(with->gradient, without->gradient, sizeof with->gradient);
    free(with), free(without);
    bl_scene_destroy(scene);
    arena_free(&a);
}

/* ---- many samples along a ray ---- */

enum { FILM = 4, CHANNELS = 3, VOXELS = 4 * 4 * 4 };
static const char *const parameters[] = {"field.density.data", "field.sh_coeffs.data", "sky.radiance.value"};

/* A cube of side 2, so a ray has about as many samples as asked for. */
static char *fog(arena *a, int samples)
{
    char *integrator =
        arena_printf(a,
                     "<integrator type='radiance_field'><float name='step_size' value='%.9g'/><float "
                     "name='min_transmittance' value='0'/></integrator>",
                     2.0 / samples);
    static const char body[] =
        "<field type='sh_field' id='field'><transform name='to_world'><translate value='-.5,-.5,-.5'/><scale "
        "value='2'/></transform><string name='density_activation' value='softplus'/><string "
        "name='color_activation' value='sigmoid'/><volume type='gridvolume' name='density'><string "
        "name='resolution' value='4'/><float name='value' value='.3'/></volume><volume type='gridvolume' "
        "name='sh_coeffs'><string name='resolution' value='4'/><integer name='channels' value='3'/><float "
        "name='value' value='.4'/></volume></field><emitter type='constant' id='sky'><rgb name='radiance' "
        "value='.7,.9,1.2'/></emitter>";
    return scene_xml(a, integrator, arena_printf(a, scene_sensor_format, FILM, FILM), body);
}

typedef struct marched {
    bl_stats stats;
    uint64_t on_device;                /* bytes */
    double density, coefficients, sky; /* sums of the gradient */
} marched;

static double sum_of(bl_job *job, uint32_t k, uint32_t count)
{
    float values[VOXELS * CHANNELS];
    double sum = 0;
    SCENE_MUST(&device, bl_job_read_gradient(job, k, values));
    for (uint32_t i = 0; i < count; i++) {
        assert_true(isfinite(values[i]));
        sum += (double)values[i];
    }
    return sum;
}

enum { FORMS = 3 };
static const bl_gradient_form forms[FORMS] = {BL_FORM_FUSED, BL_FORM_SEPARATE, BL_FORM_TWO_WALK};

static void march(int samples, marched out[FORMS])
{
    arena a = {0};
    scene_picture p = scene_picture_load(&device, fog(&a, samples), ".", parameters, 3);
    float weights[3 * FILM * FILM];
    for (uint32_t i = 0; i < 3 * FILM * FILM; i++)
        weights[i] = 0.1f;
    for (int k = 0; k < FORMS; k++) {
        bool target = forms[k] == BL_FORM_TWO_WALK;
        bl_gradient_desc desc = {.form = forms[k],
                                 .spp = 16,
                                 .adjoint = target ? NULL : weights,
                                 .target = target ? weights : NULL};
        SCENE_MUST(&device, bl_job_gradient(p.job, &desc, &out[k].stats));
        out[k].on_device = bl_device_stats_get(device.device).bytes_allocated;
        out[k].density = sum_of(p.job, 0, VOXELS), out[k].coefficients = sum_of(p.job, 1, VOXELS * CHANNELS);
        out[k].sky = sum_of(p.job, 2, 3);
    }
    scene_picture_free(&p);
    arena_free(&a);
}

/* Gradients converge as steps shrink, so those of few samples and of many are near each other. */
static void expect_near(const char *what, double many, double few)
{
    if (!(fabs(few) > 1e-4 && fabs(many - few) <= 0.02 * fabs(few)))
        fail_msg("%s: %.6g with many samples, %.6g with few", what, many, few);
}

static void a_thousand_samples(void **state)
{
    (void)state;
    marched few[FORMS], many[FORMS];
    march(64, few);
    for (int samples = getenv("BL_LONG") ? 256 : 1024; samples <= 1024; samples *= 4) {
        march(samples, many);
        for (int k = 0; k < FORMS; k++) {
            const bl_stats *s = &many[k].stats;
            assert_int_equal(s->form, forms[k]);
            assert_int_equal(s->drifted + s->non_finite + s->overflowed, 0);
            assert_true(s->device_bytes > 0);
            assert_int_equal(s->device_bytes, few[k].stats.device_bytes);
            assert_int_equal(many[k].on_device, few[k].on_device);
            expect_near("density", many[k].density, few[k].density);
            expect_near("coefficients", many[k].coefficients, few[k].coefficients);
            expect_near("sky", many[k].sky, few[k].sky);
        }
    }
}

int main(void)
{
    enum { CASES = sizeof cells_cases / sizeof *cells_cases };
    struct CMUnitTest tests[CASES + 1] = {cmocka_unit_test(a_thousand_samples)};
    uint32_t count = 1;
    for (uint32_t k = 0; k < CASES; k++)
        if (todays_part(k, CASES))
            tests[count++] = (struct CMUnitTest){cells_cases[k].name, cells_change_no_bit, NULL, NULL,
                                                 (void *)(uintptr_t)&cells_cases[k]};
    return scene_device_run(&device, NULL, "fields on a device", tests, count, NULL);
}
