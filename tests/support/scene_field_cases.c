/* SPDX-License-Identifier: BSD-3-Clause
 * Radiance fields: every activation and degree, marches that end early, fields before the sky and around
 * surfaces. Steps are so long that a segment has at most 24 samples, as many as the unrolled check writes
 * out. */
#include "support/scene_cases.h"

#define NUMBER(name, value) "<float name='" name "' value='" value "'/>"
#define TEXT(name, value) "<string name='" name "' value='" value "'/>"
#define INTEGRATOR(more)                                                                                     \
    "<integrator type='radiance_field'><integer name='max_depth' value='2'/><integer name='rr_depth' "       \
    "value='1000'/>" more "</integrator>"
#define GRID(name, file) "<volume type='gridvolume' name='" name "'>" TEXT("filename", file) "</volume>"
#define FIELD(density, color, sh) FIELD_OF("smoke.vol", density, color, sh)
#define FIELD_OF(file, density, color, sh)                                                                   \
    "<field type='sh_field' id='field'><transform name='to_world'><translate value='-.5,-.5,-.3'/><rotate "  \
    "x='1' y='.4' z='.2' angle='25'/><scale value='1.9,1.6,1.4'/></transform>" TEXT("density_activation",    \
                                                                                    density)                 \
        TEXT("color_activation", color) GRID("density", file) GRID("sh_coeffs", sh) "</field>"
#define SKY "<emitter type='constant' id='sky'><rgb name='radiance' value='.7,.9,1.2'/></emitter>"
#define COLOURS                                                                                              \
    "<bsdf type='diffuse' id='green'><rgb name='reflectance' value='.2,.6,0'/></bsdf>"                       \
    "<bsdf type='diffuse' id='grey'><rgb name='reflectance' value='.4,.3,.5'/></bsdf>"
#define BALL                                                                                                 \
    "<shape type='sphere'><point name='center' value='.1,0,.4'/><float name='radius' value='.35'/><ref "     \
    "id='green'/></shape>"
#define FLOOR                                                                                                \
    "<shape type='rectangle'><transform name='to_world'><scale value='1.5'/></transform><ref "               \
    "id='grey'/></shape>"
#define LAMP                                                                                                 \
    "<shape type='rectangle'><transform name='to_world'><scale value='.6,.5,1'/><rotate x='1' "              \
    "angle='165'/><translate value='-.1,-.2,2.2'/></transform><ref id='green'/><emitter type='area' "        \
    "id='light'><rgb name='radiance' value='5,4,3'/></emitter></shape>"
/* Between the camera and the field: the ball's box does not meet the field's. */
#define FOG                                                                                                  \
    "<medium type='homogeneous' id='fog'><float name='sigma_t' value='1.4'/><rgb name='albedo' "             \
    "value='.9,.7,.5'/><phase type='hg'><float name='g' value='.4'/></phase></medium>"                       \
    "<shape type='sphere'><point name='center' value='.45,-1.9,.95'/><float name='radius' "                  \
    "value='.3'/><bsdf type='null'/><ref id='fog' name='interior'/></shape>"

const scene_case scene_field_cases[] = {
    {.name = "field of degree 0, as it is",
     .integrator = INTEGRATOR(NUMBER("step_size", ".12") NUMBER("min_transmittance", "0")),
     .body = FIELD("none", "none", "tint.vol") SKY,
     .step = 1e-3,
     .parameters = {"field.density.data", "field.sh_coeffs.data", "sky.radiance.value"}},
    {.name = "field of degree 1, softplus and sigmoid, that ends early",
     .integrator = INTEGRATOR(NUMBER("step_size", ".13") NUMBER("min_transmittance", ".4")),
     .body = FIELD("softplus", "sigmoid", "waves.vol") SKY,
     .step = 1e-3,
     .parameters = {"field.density.data", "field.sh_coeffs.data", "sky.radiance.value"}},
    {.name = "field of degree 2, relu and clamp, in the middle of its steps",
     .integrator = INTEGRATOR(NUMBER("step_size", ".14") "<boolean name='jitter' value='false'/>"),
     .body = FIELD_OF("mist.vol", "relu", "clamp", "ripples.vol") SKY,
     .step = 1e-5,
     .parameters = {"field.density.data", "field.sh_coeffs.data", "sky.radiance.value"}},
    {.name = "field before a moving camera",
     .integrator = INTEGRATOR(NUMBER("step_size", ".13") NUMBER("min_transmittance", "0")),
     .body = FIELD("softplus", "softplus", "waves.vol") SKY,
     .step = 1e-4,
     .parameters = {"field.density.data", "field.sh_coeffs.data", "sensor.translation", "sensor.rotation"}},
    {.name = "field around a ball, lit by the sky",
     .integrator = INTEGRATOR(NUMBER("step_size", ".13") NUMBER("min_transmittance", "0")),
     .body = COLOURS BALL FLOOR FIELD("softplus", "sigmoid", "tint.vol") SKY,
     .step = 1e-3,
     .parameters = {"field.density.data", "field.sh_coeffs.data", "green.reflectance.value",
                    "sky.radiance.value"}},
    {.name = "field around a ball, lit by a lamp",
     .integrator = INTEGRATOR(NUMBER("step_size", ".13") NUMBER("min_transmittance", ".1")),
     .body = COLOURS BALL FLOOR FIELD("softplus", "sigmoid", "tint.vol") LAMP,
     .step = 1e-3,
     .parameters = {"field.density.data", "field.sh_coeffs.data", "green.reflectance.value",
                    "light.radiance.value"}},
    {.name = "field behind fog, lit by a lamp and the sky",
     .integrator = INTEGRATOR(NUMBER("step_size", ".13") NUMBER("min_transmittance", ".1")),
     .body = COLOURS BALL FLOOR FIELD("softplus", "sigmoid", "tint.vol") FOG LAMP SKY,
     .crossings = 2,
     .step = 1e-3,
     .parameters = {"field.density.data", "field.sh_coeffs.data", "green.reflectance.value",
                    "light.radiance.value", "sky.radiance.value", "fog.sigma_t.value.value",
                    "fog.albedo.value.value", "fog.phase_function.g"}},
};
const uint32_t scene_field_case_count = sizeof scene_field_cases / sizeof scene_field_cases[0];

const scene_case *scene_case_next(const scene_case *c)
{
    const struct {
        const scene_case *cases;
        uint32_t count;
    } tables[] = {{scene_cases, scene_case_count},
                  {scene_media_cases, scene_media_case_count},
                  {scene_thin_cases, scene_thin_case_count},
                  {scene_field_cases, scene_field_case_count}};
    bool here = c == NULL;
    for (size_t k = 0; k < sizeof tables / sizeof *tables; k++)
        for (uint32_t i = 0; i < tables[k].count; i++) {
            if (here)
                return &tables[k].cases[i];
            here = &tables[k].cases[i] == c;
        }
    return NULL;
}
