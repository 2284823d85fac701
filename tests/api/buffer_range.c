/* LABELS: swiftshader lavapipe */
/* SPDX-License-Identifier: BSD-3-Clause
 * Buffers larger than a binding reaches (128 MiB on lavapipe), with a range that is lowered for the test:
 * generated kernels and fixed ones find what they cannot bind by device address, with the same bytes as a
 * result. lavapipe's kernels read scenes so in any case, which it compiles faster. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <backlight/backlight_testing.h>

#include "support/scene_cases.h"
#include "support/scene_device.h"
#include "support/sparse_field.h"
#include "support/todays_share.h"

#include <stdlib.h>
#include <string.h>

enum {
    SIDE = 8,
    VALUES = 3 * SIDE * SIDE,
    SPHERES = 40,
    ENOUGH = 1024,   /* for image and film, not for the scene */
    NOTHING_FITS = 8 /* the smallest buffer has 16 bytes */
};

typedef struct outcome {
    bl_result result;
    char said[512];
    float image[VALUES], gradient[3];
    size_t word_count;  /* of the primal kernel */
    bool has_addresses; /* its buffers, or some */
} outcome;

static const char *device_name(void)
{
    const char *named = getenv("BL_DEVICE");
    return named && *named ? named : "swiftshader";
}

static bool has_addresses(const uint32_t *words, size_t count)
{
    enum { HEADER = 5, MEMORY_MODEL = 3 << 16 | 14, PHYSICAL_STORAGE_BUFFER_64 = 5348 };
    size_t at = HEADER;
    while (at < count && words[at] != MEMORY_MODEL)
        at += words[at] >> 16;
    assert_true(at + 1 < count);
    return words[at + 1] == PHYSICAL_STORAGE_BUFFER_64;
}

/* Spheres enough that the scene's words exceed ENOUGH. */
static char *many_spheres(arena *a)
{
    text body = {0};
    text_add(&body, "<bsdf type='diffuse' id='red'><rgb name='reflectance' value='0.8, 0.2, "
                    "0.1'/></bsdf><emitter type='constant'/>");
    for (int k = 0; k < SPHERES; k++)
        text_add(&body,
                 "<shape type='sphere'><point name='center' x='%g' y='%g' z='0'/><float name='radius' "
                 "value='0.3'/><ref id='red'/></shape>",
                 0.5 * (k % 8) - 2, 0.5 * (k / 8) - 1);
    char *xml = scene_xml(a, "<integrator type='path'><integer name='max_depth' value='3'/></integrator>",
                          arena_printf(a, scene_sensor_format, SIDE, SIDE), body.data);
    text_free(&body);
    return xml;
}

static bl_result use(bl_job *job, outcome *o)
{
    float adjoint[VALUES];
    uint32_t *words;
    bl_stats stats;
    for (int k = 0; k < VALUES; k++)
        adjoint[k] = 1;
    bl_result r = bl_job_spirv(job, BL_PASS_PRIMAL, &words, &o->word_count);
    if (r != BL_OK)
        return r;
    o->has_addresses = has_addresses(words, o->word_count);
    free(words);
    if ((r = bl_job_render(job, &(bl_render_desc){.spp = 4}, o->image, &stats)) != BL_OK)
        return r;
    if ((r = bl_job_gradient(job, &(bl_gradient_desc){.form = BL_FORM_SEPARATE, .spp = 4, .adjoint = adjoint},
                             &stats)) != BL_OK)
        return r;
    return bl_job_read_gradient(job, 0, o->gradient);
}

static outcome run(uint32_t range)
{
    arena a = {0};
    outcome o = {0};
    scene_device d = {0};
    const char *wanted[] = {"red.reflectance.value"};
    bl_job *job = NULL;
    assert_int_equal(
        bl_context_create(&(bl_context_desc){.testing = &(bl_context_testing){.buffer_range = range}},
                          &d.context),
        BL_OK);
    SCENE_MUST(&d, bl_device_create(d.context, device_name(), &d.device));
    bl_scene *scene = scene_device_load(&d, many_spheres(&a), ".");
    SCENE_MUST(&d, bl_job_create(
                       d.device, scene,
                       &(bl_job_desc){.parameters = wanted, .parameter_count = 1, .no_baking = true}, &job));
    o.result = use(job, &o);
    strncpy(o.said, bl_context_error(d.context), sizeof o.said - 1);
    bl_job_destroy(job);
    bl_scene_destroy(scene);
    scene_device_close(&d);
    arena_free(&a);
    return o;
}

static void a_scene_beyond_the_range_is_reached_by_address(void **state)
{
    (void)state;
    bool reads_by_address = strcmp(device_name(), "lavapipe") == 0; /* scenes in any case */
    outcome bound = run(0), addressed = run(reads_by_address ? NOTHING_FITS : ENOUGH);
    assert_int_equal(bound.result, BL_OK);
    if (addressed.result != BL_OK)
        fail_msg("%s", addressed.said);
    assert_true(bound.has_addresses == reads_by_address && addressed.has_addresses);
    assert_true(addressed.word_count != bound.word_count);
    assert_memory_equal(bound.image, addressed.image, sizeof bound.image);
    assert_memory_equal(bound.gradient, addressed.gradient, sizeof bound.gradient);
    assert_true(bound.gradient[0] != 0);
}

/* ---- every buffer: a fit of a radiance field ---- */

enum { STEPS = 3, FIELD_SIDE = 12, FIELD_VALUES = 3 * FIELD_SIDE * FIELD_SIDE, FIELD_BATCH = 64 };
enum { ADAM_WITH_VARIATION, SGD_OF_BATCHES, FIT_COUNT };

typedef struct fitted {
    double loss;
    float image[FIELD_VALUES], parameters[SPARSE_VOXELS * (1 + SPARSE_CHANNELS)];
} fitted;

static bl_fit_desc fit_desc(int which, const bl_fit_view *view, const bl_fit_parameter *parameters)
{
    bl_fit_desc d = {
        .parameters = parameters,
        .parameter_count = SPARSE_PARAMETERS,
        .views = view,
        .view_count = 1,
        .form = BL_FORM_SEPARATE,
        .optimizer = BL_OPTIMIZER_ADAM,
        .spp = 2,
    };
    if (which == SGD_OF_BATCHES)
        d.form = BL_FORM_FUSED, d.optimizer = BL_OPTIMIZER_SGD, d.rate = 5, d.batch = FIELD_BATCH;
    return d;
}

static void take_steps(scene_device *d, bl_fit *fit, fitted *out)
{
    bl_fit_status status;
    for (int k = 0; k < STEPS; k++)
        SCENE_MUST(d, bl_fit_step(fit, &status));
    out->loss = status.loss;
    SCENE_MUST(d, bl_fit_get(fit, SPARSE_DENSITY, out->parameters));
    SCENE_MUST(d, bl_fit_get(fit, SPARSE_SH_COEFFS, out->parameters + SPARSE_VOXELS));
    SCENE_MUST(d, bl_fit_render(fit, 0, &(bl_render_desc){.spp = 2, .seed = 9}, out->image));
}

static fitted *fit_field(int which, uint32_t range)
{
    arena a = {0};
    scene_device d = {0};
    fitted *out = calloc(1, sizeof *out);
    float target[FIELD_VALUES], *initial = malloc(sizeof out->parameters);
    assert_true(out && initial);
    for (int k = 0; k < FIELD_VALUES; k++)
        target[k] = (float)(k % 7) / 7;
    sparse_field_density(0, initial), sparse_field_coefficients(initial + SPARSE_VOXELS);
    bl_fit_parameter parameters[SPARSE_PARAMETERS] = {
        {.name = sparse_field_parameters[SPARSE_DENSITY], .initial = initial},
        {.name = sparse_field_parameters[SPARSE_SH_COEFFS], .initial = initial + SPARSE_VOXELS},
    };
    if (which == ADAM_WITH_VARIATION)
        parameters[SPARSE_DENSITY].total_variation = 0.1;
    bl_fit_view view = {.target = target};
    bl_fit_desc desc = fit_desc(which, &view, parameters);
    bl_fit *fit;
    assert_int_equal(
        bl_context_create(&(bl_context_desc){.testing = &(bl_context_testing){.buffer_range = range}},
                          &d.context),
        BL_OK);
    SCENE_MUST(&d, bl_device_create(d.context, device_name(), &d.device));
    bl_scene *scene = scene_device_load(&d, sparse_field_xml(&a, "softplus", "", FIELD_SIDE), ".");
    SCENE_MUST(&d, bl_fit_create(d.device, scene, &desc, &fit));
    take_steps(&d, fit, out);
    assert_true(memcmp(out->parameters, initial, sizeof out->parameters) != 0);
    bl_fit_destroy(fit);
    bl_scene_destroy(scene);
    scene_device_close(&d);
    arena_free(&a);
    free(initial);
    return out;
}

static void a_fit_beyond_the_range_takes_the_same_steps(void **state)
{
    (void)state;
    for (int which = 0; which < FIT_COUNT; which++) {
        if (!todays_part((uint32_t)which, FIT_COUNT))
            continue;
        fitted *bound = fit_field(which, 0), *addressed = fit_field(which, NOTHING_FITS);
        assert_true(bound->loss > 0 && bound->loss == addressed->loss);
        assert_memory_equal(bound->image, addressed->image, sizeof bound->image);
        assert_memory_equal(bound->parameters, addressed->parameters, sizeof bound->parameters);
        free(bound), free(addressed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_scene_beyond_the_range_is_reached_by_address),
        cmocka_unit_test(a_fit_beyond_the_range_takes_the_same_steps),
    };
    scene_device d;
    if (!scene_device_open(&d))
        return scene_device_missing();
    scene_device_close(&d);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
