/* LABELS: swiftshader lavapipe native */
/* SPDX-License-Identifier: BSD-3-Clause
 * The same seed gives the same bytes, for images, variances and gradients: from run to run, for any slicing,
 * for a fresh job and in a fresh process. Another seed gives other bytes. Replay never drifts. The sample
 * count is no multiple of the strips, and films of one pixel and of odd sizes are among the cases. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_device.h"

#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum { DEPTH = 3 };

typedef struct format {
    uint32_t width, height, spp;
    double slices[3]; /* seconds, 0 ends: the default is always tried first */
    bool again;       /* in a fresh job, and with another seed */
} format;
/* 33 x 9 and 1 x 1: strips of 4 samples; 190 x 180: one of 34, two more than a gradient's floats are summed
 * over (job_pass.c) */
static const format formats[] = {{33, 9, 40, {0.001, 1000, 0}, true},
                                 {1, 1, 3001, {0.001, 1000, 0}, false},
                                 {190, 180, 34, {0.002, 1000, 0}, false}};
enum { FORMATS = sizeof formats / sizeof formats[0] };

static scene_device device;
static const char *self;

static const scene_case *find_case(const char *name)
{
    for (uint32_t i = 0; i < scene_case_count; i++)
        if (strcmp(scene_cases[i].name, name) == 0)
            return &scene_cases[i];
    fail_msg("no case %s", name);
    return NULL;
}

static scene_picture load(const format *f)
{
    arena a = {0};
    const scene_case *c = find_case("all lights at once");
    scene_picture p = scene_picture_load(&device, scene_case_xml(&a, c, DEPTH, f->width, f->height), ".",
                                         c->parameters, scene_case_parameter_count(c));
    arena_free(&a);
    return p;
}

typedef struct prints {
    uint64_t image, variance, gradient, fitted_loss;
    uint64_t slices;
} prints;

static uint64_t print_of_gradients(scene_picture *p)
{
    float g[3 * SCENE_CASE_PARAMETERS] = {0};
    const scene_case *c = find_case("all lights at once");
    for (uint32_t k = 0; k < scene_case_parameter_count(c); k++)
        SCENE_MUST(&device, bl_job_read_gradient(p->job, k, g + 3 * k));
    assert_true(g[0] != 0);
    return XXH3_64bits(g, sizeof g);
}

static prints work(scene_picture *p, const format *f, uint32_t seed, double slice)
{
    prints r = {0};
    bl_stats stats;
    bl_render_desc render = {.spp = f->spp, .seed = seed, .slice_seconds = slice};
    SCENE_MUST(&device, bl_job_render(p->job, &render, p->image, &stats));
    assert_int_equal(stats.paths, (uint64_t)f->spp * f->width * f->height);
    r.image = XXH3_64bits(p->image, p->values * sizeof *p->image);
    float *target = calloc(p->values, sizeof *target), *with_variance = calloc(p->values, sizeof *target);
    assert_true(target && with_variance);
    render.variance = p->variance;
    SCENE_MUST(&device, bl_job_render(p->job, &render, with_variance, NULL));
    assert_memory_equal(with_variance, p->image, p->values * sizeof *p->image);
    r.variance = XXH3_64bits(p->variance, p->values * sizeof *p->image);
    for (uint32_t i = 0; i < p->values; i++)
        target[i] = 0.1f * (float)(i % 7);
    bl_gradient_desc gradient = {.spp = f->spp, .seed = seed, .slice_seconds = slice, .target = target};
    SCENE_MUST(&device, bl_job_gradient(p->job, &gradient, &stats));
    assert_int_equal(stats.drifted, 0);
    assert_int_equal(stats.overflowed, 0);
    r.slices = stats.slices;
    r.gradient = print_of_gradients(p);
    r.fitted_loss = XXH3_64bits(&stats.loss, sizeof stats.loss);
    free(target), free(with_variance);
    return r;
}

static bool same(prints a, prints b)
{
    return a.image == b.image && a.variance == b.variance && a.gradient == b.gradient &&
           a.fitted_loss == b.fitted_loss;
}

static void slices_do_not_matter(void **state)
{
    const format *f = *state;
    scene_picture p = load(f);
    prints first = work(&p, f, 1, 0);
    uint64_t fewest = first.slices, most = first.slices;
    for (int k = 0; k < 3 && f->slices[k] > 0; k++) {
        prints other = work(&p, f, 1, f->slices[k]);
        if (!same(first, other))
            fail_msg("slices of %g s: image %s, variance %s, gradient %s", f->slices[k],
                     first.image == other.image ? "same" : "differs",
                     first.variance == other.variance ? "same" : "differs",
                     first.gradient == other.gradient ? "same" : "differs");
        fewest = other.slices < fewest ? other.slices : fewest,
        most = other.slices > most ? other.slices : most;
    }
    if (f->width > 33)
        assert_true(most > fewest); /* otherwise nothing was tried */
    scene_picture_free(&p);
    if (!f->again)
        return;
    scene_picture again = load(f);
    assert_true(same(first, work(&again, f, 1, 0)));
    prints other_seed = work(&again, f, 2, 0);
    assert_true(other_seed.image != first.image && other_seed.gradient != first.gradient);
    scene_picture_free(&again);
}

static void a_fresh_process_agrees(void **state)
{
    (void)state;
    scene_picture p = load(&formats[0]);
    prints here = work(&p, &formats[0], 3, 0);
    scene_picture_free(&p);
    arena a = {0};
    FILE *child = popen(arena_printf(&a, "'%s' --prints", self), "r");
    assert_non_null(child);
    unsigned long long image = 0, gradient = 0;
    char line[256];
    bool found = false;
    while (fgets(line, sizeof line, child))
        found |= sscanf(line, "prints %llx %llx", &image, &gradient) == 2;
    assert_int_equal(pclose(child), 0);
    assert_true(found);
    assert_int_equal(image, here.image);
    assert_int_equal(gradient, here.gradient);
    arena_free(&a);
}

static void print_for_parent(void **state)
{
    (void)state;
    scene_picture p = load(&formats[0]);
    prints r = work(&p, &formats[0], 3, 0.005);
    printf("prints %llx %llx\n", (unsigned long long)r.image, (unsigned long long)r.gradient);
    scene_picture_free(&p);
}

static void image_and_gradient_streams_differ(void **state)
{
    (void)state;
    format f = {16, 16, 16, {0}, false};
    scene_picture p = load(&f);
    float *other = calloc(p.values, sizeof *other);
    assert_non_null(other);
    SCENE_MUST(&device, bl_job_render(p.job, &(bl_render_desc){.spp = 16, .seed = 1}, p.image, NULL));
    SCENE_MUST(&device, bl_job_render(p.job, &(bl_render_desc){.spp = 16, .seed = 1, .gradient_stream = true},
                                      other, NULL));
    assert_memory_not_equal(p.image, other, p.values * sizeof *other);
    free(other);
    scene_picture_free(&p);
}

int main(int argc, char **argv)
{
    self = argv[0];
    if (argc > 1) {
        const struct CMUnitTest child[] = {cmocka_unit_test(print_for_parent)};
        return SCENE_DEVICE_RUN(&device, NULL, "child", child);
    }
    const struct CMUnitTest tests[] = {
        {"33 x 9", slices_do_not_matter, NULL, NULL, (void *)(uintptr_t)&formats[0]},
        {"1 x 1", slices_do_not_matter, NULL, NULL, (void *)(uintptr_t)&formats[1]},
        {"190 x 180", slices_do_not_matter, NULL, NULL, (void *)(uintptr_t)&formats[2]},
        cmocka_unit_test(a_fresh_process_agrees),
        cmocka_unit_test(image_and_gradient_streams_differ),
    };
    return SCENE_DEVICE_RUN(&device, NULL, "determinism", tests);
}
