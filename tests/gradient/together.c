/* LABELS: native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Does asking for one parameter make the gradient by another one noisier? For each row the gradient by a
 * parameter is taken from many seeds, alone and together with others. The two means must agree, and the
 * variance together must be at most `bound` times that alone. What each row had before its cause was mended
 * (docs/decisions/noise-together.md) is far above its bound:
 *
 *   mixtures   a smooth coat over a rough base: where gradients follow samples, the probabilities of the
 *              choices between parts must stay constant. Else the shares of the parts are noise;
 *   glass      rough glass by its index: few samples go near total reflection and to the limit of refraction.
 *
 * Seeds are the same everywhere, so a row gives the same numbers on every run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_device.h"

#include <math.h>

enum { SIDE = 12, VALUES = 3 * SIDE * SIDE, SPP = 12, WITH = 3 };

static scene_device device;
static char *folder;

#define NUMBER(name, value) "<float name='" name "' value='" value "'/>"
#define RGB(name, value) "<rgb name='" name "' value='" value "'/>"
/* A ball or a pane above a floor under a lamp and a sky, around its material. */
#define SCENE_BEFORE                                                                                         \
    "<emitter type='constant'><rgb name='radiance' value='.5,.6,.7'/></emitter>"                             \
    "<shape type='rectangle'><transform name='to_world'><scale value='.7'/><rotate x='1' angle='180'/>"      \
    "<translate x='1' y='-1' z='3'/></transform>"                                                            \
    "<emitter type='area'><rgb name='radiance' value='8,7,6'/></emitter></shape>"                            \
    "<shape type='rectangle'><transform name='to_world'><scale value='4'/></transform>"                      \
    "<bsdf type='diffuse'><rgb name='reflectance' value='.5,.4,.3'/></bsdf></shape>"
#define SCENE_BALL                                                                                           \
    SCENE_BEFORE "<shape type='sphere'><point name='center' x='0' y='0' z='.8'/><float name='radius' "       \
                 "value='.8'/>"
#define SCENE_PANE                                                                                           \
    SCENE_BEFORE "<shape type='rectangle'><transform name='to_world'><rotate x='1' angle='70'/>"             \
                 "<translate z='.9'/></transform>"
#define SCENE_BEHIND "</shape>"

typedef struct row {
    const char *name, *body, *parameter;
    const char *with[WITH + 1]; /* NULL-terminated */
    const char *sampling;       /* together; alone it is detached */
    uint32_t seeds;
    double bound;
    double error; /* the standard error of the mean alone must be below this share of it */
} row;

static const row rows[] = {
    {
        .name = "a coat over glass",
        .body = SCENE_BALL "<bsdf type='principled' id='it'>" RGB("base_color", ".7,.5,.4")
            NUMBER("spec_trans", ".7") NUMBER("roughness", ".35") NUMBER("clearcoat", ".5")
                NUMBER("clearcoat_gloss", ".95") NUMBER("eta", "1.5") "</bsdf>" SCENE_BEHIND,
        .parameter = "it.clearcoat.value",
        .with = {"it.roughness.value", "it.eta"},
        .sampling = "attached",
        .seeds = 60,
        .bound = 1.5,
        .error = 0.04,
    },
    {
        .name = "a base under a coat",
        .body = SCENE_BALL "<bsdf type='pplastic' id='it'>" RGB("diffuse_reflectance", ".6,.5,.4")
            NUMBER("alpha", ".04") "</bsdf>" SCENE_BEHIND,
        .parameter = "it.specular_reflectance.value",
        .with = {"it.alpha.value"},
        .sampling = "attached",
        .seeds = 60,
        .bound = 1.5,
        .error = 0.02,
    },
    {
        .name = "a thin sheet",
        .body = SCENE_PANE "<bsdf type='principledthin' id='it'>" RGB("base_color", ".7,.5,.4") NUMBER(
            "roughness", ".2") NUMBER("spec_trans", ".5") NUMBER("diff_trans", ".6") "</bsdf>" SCENE_BEHIND,
        .parameter = "it.diff_trans.value",
        .with = {"it.roughness.value"},
        .sampling = "attached",
        .seeds = 60,
        .bound = 1.15,
        .error = 0.05,
    },
    {
        .name = "rough glass",
        .body = SCENE_BALL "<bsdf type='roughdielectric' id='it'>" NUMBER("alpha", ".4")
            NUMBER("int_ior", "1.5") "<string name='distribution' value='ggx'/></bsdf>" SCENE_BEHIND,
        .parameter = "it.specular_reflectance.value",
        .with = {"it.eta"},
        .sampling = "detached",
        .seeds = 400,
        .bound = 1.5,
        .error = 0.03,
    },
};
enum { ROWS = sizeof rows / sizeof *rows };

typedef struct moments {
    double mean, variance;
} moments;

/* Of the sum of the parameter's entries. */
static moments measure(const row *r, bl_scene *scene, bool together)
{
    const char *names[WITH + 1] = {r->parameter};
    uint32_t count = 1;
    for (; together && r->with[count - 1]; count++)
        names[count] = r->with[count - 1];
    bl_job *job = scene_device_job(&device, scene, names, count);
    assert_string_equal(bl_job_sampling(job), together ? r->sampling : "detached");
    bl_parameter_info info;
    SCENE_MUST(&device,
               bl_scene_parameter_info(scene, scene_device_find(&device, scene, r->parameter), &info));
    float adjoint[VALUES], g[3];
    assert_true(info.count <= 3);
    for (int i = 0; i < VALUES; i++)
        adjoint[i] = 1;
    double sum = 0, squares = 0;
    for (uint32_t seed = 0; seed < r->seeds; seed++) {
        bl_stats stats;
        const bl_gradient_desc desc = {
            .form = BL_FORM_SEPARATE, .spp = SPP, .seed = seed, .adjoint = adjoint};
        SCENE_MUST(&device, bl_job_gradient(job, &desc, &stats));
        assert_int_equal(stats.drifted + stats.overflowed + stats.non_finite, 0);
        SCENE_MUST(&device, bl_job_read_gradient(job, 0, g));
        double all = 0;
        for (uint32_t i = 0; i < info.count; i++)
            all += (double)g[i];
        sum += all, squares += all * all;
    }
    bl_job_destroy(job);
    const double n = r->seeds, mean = sum / n;
    return (moments){mean, (squares / n - mean * mean) * n / (n - 1)};
}

static void asking_for_more_costs_nothing(void **state)
{
    const row *r = *state;
    arena a = {0};
    const char *sensor = arena_printf(&a, scene_sensor_format, (unsigned)SIDE, (unsigned)SIDE);
    bl_scene *scene = scene_device_load(
        &device,
        scene_xml(&a, "<integrator type='prb'><integer name='max_depth' value='6'/></integrator>", sensor,
                  r->body),
        folder);
    const moments alone = measure(r, scene, false), together = measure(r, scene, true);
    const double ratio = together.variance / alone.variance,
                 z = (together.mean - alone.mean) / sqrt((together.variance + alone.variance) / r->seeds);
    print_message("%s: variance %.3g alone, %.2f times together, z = %.2f\n", r->name, alone.variance, ratio,
                  z);
    if (!(ratio <= r->bound && fabs(z) < 4))
        fail_msg("%s by %s: variance %.3g alone, %.2f times that together with others, at most %.2f allowed; "
                 "means differ by %.2f standard errors",
                 r->name, r->parameter, alone.variance, ratio, r->bound, z);
    assert_true(sqrt(alone.variance / r->seeds) < r->error * fabs(alone.mean));
    bl_scene_destroy(scene);
    arena_free(&a);
}

int main(void)
{
    if (!scene_device_open(&device))
        return scene_device_missing();
    struct CMUnitTest tests[ROWS];
    for (uint32_t i = 0; i < ROWS; i++)
        tests[i] = (struct CMUnitTest){rows[i].name, asking_for_more_costs_nothing, NULL, NULL,
                                       (void *)(uintptr_t)&rows[i]};
    return scene_device_run(&device, &folder, "together", tests, ROWS, NULL);
}
