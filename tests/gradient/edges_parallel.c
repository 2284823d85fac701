/* LABELS: native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Edges that a sensor with parallel rays sees, by what moves the shape and by the sensor. The scene lies
 * before the sensor, or for the most part behind it or before its near plane: a ball that nothing sees holds
 * the middle of the scene there. Both ends of the rays see the same silhouettes, but other sides of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/edge_cases.h"
#include "support/scene_cases.h"

static scene_device device;
static char *folder;

#define CUBE                                                                                                 \
    "<shape type='cube' id='it'>" AT("<scale value='.5'/><rotate x='1' angle='30'/><rotate y='1' "           \
                                     "angle='40'/>") "<bsdf type='diffuse'/></"                              \
                                                     "shape>"
#define AWAY                                                                                                 \
    "<shape type='sphere'>" AT("<scale value='4'/><translate z='16'/>") "<bsdf type='diffuse'/></shape>"
#define NEAR(value) "<float name='near_clip' value='" value "'/>"

// clang-format off
static const struct parallel_case {
    edge_case c;
    const char *clips;
} cases[] = {
    {{"a cube", "3", FRONT, WALL CUBE BULB SKY, "it.to_world", {1, .3, .2}, 64, .01}, ""},
    {{"a cube, by the sensor", "3", FRONT, WALL CUBE BULB SKY, "sensor.to_world", {1, .3, .2}, 64, .01}, ""},
    {{"a cube, most of the scene is behind the sensor", "3", FRONT, WALL CUBE BULB AWAY, "it.to_world",
      {1, .3, .2}, 64, .01}, ""},
    {{"a cube whose front is cut off, most of the scene is before the cut", "3", FRONT,
      WALL CUBE BULB AWAY, "it.to_world", {1, .3, .2}, 128, .005}, NEAR("3.4")},
};
// clang-format on

static void expect_case(void **state)
{
    const struct parallel_case *it = *state;
    edge_case_parallel(true);
    edge_case_sensor(it->clips);
    edge_case_expect(&device, folder, "path", &it->c);
}

int main(void)
{
    enum { CASES = sizeof cases / sizeof *cases };
    struct CMUnitTest tests[CASES];
    for (uint32_t i = 0; i < CASES; i++)
        tests[i] =
            (struct CMUnitTest){cases[i].c.name, expect_case, NULL, NULL, (void *)(uintptr_t)&cases[i]};
    return scene_device_run(&device, &folder, "edges-parallel", tests, CASES, NULL);
}
