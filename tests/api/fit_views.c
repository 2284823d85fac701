/* LABELS: swiftshader lavapipe native sanitized=native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Several views of one scene: sensors of a job, fits whose loss is a mean over views, and what no single view
 * could recover. And losses through the public functions: the gradient of a loss is that of its dL/dI. */
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

enum { SIDE = 12, VALUES = 3 * SIDE * SIDE, TRUTH_SPP = 256 };

static scene_device device;

/* ---- two walls back to back, a lamp for each: the sensor in front sees one, the sensor behind the other
 * ---- */

static const char *const names[] = {"front.reflectance.value", "behind.reflectance.value"};
static const float truth[2][3] = {{0.7f, 0.2f, 0.1f}, {0.1f, 0.3f, 0.8f}};

/* Camera to world, row-major, of <lookat origin='0,0,side' target='0,0,0' up='0,1,0'/> */
static const float front_pose[16] = {-1, 0, 0, 0, 0, 1, 0, 0, 0, 0, -1, 3, 0, 0, 0, 1};
static const float behind_pose[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, -3, 0, 0, 0, 1};

static char *sensor(arena *a, const char *z, const char *film)
{
    return arena_printf(a,
                        "<sensor type='perspective'><float name='fov' value='40'/><transform "
                        "name='to_world'><lookat origin='0,0,%s' "
                        "target='0,0,0' up='0,1,0'/></transform><film type='hdrfilm'><integer name='width' "
                        "value='%d'/><integer name='height' "
                        "value='%d'/>%s</film></sensor>",
                        z, SIDE, SIDE, film);
}

static bl_scene *walls(arena *a, const char *sensors)
{
    static const char body[] =
        "<bsdf type='diffuse' id='front'><rgb name='reflectance' value='.7,.2,.1'/></bsdf>"
        "<bsdf type='diffuse' id='behind'><rgb name='reflectance' value='.1,.3,.8'/></bsdf>"
        "<shape type='rectangle'><transform name='to_world'><translate z='.1'/></transform><ref "
        "id='front'/></shape>"
        "<shape type='rectangle'><transform name='to_world'><rotate y='1' angle='180'/><translate "
        "z='-.1'/></transform><ref id='behind'/></shape>"
        "<emitter type='point'><point name='position' x='0' y='0' z='2'/><rgb name='intensity' "
        "value='6'/></emitter>"
        "<emitter type='point'><point name='position' x='0' y='0' z='-2'/><rgb name='intensity' "
        "value='6'/></emitter>";
    return scene_device_load(
        &device,
        scene_xml(a, "<integrator type='path'><integer name='max_depth' value='3'/></integrator>", sensors,
                  body),
        ".");
}

static bl_scene *both(arena *a)
{
    return walls(a, arena_printf(a, "%s%s", sensor(a, "3", "<rfilter type='box'/>"),
                                 sensor(a, "-3", "<rfilter type='box'/>")));
}

static void see(const bl_scene *scene, bl_job_desc desc, uint32_t which, const float *pose, uint32_t seed,
                float *image)
{
    bl_job *job;
    SCENE_MUST(&device, bl_job_create(device.device, scene, &desc, &job));
    if (desc.sensor_moves)
        SCENE_MUST(&device, bl_job_set_sensor(job, which, pose));
    SCENE_MUST(&device, bl_job_render(job, &(bl_render_desc){.spp = TRUTH_SPP, .seed = seed}, image, NULL));
    bl_job_destroy(job);
}

static float mean(const float *image, int channel)
{
    float sum = 0;
    for (int i = channel; i < VALUES; i += 3)
        sum += image[i] / (VALUES / 3);
    return sum;
}

static void a_job_sees_through_the_sensor_it_is_told(void **state)
{
    (void)state;
    arena a = {0};
    static float one[VALUES], moved[VALUES], posed[VALUES], first[VALUES];
    bl_scene *two = both(&a), *only = walls(&a, sensor(&a, "-3", "<rfilter type='box'/>"));
    bl_scene_info info;
    SCENE_MUST(&device, bl_scene_info_get(two, &info));
    assert_int_equal(info.sensors, 2);
    for (int no_baking = 0; no_baking < 2; no_baking++) {
        see(only, (bl_job_desc){.no_baking = no_baking}, 0, NULL, 5, one);
        see(two, (bl_job_desc){.no_baking = no_baking, .sensor_moves = true}, 1, NULL, 5, moved);
        see(two, (bl_job_desc){.no_baking = no_baking, .sensor_moves = true}, 0, behind_pose, 5, posed);
        see(two, (bl_job_desc){.no_baking = no_baking}, 0, NULL, 5, first);
        assert_memory_equal(moved, posed, sizeof moved);
        assert_memory_equal(one, moved, sizeof one);
        assert_true(mean(first, 0) > 3 * mean(one, 0) &&
                    mean(first, 2) < mean(one, 2) / 3); /* red in front, blue behind */
    }
    bl_scene_destroy(two);
    bl_scene_destroy(only);
    arena_free(&a);
}

static void wrong_sensors_are_named(void **state)
{
    (void)state;
    arena a = {0};
    bl_scene *two = walls(&a, arena_printf(&a, "%s%s", sensor(&a, "3", "<rfilter type='box'/>"),
                                           sensor(&a, "-3", "<rfilter type='tent'/>")));
    bl_job *job, *fixed;
    SCENE_MUST(&device, bl_job_create(device.device, two, &(bl_job_desc){.sensor_moves = true}, &job));
    SCENE_MUST(&device, bl_job_create(device.device, two, NULL, &fixed));
    float twice[16], nan[16];
    memcpy(twice, front_pose, sizeof twice);
    memcpy(nan, front_pose, sizeof nan);
    twice[0] = -2, nan[11] = NAN;
    assert_int_equal(bl_job_set_sensor(job, 2, NULL), BL_ERROR_ARGUMENT);
    assert_non_null(strstr(bl_context_error(device.context), "no sensor 2"));
    assert_int_equal(bl_job_set_sensor(job, 1, NULL), BL_ERROR_UNSUPPORTED);
    assert_non_null(strstr(bl_context_error(device.context), "film"));
    assert_int_equal(bl_job_set_sensor(job, 0, twice), BL_ERROR_ARGUMENT);
    assert_non_null(strstr(bl_context_error(device.context), "scale"));
    assert_int_equal(bl_job_set_sensor(job, 0, nan), BL_ERROR_ARGUMENT);
    assert_int_equal(bl_job_set_sensor(fixed, 0, NULL), BL_ERROR_ARGUMENT);
    assert_non_null(strstr(bl_context_error(device.context), "sensor_moves"));
    bl_job_destroy(job);
    bl_job_destroy(fixed);
    bl_scene_destroy(two);
    arena_free(&a);
}

/* ---- fits ---- */

/* 60 steps from grey; colours[2][3] receives what was found. */
static void recover(const bl_scene *scene, const bl_fit_view *views, uint32_t count, float colours[2][3])
{
    static const float grey[3] = {0.5f, 0.5f, 0.5f};
    bl_fit_parameter p[2] = {{.name = names[0], .initial = grey}, {.name = names[1], .initial = grey}};
    static const bl_fit_change slower = {.step = 40, .factor = 0.2};
    bl_fit_desc desc = {
        .parameters = p,
        .parameter_count = 2,
        .views = views,
        .view_count = count,
        .spp = 4,
        .rate = 0.05,
        .schedule = &slower,
        .schedule_count = 1,
    };
    bl_fit *fit;
    bl_fit_status status;
    SCENE_MUST(&device, bl_fit_create(device.device, scene, &desc, &fit));
    for (int step = 0; step < 60; step++)
        SCENE_MUST(&device, bl_fit_step(fit, &status));
    assert_int_equal(status.drifted + status.overflowed + status.skipped, 0);
    for (uint32_t k = 0; k < 2; k++)
        SCENE_MUST(&device, bl_fit_get(fit, k, colours[k]));
    bl_fit_destroy(fit);
}

static double worst_error(const float found[3], const float expected[3])
{
    double worst = 0;
    for (int c = 0; c < 3; c++)
        worst = fmax(worst, fabs((double)found[c] - (double)expected[c]));
    return worst;
}

static void two_views_recover_what_one_cannot(void **state)
{
    (void)state;
    arena a = {0};
    static float front[VALUES], behind[VALUES];
    float colours[2][3];
    bl_scene *scene = both(&a);
    see(scene, (bl_job_desc){.sensor_moves = true}, 0, NULL, 9, front);
    see(scene, (bl_job_desc){.sensor_moves = true}, 1, NULL, 10, behind);
    bl_fit_view views[2] = {{.target = front}, {.target = behind, .sensor = 1}};
    recover(scene, views, 1, colours);
    assert_true(worst_error(colours[0], truth[0]) < 0.02);
    for (int c = 0; c < 3; c++)
        assert_true(colours[1][c] == 0.5f); /* out of sight: no gradient at all */
    recover(scene, views, 2, colours);
    assert_true(worst_error(colours[0], truth[0]) < 0.02 && worst_error(colours[1], truth[1]) < 0.02);
    views[1] = (bl_fit_view){.target = behind, .to_world = behind_pose};
    recover(scene, views, 2, colours);
    assert_true(worst_error(colours[0], truth[0]) < 0.02 && worst_error(colours[1], truth[1]) < 0.02);
    bl_scene_destroy(scene);
    arena_free(&a);
}

/* The loss and the step of two views of the same thing are those of one: a mean, not a sum. Stochastic
 * gradient descent shows the gradient. */
static void the_loss_is_the_mean_over_views(void **state)
{
    (void)state;
    arena a = {0};
    static float target[VALUES];
    bl_scene *scene = both(&a);
    bl_fit_parameter p = {.name = names[0], .initial = (const float[]){0.5f, 0.5f, 0.5f}};
    bl_fit_view views[3] = {{.target = target}, {.target = target}, {.target = target}};
    double loss[2], moved[2];
    for (uint32_t k = 0; k < 2; k++) {
        float found[3];
        bl_fit *fit;
        bl_fit_status status;
        bl_fit_desc desc = {
            .parameters = &p,
            .parameter_count = 1,
            .views = views,
            .view_count = k ? 3 : 1,
            .spp = 64,
            .optimizer = BL_OPTIMIZER_SGD,
            .rate = 0.01,
        };
        SCENE_MUST(&device, bl_fit_create(device.device, scene, &desc, &fit));
        SCENE_MUST(&device, bl_fit_step(fit, &status));
        SCENE_MUST(&device, bl_fit_get(fit, 0, found));
        loss[k] = status.loss, moved[k] = 0.5 - (double)found[0];
        bl_fit_destroy(fit);
    }
    assert_true(fabs(loss[1] / loss[0] - 1) < 0.02 && fabs(moved[1] / moved[0] - 1) < 0.05 &&
                moved[0] > 1e-4);
    bl_scene_destroy(scene);
    arena_free(&a);
}

/* ---- losses ---- */

static double slope(bl_loss loss, double i, double t)
{
    double d = i - t;
    switch (loss) {
    case BL_LOSS_L1:
        return d > 0 ? 1 : d < 0 ? -1 : 0;
    case BL_LOSS_RELATIVE_L2:
        return 2 * d / (t * t + 0.01);
    case BL_LOSS_HUBER:
        return d > 0.2 ? 0.2 : d < -0.2 ? -0.2 : d;
    default:
        return 2 * d;
    }
}

static void the_gradient_of_a_loss_is_that_of_its_slope(void **state)
{
    (void)state;
    arena a = {0};
    bl_scene *scene = both(&a);
    bl_job *job = scene_device_job(&device, scene, names, 1);
    static float target[VALUES], image[VALUES], weights[VALUES];
    uint32_t random = 7;
    for (int i = 0; i < VALUES; i++)
        target[i] = (float)scene_random(&random);
    for (bl_loss loss = 0; loss < BL_LOSS_COUNT; loss++) {
        float of_loss[3], of_slope[3];
        bl_gradient_desc desc = {
            .form = BL_FORM_SEPARATE,
            .spp = 16,
            .target = target,
            .loss = loss,
            .loss_constant = loss == BL_LOSS_HUBER ? 0.2 : 0,
            .image = image,
        };
        SCENE_MUST(&device, bl_job_gradient(job, &desc, NULL));
        SCENE_MUST(&device, bl_job_read_gradient(job, 0, of_loss));
        for (int i = 0; i < VALUES; i++)
            weights[i] = (float)(slope(loss, (double)image[i], (double)target[i]) / VALUES);
        SCENE_MUST(&device, bl_job_gradient(job, &(bl_gradient_desc){.spp = 16, .adjoint = weights}, NULL));
        SCENE_MUST(&device, bl_job_read_gradient(job, 0, of_slope));
        for (int c = 0; c < 3; c++)
            if (!(fabs((double)(of_loss[c] - of_slope[c])) <= 1e-4 * fabs((double)of_slope[c])) ||
                of_slope[c] == 0)
                fail_msg("%s: %g, by its slope %g", bl_loss_info_get(loss).name, (double)of_loss[c],
                         (double)of_slope[c]);
    }
    assert_int_equal(bl_job_gradient(job, &(bl_gradient_desc){.target = target, .loss = BL_LOSS_COUNT}, NULL),
                     BL_ERROR_ARGUMENT);
    bl_job_destroy(job);
    bl_scene_destroy(scene);
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_sees_through_the_sensor_it_is_told),
        cmocka_unit_test(wrong_sensors_are_named),
        cmocka_unit_test(two_views_recover_what_one_cannot),
        cmocka_unit_test(the_loss_is_the_mean_over_views),
        cmocka_unit_test(the_gradient_of_a_loss_is_that_of_its_slope),
    };
    return SCENE_DEVICE_RUN(&device, NULL, "fit views", tests);
}
