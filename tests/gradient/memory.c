/* LABELS: swiftshader lavapipe native */
/* SPDX-License-Identifier: BSD-3-Clause
 * What does a gradient cost, and is it summed right? Memory does not depend on path length or on the number
 * of samples. A fit compiles nothing after its first step. Contributions outside the fixed-point range are
 * counted, and where they are too large the repeated pass is right. */
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

enum { SIDE = 64 };

static scene_device device;

static const char *const wall_and_lamp[] = {"wall.reflectance.value", "light.radiance.value"};

/* A wall lit by a lamp of the given radiance, and by a second bounce over the floor. */
static char *lit_wall(arena *a, const char *radiance, int depth, uint32_t side)
{
    char *body =
        arena_printf(a,
                     "<bsdf type='diffuse' id='wall'><rgb name='reflectance' value='.5,.4,.3'/></bsdf>"
                     "<shape type='rectangle'><transform name='to_world'><scale "
                     "value='1.5'/></transform><ref id='wall'/></shape>"
                     "<shape type='rectangle'><transform name='to_world'><scale value='1.5'/><rotate x='1' "
                     "angle='90'/><translate value='0,1.1,1'/></transform>"
                     "<ref id='wall'/></shape>"
                     "<shape type='rectangle'><transform name='to_world'><scale value='.6'/><rotate x='1' "
                     "angle='165'/><translate value='0,-.2,2.2'/></transform>"
                     "<emitter type='area' id='light'><rgb name='radiance' value='%s'/></emitter></shape>",
                     radiance);
    char *integrator = arena_printf(a,
                                    "<integrator type='path'><integer name='max_depth' value='%d'/><integer "
                                    "name='rr_depth' value='1000'/></integrator>",
                                    depth);
    return scene_xml(a, integrator, arena_printf(a, scene_sensor_format, side, side), body);
}

static uint64_t bytes_of_gradient(bl_gradient_form form, int depth, uint32_t spp, uint64_t *on_device)
{
    arena a = {0};
    scene_picture p = scene_picture_load(&device, lit_wall(&a, "5", depth, SIDE), ".", wall_and_lamp, 2);
    float *weights = arena_alloc(&a, p.values * sizeof *weights);
    for (uint32_t i = 0; i < p.values; i++)
        weights[i] = 1;
    bl_stats stats;
    bool compares = bl_gradient_form_finds_loss(form);
    SCENE_MUST(&device, bl_job_gradient(p.job,
                                        &(bl_gradient_desc){.form = form,
                                                            .spp = spp,
                                                            .adjoint = compares ? NULL : weights,
                                                            .target = compares ? weights : NULL},
                                        &stats));
    assert_true(stats.device_bytes > 0);
    *on_device = bl_device_stats_get(device.device).bytes_allocated;
    scene_picture_free(&p);
    arena_free(&a);
    return stats.device_bytes;
}

static void memory_does_not_depend_on_depth_and_samples(void **state)
{
    (void)state;
    const uint32_t tile = scene_device_tile_samples(&device), spp = tile / (SIDE * SIDE);
    for (int form = BL_FORM_FUSED; form < BL_FORM_COUNT; form++) {
        uint64_t device_short, device_long;
        uint64_t brief = bytes_of_gradient(form, 2, spp, &device_short),
                 lengthy = bytes_of_gradient(form, 24, 4 * spp, &device_long);
        assert_int_equal(brief, lengthy);
        assert_int_equal(device_short, device_long);
        /* at most 2^16 lanes' sums, whatever the film: 12 bytes each, and five images of 12 bytes a pixel,
         * and the scene; and of a tile's samples 36 bytes each */
        assert_true(brief <
                    (12u << 16) + 60u * SIDE * SIDE + 65536 + (form == BL_FORM_FUSED ? 0 : 36u * tile));
    }
}

static void memory_is_given_back(void **state)
{
    (void)state;
    uint64_t before = bl_device_stats_get(device.device).bytes_allocated, ignored;
    bytes_of_gradient(BL_FORM_AUTO, 3, 4, &ignored);
    assert_int_equal(bl_device_stats_get(device.device).bytes_allocated, before);
}

static void a_fit_compiles_nothing_after_its_first_step(void **state)
{
    (void)state;
    arena a = {0};
    scene_picture p = scene_picture_load(&device, lit_wall(&a, "5", 4, 16), ".", NULL, 0);
    scene_picture_render(&p, 64, 9);
    static const float grey[3] = {0.2f, 0.2f, 0.2f};
    bl_fit_parameter wall = {.name = wall_and_lamp[0], .initial = grey};
    bl_fit *fit;
    SCENE_MUST(
        &device,
        bl_fit_create(device.device, p.scene,
                      &(bl_fit_desc){.parameters = &wall, .parameter_count = 1, .target = p.image, .spp = 2},
                      &fit));
    bl_fit_status status;
    SCENE_MUST(&device, bl_fit_step(fit, &status));
    bl_device_stats first = bl_device_stats_get(device.device);
    for (int step = 1; step < 100; step++)
        SCENE_MUST(&device, bl_fit_step(fit, &status));
    bl_device_stats last = bl_device_stats_get(device.device);
    assert_int_equal(status.step, 100);
    assert_int_equal(last.pipelines_created, first.pipelines_created);
    assert_int_equal(last.bytes_allocated, first.bytes_allocated);
    assert_true(last.dispatches > first.dispatches + 99 * 3);
    bl_fit_destroy(fit);
    scene_picture_free(&p);
    arena_free(&a);
}

/* ---- range of the sums ---- */

typedef struct totals {
    double wall[3], lamp[3];
    bl_stats stats;
} totals;

static totals gradient_at(const char *radiance, float weight)
{
    arena a = {0};
    scene_picture p = scene_picture_load(&device, lit_wall(&a, radiance, 3, 16), ".", wall_and_lamp, 2);
    float *weights = arena_alloc(&a, p.values * sizeof *weights), g[3];
    for (uint32_t i = 0; i < p.values; i++)
        weights[i] = weight * (float)(1 + i % 3);
    totals r;
    SCENE_MUST(&device, bl_job_gradient(p.job, &(bl_gradient_desc){.spp = 64, .adjoint = weights}, &r.stats));
    for (uint32_t c = 0; c < 3; c++) {
        SCENE_MUST(&device, bl_job_read_gradient(p.job, 0, g));
        r.wall[c] = (double)g[c];
        SCENE_MUST(&device, bl_job_read_gradient(p.job, 1, g));
        r.lamp[c] = (double)g[c];
    }
    scene_picture_free(&p);
    arena_free(&a);
    return r;
}

static void expect_multiple(const char *what, const double got[3], const double one[3], double factor,
                            double tolerance)
{
    for (int c = 0; c < 3; c++) {
        assert_true(one[c] != 0);
        if (!(fabs(got[c] - factor * one[c]) <= tolerance * fabs(factor * one[c])))
            fail_msg("%s[%d]: %.9g is not %g times %.9g within %g", what, c, got[c], factor, one[c],
                     tolerance);
    }
}

/* A gradient is linear in the lamp and in dL/dI; the scale follows both. */
static void huge_radiance_loses_nothing(void **state)
{
    (void)state;
    totals one = gradient_at("5", 1), huge = gradient_at("5e12", 1);
    assert_int_equal(one.stats.overflowed + one.stats.repeats, 0);
    assert_int_equal(huge.stats.overflowed + huge.stats.repeats, 0);
    expect_multiple("wall", huge.wall, one.wall, 1e12, 1e-5);
    expect_multiple("lamp", huge.lamp, one.lamp, 1, 1e-5);
}

static void small_adjoints_lose_nothing(void **state)
{
    (void)state;
    totals one = gradient_at("5", 1), tiny = gradient_at("5", 1e-12f), large = gradient_at("5", 1e12f);
    expect_multiple("wall, small dL/dI", tiny.wall, one.wall, 1e-12, 1e-5);
    expect_multiple("lamp, small dL/dI", tiny.lamp, one.lamp, 1e-12, 1e-5);
    expect_multiple("wall, large dL/dI", large.wall, one.wall, 1e12, 1e-5);
    expect_multiple("lamp, large dL/dI", large.lamp, one.lamp, 1e12, 1e-5);
}

static void small_radiance_loses_nothing(void **state)
{
    (void)state;
    totals one = gradient_at("5", 1), dim = gradient_at("5e-6", 1);
    expect_multiple("wall in a dim room", dim.wall, one.wall, 1e-6, 1e-5);
    expect_multiple("lamp in a dim room", dim.lamp, one.lamp, 1, 1e-5);
}

/* Contributions to an intensity fall with the square of the distance: a room in millimetres is where a scale
 * that only knows dL/dI runs out of digits. The same room in other units has the same gradient but for the
 * square of the unit. */
static void units_of_length_do_not_matter(void **state)
{
    (void)state;
    static const char *const parameters[] = {"bulb.intensity.value"};
    static const int units[] = {1, 1000, 10000};
    double g[3][3];
    for (int k = 0; k < 3; k++) {
        arena a = {0};
        char *body =
            arena_printf(&a,
                         "<bsdf type='diffuse' id='wall'><rgb name='reflectance' value='.5,.4,.3'/></bsdf>"
                         "<shape type='rectangle'><transform name='to_world'><scale "
                         "value='%d'/></transform><ref id='wall'/></shape>"
                         "<emitter type='point' id='bulb'><point name='position' x='0' y='0' z='%d'/><rgb "
                         "name='intensity' value='1'/></emitter>",
                         2 * units[k], 2 * units[k]);
        char *sensor = arena_printf(&a,
                                    "<sensor type='perspective'><float name='fov' value='30'/><float "
                                    "name='far_clip' value='1e6'/><transform name='to_world'>"
                                    "<lookat origin='0,0,%d' target='0,0,0' up='0,1,0'/></transform><film "
                                    "type='hdrfilm'><integer name='width' value='8'/>"
                                    "<integer name='height' value='8'/><rfilter type='box'/></film></sensor>",
                                    3 * units[k]);
        scene_picture p = scene_picture_load(
            &device, scene_xml(&a, "<integrator type='direct'/>", sensor, body), ".", parameters, 1);
        float *weights = arena_alloc(&a, p.values * sizeof *weights), got[3];
        for (uint32_t i = 0; i < p.values; i++)
            weights[i] = 1;
        SCENE_MUST(&device, bl_job_gradient(p.job, &(bl_gradient_desc){.spp = 64, .adjoint = weights}, NULL));
        SCENE_MUST(&device, bl_job_read_gradient(p.job, 0, got));
        for (int c = 0; c < 3; c++)
            g[k][c] = (double)got[c] * units[k] * units[k];
        scene_picture_free(&p);
        arena_free(&a);
    }
    expect_multiple("intensity, 1000 times larger", g[1], g[0], 1, 1e-3);
    expect_multiple("intensity, 10000 times larger", g[2], g[0], 1, 1e-3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_does_not_depend_on_depth_and_samples),
        cmocka_unit_test(memory_is_given_back),
        cmocka_unit_test(a_fit_compiles_nothing_after_its_first_step),
        cmocka_unit_test(huge_radiance_loses_nothing),
        cmocka_unit_test(small_adjoints_lose_nothing),
        cmocka_unit_test(small_radiance_loses_nothing),
        cmocka_unit_test(units_of_length_do_not_matter),
    };
    return SCENE_DEVICE_RUN(&device, NULL, "memory", tests);
}
