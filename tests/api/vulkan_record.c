/* LABELS: swiftshader lavapipe */
/* SPDX-License-Identifier: BSD-3-Clause
 * Passes in command buffers of the caller's: images and gradients are the bytes of bl_job_render and
 * bl_job_gradient on a device of Backlight's own, in any number of parts; nothing is submitted, waited for,
 * mapped or allocated while they are recorded; values that the caller's commands change are followed; what
 * cannot be recorded is refused before anything is. The validation layer must stay silent where there is
 * one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_device.h"
#include "support/todays_tests.h"
#include "support/vulkan_app.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 20, HEIGHT = 16, PIXELS = WIDTH * HEIGHT, VALUES = 3 * PIXELS, SPP = 70, SEED = 9 };

static scene_device device; /* Backlight's own */
static vulkan_app app;
static bl_device *theirs;
static bl_recorder *recorder;
static bl_scene *scene;

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
static const char *const parameters[] = {"paint.diffuse_reflectance.value", "lamp.radiance.value"};
enum { PARAMETERS = 2, ELEMENTS = 3 * PARAMETERS };

static bl_job *job_on(bl_device *on)
{
    bl_job *job;
    SCENE_MUST(&device,
               bl_job_create(on, scene,
                             &(bl_job_desc){.parameters = parameters, .parameter_count = PARAMETERS}, &job));
    return job;
}

static uint32_t index_of(const char *name) { return scene_device_find(&device, scene, name); }

/* Fails unless the library has left the device alone since the counts were cleared. */
static void left_alone(void)
{
    vulkan_app_counts none = {0};
    assert_memory_equal(&vulkan_app_count, &none, sizeof none);
}

static vulkan_app_buffer storage(VkDeviceSize size)
{
    return vulkan_app_buffer_create(&app, size,
                                    VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                                        VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
}

static bl_vulkan_pixels pixels_of(const vulkan_app_buffer *b, uint32_t offset, uint32_t stride)
{
    return (bl_vulkan_pixels){.buffer = b->handle,
                              .buffer_usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
                              .buffer_size = b->size,
                              .offset = offset,
                              .stride = stride};
}

static bl_vulkan_pixels pixels_of_image(const vulkan_app_image *image)
{
    return (bl_vulkan_pixels){.image = image->handle,
                              .image_usage = image->usage,
                              .format = image->format,
                              .width = image->width,
                              .height = image->height,
                              .layout = image->layout};
}

/* Records all parts, each in a submission of its own. */
static void record_image(bl_job *job, bl_vulkan_image_desc *desc)
{
    uint32_t parts = desc->pass.parts ? desc->pass.parts : 1;
    SCENE_MUST(&device, bl_job_prepare_image(job, desc, NULL));
    for (desc->pass.part = 0; desc->pass.part < parts; desc->pass.part++) {
        VkCommandBuffer commands = vulkan_app_begin(&app);
        vulkan_app_count = (vulkan_app_counts){0};
        SCENE_MUST(&device, bl_job_record_image(job, recorder, commands, desc));
        left_alone();
        vulkan_app_run(&app);
        SCENE_MUST(&device, bl_recorder_reset(recorder));
    }
    desc->pass.part = 0;
}

static void record_gradient(bl_job *job, bl_vulkan_gradient_desc *desc)
{
    uint32_t parts = desc->pass.parts ? desc->pass.parts : 1;
    SCENE_MUST(&device, bl_job_prepare_gradient(job, desc, NULL));
    for (desc->pass.part = 0; desc->pass.part < parts; desc->pass.part++) {
        VkCommandBuffer commands = vulkan_app_begin(&app);
        vulkan_app_count = (vulkan_app_counts){0};
        SCENE_MUST(&device, bl_job_record_gradient(job, recorder, commands, desc));
        left_alone();
        vulkan_app_run(&app);
        SCENE_MUST(&device, bl_recorder_reset(recorder));
    }
    desc->pass.part = 0;
}

static void read_region(const bl_vulkan_region *r, void *out)
{
    vulkan_app_buffer b = storage(r->size);
    const VkBufferCopy copy = {.srcOffset = r->offset, .size = r->size};
    vulkan_app_begin(&app);
    vulkan_app_barrier(&app);
    app.CmdCopyBuffer(app.commands, r->buffer, b.handle, 1, &copy);
    vulkan_app_run(&app);
    memcpy(out, b.mapped, r->size);
    vulkan_app_buffer_destroy(&app, &b);
}

/* ---- images ---- */

static void render_own(uint32_t spp, float *image)
{
    bl_job *job = job_on(device.device);
    SCENE_MUST(&device, bl_job_render(job, &(bl_render_desc){.spp = spp, .seed = SEED}, image, NULL));
    bl_job_destroy(job);
}

static void images_are_the_bytes_of_render(void **state)
{
    (void)state;
    enum { OFFSET = 20, STRIDE = 20 };
    static float expected[VALUES];
    static const uint32_t parts[] = {0, 2, 7, 1000};
    render_own(SPP, expected);
    bl_job *job = job_on(theirs);
    vulkan_app_buffer b = storage(OFFSET + PIXELS * STRIDE);
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        bl_vulkan_image_desc desc = {.pass = {.spp = SPP, .seed = SEED, .parts = parts[k]},
                                     .image = pixels_of(&b, OFFSET, STRIDE)};
        memset(b.mapped, 0x5A, b.size);
        record_image(job, &desc);
        const char *bytes = b.mapped;
        for (int i = 0; i < PIXELS; i++) {
            assert_memory_equal(bytes + OFFSET + i * STRIDE, expected + 3 * i, 12);
            assert_true(bytes[OFFSET + i * STRIDE + 12] == 0x5A); /* what lies between stays */
        }
        assert_true(bytes[OFFSET - 1] == 0x5A);
    }
    bl_vulkan_results results;
    static float own[VALUES];
    SCENE_MUST(&device, bl_job_vulkan_results(job, &results));
    assert_int_equal(results.image.size, sizeof own);
    read_region(&results.image, own);
    assert_memory_equal(own, expected, sizeof own);
    vulkan_app_buffer_destroy(&app, &b);
    bl_job_destroy(job);
}

static float half_value(uint16_t h)
{
    int exponent = h >> 10 & 31, mantissa = h & 1023;
    float value = exponent == 0    ? ldexpf((float)mantissa, -24)
                  : exponent == 31 ? INFINITY
                                   : ldexpf((float)(1024 + mantissa), exponent - 25);
    return h & 0x8000 ? -value : value;
}

static void images_go_into_images(void **state)
{
    (void)state;
    static float expected[VALUES];
    render_own(4, expected);
    bl_job *job = job_on(theirs);
    vulkan_app_buffer b = storage(16 * PIXELS);
    vulkan_app_image full = vulkan_app_image_create(&app, WIDTH, HEIGHT, VK_FORMAT_R32G32B32A32_SFLOAT,
                                                    VK_IMAGE_LAYOUT_GENERAL),
                     half = vulkan_app_image_create(&app, WIDTH, HEIGHT, VK_FORMAT_R16G16B16A16_SFLOAT,
                                                    VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    bl_vulkan_image_desc desc = {.pass = {.spp = 4, .seed = SEED}, .image = pixels_of_image(&full)};
    record_image(job, &desc);
    vulkan_app_begin(&app);
    vulkan_app_copy(&app, &full, &b, false);
    vulkan_app_run(&app);
    for (int i = 0; i < PIXELS; i++) {
        const float *texel = (const float *)b.mapped + 4 * i;
        assert_memory_equal(texel, expected + 3 * i, 12);
        assert_true(texel[3] == 1);
    }
    desc.image = pixels_of_image(&half);
    record_image(job, &desc);
    vulkan_app_image source = half;
    source.layout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
    const VkImageMemoryBarrier turn = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT,
        .oldLayout = half.layout,
        .newLayout = source.layout,
        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .image = half.handle,
        .subresourceRange = {.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT, .levelCount = 1, .layerCount = 1}};
    app.CmdPipelineBarrier(vulkan_app_begin(&app), VK_PIPELINE_STAGE_TRANSFER_BIT,
                           VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0, NULL, 0, NULL, 1, &turn);
    vulkan_app_copy(&app, &source, &b, false);
    vulkan_app_run(&app);
    for (int i = 0; i < PIXELS; i++)
        for (int c = 0; c < 4; c++) {
            float value = half_value(((const uint16_t *)b.mapped)[4 * i + c]),
                  wanted = c < 3 ? expected[3 * i + c] : 1;
            assert_true(fabsf(value - wanted) <= fmaxf(fabsf(wanted) * 0x1p-11f, 0x1p-25f));
        }
    vulkan_app_image_destroy(&app, &full);
    vulkan_app_image_destroy(&app, &half);
    vulkan_app_buffer_destroy(&app, &b);
    bl_job_destroy(job);
}

/* Two passes behind one another in one command buffer use the job's buffers one after the other. */
static void passes_follow_each_other(void **state)
{
    (void)state;
    static float expected[VALUES];
    bl_job *job = job_on(theirs);
    vulkan_app_buffer b = storage(2 * sizeof expected);
    bl_vulkan_image_desc first = {.pass = {.spp = 4, .seed = 1}, .image = pixels_of(&b, 0, 0)},
                         second = {.pass = {.spp = 4, .seed = SEED},
                                   .image = pixels_of(&b, sizeof expected, 0)};
    SCENE_MUST(&device, bl_job_prepare_image(job, &first, NULL));
    VkCommandBuffer commands = vulkan_app_begin(&app);
    SCENE_MUST(&device, bl_job_record_image(job, recorder, commands, &first));
    SCENE_MUST(&device, bl_job_record_image(job, recorder, commands, &second));
    vulkan_app_run(&app);
    SCENE_MUST(&device, bl_recorder_reset(recorder));
    render_own(4, expected);
    assert_memory_equal((char *)b.mapped + sizeof expected, expected, sizeof expected);
    assert_memory_not_equal(b.mapped, expected, sizeof expected);
    vulkan_app_buffer_destroy(&app, &b);
    bl_job_destroy(job);
}

/* ---- gradients ---- */

static void fill_adjoint(float *adjoint, float scale)
{
    for (int i = 0; i < VALUES; i++)
        adjoint[i] = scale * sinf(0.37f * (float)i) * (float)(1 + i % 5);
}

static double own_gradient(const float *adjoint, bl_gradient_form form, float *out)
{
    bl_job *job = job_on(device.device);
    bl_stats stats;
    SCENE_MUST(
        &device,
        bl_job_gradient(job, &(bl_gradient_desc){.spp = SPP, .seed = SEED, .adjoint = adjoint, .form = form},
                        &stats));
    for (uint32_t k = 0; k < PARAMETERS; k++)
        SCENE_MUST(&device, bl_job_read_gradient(job, k, out + 3 * k));
    bl_job_destroy(job);
    return stats.loss;
}

static void read_gradients(bl_job *job, float *out)
{
    for (uint32_t k = 0; k < PARAMETERS; k++) {
        bl_vulkan_region r;
        SCENE_MUST(&device, bl_job_vulkan_gradient(job, k, &r));
        assert_int_equal(r.size, 12);
        read_region(&r, out + 3 * k);
    }
}

static void gradients_are_the_bytes_of_gradient(void **state)
{
    (void)state;
    static const bl_gradient_form forms[] = {BL_FORM_AUTO, BL_FORM_FUSED};
    static const uint32_t parts[] = {0, 5, 300};
    static const float scales[] = {1, 3.3e-5f, 0.999f, 7e4f};
    static float adjoint[VALUES];
    vulkan_app_buffer b = storage(16 * PIXELS);
    bl_job *job = job_on(theirs);
    for (size_t k = 0; k < 2 * 3 * 4; k++) {
        float expected[ELEMENTS], found[ELEMENTS], loss;
        bl_vulkan_gradient_desc desc = {.pass = {.spp = SPP, .seed = SEED, .parts = parts[k / 2 % 3]},
                                        .adjoint = pixels_of(&b, 0, 16),
                                        .form = forms[k % 2]};
        fill_adjoint(adjoint, scales[k / 6]);
        double wanted = own_gradient(adjoint, desc.form, expected);
        for (int i = 0; i < PIXELS; i++)
            memcpy((char *)b.mapped + 16 * i, adjoint + 3 * i, 12);
        record_gradient(job, &desc);
        read_gradients(job, found);
        if (memcmp(found, expected, sizeof found) != 0)
            fail_msg("form %d, %u parts, scale %g: %a instead of %a", (int)desc.form, desc.pass.parts,
                     (double)scales[k / 6], (double)found[0], (double)expected[0]);
        bl_vulkan_results results;
        SCENE_MUST(&device, bl_job_vulkan_results(job, &results));
        read_region(&results.loss, &loss);
        assert_true((double)loss == wanted);
        uint32_t status[BL_VULKAN_STATUS_COUNT];
        read_region(&results.status, status);
        assert_int_equal(status[BL_VULKAN_DRIFTED], 0);
    }
    vulkan_app_buffer_destroy(&app, &b);
    bl_job_destroy(job);
}

static void gradients_take_images_as_weights(void **state)
{
    (void)state;
    static float adjoint[VALUES];
    float expected[ELEMENTS], found[ELEMENTS];
    bl_job *job = job_on(theirs);
    vulkan_app_buffer b = storage(16 * PIXELS);
    vulkan_app_image image =
        vulkan_app_image_create(&app, WIDTH, HEIGHT, VK_FORMAT_R16G16B16A16_SFLOAT, VK_IMAGE_LAYOUT_GENERAL);
    uint16_t *halves = b.mapped;
    for (int i = 0; i < PIXELS; i++)
        for (int c = 0; c < 4; c++) {
            halves[4 * i + c] =
                (uint16_t)(i % 9 == 0 ? 3 * i + c : 0x3000 + 29 * i + 7 * c + (c == 1) * 0x8000);
            if (c < 3) /* every ninth one is below the normal halves */
                adjoint[3 * i + c] = half_value(halves[4 * i + c]);
        }
    vulkan_app_begin(&app);
    vulkan_app_copy(&app, &image, &b, true);
    vulkan_app_run(&app);
    bl_vulkan_gradient_desc desc = {.pass = {.spp = SPP, .seed = SEED}, .adjoint = pixels_of_image(&image)};
    record_gradient(job, &desc);
    read_gradients(job, found);
    own_gradient(adjoint, BL_FORM_AUTO, expected);
    assert_memory_equal(found, expected, sizeof found);
    vulkan_app_image_destroy(&app, &image);
    vulkan_app_buffer_destroy(&app, &b);
    bl_job_destroy(job);
}

/* Against a target the image comes first. */
static void losses_are_differentiated(void **state)
{
    (void)state;
    static const struct {
        bl_loss loss;
        bl_gradient_form form;
        uint32_t parts;
    } cases[] = {{BL_LOSS_L2, BL_FORM_AUTO, 0}, /* two walks */
                 {BL_LOSS_L2, BL_FORM_TWO_WALK, 5},
                 {BL_LOSS_L1, BL_FORM_ONE_IMAGE, 2},
                 {BL_LOSS_HUBER, BL_FORM_ONE_IMAGE, 0},
                 {BL_LOSS_L2, BL_FORM_SEPARATE, 0},
                 {BL_LOSS_RELATIVE_L2, BL_FORM_FUSED, 4},
                 {BL_LOSS_L1, BL_FORM_AUTO, 3},
                 {BL_LOSS_HUBER, BL_FORM_SEPARATE, 1},
                 {BL_LOSS_RELATIVE_L2, BL_FORM_TWO_WALK, 3},
                 {BL_LOSS_RELATIVE_L2, BL_FORM_ONE_IMAGE, 1}};
    static float target[VALUES], image[VALUES], own_image[VALUES];
    vulkan_app_buffer b = storage(sizeof target);
    bl_job *own = job_on(device.device), *job = job_on(theirs);
    for (int i = 0; i < VALUES; i++)
        target[i] = 0.8f + 0.2f * sinf((float)i);
    memcpy(b.mapped, target, sizeof target);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        float expected[ELEMENTS], found[ELEMENTS], loss;
        bl_stats stats;
        bl_vulkan_results results;
        const bl_gradient_desc wanted = {.spp = SPP,
                                         .seed = SEED,
                                         .target = target,
                                         .loss = cases[k].loss,
                                         .form = cases[k].form,
                                         .image = own_image};
        bl_vulkan_gradient_desc desc = {.pass = {.spp = SPP, .seed = SEED, .parts = cases[k].parts},
                                        .target = pixels_of(&b, 0, 0),
                                        .loss = cases[k].loss,
                                        .form = cases[k].form};
        SCENE_MUST(&device, bl_job_gradient(own, &wanted, &stats));
        for (uint32_t i = 0; i < PARAMETERS; i++)
            SCENE_MUST(&device, bl_job_read_gradient(own, i, expected + 3 * i));
        record_gradient(job, &desc);
        read_gradients(job, found);
        if (memcmp(found, expected, sizeof found) != 0)
            fail_msg("loss %d: %a instead of %a", (int)cases[k].loss, (double)found[0], (double)expected[0]);
        SCENE_MUST(&device, bl_job_vulkan_results(job, &results));
        read_region(&results.loss, &loss);
        assert_true((double)loss == stats.loss);
        read_region(&results.image, image);
        assert_memory_equal(image, own_image, sizeof image);
    }
    vulkan_app_buffer_destroy(&app, &b);
    bl_job_destroy(own);
    bl_job_destroy(job);
}

/* Light tracing, whose image is a sum of splats, and the tape, which stores all vertices: by dL/dI, and
 * against a target. */
static void other_integrators_are_recorded(void **state)
{
    (void)state;
    static const char *const integrators[] = {"ptracer", "tape"};
    static float numbers[VALUES];
    vulkan_app_buffer b = storage(sizeof numbers);
    bl_scene *before = scene;
    for (int i = 0; i < VALUES; i++)
        numbers[i] = 0.3f + 0.2f * sinf((float)i);
    memcpy(b.mapped, numbers, sizeof numbers);
    const int step =
        strcmp(device.info.kind, "swiftshader") == 0 ? 2 : 1; /* it takes its time: without targets */
    for (int k = 0; k < 4; k += step) {
        float expected[ELEMENTS], found[ELEMENTS], loss;
        bl_vulkan_results results;
        bl_stats stats;
        SCENE_MUST(&device, bl_scene_load_string(device.context, xml, NULL,
                                                 &(bl_scene_desc){.integrator = integrators[k / 2]}, &scene));
        bl_job *own = job_on(device.device), *job = job_on(theirs);
        bl_vulkan_gradient_desc desc = {.pass = {.spp = 8, .seed = SEED, .parts = k % 2 ? 4 : 0}};
        bl_gradient_desc wanted = {.spp = 8, .seed = SEED};
        *(k % 2 ? &desc.target : &desc.adjoint) = pixels_of(&b, 0, 0);
        *(k % 2 ? &wanted.target : &wanted.adjoint) = numbers;
        SCENE_MUST(&device, bl_job_gradient(own, &wanted, &stats));
        for (uint32_t i = 0; i < PARAMETERS; i++)
            SCENE_MUST(&device, bl_job_read_gradient(own, i, expected + 3 * i));
        record_gradient(job, &desc);
        read_gradients(job, found);
        assert_true(expected[0] != 0);
        if (memcmp(found, expected, sizeof found) != 0)
            fail_msg("%s, case %d: %a instead of %a", integrators[k / 2], k, (double)found[0],
                     (double)expected[0]);
        SCENE_MUST(&device, bl_job_vulkan_results(job, &results));
        read_region(&results.loss, &loss);
        assert_true((double)loss == stats.loss);
        bl_job_destroy(own);
        bl_job_destroy(job);
        bl_scene_destroy(scene);
    }
    scene = before;
    vulkan_app_buffer_destroy(&app, &b);
}

/* In media the size of a tape is known when its paths have been walked. */
static void tapes_in_media_are_refused(void **state)
{
    (void)state;
    static const char fog[] =
        "<scene version='3.0.0'><integrator type='tape'/><sensor type='perspective'><film type='hdrfilm'>"
        "<integer name='width' value='4'/><integer name='height' value='4'/></film></sensor>"
        "<shape type='sphere'><point name='center' value='0,0,4'/><bsdf type='null'/>"
        "<medium type='homogeneous' id='fog' name='interior'/></shape><emitter type='constant'/></scene>";
    static const char *const name = "fog.albedo.value.value";
    bl_job *job;
    bl_scene *foggy = scene_device_load(&device, fog, NULL);
    vulkan_app_buffer b = storage(4 * 4 * 3 * sizeof(float));
    SCENE_MUST(&device,
               bl_job_create(theirs, foggy, &(bl_job_desc){.parameters = &name, .parameter_count = 1}, &job));
    bl_vulkan_gradient_desc desc = {.pass = {.spp = 2, .seed = SEED}, .adjoint = pixels_of(&b, 0, 0)};
    scene_device_refused(&device, bl_job_prepare_gradient(job, &desc, NULL), BL_ERROR_UNSUPPORTED, "tape");
    vulkan_app_buffer_destroy(&app, &b);
    bl_job_destroy(job);
    bl_scene_destroy(foggy);
}

/* ---- values that the caller's commands change ---- */

static void changed_values_are_followed(void **state)
{
    (void)state;
    static float expected[VALUES];
    const float values[2][3] = {{0.1f, 0.9f, 0.3f}, {1, 20, 3}};
    const uint32_t changed[2] = {index_of(parameters[0]), index_of(parameters[1])};
    bl_job *own = job_on(device.device), *job = job_on(theirs);
    vulkan_app_buffer b = storage(sizeof expected);
    bl_vulkan_image_desc desc = {.pass = {.spp = 8, .seed = SEED}, .image = pixels_of(&b, 0, 0)};
    record_image(job, &desc); /* with the scene's values */
    for (int k = 0; k < 2; k++)
        SCENE_MUST(&device, bl_job_set_parameter(own, changed[k], values[k]));
    SCENE_MUST(&device, bl_job_render(own, &(bl_render_desc){.spp = 8, .seed = SEED}, expected, NULL));
    assert_memory_not_equal(b.mapped, expected, sizeof expected);

    VkCommandBuffer commands = vulkan_app_begin(&app);
    for (int k = 0; k < 2; k++) {
        bl_vulkan_region r;
        SCENE_MUST(&device, bl_job_vulkan_parameter(job, changed[k], &r));
        assert_int_equal(r.size, 12);
        app.CmdUpdateBuffer(commands, r.buffer, r.offset, r.size, values[k]);
    }
    desc.pass.changed = changed, desc.pass.changed_count = 2;
    vulkan_app_count = (vulkan_app_counts){0};
    SCENE_MUST(&device, bl_job_record_image(job, recorder, commands, &desc));
    left_alone();
    vulkan_app_run(&app);
    SCENE_MUST(&device, bl_recorder_reset(recorder));
    assert_memory_equal(b.mapped, expected, sizeof expected);
    float back[3];
    SCENE_MUST(&device, bl_job_get_parameter(job, changed[1], back));
    assert_memory_equal(back, values[1], sizeof back);
    vulkan_app_buffer_destroy(&app, &b);
    bl_job_destroy(own);
    bl_job_destroy(job);
}

/* That there are no messages says something: without the barrier that the header asks for there is one. */
static void a_missing_barrier_is_seen(void **state)
{
    (void)state;
    bl_job *job = job_on(theirs);
    vulkan_app_buffer b = storage(12 * PIXELS), copy = storage(12 * PIXELS);
    const bl_vulkan_image_desc desc = {.pass = {.spp = 4}, .image = pixels_of(&b, 0, 0)};
    const VkBufferCopy all = {.size = b.size};
    SCENE_MUST(&device, bl_job_prepare_image(job, &desc, NULL));
    for (int with = 1; with >= 0; with--) {
        VkCommandBuffer commands = vulkan_app_begin(&app);
        SCENE_MUST(&device, bl_job_record_image(job, recorder, commands, &desc));
        if (with)
            vulkan_app_barrier(&app);
        app.CmdCopyBuffer(commands, b.handle, copy.handle, 1, &all);
        vulkan_app_run(&app);
        SCENE_MUST(&device, bl_recorder_reset(recorder));
        assert_true((app.messages == 0) == (with || !app.validated));
    }
    app.messages = 0;
    vulkan_app_buffer_destroy(&app, &b);
    vulkan_app_buffer_destroy(&app, &copy);
    bl_job_destroy(job);
}

/* ---- submissions ---- */

static VkSemaphore timeline(void)
{
    VkSemaphore made;
    const VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                            .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
    assert_int_equal(app.CreateSemaphore(app.device, &info, NULL, &made), VK_SUCCESS);
    return made;
}

static void submissions_wait_and_signal(void **state)
{
    (void)state;
    static float expected[VALUES];
    bl_job *job = job_on(theirs);
    VkSemaphore semaphore = timeline();
    vulkan_app_buffer b = storage(sizeof expected);
    VkCommandBuffer commands;
    uint64_t value;
    bool done = true;
    const bl_vulkan_image_desc desc = {.pass = {.spp = 4, .seed = SEED}, .image = pixels_of(&b, 0, 0)};
    const bl_vulkan_semaphore before = {semaphore, 3}, after = {semaphore, 5};
    render_own(4, expected);
    SCENE_MUST(&device, bl_job_prepare_image(job, &desc, NULL));
    SCENE_MUST(&device, bl_recorder_begin(recorder, &commands));
    SCENE_MUST(&device, bl_job_record_image(job, recorder, commands, &desc));
    vulkan_app_count = (vulkan_app_counts){0};
    SCENE_MUST(&device, bl_submit(recorder, &(bl_vulkan_sync){&before, 1, &after, 1}));
    assert_int_equal(vulkan_app_count.waits, 0);
    assert_int_equal(vulkan_app_count.submits, 1);
    SCENE_MUST(&device, bl_recorder_poll(recorder, &done));
    assert_false(done); /* it waits for 3 */
    const VkSemaphoreSignalInfo go = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = semaphore, .value = 3};
    assert_int_equal(app.SignalSemaphore(app.device, &go), VK_SUCCESS);
    const VkSemaphoreWaitInfo end = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                     .semaphoreCount = 1,
                                     .pSemaphores = &semaphore,
                                     .pValues = &after.value};
    assert_int_equal(app.WaitSemaphores(app.device, &end, UINT64_MAX), VK_SUCCESS);
    assert_int_equal(app.GetSemaphoreCounterValue(app.device, semaphore, &value), VK_SUCCESS);
    assert_int_equal(value, 5);
    SCENE_MUST(&device, bl_recorder_reset(recorder));
    SCENE_MUST(&device, bl_recorder_poll(recorder, &done));
    assert_true(done);
    vulkan_app_begin(&app);
    vulkan_app_run(&app); /* makes what the device wrote visible to the host */
    assert_memory_equal(b.mapped, expected, sizeof expected);
    app.DestroySemaphore(app.device, semaphore, NULL);
    vulkan_app_buffer_destroy(&app, &b);
    bl_job_destroy(job);
}

/* ---- what cannot be ---- */

static void chains_are_not_recorded(void **state)
{
    (void)state;
    bl_scene *chains;
    bl_job *job;
    SCENE_MUST(&device, bl_scene_load_string(device.context, xml, NULL,
                                             &(bl_scene_desc){.integrator = "pssmlt"}, &chains));
    SCENE_MUST(&device, bl_job_create(theirs, chains, NULL, &job));
    const bl_vulkan_image_desc desc = {.pass = {.spp = 4}};
    scene_device_refused(&device, bl_job_prepare_image(job, &desc, NULL), BL_ERROR_UNSUPPORTED,
                         "a Metropolis integrator");
    bl_job_destroy(job);
    bl_scene_destroy(chains);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    bl_job *job = job_on(theirs), *own = job_on(device.device);
    vulkan_app_buffer b = storage(VALUES * 4);
    const bl_vulkan_image_desc good = {.pass = {.spp = 4}, .image = pixels_of(&b, 0, 0)};
    VkCommandBuffer commands = vulkan_app_begin(&app);
    scene_device_refused(&device, bl_job_record_image(job, recorder, commands, &good), BL_ERROR_ARGUMENT,
                         "prepare");
    SCENE_MUST(&device, bl_job_prepare_image(job, &good, NULL));
#define REFUSE(expected, word, ...)                                                                          \
    do {                                                                                                     \
        bl_vulkan_image_desc desc = good;                                                                    \
        __VA_ARGS__;                                                                                         \
        scene_device_refused(&device, bl_job_record_image(job, recorder, commands, &desc), expected, word);  \
    } while (0)
    REFUSE(BL_ERROR_ARGUMENT, "part 3 of 3", desc.pass.part = desc.pass.parts = 3);
    REFUSE(BL_ERROR_ARGUMENT, "part 1 of 1", desc.pass.part = 1);
    REFUSE(BL_ERROR_ARGUMENT, "does not follow", desc.pass.part = 1; desc.pass.parts = 3);
    REFUSE(BL_ERROR_ARGUMENT, "paths", desc.pass.parts = 1000000);
    REFUSE(BL_ERROR_ARGUMENT, "the buffer has", desc.image.offset = 4);
    REFUSE(BL_ERROR_ARGUMENT, "the buffer has", desc.image.offset = 1ull << 40);
    REFUSE(BL_ERROR_ARGUMENT, "multiples of 4", desc.image.offset = 2);
    REFUSE(BL_ERROR_ARGUMENT, "12 or more", desc.image.stride = 8);
    REFUSE(BL_ERROR_ARGUMENT, "STORAGE_BUFFER", desc.image.buffer_usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    REFUSE(BL_ERROR_ARGUMENT, "coarser", desc.pass.coarser = 99);
    REFUSE(BL_ERROR_ARGUMENT, "no parameter 9999", desc.pass.changed = &(uint32_t){9999};
           desc.pass.changed_count = 1);
    REFUSE(BL_ERROR_ARGUMENT, "prepare", desc.pass.spp = 4096); /* a larger film */
    vulkan_app_image image =
        vulkan_app_image_create(&app, WIDTH, HEIGHT, VK_FORMAT_R32G32B32A32_SFLOAT, VK_IMAGE_LAYOUT_GENERAL);
    commands = vulkan_app_begin(&app);
    REFUSE(BL_ERROR_ARGUMENT, "not both", desc.image.image = image.handle);
    REFUSE(BL_ERROR_ARGUMENT, "prepare", desc.image = pixels_of_image(&image));
    REFUSE(BL_ERROR_ARGUMENT, "VkFormat 37", desc.image = pixels_of_image(&image);
           desc.image.format = VK_FORMAT_R8G8B8A8_UNORM);
    REFUSE(BL_ERROR_ARGUMENT, "the film 20 x 16", desc.image = pixels_of_image(&image); desc.image.width = 9);
    REFUSE(BL_ERROR_ARGUMENT, "TRANSFER_DST_BIT", desc.image = pixels_of_image(&image);
           desc.image.image_usage = VK_IMAGE_USAGE_STORAGE_BIT);
    REFUSE(BL_ERROR_ARGUMENT, "VkImageLayout", desc.image = pixels_of_image(&image);
           desc.image.layout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
#undef REFUSE
    scene_device_refused(&device, bl_job_record_image(job, NULL, commands, &good), BL_ERROR_ARGUMENT,
                         "must be given");
    scene_device_refused(&device, bl_job_record_image(job, recorder, NULL, &good), BL_ERROR_ARGUMENT,
                         "must be given");
    scene_device_refused(&device, bl_job_prepare_image(own, &good, NULL), BL_ERROR_UNSUPPORTED,
                         "bl_device_from_vulkan");
    bl_recorder *none;
    scene_device_refused(&device, bl_recorder_create(device.device, &none), BL_ERROR_UNSUPPORTED,
                         "bl_device_from_vulkan");
    bl_vulkan_device_desc again = vulkan_app_desc(&app);
    bl_device *second;
    SCENE_MUST(&device, bl_device_from_vulkan(device.context, &again, &second));
    SCENE_MUST(&device, bl_recorder_create(second, &none));
    scene_device_refused(&device, bl_job_record_image(job, none, commands, &good), BL_ERROR_ARGUMENT,
                         "two devices");
    bl_recorder_destroy(none);
    bl_device_destroy(second);
    const bl_vulkan_gradient_desc no_weights = {.pass = {.spp = 4}};
    scene_device_refused(&device, bl_job_prepare_gradient(job, &no_weights, NULL), BL_ERROR_ARGUMENT,
                         "neither a buffer");
    bl_vulkan_gradient_desc both = {
        .pass = {.spp = 4}, .adjoint = pixels_of(&b, 0, 0), .target = pixels_of(&b, 0, 0)};
    scene_device_refused(&device, bl_job_prepare_gradient(job, &both, NULL), BL_ERROR_ARGUMENT,
                         "either an adjoint");
    both.adjoint = (bl_vulkan_pixels){0}, both.loss = (bl_loss)99;
    scene_device_refused(&device, bl_job_prepare_gradient(job, &both, NULL), BL_ERROR_ARGUMENT, "no loss 99");
    bl_vulkan_gradient_desc two_walks = {
        .pass = {.spp = 4}, .adjoint = pixels_of(&b, 0, 0), .form = BL_FORM_TWO_WALK};
    scene_device_refused(&device, bl_job_prepare_gradient(job, &two_walks, NULL), BL_ERROR_ARGUMENT,
                         "two walks");
    bl_vulkan_region r;
    scene_device_refused(&device, bl_job_vulkan_gradient(job, PARAMETERS, &r), BL_ERROR_ARGUMENT,
                         "no gradient 2");
    vulkan_app_run(&app); /* nothing has been recorded in any of these */
    VkCommandBuffer twice;
    scene_device_refused(&device, bl_submit(recorder, NULL), BL_ERROR_ARGUMENT, "no command buffer");
    SCENE_MUST(&device, bl_recorder_begin(recorder, &commands));
    scene_device_refused(&device, bl_recorder_begin(recorder, &twice), BL_ERROR_ARGUMENT, "in use");
    scene_device_refused(
        &device, bl_submit(recorder, &(bl_vulkan_sync){.waits = &(bl_vulkan_semaphore){0}, .wait_count = 1}),
        BL_ERROR_ARGUMENT, "semaphore 0 is null");
    scene_device_refused(&device, bl_submit(recorder, &(bl_vulkan_sync){.signal_count = 17}),
                         BL_ERROR_ARGUMENT, "at most 16");
    SCENE_MUST(&device, bl_recorder_reset(recorder)); /* drops what has been begun */
    SCENE_MUST(&device, bl_recorder_begin(recorder, &commands));
    SCENE_MUST(&device, bl_submit(recorder, NULL));
    scene_device_refused(&device, bl_recorder_begin(recorder, &twice), BL_ERROR_ARGUMENT,
                         "reset the recorder first");
    SCENE_MUST(&device, bl_recorder_reset(recorder));
    vulkan_app_image_destroy(&app, &image);
    vulkan_app_buffer_destroy(&app, &b);
    bl_job_destroy(job);
    bl_job_destroy(own);
}

static void costs_are_told(void **state)
{
    (void)state;
    bl_job *job = job_on(theirs);
    bl_vulkan_cost cost;
    static float image[VALUES];
    const bl_vulkan_image_desc desc = {.pass = {.spp = 64}};
    SCENE_MUST(&device, bl_job_prepare_image(job, &desc, &cost));
    assert_true(cost.paths >= 64 * PIXELS && cost.device_bytes > 0 && cost.seconds == 0);
    SCENE_MUST(&device, bl_job_render(job, &(bl_render_desc){.spp = 64}, image, NULL));
    SCENE_MUST(&device, bl_job_prepare_image(job, &desc, &cost));
    assert_true(cost.seconds > 0);
    bl_job_destroy(job);
}

static int setup(void **state)
{
    (void)state;
    bl_vulkan_device_desc desc = vulkan_app_desc(&app);
    desc.lock_queue = desc.unlock_queue = NULL;
    SCENE_MUST(&device, bl_device_from_vulkan(device.context, &desc, &theirs));
    SCENE_MUST(&device, bl_recorder_create(theirs, &recorder));
    scene = scene_device_load(&device, xml, NULL);
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
        cmocka_unit_test(images_are_the_bytes_of_render),
        cmocka_unit_test(images_go_into_images),
        cmocka_unit_test(passes_follow_each_other),
        cmocka_unit_test(gradients_are_the_bytes_of_gradient),
        cmocka_unit_test(gradients_take_images_as_weights),
        cmocka_unit_test(losses_are_differentiated),
        cmocka_unit_test(other_integrators_are_recorded),
        cmocka_unit_test(tapes_in_media_are_refused),
        cmocka_unit_test(changed_values_are_followed),
        cmocka_unit_test(a_missing_barrier_is_seen),
        cmocka_unit_test(submissions_wait_and_signal),
        cmocka_unit_test(chains_are_not_recorded),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(costs_are_told),
    };
    size_t count = todays_tests(tests, sizeof tests / sizeof *tests, 2);
    return vulkan_app_test(&app, &device, "vulkan_record", tests, count, setup, teardown);
}
