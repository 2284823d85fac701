/* LABELS: swiftshader native */
/* SPDX-License-Identifier: BSD-3-Clause
 * The naive form of kernels, without any optimisation and with functions for every material, light and shape,
 * is the same program: gradients agree. (Images are for tests/dispatch.py.) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <backlight/backlight_testing.h>

#include "support/scene_cases.h"
#include "support/scene_device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 8, VALUES = 3 * SIDE * SIDE, GRADIENTS = 7 };

static scene_device device;

/* Two diffuse materials, two lights, two disks and two spheres, so that sharing has something to share. */
static const char body[] =
    "<bsdf type='diffuse' id='red'><rgb name='reflectance' value='0.8, 0.2, 0.1'/></bsdf>"
    "<bsdf type='twosided' id='grey'><bsdf type='diffuse' id='inner'><rgb name='reflectance' "
    "value='0.5'/></bsdf></bsdf>"
    "<bsdf type='diffuse' id='blue'><rgb name='reflectance' value='0.1, 0.2, 0.7'/></bsdf>"
    "<bsdf type='roughconductor' id='metal'><float name='alpha' value='0.3'/></bsdf>"
    "<bsdf type='dielectric' id='glass'/>"
    "<shape type='rectangle'><transform name='to_world'><scale value='3'/></transform><ref "
    "id='grey'/></shape>"
    "<shape type='sphere'><point name='center' x='-1' y='0.2' z='0.5'/><float name='radius' "
    "value='0.5'/><ref id='red'/></shape>"
    "<shape type='sphere'><point name='center' x='1' y='-0.3' z='0.6'/><float name='radius' "
    "value='0.6'/><ref id='glass'/></shape>"
    "<shape type='disk'><transform name='to_world'><scale value='0.5'/><translate x='0' y='1' "
    "z='0.4'/></transform><ref id='blue'/></shape>"
    "<shape type='disk'><transform name='to_world'><scale value='0.6'/><translate x='0' y='-1' "
    "z='0.3'/></transform><ref id='metal'/></shape>"
    "<shape type='rectangle'><transform name='to_world'><rotate x='1' angle='180'/><translate "
    "z='3'/></transform>"
    "<emitter type='area' id='lamp'><rgb name='radiance' value='4'/></emitter></shape>"
    "<emitter type='point' id='bulb'><point name='position' x='1' y='1' z='2'/><rgb name='intensity' "
    "value='2'/></emitter>";

typedef struct outcome {
    float gradient[GRADIENTS];
    bl_kernel_info kernel;
} outcome;

static bl_scene *load(void)
{
    arena a = {0};
    bl_scene *s = scene_device_load(
        &device,
        scene_xml(&a, "<integrator type='path'><integer name='max_depth' value='4'/></integrator>",
                  arena_printf(&a, scene_sensor_format, SIDE, SIDE), body),
        ".");
    arena_free(&a);
    return s;
}

/* no_baking: what rays hit is asked by traversal, which passes make. */
static outcome run(const bl_scene *scene, bl_job_testing testing)
{
    static const char *const wanted[] = {"red.reflectance.value", "metal.alpha.value", "lamp.radiance.value"};
    static const uint32_t at[] = {0, 3, 4};
    bl_job *job;
    bl_stats stats;
    outcome o = {0};
    float adjoint[VALUES];
    for (int k = 0; k < VALUES; k++)
        adjoint[k] = 1 + 0.01f * (float)k;
    SCENE_MUST(
        &device,
        bl_job_create(device.device, scene,
                      &(bl_job_desc){
                          .parameters = wanted, .parameter_count = 3, .testing = &testing, .no_baking = true},
                      &job));
    SCENE_MUST(&device, bl_job_compile(job, BL_PASS_GRADIENT, &o.kernel));
    SCENE_MUST(&device,
               bl_job_gradient(
                   job, &(bl_gradient_desc){.form = BL_FORM_FUSED, .spp = 4, .seed = 3, .adjoint = adjoint},
                   &stats));
    for (uint32_t k = 0; k < 3; k++)
        SCENE_MUST(&device, bl_job_read_gradient(job, k, o.gradient + at[k]));
    bl_job_destroy(job);
    return o;
}

static uint32_t everything(void)
{
    uint32_t n = 0;
    while (bl_optimisation_name(n))
        n++;
    return (1u << n) - 1;
}

static uint32_t bit(const char *name)
{
    for (uint32_t k = 0; bl_optimisation_name(k); k++)
        if (strcmp(bl_optimisation_name(k), name) == 0)
            return 1u << k;
    fail_msg("no optimisation is called %s", name);
    return 0;
}

static void expect_close(const char *form, const outcome *o, const outcome *all)
{
    for (int k = 0; k < GRADIENTS; k++)
        if (!(all->gradient[k] != 0 &&
              fabsf(o->gradient[k] - all->gradient[k]) <= 1e-5f * fabsf(all->gradient[k])))
            fail_msg("element %d of the gradient is %.9g, %s %.9g", k, (double)all->gradient[k], form,
                     (double)o->gradient[k]);
}

/* Up to rounding: folding and numbering come before differentiation, which adds up in the order of what they
 * leave; and what passes bring from called functions to the kernel's own is added there as floats
 * (spirv_gen/opt/accumulate.c). */
static void the_naive_form_has_the_same_gradient(void **state)
{
    (void)state;
    bl_scene *scene = load();
    uint32_t passes = everything() & ~(bit("folding") | bit("numbering"));
    outcome all = run(scene, (bl_job_testing){0}),
            recorded = run(scene, (bl_job_testing){.passes_off = passes}),
            none = run(scene, (bl_job_testing){.passes_off = everything()});
    expect_close("as recorded", &recorded, &all);
    expect_close("of the naive form", &none, &all);
    assert_true(none.kernel.ops > recorded.kernel.ops && recorded.kernel.ops > all.kernel.ops);
    bl_scene_destroy(scene);
}

/* Of a kernel whose values are computed late and again, wait in the workgroup's memory, and whose calls are
 * branches: to the bit. (But for what leaves calls to be added as floats: call_accums.c does so only for
 * CPUs.)
 */
static void what_a_gpu_is_given_has_the_same_gradient(void **state)
{
    (void)state;
    bl_scene *scene = load();
    uint32_t off = bit("call_accums");
    outcome own = run(scene, (bl_job_testing){.passes_off = off}),
            gpu = run(scene, (bl_job_testing){.passes_off = off, .as_gpu = true});
    assert_memory_equal(own.gradient, gpu.gradient, sizeof own.gradient);
    assert_true(gpu.kernel.ops > own.kernel.ops);
    bl_scene_destroy(scene);
}

/* Of the primal kernel. */
static uint32_t functions(const bl_scene *scene, uint32_t off, const char *name)
{
    bl_job *job;
    char *listing, quoted[64];
    uint32_t n = 0;
    SCENE_MUST(&device,
               bl_job_create(
                   device.device, scene,
                   &(bl_job_desc){.testing = &(bl_job_testing){.passes_off = off}, .no_baking = true}, &job));
    SCENE_MUST(&device, bl_job_trace_text(job, BL_PASS_PRIMAL, true, &listing));
    snprintf(quoted, sizeof quoted, "\"%s\"", name);
    for (const char *at = listing; (at = strstr(at, quoted)) != NULL; at++)
        n++;
    free(listing);
    bl_job_destroy(job);
    return n;
}

/* Six materials of 4 classes and 6 shapes of 3 kinds. Merging equal bodies makes good what was not shared. */
static void the_naive_form_has_a_function_per_instance(void **state)
{
    (void)state;
    bl_scene *scene = load();
    uint32_t materials = bit("sharing"), shapes = bit("shape_sharing"), merge = bit("merge");
    assert_int_equal(functions(scene, merge, "bsdf_sample"), 4);
    assert_int_equal(functions(scene, merge | materials, "bsdf_sample"), 6);
    assert_int_equal(functions(scene, materials, "bsdf_sample"), 4);
    assert_int_equal(functions(scene, merge, "interact"), 3);
    assert_int_equal(functions(scene, merge | shapes, "interact"), 6);
    assert_int_equal(functions(scene, shapes, "interact"), 3);
    bl_scene_destroy(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_naive_form_has_the_same_gradient),
        cmocka_unit_test(what_a_gpu_is_given_has_the_same_gradient),
        cmocka_unit_test(the_naive_form_has_a_function_per_instance),
    };
    return SCENE_DEVICE_RUN(&device, NULL, "optimisations", tests);
}
