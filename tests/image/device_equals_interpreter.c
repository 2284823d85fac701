/* LABELS: swiftshader lavapipe native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Is a device's image the interpreter's? The same lowered trace of the primal runs in both, for every scene
 * of support/scene_cases.c and one with media, with geometry in memory and baked. The bits are equal on
 * every device: one that does not round divisions and roots corrects them (spirv_gen/spv/rounded.c). One
 * sample a pixel and four seeds, so that nothing averages out. Gradients are within f32's rounding of the
 * interpreter's sum. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/job.h"
#include "support/scene_cases.h"
#include "support/scene_device.h"
#include "support/scene_eval.h"
#include "support/todays_share.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 9, HEIGHT = 7, PIXELS = WIDTH * HEIGHT, VALUES = 3 * PIXELS, SEEDS = 4, DEPTH = 4 };
/* Where that is thrifty: parts of the scenes, one a day. Each has the next one whole. */
enum { IMAGE_PARTS = 8, GRADIENT_PARTS = 2 * IMAGE_PARTS, BAKED_PARTS = 4 * GRADIENT_PARTS };

static scene_device device;
static char *folder;
static bool thrifty; /* kernels take seconds to compile: fewer of them, others every day */

static uint32_t distance_in_ulp(float a, float b)
{
    int32_t x, y;
    memcpy(&x, &a, 4), memcpy(&y, &b, 4);
    if (x < 0 || y < 0) /* radiance is not negative: anything else counts as far off */
        return a == b ? 0 : 1u << 30;
    return (uint32_t)abs(x - y);
}

static void interpret(scene_eval *e, uint32_t seed, float *image)
{
    bl_error err = {0};
    for (uint32_t pixel = 0; pixel < PIXELS; pixel++) {
        if (scene_eval_run(e, RENDER_PRIMAL, (scene_eval_at){.pixel = pixel, .seed = seed}, &err) != BL_OK)
            fail_msg("%s", err.text);
        for (uint32_t c = 0; c < 3; c++)
            image[3 * pixel + c] = (float)e->film[3 * pixel + c];
    }
}

/* What a pass makes before it walks: parameters, derived values and sampling tables. Images that differ while
 * these are equal differ by what the walk does. */
static void compare_values(const scene_case *c, const scene_eval *e, const bl_job *job)
{
    uint32_t count = e->plan->value_count;
    float *values = calloc(count + 1u, sizeof *values);
    bl_error err = {0};
    assert_non_null(values);
    if (gpu_buffer_read(job->values, 0, values, count * sizeof *values, &err) != BL_OK)
        fail_msg("%s", err.text);
    for (uint32_t i = 0; i < count; i++)
        if (values[i] != (float)e->values[i])
            fail_msg("%s: value %u of %u (%u of parameters): device %.9g, interpreter %.9g", c->name, i,
                     count, e->plan->stored_count, (double)values[i], e->values[i]);
    free(values);
}

static void compare_images(const scene_case *c, bool baked, const char *xml)
{
    scene_eval *e = scene_eval_create_baked(xml, folder, NULL, 0, baked);
    e->lowered = true;
    bl_scene *scene = scene_device_load(&device, xml, folder);
    bl_job *job;
    SCENE_MUST(&device, bl_job_create(device.device, scene, &(bl_job_desc){.no_baking = !baked}, &job));
    uint32_t lit = 0;
    for (uint32_t seed = 0; seed < SEEDS; seed++) {
        float expected[VALUES], image[VALUES];
        interpret(e, seed, expected);
        SCENE_MUST(&device, bl_job_render(job, &(bl_render_desc){.spp = 1, .seed = seed}, image, NULL));
        compare_values(c, e, job);
        for (uint32_t i = 0; i < VALUES; i++) {
            uint32_t off = distance_in_ulp(image[i], expected[i]);
            lit += expected[i] > 0;
            if (off > 0)
                fail_msg("%s, %s, seed %u, value %u: device %.9g, interpreter %.9g: %u ulp", c->name,
                         baked ? "baked" : "in memory", seed, i, (double)image[i], (double)expected[i], off);
        }
    }
    assert_true(lit > VALUES / 4);
    bl_job_destroy(job);
    bl_scene_destroy(scene);
    scene_eval_destroy(e);
}

/* Baked geometry is the same code for all scenes, so some of them do. */
static bool baked_too(const scene_case *c)
{
    uint32_t number = 0;
    for (const scene_case *k = scene_case_next(NULL); k != c; k = scene_case_next(k))
        number++;
    return getenv("BL_LONG") || (thrifty ? todays_part(number, BAKED_PARTS) : number % 4 == 0);
}

static void images_agree(void **state)
{
    const scene_case *c = *state;
    arena a = {0};
    char *xml = scene_case_xml(&a, c, DEPTH, WIDTH, HEIGHT);
    compare_images(c, false, xml);
    if (baked_too(c))
        compare_images(c, true, xml);
    arena_free(&a);
}

/* Leaves the sum over pixels in e->gradient. */
static void interpreted_gradient(scene_eval *e, uint32_t seed, double *sum)
{
    bl_error err = {0};
    const uint32_t n = e->plan->gradient_count;
    for (uint32_t pixel = 0; pixel < PIXELS; pixel++) {
        if (scene_eval_run(e, RENDER_GRADIENT, (scene_eval_at){.pixel = pixel, .seed = seed, .stream = 1},
                           &err) != BL_OK)
            fail_msg("%s", err.text);
        for (uint32_t i = 0; i < n; i++)
            sum[i] += e->gradient[i];
    }
    memcpy(e->gradient, sum, n * sizeof *sum);
    if (scene_eval_normals_adjoint(e, false, &err) != BL_OK)
        fail_msg("%s", err.text);
}

static void gradients_agree(void **state)
{
    const scene_case *c = *state;
    arena a = {0};
    char *xml = scene_case_xml(&a, c, DEPTH, WIDTH, HEIGHT);
    uint32_t count = scene_case_parameter_count(c), n;
    scene_eval *e = scene_eval_create_baked(xml, folder, c->parameters, count, true);
    scene_picture p = scene_picture_load(&device, xml, folder, c->parameters, count);
    n = 0; /* of the parameters themselves; gradients of derived values lie behind them */
    for (uint32_t k = 0; k < count; k++)
        n += e->scene->parameters.data[scene_eval_find(e, c->parameters[k])].count;
    double *sum = arena_alloc(&a, (e->plan->gradient_count + 1) * sizeof *sum);
    const double *expected = e->gradient;
    float weights[VALUES], *got = arena_alloc(&a, n * sizeof *got);
    uint32_t random = 8;
    for (uint32_t i = 0; i < VALUES; i++)
        e->adjoint[i] = weights[i] = (float)(scene_random(&random) - 0.3);
    interpreted_gradient(e, 1, sum); /* of one pass: moving edges have passes of their own */
    SCENE_MUST(&device, bl_job_gradient(p.job,
                                        &(bl_gradient_desc){
                                            .spp = 1, .seed = 1, .adjoint = weights, .edges = BL_EDGES_NONE},
                                        NULL));
    double most = 0;
    for (uint32_t k = 0; k < count; k++)
        SCENE_MUST(&device,
                   bl_job_read_gradient(p.job, k, got + scene_eval_gradient_first(e, c->parameters[k])));
    for (uint32_t i = 0; i < n; i++)
        most = fmax(most, fabs(expected[i]));
    assert_true(most > 0);
    /* shapes whose places are parameters are put there by floats on the device, by doubles in the
     * interpreter's scene: half a unit in the last place apart */
    double tolerance = e->plan->moves & MOVE_TO_WORLD ? 5e-5 : 1e-5;
    for (uint32_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - expected[i]) <= tolerance * most))
            fail_msg("%s: element %u: device %.9g, interpreter %.9g of at most %.9g", c->name, i,
                     (double)got[i], expected[i], most);
    scene_picture_free(&p);
    scene_eval_destroy(e);
    arena_free(&a);
}

int main(void)
{
    if (!scene_device_open(&device))
        return scene_device_missing();
    thrifty = strcmp(device.info.kind, "lavapipe") == 0 && !getenv("BL_LONG");
    struct CMUnitTest *tests = calloc(2 * (scene_case_count + scene_media_case_count), sizeof *tests);
    uint32_t n = 0;
    for (uint32_t i = 0; tests && i < scene_case_count; i++) {
        void *c = (void *)(uintptr_t)&scene_cases[i];
        if (!thrifty || todays_part(i, IMAGE_PARTS))
            tests[n++] = (struct CMUnitTest){scene_cases[i].name, images_agree, NULL, NULL, c};
        if (!thrifty || todays_part(i, GRADIENT_PARTS))
            tests[n++] = (struct CMUnitTest){scene_cases[i].name, gradients_agree, NULL, NULL, c};
    }
    uint32_t media =
        getenv("BL_LONG")
            ? 0
            : scene_media_case_count - !thrifty; /* kernels of media are large: one, which has both kinds */
    for (uint32_t i = media; tests && i < scene_media_case_count; i++) {
        void *c = (void *)(uintptr_t)&scene_media_cases[i];
        tests[n++] = (struct CMUnitTest){scene_media_cases[i].name, images_agree, NULL, NULL, c};
        tests[n++] = (struct CMUnitTest){scene_media_cases[i].name, gradients_agree, NULL, NULL, c};
    }
    int status = tests ? scene_device_run(&device, &folder, "device = interpreter", tests, n, NULL) : 1;
    free(tests);
    return status;
}
