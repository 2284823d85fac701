/* LABELS: swiftshader=long native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Are gradients by the vertices of a mesh that shines right?
 *
 * The lamp is a bumpy square that is black at its border, by an image or by colours of its vertices. So no
 * edge of it is seen, and differences of images in which its vertices have really moved are the truth. It is
 * seen by the camera, and it lights a floor, by light sampling, by the material's sampling and by both.
 * Texture coordinates move as well, and the lamp stands in fog. Ordinary runs take the first scenes, because
 * compiling takes the time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/moved_scene.h"
#include "support/scene_cases.h"

#include <stdlib.h>
#include <string.h>

enum { ORDINARY = 4 };

static scene_device device;
static char *folder;

#define GROUND                                                                                               \
    "<shape type='rectangle' id='ground'>" TO_WORLD("<scale value='3'/>") "<bsdf type='diffuse'>" BITMAP(    \
        "reflectance") "</bsdf></shape>"
#define LAMP(place, radiance)                                                                                \
    "<shape type='ply' id='it'><string name='filename' value='lamp.ply'/><boolean name='face_normals' "      \
    "value='true'/>" TO_WORLD(place) "<bsdf type='diffuse'><rgb name='reflectance' value='0'/></bsdf>"       \
                                     "<emitter type='area'>" radiance "</emitter></shape>"
#define IMAGE                                                                                                \
    "<texture type='bitmap' name='radiance'><string name='filename' value='lamp.pfm'/><string "              \
    "name='wrap_mode' value='clamp'/></texture>"
#define COLOURS                                                                                              \
    "<texture type='mesh_attribute' name='radiance'><string name='name' value='vertex_color'/></texture>"
#define OVER "<scale value='.7,.5,1'/><rotate x='1' angle='150'/><translate value='1.2,.3,1.6'/>"
#define FRONT "<scale value='.5'/><rotate y='1' angle='20'/><translate value='.1,.1,.2'/>"
#define MOTION                                                                                               \
    {                                                                                                        \
        {.3, -.2, .5}, .4, { .3, -.5, .2 }                                                                   \
    }
#define FOG                                                                                                  \
    "<medium type='homogeneous' id='fog'><float name='sigma_t' value='.3'/><float name='albedo' "            \
    "value='0'/></medium>"

#define IN_FOG                                                                                               \
    "<sensor type='perspective'><float name='fov' value='30'/>" TO_WORLD(                                    \
        "<lookat origin='0,0,3' target='.1,.1,0' up='0,1,0'/>") MOVED_FILM FOG "</sensor>"
#define VOLPATH "<integrator type='volpath'><integer name='max_depth' value='2'/></integrator>"

static const moved_case cases[] = {
    {"image in view", DIRECT("1", "0"), MOVED_DOWN, LAMP(FRONT, IMAGE), "it.vertex_positions", MOTION, 256,
     .01},
    {"image over a floor, light sampling", DIRECT("1", "0"), MOVED_DOWN, GROUND LAMP(OVER, IMAGE),
     "it.vertex_positions", MOTION, 4096, .01},
    {"colours over a floor, both", DIRECT("1", "1"), MOVED_DOWN, GROUND LAMP(OVER, COLOURS),
     "it.vertex_positions", MOTION, 4096, .01},
    {"image over a floor, by texture coordinates", DIRECT("1", "1"), MOVED_DOWN, GROUND LAMP(OVER, IMAGE),
     "it.vertex_texcoords", MOTION, 1024, .01},
    {"colours in view", DIRECT("1", "0"), MOVED_DOWN, LAMP(FRONT, COLOURS), "it.vertex_positions", MOTION,
     256, .01},
    {"image in view, by texture coordinates", DIRECT("1", "0"), MOVED_DOWN, LAMP(FRONT, IMAGE),
     "it.vertex_texcoords", MOTION, 256, .01},
    {"image over a floor, material sampling", DIRECT("0", "1"), MOVED_DOWN, GROUND LAMP(OVER, IMAGE),
     "it.vertex_positions", MOTION, 16384, .01},
    {"image over a floor, both", DIRECT("1", "1"), MOVED_DOWN, GROUND LAMP(OVER, IMAGE),
     "it.vertex_positions", MOTION, 4096, .01},
    {"image in view, in fog", VOLPATH, IN_FOG, LAMP(FRONT, IMAGE), "it.vertex_positions", MOTION, 4096, .01},
    {"image over a floor, in fog", VOLPATH, IN_FOG, GROUND LAMP(OVER, IMAGE), "it.vertex_positions", MOTION,
     16384, .02},
};

static void gradient_equals_differences(void **state)
{
    (void)state;
    for (size_t k = 0; k < (getenv("BL_LONG") ? sizeof cases / sizeof *cases : ORDINARY); k++)
        moved_expect(&device, &cases[k], folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradient_equals_differences)};
    return SCENE_DEVICE_RUN(&device, &folder, "moved lights on meshes", tests);
}
