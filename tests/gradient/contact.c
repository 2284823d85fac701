/* LABELS: swiftshader=long native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Do gradients by shapes that touch settle? A cube stands on a floor under a sky and a bulb, and paths go
 * between both. Where points of such paths are held, near the line of contact a derivative is as large as 1 /
 * distance, and more samples do not make the mean less noisy (docs/theory/moving_geometry.md). Where
 * volumetric walks hold directions, sixteen times the samples must halve the standard deviation at least; a
 * quarter is expected, and 40 seeds tell it to 16 %. It is some hundredths where points are held. And the
 * mean is that of differences of images. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/edge_cases.h"

#include <math.h>
#include <stdio.h>

enum { SIDE = 24, VALUES = 3 * SIDE * SIDE, SEEDS = 40, DIFFERENCES = 10 };
static const double step = 0.01;

static scene_device device;
static char *folder;
static const char *parameters[] = {"it.translation"};

static const char scene_xml[] =
    "<scene version='3.0.0'><integrator type='path'><integer name='max_depth' value='3'/></integrator>" EYE(
        "<lookat origin='0,2,3.5' target='.03,.02,0' up='0,1,0'/>",
        "24") "<rfilter type='box'/></film></sensor>"
              "<shape type='rectangle'>" AT(
                  "<scale value='5'/><rotate x='1' angle='-90'/>") "<bsdf type='diffuse'><rgb "
                                                                   "name='reflectance' "
                                                                   "value='.7,.6,.3'/></bsdf></shape>"
                                                                   "<shape type='cube' id='it'>" AT(
                                                                       "<scale value='.4'/><rotate y='1' "
                                                                       "angle='40'/><translate "
                                                                       "value='.1,.4,.2'/>") "<bsdf "
                                                                                             "type='diffuse'>"
                                                                                             "<rgb "
                                                                                             "name='"
                                                                                             "reflectance' "
                                                                                             "value='.2,.5,."
                                                                                             "8'/></bsdf></"
                                                                                             "shape>" BULB SKY
                                                                                             "</scene>";

typedef struct estimate {
    double mean[3], deviation[3];
} estimate;

static void add(estimate *e, const double *x)
{
    for (int k = 0; k < 3; k++)
        e->mean[k] += x[k], e->deviation[k] += x[k] * x[k];
}

static void finish(estimate *e, int count)
{
    for (int k = 0; k < 3; k++) {
        e->mean[k] /= count;
        e->deviation[k] = sqrt((e->deviation[k] / count - e->mean[k] * e->mean[k]) * count / (count - 1));
    }
}

static estimate gradients(bl_job *job, uint32_t spp, bl_edges edges)
{
    static float weights[VALUES];
    estimate e = {0};
    for (int i = 0; i < VALUES; i++)
        weights[i] = 1.0f / VALUES;
    for (uint32_t seed = 0; seed < SEEDS; seed++) {
        bl_gradient_desc desc = {.spp = spp, .seed = seed, .adjoint = weights, .edges = edges};
        float g[3];
        SCENE_MUST(&device, bl_job_gradient(job, &desc, NULL));
        SCENE_MUST(&device, bl_job_read_gradient(job, 0, g));
        add(&e, (double[]){(double)g[0], (double)g[1], (double)g[2]});
    }
    finish(&e, SEEDS);
    return e;
}

static estimate differences(bl_job *job, bl_scene *scene)
{
    static float image[VALUES];
    uint32_t parameter = scene_device_find(&device, scene, parameters[0]);
    estimate e = {0};
    for (uint32_t seed = 0; seed < DIFFERENCES; seed++) {
        double d[3] = {0};
        for (int k = 0; k < 6; k++) {
            float at[3] = {0};
            at[k / 2] = (float)(k % 2 ? step : -step);
            SCENE_MUST(&device, bl_job_set_parameter(job, parameter, at));
            SCENE_MUST(&device,
                       bl_job_render(job, &(bl_render_desc){.spp = 1024, .seed = seed}, image, NULL));
            double sum = 0;
            for (int i = 0; i < VALUES; i++)
                sum += (double)image[i] / VALUES;
            d[k / 2] += (k % 2 ? sum : -sum) / (2 * step);
        }
        add(&e, d);
    }
    SCENE_MUST(&device, bl_job_set_parameter(job, parameter, (float[3]){0}));
    finish(&e, DIFFERENCES);
    return e;
}

static void touching_shapes(void **state)
{
    (void)state;
    bl_scene *scene = scene_device_load(&device, scene_xml, folder);
    bl_job_desc desc = {.parameters = parameters, .parameter_count = 1, .rays = scene_device_rays()};
    bl_job *job;
    SCENE_MUST(&device, bl_job_create(device.device, scene, &desc, &job));
    estimate few = gradients(job, 8, BL_EDGES_NONE), many = gradients(job, 128, BL_EDGES_NONE),
             whole = gradients(job, 256, BL_EDGES_AUTO), is = differences(job, scene);
    for (int k = 0; k < 3; k += 2) { /* Upwards a gap opens, downwards none does: there is no derivative. */
        double error = hypot(whole.deviation[k] / sqrt(SEEDS), is.deviation[k] / sqrt(DIFFERENCES)),
               z = (whole.mean[k] - is.mean[k]) / error;
        print_message(
            "axis %d: deviation %.3g with 8 samples, %.3g with 128; %.5f, differences %.5f, z %.2f\n", k,
            few.deviation[k], many.deviation[k], whole.mean[k], is.mean[k], z);
        assert_true(many.deviation[k] < few.deviation[k] / 2 && many.deviation[k] < 0.002);
        assert_true(fabs(z) < 3.5);
    }
    bl_job_destroy(job);
    bl_scene_destroy(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(touching_shapes)};
    return SCENE_DEVICE_RUN(&device, &folder, "shapes that touch", tests);
}
