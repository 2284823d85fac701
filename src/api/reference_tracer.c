/* SPDX-License-Identifier: BSD-3-Clause
 * The reference tracer: fills the buffers of glsl/reference_pt.comp from a scene and runs it. This file
 * decides which scenes it takes. Camera and light tables are computed from the description again, and not
 * taken from what the generated kernels read, so that an error there shows. */
#include "api/device.h"
#include "api/job_dispatch.h"
#include "api/kernel_code.h"
#include "api/scene.h"

#include "glsl_kernels.h"
#include "render/classes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BINDINGS = 6,
    STACK = 64,
    NODE_WORDS = 16,
    TRIANGLE_WORDS = 12,
    MATERIAL_WORDS = 8,
    LIGHT_WORDS = 4,
    TABLE_WORDS = 10
};
enum binding { NODES, TRIANGLES, MATERIALS, LIGHTS, FILM, COUNTERS };
enum counter { RAYS_LOW, RAYS_HIGH, DROPPED, COUNTER_COUNT };
enum push {
    FIRST_LANE,
    LANE_COUNT,
    FIRST_SAMPLE,
    LAST_SAMPLE,
    STRIPS,
    SPP,
    SEED,
    WIDTH,
    HEIGHT,
    MAX_DEPTH,
    RR_DEPTH,
    LIGHT_COUNT,
    ORIGIN,
    CORNER = ORIGIN + 3,
    RIGHT = CORNER + 3,
    DOWN = RIGHT + 3,
    NEAR_BY_DEPTH = DOWN + 3,
    FAR_BY_DEPTH,
    PUSH_WORDS
};

struct bl_reference {
    bl_device *device;
    const render_scene *scene;
    gpu_kernel *kernel;
    gpu_batch *batch;
    gpu_buffer *buffers[BINDINGS], *image;
    uint32_t push[PUSH_WORDS];
    double paths_per_second; /* measured speed, for slicing */
};

/* ---- scenes it takes ---- */

static bool named(const scene_object *o, const char *name) { return o && strcmp(o->cls->name, name) == 0; }
static bool constant(const scene_object *o, const char *param)
{
    return named(scene_get(o, param)->object, "constant");
}

static const char *unsupported_shape(const render_scene *s, uint32_t i)
{
    const render_shape *shape = &s->shapes.data[i];
    if (shape->kind != SHAPE_TRIANGLES)
        return "a shape that is not made of triangles";
    if (s->geometry.data[shape->data + MESH_NORMALS] != PLAN_NONE)
        return "a mesh with vertex normals";
    if (!named(shape->bsdf, "diffuse") || !constant(shape->bsdf, "reflectance"))
        return "a material other than diffuse of one colour";
    if (shape->emitter && !constant(shape->emitter, "radiance"))
        return "a light with a texture";
    return NULL;
}

static const char *unsupported(const render_scene *s)
{
    if (!s->use_next_event || !s->use_bsdf_sampling || s->hide_emitters)
        return "an integrator that is not a plain path tracer";
    if (!mode_is_rgb(s->mode))
        return "another mode than rgb";
    if (!named(s->sensor, "perspective") || !scene_get(s->sensor, "fov")->given)
        return "a sensor that is not perspective with a field of view";
    if (!named(s->filter, "box"))
        return "a filter other than box";
    if (s->emitters.count == 0)
        return "no lights";
    for (uint32_t i = 0; i < s->emitters.count; i++)
        if (s->emitter_shape.data[i] == PLAN_NONE)
            return "a light that is not a shape";
    for (uint32_t i = 0; i < s->shapes.count; i++)
        if (unsupported_shape(s, i))
            return unsupported_shape(s, i);
    return s->bvh.depth + 1 > STACK ? "a hierarchy deeper than its stack" : NULL;
}

/* ---- buffers ---- */

static void put_floats(uint32_t *words, const float *values, uint32_t count)
{
    memcpy(words, values, count * sizeof *words);
}

static bl_result upload(bl_reference *r, enum binding which, const char *label, const uint32_t *words,
                        uint64_t count, bl_error *err)
{
    TRY(gpu_buffer_create(r->device->gpu, GPU_DEVICE, 4 * count, label, &r->buffers[which], err));
    return words ? gpu_buffer_write(r->buffers[which], 0, words, 4 * count, err) : BL_OK;
}

/* Uploads the triangles in the order of the tree's leaves. Each has the material of its shape. */
static bl_result upload_triangles(bl_reference *r, arena *a, bl_error *err)
{
    const render_scene *s = r->scene;
    uint32_t *words = arena_alloc(a, (size_t)s->bvh.count * TRIANGLE_WORDS * sizeof *words);
    for (uint32_t i = 0; i < s->bvh.count; i++) {
        const uint32_t *entry = s->primitives.data[s->bvh.order[i]].entry;
        memcpy(words + TRIANGLE_WORDS * i, entry, 9 * sizeof *words);
        words[TRIANGLE_WORDS * i + 9] = entry[BVH_ENTRY_SHAPE];
    }
    return upload(r, TRIANGLES, "reference triangles", words, (uint64_t)s->bvh.count * TRIANGLE_WORDS, err);
}

static void put_colour(uint32_t *words, const scene_object *owner, const char *param)
{
    const double *v = scene_get(scene_get(owner, param)->object, "value")->vector;
    put_floats(words, (float[3]){(float)v[0], (float)v[1], (float)v[2]}, 3);
}

static double length_of_cross(const float *a, const float *b)
{
    double x = (double)a[1] * b[2] - (double)a[2] * b[1], y = (double)a[2] * b[0] - (double)a[0] * b[2],
           z = (double)a[0] * b[1] - (double)a[1] * b[0];
    return sqrt(x * x + y * y + z * z);
}

static double triangle_area(const uint32_t *entry)
{
    float e[6];
    memcpy(e, entry + 3, sizeof e);
    return 0.5 * length_of_cross(e, e + 3);
}

static double shape_area(const render_scene *s, const render_shape *shape)
{
    double area = 0;
    for (uint32_t k = 0; k < shape->primitive_count; k++)
        area += triangle_area(s->primitives.data[shape->first_entry_primitive + k].entry);
    return area;
}

static bl_result upload_materials(bl_reference *r, arena *a, bl_error *err)
{
    const render_scene *s = r->scene;
    uint32_t *words = arena_alloc(a, s->shapes.count * MATERIAL_WORDS * sizeof *words);
    for (uint32_t i = 0; i < s->shapes.count; i++) {
        const render_shape *shape = &s->shapes.data[i];
        uint32_t *w = words + MATERIAL_WORDS * i;
        put_colour(w, shape->bsdf, "reflectance");
        if (!shape->emitter)
            continue;
        put_colour(w + 3, shape->emitter, "radiance");
        put_floats(w + 6, (float[]){(float)(1 / (s->emitters.count * shape_area(s, shape)))}, 1);
    }
    return upload(r, MATERIALS, "reference materials", words, s->shapes.count * (uint64_t)MATERIAL_WORDS,
                  err);
}

static bl_result upload_lights(bl_reference *r, arena *a, bl_error *err)
{
    const render_scene *s = r->scene;
    uint32_t count = LIGHT_WORDS * s->emitters.count, at = count;
    for (uint32_t i = 0; i < s->emitters.count; i++)
        count += TABLE_WORDS * s->shapes.data[s->emitter_shape.data[i]].primitive_count;
    uint32_t *words = arena_alloc(a, count * sizeof *words);
    for (uint32_t i = 0; i < s->emitters.count; i++) {
        const render_shape *shape = &s->shapes.data[s->emitter_shape.data[i]];
        double total = shape_area(s, shape), area = 0;
        memcpy(words + LIGHT_WORDS * i, (uint32_t[]){at, shape->primitive_count, s->emitter_shape.data[i]},
               3 * sizeof *words);
        for (uint32_t k = 0; k < shape->primitive_count; k++, at += TABLE_WORDS) {
            const uint32_t *entry = s->primitives.data[shape->first_entry_primitive + k].entry;
            area += triangle_area(entry);
            put_floats(words + at, (float[]){k + 1 == shape->primitive_count ? 1 : (float)(area / total)}, 1);
            memcpy(words + at + 1, entry, 9 * sizeof *words);
        }
    }
    return upload(r, LIGHTS, "reference lights", words, count, err);
}

/* ---- camera ---- */

static double tangent_x(const scene_object *o, double aspect)
{
    double half = tan(scene_get(o, "fov")->number * acos(-1) / 360);
    const char *axis = scene_get(o, "fov_axis")->text;
    if (strcmp(axis, "diagonal") == 0)
        return half * aspect / sqrt(1 + aspect * aspect);
    bool y = strcmp(axis, "y") == 0 || (strcmp(axis, "smaller") == 0 && aspect > 1) ||
             (strcmp(axis, "larger") == 0 && aspect < 1);
    return y ? half * aspect : half;
}

/* Camera space has +x to the left and +y up. Film coordinates X and Y are in [0, 1], with Y down. They look
 * along the direction ((1 - 2 X) tx, (1 - 2 Y) ty, 1). */
static void set_camera(bl_reference *r)
{
    const render_scene *s = r->scene;
    const double *m = scene_get(s->sensor, "to_world")->matrix;
    double aspect = (double)s->full_width / s->full_height, tx = tangent_x(s->sensor, aspect),
           ty = tx / aspect;
    double x = (double)s->crop_x / s->full_width + scene_number(s->sensor, "principal_point_offset_x");
    double y = (double)s->crop_y / s->full_height + scene_number(s->sensor, "principal_point_offset_y");
    for (int k = 0; k < 3; k++) {
        const double *row = m + 4 * k; /* axes x, y, z and the origin, component k */
        put_floats(r->push + ORIGIN + k, (float[]){(float)row[3]}, 1);
        put_floats(r->push + CORNER + k,
                   (float[]){(float)(row[2] + (1 - 2 * x) * tx * row[0] + (1 - 2 * y) * ty * row[1])}, 1);
        put_floats(r->push + RIGHT + k, (float[]){(float)(-2 * tx / s->full_width * row[0])}, 1);
        put_floats(r->push + DOWN + k, (float[]){(float)(-2 * ty / s->full_height * row[1])}, 1);
    }
    put_floats(
        r->push + NEAR_BY_DEPTH,
        (float[]){(float)scene_number(s->sensor, "near_clip"), (float)scene_number(s->sensor, "far_clip")},
        2);
}

/* ---- life ---- */

static bl_result create(bl_reference *r, bl_kernel_info *info, bl_error *err)
{
    const render_scene *s = r->scene;
    const char *reason = unsupported(s);
    if (reason)
        return error_set(err, BL_ERROR_UNSUPPORTED, "the reference path tracer does not take this scene: %s",
                         reason);
    double start = clock_seconds();
    gpu_kernel_desc d = {
        .words = glsl_reference_pt,
        .word_count = glsl_reference_pt_words,
        .buffer_count = BINDINGS,
        .push_words = PUSH_WORDS,
        .local_size = LOCAL_SIZE,
        .label = "reference",
    };
    TRY(gpu_kernel_create(r->device->gpu, &d, &r->kernel, err));
    if (info)
        *info = (bl_kernel_info){
            .driver_seconds = clock_seconds() - start,
            .spirv_words = glsl_reference_pt_words,
        };
    TRY(gpu_batch_create(r->device->gpu, &r->batch, err));
    arena a = {0};
    bl_result result =
        upload(r, NODES, "reference nodes", s->bvh.nodes, (uint64_t)s->bvh.node_count * NODE_WORDS, err);
    if (result == BL_OK)
        result = upload_triangles(r, &a, err);
    if (result == BL_OK)
        result = upload_materials(r, &a, err);
    if (result == BL_OK)
        result = upload_lights(r, &a, err);
    arena_free(&a);
    TRY(result);
    TRY(upload(r, COUNTERS, "reference counters", NULL, COUNTER_COUNT, err));
    r->push[WIDTH] = s->width, r->push[HEIGHT] = s->height, r->push[LIGHT_COUNT] = s->emitters.count;
    r->push[MAX_DEPTH] = (uint32_t)s->max_depth,
    r->push[RR_DEPTH] = (uint32_t)s->rr_depth; /* -1: unbounded */
    set_camera(r);
    return gpu_buffer_create(r->device->gpu, GPU_DEVICE, 12ull * film_pixels(s), "reference image", &r->image,
                             err);
}

bl_result bl_reference_create(bl_device *device, const bl_scene *scene, bl_kernel_info *kernel,
                              bl_reference **out)
{
    *out = NULL;
    bl_reference *r = memory_need_zeroed(1, sizeof *r);
    r->device = device, r->scene = scene->render;
    bl_error err = {0};
    bl_result result =
        gpu_device_info(device->gpu)->native_target
            ? error_set(&err, BL_ERROR_UNSUPPORTED,
                        "the hand-written path tracer is GLSL, which the native device does not run")
            : create(r, kernel, &err);
    if (result != BL_OK) {
        bl_reference_destroy(r);
        return context_fail(device->context, &err);
    }
    *out = r;
    return BL_OK;
}

void bl_reference_destroy(bl_reference *r)
{
    if (!r)
        return;
    gpu_batch_destroy(r->batch);
    gpu_kernel_destroy(r->kernel);
    for (int k = 0; k < BINDINGS; k++)
        gpu_buffer_destroy(r->buffers[k]);
    gpu_buffer_destroy(r->image);
    memory_free(r);
}

/* ---- rendering ---- */

static void record_range(void *user, job_range range)
{
    bl_reference *r = user;
    r->push[FIRST_LANE] = range.first_lane, r->push[LANE_COUNT] = range.lane_count;
    r->push[FIRST_SAMPLE] = range.first_sample, r->push[LAST_SAMPLE] = range.last_sample;
    gpu_batch_dispatch(r->batch, r->kernel, r->buffers, r->push, range.lane_count);
}

static bl_result clear(bl_reference *r, uint32_t strips, bl_error *err)
{
    uint64_t bytes = 12ull * film_pixels(r->scene) * strips;
    if (!r->buffers[FILM] || gpu_buffer_size(r->buffers[FILM]) < bytes) {
        gpu_buffer_destroy(r->buffers[FILM]);
        r->buffers[FILM] = NULL;
        TRY(upload(r, FILM, "reference film", NULL, bytes / 4, err));
    }
    TRY(gpu_batch_begin(r->batch, err));
    gpu_batch_fill(r->batch, r->buffers[FILM], 0, gpu_buffer_size(r->buffers[FILM]), 0);
    gpu_batch_fill(r->batch, r->buffers[COUNTERS], 0, gpu_buffer_size(r->buffers[COUNTERS]), 0);
    TRY(gpu_batch_submit(r->batch, err));
    return gpu_batch_wait(r->batch, NULL, err);
}

static bl_result resolve(bl_reference *r, const job_work_desc *w, float *image, bl_error *err)
{
    uint32_t pixels = film_pixels(r->scene);
    TRY(gpu_batch_begin(r->batch, err));
    fit_record_resolve(r->batch, r->device->fixed,
                       &(fit_resolve){.film = r->buffers[FILM],
                                      .image = r->image,
                                      .pixels = pixels,
                                      .strips = w->strips,
                                      .scale = 1.0f / (float)w->spp});
    TRY(gpu_batch_submit(r->batch, err));
    TRY(gpu_batch_wait(r->batch, NULL, err));
    TRY(fit_kernels_check(r->device->fixed, err));
    return image ? gpu_buffer_read(r->image, 0, image, 12ull * pixels, err) : BL_OK;
}

static bl_result render(bl_reference *r, const bl_render_desc *desc, float *image, bl_stats *stats,
                        uint64_t *rays, bl_error *err)
{
    const render_scene *s = r->scene;
    uint32_t sampler_seed = s->sampler ? (uint32_t)scene_number(s->sampler, "seed") : 0;
    job_work_desc w = {
        .spp = desc->spp ? desc->spp : s->spp,
        .seed = desc->seed + sampler_seed,
        .slice_seconds = desc->slice_seconds,
        .progress = desc->progress,
        .user = desc->user,
        .progress_to = 1,
    };
    w.strips = job_strips(film_pixels(s), w.spp);
    if (desc->frozen || desc->gradient_stream || desc->variance)
        return error_set(err, BL_ERROR_ARGUMENT, "the reference path tracer renders images and nothing else");
    TRY(clear(r, w.strips, err));
    r->push[STRIPS] = w.strips, r->push[SPP] = w.spp, r->push[SEED] = w.seed;
    const job_slices slices = {
        .device = r->device,
        .batch = r->batch,
        .work = &w,
        .window = job_everything(&w, film_pixels(s)),
        .speed = &r->paths_per_second,
        .record = record_range,
        .user = r,
    };
    TRY(job_slice(&slices, stats, err));
    stats->paths += (uint64_t)film_pixels(s) * w.spp;
    TRY(resolve(r, &w, image, err));
    uint32_t counters[COUNTER_COUNT];
    TRY(gpu_buffer_read(r->buffers[COUNTERS], 0, counters, sizeof counters, err));
    stats->non_finite = counters[DROPPED];
    if (rays)
        *rays = (uint64_t)counters[RAYS_HIGH] << 32 | counters[RAYS_LOW];
    return BL_OK;
}

bl_result bl_reference_render(bl_reference *r, const bl_render_desc *desc, float *image, bl_stats *stats,
                              uint64_t *rays)
{
    static const bl_render_desc defaults;
    bl_stats own = {0};
    bl_error err = {0};
    double start = clock_seconds();
    bl_result result = desc ? CHECK_RESERVED(bl_render_desc, desc, &err) : BL_OK;
    if (result == BL_OK)
        result = render(r, desc ? desc : &defaults, image, &own, rays, &err);
    own.seconds = clock_seconds() - start;
    for (int k = 0; k < BINDINGS; k++)
        own.device_bytes += r->buffers[k] ? gpu_buffer_size(r->buffers[k]) : 0;
    own.device_bytes += gpu_buffer_size(r->image);
    if (stats)
        *stats = own;
    return result == BL_OK ? BL_OK : context_fail(r->device->context, &err);
}
