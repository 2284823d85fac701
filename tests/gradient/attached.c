/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Are the gradients of rough lobes right where sampling is attached (integrator/motion/attached_lobe.c), so
 * that sampled directions move with parameters? Sample by sample in the interpreter:
 *
 *   agree      path replay equals the unrolled path, in which samples move with parameters from the camera
 *              to the end. It also equals differences of the path that moves but meets the same primitives.
 *              The cases: metals and glass, smooth and rough; maps of normals, bumps and roughness;
 *              two-sided and masked materials; discrete lobes and detached lobes beside attached ones; the
 *              bound of the roughness, grazing light, total reflection.
 *   inverted   the other order (integrator/kernels/attached_inversion.c) equals the unrolled path where its
 *              Jacobians are regular. With noise on them its mean does, whether they are regular or not.
 *   plain      gradients equal plain differences of the primal kernel, which knows nothing of attached
 *              sampling. That holds where nothing is chosen: a sample with its random numbers is then a
 *              smooth function of the parameters until it crosses an edge. Light sampling and its weights
 *              are included.
 *   means      a mixture's choice of part stays detached, so only means can agree: the mean of gradients
 *              equals the mean of such differences. BL_LONG=1 takes 50,000 samples.
 *   texcoords  texture coordinates turn lobes whose frame follows them, and no others.
 *   kernels    lobes that are too rough, or whose material says so, have the kernels that they have without
 *              attached sampling. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/inverted_chains.h"
#include "support/path_agreement.h"
#include "support/plain_differences.h"
#include "support/scene_eval.h"
#include "support/todays_tests.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 4, SAMPLES = 25, SIDE = 16, PLAIN_SAMPLES = 40, INVERTED_SAMPLES = 60, NOISY_SAMPLES = 300 };
static char *folder;
static uint32_t mean_samples = 700;

#define TO_WORLD(ops) "<transform name='to_world'>" ops "</transform>"
#define NUMBER(name, value) "<float name='" name "' value='" value "'/>"
#define WORD(name, value) "<string name='" name "' value='" value "'/>"
#define BITMAP(name, file)                                                                                   \
    "<texture type='bitmap' name='" name                                                                     \
    "'>" WORD("filename", file) "<boolean name='raw' value='true'/></texture>"
#define REF(id) "<ref id='" id "'/>"
#define BALL(x, y, z, r, inside)                                                                             \
    "<shape type='sphere'><point name='center' value='" x "," y "," z "'/>" NUMBER("radius", r) inside       \
        "</shape>"
#define METAL(kind, alpha)                                                                                   \
    "<bsdf type='roughconductor' id='metal'><rgb name='eta' value='.3,.6,1.1'/><rgb name='k' "               \
    "value='3,2.4,1.9'/>" WORD("distribution", kind) alpha "</bsdf>"
#define GLASS(id, inside, outside, alpha)                                                                    \
    "<bsdf type='roughdielectric' id='" id "'>" WORD("distribution", "ggx") NUMBER("int_ior", inside)        \
        NUMBER("ext_ior", outside) alpha "</bsdf>"
#define PRINCIPLED(id, more)                                                                                 \
    "<bsdf type='principled' id='" id "'>" BITMAP("base_color", "texture.pfm") more "</bsdf>"
#define THIN(id, more)                                                                                       \
    "<bsdf type='principledthin' id='" id "'>" BITMAP("base_color", "texture.pfm") more "</bsdf>"
#define PAPER "<bsdf type='diffuse' id='paper'>" BITMAP("reflectance", "texture.pfm") "</bsdf>"
#define FLOOR "<shape type='rectangle'>" TO_WORLD("<scale value='1.5'/>") REF("paper") "</shape>"
#define WALL                                                                                                 \
    "<shape type='rectangle'>" TO_WORLD(                                                                     \
        "<scale value='1.5'/><rotate x='1' angle='90'/><translate value='0,1.1,1'/>")                        \
        REF("paper") "</shape>"
#define PATCH(inside)                                                                                        \
    "<shape type='ply' id='patch'>" WORD("filename", "patch.ply")                                            \
        TO_WORLD("<scale value='1.2'/><rotate x='1' angle='35'/><translate value='0,0,.4'/>") inside         \
        "</shape>"
#define LAMP(radiance)                                                                                       \
    "<shape type='rectangle'>" TO_WORLD("<scale value='.8'/><rotate x='1' angle='165'/><translate "          \
                                        "value='-.1,-.2,2.2'/>") "<emitter type='area' id='light'>" radiance \
                                                                 "</emitter></shape>"
#define PLAIN_LAMP LAMP("<rgb name='radiance' value='3,4,5'/>")
#define SKY "<emitter type='envmap' id='sky'>" WORD("filename", "sky.pfm") "</emitter>"
#define EVEN "<emitter type='constant' id='even'/>"
#define MAPPED(nested)                                                                                       \
    "<bsdf type='normalmap' id='tiles'>" BITMAP("normalmap", "normals.pfm") nested "</bsdf>"
#define BUMPED(nested)                                                                                       \
    "<bsdf type='bumpmap' id='waves'>" BITMAP("nested_texture", "grey.pfm") NUMBER("scale", ".05") nested    \
        "</bsdf>"
#define ATTACHED(more)                                                                                       \
    "<integrator type='prb_attached'><integer name='max_depth' value='4'/><integer name='rr_depth' "         \
    "value='1000'/>" more "</integrator>"

/* Around the camera: light is met and sampled at every vertex. */
#define ROOM                                                                                                 \
    "<shape type='cube'><boolean name='flip_normals' value='true'/>" TO_WORLD("<scale value='4'/>")          \
        REF("tiles") "<emitter type='area'>" BITMAP("radiance", "texture.pfm") "</emitter></shape>"

/* slack: Beckmann's visible slopes are found to 3e-6 of the cumulative distribution, which moves with
 * parameters, too. */
static const struct attached_case {
    scene_case scene;
    double slack;
} cases[] = {
    {{.name = "a map of normals on rough metal between paper",
      .body = METAL("ggx", NUMBER("alpha", ".1")) PAPER MAPPED("<ref id='metal'/>") PATCH(
          "<bsdf type='twosided'><ref id='tiles'/></bsdf>") WALL LAMP(BITMAP("radiance", "texture.pfm")) SKY,
      .parameters = {"tiles.normalmap.data", "metal.alpha.value", "metal.k.value", "paper.reflectance.data"}},
     0},
    {{.name = "rough glass before paper",
      .body = PAPER GLASS("glass", "1.5", "1", NUMBER("alpha", ".15"))
          FLOOR WALL BALL("0", "-.6", ".8", ".7", REF("glass")) PLAIN_LAMP SKY,
      .parameters = {"glass.eta", "glass.alpha.value", "paper.reflectance.data"}},
     0},
    {{.name = "bubbles in rough glass, reflected totally",
      .body = PAPER GLASS("glass", "1", "1.6", NUMBER("alpha", ".01"))
          FLOOR WALL BALL("0", "-.6", ".8", ".7", REF("glass")) SKY,
      .parameters = {"glass.eta", "glass.alpha.value", "sky.data"}},
     0},
    {{.name = "roughness from a texture, masked, beside a mirror",
      .body =
          METAL("beckmann", BITMAP("alpha", "grey.pfm")) PAPER "<bsdf type='conductor' id='mirror'/>" PATCH(
              "<bsdf type='mask'><float name='opacity' value='.7'/><ref id='metal'/></bsdf>")
              WALL BALL("0", ".9", "1.6", ".7", REF("mirror")) SKY,
      .parameters = {"metal.alpha.data", "patch.vertex_normals", "paper.reflectance.data"}},
     3e-6},
    {{.name = "brushed metal, smooth one way",
      .body = METAL("ggx", NUMBER("alpha_u", ".004") NUMBER("alpha_v", ".2")) BUMPED("<ref id='metal'/>")
          PATCH(REF("waves")) PLAIN_LAMP SKY,
      .parameters = {"waves.scale", "waves.nested_texture.data", "metal.alpha_v.value"}},
     0},
    {{.name = "rough metal blended with paper, and again with glass",
      .body = METAL("ggx", NUMBER("alpha", ".1")) PAPER GLASS(
          "glass", "1.5", "1",
          NUMBER(
              "alpha",
              ".2")) "<bsdf type='blendbsdf' id='worn'><float name='weight' value='.4'/><ref "
                     "id='metal'/><ref id='paper'/></bsdf>"
                     "<bsdf type='blendbsdf' id='thick'>" BITMAP(
                         "weight",
                         "grey.pfm") "<ref id='glass'/><ref id='worn'/></bsdf>" MAPPED("<ref id='worn'/>")
                         PATCH("<bsdf type='twosided'><ref id='tiles'/></bsdf>") WALL BALL(
                             "0", ".9", "1.6", ".7",
                             "<bsdf type='mask'><float name='opacity' value='.8'/><ref id='thick'/></bsdf>")
                             PLAIN_LAMP SKY,
      .parameters = {"tiles.normalmap.data", "metal.alpha.value", "glass.eta", "worn.weight.value"}},
     0},
    {{.name = "a room of rough metal that shines",
      .body = METAL("ggx", NUMBER("alpha", ".2")) MAPPED("<ref id='metal'/>") ROOM,
      .parameters = {"tiles.normalmap.data", "metal.alpha.value", "metal.k.value"}},
     0},
    {{.name = "rough plastic, and blended with a mirror",
      .body = "<bsdf type='roughplastic' id='coat'>" WORD("distribution", "ggx") NUMBER("alpha", ".08")
          NUMBER("int_ior", "1.6")
              BITMAP("diffuse_reflectance",
                     "texture.pfm") "</bsdf><bsdf type='conductor' id='mirror'/>"
                                    "<bsdf type='blendbsdf' id='glaze'><float name='weight' value='.3'/><ref "
                                    "id='coat'/><ref id='mirror'/></bsdf>" PAPER MAPPED("<ref id='coat'/>")
                                        PATCH(REF("tiles")) WALL BALL("0", ".9", "1.6", ".7", REF("glaze"))
                                            PLAIN_LAMP SKY,
      .parameters = {"tiles.normalmap.data", "coat.diffuse_reflectance.data"}},
     0}, /* alpha and eta: render_roughplastic.c says why */
    {{.name = "plastic for polarised light, and brushed",
      .body = "<bsdf type='pplastic' id='coat'>" WORD("distribution",
                                                      "ggx") NUMBER("alpha", ".08") NUMBER("int_ior", "1.6")
          BITMAP("diffuse_reflectance",
                 "texture.pfm") "</bsdf><bsdf type='pplastic' id='brushed'>" WORD("distribution", "beckmann")
              NUMBER("alpha_u", ".05") NUMBER("alpha_v", ".2") BITMAP("specular_reflectance", "texture.pfm")
                  BITMAP("eta", "grey.pfm") "</bsdf>" MAPPED("<ref id='coat'/>") BUMPED("<ref id='brushed'/>")
                      PAPER PATCH("<bsdf type='twosided'><ref id='tiles'/></bsdf>")
                          WALL BALL("0", ".9", "1.6", ".7", REF("waves")) PLAIN_LAMP SKY,
      .parameters = {"tiles.normalmap.data", "coat.alpha.value", "coat.eta.value", "brushed.alpha_u.value",
                     "waves.scale"}},
     3e-6},
    {{.name = "principled metal under a coat, and plastic",
      .body = PRINCIPLED("metal",
                         NUMBER("roughness", ".3") NUMBER("metallic", ".6") NUMBER("anisotropic", ".5")
                             NUMBER("clearcoat", ".8") NUMBER("clearcoat_gloss", ".5") NUMBER("sheen", ".4"))
          PRINCIPLED("plain",
                     NUMBER("specular", ".7") BITMAP("roughness", "grey.pfm") NUMBER("spec_tint", ".3"))
              MAPPED("<ref id='metal'/>") PAPER PATCH("<bsdf type='twosided'><ref id='tiles'/></bsdf>")
                  WALL BALL("0", ".9", "1.6", ".7", REF("plain")) PLAIN_LAMP SKY,
      .parameters = {"tiles.normalmap.data", "metal.roughness.value", "metal.clearcoat_gloss.value",
                     "metal.metallic.value", "plain.roughness.data"}},
     0},
    {{.name = "principled glass",
      .body = PAPER PRINCIPLED("glass", NUMBER("eta", "1.5") NUMBER("roughness", ".35")
                                            NUMBER("spec_trans", ".7") NUMBER("clearcoat", ".5"))
          MAPPED("<ref id='glass'/>") FLOOR WALL BALL("0", "-.6", ".8", ".7", REF("tiles")) PLAIN_LAMP SKY,
      .parameters = {"glass.eta", "glass.roughness.value", "tiles.normalmap.data", "glass.spec_trans.value"}},
     0},
    {{.name = "thin panes of the principled material",
      .body = PAPER THIN("pane", NUMBER("eta", "1.4") NUMBER("roughness", ".45") NUMBER("spec_trans", ".7")
                                     NUMBER("diff_trans", ".6") NUMBER("spec_tint", ".3"))
          THIN("brushed", NUMBER("roughness", ".3") NUMBER("anisotropic", ".6") NUMBER("spec_trans", "1")
                              BITMAP("eta", "texture.pfm")) MAPPED("<ref id='pane'/>")
              FLOOR WALL PATCH(REF("tiles")) BALL("0", "-.6", ".8", ".6", REF("brushed")) PLAIN_LAMP SKY,
      .parameters = {"pane.eta.value", "pane.roughness.value", "tiles.normalmap.data",
                     "pane.spec_trans.value", "brushed.eta.data"}},
     0},
    {{.name = "a camera at grazing light",
      .body = METAL("ggx", NUMBER("alpha", ".05")) PAPER FLOOR PATCH(REF("metal"))
          BALL("0", ".9", "1.6", ".7", REF("metal")) SKY,
      .sensor = "<sensor type='perspective' id='eye'><float name='fov' value='55'/>" TO_WORLD(
          "<lookat origin='.1,-2.9,.3' target='0,0,.5' up='0,0,1'/>") "<film type='hdrfilm'><integer "
                                                                      "name='width' value='%u'/><integer "
                                                                      "name='height' value='%u'/><rfilter "
                                                                      "type='box'/></film></sensor>",
      .parameters = {"eye.translation", "eye.x_fov", "metal.alpha.value"}},
     0},
};

static void expect(const struct attached_case *a, bool walks_again)
{
    scene_case c = a->scene;
    c.integrator = ATTACHED("");
    path_agreement_expect(&(path_agreement){.scene = &c,
                                            .folder = folder,
                                            .depth = DEPTH,
                                            .samples = SAMPLES,
                                            .slack = a->slack,
                                            .dark = true,
                                            .walks_again = walks_again});
}

static void agree(void **state) { expect(*state, false); }
/* Without positions that are kept along a chain, as on GPUs. */
static void again(void **state) { expect(*state, true); }

/* The other order (integrator/kernels/attached_inversion.c). */
static void inverted_is_unrolled(void **state)
{
    inverted_chains_are_unrolled(&((const struct attached_case *)*state)->scene, folder, INVERTED_SAMPLES);
}

static void noise_keeps_the_mean(void **state)
{
    inverted_chains_keep_means(&((const struct attached_case *)*state)->scene, folder, NOISY_SAMPLES);
}

/* A chain that is cut: what lies behind is attached anew. */
static void look_ahead(void **state)
{
    (void)state;
    scene_case c = cases[0].scene;
    c.integrator = ATTACHED("<integer name='look_ahead' value='1'/>");
    c.body = METAL("ggx", NUMBER("alpha", ".1")) PAPER MAPPED("<ref id='metal'/>") PATCH(REF("tiles"))
        BALL("0", ".9", "1.6", ".7", REF("metal")) FLOOR SKY;
    path_agreement_expect(
        &(path_agreement){.scene = &c, .folder = folder, .depth = DEPTH, .samples = SAMPLES, .dark = true});
}

/* ---- plain differences ---- */

#define TWO_METALS PATCH(REF("tiles")) BALL("0", ".9", "1.6", ".7", REF("metal"))
static const struct {
    const char *name, *body, *parameter;
} smooth[] = {
    {"normals of metal of .0001 under a sky", METAL("ggx", NUMBER("alpha", ".0001")) PATCH(REF("metal")) SKY,
     "patch.vertex_normals"},
    {"normals of metal of .001 under a sky", METAL("ggx", NUMBER("alpha", ".001")) PATCH(REF("metal")) SKY,
     "patch.vertex_normals"},
    {"normals of metal of .2 under a sky", METAL("ggx", NUMBER("alpha", ".2")) PATCH(REF("metal")) SKY,
     "patch.vertex_normals"},
    {"a map of normals on metal of .5 under a lamp",
     METAL("ggx", NUMBER("alpha", ".5")) MAPPED(REF("metal")) PATCH(REF("tiles")) PLAIN_LAMP,
     "tiles.normalmap.data"},
    {"normals of two metals of .1",
     METAL("beckmann", NUMBER("alpha", ".1")) MAPPED(REF("metal")) TWO_METALS EVEN PLAIN_LAMP,
     "tiles.normalmap.data"},
    {"the roughness .02 of two metals",
     METAL("ggx", NUMBER("alpha", ".02")) MAPPED(REF("metal")) TWO_METALS SKY, "metal.alpha.value"},
    {"normals of a blend of two metals",
     METAL("ggx", NUMBER("alpha", ".03")) "<bsdf type='roughconductor' id='other'>" NUMBER(
         "alpha", ".2") "</bsdf>"
                        "<bsdf type='blendbsdf' id='worn'><float name='weight' value='.4'/><ref "
                        "id='metal'/><ref id='other'/></bsdf>" PATCH(REF("worn")) SKY PLAIN_LAMP,
     "patch.vertex_normals"},
    {"normals of principled metal",
     PRINCIPLED("metal", NUMBER("roughness", ".2") NUMBER("metallic", "1")) PATCH(REF("metal"))
         SKY PLAIN_LAMP,
     "patch.vertex_normals"},
    {"the roughness of principled metal",
     PRINCIPLED("metal", NUMBER("roughness", ".4") NUMBER("metallic", "1")) PATCH(REF("metal"))
         SKY PLAIN_LAMP,
     "metal.roughness.value"},
    {"the roughness .5 of metal", METAL("beckmann", NUMBER("alpha", ".5")) PATCH(REF("metal")) SKY PLAIN_LAMP,
     "metal.alpha.value"},
};

static void plain(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof smooth / sizeof *smooth; k++) {
        const scene_case c = {
            .name = smooth[k].name,
            .body = smooth[k].body,
            .integrator = ATTACHED(""),
            .parameters = {smooth[k].parameter},
        };
        plain_differences_of_case(&c, folder, DEPTH, SIDE, PLAIN_SAMPLES);
    }
}

/* ---- mixtures ---- */

/* Of each sample <direction, gradient>, less the difference along that direction of the primal kernel, whose
 * samples all move. *size: the mean of these. One set of values after the other, because tables are made anew
 * for each. */
static void mistakes(scene_eval *e, const char *parameter, const double *direction, double *out, double *size)
{
    const uint32_t count = e->scene->parameters.data[scene_eval_find(e, parameter)].count,
                   values = scene_eval_value_first(e, parameter),
                   first = scene_eval_gradient_first(e, parameter);
    const double step = 0.03; /* large enough that samples change between parts, as their probabilities say */
    for (int side = -1; side <= 1; side++) {
        for (uint32_t i = 0; i < count; i++)
            e->values[values + i] += side * step * direction[i];
        for (uint32_t n = 0; n < mean_samples; n++) {
            bl_error err = {0};
            uint32_t pixel = n * 37 % (SIDE * SIDE);
            if (scene_eval_run(
                    e, side ? RENDER_PRIMAL : RENDER_GRADIENT,
                    (scene_eval_at){.pixel = pixel, .sample = n, .seed = 3, .stream = 1, .f64 = true},
                    &err) != BL_OK)
                fail_msg("%s", err.text);
            double moved = side ? side * scene_eval_weighted(e, pixel) / (2 * step) : 0;
            out[n] -= moved, *size += moved / mean_samples;
            for (uint32_t i = 0; side == 0 && i < count; i++)
                out[n] += direction[i] * e->gradient[first + i];
        }
        for (uint32_t i = 0; i < count; i++)
            e->values[values + i] -= side * step * direction[i];
    }
}

#define POLARISED                                                                                            \
    "<bsdf type='pplastic' id='it'>" WORD("distribution", "ggx") NUMBER("alpha", ".1")                       \
        NUMBER("int_ior", "2") "</bsdf>"
#define COATED PRINCIPLED("it", NUMBER("roughness", ".3") NUMBER("metallic", ".5") NUMBER("clearcoat", "1"))

static void means(void **state)
{
    (void)state;
    static const struct {
        const char *name, *material, *parameter;
        double size; /* of the direction */
    } rows[] = {
        {"metal blended with paper",
         METAL("ggx", NUMBER("alpha", ".05")) "<bsdf type='diffuse' id='white'/>"
                                              "<bsdf type='blendbsdf' id='it'><float name='weight' "
                                              "value='.5'/><ref id='metal'/><ref id='white'/></bsdf>",
         "patch.vertex_normals", 1},
        {"plastic",
         "<bsdf type='roughplastic' id='it'>" WORD("distribution", "ggx") NUMBER("alpha", ".1")
             NUMBER("int_ior", "2") "</bsdf>",
         "patch.vertex_normals", 1},
        {"plastic for polarised light", POLARISED, "patch.vertex_normals", 1},
        {"its roughness", POLARISED, "it.alpha.value", 0.3},
        {"principled", COATED, "patch.vertex_normals", 1},
        {"its roughness", COATED, "it.roughness.value", 0.6},
        {"principled glass", PRINCIPLED("it", NUMBER("roughness", ".3") NUMBER("spec_trans", ".8")),
         "patch.vertex_normals", 1},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        arena a = {0};
        const scene_case c = {
            .name = rows[k].name,
            .integrator = ATTACHED(""),
            .body = arena_printf(&a, "%s" PATCH(REF("it")) SKY, rows[k].material),
            .parameters = {rows[k].parameter},
        };
        scene_eval *e = scene_eval_create(scene_case_xml(&a, &c, DEPTH, SIDE, SIDE), folder, c.parameters, 1);
        const render_parameter *p = &e->scene->parameters.data[scene_eval_find(e, c.parameters[0])];
        double *direction = arena_alloc(&a, p->count * sizeof *direction),
               *each = arena_alloc(&a, mean_samples * sizeof *each);
        double sum = 0, squares = 0, size = 0;
        for (uint32_t i = 0; i < p->count; i++)
            direction[i] = rows[k].size * (i % 3 == 0 ? 1 : i % 3 == 1 ? .5 : 0);
        for (uint32_t i = 0; i < 3 * SIDE * SIDE; i++)
            e->adjoint[i] = 1 + (float)(i % 3);
        memset(each, 0, mean_samples * sizeof *each);
        mistakes(e, c.parameters[0], direction, each, &size);
        for (uint32_t n = 0; n < mean_samples; n++)
            sum += each[n] / mean_samples, squares += each[n] * each[n] / mean_samples;
        double deviation = sqrt((squares - sum * sum) / (mean_samples - 1));
        print_message("%s: mean %.4g, mistake %.2g +- %.2g\n", c.name, size, sum, deviation);
        if (!(fabs(sum) <= 3.5 * deviation))
            fail_msg("%s: off by %.3g +- %.2g of %.3g", c.name, sum, deviation, size);
        assert_true(deviation < 0.2 * fabs(size));
        scene_eval_destroy(e);
        arena_free(&a);
    }
}

/* ---- what is no number ---- */

/* Derivatives of rays beyond all sense, here because the adjoint is: dropped and counted, and nothing that
 * comes of it is NaN. */
static void singular(void **state)
{
    (void)state;
    arena a = {0};
    scene_case c = cases[0].scene;
    c.integrator = ATTACHED("");
    scene_eval *e = scene_eval_create(scene_case_xml(&a, &c, DEPTH, SIDE, SIDE), folder, c.parameters, 1);
    uint32_t counted[2] = {0, 0};
    for (uint32_t i = 0; i < 3 * SIDE * SIDE; i++)
        e->adjoint[i] = 1e35f;
    for (uint32_t i = 0; i < e->plan->value_count; i++)
        e->tangent[i] = 1e35;
    for (uint32_t n = 0; n < PLAIN_SAMPLES; n++)
        for (int forward = 0; forward < 2; forward++) {
            bl_error err = {0};
            if (scene_eval_run(
                    e, forward ? RENDER_FORWARD : RENDER_GRADIENT,
                    (scene_eval_at){
                        .pixel = n * 37 % (SIDE * SIDE), .sample = n, .seed = 3, .stream = 1, .f64 = true},
                    &err) != BL_OK)
                fail_msg("%s", err.text);
            for (uint32_t k = 0; k < SINGULAR_DEPTHS; k++)
                counted[forward] += e->status[STATUS_SINGULAR + k];
            for (uint32_t k = 0; k < e->plan->gradient_count; k++)
                assert_true(isfinite(e->gradient[k]));
        }
    print_message("%u and %u derivatives of rays were dropped\n", counted[0], counted[1]);
    assert_true(counted[0] > 0 && counted[1] > 0);
    scene_eval_destroy(e);
    arena_free(&a);
}

/* ---- what turns lobes ---- */

static void texcoords(void **state)
{
    (void)state;
    static const struct {
        const char *name, *material;
        bool turn;
    } rows[] = {
        {"smooth metal", METAL("ggx", NUMBER("alpha", ".01")), false},
        {"smooth metal of two sides",
         METAL("ggx", NUMBER("alpha", ".01")) "<bsdf type='twosided' id='it'><ref id='metal'/></bsdf>",
         false},
        {"a perfect mirror",
         "<bsdf type='conductor' id='metal'>" BITMAP("specular_reflectance", "texture.pfm") "</bsdf>", false},
        {"smooth glass", GLASS("metal", "1.5", "1", NUMBER("alpha", ".01")), false},
        {"smooth plastic for polarised light",
         "<bsdf type='pplastic' id='metal'>" NUMBER("alpha", ".01") "</bsdf>", false},
        {"brushed plastic",
         "<bsdf type='pplastic' id='metal'>" NUMBER("alpha_u", ".01") NUMBER("alpha_v", ".04") "</bsdf>",
         true},
        {"rough plastic", "<bsdf type='pplastic' id='metal'>" NUMBER("alpha", ".3") "</bsdf>", false},
        {"smooth principled", PRINCIPLED("metal", NUMBER("roughness", ".1")), false},
        {"brushed principled", PRINCIPLED("metal", NUMBER("roughness", ".1") NUMBER("anisotropic", ".8")),
         true},
        {"rough principled", PRINCIPLED("metal", NUMBER("roughness", ".5477")), false},
        {"smooth thin principled", THIN("metal", NUMBER("roughness", ".1") NUMBER("spec_trans", ".5")),
         false},
        {"brushed thin principled",
         THIN("metal", NUMBER("roughness", ".1") NUMBER("spec_trans", ".5") NUMBER("anisotropic", ".8")),
         true},
        {"thin principled, its index from a texture",
         THIN("metal", NUMBER("roughness", ".1") NUMBER("spec_trans", ".5") BITMAP("eta", "grey.pfm")), true},
        {"rough thin principled", THIN("metal", NUMBER("roughness", ".5477") NUMBER("spec_trans", ".5")),
         false},
        {"rough thin principled without facets", THIN("metal", NUMBER("roughness", ".1")), false},
        {"roughness from a texture", METAL("ggx", BITMAP("alpha", "grey.pfm")), true},
        {"brushed metal", METAL("ggx", NUMBER("alpha_u", ".004") NUMBER("alpha_v", ".01")), true},
        {"normals from a texture", METAL("ggx", NUMBER("alpha", ".01")) MAPPED(REF("metal")), true},
        {"normals from a texture over rough metal", METAL("ggx", NUMBER("alpha", ".3")) MAPPED(REF("metal")),
         false},
        {"bumps over a perfect mirror", "<bsdf type='conductor' id='metal'/>" BUMPED(REF("metal")), true},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        arena a = {0};
        const char *id = strstr(rows[k].material, "'tiles'")   ? "tiles"
                         : strstr(rows[k].material, "'waves'") ? "waves"
                         : strstr(rows[k].material, "'it'")    ? "it"
                                                               : "metal";
        const scene_case c = {.integrator = "<integrator type='prb'/>",
                              .body = arena_printf(&a,
                                                   "%s<shape type='ply' id='patch'>" WORD(
                                                       "filename", "patch.ply") "<ref id='%s'/></shape>" SKY,
                                                   rows[k].material, id)};
        scene_eval *e = scene_eval_create(scene_case_xml(&a, &c, DEPTH, SIDE, SIDE), folder, NULL, 0);
        if (e->scene->parameters.data[scene_eval_find(e, "patch.vertex_texcoords")].turns != rows[k].turn)
            fail_msg("%s: texture coordinates are%s said to turn it", rows[k].name,
                     rows[k].turn ? " not" : "");
        bool rough = strstr(rows[k].name, "rough ") || strstr(rows[k].material, "'.3'");
        assert_true(e->scene->parameters.data[scene_eval_find(e, "patch.vertex_normals")].turns == !rough);
        scene_eval_destroy(e);
        arena_free(&a);
    }
}

/* ---- kernels ---- */

/* The trace of a pass as text; the caller frees it. */
static char *trace_of(const char *integrator, const char *attached, const char *alpha, render_pass pass)
{
    arena a = {0};
    const char *parameters[] = {"tiles.normalmap.data", "metal.alpha.value"};
    const char *metal = arena_printf(&a, METAL("ggx", "%s" NUMBER("alpha", "%s")), attached, alpha);
    const scene_case c = {
        .body = arena_printf(&a, "%s" PAPER MAPPED(REF("metal")) PATCH(REF("tiles")) WALL SKY, metal),
        .integrator = arena_printf(&a, "<integrator type='%s'/>", integrator)};
    scene_eval *e = scene_eval_create(scene_case_xml(&a, &c, DEPTH, SIDE, SIDE), folder, parameters, 2);
    bl_error err = {0};
    ir_module *m;
    text out = {0};
    if (render_trace(e->plan, pass, NULL, &m, &err) != BL_OK)
        fail_msg("%s", err.text);
    ir_print(m, &out);
    ir_module_destroy(m);
    scene_eval_destroy(e);
    arena_free(&a);
    return out.data;
}

static void kernels(void **state)
{
    (void)state;
    static const char always[] = WORD("attached", "always"), never[] = WORD("attached", "never");
    static const struct {
        const char *integrator, *attached, *alpha;
        bool detached;
    } scenes[] = {
        {"prb", "", ".01", false},   {"prb", always, ".3", false},         {"prb_attached", "", ".3", false},
        {"prb", never, ".01", true}, {"prb_attached", never, ".01", true}, {"prb", "", ".3", true}};
    static const render_pass passes[] = {RENDER_PRIMAL, RENDER_GRADIENT, RENDER_FORWARD};
    for (size_t k = 0; k < sizeof passes / sizeof *passes; k++) {
        char *plain_one = trace_of("prb", "", ".3", passes[k]);
        for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
            char *other = trace_of(scenes[i].integrator, scenes[i].attached, scenes[i].alpha, passes[k]);
            bool same = strcmp(plain_one, other) == 0;
            if (scenes[i].detached ? !same : same && passes[k] != RENDER_PRIMAL)
                fail_msg("pass %d of %s, alpha %s, %s: %s", (int)passes[k], scenes[i].integrator,
                         scenes[i].alpha, scenes[i].attached,
                         same ? "detached" : "other than the detached kernel");
            free(other);
        }
        free(plain_one);
    }
}

int main(void)
{
    enum { COUNT = sizeof cases / sizeof *cases };
    struct CMUnitTest tests[4 * COUNT + 6];
    const char *with = getenv("BL_LONG");
    if (with && *with)
        mean_samples = 50000;
    folder = scene_files_create();
    if (!folder)
        return 1;
    for (uint32_t i = 0; i < COUNT; i++)
        tests[i] = (struct CMUnitTest){cases[i].scene.name, agree, NULL, NULL, (void *)(uintptr_t)&cases[i]};
    tests[COUNT] = (struct CMUnitTest)cmocka_unit_test(look_ahead);
    tests[COUNT + 1] = (struct CMUnitTest)cmocka_unit_test(plain);
    tests[COUNT + 2] = (struct CMUnitTest)cmocka_unit_test(kernels);
    tests[COUNT + 3] = (struct CMUnitTest)cmocka_unit_test(singular);
    tests[COUNT + 4] = (struct CMUnitTest)cmocka_unit_test(texcoords);
    tests[COUNT + 5] = (struct CMUnitTest)cmocka_unit_test(means);
    for (uint32_t i = 0; i < COUNT; i++) {
        void *scene = (void *)(uintptr_t)&cases[i];
        tests[COUNT + 6 + i] =
            (struct CMUnitTest){"inverted is unrolled", inverted_is_unrolled, NULL, NULL, scene};
        tests[2 * COUNT + 6 + i] =
            (struct CMUnitTest){"noise keeps the mean", noise_keeps_the_mean, NULL, NULL, scene};
        tests[3 * COUNT + 6 + i] = (struct CMUnitTest){"again", again, NULL, NULL, scene};
    }
    const size_t chosen = todays_tests(tests, 4 * COUNT + 6, 3);
    int failed = _cmocka_run_group_tests("attached", tests, chosen, NULL, NULL);
    scene_files_remove(folder);
    return failed;
}
