/* LABELS: swiftshader lavapipe=long native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Wavefront mode (bl_job_desc.wavefront) against one kernel: images and variances are the same bytes, however
 * they are cut; gradients are to rounding, because lanes have no private sums then, and replay does not
 * drift. All scenes of the tables on the native device, some of them on others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/job_kernels.h"
#include "spirv_gen/opt/cut.h"
#include "support/scene_cases.h"
#include "support/scene_device.h"
#include "support/todays_share.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Single precision leaves about 1e-6 of each contribution; contributions of both signs may cancel to a
 * hundredth. */
static const double rounding = 1e-4;
enum { WIDTH = 17, HEIGHT = 11, SPP = 12, DEPTH = 4, STEPS = 7, ELEMENTS_MOST = 1 << 16 };

/* Of scenes whose names begin so the kernel of edges cannot be traced, in one kernel or in many. */
static const char no_edges[] = "surfaces that move in ";

static scene_device device;
static char *folder;

typedef struct results {
    float *image, *variance, *gradient;
    uint32_t values, elements;
    bl_stats render, grad;
} results;

static void results_free(results *r) { free(r->image), free(r->variance), free(r->gradient); }

static bl_job *make_job(const bl_scene *scene, const scene_case *c, bl_wavefront how)
{
    bl_job *job;
    const bl_job_desc desc = {
        .parameters = c->parameters,
        .parameter_count = scene_case_parameter_count(c),
        .volume_gradient = BL_VOLUME_GRADIENT_REPLAY,
        .wavefront = how,
    };
    SCENE_MUST(&device, bl_job_create(device.device, scene, &desc, &job));
    return job;
}

static results run(const bl_scene *scene, const scene_case *c, bl_job *job, bl_gradient_form form,
                   double slice)
{
    bl_scene_info info;
    SCENE_MUST(&device, bl_scene_info_get(scene, &info));
    results r = {.values = 3 * info.width * info.height};
    r.image = calloc(r.values, sizeof(float)), r.variance = calloc(r.values, sizeof(float));
    r.gradient = calloc(ELEMENTS_MOST, sizeof(float));
    float *weights = calloc(r.values, sizeof *weights);
    assert_true(r.image && r.variance && r.gradient && weights);
    bl_render_desc render = {.spp = SPP, .seed = 3, .slice_seconds = slice, .variance = r.variance};
    SCENE_MUST(&device, bl_job_render(job, &render, r.image, NULL));
    float *plain = calloc(r.values, sizeof *plain);
    render.variance = NULL;
    SCENE_MUST(&device, bl_job_render(job, &render, plain, &r.render));
    assert_memory_equal(plain, r.image, r.values * sizeof *plain);
    uint32_t random = 5;
    for (uint32_t i = 0; i < r.values; i++)
        weights[i] = (float)scene_random(&random) - 0.3f;
    const bl_gradient_desc gradient = {
        .form = form,
        .spp = SPP,
        .seed = 3,
        .slice_seconds = slice,
        .adjoint = weights,
        .edges = strncmp(c->name, no_edges, strlen(no_edges)) == 0 ? BL_EDGES_NONE : BL_EDGES_AUTO,
    };
    SCENE_MUST(&device, bl_job_gradient(job, &gradient, &r.grad));
    for (uint32_t k = 0; k < scene_case_parameter_count(c); k++) {
        bl_parameter_info p;
        SCENE_MUST(&device,
                   bl_scene_parameter_info(scene, scene_device_find(&device, scene, c->parameters[k]), &p));
        assert_true(r.elements + p.count <= ELEMENTS_MOST);
        SCENE_MUST(&device, bl_job_read_gradient(job, k, r.gradient + r.elements));
        r.elements += p.count;
    }
    free(weights), free(plain);
    return r;
}

static void same_bytes(const char *what, const float *a, const float *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (memcmp(a + i, b + i, sizeof *a) != 0)
            fail_msg("%s, value %u: %.9g in one kernel, %.9g in wavefront mode", what, i, (double)a[i],
                     (double)b[i]);
}

static void compare(const results *one, const results *many)
{
    same_bytes("image", one->image, many->image, one->values);
    same_bytes("variance", one->variance, many->variance, one->values);
    assert_int_equal(one->render.non_finite, many->render.non_finite);
    assert_int_equal(one->grad.drifted, many->grad.drifted);
    assert_int_equal(one->grad.non_finite, many->grad.non_finite);
    assert_int_equal(one->grad.overflowed, many->grad.overflowed);
    assert_true(fabs(one->grad.loss - many->grad.loss) <= rounding * fabs(one->grad.loss));
    double most = 0;
    for (uint32_t i = 0; i < one->elements; i++)
        most = fmax(most, fabs((double)one->gradient[i]));
    for (uint32_t i = 0; i < one->elements; i++)
        if (!(fabs((double)one->gradient[i] - (double)many->gradient[i]) <= rounding * most))
            fail_msg("gradient element %u: %.9g in one kernel, %.9g in wavefront mode", i,
                     (double)one->gradient[i], (double)many->gradient[i]);
}

static void check_case(const scene_case *c, bl_gradient_form form)
{
    arena a = {0};
    bl_scene *scene = scene_device_load(&device, scene_case_xml(&a, c, DEPTH, WIDTH, HEIGHT), folder);
    bl_job *one = make_job(scene, c, BL_WAVEFRONT_NONE);
    results expected = run(scene, c, one, form, 0);
    for (int how = BL_WAVEFRONT_VERTEX; how < BL_WAVEFRONT_COUNT; how++) {
        bl_job *job = make_job(scene, c, (bl_wavefront)how);
        results whole = run(scene, c, job, form, 0), sliced = run(scene, c, job, form, 1e-4);
        compare(&expected, &whole);
        same_bytes("slices: image", whole.image, sliced.image, whole.values);
        same_bytes("slices: gradient", whole.gradient, sliced.gradient, whole.elements);
        results_free(&whole), results_free(&sliced);
        bl_job_destroy(job);
    }
    results_free(&expected);
    bl_job_destroy(one);
    bl_scene_destroy(scene);
    arena_free(&a);
}

static void scenes(void **state)
{
    (void)state;
    const bool all = strcmp(device.info.kind, "native") == 0,
               media = strcmp(device.info.kind, "lavapipe") != 0; /* whose compiler takes minutes */
    uint32_t number = 0, index = 0;
    for (const scene_case *c = scene_case_next(NULL); c; c = scene_case_next(c)) {
        const bool listed = (all && todays_share(index++)) || strcmp(c->name, "area light") == 0 ||
                            strcmp(c->name, "plastic, rough glass and a pane") == 0 ||
                            (media && strcmp(c->name, "glass and smoke in fog") == 0);
        if (!listed)
            continue;
        check_case(c, number++ % 2 ? BL_FORM_SEPARATE : BL_FORM_FUSED);
    }
    assert_true(number >= 2);
}

/* By target a walk is cut where it calls its materials. In branches these calls could not be kernels of
 * their own. */
static void materials_have_kernels_of_their_own(void **state)
{
    (void)state;
    static const render_pass passes[] = {RENDER_PRIMAL, RENDER_GRADIENT, RENDER_REPLAY, RENDER_ADJOINT};
    arena a = {0};
    const scene_case *c = scene_case_next(NULL);
    while (strcmp(c->name, "plastic, rough glass and a pane") != 0)
        c = scene_case_next(c);
    bl_scene *scene = scene_device_load(&device, scene_case_xml(&a, c, DEPTH, WIDTH, HEIGHT), folder);
    bl_job *job = make_job(scene, c, BL_WAVEFRONT_TARGET);
    for (size_t k = 0; k < sizeof passes / sizeof *passes; k++) {
        bl_error err = {0};
        bl_kernel_info took = {0};
        ir_module *trace, *simple;
        opt_cut cut;
        const opt_cut_options by_target = {.uniforms = UNIFORM_COUNT, .by_target = true};
        assert_int_equal(job_trace_timed(job, passes[k], &trace, &took, &err), BL_OK);
        const opt_options simplify = job_lowering(job, passes[k], X86_NONE);
        assert_int_equal(opt_simplify(trace, &simplify, &simple, &err), BL_OK);
        assert_int_equal(opt_cut_walk(simple, &by_target, &cut, &err), BL_OK);
        print_message("%s: %u groups of calls, of at most %u targets\n", render_passes[passes[k]].name,
                      cut.groups, cut.targets);
        assert_true(cut.groups > 0 && job->plan->bsdfs.count > 2 && cut.targets >= job->plan->bsdfs.count);
        opt_cut_free(&cut);
        ir_module_destroy(simple);
        ir_module_destroy(trace);
    }
    bl_job_destroy(job);
    bl_scene_destroy(scene);
    arena_free(&a);
}

static void refusals(void **state)
{
    (void)state;
    arena a = {0};
    const scene_case *c = scene_case_next(NULL);
    scene_case chains = *c;
    chains.integrator = "<integrator type='pssmlt'><integer name='max_depth' value='4'/></integrator>";
    bl_scene *plain = scene_device_load(&device, scene_case_xml(&a, c, DEPTH, WIDTH, HEIGHT), folder),
             *metropolis =
                 scene_device_load(&device, scene_case_xml(&a, &chains, DEPTH, WIDTH, HEIGHT), folder);
    bl_job *job = NULL;
    bl_job_desc desc = {.wavefront = BL_WAVEFRONT_VERTEX};
    scene_device_refused(&device, bl_job_create(device.device, metropolis, &desc, &job), BL_ERROR_UNSUPPORTED,
                         "Metropolis");
    desc.wavefront = BL_WAVEFRONT_COUNT;
    scene_device_refused(&device, bl_job_create(device.device, plain, &desc, &job), BL_ERROR_ARGUMENT,
                         "wavefront mode 3");
    assert_null(job);
    assert_string_equal(bl_wavefront_name(BL_WAVEFRONT_TARGET), "target");
    assert_null(bl_wavefront_name(BL_WAVEFRONT_COUNT));
    bl_scene_destroy(plain), bl_scene_destroy(metropolis);
    arena_free(&a);
}

/* States of walks are in memory that is bounded, told, and not that of one kernel. */
static void memory(void **state)
{
    (void)state;
    arena a = {0};
    const scene_case *c = scene_case_next(NULL);
    bl_scene *scene = scene_device_load(&device, scene_case_xml(&a, c, DEPTH, 512, 512), folder);
    float *image = malloc(sizeof *image * 3 * 512 * 512);
    assert_non_null(image);
    uint64_t bytes[BL_WAVEFRONT_COUNT];
    for (int how = 0; how < BL_WAVEFRONT_COUNT; how++) {
        bl_job *job = make_job(scene, c, (bl_wavefront)how);
        bl_stats stats;
        SCENE_MUST(&device,
                   bl_job_render(job, &(bl_render_desc){.spp = 2, .slice_seconds = 1000}, image, &stats));
        SCENE_MUST(&device, bl_job_render(job, &(bl_render_desc){.spp = 2, .slice_seconds = 1000}, image,
                                          &stats)); /* one slice, since the speed is known */
        bytes[how] = stats.device_bytes;
        bl_job_destroy(job);
    }
    for (int how = BL_WAVEFRONT_VERTEX; how < BL_WAVEFRONT_COUNT; how++) {
        assert_true(bytes[how] > bytes[BL_WAVEFRONT_NONE] + (8 << 20));
        assert_true(bytes[how] <= bytes[BL_WAVEFRONT_NONE] + (64 << 20));
    }
    free(image);
    bl_scene_destroy(scene);
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scenes),
        cmocka_unit_test(materials_have_kernels_of_their_own),
        cmocka_unit_test(refusals),
        cmocka_unit_test(memory),
    };
    return SCENE_DEVICE_RUN(&device, &folder, "wavefront", tests);
}
