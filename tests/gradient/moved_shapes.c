/* LABELS: swiftshader timeout=120 */
/* SPDX-License-Identifier: BSD-3-Clause
 * Gradients by to_world of shapes in scenes where no edge moves. A lamp that turns, moves and grows over a floor, a sample's light from its own point
 * of it: reverse and forward mode against differences of images with the lamp really moved, and against frozen paths; and the same by light sampling
 * alone, by the material's sampling alone, by both: these agree only if all of them move the lamp's points alike, its area included. A floor that moves
 * under its picture; a room that grows round its lamp, light going to and fro in it.
 * A lamp that shows a volume shows other parts of it as it moves.
 * In ordinary runs the floor and that lamp alone: compiling is what takes the time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ORDINARY = 2, LAMP = 2 /* in cases */, PIXELS = 12, VALUES = 3 * PIXELS * PIXELS, SEED = 5 };

static scene_device device;
static char *folder;
static float weights[VALUES], image[VALUES];

#define TO_WORLD(ops) "<transform name='to_world'>" ops "</transform>"
#define BITMAP(name) "<texture type='bitmap' name='" name "'><string name='filename' value='texture.pfm'/></texture>"
#define DIRECT(lights, materials) "<integrator type='direct'><integer name='emitter_samples' value='" lights "'/><integer name='bsdf_samples' value='" materials "'/></integrator>"
#define DOWN "<sensor type='perspective'><float name='fov' value='30'/>" TO_WORLD("<lookat origin='0,0,3' target='.1,.1,0' up='0,1,0'/>") FILM "</sensor>"
#define FILM "<film type='hdrfilm'><integer name='width' value='12'/><integer name='height' value='12'/><rfilter type='box'/></film>"
#define GROUND "<shape type='rectangle' id='ground'>" TO_WORLD("<scale value='3'/>") "<bsdf type='diffuse'>" BITMAP("reflectance") "</bsdf></shape>"
#define OVER TO_WORLD("<scale value='.7,.5,1'/><rotate x='1' angle='150'/><translate value='1.6,.3,1.6'/>")
#define VOLUME "<emitter type='area'><texture type='volume' name='radiance'><volume type='gridvolume' name='volume'><string name='filename' value='tint.vol'/>" \
    TO_WORLD("<translate value='-.5,-.5,-.6'/><scale value='5'/>") "</volume></texture></emitter>"
#define SHINES "<emitter type='area'>" BITMAP("radiance") "</emitter>"

/* How to_world changes: a velocity of the points x, w x x + s x + v. */
typedef struct motion {
    double turn[3], grow, move[3];
} motion;

static const struct {
    const char *name, *integrator, *sensor, *body, *parameter;
    motion motion;
    uint32_t spp;
    double plain; /* differences of images agree to that share of the gradient; 0: not asked */
} cases[] = {
    {"floor under its picture", DIRECT("1", "0"), DOWN, "<shape type='rectangle' id='it'>" TO_WORLD("<scale value='3'/>") "<bsdf type='diffuse'>" BITMAP("reflectance")
     "</bsdf></shape><emitter type='point'><point name='position' value='1,.6,2'/></emitter>", "it.to_world", {{.1, -.2, .3}, .2, {.3, -.5, .2}}, 64, .03},
    {"lamp in view that shows a volume", DIRECT("1", "0"), DOWN, "<shape type='rectangle' id='it'>" TO_WORLD("<scale value='3'/>") VOLUME "</shape>", "it.to_world",
     {{.3, -.2, .5}, .4, {.3, -.5, .2}}, 64, .03},
    {"lamp, light sampling", DIRECT("1", "0"), DOWN, GROUND "<shape type='rectangle' id='it'>" OVER SHINES "</shape>", "it.to_world",
     {{.3, -.2, .5}, .4, {.3, -.5, .2}}, 64, .01},
    {"lamp that shows a volume, light sampling", DIRECT("1", "0"), DOWN, GROUND "<shape type='rectangle' id='it'>" OVER VOLUME "</shape>", "it.to_world",
     {{.3, -.2, .5}, .4, {.3, -.5, .2}}, 64, .01},
    {"ball that shines", DIRECT("1", "0"), DOWN, GROUND "<shape type='sphere' id='it'><float name='radius' value='.4'/>" TO_WORLD("<rotate x='1' angle='40'/><translate value='1.2,.3,1.2'/>")
     "<emitter type='area'/></shape>", "it.to_world", {{.3, -.2, .5}, .4, {.3, -.5, .2}}, 256, .02}, /* it is sampled by direction, so these are other samples */
    {"plate that shines", DIRECT("1", "0"), DOWN, GROUND "<shape type='disk' id='it'>" OVER SHINES "</shape>", "it.to_world", {{.3, -.2, .5}, .4, {.3, -.5, .2}}, 64, .01},
    {"tube that shines", DIRECT("1", "0"), DOWN, GROUND "<shape type='cylinder' id='it'>" TO_WORLD("<scale value='.3'/><rotate x='1' angle='60'/><translate value='1.2,.3,1.2'/>")
     "<emitter type='area'/></shape>", "it.to_world", {{.3, -.2, .5}, .4, {.3, -.5, .2}}, 64, .01},
    {"room round its lamp", "<integrator type='path'><integer name='max_depth' value='4'/></integrator>",
     "<sensor type='perspective'><float name='fov' value='30'/>" TO_WORLD("<lookat origin='0,0,.5' target='.1,.1,-1' up='0,1,0'/>") FILM "</sensor>",
     "<shape type='cube' id='it'><bsdf type='twosided'><bsdf type='diffuse'><rgb name='reflectance' value='.8,.6,.4'/></bsdf></bsdf></shape>"
     "<emitter type='point'><point name='position' value='.4,.3,.2'/></emitter>", "it.to_world", {{.1, .3, .2}, .5, {.2, -.1, .3}}, 512, .03},
};

static double weighted(void)
{
    double sum = 0;
    for (int i = 0; i < VALUES; i++)
        sum += (double)weights[i] * (double)image[i];
    return sum;
}

/* The derivative of to_world: the velocity's matrix times it. */
static void direction(const motion *v, const float *m, float *out)
{
    const double *w = v->turn, a[12] = {v->grow, -w[2], w[1], v->move[0], w[2], v->grow, -w[0], v->move[1], -w[1], w[0], v->grow, v->move[2]};
    for (int i = 0; i < 16; i++) {
        double sum = 0;
        for (int k = 0; k < 4 && i < 12; k++)
            sum += a[4 * (i / 4) + k] * (double)m[4 * k + i % 4];
        out[i] = (float)sum;
    }
}

typedef struct moved {
    bl_scene *scene;
    bl_job *job;
    uint32_t parameter, spp;
    float start[16], along[16];
} moved;

static moved load(size_t k, const char *integrator)
{
    arena a = {0};
    moved m = {.scene = scene_device_load(&device, scene_xml(&a, integrator, cases[k].sensor, cases[k].body), folder), .spp = cases[k].spp};
    SCENE_MUST(&device, bl_job_create(device.device, m.scene, &(bl_job_desc){.parameters = &cases[k].parameter, .parameter_count = 1, .frozen = true}, &m.job));
    m.parameter = scene_device_find(&device, m.scene, cases[k].parameter);
    SCENE_MUST(&device, bl_scene_get_parameter(m.scene, m.parameter, m.start));
    direction(&cases[k].motion, m.start, m.along);
    arena_free(&a);
    return m;
}

static void unload(moved *m)
{
    bl_job_destroy(m->job);
    bl_scene_destroy(m->scene);
}

/* Along the direction; size: of the parts that make it up. */
static double gradient(const moved *m, uint32_t seed, double *size)
{
    float g[16];
    double sum = 0;
    bl_stats stats;
    SCENE_MUST(&device, bl_job_gradient(m->job, &(bl_gradient_desc){.spp = m->spp, .seed = seed, .adjoint = weights}, &stats));
    SCENE_MUST(&device, bl_job_read_gradient(m->job, 0, g));
    assert_int_equal(stats.drifted, 0);
    *size = 0;
    for (int i = 0; i < 16; i++)
        sum += (double)g[i] * (double)m->along[i], *size += fabs((double)g[i] * (double)m->along[i]);
    return sum;
}

static double frozen(const moved *m, double step)
{
    static float all[1 << 12];
    uint32_t at = 0;
    for (uint32_t k = 0; k < bl_scene_parameter_count(m->scene); k++) {
        bl_parameter_info info;
        SCENE_MUST(&device, bl_scene_parameter_info(m->scene, k, &info));
        assert_true(at + info.count <= sizeof all / sizeof *all);
        SCENE_MUST(&device, bl_scene_get_parameter(m->scene, k, all + at));
        for (int i = 0; k == m->parameter && i < 16; i++)
            all[at + (uint32_t)i] += (float)step * m->along[i];
        at += info.count;
    }
    SCENE_MUST(&device, bl_job_render(m->job, &(bl_render_desc){.spp = m->spp, .seed = SEED, .gradient_stream = true, .frozen = all}, image, NULL));
    return weighted();
}

static double plain(const moved *m, double step)
{
    float there[16];
    for (int i = 0; i < 16; i++)
        there[i] = m->start[i] + (float)step * m->along[i];
    SCENE_MUST(&device, bl_job_set_parameter(m->job, m->parameter, there));
    SCENE_MUST(&device, bl_job_render(m->job, &(bl_render_desc){.spp = m->spp, .seed = SEED, .gradient_stream = true}, image, NULL));
    return weighted();
}

static void gradient_equals_differences(void **state)
{
    (void)state;
    const double h = 0.004;
    for (size_t k = 0; k < (getenv("BL_LONG") ? sizeof cases / sizeof *cases : ORDINARY); k++) {
        moved m = load(k, cases[k].integrator);
        const float *tangents[] = {m.along};
        double size, along = gradient(&m, SEED, &size);
        SCENE_MUST(&device, bl_job_forward(m.job, &(bl_forward_desc){.spp = m.spp, .seed = SEED, .tangents = tangents}, image, NULL));
        double forward = weighted(), by_frozen = (frozen(&m, h) - frozen(&m, -h)) / (2 * h), by_plain = (plain(&m, h) - plain(&m, -h)) / (2 * h);
        print_message("%s: reverse %.6g, forward %.6g, frozen %.6g, plain %.6g; of parts of size %.6g\n", cases[k].name, along, forward, by_frozen, by_plain, size);
        assert_true(fabs(along) > 0.03 * size);
        assert_true(fabs(forward - along) < 1e-3 * size);
        assert_true(fabs(by_frozen - along) < 3e-3 * size);
        assert_true(fabs(by_plain - along) < cases[k].plain * size);
        unload(&m);
    }
}

/* The lamp's gradient, by strategies of which each samples all of it: the same but for noise. */
static void strategies_agree(void **state)
{
    (void)state;
    enum { RUNS = 4 };
    static const char *const strategies[3] = {DIRECT("1", "0"), DIRECT("1", "1"), DIRECT("0", "1")};
    static const uint32_t spp[3] = {32, 64, 512};
    double mean[3] = {0}, error[3] = {0}, size;
    for (int k = 0; k < 3; k++) {
        double square = 0;
        moved m = load(LAMP, strategies[k]);
        m.spp = spp[k];
        for (uint32_t run = 0; run < RUNS; run++) {
            double g = gradient(&m, 100 + run, &size);
            mean[k] += g / RUNS, square += g * g / RUNS;
        }
        error[k] = sqrt(fmax(square - mean[k] * mean[k], 0) / (RUNS - 1));
        print_message("strategy %d: %.6g +- %.2g\n", k, mean[k], error[k]);
        unload(&m);
    }
    for (int k = 1; k < 3; k++) {
        assert_true(error[k] < 0.1 * fabs(mean[0]));
        assert_true(fabs(mean[k] - mean[0]) < 5 * hypot(error[k], error[0]));
    }
}

/* What cannot be: clear errors. */
static void refused(void **state)
{
    (void)state;
    moved m = load(LAMP, DIRECT("1", "0"));
    float bad[16];
    memcpy(bad, m.start, sizeof bad);
    bad[5] = NAN;
    assert_int_equal(bl_job_set_parameter(m.job, m.parameter, bad), BL_ERROR_ARGUMENT);
    assert_non_null(strstr(bl_context_error(device.context), "it.to_world: entry 1 of row 1 is not finite"));
    memset(bad, 0, sizeof bad), bad[15] = 1;
    assert_int_equal(bl_job_set_parameter(m.job, m.parameter, bad), BL_ERROR_ARGUMENT);
    assert_non_null(strstr(bl_context_error(device.context), "it.to_world is singular"));
    uint32_t ground = scene_device_find(&device, m.scene, "ground.to_world");
    assert_int_equal(bl_job_set_parameter(m.job, ground, m.start), BL_ERROR_ARGUMENT);
    assert_non_null(strstr(bl_context_error(device.context), "ground.to_world: this shape stays where it is"));
    unload(&m);
}

int main(void)
{
    folder = scene_files_create();
    if (!folder || !scene_device_open(&device))
        return scene_device_missing();
    for (int i = 0; i < VALUES; i++)
        weights[i] = (float)((1 + 0.5 * cos(0.7 * (i / 3 % PIXELS) + 0.4 * (i / 3 / PIXELS) + i % 3)) / VALUES);
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradient_equals_differences), cmocka_unit_test(refused), cmocka_unit_test(strategies_agree)};
    size_t count = getenv("BL_LONG") ? 3 : 2; /* the last one takes minutes */
    int failed = _cmocka_run_group_tests("moved shapes", tests, count, NULL, NULL);
    scene_device_close(&device);
    scene_files_remove(folder);
    return failed;
}
