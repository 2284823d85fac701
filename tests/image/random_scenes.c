/* LABELS: native swiftshader=long timeout=3600 */
/* SPDX-License-Identifier: BSD-3-Clause
 * Random scenes: plugins and values of their parameters are drawn from the registry, materials and textures
 * within each other. A device's image is the interpreter's, which runs the same lowered trace: all values but
 * the few whose paths take another decision by rounding. A scene that the loader refuses counts for nothing,
 * but some must be left. BL_FUZZ_SECONDS: how long (3; with BL_LONG=1 600); BL_FUZZ_SEED: the first scene's
 * number, another one every day without it. A failure prints the scene and its number. */
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
#include <time.h>

enum { SIDE = 6, PIXELS = SIDE * SIDE, VALUES = 3 * PIXELS, NESTED_MOST = 3, ULP_MOST = 512 };
static const double other_paths = 0.05; /* most of the values that differ by more */

static scene_device device;
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
    text_add(to, "<texture type='checkerboard' name='%s'>", name);
    add_colour(to, "color0"), add_colour(to, "color1");
    text_add(to, "<transform name='to_uv'><scale x='%.3g' y='%.3g'/></transform></texture>", draw(1, 8),
             draw(1, 8));
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

static void add_bsdf(text *to, uint32_t nested)
{
    static const char *const plain[] = {"diffuse", "conductor",    "dielectric",
                                        "plastic", "roughplastic", NULL};
    uint32_t plugin;
    const bl_plugin_info info = pick("bsdf", nested < NESTED_MOST ? NULL : plain, &plugin);
    text_add(to, "<bsdf type='%s'>", info.name);
    add_parameters(to, plugin, info.parameters);
    for (uint32_t k = 0; k < info.slots; k++) {
        bl_plugin_slot slot;
        SCENE_MUST(&device, bl_plugin_slot_at(device.context, plugin, k, &slot));
        for (uint32_t i = 0; i < slot.least; i++)
            add_bsdf(to, nested + 1);
    }
    text_add(to, "</bsdf>");
}

static void add_shape(text *to)
{
    static const char *const shapes[] = {"sphere", "rectangle", "cube", "disk", "cylinder", NULL};
    uint32_t plugin;
    const bl_plugin_info info = pick("shape", shapes, &plugin);
    text_add(to,
             "<shape type='%s'><transform name='to_world'><scale value='%.3g'/><rotate x='1' y='%.3g' "
             "angle='%.4g'/>"
             "<translate x='%.3g' y='%.3g' z='%.3g'/></transform>",
             info.name, draw(0.3, 1), draw(0, 360), draw(0, 360), draw(-1, 1), draw(-1, 1), draw(-1, 1));
    add_bsdf(to, 0);
    if (!below(4)) {
        text_add(to, "<emitter type='area'>");
        add_colour(to, "radiance");
        text_add(to, "</emitter>");
    }
    text_add(to, "</shape>");
}

static void add_light(text *to)
{
    static const char *const lights[] = {"constant", "directional", "point", "spot", NULL};
    uint32_t plugin;
    const bl_plugin_info info = pick("emitter", lights, &plugin);
    text_add(to, "<emitter type='%s'>", info.name);
    add_parameters(to, plugin, info.parameters);
    if (strcmp(info.name, "constant"))
        text_add(
            to,
            "<transform name='to_world'><lookat origin='%.3g,%.3g,4' target='0,0,0' up='0,1,0'/></transform>",
            draw(-3, 3), draw(-3, 3));
    text_add(to, "</emitter>");
}

static char *random_scene(arena *a)
{
    text t = {0};
    text_add(
        &t,
        "<scene version='3.0.0'><integrator type='%s'><integer name='max_depth' value='%u'/></integrator>"
        "<sensor type='perspective'><float name='fov' value='40'/><transform name='to_world'><lookat "
        "origin='0,0.5,5' target='0,0,0' up='0,1,0'/></transform><film type='hdrfilm'><integer name='width' "
        "value='%u'/><integer name='height' value='%u'/><rfilter type='box'/></film></sensor>",
        below(2) ? "path" : "volpath", 2 + below(4), SIDE, SIDE);
    for (uint32_t k = 1 + below(3); k > 0; k--)
        add_shape(&t);
    for (uint32_t k = 1 + below(2); k > 0; k--)
        add_light(&t);
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

/* Values that differ; lit: how many are not black. */
static uint32_t compare(const char *xml, bl_scene *scene, uint32_t *lit)
{
    float expected[VALUES], image[VALUES];
    bl_error err = {0};
    bl_job *job;
    uint32_t other = 0;
    scene_eval *e = scene_eval_create(xml, ".", NULL, 0);
    e->lowered = true;
    for (uint32_t pixel = 0; pixel < PIXELS; pixel++) {
        if (scene_eval_run(e, RENDER_PRIMAL, (scene_eval_at){.pixel = pixel, .seed = 1}, &err) != BL_OK)
            fail_msg("%s\n%s", err.text, xml);
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

static void test_scenes(void **unused)
{
    (void)unused;
    const char *limit = getenv("BL_FUZZ_SECONDS"), *first = getenv("BL_FUZZ_SEED");
    const double end = clock_seconds() + (limit ? atof(limit) : getenv("BL_LONG") ? 600 : 3);
    uint32_t number = first ? (uint32_t)atoi(first) : (uint32_t)(time(NULL) / 86400) * 100000u, good = 0,
             lit = 0, refused = 0, other = 0;
    for (; good < 2 || clock_seconds() < end; number++) {
        arena a = {0};
        state = number * 2654435761u + 1;
        char *xml = random_scene(&a);
        bl_scene *scene;
        if (bl_scene_load_string(device.context, xml, ".", NULL, &scene) == BL_OK) {
            const uint32_t differ = compare(xml, scene, &lit);
            if (differ > other_paths * VALUES)
                fail_msg("scene %u: %u of %u values differ: %s", number, differ, (unsigned)VALUES, xml);
            other += differ;
            bl_scene_destroy(scene);
            good++;
        } else {
            refused++;
        }
        arena_free(&a);
    }
    printf("%u scenes, %u refused by the loader; %u of %u values are not black, %u differ\n", good, refused,
           lit, good * VALUES, other);
    assert_true(10 * good > refused && lit > good * VALUES / 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_scenes)};
    return SCENE_DEVICE_RUN(&device, NULL, "random scenes", tests);
}
