/* LABELS: swiftshader native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Is forward mode right on a device, through the API? <W, J v> = <J' W, v> for a random W and a random
 * direction, with the gradient pass of the same seed; both walk the same paths, so they differ only by
 * f32's rounding. Forward mode is linear in v, and gives the same bytes whatever the slicing. Also: what is
 * refused. */
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

enum { SIDE = 16, VALUES = 3 * SIDE * SIDE, SPP = 16, SEED = 3, DEPTH = 4, ENTRIES_MOST = 64 };

static scene_device device;
static char *folder;

static const scene_case spot = {
    .name = "derived values",
    .body = "<bsdf type='diffuse' id='white'><rgb name='reflectance' value='.7,.75,.8'/></bsdf>"
            "<shape type='rectangle'><transform name='to_world'><scale value='1.5'/></transform><ref "
            "id='white'/></shape>"
            "<emitter type='spot' id='spot'><transform name='to_world'><lookat origin='-.8,-.9,1.9' "
            "target='.1,.2,.2' up='0,0,1'/></transform>"
            "<rgb name='intensity' value='5,6,7'/><float name='cutoff_angle' value='35'/><float "
            "name='beam_width' value='12'/></emitter>",
    .parameters = {"spot.cutoff_angle", "spot.beam_width", "white.reflectance.value"}};

typedef struct subject {
    const scene_case *c;
    bl_scene *scene;
    bl_job *job;
    uint32_t count, entries[SCENE_CASE_PARAMETERS];
    float v[SCENE_CASE_PARAMETERS][ENTRIES_MOST];
    const float *direction[SCENE_CASE_PARAMETERS];
} subject;

static subject open_case(const scene_case *c)
{
    arena a = {0};
    subject s = {.c = c, .count = scene_case_parameter_count(c)};
    uint32_t state = 5;
    s.scene = scene_device_load(&device, scene_case_xml(&a, c, DEPTH, SIDE, SIDE), folder);
    s.job = scene_device_job(&device, s.scene, c->parameters, s.count);
    for (uint32_t k = 0; k < s.count; k++) {
        bl_parameter_info info;
        SCENE_MUST(&device, bl_scene_parameter_info(
                                s.scene, scene_device_find(&device, s.scene, c->parameters[k]), &info));
        assert_true(info.count <= ENTRIES_MOST);
        s.entries[k] = info.count;
        for (uint32_t i = 0; i < info.count; i++)
            s.v[k][i] = (float)(2 * scene_random(&state) - 1);
    }
    arena_free(&a);
    return s;
}

static void close_case(subject *s)
{
    bl_job_destroy(s->job);
    bl_scene_destroy(s->scene);
}

static void forward(subject *s, double slice_seconds, float *image)
{
    bl_stats stats;
    for (uint32_t k = 0; k < s->count; k++)
        s->direction[k] = s->v[k];
    SCENE_MUST(&device, bl_job_forward(s->job,
                                       &(bl_forward_desc){.spp = SPP,
                                                          .seed = SEED,
                                                          .slice_seconds = slice_seconds,
                                                          .tangents = s->direction},
                                       image, &stats));
    assert_int_equal(stats.non_finite, 0);
    assert_int_equal(stats.paths, (uint64_t)SIDE * SIDE * SPP);
}

static void is_transposed(void **state)
{
    subject s = open_case(*state);
    float weights[VALUES], image[VALUES], gradient[ENTRIES_MOST];
    uint32_t random = 8;
    double product = 0, along = 0, size = 0;
    for (uint32_t i = 0; i < VALUES; i++)
        weights[i] = (float)(2 * scene_random(&random) - 1);
    forward(&s, 0, image);
    SCENE_MUST(&device, bl_job_gradient(
                            s.job, &(bl_gradient_desc){.spp = SPP, .seed = SEED, .adjoint = weights}, NULL));
    for (uint32_t i = 0; i < VALUES; i++)
        product += (double)weights[i] * (double)image[i];
    for (uint32_t k = 0; k < s.count; k++) {
        SCENE_MUST(&device, bl_job_read_gradient(s.job, k, gradient));
        for (uint32_t i = 0; i < s.entries[k]; i++) {
            along += (double)gradient[i] * (double)s.v[k][i];
            size += fabs((double)gradient[i] * (double)s.v[k][i]);
        }
    }
    assert_true(size > 0);
    if (!(fabs(product - along) <= 2e-5 * size))
        fail_msg("%s: <W, J v> is %.9g, <J' W, v> %.9g of %.9g", s.c->name, product, along, size);
    close_case(&s);
}

static void slices_do_not_matter(void **state)
{
    (void)state;
    subject s = open_case(&scene_cases[0]);
    float one[VALUES], other[VALUES];
    forward(&s, 10, one);
    forward(&s, 1e-5, other);
    assert_memory_equal(one, other, sizeof one);
    close_case(&s);
}

/* No tangents: ones. NULL for one parameter: zeros. Twice the direction: twice the image. */
static void directions(void **state)
{
    (void)state;
    subject s = open_case(&scene_cases[0]);
    float ones[VALUES], given[VALUES], twice[VALUES];
    SCENE_MUST(&device, bl_job_forward(s.job, &(bl_forward_desc){.spp = SPP, .seed = SEED}, ones, NULL));
    for (uint32_t k = 0; k < s.count; k++)
        for (uint32_t i = 0; i < s.entries[k]; i++)
            s.v[k][i] = 1;
    forward(&s, 0, given);
    assert_memory_equal(ones, given, sizeof ones);
    for (uint32_t k = 0; k < s.count; k++)
        for (uint32_t i = 0; i < s.entries[k]; i++)
            s.v[k][i] = 2;
    forward(&s, 0, twice);
    for (uint32_t i = 0; i < VALUES; i++)
        assert_true(twice[i] == 2 * given[i]);
    const float *none[SCENE_CASE_PARAMETERS] = {0};
    SCENE_MUST(&device, bl_job_forward(s.job, &(bl_forward_desc){.spp = SPP, .tangents = none}, given, NULL));
    for (uint32_t i = 0; i < VALUES; i++)
        assert_true(given[i] == 0);
    close_case(&s);
}

static void without_parameters_it_is_refused(void **state)
{
    (void)state;
    subject s = open_case(&scene_cases[0]);
    bl_job *job = scene_device_job(&device, s.scene, NULL, 0);
    float image[VALUES];
    assert_int_equal(bl_job_forward(job, NULL, image, NULL), BL_ERROR_ARGUMENT);
    assert_non_null(strstr(bl_context_error(device.context), "without parameters"));
    char *listing = NULL;
    assert_int_equal(bl_job_trace_text(job, BL_PASS_FORWARD, true, &listing), BL_ERROR_ARGUMENT);
    assert_null(listing);
    bl_job_destroy(job);
    close_case(&s);
}

static const scene_case *case_named(const char *name)
{
    for (uint32_t i = 0; i < scene_case_count; i++)
        if (strcmp(scene_cases[i].name, name) == 0)
            return &scene_cases[i];
    return NULL;
}

int main(void)
{
    /* every kind of light and texture, several classes at once, roulette, direct; the interpreter walks all
     * cases (forward.c) */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(is_transposed, (void *)(uintptr_t)case_named("all lights at once")),
        cmocka_unit_test_prestate(is_transposed,
                                  (void *)(uintptr_t)case_named("bitmap reflectance and radiance")),
        cmocka_unit_test_prestate(is_transposed, (void *)(uintptr_t)case_named("twosided, two materials")),
        cmocka_unit_test_prestate(is_transposed, (void *)(uintptr_t)case_named("roulette")),
        cmocka_unit_test_prestate(is_transposed,
                                  (void *)(uintptr_t)case_named("direct, lights sampled only")),
        cmocka_unit_test_prestate(is_transposed, (void *)(uintptr_t)&spot),
        cmocka_unit_test(slices_do_not_matter),
        cmocka_unit_test(directions),
        cmocka_unit_test(without_parameters_it_is_refused),
    };
    return SCENE_DEVICE_RUN(&device, &folder, "forward device", tests);
}
