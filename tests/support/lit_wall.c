/* SPDX-License-Identifier: BSD-3-Clause
 * A wall under a lamp. */
#include "support/lit_wall.h"
#include "support/scene_cases.h"

static const char wall_and_lamp[] =
    "<bsdf type='diffuse' id='wall'><rgb name='reflectance' value='%s'/></bsdf>"
    "<shape type='rectangle'><transform name='to_world'><scale value='2'/></transform><ref "
    "id='wall'/></shape>"
    "<shape type='rectangle'><transform name='to_world'><rotate x='1' angle='170'/><translate "
    "z='2'/></transform>"
    "<emitter type='area' id='lamp'><rgb name='radiance' value='3'/></emitter></shape>%s";

bl_scene *lit_wall_load(scene_device *d, uint32_t side, const char *reflectance, const char *more)
{
    arena a = {0};
    bl_scene *s = scene_device_load(
        d,
        scene_xml(&a, "<integrator type='path'><integer name='max_depth' value='3'/></integrator>",
                  arena_printf(&a, scene_sensor_format, side, side),
                  arena_printf(&a, wall_and_lamp, reflectance, more)),
        ".");
    arena_free(&a);
    return s;
}
