/* LABELS: conformance swiftshader lavapipe native rayquery */
/* SPDX-License-Identifier: BSD-3-Clause
 * Does the renderer agree with the stored images of Mitsuba's statistical render tests
 * (images/manifest.json of the reference folder)? They have a z-test of their own, stated in the README
 * beside them. Scenes with plugins that are not implemented yet are listed and left out; any other failure
 * to load fails. The folder is BL_REFERENCE, by default ../shared/reference beside the checkout; without it
 * the test is skipped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_device.h"
#include "support/todays_share.h"

#include "base/base.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHORT_PATHS = 150000, SEED = 7 };

static scene_device device;
static char *root; /* of the manifest's paths */

typedef struct picture {
    uint32_t width, height;
    float *rgb;
} picture;

static picture read_rgb(const char *relative)
{
    arena a = {0};
    picture p = {0};
    uint32_t channels;
    SCENE_MUST(&device, bl_image_read(device.context, arena_printf(&a, "%s/%s", root, relative), &p.width,
                                      &p.height, &channels, &p.rgb));
    arena_free(&a);
    assert_int_equal(channels, 3);
    return p;
}

static void to_xyz(const float rgb[3], double xyz[3])
{
    static const double rows[3][3] = {
        {.412453, .357580, .180423}, {.212671, .715160, .072169}, {.019334, .119193, .950227}};
    for (int k = 0; k < 3; k++)
        xyz[k] = rows[k][0] * (double)rgb[0] + rows[k][1] * (double)rgb[1] + rows[k][2] * (double)rgb[2];
}

/* Share of the values that pass, and the largest z. */
static double z_test(const float *image, const picture *reference, const picture *variance, uint32_t spp,
                     double *worst)
{
    uint32_t pixels = reference->width * reference->height, passed = 0;
    double alpha = 1 - pow(0.99, 1.0 / pixels);
    *worst = 0;
    for (uint32_t i = 0; i < pixels; i++) {
        double m[3], r[3], v[3];
        to_xyz(image + 3 * i, m), to_xyz(reference->rgb + 3 * i, r), to_xyz(variance->rgb + 3 * i, v);
        for (int k = 0; k < 3; k++) {
            double z = fabs(m[k] - r[k]) * sqrt(spp / fmax(v[k], 1e-4));
            passed += erfc(z / sqrt(2.0)) > alpha;
            *worst = fmax(*worst, z);
        }
    }
    return passed / (3.0 * pixels);
}

static bool all_of_it(void)
{
    const char *all = getenv("BL_LONG");
    return all && strcmp(all, "1") == 0;
}

/* Kernels take drivers many seconds to compile, so in the ordinary tier our own traversal has every fourth
 * scene there, and ray queries every fourth other one; the next day, the next ones. */
static bool left_out(uint32_t index)
{
    const char *rays = getenv("BL_RAY_BACKEND");
    const uint32_t ahead = rays && strcmp(rays, "query") == 0 ? 2 : 0;
    return strcmp(device.info.kind, "native") != 0 && !todays_part(index + ahead, 4);
}

/* Full counts are the manifest's; fewer samples weaken the test, they do not loosen it. */
static uint32_t sample_count(const cJSON *scene, uint32_t pixels)
{
    uint32_t full = (uint32_t)cJSON_GetObjectItem(scene, "spp")->valuedouble, few = SHORT_PATHS / pixels;
    return all_of_it() ? full : few < full ? few > 1 ? few : 1 : full;
}

static bool judge(const cJSON *entry, const bl_scene *scene)
{
    picture reference = read_rgb(cJSON_GetObjectItem(entry, "reference")->valuestring),
            variance = read_rgb(cJSON_GetObjectItem(entry, "variance")->valuestring);
    bl_scene_info info;
    SCENE_MUST(&device, bl_scene_info_get(scene, &info));
    assert_int_equal(info.width, reference.width);
    assert_int_equal(info.height, reference.height);
    float *image = malloc((size_t)info.width * info.height * 3 * sizeof *image);
    assert_non_null(image);
    bl_job *job = scene_device_job(&device, scene, NULL, 0);
    uint32_t spp = sample_count(entry, info.width * info.height);
    bl_stats stats;
    bl_kernel_info made;
    SCENE_MUST(&device, bl_job_compile(job, BL_PASS_PRIMAL, &made));
    SCENE_MUST(&device, bl_job_render(job, &(bl_render_desc){.spp = spp, .seed = SEED}, image, &stats));
    double worst, share = z_test(image, &reference, &variance, spp, &worst);
    bool good = share >= 0.9975 && stats.non_finite == 0;
    print_message("%s %s: %.3f %% of the values, largest z %.2f, %u spp; %.1f s compiling, %.1f s running\n",
                  good ? "pass" : "FAIL", cJSON_GetObjectItem(entry, "name")->valuestring, 100 * share, worst,
                  spp, made.driver_seconds, stats.device_seconds);
    bl_job_destroy(job);
    free(image), free(reference.rgb), free(variance.rgb);
    return good;
}

static void stored_images(void **state)
{
    const cJSON *entry;
    uint32_t judged = 0, failed = 0, index = 0;
    cJSON_ArrayForEach(entry, cJSON_GetObjectItem(*state, "scenes"))
    {
        arena a = {0};
        if (left_out(index++))
            continue;
        bl_scene *scene;
        bl_result r = bl_scene_load(
            device.context, arena_printf(&a, "%s/%s", root, cJSON_GetObjectItem(entry, "xml")->valuestring),
            NULL, &scene);
        const char *name = cJSON_GetObjectItem(entry, "name")->valuestring;
        if (r == BL_OK) {
            judged++;
            failed += !judge(entry, scene);
            bl_scene_destroy(scene);
        } else if (r == BL_ERROR_UNSUPPORTED) {
            print_message("later %s: %s\n", name, bl_context_error(device.context));
        } else {
            print_message("FAIL %s: %s\n", name, bl_context_error(device.context));
            failed++;
        }
        arena_free(&a);
    }
    assert_true(judged > 0);
    assert_int_equal(failed, 0);
}

static cJSON *read_manifest(void)
{
    arena a = {0};
    const char *reference = getenv("BL_REFERENCE"), *source = getenv("BL_SOURCE_DIR");
    char *folder = reference && *reference
                       ? arena_strdup(&a, reference)
                       : arena_printf(&a, "%s/../shared/reference", source ? source : ".");
    void *data = NULL;
    size_t size;
    bl_error err;
    cJSON *json = NULL;
    if (file_read(arena_printf(&a, "%s/images/manifest.json", folder), 1 << 24, &data, &size, &err) == BL_OK)
        json = cJSON_Parse(data);
    free(data);
    text t = {0};
    text_add(&t, "%s/images/%s", folder, json ? cJSON_GetObjectItem(json, "root")->valuestring : "");
    root = t.data;
    if (!json)
        print_message("no references: %s\n", folder);
    arena_free(&a);
    return json;
}

int main(void)
{
    cJSON *manifest = read_manifest();
    if (!manifest)
        return scene_device_missing();
    const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(stored_images, manifest)};
    int status = SCENE_DEVICE_RUN(&device, NULL, "references", tests);
    cJSON_Delete(manifest);
    free(root);
    return status;
}
