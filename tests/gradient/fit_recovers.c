/* LABELS: swiftshader native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Does a fit find what made a picture, from end to end? It recovers two wall colours and the light of the
 * Cornell box, 64 x 64, to 1 %. The target was rendered with other random numbers than the fit uses. Light
 * and walls scale the image alike in most pixels, which makes it hard. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_device.h"

#include "base/base.h"

#include <math.h>
#include <stdlib.h>

enum { PARAMETERS = 3, SPP_TARGET = 1024 };
static const char *const names[PARAMETERS] = {"red.reflectance.value", "green.reflectance.value",
                                              "light.emitter.radiance.value"};

static scene_device device;

static bl_scene *load_box(void)
{
    arena a = {0};
    const char *source = getenv("BL_SOURCE_DIR");
    const bl_define defines[] = {{"resolution", "64"}, {"max_depth", "4"}};
    bl_scene *scene;
    char *path = arena_printf(&a, "%s/assets/cornell/scene.xml", source ? source : ".");
    SCENE_MUST(&device, bl_scene_load(device.context, path,
                                      &(bl_scene_desc){.defines = defines, .define_count = 2}, &scene));
    arena_free(&a);
    return scene;
}

/* The fit's step size is fixed, so a second one with a smaller rate and more samples starts where the first
 * ended. */
static void run_fit(const bl_scene *scene, const float *target, float values[PARAMETERS][3], uint32_t steps,
                    double rate, uint32_t spp)
{
    bl_fit_parameter p[PARAMETERS];
    for (int k = 0; k < PARAMETERS; k++)
        p[k] = (bl_fit_parameter){.name = names[k], .initial = values[k], .rate = k == 2 ? 20 * rate : rate};
    bl_fit *fit;
    bl_fit_desc desc = {
        .parameters = p, .parameter_count = PARAMETERS, .target = target, .spp = spp, .seed = spp};
    SCENE_MUST(&device, bl_fit_create(device.device, scene, &desc, &fit));
    bl_fit_status status = {0};
    double first = 0;
    for (uint32_t step = 0; step < steps; step++) {
        SCENE_MUST(&device, bl_fit_step(fit, &status));
        first = step == 0 ? status.loss : first;
        assert_int_equal(status.drifted, 0);
        assert_int_equal(status.overflowed, 0);
    }
    print_message("%u steps at rate %g: loss %g -> %g\n", steps, rate, first, status.loss);
    for (uint32_t k = 0; k < PARAMETERS; k++)
        SCENE_MUST(&device, bl_fit_get(fit, k, values[k]));
    bl_fit_destroy(fit);
}

static void two_walls_and_the_light_to_one_percent(void **state)
{
    (void)state;
    bl_scene *scene = load_box();
    bl_job *job = scene_device_job(&device, scene, NULL, 0);
    float *target = calloc(3 * 64 * 64, sizeof *target);
    assert_non_null(target);
    SCENE_MUST(&device, bl_job_render(job, &(bl_render_desc){.spp = SPP_TARGET, .seed = 4711}, target, NULL));
    bl_job_destroy(job);
    float values[PARAMETERS][3] = {{0.5f, 0.5f, 0.5f}, {0.5f, 0.5f, 0.5f}, {10, 10, 10}};
    run_fit(scene, target, values, 60, 0.03, 4);
    run_fit(scene, target, values, 50, 0.006, 6);
    run_fit(scene, target, values, 50, 0.0012, 12);
    free(target);
    for (uint32_t k = 0; k < PARAMETERS; k++) {
        float truth[3];
        SCENE_MUST(&device,
                   bl_scene_get_parameter(scene, scene_device_find(&device, scene, names[k]), truth));
        for (int c = 0; c < 3; c++) {
            double scale = fmax(fabs((double)truth[c]), k == 2 ? 0 : 0.61),
                   off = fabs((double)values[k][c] - (double)truth[c]);
            print_message("%s[%d]: %.4f, truth %.4f (%.2f %%)\n", names[k], c, (double)values[k][c],
                          (double)truth[c], 100 * off / scale);
            if (!(off <= 0.01 * scale))
                fail_msg("%s[%d]: %g, truth %g", names[k], c, (double)values[k][c], (double)truth[c]);
        }
    }
    bl_scene_destroy(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(two_walls_and_the_light_to_one_percent)};
    return SCENE_DEVICE_RUN(&device, NULL, "fit recovers", tests);
}
