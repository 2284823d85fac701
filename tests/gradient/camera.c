/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Are the gradients of the camera's parameters those of plain central differences? Sample by sample, in
 * f64. Only lights are sampled, one bounce after the camera's ray. A sample with its random numbers is then
 * a smooth function of the camera until it crosses an edge. So every sample must agree, except the few that
 * cross one within the step. Longer paths are compared with frozen paths by tests/gradient/unrolled.c,
 * which has the camera's scenes too. Also: a kernel makes the same record of a sensor from parameters as
 * the host does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/plain_differences.h"
#include "support/scene_cases.h"
#include "support/scene_traced.h"

#include <math.h>
#include <stdlib.h>

enum { SIDE = 16, SAMPLES = 60 };
static char *folder;

#define POSE                                                                                                 \
    "<transform name='to_world'><lookat origin='.1,-2.9,1.3' target='0,0,.5' up='0,0,1'/></transform>"
#define FILM                                                                                                 \
    "<film type='hdrfilm'><integer name='width' value='16'/><integer name='height' value='16'/><rfilter "    \
    "type='box'/></film>"
#define MATERIAL                                                                                             \
    "<bsdf type='diffuse'><texture type='bitmap' name='reflectance'><string name='filename' "                \
    "value='texture.pfm'/></texture></bsdf>"

static const struct {
    const char *name, *sensor, *light;
    const char *parameters[6];
} cases[] = {
    {"pinhole, point light",
     "<sensor type='perspective' id='eye'><float name='fov' value='55'/><vector name='rotation' "
     "value='10,-20,5'/>" POSE FILM "</sensor>",
     "<emitter type='point'><point name='position' value='-.4,-.6,1.5'/></emitter>",
     {"eye.to_world", "eye.rotation", "eye.translation", "eye.x_fov", "eye.principal_point_offset_x",
      "eye.principal_point_offset_y"}},
    {"lens, area light",
     "<sensor type='thinlens' id='eye'><float name='fov' value='55'/><float name='aperture_radius' "
     "value='.2'/><float name='focus_distance' value='2.5'/>" POSE FILM "</sensor>",
     "<shape type='rectangle'><transform name='to_world'><scale value='.6,.5,1'/><rotate x='1' "
     "angle='165'/><translate value='-.1,-.2,2.2'/></transform>"
     "<emitter type='area'/></shape>",
     {"eye.to_world", "eye.rotation", "eye.translation", "eye.x_fov", "eye.aperture_radius",
      "eye.focus_distance"}},
    {"pinhole, environment",
     "<sensor type='perspective' id='eye'>" POSE FILM "</sensor>",
     "<emitter type='envmap'><string name='filename' value='sky.pfm'/></emitter>",
     {"eye.translation", "eye.rotation"}},
    {"parallel rays, point light",
     "<sensor type='orthographic' id='eye'><transform name='to_world'><scale value='.9,.8,1.2'/><lookat "
     "origin='.1,-2.9,1.3' target='0,0,.5' up='0,0,1'/></transform>" FILM "</sensor>",
     "<emitter type='point'><point name='position' value='-.4,-.6,1.5'/></emitter>",
     {"eye.to_world"}},
    {"pinhole, surfaces that rays meet by iteration",
     "<sensor type='perspective' id='eye'><float name='fov' value='55'/>" POSE FILM "</sensor>",
     "<shape type='sdfgrid'><string name='filename' value='ball.vol'/><transform name='to_world'><translate "
     "value='-.1,-.5,.2'/></transform></shape>"
     "<shape type='bsplinecurve'><string name='filename' value='strand.curves'/><transform "
     "name='to_world'><translate y='11'/></transform></shape>"
     "<emitter type='point'><point name='position' value='-.4,-.6,1.5'/></emitter>",
     {"eye.translation", "eye.rotation"}},
};

static scene_eval *create(size_t k, uint32_t count)
{
    arena a = {0};
    char *body = arena_printf(
        &a,
        "<shape type='rectangle'><transform name='to_world'><scale value='3'/></transform>" MATERIAL
        "</shape>"
        "<shape type='sphere'><point name='center' value='-.5,0,.4'/><float name='radius' "
        "value='.4'/>" MATERIAL "</shape>%s",
        cases[k].light);
    scene_eval *e =
        scene_eval_create(scene_xml(&a,
                                    "<integrator type='direct'><integer name='emitter_samples' "
                                    "value='1'/><integer name='bsdf_samples' value='0'/></integrator>",
                                    cases[k].sensor, body),
                          folder, cases[k].parameters, count);
    arena_free(&a);
    return e;
}

static void all_derivatives(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        uint32_t count = 0;
        while (count < 6 && cases[k].parameters[count])
            count++;
        scene_eval *e = create(k, count);
        plain_differences_expect(e, &(plain_differences){.name = cases[k].name,
                                                         .parameters = cases[k].parameters,
                                                         .parameter_count = count,
                                                         .samples = SAMPLES,
                                                         .every = true,
                                                         .least_mean = 1e-3});
        scene_eval_destroy(e);
    }
}

/* Derived values are the words of the host's record. */
static void record(void **state)
{
    (void)state;
    static const struct {
        size_t in;
        uint32_t words;
    } records[] = {{0, 20}, {1, 22} /* a pinhole's ends before the lens */, {3, 20}};
    for (size_t j = 0; j < sizeof records / sizeof *records; j++) {
        size_t k = records[j].in;
        bl_error err = {0};
        scene_eval *e = create(k, 1);
        if (scene_eval_run(e, RENDER_PRIMAL, (scene_eval_at){.f64 = true}, &err) != BL_OK)
            fail_msg("%s", err.text);
        const float *host = (const float *)(const void *)(e->plan->words.data + plan_sensor_word(e->plan));
        for (uint32_t i = 0; i < records[j].words; i++) {
            double derived = e->values[e->scene->values.count + i];
            if (!(fabs(derived - (double)host[i]) <= 2e-6 * (1 + fabs(derived))))
                fail_msg("%s, word %u: %.9g, the host's %.9g", cases[k].name, i, derived, (double)host[i]);
        }
        scene_eval_destroy(e);
    }
}

int main(void)
{
    folder = scene_files_create();
    if (!folder)
        return 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(record), cmocka_unit_test(all_derivatives)};
    int failed = cmocka_run_group_tests_name("camera", tests, NULL, NULL);
    scene_files_remove(folder);
    return failed;
}
