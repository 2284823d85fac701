/* LABELS: nodevice swiftshader lavapipe native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Are gradients right where materials have discrete lobes (docs/theory/detached_replay.md)? The derivative
 * of what was sampled is that of the sampled lobe's coefficient (mirror reflectance, Fresnel term or
 * opacity), and not that of the other lobes. Rough metals are here too, because their values are no
 * polynomials of their parameters either.
 *
 * Without BL_DEVICE: sample by sample in the interpreter. Path replay equals the unrolled path (f32 and
 * f64) and differences of the weights along the path that stays where it is (f64). An opacity of 0 or 1 is
 * at its bound, so its differences go inwards.
 *
 * With BL_DEVICE: is every lobe that has a derivative sampled at all? The checks above cannot see that. The
 * opacity's gradient equals plain differences of images with other random numbers, by a z-test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/path_agreement.h"
#include "support/scene_device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 5, SAMPLES = 150 };

#define TO_WORLD(ops) "<transform name='to_world'>" ops "</transform>"
#define RGB(name, value) "<rgb name='" name "' value='" value "'/>"
#define DIFFUSE(id, value) "<bsdf type='diffuse' id='" id "'>" RGB("reflectance", value) "</bsdf>"
#define REF(id) "<ref id='" id "'/>"
#define SHAPE(type, ops, inside) "<shape type='" type "'>" TO_WORLD(ops) inside "</shape>"
#define FLOOR SHAPE("rectangle", "<scale value='1.5'/>", REF("white"))
#define WALL                                                                                                 \
    SHAPE("rectangle", "<scale value='1.5'/><rotate x='1' angle='90'/><translate value='0,1.1,1'/>",         \
          REF("red"))
#define BALL(x, y, z, r, inside)                                                                             \
    "<shape type='sphere'><point name='center' value='" x "," y "," z "'/><float name='radius' value='" r    \
    "'/>" inside "</shape>"
/* fills most of the view, facing the camera */
#define SCREEN(inside)                                                                                       \
    SHAPE("rectangle", "<scale value='.8'/><rotate x='1' angle='75'/><translate value='0,-.9,.8'/>", inside)
#define LAMP                                                                                                 \
    SHAPE("rectangle", "<scale value='.6'/><rotate x='1' angle='165'/><translate value='-.1,-.2,2.2'/>",     \
          "<emitter type='area' id='light'>" RGB("radiance", "5,4,3") "</emitter>")
#define SKY "<emitter type='constant' id='sky'>" RGB("radiance", ".5,.7,.9") "</emitter>"
#define COLOURS DIFFUSE("red", ".6,.2,.15") DIFFUSE("white", ".7,.75,.8")
#define METAL                                                                                                \
    "<bsdf type='conductor' id='metal'>" RGB("eta", ".3,.6,1.1") RGB("k", "3,2.4,1.9")                       \
        RGB("specular_reflectance", ".9,.7,.5") "</bsdf>"
#define ROUGH(distribution, alpha)                                                                           \
    "<bsdf type='roughconductor' id='rough'><string name='distribution' value='" distribution                \
    "'/><float name='alpha' value='" alpha "'/>" RGB("eta", ".3,.6,1.1") RGB("k", "3,2.4,1.9")               \
        RGB("specular_reflectance", ".9,.7,.5") "</bsdf>"
#define MIRROR(value)                                                                                        \
    "<bsdf type='conductor' id='mirror'>" RGB("eta", "0") RGB("k", "1")                                      \
        RGB("specular_reflectance", value) "</bsdf>"
#define GLASS(reflectance, transmittance)                                                                    \
    "<bsdf type='dielectric' id='glass'><float name='int_ior' value='1.5'/><float name='ext_ior' "           \
    "value='1'/>" RGB("specular_reflectance", reflectance)                                                   \
        RGB("specular_transmittance", transmittance) "</bsdf>"
#define PANE                                                                                                 \
    "<bsdf type='thindielectric' id='pane'>" RGB("specular_reflectance", ".9,.8,.7")                         \
        RGB("specular_transmittance", ".8,.95,.9") "</bsdf>"
#define PLASTIC(colour, coat, nonlinear)                                                                     \
    "<bsdf type='plastic' id='plastic'><float name='int_ior' value='1.6'/><boolean name='nonlinear' "        \
    "value='" nonlinear "'/>" RGB("diffuse_reflectance", colour) RGB("specular_reflectance", coat) "</bsdf>"
#define ROUGH_GLASS(distribution, alpha)                                                                     \
    "<bsdf type='roughdielectric' id='ground'><string name='distribution' value='" distribution              \
    "'/><float name='alpha' value='" alpha "'/>"                                                             \
    "<float name='int_ior' value='1.5'/><float name='ext_ior' value='1'/>" RGB(                              \
        "specular_reflectance", ".9,.8,.7") RGB("specular_transmittance", ".8,.95,.9") "</bsdf>"
#define FLAT                                                                                                 \
    "<bsdf type='principled' id='flat'><float name='roughness' value='.5'/><float name='spec_trans' "        \
    "value='.4'/>"                                                                                           \
    "<float name='flatness' value='.3'/>" RGB("base_color", ".6,.3,.8") "</bsdf>"
#define LEAF "<bsdf type='twosided'>" DIFFUSE("leaf", ".05,.1,.07") "</bsdf>"
#define BLEND(weight, id, nested)                                                                            \
    "<bsdf type='blendbsdf' id='" id "'><float name='weight' value='" weight "'/>" nested "</bsdf>"
#define MASK(opacity, nested)                                                                                \
    "<bsdf type='mask' id='mask'><float name='opacity' value='" opacity "'/>" nested "</bsdf>"
#define BITMAP(name, file)                                                                                   \
    "<texture type='bitmap' name='" name "'><string name='filename' value='" file                            \
    "'/><boolean name='raw' value='true'/></texture>"
#define MASKED_ROOM(opacity, nested)                                                                         \
    COLOURS MASK(opacity, nested)                                                                            \
    FLOOR WALL SCREEN(REF("mask")) LAMP SKY

typedef struct lobe_case {
    scene_case base;
    double inwards;   /* -1 or 1: the first parameter stands at its bound and may only move to this side */
    bool dark;        /* some elements have no derivative in truth */
    const char *zero; /* the parameter that has none at all */
    bool on_device;
} lobe_case;

static const lobe_case cases[] = {
    {.base = {.name = "a metal ball under the sky",
              .body = COLOURS METAL FLOOR BALL("0", "-.3", ".7", ".7", REF("metal")) SKY,
              .parameters = {"metal.eta.value", "metal.k.value", "metal.specular_reflectance.value",
                             "white.reflectance.value", "sky.radiance.value"}}},
    {.base = {.name = "a metal ball under a lamp",
              .body = COLOURS METAL FLOOR WALL BALL("0", "-.3", ".7", ".7", REF("metal")) LAMP,
              .parameters = {"metal.eta.value", "metal.k.value", "metal.specular_reflectance.value",
                             "white.reflectance.value", "light.radiance.value"}}},
    {.base = {.name = "perfect mirrors face each other",
              .body =
                  COLOURS MIRROR("1") "<bsdf type='twosided' id='both'><ref id='mirror'/></bsdf>" FLOOR WALL
                      SCREEN(REF("both")) BALL("0", "-1.5", "1.9", ".7", REF("mirror")) LAMP SKY,
              .parameters = {"mirror.eta.value", "mirror.k.value", "mirror.specular_reflectance.value",
                             "sky.radiance.value"}},
     .zero = "mirror.k.value" /* all is reflected for any k where eta is 0 */},
    {.base = {.name = "a mirror without green",
              .body =
                  COLOURS MIRROR(".9,0,.5") FLOOR WALL BALL("0", "-.3", ".7", ".7", REF("mirror")) LAMP SKY,
              .parameters = {"mirror.specular_reflectance.value", "white.reflectance.value",
                             "sky.radiance.value"}}},
    {.base = {.name = "two mirrors without green",
              .body = COLOURS MIRROR(".9,0,.5") FLOOR BALL("-.6", "-.3", ".7", ".6", REF("mirror")) BALL(
                  "-.1", "-1.3", ".3", ".4", REF("mirror")) BALL(".7", "-.3", ".7", ".6", REF("mirror")) SKY,
              .parameters = {"mirror.specular_reflectance.value", "white.reflectance.value",
                             "sky.radiance.value"}}},
    {.base = {.name = "a glass ball",
              .body = COLOURS GLASS(".9,.8,.7", ".8,.95,.9")
                  FLOOR WALL BALL("0", "-.5", ".8", ".8", REF("glass")) LAMP SKY,
              .parameters = {"glass.eta", "glass.specular_reflectance.value",
                             "glass.specular_transmittance.value", "white.reflectance.value"}}},
    {.base = {.name = "opaque red glass",
              .body = COLOURS GLASS("0,.5,0", "0,.9,.8") FLOOR WALL BALL("0", "-.5", ".8", ".8", REF("glass"))
                  LAMP SKY,
              .parameters = {"glass.eta", "glass.specular_reflectance.value",
                             "glass.specular_transmittance.value", "white.reflectance.value"}},
     .dark = true /* what enters also leaves, two zeros */},
    {.base = {.name = "a lamp inside glass",
              .body = COLOURS GLASS(".9,.8,.7", ".8,.95,.9") FLOOR BALL("0", "-.5", ".8", ".8", REF("glass"))
                  BALL("0", "-.5", ".8", ".4",
                       REF("white") "<emitter type='area' id='light'>" RGB("radiance", "5,4,3") "</emitter>"),
              .parameters = {"glass.eta", "glass.specular_reflectance.value",
                             "glass.specular_transmittance.value", "light.radiance.value"}}},
    {.base = {.name = "a mask before a wall",
              .body = MASKED_ROOM(".6", LEAF),
              .parameters = {"mask.opacity.value", "leaf.reflectance.value", "red.reflectance.value",
                             "light.radiance.value"}},
     .on_device = true},
    {.base = {.name = "a mask of opacity 0",
              .body = MASKED_ROOM("0", LEAF),
              .parameters = {"mask.opacity.value", "red.reflectance.value", "light.radiance.value"}},
     .inwards = 1,
     .on_device = true},
    {.base = {.name = "a mask of opacity 1",
              .body = MASKED_ROOM("1", LEAF),
              .parameters = {"mask.opacity.value", "leaf.reflectance.value", "light.radiance.value"}},
     .inwards = -1,
     .on_device = true},
    {.base = {.name = "a mask by colour",
              .body = COLOURS "<bsdf type='mask' id='mask'>" RGB("opacity", ".3,.5,.9") LEAF
              "</bsdf>" FLOOR WALL SCREEN(REF("mask")) LAMP SKY,
              .parameters = {"mask.opacity.value", "leaf.reflectance.value", "red.reflectance.value"}}},
    {.base = {.name = "a mask by bitmap",
              .body = COLOURS "<bsdf type='mask' id='mask'>" BITMAP("opacity", "grey.pfm") LEAF
              "</bsdf>" FLOOR WALL SCREEN(REF("mask")) LAMP SKY,
              .parameters = {"mask.opacity.data", "leaf.reflectance.value", "red.reflectance.value"}}},
    {.base = {.name = "a mask by checkerboard",
              .body = COLOURS
              "<bsdf type='mask' id='mask'><texture type='checkerboard' name='opacity'><float name='color0' "
              "value='.8'/>" RGB("color1", ".1,.3,.2") "</texture>" LEAF
                                                       "</bsdf>" FLOOR WALL SCREEN(REF("mask")) LAMP SKY,
              .parameters = {"mask.opacity.color0.value", "mask.opacity.color1.value",
                             "leaf.reflectance.value"}}},
    {.base = {.name = "a mask of metal",
              .body = METAL MASKED_ROOM(".6", "<bsdf type='twosided'><ref id='metal'/></bsdf>"),
              .parameters = {"mask.opacity.value", "metal.k.value", "metal.specular_reflectance.value",
                             "red.reflectance.value"}}},
    {.base = {.name = "a mask of principled glass",
              .body = MASKED_ROOM(".6", FLAT),
              .parameters = {"mask.opacity.value", "flat.base_color.value", "flat.flatness.value",
                             "flat.roughness.value", "flat.spec_trans.value"}}},
    {.base = {.name = "a mask of glass",
              .body = GLASS(".9,.8,.7", ".8,.95,.9") MASKED_ROOM(".6", REF("glass")),
              .parameters = {"mask.opacity.value", "glass.eta", "glass.specular_reflectance.value",
                             "glass.specular_transmittance.value"}},
     .on_device = true},
    {.base = {.name = "a mask of a mask",
              .body = MASKED_ROOM(".6", "<bsdf type='mask' id='inner'><float name='opacity' value='.3'/>" LEAF
                                        "</bsdf>"),
              .parameters = {"mask.opacity.value", "inner.opacity.value", "leaf.reflectance.value"}}},
    {.base = {.name = "twosided, leaf and metal",
              .body = COLOURS METAL "<bsdf type='twosided' id='sheet'>" DIFFUSE(
                  "leaf", ".3,.7,.35") "<ref id='metal'/></bsdf>" FLOOR WALL
                  SHAPE("rectangle",
                        "<scale value='.6'/><rotate x='1' angle='75'/><translate value='-.6,-.9,.8'/>",
                        REF("sheet"))
                      SHAPE("rectangle",
                            "<scale value='.6'/><rotate x='1' angle='-105'/><translate value='.6,-.8,.8'/>",
                            REF("sheet")) LAMP SKY,
              .parameters = {"leaf.reflectance.value", "metal.eta.value", "metal.specular_reflectance.value",
                             "red.reflectance.value"}}},
    {.base = {.name = "a rough metal, ggx",
              .body =
                  COLOURS ROUGH("ggx", ".3") FLOOR WALL BALL("0", "-.3", ".7", ".7", REF("rough")) LAMP SKY,
              .parameters = {"rough.alpha.value", "rough.eta.value", "rough.k.value",
                             "rough.specular_reflectance.value", "white.reflectance.value"}}},
    {.base = {.name = "a rough metal, beckmann",
              .body = COLOURS ROUGH("beckmann", ".25") FLOOR WALL BALL("0", "-.3", ".7", ".7", REF("rough"))
                  LAMP SKY,
              .parameters = {"rough.alpha.value", "rough.eta.value", "rough.k.value",
                             "rough.specular_reflectance.value", "light.radiance.value"}}},
    {.base = {.name = "a blend of a rough metal and a leaf",
              .body = ROUGH("ggx", ".4")
                  MASKED_ROOM(".6", "<bsdf type='twosided'>" BLEND(
                                        ".35", "blend", REF("rough") DIFFUSE("leaf", ".3,.7,.35")) "</bsdf>"),
              .parameters = {"blend.weight.value", "mask.opacity.value", "rough.alpha.value",
                             "leaf.reflectance.value"}}},
    {.base = {.name = "blends of metal, mask and glass",
              .body = COLOURS METAL GLASS(".9,.8,.7",
                                          ".8,.95,.9") "<bsdf type='twosided' id='both'><ref "
                                                       "id='metal'/></bsdf>" BLEND(
                                                           ".4", "outer",
                                                           MASK(".7", REF("both"))
                                                               BLEND(".3", "inner", REF("glass") REF("both")))
                                                           FLOOR WALL SCREEN(REF("outer")) LAMP SKY,
              .parameters = {"outer.weight.value", "inner.weight.value", "mask.opacity.value",
                             "metal.k.value", "glass.specular_transmittance.value"}}},
    {.base = {.name = "a blend of weight 0",
              .body = COLOURS BLEND("0", "blend", DIFFUSE("leaf", ".3,.7,.35") REF("red"))
                  FLOOR WALL SCREEN(REF("blend")) LAMP SKY,
              .parameters = {"blend.weight.value", "leaf.reflectance.value", "light.radiance.value"}},
     .inwards = 1,
     .on_device = true},
    {.base = {.name = "a thin pane",
              .body = PANE MASKED_ROOM(".8", REF("pane")),
              .parameters = {"pane.eta", "pane.specular_reflectance.value",
                             "pane.specular_transmittance.value", "red.reflectance.value"}}},
    {.base = {.name = "plastic",
              .body = COLOURS PLASTIC(".3,.6,.9", ".9,.7,.5", "false")
                  FLOOR WALL BALL("0", "-.3", ".7", ".7", REF("plastic")) LAMP SKY,
              .parameters = {"plastic.eta", "plastic.diffuse_reflectance.value",
                             "plastic.specular_reflectance.value", "white.reflectance.value"}}},
    {.base = {.name = "plastic, nonlinear, without green",
              .body = COLOURS PLASTIC(".3,0,.9", ".9,0,.5", "true")
                  FLOOR WALL BALL("0", "-.3", ".7", ".7", REF("plastic")) LAMP SKY,
              .parameters = {"plastic.eta", "plastic.diffuse_reflectance.value",
                             "plastic.specular_reflectance.value", "sky.radiance.value"}}},
    {.base = {.name = "rough glass, ggx",
              .body = COLOURS ROUGH_GLASS("ggx", ".4") FLOOR WALL BALL("0", "-.3", ".7", ".7", REF("ground"))
                  LAMP SKY,
              .parameters = {"ground.alpha.value", "ground.eta", "ground.specular_reflectance.value",
                             "ground.specular_transmittance.value", "white.reflectance.value"}}},
    {.base = {.name = "rough glass, beckmann",
              .body = COLOURS ROUGH_GLASS("beckmann", ".3")
                  FLOOR WALL BALL("0", "-.3", ".7", ".7", REF("ground")) LAMP SKY,
              .parameters = {"ground.alpha.value", "ground.eta", "ground.specular_reflectance.value",
                             "ground.specular_transmittance.value", "sky.radiance.value"}}},
    {.base = {.name = "behind a null surface",
              .body = COLOURS METAL "<bsdf type='null' id='nothing'/>" FLOOR BALL(
                  "0", "-.3", ".7", ".6", REF("metal")) SCREEN(REF("nothing")) LAMP SKY,
              .parameters = {"metal.k.value", "white.reflectance.value", "light.radiance.value"}}},
};
enum { CASES = sizeof cases / sizeof cases[0] };

/* ---- interpreter ---- */

static char *folder;

static void case_agrees(void **state)
{
    const lobe_case *c = *state;
    path_agreement_expect(&(path_agreement){.scene = &c->base,
                                            .folder = folder,
                                            .depth = DEPTH,
                                            .samples = SAMPLES,
                                            .inwards = c->inwards,
                                            .dark = c->dark,
                                            .zero = c->zero});
}

/* ---- device ---- */

static scene_device device;

enum { FILM = 16, SPP = 256, SEEDS = 8 };

typedef struct estimate {
    double mean, error;
} estimate;

static estimate estimate_of(const double *v, uint32_t n)
{
    estimate e = {0};
    for (uint32_t i = 0; i < n; i++)
        e.mean += v[i] / n;
    for (uint32_t i = 0; i < n; i++)
        e.error += (v[i] - e.mean) * (v[i] - e.mean);
    e.error = sqrt(e.error / (n * (n - 1.0)));
    return e;
}

static double loss_at(scene_picture *p, const float *weights, uint32_t index, float opacity, uint32_t seed)
{
    SCENE_MUST(&device, bl_job_set_parameter(p->job, index, &opacity));
    SCENE_MUST(&device, bl_job_render(p->job, &(bl_render_desc){.spp = SPP, .seed = seed}, p->image, NULL));
    double sum = 0;
    for (uint32_t i = 0; i < p->values; i++)
        sum += (double)weights[i] * (double)p->image[i];
    return sum;
}

/* The image is a polynomial of low degree in the opacity: a path crosses the screen a few times at most. */
static double difference_at(scene_picture *p, const float *weights, uint32_t index, float opacity,
                            double inwards, uint32_t seed)
{
    const float h = 0.1f;
    if (inwards == 0)
        return (loss_at(p, weights, index, opacity + h, seed) -
                loss_at(p, weights, index, opacity - h, seed)) /
               (2 * (double)h);
    double s = inwards, f[3];
    for (int k = 0; k < 3; k++)
        f[k] = loss_at(p, weights, index, opacity + (float)(s * k) * h, seed);
    return s * (-3 * f[0] + 4 * f[1] - f[2]) / (2 * (double)h);
}

static void opacity_in_expectation(void **state)
{
    const lobe_case *c = *state;
    arena a = {0};
    scene_picture p = scene_picture_load(&device, scene_case_xml(&a, &c->base, DEPTH, FILM, FILM), ".",
                                         c->base.parameters, 1);
    uint32_t index = scene_device_find(&device, p.scene, c->base.parameters[0]), random = 3;
    float *weights = arena_alloc(&a, p.values * sizeof *weights), opacity;
    SCENE_MUST(&device, bl_scene_get_parameter(p.scene, index, &opacity));
    for (uint32_t i = 0; i < p.values; i++)
        weights[i] = (float)(0.5 + scene_random(&random));
    double replay[SEEDS], plain[SEEDS];
    for (uint32_t k = 0; k < SEEDS; k++) {
        float g;
        bl_stats stats;
        SCENE_MUST(&device, bl_job_set_parameter(p.job, index, &opacity));
        SCENE_MUST(
            &device,
            bl_job_gradient(p.job, &(bl_gradient_desc){.spp = SPP, .seed = k, .adjoint = weights}, &stats));
        assert_int_equal(stats.drifted, 0);
        assert_int_equal(stats.overflowed, 0);
        SCENE_MUST(&device, bl_job_read_gradient(p.job, 0, &g));
        replay[k] = (double)g;
        plain[k] = difference_at(&p, weights, index, opacity, c->inwards, 100 + k);
    }
    estimate r = estimate_of(replay, SEEDS), d = estimate_of(plain, SEEDS);
    double noise = sqrt(r.error * r.error + d.error * d.error);
    print_message("%s: replay %.5g +- %.2g, differences %.5g +- %.2g\n", c->base.name, r.mean, r.error,
                  d.mean, d.error);
    if (!(fabs(r.mean - d.mean) <= 4 * noise + 0.005 * fabs(d.mean)))
        fail_msg("%s: replay %.6g, plain differences %.6g, %.2g standard errors apart", c->base.name, r.mean,
                 d.mean, fabs(r.mean - d.mean) / noise);
    if (!(4 * noise <= 0.1 * fabs(d.mean)))
        fail_msg("%s: too noisy to judge, 4 standard errors are %.3g of %.3g", c->base.name, 4 * noise,
                 d.mean);
    scene_picture_free(&p);
    arena_free(&a);
}

int main(void)
{
    bool with_device = getenv("BL_DEVICE") != NULL;
    if (!with_device && !(folder = scene_files_create()))
        return 1;
    struct CMUnitTest tests[CASES];
    uint32_t count = 0;
    for (uint32_t i = 0; i < CASES; i++)
        if (!with_device || cases[i].on_device)
            tests[count++] =
                (struct CMUnitTest){cases[i].base.name, with_device ? opacity_in_expectation : case_agrees,
                                    NULL, NULL, (void *)(uintptr_t)&cases[i]};
    if (with_device)
        return scene_device_run(&device, NULL, "delta lobes", tests, count, NULL);
    int failed = _cmocka_run_group_tests("delta lobes", tests, count, NULL, NULL);
    scene_files_remove(folder);
    return failed;
}
