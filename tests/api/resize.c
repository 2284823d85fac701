/* LABELS: swiftshader native sanitized=native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Coarse to fine: a parameter at another resolution gives what a scene with such a file gives, other
 * parameters stay what they are; interpolation is exact for what is linear; the penalty of a fit moves values
 * by its slope alone where the images do not depend on them; a fit in two parts goes on with steps, random
 * numbers and schedule. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIDE = 8, PIXELS = 3 * SIDE * SIDE };

static scene_device device;

static void write_words(FILE *f, const void *words, size_t count)
{
    assert_int_equal(fwrite(words, 4, count, f), count);
}

static void write_grid(const char *path, const uint32_t size[3], const float *values)
{
    const int32_t head[5] = {1, (int32_t)size[0], (int32_t)size[1], (int32_t)size[2], 1};
    const float box[6] = {0, 0, 0, 1, 1, 1};
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite("VOL\003", 1, 4, f), 4);
    write_words(f, head, 5);
    write_words(f, box, 6);
    write_words(f, values, (size_t)size[0] * size[1] * size[2]);
    fclose(f);
}

/* A cube of fog, lit from outside, with a colour behind the grid in the flat array of values. */
static bl_scene *fog(const char *grid)
{
    arena a = {0};
    char *body = arena_printf(
        &a,
        "<shape type='cube'><bsdf type='null'/><medium type='heterogeneous' name='interior' id='fog'>"
        "<volume type='gridvolume' name='sigma_t'><string name='filename' value='%s'/><transform "
        "name='to_world'>"
        "<translate x='-.5' y='-.5' z='-.5'/><scale value='2'/></transform></volume><float name='albedo' "
        "value='.8'/></medium></shape>"
        "<emitter type='constant' id='sky'><rgb name='radiance' value='1, .5, .25'/></emitter>",
        grid);
    bl_scene *s = scene_device_load(
        &device,
        scene_xml(&a, "<integrator type='volpath'><integer name='max_depth' value='3'/></integrator>",
                  arena_printf(&a, scene_sensor_format, SIDE, SIDE), body),
        ".");
    arena_free(&a);
    return s;
}

static void render(const bl_scene *s, float *image)
{
    bl_job *job;
    SCENE_MUST(&device, bl_job_create(device.device, s, NULL, &job));
    SCENE_MUST(&device, bl_job_render(job, &(bl_render_desc){.spp = 4, .seed = 3}, image, NULL));
    bl_job_destroy(job);
}

static uint32_t find(const bl_scene *s, const char *name)
{
    uint32_t index;
    SCENE_MUST(&device, bl_scene_find_parameter(s, name, &index));
    return index;
}

static void a_resized_grid_is_a_grid_of_that_size(void **state)
{
    (void)state;
    enum { X = 20, Y = 3, Z = 5 }; /* long enough for cells of its own bounds */
    float small[2] = {0.3f, 1}, large[X * Y * Z], images[3][PIXELS], sky[3];
    for (int i = 0; i < X * Y * Z; i++)
        large[i] = (float)(i * 7 % 11) / 5;
    write_grid("small.vol", (uint32_t[]){1, 1, 2}, small);
    write_grid("large.vol", (uint32_t[]){X, Y, Z}, large);
    bl_scene *resized = fog("small.vol"), *direct = fog("large.vol");
    render(resized, images[0]);
    bl_scene_info before, after;
    bl_scene_info_get(resized, &before);
    SCENE_MUST(&device, bl_scene_resize_parameter(resized, find(resized, "fog.sigma_t.data"),
                                                  (uint32_t[]){Z, Y, X, 1}, large));
    bl_scene_info_get(resized, &after);
    assert_int_equal(before.parameters, after.parameters);
    bl_parameter_info info;
    SCENE_MUST(&device, bl_scene_parameter_info(resized, find(resized, "fog.sigma_t.data"), &info));
    assert_true(info.resizable && info.count == X * Y * Z && info.shape[0] == Z && info.shape[2] == X);
    SCENE_MUST(&device, bl_scene_get_parameter(resized, find(resized, "sky.radiance.value"), sky));
    assert_true(sky[0] == 1 && sky[1] == 0.5f && sky[2] == 0.25f);
    render(resized, images[1]);
    render(direct, images[2]);
    assert_memory_equal(images[1], images[2], sizeof images[1]);
    assert_memory_not_equal(images[0], images[1], sizeof images[0]);
    bl_scene_destroy(resized);
    bl_scene_destroy(direct);
}

static void what_cannot_be_resized_is_refused(void **state)
{
    (void)state;
    write_grid("small.vol", (uint32_t[]){1, 1, 2}, (const float[]){1, 2});
    bl_scene *s = fog("small.vol");
    uint32_t grid = find(s, "fog.sigma_t.data");
    const float values[2] = {1, 2};
    const uint32_t empty[4] = {1, 0, 1, 1}, coloured[4] = {1, 1, 1, 3},
                   huge[4] = {1 << 15, 1 << 15, 1 << 15, 1}, wraps[4] = {1u << 31, 1u << 31, 4, 1};
    const uint32_t *const bad[] = {empty, coloured, huge, wraps};
    for (int k = 0; k < 4; k++)
        assert_int_equal(bl_scene_resize_parameter(s, grid, bad[k], values), BL_ERROR_ARGUMENT);
    assert_int_equal(
        bl_scene_resize_parameter(s, find(s, "sky.radiance.value"), (const uint32_t[]){3}, values),
        BL_ERROR_ARGUMENT);
    assert_non_null(strstr(bl_context_error(device.context), "sky.radiance.value"));
    assert_int_equal(bl_scene_resize_parameter(s, 1000, empty, values), BL_ERROR_ARGUMENT);
    bl_scene_destroy(s);
}

/* ---- interpolation ---- */

/* At the place of a centre along an axis of n cells: linear in each axis, of degree 1 in all. */
static float linear(const uint32_t n[3], uint32_t z, uint32_t y, uint32_t x, uint32_t channel)
{
    double at[3] = {(z + 0.5) / n[0], (y + 0.5) / n[1], (x + 0.5) / n[2]};
    return (float)(1 + 2 * at[0] - 3 * at[1] + 0.5 * at[2] + channel);
}

/* Beyond the outer centres it is constant; near the ends of an axis that becomes shorter, means are of one
 * side. */
static bool between(uint32_t i, uint32_t m, uint32_t n)
{
    double at = (i + 0.5) * n / m;
    return m < n ? i > 0 && i + 1 < m : at >= 0.5 && at <= n - 0.5;
}

static void interpolation_keeps_what_is_linear(void **state)
{
    (void)state;
    enum { CHANNELS = 2 };
    static const uint32_t sizes[][2][3] = {
        {{4, 5, 6}, {8, 10, 12}}, {{4, 5, 6}, {7, 11, 20}}, {{16, 12, 9}, {4, 4, 3}}, {{5, 5, 5}, {5, 5, 5}}};
    for (uint32_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        const uint32_t *n = sizes[k][0], *m = sizes[k][1], from[4] = {n[0], n[1], n[2], CHANNELS},
                       to[4] = {m[0], m[1], m[2], CHANNELS};
        float *a = malloc(n[0] * n[1] * n[2] * CHANNELS * sizeof *a),
              *b = malloc(m[0] * m[1] * m[2] * CHANNELS * sizeof *b), *v = a;
        for (uint32_t z = 0; z < n[0]; z++)
            for (uint32_t y = 0; y < n[1]; y++)
                for (uint32_t x = 0; x < n[2]; x++)
                    for (uint32_t c = 0; c < CHANNELS; c++)
                        *v++ = linear(n, z, y, x, c);
        assert_int_equal(bl_resample(4, from, a, to, b), BL_OK);
        v = b;
        for (uint32_t z = 0; z < m[0]; z++)
            for (uint32_t y = 0; y < m[1]; y++)
                for (uint32_t x = 0; x < m[2]; x++)
                    for (uint32_t c = 0; c < CHANNELS; c++, v++)
                        if (between(z, m[0], n[0]) && between(y, m[1], n[1]) && between(x, m[2], n[2]))
                            assert_float_equal(*v, linear(m, z, y, x, c), 1e-5);
        free(a), free(b);
    }
    float one[3] = {1, 2, 3}, image[2 * 2 * 3];
    assert_int_equal(bl_resample(3, (const uint32_t[]){1, 1, 3}, one, (const uint32_t[]){2, 2, 3}, image),
                     BL_OK);
    for (int i = 0; i < 12; i++)
        assert_true(image[i] == one[i % 3]);
    assert_int_equal(bl_resample(3, (const uint32_t[]){1, 1, 3}, one, (const uint32_t[]){2, 2, 1}, image),
                     BL_ERROR_ARGUMENT);
    assert_int_equal(bl_resample(1, (const uint32_t[]){3}, one, (const uint32_t[]){6}, image),
                     BL_ERROR_ARGUMENT);
}

/* ---- fits ---- */

/* The fog's albedo is 0 in front of a black sky: no image depends on the density, so what moves it is its
 * variation: of two cells a and b with smoothing s and weight w, by w / 2 * (a - b) / sqrt(s^2 + (a -
 * b)^2). */
static void the_penalty_moves_values_by_its_slope(void **state)
{
    (void)state;
    const double weight = 3, smoothing = 0.2, rate = 0.05;
    const float start[2] = {0.3f, 1};
    float target[PIXELS] = {0}, after[2];
    write_grid("small.vol", (uint32_t[]){1, 1, 2}, start);
    bl_scene *s = fog("small.vol");
    const bl_fit_parameter p[2] = {
        {.name = "fog.sigma_t.data", .total_variation = weight, .smoothing = smoothing},
        {.name = "sky.radiance.value", .initial = (const float[]){0, 0, 0}, .rate = 1e-30}};
    bl_fit *fit;
    SCENE_MUST(&device, bl_fit_create(device.device, s,
                                      &(bl_fit_desc){.parameters = p,
                                                     .parameter_count = 2,
                                                     .target = target,
                                                     .spp = 1,
                                                     .optimizer = BL_OPTIMIZER_SGD,
                                                     .rate = rate},
                                      &fit));
    SCENE_MUST(&device, bl_fit_step(fit, NULL));
    SCENE_MUST(&device, bl_fit_get(fit, 0, after));
    double difference = (double)start[1] - (double)start[0];
    double slope = weight / 2 * difference / sqrt(smoothing * smoothing + difference * difference);
    assert_float_equal(after[0], (float)((double)start[0] + rate * slope), 1e-6);
    assert_float_equal(after[1], (float)((double)start[1] - rate * slope), 1e-6);
    bl_fit_destroy(fit);
    const bl_fit_parameter colour = {.name = "sky.radiance.value", .total_variation = 1};
    assert_int_equal(
        bl_fit_create(device.device, s,
                      &(bl_fit_desc){.parameters = &colour, .parameter_count = 1, .target = target}, &fit),
        BL_ERROR_ARGUMENT);
    assert_non_null(strstr(bl_context_error(device.context), "neither an image nor a grid"));
    bl_scene_destroy(s);
}

/* With an optimiser that remembers nothing, a fit in two parts is the fit in one. */
static void a_fit_goes_on_where_another_ended(void **state)
{
    (void)state;
    enum { FIRST = 3, STEPS = 7 };
    float target[PIXELS], values[2][3] = {{0}};
    for (int i = 0; i < PIXELS; i++)
        target[i] = (float)(i % 7) / 7;
    arena a = {0};
    bl_scene *s = scene_device_load(&device,
                                    scene_xml(&a, "<integrator type='direct'/>",
                                              arena_printf(&a, scene_sensor_format, SIDE, SIDE),
                                              "<shape type='rectangle'/><emitter type='constant' id='sky'/>"),
                                    ".");
    arena_free(&a);
    static const bl_fit_change schedule[] = {{2, 0.5, 0}, {FIRST + 2, 0.25, 0}};
    bl_fit_status status[2];
    for (int parts = 1; parts <= 2; parts++) {
        bl_fit_parameter p = {.name = "sky.radiance.value"};
        bl_fit_desc desc = {
            .parameters = &p,
            .parameter_count = 1,
            .target = target,
            .spp = 2,
            .seed = 5,
            .optimizer = BL_OPTIMIZER_SGD,
            .rate = 0.1,
            .schedule = schedule,
            .schedule_count = 2,
        };
        bl_fit *fit;
        for (int part = 0; part < parts; part++) {
            p.initial = part ? values[1] : NULL;
            desc.first_step = part ? FIRST : 0;
            SCENE_MUST(&device, bl_fit_create(device.device, s, &desc, &fit));
            assert_int_equal(bl_fit_status_get(fit).step, desc.first_step);
            for (uint32_t step = desc.first_step; step < (part + 1 < parts ? FIRST : STEPS); step++)
                SCENE_MUST(&device, bl_fit_step(fit, &status[parts - 1]));
            SCENE_MUST(&device, bl_fit_get(fit, 0, values[parts - 1]));
            bl_fit_destroy(fit);
        }
    }
    assert_true(status[0].step == STEPS && status[1].step == STEPS && status[0].loss == status[1].loss);
    assert_memory_equal(values[0], values[1], sizeof values[0]);
    bl_scene_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_resized_grid_is_a_grid_of_that_size),
        cmocka_unit_test(what_cannot_be_resized_is_refused),
        cmocka_unit_test(interpolation_keeps_what_is_linear),
        cmocka_unit_test(the_penalty_moves_values_by_its_slope),
        cmocka_unit_test(a_fit_goes_on_where_another_ended),
    };
    int failed = SCENE_DEVICE_RUN(&device, NULL, "resize", tests);
    unlink("small.vol"), unlink("large.vol");
    return failed;
}
