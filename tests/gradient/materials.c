/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Are the gradients of every material right? Each row of support/material_cases.h is put into one scene: a
 * ball of it around a lamp, and a sheet of it seen from behind, between a floor, a wall, a lamp and the
 * sky. Sample by sample in the interpreter, by support/path_agreement.h, whose differences and unrolled
 * path share no formula with replay. Every parameter must get a gradient somewhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/material_cases.h"
#include "support/path_agreement.h"
#include "support/todays_share.h"

enum { DEPTH = 4, SAMPLES = 15, SLOW_SAMPLES = 4 /* of those whose derived values are integrals */ };

#define TO_WORLD(ops) "<transform name='to_world'>" ops "</transform>"
#define RECTANGLE(ops, inside) "<shape type='rectangle'>" TO_WORLD(ops) inside "</shape>"

#define RGB(name, value) "<rgb name='" name "' value='" value "'/>"
#define SPHERE(ops, inside) "<shape type='sphere'>" TO_WORLD(ops) inside "</shape>"
#define LAMP(radiance) "<emitter type='area'>" RGB("radiance", radiance) "</emitter>"

#define IT "<ref id='it'/>"
#define WHITE "<ref id='white'/>"

// clang-format off
static const char room[] =
    "<bsdf type='diffuse' id='white'>" RGB("reflectance", ".7,.75,.8") "</bsdf>"
    /* floor and wall */
    RECTANGLE("<scale value='1.5'/>", WHITE)
    RECTANGLE("<scale value='1.5'/><rotate x='1' angle='90'/><translate value='0,1.1,1'/>", WHITE)
    /* the ball, and in it a lamp: what crosses the surface once ends in light, even where it is black */
    SPHERE("<rotate x='.96' y='.28' angle='70'/><scale value='.8'/><translate value='0,-.4,.8'/>", IT)
    SPHERE("<scale value='.25'/><translate value='0,-.4,.8'/>", LAMP("2,3,4"))
    /* a piece of the material that shows its back */
    RECTANGLE("<scale value='.4'/><rotate x='1' angle='-70'/><translate value='.8,-1.3,.4'/>", IT)
    RECTANGLE("<scale value='.6'/><rotate x='1' angle='165'/><translate value='-.1,-.2,2.2'/>",
              LAMP("5,4,3"))
    "<emitter type='constant'>" RGB("radiance", ".5,.7,.9") "</emitter>";
// clang-format on

static char *folder;

static void material_agrees(void **state)
{
    const material_case *c = *state;
    arena a = {0};
    scene_case scene = {.name = c->name, .body = arena_printf(&a, "%s%s", c->xml, room)};
    for (uint32_t k = 0; k < material_case_parameter_count(c); k++)
        scene.parameters[k] = c->parameters[k];
    path_agreement_expect(&(path_agreement){.scene = &scene,
                                            .folder = folder,
                                            .depth = DEPTH,
                                            .samples = c->slack > 0 ? SLOW_SAMPLES : SAMPLES,
                                            .inwards = c->inwards,
                                            .slack = c->slack,
                                            .dark = true,
                                            .zero = c->zero});
    arena_free(&a);
}

int main(void)
{
    folder = scene_files_create();
    if (!folder)
        return 1;
    arena a = {0};
    uint32_t count = 0;
    struct CMUnitTest *tests = arena_alloc(&a, (material_case_count + 1) * sizeof *tests);
    for (uint32_t i = 0; i < material_case_count; i++)
        if (material_case_parameter_count(&material_cases[i]) > 0 && todays_share(i))
            tests[count++] = (struct CMUnitTest){material_cases[i].name, material_agrees, NULL, NULL,
                                                 (void *)(uintptr_t)&material_cases[i]};
    int failed = _cmocka_run_group_tests("gradients of materials", tests, count, NULL, NULL);
    arena_free(&a);
    scene_files_remove(folder);
    return failed;
}
