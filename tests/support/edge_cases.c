/* SPDX-License-Identifier: BSD-3-Clause
 * See edge_cases.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/edge_cases.h"

#include "base/base.h"
#include "support/todays_share.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    SIDE = 24,
    VALUES = 3 * SIDE * SIDE,
    BLOCK = 3 /* pixels from window to window */,
    BLOCKS = SIDE / BLOCK - 1,
    SEEDS = 10,
    NUMBERS_MOST = 128
};
static const double pi = 3.14159265358979323846;
static const double z_most = 1.1 + 3 * 0.15;

static scene_device *device;

/* ---- a scene, its derivative, its differences ---- */

typedef struct moving {
    const edge_case *c;
    bl_scene *scene;
    bl_job *job;
    uint32_t parameter, count;
    float start[NUMBERS_MOST], along[NUMBERS_MOST];
} moving;

static const char *sensor = "", *of_integrator = "";
static double before;
static bool parallel, one_sided;

void edge_case_sensor(const char *xml) { sensor = xml; }
void edge_case_parallel(bool rays) { parallel = rays; }
void edge_case_before(double by) { before = by; }
void edge_case_one_sided(bool kink) { one_sided = kink; }
void edge_case_integrator(const char *xml) { of_integrator = xml; }

static moving load(const edge_case *c, const char *integrator, const char *folder)
{
    static char xml[1 << 14], depth[64], eye[1 << 10];
    moving m = {.c = c};
    snprintf(depth, sizeof depth, c->depth ? "<integer name='max_depth' value='%s'/>" : "", c->depth);
    if (parallel)
        snprintf(eye, sizeof eye, PARALLEL_EYE("<lookat %s/>", "24"), c->camera);
    else
        snprintf(eye, sizeof eye, EYE("<lookat %s/>", "24"), c->camera);
    snprintf(xml, sizeof xml,
             "<scene version='3.0.0'><integrator type='%s'>%s%s</integrator>%s<rfilter "
             "type='box'/></film>%s</sensor>%s</scene>",
             integrator, depth, of_integrator, eye, sensor, c->body);
    m.scene = scene_device_load(device, xml, folder);
    bl_job_desc desc = {.parameters = &c->parameter, .parameter_count = 1, .rays = scene_device_rays()};
    SCENE_MUST(device, bl_job_create(device->device, m.scene, &desc, &m.job));
    m.parameter = scene_device_find(device, m.scene, c->parameter);
    bl_parameter_info info;
    SCENE_MUST(device, bl_scene_parameter_info(m.scene, m.parameter, &info));
    assert_true(!info.reason || strstr(c->body, "'conductor'") ||
                strstr(c->body, "'dielectric'")); /* mirrors show more than is sampled */
    m.count = info.count;
    assert_true(m.count <= NUMBERS_MOST);
    SCENE_MUST(device, bl_scene_get_parameter(m.scene, m.parameter, m.start));
    for (uint32_t i = 0; i < m.count; i++)
        m.along[i] = m.count != 16          ? (float)c->along[i % 3]
                     : i % 4 == 3 && i < 12 ? (float)c->along[i / 4]
                                            : 0;
    for (uint32_t i = 0; i < m.count; i++)
        m.start[i] += (float)before * m.along[i];
    SCENE_MUST(device, bl_job_set_parameter(m.job, m.parameter, m.start));
    return m;
}

static void unload(moving *m)
{
    bl_job_destroy(m->job);
    bl_scene_destroy(m->scene);
}

static void derivative(moving *m, uint32_t seed, bl_edges edges, float *image)
{
    const float *tangents[] = {m->along};
    bl_forward_desc desc = {.spp = m->c->spp, .seed = seed, .tangents = tangents, .edges = edges};
    SCENE_MUST(device, bl_job_forward(m->job, &desc, image, NULL));
}

static void difference(moving *m, uint32_t seed, float *image)
{
    static const double places[2][3] = {{-1, 1}, {0, 1, 2}}, weights[2][3] = {{-.5, .5}, {-1.5, 2, -.5}};
    static float there[VALUES];
    static double sum[VALUES]; /* exact where nothing changes */
    float moved[NUMBERS_MOST];
    memset(sum, 0, sizeof sum);
    for (int k = 0; k < 2 + one_sided; k++) {
        for (uint32_t i = 0; i < m->count; i++)
            moved[i] = m->start[i] + (float)(places[one_sided][k] * m->c->step) * m->along[i];
        SCENE_MUST(device, bl_job_set_parameter(m->job, m->parameter, moved));
        SCENE_MUST(device,
                   bl_job_render(m->job, &(bl_render_desc){.spp = m->c->spp, .seed = seed}, there, NULL));
        for (int i = 0; i < VALUES; i++)
            sum[i] += weights[one_sided][k] * (double)there[i];
    }
    SCENE_MUST(device, bl_job_set_parameter(m->job, m->parameter, m->start));
    for (int i = 0; i < VALUES; i++)
        image[i] = (float)(sum[i] / m->c->step);
}

/* ---- blocks ---- */

typedef struct block_sums {
    double sum[BLOCKS * BLOCKS], squares[BLOCKS * BLOCKS];
} block_sums;

/* The weight of a pixel in a window, along one axis. */
static double taper(int pixel, int window)
{
    double x = fabs(pixel + 0.5 - (window + 1) * BLOCK) / BLOCK;
    return x < 1 ? (0.5 + 0.5 * cos(pi * x)) / BLOCK : 0;
}

static void add_blocks(block_sums *b, const float *image)
{
    double mean[BLOCKS * BLOCKS] = {0};
    for (int i = 0; i < VALUES; i++)
        for (int k = 0; k < BLOCKS * BLOCKS; k++)
            mean[k] += taper(i / 3 % SIDE, k % BLOCKS) * taper(i / 3 / SIDE, k / BLOCKS) * (double)image[i];
    for (int k = 0; k < BLOCKS * BLOCKS; k++)
        b->sum[k] += mean[k], b->squares[k] += mean[k] * mean[k];
}

static double largest_of(const block_sums *b)
{
    double most = 0;
    for (int k = 0; k < BLOCKS * BLOCKS; k++)
        most = fmax(most, fabs(b->sum[k]));
    return most;
}

/* The root mean square of z over windows in which anything happens. Where one of both never found anything,
 * as where a shadow touches a window with a corner alone, its error is not known: a hundred-thousandth of the
 * largest window is let pass there. */
static double rms_z(const block_sums *a, const block_sums *b)
{
    double sum = 0, little = 1e-5 * fmax(largest_of(a), largest_of(b));
    int count = 0;
    for (int k = 0; k < BLOCKS * BLOCKS; k++) {
        double variance = 0;
        bool unseen = a->squares[k] <= 0 || b->squares[k] <= 0;
        if (unseen && fabs(a->sum[k] - b->sum[k]) <= little)
            continue;
        const block_sums *both[2] = {a, b};
        for (int j = 0; j < 2; j++) {
            double mean = both[j]->sum[k] / SEEDS;
            variance += (both[j]->squares[k] / SEEDS - mean * mean) / (SEEDS - 1);
        }
        if (variance <= 0)
            continue;
        double d = (a->sum[k] - b->sum[k]) / SEEDS;
        sum += d * d / variance, count++;
    }
    assert_true(count >= BLOCKS);
    return sqrt(sum / count);
}

/* ---- reverse mode ---- */

static void expect_reverse_equals_forward(moving *m)
{
    static float weights[VALUES], image[VALUES];
    float g[NUMBERS_MOST];
    double forward = 0, reverse = 0, size = 0;
    for (int i = 0; i < VALUES; i++)
        weights[i] = (float)(1 + 0.5 * cos(0.7 * i)) / VALUES;
    derivative(m, 77, BL_EDGES_AUTO, image);
    for (int i = 0; i < VALUES; i++)
        forward += (double)weights[i] * (double)image[i], size += fabs((double)weights[i] * (double)image[i]);
    bl_gradient_desc desc = {.spp = m->c->spp, .seed = 77, .adjoint = weights, .form = BL_FORM_FUSED};
    bl_stats stats;
    SCENE_MUST(device, bl_job_gradient(m->job, &desc, &stats));
    assert_true(stats.edges > 0);
    assert_int_equal(stats.cut, 0); /* no ray through a medium goes on for ever */
    SCENE_MUST(device, bl_job_read_gradient(m->job, 0, g));
    for (uint32_t i = 0; i < m->count; i++)
        reverse += (double)g[i] * (double)m->along[i];
    if (!(fabs(forward - reverse) <= 1e-4 * size))
        fail_msg("%s: forward mode %.7g, reverse mode %.7g (terms of %.3g)", m->c->name, forward, reverse,
                 size);
}

void edge_case_expect(scene_device *of, const char *folder, const char *integrator, const edge_case *c)
{
    static float image[VALUES];
    device = of;
    moving m = load(c, integrator, folder);
    block_sums with = {0}, without = {0}, moved = {0};
    for (uint32_t s = 0; s < SEEDS; s++) {
        derivative(&m, 100 + s, BL_EDGES_AUTO, image), add_blocks(&with, image);
        derivative(&m, 100 + s, BL_EDGES_NONE, image), add_blocks(&without, image);
        difference(&m, s, image), add_blocks(&moved, image);
    }
    double right = rms_z(&with, &moved), wrong = rms_z(&without, &moved);
    print_message("%s: rms z %.2f; without edges %.1f\n", c->name, right, wrong);
    if (!(right <= z_most))
        fail_msg("%s: rms z is %.2f, at most %.2f is noise", c->name, right, z_most);
    if (!(wrong > 2 * z_most))
        fail_msg("%s: without edges rms z is %.2f, so the case shows nothing", c->name, wrong);
    expect_reverse_equals_forward(&m);
    unload(&m);
}

/* ---- a program of cases ---- */

static scene_device own;
static char *own_folder;

static void expect_case(void **state)
{
    const edge_case_in *it = *state;
    edge_case_expect(&own, own_folder, it->integrator, &it->c);
}

int edge_cases_run(const char *name, const edge_case_in *cases, uint32_t count)
{
    enum { MOST = 64 };
    struct CMUnitTest tests[MOST];
    BL_ASSERT(count <= MOST, "%u cases", count);
    uint32_t chosen = 0;
    for (uint32_t i = 0; i < count; i++)
        if (todays_share(i))
            tests[chosen++] =
                (struct CMUnitTest){cases[i].c.name, expect_case, NULL, NULL, (void *)(uintptr_t)&cases[i]};
    return scene_device_run(&own, &own_folder, name, tests, chosen, NULL);
}
