/* LABELS: swiftshader lavapipe native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Do the forms of the gradient pass agree on a device? Fused and separate kernels walk the same samples, so
 * their gradients differ only by rounding. That also holds where samples need several tiles, where one
 * pixel has many strips, and where paths are deeper than the vertices for which visibility is noted. Two
 * walks use their samples differently, so they agree with the others only in expectation: a z-test over
 * many seeds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/gradient_forms.h"
#include "support/scene_cases.h"
#include "support/scene_device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Single precision leaves about 1e-6 of each contribution; contributions of both signs may cancel to a
 * hundredth. */
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
    {"several tiles of whole lanes", "point light", 2, 128, 64,
     67}, /* 549,000 samples; a tile of a CPU device holds 262,144 */
    {"several tiles of samples", "point light", 2, 64, 64, 130},
    {"a last tile larger than the first", "homogeneous", 12, 182, 181,
     11}, /* 23 tiles, all but the last of 1365 lanes: many lights are noted */
    {"masks and panes in fog", "nothing that scatters, nothing there", 5, 16, 12, 48},
    {"homogeneous fog", "homogeneous", 5, 16, 12, 48},
    {"volpath without media", "area light", 4, 16, 12, 48},
    {"beyond the notes", "closed room", 60, 5, 5, 64},
};
/* No path leaves it, so all of them are as long as depth allows. */
static const scene_case closed_room = {
    .name = "closed room",
    .body = "<bsdf type='twosided' id='walls'><bsdf type='diffuse' id='paint'><rgb name='reflectance' "
            "value='.9,.95,.8'/></bsdf></bsdf>"
            "<shape type='cube'><transform name='to_world'><scale value='4'/></transform><ref "
            "id='walls'/></shape>"
            "<shape type='sphere'><point name='center' value='1,0,2'/><float name='radius' value='.4'/><ref "
            "id='walls'/></shape>"
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
    for (uint32_t i = 0; i < scene_media_case_count; i++)
        if (strcmp(scene_media_cases[i].name, name) == 0)
            return &scene_media_cases[i];
    fail_msg("no case %s", name);
    return NULL;
}

static bl_stats gradient(scene_picture *p, const scene_case *c, bl_gradient_desc desc, const float *weights,
                         float g[ELEMENTS])
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
    scene_case named = *find_case(f->scene);
    const scene_case *c = &named;
    named.volumetric |= strncmp(f->label, "volpath", 7) == 0;
    arena a = {0};
    scene_picture p = scene_picture_load(&device, scene_case_xml(&a, c, f->depth, f->width, f->height), ".",
                                         c->parameters, scene_case_parameter_count(c));
    float *weights = arena_alloc(&a, p.values * sizeof *weights), fused[ELEMENTS], separate[ELEMENTS],
          sliced[ELEMENTS];
    uint32_t random = 5;
    for (uint32_t i = 0; i < p.values; i++)
        weights[i] = (float)scene_random(&random) - 0.3f;
    bl_stats one =
        gradient(&p, c, (bl_gradient_desc){.form = BL_FORM_FUSED, .spp = f->spp, .seed = 3}, weights, fused);
    bl_stats two = gradient(&p, c, (bl_gradient_desc){.form = BL_FORM_SEPARATE, .spp = f->spp, .seed = 3},
                            weights, separate);
    assert_true(fabs(one.loss - two.loss) <= rounding * fabs(one.loss));
    double most = 0;
    for (uint32_t i = 0; i < ELEMENTS; i++)
        most = fmax(most, fabs((double)fused[i]));
    assert_true(most > 0);
    for (uint32_t i = 0; i < ELEMENTS; i++)
        if (!(fabs((double)fused[i] - (double)separate[i]) <= rounding * most))
            fail_msg("element %u: fused %.9g, separate %.9g", i, (double)fused[i], (double)separate[i]);
    gradient(&p, c,
             (bl_gradient_desc){.form = BL_FORM_SEPARATE, .spp = f->spp, .seed = 3, .slice_seconds = 0.003},
             weights, sliced);
    assert_memory_equal(separate, sliced, sizeof sliced);
    scene_picture_free(&p);
    arena_free(&a);
}

/* ---- two walks ---- */

enum { SEEDS = 400 };

typedef struct moments {
    double sum, squares;
} moments;
static void moments_add(moments *m, double v) { m->sum += v, m->squares += v * v; }
static double moments_mean(const moments *m) { return m->sum / SEEDS; }
static double moments_error2(const moments *m)
{
    return (m->squares / SEEDS - moments_mean(m) * moments_mean(m)) / (SEEDS - 1);
}

static void expect_same_mean(const char *what, const moments *a, const moments *b, double size)
{
    if (a->squares == 0 && b->squares == 0)
        return; /* nobody sees it */
    double error = sqrt(moments_error2(a) + moments_error2(b)),
           z = (moments_mean(a) - moments_mean(b)) / error;
    if (!(fabs(z) < 4.5))
        fail_msg("%s: three walks %.9g, two walks %.9g, z = %.2f", what, moments_mean(a), moments_mean(b), z);
    if (!(error < 0.03 * size)) /* or the test would see nothing */
        fail_msg("%s: %.3g is known to +-%.3g", what, size, error);
}

typedef struct comparison {
    bl_loss loss;
    uint32_t spp_primal; /* of two walks */
} comparison;

/* What the expected loss of two walks has besides that of an image without noise: the variance of the image
 * that both halves see, by its share. of_all: that of an image of n samples. */
static double shared_noise(double of_all, uint32_t n, uint32_t all)
{
    const double share = (double)(all - n) / all;
    return share * share * of_all * n / fmax(all - n, 1);
}

static void two_walks_agree_in_expectation(void **state)
{
    const comparison *of = *state;
    const bl_loss loss = of->loss;
    enum { SPP = 6 };
    const scene_case *c = find_case("area light");
    arena a = {0};
    scene_picture p = scene_picture_load(&device, scene_case_xml(&a, c, 3, 12, 10), ".", c->parameters,
                                         scene_case_parameter_count(c));
    float *target = arena_alloc(&a, p.values * sizeof *target), g[ELEMENTS];
    for (uint32_t i = 0; i < p.values; i++)
        target[i] = 0.1f + 0.05f * (float)(i % 5);
    moments three[ELEMENTS + 1] = {0}, two[ELEMENTS + 1] = {0};
    for (uint32_t seed = 0; seed < SEEDS; seed++)
        for (int form = BL_FORM_SEPARATE; form <= BL_FORM_TWO_WALK; form++) {
            moments *m = form == BL_FORM_TWO_WALK ? two : three;
            bl_stats stats;
            /* enough samples that noise of the image, squared, does not hide the loss of three walks: that
             * one is biased by it */
            bl_gradient_desc desc = {.form = form, .spp = SPP, .seed = seed, .target = target, .loss = loss};
            if (form == BL_FORM_TWO_WALK)
                desc.spp_primal = of->spp_primal;
            SCENE_MUST(&device, bl_job_gradient(p.job, &desc, &stats));
            assert_int_equal(stats.form, form);
            assert_int_equal(stats.drifted + stats.overflowed + stats.non_finite, 0);
            for (uint32_t k = 0; k < scene_case_parameter_count(c); k++)
                SCENE_MUST(&device, bl_job_read_gradient(p.job, k, g + 3 * k));
            for (uint32_t i = 0; i < 3 * scene_case_parameter_count(c); i++)
                moments_add(&m[i], (double)g[i]);
            moments_add(&m[ELEMENTS], stats.loss);
        }
    double size = 0;
    for (uint32_t i = 0; i < 3 * scene_case_parameter_count(c); i++)
        size = fmax(size, fabs(moments_mean(&three[i])));
    assert_true(size > 0);
    for (uint32_t i = 0; i < 3 * scene_case_parameter_count(c); i++)
        expect_same_mean(c->parameters[i / 3], &three[i], &two[i], size);
    /* the loss of two walks is that of an image without noise, but for what the halves share */
    bl_stats still;
    SCENE_MUST(&device, bl_job_gradient(p.job,
                                        &(bl_gradient_desc){.form = BL_FORM_SEPARATE,
                                                            .spp = 2,
                                                            .spp_primal = 1 << 15,
                                                            .seed = 7,
                                                            .target = target,
                                                            .loss = loss},
                                        &still));
    const double noise = moments_mean(&three[ELEMENTS]) - still.loss,
                 expected = still.loss + shared_noise(noise, SPP, of->spp_primal);
    double z = (moments_mean(&two[ELEMENTS]) - expected) /
               sqrt(moments_error2(&two[ELEMENTS]) + moments_error2(&three[ELEMENTS]) +
                    1e-6 * still.loss * still.loss);
    if (!(fabs(z) < 4.5))
        fail_msg("loss: %.9g of a clean image, %.9g expected, two walks %.9g, z = %.2f", still.loss, expected,
                 moments_mean(&two[ELEMENTS]), z);
    assert_true(moments_mean(&three[ELEMENTS]) > still.loss); /* noise, squared */
    scene_picture_free(&p);
    arena_free(&a);
}

static void two_walks_need_what_they_need(void **state)
{
    (void)state;
    const scene_case *c = find_case("area light");
    arena a = {0};
    scene_picture p = scene_picture_load(&device, scene_case_xml(&a, c, 3, 4, 3), ".", c->parameters, 1);
    float *image = arena_alloc(&a, p.values * sizeof *image);
    for (uint32_t i = 0; i < p.values; i++)
        image[i] = 0.5f;
    const bl_gradient_desc cannot[] = {{.spp = 4, .adjoint = image},
                                       {.spp = 5, .target = image},
                                       {.spp = 4, .spp_primal = 2, .target = image},
                                       {.spp = 4, .target = image, .loss = BL_LOSS_L1}};
    for (size_t k = 0; k < sizeof cannot / sizeof *cannot; k++) {
        bl_gradient_desc desc = cannot[k];
        bl_stats stats;
        SCENE_MUST(&device, bl_job_gradient(p.job, &desc, &stats)); /* automatically something else */
        assert_int_equal(stats.form, BL_FORM_SEPARATE);
        desc.form = BL_FORM_TWO_WALK;
        assert_int_equal(bl_job_gradient(p.job, &desc, &stats), BL_ERROR_ARGUMENT);
        assert_non_null(strstr(bl_context_error(device.context), "two walks"));
    }
    scene_picture_free(&p);
    arena_free(&a);
}

/* The image is the mean of all samples: the gradient's and its own. */
static void two_walks_may_have_more_of_the_image(void **state)
{
    (void)state;
    enum { SPP = 4, ALL = 14 };
    const scene_case *c = find_case("area light");
    arena a = {0};
    scene_picture p = scene_picture_load(&device, scene_case_xml(&a, c, 3, 12, 10), ".", c->parameters, 1);
    float *target = arena_alloc(&a, p.values * sizeof *target),
          *image = arena_alloc(&a, p.values * sizeof *image), *own = arena_alloc(&a, p.values * sizeof *own);
    for (uint32_t i = 0; i < p.values; i++)
        target[i] = 0.1f;
    bl_gradient_desc desc = {.spp = SPP, .spp_primal = ALL, .seed = 9, .target = target, .image = image};
    bl_stats stats;
    SCENE_MUST(&device, bl_job_gradient(p.job, &desc, &stats));
    assert_int_equal(stats.form, BL_FORM_SEPARATE); /* unasked, numbers that differ are those of two images */
    desc.form = BL_FORM_TWO_WALK;
    SCENE_MUST(&device, bl_job_gradient(p.job, &desc, &stats));
    assert_int_equal(stats.paths, (uint64_t)ALL * p.width * p.height);
    SCENE_MUST(
        &device,
        bl_job_render(p.job, &(bl_render_desc){.spp = SPP, .seed = 9, .gradient_stream = true}, own, NULL));
    SCENE_MUST(&device, bl_job_render(p.job, &(bl_render_desc){.spp = ALL - SPP, .seed = 9}, p.image, NULL));
    for (uint32_t i = 0; i < p.values; i++) {
        const float mean = (SPP * own[i] + (ALL - SPP) * p.image[i]) / ALL;
        assert_true(fabsf(image[i] - mean) <= 1e-5f * (1 + mean));
    }
    scene_picture_free(&p);
    arena_free(&a);
}

/* A tile of 1024 pixels is one step of the film; results do not depend on how many there are, or on
 * slices. */
static void two_walks_are_the_same_for_any_slices(void **state)
{
    (void)state;
    const scene_case *c = find_case("point light");
    arena a = {0};
    scene_picture p = scene_picture_load(&device, scene_case_xml(&a, c, 2, 96, 64), ".", c->parameters,
                                         scene_case_parameter_count(c));
    float *target = arena_alloc(&a, p.values * sizeof *target), g[2][ELEMENTS] = {{0}};
    float *image = arena_alloc(&a, p.values * sizeof *image);
    for (uint32_t i = 0; i < p.values; i++)
        target[i] = 0.1f;
    bl_stats stats[2];
    const uint32_t spp = 90 * scene_device_tile_samples(&device) / (1u << 18);
    for (int k = 0; k < 2; k++) {
        bl_gradient_desc desc = {
            .form = BL_FORM_TWO_WALK,
            .spp = spp,
            .seed = 1,
            .target = target,
            .image = image,
            .slice_seconds = k ? 0.002 : 0,
        };
        SCENE_MUST(&device, bl_job_gradient(p.job, &desc, &stats[k]));
        for (uint32_t i = 0; i < scene_case_parameter_count(c); i++)
            SCENE_MUST(&device, bl_job_read_gradient(p.job, i, g[k] + 3 * i));
    }
    assert_true(stats[0].slices >= 6); /* three tiles */
    assert_memory_equal(g[0], g[1], sizeof g[0]);
    assert_memory_equal(&stats[0].loss, &stats[1].loss, sizeof stats[0].loss);
    SCENE_MUST(&device,
               bl_job_render(p.job, &(bl_render_desc){.spp = spp, .seed = 1, .gradient_stream = true},
                             p.image, NULL));
    for (uint32_t i = 0; i < p.values; i++)
        assert_true(fabsf(image[i] - p.image[i]) <=
                    1e-5f * (1 + p.image[i])); /* the same samples, added up in another order */
    scene_picture_free(&p);
    arena_free(&a);
}

/* A tile holds all samples of its pixels. That it has many lanes all the same is a matter of strips, which do
 * not depend on the device, and come in pairs where there are two walks. */
static void pixels_of_many_samples_have_many_lanes(void **state)
{
    static const struct {
        bl_gradient_form form;
        uint32_t spp, strips;
    } cases[] = {
        {BL_FORM_SEPARATE, 1024, 1},   {BL_FORM_ONE_IMAGE, 64, 1},       {BL_FORM_ONE_IMAGE, 65, 2},
        {BL_FORM_ONE_IMAGE, 1024, 16}, {BL_FORM_TWO_WALK, 64, 2},        {BL_FORM_TWO_WALK, 190, 2},
        {BL_FORM_TWO_WALK, 1024, 16},  {BL_FORM_ONE_IMAGE, 1 << 20, 64},
    };
    const scene_case *c = find_case("point light");
    arena a = {0};
    (void)state;
    scene_picture p = scene_picture_load(&device, scene_case_xml(&a, c, 2, 256, 256), ".", c->parameters, 1);
    for (uint32_t k = 0; k < sizeof cases / sizeof *cases; k++)
        assert_int_equal(gradient_form_strips(p.job, cases[k].form, cases[k].spp), cases[k].strips);
    scene_picture_free(&p);
    arena_free(&a);
}

int main(void)
{
    if (!scene_device_open(&device))
        return scene_device_missing();
    /* lavapipe compiles each kernel for seconds: there, the ordinary tier is content with one format of each
     * kind */
    enum { OTHERS = 8 };
    static const comparison relative = {BL_LOSS_RELATIVE_L2, 6}, squared = {BL_LOSS_L2, 6},
                            more = {BL_LOSS_L2, 16};
    uint32_t count =
        strcmp(device.info.kind, "lavapipe") == 0 && !getenv("BL_LONG") ? 4 : FORMATS - 1 + OTHERS;
    const struct CMUnitTest always[] = {
        {"two walks agree in expectation, relative l2", two_walks_agree_in_expectation, NULL, NULL,
         (void *)&relative},
        cmocka_unit_test(two_walks_are_the_same_for_any_slices),
        cmocka_unit_test(pixels_of_many_samples_have_many_lanes),
        {formats[FORMATS - 1].label, fused_and_separate_agree, NULL, NULL,
         (void *)(uintptr_t)&formats[FORMATS - 1]},
        {"two walks agree in expectation, l2", two_walks_agree_in_expectation, NULL, NULL, (void *)&squared},
        {"two walks agree in expectation, more of the image", two_walks_agree_in_expectation, NULL, NULL,
         (void *)&more},
        cmocka_unit_test(two_walks_may_have_more_of_the_image),
        cmocka_unit_test(two_walks_need_what_they_need)};
    BL_ASSERT(sizeof always / sizeof *always == OTHERS, "%zu tests", sizeof always / sizeof *always);
    struct CMUnitTest tests[FORMATS - 1 + OTHERS];
    memcpy(tests, always, sizeof always);
    for (int i = 0; i < FORMATS - 1; i++)
        tests[OTHERS + i] = (struct CMUnitTest){formats[i].label, fused_and_separate_agree, NULL, NULL,
                                                (void *)(uintptr_t)&formats[i]};
    return scene_device_run(&device, NULL, "forms", tests, count, NULL);
}
