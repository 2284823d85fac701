/* LABELS: swiftshader lavapipe */
/* SPDX-License-Identifier: BSD-3-Clause
 * Steps of fits in command buffers of the caller's leave the bytes of bl_fit_step on a device of Backlight's
 * own: parameters and losses, in all forms, with several views, in parts, and many steps in one command
 * buffer. Nothing is submitted, waited for, mapped or allocated while they are recorded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_device.h"
#include "support/todays_tests.h"
#include "support/vulkan_app.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 20, HEIGHT = 16, PIXELS = WIDTH * HEIGHT, VALUES = 3 * PIXELS, STEPS = 5 };

static scene_device device; /* Backlight's own */
static vulkan_app app;
static bl_device *theirs;
static bl_recorder *recorder;
static bl_scene *scene;
static float target[VALUES];

/* Derived values (plastic) and sampling tables (two lights of which one is chosen by power). */
static const char xml[] =
    "<scene version='3.0.0'><integrator type='path'><integer name='max_depth' value='4'/></integrator>"
    "<sensor type='perspective'><float name='fov' value='40'/><transform name='to_world'>"
    "<lookat origin='0,0,4' target='0,0,0' up='0,1,0'/></transform>"
    "<film type='hdrfilm'><integer name='width' value='20'/><integer name='height' value='16'/>"
    "<rfilter type='box'/></film><sampler type='independent'/></sensor>"
    "<shape type='sphere'><bsdf type='plastic' id='paint'><rgb name='diffuse_reflectance' value='.7,.4,.2'/>"
    "</bsdf></shape>"
    "<shape type='rectangle'><transform name='to_world'><scale value='3'/><translate z='-1.2'/></transform>"
    "<bsdf type='diffuse' id='wall'/></shape>"
    "<shape type='rectangle'><transform name='to_world'><scale value='.5'/><rotate x='1' angle='90'/>"
    "<translate y='2'/></transform><emitter type='area' id='lamp'><rgb name='radiance' value='9,8,7'/>"
    "</emitter></shape>"
    "<emitter type='point'><point name='position' value='2,3,5'/><rgb name='intensity' value='20,19,18'/>"
    "</emitter></scene>";

static const bl_fit_parameter parameters[] = {{.name = "paint.diffuse_reflectance.value"},
                                              {.name = "lamp.radiance.value", .rate = 0.3}};
enum { PARAMETERS = 2 };
static const float from_the_side[16] = {0.8f, 0, -0.6f, -2.4f, 0, 1, 0, 0, 0.6f, 0, 0.8f, 3.2f, 0, 0, 0, 1};

static bl_fit *fit_on(bl_device *on, const bl_fit_desc *desc)
{
    bl_fit *fit;
    SCENE_MUST(&device, bl_fit_create(on, scene, desc, &fit));
    return fit;
}

typedef struct outcome {
    float values[3 * PARAMETERS];
    double loss;
} outcome;

static outcome own_steps(const bl_fit_desc *desc)
{
    outcome o;
    bl_fit_status status;
    bl_fit *fit = fit_on(device.device, desc);
    for (int i = 0; i < STEPS; i++)
        SCENE_MUST(&device, bl_fit_step(fit, &status));
    o.loss = status.loss;
    for (uint32_t k = 0; k < PARAMETERS; k++)
        SCENE_MUST(&device, bl_fit_get(fit, k, o.values + 3 * k));
    bl_fit_destroy(fit);
    return o;
}

static void read_region(const bl_vulkan_region *r, void *out)
{
    vulkan_app_buffer b = vulkan_app_buffer_create(&app, r->size, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    const VkBufferCopy copy = {.srcOffset = r->offset, .size = r->size};
    vulkan_app_begin(&app);
    vulkan_app_barrier(&app);
    app.CmdCopyBuffer(app.commands, r->buffer, b.handle, 1, &copy);
    vulkan_app_run(&app);
    memcpy(out, b.mapped, r->size);
    vulkan_app_buffer_destroy(&app, &b);
}

static void record_step(bl_fit *fit, uint32_t part, uint32_t parts)
{
    static const vulkan_app_counts none;
    vulkan_app_count = none;
    SCENE_MUST(&device, bl_fit_record_step(fit, recorder, app.commands, part, parts));
    assert_memory_equal(&vulkan_app_count, &none, sizeof none); /* the device was left alone */
}

/* parts 0: all steps in one command buffer. */
static void record_steps(bl_fit *fit, uint32_t parts)
{
    SCENE_MUST(&device, bl_fit_prepare_step(fit, NULL));
    if (!parts)
        vulkan_app_begin(&app);
    for (int i = 0; i < STEPS; i++) {
        for (uint32_t part = 0; part < parts; part++) {
            vulkan_app_begin(&app);
            record_step(fit, part, parts);
            vulkan_app_run(&app);
            SCENE_MUST(&device, bl_recorder_reset(recorder));
        }
        if (!parts)
            record_step(fit, 0, 1);
    }
    if (!parts)
        vulkan_app_run(&app);
    SCENE_MUST(&device, bl_recorder_reset(recorder));
}

static outcome recorded_steps(const bl_fit_desc *desc, uint32_t parts)
{
    outcome o = {0};
    bl_vulkan_step_results results;
    float losses[8];
    uint32_t status[BL_VULKAN_STATUS_COUNT], optimizer[2];
    bl_fit *fit = fit_on(theirs, desc);
    record_steps(fit, parts);
    assert_int_equal(bl_fit_status_get(fit).step, STEPS);
    SCENE_MUST(&device, bl_fit_vulkan_results(fit, &results));
    assert_true(results.losses.size <= sizeof losses);
    read_region(&results.losses, losses);
    for (uint32_t i = 0; i < results.losses.size / 4; i++)
        o.loss += (double)losses[i];
    read_region(&results.status, status);
    assert_int_equal(status[BL_VULKAN_OVERFLOWED], 0);
    read_region(&results.optimizer, optimizer);
    assert_true(optimizer[0] == 0 && optimizer[1] == 0);
    for (uint32_t k = 0; k < PARAMETERS; k++) {
        float again[3];
        bl_vulkan_region r;
        SCENE_MUST(&device, bl_fit_get(fit, k, o.values + 3 * k));
        SCENE_MUST(&device, bl_fit_vulkan_parameter(fit, k, &r));
        read_region(&r, again);
        assert_memory_equal(again, o.values + 3 * k, sizeof again);
    }
    bl_fit_destroy(fit);
    return o;
}

static void the_same(const bl_fit_desc *desc)
{
    static const uint32_t parts[] = {0, 1, 6};
    outcome own = own_steps(desc);
    assert_true(isfinite(own.loss) && own.values[0] != 0.7f);
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        outcome recorded = recorded_steps(desc, parts[k]);
        if (memcmp(&recorded, &own, sizeof own) != 0)
            fail_msg("form %d, %u parts: %a instead of %a, loss %a instead of %a", (int)desc->form, parts[k],
                     (double)recorded.values[0], (double)own.values[0], recorded.loss, own.loss);
    }
}

static void steps_are_the_bytes_of_a_fit(void **state)
{
    (void)state;
    static const bl_gradient_form forms[] = {BL_FORM_TWO_WALK, BL_FORM_ONE_IMAGE, BL_FORM_SEPARATE,
                                             BL_FORM_FUSED};
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++)
        the_same(&(bl_fit_desc){.parameters = parameters,
                                .parameter_count = PARAMETERS,
                                .target = target,
                                .form = forms[k],
                                .spp = 8});
}

static void views_add_up(void **state)
{
    (void)state;
    const bl_fit_view views[] = {
        {.target = target}, {.held_out = true}, {.target = target, .to_world = from_the_side}};
    the_same(&(bl_fit_desc){.parameters = parameters,
                            .parameter_count = PARAMETERS,
                            .views = views,
                            .view_count = 3,
                            .loss = BL_LOSS_L1,
                            .optimizer = BL_OPTIMIZER_RMSPROP,
                            .spp = 8,
                            .spp_gradient = 4});
    the_same(&(bl_fit_desc){
        .parameters = parameters, .parameter_count = PARAMETERS, .views = views, .view_count = 3, .spp = 8});
}

static void other_integrators_step(void **state)
{
    (void)state;
    static const char *const integrators[] = {"ptracer", "tape"};
    const bl_fit_desc desc = {
        .parameters = parameters, .parameter_count = PARAMETERS, .target = target, .spp = 8};
    bl_scene *before = scene;
    for (int k = 0; k < 2; k++) {
        SCENE_MUST(&device, bl_scene_load_string(device.context, xml, NULL,
                                                 &(bl_scene_desc){.integrator = integrators[k]}, &scene));
        outcome own = own_steps(&desc), recorded = recorded_steps(&desc, 2);
        assert_true(own.values[0] != 0.7f);
        assert_memory_equal(&recorded, &own, sizeof own);
        bl_scene_destroy(scene);
    }
    scene = before;
}

/* A job that is split (src/api/job_split.h) walks twice in each pass. */
static void split_jobs_step(void **state)
{
    (void)state;
    static const char two_parts[] =
        "<scene version='3.0.0'><integrator type='path'><integer name='max_depth' value='2'/></integrator>"
        "<sensor type='perspective'><float name='fov' value='40'/><transform name='to_world'>"
        "<lookat origin='0,0,4' target='0,0,0' up='0,1,0'/></transform>"
        "<film type='hdrfilm'><integer name='width' value='20'/><integer name='height' value='16'/>"
        "<rfilter type='box'/></film><sampler type='independent'/></sensor>"
        "<shape type='sphere' id='ball'><point name='center' value='-.6,.1,0'/>"
        "<float name='radius' value='.5'/><bsdf type='diffuse'/></shape>"
        "<shape type='rectangle'><transform name='to_world'><scale value='.5'/><translate "
        "x='.8'/></transform>"
        "<bsdf type='normalmap' id='bent'><rgb name='normalmap' value='.6,.45,.95'/>"
        "<bsdf type='conductor'/></bsdf></shape>"
        "<emitter type='point'><point name='position' value='2,3,5'/><rgb name='intensity' value='20,19,18'/>"
        "</emitter><emitter type='constant'/></scene>";
    static const bl_fit_parameter both[PARAMETERS] = {{.name = "ball.translation"},
                                                      {.name = "bent.normalmap.value"}};
    const bl_fit_desc desc = {.parameters = both,
                              .parameter_count = PARAMETERS,
                              .target = target,
                              .form = BL_FORM_SEPARATE,
                              .spp = 8};
    bl_scene *before = scene;
    SCENE_MUST(&device, bl_scene_load_string(device.context, two_parts, NULL, NULL, &scene));
    outcome own = own_steps(&desc), recorded = recorded_steps(&desc, 5);
    assert_true(own.values[0] != 0 && own.values[3] != .6f);
    assert_memory_equal(&recorded, &own, sizeof own);
    bl_scene_destroy(scene);
    scene = before;
}

/* The pixels of a batch are drawn anew in each step, which may be recorded before any is executed; so are
 * their weights, where views have some. */
static void batches_are_drawn(void **state)
{
    (void)state;
    for (int weighted = 0; weighted < 2; weighted++) {
        const bl_fit_view views[] = {{.target = target, .weight = weighted ? 3 : 0},
                                     {.held_out = true},
                                     {.target = target, .to_world = from_the_side}};
        the_same(&(bl_fit_desc){.parameters = parameters,
                                .parameter_count = PARAMETERS,
                                .views = views,
                                .view_count = 3,
                                .batch = 70,
                                .form = BL_FORM_SEPARATE,
                                .spp = 8});
    }
}

/* A fit that was created with another target leaves the same bytes, once it has been given this one. */
static void targets_come_from_buffers(void **state)
{
    (void)state;
    static float other[VALUES];
    float expected[3], found[3];
    const bl_fit_desc desc = {
        .parameters = parameters, .parameter_count = PARAMETERS, .target = target, .spp = 8};
    bl_fit_desc with_other = desc;
    for (int i = 0; i < VALUES; i++) /* as bright */
        other[i] = target[VALUES - 1 - i];
    with_other.target = other;
    vulkan_app_buffer b = vulkan_app_buffer_create(&app, 16 * PIXELS, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
    for (int i = 0; i < PIXELS; i++)
        memcpy((char *)b.mapped + 16 * i, target + 3 * i, 12);
    bl_vulkan_pixels pixels = {.buffer = b.handle,
                               .buffer_usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
                               .buffer_size = b.size,
                               .stride = 16};
    bl_fit *own = fit_on(device.device, &desc), *fit = fit_on(theirs, &with_other);
    SCENE_MUST(&device, bl_fit_prepare_target(fit, 0, &pixels));
    vulkan_app_begin(&app);
    vulkan_app_count = (vulkan_app_counts){0};
    SCENE_MUST(&device, bl_fit_record_target(fit, recorder, app.commands, 0, &pixels));
    assert_memory_equal(&vulkan_app_count, &(vulkan_app_counts){0}, sizeof vulkan_app_count);
    vulkan_app_run(&app);
    SCENE_MUST(&device, bl_recorder_reset(recorder));
    record_steps(fit, 0);
    for (int i = 0; i < STEPS; i++)
        SCENE_MUST(&device, bl_fit_step(own, NULL));
    SCENE_MUST(&device, bl_fit_get(own, 0, expected));
    SCENE_MUST(&device, bl_fit_get(fit, 0, found));
    assert_memory_equal(found, expected, sizeof found);
    bl_fit_destroy(own);
    bl_fit_destroy(fit);
    vulkan_app_buffer_destroy(&app, &b);
}

/* One submission, and nothing of the host in between. */
static void a_hundred_steps_need_no_host(void **state)
{
    (void)state;
    enum { MANY = 100 };
    const bl_fit_desc desc = {
        .parameters = parameters, .parameter_count = PARAMETERS, .target = target, .spp = 2};
    float expected[3], found[3];
    bl_fit *own = fit_on(device.device, &desc), *fit = fit_on(theirs, &desc);
    SCENE_MUST(&device, bl_fit_prepare_step(fit, NULL));
    vulkan_app_begin(&app);
    for (int i = 0; i < MANY; i++)
        record_step(fit, 0, 1);
    vulkan_app_run(&app);
    SCENE_MUST(&device, bl_recorder_reset(recorder));
    for (int i = 0; i < MANY; i++)
        SCENE_MUST(&device, bl_fit_step(own, NULL));
    SCENE_MUST(&device, bl_fit_get(own, 0, expected));
    SCENE_MUST(&device, bl_fit_get(fit, 0, found));
    assert_memory_equal(found, expected, sizeof found);
    bl_fit_destroy(own);
    bl_fit_destroy(fit);
}

/* After recorded steps, our own loop goes on where they ended. */
static void recorded_and_own_steps_mix(void **state)
{
    (void)state;
    const bl_fit_desc desc = {
        .parameters = parameters, .parameter_count = PARAMETERS, .target = target, .spp = 8};
    float expected[3], found[3];
    bl_fit *own = fit_on(device.device, &desc), *mixed = fit_on(theirs, &desc);
    for (int i = 0; i < STEPS + 2; i++)
        SCENE_MUST(&device, bl_fit_step(own, NULL));
    SCENE_MUST(&device, bl_fit_step(mixed, NULL));
    record_steps(mixed, 0);
    bl_fit_status status;
    SCENE_MUST(&device, bl_fit_step(mixed, &status));
    assert_int_equal(status.step, STEPS + 2);
    SCENE_MUST(&device, bl_fit_get(own, 0, expected));
    SCENE_MUST(&device, bl_fit_get(mixed, 0, found));
    assert_memory_equal(found, expected, sizeof found);
    bl_fit_destroy(own);
    bl_fit_destroy(mixed);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    bl_fit_desc desc = {.parameters = parameters, .parameter_count = PARAMETERS, .target = target, .spp = 8};
    bl_vulkan_step_results results;
    bl_vulkan_region r;
    bl_fit *fit = fit_on(theirs, &desc);
    vulkan_app_begin(&app);
    scene_device_refused(&device, bl_fit_record_step(fit, recorder, app.commands, 0, 1), BL_ERROR_ARGUMENT,
                         "prepare_step");
    scene_device_refused(&device, bl_fit_vulkan_results(fit, &results), BL_ERROR_ARGUMENT, "prepare_step");
    scene_device_refused(&device, bl_fit_vulkan_parameter(fit, 2, &r), BL_ERROR_ARGUMENT, "no parameter 2");
    SCENE_MUST(&device, bl_fit_prepare_step(fit, NULL));
    scene_device_refused(&device, bl_fit_record_step(fit, recorder, app.commands, 2, 2), BL_ERROR_ARGUMENT,
                         "part 2 of 2");
    scene_device_refused(&device, bl_fit_record_step(fit, recorder, app.commands, 1, 2), BL_ERROR_ARGUMENT,
                         "does not follow");
    scene_device_refused(&device, bl_fit_record_step(fit, recorder, NULL, 0, 1), BL_ERROR_ARGUMENT,
                         "must be given");
    vulkan_app_run(&app);
    assert_int_equal(bl_fit_status_get(fit).step, 0);
    bl_fit_destroy(fit);
    const bl_vulkan_pixels nothing = {0};
    fit = fit_on(theirs, &desc);
    scene_device_refused(&device, bl_fit_prepare_target(fit, 1, &nothing), BL_ERROR_ARGUMENT, "no view 1");
    scene_device_refused(&device, bl_fit_prepare_target(fit, 0, &nothing), BL_ERROR_ARGUMENT,
                         "target: neither a buffer");
    bl_fit_destroy(fit);
    desc.batch = 16;
    fit = fit_on(theirs, &desc);
    scene_device_refused(&device, bl_fit_prepare_target(fit, 0, &nothing), BL_ERROR_UNSUPPORTED, "batch");
    bl_fit_destroy(fit);
    desc.batch = 0;
    desc.form = BL_FORM_TWO_WALK, desc.spp_gradient = 4;
    fit = fit_on(theirs, &desc);
    scene_device_refused(&device, bl_fit_prepare_step(fit, NULL), BL_ERROR_UNSUPPORTED, "more samples");
    bl_fit_destroy(fit);
    desc.form = BL_FORM_AUTO, desc.spp_gradient = 0;
    for (uint64_t from = 1; from <= BL_AVERAGE_AUTO + 1; from += BL_AVERAGE_AUTO) {
        desc.average_from = from;
        fit = fit_on(theirs, &desc);
        scene_device_refused(&device, bl_fit_prepare_step(fit, NULL), BL_ERROR_UNSUPPORTED, "average_from");
        bl_fit_destroy(fit);
    }
    desc.average_from = 0;
    fit = fit_on(device.device, &desc);
    scene_device_refused(&device, bl_fit_prepare_step(fit, NULL), BL_ERROR_UNSUPPORTED,
                         "bl_device_from_vulkan");
    bl_fit_destroy(fit);
}

static void make_target(void)
{
    bl_job *job;
    SCENE_MUST(&device, bl_job_create(device.device, scene, NULL, &job));
    SCENE_MUST(&device, bl_job_render(job, &(bl_render_desc){.spp = 16, .seed = 77}, target, NULL));
    bl_job_destroy(job);
    for (int i = 0; i < VALUES; i++)
        target[i] *= i % 3 == 0 ? 0.6f : 1.1f;
}

static int setup(void **state)
{
    (void)state;
    bl_vulkan_device_desc desc = vulkan_app_desc(&app);
    SCENE_MUST(&device, bl_device_from_vulkan(device.context, &desc, &theirs));
    SCENE_MUST(&device, bl_recorder_create(theirs, &recorder));
    scene = scene_device_load(&device, xml, NULL);
    make_target();
    return 0;
}

static void teardown(void)
{
    bl_scene_destroy(scene);
    bl_recorder_destroy(recorder);
    bl_device_destroy(theirs);
}

/* Half of them each day, and on one driver (cmake/Tests.cmake). */
int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_the_bytes_of_a_fit),
        cmocka_unit_test(views_add_up),
        cmocka_unit_test(other_integrators_step),
        cmocka_unit_test(split_jobs_step),
        cmocka_unit_test(batches_are_drawn),
        cmocka_unit_test(targets_come_from_buffers),
        cmocka_unit_test(a_hundred_steps_need_no_host),
        cmocka_unit_test(recorded_and_own_steps_mix),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    size_t count = todays_tests(tests, sizeof tests / sizeof *tests, 2);
    return vulkan_app_test(&app, &device, "vulkan_fit", tests, count, setup, teardown);
}
