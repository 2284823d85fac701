/* LABELS: nodevice swiftshader lavapipe native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Are mirrors, glass, masks and null surfaces right in images? What reflects and transmits without loss
 * disappears before a constant environment, because every weight on the way is 1: sample by sample in the
 * interpreter, and in all pixels on a device. In the interpreter also: what the path integrator says of
 * null surfaces, the index that roulette is told, names of materials, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_device.h"
#include "support/scene_eval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 8, SEED = 4, SAMPLES = 300, DEEP = 64 };

#define TO_WORLD(ops) "<transform name='to_world'>" ops "</transform>"
#define RGB(name, value) "<rgb name='" name "' value='" value "'/>"
#define REF(id) "<ref id='" id "'/>"
#define SHAPE(type, ops, inside) "<shape type='" type "'>" TO_WORLD(ops) inside "</shape>"
#define BALL(x, y, z, r, inside)                                                                             \
    "<shape type='sphere'><point name='center' value='" x "," y "," z "'/><float name='radius' value='" r    \
    "'/>" inside "</shape>"
#define SCREEN(inside)                                                                                       \
    SHAPE("rectangle", "<scale value='3'/><rotate x='1' angle='75'/><translate value='0,-.9,.8'/>", inside)
#define SKY "<emitter type='constant' id='sky'>" RGB("radiance", ".5,1,2") "</emitter>"
#define GLASS "<bsdf type='dielectric' id='glass'/>"
#define DIAMOND                                                                                              \
    "<bsdf type='dielectric' id='diamond'><string name='int_ior' value='Diamond'/><string name='ext_ior' "   \
    "value='vacuum'/></bsdf>"
#define MIRROR "<bsdf type='conductor' id='mirror'/>"
#define NOTHING "<bsdf type='null' id='nothing'/>"
#define MASK(opacity, nested)                                                                                \
    "<bsdf type='mask' id='mask'><float name='opacity' value='" opacity "'/>" nested "</bsdf>"
#define PLATE(type, inside) "<bsdf type='" type "' id='plate'>" inside "</bsdf>"
#define WHITE                                                                                                \
    "<bsdf type='twosided' id='white'><bsdf type='diffuse'>" RGB("reflectance", "1") "</bsdf></bsdf>"
#define LAMP(inside)                                                                                         \
    SHAPE("rectangle", "<scale value='3'/><rotate x='1' angle='90'/><translate value='0,1,.5'/>",            \
          inside "<emitter type='area' id='light'>" RGB("radiance", "3,4,5") "</emitter>")

static const double sky[3] = {0.5, 1, 2}, light[3] = {3, 4, 5}, black[3] = {0, 0, 0};

static char *scene_of(arena *a, const char *body, int32_t depth, uint32_t rr_depth, bool hide)
{
    return scene_case_xml(a, &(scene_case){.body = body, .rr_depth = rr_depth, .hide_emitters = hide}, depth,
                          SIDE, SIDE);
}

/* ---- furnaces ---- */

static const struct furnace {
    const char *name, *body;
    bool each_sample; /* weights are 1, not only in the mean */
    double factor;    /* of the sky */
} furnaces[] = {
    {"glass", GLASS BALL("0", "0", ".6", ".9", REF("glass")) SKY, true, 1},
    /* the same light in a smaller solid angle */
    {"diamond seen from inside", DIAMOND BALL("0", "-2.5", "1", "1.5", REF("diamond")) SKY, true,
     2.419 * 2.419},
    {"glass in glass",
     GLASS DIAMOND BALL("0", "0", ".6", ".9", REF("glass")) BALL("0", "0", ".6", ".5", REF("diamond")) SKY,
     true, 1},
    {"thin panes",
     "<bsdf type='thindielectric' id='pane'/>" SCREEN(REF("pane")) BALL("0", "0", ".6", ".5", REF("pane"))
         SKY,
     true, 1},
    {"mirror",
     MIRROR BALL("-.5", "0", ".6", ".5", REF("mirror")) BALL("1.1", "0", ".6", ".5", REF("mirror")) SKY, true,
     1},
    {"null", NOTHING SCREEN(REF("nothing")) BALL("0", "0", ".6", ".5", REF("nothing")) SKY, true, 1},
    {"polariser", PLATE("polarizer", "<float name='theta' value='20'/>") SCREEN(REF("plate")) SKY, true, 0.5},
    {"retarder", PLATE("retarder", "<float name='transmittance' value='.75'/>") SCREEN(REF("plate")) SKY,
     true, 0.75},
    {"circular polariser",
     PLATE("circular", "<float name='transmittance' value='.5'/>") SCREEN(REF("plate")) SKY, true, 0.25},
    {"mask of glass in itself",
     "<bsdf type='dielectric' id='same'><float name='int_ior' value='1.3'/><float name='ext_ior' "
     "value='1.3'/></bsdf>" MASK(".3", REF("same")) BALL("0", "0", ".6", ".9", REF("mask")) SKY,
     true, 1},
    {"mask of a mirror",
     MIRROR MASK(".6", "<bsdf type='twosided'>" REF("mirror") "</bsdf>")
         BALL("0", "0", ".6", ".9", REF("mask")) SKY,
     true, 1},
    {"mask of white paint", WHITE MASK(".4", REF("white")) SCREEN(REF("mask")) SKY, false, 1},
};
enum { FURNACES = sizeof furnaces / sizeof furnaces[0] };

static const double *run(scene_eval *e, render_pass pass, uint32_t pixel, uint32_t sample)
{
    bl_error err = {0};
    if (scene_eval_run(e, pass, (scene_eval_at){.pixel = pixel, .sample = sample, .seed = SEED}, &err) !=
        BL_OK)
        fail_msg("%s", err.text);
    assert_int_equal(e->status[STATUS_NON_FINITE], 0);
    return e->film + 3 * pixel;
}

static void expect(const char *what, const double got[3], const double expected[3], double tolerance)
{
    for (int c = 0; c < 3; c++)
        if (!(fabs(got[c] - expected[c]) <= tolerance * (1 + expected[c])))
            fail_msg("%s: (%.9g, %.9g, %.9g), expected (%g, %g, %g)", what, got[0], got[1], got[2],
                     expected[0], expected[1], expected[2]);
}

static void every_sample_is_the_sky(void **state)
{
    const struct furnace *c = *state;
    arena a = {0};
    scene_eval *e = scene_eval_create(scene_of(&a, c->body, DEEP, 0, false), ".", NULL, 0);
    double mean[3] = {0}, expected[3];
    for (int i = 0; i < 3; i++)
        expected[i] = c->factor * sky[i];
    for (uint32_t k = 0; k < SAMPLES; k++) {
        const double *film = run(e, RENDER_PRIMAL, k % (SIDE * SIDE), k);
        if (c->each_sample)
            expect(c->name, film, expected, 2e-5);
        for (int i = 0; i < 3; i++)
            mean[i] += film[i] / SAMPLES;
    }
    expect(c->name, mean, expected, c->each_sample ? 2e-5 : 0.1);
    scene_eval_destroy(e);
    arena_free(&a);
}

static scene_device device;

static void the_picture_is_the_sky(void **state)
{
    const struct furnace *c = *state;
    enum { SPP = 512 };
    arena a = {0};
    scene_picture p = scene_picture_load(&device, scene_of(&a, c->body, DEEP, 0, false), ".", NULL, 0);
    double expected[3 * SIDE * SIDE];
    for (uint32_t i = 0; i < 3 * SIDE * SIDE; i++)
        expected[i] = c->factor * sky[i % 3];
    scene_picture_render(&p, SPP, SEED);
    scene_picture_expect(&p, SPP, expected, 2e-5, 0.01);
    scene_picture_free(&p);
    arena_free(&a);
}

/* Roulette lets min(throughput * eta^2, .95) survive. Without loss that is .95 at every vertex, inside of
 * glass, too, because the radiance's factor 1 / eta^2 is undone; so what arrives is the sky over a power of
 * .95. */
static void roulette_knows_the_index(void **state)
{
    (void)state;
    arena a = {0};
    scene_eval *e = scene_eval_create(
        scene_of(&a, DIAMOND BALL("0", "0", ".6", ".9", REF("diamond")) SKY, DEEP, 1, false), ".", NULL, 0);
    uint32_t ended = 0, inside = 0;
    for (uint32_t k = 0; k < SAMPLES; k++) {
        double film = run(e, RENDER_PRIMAL, k % (SIDE * SIDE), k)[1], vertices = log(film) / -log(0.95);
        ended += film == 0;
        inside += film != 0 && vertices > 1.5;
        if (film != 0 && !(fabs(vertices - round(vertices)) < 1e-3))
            fail_msg("sample %u: %.9g is no power of .95", k, film);
    }
    assert_true(ended > 0 && inside > SAMPLES / 8);
    scene_eval_destroy(e);
    arena_free(&a);
}

/* ---- choices ---- */

enum { CHOICES = 3, NUMBERS = 2000 };
static const struct choice {
    const char *name, *body; /* the material "it" */
    const char *requested;
    double wi[3], uv[2];
    struct {
        bool delta;
        uint32_t lobe;
        double probability;
    } lobes[CHOICES];
} choices[] = {
    {"glass",
     "<bsdf type='dielectric' id='it'><float name='int_ior' value='1.5'/><float name='ext_ior' "
     "value='1'/></bsdf>",
     NULL,
     {0, 0, 1},
     {0, 0},
     {{true, 0, 0.04}, {true, 1, 0.96}}},
    {"glass from inside",
     "<bsdf type='dielectric' id='it'><float name='int_ior' value='1.5'/><float name='ext_ior' "
     "value='1'/></bsdf>",
     NULL,
     {0.8, 0, -0.6},
     {0, 0},
     {{true, 0, 1}}},
    /* 2 F / (1 + F) with F = .04 */
    {"thin pane",
     "<bsdf type='thindielectric' id='it'><float name='int_ior' value='1.5'/><float name='ext_ior' "
     "value='1'/></bsdf>",
     NULL,
     {0, 0, -1},
     {0, 0},
     {{true, 0, 1 / 13.0}, {true, LOBE_NULL, 12 / 13.0}}},
    {"mask of glass",
     "<bsdf type='mask' id='it'><float name='opacity' value='.6'/><bsdf type='dielectric'><float "
     "name='int_ior' value='1.5'/>"
     "<float name='ext_ior' value='1'/></bsdf></bsdf>",
     NULL,
     {0, 0, 1},
     {0, 0},
     {{true, LOBE_NULL, 0.4}, {true, 1, 0.6 * 0.04}, {true, 2, 0.6 * 0.96}}},
    {"mask of a mask",
     "<bsdf type='mask' id='it'><float name='opacity' value='.6'/><bsdf type='mask'><float name='opacity' "
     "value='.3'/>"
     "<bsdf type='conductor'/></bsdf></bsdf>",
     NULL,
     {0, 0, 1},
     {0, 0},
     {{true, LOBE_NULL, 0.4}, {true, LOBE_NULL + 1, 0.6 * 0.7}, {true, 2, 0.6 * 0.3}}},
    {"mask by colour",
     "<bsdf type='mask' id='it'>" RGB("opacity", ".1,.5,.9") "<bsdf type='conductor'/></bsdf>",
     NULL,
     {0, 0, 1},
     {0, 0},
     {{true, 1, (0.1 + 0.5 + 0.9) / 3}}},
    /* Mitsuba's checkerboard gives color0 as a colour and color1 as a number here */
    {"mask by checkerboard",
     "<bsdf type='mask' id='it'><texture type='checkerboard' name='opacity'><float name='color0' value='.9'/>"
     "<float name='color1' value='.2'/></texture><bsdf type='conductor'/></bsdf>",
     NULL,
     {0, 0, 1},
     {0.25, 0.25},
     {{true, 1, 0.2}, {true, LOBE_NULL, 0.8}}},
    {"opacity 0", MASK("0", "<bsdf type='conductor'/>"), NULL, {0, 0, 1}, {0, 0}, {{true, LOBE_NULL, 1}}},
    {"opacity 1", MASK("1", "<bsdf type='conductor'/>"), NULL, {0, 0, 1}, {0, 0}, {{true, 1, 1}}},
    {"opacity 0, requested",
     MASK("0", "<bsdf type='conductor'/>"),
     "mask.opacity.value",
     {0, 0, 1},
     {0, 0},
     {{true, 1, 0.1}, {true, LOBE_NULL, 0.9}}},
    {"opacity 1, requested",
     MASK("1", "<bsdf type='conductor'/>"),
     "mask.opacity.value",
     {0, 0, 1},
     {0, 0},
     {{true, 1, 0.9}, {true, LOBE_NULL, 0.1}}},
    {"twosided, front",
     "<bsdf type='twosided' id='it'><bsdf type='conductor'/><bsdf type='diffuse'/></bsdf>",
     NULL,
     {0, 0, 1},
     {0, 0},
     {{true, 0, 1}}},
    {"twosided, back",
     "<bsdf type='twosided' id='it'><bsdf type='diffuse'/><bsdf type='conductor'/></bsdf>",
     NULL,
     {0, 0, -1},
     {0, 0},
     {{true, 0, 1}}},
};

/* (u_lobe) -> lobe, delta, probability of the first shape's material */
static ir_module *choosing(const scene_eval *e, const struct choice *c)
{
    ir_module *m = ir_module_create();
    ir_buffer_add(m, "scene", true, -1), ir_buffer_add(m, "values", true, -1);
    m->entry = ir_func_create(m, "choice");
    tracer t = plan_tracer(e->plan, m->entry);
    uint32_t shape = e->plan->words.data[HEADER_SHAPES];
    const class_node *n = e->plan->bsdfs.data[e->plan->words.data[shape + SHAPE_BSDF_CLASS]];
    vec3 wi = v3(t_f32(&t, (float)c->wi[0]), t_f32(&t, (float)c->wi[1]), t_f32(&t, (float)c->wi[2]));
    vec2 uv = {t_f32(&t, (float)c->uv[0]), t_f32(&t, (float)c->uv[1])};
    ir_ref half = t_f32(&t, 0.5f), u = ir_param(m->entry, IR_F32);
    bsdf_context ctx = {&t, n, t_u32(&t, e->plan->words.data[shape + SHAPE_BSDF_RECORD]), wi, uv};
    bsdf_sample s = ((const bsdf_class *)n->cls)->sample(&ctx, u, half, half);
    ir_return(m->entry, (ir_ref[3]){s.lobe, s.delta, s.pdf}, 3);
    return m;
}

static void lobes_are_chosen_as_often_as_they_say(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < sizeof choices / sizeof choices[0]; i++) {
        const struct choice *c = &choices[i];
        arena a = {0};
        scene_eval *e = scene_eval_create(scene_of(&a,
                                                   arena_printf(&a, "%s" SCREEN(REF("%s")), c->body,
                                                                strstr(c->body, "id='it'") ? "it" : "mask"),
                                                   2, 0, false),
                                          ".", &c->requested, c->requested != NULL);
        ir_module *m = choosing(e, c);
        ir_eval_buffer buffers[2] = {{.words = e->plan->words.data, .count = e->plan->words.count},
                                     {.reals = e->values, .count = e->scene->values.count}};
        ir_eval_env env = {.buffers = buffers, .buffer_count = 2, .f64 = true};
        bl_error err = {0};
        uint32_t count[CHOICES] = {0};
        if (ir_finish(m, &err) != BL_OK)
            fail_msg("%s: %s", c->name, err.text);
        for (uint32_t k = 0; k < NUMBERS; k++) {
            ir_value r[3];
            if (ir_eval(m->entry, &(ir_value){.f = (k + 0.5) / NUMBERS}, r, &env, &err) != BL_OK)
                fail_msg("%s: %s", c->name, err.text);
            for (uint32_t j = 0; j < CHOICES && c->lobes[j].probability > 0; j++)
                if (r[0].u == c->lobes[j].lobe && r[1].b == c->lobes[j].delta) {
                    count[j]++;
                    if (!(fabs(r[2].f - c->lobes[j].probability) < 1e-7))
                        fail_msg("%s: lobe %u says %.9g, expected %.9g", c->name, j, r[2].f,
                                 c->lobes[j].probability);
                }
        }
        for (uint32_t j = 0; j < CHOICES; j++)
            if (!(fabs(count[j] - NUMBERS * c->lobes[j].probability) <= 1.5))
                fail_msg("%s: lobe %u was chosen %u times in %u, expected %g", c->name, j, count[j], NUMBERS,
                         NUMBERS * c->lobes[j].probability);
        ir_module_destroy(m);
        scene_eval_destroy(e);
        arena_free(&a);
    }
}

/* ---- null surfaces and paths ---- */

#define HIDING(integrator)                                                                                   \
    "<integrator type='" integrator "'><boolean name='hide_emitters' value='true'/></integrator>"

static const struct crossing {
    const char *name, *body;
    int32_t depth;
    bool hide;
    const double *expected;
    const char *integrator; /* NULL: path */
} crossings[] = {
    {"a null surface is a bounce: the lamp is one too far",
     NOTHING SCREEN(REF("nothing")) LAMP(REF("nothing")), 1, false, black, NULL},
    {"a null surface is a bounce: the lamp is reached", NOTHING SCREEN(REF("nothing")) LAMP(REF("nothing")),
     2, false, light, NULL},
    {"the same through a mask", WHITE MASK("0", REF("white")) SCREEN(REF("mask")) LAMP(REF("white")), 2,
     false, light, NULL},
    {"a lamp behind null is not the camera's own", NOTHING WHITE SCREEN(REF("nothing")) LAMP(REF("white")), 2,
     true, light, NULL},
    {"the sky behind null", NOTHING SCREEN(REF("nothing")) SKY, 4, false, sky, NULL},
    {"the hidden sky behind null", NOTHING SCREEN(REF("nothing")) SKY, 4, true, black, NULL},
    {"the hidden sky behind null and mask",
     NOTHING WHITE MASK("0", REF("white")) SCREEN(REF("nothing"))
         SHAPE("rectangle", "<scale value='3'/><rotate x='1' angle='75'/><translate value='0,-.5,.8'/>",
               REF("mask")) SKY,
     4, true, black, NULL},
    {"the hidden sky in a mirror", MIRROR SCREEN(REF("mirror")) SKY, 4, true, sky, NULL},
    {"the hidden sky in a mirror behind null",
     NOTHING MIRROR SCREEN(REF("nothing"))
         SHAPE("rectangle", "<scale value='5'/><rotate x='1' angle='75'/><translate value='0,-.5,.8'/>",
               REF("mirror")) SKY,
     4, true, sky, NULL},
    {"the sky, hidden from what the camera sees first, behind null", NOTHING SCREEN(REF("nothing")) SKY, 0,
     true, sky, HIDING("direct")},
    {"the same, replayed", NOTHING SCREEN(REF("nothing")) SKY, 0, true, sky, HIDING("prb")},
    {"the same without a screen", NOTHING SKY, 0, true, black, HIDING("direct")},
    {"the back of a mirror",
     "<bsdf type='conductor' id='mirror'/>" SHAPE(
         "rectangle", "<scale value='3'/><rotate x='1' angle='-105'/><translate value='0,-.9,.8'/>",
         REF("mirror")) SKY,
     4, false, black, NULL},
};

static void paths_through_null(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < sizeof crossings / sizeof crossings[0]; i++) {
        const struct crossing *c = &crossings[i];
        arena a = {0};
        const scene_case s = {.body = c->body, .hide_emitters = c->hide, .integrator = c->integrator};
        scene_eval *e = scene_eval_create(scene_case_xml(&a, &s, c->depth, SIDE, SIDE), ".", NULL, 0);
        for (uint32_t k = 0; k < 32; k++)
            expect(c->name, run(e, RENDER_PRIMAL, 3 * SIDE + k % SIDE, k), c->expected, 2e-5);
        scene_eval_destroy(e);
        arena_free(&a);
    }
}

/* ---- parameters ---- */

static const render_parameter *parameter(const scene_eval *e, const char *name)
{
    return &e->scene->parameters.data[scene_eval_find(e, name)];
}

static void parameters_are_named_as_in_mitsuba(void **state)
{
    (void)state;
    arena a = {0};
    scene_eval *e =
        scene_eval_create(scene_of(&a,
                                   GLASS DIAMOND "<bsdf type='mask' id='leaf'><bsdf type='diffuse'/></bsdf>"
                                                 "<bsdf type='mask' id='colour'>" RGB("opacity", ".1,.2,.3")
                                                     REF("glass") "</bsdf>" SKY,
                                   2, 0, false),
                          ".", NULL, 0);
    assert_true(fabs(e->values[parameter(e, "diamond.eta")->offset] - 2.419) < 1e-6);
    assert_true(fabs(e->values[parameter(e, "glass.eta")->offset] - 1.5046 / 1.000277) < 1e-6);
    assert_int_equal(parameter(e, "glass.eta")->count, 1);
    assert_non_null(parameter(e, "glass.eta")->reason);
    assert_int_equal(parameter(e, "glass.specular_transmittance.value")->count, 3);
    assert_int_equal(parameter(e, "leaf.opacity.value")->count, 1); /* a number stays one */
    assert_true(parameter(e, "leaf.opacity.value")->most == 1);
    assert_int_equal(parameter(e, "colour.opacity.value")->count, 3);
    assert_int_equal(parameter(e, "leaf.nested_bsdf.reflectance.value")->count, 3);
    scene_eval_destroy(e);
    arena_free(&a);
}

static void refused(const char *body, bl_result code, const char *reason)
{
    arena a = {0};
    bl_error err = {0};
    scene_load_options o = {.registry = &render_registry};
    scene_description *d = NULL;
    render_scene *s = NULL;
    bl_result r = scene_load_string(scene_of(&a, body, 2, 0, false), ".", &o, &d, &err);
    if (r == BL_OK)
        r = render_scene_create(d, NULL, &s, &err);
    if (r != code || (reason && !strstr(err.text, reason)))
        fail_msg("%s: code %d, \"%s\"; expected code %d and \"%s\"", body, r, err.text, code,
                 reason ? reason : "");
    render_scene_destroy(s);
    arena_free(&a);
}

static void what_is_refused(void **state)
{
    (void)state;
    refused("<bsdf type='dielectric'><string name='int_ior' value='cheese'/></bsdf>", BL_ERROR_SCENE,
            "\"cheese\" (int_ior)");
    refused("<bsdf type='dielectric'><float name='int_ior' value='-1'/></bsdf>", BL_ERROR_SCENE, "outside");
    refused("<bsdf type='dielectric'><rgb name='int_ior' value='1'/></bsdf>", BL_ERROR_SCENE,
            "a float or a name");
    refused("<bsdf type='conductor'><string name='material' value='Aux'/></bsdf>", BL_ERROR_SCENE,
            "did you mean \"Au\"?");
    refused("<bsdf type='conductor'><string name='material' value='Au'/><float name='eta' value='1'/></bsdf>",
            BL_ERROR_SCENE, "not both");
    refused("<bsdf type='mask'><float name='opacity' value='1.5'/><bsdf type='diffuse'/></bsdf>",
            BL_ERROR_SCENE, "[0, 1]");
    refused("<bsdf type='roughdielectric'><float name='int_ior' value='1.3'/><float name='ext_ior' "
            "value='1.3'/></bsdf>",
            BL_ERROR_SCENE, "must differ");
    refused("<bsdf type='roughdielectric'><string name='distribution' value='phong'/></bsdf>", BL_ERROR_SCENE,
            "beckmann or ggx");
    refused("<bsdf type='roughdielectric'><float name='alpha_u' value='.1'/></bsdf>", BL_ERROR_SCENE,
            "\"alpha_v\" is missing");
    refused("<bsdf type='roughconductor'><float name='alpha' value='.1'/><float name='alpha_u' "
            "value='.1'/><float name='alpha_v' value='.1'/></bsdf>",
            BL_ERROR_SCENE, "not both");
    refused("<bsdf type='roughplastic'><float name='alpha_u' value='.1'/></bsdf>", BL_ERROR_SCENE,
            "\"alpha_u\"");
    refused("<bsdf type='twosided'><bsdf type='thindielectric'/></bsdf>", BL_ERROR_SCENE,
            "\"thindielectric\" transmits");
    refused("<bsdf type='mask'/>", BL_ERROR_SCENE, "needs 1 bsdf");
    refused("<bsdf type='twosided'><bsdf type='dielectric'/></bsdf>", BL_ERROR_SCENE,
            "\"dielectric\" transmits");
    refused("<bsdf type='twosided'><bsdf type='mask'><bsdf type='diffuse'/></bsdf></bsdf>", BL_ERROR_SCENE,
            "\"mask\" transmits");
    refused(
        "<bsdf type='twosided'><boolean name='allow_transmission' value='true'/><bsdf type='null'/></bsdf>",
        BL_OK, NULL);
}

int main(void)
{
    bool with_device = getenv("BL_DEVICE") != NULL;
    struct CMUnitTest tests[FURNACES + 5];
    uint32_t count = 0;
    for (; count < FURNACES; count++)
        tests[count] = (struct CMUnitTest){furnaces[count].name,
                                           with_device ? the_picture_is_the_sky : every_sample_is_the_sky,
                                           NULL, NULL, (void *)(uintptr_t)&furnaces[count]};
    if (!with_device) {
        tests[count++] = (struct CMUnitTest)cmocka_unit_test(roulette_knows_the_index);
        tests[count++] = (struct CMUnitTest)cmocka_unit_test(lobes_are_chosen_as_often_as_they_say);
        tests[count++] = (struct CMUnitTest)cmocka_unit_test(paths_through_null);
        tests[count++] = (struct CMUnitTest)cmocka_unit_test(parameters_are_named_as_in_mitsuba);
        tests[count++] = (struct CMUnitTest)cmocka_unit_test(what_is_refused);
    }
    return with_device ? scene_device_run(&device, NULL, "smooth materials", tests, count, NULL)
                       : _cmocka_run_group_tests("smooth materials", tests, count, NULL, NULL);
}
