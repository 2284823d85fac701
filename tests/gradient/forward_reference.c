/* LABELS: conformance swiftshader lavapipe native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Does forward mode agree with another renderer? Cases of tests/reference, with a tangent of ones for each
 * parameter:
 *
 *   forward images, where a case has some   z = (J - ref) / sqrt(var + var_ref) has a mean square near 1.
 *                                           The scale <J, ref> / <ref, ref> is 1 within 4 standard errors
 *                                           and 1 %.
 *   gradients of up to 64 entries           <W, J> is the sum of the stored entries, within 4 standard
 *                                           errors and 1 %. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_device.h"

#include "base/base.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SEEDS = 12,
    SHORT_PATHS = 20480,
    LONG_PATHS = 250000,
    PARAMETERS_MOST = 16,
    ENTRIES_MOST = 1 << 16
}; /* paths per seed */
/* Of normal values whose variances are known the mean square would be 1 +- 0.03 for 3072 of them; paths have
 * heavier tails. */
static const double least_square = 0.6, most_square = 1.25;

static scene_device device;

typedef struct subject {
    arena memory;
    const char *name;
    char *folder;
    bl_scene *scene;
    uint32_t values, width, spp, share;
    bl_job *job;
    float *weights, *images, *ones; /* W; one image per seed; a tangent */
} subject;

static float *read_image(const subject *s, const char *file)
{
    uint32_t width, height, channels;
    float *pixels = NULL;
    SCENE_MUST(&device, bl_image_read(device.context,
                                      arena_printf((arena *)(uintptr_t)&s->memory, "%s/%s", s->folder, file),
                                      &width, &height, &channels, &pixels));
    assert_int_equal(width * height * channels, s->values);
    return pixels;
}

/* One job for all parameters of the case, of which one moves. */
static void render_seeds(subject *s, uint32_t parameter)
{
    const float *tangents[PARAMETERS_MOST] = {0};
    tangents[parameter] = s->ones;
    for (uint32_t k = 0; k < SEEDS; k++) {
        bl_stats stats;
        SCENE_MUST(&device,
                   bl_job_forward(s->job,
                                  &(bl_forward_desc){.spp = s->spp, .seed = 100 + k, .tangents = tangents},
                                  s->images + (size_t)k * s->values, &stats));
        assert_int_equal(stats.non_finite, 0);
    }
}

/* Mean and variance of the mean, over seeds, of one number per seed. */
static double mean_of(const double *rows, double *variance)
{
    double mean = 0, squares = 0;
    for (uint32_t k = 0; k < SEEDS; k++)
        mean += rows[k] / SEEDS;
    for (uint32_t k = 0; k < SEEDS; k++)
        squares += (rows[k] - mean) * (rows[k] - mean);
    *variance = squares / (SEEDS - 1) / SEEDS;
    return mean;
}

/* Mean over the 5 x 5 pixels around value i: the variance of one pixel, estimated from few seeds, is too
 * small exactly where its mean is off, because a rare path is missing in both. */
static double smooth(const subject *s, const double *variance, uint32_t i)
{
    int width = (int)s->width, height = (int)(s->values / 3 / s->width), x = (int)(i / 3) % width,
        y = (int)(i / 3) / width, used = 0;
    double sum = 0;
    for (int v = y - 2; v <= y + 2; v++)
        for (int u = x - 2; u <= x + 2; u++)
            if (u >= 0 && v >= 0 && u < width && v < height) {
                sum += variance[3 * (v * width + u) + (int)(i % 3)];
                used++;
            }
    return sum / used;
}

static double mean_square(const subject *s, const float *ref, const float *variance)
{
    double *own = malloc(s->values * sizeof *own), *off = malloc(s->values * sizeof *off), sum = 0;
    assert_true(own && off);
    for (uint32_t i = 0; i < s->values; i++) {
        double rows[SEEDS];
        for (uint32_t k = 0; k < SEEDS; k++)
            rows[k] = (double)s->images[(size_t)k * s->values + i];
        off[i] = mean_of(rows, &own[i]) - (double)ref[i];
    }
    uint32_t used = 0;
    for (uint32_t i = 0; i < s->values; i++) {
        double both = smooth(s, own, i) + (double)variance[i];
        if (both == 0 && off[i] == 0)
            continue; /* a channel that does not depend on the parameter */
        sum += off[i] * off[i] / fmax(both, 1e-30);
        used++;
    }
    assert_true(used > s->values / 10);
    free(own), free(off);
    return sum / used;
}

static bool image_agrees(const subject *s, const char *parameter, const cJSON *forward)
{
    float *ref = read_image(s, cJSON_GetObjectItem(forward, "image")->valuestring),
          *variance = read_image(s, cJSON_GetObjectItem(forward, "variance")->valuestring);
    double rows[SEEDS], square = mean_square(s, ref, variance), norm = 0, ref_noise = 0, own;
    for (uint32_t i = 0; i < s->values; i++) {
        norm += (double)ref[i] * (double)ref[i];
        ref_noise += (double)variance[i] * (double)ref[i] * (double)ref[i];
    }
    for (uint32_t k = 0; k < SEEDS; k++) {
        rows[k] = 0;
        for (uint32_t i = 0; i < s->values; i++)
            rows[k] += (double)s->images[(size_t)k * s->values + i] * (double)ref[i] / norm;
    }
    double scale = mean_of(rows, &own), tolerance = 4 * sqrt(own + ref_noise / norm / norm);
    bool good = square > least_square && square < most_square && fabs(scale - 1) <= tolerance + 0.01 &&
                tolerance < 0.08;
    print_message("%s %s, image by %s: mean square of z %.3f, scale %.4f +- %.4f\n", good ? "pass" : "FAIL",
                  s->name, parameter, square, scale, tolerance / 4);
    free(ref), free(variance);
    return good;
}

static bool sum_agrees(const subject *s, const char *parameter, const cJSON *gradient, const cJSON *error)
{
    double rows[SEEDS], expected = 0, expected_variance = 0, largest = 0, own;
    for (int k = 0; k < cJSON_GetArraySize(gradient); k++) {
        double g = cJSON_GetArrayItem(gradient, k)->valuedouble,
               e = cJSON_GetArrayItem(error, k)->valuedouble;
        expected += g, expected_variance += e * e, largest = fmax(largest, fabs(g));
    }
    for (uint32_t k = 0; k < SEEDS; k++) {
        rows[k] = 0;
        for (uint32_t i = 0; i < s->values; i++)
            rows[k] += (double)s->weights[i] * (double)s->images[(size_t)k * s->values + i];
    }
    double got = mean_of(rows, &own), noise = 4 * sqrt(own + expected_variance);
    bool good = fabs(got - expected) <= noise + 0.01 * largest && noise < 0.2 * largest;
    print_message("%s %s, <W, J> of %s: %.6g +- %.2g, expected %.6g\n", good ? "pass" : "FAIL", s->name,
                  parameter, got, noise / 4, expected);
    return good;
}

/* How many parameters failed. */
static uint32_t judge(subject *s, const cJSON *expected, uint32_t *judged)
{
    uint32_t failed = 0, k = 0;
    const cJSON *p;
    cJSON_ArrayForEach(p, cJSON_GetObjectItem(expected, "parameters"))
    {
        const cJSON *forward = cJSON_GetObjectItem(p, "forward"),
                    *gradient = cJSON_GetObjectItem(p, "gradient");
        bool listed = cJSON_IsArray(gradient) && !cJSON_GetObjectItem(p, "direction");
        uint32_t index = k++;
        if (!forward && !listed)
            continue;
        render_seeds(s, index);
        bool good = !forward || image_agrees(s, p->string, forward);
        good = (!listed || sum_agrees(s, p->string, gradient, cJSON_GetObjectItem(p, "stderr"))) && good;
        failed += !good;
        ++*judged;
    }
    return failed;
}

static cJSON *read_json(subject *s)
{
    void *data = NULL;
    size_t size;
    bl_error err;
    cJSON *json = NULL;
    if (file_read(arena_printf(&s->memory, "%s/expected.json", s->folder), 1 << 24, &data, &size, &err) ==
        BL_OK)
        json = cJSON_Parse(data);
    free(data);
    return json;
}

static void open_case(subject *s, const cJSON *expected)
{
    const char *names[PARAMETERS_MOST];
    uint32_t count = 0;
    const cJSON *p;
    cJSON_ArrayForEach(p, cJSON_GetObjectItem(expected, "parameters"))
    {
        assert_true(count < PARAMETERS_MOST);
        names[count++] = p->string;
    }
    s->job = scene_device_job(&device, s->scene, names, count);
    s->ones = malloc(ENTRIES_MOST * sizeof *s->ones);
    assert_non_null(s->ones);
    for (uint32_t k = 0; k < ENTRIES_MOST; k++)
        s->ones[k] = 1;
    bl_scene_info info;
    SCENE_MUST(&device, bl_scene_info_get(s->scene, &info));
    const char *all = getenv("BL_LONG");
    uint32_t paths = all && strcmp(all, "1") == 0 ? LONG_PATHS : SHORT_PATHS;
    s->values = 3 * info.width * info.height, s->width = info.width;
    s->spp = s->share * paths / (info.width * info.height);
    s->weights = read_image(s, "adjoint.exr");
    s->images = malloc((size_t)SEEDS * s->values * sizeof *s->images);
    assert_non_null(s->images);
}

static void references(void **state)
{
    (void)state;
    /* share: of the paths; 4 standard errors of the conductor's alpha come close to the 8 % at which a run
     * says nothing */
    static const struct {
        const char *name;
        uint32_t share;
    } cases[] = {{"cbox_colours", 1}, {"conductor", 2}, {"lights", 1}, {"many_bounces", 1}, {"texture", 1}};
    uint32_t judged = 0, failed = 0;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        subject s = {.name = cases[k].name, .share = cases[k].share};
        s.folder = arena_printf(&s.memory, "%s/tests/reference/%s", getenv("BL_SOURCE_DIR"), s.name);
        cJSON *expected = read_json(&s);
        assert_non_null(expected);
        SCENE_MUST(&device, bl_scene_load(device.context, arena_printf(&s.memory, "%s/scene.xml", s.folder),
                                          NULL, &s.scene));
        open_case(&s, expected);
        failed += judge(&s, expected, &judged);
        bl_job_destroy(s.job);
        bl_scene_destroy(s.scene);
        free(s.weights), free(s.images), free(s.ones);
        cJSON_Delete(expected);
        arena_free(&s.memory);
    }
    assert_true(judged > 0);
    assert_int_equal(failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(references)};
    return SCENE_DEVICE_RUN(&device, NULL, "forward reference", tests);
}
