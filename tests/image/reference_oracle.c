/* LABELS: swiftshader lavapipe */
/* SPDX-License-Identifier: BSD-3-Clause
 * Does glsl/reference_pt.comp, a path tracer written by hand, agree with the generated kernels, whose
 * geometry is in memory or baked? These are two estimators of one image, from independent random numbers.
 * Every value agrees by a z-test at a level that is corrected for their number (Bonferroni). The means of
 * the channels agree within three standard errors, and these are below 1 % of the means, so that noise
 * cannot hide a bias and black images fail. With equal seeds both walk the same paths, and nearly all
 * values are equal up to rounding, which finds errors far below the noise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <backlight/backlight_testing.h>

#include "support/scene_device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 32, VALUES = 3 * SIDE * SIDE, SPP = 1024 };
static const double family_level = 1e-3; /* chance that a correct renderer fails the test of all values */

/* A value counts as rare, and is left to the means, where its samples are worth fewer full contributions than
 * this. It bounds the noise of all others: below sqrt(2 / 40) of the value. */
static const double contributions_least = 40;
/* Most standard error of a channel's mean, as a share of that mean; also fails where an image is black. */
static const double loudest_mean = 0.01;

static scene_device device;

/* |z| that a normal variable exceeds with probability `level`, by bisection. */
static double critical(double level)
{
    double low = 0, high = 20;
    for (int k = 0; k < 60; k++) {
        double middle = 0.5 * (low + high);
        *(erfc(middle / sqrt(2)) > level ? &low : &high) = middle;
    }
    return low;
}

static bl_scene *load(const char *file, const char *depth)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/assets/%s", getenv("BL_SOURCE_DIR"), file);
    bl_define defines[] = {{"resolution", "32"}, {"max_depth", depth}};
    bl_scene *scene;
    SCENE_MUST(&device, bl_scene_load(device.context, path,
                                      &(bl_scene_desc){.defines = defines, .define_count = 2}, &scene));
    return scene;
}

/* variance: of one sample, by two renders. Where so few samples contribute that their sum is far from normal,
 * only the means judge. */
static void expect_equal(const float *image, const float variance[2][VALUES], const float *reference,
                         const char *what)
{
    double limit = critical(family_level / VALUES), worst = 0, sum[3] = {0}, noise[3] = {0}, light[3] = {0};
    uint32_t rare = 0;
    for (uint32_t i = 0; i < VALUES; i++) {
        double off = (double)reference[i] - (double)image[i],
               of_sample = 0.5 * ((double)variance[0][i] + (double)variance[1][i]);
        double v = 2 * of_sample / SPP;
        double z = fabs(off) / (sqrt(v) + 1e-5 * (double)image[i] + 1e-12);
        bool few = (double)image[i] * (double)image[i] * SPP < contributions_least * of_sample;
        rare += few;
        worst = fmax(worst, few ? 0 : z);
        if (!few && !(z <= limit))
            fail_msg("%s, value %u: reference %.6g, generated %.6g: z %.2f of %.2f", what, i,
                     (double)reference[i], (double)image[i], z, limit);
        sum[i % 3] += off, noise[i % 3] += v, light[i % 3] += (double)image[i];
    }
    assert_true(rare < VALUES / 20);
    for (int c = 0; c < 3; c++) {
        if (!(sqrt(noise[c]) < loudest_mean * light[c]))
            fail_msg("%s, channel %d: too noisy to compare, the standard error of the mean is %.3g of %.3g",
                     what, c, sqrt(noise[c]) / (VALUES / 3), light[c] / (VALUES / 3));
        if (!(fabs(sum[c]) <= 3 * sqrt(noise[c])))
            fail_msg("%s, mean of channel %d: %.2f standard errors apart", what, c, sum[c] / sqrt(noise[c]));
    }
    print_message("%s: largest |z| %.2f of %.2f, %u values of rare contributions; means %.2f %.2f %.2f "
                  "standard errors apart\n",
                  what, worst, limit, rare, sum[0] / sqrt(noise[0]), sum[1] / sqrt(noise[1]),
                  sum[2] / sqrt(noise[2]));
}

static void expect_same_paths(bl_job *job, bl_reference *r, const char *what)
{
    static float a[VALUES], b[VALUES];
    uint32_t differ = 0, lit = 0;
    for (uint32_t seed = 0; seed < 8; seed++) {
        SCENE_MUST(&device, bl_job_render(job, &(bl_render_desc){.spp = 1, .seed = seed}, a, NULL));
        SCENE_MUST(&device, bl_reference_render(r, &(bl_render_desc){.spp = 1, .seed = seed}, b, NULL, NULL));
        for (uint32_t i = 0; i < VALUES; i++) {
            differ += !(fabs((double)a[i] - (double)b[i]) <= 1e-3 * (double)a[i] + 1e-4);
            lit += a[i] > 0;
        }
    }
    print_message("%s, equal seeds: %u of %u values differ\n", what, differ, 8 * VALUES);
    assert_true(lit > VALUES);
    assert_true(differ < 8 * VALUES / 100);
}

static void compare(bl_scene *scene)
{
    static float image[2][VALUES], variance[2][VALUES], reference[VALUES];
    bl_reference *r;
    bl_stats stats;
    uint64_t rays;
    SCENE_MUST(&device, bl_reference_create(device.device, scene, NULL, &r));
    SCENE_MUST(&device,
               bl_reference_render(r, &(bl_render_desc){.spp = SPP, .seed = 1000}, reference, &stats, &rays));
    assert_int_equal(stats.paths, SIDE * SIDE * SPP);
    assert_int_equal(stats.non_finite, 0);
    assert_true(rays >= stats.paths && rays < 40 * stats.paths);
    static const char *const what[2] = {"in memory", "baked"};
    bl_job *job[2];
    for (uint32_t k = 0; k < 2; k++) {
        SCENE_MUST(&device,
                   bl_job_create(device.device, scene, &(bl_job_desc){.no_baking = k == 0}, &job[k]));
        SCENE_MUST(&device,
                   bl_job_render(job[k], &(bl_render_desc){.spp = SPP, .seed = k, .variance = variance[k]},
                                 image[k], NULL));
    }
    for (uint32_t k = 0; k < 2; k++) {
        expect_equal(image[k], (const float(*)[VALUES])variance, reference, what[k]);
        expect_same_paths(job[k], r, what[k]);
        bl_job_destroy(job[k]);
    }
    bl_reference_destroy(r);
}

static void cornell_box(void **state)
{
    (void)state;
    bl_scene *scene = load("cornell/scene.xml", "8");
    compare(scene);
    bl_scene_destroy(scene);
}

/* The result does not depend on how the work is cut. */
static void slices(void **state)
{
    static float a[VALUES], b[VALUES];
    (void)state;
    bl_scene *scene = load("cornell/scene.xml", "-1");
    bl_reference *r;
    bl_stats stats;
    SCENE_MUST(&device, bl_reference_create(device.device, scene, NULL, &r));
    SCENE_MUST(&device, bl_reference_render(r, &(bl_render_desc){.spp = 40}, a, &stats, NULL));
    SCENE_MUST(&device,
               bl_reference_render(r, &(bl_render_desc){.spp = 40, .slice_seconds = 1e-4}, b, &stats, NULL));
    assert_true(stats.slices > 1);
    assert_memory_equal(a, b, sizeof a);
    double light = 0;
    for (uint32_t i = 0; i < VALUES; i++)
        light += (double)a[i] / VALUES;
    assert_true(light > 0.05); /* else two black images would do */
    bl_reference_destroy(r);
    bl_scene_destroy(scene);
}

static void refuses(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "<shape type='sphere'/><emitter type='point'/>",
        "<shape type='rectangle'/>",
        "<shape type='rectangle'><bsdf type='twosided'><bsdf type='diffuse'/></bsdf><emitter "
        "type='area'/></shape>",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        char xml[1024];
        snprintf(xml, sizeof xml,
                 "<scene version='3.0.0'><integrator type='path'/><sensor type='perspective'><float "
                 "name='fov' value='40'/><film type='hdrfilm'>"
                 "<rfilter type='box'/></film></sensor>%s</scene>",
                 bodies[i]);
        bl_scene *scene = scene_device_load(&device, xml, NULL);
        bl_reference *r;
        assert_int_equal(bl_reference_create(device.device, scene, NULL, &r), BL_ERROR_UNSUPPORTED);
        assert_null(r);
        bl_scene_destroy(scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(cornell_box), cmocka_unit_test(slices),
                                       cmocka_unit_test(refuses)};
    return SCENE_DEVICE_RUN(&device, NULL, "reference oracle", tests);
}
