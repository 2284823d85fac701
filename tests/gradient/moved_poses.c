/* LABELS: swiftshader=long native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Do translation, rotation and scale of shapes and instances say what they should, and are their gradients
 * right?
 *
 * They stand for a matrix that this test makes itself, by Rodrigues' formula about the pivot that the shape
 * should have. The same scene with that matrix as its to_world has the same image. Its gradient, which other
 * tests check, times the derivatives of the matrix is the gradient of the pose. Forward mode and frozen paths
 * agree with reverse mode, and so do images of the scene that has really moved, since no edge moves here. All
 * of that away from 0, 0, 1. Ordinary runs take the first scenes, because compiling takes the time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/moved_scene.h"
#include "support/scene_cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ORDINARY = 3, NUMBERS = 7 /* translation, rotation, scale */, PARAMETERS = 3 };

static scene_device device;
static char *folder;
static float image[MOVED_VALUES];

typedef struct pose_case {
    moved_case moved; /* plain: as there */
    double pivot[3];  /* in the shape's own space */
} pose_case;

#define BULB "<emitter type='point'><point name='position' value='1,.6,2'/></emitter>"
#define PICTURE "<bsdf type='diffuse'>" BITMAP("reflectance") "</bsdf>"
#define INSIDE                                                                                               \
    "<sensor type='perspective'><float name='fov' value='30'/>" TO_WORLD(                                    \
        "<lookat origin='0,0,.5' target='.1,.1,-1' up='0,1,0'/>") MOVED_FILM "</sensor>"
#define GROUND "<shape type='rectangle' id='ground'>" TO_WORLD("<scale value='3'/>") PICTURE "</shape>"

static const pose_case cases[] = {
    {{"floor under its picture",
      DIRECT("1", "0"),
      MOVED_DOWN,
      "<shape type='rectangle' id='it'>" TO_WORLD(
          "<scale value='3,3.5,2'/><rotate x='1' angle='3'/><translate value='.1,.2,-.1'/>") PICTURE
      "</shape>" BULB,
      "it.to_world",
      {{0}, 0, {0}},
      64,
      .005},
     {0, 0, 0}},
    {{"ball round its lamp, about its centre",
      PATH("3"),
      INSIDE,
      "<shape type='sphere' id='it'><point name='center' value='.3,-.2,.1'/><float name='radius' "
      "value='2'/>" TO_WORLD("<rotate y='1' angle='30'/>") "<bsdf type='twosided'>" PICTURE "</bsdf></shape>"
                                                           "<emitter type='point'><point name='position' "
                                                           "value='.4,.3,.2'/></emitter>",
      "it.to_world",
      {{0}, 0, {0}},
      256,
      .03},
     {.3, -.2, .1}},
    {{"instance without to_world, about the middle of its group's box",
      DIRECT("1", "0"),
      MOVED_DOWN,
      "<shape type='shapegroup' id='group'><shape type='rectangle'>" TO_WORLD(
          "<scale value='3,3.5,2'/><translate value='.4,.2,-.1'/>") PICTURE
      "</shape></shape>"
      "<shape type='instance' id='it'><ref id='group'/></shape>" BULB,
      "it.to_world",
      {{0}, 0, {0}},
      64,
      .005},
     {.4, .2, -.1}},
    {{"lamp, light sampling",
      DIRECT("1", "0"),
      MOVED_DOWN,
      GROUND "<shape type='rectangle' id='it'>" TO_WORLD(
          "<scale value='.7,.5,1'/><rotate x='1' angle='150'/><translate value='1.6,.3,1.6'/>") "<emitter "
                                                                                                "type='area'"
                                                                                                ">" BITMAP(
                                                                                                    "radianc"
                                                                                                    "e") "</"
                                                                                                         "emi"
                                                                                                         "tte"
                                                                                                         "r><"
                                                                                                         "/sh"
                                                                                                         "ape"
                                                                                                         ">",
      "it.to_world",
      {{0}, 0, {0}},
      64,
      .01},
     {0, 0, 0}},
    {{"B-spline curve",
      DIRECT("1", "0"),
      MOVED_DOWN,
      "<shape type='bsplinecurve' id='it'><string name='filename' value='strand.curves'/>" TO_WORLD(
          "<rotate x='.6' y='.8' angle='20'/><translate z='-6.8'/>") "<bsdf type='diffuse'/></shape>" BULB,
      "it.to_world",
      {{0}, 0, {0}},
      64,
      .03},
     {0, 0, 0}},
};

/* Translation, rotation, scale: where the test stands, and where it goes. */
static const double there[NUMBERS] = {.05, -.08, .06, .04, -.03, .25, 1.1};
static const double along[NUMBERS] = {.3, -.2, .4, .1, -.2, .3, .25};

/* ---- the matrix that a pose stands for ---- */

static void apply(const double m[16], const double p[3], double out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = m[4 * i] * p[0] + m[4 * i + 1] * p[1] + m[4 * i + 2] * p[2] + m[4 * i + 3];
}

/* The point x turned about the direction of r by its length. */
static void turn(const double r[3], const double x[3], double out[3])
{
    double angle = sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2]), c = cos(angle), s = sin(angle);
    const double k[3] = {r[0] / angle, r[1] / angle, r[2] / angle};
    double ahead = k[0] * x[0] + k[1] * x[1] + k[2] * x[2];
    for (int i = 0; i < 3; i++) {
        int a = (i + 1) % 3, b = (i + 2) % 3;
        out[i] = x[i] * c + (k[a] * x[b] - k[b] * x[a]) * s + k[i] * ahead * (1 - c);
    }
}

/* The images of the axes and the origin make the matrix. */
static void compose(const float m[16], const double pivot[3], const double pose[NUMBERS], double out[16])
{
    double to_world[16], centre[3], images[4][3];
    for (int i = 0; i < 16; i++)
        to_world[i] = (double)m[i];
    apply(to_world, pivot, centre);
    for (int k = 0; k < 4; k++) {
        double point[3] = {k == 0, k == 1, k == 2}, x[3], turned[3];
        apply(to_world, point, x);
        for (int i = 0; i < 3; i++)
            x[i] -= centre[i];
        turn(pose + 3, x, turned);
        for (int i = 0; i < 3; i++)
            images[k][i] = centre[i] + pose[i] + pose[6] * turned[i];
    }
    for (int i = 0; i < 16; i++)
        out[i] =
            i / 4 == 3 ? i == 15 : images[i % 4 < 3 ? i % 4 : 3][i / 4] - (i % 4 < 3 ? images[3][i / 4] : 0);
}

static void moved_by(double step, double pose[NUMBERS])
{
    for (int i = 0; i < NUMBERS; i++)
        pose[i] = there[i] + step * along[i];
}

/* ---- the scene by its pose ---- */

static const char *const names[PARAMETERS] = {"it.translation", "it.rotation", "it.scale"};

static bl_job *posed_job(const bl_scene *scene)
{
    bl_job *job;
    bl_job_desc desc = {
        .parameters = names, .parameter_count = PARAMETERS, .frozen = true, .rays = scene_device_rays()};
    SCENE_MUST(&device, bl_job_create(device.device, scene, &desc, &job));
    return job;
}

static void set_pose(bl_job *job, const bl_scene *scene, const double pose[NUMBERS])
{
    for (int k = 0; k < PARAMETERS; k++) {
        const float values[3] = {(float)pose[3 * k], (float)pose[k == 2 ? 6 : 3 * k + 1],
                                 (float)pose[k == 2 ? 6 : 3 * k + 2]};
        SCENE_MUST(&device, bl_job_set_parameter(job, scene_device_find(&device, scene, names[k]), values));
    }
}

static double rendered(bl_job *job, uint32_t spp, const float *frozen)
{
    const bl_render_desc desc = {.spp = spp, .seed = MOVED_SEED, .gradient_stream = true, .frozen = frozen};
    SCENE_MUST(&device, bl_job_render(job, &desc, image, NULL));
    return moved_weighted(image);
}

static void weights(float out[MOVED_VALUES])
{
    static float unit[MOVED_VALUES];
    for (int i = 0; i < MOVED_VALUES; i++) {
        unit[i] = 1, out[i] = (float)moved_weighted(unit);
        unit[i] = 0;
    }
}

static void gradient(bl_job *job, uint32_t spp, float out[NUMBERS])
{
    static float w[MOVED_VALUES];
    bl_stats stats;
    weights(w);
    SCENE_MUST(&device, bl_job_gradient(
                            job, &(bl_gradient_desc){.spp = spp, .seed = MOVED_SEED, .adjoint = w}, &stats));
    assert_int_equal(stats.drifted, 0);
    for (uint32_t k = 0; k < PARAMETERS; k++)
        SCENE_MUST(&device, bl_job_read_gradient(job, k, out + 3 * k));
}

static double forward(bl_job *job, uint32_t spp)
{
    float numbers[NUMBERS];
    for (int i = 0; i < NUMBERS; i++)
        numbers[i] = (float)along[i];
    const float *tangents[PARAMETERS] = {numbers, numbers + 3, numbers + 6};
    SCENE_MUST(&device,
               bl_job_forward(job, &(bl_forward_desc){.spp = spp, .seed = MOVED_SEED, .tangents = tangents},
                              image, NULL));
    return moved_weighted(image);
}

/* Along the paths of the pose, with weights from another one. */
static double frozen(bl_job *job, const bl_scene *scene, uint32_t spp, double step)
{
    static float all[1 << 12];
    double pose[NUMBERS];
    uint32_t at = 0;
    moved_by(step, pose);
    for (uint32_t k = 0; k < bl_scene_parameter_count(scene); k++) {
        bl_parameter_info info;
        SCENE_MUST(&device, bl_scene_parameter_info(scene, k, &info));
        assert_true(at + info.count <= sizeof all / sizeof *all);
        SCENE_MUST(&device, bl_scene_get_parameter(scene, k, all + at));
        for (int n = 0; n < PARAMETERS; n++)
            for (uint32_t i = 0; strcmp(info.name, names[n]) == 0 && i < info.count; i++)
                all[at + i] = (float)pose[3 * n + (int)i];
        at += info.count;
    }
    return rendered(job, spp, all);
}

static double plain(bl_job *job, const bl_scene *scene, uint32_t spp, double step)
{
    double pose[NUMBERS];
    moved_by(step, pose);
    set_pose(job, scene, pose);
    return rendered(job, spp, NULL);
}

/* ---- tests ---- */

/* The gradient by to_world, of the scene with the matrix, times the derivative of the matrix along the way.
 */
static double by_matrix(const pose_case *c, double *image_sum)
{
    const double h = 1e-4;
    moved_scene m = moved_load(&device, &c->moved, NULL, folder);
    double pose[NUMBERS], now[16], ahead[16], back[16], size;
    compose(m.start, c->pivot, there, now);
    moved_by(h, pose), compose(m.start, c->pivot, pose, ahead);
    moved_by(-h, pose), compose(m.start, c->pivot, pose, back);
    for (int i = 0; i < 16; i++)
        m.start[i] = (float)now[i], m.along[i] = (float)((ahead[i] - back[i]) / (2 * h));
    SCENE_MUST(&device, bl_job_set_parameter(m.job, m.parameter, m.start));
    double sum = moved_gradient(&m, MOVED_SEED, &size);
    *image_sum = rendered(m.job, m.spp, NULL);
    moved_free(&m);
    return sum;
}

static void pose_is_its_matrix(const pose_case *c)
{
    const double h = 0.004, step = 0.03;
    const uint32_t spp = c->moved.spp;
    arena a = {0};
    bl_scene *scene = scene_device_load(
        &device, scene_xml(&a, c->moved.integrator, c->moved.sensor, c->moved.body), folder);
    bl_job *job = posed_job(scene);
    float g[NUMBERS];
    double image_sum, expected = by_matrix(c, &image_sum), sum = 0, size = 0;
    set_pose(job, scene, there);
    double seen = rendered(job, spp, NULL);
    gradient(job, spp, g);
    for (int i = 0; i < NUMBERS; i++)
        sum += (double)g[i] * along[i], size += fabs((double)g[i] * along[i]);
    double ahead = forward(job, spp),
           by_frozen = (frozen(job, scene, spp, h) - frozen(job, scene, spp, -h)) / (2 * h),
           differences = (plain(job, scene, spp, step) - plain(job, scene, spp, -step)) / (2 * step);
    print_message(
        "%s: image %.6g, by its matrix %.6g; reverse %.6g, by its matrix %.6g, forward %.6g, frozen "
        "%.6g, plain %.6g; of parts of size %.6g\n",
        c->moved.name, seen, image_sum, sum, expected, ahead, by_frozen, differences, size);
    assert_true(fabs(sum) > 0.01 * size);
    assert_true(fabs(seen - image_sum) < 1e-4 * fabs(image_sum));
    assert_true(fabs(sum - expected) < 2e-3 * size);
    assert_true(fabs(ahead - sum) < 1e-3 * size);
    assert_true(fabs(by_frozen - sum) < 3e-3 * size);
    assert_true(fabs(differences - sum) <= c->moved.plain * size);
    bl_job_destroy(job);
    bl_scene_destroy(scene);
    arena_free(&a);
}

static void poses_are_their_matrices(void **state)
{
    (void)state;
    for (size_t k = 0; k < (getenv("BL_LONG") ? sizeof cases / sizeof *cases : ORDINARY); k++)
        pose_is_its_matrix(&cases[k]);
}

/* At 0, 0, 1 the image is that of the scene without a pose. By more than half a turn it is the image of
 * the turn the other way round. */
static void turns(void **state)
{
    (void)state;
    static float plain_image[MOVED_VALUES];
    const double pi = 3.14159265358979323846, none[NUMBERS] = {[6] = 1},
                 far[NUMBERS] = {[5] = 1.7 * pi, [6] = 1}, near[NUMBERS] = {[5] = -0.3 * pi, [6] = 1};
    arena a = {0};
    bl_scene *scene = scene_device_load(
        &device, scene_xml(&a, cases[0].moved.integrator, cases[0].moved.sensor, cases[0].moved.body),
        folder);
    bl_job *job = posed_job(scene), *without = scene_device_job(&device, scene, NULL, 0);
    const bl_render_desc desc = {.spp = 16, .seed = MOVED_SEED};
    SCENE_MUST(&device, bl_job_render(without, &desc, plain_image, NULL));
    set_pose(job, scene, none);
    SCENE_MUST(&device, bl_job_render(job, &desc, image, NULL));
    assert_true(fabs(moved_weighted(image) - moved_weighted(plain_image)) <
                1e-5 * fabs(moved_weighted(plain_image)));
    set_pose(job, scene, near);
    double one_way = rendered(job, 16, NULL);
    set_pose(job, scene, far);
    assert_true(fabs(rendered(job, 16, NULL) - one_way) < 1e-4 * fabs(one_way));
    assert_true(fabs(moved_weighted(plain_image) - one_way) > 1e-3 * fabs(one_way));
    bl_job_destroy(job);
    bl_job_destroy(without);
    bl_scene_destroy(scene);
    arena_free(&a);
}

static void expect_refusal(bl_job *job, uint32_t parameter, const float *values, const char *said)
{
    assert_int_equal(bl_job_set_parameter(job, parameter, values), BL_ERROR_ARGUMENT);
    assert_non_null(strstr(bl_context_error(device.context), said));
}

/* What cannot be: clear errors. to_world itself may be set where the pose moves the shape. */
static void refused(void **state)
{
    (void)state;
    arena a = {0};
    bl_scene *scene = scene_device_load(
        &device, scene_xml(&a, cases[3].moved.integrator, cases[3].moved.sensor, cases[3].moved.body),
        folder);
    bl_job *job = posed_job(scene), *both;
    const float zero[3] = {0}, none[3] = {NAN};
    float to_world[16];
    uint32_t matrix = scene_device_find(&device, scene, "it.to_world");
    expect_refusal(job, scene_device_find(&device, scene, "it.scale"), zero,
                   "it.scale is 0: a scale is above 0");
    expect_refusal(job, scene_device_find(&device, scene, "it.scale"), none, "a scale is above 0");
    expect_refusal(job, scene_device_find(&device, scene, "it.rotation"), none, "values must be finite");
    expect_refusal(job, scene_device_find(&device, scene, "ground.translation"), zero,
                   "ground.translation: this stays where it is");
    SCENE_MUST(&device, bl_scene_get_parameter(scene, matrix, to_world));
    SCENE_MUST(&device, bl_job_set_parameter(job, matrix, to_world));
    const char *const twice[] = {"it.to_world", "it.rotation"};
    assert_int_equal(
        bl_job_create(device.device, scene, &(bl_job_desc){.parameters = twice, .parameter_count = 2}, &both),
        BL_ERROR_UNSUPPORTED);
    assert_non_null(strstr(bl_context_error(device.context), "it.to_world and the translation"));
    bl_job_destroy(job);
    bl_scene_destroy(scene);
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(poses_are_their_matrices), cmocka_unit_test(turns),
                                       cmocka_unit_test(refused)};
    return SCENE_DEVICE_RUN(&device, &folder, "moved poses", tests);
}
