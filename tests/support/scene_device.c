/* SPDX-License-Identifier: BSD-3-Clause */
#include "support/scene_device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool scene_device_open(scene_device *d)
{
    const char *named = getenv("BL_DEVICE");
    *d = (scene_device){0};
    if (bl_context_create(NULL, &d->context) == BL_OK &&
        bl_device_create(d->context, named && *named ? named : "swiftshader", &d->device) == BL_OK &&
        bl_device_info_get(d->device, &d->info) == BL_OK)
        print_message("device: %s\n", d->info.name);
    else
        print_message("device: %s\n", bl_context_error(d->context));
    if (!d->device)
        scene_device_close(d);
    return d->device != NULL;
}

void scene_device_close(scene_device *d)
{
    bl_device_destroy(d->device);
    bl_context_destroy(d->context);
    *d = (scene_device){0};
}

bool scene_device_on_processor(const scene_device *d)
{
    static const char *const processors[] = {"native", "lavapipe", "swiftshader"};
    for (size_t i = 0; i < sizeof processors / sizeof *processors; i++)
        if (strcmp(d->info.kind, processors[i]) == 0)
            return true;
    return false;
}

uint32_t scene_device_tile_samples(const scene_device *d)
{
    return scene_device_on_processor(d) ? 1u << 18 : 1u << 22;
}

int scene_device_missing(void)
{
    const char *all = getenv("BL_REQUIRE_ALL");
    return all && strcmp(all, "1") == 0 ? 1 : 77;
}

int scene_device_run(scene_device *d, char **folder, const char *name, const struct CMUnitTest *tests,
                     size_t count, int (*setup)(void **state))
{
    if (!d->device && !scene_device_open(d))
        return scene_device_missing();
    if (folder && !(*folder = scene_files_create()))
        return 1;
    int failed = _cmocka_run_group_tests(name, tests, count, setup, NULL);
    if (folder)
        scene_files_remove(*folder);
    if (!failed)
        scene_device_close(d);
    return failed;
}

void scene_device_must(scene_device *d, bl_result r, const char *what)
{
    if (r != BL_OK)
        fail_msg("%s: %s: %s", what, bl_result_text(r), bl_context_error(d->context));
}

void scene_device_refused(scene_device *d, bl_result r, bl_result expected, const char *word)
{
    if (r != expected || !strstr(bl_context_error(d->context), word))
        fail_msg("no '%s' in '%s' (%d)", word, bl_context_error(d->context), (int)r);
}

bl_scene *scene_device_load(scene_device *d, const char *xml, const char *folder)
{
    bl_scene *scene = NULL;
    scene_device_must(d, bl_scene_load_string(d->context, xml, folder, NULL, &scene), "load");
    return scene;
}

bl_rays scene_device_rays(void)
{
    const char *named = getenv("BL_RAY_BACKEND");
    return named && strcmp(named, "query") == 0 ? BL_RAYS_QUERY : BL_RAYS_AUTO;
}

bl_job *scene_device_job(scene_device *d, const bl_scene *scene, const char *const *parameters,
                         uint32_t count)
{
    bl_job *job = NULL;
    bl_job_desc desc = {
        .parameters = parameters,
        .parameter_count = count,
        .rays = scene_device_rays(),
        .volume_gradient = BL_VOLUME_GRADIENT_REPLAY,
    };
    scene_device_must(d, bl_job_create(d->device, scene, &desc, &job), "job");
    return job;
}

uint32_t scene_device_find(scene_device *d, const bl_scene *scene, const char *name)
{
    uint32_t index = 0;
    scene_device_must(d, bl_scene_find_parameter(scene, name, &index), name);
    return index;
}

/* ---- pictures ---- */

scene_picture scene_picture_load(scene_device *d, const char *xml, const char *folder,
                                 const char *const *parameters, uint32_t count)
{
    scene_picture p = {.d = d, .scene = scene_device_load(d, xml, folder)};
    bl_scene_info info;
    SCENE_MUST(d, bl_scene_info_get(p.scene, &info));
    p.job = scene_device_job(d, p.scene, parameters, count);
    p.width = info.width, p.height = info.height, p.values = 3 * info.width * info.height;
    p.image = calloc(p.values, sizeof *p.image), p.variance = calloc(p.values, sizeof *p.variance);
    assert_true(p.image && p.variance);
    return p;
}

void scene_picture_free(scene_picture *p)
{
    free(p->image), free(p->variance);
    bl_job_destroy(p->job);
    bl_scene_destroy(p->scene);
    *p = (scene_picture){0};
}

void scene_picture_render(scene_picture *p, uint32_t spp, uint32_t seed)
{
    bl_stats stats;
    SCENE_MUST(p->d,
               bl_job_render(p->job, &(bl_render_desc){.spp = spp, .seed = seed, .variance = p->variance},
                             p->image, &stats));
    assert_int_equal(stats.non_finite, 0);
}

void scene_picture_expect(const scene_picture *p, uint32_t spp, const double *expected, double slack,
                          double loudest)
{
    double difference = 0, mean = 0, noise = 0, floor_of_noise = 1e-5; /* f32 sums */
    uint32_t used = 0;
    for (uint32_t i = 0; i < p->values; i++) {
        if (expected[i] < 0)
            continue;
        double variance = (double)p->variance[i] / spp, off = (double)p->image[i] - expected[i];
        double tolerance = 5.5 * sqrt(variance) + (slack + floor_of_noise) * expected[i];
        if (!(fabs(off) <= tolerance))
            fail_msg("pixel (%u, %u) channel %u: %.9g, expected %.9g +- %.3g", i / 3 % p->width,
                     i / 3 / p->width, i % 3, (double)p->image[i], expected[i], tolerance);
        difference += off, mean += expected[i], noise += variance;
        used++;
    }
    assert_true(used > 0);
    double tolerance = 4.5 * sqrt(noise) + (slack + floor_of_noise) * mean;
    if (!(fabs(difference) <= tolerance))
        fail_msg("mean of %u values: %.9g, expected %.9g +- %.3g", used, (mean + difference) / used,
                 mean / used, tolerance / used);
    if (!(sqrt(noise) <= loudest * mean))
        fail_msg("too noisy to judge: the mean is known to %.3g of %.3g allowed", sqrt(noise) / mean,
                 loudest);
}

void scene_picture_expect_reproducible(scene_picture *p, uint32_t spp)
{
    const bl_render_desc whole = {.spp = spp, .seed = 3, .slice_seconds = 10},
                         sliced = {.spp = spp, .seed = 3, .slice_seconds = 1e-4},
                         other = {.spp = spp, .seed = 4};
    const size_t bytes = p->values * sizeof *p->image;
    float *first = malloc(bytes);
    assert_non_null(first);
    SCENE_MUST(p->d, bl_job_render(p->job, &whole, first, NULL));
    SCENE_MUST(p->d, bl_job_render(p->job, &sliced, p->image, NULL));
    assert_memory_equal(first, p->image, bytes);
    SCENE_MUST(p->d, bl_job_render(p->job, &other, p->image, NULL));
    assert_true(memcmp(first, p->image, bytes) != 0);
    free(first);
}
