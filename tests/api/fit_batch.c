/* LABELS: swiftshader lavapipe native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Fits by batches of pixels, views that are held out, and gradients of one image. A batch that lists every
 * pixel once is the whole image, to the byte; batches that together are one give its loss and step; a
 * gradient of one image is the derivative of the loss that it reports. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 12, PIXELS = SIDE * SIDE, VALUES = 3 * PIXELS };

static scene_device device;
static float targets[3][VALUES];
static const float poses[3][16] = {{-1, 0, 0, 0, 0, 1, 0, 0, 0, 0, -1, 3, 0, 0, 0, 1},
                                   {-1, 0, 0, 0.5f, 0, 1, 0, 0.25f, 0, 0, -1, 2.5f, 0, 0, 0, 1},
                                   {-0.8f, 0, -0.6f, 1.5f, 0, 1, 0, 0, 0.6f, 0, -0.8f, 2, 0, 0, 0, 1}};

/* A textured wall under an area light and a sky, with light between wall and lamp. */
static bl_scene *room(const char *integrator, const char *edges)
{
    arena a = {0};
    const char *body =

        "<bsdf type='diffuse' id='floor'><rgb name='reflectance' value='.4,.5,.6'/></bsdf>"
        "<shape type='rectangle'><transform name='to_world'><scale value='2'/></transform><ref "
        "id='floor'/></shape>"
        "<shape type='rectangle'><transform name='to_world'><rotate x='1' angle='170'/><translate "
        "z='4'/></transform><emitter type='area' id='lamp'><rgb name='radiance' value='3,2,1'/></emitter>"
        "</shape><emitter type='constant'><rgb name='radiance' value='.2,.3,.4'/></emitter>";
    bl_scene *s =
        scene_device_load(&device,
                          scene_xml(&a,
                                    arena_printf(&a,
                                                 "<integrator type='%s'><integer name='max_depth' value='3'/>"
                                                 "<string name='edges' value='%s'/></integrator>",
                                                 integrator, edges),
                                    arena_printf(&a, scene_sensor_format, SIDE, SIDE), body),
                          ".");
    arena_free(&a);
    return s;
}

static const bl_fit_parameter parameters[] = {
    {.name = "floor.reflectance.value", .initial = (const float[]){0.7f, 0.2f, 0.3f}},
    {.name = "lamp.radiance.value", .rate = 0.2, .initial = (const float[]){1, 1, 1}}};
enum { PARAMETERS = 2, COUNT = 3 * PARAMETERS };

static bl_fit_desc describe(const bl_fit_view *views, uint32_t count)
{
    return (bl_fit_desc){.parameters = parameters,
                         .parameter_count = PARAMETERS,
                         .views = views,
                         .view_count = count,
                         .spp = 4,
                         .seed = 5};
}

static bl_fit *create(const bl_scene *scene, const bl_fit_desc *desc)
{
    bl_fit *fit;
    SCENE_MUST(&device, bl_fit_create(device.device, scene, desc, &fit));
    return fit;
}

static void values_of(bl_fit *fit, float out[COUNT])
{
    for (uint32_t k = 0; k < PARAMETERS; k++)
        SCENE_MUST(&device, bl_fit_get(fit, k, out + 3 * k));
}

/* Takes steps. Returns the mean of their losses. */
static double walk(const bl_scene *scene, const bl_fit_desc *desc, uint32_t steps, float values[COUNT])
{
    bl_fit *fit = create(scene, desc);
    bl_fit_status status;
    double loss = 0;
    for (uint32_t k = 0; k < steps; k++) {
        SCENE_MUST(&device, bl_fit_step(fit, &status));
        loss += status.loss / steps;
    }
    assert_true(status.drifted == 0 && status.overflowed == 0 && status.non_finite == 0);
    values_of(fit, values);
    bl_fit_destroy(fit);
    return loss;
}

static void fill_targets(void)
{
    uint32_t random = 3;
    for (uint32_t v = 0; v < 3; v++)
        for (int i = 0; i < VALUES; i++)
            targets[v][i] = (float)scene_random(&random);
}

/* ---- batches ---- */

static void a_batch_of_every_pixel_is_the_image(void **state)
{
    (void)state;
    bl_scene *scene = room("path", "auto");
    const bl_fit_view view = {.target = targets[0], .to_world = poses[1]};
    for (bl_gradient_form form = BL_FORM_AUTO; form < BL_FORM_COUNT; form++)
        for (int pixels = 0; pixels < BL_PIXELS_COUNT; pixels++) {
            float whole[COUNT], listed[COUNT];
            bl_fit_desc desc = describe(&view, 1);
            if (pixels && bl_gradient_form_finds_loss(form))
                continue; /* which take their samples where the image does */
            desc.form = form, desc.pixels = (bl_pixels)pixels;
            double loss = walk(scene, &desc, 3, whole);
            desc.batch = PIXELS;
            double again = walk(scene, &desc, 3, listed);
            if (loss != again || memcmp(whole, listed, sizeof whole) != 0)
                fail_msg("%s, %s: loss %.9g as an image, %.9g as a batch", bl_gradient_form_name(form),
                         bl_pixels_name((bl_pixels)pixels), loss, again);
        }
    bl_scene_destroy(scene);
}

/* A camera that is a parameter: its record is derived, and there is one view. Batches leave moving edges out,
 * so the whole image does, too. */
static void a_batch_moves_the_camera_as_the_image_does(void **state)
{
    (void)state;
    bl_scene *scene = room("path", "none");
    static const float aside[3] = {0.1f, -0.05f, 0};
    const bl_fit_parameter moved = {.name = "sensor.translation", .initial = aside, .rate = 0.01};
    bl_fit_desc desc = {.parameters = &moved, .parameter_count = 1, .target = targets[0], .spp = 4};
    float found[2][3];
    for (int k = 0; k < 2; k++) {
        desc.batch = k ? PIXELS : 0;
        bl_fit *fit = create(scene, &desc);
        for (int step = 0; step < 2; step++)
            SCENE_MUST(&device, bl_fit_step(fit, NULL));
        SCENE_MUST(&device, bl_fit_get(fit, 0, found[k]));
        bl_fit_destroy(fit);
    }
    assert_memory_equal(found[0], found[1], sizeof found[0]);
    assert_true(found[0][0] != aside[0]);
    bl_scene_destroy(scene);
}

/* With common random numbers and parameters that stay, the losses of the batches that make up the image have
 * its loss as their mean. */
static void batches_add_up_to_the_image(void **state)
{
    (void)state;
    bl_scene *scene = room("path", "auto");
    bl_fit_parameter still[PARAMETERS] = {parameters[0], parameters[1]};
    still[0].rate = still[1].rate = 1e-20;
    const bl_fit_view view = {.target = targets[1], .to_world = poses[2]};
    for (int k = 0; k < 2; k++) {
        float values[COUNT];
        bl_fit_desc desc = describe(&view, 1);
        desc.parameters = still, desc.common_numbers = true;
        desc.form = k ? BL_FORM_ONE_IMAGE : BL_FORM_SEPARATE;
        double whole = walk(scene, &desc, 1, values);
        desc.batch = PIXELS / 9;
        double parts = walk(scene, &desc, 9, values), one = walk(scene, &desc, 1, values);
        assert_true(fabs(parts / whole - 1) < 1e-6);
        assert_true(fabs(one / whole - 1) > 1e-3); /* a part is not the whole */
    }
    bl_scene_destroy(scene);
}

/* Views of a batch have other random numbers than whole views, so these agree as far as noise allows.
 * Stochastic gradient descent shows the gradient. */
static void a_batch_of_all_views_is_their_mean(void **state)
{
    (void)state;
    bl_scene *scene = room("path", "auto");
    const bl_fit_view views[3] = {{.target = targets[0], .to_world = poses[0]},
                                  {.target = targets[1], .to_world = poses[1]},
                                  {.target = targets[2], .to_world = poses[2]}};
    float whole[COUNT], listed[COUNT], other[COUNT];
    bl_fit_desc desc = describe(views, 3);
    desc.spp = 512, desc.optimizer = BL_OPTIMIZER_SGD, desc.rate = 0.1;
    double loss = walk(scene, &desc, 1, whole);
    desc.batch = 3 * PIXELS;
    double again = walk(scene, &desc, 1, listed);
    assert_true(fabs(again / loss - 1) < 2e-3);
    for (int i = 0; i < COUNT; i++) {
        double from = (double)parameters[i / 3].initial[i % 3], moved = (double)whole[i] - from;
        assert_true(fabs(moved) > 1e-5);
        if (!(fabs((double)listed[i] - from - moved) < 0.02 * fabs(moved)))
            fail_msg("entry %d moved by %g as views, by %g as a batch", i, moved, (double)listed[i] - from);
    }
    desc.view_count = 2, desc.batch = 2 * PIXELS; /* Views matter. */
    double two = walk(scene, &desc, 1, other);
    assert_true(fabs(two / loss - 1) > 1e-2);
    bl_scene_destroy(scene);
}

static void views_of_a_batch_are_rendered_as_ever(void **state)
{
    (void)state;
    bl_scene *scene = room("path", "auto");
    static float listed[VALUES], sliced[VALUES], whole[VALUES];
    const bl_fit_view views[2] = {{.target = targets[0], .to_world = poses[2]},
                                  {.held_out = true, .to_world = poses[1]}};
    bl_fit_desc desc = describe(views, 2);
    desc.batch = 25; /* which does not divide the number of pixels */
    bl_fit *fit = create(scene, &desc), *plain;
    desc.batch = 0;
    plain = create(scene, &desc);
    const bl_render_desc render = {.spp = 64, .seed = 9};
    SCENE_MUST(&device, bl_fit_render(fit, 0, &render, listed));
    SCENE_MUST(&device, bl_fit_render(plain, 0, &render, whole));
    for (int i = 0; i < VALUES; i++)
        assert_true(fabs((double)(listed[i] - whole[i])) < 1e-5 * (1 + fabs((double)whole[i])));
    bl_render_desc slices = render;
    slices.slice_seconds = 1e-6;
    SCENE_MUST(&device, bl_fit_render(fit, 0, &slices, sliced));
    assert_memory_equal(listed, sliced, sizeof listed);
    SCENE_MUST(&device, bl_fit_render(fit, 1, &render, listed));
    SCENE_MUST(&device, bl_fit_render(plain, 1, &render, whole));
    double square = 0, mean = 0;
    for (int i = 0; i < VALUES; i++)
        square += pow((double)(listed[i] - whole[i]), 2) / VALUES, mean += (double)whole[i] / VALUES;
    assert_true(sqrt(square) < 0.1 * mean && square > 0); /* other random numbers */
    assert_int_equal(bl_fit_render(fit, 2, &render, listed), BL_ERROR_ARGUMENT);
    bl_fit_destroy(fit);
    bl_fit_destroy(plain);
    bl_scene_destroy(scene);
}

static void batches_go_on_exactly(void **state)
{
    (void)state;
    static const char path[] = "fit_batch.checkpoint";
    bl_scene *scene = room("path", "auto");
    const bl_fit_view views[2] = {{.target = targets[0], .to_world = poses[0]},
                                  {.target = targets[1], .to_world = poses[1]}};
    bl_fit_desc desc = describe(views, 2);
    float straight[COUNT], resumed[COUNT];
    static float image[VALUES];
    bl_fit_status status[2];
    desc.batch = 40, desc.form = BL_FORM_ONE_IMAGE, desc.spp = 1;
    bl_fit *fit = create(scene, &desc);
    for (int k = 0; k < 7; k++) {
        if (k == 3)
            SCENE_MUST(&device, bl_fit_save(fit, path, NULL, 0));
        SCENE_MUST(&device, bl_fit_step(fit, &status[0]));
    }
    values_of(fit, straight);
    bl_fit_destroy(fit);
    fit = create(scene, &desc);
    SCENE_MUST(&device, bl_fit_restore(fit, path, NULL, NULL));
    for (int k = 3; k < 7; k++) {
        SCENE_MUST(&device, bl_fit_render(fit, 1, &(bl_render_desc){.spp = 2}, image)); /* must not matter */
        SCENE_MUST(&device, bl_fit_step(fit, &status[1]));
    }
    values_of(fit, resumed);
    bl_fit_destroy(fit);
    assert_memory_equal(straight, resumed, sizeof straight);
    assert_true(status[0].loss == status[1].loss);
    desc.batch = 41;
    fit = create(scene, &desc);
    assert_int_equal(bl_fit_restore(fit, path, NULL, NULL), BL_ERROR_ARGUMENT);
    bl_fit_destroy(fit);
    remove(path);
    bl_scene_destroy(scene);
}

/* ---- views that are held out ---- */

static void held_out_views_do_not_matter(void **state)
{
    (void)state;
    bl_scene *scene = room("path", "auto");
    const bl_fit_view views[3] = {{.target = targets[0], .to_world = poses[0]},
                                  {.target = targets[1], .to_world = poses[1]},
                                  {.held_out = true, .to_world = poses[2]}};
    for (uint32_t batch = 0; batch < 100; batch += 50) {
        float two[COUNT], three[COUNT];
        bl_fit_desc desc = describe(views, 2);
        desc.batch = batch;
        double loss = walk(scene, &desc, 4, two);
        desc.view_count = 3;
        assert_true(loss == walk(scene, &desc, 4, three));
        assert_memory_equal(two, three, sizeof two);
    }
    bl_scene_destroy(scene);
}

static void impossible_fits_are_refused(void **state)
{
    (void)state;
    bl_scene *scene = room("path", "auto"), *light = room("ptracer", "auto");
    bl_fit_view views[2] = {{.held_out = true, .to_world = poses[0]}, {.held_out = true}};
    bl_fit_desc desc = describe(views, 2);
    bl_fit *fit;
    assert_int_equal(bl_fit_create(device.device, scene, &desc, &fit), BL_ERROR_ARGUMENT);
    assert_non_null(strstr(bl_context_error(device.context), "held out"));
    views[0] = (bl_fit_view){.target = NULL};
    assert_int_equal(bl_fit_create(device.device, scene, &desc, &fit), BL_ERROR_ARGUMENT);
    assert_non_null(strstr(bl_context_error(device.context), "view 0 has no target"));
    views[0].target = targets[0], desc.batch = UINT32_MAX;
    assert_int_equal(bl_fit_create(device.device, scene, &desc, &fit), BL_ERROR_ARGUMENT);
    assert_non_null(strstr(bl_context_error(device.context), "at most 16777216"));
    desc.batch = 10;
    assert_int_equal(bl_fit_create(device.device, light, &desc, &fit), BL_ERROR_UNSUPPORTED);
    assert_non_null(strstr(bl_context_error(device.context), "ptracer"));
    bl_scene_destroy(scene);
    bl_scene_destroy(light);
}

/* ---- one image ---- */

static double loss_at(bl_job *job, uint32_t parameter, const float *values, const bl_gradient_desc *desc)
{
    bl_stats stats;
    SCENE_MUST(&device, bl_job_set_parameter(job, parameter, values));
    SCENE_MUST(&device, bl_job_gradient(job, desc, &stats));
    assert_int_equal(stats.form, BL_FORM_ONE_IMAGE);
    return stats.loss;
}

/* Paths do not depend on the values here, so the loss of the same samples is a smooth function of them. That
 * of l1 is not: its slope jumps where a value of the image crosses the target's. */
static void the_gradient_of_one_image_is_that_of_its_loss(void **state)
{
    (void)state;
    static const char *const floor_name[] = {"floor.reflectance.value"};
    bl_scene *scene = room("path", "auto");
    bl_job *job = scene_device_job(&device, scene, floor_name, 1);
    uint32_t parameter = scene_device_find(&device, scene, floor_name[0]);
    for (bl_loss loss = 0; loss < BL_LOSS_COUNT; loss++)
        for (uint32_t spp = 1; spp < 8 && loss != BL_LOSS_L1; spp += 4) {
            float gradient[3];
            const float base[3] = {0.4f, 0.5f, 0.6f};
            const bl_gradient_desc desc = {.form = BL_FORM_ONE_IMAGE,
                                           .spp = spp,
                                           .seed = 4,
                                           .target = targets[2],
                                           .loss = loss,
                                           .loss_constant = loss == BL_LOSS_HUBER ? 0.3 : 0};
            loss_at(job, parameter, base, &desc);
            SCENE_MUST(&device, bl_job_read_gradient(job, 0, gradient));
            for (int c = 0; c < 3; c++) {
                const float step = 2e-3f;
                float up[3] = {base[0], base[1], base[2]}, down[3] = {base[0], base[1], base[2]};
                up[c] += step, down[c] -= step;
                double slope = (loss_at(job, parameter, up, &desc) - loss_at(job, parameter, down, &desc)) /
                               (double)(up[c] - down[c]);
                if (!(fabs(slope - (double)gradient[c]) < 2e-3 * fabs(slope) + 1e-4))
                    fail_msg("%s, %u samples, channel %d: gradient %g, difference %g",
                             bl_loss_info_get(loss).name, spp, c, (double)gradient[c], slope);
            }
        }
    bl_job_destroy(job);
    bl_scene_destroy(scene);
}

int main(void)
{
    fill_targets();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_of_every_pixel_is_the_image),
        cmocka_unit_test(a_batch_moves_the_camera_as_the_image_does),
        cmocka_unit_test(batches_add_up_to_the_image),
        cmocka_unit_test(a_batch_of_all_views_is_their_mean),
        cmocka_unit_test(views_of_a_batch_are_rendered_as_ever),
        cmocka_unit_test(batches_go_on_exactly),
        cmocka_unit_test(held_out_views_do_not_matter),
        cmocka_unit_test(impossible_fits_are_refused),
        cmocka_unit_test(the_gradient_of_one_image_is_that_of_its_loss),
    };
    return SCENE_DEVICE_RUN(&device, NULL, "fit batch", tests);
}
