/* LABELS: native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Memory runs out. Every request of ours is refused in turn, once or from then on, while scenes are loaded,
 * jobs made, images, gradients and steps of fits computed. A call then either does what it does otherwise, to
 * the same bytes, or returns BL_ERROR_MEMORY (a limit, or a device without memory). Everything can be
 * destroyed after it, and nothing of the reserve stays in use. Requests of libraries are refused by
 * tests/memory_faults.py.
 *
 * The linker gives us malloc and so on of all objects of this program (cmake: --wrap). A short run takes a
 * share of the requests that is another one every day, BL_LONG=1 a larger one, BL_FAULTS=N about N of them,
 * BL_FAULTS=FIRST-LAST or FIRST-LAST/STRIDE these, so that a run over all can be done in parts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <backlight/backlight.h>

#include "base/base.h"
#include "support/todays_share.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- requests ---- */

static atomic_ulong asked, refused_at; /* since arm; 0: none is refused */
static atomic_bool from_then_on, armed;

static bool is_refused(void)
{
    if (!atomic_load(&armed))
        return false;
    const unsigned long n = atomic_fetch_add(&asked, 1) + 1, at = atomic_load(&refused_at);
    return at && (atomic_load(&from_then_on) ? n >= at : n == at);
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

void *__wrap_malloc(size_t size)
{
    errno = ENOMEM;
    return is_refused() ? NULL : __real_malloc(size);
}
void *__wrap_calloc(size_t count, size_t size)
{
    errno = ENOMEM;
    return is_refused() ? NULL : __real_calloc(count, size);
}
void *__wrap_realloc(void *memory, size_t size)
{
    errno = ENOMEM;
    return is_refused() ? NULL : __real_realloc(memory, size);
}
void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    errno = ENOMEM;
    return is_refused() ? NULL : __real_aligned_alloc(alignment, size);
}

/* ---- what is done ---- */

enum { SIDE = 8, VALUES = 3 * SIDE * SIDE };

static const char xml[] =
    "<scene version='3.0.0'><integrator type='prb'/><default name='red' value='0.5'/><sensor "
    "type='perspective'>"
    "<transform name='to_world'><lookat origin='0,0,5' target='0,0,0' up='0,1,0'/></transform>"
    "<film type='hdrfilm'><integer name='width' value='8'/><integer name='height' value='8'/></film></sensor>"
    "<bsdf type='blendbsdf' id='b'><float name='weight' value='0.5'/><bsdf type='diffuse' id='d'>"
    "<texture type='bitmap' name='reflectance'><string name='filename' "
    "value='memory_faults.pfm'/></texture></bsdf>"
    "<bsdf type='roughconductor'><float name='alpha' value='0.3'/></bsdf></bsdf>"
    "<shape type='obj' id='m'><string name='filename' value='memory_faults.obj'/><ref id='b'/></shape>"
    "<shape type='sphere'><point name='center' x='0' y='0' z='-3'/><bsdf type='diffuse'><rgb "
    "name='reflectance' "
    "value='$red,0.2,0.3'/></bsdf></shape><emitter type='constant'/></scene>";

/* What came of everything. */
typedef struct outcome {
    bl_result result;
    float image[VALUES], gradient[12], fitted[12];
    char said[300];
} outcome;

static bl_result work(bl_context *ctx, bl_device *device, bl_scene *scene, bl_job **job, bl_fit **fit,
                      outcome *o)
{
    static const char *const names[] = {"d.reflectance.data"};
    static float ones[VALUES];
    for (int i = 0; i < VALUES; i++)
        ones[i] = 1;
    (void)ctx;
    TRY(bl_job_create(device, scene, &(bl_job_desc){.parameters = names, .parameter_count = 1}, job));
    TRY(bl_job_render(*job, &(bl_render_desc){.spp = 2}, o->image, NULL));
    TRY(bl_job_gradient(*job, &(bl_gradient_desc){.spp = 2, .adjoint = ones}, NULL));
    TRY(bl_job_read_gradient(*job, 0, o->gradient));
    const bl_fit_parameter parameter = {.name = names[0]};
    TRY(bl_fit_create(
        device, scene,
        &(bl_fit_desc){.parameters = &parameter, .parameter_count = 1, .target = ones, .spp = 2}, fit));
    TRY(bl_fit_step(*fit, NULL));
    TRY(bl_fit_save(*fit, "memory_faults.checkpoint", "note", 4));
    return bl_fit_get(*fit, 0, o->fitted);
}

static outcome everything(void)
{
    outcome o = {0};
    bl_context *ctx = NULL;
    bl_device *device = NULL;
    bl_scene *scene = NULL;
    bl_job *job = NULL;
    bl_fit *fit = NULL;
    o.result = bl_context_create(NULL, &ctx);
    if (o.result == BL_OK)
        o.result = bl_device_create(ctx, "native", &device);
    if (o.result == BL_OK)
        o.result = bl_scene_load_string(ctx, xml, ".", NULL, &scene);
    if (o.result == BL_OK)
        o.result = work(ctx, device, scene, &job, &fit, &o);
    if (o.result != BL_OK && ctx)
        snprintf(o.said, sizeof o.said, "%.290s", bl_context_error(ctx));
    bl_fit_destroy(fit);
    bl_job_destroy(job);
    bl_scene_destroy(scene);
    bl_device_destroy(device);
    bl_context_destroy(ctx);
    return o;
}

static outcome with_refusal(unsigned long at, bool later_too)
{
    atomic_store(&asked, 0), atomic_store(&refused_at, at), atomic_store(&from_then_on, later_too);
    atomic_store(&armed, true);
    outcome o = everything();
    atomic_store(&armed, false);
    return o;
}

static void make_files(void)
{
    float pixels[12];
    for (int i = 0; i < 12; i++)
        pixels[i] = 0.05f * (float)i;
    bl_context *ctx;
    assert_int_equal(bl_context_create(&(bl_context_desc){.no_devices = true}, &ctx), BL_OK);
    assert_int_equal(bl_image_write(ctx, "memory_faults.pfm", 2, 2, 3, pixels), BL_OK);
    bl_context_destroy(ctx);
    FILE *file = fopen("memory_faults.obj", "w");
    assert_non_null(file);
    fputs("v -1 -1 0\nv 1 -1 0\nv -1 1 0\nv 1 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nvt 1 1\nf 1/1 2/2 3/3\nf 2/2 4/4 "
          "3/3\n",
          file);
    fclose(file);
}

/* Whether it failed. */
static bool check(unsigned long at, bool later_too, const outcome *usual)
{
    const outcome o = with_refusal(at, later_too);
    if (o.result == BL_OK) {
        assert_memory_equal(o.image, usual->image, sizeof o.image);
        assert_memory_equal(o.gradient, usual->gradient, sizeof o.gradient);
        assert_memory_equal(o.fitted, usual->fitted, sizeof o.fitted);
    } else if (o.result != BL_ERROR_MEMORY && o.result != BL_ERROR_DEVICE_MEMORY) {
        fail_msg("request %lu%s refused: %d, %s", at, later_too ? " and later ones" : "", (int)o.result,
                 o.said);
    }
    assert_false(memory_low());
    return o.result != BL_OK;
}

/* Which requests are refused. */
typedef struct share {
    unsigned long first, last, stride;
} share;

static share share_of(unsigned long count)
{
    const char *wanted = getenv("BL_FAULTS");
    share s = {.stride = 1};
    if (wanted && sscanf(wanted, "%lu-%lu/%lu", &s.first, &s.last, &s.stride) >= 2)
        return (share){s.first ? s.first : 1, s.last < count ? s.last : count, s.stride ? s.stride : 1};
    const unsigned long runs = wanted ? strtoul(wanted, NULL, 10) + 1 : getenv("BL_LONG") ? 2000 : 40;
    s.stride = count / runs > 0 ? count / runs : 1;
    s.first = 1 + (unsigned long)today() % s.stride;
    s.last = count;
    return s;
}

static void test_refusals(void **state)
{
    (void)state;
    make_files();
    const outcome usual = with_refusal(0, false);
    const unsigned long count = atomic_load(&asked);
    if (usual.result == BL_ERROR_NO_DEVICE)
        skip();
    if (usual.result != BL_OK)
        fail_msg("%s", usual.said);
    const share of = share_of(count);
    uint32_t failed = 0, done = 0;
    for (unsigned long at = of.first; at <= of.last; at += of.stride, done++) {
        failed += check(at, false, &usual);
        failed += check(at, true, &usual);
        if (done % 500 == 499)
            fprintf(stderr, "up to request %lu\n", at);
    }
    printf("%lu requests, %u of them refused, from %lu to %lu; %u calls failed\n", count, done, of.first,
           of.last, failed);
    assert_true(failed > 0);
    assert_int_equal(everything().result, BL_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
