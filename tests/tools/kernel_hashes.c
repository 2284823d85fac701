/* SPDX-License-Identifier: BSD-3-Clause
 * The guard of changes of form: one line per kernel of each scene, with a hash of its SPIR-V (or, faster, of
 * its recorded trace). Names inside kernels do not count. It is a tool, not a test: record the list before a
 * change, and compare it afterwards.
 *
 *     build/tests/kernel_hashes --spirv SCENE.xml... > before
 *     build/tests/kernel_hashes --spirv SCENE.xml... | diff before -
 *
 * tests/tools/kernel-hashes does that for all scenes of assets/ and of the reference folder. */
#include "api/kernel_code.h"
#include "api/ray_backend.h"
#include "api/scene.h"
#include "render/integrator/passes.h"
#include "spirv_gen/opt/opt.h"
#include "spirv_gen/spv/spv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

typedef struct variant {
    const char *name;
    const char *mode;       /* NULL: rgb */
    const char *integrator; /* NULL: the scene's */
    bool values, geometry;  /* which parameters are requested */
    plan_rays rays;
    bool drt, lists_lanes, batch;
} variant;

static const variant variants[] = {
    {.name = "image", .rays = PLAN_RAYS_BVH},
    {.name = "image baked", .rays = PLAN_RAYS_BAKED},
    {.name = "image queries", .rays = PLAN_RAYS_QUERY},
    {.name = "values", .values = true, .rays = PLAN_RAYS_BVH},
    {.name = "values baked", .values = true, .rays = PLAN_RAYS_BAKED},
    {.name = "values listed", .values = true, .rays = PLAN_RAYS_BVH, .lists_lanes = true},
    {.name = "values batch", .values = true, .rays = PLAN_RAYS_BVH, .batch = true},
    {.name = "values drt", .values = true, .rays = PLAN_RAYS_BVH, .drt = true},
    {.name = "geometry", .geometry = true, .rays = PLAN_RAYS_BVH},
    {.name = "all", .values = true, .geometry = true, .rays = PLAN_RAYS_BVH},
    {.name = "all attached", .integrator = "prb_attached", .values = true, .rays = PLAN_RAYS_BVH},
    {.name = "all ptracer", .integrator = "ptracer", .values = true, .rays = PLAN_RAYS_BVH},
    {.name = "all volpath", .integrator = "volpath", .values = true, .geometry = true, .rays = PLAN_RAYS_BVH},
    {.name = "tape", .integrator = "tape", .values = true, .rays = PLAN_RAYS_BVH},
    {.name = "rb", .integrator = "rb", .values = true, .rays = PLAN_RAYS_BVH},
    {.name = "rb_biased1", .integrator = "rb_biased1", .values = true, .rays = PLAN_RAYS_BVH},
    {.name = "all mono", .mode = "mono", .values = true, .geometry = true, .rays = PLAN_RAYS_BVH},
    {.name = "values spectral", .mode = "spectral", .values = true, .rays = PLAN_RAYS_BVH},
    {.name = "image polarized", .mode = "rgb_polarized", .rays = PLAN_RAYS_BVH},
};

/* Whether the pass has a meaning for the plan. The list is as long as a change of form can want it: an image
 * is one of every variant, channels are there without names, checks want a request. */
static bool applies(const plan *p, const variant *v, render_pass pass)
{
    const render_pass_info *info = &render_passes[pass];
    bool light = p->scene->light_tracing, tape = p->scene->method == METHOD_TAPE;
    unsigned needs = info->needs & ~(unsigned)NEEDS_CHANNELS;
    if (render_pass_walks(pass) && light && (!info->light_tracing || pass == RENDER_CHANNELS))
        return false;
    if (render_pass_walks(pass) && tape && info->kind != PASS_IMAGE && !(info->needs & NEEDS_TAPE))
        return false;
    if (pass == RENDER_UNROLLED && strcmp(v->name, "values"))
        return false;
    if (pass == RENDER_GEOMETRY && !v->geometry)
        return false;
    if (info->kind == PASS_CHECK)
        needs |= NEEDS_REQUEST;
    return render_pass_lacks(p, needs) == NULL;
}

static uint64_t hash_text(const ir_module *m)
{
    text listing = {0};
    ir_print(m, &listing);
    uint64_t h = XXH3_64bits(listing.data, listing.length);
    text_free(&listing);
    return h;
}

static bl_result hash_words(const plan *p, const ir_module *m, uint64_t *hash, bl_error *err)
{
    opt_options o = {
        .gradient_elements = p->gradient_count,
        .accumulate = OPT_ACCUMULATE_FIXED,
        .scale_buffer = BUFFER_SCALE,
        .status_buffer = BUFFER_STATUS,
        .overflow_word = STATUS_OVERFLOW,
        .underflow_word = STATUS_UNDERFLOW,
    };
    spv_options generate = {.local_size = LOCAL_SIZE, .names = false, .rays = ray_backend_lowering(p)};
    spv_code code;
    ir_module *lowered;
    plan_ray_options(p, &o);
    TRY(opt_run(m, &o, &lowered, err));
    bl_result r = spv_generate(lowered, &generate, &code, err);
    ir_module_destroy(lowered);
    if (r != BL_OK)
        return r;
    *hash = XXH3_64bits(code.words, 4 * code.word_count);
    spv_code_free(&code);
    return BL_OK;
}

static void hash_pass(const char *scene, const plan *p, const variant *v, render_pass pass, bool spirv)
{
    bl_error err = {0};
    ir_module *m;
    uint64_t hash = 0;
    render_trace_options o = {.unrolled_depth = 2, .fixed_point = true};
    bl_result r = render_trace(p, pass, &o, &m, &err);
    if (r == BL_OK) {
        if (spirv)
            r = hash_words(p, m, &hash, &err);
        else
            hash = hash_text(m);
        ir_module_destroy(m);
    }
    if (r == BL_OK)
        printf("%s\t%s\t%s\t%016llx\n", scene, v->name, render_passes[pass].name, (unsigned long long)hash);
    else
        printf("%s\t%s\t%s\terror: %s\n", scene, v->name, render_passes[pass].name, err.text);
    fflush(stdout);
}

static void hash_variant(const char *name, bl_scene *scene, const variant *v, bool spirv)
{
    const render_scene *s = scene->render;
    uint32_t count = bl_scene_parameter_count(scene), requested = 0;
    uint32_t *list = calloc(count + 1u, sizeof *list);
    bool geometry = false;
    for (uint32_t i = 0; i < count; i++) {
        bl_parameter_info info;
        if (bl_scene_parameter_info(scene, i, &info) == BL_OK && info.differentiable &&
            (info.geometry ? v->geometry : v->values))
            list[requested++] = i, geometry |= info.geometry;
    }
    bool wanted = (!v->values && !v->geometry) || (v->values && requested > 0) || (v->geometry && geometry);
    bool baked = v->rays == PLAN_RAYS_BAKED;
    if (wanted && (!baked || plan_can_bake(s))) {
        plan *p = plan_create(s, list, requested, v->rays, 0);
        p->drt = v->drt, p->lists_lanes = v->lists_lanes;
        if (v->batch)
            plan_reserve_batch(p, 2, 64);
        if (!v->drt || plan_has_media(p))
            for (render_pass pass = 0; pass < RENDER_PASS_COUNT; pass++)
                if (applies(p, v, pass))
                    hash_pass(name, p, v, pass, spirv);
        plan_destroy(p);
    }
    free(list);
}

static void hash_scene(bl_context *ctx, const char *path, bool spirv)
{
    for (size_t k = 0; k < sizeof variants / sizeof *variants; k++) {
        bl_scene *scene;
        bl_scene_desc desc = {.mode = variants[k].mode, .integrator = variants[k].integrator};
        if (bl_scene_load(ctx, path, &desc, &scene) != BL_OK) {
            printf("%s\t%s\tnot loaded\n", path, variants[k].name);
            continue;
        }
        hash_variant(path, scene, &variants[k], spirv);
        bl_scene_destroy(scene);
    }
}

int main(int argc, char **argv)
{
    bool spirv = argc > 1 && strcmp(argv[1], "--spirv") == 0;
    bl_context *ctx;
    if (argc < 2 + spirv) {
        fprintf(stderr, "usage: kernel_hashes [--spirv] SCENE...\n");
        return 2;
    }
    if (bl_context_create(NULL, &ctx) != BL_OK)
        return 1;
    for (int k = 1 + spirv; k < argc; k++)
        hash_scene(ctx, argv[k], spirv);
    bl_context_destroy(ctx);
    return 0;
}
