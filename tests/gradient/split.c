/* LABELS: swiftshader=long native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Are gradients right where one job has what moves shapes and what turns a mirror? Such a job is split: it
 * has two sets of kernels, and each differentiates its own part (src/api/job_split.h).
 *
 * Each number must be, bit for bit, that of a job for its part alone, in every form of the gradient, in sums
 * that go on, and where normals are asked for of the mirror and follow from positions on the mesh. The
 * gradient along a direction of all parameters must be that of differences whose steps shrink. Forward mode
 * must agree with reverse mode, each image of frozen paths with the gradient of its part, and a fit must find
 * the place of a mesh and the turn of a mirror at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/edge_cases.h"
#include "support/scene_cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 24, VALUES = 3 * SIDE * SIDE, PARAMETERS = 7, NUMBERS = 256, SEEDS = 12 };

static scene_device device;
static char *folder;
static float weights[VALUES], target[VALUES];

#define MATT(value) "<bsdf type='diffuse'><rgb name='reflectance' value='" value "'/></bsdf>"
/* A mesh whose normals are generated. */
#define MESH                                                                                                 \
    "<shape type='obj' id='it'><string name='filename' value='twenty.obj'/>" AT(                             \
        "<scale value='.4'/><translate value='-.5,.1,.2'/>") "<bsdf type='diffuse' id='paint'><rgb "         \
                                                             "name='reflectance' "                           \
                                                             "value='.2,.5,.8'/></bsdf></shape>"
/* A square with normals of its own. */
#define MIRROR(material)                                                                                     \
    "<shape type='ply' id='patch'><string name='filename' value='patch.ply'/>" AT(                           \
        "<scale value='.5'/><translate value='.6,-.1,-.2'/>") material "</shape>"
#define CONDUCTOR "<bsdf type='conductor' id='metal'><string name='material' value='none'/></bsdf>"
#define BENT                                                                                                 \
    "<bsdf type='normalmap' id='bent'><rgb name='normalmap' value='.55,.48,.95'/>" CONDUCTOR "</bsdf>"
#define ROUGH                                                                                                \
    "<bsdf type='roughconductor' id='rough'><string name='material' value='Cu'/><float name='alpha' "        \
    "value='.2'/></bsdf>"
#define PICTURE_SKY "<emitter type='envmap' id='sky'><string name='filename' value='sky.pfm'/></emitter>"

#define PAPERED_WALL                                                                                         \
    "<shape type='rectangle'>" AT(                                                                           \
        "<scale value='5'/><translate z='-1'/>") "<bsdf type='diffuse' id='wall'><texture type='bitmap' "    \
                                                 "name='reflectance' id='paper'><string name='filename' "    \
                                                 "value='texture.pfm'/><boolean name='raw' "                 \
                                                 "value='true'/></texture></bsdf></shape>"

/* Parameters of shapes first. */
typedef struct split_case {
    const char *name, *integrator, *body, *parameters[PARAMETERS + 1];
    uint32_t shapes; /* so many of them are of the first part */
    double rounding; /* of the largest number; 0: bits are the same. What has a place is made from it, and
                        kernels of rough mirrors that are asked for their roughness round otherwise */
} split_case;

/* Each part alone has more elements than lanes sum privately (opt/accumulate.c), or both together have fewer.
 */
static const split_case cases[] = {
    {"vertices and the normals of a mirror",
     "path",
     PAPERED_WALL MESH MIRROR(CONDUCTOR) PICTURE_SKY,
     {"it.vertex_positions", "patch.vertex_normals", "paper.data", "patch.vertex_texcoords", "metal.k.value",
      "metal.eta.value"},
     1,
     0},
    {"a place and the normal map of a mirror",
     "path",
     WALL MESH MIRROR(BENT) PICTURE_SKY,
     {"it.translation", "bent.normalmap.value", "paint.reflectance.value"},
     1,
     1e-5},
    {"the mirror's own vertices and normals",
     "path",
     PAPERED_WALL MESH MIRROR(CONDUCTOR) PICTURE_SKY,
     {"it.vertex_positions", "patch.vertex_positions", "patch.vertex_normals", "paper.data",
      "patch.vertex_texcoords", "metal.k.value", "metal.eta.value"},
     2,
     0},
    {"vertices and roughness",
     "prb_attached",
     PAPERED_WALL MESH MIRROR(ROUGH) PICTURE_SKY,
     {"it.vertex_positions", "rough.alpha.value", "patch.vertex_normals", "paper.data",
      "patch.vertex_texcoords", "rough.k.value", "rough.eta.value"},
     1,
     1e-6},
};
enum { CASES = sizeof cases / sizeof *cases };

static uint32_t count_of(const split_case *c)
{
    uint32_t count = 0;
    while (c->parameters[count])
        count++;
    return count;
}

static bl_scene *load(const char *body, const char *integrator)
{
    static char xml[1 << 14];
    snprintf(xml, sizeof xml,
             "<scene version='3.0.0'><integrator type='%s'><integer name='max_depth' "
             "value='2'/></integrator>" EYE("<lookat " FRONT "/>",
                                            "24") "<rfilter type='box'/></film></sensor>%s</scene>",
             integrator, body);
    return scene_device_load(&device, xml, folder);
}

static bl_job *job_for(const bl_scene *scene, const char *const *parameters, uint32_t count, bool frozen)
{
    bl_job *job;
    const bl_job_desc desc = {.parameters = parameters,
                              .parameter_count = count,
                              .frozen = frozen,
                              .no_baking = true, /* as where shapes move */
                              .rays = scene_device_rays()};
    SCENE_MUST(&device, bl_job_create(device.device, scene, &desc, &job));
    return job;
}

/* Reads all numbers of a gradient, one parameter after the other. Returns how many. */
static uint32_t read_all(bl_job *job, const bl_scene *scene, const char *const *parameters, uint32_t count,
                         float *out)
{
    uint32_t at = 0;
    for (uint32_t k = 0; k < count; k++) {
        bl_parameter_info info;
        SCENE_MUST(&device,
                   bl_scene_parameter_info(scene, scene_device_find(&device, scene, parameters[k]), &info));
        SCENE_MUST(&device, bl_job_read_gradient(job, k, out + at));
        at += info.count;
    }
    return at;
}

enum { ALL_MOST = 1 << 14 };

/* Gradients of some parameters in a form, and the loss, which is the pass's own image times its weights. */
static uint32_t gradient(const bl_scene *scene, const char *const *parameters, uint32_t count,
                         bl_gradient_form form, float *out, double *loss)
{
    const bool finds = form == BL_FORM_TWO_WALK || form == BL_FORM_ONE_IMAGE;
    bl_job *job = job_for(scene, parameters, count, false);
    const bl_gradient_desc desc = {.form = form,
                                   .spp = 16,
                                   .seed = 5,
                                   .adjoint = finds ? NULL : weights,
                                   .target = finds ? target : NULL};
    bl_stats stats;
    SCENE_MUST(&device, bl_job_gradient(job, &desc, &stats));
    assert_int_equal(stats.overflowed, 0);
    *loss = stats.loss;
    const uint32_t found = read_all(job, scene, parameters, count, out);
    bl_job_destroy(job);
    return found;
}

static void make_images(void)
{
    for (int i = 0; i < VALUES; i++) { /* different in each place, and smooth */
        weights[i] = (float)(1 + .7 * cos(.21 * (i / 3 % SIDE) + i % 3) + .5 * sin(.17 * (i / 3 / SIDE))) /
                     (SIDE * SIDE);
        target[i] = (float)(.4 + .2 * cos(.3 * (i / 3 % SIDE)));
    }
}

static void expect_same(const split_case *c, const bl_scene *scene, bl_gradient_form form)
{
    static float together[ALL_MOST], alone[ALL_MOST];
    double loss[3];
    const uint32_t count = count_of(c), all = gradient(scene, c->parameters, count, form, together, &loss[0]);
    uint32_t at = gradient(scene, c->parameters, c->shapes, form, alone, &loss[1]);
    at += gradient(scene, c->parameters + c->shapes, count - c->shapes, form, alone + at, &loss[2]);
    double size = 0, worst = 0;
    for (int k = 1; k < 3; k++)
        assert_true(fabs(loss[k] - loss[0]) < 1e-5 * loss[0]);
    assert_int_equal(at, all);
    for (uint32_t i = 0; i < all; i++)
        size = fmax(size, fabs((double)alone[i]));
    assert_true(size > 0);
    for (uint32_t i = 0; i < all; i++)
        worst = fmax(worst, fabs((double)together[i] - (double)alone[i]));
    if (c->rounding > 0 ? worst > c->rounding * size : memcmp(together, alone, all * sizeof *alone) != 0)
        fail_msg("%s, form %s: not the gradients of either part alone: %g of %g", c->name,
                 bl_gradient_form_name(form), worst, size);
}

static void test_same(void **state)
{
    const split_case *c = *state;
    bl_scene *scene = load(c->body, c->integrator);
    make_images();
    for (bl_gradient_form form = BL_FORM_FUSED; form < BL_FORM_COUNT; form++)
        expect_same(c, scene, form);
    bl_job *job = job_for(scene, c->parameters, count_of(c), false);
    assert_string_equal(bl_job_sampling(job), "split");
    bl_job_destroy(job);
    bl_scene_destroy(scene);
}

/* ---- differences, forward mode, frozen paths ---- */

enum { STEP_COUNT = 2, ALONG = 2 };
static const char *const turned[] = {"it.vertex_positions", "patch.vertex_normals", "sensor.translation"};
enum { TURNED = sizeof turned / sizeof *turned };

/* How a parameter moves: a mesh grows and moves, normals turn, the camera comes nearer. values: as it is. */
static void direction_of(const char *name, const float *values, uint32_t count, float *out)
{
    static const float ways[TURNED][3] = {{.5f, -.4f, .1f}, {-.3f, .5f, 0}, {.05f, .12f, -.3f}},
                       centre[3] = {-.5f, .1f, .2f};
    uint32_t k = 0;
    while (strcmp(turned[k], name) != 0)
        k++;
    for (uint32_t i = 0; i < count; i++)
        out[i] = ways[k][i % 3] + (k == 0 ? 2 * (values[i] - centre[i % 3]) : 0);
}

/* The values of a parameter of the scene, and how it moves. Returns how many they are. */
static uint32_t way_of(const bl_scene *scene, const char *name, float *values, float *along)
{
    bl_parameter_info info;
    const uint32_t index = scene_device_find(&device, scene, name);
    SCENE_MUST(&device, bl_scene_parameter_info(scene, index, &info));
    assert_true(info.count <= NUMBERS);
    SCENE_MUST(&device, bl_scene_get_parameter(scene, index, values));
    direction_of(name, values, info.count, along);
    return info.count;
}

/* Sets parameters of the job that far along their directions. */
static void move(bl_job *job, const bl_scene *scene, const char *const *names, uint32_t count, double by)
{
    static float values[NUMBERS], along[NUMBERS];
    for (uint32_t k = 0; k < count; k++) {
        const uint32_t n = way_of(scene, names[k], values, along);
        for (uint32_t i = 0; i < n; i++)
            values[i] += (float)(by * (double)along[i]);
        SCENE_MUST(&device, bl_job_set_parameter(job, scene_device_find(&device, scene, names[k]), values));
    }
}

static double weighted(const float *image)
{
    double sum = 0;
    for (int i = 0; i < VALUES; i++)
        sum += (double)image[i] * (double)weights[i];
    return sum;
}

static double seen(bl_job *job, uint32_t seed, uint32_t spp)
{
    static float image[VALUES];
    SCENE_MUST(&device, bl_job_render(job, &(bl_render_desc){.spp = spp, .seed = seed}, image, NULL));
    return weighted(image);
}

/* The gradient along the directions of some parameters: of each, and their sum. */
static double slope(bl_job *job, const bl_scene *scene, const char *const *names, uint32_t count,
                    const bl_gradient_desc *desc, double *each)
{
    static float gradient[ALL_MOST], values[NUMBERS], along[NUMBERS];
    double sum = 0;
    SCENE_MUST(&device, bl_job_gradient(job, desc, NULL));
    read_all(job, scene, names, count, gradient);
    for (uint32_t k = 0, at = 0; k < count; k++) {
        const uint32_t n = way_of(scene, names[k], values, along);
        each[k] = 0;
        for (uint32_t i = 0; i < n; i++)
            each[k] += (double)gradient[at++] * (double)along[i];
        sum += each[k];
    }
    return sum;
}

typedef struct mean {
    double sum, squares;
} mean;
static void take(mean *m, double value) { m->sum += value, m->squares += value * value; }
static double value_of(const mean *m) { return m->sum / SEEDS; }
static double error_of(const mean *m)
{
    return sqrt(fmax(0, m->squares - m->sum * m->sum / SEEDS) / SEEDS / (SEEDS - 1));
}

/* The mesh moves, the mirror turns and the camera rises, all at once. */
static void test_differences(void **state)
{
    enum { SPP = 256 };
    static const double steps[STEP_COUNT] = {.04, .01};
    (void)state;
    make_images();
    bl_scene *scene = load(WALL MESH MIRROR(CONDUCTOR) PICTURE_SKY, "path");
    bl_job *job = job_for(scene, turned, TURNED, false);
    mean gradient = {0}, each[TURNED] = {{0}}, differences[STEP_COUNT] = {{0}};
    for (uint32_t seed = 0; seed < SEEDS; seed++) {
        const bl_gradient_desc desc = {.adjoint = weights, .spp = SPP, .seed = seed};
        double parts[TURNED];
        move(job, scene, turned, TURNED, 0);
        take(&gradient, slope(job, scene, turned, TURNED, &desc, parts));
        for (uint32_t k = 0; k < TURNED; k++)
            take(&each[k], parts[k]);
        for (int k = 0; k < STEP_COUNT; k++) {
            move(job, scene, turned, TURNED, steps[k]);
            const double after = seen(job, 100 + seed, 4 * SPP);
            move(job, scene, turned, TURNED, -steps[k]);
            take(&differences[k], (after - seen(job, 100 + seed, 4 * SPP)) / 2 / steps[k]);
        }
    }
    const mean *last = &differences[STEP_COUNT - 1];
    const double error = hypot(error_of(&gradient), error_of(last));
    printf("gradient %.5f (%.5f); differences %.5f (%.5f), %.5f (%.5f)\n", value_of(&gradient),
           error_of(&gradient), value_of(&differences[0]), error_of(&differences[0]), value_of(last),
           error_of(last));
    assert_true(fabs(value_of(&gradient) - value_of(last)) < 3.5 * error);
    for (uint32_t k = 0; k < TURNED; k++) {
        printf("    by %s %.5f\n", turned[k], value_of(&each[k]));
        assert_true(fabs(value_of(&gradient) - value_of(&each[k]) - value_of(last)) > 6 * error);
    }
    bl_job_destroy(job);
    bl_scene_destroy(scene);
}

/* The image's derivative along the directions, times the weights, is the gradient along them. */
static void test_forward(void **state)
{
    static float image[VALUES], values[NUMBERS], along[TURNED][NUMBERS];
    const float *tangents[TURNED];
    (void)state;
    make_images();
    bl_scene *scene = load(WALL MESH MIRROR(CONDUCTOR) PICTURE_SKY, "path");
    bl_job *job = job_for(scene, turned, TURNED, false);
    for (uint32_t k = 0; k < TURNED; k++) {
        way_of(scene, turned[k], values, along[k]);
        tangents[k] = along[k];
    }
    const bl_gradient_desc desc = {.adjoint = weights, .spp = 64};
    double each[TURNED];
    const double reverse = slope(job, scene, turned, TURNED, &desc, each);
    bl_stats stats;
    SCENE_MUST(&device,
               bl_job_forward(job, &(bl_forward_desc){.spp = 64, .tangents = tangents}, image, &stats));
    double forward = 0, size = 0;
    for (int i = 0; i < VALUES; i++)
        forward += (double)image[i] * (double)weights[i], size += fabs((double)image[i] * (double)weights[i]);
    printf("forward %g, reverse %g, of %g\n", forward, reverse, size);
    assert_true(size > 0 && stats.edges > 0);
    assert_true(fabs(forward - reverse) < 1e-4 * size);
    bl_job_destroy(job);
    bl_scene_destroy(scene);
}

/* Every value of the scene, as bl_render_desc.frozen has them. first: where those of the parameters begin. */
static float *every_value(const bl_scene *scene, const char *const *names, uint32_t count, size_t *first)
{
    size_t all = 0, at = 0;
    for (uint32_t i = 0; i < bl_scene_parameter_count(scene); i++) {
        bl_parameter_info info;
        SCENE_MUST(&device, bl_scene_parameter_info(scene, i, &info));
        for (uint32_t k = 0; k < count; k++)
            first[k] = strcmp(info.name, names[k]) == 0 ? all : first[k];
        all += info.count;
    }
    float *values = memory_need(all * sizeof *values);
    for (uint32_t i = 0; i < bl_scene_parameter_count(scene); i++) {
        bl_parameter_info info;
        SCENE_MUST(&device, bl_scene_parameter_info(scene, i, &info));
        SCENE_MUST(&device, bl_scene_get_parameter(scene, i, values + at));
        at += info.count;
    }
    return values;
}

/* Images along frozen paths, of values of either part, are those of a job for that part alone. Values of both
 * parts at once are refused. */
static void test_frozen(void **state)
{
    enum { BOTH = 2 };
    static float image[VALUES], alone[VALUES], values[NUMBERS], along[NUMBERS];
    (void)state;
    bl_scene *scene = load(WALL MESH MIRROR(CONDUCTOR) PICTURE_SKY, "path");
    bl_job *job = job_for(scene, turned, BOTH, true);
    size_t first[BOTH] = {0};
    float *frozen = every_value(scene, turned, BOTH, first);
    const bl_render_desc render = {.spp = 16, .frozen = frozen, .gradient_stream = true};
    for (uint32_t k = 0; k < BOTH; k++) {
        bl_job *own = job_for(scene, turned + k, 1, true);
        const uint32_t n = way_of(scene, turned[k], values, along);
        for (uint32_t i = 0; i < n; i++)
            frozen[first[k] + i] = values[i] + .01f * along[i];
        SCENE_MUST(&device, bl_job_render(job, &render, image, NULL));
        SCENE_MUST(&device, bl_job_render(own, &render, alone, NULL));
        assert_memory_equal(image, alone, sizeof image);
        memcpy(frozen + first[k], values, n * sizeof *values);
        SCENE_MUST(&device, bl_job_render(own, &render, alone, NULL));
        assert_memory_not_equal(image, alone, sizeof image);
        bl_job_destroy(own);
    }
    frozen[first[0]] += .01f, frozen[first[1]] += .01f;
    scene_device_refused(&device, bl_job_render(job, &render, image, NULL), BL_ERROR_UNSUPPORTED, "either");
    memory_free(frozen);
    bl_job_destroy(job);
    bl_scene_destroy(scene);
}

/* ---- fits ---- */

/* The distance of two vectors; of colours of a normal map that of the normals that they mean. */
static double apart(const float *a, const float *b, bool normals)
{
    double sum = 0, length[2] = {0};
    for (int i = 0; i < 3 && normals; i++)
        length[0] += pow(2 * (double)a[i] - 1, 2), length[1] += pow(2 * (double)b[i] - 1, 2);
    for (int i = 0; i < 3; i++) {
        const double x = normals ? (2 * (double)a[i] - 1) / sqrt(length[0]) : (double)a[i],
                     y = normals ? (2 * (double)b[i] - 1) / sqrt(length[1]) : (double)b[i];
        sum += (x - y) * (x - y);
    }
    return sqrt(sum);
}

/* How far parameter k is from the scene's. */
static double astray(bl_fit *fit, const bl_scene *scene, uint32_t k, const char *name)
{
    float now[3], as_it_is[3];
    SCENE_MUST(&device, bl_fit_get(fit, k, now));
    SCENE_MUST(&device, bl_scene_get_parameter(scene, scene_device_find(&device, scene, name), as_it_is));
    return apart(now, as_it_is, k == 1);
}

static void test_fit(void **state)
{
    enum { STEPS = 160 };
    static const float place[3] = {.12f, -.1f, .05f}, turn[3] = {.45f, .56f, .95f};
    (void)state;
    bl_scene *scene = load(WALL MESH MIRROR(BENT) PICTURE_SKY, "path");
    bl_job *job = job_for(scene, NULL, 0, false);
    SCENE_MUST(&device, bl_job_render(job, &(bl_render_desc){.spp = 256, .seed = 77}, target, NULL));
    bl_job_destroy(job);
    const bl_fit_parameter parameters[] = {{.name = "it.translation", .initial = place},
                                           {.name = "bent.normalmap.value", .initial = turn}};
    const bl_fit_change slower[] = {{STEPS / 2, .3, 0}, {3 * STEPS / 4, .1, 0}};
    const bl_fit_desc desc = {.parameters = parameters,
                              .parameter_count = 2,
                              .target = target,
                              .spp = 16,
                              .rate = .01,
                              .schedule = slower,
                              .schedule_count = 2};
    bl_fit *fit;
    bl_fit_status status;
    SCENE_MUST(&device, bl_fit_create(device.device, scene, &desc, &fit));
    assert_string_equal(bl_fit_sampling(fit), "split");
    double before[2], after[2];
    for (uint32_t k = 0; k < 2; k++)
        before[k] = astray(fit, scene, k, parameters[k].name);
    for (uint32_t step = 0; step < STEPS; step++)
        SCENE_MUST(&device, bl_fit_step(fit, &status));
    for (uint32_t k = 0; k < 2; k++) {
        after[k] = astray(fit, scene, k, parameters[k].name);
        printf("%s: off by %.4f, then %.4f\n", parameters[k].name, before[k], after[k]);
        assert_true(after[k] < .1 * before[k]);
    }
    bl_fit_destroy(fit);
    bl_scene_destroy(scene);
}

int main(void)
{
    enum { OTHER_TESTS = 4 };
    struct CMUnitTest tests[CASES + OTHER_TESTS] = {[CASES] = cmocka_unit_test(test_differences),
                                                    cmocka_unit_test(test_forward),
                                                    cmocka_unit_test(test_frozen),
                                                    cmocka_unit_test(test_fit)};
    for (size_t k = 0; k < CASES; k++)
        tests[k] = (struct CMUnitTest){cases[k].name, test_same, NULL, NULL, (void *)(uintptr_t)&cases[k]};
    return SCENE_DEVICE_RUN(&device, &folder, "split jobs", tests);
}
