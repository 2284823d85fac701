/* LABELS: swiftshader=long native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Is the derivative right where edges move? The derivative of an image of 24 x 24 pixels, in forward mode, is
 * compared with differences of images of the scene that has really moved (same random numbers on both sides),
 * as means over 7 x 7 windows, over several seeds. Windows are smooth, overlap, and end before the image
 * does: a difference has a step, and an edge within a step of the border of a sharp window would be counted
 * on one side only. A window's z is its difference over its standard error, from the variances over seeds of
 * both. With 10 seeds z has a t distribution of 9 to 18 degrees of freedom, so its root mean square over 49
 * windows is 1.06 to 1.13 where nothing is wrong. Neighbours share half of their pixels, so it varies as that
 * of some 25 independent ones, by 0.15; z_most is three deviations above.
 *
 * Each case also fails without the edges' part, by far: so it would without the one of the three kernels that
 * it is for (seen, path, lit). And reverse mode must give, for random weights of pixels, the sum of weights
 * times the forward image of the same samples.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_device.h"

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

static scene_device device;
static char *folder;

typedef struct edge_case {
    const char *name, *depth, *camera, *body, *parameter;
    double along[3]; /* velocity of points */
    uint32_t spp;
    double step;
} edge_case;

#define AT(ops) "<transform name='to_world'>" ops "</transform>"
#define WALL                                                                                                 \
    "<shape type='rectangle'>" AT(                                                                           \
        "<scale value='5'/><translate z='-1'/>") "<bsdf type='diffuse'><rgb "                                \
                                                 "name='reflectance' "                                       \
                                                 "value='.7,.6,.3'/></bsdf></shape>"
#define BALL(ops)                                                                                            \
    "<shape type='sphere' id='it'><float name='radius' value='.4'/>" AT(                                     \
        ops) "<bsdf type='diffuse'><rgb name='reflectance' value='.2,.5,.8'/></bsdf></shape>"
#define LAMP(id, size, at)                                                                                   \
    "<shape type='rectangle' id='" id                                                                        \
    "'>" AT("<scale value='" size "'/><rotate x='1' angle='180'/>"                                           \
            "<translate value='" at                                                                          \
            "'/>") "<bsdf type='diffuse'><rgb name='reflectance' value='0'/></bsdf>"                         \
                   "<emitter type='area'><rgb name='radiance' value='10'/></emitter></shape>"
#define SKY "<emitter type='constant'><rgb name='radiance' value='.5'/></emitter>"
#define BULB                                                                                                 \
    "<emitter type='point' id='bulb'><point name='position' value='.9,1.8,3.1'/>"                            \
    "<rgb name='intensity' value='10'/></emitter>"
#define FRONT "origin='0,0,4' target='0.03,0.02,0' up='0,1,0'"
#define BELOW "origin='0,0,1' target='0.02,0.01,-1' up='0,1,0'" /* what casts the shadow is behind it */

static const edge_case cases[] = {
    {"path: a ball under a bulb, and a sky that light sampling never chooses",
     "2",
     "origin='0,0,3' target='0.05,0.03,-1' up='0,1,0'",
     WALL BALL("<translate value='.07,.1,.2'/>") BULB
     "<emitter type='constant'><rgb name='radiance' value='.5'/><float name='sampling_weight' "
     "value='0'/></emitter>",
     "it.to_world",
     {1, .2, .3},
     256,
     .004},
    {"seen: a ball that shines before a wall that shines",
     "1",
     FRONT,
     "<shape type='rectangle'>" AT(
         "<scale value='5'/><translate z='-1'/>") "<emitter type='area'><rgb "
                                                  "name='radiance' "
                                                  "value='.3'/></emitter></shape><shape "
                                                  "type='sphere' id='it'><float name='radius' "
                                                  "value='.61'/>" AT(
                                                      "<translate value='.1,.05,.5'/>") "<emitter "
                                                                                        "type='area'/"
                                                                                        "></shape>",
     "it.to_world",
     {1, .3, .5},
     64,
     .004},
    {"lit: the shadow of a ball under a lamp",
     "2",
     BELOW,
     WALL BALL("<translate value='.05,.1,1.5'/>") LAMP("lamp", ".7", "0,0,3.2"),
     "it.to_world",
     {1, .2, .3},
     64,
     .01},
    {"lit: its lamp moves",
     "2",
     BELOW,
     WALL BALL("<translate value='.05,.1,1.5'/>") LAMP("lamp", ".3", "0,0,3.2"),
     "lamp.to_world",
     {.7, -.4, .5},
     128,
     .01},
    {"lit: a cube's shadow under a bulb",
     "2",
     BELOW,
     WALL "<shape type='cube' id='it'>" AT(
         "<scale value='.3'/><rotate x='1' angle='35'/>"
         "<translate value='.35,.65,1.6'/>") "<bsdf type='diffuse'/></shape>" BULB,
     "it.to_world",
     {1, -.5, .2},
     128,
     .001},
    {"lit: the bulb moves",
     "2",
     BELOW,
     WALL "<shape type='cube' id='it'>" AT(
         "<scale value='.3'/><rotate x='1' angle='35'/>"
         "<translate value='.35,.65,1.6'/>") "<bsdf type='diffuse'/></shape>" BULB,
     "bulb.position",
     {1, -.5, .2},
     128,
     .002},
    {"lit: the wall under the shadow moves",
     "2",
     BELOW,
     "<shape type='rectangle' id='it'>" AT(
         "<scale value='5'/><rotate y='1' angle='25'/><translate "
         "z='-1'/>") "<bsdf type='diffuse'/></shape><shape "
                     "type='sphere'><float name='radius' "
                     "value='.4'/>" AT("<translate "
                                       "value='.05,.1,1.5'/>") "</"
                                                               "sha"
                                                               "pe"
                                                               ">" LAMP("lamp", ".3", "0,0,3.2"),
     "it.to_world",
     {.5, .2, 1},
     64,
     .02},
    {"path: a plate hides a part of a wall that a rough mirror shows",
     "3",
     "origin='0,0,2' target='0,0.03,-1' up='0,1,0'",
     "<shape type='rectangle'>" AT(
         "<scale value='5'/><rotate x='1' angle='-20'/><translate z='-1'/>") "<bsdf "
                                                                             "type='roughconductor'><"
                                                                             "float name='alpha' "
                                                                             "value='.2'/><string "
                                                                             "name='material' "
                                                                             "value='none'/></bsdf>"
                                                                             "</shape><shape "
                                                                             "type='rectangle' "
                                                                             "id='it'>" AT(
                                                                                 "<scale "
                                                                                 "value='.5'/"
                                                                                 "><rotate x='1' "
                                                                                 "angle='152'/"
                                                                                 "><translate "
                                                                                 "value='.1,1.1,1.3'/"
                                                                                 ">") "<bsdf "
                                                                                      "type='diffuse'"
                                                                                      "><rgb "
                                                                                      "name='"
                                                                                      "reflectance' "
                                                                                      "value='.1'/></"
                                                                                      "bsdf></"
                                                                                      "shape><shape "
                                                                                      "type='"
                                                                                      "rectangle'"
                                                                                      ">" AT("<scale "
                                                                                             "value='"
                                                                                             "9'/"
                                                                                             "><"
                                                                                             "rotate "
                                                                                             "x='1' "
                                                                                             "angle='"
                                                                                             "160'/"
                                                                                             "><"
                                                                                             "transla"
                                                                                             "te "
                                                                                             "value='"
                                                                                             "0,2,4'/"
                                                                                             ">") "</"
                                                                                                  "sh"
                                                                                                  "ap"
                                                                                                  "e>"
                                                                                                  "<e"
                                                                                                  "mi"
                                                                                                  "tt"
                                                                                                  "er"
                                                                                                  " t"
                                                                                                  "yp"
                                                                                                  "e="
                                                                                                  "'p"
                                                                                                  "oi"
                                                                                                  "nt"
                                                                                                  "'>"
                                                                                                  "<p"
                                                                                                  "oi"
                                                                                                  "nt"
                                                                                                  " n"
                                                                                                  "am"
                                                                                                  "e="
                                                                                                  "'p"
                                                                                                  "os"
                                                                                                  "it"
                                                                                                  "io"
                                                                                                  "n'"
                                                                                                  " v"
                                                                                                  "al"
                                                                                                  "ue"
                                                                                                  "='"
                                                                                                  ".3"
                                                                                                  ",1"
                                                                                                  ".5"
                                                                                                  ",2"
                                                                                                  ".5"
                                                                                                  "'/"
                                                                                                  "><"
                                                                                                  "rg"
                                                                                                  "b "
                                                                                                  "na"
                                                                                                  "me"
                                                                                                  "='"
                                                                                                  "in"
                                                                                                  "te"
                                                                                                  "ns"
                                                                                                  "it"
                                                                                                  "y'"
                                                                                                  " v"
                                                                                                  "al"
                                                                                                  "ue"
                                                                                                  "='"
                                                                                                  "9'"
                                                                                                  "/>"
                                                                                                  "</"
                                                                                                  "em"
                                                                                                  "it"
                                                                                                  "te"
                                                                                                  "r"
                                                                                                  ">",
     "it.to_world",
     {1, .5, 0},
     256,
     .03},
    {"all: a ball over a wall under the sky",
     "4",
     "origin='0,0,3' target='0.05,0.03,-1' up='0,1,0'",
     WALL BALL("<translate value='.07,.1,.2'/>") SKY,
     "it.to_world",
     {1, .2, .3},
     128,
     .02},
    {"all: an open tube",
     "3",
     FRONT,
     WALL "<shape type='cylinder' id='it'><float name='radius' value='.31'/>" AT(
         "<rotate x='1' angle='53'/><translate value='.03,.2,.5'/>") "<bsdf type='twosided'><bsdf "
                                                                     "type='diffuse'/></bsdf></"
                                                                     "shape>" SKY,
     "it.to_world",
     {1, .3, 0},
     256,
     .01},
    {"all: a disk that shines",
     "2",
     FRONT,
     WALL "<shape type='disk' id='it'>" AT("<scale value='.53'/><rotate y='1' angle='30'/><translate "
                                           "value='.03,.2,.5'/>") "<emitter type='area'><rgb name='radiance' "
                                                                  "value='2'/></emitter></shape>",
     "it.to_world",
     {1, .3, .2},
     64,
     .01},
    {"all: a group that is shown",
     "3",
     FRONT,
     WALL "<shape type='shapegroup' id='g'><shape type='cube'>" AT(
         "<scale value='.4'/><rotate x='1' "
         "angle='30'/>") "<bsdf type='diffuse'/></shape></shape><shape type='instance' id='it'><ref "
                         "id='g'/>" AT("<scale value='1.2,.8,1'/><rotate y='1' "
                                       "angle='40'/><translate value='.03,.21,.5'/>") "</shape>" BULB,
     "it.to_world",
     {1, .3, .2},
     128,
     .01},
    {"all: vertices of a cube",
     "3",
     FRONT,
     WALL "<shape type='cube' id='it'>" AT(
         "<scale value='.4'/><rotate x='1' angle='30'/><rotate y='1' "
         "angle='40'/><translate value='.03,.21,.5'/>") "<bsdf type='diffuse'/></shape>" BULB,
     "it.vertex_positions",
     {1, .3, .2},
     128,
     .01},
    {"all: the camera",
     "3",
     FRONT,
     WALL "<shape type='cube' id='it'>" AT(
         "<scale value='.4'/><rotate x='1' angle='30'/><rotate y='1' "
         "angle='40'/><translate value='.03,.21,.5'/>") "<bsdf type='diffuse'/></shape>" BULB,
     "sensor.translation",
     {1, .3, .2},
     128,
     .01},
    {"all: a bent rod with round ends",
     "3",
     FRONT,
     WALL "<shape type='linearcurve' id='it'><string name='filename' value='knee.curves'/>" AT(
         "<translate value='.03,.02,.3'/>") "<bsdf type='diffuse'><rgb name='reflectance' "
                                            "value='.2,.5,.8'/></bsdf></shape>" BULB,
     "it.to_world",
     {1, .3, .2},
     128,
     .003},
    {"all: an ellipsoid",
     "3",
     FRONT,
     WALL "<shape type='ellipsoids' id='it'><string name='filename' value='gaussian.ply'/>" AT(
         "<scale value='.2'/><translate value='.03,.02,.3'/>") "<bsdf type='diffuse'><rgb name='reflectance' "
                                                               "value='.2,.5,.8'/></bsdf></shape>" BULB,
     "it.to_world",
     {1, .3, .2},
     128,
     .003},
};
enum { CASES = sizeof cases / sizeof *cases };

/* ---- a scene, its derivative, its differences ---- */

typedef struct moving {
    const edge_case *c;
    bl_scene *scene;
    bl_job *job;
    uint32_t parameter, count;
    float start[NUMBERS_MOST], along[NUMBERS_MOST];
} moving;

static moving load(const edge_case *c)
{
    static char xml[1 << 14];
    moving m = {.c = c};
    snprintf(
        xml, sizeof xml,
        "<scene version='3.0.0'><integrator type='path'><integer name='max_depth' value='%s'/></integrator>"
        "<sensor type='perspective' id='sensor'><float name='fov' value='41'/>" AT(
            "<lookat %s/>") "<film "
                            "type='hdrfilm'><integer name='width' value='24'/><integer name='height' "
                            "value='24'/><rfilter "
                            "type='box'/></film></sensor>%s</scene>",
        c->depth, c->camera, c->body);
    m.scene = scene_device_load(&device, xml, folder);
    bl_job_desc desc = {.parameters = &c->parameter, .parameter_count = 1, .rays = scene_device_rays()};
    SCENE_MUST(&device, bl_job_create(device.device, m.scene, &desc, &m.job));
    m.parameter = scene_device_find(&device, m.scene, c->parameter);
    bl_parameter_info info;
    SCENE_MUST(&device, bl_scene_parameter_info(m.scene, m.parameter, &info));
    assert_null(info.reason);
    m.count = info.count;
    assert_true(m.count <= NUMBERS_MOST);
    SCENE_MUST(&device, bl_scene_get_parameter(m.scene, m.parameter, m.start));
    for (uint32_t i = 0; i < m.count; i++)
        m.along[i] = m.count != 16          ? (float)c->along[i % 3]
                     : i % 4 == 3 && i < 12 ? (float)c->along[i / 4]
                                            : 0;
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
    SCENE_MUST(&device, bl_job_forward(m->job, &desc, image, NULL));
}

static void difference(moving *m, uint32_t seed, float *image)
{
    static float side[2][VALUES];
    float there[NUMBERS_MOST];
    for (int k = 0; k < 2; k++) {
        for (uint32_t i = 0; i < m->count; i++)
            there[i] = m->start[i] + (float)(k ? m->c->step : -m->c->step) * m->along[i];
        SCENE_MUST(&device, bl_job_set_parameter(m->job, m->parameter, there));
        SCENE_MUST(&device,
                   bl_job_render(m->job, &(bl_render_desc){.spp = m->c->spp, .seed = seed}, side[k], NULL));
    }
    SCENE_MUST(&device, bl_job_set_parameter(m->job, m->parameter, m->start));
    for (int i = 0; i < VALUES; i++)
        image[i] = (side[1][i] - side[0][i]) / (float)(2 * m->c->step);
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

/* The root mean square of z over windows in which anything happens. */
static double rms_z(const block_sums *a, const block_sums *b)
{
    double sum = 0;
    int count = 0;
    for (int k = 0; k < BLOCKS * BLOCKS; k++) {
        double variance = 0;
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
    SCENE_MUST(&device, bl_job_gradient(m->job, &desc, &stats));
    assert_true(stats.edges > 0);
    SCENE_MUST(&device, bl_job_read_gradient(m->job, 0, g));
    for (uint32_t i = 0; i < m->count; i++)
        reverse += (double)g[i] * (double)m->along[i];
    if (!(fabs(forward - reverse) <= 1e-4 * size))
        fail_msg("%s: forward mode %.7g, reverse mode %.7g (terms of %.3g)", m->c->name, forward, reverse,
                 size);
}

static void expect_case(void **state)
{
    const edge_case *c = *state;
    static float image[VALUES];
    moving m = load(c);
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

int main(void)
{
    struct CMUnitTest tests[CASES];
    for (int i = 0; i < CASES; i++)
        tests[i] = (struct CMUnitTest){cases[i].name, expect_case, NULL, NULL, (void *)(uintptr_t)&cases[i]};
    return scene_device_run(&device, &folder, "edges", tests, CASES, NULL);
}
