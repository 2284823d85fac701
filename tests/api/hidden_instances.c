/* LABELS: swiftshader rayquery native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Instances that are added and removed by their to_world: one that is hidden, in the scene or by a value, is
 * not in the image, its gradient is 0, and what is shown is what a scene is that was loaded so. Nothing is
 * compiled in between. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 16, HEIGHT = 12, VALUES = 3 * WIDTH * HEIGHT, SPP = 8, SPARES = 2 };

static scene_device device;
static const char *const names[SPARES] = {"spare0.to_world", "spare1.to_world"};
static const float hidden[16] = {0, 0, 0, 0.4f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
static const float shown[2][16] = {{0.5f, 0, 0, 0.6f, 0, 0.6f, 0.1f, 0.3f, 0, 0, 0.5f, 0.7f, 0, 0, 0, 1},
                                   {0.4f, 0.1f, 0, -0.9f, 0, 0.5f, 0, 0.6f, 0, 0, 0.6f, 0.9f, 0, 0, 0, 1}};

#define WHITE                                                                                                \
    "<bsdf type='twosided'><bsdf type='diffuse'><rgb name='reflectance' value='.8,.6,.4'/></bsdf></bsdf>"

/* An instance of the group, by a matrix. */
static void add_instance(char *xml, size_t size, int k, const float m[16])
{
    size_t at = strlen(xml);
    at +=
        (size_t)snprintf(xml + at, size - at,
                         "<shape type='instance' id='spare%d'><transform name='to_world'><matrix value='", k);
    for (int i = 0; i < 16; i++)
        at += (size_t)snprintf(xml + at, size - at, "%.9g ", (double)m[i]);
    snprintf(xml + at, size - at, "'/></transform><ref id='group'/></shape>");
}

/* places: of the spare instances; NULL: there are none. */
static bl_scene *load(const float *const places[SPARES])
{
    char xml[4096];
    snprintf(
        xml, sizeof xml,
        "<scene version='3.0.0'><integrator type='prb'><integer name='max_depth' value='3'/></integrator>"
        "<sensor type='perspective'><float name='fov' value='50'/><transform name='to_world'><lookat "
        "origin='0,-3,3' target='0,0,.3' up='0,0,1'/></transform><film type='hdrfilm'><integer "
        "name='width' value='%d'/><integer name='height' value='%d'/><rfilter "
        "type='box'/></film></sensor><shape type='rectangle'><transform name='to_world'><scale "
        "value='2'/></transform>" WHITE "</shape><emitter type='point'><point name='position' "
        "value='.5,-1,4'/><rgb name='intensity' value='12'/></emitter><shape type='shapegroup' "
        "id='group'><shape type='cube'><transform name='to_world'><scale value='.6'/></transform>" WHITE
        "</shape><shape type='sphere'><point name='center' value='0,0,1'/><float name='radius' "
        "value='.5'/>" WHITE "</shape></shape><shape type='instance'><transform name='to_world'><scale "
        "value='.5'/><translate z='.4'/></transform><ref id='group'/></shape>",
        WIDTH, HEIGHT);
    for (int k = 0; k < SPARES && places; k++)
        add_instance(xml, sizeof xml, k, places[k]);
    strncat(xml, "</scene>", sizeof xml - strlen(xml) - 1);
    return scene_device_load(&device, xml, NULL);
}

static bl_job *job_of(const bl_scene *scene, uint32_t count)
{
    bl_job *job;
    SCENE_MUST(&device,
               bl_job_create(
                   device.device, scene,
                   &(bl_job_desc){.parameters = names, .parameter_count = count, .rays = scene_device_rays()},
                   &job));
    return job;
}

static void render(bl_job *job, float *image)
{
    SCENE_MUST(&device, bl_job_render(job, &(bl_render_desc){.spp = SPP, .seed = 3}, image, NULL));
}

static double difference(const float *a, const float *b)
{
    double most = 0;
    for (int i = 0; i < VALUES; i++) {
        assert_true(isfinite(a[i]) && isfinite(b[i]));
        most = fmax(most, fabs((double)a[i] - (double)b[i]) / (0.1 + fabs((double)b[i])));
    }
    return most;
}

/* Images of kernels that were compiled for other scenes differ by rounding alone. */
static void expect_same(const char *what, const float *image, const float *expected)
{
    double most = difference(image, expected);
    if (most > 1e-4)
        fail_msg("%s: an image that differs by %g", what, most);
}

static void image_of_scene(const float *const places[SPARES], float *image)
{
    bl_scene *scene = load(places);
    bl_job *job = job_of(scene, 0);
    render(job, image);
    bl_job_destroy(job);
    bl_scene_destroy(scene);
}

static void instances_come_and_go(void **state)
{
    (void)state;
    static float none[VALUES], one[VALUES], both[VALUES], image[VALUES];
    image_of_scene(NULL, none);
    image_of_scene((const float *const[]){shown[0], hidden}, one);
    image_of_scene((const float *const[]){shown[0], shown[1]}, both);
    assert_true(difference(none, one) > 0.1 && difference(one, both) > 0.1);
    bl_scene *scene = load((const float *const[]){hidden, hidden});
    bl_job *job = job_of(scene, SPARES);
    const uint32_t index[SPARES] = {scene_device_find(&device, scene, names[0]),
                                    scene_device_find(&device, scene, names[1])};
    render(job, image);
    expect_same("hidden in the scene", image, none);
    SCENE_MUST(&device, bl_job_set_parameter(job, index[0], shown[0]));
    render(job, image);
    expect_same("one added", image, one);
    SCENE_MUST(&device, bl_job_set_parameter(job, index[1], shown[1]));
    render(job, image);
    expect_same("both added", image, both);
    SCENE_MUST(&device, bl_job_set_parameter(job, index[1], hidden));
    render(job, image);
    expect_same("one removed", image, one);
    SCENE_MUST(&device, bl_job_set_parameter(job, index[0], hidden));
    render(job, image);
    expect_same("both removed", image, none);
    bl_job_destroy(job);
    bl_scene_destroy(scene);
}

static void gradient_of(bl_job *job, bl_edges edges, float *out)
{
    static float weights[VALUES];
    for (int i = 0; i < VALUES; i++)
        weights[i] = cosf(0.3f * (float)i);
    SCENE_MUST(&device, bl_job_gradient(job,
                                        &(bl_gradient_desc){.spp = edges == BL_EDGES_NONE ? SPP : 32 * SPP,
                                                            .seed = 3,
                                                            .adjoint = weights,
                                                            .edges = edges},
                                        NULL));
    SCENE_MUST(&device, bl_job_read_gradient(job, 0, out));
}

/* None of a hidden one, and of one that was added those of a scene that has it: the same samples of the
 * interior, others of edges, among which one that was hidden has another share. */
static void gradients_follow(void **state)
{
    (void)state;
    static const bl_edges edges[2] = {BL_EDGES_NONE, BL_EDGES_AUTO};
    static const double bounds[2] = {1e-3, 0.1};
    float added[16], removed[16], loaded[16];
    bl_scene *scene = load((const float *const[]){hidden, hidden}),
             *other = load((const float *const[]){shown[0], hidden});
    bl_job *job = job_of(scene, 1), *expected = job_of(other, 1);
    uint32_t index = scene_device_find(&device, scene, names[0]);
    for (int k = 0; k < 2; k++) {
        double most = 0;
        gradient_of(job, edges[k], removed);
        SCENE_MUST(&device, bl_job_set_parameter(job, index, shown[0]));
        gradient_of(job, edges[k], added);
        gradient_of(expected, edges[k], loaded);
        for (int i = 0; i < 16; i++) {
            assert_true(removed[i] == 0);
            most = fmax(most, fabs((double)loaded[i]));
        }
        assert_true(most > 0.1);
        for (int i = 0; i < 16; i++)
            if (!(fabs((double)added[i] - (double)loaded[i]) <= bounds[k] * most))
                fail_msg("edges %d, element %d: %g after adding, %g loaded", k, i, (double)added[i],
                         (double)loaded[i]);
        SCENE_MUST(&device, bl_job_set_parameter(job, index, hidden));
        gradient_of(job, edges[k], removed);
        for (int i = 0; i < 16; i++)
            assert_true(removed[i] == 0);
    }
    bl_job_destroy(job), bl_job_destroy(expected);
    bl_scene_destroy(scene), bl_scene_destroy(other);
}

/* Any other map without an inverse is a mistake, and so is a shape that is no instance. */
static void other_singular_maps_are_refused(void **state)
{
    (void)state;
    const float flat[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    bl_scene *scene = load((const float *const[]){hidden, shown[1]});
    bl_job *job = job_of(scene, 1);
    uint32_t index = scene_device_find(&device, scene, names[0]);
    scene_device_refused(&device, bl_job_set_parameter(job, index, flat), BL_ERROR_ARGUMENT, "singular");
    bl_job_destroy(job);
    bl_scene_destroy(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_follow),
        cmocka_unit_test(instances_come_and_go),
        cmocka_unit_test(other_singular_maps_are_refused),
    };
    /* drivers compile gradients of edges for minutes */
    const char *name = getenv("BL_DEVICE");
    bool all = (name && strcmp(name, "native") == 0) || getenv("BL_LONG");
    return scene_device_run(&device, NULL, "hidden instances", all ? tests : &tests[1], all ? 3 : 2, NULL);
}
