/* SPDX-License-Identifier: BSD-3-Clause
 * A scene on the native device, with a kernel that asks all that one can ask of a ray, once by the traversal
 * that is traced into it, once by the eight-wide hierarchy. Whatever goes wrong fails the running test. */
#ifndef TEST_RAY_RIG_H
#define TEST_RAY_RIG_H

#include "gpu/gpu.h"
#include "render/plan.h"

enum { RIG_SCENE, RIG_RAYS, RIG_HITS, RIG_BUFFERS };
enum { RIG_TRACED, RIG_WIDE, RIG_WAYS };
enum {
    RIG_RAY_WORDS = 8, /* origin, direction, tmin, tmax */
    RIG_FOUND = 5,     /* t, entry, u, v, level */
    RIG_CHAIN = 8,     /* hits one after another, at most; words behind the first miss stay as they are */
    RIG_HIT_WORDS = RIG_FOUND + 1 + RIG_CHAIN * RIG_FOUND
};
typedef uint32_t ray_hit[RIG_HIT_WORDS]; /* the nearest; whether there is any; the chain */

typedef struct ray_rig {
    gpu_device *device;
    plan *p;
    gpu_buffer *buffers[RIG_BUFFERS];
    gpu_hierarchy *hierarchy;
    gpu_kernel *kernels[RIG_WAYS];
    uint32_t count; /* of rays */
} ray_rig;

/* p: of PLAN_RAYS_BVH. depth: of a tree that the plan has not made, else 0. count: a multiple of 64. */
ray_rig ray_rig_create(gpu_device *d, plan *p, uint32_t depth, const float *rays, uint32_t count);
void ray_rig_free(ray_rig *r);
void ray_rig_write(ray_rig *r);            /* the plan's words, which have changed */
ray_hit *ray_rig_run(ray_rig *r, int way); /* the caller frees */

#endif
