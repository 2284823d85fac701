/* LABELS: native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Every failure leaves its own text: calls with an index out of range or a setting that does not exist, each
 * behind a failure of another kind, whose text must not be left. And images of the caller's that are not
 * finite, which would stall a fit without a word, are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <backlight/backlight.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 4, VALUES = 3 * SIDE * SIDE };
static const char xml[] =
    "<scene version='3.0.0'><integrator type='direct'/>"
    "<sensor type='perspective'><film type='hdrfilm'><integer name='width' value='4'/>"
    "<integer name='height' value='4'/><rfilter type='box'/></film>"
    "<transform name='to_world'><lookat origin='0,0,4' target='0,0,0' up='0,1,0'/></transform></sensor>"
    "<emitter type='constant'/><shape type='sphere'><bsdf type='diffuse' id='paint'/></shape></scene>";
static const char *const paint = "paint.reflectance.value";
static const uint32_t beyond = 9999;

static bl_context *ctx;
static bl_device *device;
static bl_scene *scene;
static bl_job *job;
static float target[VALUES];

static int setup(void **state)
{
    (void)state;
    for (int i = 0; i < VALUES; i++)
        target[i] = 0.25f;
    if (bl_context_create(NULL, &ctx) != BL_OK ||
        bl_device_create(ctx, getenv("BL_DEVICE"), &device) != BL_OK)
        exit(77);
    return bl_scene_load_string(ctx, xml, NULL, NULL, &scene) != BL_OK ||
           bl_job_create(device, scene, &(bl_job_desc){.parameters = &paint, .parameter_count = 1}, &job) !=
               BL_OK;
}

static int teardown(void **state)
{
    (void)state;
    bl_job_destroy(job);
    bl_scene_destroy(scene);
    bl_device_destroy(device);
    bl_context_destroy(ctx);
    return 0;
}

/* Leaves a text that no other failure has. */
static void poison(void)
{
    uint32_t index;
    assert_int_equal(bl_scene_find_parameter(scene, "poison", &index), BL_ERROR_ARGUMENT);
    assert_non_null(strstr(bl_context_error(ctx), "poison"));
}

#define FAILS(call, text)                                                                                    \
    do {                                                                                                     \
        poison();                                                                                            \
        assert_int_equal(call, BL_ERROR_ARGUMENT);                                                           \
        if (!strstr(bl_context_error(ctx), text))                                                            \
            fail_msg("%s says: %s", #call, bl_context_error(ctx));                                           \
    } while (0)

static void indices_are_told(void **state)
{
    (void)state;
    float values[16] = {0};
    double doubles[16];
    bl_parameter_info parameter;
    bl_device_info info;
    bl_plugin_info plugin;
    bl_plugin_parameter plugin_parameter;
    bl_plugin_slot slot;
    FAILS(bl_scene_parameter_info(scene, beyond, &parameter), "no parameter 9999");
    FAILS(bl_scene_get_parameter(scene, beyond, values), "no parameter 9999");
    FAILS(bl_scene_resize_parameter(scene, beyond, (const uint32_t[]){1, 1, 3}, values), "no parameter 9999");
    FAILS(bl_job_set_parameter(job, beyond, values), "no parameter 9999");
    FAILS(bl_job_get_parameter(job, beyond, values), "no parameter 9999");
    FAILS(bl_job_read_gradient(job, 1, values), "parameter of the job 1: there are 1");
    FAILS(bl_job_read_gradient_doubles(job, 1, doubles), "parameter of the job 1: there are 1");
    FAILS(bl_device_info_at(ctx, beyond, &info), "no device 9999");
    FAILS(bl_plugin_info_at(ctx, beyond, &plugin), "no plugin 9999");
    FAILS(bl_plugin_parameter_at(ctx, beyond, 0, &plugin_parameter), "no plugin 9999");
    FAILS(bl_plugin_parameter_at(ctx, 0, beyond, &plugin_parameter), "no parameter of the plugin 9999");
    FAILS(bl_plugin_slot_at(ctx, beyond, 0, &slot), "no plugin 9999");
    FAILS(bl_plugin_slot_at(ctx, 0, beyond, &slot), "no slot of the plugin 9999");
}

static bl_fit *new_fit(void)
{
    bl_fit *fit;
    const bl_fit_parameter p = {.name = paint};
    assert_int_equal(bl_fit_create(device, scene,
                                   &(bl_fit_desc){.parameters = &p, .parameter_count = 1, .target = target},
                                   &fit),
                     BL_OK);
    return fit;
}

static void those_of_fits_too(void **state)
{
    (void)state;
    float values[3];
    double terms[1];
    bl_fit_noise noise;
    bl_fit *fit = new_fit();
    FAILS(bl_fit_get(fit, 1, values), "parameter of the fit 1: there are 1");
    FAILS(bl_fit_get_noise(fit, 1, &noise), "parameter of the fit 1: there are 1");
    FAILS(bl_fit_get_terms(fit, terms), "no sum of terms");
    bl_fit_destroy(fit);
}

/* Creating a fit whose only parameter, or whose target, is wrong. */
static bl_result fit_of(bl_fit_parameter p, const float *image)
{
    bl_fit *fit = NULL;
    p.name = paint;
    bl_result r = bl_fit_create(
        device, scene, &(bl_fit_desc){.parameters = &p, .parameter_count = 1, .target = image}, &fit);
    bl_fit_destroy(fit);
    return r;
}

static void images_are_finite(void **state)
{
    (void)state;
    const float wrong[] = {NAN, INFINITY, -INFINITY};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        float image[VALUES];
        memcpy(image, target, sizeof image);
        image[3 * (SIDE * 2 + 1) + 2] = wrong[k];
        FAILS(fit_of((bl_fit_parameter){0}, image), "channel 2 of the pixel at 1, 2");
        FAILS(bl_job_gradient(job, &(bl_gradient_desc){.spp = 1, .target = image}, NULL),
              "channel 2 of the pixel at 1, 2");
        FAILS(bl_job_gradient(job, &(bl_gradient_desc){.spp = 1, .adjoint = image}, NULL),
              "channel 2 of the pixel at 1, 2");
    }
    assert_int_equal(bl_job_gradient(job, &(bl_gradient_desc){.spp = 1, .target = target}, NULL), BL_OK);
}

static void settings_are_checked(void **state)
{
    (void)state;
    const float outside[3] = {0.5f, 0.5f, 0.9f}, inside[3] = {0.5f, 0.5f, 0.5f};
    bl_scene *other;
    bl_job *none;
    FAILS(fit_of((bl_fit_parameter){.least = 0.75, .most = 0.25}, target), "hold no value");
    FAILS(fit_of((bl_fit_parameter){.least = NAN, .most = 0.25}, target), "hold no value");
    FAILS(fit_of((bl_fit_parameter){.least = 0.25, .most = 0.75, .initial = outside}, target),
          "outside of the bounds");
    assert_int_equal(fit_of((bl_fit_parameter){.least = 0.25, .most = 0.75, .initial = inside}, target),
                     BL_OK);
    for (int k = 0; k < 2; k++)
        FAILS(bl_job_gradient(
                  job,
                  &(bl_gradient_desc){
                      .spp = 1, .target = target, .loss = BL_LOSS_HUBER, .loss_constant = k ? NAN : -1},
                  NULL),
              "the loss's constant");
    FAILS(bl_scene_load_string(ctx, xml, NULL, &(bl_scene_desc){.lights = (bl_light_choice)77}, &other),
          "lights 77");
    FAILS(bl_scene_load_string(ctx, xml, NULL, &(bl_scene_desc){.edges = (bl_edges)77}, &other), "edges 77");
    FAILS(bl_scene_load_string(ctx, xml, NULL, &(bl_scene_desc){.max_depth = -7}, &other), "max_depth is -7");
    FAILS(bl_job_create(device, scene, &(bl_job_desc){.accumulate = (bl_accumulate)9}, &none),
          "accumulate 9");
    FAILS(bl_job_create(device, scene, &(bl_job_desc){.volume_gradient = (bl_volume_gradient)9}, &none),
          "volume_gradient 9");
}

static void a_context_says_why_it_is_not_there(void **state)
{
    (void)state;
    bl_context *other;
    assert_int_equal(bl_context_create(&(bl_context_desc){.reserved = {1}}, &other), BL_ERROR_ARGUMENT);
    assert_non_null(strstr(bl_context_error(NULL), "bl_context_desc.reserved is not 0"));
}

static void builders_keep_their_own(void **state)
{
    (void)state;
    bl_builder *a, *b;
    bl_scene *made;
    assert_int_equal(bl_builder_create(ctx, &a), BL_OK);
    assert_int_equal(bl_builder_create(ctx, &b), BL_OK);
    bl_object_add(bl_builder_root(a), NULL, bl_builder_object(b, "shape", "sphere", NULL));
    poison();
    assert_int_equal(bl_builder_finish(a, NULL, NULL, &made), BL_ERROR_SCENE);
    assert_non_null(strstr(bl_context_error(ctx), "another builder"));
    bl_builder_destroy(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(indices_are_told),        cmocka_unit_test(those_of_fits_too),
        cmocka_unit_test(images_are_finite),       cmocka_unit_test(settings_are_checked),
        cmocka_unit_test(builders_keep_their_own), cmocka_unit_test(a_context_says_why_it_is_not_there),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
