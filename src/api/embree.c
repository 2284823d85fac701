/* SPDX-License-Identifier: BSD-3-Clause
 * Embree (Wald et al. 2014), as a yardstick of rays: the triangles of a scene in a scene of Embree's, and
 * rays through it one by one or in packets of 16. A thread takes a block of rays at a time. In a library that
 * was built without BL_EMBREE there is only the text that says so. */
#include "api/device.h"
#include "api/scene.h"
#include "render/plan.h"
#include "render/shape/kinds.h"

#ifdef BL_WITH_EMBREE

#if BL_WITH_EMBREE == 3
#include <embree3/rtcore.h>
#else
#include <embree4/rtcore.h>
#endif

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PACKET = 16, BLOCK = 4096 /* rays that a thread takes at a time */, THREADS_MOST = 256 };

struct bl_embree {
    bl_context *context;
    RTCDevice device;
    RTCScene scene;
    uint32_t threads;
    char version[48];
    double build_seconds;
    _Atomic int64_t bytes;
};

/* ---- the scene ---- */

static bool count_bytes(void *user, ssize_t bytes, bool post)
{
    (void)post;
    atomic_fetch_add(&((bl_embree *)user)->bytes, (int64_t)bytes);
    return true;
}

static bl_result add_mesh(bl_embree *e, const render_scene *s, uint32_t index, bl_error *err)
{
    const render_shape *shape = &s->shapes.data[index];
    const uint32_t *words = s->geometry.data, *mesh = words + shape->data;
    RTCGeometry g = rtcNewGeometry(e->device, RTC_GEOMETRY_TYPE_TRIANGLE);
    void *vertices =
        rtcSetNewGeometryBuffer(g, RTC_BUFFER_TYPE_VERTEX, 0, RTC_FORMAT_FLOAT3, 12, shape->vertex_count);
    void *faces =
        rtcSetNewGeometryBuffer(g, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT3, 12, mesh[MESH_FACE_COUNT]);
    if (vertices && faces) {
        memcpy(vertices, words + mesh[MESH_POSITIONS], 12 * (size_t)shape->vertex_count);
        memcpy(faces, words + mesh[MESH_FACES], 12 * (size_t)mesh[MESH_FACE_COUNT]);
        rtcCommitGeometry(g);
        rtcAttachGeometryByID(e->scene, g, index);
    }
    rtcReleaseGeometry(g);
    return vertices && faces ? BL_OK : error_set(err, BL_ERROR_MEMORY, "no memory for Embree's triangles");
}

static bl_result build(bl_embree *e, const render_scene *s, bl_error *err)
{
    char options[32];
    snprintf(options, sizeof options, "threads=%u", e->threads);
    e->device = rtcNewDevice(options);
    if (!e->device)
        return error_set(err, BL_ERROR_DEVICE, "Embree gives no device: error %d",
                         (int)rtcGetDeviceError(NULL));
    long version = (long)rtcGetDeviceProperty(e->device, RTC_DEVICE_PROPERTY_VERSION);
    snprintf(e->version, sizeof e->version, "Embree %ld.%ld.%ld", version / 10000, version / 100 % 100,
             version % 100);
    rtcSetDeviceMemoryMonitorFunction(e->device, count_bytes, e);
    e->scene = rtcNewScene(e->device);
    for (uint32_t i = 0; i < s->shapes.count; i++)
        if (s->shapes.data[i].bsdf) /* else it cannot be hit */
            TRY(add_mesh(e, s, i, err));
    double start = clock_seconds();
    rtcCommitScene(e->scene);
    e->build_seconds = clock_seconds() - start;
    int failed = (int)rtcGetDeviceError(e->device);
    return failed ? error_set(err, BL_ERROR_DEVICE, "Embree: error %d while it builds its hierarchy", failed)
                  : BL_OK;
}

static const char *unsupported(const render_scene *s)
{
    if (s->has_groups)
        return "Embree is measured on scenes without instances";
    for (uint32_t i = 0; i < s->shapes.count; i++)
        if (s->shapes.data[i].kind != SHAPE_TRIANGLES)
            return "Embree is measured on scenes of triangles alone";
    return s->primitives.count == 0 ? "there are no triangles for Embree" : NULL;
}

bl_result bl_embree_create(bl_device *device, const bl_scene *scene, bl_embree **out)
{
    bl_error err = {0};
    *out = NULL;
    const char *why = unsupported(scene->render);
    if (why) {
        error_set(&err, BL_ERROR_UNSUPPORTED, "%s", why);
        return context_fail(device->context, &err);
    }
    bl_embree *e = memory_need_zeroed(1, sizeof *e);
    uint32_t threads = gpu_device_info(device->gpu)->threads;
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    e->context = device->context, e->threads = threads ? threads : online > 0 ? (uint32_t)online : 1;
    e->threads = e->threads < THREADS_MOST ? e->threads : THREADS_MOST;
    if (build(e, scene->render, &err) != BL_OK) {
        bl_embree_destroy(e);
        return context_fail(device->context, &err);
    }
    *out = e;
    return BL_OK;
}

void bl_embree_destroy(bl_embree *e)
{
    if (!e)
        return;
    if (e->scene)
        rtcReleaseScene(e->scene);
    if (e->device)
        rtcReleaseDevice(e->device);
    memory_free(e);
}

bl_embree_info bl_embree_info_get(const bl_embree *e)
{
    return (bl_embree_info){.version = e->version,
                            .threads = e->threads,
                            .build_seconds = e->build_seconds,
                            .bytes = (uint64_t)atomic_load(&e->bytes)};
}

/* ---- rays ---- */

#if BL_WITH_EMBREE == 3
typedef struct RTCIntersectContext call_context;
static void begin_context(call_context *c) { rtcInitIntersectContext(c); }
#define INTERSECT_1(scene, c, hit) rtcIntersect1((scene), (c), (hit))
#define OCCLUDED_1(scene, c, ray) rtcOccluded1((scene), (c), (ray))
#define INTERSECT_16(valid, scene, c, hit) rtcIntersect16((valid), (scene), (c), (hit))
#define OCCLUDED_16(valid, scene, c, ray) rtcOccluded16((valid), (scene), (c), (ray))
#else
typedef int call_context; /* defaults of version 4 */
static void begin_context(call_context *c) { *c = 0; }
#define INTERSECT_1(scene, c, hit) ((void)(c), rtcIntersect1((scene), (hit), NULL))
#define OCCLUDED_1(scene, c, ray) ((void)(c), rtcOccluded1((scene), (ray), NULL))
#define INTERSECT_16(valid, scene, c, hit) ((void)(c), rtcIntersect16((valid), (scene), (hit), NULL))
#define OCCLUDED_16(valid, scene, c, ray) ((void)(c), rtcOccluded16((valid), (scene), (ray), NULL))
#endif

static struct RTCRay one_ray(const bl_ray *r)
{
    return (struct RTCRay){
        .org_x = r->origin[0],
        .org_y = r->origin[1],
        .org_z = r->origin[2],
        .tnear = r->tmin,
        .dir_x = r->direction[0],
        .dir_y = r->direction[1],
        .dir_z = r->direction[2],
        .tfar = r->tmax,
        .mask = ~0u,
    };
}

static bl_hit hit_of(float t, float u, float v, uint32_t shape, uint32_t primitive)
{
    const bl_hit none = {INFINITY, 0, 0, BL_NO_HIT, BL_NO_HIT, BL_NO_HIT};
    return shape == RTC_INVALID_GEOMETRY_ID ? none : (bl_hit){t, u, v, shape, primitive, BL_NO_HIT};
}

static void trace_singly(bl_embree *e, const bl_embree_rays *c, uint64_t first, uint64_t last)
{
    call_context context;
    begin_context(&context);
    for (uint64_t i = first; i < last; i++) {
        struct RTCRayHit h = {.ray = one_ray(&c->rays[i]), .hit = {.geomID = RTC_INVALID_GEOMETRY_ID}};
        if (c->hits) {
            INTERSECT_1(e->scene, &context, &h);
            c->hits[i] = hit_of(h.ray.tfar, h.hit.u, h.hit.v, h.hit.geomID, h.hit.primID);
        } else {
            OCCLUDED_1(e->scene, &context, &h.ray);
            c->blocked[i] = h.ray.tfar < 0;
        }
    }
}

static void fill_packet(struct RTCRay16 *p, int valid[PACKET], const bl_ray *rays, uint64_t count)
{
    memset(p, 0, sizeof *p);
    for (uint64_t k = 0; k < PACKET; k++) {
        valid[k] = k < count ? -1 : 0;
        const bl_ray *r = &rays[k < count ? k : 0];
        p->org_x[k] = r->origin[0], p->org_y[k] = r->origin[1], p->org_z[k] = r->origin[2];
        p->dir_x[k] = r->direction[0], p->dir_y[k] = r->direction[1], p->dir_z[k] = r->direction[2];
        p->tnear[k] = r->tmin, p->tfar[k] = r->tmax, p->mask[k] = ~0u;
    }
}

static void trace_packets(bl_embree *e, const bl_embree_rays *c, uint64_t first, uint64_t last)
{
    call_context context;
    begin_context(&context);
    for (uint64_t i = first; i < last; i += PACKET) {
        struct RTCRayHit16 h;
        _Alignas(64) int valid[PACKET];
        uint64_t count = last - i < PACKET ? last - i : PACKET;
        fill_packet(&h.ray, valid, c->rays + i, count);
        for (int k = 0; k < PACKET; k++)
            h.hit.geomID[k] = RTC_INVALID_GEOMETRY_ID;
        if (c->hits)
            INTERSECT_16(valid, e->scene, &context, &h);
        else
            OCCLUDED_16(valid, e->scene, &context, &h.ray);
        for (uint64_t k = 0; c->hits && k < count; k++)
            c->hits[i + k] = hit_of(h.ray.tfar[k], h.hit.u[k], h.hit.v[k], h.hit.geomID[k], h.hit.primID[k]);
        for (uint64_t k = 0; !c->hits && k < count; k++)
            c->blocked[i + k] = h.ray.tfar[k] < 0;
    }
}

typedef struct ray_queue {
    bl_embree *embree;
    const bl_embree_rays *call;
    _Atomic uint64_t next;
} ray_queue;

static void *trace_blocks(void *user)
{
    ray_queue *q = user;
    uint64_t first;
    while ((first = atomic_fetch_add(&q->next, BLOCK)) < q->call->count) {
        uint64_t last = first + BLOCK < q->call->count ? first + BLOCK : q->call->count;
        (q->call->packets ? trace_packets : trace_singly)(q->embree, q->call, first, last);
    }
    return NULL;
}

bl_result bl_embree_trace(bl_embree *e, const bl_embree_rays *rays, double *seconds)
{
    ray_queue q = {.embree = e, .call = rays};
    pthread_t threads[THREADS_MOST];
    double start = clock_seconds();
    uint32_t started = 0;
    while (started + 1 < e->threads && pthread_create(&threads[started], NULL, trace_blocks, &q) == 0)
        started++;
    trace_blocks(&q);
    for (uint32_t k = 0; k < started; k++)
        pthread_join(threads[k], NULL);
    if (seconds)
        *seconds = clock_seconds() - start;
    return BL_OK;
}

#else

bl_result bl_embree_create(bl_device *device, const bl_scene *scene, bl_embree **out)
{
    bl_error err;
    (void)scene;
    *out = NULL;
    error_set(&err, BL_ERROR_UNSUPPORTED, "the library was built without Embree (-DBL_EMBREE=ON)");
    return context_fail(device->context, &err);
}

void bl_embree_destroy(bl_embree *e) { BL_ASSERT(!e, "there is no Embree"); }
bl_embree_info bl_embree_info_get(const bl_embree *e)
{
    (void)e;
    return (bl_embree_info){0};
}
bl_result bl_embree_trace(bl_embree *e, const bl_embree_rays *rays, double *seconds)
{
    (void)e, (void)rays, (void)seconds;
    return BL_ERROR_UNSUPPORTED;
}

#endif
