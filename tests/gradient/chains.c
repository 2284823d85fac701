/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Are gradients right through chains of mirrors and smooth glass, whose directions turn with parameters
 * (integrator/motion/attached_path.c)? Sample by sample in the interpreter:
 *
 *   agree   path replay equals the unrolled path, which is differentiated from the camera to its end. It
 *           also equals differences of the path that moves but meets the same primitives. The cases: behind
 *           glass, total reflection, one medium in another, panes, maps of normals and bumps; each before
 *           and after rough and diffuse vertices.
 *   again   as agree, where no position along a chain is kept (walk.walks_again), as on GPUs.
 *   inverted  the other order (integrator/kernels/attached_inversion.c) equals the unrolled path where its
 *           Jacobians are regular. With noise on them its mean does, whether they are regular or not.
 *   plain   mirrors' gradients equal plain differences of the primal kernel, which knows nothing of all
 *           this. That holds where nothing is chosen: a sample with its random numbers is then a smooth
 *           function of the parameters until it crosses an edge. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/inverted_chains.h"
#include "support/path_agreement.h"
#include "support/plain_differences.h"
#include "support/sample_check.h"
#include "support/scene_eval.h"
#include "support/todays_tests.h"

#include <math.h>
#include <string.h>

enum {
    DEPTH = 5,
    LONG_DEPTH = INVERTED_DEPTH,
    SAMPLES = 40,
    SIDE = 16,
    PLAIN_SAMPLES = 60,
    NOISY_SAMPLES = 500
};
static char *folder;

#define TO_WORLD(ops) "<transform name='to_world'>" ops "</transform>"
#define RGB(name, value) "<rgb name='" name "' value='" value "'/>"
#define BITMAP(name, file)                                                                                   \
    "<texture type='bitmap' name='" name "'><string name='filename' value='" file "'/>"                      \
    "<boolean name='raw' value='true'/></texture>"
#define REF(id) "<ref id='" id "'/>"
#define BALL(x, y, z, r, inside)                                                                             \
    "<shape type='sphere'><point name='center' value='" x "," y "," z "'/><float name='radius' value='" r    \
    "'/>" inside "</shape>"
#define GLASS(id, inside, outside)                                                                           \
    "<bsdf type='dielectric' id='" id "'><float name='int_ior' value='" inside                               \
    "'/><float name='ext_ior' value='" outside "'/></bsdf>"
#define METAL "<bsdf type='conductor' id='metal'>" RGB("eta", ".3,.6,1.1") RGB("k", "3,2.4,1.9") "</bsdf>"
#define PAPER "<bsdf type='diffuse' id='paper'>" BITMAP("reflectance", "texture.pfm") "</bsdf>"
#define FLOOR "<shape type='rectangle'>" TO_WORLD("<scale value='1.5'/>") REF("paper") "</shape>"
#define WALL                                                                                                 \
    "<shape type='rectangle'>" TO_WORLD(                                                                     \
        "<scale value='1.5'/><rotate x='1' angle='90'/><translate value='0,1.1,1'/>")                        \
        REF("paper") "</shape>"
#define BOX(inside)                                                                                          \
    "<shape type='cube'>" TO_WORLD(                                                                          \
        "<scale value='.9,.15,.6'/><rotate z='1' angle='25'/><translate value='0,-.7,.75'/>") inside         \
        "</shape>"
#define PATCH(inside)                                                                                        \
    "<shape type='ply' id='patch'><string name='filename' value='patch.ply'/>" TO_WORLD(                     \
        "<scale value='1.2'/><rotate x='1' angle='35'/><translate value='0,0,.4'/>") inside "</shape>"
#define PANE                                                                                                 \
    "<bsdf type='thindielectric' id='pane'/>"                                                                \
    "<shape type='rectangle'>" TO_WORLD(                                                                     \
        "<scale value='.9'/><rotate x='1' angle='80'/><translate value='0,-1.2,.8'/>")                       \
        REF("pane") "</shape>"
#define LAMP                                                                                                 \
    "<shape type='rectangle'>" TO_WORLD(                                                                     \
        "<scale value='.8'/><rotate x='1' angle='165'/><translate "                                          \
        "value='-.1,-.2,2.2'/>") "<emitter type='area' id='light'>" BITMAP("radiance",                       \
                                                                           "texture.pfm") "</emitter></"     \
                                                                                          "shape>"
/* What a path of DEPTH segments can see through two surfaces of glass. */
#define GLOW "<emitter type='area'>" BITMAP("radiance", "texture.pfm") "</emitter>"
#define SKY "<emitter type='envmap' id='sky'><string name='filename' value='sky.pfm'/></emitter>"
#define MAPPED(id, nested)                                                                                   \
    "<bsdf type='normalmap' id='" id "'>" BITMAP("normalmap", "normals.pfm") nested "</bsdf>"
#define BUMPED(id, nested)                                                                                   \
    "<bsdf type='bumpmap' id='" id                                                                           \
    "'>" BITMAP("nested_texture", "grey.pfm") "<float name='scale' value='.05'/>" nested "</bsdf>"

static const scene_case cases[] = {
    {.name = "blocks of ridged glass",
     .body = PAPER GLASS("glass", "1.5", "1") "<bsdf type='normalmap' id='ridges'>" RGB(
         "normalmap", ".55,.5,1") REF("glass") "</bsdf>" FLOOR BOX(REF("ridges")) SKY,
     .parameters = {"glass.eta", "ridges.normalmap.value", "paper.reflectance.data"}},
    {.name = "a box of glass before a picture",
     .body = PAPER GLASS("glass", "1.5", "1") FLOOR WALL BOX(REF("glass")) LAMP,
     .parameters = {"glass.eta", "paper.reflectance.data", "light.radiance.data"}},
    {.name = "a ball of glass in one of water",
     .body = PAPER GLASS("water", "1.33", "1") GLASS("glass", "1.5", "1.33")
         FLOOR WALL BALL("0", "-.6", ".8", ".8", REF("water")) BALL(".1", "-.6", ".8", ".45", REF("glass"))
             BALL(".1", "-.6", ".8", ".2", GLOW) LAMP SKY,
     .parameters = {"glass.eta", "water.eta", "paper.reflectance.data"}},
    {.name = "bubbles of air, reflected totally",
     .body = PAPER GLASS("glass", "1", "1.6") FLOOR WALL BALL("0", "-.6", ".8", ".8", REF("glass")) SKY,
     .parameters = {"glass.eta", "sky.data"}},
    {.name = "a mirror with a map of normals behind a pane",
     .body = METAL PAPER MAPPED("tiles", "<ref id='metal'/>")
         PANE PATCH("<bsdf type='twosided'><ref id='tiles'/></bsdf>") WALL LAMP SKY,
     .parameters = {"tiles.normalmap.data", "metal.k.value", "pane.eta", "paper.reflectance.data"}},
    {.name = "bumps on glass",
     .body = PAPER GLASS("glass", "1.5", "1") BUMPED("waves", "<ref id='glass'/>")
         FLOOR WALL PATCH(REF("waves")) LAMP SKY,
     .parameters = {"waves.scale", "waves.nested_texture.data", "glass.eta"}},
    {.name = "normals of a mirror",
     .body = METAL PAPER PATCH(REF("metal")) WALL LAMP SKY,
     .parameters = {"patch.vertex_normals", "metal.eta.value", "sky.data"}},
    {.name = "glass on rough metal, masked and blended",
     .body = PAPER GLASS(
         "glass", "1.5",
         "1") "<bsdf type='roughconductor' id='rough'><float name='alpha' value='.3'/></bsdf>"
              "<bsdf type='mask' id='mask'><float name='opacity' value='.7'/><bsdf type='blendbsdf' "
              "id='blend'><float name='weight' value='.8'/>"
              "<bsdf type='diffuse'/><ref id='glass'/></bsdf></bsdf><shape type='rectangle'>" TO_WORLD(
                  "<scale value='1.5'/>")
                  REF("rough") "</shape>" WALL BALL("0", "-.6", ".8", ".7", REF("mask")) LAMP,
     .parameters = {"glass.eta", "rough.alpha.value", "blend.weight.value", "mask.opacity.value"}},
    {.name = "a camera before mirrors and glass",
     .body = METAL PAPER GLASS("glass", "1.5", "1") FLOOR PATCH(REF("metal")) BOX(REF("glass")) LAMP SKY,
     .sensor = "<sensor type='perspective' id='eye'><float name='fov' value='55'/>" TO_WORLD(
         "<lookat origin='.1,-2.9,1.3' target='0,0,.5' up='0,0,1'/>") "<film type='hdrfilm'><integer "
                                                                      "name='width' value='%u'/><integer "
                                                                      "name='height' value='%u'/><rfilter "
                                                                      "type='box'/></film></sensor>",
     .parameters = {"eye.translation", "eye.x_fov", "glass.eta"}},
};

static void expect(const scene_case *scene, int depth, bool walks_again)
{
    path_agreement_expect(&(path_agreement){.scene = scene,
                                            .folder = folder,
                                            .depth = depth,
                                            .samples = SAMPLES,
                                            .dark = true,
                                            .walks_again = walks_again});
}

static void agree(void **state) { expect(*state, DEPTH, false); }
static void again(void **state) { expect(*state, DEPTH, true); }
/* Chains of more vertices than the places that are kept (integrator/kernels/attached_replay.c). */
static void long_chains(void **state) { expect(*state, LONG_DEPTH, false); }
static void long_chains_again(void **state) { expect(*state, LONG_DEPTH, true); }

/* ---- Jacobians ---- */

static void inverted_is_unrolled(void **state) { inverted_chains_are_unrolled(*state, folder, 3 * SAMPLES); }
static void noise_keeps_the_mean(void **state) { inverted_chains_keep_means(*state, folder, NOISY_SAMPLES); }

/* ---- plain differences ---- */

static const struct {
    const char *name, *body, *parameter;
} mirrors[] = {
    {"normals of a mirror under a sky", METAL PATCH(REF("metal")) SKY, "patch.vertex_normals"},
    {"a mirror with a map of normals under a sky",
     METAL MAPPED("tiles", "<ref id='metal'/>") PATCH(REF("tiles")) SKY, "tiles.normalmap.data"},
    {"two mirrors under a lamp",
     METAL MAPPED("tiles", "<ref id='metal'/>") PATCH(REF("tiles")) BALL("0", ".9", "1.6", ".7", REF("metal"))
         LAMP,
     "tiles.normalmap.data"},
    {"bumps of a mirror", METAL BUMPED("waves", "<ref id='metal'/>") PATCH(REF("waves")) SKY,
     "waves.nested_texture.data"},
};

static void plain(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof mirrors / sizeof *mirrors; k++) {
        const scene_case c = {
            .name = mirrors[k].name, .body = mirrors[k].body, .parameters = {mirrors[k].parameter}};
        plain_differences_of_case(&c, folder, 4, SIDE, PLAIN_SAMPLES);
    }
}

int main(void)
{
    enum { COUNT = sizeof cases / sizeof *cases };
    struct CMUnitTest tests[4 * COUNT + 3];
    folder = scene_files_create();
    if (!folder)
        return 1;
    for (uint32_t i = 0; i < COUNT; i++)
        tests[i] = (struct CMUnitTest){cases[i].name, agree, NULL, NULL, (void *)(uintptr_t)&cases[i]};
    tests[COUNT] = (struct CMUnitTest)cmocka_unit_test(plain);
    tests[COUNT + 1] =
        (struct CMUnitTest){"long chains", long_chains, NULL, NULL, (void *)(uintptr_t)&cases[2]};
    tests[COUNT + 2] =
        (struct CMUnitTest){"long chains again", long_chains_again, NULL, NULL, (void *)(uintptr_t)&cases[2]};
    for (uint32_t i = 0; i < COUNT; i++) {
        void *scene = (void *)(uintptr_t)&cases[i];
        tests[COUNT + 3 + i] =
            (struct CMUnitTest){"inverted is unrolled", inverted_is_unrolled, NULL, NULL, scene};
        tests[2 * COUNT + 3 + i] =
            (struct CMUnitTest){"noise keeps the mean", noise_keeps_the_mean, NULL, NULL, scene};
        tests[3 * COUNT + 3 + i] = (struct CMUnitTest){"again", again, NULL, NULL, scene};
    }
    int failed = _cmocka_run_group_tests("chains", tests, todays_tests(tests, 4 * COUNT + 3, 3), NULL, NULL);
    scene_files_remove(folder);
    return failed;
}
