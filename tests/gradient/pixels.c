/* LABELS: swiftshader lavapipe native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Are gradients right whose samples go where |dL/dI| is large (api/pixel_sampling.c)? On a device;
 * tests/unit/pixel_list.c tests the list of lanes itself:
 *
 *   flat         dL/dI is the same everywhere: the very bytes of uniform pixels;
 *   sky          each pixel's derivative is 1: the gradient is the sum of dL/dI on average, and exactly
 *                where there are samples enough;
 *   noise        a lit room: the mean over seeds is that of uniform pixels, and so is the loss's. Where
 *                dL/dI is 0 except in a corner, the variance is far lower;
 *   zeros        where dL/dI is 0 no sample is walked, and what is left out takes nothing away;
 *   nothing      dL/dI = 0; slices and tiles; a fit of two views; what cannot be done is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 16, HEIGHT = 12, PIXELS = WIDTH * HEIGHT, VALUES = 3 * PIXELS, ELEMENTS = 128 };

static scene_device device;
static char *folder;

static const scene_case sky = {
    .name = "sky",
    .body = "<emitter type='constant' id='sky'><rgb name='radiance' value='.5,.5,.5'/></emitter>",
    .parameters = {"sky.radiance.value"},
};

static const scene_case *find_case(const char *name)
{
    for (uint32_t i = 0; i < scene_case_count; i++)
        if (strcmp(scene_cases[i].name, name) == 0)
            return &scene_cases[i];
    for (uint32_t i = 0; i < scene_media_case_count; i++)
        if (strcmp(scene_media_cases[i].name, name) == 0)
            return &scene_media_cases[i];
    fail_msg("no case %s", name);
    return NULL;
}

/* A scene with a job for each choice of pixels. */
typedef struct setting {
    const scene_case *c;
    bl_scene *scene;
    bl_job *jobs[BL_PIXELS_COUNT];
    uint32_t elements;
} setting;

static setting load(const scene_case *c, int depth, uint32_t width, uint32_t height)
{
    arena a = {0};
    setting s = {
        .c = c,
        .scene = scene_device_load(&device, scene_case_xml(&a, c, depth, width, height), folder),
    };
    for (int pixels = 0; pixels < BL_PIXELS_COUNT; pixels++) {
        bl_job_desc d = {
            .parameters = c->parameters,
            .parameter_count = scene_case_parameter_count(c),
            .rays = scene_device_rays(),
            .pixels = pixels,
        };
        SCENE_MUST(&device, bl_job_create(device.device, s.scene, &d, &s.jobs[pixels]));
    }
    for (uint32_t k = 0; k < scene_case_parameter_count(c); k++) {
        bl_parameter_info info;
        SCENE_MUST(&device, bl_scene_parameter_info(
                                s.scene, scene_device_find(&device, s.scene, c->parameters[k]), &info));
        s.elements += info.count;
    }
    assert_true(s.elements <= ELEMENTS);
    arena_free(&a);
    return s;
}

static void unload(setting *s)
{
    for (int pixels = 0; pixels < BL_PIXELS_COUNT; pixels++)
        bl_job_destroy(s->jobs[pixels]);
    bl_scene_destroy(s->scene);
}

static bl_stats gradient(const setting *s, bl_pixels pixels, bl_gradient_desc desc, float g[ELEMENTS])
{
    bl_stats stats;
    SCENE_MUST(&device, bl_job_gradient(s->jobs[pixels], &desc, &stats));
    assert_int_equal(stats.drifted + stats.overflowed + stats.non_finite, 0);
    uint32_t element = 0;
    for (uint32_t k = 0; k < scene_case_parameter_count(s->c); k++) {
        bl_parameter_info info;
        SCENE_MUST(&device, bl_scene_parameter_info(
                                s->scene, scene_device_find(&device, s->scene, s->c->parameters[k]), &info));
        SCENE_MUST(&device, bl_job_read_gradient(s->jobs[pixels], k, g + element));
        element += info.count;
    }
    return stats;
}

/* Of all sizes and signs, a third of the pixels 0. */
static void fill(float *adjoint, uint32_t values)
{
    uint32_t random = 5;
    for (uint32_t i = 0; i < values; i++) {
        float size = (float)exp(4 * scene_random(&random));
        adjoint[i] = i / 3 % 3 == 1 ? 0 : scene_random(&random) < 0.3 ? -size : size;
    }
}

/* ---- flat ---- */

static void flat_is_uniform(void **state)
{
    setting s = load(find_case(*state), 3, WIDTH, HEIGHT);
    float flat[VALUES], uniform[ELEMENTS], placed[ELEMENTS];
    for (int i = 0; i < VALUES; i++)
        flat[i] = (float[]){0.3f, -1, 0.7f}[i % 3];
    for (int form = BL_FORM_FUSED; form <= BL_FORM_SEPARATE; form++) {
        const bl_gradient_desc desc = {.form = form, .spp = 11, .seed = 3, .adjoint = flat};
        bl_stats one = gradient(&s, BL_PIXELS_UNIFORM, desc, uniform),
                 two = gradient(&s, BL_PIXELS_ADJOINT, desc, placed);
        assert_int_equal(one.paths, two.paths);
        assert_true(fabs(one.loss - two.loss) <= 1e-5 * fabs(one.loss));
        assert_true(uniform[0] != 0);
        assert_memory_equal(uniform, placed, s.elements * sizeof *placed);
    }
    unload(&s);
}

/* ---- sky ---- */

static void known_derivatives_add_up(void **state)
{
    (void)state;
    enum { SEEDS = 300 };
    setting s = load(&sky, 2, WIDTH, HEIGHT);
    float adjoint[VALUES], g[ELEMENTS];
    double exact[3] = {0}, sizes = 0, sum[4] = {0}, squares[4] = {0};
    fill(adjoint, VALUES);
    for (int i = 0; i < VALUES; i++)
        exact[i % 3] += (double)adjoint[i], sizes += fabs((double)adjoint[i]);
    double expected[4] = {exact[0], exact[1], exact[2],
                          0.5 * (exact[0] + exact[1] + exact[2])}; /* and the loss */
    bl_stats stats = gradient(&s, BL_PIXELS_ADJOINT, (bl_gradient_desc){.spp = 400, .adjoint = adjoint},
                              g); /* 4 samples where |dL/dI| is a hundredth of the mean */
    assert_in_range(stats.paths, 400 * PIXELS - 1, 400 * PIXELS);
    for (int c = 0; c < 3; c++)
        if (!(fabs((double)g[c] - exact[c]) <= 1e-6 * sizes))
            fail_msg("channel %d: %.9g, exactly %.9g", c, (double)g[c], exact[c]);
    for (uint32_t seed = 0; seed < SEEDS; seed++) {
        stats = gradient(&s, BL_PIXELS_ADJOINT,
                         (bl_gradient_desc){.spp = 1, .seed = seed, .adjoint = adjoint}, g);
        for (int c = 0; c < 4; c++) {
            double v = c < 3 ? (double)g[c] : stats.loss;
            sum[c] += v, squares[c] += v * v;
        }
    }
    for (int c = 0; c < 4; c++) {
        double mean = sum[c] / SEEDS, error = sqrt((squares[c] / SEEDS - mean * mean) / (SEEDS - 1));
        if (!(fabs(mean - expected[c]) <= 4.5 * error))
            fail_msg("%d: %.9g on average, exactly %.9g, z = %.2f", c, mean, expected[c],
                     (mean - expected[c]) / error);
        assert_true(error > 0 && error < 0.01 * sizes);
    }
    unload(&s);
}

/* ---- noise ---- */

typedef struct moments {
    double sum[ELEMENTS + 1], squares[ELEMENTS + 1]; /* the loss last */
    uint32_t count;
} moments;

static void add(moments *m, const float *g, uint32_t elements, double loss)
{
    for (uint32_t i = 0; i <= elements; i++) {
        double v = i < elements ? (double)g[i] : loss;
        m->sum[i] += v, m->squares[i] += v * v;
    }
    m->count++;
}
static double mean(const moments *m, uint32_t i) { return m->sum[i] / m->count; }
static double variance(const moments *m, uint32_t i)
{
    return (m->squares[i] / m->count - mean(m, i) * mean(m, i)) * m->count / (m->count - 1);
}

static void measure(const setting *s, const float *adjoint, uint32_t seeds, moments m[BL_PIXELS_COUNT])
{
    float g[ELEMENTS];
    for (uint32_t seed = 0; seed < seeds; seed++)
        for (int pixels = 0; pixels < BL_PIXELS_COUNT; pixels++) {
            bl_stats stats = gradient(
                s, pixels,
                (bl_gradient_desc){.form = BL_FORM_SEPARATE, .spp = 2, .seed = seed, .adjoint = adjoint}, g);
            add(&m[pixels], g, s->elements, stats.loss);
        }
}

static void means_are_equal(void **state)
{
    (void)state;
    setting s = load(find_case("area light"), 3, WIDTH, HEIGHT);
    float adjoint[VALUES];
    moments m[BL_PIXELS_COUNT] = {0};
    fill(adjoint, VALUES);
    measure(&s, adjoint, 120, m);
    double largest = 0, squares = 0;
    for (uint32_t i = 0; i < s.elements; i++)
        largest = fmax(largest, fabs(mean(&m[BL_PIXELS_UNIFORM], i)));
    for (uint32_t i = 0; i <= s.elements; i++) {
        if (m[0].squares[i] == 0 && m[1].squares[i] == 0)
            continue; /* nobody sees it */
        double error = sqrt((variance(&m[0], i) + variance(&m[1], i)) / m->count),
               z = (mean(&m[1], i) - mean(&m[0], i)) / error;
        if (!(fabs(z) < 4.5))
            fail_msg("element %u: uniform %.9g, by dL/dI %.9g, z = %.2f", i, mean(&m[0], i), mean(&m[1], i),
                     z);
        assert_true(i == s.elements || error < 0.04 * largest); /* or the test would see nothing */
        squares += z * z;
    }
    assert_true(squares < 2.5 * (s.elements + 1));
    unload(&s);
}

/* A sixteenth of the film matters: it gets 16 times the samples. */
static void a_corner_has_less_variance(void **state)
{
    (void)state;
    setting s = load(find_case("area light"), 3, WIDTH, HEIGHT);
    float adjoint[VALUES] = {0};
    moments m[BL_PIXELS_COUNT] = {0};
    for (uint32_t i = 0; i < VALUES; i++)
        adjoint[i] = i / 3 % WIDTH < WIDTH / 4 && i / 3 / WIDTH >= 3 * HEIGHT / 4;
    measure(&s, adjoint, 60, m);
    double all[BL_PIXELS_COUNT] = {0};
    for (uint32_t i = 0; i < s.elements; i++)
        for (int pixels = 0; pixels < BL_PIXELS_COUNT; pixels++)
            all[pixels] += variance(&m[pixels], i);
    if (!(all[BL_PIXELS_ADJOINT] < all[BL_PIXELS_UNIFORM] / 8 &&
          all[BL_PIXELS_ADJOINT] > all[BL_PIXELS_UNIFORM] / 32))
        fail_msg("variance %g, of uniform pixels %g", all[BL_PIXELS_ADJOINT], all[BL_PIXELS_UNIFORM]);
    unload(&s);
}

/* ---- zeros ---- */

/* Walks are counted by their radiance, which is not finite anywhere. A pixel counts if a single one of its
 * channels is not 0. */
static void zeros_are_not_walked(void **state)
{
    (void)state;
    enum { SPP = 5 };
    scene_case bright = sky;
    bright.body = "<emitter type='constant' id='sky'><rgb name='radiance' value='1e31,1e31,1e31'/></emitter>";
    setting s = load(&bright, 2, WIDTH, HEIGHT);
    float adjoint[VALUES] = {0};
    uint32_t walked = 0;
    for (uint32_t i = 0; i < PIXELS; i++)
        if (i % 3 != 1)
            adjoint[3 * i + i % 4 % 3] = i % 2 ? -0.5f : 2, walked++;
    for (int form = BL_FORM_FUSED; form <= BL_FORM_SEPARATE; form++) {
        bl_stats stats;
        SCENE_MUST(&device, bl_job_gradient(s.jobs[BL_PIXELS_UNIFORM],
                                            &(bl_gradient_desc){.form = form, .spp = SPP, .adjoint = adjoint},
                                            &stats));
        assert_int_equal(stats.non_finite, SPP * walked);
        assert_int_equal(stats.paths, SPP * PIXELS);
    }
    unload(&s);
}

/* The gradient is that of the pixels' parts, and that of the channels' parts. Sums are integers, and a lane's
 * samples are those of a pixel, so the first differs by the rounding of the results. */
static void zeros_take_nothing_away(void **state)
{
    (void)state;
    setting s = load(find_case("area light"), 3, WIDTH, HEIGHT);
    for (int form = BL_FORM_FUSED; form <= BL_FORM_SEPARATE; form++) {
        float adjoint[VALUES], whole[ELEMENTS];
        double sum[2][ELEMENTS] = {{0}}, sizes[ELEMENTS] = {0};
        fill(adjoint, VALUES);
        gradient(&s, BL_PIXELS_UNIFORM, (bl_gradient_desc){.form = form, .spp = 7, .adjoint = adjoint},
                 whole);
        for (uint32_t part = 0; part < 2 + 3; part++) {
            float own[VALUES], g[ELEMENTS];
            for (uint32_t i = 0; i < VALUES; i++)
                own[i] = (part < 2 ? i / 3 % 2 == part : i % 3 == part - 2) ? adjoint[i] : 0;
            gradient(&s, BL_PIXELS_UNIFORM, (bl_gradient_desc){.form = form, .spp = 7, .adjoint = own}, g);
            for (uint32_t i = 0; i < s.elements; i++)
                sum[part >= 2][i] += (double)g[i], sizes[i] += fabs((double)g[i]);
        }
        for (uint32_t i = 0; i < s.elements; i++)
            for (int by = 0; by < 2; by++)
                if (!(fabs(sum[by][i] - (double)whole[i]) <= 1e-5 * sizes[i]))
                    fail_msg("element %u, form %d: %.9g, of parts %.9g", i, form, (double)whole[i],
                             sum[by][i]);
    }
    unload(&s);
}

/* ---- the rest ---- */

static void nothing_gives_zero(void **state)
{
    (void)state;
    setting s = load(&sky, 2, WIDTH, HEIGHT);
    float zeros[VALUES] = {0}, grey[VALUES], g[ELEMENTS] = {1, 1, 1};
    for (int i = 0; i < VALUES; i++)
        grey[i] = 0.5f; /* the image */
    for (int form = BL_FORM_FUSED; form <= BL_FORM_SEPARATE; form++) {
        bl_stats a =
            gradient(&s, BL_PIXELS_ADJOINT, (bl_gradient_desc){.form = form, .spp = 3, .adjoint = zeros}, g);
        assert_true(g[0] == 0 && g[1] == 0 && g[2] == 0 && a.loss == 0);
        bl_stats b =
            gradient(&s, BL_PIXELS_ADJOINT, (bl_gradient_desc){.form = form, .spp = 3, .target = grey}, g);
        assert_true(g[0] == 0 && g[1] == 0 && g[2] == 0 && b.loss == 0);
        assert_int_equal(b.paths, 3 * PIXELS); /* of the image */
    }
    unload(&s);
}

/* 64 x 64 x 66 samples are more than a tile holds. */
static void slices_do_not_matter(void **state)
{
    const bl_gradient_form form = (bl_gradient_form)(uintptr_t)*state;
    enum { SIDE = 64 };
    setting s = load(find_case("point light"), 2, SIDE, SIDE);
    float *adjoint = calloc(3 * SIDE * SIDE, sizeof *adjoint), g[2][ELEMENTS];
    bl_stats stats[2];
    assert_non_null(adjoint);
    fill(adjoint, 3 * SIDE * SIDE);
    for (int k = 0; k < 2; k++)
        stats[k] = gradient(
            &s, BL_PIXELS_ADJOINT,
            (bl_gradient_desc){
                .form = form, .spp = 66, .seed = 1, .adjoint = adjoint, .slice_seconds = k ? 1e-5 : 100},
            g[k]);
    assert_true(stats[1].slices > stats[0].slices);
    assert_memory_equal(g[0], g[1], s.elements * sizeof *g[0]);
    assert_true(stats[0].loss == stats[1].loss && stats[0].loss != 0);
    free(adjoint);
    unload(&s);
}

/* One step down the slope of two views whose images have no noise: where target and image differ there are
 * samples enough, so the step is that of the formula. */
static void a_fit_takes_the_step(void **state)
{
    (void)state;
    arena a = {0};
    bl_scene *scene = scene_device_load(&device, scene_case_xml(&a, &sky, 2, WIDTH, HEIGHT), folder);
    float targets[2][VALUES], got[3];
    double slope[3] = {0};
    for (uint32_t v = 0; v < 2; v++)
        for (uint32_t i = 0; i < VALUES; i++) {
            targets[v][i] = i % 7 == 0 || v ? 0.5f : 0.5f + 0.01f * (float)(i % 5);
            slope[i % 3] += 2 * (0.5 - (double)targets[v][i]) / VALUES / 2;
        }
    for (uint32_t i = 0; i < 30; i++)
        targets[1][i] = 1, slope[i % 3] -= 2 * 0.5 / VALUES / 2;
    bl_fit_parameter p = {.name = "sky.radiance.value", .rate = 1};
    const bl_fit_view views[2] = {{.target = targets[0]}, {.target = targets[1]}};
    bl_fit_desc desc = {
        .parameters = &p,
        .parameter_count = 1,
        .views = views,
        .view_count = 2,
        .optimizer = BL_OPTIMIZER_SGD,
        .spp = 8,
        .seed = 2,
        .rays = scene_device_rays(),
        .pixels = BL_PIXELS_ADJOINT,
    };
    bl_fit *fit = NULL;
    bl_fit_status status;
    SCENE_MUST(&device, bl_fit_create(device.device, scene, &desc, &fit));
    SCENE_MUST(&device, bl_fit_step(fit, &status));
    assert_int_equal(status.form, BL_FORM_SEPARATE);
    SCENE_MUST(&device, bl_fit_get(fit, 0, got));
    for (int c = 0; c < 3; c++)
        if (!(fabs((double)got[c] - (0.5 - slope[c])) < 1e-6 && slope[c] < -1e-3))
            fail_msg("channel %d: %.9g, by the formula %.9g", c, (double)got[c], 0.5 - slope[c]);
    bl_fit_destroy(fit);
    bl_scene_destroy(scene);
    arena_free(&a);
}

static void refuse(const char *integrator, const char *sensor, const char *what)
{
    arena a = {0};
    bl_scene *scene = scene_device_load(&device, scene_xml(&a, integrator, sensor, sky.body), folder);
    bl_job *job = NULL;
    assert_int_equal(
        bl_job_create(
            device.device, scene,
            &(bl_job_desc){.parameters = sky.parameters, .parameter_count = 1, .pixels = BL_PIXELS_ADJOINT},
            &job),
        BL_ERROR_UNSUPPORTED);
    assert_null(job);
    if (!strstr(bl_context_error(device.context), what))
        fail_msg("\"%s\" does not say \"%s\"", bl_context_error(device.context), what);
    bl_scene_destroy(scene);
    arena_free(&a);
}

static void what_cannot_be_is_said(void **state)
{
    (void)state;
#define SENSOR(sampler)                                                                                      \
    "<sensor type='perspective'>" sampler "<film type='hdrfilm'><integer name='width' value='4'/><integer "  \
    "name='height' value='4'/></film></sensor>"
#define INTEGRATOR(type) "<integrator type='" type "'><integer name='max_depth' value='3'/></integrator>"
    refuse(INTEGRATOR("ptracer"), SENSOR(""), "light tracing");
    refuse(INTEGRATOR("tape"), SENSOR(""), "the tape");
    refuse(INTEGRATOR("rb"), SENSOR(""), "radiative backpropagation");
    refuse(INTEGRATOR("path"), SENSOR("<sampler type='stratified'/>"), "independent");
    setting s = load(&sky, 2, 4, 3);
    float target[3 * 4 * 3] = {0};
    bl_gradient_desc desc = {.form = BL_FORM_TWO_WALK, .spp = 4, .target = target};
    assert_int_equal(bl_job_gradient(s.jobs[BL_PIXELS_ADJOINT], &desc, NULL), BL_ERROR_ARGUMENT);
    assert_non_null(strstr(bl_context_error(device.context), "two walks"));
    unload(&s);
    s = load(&sky, 2, 4, 4);
    const float weights[3 * 4 * 4] = {1};
    desc = (bl_gradient_desc){.spp = 1u << 28, .adjoint = weights};
    assert_int_equal(bl_job_gradient(s.jobs[BL_PIXELS_ADJOINT], &desc, NULL), BL_ERROR_ARGUMENT);
    assert_non_null(strstr(bl_context_error(device.context), "2^32"));
    unload(&s);
    bl_scene *scene =
        scene_device_load(&device, "<scene version='3.0.0'><sensor type='perspective'/></scene>", folder);
    bl_job *job = NULL;
    assert_int_equal(bl_job_create(device.device, scene, &(bl_job_desc){.pixels = BL_PIXELS_COUNT}, &job),
                     BL_ERROR_ARGUMENT);
    assert_null(bl_pixels_name(BL_PIXELS_COUNT));
    bl_scene_destroy(scene);
}

int main(void)
{
    if (!scene_device_open(&device))
        return scene_device_missing();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_derivatives_add_up),
        {"flat, area light", flat_is_uniform, NULL, NULL, (void *)(uintptr_t) "area light"},
        cmocka_unit_test(nothing_gives_zero),
        cmocka_unit_test(zeros_are_not_walked),
        cmocka_unit_test(a_fit_takes_the_step),
        /* lavapipe compiles each kernel for seconds: there, these are enough */
        cmocka_unit_test(means_are_equal),
        cmocka_unit_test(a_corner_has_less_variance),
        cmocka_unit_test(zeros_take_nothing_away),
        {"slices, separate", slices_do_not_matter, NULL, NULL, (void *)(uintptr_t)BL_FORM_SEPARATE},
        cmocka_unit_test(what_cannot_be_is_said),
        /* BL_LONG=1 */
        {"slices, fused", slices_do_not_matter, NULL, NULL, (void *)(uintptr_t)BL_FORM_FUSED},
        {"flat, media", flat_is_uniform, NULL, NULL, (void *)(uintptr_t) "grid with empty voxels"},
    };
    uint32_t count = getenv("BL_LONG")                           ? sizeof tests / sizeof *tests
                     : strcmp(device.info.kind, "lavapipe") == 0 ? 5
                                                                 : 10;
    return scene_device_run(&device, &folder, "pixels", tests, count, NULL);
}
