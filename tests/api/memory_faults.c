/* LABELS: native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Memory runs out. Every request of ours is refused in turn, once or from then on, while scenes are loaded,
 * jobs made, images, gradients and steps of fits computed. A call then either does what it does otherwise, to
 * the same bytes, or returns BL_ERROR_MEMORY (a limit, or a device without memory). Everything can be
 * destroyed after it, nothing of the reserve stays in use, and nothing else that was asked for is lost.
 * Requests of libraries are refused by tests/memory_faults.py.
 *
 * Each refusal has a process of its own, which is forked off when the request comes, so that nothing is
 * computed twice before it. So the native device has one thread here.
 *
 * The linker gives us malloc, free and so on of all objects of this program (cmake: --wrap). A short run
 * takes a share of the requests that is another one every day, BL_LONG=1 all (2000 under the address
 * sanitizer), BL_FAULTS=N about N of them, BL_FAULTS=FIRST-LAST or FIRST-LAST/STRIDE these.
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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RUNS = 200 }; /* requests of a short run */
#ifdef __SANITIZE_ADDRESS__
enum { RUNS_LONG = 2000 }; /* each is slower there */
#else
enum { RUNS_LONG = 1 << 30 };
#endif
/* How a process ends that was refused a request; any other way is wrong, too. */
enum { CALL_DONE = 70, CALL_FAILED, WRONG };

/* ---- requests ---- */

/* Which requests are refused. */
typedef struct share {
    unsigned long first, last, stride;
} share;

static bool armed;                 /* requests count */
static unsigned long asked;        /* since armed */
static share wanted;               /* a process is forked at each of these; last 0: none */
static unsigned long refused_at;   /* 0: none; in a process that was forked: where */
static bool from_then_on;          /* later ones, too */
static uint32_t done, failed, bad; /* processes; those whose call failed; that found something wrong */

/* What was asked for while armed and not freed: an open hash table. */
enum { HELD = 1 << 18 };
static const void *held[HELD];
static uint32_t held_count;

static uint32_t held_slot(const void *memory)
{
    uint32_t slot = (uint32_t)(((uintptr_t)memory >> 4) * 0x9E3779B97F4A7C15u >> 46);
    while (held[slot] && held[slot] != memory)
        slot = (slot + 1) % HELD;
    return slot;
}

static void *hold(void *memory)
{
    if (armed && memory) {
        held[held_slot(memory)] = memory;
        if (++held_count > HELD / 2)
            abort();
    }
    return memory;
}

static void let_go(const void *memory)
{
    uint32_t hole = held_slot(memory);
    if (!memory || !held[hole])
        return;
    held[hole] = NULL, held_count--;
    for (uint32_t k = (hole + 1) % HELD; held[k]; k = (k + 1) % HELD) { /* move up what comes behind */
        const void *moved = held[k];
        held[k] = NULL;
        held[held_slot(moved)] = moved;
    }
}

/* Forks the process that is refused the request; true in it. The other one waits for it and counts. */
static bool forked(bool later_too)
{
    int status;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        refused_at = asked, from_then_on = later_too;
        alarm(600);
        return true;
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        abort();
    const int ended = WIFEXITED(status) ? WEXITSTATUS(status) : WRONG;
    done++;
    failed += ended == CALL_FAILED;
    if (ended != CALL_DONE && ended != CALL_FAILED) {
        fprintf(stderr, "request %lu%s refused: %s %d\n", asked, later_too ? " and later ones" : "",
                WIFEXITED(status) ? "exit" : "signal",
                WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
        bad++;
    }
    return false;
}

static bool is_refused(void)
{
    if (!armed)
        return false;
    asked++;
    if (refused_at)
        return from_then_on;
    const bool chosen =
        asked >= wanted.first && asked <= wanted.last && (asked - wanted.first) % wanted.stride == 0;
    return chosen && (forked(false) || forked(true));
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *memory);

void *__wrap_malloc(size_t size)
{
    errno = ENOMEM;
    return is_refused() ? NULL : hold(__real_malloc(size));
}
void *__wrap_calloc(size_t count, size_t size)
{
    errno = ENOMEM;
    return is_refused() ? NULL : hold(__real_calloc(count, size));
}
void *__wrap_realloc(void *memory, size_t size)
{
    errno = ENOMEM;
    if (is_refused())
        return NULL;
    let_go(memory);
    return hold(__real_realloc(memory, size));
}
void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    errno = ENOMEM;
    return is_refused() ? NULL : hold(__real_aligned_alloc(alignment, size));
}
void __wrap_free(void *memory)
{
    let_go(memory);
    __real_free(memory);
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

/* The requests of s are refused, each in a process of its own; this one goes on as if nothing were. */
static outcome with_refusals(share s)
{
    asked = 0, wanted = s, armed = true;
    outcome o = everything();
    armed = false;
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

/* In a process that was refused a request: never returns. */
static _Noreturn void judge(const outcome *o, const outcome *usual)
{
    const bool same = memcmp(o->image, usual->image, sizeof o->image) == 0 &&
                      memcmp(o->gradient, usual->gradient, sizeof o->gradient) == 0 &&
                      memcmp(o->fitted, usual->fitted, sizeof o->fitted) == 0;
    const bool said = o->result == BL_ERROR_MEMORY || o->result == BL_ERROR_DEVICE_MEMORY;
    int status = o->result == BL_OK ? CALL_DONE : CALL_FAILED;
    if (o->result == BL_OK ? !same : !said)
        fprintf(stderr, "%s: %d, %s\n", o->result == BL_OK ? "other bytes" : "another error", (int)o->result,
                o->said),
            status = WRONG;
    if (memory_low())
        fprintf(stderr, "something of the reserve is in use\n"), status = WRONG;
    if (held_count)
        fprintf(stderr, "%u pieces are lost\n", held_count), status = WRONG;
    _exit(status);
}

static share share_of(unsigned long count)
{
    const char *given = getenv("BL_FAULTS");
    share s = {.stride = 1};
    if (given && sscanf(given, "%lu-%lu/%lu", &s.first, &s.last, &s.stride) >= 2)
        return (share){s.first ? s.first : 1, s.last < count ? s.last : count, s.stride ? s.stride : 1};
    const unsigned long runs = given ? strtoul(given, NULL, 10) + 1 : getenv("BL_LONG") ? RUNS_LONG : RUNS;
    s.stride = count / runs > 0 ? count / runs : 1;
    s.first = 1 + (unsigned long)today() % s.stride;
    s.last = count;
    return s;
}

static void test_refusals(void **state)
{
    (void)state;
    setenv("BL_THREADS", "1", 1); /* a forked process has no other */
    make_files();
    const outcome usual = with_refusals((share){.stride = 1});
    const unsigned long count = asked;
    if (usual.result == BL_ERROR_NO_DEVICE)
        skip();
    if (usual.result != BL_OK)
        fail_msg("%s", usual.said);
    assert_int_equal(held_count, 0);
    const share s = share_of(count);
    const outcome again = with_refusals(s);
    if (refused_at)
        judge(&again, &usual);
    printf("%lu requests, from %lu to %lu one of %lu refused: %u calls, %u of them failed\n", count, s.first,
           s.last, s.stride, done, failed);
    assert_int_equal(bad, 0);
    assert_true(failed > 0);
    assert_int_equal(again.result, BL_OK);
    assert_int_equal(asked, count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
