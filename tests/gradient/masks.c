/* LABELS: swiftshader=long native */
/* SPDX-License-Identifier: BSD-3-Clause
 * The integrator `silhouette`: its image moves by edges alone (support/edge_cases.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/edge_cases.h"
#include "support/scene_cases.h"

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

int main(void)
{
    struct CMUnitTest tests[CASES];
    for (int i = 0; i < CASES; i++)
        tests[i] = (struct CMUnitTest){cases[i].name, expect_case, NULL, NULL, (void *)(uintptr_t)&cases[i]};
    return scene_device_run(&device, &folder, "masks", tests, CASES, NULL);
}
