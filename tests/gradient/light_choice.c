/* LABELS: native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Does the choice of lights leave images and gradients what they are? A room with lamps of all kinds and of
 * unlike power, on surfaces and in fog: over many seeds, means by the tree of lights are those of all lights
 * alike (a z-test of each element). The variance of the paint's gradient and of the image is less. The same
 * seed gives the same bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_device.h"

#include <math.h>
#include <string.h>

enum { SIDE = 8, VALUES = 3 * SIDE * SIDE, LAMPS = 24, SPP = 8, SEEDS = 120, PARAMETERS = 7, ELEMENTS = 40 };

static scene_device device;
static char *folder;

static const char *const parameters[PARAMETERS] = {
    "paint.reflectance.value", "panel.radiance.value", "bulb.intensity.value", "bulb.position",
    "dark.intensity.value",    "spot.intensity.value", "sky.radiance.value"};

/* Lamp number k. The first of each kind has a name. */
static char *lamp(arena *a, uint32_t k, uint32_t *random)
{
    double x = 8 * scene_random(random) - 4, y = 8 * scene_random(random) - 4,
           z = 0.5 + 4 * scene_random(random), power = exp(4 * scene_random(random) - 4);
    const char *name = k == 0 ? " id='panel'" : k == 1 ? " id='bulb'" : k == 2 ? " id='spot'" : "";
    if (k % 3 == 0)
        return arena_printf(a,
                            "<shape type='rectangle'><transform name='to_world'><scale value='.3'/>"
                            "<rotate x='1' angle='%g'/><translate x='%g' y='%g' z='%g'/></transform>"
                            "<emitter type='area'%s><rgb name='radiance' value='%g'/></emitter></shape>",
                            180 * scene_random(random), x, y, z, name, 20 * power);
    if (k % 3 == 1)
        return arena_printf(a,
                            "<emitter type='point'%s><point name='position' value='%g,%g,%g'/>"
                            "<rgb name='intensity' value='%g'/></emitter>",
                            name, x, y, z, power);
    return arena_printf(a,
                        "<emitter type='spot'%s><float name='cutoff_angle' value='50'/><transform "
                        "name='to_world'><lookat origin='%g,%g,%g' target='0,1,0' up='0,0,1'/></transform>"
                        "<rgb name='intensity' value='%g'/></emitter>",
                        name, x, y, z, 3 * power);
}

static char *room(arena *a, bool fog)
{
    uint32_t random = 11;
    const char *air = fog ? "<medium type='homogeneous' name='interior'><rgb name='sigma_t' value='.1'/>"
                            "<rgb name='albedo' value='.8'/></medium>"
                          : "";
    char *body = arena_printf(
        a,
        "<bsdf type='twosided' id='wall'><bsdf type='diffuse' id='paint'><rgb name='reflectance' "
        "value='.7,.6,.5'/></bsdf></bsdf>"
        "<shape type='rectangle'><transform name='to_world'><scale value='6'/></transform><ref "
        "id='wall'/></shape>"
        "<shape type='rectangle'><transform name='to_world'><rotate x='1' angle='90'/><scale value='6'/>"
        "<translate y='5'/></transform><ref id='wall'/></shape>"
        "<shape type='sphere'><point name='center' value='1,1,1'/><ref id='wall'/></shape>"
        "<shape type='sphere'><point name='center' value='-2,1,1.5'/><bsdf type='null'/>%s</shape>"
        "<emitter type='constant' id='sky'><rgb name='radiance' value='.02'/></emitter>"
        "<emitter type='point' id='dark'><point name='position' value='0,-1,2'/>"
        "<rgb name='intensity' value='0'/></emitter>",
        air);
    for (uint32_t k = 0; k < LAMPS; k++)
        body = arena_printf(a, "%s%s", body, lamp(a, k, &random));
    char *sensor = arena_printf(
        a,
        "<sensor type='perspective'><float name='fov' value='60'/><transform name='to_world'><lookat "
        "origin='0,-7,3' target='0,0,2' up='0,0,1'/></transform><film type='hdrfilm'><integer name='width' "
        "value='%u'/><integer name='height' value='%u'/><rfilter type='box'/></film></sensor>",
        SIDE, SIDE);
    return scene_xml(a,
                     fog ? "<integrator type='volpath'><integer name='max_depth' value='4'/>"
                           "<boolean name='hide_emitters' value='true'/></integrator>"
                         : "<integrator type='path'><integer name='max_depth' value='3'/>"
                           "<boolean name='hide_emitters' value='true'/></integrator>",
                     sensor, body);
}

typedef struct moments {
    double sum[ELEMENTS], squares[ELEMENTS];
} moments;
static double mean(const moments *m, uint32_t i) { return m->sum[i] / SEEDS; }
static double variance(const moments *m, uint32_t i)
{
    return (m->squares[i] / SEEDS - mean(m, i) * mean(m, i)) * SEEDS / (SEEDS - 1);
}

/* The gradients of one seed, and behind them the loss, which is a weighted sum over the image. Returns how
 * many numbers these are. */
static uint32_t numbers(bl_job *job, const bl_scene *scene, uint32_t seed, float out[ELEMENTS])
{
    float weights[VALUES];
    bl_stats stats;
    uint32_t random = 5, count = 0;
    for (uint32_t i = 0; i < VALUES; i++)
        weights[i] = (float)scene_random(&random) - 0.2f;
    SCENE_MUST(&device, bl_job_gradient(
                            job, &(bl_gradient_desc){.spp = SPP, .seed = seed, .adjoint = weights}, &stats));
    assert_int_equal(stats.drifted + stats.non_finite + stats.overflowed, 0);
    for (uint32_t k = 0; k < PARAMETERS; k++) {
        bl_parameter_info info;
        SCENE_MUST(&device,
                   bl_scene_parameter_info(scene, scene_device_find(&device, scene, parameters[k]), &info));
        assert_true(count + info.count < ELEMENTS);
        SCENE_MUST(&device, bl_job_read_gradient(job, k, out + count));
        count += info.count;
    }
    out[count] = (float)stats.loss;
    return count + 1;
}

static uint32_t measure(const char *xml, bl_light_choice lights, moments *m)
{
    bl_scene *scene = NULL;
    float g[ELEMENTS], again[ELEMENTS];
    uint32_t count = 0;
    SCENE_MUST(&device,
               bl_scene_load_string(device.context, xml, folder, &(bl_scene_desc){.lights = lights}, &scene));
    bl_job *job = scene_device_job(&device, scene, parameters, PARAMETERS);
    *m = (moments){0};
    for (uint32_t seed = 0; seed < SEEDS; seed++) {
        count = numbers(job, scene, seed, g);
        for (uint32_t i = 0; i < count; i++)
            m->sum[i] += (double)g[i], m->squares[i] += (double)g[i] * (double)g[i];
    }
    numbers(job, scene, SEEDS - 1, again);
    assert_memory_equal(g, again, count * sizeof *g);
    bl_job_destroy(job);
    bl_scene_destroy(scene);
    return count;
}

static void means_are_equal(void **state)
{
    arena a = {0};
    moments m[2];
    char *xml = room(&a, *state != NULL);
    uint32_t count = measure(xml, BL_LIGHTS_UNIFORM, &m[0]);
    assert_int_equal(measure(xml, BL_LIGHTS_BY_TREE, &m[1]), count);
    double squares = 0, logs = 0;
    for (uint32_t i = 0; i < count; i++) {
        double error = sqrt((variance(&m[0], i) + variance(&m[1], i)) / SEEDS),
               z = (mean(&m[1], i) - mean(&m[0], i)) / error;
        assert_true(error > 0);
        if (!(fabs(z) < 4.5))
            fail_msg("number %u: all alike %.9g, by the tree %.9g, z = %.2f", i, mean(&m[0], i),
                     mean(&m[1], i), z);
        squares += z * z;
        if (i < 3 || i == count - 1)
            logs += 0.25 * log(variance(&m[1], i) / variance(&m[0], i));
    }
    assert_true(squares < 2.5 * count);
    if (!(exp(logs) < 0.95))
        fail_msg("the tree leaves %g of the variance", exp(logs));
    arena_free(&a);
}

int main(void)
{
    if (!scene_device_open(&device))
        return scene_device_missing();
    const struct CMUnitTest tests[] = {
        {"on surfaces", means_are_equal, NULL, NULL, NULL},
        {"in fog", means_are_equal, NULL, NULL, (void *)(uintptr_t) "fog"},
    };
    return scene_device_run(&device, &folder, "light_choice", tests, sizeof tests / sizeof *tests, NULL);
}
