/* LABELS: swiftshader native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Is the gradient by to_world of an environment map right? The map turns and is sheared over a floor, a
 * ball and a lamp with a picture that stays; parts of the map are in view. Sampled directions of the world
 * stay where they are. So where no light is sampled, differences of images with the map really turned are
 * differences along the same samples: reverse and forward mode equal these, and differences along frozen
 * paths. The material's sampling alone, it together with light sampling, and light tracing have the same
 * derivative. They can only if densities follow the map. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_device.h"

#include <math.h>
#include <stdlib.h>

enum { SIDE = 8, VALUES = 3 * SIDE * SIDE, SEED = 5 };

static scene_device device;
static char *folder;
static float weights[VALUES], image[VALUES];

#define INTEGERS(type, a, x, b, y)                                                                           \
    "<integrator type='" type "'><integer name='" a "' value='" x "'/><integer name='" b "' value='" y       \
    "'/></integrator>"
#define DIRECT(lights, materials) INTEGERS("direct", "emitter_samples", lights, "bsdf_samples", materials)
#define TO_WORLD(ops) "<transform name='to_world'>" ops "</transform>"
static const char
    sensor[] = "<sensor type='perspective'><float name='fov' value='50'/>" TO_WORLD(
        "<lookat origin='0,-4,2' target='0,0,.6' up='0,0,1'/>") "<film type='hdrfilm'><integer "
                                                                "name='width' value='8'/><integer "
                                                                "name='height' value='8'/><rfilter "
                                                                "type='box'/></film></sensor>",
    body[] = "<shape type='rectangle'>" TO_WORLD(
        "<scale value='2'/>") "</shape>"
                              "<shape type='sphere'><float name='radius' value='.6'/><point name='center' "
                              "value='0,0,.7'/><bsdf type='roughconductor'>"
                              "<float name='alpha' value='.5'/></bsdf></shape>"
                              "<emitter type='envmap' id='sky'><string name='filename' "
                              "value='sky.pfm'/>" TO_WORLD("<rotate x='1' angle='70'/>") "</emitter>",
    lamp[] = "<shape type='rectangle'>" TO_WORLD(
        "<scale value='.4'/><rotate x='1' angle='120'/><translate "
        "value='-.8,.9,1'/>") "<emitter type='area'><texture type='bitmap' "
                              "name='radiance'><string name='filename' "
                              "value='texture.pfm'/></texture></emitter></"
                              "shape>";
static const char *const sky[] = {"sky.to_world"};
static const float along[16] = {.1f,  -.5f, .2f,  0,   .6f,  .2f,
                                -.3f, 0,    -.1f, .3f, -.2f, 0}; /* how to_world changes */

static double weighted(void)
{
    double sum = 0;
    for (int i = 0; i < VALUES; i++)
        sum += (double)weights[i] * (double)image[i];
    return sum;
}

typedef struct turned {
    bl_scene *scene;
    bl_job *job;
    uint32_t parameter, spp;
    float start[16];
} turned;

/* more: of the scene. */
static turned load(const char *integrator, const char *more, uint32_t spp, bool frozen)
{
    arena a = {0};
    turned m = {
        .scene = scene_device_load(
            &device, scene_xml(&a, integrator, sensor, arena_printf(&a, "%s%s", body, more)), folder),
        .spp = spp,
    };
    SCENE_MUST(&device,
               bl_job_create(device.device, m.scene,
                             &(bl_job_desc){.parameters = sky, .parameter_count = 1, .frozen = frozen},
                             &m.job));
    m.parameter = scene_device_find(&device, m.scene, sky[0]);
    SCENE_MUST(&device, bl_scene_get_parameter(m.scene, m.parameter, m.start));
    arena_free(&a);
    return m;
}

static void unload(turned *m)
{
    bl_job_destroy(m->job);
    bl_scene_destroy(m->scene);
}

/* Along the direction; size: of the parts that make it up. */
static double gradient(const turned *m, uint32_t seed, double *size)
{
    float g[16];
    double sum = 0;
    bl_stats stats;
    SCENE_MUST(&device,
               bl_job_gradient(m->job, &(bl_gradient_desc){.spp = m->spp, .seed = seed, .adjoint = weights},
                               &stats));
    SCENE_MUST(&device, bl_job_read_gradient(m->job, 0, g));
    assert_int_equal(stats.drifted, 0);
    *size = 0;
    for (int i = 0; i < 16; i++)
        sum += (double)g[i] * (double)along[i], *size += fabs((double)g[i] * (double)along[i]);
    return sum;
}

static double frozen(const turned *m, double step)
{
    static float all[1 << 12];
    uint32_t at = 0;
    for (uint32_t k = 0; k < bl_scene_parameter_count(m->scene); k++) {
        bl_parameter_info info;
        SCENE_MUST(&device, bl_scene_parameter_info(m->scene, k, &info));
        assert_true(at + info.count <= sizeof all / sizeof *all);
        SCENE_MUST(&device, bl_scene_get_parameter(m->scene, k, all + at));
        for (int i = 0; k == m->parameter && i < 16; i++)
            all[at + (uint32_t)i] += (float)step * along[i];
        at += info.count;
    }
    SCENE_MUST(
        &device,
        bl_job_render(m->job,
                      &(bl_render_desc){.spp = m->spp, .seed = SEED, .gradient_stream = true, .frozen = all},
                      image, NULL));
    return weighted();
}

static double plain(const turned *m, double step)
{
    float there[16];
    for (int i = 0; i < 16; i++)
        there[i] = m->start[i] + (float)step * along[i];
    SCENE_MUST(&device, bl_job_set_parameter(m->job, m->parameter, there));
    SCENE_MUST(&device,
               bl_job_render(m->job, &(bl_render_desc){.spp = m->spp, .seed = SEED, .gradient_stream = true},
                             image, NULL));
    return weighted();
}

static void gradient_equals_differences(void **state)
{
    (void)state;
    const double h = 0.002;
    turned m = load(DIRECT("0", "1"), lamp, 64, true);
    const float *tangents[] = {along};
    double size, reverse = gradient(&m, SEED, &size);
    SCENE_MUST(&device,
               bl_job_forward(m.job, &(bl_forward_desc){.spp = m.spp, .seed = SEED, .tangents = tangents},
                              image, NULL));
    double forward = weighted(), by_frozen = (frozen(&m, h) - frozen(&m, -h)) / (2 * h),
           by_plain = (plain(&m, h) - plain(&m, -h)) / (2 * h);
    print_message("reverse %.6g, forward %.6g, frozen %.6g, plain %.6g; of parts of size %.6g\n", reverse,
                  forward, by_frozen, by_plain, size);
    assert_true(fabs(reverse) > 0.03 * size);
    assert_true(fabs(forward - reverse) < 1e-3 * size);
    assert_true(fabs(by_frozen - reverse) < 3e-3 * size);
    assert_true(fabs(by_plain - reverse) < 3e-3 * size);
    unload(&m);
}

static void strategies_agree(void **state)
{
    (void)state;
    enum { RUNS = 4, STRATEGIES = 3 };
    static const struct {
        const char *name, *integrator;
        uint32_t spp;
    } by[STRATEGIES] = {{"the material's sampling", DIRECT("0", "1"), 128},
                        {"and that of lights", INTEGERS("path", "max_depth", "2", "rr_depth", "9"), 64},
                        {"light tracing", INTEGERS("ptracer", "max_depth", "2", "rr_depth", "9"), 256}};
    double mean[STRATEGIES] = {0}, error[STRATEGIES] = {0}, size;
    for (int k = 0; k < STRATEGIES; k++) {
        double square = 0;
        turned m = load(by[k].integrator, "", by[k].spp, false);
        for (uint32_t run = 0; run < RUNS; run++) {
            double g = gradient(&m, 100 + run, &size);
            mean[k] += g / RUNS, square += g * g / RUNS;
        }
        error[k] = sqrt(fmax(square - mean[k] * mean[k], 0) / (RUNS - 1));
        print_message("%s: %.6g +- %.2g\n", by[k].name, mean[k], error[k]);
        unload(&m);
    }
    for (int k = 0; k < STRATEGIES; k++) {
        assert_true(error[k] < 0.05 * fabs(mean[0]));
        assert_true(fabs(mean[k] - mean[0]) < 5 * hypot(error[k], error[0]));
    }
}

int main(void)
{
    for (int i = 0; i < VALUES; i++)
        weights[i] = (float)((1 + 0.5 * cos(0.7 * (i / 3 % SIDE) + 0.4 * (i / 3 / SIDE) + i % 3)) / VALUES);
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradient_equals_differences),
                                       cmocka_unit_test(strategies_agree)};
    return SCENE_DEVICE_RUN(&device, &folder, "turned sky", tests);
}
