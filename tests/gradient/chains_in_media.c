/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Are gradients right through chains of mirrors and smooth glass whose segments run through media and through
 * surfaces that let light through (integrator/motion/attached_volume.c)? Sample by sample in the interpreter:
 * path replay equals the unrolled path, which is differentiated from the camera to its end, and differences
 * of the path that moves but meets the same primitives. The means are compared with images in
 * gradient/chains_in_media_means.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/path_agreement.h"
#include "support/sample_check.h"
#include "support/todays_tests.h"

#include <string.h>

enum { DEPTH = 4, SAMPLES = 200, LONG_DEPTH = 40, LONG_SAMPLES = 20 };
static char *folder;

#define TO_WORLD(ops) "<transform name='to_world'>" ops "</transform>"
#define RGB(name, value) "<rgb name='" name "' value='" value "'/>"
#define BITMAP(name, file)                                                                                   \
    "<texture type='bitmap' name='" name "'><string name='filename' value='" file "'/>"                      \
    "<boolean name='raw' value='true'/></texture>"
#define REF(id) "<ref id='" id "'/>"
#define MEDIUM(type, id, inside) "<medium type='" type "' id='" id "'>" inside "</medium>"
#define HG "<phase type='hg'><float name='g' value='.4'/></phase>"
#define FOG(more) MEDIUM("homogeneous", "fog", RGB("sigma_t", ".4,.7,.5") RGB("albedo", ".9,.7,.8") HG more)
#define GLOW RGB("emission", ".5,.3,.2")
#define PLACED TO_WORLD("<translate value='-.5,-.5,-.5'/><scale value='1.8'/><translate value='0,-.3,.7'/>")
#define GRID "<volume type='gridvolume' name='sigma_t'><string name='filename' value='smoke.vol'/>"
#define DENSITY GRID PLACED "</volume>"
#define SCALE "<float name='scale' value='1.5'/>"
#define SMOKE MEDIUM("heterogeneous", "smoke", SCALE DENSITY RGB("albedo", ".9,.7,.8") HG)
#define INSIDE(medium) "<ref id='" medium "' name='interior'/>"
#define GLASS "<bsdf type='dielectric' id='glass'><float name='int_ior' value='1.4'/></bsdf>"
#define ROUGH                                                                                                \
    "<string name='distribution' value='ggx'/><float name='alpha' value='.2'/><string name='attached' "      \
    "value='always'/>"
#define ROUGH_GLASS                                                                                          \
    "<bsdf type='roughdielectric' id='glass'>" ROUGH "<float name='int_ior' value='1.4'/></bsdf>"
#define INDEX RGB("eta", ".3,.6,1.1") RGB("k", "3,2.4,1.9")
#define MAP "<bsdf type='normalmap' id='tiles'>" BITMAP("normalmap", "normals.pfm") REF("metal") "</bsdf>"
#define METAL "<bsdf type='conductor' id='metal'>" INDEX "</bsdf>" MAP
#define ROUGH_METAL "<bsdf type='roughconductor' id='metal'>" ROUGH INDEX "</bsdf>" MAP
#define PAPER "<bsdf type='diffuse' id='paper'>" BITMAP("reflectance", "texture.pfm") "</bsdf>"
#define FLOOR "<shape type='rectangle'>" TO_WORLD("<scale value='1.5'/>") REF("paper") "</shape>"
#define BALL(inside)                                                                                         \
    "<shape type='sphere'><point name='center' value='0,-.3,.8'/><float name='radius' value='.7'/>" inside   \
    "</shape>"
#define BOTH_SIDES "<bsdf type='twosided'>" REF("tiles") "</bsdf>"
#define END "</shape>"
#define LEANS TO_WORLD("<scale value='1.2'/><rotate x='1' angle='50'/><translate value='0,.9,.4'/>")
#define MIRROR "<shape type='ply'><string name='filename' value='patch.ply'/>" LEANS BOTH_SIDES END
#define BOX(inside)                                                                                          \
    "<shape type='cube'>" TO_WORLD(                                                                          \
        "<scale value='1.1,.5,.6'/><rotate z='1' angle='25'/><translate value='0,-.3,.75'/>") inside         \
        "</shape>"
#define HOLLOW "<bsdf type='null'/>"
#define LAMP                                                                                                 \
    "<shape type='rectangle'>" TO_WORLD(                                                                     \
        "<scale value='.8'/><rotate x='1' angle='165'/><translate "                                          \
        "value='-.1,-.2,2.2'/>") "<emitter type='area' id='light'>" BITMAP("radiance",                       \
                                                                           "texture.pfm") "</emitter></"     \
                                                                                          "shape>"
#define BULB                                                                                                 \
    "<emitter type='point' id='bulb'><point name='position' value='-.4,-.6,1.9'/>" RGB("intensity",          \
                                                                                       "2,3,4") "</emitter>"
#define SKY "<emitter type='envmap' id='sky'><string name='filename' value='sky.pfm'/></emitter>"

static const scene_case cases[] = {
    {.name = "a ball of glass around fog",
     .body = PAPER GLASS FOG("") FLOOR BALL(REF("glass") INSIDE("fog")) SKY,
     .crossings = 0,
     .parameters = {"glass.eta", "fog.sigma_t.value.value", "paper.reflectance.data"}},
    {.name = "a mirror behind fog under a lamp",
     .body = PAPER METAL FOG("") FLOOR MIRROR BOX(HOLLOW INSIDE("fog")) LAMP SKY,
     .crossings = 2,
     .parameters = {"tiles.normalmap.data", "fog.sigma_t.value.value", "fog.albedo.value.value",
                    "light.radiance.data"}},
    {.name = "a mirror behind fog that glows",
     .body = PAPER METAL FOG(GLOW) FLOOR MIRROR BOX(HOLLOW INSIDE("fog")) BULB SKY,
     .crossings = 2,
     .parameters = {"tiles.normalmap.data", "fog.emission.value.value", "bulb.position"}},
    {.name = "a ball of glass around smoke",
     .body = PAPER GLASS SMOKE FLOOR BALL(REF("glass") INSIDE("smoke")) SKY,
     .crossings = 1,
     .parameters = {"glass.eta", "smoke.scale", "smoke.sigma_t.data"}},
    {.name = "a mirror behind smoke",
     .body = PAPER METAL SMOKE FLOOR MIRROR BOX(HOLLOW INSIDE("smoke")) LAMP BULB,
     .crossings = 2,
     .parameters = {"tiles.normalmap.data", "smoke.albedo.value.value", "smoke.scale"}},
    {.name = "a pane and a veil before a mirror",
     .body = PAPER METAL
     "<bsdf type='thindielectric' id='pane'/><bsdf type='mask' id='net'>" BITMAP("opacity", "grey.pfm")
         REF("paper") "</bsdf>" FLOOR MIRROR "<shape type='rectangle'>" TO_WORLD(
             "<scale value='.9'/><rotate x='1' angle='60'/><translate value='0,-.4,.8'/>")
             REF("pane") "</shape><shape type='rectangle'>" TO_WORLD(
                 "<scale value='.9'/><rotate x='1' angle='30'/><translate value='0,0,1.2'/>")
                 REF("net") "</shape>" LAMP,
     .crossings = 3,
     .parameters = {"tiles.normalmap.data", "pane.eta", "net.opacity.data", "paper.reflectance.data"}},
    {.name = "rough glass around fog",
     .body = PAPER ROUGH_GLASS FOG("") FLOOR BALL(REF("glass") INSIDE("fog")) LAMP SKY,
     .parameters = {"glass.eta", "glass.alpha.value", "fog.sigma_t.value.value", "paper.reflectance.data"}},
    {.name = "rough metal behind fog under a lamp",
     .body = PAPER ROUGH_METAL FOG("") FLOOR MIRROR BOX(HOLLOW INSIDE("fog")) LAMP SKY,
     .crossings = 2,
     .parameters = {"tiles.normalmap.data", "metal.alpha.value", "fog.sigma_t.value.value",
                    "light.radiance.data"}},
    {.name = "rough metal blended with paper, behind fog",
     .body = PAPER ROUGH_METAL "<bsdf type='blendbsdf' id='blend'><float name='weight' value='.4'/>" REF(
         "tiles") REF("paper") "</bsdf>" FOG("") FLOOR BALL(REF("blend")) BOX(HOLLOW INSIDE("fog")) LAMP SKY,
     .crossings = 2,
     .parameters = {"tiles.normalmap.data", "metal.alpha.value", "blend.weight.value",
                    "paper.reflectance.data"}},
    {.name = "rough metal behind smoke",
     .body = PAPER ROUGH_METAL SMOKE FLOOR MIRROR BOX(HOLLOW INSIDE("smoke")) LAMP BULB,
     .crossings = 2,
     .parameters = {"tiles.normalmap.data", "metal.alpha.value", "smoke.scale"}},
    {.name = "a camera before glass and fog",
     .body = PAPER GLASS FOG("") FLOOR BALL(REF("glass") INSIDE("fog")) LAMP SKY,
     .sensor = "<sensor type='perspective' id='eye'><float name='fov' value='55'/>" TO_WORLD(
         "<lookat origin='.1,-2.9,1.3' target='0,0,.5' up='0,0,1'/>") "<film type='hdrfilm'><integer "
                                                                      "name='width' value='%u'/><integer "
                                                                      "name='height' value='%u'/><rfilter "
                                                                      "type='box'/></film></sensor>",
     .parameters = {"eye.translation", "eye.x_fov", "glass.eta"}},
};

static void expect(const scene_case *scene, bool walks_again)
{
    scene_case c = *scene;
    c.volumetric = true;
    path_agreement_expect(&(path_agreement){.scene = &c,
                                            .folder = folder,
                                            .depth = DEPTH,
                                            .samples = SAMPLES,
                                            .dark = true,
                                            .walks_again = walks_again});
}

static void agree(void **state) { expect(*state, false); }
/* Without positions that are kept along a chain, as on GPUs. */
static void again(void **state) { expect(*state, true); }

/* Chains of many more vertices than there are places to keep (integrator/walk/checkpoints.h), against forward
 * mode, which goes in the order of the path. */
static void long_chains(void **state)
{
    (void)state;
    const scene_case c = {
        .name = "a room of mirrors around fog",
        .body = METAL FOG("") "<shape type='cube'><boolean name='flip_normals' value='true'/>" TO_WORLD(
            "<scale value='3.1,3,2.9'/>")
            REF("tiles") "<emitter type='area'>" BITMAP("radiance", "texture.pfm") "</emitter>" END BOX(
                HOLLOW INSIDE("fog")),
        .volumetric = true,
        .parameters = {"tiles.normalmap.data", "metal.k.value", "fog.sigma_t.value.value"},
    };
    arena a = {0};
    uint32_t random = 11, compared = 0;
    double kept[SAMPLE_CHECK_ELEMENTS];
    sample_check s = {.scene = &c, .variant = "long chains"};
    scene_eval *e =
        scene_eval_create(scene_case_xml(&a, &c, LONG_DEPTH, SAMPLE_CHECK_SIDE, SAMPLE_CHECK_SIDE), folder,
                          c.parameters, scene_case_parameter_count(&c));
    sample_check_begin(&s, e, &random);
    for (uint32_t k = 0; k < LONG_SAMPLES; k++) {
        scene_eval_at at = sample_check_draw(&random, true);
        sample_check_run_clean(&s, RENDER_GRADIENT, at);
        memcpy(kept, e->gradient, s.elements * sizeof *kept);
        sample_check_forward(&s, at, kept);
        compared += sample_check_largest(&s, kept) > 0;
    }
    print_message("%u of %u samples\n", compared, LONG_SAMPLES);
    assert_true(compared > LONG_SAMPLES / 2);
    scene_eval_destroy(e);
    arena_free(&a);
}

int main(void)
{
    enum { COUNT = sizeof cases / sizeof *cases };
    struct CMUnitTest tests[2 * COUNT + 1];
    folder = scene_files_create();
    if (!folder)
        return 1;
    for (uint32_t i = 0; i < COUNT; i++) {
        void *scene = (void *)(uintptr_t)&cases[i];
        tests[i] = (struct CMUnitTest){cases[i].name, agree, NULL, NULL, scene};
        tests[COUNT + i] = (struct CMUnitTest){"again", again, NULL, NULL, scene};
    }
    tests[2 * COUNT] = (struct CMUnitTest)cmocka_unit_test(long_chains);
    const size_t chosen = todays_tests(tests, 2 * COUNT + 1, 3);
    int failed = _cmocka_run_group_tests("chains_in_media", tests, chosen, NULL, NULL);
    scene_files_remove(folder);
    return failed;
}
