/* SPDX-License-Identifier: BSD-3-Clause
 * The derivatives that moved_scene.h compares. */
#include "support/moved_scene.h"

#include "support/scene_cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEAN_SEEDS = 8 };
static const double worst_z = 4; /* of means */
static float image[MOVED_VALUES];

static double weight(int value)
{
    return (1 + 0.5 * cos(0.7 * (value / 3 % MOVED_PIXELS) + 0.4 * (value / 3 / MOVED_PIXELS) + value % 3)) /
           MOVED_VALUES;
}

double moved_weighted(const float *values)
{
    double sum = 0;
    for (int i = 0; i < MOVED_VALUES; i++)
        sum += weight(i) * (double)values[i];
    return sum;
}

/* The derivative along the motion of m: of to_world (16 numbers), the velocity's matrix times it; of points,
 * one after another, their velocities. */
static void direction(const moved_case *c, uint32_t count, const float *m, float *out)
{
    const double *w = c->motion.turn, *v = c->motion.move, s = c->motion.grow;
    const double a[12] = {s, -w[2], w[1], v[0], w[2], s, -w[0], v[1], -w[1], w[0], s, v[2]};
    for (uint32_t i = 0; i < count && count != 16; i++) {
        const double *row = a + 4 * (i % 3);
        const float *p = m + i / 3 * 3;
        out[i] = (float)(row[0] * (double)p[0] + row[1] * (double)p[1] + row[2] * (double)p[2] + row[3]);
    }
    for (int i = 0; i < 16 && count == 16; i++) {
        double sum = 0;
        for (int k = 0; k < 4 && i < 12; k++)
            sum += a[4 * (i / 4) + k] * (double)m[4 * k + i % 4];
        out[i] = (float)sum;
    }
}

moved_scene moved_load(scene_device *d, const moved_case *c, const char *integrator, const char *folder)
{
    arena a = {0};
    moved_scene m = {
        .d = d,
        .scene = scene_device_load(
            d, scene_xml(&a, integrator ? integrator : c->integrator, c->sensor, c->body), folder),
        .spp = c->spp};
    bl_job_desc desc = {
        .parameters = &c->parameter, .parameter_count = 1, .frozen = true, .rays = scene_device_rays()};
    SCENE_MUST(d, bl_job_create(d->device, m.scene, &desc, &m.job));
    m.parameter = scene_device_find(d, m.scene, c->parameter);
    bl_parameter_info info;
    SCENE_MUST(d, bl_scene_parameter_info(m.scene, m.parameter, &info));
    m.count = info.count;
    assert_true(m.count <= MOVED_NUMBERS);
    SCENE_MUST(d, bl_scene_get_parameter(m.scene, m.parameter, m.start));
    direction(c, m.count, m.start, m.along);
    arena_free(&a);
    return m;
}

void moved_free(moved_scene *m)
{
    bl_job_destroy(m->job);
    bl_scene_destroy(m->scene);
}

double moved_gradient(moved_scene *m, uint32_t seed, double *size)
{
    float g[MOVED_NUMBERS], weights[MOVED_VALUES];
    double sum = 0;
    bl_stats stats;
    for (int i = 0; i < MOVED_VALUES; i++)
        weights[i] = (float)weight(i);
    SCENE_MUST(m->d,
               bl_job_gradient(m->job,
                               &(bl_gradient_desc){
                                   .spp = m->spp, .seed = seed, .adjoint = weights, .edges = BL_EDGES_NONE},
                               &stats));
    SCENE_MUST(m->d, bl_job_read_gradient(m->job, 0, g));
    assert_int_equal(stats.drifted, 0);
    *size = 0;
    for (uint32_t i = 0; i < m->count; i++)
        sum += (double)g[i] * (double)m->along[i], *size += fabs((double)g[i] * (double)m->along[i]);
    return sum;
}

static double forward(moved_scene *m)
{
    const float *tangents[] = {m->along};
    SCENE_MUST(m->d, bl_job_forward(
                         m->job,
                         &(bl_forward_desc){
                             .spp = m->spp, .seed = MOVED_SEED, .tangents = tangents, .edges = BL_EDGES_NONE},
                         image, NULL));
    return moved_weighted(image);
}

static double frozen(moved_scene *m, double step)
{
    static float all[1 << 12];
    uint32_t at = 0;
    for (uint32_t k = 0; k < bl_scene_parameter_count(m->scene); k++) {
        bl_parameter_info info;
        SCENE_MUST(m->d, bl_scene_parameter_info(m->scene, k, &info));
        assert_true(at + info.count <= sizeof all / sizeof *all);
        SCENE_MUST(m->d, bl_scene_get_parameter(m->scene, k, all + at));
        for (uint32_t i = 0; k == m->parameter && i < m->count; i++)
            all[at + i] += (float)step * m->along[i];
        at += info.count;
    }
    SCENE_MUST(m->d,
               bl_job_render(m->job,
                             &(bl_render_desc){
                                 .spp = m->spp, .seed = MOVED_SEED, .gradient_stream = true, .frozen = all},
                             image, NULL));
    return moved_weighted(image);
}

static double plain(moved_scene *m, double step)
{
    float there[MOVED_NUMBERS];
    for (uint32_t i = 0; i < m->count; i++)
        there[i] = m->start[i] + (float)step * m->along[i];
    SCENE_MUST(m->d, bl_job_set_parameter(m->job, m->parameter, there));
    SCENE_MUST(m->d,
               bl_job_render(m->job,
                             &(bl_render_desc){.spp = m->spp, .seed = MOVED_SEED, .gradient_stream = true},
                             image, NULL));
    return moved_weighted(image);
}

/* The step is long because a sample that meets another face after it is noise, divided by the step. */
static double by_plain(moved_scene *m)
{
    const double h = 0.03;
    return (plain(m, h) - plain(m, -h)) / (2 * h);
}

/* Where m is after that time of the motion, in small steps by the midpoint's velocity. */
static void go(const moved_case *c, double time, uint32_t count, float *m)
{
    enum { STEPS = 64 };
    float velocity[MOVED_NUMBERS], middle[MOVED_NUMBERS];
    for (int step = 0; step < STEPS; step++) {
        direction(c, count, m, velocity);
        for (uint32_t i = 0; i < count; i++)
            middle[i] = m[i] + (float)(time / STEPS / 2 * (double)velocity[i]);
        direction(c, count, middle, velocity);
        for (uint32_t i = 0; i < count; i++)
            m[i] += (float)(time / STEPS * (double)velocity[i]);
    }
}

/* The same from another place, to which the motion has led: the geometry that the device keeps has followed.
 */
static void expect_there(moved_scene *m, const moved_case *c)
{
    double size;
    go(c, 0.3, m->count, m->start);
    direction(c, m->count, m->start, m->along);
    SCENE_MUST(m->d, bl_job_set_parameter(m->job, m->parameter, m->start));
    double along = moved_gradient(m, MOVED_SEED, &size), differences = by_plain(m);
    print_message("%s, there: reverse %.6g, plain %.6g; of parts of size %.6g\n", c->name, along, differences,
                  size);
    assert_true(fabs(differences - along) <= c->plain * size);
}

double moved_expect(scene_device *d, const moved_case *c, const char *folder)
{
    const double h = 0.004;
    moved_scene m = moved_load(d, c, NULL, folder);
    double size, along = moved_gradient(&m, MOVED_SEED, &size), ahead = forward(&m),
                 by_frozen = (frozen(&m, h) - frozen(&m, -h)) / (2 * h);
    double differences = c->plain > 0 ? by_plain(&m) : along;
    print_message("%s: reverse %.6g, forward %.6g, frozen %.6g, plain %.6g; of parts of size %.6g\n", c->name,
                  along, ahead, by_frozen, differences, size);
    assert_true(fabs(along) > 0.03 * size);
    assert_true(fabs(ahead - along) < 1e-3 * size);
    assert_true(fabs(by_frozen - along) < 3e-3 * size);
    assert_true(fabs(differences - along) <= c->plain * size);
    if (c->plain > 0)
        expect_there(&m, c);
    moved_free(&m);
    return along;
}

/* The case's weighted image at another pose. */
static double seen_from(moved_scene *m, double time, uint32_t seed)
{
    float pose[MOVED_NUMBERS];
    for (uint32_t i = 0; i < m->count; i++)
        pose[i] = m->start[i] + (float)time * m->along[i];
    SCENE_MUST(m->d, bl_job_set_parameter(m->job, m->parameter, pose));
    SCENE_MUST(m->d, bl_job_render(m->job, &(bl_render_desc){.spp = m->spp, .seed = seed}, image, NULL));
    return moved_weighted(image);
}

void moved_means_expect(scene_device *d, const moved_means *what, const char *folder)
{
    const double step = what->step;
    double sum[2] = {0}, square[2] = {0}, error[2], size;
    moved_scene m = moved_load(d, &what->c, NULL, folder);
    for (uint32_t seed = 1; seed <= MEAN_SEEDS; seed++) {
        SCENE_MUST(m.d, bl_job_set_parameter(m.job, m.parameter, m.start));
        double gradient = moved_gradient(&m, seed, &size);
        double x[2] = {gradient, (seen_from(&m, step, seed) - seen_from(&m, -step, seed)) / (2 * step)};
        for (int i = 0; i < 2; i++)
            sum[i] += x[i] / MEAN_SEEDS, square[i] += x[i] * x[i] / MEAN_SEEDS;
    }
    for (int i = 0; i < 2; i++)
        error[i] = sqrt(fmax(square[i] - sum[i] * sum[i], 0) / (MEAN_SEEDS - 1));
    double both = hypot(error[0], error[1]), z = (sum[0] - sum[1]) / both;
    print_message("%s: gradient %.5g +- %.2g, differences %.5g +- %.2g; z %.2f\n", what->c.name, sum[0],
                  error[0], sum[1], error[1], z);
    assert_true(fabs(sum[1]) > what->least * both);
    assert_true(fabs(z) < worst_z);
    moved_free(&m);
}

void moved_means_expect_all(scene_device *d, const moved_means *what, size_t count, size_t ordinary,
                            const char *folder)
{
    for (size_t k = 0; k < (getenv("BL_LONG") ? count : ordinary); k++)
        moved_means_expect(d, &what[k], folder);
}
