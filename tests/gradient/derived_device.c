/* LABELS: swiftshader lavapipe native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Do derived values follow their parameters on a device, through the public API? They follow parameters
 * that are set, that a fit changes, and that a frozen evaluation is given. Their gradients reach the
 * parameters in both ways of summing. And how many kernels they cost. */
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

enum {
    SIDE = 16,
    SPP = 32,
    VALUES = 3 * SIDE * SIDE,
    CUTOFF = 0,
    BEAM,
    REFLECTANCE,
    REQUESTED,
    VALUES_MOST = 256
};
static const char *const names[REQUESTED] = {"spot.cutoff_angle", "spot.beam_width",
                                             "white.reflectance.value"};

static scene_device device;

#define ROOM                                                                                                 \
    "<bsdf type='diffuse' id='white'><rgb name='reflectance' value='.7,.75,.8'/></bsdf>"                     \
    "<shape type='rectangle'><transform name='to_world'><scale value='1.5'/></transform><ref "               \
    "id='white'/></shape>"

static bl_scene *load(const char *light)
{
    arena a = {0};
    bl_scene *scene = scene_device_load(
        &device,
        scene_xml(&a, "<integrator type='path'><integer name='max_depth' value='3'/></integrator>",
                  arena_printf(&a, scene_sensor_format, SIDE, SIDE), arena_printf(&a, ROOM "%s", light)),
        ".");
    arena_free(&a);
    return scene;
}

static bl_scene *load_spot(double cutoff, double beam)
{
    arena a = {0};
    bl_scene *scene = load(arena_printf(&a,
                                        "<emitter type='spot' id='spot'><transform name='to_world'><lookat "
                                        "origin='-.4,-.5,2.5' target='0,.1,0' up='0,1,0'/></transform>"
                                        "<rgb name='intensity' value='5,6,7'/><float name='cutoff_angle' "
                                        "value='%g'/><float name='beam_width' value='%g'/></emitter>",
                                        cutoff, beam));
    arena_free(&a);
    return scene;
}

static bl_job *make_job(const bl_scene *scene, bl_job_desc desc)
{
    bl_job *job;
    desc.parameters = names, desc.parameter_count = REQUESTED;
    SCENE_MUST(&device, bl_job_create(device.device, scene, &desc, &job));
    return job;
}

static void render(bl_job *job, float image[VALUES])
{
    SCENE_MUST(&device, bl_job_render(job, &(bl_render_desc){.spp = SPP, .seed = 3}, image, NULL));
}

static void set(const bl_scene *scene, bl_job *job, const char *name, float value)
{
    SCENE_MUST(&device, bl_job_set_parameter(job, scene_device_find(&device, scene, name), &value));
}

/* Index of a scalar parameter in the array of all values. */
static uint32_t all_values(const bl_scene *scene, const char *name, float *values)
{
    uint32_t at = 0, found = 0;
    for (uint32_t i = 0; i < bl_scene_parameter_count(scene); i++) {
        bl_parameter_info info;
        SCENE_MUST(&device, bl_scene_parameter_info(scene, i, &info));
        assert_true(at + info.count <= VALUES_MOST);
        SCENE_MUST(&device, bl_scene_get_parameter(scene, i, values + at));
        found = strcmp(info.name, name) == 0 ? at : found;
        at += info.count;
    }
    return found;
}

static void set_values_take_effect(void **state)
{
    (void)state;
    bl_scene *wide = load_spot(30, 20), *narrow = load_spot(22, 6);
    bl_job *job = make_job(wide, (bl_job_desc){0}), *other = make_job(narrow, (bl_job_desc){0});
    float before[VALUES], expected[VALUES], after[VALUES];
    render(job, before), render(other, expected);
    uint64_t pipelines = bl_device_stats_get(device.device).pipelines_created;
    set(wide, job, names[CUTOFF], 22), set(wide, job, names[BEAM], 6);
    render(job, after);
    assert_memory_equal(after, expected, sizeof after);
    assert_memory_not_equal(after, before, sizeof after);
    set(wide, job, names[CUTOFF], 30), set(wide, job, names[BEAM], 20);
    render(job, after);
    assert_memory_equal(after, before, sizeof after);
    assert_int_equal(bl_device_stats_get(device.device).pipelines_created, pipelines);
    bl_job_destroy(job), bl_job_destroy(other);
    bl_scene_destroy(wide), bl_scene_destroy(narrow);
}

/* ---- gradients ---- */

static void weights(float *w)
{
    uint32_t state = 9;
    for (int i = 0; i < VALUES; i++)
        w[i] = (float)(0.5 + scene_random(&state));
}

static void gradient_times(bl_job *job, float factor, float *angles)
{
    float w[VALUES];
    bl_stats stats;
    weights(w);
    for (int i = 0; i < VALUES; i++)
        w[i] *= factor;
    SCENE_MUST(&device,
               bl_job_gradient(job, &(bl_gradient_desc){.spp = SPP, .seed = 3, .adjoint = w}, &stats));
    assert_int_equal(stats.drifted, 0);
    SCENE_MUST(&device, bl_job_read_gradient(job, CUTOFF, angles));
    SCENE_MUST(&device, bl_job_read_gradient(job, BEAM, angles + 1));
}

static void gradient(bl_job *job, float *angles) { gradient_times(job, 1, angles); }

/* sum of w times the image whose weights come from `values` */
static double frozen(bl_job *job, const float *values)
{
    float image[VALUES], w[VALUES];
    double sum = 0;
    weights(w);
    SCENE_MUST(&device,
               bl_job_render(
                   job, &(bl_render_desc){.spp = SPP, .seed = 3, .frozen = values, .gradient_stream = true},
                   image, NULL));
    for (int i = 0; i < VALUES; i++)
        sum += (double)w[i] * (double)image[i];
    return sum;
}

static void gradients_equal_frozen_differences(void **state)
{
    (void)state;
    bl_scene *scene = load_spot(30, 10);
    bl_job *job = make_job(scene, (bl_job_desc){.frozen = true});
    float values[VALUES_MOST], angles[2];
    gradient(job, angles);
    for (int k = 0; k < 2; k++) {
        const float h = 0.02f; /* light that a wider cutoff would let through is not on the frozen paths */
        uint32_t at = all_values(scene, names[k], values);
        values[at] += h;
        double high = frozen(job, values);
        values[at] -= 2 * h;
        double low = frozen(job, values), difference = (high - low) / (2 * (double)h);
        print_message("%s: gradient %.7g, difference %.7g\n", names[k], (double)angles[k], difference);
        assert_true(fabs(difference) > 0.1);
        if (!(fabs((double)angles[k] - difference) <= 3e-3 * fabs(difference)))
            fail_msg("%s: gradient %.7g, difference of frozen images %.7g", names[k], (double)angles[k],
                     difference);
    }
    bl_job_destroy(job);
    bl_scene_destroy(scene);
}

/* Gradients belong to the values that are set, and both ways of summing find them. */
static void gradients_follow_values(void **state)
{
    (void)state;
    bl_scene *scene = load_spot(30, 10), *other = load_spot(24, 15);
    bl_job *job = make_job(scene, (bl_job_desc){0}), *expected = make_job(other, (bl_job_desc){0});
    float before[2], after[2], reference[2];
    gradient(job, before), gradient(expected, reference);
    set(scene, job, names[CUTOFF], 24), set(scene, job, names[BEAM], 15);
    gradient(job, after);
    assert_memory_equal(after, reference, sizeof after);
    assert_memory_not_equal(after, before, sizeof after);
    if (device.info.float_atomics) {
        bl_job *floats = make_job(other, (bl_job_desc){.accumulate = BL_ACCUMULATE_FLOAT});
        gradient(floats, after);
        for (int k = 0; k < 2; k++)
            assert_true(fabs((double)after[k] - (double)reference[k]) <= 1e-4 * fabs((double)reference[k]));
        bl_job_destroy(floats);
    }
    bl_job_destroy(job), bl_job_destroy(expected);
    bl_scene_destroy(scene), bl_scene_destroy(other);
}

/* Also of derived values, whose gradients are read from fixed point on the way. */
static void gradients_change_sign_with_the_adjoint(void **state)
{
    (void)state;
    bl_scene *scene = load_spot(30, 10);
    bl_job *job = make_job(scene, (bl_job_desc){0});
    float one[2], minus[2];
    gradient(job, one), gradient_times(job, -1, minus);
    for (int k = 0; k < 2; k++)
        assert_true((double)one[k] != 0 && (double)(one[k] + minus[k]) == 0);
    bl_job_destroy(job);
    bl_scene_destroy(scene);
}

/* ---- fits ---- */

static void a_fit_finds_the_angles(void **state)
{
    (void)state;
    bl_scene *scene = load_spot(32, 18);
    bl_job *job = make_job(scene, (bl_job_desc){0});
    float target[VALUES], image[VALUES], expected[VALUES], angles[2];
    SCENE_MUST(&device, bl_job_render(job, &(bl_render_desc){.spp = 512, .seed = 77}, target, NULL));
    static const float wrong[2] = {26, 8};
    const bl_fit_parameter p[2] = {{.name = names[CUTOFF], .initial = &wrong[0]},
                                   {.name = names[BEAM], .initial = &wrong[1]}};
    bl_fit *fit;
    SCENE_MUST(
        &device,
        bl_fit_create(
            device.device, scene,
            &(bl_fit_desc){.parameters = p, .parameter_count = 2, .target = target, .spp = 16, .rate = 0.4},
            &fit));
    bl_fit_status status;
    SCENE_MUST(&device, bl_fit_step(fit, &status));
    uint64_t pipelines = bl_device_stats_get(device.device).pipelines_created;
    for (int step = 1; step < 80; step++)
        SCENE_MUST(&device, bl_fit_step(fit, &status));
    assert_int_equal(bl_device_stats_get(device.device).pipelines_created, pipelines);
    for (uint32_t k = 0; k < 2; k++)
        SCENE_MUST(&device, bl_fit_get(fit, k, &angles[k]));
    print_message("cutoff %.3f (32), beam %.3f (18)\n", (double)angles[0], (double)angles[1]);
    assert_true(fabs((double)angles[0] - 32) < 0.5);
    assert_true(fabs((double)angles[1] - 18) < 0.5);
    /* what the last step changed is in the derived values of the next image */
    SCENE_MUST(&device, bl_fit_render(fit, 0, &(bl_render_desc){.spp = SPP, .seed = 3}, image));
    set(scene, job, names[CUTOFF], angles[0]), set(scene, job, names[BEAM], angles[1]);
    render(job, expected);
    assert_memory_equal(image, expected, sizeof image);
    bl_fit_destroy(fit);
    bl_job_destroy(job);
    bl_scene_destroy(scene);
}

/* ---- what it costs ---- */

typedef struct cost {
    uint64_t pipelines, dispatches;
} cost;

static cost cost_so_far(void)
{
    bl_device_stats s = bl_device_stats_get(device.device);
    return (cost){s.pipelines_created, s.dispatches};
}

/* Kernels made and dispatches of a render (or gradient) after another one with unchanged values. */
static cost cost_of(const bl_scene *scene, const char *const *parameters, uint32_t count, cost *again)
{
    float w[VALUES], image[VALUES];
    bl_job *job = scene_device_job(&device, scene, parameters, count);
    cost before = cost_so_far(), first = before, last;
    weights(w);
    for (int k = 0; k < 2; k++) {
        if (count)
            SCENE_MUST(&device, bl_job_gradient(
                                    job,
                                    &(bl_gradient_desc){
                                        .form = BL_FORM_FUSED, .spp = 1, .adjoint = w, .slice_seconds = 100},
                                    NULL));
        else
            SCENE_MUST(&device,
                       bl_job_render(job, &(bl_render_desc){.spp = 1, .slice_seconds = 100}, image, NULL));
        first = k == 0 ? cost_so_far() : first;
    }
    last = cost_so_far();
    *again = (cost){last.pipelines - first.pipelines, last.dispatches - first.dispatches};
    bl_job_destroy(job);
    return (cost){first.pipelines - before.pipelines, first.dispatches - before.dispatches};
}

static void who_has_none_pays_nothing(void **state)
{
    (void)state;
    bl_scene *point = load("<emitter type='point'><point name='position' value='0,0,2'/></emitter>"),
             *spot = load_spot(30, 10);
    cost point_again, spot_again;
    cost a = cost_of(point, NULL, 0, &point_again), b = cost_of(spot, NULL, 0, &spot_again);
    assert_int_equal(a.pipelines, 1);
    assert_int_equal(b.pipelines, 2);
    assert_int_equal(b.dispatches, a.dispatches + 1);
    assert_int_equal(spot_again.dispatches, point_again.dispatches); /* nothing has changed */
    a = cost_of(spot, names + REFLECTANCE, 1, &point_again), b = cost_of(spot, names, REQUESTED, &spot_again);
    assert_int_equal(a.pipelines, 2);
    assert_int_equal(b.pipelines, 3);
    assert_int_equal(b.dispatches, a.dispatches + 1);
    assert_int_equal(spot_again.dispatches, point_again.dispatches + 1);
    assert_int_equal(spot_again.pipelines, 0);
    bl_scene_destroy(point), bl_scene_destroy(spot);
}

/* ---- loading ---- */

static void expect_refusal(const char *light, bl_result code, const char *words)
{
    arena a = {0};
    char *xml = scene_xml(&a, "", arena_printf(&a, scene_sensor_format, SIDE, SIDE),
                          arena_printf(&a, ROOM "%s", light));
    bl_scene *scene;
    assert_int_equal(bl_scene_load_string(device.context, xml, ".", NULL, &scene), code);
    if (!strstr(bl_context_error(device.context), words))
        fail_msg("\"%s\" does not say \"%s\"", bl_context_error(device.context), words);
    arena_free(&a);
}

static void lights_that_make_no_sense(void **state)
{
    (void)state;
    expect_refusal("<emitter type='spot'><float name='beam_width' value='21'/></emitter>", BL_ERROR_SCENE,
                   "must not be above");
    expect_refusal("<emitter type='spot'><float name='cutoff_angle' value='181'/></emitter>", BL_ERROR_SCENE,
                   "cutoff_angle");
    expect_refusal(
        "<emitter type='spot'><transform name='to_world'><scale value='1,0,1'/></transform></emitter>",
        BL_ERROR_SCENE, "no inverse");
    expect_refusal("<emitter type='spot'><texture type='checkerboard' name='intensity'/></emitter>",
                   BL_ERROR_SCENE, "must not be textured");
    expect_refusal("<emitter type='spot'><rgb name='texture' value='1'/></emitter>", BL_ERROR_SCENE,
                   "image or a pattern");
    expect_refusal("<emitter type='spot'><texture type='checkerboard' name='texture'/><float "
                   "name='cutoff_angle' value='90'/></emitter>",
                   BL_ERROR_SCENE, "below 90");
    expect_refusal("<emitter type='directional'><vector name='direction' value='0,0,0'/></emitter>",
                   BL_ERROR_SCENE, "no length");
    expect_refusal("<emitter type='directional'><vector name='direction' value='0,0,1'/><transform "
                   "name='to_world'><rotate x='1' angle='9'/></transform></emitter>",
                   BL_ERROR_SCENE, "not both");
    expect_refusal("<emitter type='directional'><texture type='checkerboard' name='irradiance'/></emitter>",
                   BL_ERROR_SCENE, "must not be textured");
}

/* A pattern with steps moves with the cutoff: its gradient says so. */
static void a_stepped_texture_is_reported(void **state)
{
    (void)state;
    bl_scene *scene =
        load("<emitter type='spot' id='spot'><texture type='checkerboard' name='texture'/></emitter>");
    bl_parameter_info info;
    SCENE_MUST(&device,
               bl_scene_parameter_info(scene, scene_device_find(&device, scene, names[CUTOFF]), &info));
    assert_non_null(info.reason);
    SCENE_MUST(&device,
               bl_scene_parameter_info(scene, scene_device_find(&device, scene, names[BEAM]), &info));
    assert_null(info.reason);
    bl_scene_destroy(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_values_take_effect),    cmocka_unit_test(gradients_equal_frozen_differences),
        cmocka_unit_test(gradients_follow_values),   cmocka_unit_test(gradients_change_sign_with_the_adjoint),
        cmocka_unit_test(a_fit_finds_the_angles),    cmocka_unit_test(who_has_none_pays_nothing),
        cmocka_unit_test(lights_that_make_no_sense), cmocka_unit_test(a_stepped_texture_is_reported),
    };
    return SCENE_DEVICE_RUN(&device, NULL, "derived device", tests);
}
