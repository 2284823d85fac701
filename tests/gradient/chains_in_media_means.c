/* LABELS: swiftshader=long native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Are gradients right in the mean where directions behind mirrors and smooth glass turn in front of and
 * inside participating media (integrator/motion/attached_volume.c)? They are compared with differences of
 * images, which know of no convention. The camera is inside of everything, so no edge matters. Sample by
 * sample, the same is compared in gradient/chains_in_media.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/moved_scene.h"
#include "support/scene_cases.h"

static scene_device device;
static char *folder;

#define VOLPATH(depth)                                                                                       \
    "<integrator type='volpath'><integer name='max_depth' value='" depth                                     \
    "'/><integer name='rr_depth' value='99'/></integrator>"
#define INSIDE                                                                                               \
    "<sensor type='perspective'><float name='fov' value='60'/>" TO_WORLD(                                    \
        "<lookat origin='0,-.9,.3' target='-.4,-2,.1' up='0,0,1'/>") MOVED_FILM "</sensor>"
#define RGB(name, value) "<rgb name='" name "' value='" value "'/>"
#define FOG(id, sigma)                                                                                       \
    "<medium type='homogeneous' id='" id "'>" RGB("sigma_t", sigma)                                          \
        RGB("albedo", ".8,.7,.9") "<phase type='hg'><float name='g' value='.4'/></phase></medium>"
#define IN_BOX(file)                                                                                         \
    "<string name='filename' value='" file                                                                   \
    "'/>" TO_WORLD("<translate value='-.5,-.5,-.5'/><scale value='1.8'/>") "</volume>"
#define SMOKE                                                                                                \
    "<medium type='heterogeneous' id='fog'><float name='scale' value='2'/><volume type='gridvolume' "        \
    "name='sigma_t'>" IN_BOX("smoke.vol")                                                                    \
        RGB("albedo", ".8,.7,.9") "<volume type='gridvolume' "                                               \
                                  "name='emission'>" IN_BOX("tint.vol") "</medium>"
#define TILES                                                                                                \
    "<bsdf type='conductor' id='metal'>" RGB("eta", ".3,.6,1.1")                                             \
        RGB("k", "3,2.4,1.9") "</bsdf><bsdf type='normalmap' id='it'>" RGB(                                  \
            "normalmap", ".56,.53,.95") "<ref "                                                              \
                                        "id='metal'/></bsdf>"
#define ATTACHED(alpha)                                                                                      \
    "<string name='distribution' value='ggx'/><string name='attached' value='always'/><float name='alpha' "  \
    "value='" alpha "'/>"
#define ROUGH_METAL(alpha) "<bsdf type='roughconductor' id='metal'>" ATTACHED(alpha) "</bsdf>"
#define TILT RGB("normalmap", ".56,.53,.95")
#define ROUGH_TILES(alpha)                                                                                   \
    ROUGH_METAL(alpha) "<bsdf type='normalmap' id='it'>" TILT "<ref id='metal'/></bsdf>"
#define CAVE(material)                                                                                       \
    "<shape type='sphere'><float name='radius' value='2'/><boolean name='flip_normals' value='true'/>"       \
    "<ref id='" material "'/>"
#define END "</shape>"
#define CUBE                                                                                                 \
    "<shape type='cube'>" TO_WORLD("<scale value='.5'/><rotate z='1' angle='20'/><rotate x='1' "             \
                                   "angle='15'/><translate y='.1'/>") "<bsdf type='null'/><ref id='fog' "    \
                                                                      "name='interior'/></shape>"
#define WITHIN                                                                                               \
    "<shape type='sphere'><float name='radius' value='1.8'/><bsdf type='null'/><ref id='fog' "               \
    "name='interior'/></shape>"
#define BULB                                                                                                 \
    "<emitter type='point'><point name='position' value='-.3,1.5,.5'/>" RGB("intensity", "3,2,1") "</"       \
                                                                                                  "emitter>"
#define PICTURE "<emitter type='area'>" BITMAP("radiance") "</emitter>"
#define SKY "<emitter type='envmap'><string name='filename' value='sky.pfm'/></emitter>"
#define NORMAL_TURNS                                                                                         \
    {                                                                                                        \
        {0, 0, 0}, 0, { 1, .6, 0 }                                                                           \
    }
#define GROWS                                                                                                \
    {                                                                                                        \
        {0, 0, 0}, 0, { 1, 0, 0 }                                                                            \
    }
#define INDEX "<float name='int_ior' value='.7'/><float name='ext_ior' value='1'/>"
#define AROUND "<ref id='it'/><ref id='fog' name='exterior'/></shape>"
#define OUTSIDE "<bsdf type='null'/><ref id='fog' name='interior'/></shape>"
#define SPHERES                                                                                              \
    "<shape type='sphere'><float name='radius' value='1.5'/>" AROUND                                         \
    "<shape type='sphere'><float name='radius' value='4'/>" OUTSIDE
#define BUBBLE "<bsdf type='dielectric' id='it'>" INDEX "</bsdf>" SPHERES
#define ROUGH "<float name='alpha' value='.05'/>"
#define ROUGH_BUBBLE "<bsdf type='roughdielectric' id='it'>" ROUGH INDEX "</bsdf>" SPHERES

static const moved_means cases[] = {
    {{"a mirror, a cube of fog and a bulb", VOLPATH("3"), INSIDE,
      FOG("fog", "2,1.5,1") TILES CAVE("it") END CUBE BULB, "it.normalmap.value", NORMAL_TURNS, 1024, 0},
     .003,
     8},
    {{"a mirror, a cube of smoke that glows", VOLPATH("2"), INSIDE, SMOKE TILES CAVE("it") END CUBE,
      "it.normalmap.value", NORMAL_TURNS, 1024, 0},
     .003,
     8},
    {{"walls of mirror and paper, that shine, around a cube of fog", VOLPATH("2"), INSIDE,
      FOG("fog", "2,1.5,1") TILES "<bsdf type='blendbsdf' id='wall'><float name='weight' value='.4'/><ref "
                                  "id='it'/><bsdf type='diffuse'/></bsdf>" CAVE("wall") PICTURE END CUBE,
      "it.normalmap.value", NORMAL_TURNS, 1024, 0},
     .003,
     8},
    {{"a bubble in glass and fog", VOLPATH("4"), INSIDE, FOG("fog", ".3,.2,.4") BUBBLE SKY, "it.eta", GROWS,
      1024, 0},
     .003,
     8},
    {{"rough metal that shines around a ball of fog", VOLPATH("2"), INSIDE,
      FOG("fog", ".2,.3,.1") ROUGH_TILES(".3") CAVE("it") PICTURE END WITHIN, "it.normalmap.value",
      NORMAL_TURNS, 4096, 0},
     .003,
     8},
    {{"a bubble in rough glass and fog", VOLPATH("3"), INSIDE, FOG("fog", ".3,.2,.4") ROUGH_BUBBLE SKY,
      "it.eta", GROWS, 1024, 0},
     .01,
     8},
};

static void means_agree(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        moved_means_expect(&device, &cases[k], folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(means_agree)};
    return SCENE_DEVICE_RUN(&device, &folder, "chains in media, means", tests);
}
