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
#include <string.h>

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

/* Where m is after that time of the motion: exp(time A) m, A being the velocity's matrix. */
static void go(const moved_case *c, double time, float m[16])
{
    float term[16], next[16];
    memcpy(term, m, sizeof term);
    for (int k = 1; k < 12; k++) {
        direction(c, 16, term, next);
        for (int i = 0; i < 16; i++)
            term[i] = (float)(time / k * (double)next[i]), m[i] += term[i];
    }
}

/* The same from another place, to which the motion has led: the geometry that the device keeps has followed.
 */
static void expect_there(moved_scene *m, const moved_case *c)
{
    double size;
    go(c, 0.3, m->start);
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
