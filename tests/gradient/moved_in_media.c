/* LABELS: swiftshader timeout=240 */
/* SPDX-License-Identifier: BSD-3-Clause
 * Gradients of the camera in participating media against differences of images, by their means over seeds: that of a collision's place says nothing by
 * itself, since the image of a moved camera has its collisions elsewhere. No silhouette is in view. What a mean is made of, sample by sample, is
 * compared with frozen paths and unrolled ones by gradient/unrolled.c and gradient/forward.c.
 * In ordinary runs the first two cases: compiling is what takes the time. */
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

enum { ORDINARY = 2, SEEDS = 8 };
static const double worst_z = 4, step = 0.03;

static scene_device device;
static char *folder;

#define VOLPATH(depth) "<integrator type='volpath'><integer name='max_depth' value='" depth "'/><integer name='rr_depth' value='99'/></integrator>"
#define EYE "<sensor type='perspective' id='it'><float name='fov' value='30'/>" TO_WORLD("<lookat origin='0,0,3' target='.1,.1,0' up='0,1,0'/>") MOVED_FILM "</sensor>"
#define GROUND "<shape type='rectangle'>" TO_WORLD("<rotate x='1' angle='15'/><scale value='6'/>") "<bsdf type='diffuse'><rgb name='reflectance' value='.8,.5,.3'/></bsdf></shape>"
#define HULL(medium) "<shape type='cube'>" TO_WORLD("<scale value='4,4,.5'/><rotate y='1' angle='10'/><translate z='1'/>") "<bsdf type='null'/>" medium "</shape>"
#define FOG "<medium type='homogeneous' name='interior'><rgb name='sigma_t' value='1.2,.8,.5'/><rgb name='albedo' value='.8,.7,.9'/></medium>"
#define SMOKE "<medium type='heterogeneous' name='interior'><volume type='gridvolume' name='sigma_t'><string name='filename' value='smoke.vol'/>"          \
    TO_WORLD("<translate value='-.5,-.5,-.5'/><scale value='8,8,1'/><rotate y='1' angle='10'/><translate z='1'/>") "</volume><float name='scale' value='1.5'/>" \
    "<phase type='hg'><float name='g' value='.4'/></phase></medium>"
#define BULB "<emitter type='point'><point name='position' value='1,.6,2.5'/></emitter>"
#define BALL "<shape type='sphere'><point name='center' value='1,.6,3.5'/><float name='radius' value='.4'/><emitter type='area'/></shape>"

static const struct {
    moved_case c;
    double least; /* of the derivative over its standard error: what the comparison can see */
} cases[] = {
    {{"fog over ground, light from a point", VOLPATH("4"), EYE, GROUND HULL(FOG) BULB, "it.to_world", {{.1, -.2, .3}, 0, {.3, -.5, .4}}, 256, 0}, 20},
    {{"smoke over ground, light from a point", VOLPATH("4"), EYE, GROUND HULL(SMOKE) BULB, "it.to_world", {{.1, -.2, .3}, 0, {.3, -.5, .4}}, 256, 0}, 10},
    {{"fog over ground, light from a ball", VOLPATH("4"), EYE, GROUND HULL(FOG) BALL, "it.to_world", {{.1, -.2, .3}, 0, {.3, -.5, .4}}, 512, 0}, 8},
    {{"smoke over ground, light from a ball", VOLPATH("4"), EYE, GROUND HULL(SMOKE) BALL, "it.to_world", {{.1, -.2, .3}, 0, {.3, -.5, .4}}, 512, 0}, 8},
};

/* The case's weighted image at another pose. */
static double seen_from(moved_scene *m, double time, uint32_t seed)
{
    static float image[MOVED_VALUES];
    float pose[16];
    for (int i = 0; i < 16; i++)
        pose[i] = m->start[i] + (float)time * m->along[i];
    SCENE_MUST(m->d, bl_job_set_parameter(m->job, m->parameter, pose));
    SCENE_MUST(m->d, bl_job_render(m->job, &(bl_render_desc){.spp = m->spp, .seed = seed}, image, NULL));
    return moved_weighted(image);
}

static void means_agree(size_t k)
{
    double sum[2] = {0}, square[2] = {0}, error[2], size;
    moved_scene m = moved_load(&device, &cases[k].c, NULL, folder);
    for (uint32_t seed = 1; seed <= SEEDS; seed++) {
        SCENE_MUST(m.d, bl_job_set_parameter(m.job, m.parameter, m.start));
        double gradient = moved_gradient(&m, seed, &size);
        double x[2] = {gradient, (seen_from(&m, step, seed) - seen_from(&m, -step, seed)) / (2 * step)};
        for (int i = 0; i < 2; i++)
            sum[i] += x[i] / SEEDS, square[i] += x[i] * x[i] / SEEDS;
    }
    for (int i = 0; i < 2; i++)
        error[i] = sqrt(fmax(square[i] - sum[i] * sum[i], 0) / (SEEDS - 1));
    double both = hypot(error[0], error[1]), z = (sum[0] - sum[1]) / both;
    print_message("%s: gradient %.5g +- %.2g, differences %.5g +- %.2g; z %.2f\n", cases[k].c.name, sum[0], error[0], sum[1], error[1], z);
    assert_true(fabs(sum[1]) > cases[k].least * both);
    assert_true(fabs(z) < worst_z);
    moved_free(&m);
}

static void camera(void **state)
{
    (void)state;
    for (size_t k = 0; k < (getenv("BL_LONG") ? sizeof cases / sizeof *cases : ORDINARY); k++)
        means_agree(k);
}

/* Reverse, forward and frozen paths, and images of the scene really moved, where a shape moves behind one that lets through. */
static void shape_behind_a_veil(void **state)
{
    (void)state;
    static const moved_case c = {"ground behind a veil", VOLPATH("3"), MOVED_DOWN, "<shape type='rectangle' id='it'>" TO_WORLD("<scale value='3'/>") "<bsdf type='diffuse'>"
                                 BITMAP("reflectance") "</bsdf></shape><shape type='rectangle'>" TO_WORLD("<scale value='4'/><rotate x='1' angle='20'/><translate z='1.5'/>")
                                 "<bsdf type='thindielectric'/></shape>" BULB, "it.to_world", {{.1, -.2, .3}, .2, {.3, -.5, .2}}, 64, .01};
    moved_expect(&device, &c, folder);
}

/* What cannot be: clear errors. */
static void refused(void **state)
{
    (void)state;
    arena a = {0};
    bl_job *job;
    const char *names[] = {"ground.to_world", "it.to_world"};
    bl_scene *scene = scene_device_load(&device, scene_xml(&a, VOLPATH("3"), EYE, "<shape type='rectangle' id='ground'/>" HULL(FOG) BULB), folder);
    assert_int_equal(bl_job_create(device.device, scene, &(bl_job_desc){.parameters = names, .parameter_count = 1}, &job), BL_ERROR_UNSUPPORTED);
    assert_non_null(strstr(bl_context_error(device.context), "ground.to_world has no gradient: those of places of shapes and of vertices are not implemented in scenes with media"));
    bl_scene_destroy(scene);
    scene = scene_device_load(&device, scene_xml(&a, VOLPATH("3"), EYE, HULL("<medium type='homogeneous' name='interior'><float name='emission' value='1'/></medium>")), folder);
    assert_int_equal(bl_job_create(device.device, scene, &(bl_job_desc){.parameters = names + 1, .parameter_count = 1}, &job), BL_ERROR_UNSUPPORTED);
    assert_non_null(strstr(bl_context_error(device.context), "not implemented where media emit light"));
    bl_scene_destroy(scene);
    arena_free(&a);
}

int main(void)
{
    if (!scene_device_open(&device))
        return scene_device_missing();
    folder = scene_files_create();
    if (!folder)
        return 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(camera), cmocka_unit_test(shape_behind_a_veil), cmocka_unit_test(refused)};
    int failed = cmocka_run_group_tests_name("moved in media", tests, NULL, NULL);
    scene_files_remove(folder);
    if (!failed) /* a test that failed has left its objects behind */
        scene_device_close(&device);
    return failed;
}
