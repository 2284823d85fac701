/* LABELS: swiftshader lavapipe */
/* SPDX-License-Identifier: BSD-3-Clause
 * The forms of the gradient pass on a device. Fused and separate kernels walk the same samples, so their gradients differ by rounding alone; that
 * holds when the samples need several tiles, for one pixel with many strips, and where paths are deeper than visibility is noted for. */
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

/* Single precision leaves about 1e-6 of each contribution; contributions of both signs may cancel to a hundredth. */
static const double rounding = 1e-4;

static scene_device device;

typedef struct format {
    const char *label, *scene;
    int depth;
    uint32_t width, height, spp;
} format;

static const format formats[] = {
    {"odd film", "area light", 4, 33, 9, 40},
    {"one pixel", "point light", 3, 1, 1, 3001},
    {"several tiles of whole lanes", "point light", 2, 128, 64, 67}, /* 549,000 samples; a tile of a CPU device holds 262,144 */
    {"several tiles of samples", "point light", 2, 64, 64, 130},
    {"beyond the notes", "closed room", 60, 5, 5, 64},
};
/* No path leaves it, so all of them are as long as depth allows. */
static const scene_case closed_room = {
    .name = "closed room",
    .body = "<bsdf type='twosided' id='walls'><bsdf type='diffuse' id='paint'><rgb name='reflectance' value='.9,.95,.8'/></bsdf></bsdf>"
            "<shape type='cube'><transform name='to_world'><scale value='4'/></transform><ref id='walls'/></shape>"
            "<shape type='sphere'><point name='center' value='1,0,2'/><float name='radius' value='.4'/><ref id='walls'/></shape>"
            "<shape type='sphere'><point name='center' value='0,0,3'/><float name='radius' value='.3'/>"
            "<emitter type='area' id='light'><rgb name='radiance' value='3,4,5'/></emitter></shape>",
    .parameters = {"paint.reflectance.value", "light.radiance.value"},
};
enum { FORMATS = sizeof formats / sizeof formats[0], ELEMENTS = 3 * SCENE_CASE_PARAMETERS };

static const scene_case *find_case(const char *name)
{
    if (strcmp(closed_room.name, name) == 0)
        return &closed_room;
    for (uint32_t i = 0; i < scene_case_count; i++)
        if (strcmp(scene_cases[i].name, name) == 0)
            return &scene_cases[i];
    fail_msg("no case %s", name);
    return NULL;
}

static bl_stats gradient(scene_picture *p, const scene_case *c, bl_gradient_desc desc, const float *weights, float g[ELEMENTS])
{
    bl_stats stats;
    desc.adjoint = weights;
    SCENE_MUST(&device, bl_job_gradient(p->job, &desc, &stats));
    assert_int_equal(stats.form, desc.form);
    assert_int_equal(stats.drifted, 0);
    assert_int_equal(stats.overflowed, 0);
    assert_int_equal(stats.non_finite, 0);
    assert_int_equal(stats.paths, (uint64_t)desc.spp * p->width * p->height);
    memset(g, 0, ELEMENTS * sizeof *g);
    for (uint32_t k = 0; k < scene_case_parameter_count(c); k++)
        SCENE_MUST(&device, bl_job_read_gradient(p->job, k, g + 3 * k));
    return stats;
}

static void fused_and_separate_agree(void **state)
{
    const format *f = *state;
    const scene_case *c = find_case(f->scene);
    arena a = {0};
    scene_picture p = scene_picture_load(&device, scene_case_xml(&a, c, f->depth, f->width, f->height), ".", c->parameters,
                                         scene_case_parameter_count(c));
    float *weights = arena_alloc(&a, p.values * sizeof *weights), fused[ELEMENTS], separate[ELEMENTS], sliced[ELEMENTS];
    uint32_t random = 5;
    for (uint32_t i = 0; i < p.values; i++)
        weights[i] = (float)scene_random(&random) - 0.3f;
    bl_stats one = gradient(&p, c, (bl_gradient_desc){.form = BL_FORM_FUSED, .spp = f->spp, .seed = 3}, weights, fused);
    bl_stats two = gradient(&p, c, (bl_gradient_desc){.form = BL_FORM_SEPARATE, .spp = f->spp, .seed = 3}, weights, separate);
    assert_true(fabs(one.loss - two.loss) <= rounding * fabs(one.loss));
    double most = 0;
    for (uint32_t i = 0; i < ELEMENTS; i++)
        most = fmax(most, fabs((double)fused[i]));
    assert_true(most > 0);
    for (uint32_t i = 0; i < ELEMENTS; i++)
        if (!(fabs((double)fused[i] - (double)separate[i]) <= rounding * most))
            fail_msg("element %u: fused %.9g, separate %.9g", i, (double)fused[i], (double)separate[i]);
    gradient(&p, c, (bl_gradient_desc){.form = BL_FORM_SEPARATE, .spp = f->spp, .seed = 3, .slice_seconds = 0.003}, weights, sliced);
    assert_memory_equal(separate, sliced, sizeof sliced);
    scene_picture_free(&p);
    arena_free(&a);
}

int main(void)
{
    if (!scene_device_open(&device))
        return scene_device_missing();
    struct CMUnitTest tests[FORMATS];
    for (int i = 0; i < FORMATS; i++)
        tests[i] = (struct CMUnitTest){formats[i].label, fused_and_separate_agree, NULL, NULL, (void *)(uintptr_t)&formats[i]};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (!failed) /* a test that failed has left its objects behind */
        scene_device_close(&device);
    return failed;
}
