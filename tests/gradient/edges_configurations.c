/* LABELS: native */
/* SPDX-License-Identifier: BSD-3-Clause
 * What Mitsuba's tests of integrators move, in scenes of ours: shapes under a sky, lights before nothing,
 * what casts a shadow and what receives it, both at once, and a ball that a glossy floor shows. Mitsuba
 * compares images of some thousands of samples a pixel with differences: mean error at most 2 to 10 % of the
 * value (or of .2, where that is more), 25 % for the floor. Here the root mean square of z over blocks must
 * be that of noise, as in edges.c, which has the others: a ball under a sky ("all: a ball over a wall under
 * the sky"), the occluder ("lit: the shadow of a ball under a lamp") and the receiver ("lit: the wall under
 * the shadow moves"). Lights with an image are in moved_mesh_lights.c. A third of the cases a day. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/edge_cases.h"
#include "support/scene_cases.h"
#include "support/todays_share.h"

static scene_device device;
static char *folder;

#define MATTE "<bsdf type='twosided'><bsdf type='diffuse'/></bsdf>"
#define SHINES "<emitter type='area'/>"

// clang-format off
static const edge_case cases[] = {
    {"all: a square under a sky", "3", FRONT,
     "<shape type='rectangle' id='it'>"
     AT("<scale value='.6'/><rotate z='1' angle='23'/><rotate y='1' angle='20'/>") MATTE "</shape>" SKY,
     "it.to_world", {1, .3, .2}, 64, .01},
    {"seen: vertices of a shining cube before nothing", "2", FRONT,
     "<shape type='cube' id='it'>"
     AT("<scale value='.5'/><rotate x='1' y='.3' angle='35'/><translate x='.1'/>") SHINES "</shape>",
     "it.vertex_positions", {1, .3, .2}, 64, .01},
    {"seen: a shining ball before nothing", "3", FRONT,
     "<shape type='sphere' id='it'>" AT("<scale value='.6'/><translate x='.3'/>") SHINES "</shape>",
     "it.to_world", {1, .3, .2}, 64, .01},
    {"seen: a shining ball before nothing grows", "3", FRONT,
     "<shape type='sphere' id='it'>" AT("<scale value='.6'/><translate x='.3'/>") SHINES "</shape>",
     "it.scale", {1}, 64, .01},
    {"all: a floor and the screen whose shadow falls on it move as one", "3", FRONT,
     "<shape type='shapegroup' id='g'><shape type='rectangle'>" MATTE "</shape><shape type='rectangle'>"
     AT("<scale value='.6'/><rotate y='1' angle='90'/><translate value='-.4,0,.5'/>") MATTE
     "</shape></shape><shape type='instance' id='it'><ref id='g'/></shape><emitter type='point'>"
     "<point name='position' value='-3,.5,5'/><rgb name='intensity' value='20'/></emitter>"
     "<emitter type='constant'><rgb name='radiance' value='.1'/></emitter>",
     "it.to_world", {1, .3, 0}, 128, .01},
    {"path: a ball in a glossy floor", "3", "origin='0,0,2' target='0,0.03,-1' up='0,1,0'",
     "<shape type='rectangle'>" AT("<scale value='5'/><rotate x='1' angle='-20'/><translate z='-1'/>")
     "<bsdf type='roughconductor'><float name='alpha' value='.1'/>"
     "<string name='material' value='none'/></bsdf></shape>" BALL("<translate value='.1,1.2,1.6'/>") SKY,
     "it.to_world", {1, .3, .2}, 128, .01},
};
// clang-format on
enum { CASES = sizeof cases / sizeof *cases, PARTS = 3 };

static void expect_case(void **state) { edge_case_expect(&device, folder, "path", *state); }

int main(void)
{
    struct CMUnitTest tests[CASES];
    uint32_t count = 0;
    for (uint32_t i = 0; i < CASES; i++)
        if (todays_part(i, PARTS))
            tests[count++] =
                (struct CMUnitTest){cases[i].name, expect_case, NULL, NULL, (void *)(uintptr_t)&cases[i]};
    return scene_device_run(&device, &folder, "edges-configurations", tests, count, NULL);
}
