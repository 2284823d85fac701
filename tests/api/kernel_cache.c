/* LABELS: swiftshader lavapipe native */
/* SPDX-License-Identifier: BSD-3-Clause
 * The kernel cache through the public functions. The proof that its key contains everything: many different
 * jobs share one cache whose every hit is compiled again and compared (bl_context_testing.cache_verify). And:
 * what must change the key does, parameters' values do not, and images are the same bytes with a cache that
 * is empty, full, or damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <backlight/backlight_testing.h>

#include "support/scene_cases.h"
#include "support/scene_device.h"
#include "support/todays_share.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { SIDE = 8, VALUES = 3 * SIDE * SIDE };

static char folder[64];

static const bl_job_testing no_next_event = {.no_next_event = true};

/* A new run of a program: context and device of its own. cache NULL: none. */
static scene_device run_begin(const char *cache, bool verify)
{
    scene_device d = {0};
    const char *name = getenv("BL_DEVICE");
    assert_int_equal(
        bl_context_create(
            &(bl_context_desc){.cache = cache,
                               .cache_limit = 4ull << 30, /* nothing goes because others need the room */
                               .testing = &(bl_context_testing){.cache_verify = verify}},
            &d.context),
        BL_OK);
    SCENE_MUST(&d, bl_device_create(d.context, name && *name ? name : "swiftshader", &d.device));
    return d;
}

static void each_file(void (*change)(const char *path))
{
    arena a = {0};
    DIR *d = opendir(folder);
    for (const struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.')
            change(arena_printf(&a, "%s/%s", folder, e->d_name));
    if (d)
        closedir(d);
    arena_free(&a);
}

static void remove_file(const char *path) { unlink(path); }

static int empty_folder(void **state)
{
    (void)state;
    each_file(remove_file);
    return 0;
}

/* ---- nothing is forgotten in the key ---- */

static const bl_pass passes[] = {BL_PASS_PRIMAL,  BL_PASS_GRADIENT, BL_PASS_REPLAY,
                                 BL_PASS_ADJOINT, BL_PASS_FROZEN,   BL_PASS_FORWARD};

static void words_of(scene_device *d, const bl_scene *scene, bl_job_desc desc)
{
    bl_job *job;
    SCENE_MUST(d, bl_job_create(d->device, scene, &desc, &job));
    for (size_t k = 0; k < sizeof passes / sizeof *passes; k++) {
        uint32_t *words;
        size_t count;
        bool gradient =
            passes[k] == BL_PASS_GRADIENT || passes[k] == BL_PASS_ADJOINT || passes[k] == BL_PASS_FORWARD;
        if ((gradient && desc.parameter_count == 0) || (passes[k] == BL_PASS_FROZEN && !desc.frozen))
            continue;
        SCENE_MUST(d, bl_job_spirv(job, passes[k], &words, &count));
        assert_true(count > 100);
        free(words);
    }
    bl_job_destroy(job);
}

static void case_words(scene_device *d, const scene_case *c, const char *files, int32_t depth)
{
    arena a = {0};
    bl_scene *scene = scene_device_load(d, scene_case_xml(&a, c, depth, SIDE, SIDE), files);
    uint32_t count = scene_case_parameter_count(c);
    const bl_job_desc whole = {.parameters = c->parameters, .parameter_count = count};
    bl_job_desc other[] = {whole, whole, whole, whole, {0}, whole};
    bl_device_info info;
    SCENE_MUST(d, bl_device_info_get(d->device, &info));
    other[1].no_baking = true, other[2].sensor_moves = true, other[3].parameter_count = count > 1 ? 1 : count;
    other[3].testing = &no_next_event, other[4].frozen = true;
    other[5].rays = info.ray_query ? BL_RAYS_QUERY : BL_RAYS_AUTO;
    for (size_t k = 0; k < sizeof other / sizeof *other; k++)
        words_of(d, scene, other[k]);
    bl_scene_destroy(scene);
    arena_free(&a);
}

static bl_cache_info all_cases(const char *files, bool verify, bool *on_processor)
{
    scene_device d = run_begin(folder, verify);
    SCENE_MUST(&d, bl_device_info_get(d.device, &d.info));
    *on_processor = scene_device_on_processor(&d);
    for (uint32_t i = 0; i < scene_case_count; i++)
        for (int32_t depth = 2; depth < 4 && todays_share(i); depth++)
            case_words(&d, &scene_cases[i], files, depth);
    bl_cache_info info = bl_context_cache_info(d.context);
    scene_device_close(&d);
    return info;
}

static void hits_are_what_compilation_makes(void **state)
{
    (void)state;
    char *files = scene_files_create();
    assert_non_null(files);
    bool on_processor; /* drivers of GPUs have entries of their own */
    bl_cache_info first = all_cases(files, true, &on_processor),
                  second = all_cases(files, true, &on_processor);
    printf("%llu kernels, of them %llu different\n", (unsigned long long)(first.hits + first.misses),
           (unsigned long long)first.misses);
    assert_true(first.misses > 100 && first.entries >= first.misses);
    assert_true(first.entries == first.misses || !on_processor);
    assert_true(second.misses == 0 && second.hits == first.hits + first.misses);
    scene_files_remove(files);
}

/* ---- what changes the key ---- */

typedef struct variant {
    const char *name;
    bool same;                               /* the kernel of the first variant serves */
    const char *grey, *at, *radiance, *bsdf; /* NULL: "0.5", "0", "3", "diffuse" */
    uint32_t depth, side;                    /* 0: 3, SIDE */
    bl_job_desc desc; /* parameters are added; parameter_count is given up to 2; 0: 1 */
} variant;

static const variant variants[] = {
    {"base", .same = false},
    {"once more", .same = true},
    {"a parameter's value", .same = true, .grey = "0.25"},
    {"a light's value", .same = true, .radiance = "7"},
    {"the size of the image", .same = true, .side = 2 * SIDE},
    {"depth", .depth = 4},
    {"another requested parameter", .desc = {.parameter_count = 2}},
    {"baked geometry", .at = "0.125"},
    {"general traversal", .desc = {.no_baking = true}},
    {"geometry that is not baked", .same = true, .at = "0.25", .desc = {.no_baking = true}},
    {"a sensor that moves", .desc = {.sensor_moves = true}},
    {"no light sampling", .desc = {.testing = &no_next_event}},
    {"another material", .bsdf = "twosided"},
};

static const char *either(const char *given, const char *otherwise) { return given ? given : otherwise; }

static bl_scene *variant_scene(scene_device *d, const variant *v)
{
    arena a = {0};
    bool twosided = v->bsdf != NULL;
    uint32_t side = v->side ? v->side : SIDE;
    char *body = arena_printf(
        &a,
        "%s<bsdf type='diffuse' id='wall'><rgb name='reflectance' value='%s'/></bsdf>%s"
        "<shape type='rectangle'><transform name='to_world'><scale value='2'/><translate "
        "x='%s'/></transform><ref id='%s'/></shape>"
        "<shape type='rectangle'><transform name='to_world'><rotate x='1' angle='170'/><translate "
        "z='2'/></transform>"
        "<emitter type='area' id='lamp'><rgb name='radiance' value='%s'/></emitter></shape>",
        twosided ? "<bsdf type='twosided' id='both'>" : "", either(v->grey, "0.5"), twosided ? "</bsdf>" : "",
        either(v->at, "0"), twosided ? "both" : "wall", either(v->radiance, "3"));
    char *integrator =
        arena_printf(&a, "<integrator type='path'><integer name='max_depth' value='%u'/></integrator>",
                     v->depth ? v->depth : 3);
    bl_scene *s = scene_device_load(
        d, scene_xml(&a, integrator, arena_printf(&a, scene_sensor_format, side, side), body), ".");
    arena_free(&a);
    return s;
}

static void structure_changes_the_key_and_values_do_not(void **state)
{
    (void)state;
    static const char *const names[] = {"lamp.radiance.value", "wall.reflectance.value"};
    scene_device d = run_begin(folder, true);
    for (size_t k = 0; k < sizeof variants / sizeof *variants; k++) {
        const variant *v = &variants[k];
        bl_scene *scene = variant_scene(&d, v);
        bl_job_desc desc = v->desc;
        uint64_t misses = bl_context_cache_info(d.context).misses;
        bl_job *job;
        uint32_t *words;
        size_t count;
        desc.parameters = names, desc.parameter_count = desc.parameter_count ? desc.parameter_count : 1;
        SCENE_MUST(&d, bl_job_create(d.device, scene, &desc, &job));
        SCENE_MUST(&d, bl_job_spirv(job, BL_PASS_GRADIENT, &words, &count));
        free(words);
        if ((bl_context_cache_info(d.context).misses == misses) != v->same)
            fail_msg("%s: the kernel came from %s", v->name, v->same ? "compilation" : "the cache");
        bl_job_destroy(job);
        bl_scene_destroy(scene);
    }
    scene_device_close(&d);
}

/* ---- results ---- */

static void make_picture(const char *cache, float *out, bl_kernel_info *info, bl_cache_info *use)
{
    scene_device d = run_begin(cache, false);
    bl_scene *scene = variant_scene(&d, &variants[0]);
    bl_job *job;
    SCENE_MUST(&d, bl_job_create(d.device, scene, NULL, &job));
    SCENE_MUST(&d, bl_job_compile(job, BL_PASS_PRIMAL, info));
    SCENE_MUST(&d, bl_job_render(job, &(bl_render_desc){.spp = 4, .seed = 3}, out, NULL));
    bl_job_destroy(job);
    bl_scene_destroy(scene);
    *use = bl_context_cache_info(d.context);
    scene_device_close(&d);
}

static void cut_file(const char *path) { assert_int_equal(truncate(path, 1000), 0); }

static void images_do_not_depend_on_the_cache(void **state)
{
    (void)state;
    static float without[VALUES], with[VALUES];
    bl_kernel_info info, compiled;
    bl_cache_info use;
    make_picture(NULL, without, &compiled, &use);
    assert_true(without[VALUES / 2] > 0 && !compiled.cached && use.folder == NULL &&
                use.hits + use.misses == 0);
    void (*const before[])(const char *) = {remove_file, NULL, cut_file, NULL};
    const bool cached[] = {false, true, false, true};
    for (size_t k = 0; k < sizeof cached / sizeof *cached; k++) {
        if (before[k])
            each_file(before[k]);
        make_picture(folder, with, &info, &use);
        assert_memory_equal(with, without, sizeof with);
        assert_true(info.cached == cached[k] && info.spirv_words == compiled.spirv_words);
        assert_true(use.hits == cached[k] && use.misses == !cached[k] && !use.unusable);
    }
}

/* Gives an entry words that no device takes, with all that makes the cache believe it. */
static void forge_file(const char *path)
{
    enum { CHECKSUM_AT = 8, CHECKED_FROM = 16, HEAD = 48 };
    char *bytes;
    size_t size;
    assert_int_equal(file_read(path, 64 << 20, (void **)&bytes, &size, NULL), BL_OK);
    memset(bytes + HEAD + 4, 0, size - HEAD - 4); /* the first word is the number of push constants */
    uint64_t checksum = XXH3_64bits(bytes + CHECKED_FROM, size - CHECKED_FROM);
    memcpy(bytes + CHECKSUM_AT, &checksum, sizeof checksum);
    assert_int_equal(file_write(path, bytes, size, NULL), BL_OK);
    free(bytes);
}

static void words_that_the_device_refuses_are_made_anew(void **state)
{
    (void)state;
    static float without[VALUES], with[VALUES];
    bl_kernel_info info;
    bl_cache_info use;
    make_picture(NULL, without, &info, &use);
    make_picture(folder, with, &info, &use);
    each_file(forge_file);
    make_picture(folder, with, &info, &use);
    assert_memory_equal(with, without, sizeof with);
    assert_false(info.cached);
    make_picture(folder, with, &info, &use); /* and were kept */
    assert_memory_equal(with, without, sizeof with);
    assert_true(info.cached);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(hits_are_what_compilation_makes, empty_folder),
        cmocka_unit_test_setup(structure_changes_the_key_and_values_do_not, empty_folder),
        cmocka_unit_test_setup(images_do_not_depend_on_the_cache, empty_folder),
        cmocka_unit_test_setup(words_that_the_device_refuses_are_made_anew, empty_folder),
    };
    scene_device probe;
    if (!scene_device_open(&probe))
        return scene_device_missing();
    scene_device_close(&probe);
    snprintf(folder, sizeof folder, "api_kernel_cache.%ld", (long)getpid());
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    empty_folder(NULL);
    rmdir(folder);
    return failed;
}
