/* LABELS: native swiftshader=long timeout=3600 */
/* SPDX-License-Identifier: BSD-3-Clause
 * Random scenes: plugins and values of their parameters are drawn from the registry, materials, textures and
 * phase functions within each other, media in shapes, integrators. A device's image is the interpreter's,
 * which runs the same lowered trace: all values but the few whose paths take another decision by rounding.
 * A device's gradient by a random parameter is the interpreter's, too; a path that takes another decision may
 * change all of it, so that a scene has a few seeds, of which one must agree. A scene that the loader refuses
 * counts for nothing, but some must be left. BL_FUZZ_SECONDS: how long (3; with BL_LONG=1 600);
 * BL_FUZZ_SEED: the first scene's number, another one every day without it. A failure prints the scene and
 * its number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_device.h"
#include "support/scene_eval.h"
#include "support/todays_share.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIDE = 6,
    PIXELS = SIDE * SIDE,
    VALUES = 3 * PIXELS,
    NESTED_MOST = 3,
    ULP_MOST = 512,
    SEEDS = 6,
    PARAMETERS = 4
};
static const double other_paths = 0.05; /* most of the values that differ by more */
static const double tolerance = 1e-3;   /* of gradients, as a part of what all samples add to them */

static const double rounding = 1e-4; /* what is left of a gradient that is 0: terms of size 10 cancel */

static scene_device device;
static char folder[1000]; /* of images and grids */
static uint32_t state;

static double draw(double least, double most) { return least + (most - least) * scene_random(&state); }
static uint32_t below(uint32_t n) { return (uint32_t)draw(0, n) % n; }

/* ---- scenes ---- */

static bl_plugin_info pick(const char *category, const char *const *names, uint32_t *plugin)
{
    bl_plugin_info info;
    for (;;) {
        *plugin = below(bl_plugin_count(device.context));
        SCENE_MUST(&device, bl_plugin_info_at(device.context, *plugin, &info));
        bool wanted = !names;
        for (uint32_t k = 0; names && names[k]; k++)
            wanted |= !strcmp(names[k], info.name);
        if (info.available && !strcmp(info.category, category) && wanted)
            return info;
    }
}

static void add_colour(text *to, const char *name)
{
    if (below(3)) {
        text_add(to, "<rgb name='%s' value='%.3g %.3g %.3g'/>", name, draw(0, 1), draw(0, 1), draw(0, 1));
        return;
    }
    if (below(2)) {
        text_add(to, "<spectrum name='%s' value='%.3g'/>", name, draw(0, 1));
        return;
    }
    if (!below(3)) {
        text_add(to, "<texture type='bitmap' name='%s'><string name='filename' value='images/%s'/></texture>",
                 name, below(2) ? "rgb8.png" : "palette.png");
        return;
    }
    text_add(to, "<texture type='checkerboard' name='%s'>", name);
    add_colour(to, "color0"), add_colour(to, "color1");
    text_add(to, "<transform name='to_uv'><scale x='%.3g' y='%.3g'/></transform></texture>", draw(1, 8),
             draw(1, 8));
}

static void add_volume(text *to, const char *name, double most)
{
    if (below(3))
        text_add(to, "<rgb name='%s' value='%.3g %.3g %.3g'/>", name, draw(0, most), draw(0, most),
                 draw(0, most));
    else
        text_add(to,
                 "<volume type='gridvolume' name='%s'><string name='filename' value='grid.vol'/><transform "
                 "name='to_world'><translate value='-.5,-.5,-.5'/><scale value='%.3g'/></transform></volume>",
                 name, draw(1, 3));
}

/* A value of a kind that we know how to draw; others stay as they are by default. */
static void add_parameter(text *to, const bl_plugin_parameter *p)
{
    if (!p->required && !below(2))
        return;
    if (!strcmp(p->type, "float")) {
        double value = p->preset ? atof(p->preset) * draw(0.5, 1.5) : draw(0, 1);
        if (p->least != 0 || p->most != 0)
            value = fmin(fmax(value, p->least), p->most);
        text_add(to, "<float name='%s' value='%.4g'/>", p->name, value);
    } else if (!strcmp(p->type, "float or a name")) {
        text_add(to, "<float name='%s' value='%.4g'/>", p->name, draw(1, 2));
    } else if (!strcmp(p->type, "boolean")) {
        text_add(to, "<boolean name='%s' value='%s'/>", p->name, below(2) ? "true" : "false");
    } else if (!strcmp(p->type, "colour or texture") || !strcmp(p->type, "colour")) {
        add_colour(to, p->name);
    } else if (!strcmp(p->type, "colour or volume")) {
        add_volume(to, p->name, strcmp(p->name, "sigma_t") ? 1 : 3);
    }
}

static void add_parameters(text *to, uint32_t plugin, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++) {
        bl_plugin_parameter p;
        SCENE_MUST(&device, bl_plugin_parameter_at(device.context, plugin, k, &p));
        add_parameter(to, &p);
    }
}

/* An object with whatever it must hold. Deep down only what holds nothing. */
static void add_object(text *to, const char *category, uint32_t nested)
{
    static const char *const plain[] = {"diffuse",      "conductor", "dielectric", "plastic",
                                        "roughplastic", "isotropic", "hg",         NULL};
    uint32_t plugin;
    const bl_plugin_info info = pick(category, nested < NESTED_MOST ? NULL : plain, &plugin);
    text_add(to, "<%s type='%s'>", category, info.name);
    add_parameters(to, plugin, info.parameters);
    if (!strcmp(info.name, "tabphase"))
        text_add(to, "<string name='values' value='3, %.3g, 2, %.3g'/>", draw(0, 2), draw(0, 4));
    for (uint32_t k = 0; k < info.slots; k++) {
        bl_plugin_slot slot;
        SCENE_MUST(&device, bl_plugin_slot_at(device.context, plugin, k, &slot));
        for (uint32_t i = 0; i < slot.least; i++)
            add_object(to, slot.category, nested + 1);
    }
    text_add(to, "</%s>", category);
}

static void add_medium(text *to)
{
    uint32_t plugin;
    const bl_plugin_info info = pick("medium", NULL, &plugin);
    text_add(to, "<medium type='%s' name='interior'>", info.name);
    add_parameters(to, plugin, info.parameters);
    if (below(2))
        add_object(to, "phase", 0);
    text_add(to, "</medium>");
}

static void add_shape(text *to, bool media)
{
    static const char *const shapes[] = {"sphere", "rectangle", "cube", "disk", "cylinder", NULL};
    uint32_t plugin;
    const bl_plugin_info info = pick("shape", shapes, &plugin);
    text_add(to,
             "<shape type='%s'><transform name='to_world'><scale value='%.3g'/><rotate x='1' "
             "angle='%.4g'/><rotate y='1' angle='%.4g'/><translate x='%.3g' y='%.3g' z='%.3g'/></transform>",
             info.name, draw(0.5, 1.3), draw(0, 360), draw(0, 360), draw(-0.8, 0.8), draw(-0.8, 0.8),
             draw(-0.8, 0.8));
    if (media && below(2)) {
        text_add(to, "<bsdf type='%s'/>", below(3) ? "null" : "dielectric");
        add_medium(to);
    } else {
        add_object(to, "bsdf", 0);
    }
    if (!below(4)) {
        text_add(to, "<emitter type='area'>");
        add_colour(to, "radiance");
        text_add(to, "</emitter>");
    }
    text_add(to, "</shape>");
}

static const char *const lights[] = {"constant", "directional", "point", "spot", NULL};
static const char *const powers[] = {"radiance", "irradiance", "intensity", "intensity"};

static void add_light(text *to, const char *const *names)
{
    uint32_t plugin;
    const bl_plugin_info info = pick("emitter", names, &plugin);
    text_add(to, "<emitter type='%s'>", info.name);
    for (uint32_t k = 0; lights[k]; k++)
        if (!strcmp(info.name, lights[k]))
            text_add(to, "<rgb name='%s' value='%.3g %.3g %.3g'/>", powers[k], draw(0, 9), draw(0, 9),
                     draw(0, 9));
    if (strcmp(info.name, "constant"))
        text_add(
            to,
            "<transform name='to_world'><lookat origin='%.3g,%.3g,4' target='0,0,0' up='0,1,0'/></transform>",
            draw(-3, 3), draw(-3, 3));
    text_add(to, "</emitter>");
}

static char *random_scene(arena *a, uint32_t number)
{
    static const char *const on_surfaces[] = {"path",         "direct",       "prb",  "prb_basic",
                                              "prb_attached", "prb_detached", "depth"},
                             *const in_media[] = {"volpath", "volpathmis", "prbvolpath"};
    text t = {0};
    const bool media = below(3) == 0;
    const char *integrator = media ? in_media[below(3)] : on_surfaces[below(7)];
    text_add(&t, "<scene version='3.0.0'><!-- %u --><integrator type='%s'>", number, integrator);
    if (strcmp(integrator, "direct") && strcmp(integrator, "depth"))
        text_add(&t, "<integer name='max_depth' value='%u'/>", 2 + below(4));
    text_add(
        &t,
        "</integrator><sensor type='perspective'><float name='fov' value='30'/><transform "
        "name='to_world'><lookat "
        "origin='0,0.5,5' target='0,0,0' up='0,1,0'/></transform><film type='hdrfilm'><integer name='width' "
        "value='%u'/><integer name='height' value='%u'/><rfilter type='box'/></film></sensor>",
        SIDE, SIDE);
    for (uint32_t k = 1 + below(3); k > 0; k--)
        add_shape(&t, media);
    if (below(4))
        add_light(&t, (const char *const[]){lights[0], NULL});
    if (below(2))
        add_light(&t, lights + 1);
    text_add(&t, "</scene>");
    char *xml = arena_strdup(a, t.data);
    text_free(&t);
    return xml;
}

/* ---- comparison ---- */

static bool close_by(float a, float b)
{
    int32_t x, y;
    memcpy(&x, &a, 4), memcpy(&y, &b, 4);
    return a == b || (x >= 0 && y >= 0 && abs(x - y) <= ULP_MOST) || fabsf(a - b) < 1e-6f;
}

static void interpret(scene_eval *e, render_pass pass, scene_eval_at at, const char *xml)
{
    bl_error err = {0};
    if (scene_eval_run(e, pass, at, &err) != BL_OK)
        fail_msg("%s\n%s", err.text, xml);
}

/* Values that differ; lit: how many are not black. */
static uint32_t compare_images(const char *xml, bl_scene *scene, uint32_t *lit)
{
    float expected[VALUES], image[VALUES];
    bl_job *job;
    uint32_t other = 0;
    scene_eval *e = scene_eval_create(xml, folder, NULL, 0);
    e->lowered = true;
    for (uint32_t pixel = 0; pixel < PIXELS; pixel++) {
        interpret(e, RENDER_PRIMAL, (scene_eval_at){.pixel = pixel, .seed = 1}, xml);
        for (uint32_t c = 0; c < 3; c++)
            expected[3 * pixel + c] = (float)e->film[3 * pixel + c];
    }
    SCENE_MUST(&device, bl_job_create(device.device, scene, &(bl_job_desc){.no_baking = true}, &job));
    SCENE_MUST(&device, bl_job_render(job, &(bl_render_desc){.spp = 1, .seed = 1}, image, NULL));
    for (uint32_t i = 0; i < VALUES; i++) {
        *lit += expected[i] > 0;
        other += !close_by(expected[i], image[i]);
    }
    bl_job_destroy(job);
    scene_eval_destroy(e);
    return other;
}

/* The gradient by one parameter as the sum of what each sample adds, and the sum without signs. */
typedef struct gradient_sum {
    bl_parameter_info info;
    double *sum, *size;
    float *got; /* the device's */
    uint32_t first;
    bool agrees;
} gradient_sum;

static void add_samples(scene_eval *e, gradient_sum *g, uint32_t count, uint32_t seed, const char *xml)
{
    for (uint32_t k = 0; k < count; k++) {
        memset(g[k].sum, 0, g[k].info.count * sizeof *g[k].sum);
        memset(g[k].size, 0, g[k].info.count * sizeof *g[k].size);
    }
    for (uint32_t pixel = 0; pixel < PIXELS; pixel++) {
        interpret(e, RENDER_GRADIENT, (scene_eval_at){.pixel = pixel, .seed = seed, .stream = 1}, xml);
        for (uint32_t k = 0; k < count; k++)
            for (uint32_t i = 0; i < g[k].info.count; i++) {
                const double added = e->gradient[g[k].first + i];
                g[k].sum[i] += added, g[k].size[i] += fabs(added);
            }
    }
}

static double largest(const gradient_sum *g)
{
    double most = 0;
    for (uint32_t i = 0; i < g->info.count; i++)
        most = fmax(most, g->size[i]);
    return most;
}

static bool agrees(const gradient_sum *g)
{
    const double allowed = tolerance * largest(g) + rounding;
    for (uint32_t i = 0; i < g->info.count; i++)
        if (!(fabs((double)g->got[i] - g->sum[i]) <= allowed))
            return false;
    return true;
}

/* Whether there is a gradient by it. */
static bool take_parameter(const bl_scene *scene, uint32_t index, gradient_sum *g, arena *a)
{
    SCENE_MUST(&device, bl_scene_parameter_info(scene, index, &g->info));
    g->sum = arena_alloc(a, g->info.count * sizeof *g->sum);
    g->size = arena_alloc(a, g->info.count * sizeof *g->size);
    g->got = arena_alloc(a, g->info.count * sizeof *g->got);
    g->agrees = false;
    return g->info.differentiable;
}

/* Some of the parameters that have gradients, each once. */
static uint32_t draw_parameters(const bl_scene *scene, gradient_sum *g, arena *a)
{
    const uint32_t all = bl_scene_parameter_count(scene);
    bool *drawn = arena_alloc(a, (all + 1) * sizeof *drawn);
    uint32_t count = 0;
    for (uint32_t tries = 0; all > 0 && tries < 20 && count < PARAMETERS; tries++) {
        const uint32_t k = below(all);
        if (!drawn[k] && take_parameter(scene, k, &g[count], a))
            drawn[k] = true, count++;
    }
    return count;
}

typedef struct gradient_counts {
    uint32_t compared, other_seeds, not_zero, refused;
} gradient_counts;

/* g: the parameters that the gradients are by. */
static void compare_gradients(const char *xml, bl_scene *scene, gradient_sum *g, uint32_t count,
                              gradient_counts *counts)
{
    const char *names[PARAMETERS];
    float weights[VALUES];
    for (uint32_t k = 0; k < count; k++)
        names[k] = g[k].info.name;
    bl_job *job;
    bl_job_desc desc = {.parameters = names,
                        .parameter_count = count,
                        .no_baking = true,
                        .volume_gradient = BL_VOLUME_GRADIENT_REPLAY};
    bl_result made = bl_job_create(device.device, scene, &desc, &job);
    const bool split = made == BL_OK && strcmp(bl_job_sampling(job), "split") == 0;
    if (count > 1 && (made == BL_ERROR_UNSUPPORTED || split)) { /* the interpreter runs one plan */
        if (split)
            bl_job_destroy(job);
        desc.parameter_count = count = 1;
        made = bl_job_create(device.device, scene, &desc, &job);
    }
    if (made == BL_ERROR_UNSUPPORTED) {
        counts->refused++;
        return;
    }
    SCENE_MUST(&device, made);
    scene_eval *e = scene_eval_create(xml, folder, names, count);
    for (uint32_t i = 0; i < VALUES; i++)
        e->adjoint[i] = weights[i] = (float)draw(-0.3, 0.7);
    for (uint32_t k = 0; k < count; k++)
        g[k].first = scene_eval_gradient_first(e, names[k]);
    uint32_t left = count;
    for (uint32_t seed = 0; left > 0 && seed < SEEDS; seed++) {
        const bl_gradient_desc at = {.spp = 1, .seed = seed, .adjoint = weights, .edges = BL_EDGES_NONE};
        add_samples(e, g, count, seed, xml);
        SCENE_MUST(&device, bl_job_gradient(job, &at, NULL));
        counts->other_seeds += seed > 0;
        for (uint32_t k = 0; k < count; k++) {
            SCENE_MUST(&device, bl_job_read_gradient(job, k, g[k].got));
            if (g[k].agrees || !agrees(&g[k]))
                continue;
            g[k].agrees = true, left--;
            counts->compared++, counts->not_zero += largest(&g[k]) > 10 * rounding;
        }
    }
    for (uint32_t k = 0; k < count; k++)
        if (!g[k].agrees)
            fail_msg("the gradient by %s differs for each seed (its first element: %.9g, "
                     "interpreter %.9g; at most %.3g): %s",
                     names[k], (double)g[k].got[0], g[k].sum[0], largest(&g[k]), xml);
    bl_job_destroy(job);
    scene_eval_destroy(e);
}

/* ---- what was found ---- */

static const char *const of_sensor =
    "<sensor type='perspective'><float name='fov' value='30'/><transform name='to_world'><lookat "
    "origin='0,0.5,5' target='0,0,0' up='0,1,0'/></transform><film type='hdrfilm'><integer name='width' "
    "value='6'/><integer name='height' value='6'/><rfilter type='box'/></film></sensor>";

/* Scenes whose kernels were wrong, without their sensor, and the parameter of the gradient. */
static const struct {
    const char *parameter, *integrator, *body;
} found[] = {
    /* words of a shape that was not hit were followed */
    {"box.vertex_positions", "volpathmis",
     "<shape type='disk'><transform name='to_world'><scale value='.5'/></transform><bsdf type='null'/>"
     "<medium type='heterogeneous' name='interior'><float name='sigma_t' value='1'/></medium></shape>"
     "<shape type='cube' id='box'><bsdf type='null'/><medium type='homogeneous' name='interior'/></shape>"
     "<emitter type='constant'/><emitter type='point'/>"},
    /* without lights there is no density of their sampling */
    {"metal.alpha.value", "prb_attached",
     "<shape type='disk'><bsdf type='roughconductor' id='metal'/></shape>"},
};

static void test_found(void **unused)
{
    (void)unused;
    for (size_t k = 0; k < sizeof found / sizeof *found; k++) {
        arena a = {0};
        const char *xml = arena_printf(&a, "<scene version='3.0.0'><integrator type='%s'/>%s%s</scene>",
                                       found[k].integrator, of_sensor, found[k].body);
        gradient_counts counts = {0};
        gradient_sum g;
        uint32_t lit = 0, index;
        bl_scene *scene = scene_device_load(&device, xml, folder);
        assert_int_equal(compare_images(xml, scene, &lit), 0);
        SCENE_MUST(&device, bl_scene_find_parameter(scene, found[k].parameter, &index));
        take_parameter(scene, index, &g, &a);
        compare_gradients(xml, scene, &g, 1, &counts);
        assert_int_equal(counts.compared, 1);
        bl_scene_destroy(scene);
        arena_free(&a);
    }
}

static void test_scenes(void **unused)
{
    (void)unused;
    const char *limit = getenv("BL_FUZZ_SECONDS"), *first = getenv("BL_FUZZ_SEED");
    const double end = clock_seconds() + (limit ? atof(limit) : getenv("BL_LONG") ? 600 : 3);
    uint32_t number = first ? (uint32_t)atoi(first) : (uint32_t)today() * 100000u, good = 0, lit = 0,
             refused = 0, other = 0;
    gradient_counts gradients = {0};
    /* Few scenes may happen to have few gradients that are not 0: then there are more scenes, up to 40. */
    for (; good < 4 || clock_seconds() < end || (good < 40 && 4 * gradients.not_zero <= gradients.compared);
         number++) {
        arena a = {0};
        state = number * 2654435761u + 1;
        char *xml = random_scene(&a, number);
        bl_scene *scene;
        if (bl_scene_load_string(device.context, xml, folder, NULL, &scene) == BL_OK) {
            const uint32_t differ = compare_images(xml, scene, &lit);
            if (differ > other_paths * VALUES)
                fail_msg("%u of %u values differ: %s", differ, (unsigned)VALUES, xml);
            other += differ;
            gradient_sum g[PARAMETERS];
            const uint32_t count = draw_parameters(scene, g, &a);
            compare_gradients(xml, scene, g, count, &gradients);
            bl_scene_destroy(scene);
            good++;
        } else {
            refused++;
        }
        arena_free(&a);
    }
    printf(
        "%u scenes, %u refused by the loader; %u of %u values are not black, %u differ; %u gradients, %u of "
        "them not 0, %u other seeds\n",
        good, refused, lit, good * VALUES, other, gradients.compared, gradients.not_zero,
        gradients.other_seeds);
    assert_true(10 * good > refused && lit > good * VALUES / 20 &&
                4 * gradients.not_zero > gradients.compared);
}

int main(void)
{
    const char *source = getenv("BL_SOURCE_DIR");
    snprintf(folder, sizeof folder, "%s/tests/data", source ? source : ".");
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_found), cmocka_unit_test(test_scenes)};
    return SCENE_DEVICE_RUN(&device, NULL, "random scenes", tests);
}
