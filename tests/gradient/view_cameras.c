/* LABELS: swiftshader=long native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Are gradients by the cameras of several views right? A job looks through one sensor of the scene after the
 * other, and has parameters of all of them. Through either it must give what a job of a scene that is loaded
 * for that sensor gives, and exactly 0 for the other's; it must agree with differences of images whose camera
 * has really moved, by two steps of which one is half of the other; and a fit's step must follow the mean
 * over the views, also where it sees a batch of pixels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/edge_cases.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SIDE = 20, VALUES = 3 * SIDE * SIDE, SEEDS = 32, VIEWS = 2, PARAMETERS = 6, NUMBERS = 14, SPP = 64 };
/* Of seven numbers, found by the same samples, the root mean square of z varies by .3 or less. */
static const double z_most = 1.1 + 3 * 0.3;

static const char *const names[PARAMETERS] = {"left.translation",  "left.rotation",  "left.x_fov",
                                              "right.translation", "right.rotation", "right.x_fov"};
static const uint32_t counts[PARAMETERS] = {3, 3, 1, 3, 3, 1};

#define CAMERA(id, fov, pose)                                                                                \
    "<sensor type='perspective' id='" id "'><float name='fov' value='" fov                                   \
    "'/>" AT("<lookat " pose "/>") "<film type='hdrfilm'><integer name='width' value='20'/><integer "        \
                                   "name='height' value='20'/><rfilter type='box'/></film></sensor>"
#define CAMERAS                                                                                              \
    CAMERA("left", "41", "origin='-1,.3,4' target='0,0,0' up='0,1,0'")                                       \
    CAMERA("right", "35", "origin='1.5,1,3.6' target='.1,0,-.2' up='.1,1,0'")
#define SCENE(integrator)                                                                                    \
    "<scene version='3.0.0'><integrator type='" integrator                                                   \
    "'><integer name='max_depth' value='3'/></integrator>" CAMERAS WALL BALL(                                \
        "<translate value='.07,.1,.2'/>") LAMP("lamp", ".7", "1.6,0,3.2") "</scene>"

static scene_device device;
static float weights[VALUES];

static bl_scene *load(const char *xml, uint32_t sensor)
{
    bl_scene *scene;
    const bl_scene_desc desc = {.sensor = sensor};
    SCENE_MUST(&device, bl_scene_load_string(device.context, xml, ".", &desc, &scene));
    return scene;
}

static bl_job *job_of(const bl_scene *scene, const char *const *parameters, uint32_t count, bool moves)
{
    bl_job *job;
    const bl_job_desc desc = {.parameters = parameters,
                              .parameter_count = count,
                              .sensor_moves = moves,
                              .rays = scene_device_rays()};
    SCENE_MUST(&device, bl_job_create(device.device, scene, &desc, &job));
    return job;
}

/* The numbers of `count` parameters from names[first] on, one after the other. */
static void gradient(bl_job *job, uint32_t first, uint32_t count, uint32_t seed, bl_edges edges, float *out)
{
    const bl_gradient_desc desc = {.adjoint = weights, .spp = SPP, .seed = seed, .edges = edges};
    SCENE_MUST(&device, bl_job_gradient(job, &desc, NULL));
    for (uint32_t k = 0, at = 0; k < count; at += counts[first + k++])
        SCENE_MUST(&device, bl_job_read_gradient(job, k, out + at));
}

static double weighted_image(bl_job *job, uint32_t seed)
{
    static float image[VALUES];
    double sum = 0;
    SCENE_MUST(&device, bl_job_render(job, &(bl_render_desc){.spp = SPP, .seed = seed}, image, NULL));
    for (int i = 0; i < VALUES; i++)
        sum += (double)image[i] * (double)weights[i];
    return sum;
}

static void set_weights(void)
{
    for (int i = 0; i < VALUES; i++) /* different in each place, and smooth */
        weights[i] = (float)(1 + .7 * cos(.21 * (i / 3 % SIDE) + i % 3) + .5 * sin(.17 * (i / 3 / SIDE))) /
                     (SIDE * SIDE);
}

/* ---- beside jobs for one camera ---- */

static void expect_alone(const char *xml)
{
    float all[NUMBERS], alone[NUMBERS / 2];
    bl_scene *both = load(xml, 0);
    bl_job *job = job_of(both, names, PARAMETERS, true);
    for (uint32_t turn = 0; turn < 3; turn++) { /* and back to the first one */
        const uint32_t view = turn % 2, other = 1 - view;
        bl_scene *scene = load(xml, view);
        bl_job *single = job_of(scene, names + 3 * view, 3, false);
        SCENE_MUST(&device, bl_job_set_sensor(job, view, NULL));
        gradient(job, 0, PARAMETERS, 5, BL_EDGES_AUTO, all);
        gradient(single, 3 * view, 3, 5, BL_EDGES_AUTO, alone);
        for (uint32_t i = 0; i < NUMBERS / 2; i++) {
            const double found = (double)all[NUMBERS / 2 * view + i], expected = (double)alone[i];
            if (!(fabs(found - expected) <= 1e-4 * fabs(expected)))
                fail_msg("view %u, number %u: %g, alone %g", view, i, found, expected);
            assert_true(all[NUMBERS / 2 * other + i] == 0);
        }
        bl_job_destroy(single);
        bl_scene_destroy(scene);
    }
    bl_job_destroy(job);
    bl_scene_destroy(both);
}

static void each_view_has_its_own_camera(void **state)
{
    (void)state;
    set_weights();
    expect_alone(SCENE("path"));
    expect_alone(SCENE("volpath"));
}

/* ---- beside differences ---- */

typedef struct numbers {
    double sum[NUMBERS], squares[NUMBERS];
} numbers;

static void add(numbers *n, uint32_t i, double value) { n->sum[i] += value, n->squares[i] += value * value; }

static double mean_error(const numbers *n, uint32_t i)
{
    return (n->squares[i] - n->sum[i] * n->sum[i] / SEEDS) / (SEEDS - 1) / SEEDS;
}

/* Of seven numbers from `first` on. */
static double rms_z(const numbers *a, const numbers *b, uint32_t first)
{
    double sum = 0;
    for (uint32_t i = first; i < first + NUMBERS / 2; i++) {
        const double apart = (a->sum[i] - b->sum[i]) / SEEDS;
        sum += apart * apart / (mean_error(a, i) + mean_error(b, i));
    }
    return sqrt(sum / (NUMBERS / 2));
}

/* Of all numbers of a view's camera. step: of translations; angles have as much at the distance of what is
 * seen. */
static void differences(bl_job *job, const bl_scene *scene, uint32_t view, double step, numbers *out)
{
    for (uint32_t k = 3 * view, at = NUMBERS / 2 * view; k < 3 * view + 3; at += counts[k++]) {
        const uint32_t parameter = scene_device_find(&device, scene, names[k]);
        const double by = k % 3 ? 15 * step : step; /* degrees */
        float start[3], there[3];
        SCENE_MUST(&device, bl_job_get_parameter(job, parameter, start));
        for (uint32_t i = 0; i < counts[k]; i++)
            for (uint32_t seed = 0; seed < SEEDS; seed++) {
                double side[2];
                for (int up = 0; up < 2; up++) {
                    memcpy(there, start, sizeof start);
                    there[i] += (float)(up ? by : -by);
                    SCENE_MUST(&device, bl_job_set_parameter(job, parameter, there));
                    side[up] = weighted_image(job, 900 + seed);
                }
                add(out, at + i, (side[1] - side[0]) / (2 * by));
            }
        SCENE_MUST(&device, bl_job_set_parameter(job, parameter, start));
    }
}

static void views_agree_with_differences(void **state)
{
    (void)state;
    set_weights();
    bl_scene *scene = load(SCENE("path"), 0);
    bl_job *job = job_of(scene, names, PARAMETERS, true);
    numbers with = {0}, without = {0}, moved[2] = {0};
    float found[NUMBERS];
    for (uint32_t view = 0; view < VIEWS; view++) {
        const uint32_t first = NUMBERS / 2 * view;
        SCENE_MUST(&device, bl_job_set_sensor(job, view, NULL));
        for (uint32_t seed = 0; seed < SEEDS; seed++) {
            gradient(job, 0, PARAMETERS, seed, BL_EDGES_AUTO, found);
            for (uint32_t i = first; i < first + NUMBERS / 2; i++)
                add(&with, i, (double)found[i]);
            gradient(job, 0, PARAMETERS, seed, BL_EDGES_NONE, found);
            for (uint32_t i = first; i < first + NUMBERS / 2; i++)
                add(&without, i, (double)found[i]);
        }
        for (int k = 0; k < 2; k++) {
            differences(job, scene, view, k ? .005 : .01, &moved[k]);
            const double right = rms_z(&with, &moved[k], first), wrong = rms_z(&without, &moved[k], first);
            print_message("view %u, step %g: rms z %.2f; without edges %.1f\n", view, k ? .005 : .01, right,
                          wrong);
            assert_true(right <= z_most);
            assert_true(wrong > 2 * z_most);
        }
    }
    bl_job_destroy(job);
    bl_scene_destroy(scene);
}

/* ---- fits ---- */

static const float from[2][3] = {{.05f, -.04f, .06f}, {-.06f, .05f, .03f}};
static float targets[VIEWS][VALUES];

static void render_targets(const bl_scene *scene)
{
    bl_job *job = job_of(scene, NULL, 0, true);
    for (uint32_t v = 0; v < VIEWS; v++) {
        SCENE_MUST(&device, bl_job_set_sensor(job, v, NULL));
        SCENE_MUST(&device, bl_job_render(job, &(bl_render_desc){.spp = 256, .seed = 3}, targets[v], NULL));
    }
    bl_job_destroy(job);
}

/* Minus what a step of gradient descent moves, over its rate: the gradient. */
static void step_of(const bl_scene *scene, uint32_t batch, double out[2][3])
{
    const bl_fit_parameter p[2] = {{.name = names[0], .initial = from[0]},
                                   {.name = names[3], .initial = from[1]}};
    const bl_fit_view views[VIEWS] = {{.target = targets[0]}, {.target = targets[1], .sensor = 1}};
    const bl_fit_desc desc = {.parameters = p,
                              .parameter_count = 2,
                              .views = views,
                              .view_count = VIEWS,
                              .spp = 4096,
                              .optimizer = BL_OPTIMIZER_SGD,
                              .rate = 1,
                              .batch = batch};
    bl_fit *fit;
    float found[3];
    SCENE_MUST(&device, bl_fit_create(device.device, scene, &desc, &fit));
    SCENE_MUST(&device, bl_fit_step(fit, NULL));
    for (uint32_t k = 0; k < 2; k++) {
        SCENE_MUST(&device, bl_fit_get(fit, k, found));
        for (int i = 0; i < 3; i++)
            out[k][i] = (double)from[k][i] - (double)found[i];
    }
    bl_fit_destroy(fit);
}

/* Half of the gradients of the two views' own losses. */
static void expected_step(const char *xml, bl_edges edges, double out[2][3])
{
    for (uint32_t v = 0; v < VIEWS; v++) {
        float found[3];
        bl_scene *scene = load(xml, v);
        bl_job *job = job_of(scene, &names[3 * v], 1, false);
        SCENE_MUST(&device,
                   bl_job_set_parameter(job, scene_device_find(&device, scene, names[3 * v]), from[v]));
        const bl_gradient_desc desc = {.target = targets[v], .spp = 4096, .seed = 8, .edges = edges};
        SCENE_MUST(&device, bl_job_gradient(job, &desc, NULL));
        SCENE_MUST(&device, bl_job_read_gradient(job, 0, found));
        for (int i = 0; i < 3; i++)
            out[v][i] = (double)found[i] / 2;
        bl_job_destroy(job);
        bl_scene_destroy(scene);
    }
}

static void expect_step(const bl_scene *scene, const char *xml, uint32_t batch)
{
    double found[2][3], expected[2][3];
    step_of(scene, batch, found);
    expected_step(xml, batch ? BL_EDGES_NONE : BL_EDGES_AUTO, expected); /* a batch has no edges */
    for (uint32_t v = 0; v < VIEWS; v++) {
        double apart = 0, size = 0;
        for (int i = 0; i < 3; i++)
            apart += pow(found[v][i] - expected[v][i], 2), size += pow(expected[v][i], 2);
        print_message("batch %u, view %u: %.3f of the gradient apart\n", batch, v, sqrt(apart / size));
        assert_true(sqrt(apart / size) < .05);
    }
}

static void a_step_follows_the_mean_over_views(void **state)
{
    (void)state;
    bl_scene *scene = load(SCENE("path"), 0);
    render_targets(scene);
    expect_step(scene, SCENE("path"), 0);
    expect_step(scene, SCENE("path"), VIEWS * SIDE * SIDE);
    bl_scene_destroy(scene);
}

/* ---- refused ---- */

static void what_cannot_be_is_said(void **state)
{
    (void)state;
    static const float pose[16] = {-1, 0, 0, 0, 0, 1, 0, 0, 0, 0, -1, 3, 0, 0, 0, 1};
    bl_scene *scene = load(SCENE("path"), 0);
    bl_job *job;
    const bl_job_desc still = {.parameters = names + 3, .parameter_count = 1};
    scene_device_refused(&device, bl_job_create(device.device, scene, &still, &job), BL_ERROR_ARGUMENT,
                         "right.translation: the job looks through another sensor");
    job = job_of(scene, names, PARAMETERS, true);
    scene_device_refused(&device, bl_job_set_sensor(job, 1, pose), BL_ERROR_UNSUPPORTED, "a pose of its own");
    bl_job_destroy(job);
    job = job_of(scene, NULL, 0, true);
    scene_device_refused(
        &device, bl_job_set_parameter(job, scene_device_find(&device, scene, "right.translation"), from[0]),
        BL_ERROR_ARGUMENT, "without any of the sensor's parameters");
    bl_job_destroy(job);
    bl_scene_destroy(scene);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_view_has_its_own_camera),
        cmocka_unit_test(views_agree_with_differences),
        cmocka_unit_test(a_step_follows_the_mean_over_views),
        cmocka_unit_test(what_cannot_be_is_said),
    };
    return SCENE_DEVICE_RUN(&device, NULL, "cameras of views", tests);
}
