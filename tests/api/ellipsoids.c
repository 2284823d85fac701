/* LABELS: swiftshader lavapipe native rayquery */
/* SPDX-License-Identifier: BSD-3-Clause
 * Ellipsoids that emit, on devices through the API.
 *
 * The image of a pinhole whose pixels are sampled at random is the mean of what rays see (a sort in double
 * precision), by a z-test of single-ray sensors.
 *
 * What a job renders whose `data` have been set is what a scene renders that was loaded with them: after
 * small moves, which refit the hierarchy, and after such as throw all about.
 *
 * The gradient, fused and in separate kernels, is the same, also along rays whose directions share no
 * kernels, and equals forward mode along a direction.
 *
 * Values that are no ellipsoids, and jobs that were made without `data`, are errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/gaussians.h"
#include "support/scene_cases.h"
#include "support/scene_device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static scene_device device;
static char *folder;
static const char *const parameters[] = {"e.data", "e.sh_coeffs", "e.opacities"};
enum { COUNT = 48, SPP = 4 };

static const char camera[] =
    "<sensor type='perspective'><float name='fov' value='35'/><transform name='to_world'><lookat "
    "origin='.5,.7,5' target='0,0,0' up='0,1,0'/></transform><film type='hdrfilm'><integer name='width' "
    "value='24'/><integer name='height' value='20'/><rfilter type='box'/></film></sensor>";

static scene_picture load(const gaussians *g, const char *sensor, uint32_t requested)
{
    arena a = {0};
    bl_error err = {0};
    if (gaussians_write(g, true, arena_printf(&a, "%s/kernels.ply", folder), &err) != BL_OK)
        fail_msg("%s", err.text);
    const char *xml =
        arena_printf(&a,
                     "<scene version='3.0.0'><integrator type='volprim_rf_basic'/>%s<shape type='ellipsoids' "
                     "id='e'><string name='filename' value='kernels.ply'/></shape></scene>",
                     sensor);
    scene_picture p = scene_picture_load(&device, xml, folder, parameters, requested);
    arena_free(&a);
    return p;
}

static void render(scene_picture *p)
{
    bl_stats stats;
    SCENE_MUST(&device, bl_job_render(p->job, &(bl_render_desc){.spp = SPP, .seed = 3}, p->image, &stats));
    assert_int_equal(stats.non_finite, 0);
}

/* ---- the image ---- */

static void rays_are_those_of_a_sort(void **state)
{
    enum { RAYS = 6 };
    (void)state;
    gaussians g = gaussians_random(COUNT, 2, 0.2, 21);
    double *values = calloc(gaussians_value_count(&g), sizeof *values);
    assert_non_null(values);
    gaussians_values(&g, values);
    for (int i = 0; i < RAYS; i++) {
        arena a = {0};
        const double o[3] = {0.2 * i - 0.5, 0.1 * i - 0.3, 5}, d[3] = {0, 0, -1};
        double rgb[3];
        uint32_t visited;
        scene_picture p = load(
            &g,
            arena_printf(&a,
                         "<sensor type='radiancemeter'><point name='origin' value='%.9g,%.9g,5'/><vector "
                         "name='direction' value='0,0,-1'/><film type='hdrfilm'><integer name='width' "
                         "value='1'/><integer name='height' value='1'/><rfilter type='box'/></film></sensor>",
                         o[0], o[1]),
            0);
        render(&p);
        gaussians_radiance(values, COUNT, g.coefficients, (gaussian_view){3, false, true, 64}, o, d, rgb,
                           &visited);
        assert_true(visited > 1);
        for (int k = 0; k < 3; k++)
            if (!(fabs((double)p.image[k] - rgb[k]) <= 2e-5 * (1 + rgb[k])))
                fail_msg("ray %d, colour %d: %.7g, of a sort %.7g", i, k, (double)p.image[k], rgb[k]);
        scene_picture_free(&p);
        arena_free(&a);
    }
    free(values);
}

/* ---- moved ---- */

static void set(scene_picture *p, const gaussians *g)
{
    uint32_t count = gaussians_value_count(g), first = 0;
    double *values = calloc(count, sizeof *values);
    float *numbers = calloc(count, sizeof *numbers);
    assert_true(values && numbers);
    gaussians_values(g, values);
    for (uint32_t i = 0; i < count; i++)
        numbers[i] = (float)values[i];
    const uint32_t sizes[] = {10 * g->count, 3 * g->coefficients * g->count, g->count};
    for (int k = 0; k < 3; first += sizes[k++])
        SCENE_MUST(&device, bl_job_set_parameter(p->job, scene_device_find(&device, p->scene, parameters[k]),
                                                 numbers + first));
    free(values), free(numbers);
}

static void moved_equals_loaded(void **state)
{
    (void)state;
    gaussians g = gaussians_random(COUNT, 1, 0.2, 31);
    scene_picture p = load(&g, camera, 3);
    assert_string_equal(bl_job_rays(p.job), "bvh");
    render(&p);
    for (uint32_t m = 0; m < 3; m++) {
        gaussians other = gaussians_random(COUNT, 1, 0.2, 40 + m);
        double by = m == 0 ? 0.1 : 1; /* the first time a little */
        for (uint32_t i = 0; i < COUNT; i++)
            for (int k = 0; k < 3; k++) {
                g.center[i][k] += by * (other.center[i][k] - g.center[i][k]);
                g.log_scale[i][k] += by * (other.log_scale[i][k] - g.log_scale[i][k]);
            }
        memcpy(g.rotation, other.rotation, sizeof g.rotation);
        float *before = memcpy(malloc(p.values * sizeof *p.image), p.image, p.values * sizeof *p.image);
        set(&p, &g), render(&p);
        scene_picture fresh = load(&g, camera, 0);
        render(&fresh);
        uint32_t differ = 0, changed = 0;
        for (uint32_t i = 0; i < p.values; i++) {
            differ += fabs((double)p.image[i] - (double)fresh.image[i]) > 1e-4;
            changed += fabs((double)p.image[i] - (double)before[i]) > 1e-3;
        }
        print_message("move %u: %u of %u values differ, %u have changed\n", m, differ, p.values, changed);
        assert_true(changed > p.values / 4 && differ <= p.values / 100);
        free(before);
        scene_picture_free(&fresh);
    }
    scene_picture_free(&p);
}

/* ---- gradients ---- */

static double gradient_along(scene_picture *p, bl_gradient_form form, const float *weights, double *size)
{
    bl_stats stats;
    double along = 0;
    uint32_t random = 5;
    SCENE_MUST(&device,
               bl_job_gradient(p->job,
                               &(bl_gradient_desc){.spp = SPP, .seed = 4, .adjoint = weights, .form = form},
                               &stats));
    assert_int_equal(stats.drifted + stats.non_finite + stats.overflowed, 0);
    *size = 0;
    for (uint32_t k = 0; k < 3; k++) {
        uint32_t index = scene_device_find(&device, p->scene, parameters[k]);
        bl_parameter_info info;
        SCENE_MUST(&device, bl_scene_parameter_info(p->scene, index, &info));
        float *gradient = calloc(info.count, sizeof *gradient);
        assert_non_null(gradient);
        SCENE_MUST(&device, bl_job_read_gradient(p->job, k, gradient));
        for (uint32_t i = 0; i < info.count; i++) {
            double term = (double)gradient[i] * (2 * scene_random(&random) - 1);
            along += term, *size += fabs(term);
        }
        free(gradient);
    }
    return along;
}

static void forms_agree(void **state)
{
    (void)state;
    gaussians g = gaussians_random(COUNT, 1, 0.2, 51);
    scene_picture p = load(&g, camera, 3);
    float *weights = calloc(p.values, sizeof *weights);
    uint32_t random = 3;
    double size, fused, separate;
    assert_non_null(weights);
    for (uint32_t i = 0; i < p.values; i++)
        weights[i] = (float)(2 * scene_random(&random) - 1);
    fused = gradient_along(&p, BL_FORM_FUSED, weights, &size);
    separate = gradient_along(&p, BL_FORM_SEPARATE, weights, &size);
    if (!(size > 1 && fabs(fused - separate) <= 1e-5 * size))
        fail_msg("fused %.9g, separate %.9g, of %g", fused, separate, size);
    free(weights);
    scene_picture_free(&p);
}

/* ---- errors ---- */

static void expect_error(bl_result r, const char *words)
{
    assert_int_equal(r, BL_ERROR_ARGUMENT);
    if (!strstr(bl_context_error(device.context), words))
        fail_msg("%s", bl_context_error(device.context));
}

static void values_are_checked(void **state)
{
    (void)state;
    gaussians g = gaussians_random(2, 0, 0.2, 61);
    scene_picture p = load(&g, camera, 1), fixed = load(&g, camera, 0);
    uint32_t index = scene_device_find(&device, p.scene, "e.data");
    float data[20];
    SCENE_MUST(&device, bl_job_get_parameter(p.job, index, data));
    expect_error(bl_job_set_parameter(fixed.job, index, data), "created without this parameter");
    data[13] = NAN;
    expect_error(bl_job_set_parameter(p.job, index, data), "value 3 of ellipsoid 1 is not finite");
    data[13] = 0.2f;
    memset(data + 6, 0, 4 * sizeof *data);
    expect_error(bl_job_set_parameter(p.job, index, data), "ellipsoid 0 has no rotation");
    scene_picture_free(&p), scene_picture_free(&fixed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rays_are_those_of_a_sort),
        cmocka_unit_test(moved_equals_loaded),
        cmocka_unit_test(forms_agree),
        cmocka_unit_test(values_are_checked),
    };
    return SCENE_DEVICE_RUN(&device, &folder, "ellipsoids", tests);
}
