/* LABELS: native lavapipe */
/* SPDX-License-Identifier: BSD-3-Clause
 * A guide of directions leaves images and gradients what they are: over many seeds, means with it are those
 * without (a z-test of each element), and their variance is less in a room that a lamp lights by way of the
 * ceiling. The same seed gives the same bytes, whatever the slices are and whatever the job did before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_device.h"

#include <math.h>
#include <string.h>

enum { SIDE = 16, VALUES = 3 * SIDE * SIDE, SPP = 8, SEEDS = 100, PARAMETERS = 3, ELEMENTS = 9, GUIDE = 128 };
static const char *const parameters[PARAMETERS] = {"paint.reflectance.value", "red.reflectance.value",
                                                   "lamp.radiance.value"};

static scene_device device;

/* A box of 2 x 2 x 2, open to the camera, with a lamp that faces the ceiling, and a metal ball. */
static char *room(arena *a, const char *integrator)
{
    const char *body =
        "<bsdf type='twosided' id='wall'><bsdf type='diffuse' id='paint'><rgb name='reflectance' "
        "value='.7,.6,.5'/></bsdf></bsdf>"
        "<bsdf type='twosided' id='side'><bsdf type='diffuse' id='red'><rgb name='reflectance' "
        "value='.6,.2,.1'/></bsdf></bsdf>"
        "<shape type='rectangle'><transform name='to_world'><translate z='-1'/></transform><ref "
        "id='wall'/></shape>"
        "<shape type='rectangle'><transform name='to_world'><translate z='1'/></transform><ref "
        "id='wall'/></shape>"
        "<shape type='rectangle'><transform name='to_world'><rotate x='1' angle='90'/><translate "
        "y='1'/></transform><ref id='wall'/></shape>"
        "<shape type='rectangle'><transform name='to_world'><rotate y='1' angle='90'/><translate "
        "x='-1'/></transform><ref id='side'/></shape>"
        "<shape type='rectangle'><transform name='to_world'><rotate y='1' angle='90'/><translate "
        "x='1'/></transform><ref id='side'/></shape>"
        "<shape type='sphere'><point name='center' value='.4,.2,-.6'/><float name='radius' value='.4'/>"
        "<bsdf type='roughconductor'><float name='alpha' value='.3'/></bsdf></shape>"
        "<shape type='rectangle'><transform name='to_world'><scale value='.15'/><translate "
        "z='.8'/></transform><emitter type='area' id='lamp'><rgb name='radiance' "
        "value='30,28,20'/></emitter></shape>";
    char *sensor = arena_printf(
        a,
        "<sensor type='perspective'><float name='fov' value='45'/><transform name='to_world'><lookat "
        "origin='0,-3.4,0' target='0,0,0' up='0,0,1'/></transform><film type='hdrfilm'><integer name='width' "
        "value='%d'/><integer name='height' value='%d'/><rfilter type='box'/></film></sensor>",
        SIDE, SIDE);
    return scene_xml(a, integrator, sensor, body);
}

static bl_scene *load(const char *integrator)
{
    arena a = {0};
    bl_scene *scene = NULL;
    SCENE_MUST(&device, bl_scene_load_string(device.context, room(&a, integrator), ".", NULL, &scene));
    arena_free(&a);
    return scene;
}

static const char path[] = "<integrator type='path'><integer name='max_depth' value='7'/></integrator>";

static bl_job *job_of(const bl_scene *scene, uint64_t guide)
{
    bl_job *job = NULL;
    SCENE_MUST(&device, bl_job_create(device.device, scene,
                                      &(bl_job_desc){.parameters = parameters,
                                                     .parameter_count = PARAMETERS,
                                                     .rays = scene_device_rays(),
                                                     .guide = guide},
                                      &job));
    return job;
}

static void weigh(float weights[VALUES])
{
    uint32_t random = 5;
    for (uint32_t i = 0; i < VALUES; i++)
        weights[i] = (float)scene_random(&random) / VALUES;
}

/* A gradient and, in the end, the weighted sum of its image. */
static bl_stats gradient(bl_job *job, bl_gradient_desc desc, float out[ELEMENTS + 1])
{
    static float weights[VALUES], image[VALUES];
    bl_stats stats;
    weigh(weights);
    desc.adjoint = weights, desc.image = image, desc.spp = SPP;
    SCENE_MUST(&device, bl_job_gradient(job, &desc, &stats));
    assert_int_equal(stats.drifted + stats.non_finite + stats.overflowed, 0);
    for (uint32_t k = 0; k < PARAMETERS; k++)
        SCENE_MUST(&device, bl_job_read_gradient(job, k, out + 3 * k));
    double sum = 0;
    for (uint32_t i = 0; i < VALUES; i++)
        sum += (double)weights[i] * (double)image[i];
    out[ELEMENTS] = (float)sum;
    return stats;
}

typedef struct moments {
    double sum[ELEMENTS + 1], squares[ELEMENTS + 1];
} moments;
static double mean(const moments *m, uint32_t i) { return m->sum[i] / SEEDS; }
static double variance(const moments *m, uint32_t i)
{
    return (m->squares[i] / SEEDS - mean(m, i) * mean(m, i)) * SEEDS / (SEEDS - 1);
}

static moments measure(const bl_scene *scene, uint64_t guide, bl_gradient_form form)
{
    moments m = {0};
    float g[ELEMENTS + 1];
    bl_job *job = job_of(scene, guide);
    for (uint32_t seed = 0; seed < SEEDS; seed++) {
        gradient(job, (bl_gradient_desc){.form = form, .seed = seed}, g);
        for (uint32_t i = 0; i <= ELEMENTS; i++)
            m.sum[i] += (double)g[i], m.squares[i] += (double)g[i] * (double)g[i];
    }
    bl_job_destroy(job);
    return m;
}

static void means_agree_and_noise_is_less(void **state)
{
    const bl_gradient_form form = (bl_gradient_form)(uintptr_t)*state;
    bl_scene *scene = load(path);
    const moments plain = measure(scene, 0, form), guided = measure(scene, GUIDE, form);
    double squares = 0, ratio = 0;
    for (uint32_t i = 0; i <= ELEMENTS; i++) {
        const double error = sqrt((variance(&plain, i) + variance(&guided, i)) / SEEDS),
                     z = (mean(&guided, i) - mean(&plain, i)) / error;
        if (!(fabs(z) < 4.5))
            fail_msg("element %u: %.9g without a guide, %.9g with it, z = %.2f", i, mean(&plain, i),
                     mean(&guided, i), z);
        assert_true(error < 0.05 * fabs(mean(&plain, i))); /* or the test would see nothing */
        squares += z * z, ratio += log(variance(&guided, i) / variance(&plain, i)) / (ELEMENTS + 1);
    }
    assert_true(squares < 3 * (ELEMENTS + 1) + 6);
    print_message("variance with the guide over that without: %.2f\n", exp(ratio));
    assert_true(exp(ratio) < 0.75);
    bl_scene_destroy(scene);
}

/* The gradient of a job whose red has these values; earlier: after other passes, with the scene's values. */
static void gradient_of(const bl_scene *scene, const float red[3], bool earlier, double slice_seconds,
                        float out[ELEMENTS + 1])
{
    static float image[VALUES];
    bl_job *job = job_of(scene, 16);
    if (earlier)
        SCENE_MUST(&device, bl_job_render(job, &(bl_render_desc){.spp = 4, .seed = 9}, image, NULL));
    SCENE_MUST(&device,
               bl_job_set_parameter(job, scene_device_find(&device, scene, "red.reflectance.value"), red));
    gradient(job, (bl_gradient_desc){.seed = 3, .slice_seconds = slice_seconds}, out);
    bl_job_destroy(job);
}

static void the_same_bytes(void **state)
{
    (void)state;
    bl_scene *scene = load(path);
    const float as_loaded[3] = {0.6f, 0.2f, 0.1f}, other[3] = {0.1f, 0.6f, 0.5f};
    float a[ELEMENTS + 1], b[ELEMENTS + 1];
    gradient_of(scene, other, false, 100, a);
    gradient_of(scene, other, true, 1e-5, b);
    assert_memory_equal(a, b, sizeof a);
    gradient_of(scene, as_loaded, false, 100, a);
    assert_memory_not_equal(a, b, sizeof a);

    bl_job *job = job_of(scene, 0);
    gradient(job, (bl_gradient_desc){.seed = 3}, b);
    assert_memory_not_equal(a, b, sizeof a); /* the guide is there */
    bl_job_destroy(job);
    bl_scene_destroy(scene);
}

static void refused(const char *integrator, const char *parameter, const char *word)
{
    bl_scene *scene = load(integrator);
    bl_job *job = NULL;
    const bl_job_desc desc = {.parameters = &parameter, .parameter_count = parameter != NULL, .guide = 8};
    scene_device_refused(&device, bl_job_create(device.device, scene, &desc, &job), BL_ERROR_UNSUPPORTED,
                         word);
    bl_scene_destroy(scene);
}

static void what_has_no_guide(void **state)
{
    (void)state;
    refused("<integrator type='ptracer'><integer name='max_depth' value='4'/></integrator>", NULL,
            "begin at lights");
    refused("<integrator type='pssmlt'><integer name='max_depth' value='4'/></integrator>", NULL,
            "Markov chains");
    refused("<integrator type='depth'/>", NULL, "without scattering");
    refused(path, "sensor.to_world", "move with requested parameters");
}

int main(void)
{
    if (!scene_device_open(&device))
        return scene_device_missing();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_bytes),
        cmocka_unit_test(what_has_no_guide),
        cmocka_unit_test_prestate(means_agree_and_noise_is_less, (void *)(uintptr_t)BL_FORM_FUSED),
        cmocka_unit_test_prestate(means_agree_and_noise_is_less, (void *)(uintptr_t)BL_FORM_SEPARATE),
    };
    return SCENE_DEVICE_RUN(&device, NULL, "guided", tests);
}
