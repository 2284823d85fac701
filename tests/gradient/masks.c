/* LABELS: swiftshader=long native */
/* SPDX-License-Identifier: BSD-3-Clause
 * The integrator `silhouette`: its image moves by edges alone (support/edge_cases.h). And sums of splats that
 * overflow are summed again: the derivative along a large tangent is that along a small one, times a number.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/edge_cases.h"
#include "support/scene_cases.h"

#include <math.h>

static scene_device device;
static char *folder;

#define PLATE                                                                                                \
    "<shape type='rectangle' id='plate'>" AT("<scale value='.3'/><rotate y='1' angle='150'/>"                \
                                             "<rotate z='1' angle='25'/>"                                    \
                                             "<translate value='.5,.2,.9'/>") "</shape>"

static const edge_case cases[] = {
    {"a ball and a plate that shows its back, by the ball",
     NULL,
     FRONT,
     BALL("<translate value='.07,.1,.2'/>") PLATE SKY,
     "it.to_world",
     {1, .2, .3},
     32,
     .004},
    {"the same, by the camera",
     NULL,
     FRONT,
     BALL("<translate value='.07,.1,.2'/>") PLATE SKY,
     "sensor.translation",
     {1, .3, .2},
     32,
     .004},
    {"vertices of a cube",
     NULL,
     FRONT,
     "<shape type='cube' id='it'>" AT("<scale value='.4'/><rotate x='1' angle='30'/><rotate y='1' "
                                      "angle='40'/><translate value='.03,.21,.5'/>") "</shape>",
     "it.vertex_positions",
     {1, .3, .2},
     32,
     .004},
    {"a rod, which could not be a light",
     NULL,
     FRONT,
     "<shape type='linearcurve' id='it'><string name='filename' value='knee.curves'/>" AT(
         "<translate value='.03,.02,.3'/>") "</shape>",
     "it.to_world",
     {1, .3, .2},
     32,
     .004},
};
enum { CASES = sizeof cases / sizeof *cases };

static void expect_case(void **state) { edge_case_expect(&device, folder, "silhouette", *state); }

static void expect_large_tangents(void **state)
{
    (void)state;
    enum { VALUES = 3 * 8 * 8 };
    const char *const name = "it.translation";
    static const float large = 1e15f;
    float along[2][3] = {{1, .2f, .3f}}, image[2][VALUES];
    double size = 0;
    bl_stats stats;
    bl_job *job;
    bl_scene *scene = scene_device_load(
        &device,
        "<scene version='3.0.0'><integrator type='silhouette'/><sensor type='perspective'>" AT(
            "<lookat " FRONT
            "/>") "<film type='hdrfilm'><integer name='width' value='8'/><integer name='height' "
                  "value='8'/><rfilter type='box'/></film></sensor>" BALL("") "</scene>",
        folder);
    bl_job_desc desc = {.parameters = &name, .parameter_count = 1, .rays = scene_device_rays()};
    SCENE_MUST(&device, bl_job_create(device.device, scene, &desc, &job));
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < 3; i++)
            along[k][i] = k ? large * along[0][i] : along[0][i];
        const float *tangents[] = {along[k]};
        bl_forward_desc forward = {.spp = 64, .seed = 5, .tangents = tangents};
        SCENE_MUST(&device, bl_job_forward(job, &forward, image[k], &stats));
        assert_int_equal(stats.overflowed, 0);
    }
    for (int i = 0; i < VALUES; i++) {
        size += fabs((double)image[0][i]);
        assert_true(fabs((double)(image[1][i] / large - image[0][i])) <=
                    1e-4 * (1 + fabs((double)image[0][i])));
    }
    assert_true(size > 1);
    bl_job_destroy(job);
    bl_scene_destroy(scene);
}

int main(void)
{
    struct CMUnitTest tests[CASES + 1];
    for (int i = 0; i < CASES; i++)
        tests[i] = (struct CMUnitTest){cases[i].name, expect_case, NULL, NULL, (void *)(uintptr_t)&cases[i]};
    tests[CASES] = (struct CMUnitTest)cmocka_unit_test(expect_large_tangents);
    return scene_device_run(&device, &folder, "masks", tests, CASES + 1, NULL);
}
