/* LABELS: native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Edges that move under samplers that take only some numbers of samples: squares, grids, squares of primes,
 * powers of four. Passes of edges share samples by variance, so their numbers are none of these. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/edge_cases.h"

#include <stdio.h>

static scene_device device;
static char *folder;

static const edge_case lit = {
    "a ball and its shadow", "3",         FRONT, WALL BALL("<translate value='.1,.2,.1'/>") BULB SKY,
    "it.to_world",           {1, .3, .2}, 64,    .005};
static const char *const samplers[] = {"stratified", "multijitter", "orthogonal", "ldsampler"};
enum { SAMPLERS = sizeof samplers / sizeof *samplers };

static void expect_sampler(void **state)
{
    char xml[64];
    snprintf(xml, sizeof xml, "<sampler type='%s'/>", (const char *)*state);
    edge_case_sensor(xml);
    edge_case_expect(&device, folder, "path", &lit);
}

int main(void)
{
    struct CMUnitTest tests[SAMPLERS];
    for (uint32_t i = 0; i < SAMPLERS; i++)
        tests[i] =
            (struct CMUnitTest){samplers[i], expect_sampler, NULL, NULL, (void *)(uintptr_t)samplers[i]};
    return scene_device_run(&device, &folder, "edges-samplers", tests, SAMPLERS, NULL);
}
