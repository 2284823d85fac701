/* LABELS: swiftshader=long native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Are gradients by the camera and by shapes right where one job has both? Such a job walks volumetric paths
 * and has other boundary passes than a job for either alone (plan_is_volumetric), or it is split. Those are
 * checked against differences by other tests, so here each gradient is compared with that of a job for its
 * parameter alone, over several seeds. Forward mode must agree with reverse mode on the same samples, and
 * without the part of edges the gradient must be another one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scene/scene.h"
#include "support/edge_cases.h"
#include "support/scene_cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 24, VALUES = 3 * SIDE * SIDE, SEEDS = 12, NUMBERS = 96, PARAMETERS = 3 };
/* The root mean square of z is at most 1.1 where nothing is wrong (edge_cases.h); by few numbers it varies
 * more, since those of one parameter are found by the same samples. */
static const double z_most = 2.2;

typedef struct joint_case {
    const char *name, *depth, *body, *parameters[PARAMETERS];
    uint32_t spp;
} joint_case;

#define GREY(value) "<bsdf type='diffuse'><rgb name='reflectance' value='" value "'/></bsdf>"
#define SOLID(kind, ops) "<shape type='" kind "' id='it'>" AT(ops) GREY(".2,.5,.8") "</shape>"
#define TURNED "<scale value='.3'/><rotate x='1' y='.3' z='.5' angle='40'/><translate value='.07,.1,.2'/>"
#define COPPER                                                                                               \
    "<bsdf type='roughconductor'><string name='material' value='Cu'/><float name='alpha' "                   \
    "value='.25'/></bsdf>"
#define COPPER_WALL "<shape type='rectangle'>" AT("<scale value='5'/><translate z='-1'/>") COPPER "</shape>"
#define SCREEN                                                                                               \
    "<shape type='rectangle'>" AT("<scale value='5'/><rotate y='1' angle='90'/><translate x='-1.3'/>")       \
        GREY(".5") "</shape>"
#define MIRROR                                                                                               \
    "<shape type='rectangle'>" AT("<scale value='.4'/><rotate x='1' angle='20'/><translate "                 \
                                  "value='.6,0,0'/>") "<bsdf type='conductor'/></shape>"
#define SUNS "<emitter type='envmap'><string name='filename' value='suns.pfm'/></emitter>"
#define GROUP "<shape type='shapegroup' id='group'>" KERNEL "</shape>"
#define KERNEL "<shape type='sphere'><float name='radius' value='.4'/>" GREY(".5") "</shape>"
#define INSTANCE "<shape type='instance' id='it'>" AT("<translate value='.07,.1,.2'/>") OF_GROUP "</shape>"
#define OF_GROUP "<ref id='group'/>"

static const joint_case cases[] = {
    {"a ball under a lamp",
     "3",
     WALL BALL("<translate value='.07,.1,.2'/>") LAMP("lamp", ".4", "1.6,0,3.2"),
     {"it.translation", "sensor.translation", "lamp.translation"},
     64},
    {"a cube under a bulb and the sky",
     "2",
     WALL SOLID("cube", TURNED) BULB SKY,
     {"it.rotation", "sensor.rotation", "bulb.position"},
     128},
    {"vertices of a cube under a small lamp",
     "2",
     WALL SOLID("cube", TURNED) LAMP("lamp", ".15", "1.6,0,3.2"),
     {"it.vertex_positions", "sensor.translation", "sensor.x_fov"},
     128},
    {"a disk before rough copper",
     "3",
     COPPER_WALL SOLID("disk", "<scale value='.5'/><rotate y='1' angle='40'/><translate z='.3'/>") SKY,
     {"it.translation", "sensor.translation", "sensor.rotation"},
     128},
    {"a ball beside a screen, which hides one of the sky's two suns",
     "2",
     WALL BALL("<translate value='.07,.1,.2'/>") SCREEN SUNS,
     {"it.translation", "sensor.translation"},
     128},
    {"a ball beside a mirror, by two sets of kernels",
     "2",
     WALL BALL("<translate value='-.5,.1,.2'/>") MIRROR SKY,
     {"it.translation", "sensor.translation"},
     64},
    {"an instance",
     "2",
     WALL GROUP INSTANCE LAMP("lamp", ".4", "1.6,0,3.2"),
     {"it.translation", "sensor.translation"},
     64},
};

static scene_device device;
static char *folder;
static float weights[VALUES];

typedef struct numbers {
    uint32_t count;
    double sum[NUMBERS], squares[NUMBERS];
} numbers;

static uint32_t parameters_of(const joint_case *c)
{
    uint32_t count = 0;
    while (count < PARAMETERS && c->parameters[count])
        count++;
    return count;
}

static bl_scene *load(const joint_case *c)
{
    static char xml[1 << 14];
    snprintf(xml, sizeof xml,
             "<scene version='3.0.0'><integrator type='path'><integer name='max_depth' "
             "value='%s'/></integrator>" EYE("<lookat " FRONT "/>",
                                             "24") "<rfilter type='box'/></film></sensor>%s</scene>",
             c->depth, c->body);
    return scene_device_load(&device, xml, folder);
}

/* A dark sky with two small bright places, at the left and at the right behind the camera. */
static void write_suns(void)
{
    enum { WIDTH = 16, HEIGHT = 8, ROW = 3 };
    static float sky[3 * WIDTH * HEIGHT];
    char path[512];
    for (int i = 0; i < 3 * WIDTH * HEIGHT; i++)
        sky[i] = i / 3 / WIDTH == ROW && (i / 3 % WIDTH == 6 || i / 3 % WIDTH == 9) ? 60 : .05f;
    snprintf(path, sizeof path, "%s/suns.pfm", folder);
    assert_int_equal(image_save(path, WIDTH, HEIGHT, 3, sky, false, NULL), BL_OK);
}

static bl_job *job_for(const bl_scene *scene, const char *const *parameters, uint32_t count)
{
    bl_job *job;
    const bl_job_desc desc = {
        .parameters = parameters, .parameter_count = count, .rays = scene_device_rays()};
    SCENE_MUST(&device, bl_job_create(device.device, scene, &desc, &job));
    return job;
}

/* One gradient, the numbers of all parameters one after the other. Returns how many. */
static uint32_t gradient(bl_job *job, const bl_scene *scene, const char *const *parameters, uint32_t count,
                         const bl_gradient_desc *desc, float *out)
{
    uint32_t at = 0;
    SCENE_MUST(&device, bl_job_gradient(job, desc, NULL));
    for (uint32_t k = 0; k < count; k++) {
        bl_parameter_info info;
        SCENE_MUST(&device,
                   bl_scene_parameter_info(scene, scene_device_find(&device, scene, parameters[k]), &info));
        assert_true(at + info.count <= NUMBERS);
        SCENE_MUST(&device, bl_job_read_gradient(job, k, out + at));
        at += info.count;
    }
    return at;
}

/* Adds gradients of several seeds behind the numbers that are there. */
static void take(numbers *n, const joint_case *c, const bl_scene *scene, const char *const *parameters,
                 uint32_t count, bl_edges edges)
{
    float values[NUMBERS];
    uint32_t found = 0;
    bl_job *job = job_for(scene, parameters, count);
    for (uint32_t seed = 0; seed < SEEDS; seed++) {
        const bl_gradient_desc desc = {.adjoint = weights, .spp = c->spp, .seed = seed, .edges = edges};
        found = gradient(job, scene, parameters, count, &desc, values);
        assert_true(n->count + found <= NUMBERS);
        for (uint32_t i = 0; i < found; i++)
            n->sum[n->count + i] += (double)values[i],
                n->squares[n->count + i] += (double)values[i] * (double)values[i];
    }
    n->count += found;
    bl_job_destroy(job);
}

static double rms_z(const numbers *a, const numbers *b)
{
    double sum = 0;
    uint32_t count = 0;
    assert_int_equal(a->count, b->count);
    for (uint32_t i = 0; i < a->count; i++) {
        double variance = 0;
        const numbers *both[] = {a, b};
        for (int k = 0; k < 2; k++)
            variance += fmax(0, both[k]->squares[i] - both[k]->sum[i] * both[k]->sum[i] / SEEDS);
        double z = (a->sum[i] - b->sum[i]) / sqrt(variance * SEEDS / (SEEDS - 1));
        if (variance > 0)
            sum += z * z, count++;
    }
    assert_true(count > 0);
    return sqrt(sum / count);
}

/* The image's derivative along all ones, times the weights, is the sum of the gradient's numbers. */
static void expect_forward(const joint_case *c, const bl_scene *scene)
{
    static float image[VALUES], values[NUMBERS], ones[NUMBERS];
    const uint32_t count = parameters_of(c);
    const float *tangents[PARAMETERS];
    bl_job *job = job_for(scene, c->parameters, count);
    double reverse = 0, forward = 0, size = 0;
    for (int i = 0; i < NUMBERS; i++)
        ones[i] = 1;
    for (uint32_t k = 0; k < count; k++)
        tangents[k] = ones;
    const uint32_t found = gradient(job, scene, c->parameters, count,
                                    &(bl_gradient_desc){.adjoint = weights, .spp = c->spp}, values);
    SCENE_MUST(&device,
               bl_job_forward(job, &(bl_forward_desc){.spp = c->spp, .tangents = tangents}, image, NULL));
    for (uint32_t i = 0; i < found; i++)
        reverse += (double)values[i];
    for (int i = 0; i < VALUES; i++)
        forward += (double)image[i] * (double)weights[i], size += fabs((double)image[i] * (double)weights[i]);
    assert_true(size > 0);
    if (fabs(forward - reverse) > 1e-4 * size)
        fail_msg("%s: forward mode has %g, reverse mode %g", c->name, forward, reverse);
    bl_job_destroy(job);
}

static void run(void **state)
{
    const joint_case *c = *state;
    const uint32_t count = parameters_of(c);
    write_suns();
    numbers joint = {0}, alone = {0}, smooth = {0};
    bl_scene *scene = load(c);
    for (int i = 0; i < VALUES; i++) /* different in each place, and smooth */
        weights[i] = (float)(1 + .7 * cos(.21 * (i / 3 % SIDE) + i % 3) + .5 * sin(.17 * (i / 3 / SIDE))) /
                     (SIDE * SIDE);
    take(&joint, c, scene, c->parameters, count, BL_EDGES_AUTO);
    take(&smooth, c, scene, c->parameters, count, BL_EDGES_NONE);
    for (uint32_t k = 0; k < count; k++)
        take(&alone, c, scene, c->parameters + k, 1, BL_EDGES_AUTO);
    const double z = rms_z(&joint, &alone), without = rms_z(&smooth, &alone);
    printf("%s: rms z %.2f; without edges %.1f\n", c->name, z, without);
    assert_true(z <= z_most);
    assert_true(without > 2 * z_most);
    expect_forward(c, scene);
    bl_scene_destroy(scene);
}

int main(void)
{
    struct CMUnitTest tests[sizeof cases / sizeof *cases];
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        tests[k] = (struct CMUnitTest){cases[k].name, run, NULL, NULL, (void *)(uintptr_t)&cases[k]};
    return SCENE_DEVICE_RUN(&device, &folder, "camera and shapes", tests);
}
