/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Are textures looked up right? Bitmaps of every filter and wrap mode, and checkerboards, glow on a
 * rectangle. Each sample's colour is compared with a lookup in C at the place where the camera's ray must
 * hit. uv (0, 0) is the outer corner of the file's first texel. Volumes as textures are looked up at the
 * surface's position; these surfaces reflect a sky of 1. */
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

enum { SIDE = 8, SAMPLES = 600, SEED = 3 };

static char *folder;

typedef struct image {
    uint32_t width, height, channels;
    float *pixels;
} image;

static image load(const char *name)
{
    arena a = {0};
    bl_error err = {0};
    scene_image i;
    if (image_load(arena_printf(&a, "%s/%s", folder, name), false, &i, &err) != BL_OK)
        fail_msg("%s", err.text);
    arena_free(&a);
    return (image){i.width, i.height, i.channels, i.pixels};
}

typedef struct lookup {
    const char *file, *filter, *wrap;
    double scale[2], shift[2]; /* to_uv */
    const char *more;          /* operations before these that change nothing, or NULL */
} lookup;

static const char *const files[] = {"texture.pfm", "grey.pfm"}, *const filters[] = {"bilinear", "nearest"},
                         *const wraps[] = {"repeat", "mirror", "clamp"};
static const double transforms[][4] = {
    {1, 1, 0, 0}, {3.7, 2.3, 0, 0}, {-2.5, 1.9, 0.3, -4.1}, {0.4, -7, 0.1, 11}};

static int64_t wrapped(int64_t i, int64_t n, const char *mode)
{
    if (strcmp(mode, "clamp") == 0)
        return i < 0 ? 0 : i >= n ? n - 1 : i;
    int64_t period = strcmp(mode, "mirror") == 0 ? 2 * n : n, r = ((i % period) + period) % period;
    return r < n ? r : 2 * n - 1 - r;
}

static double texel(const image *m, const lookup *l, int64_t x, int64_t y, uint32_t channel)
{
    int64_t at = wrapped(y, m->height, l->wrap) * m->width + wrapped(x, m->width, l->wrap);
    return (double)m->pixels[at * m->channels + (m->channels == 1 ? 0 : channel)];
}

static double reference(const image *m, const lookup *l, double u, double v, uint32_t channel)
{
    double x = (l->scale[0] * u + l->shift[0]) * m->width, y = (l->scale[1] * v + l->shift[1]) * m->height;
    if (strcmp(l->filter, "nearest") == 0)
        return texel(m, l, (int64_t)floor(x), (int64_t)floor(y), channel);
    x -= 0.5, y -= 0.5;
    int64_t i = (int64_t)floor(x), j = (int64_t)floor(y);
    double a = x - (double)i, b = y - (double)j;
    return (1 - b) * ((1 - a) * texel(m, l, i, j, channel) + a * texel(m, l, i + 1, j, channel)) +
           b * ((1 - a) * texel(m, l, i, j + 1, channel) + a * texel(m, l, i + 1, j + 1, channel));
}

/* A discontinuity closer than what f32 constants move a ray by */
static bool near_an_edge(double x) { return fabs(x - floor(x + 0.5)) < 1e-4; }

/* The rectangle fills the film: u to the right, v upwards. */
static scene_eval *rectangle(const char *format, const char *texture)
{
    arena a = {0};
    char *body = arena_printf(&a, format, texture);
    const char *integrator = "<integrator type='direct'><integer name='emitter_samples' value='0'/><integer "
                             "name='bsdf_samples' value='1'/></integrator>";
    char *sensor = arena_printf(&a,
                                "<sensor type='perspective'><float name='fov' value='90'/><transform "
                                "name='to_world'><lookat origin='0,0,.99' target='0,0,0' "
                                "up='0,1,0'/></transform><film type='hdrfilm'><integer name='width' "
                                "value='%d'/><integer name='height' value='%d'/>"
                                "<rfilter type='box'/></film></sensor>",
                                SIDE, SIDE);
    scene_eval *e = scene_eval_create(scene_xml(&a, integrator, sensor, body), folder, NULL, 0);
    arena_free(&a);
    return e;
}

static scene_eval *textured(const char *texture)
{
    return rectangle("<shape type='rectangle'><bsdf type='diffuse'><float name='reflectance' "
                     "value='0'/></bsdf><emitter type='area'>%s</emitter></shape>",
                     texture);
}

static void sampled_uv(const scene_eval *e, uint32_t sample, double uv[2])
{
    double film[2];
    scene_probe_box(e, sample % (SIDE * SIDE), sample, SEED, film);
    uv[0] = 0.5 * (1 + 0.99 * (2 * film[0] / SIDE - 1));
    uv[1] = 0.5 * (1 + 0.99 * (1 - 2 * film[1] / SIDE));
}

static void check_lookup(const image *m, const lookup *l)
{
    arena a = {0};
    scene_eval *e =
        textured(arena_printf(&a,
                              "<texture type='bitmap' name='radiance'><string name='filename' "
                              "value='%s'/><string name='filter_type' value='%s'/>"
                              "<string name='wrap_mode' value='%s'/><transform "
                              "name='to_uv'>%s<scale value='%g,%g,1'/><translate value='%g,%g,0'/>"
                              "</transform></texture>",
                              l->file, l->filter, l->wrap, l->more ? l->more : "", l->scale[0], l->scale[1],
                              l->shift[0], l->shift[1]));
    uint32_t compared = 0;
    for (uint32_t sample = 0; sample < SAMPLES; sample++) {
        double uv[2], rgb[3];
        sampled_uv(e, sample, uv);
        if (strcmp(l->filter, "nearest") == 0 &&
            (near_an_edge((l->scale[0] * uv[0] + l->shift[0]) * m->width) ||
             near_an_edge((l->scale[1] * uv[1] + l->shift[1]) * m->height)))
            continue;
        scene_probe_sample(e, sample % (SIDE * SIDE), sample, SEED, rgb);
        for (uint32_t c = 0; c < 3; c++) {
            double expected = reference(m, l, uv[0], uv[1], c);
            if (!(fabs(rgb[c] - expected) <= 2e-5))
                fail_msg("%s, %s, %s, to_uv %g %g: uv (%g, %g), channel %u: %.9g, expected %.9g", l->file,
                         l->filter, l->wrap, l->scale[0], l->scale[1], uv[0], uv[1], c, rgb[c], expected);
        }
        compared++;
    }
    assert_true(compared > SAMPLES * 9 / 10);
    scene_eval_destroy(e);
    arena_free(&a);
}

static void bitmaps(void **state)
{
    (void)state;
    for (int f = 0; f < 2; f++) {
        image m = load(files[f]);
        for (int k = 0; k < 2 * 3 * 4; k++) {
            const double *t = transforms[k / 6];
            check_lookup(
                &m, &(lookup){files[f], filters[k % 2], wraps[k / 2 % 3], {t[0], t[1]}, {t[2], t[3]}, NULL});
        }
        check_lookup(&m, &(lookup){files[f],
                                   "bilinear",
                                   "repeat",
                                   {1.5, 2},
                                   {0.3, -0.2},
                                   "<matrix value='1 0 .4 0 1 .7 0 0 1'/>"}); /* Mitsuba */
        free(m.pixels);
    }
}

static void checkerboards(void **state)
{
    (void)state;
    static const double first[3] = {4, 3, 2}, second[3] = {0.25, 0.5, 0.75};
    for (int k = 0; k < 4; k++) {
        const double *t = transforms[k];
        arena a = {0};
        scene_eval *e =
            textured(arena_printf(&a,
                                  "<texture type='checkerboard' name='radiance'><rgb name='color0' "
                                  "value='.4,.3,.2'/><rgb name='color1' "
                                  "value='.025,.05,.075'/><transform name='to_uv'><scale "
                                  "value='%g,%g,1'/><translate value='%g,%g,0'/></transform></texture>",
                                  t[0], t[1], t[2], t[3]));
        for (uint32_t sample = 0; sample < SAMPLES; sample++) {
            double uv[2], rgb[3];
            sampled_uv(e, sample, uv);
            double x = t[0] * uv[0] + t[2], y = t[1] * uv[1] + t[3];
            if (near_an_edge(2 * x) || near_an_edge(2 * y))
                continue;
            scene_probe_sample(e, sample % (SIDE * SIDE), sample, SEED, rgb);
            const double *expected = (x - floor(x) > 0.5) == (y - floor(y) > 0.5) ? first : second;
            for (uint32_t c = 0; c < 3; c++)
                if (!(fabs(10 * rgb[c] - expected[c]) <= 1e-5))
                    fail_msg("to_uv %g %g, uv (%g, %g): %g, expected %g", t[0], t[1], uv[0], uv[1],
                             10 * rgb[c], expected[c]);
        }
        scene_eval_destroy(e);
        arena_free(&a);
    }
}

/* Straight between the centres of voxels, the outermost ones beyond; at: in the unit cube. */
static double trilinear(const scene_volume *v, const double at[3], uint32_t channel)
{
    double sum = 0;
    for (int k = 0; k < 8; k++) {
        double weight = 1;
        size_t index = 0;
        for (int d = 2; d >= 0; d--) {
            double x = at[d] * v->size[d] - 0.5, low = floor(x), part = k >> d & 1 ? x - low : 1 - (x - low);
            double place = low + (k >> d & 1), last = v->size[d] - 1.0;
            index = index * v->size[d] + (size_t)(place < 0 ? 0 : place > last ? last : place);
            weight *= part;
        }
        sum += weight * (double)v->values[index * v->channels + (v->channels == 1 ? 0 : channel)];
    }
    return sum;
}

/* The cube of the volume is turned about z and hangs across the rectangle's plane. */
static void volumes(void **state)
{
    (void)state;
    static const char *const grids[] = {"smoke.vol", "tint.vol"};
    for (int k = 0; k < 2; k++) {
        arena a = {0};
        bl_error err = {0};
        scene_volume v;
        if (volume_load(arena_printf(&a, "%s/%s", folder, grids[k]), &v, &err) != BL_OK)
            fail_msg("%s", err.text);
        scene_eval *e =
            rectangle("<shape type='rectangle'><bsdf type='diffuse'><texture type='volume' "
                      "name='reflectance'><volume type='gridvolume' name='volume'>"
                      "<string name='filename' value='%s'/><transform name='to_world'><translate "
                      "value='-.5,-.5,-.7'/><scale value='2.5,1.6,1'/>"
                      "<rotate z='1' angle='90'/></transform></volume></texture></bsdf></shape><emitter "
                      "type='constant'/>",
                      grids[k]);
        for (uint32_t sample = 0; sample < SAMPLES; sample++) {
            double uv[2], rgb[3];
            sampled_uv(e, sample, uv);
            const double at[3] = {(2 * uv[1] - 1) / 2.5 + 0.5, (1 - 2 * uv[0]) / 1.6 + 0.5,
                                  0.7}; /* (x, y) has been (y, -x) */
            scene_probe_sample(e, sample % (SIDE * SIDE), sample, SEED, rgb);
            for (uint32_t c = 0; c < 3; c++)
                if (!(fabs(rgb[c] - trilinear(&v, at, c)) <= 2e-5))
                    fail_msg("%s at uv (%g, %g), channel %u: %g, expected %g", grids[k], uv[0], uv[1], c,
                             rgb[c], trilinear(&v, at, c));
        }
        scene_eval_destroy(e);
        volume_free(&v);
        arena_free(&a);
    }
}

int main(void)
{
    folder = scene_files_create();
    if (!folder)
        return 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(bitmaps), cmocka_unit_test(checkerboards),
                                       cmocka_unit_test(volumes)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    scene_files_remove(folder);
    return failed;
}
