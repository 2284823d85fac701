/* LABELS: swiftshader native */
/* SPDX-License-Identifier: BSD-3-Clause
 * The renderer's own kernels stay in bounds (BL_DEBUG=bounds): image, the kernels of a gradient, derived
 * values, their adjoint and sampling tables, over the hierarchy. Not on lavapipe, whose compiler takes
 * minutes over checked kernels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_device.h"

#include <stdlib.h>

static scene_device checked;

/* Textures, an environment with its table, derived values, spheres and triangles in the hierarchy. */
static void the_renderer_stays_in_bounds(void **state)
{
    static const char body[] =
        "<bsdf type='diffuse' id='wall'><texture type='bitmap' name='reflectance'><string name='filename' "
        "value='texture.pfm'/></texture></bsdf>"
        "<shape type='rectangle'><transform name='to_world'><scale value='3'/></transform><ref "
        "id='wall'/></shape>"
        "<shape type='sphere'><point name='center' x='0' y='0.2' z='0.5'/><float name='radius' value='0.5'/>"
        "<bsdf type='plastic'/></shape>"
        "<emitter type='envmap'><string name='filename' value='sky.pfm'/></emitter>"
        "<emitter type='spot' id='spot'><rgb name='intensity' value='1'/><transform name='to_world'>"
        "<lookat origin='0,0,3' target='0,0,0' up='0,1,0'/></transform></emitter>";
    (void)state;
    arena a = {0};
    char *folder = scene_files_create();
    assert_non_null(folder);
    bl_scene *scene = scene_device_load(
        &checked,
        scene_xml(&a, "<integrator type='path'><integer name='max_depth' value='3'/></integrator>",
                  arena_printf(&a, scene_sensor_format, 8, 8), body),
        folder);
    const char *wanted[] = {"wall.reflectance.data", "spot.cutoff_angle"};
    float image[3 * 8 * 8], adjoint[3 * 8 * 8];
    for (int k = 0; k < 3 * 8 * 8; k++)
        adjoint[k] = 1;
    bl_job *job;
    bl_stats stats;
    SCENE_MUST(&checked,
               bl_job_create(checked.device, scene,
                             &(bl_job_desc){.parameters = wanted, .parameter_count = 2, .no_baking = true},
                             &job));
    SCENE_MUST(&checked, bl_job_render(job, &(bl_render_desc){.spp = 4}, image, &stats));
    for (bl_gradient_form form = BL_FORM_FUSED; form <= BL_FORM_SEPARATE; form++)
        SCENE_MUST(
            &checked,
            bl_job_gradient(job, &(bl_gradient_desc){.form = form, .spp = 4, .adjoint = adjoint}, &stats));
    bl_job_destroy(job);
    bl_scene_destroy(scene);
    scene_files_remove(folder);
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_renderer_stays_in_bounds)};
    setenv("BL_DEBUG", "bounds", 1);
    return SCENE_DEVICE_RUN(&checked, NULL, "bounds", tests);
}
