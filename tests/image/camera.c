/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Do camera rays go where they should, for every camera and reconstruction filter? The plane z = 0 glows
 * with its own coordinates (a 2 x 2 bitmap, which is linear between its texels' centres), so a sample's
 * colour is the place that its ray hit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_probe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SAMPLES = 300, SEED = 3 };
static const double plane_scale = 16, pi = 3.14159265358979323846;

static char *folder;

static void write_coordinates(void)
{
    static const float pixels[12] = {0, 0, 1, 1, 0, 1,
                                     0, 1, 1, 1, 1, 1}; /* red: column, green: row, blue: 1 */
    arena a = {0};
    bl_error err = {0};
    if (image_save(arena_printf(&a, "%s/coordinates.pfm", folder), 2, 2, 3, pixels, false, &err) != BL_OK)
        fail_msg("%s", err.text);
    arena_free(&a);
}

#define LOOK_DOWN "<transform name='to_world'><lookat origin='0,0,4' target='0,0,0' up='0,1,0'/></transform>"
#define GLOWING_PLANE                                                                                        \
    "<shape type='rectangle'><transform name='to_world'><scale value='16'/></transform><bsdf "               \
    "type='diffuse'/><emitter type='area'>"                                                                  \
    "<texture type='bitmap' name='radiance'><string name='filename' "                                        \
    "value='coordinates.pfm'/></texture></emitter></shape>"

static scene_eval *plane_seen_by(const char *sensor_properties, uint32_t width, uint32_t height,
                                 const char *filter)
{
    arena a = {0};
    char *sensor = arena_printf(&a,
                                "<sensor type='perspective'>%s<film type='hdrfilm'><integer name='width' "
                                "value='%u'/><integer name='height' value='%u'/>"
                                "%s</film></sensor>",
                                sensor_properties, width, height, filter);
    scene_eval *e = scene_eval_create(
        scene_xml(&a, "<integrator type='path'><integer name='max_depth' value='1'/></integrator>", sensor,
                  GLOWING_PLANE),
        folder, NULL, 0);
    arena_free(&a);
    return e;
}

/* False where nothing was hit. */
static bool place(scene_eval *e, uint32_t pixel, uint32_t sample, double xy[2])
{
    double rgb[3];
    scene_probe_sample(e, pixel, sample, SEED, rgb);
    for (int k = 0; k < 2; k++)
        xy[k] = (rgb[k] - 0.5) * plane_scale;
    return rgb[2] > 0.5;
}

/* ---- field of view ---- */

typedef struct view {
    const char *properties;
    uint32_t width, height;
    double tangent_x, tangent_y; /* of half the field of view */
    double offset_x, offset_y;   /* of the film, relative to its size */
} view;

#define T20 0.36397023426620236 /* tan 20 degrees */
#define FOV "<float name='fov' value='40'/>"
#define AXIS(name) "<string name='fov_axis' value='" name "'/>"

static const view views[] = {
    {FOV, 16, 8, T20, T20 / 2, 0, 0},
    {FOV AXIS("x"), 8, 16, T20, 2 * T20, 0, 0},
    {FOV AXIS("y"), 16, 8, 2 * T20, T20, 0, 0},
    {FOV AXIS("smaller"), 16, 8, 2 * T20, T20, 0, 0},
    {FOV AXIS("smaller"), 8, 16, T20, 2 * T20, 0, 0},
    {FOV AXIS("larger"), 16, 8, T20, T20 / 2, 0, 0},
    {FOV AXIS("larger"), 8, 16, T20 / 2, T20, 0, 0},
    {FOV AXIS("diagonal"), 16, 12, 0.8 * T20, 0.6 * T20, 0, 0},
    {FOV AXIS("smaller"), 9, 9, T20, T20, 0, 0},
    /* the diagonal of 36 x 24 mm at 50 mm, and at 100 mm, on a film of 3:2 */
    {"", 12, 8, 18. / 50, 12. / 50, 0, 0},
    {"<string name='focal_length' value='100mm'/>", 12, 8, 18. / 100, 12. / 100, 0, 0},
    {FOV "<float name='principal_point_offset_x' value='.25'/><float name='principal_point_offset_y' "
         "value='-.125'/>",
     8, 8, T20, T20, 0.25, -0.125},
    {FOV "<float name='near_clip' value='1'/><float name='far_clip' value='4.001'/>", 8, 8, T20, T20, 0, 0},
};

static void expect_place(const char *what, uint32_t pixel, uint32_t sample, const double got[2], double x,
                         double y)
{
    double tolerance = 1e-5; /* the record holds f32 */
    if (!(fabs(got[0] - x) <= tolerance && fabs(got[1] - y) <= tolerance))
        fail_msg("%s, pixel %u, sample %u: (%.9g, %.9g), expected (%.9g, %.9g)", what, pixel, sample, got[0],
                 got[1], x, y);
}

static void fields_of_view(void **state)
{
    (void)state;
    arena a = {0};
    for (size_t k = 0; k < sizeof views / sizeof views[0]; k++) {
        const view *v = &views[k];
        scene_eval *e = plane_seen_by(arena_printf(&a, LOOK_DOWN "%s", v->properties), v->width, v->height,
                                      "<rfilter type='box'/>");
        for (uint32_t sample = 0; sample < SAMPLES; sample++) {
            uint32_t pixel = sample * 7 % (v->width * v->height);
            double film[2], got[2];
            scene_probe_box(e, pixel, sample, SEED, film);
            double x = 2 * (film[0] / v->width + v->offset_x) - 1,
                   y = 1 - 2 * (film[1] / v->height + v->offset_y);
            assert_true(place(e, pixel, sample, got));
            expect_place(v->properties, pixel, sample, got, 4 * v->tangent_x * x, 4 * v->tangent_y * y);
        }
        scene_eval_destroy(e);
    }
    arena_free(&a);
}

/* ---- pose ---- */

static void cross(const double a[3], const double b[3], double out[3])
{
    for (int k = 0; k < 3; k++)
        out[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
}

static void normalise(double v[3])
{
    double length = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    for (int k = 0; k < 3; k++)
        v[k] /= length;
}

/* lookat: forward to the target; the image's right is forward x up. Each pose sees z = 0 from above. */
static void poses(void **state)
{
    (void)state;
    static const double poses[][9] = {
        {1, -2, 3, 0, 0.5, 0, 0, 0, 1}, {-1, 1, 4, 0.5, 0, 0, 1, 1, 0}, {0.1, -3, 2, 0, 0, 0.3, 0.2, 0.1, 1}};
    arena a = {0};
    for (int k = 0; k < 3; k++) {
        const double *p = poses[k], *o = p;
        double forward[3] = {p[3] - p[0], p[4] - p[1], p[5] - p[2]}, right[3], up[3];
        uint32_t compared = 0;
        normalise(forward);
        cross(forward, p + 6, right);
        normalise(right);
        cross(right, forward, up);
        scene_eval *e = plane_seen_by(arena_printf(&a,
                                                   FOV "<transform name='to_world'><lookat origin='%g,%g,%g' "
                                                       "target='%g,%g,%g' up='%g,%g,%g'/></transform>",
                                                   p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8]),
                                      8, 8, "<rfilter type='box'/>");
        for (uint32_t sample = 0; sample < SAMPLES; sample++) {
            double film[2], got[2], d[3];
            scene_probe_box(e, sample % 64, sample, SEED, film);
            for (int c = 0; c < 3; c++)
                d[c] = forward[c] + T20 * ((film[0] / 4 - 1) * right[c] + (1 - film[1] / 4) * up[c]);
            assert_true(d[2] < 0);
            double x = o[0] - d[0] / d[2] * o[2], y = o[1] - d[1] / d[2] * o[2];
            if (fabs(x) > 7.9 || fabs(y) > 7.9)
                continue; /* coordinates end at the texels' centres */
            if (!place(e, sample % 64, sample, got))
                fail_msg("pose %d: nothing was hit", k);
            expect_place("pose", sample % 64, sample, got, x, y);
            compared++;
        }
        assert_true(compared > SAMPLES / 2);
        scene_eval_destroy(e);
    }
    arena_free(&a);
}

/* Clip distances are depths, not lengths of rays. */
static void clipping(void **state)
{
    (void)state;
    static const struct {
        const char *properties;
        bool seen;
    } cases[] = {{"<float name='near_clip' value='3.99'/>", true},
                 {"<float name='near_clip' value='4.01'/>", false},
                 {"<float name='far_clip' value='4.01'/>", true},
                 {"<float name='far_clip' value='3.99'/>", false}};
    arena a = {0};
    for (int k = 0; k < 4; k++) {
        scene_eval *e = plane_seen_by(arena_printf(&a, LOOK_DOWN FOV "%s", cases[k].properties), 8, 8,
                                      "<rfilter type='box'/>");
        for (uint32_t pixel = 0; pixel < 64; pixel++) {
            double got[2];
            if (place(e, pixel, 0, got) != cases[k].seen)
                fail_msg("%s: pixel %u", cases[k].properties, pixel);
        }
        scene_eval_destroy(e);
    }
    arena_free(&a);
}

/* ---- filters: where samples fall around the pixel's centre ---- */

/* Cumulative distribution of exp(-x^2 / 2 s^2) - exp(-8) on [-4 s, 4 s]. */
static double gaussian_cdf(double x, double sigma)
{
    double edge = exp(-8.0), radius = 4 * sigma;
    if (x <= -radius)
        return 0;
    if (x >= radius)
        return 1;
    double half = sigma * sqrt(pi / 2) * erf(radius / (sigma * sqrt(2.0))) - edge * radius;
    return 0.5 + (sigma * sqrt(pi / 2) * erf(x / (sigma * sqrt(2.0))) - edge * x) / (2 * half);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Kolmogorov and Smirnov, level 1e-4. */
static void expect_distribution(const char *name, double *offsets, uint32_t n, double sigma)
{
    qsort(offsets, n, sizeof *offsets, ascending);
    double most = 0, sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        double expected = gaussian_cdf(offsets[i], sigma);
        most = fmax(most, fmax(fabs(expected - i / (double)n), fabs(expected - (i + 1) / (double)n)));
        sum += offsets[i] * offsets[i];
    }
    double limit = 2.23 / sqrt(n), variance = sum / n / (sigma * sigma);
    if (!(most <= limit))
        fail_msg("%s: distance %g of at most %g", name, most, limit);
    if (!(fabs(variance - 0.987) < 0.05)) /* a little below 1: the tails are cut */
        fail_msg("%s: variance %g sigma^2", name, variance);
}

static void gaussian(void **state)
{
    (void)state;
    enum { N = 6000 };
    static const double sigmas[] = {0.5, 0.8};
    double *offsets[2] = {malloc(N * sizeof(double)), malloc(N * sizeof(double))};
    assert_true(offsets[0] && offsets[1]);
    for (int k = 0; k < 2; k++) {
        arena a = {0};
        char *filter = k == 0 ? "<boolean name='sample_border' value='true'/><rfilter type='gaussian'/>"
                              : arena_printf(&a,
                                             "<boolean name='sample_border' value='true'/><rfilter "
                                             "type='gaussian'><float name='stddev' value='%g'/></rfilter>",
                                             sigmas[k]);
        scene_eval *e = plane_seen_by(LOOK_DOWN FOV, 8, 8, filter);
        for (uint32_t i = 0; i < N; i++) {
            double got[2];
            assert_true(place(e, i % 64, i, got));
            offsets[0][i] = (got[0] / (4 * T20) + 1) * 4 - (i % 64 % 8 + 0.5);
            offsets[1][i] = (1 - got[1] / (4 * T20)) * 4 - ((double)(i % 64 / 8) + 0.5);
            assert_true(fabs(offsets[0][i]) <= 4 * sigmas[k] + 1e-4 &&
                        fabs(offsets[1][i]) <= 4 * sigmas[k] + 1e-4);
        }
        expect_distribution("x", offsets[0], N, sigmas[k]);
        expect_distribution("y", offsets[1], N, sigmas[k]);
        scene_eval_destroy(e);
        arena_free(&a);
    }
    free(offsets[0]), free(offsets[1]);
}

/* Without a filter in the file: Mitsuba's default, the gaussian of stddev 0.5. */
static void default_filter(void **state)
{
    (void)state;
    scene_eval *e = plane_seen_by(LOOK_DOWN FOV, 8, 8, ""),
               *g = plane_seen_by(LOOK_DOWN FOV, 8, 8, "<rfilter type='gaussian'/>");
    for (uint32_t i = 0; i < 64; i++) {
        double a[2], b[2];
        assert_true(place(e, i, i, a) && place(g, i, i, b));
        assert_memory_equal(a, b, sizeof a);
    }
    scene_eval_destroy(e), scene_eval_destroy(g);
}

int main(void)
{
    folder = scene_files_create();
    if (!folder)
        return 1;
    write_coordinates();
    const struct CMUnitTest tests[] = {cmocka_unit_test(fields_of_view), cmocka_unit_test(poses),
                                       cmocka_unit_test(clipping), cmocka_unit_test(gaussian),
                                       cmocka_unit_test(default_filter)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    scene_files_remove(folder);
    return failed;
}
