/* SPDX-License-Identifier: BSD-3-Clause
 * What the ways to trace rays share: rays.c one by one, packet.h together. */
#ifndef GPU_NATIVE_RAYS_H
#define GPU_NATIVE_RAYS_H

#include "gpu/native/hierarchy.h"

#define EXIT_SLACK (1.0f + 1.0f / 1048576.0f) /* as in ray_bvh.c */
#define SMALLEST_DIRECTION 1e-9f
enum { RAY_ORIGIN = 0, RAY_DIRECTION = 3, RAY_TMIN = 6, RAY_TMAX = 7 };
enum { HIT_T, HIT_ENTRY, HIT_U, HIT_V, HIT_LEVEL };
enum { ALONE_MOST = 4 }; /* so many rays, or fewer, make no packet, and go one after the other */
enum { LEFT_MOST = 64 }; /* references that are left to a ray before the packet gives up */
enum { CHANGES_MOST = 8 };
enum { PACKET_BYTES = 8192 };

typedef struct waiting {
    uint32_t reference;
    float t; /* where the ray enters it */
} waiting;

/* A reference on the stack of a packet. */
typedef struct packet_waiting {
    _Alignas(64) float t[X86_LANES_MOST]; /* where its rays enter it; +infinity: they do not */
    uint32_t reference;
} packet_waiting;

struct native_rays {
    x86_rays shared; /* first: kernels have its address */
    uint32_t lanes;  /* that have a candidate */
    x86_ray_want want;
    const gpu_hierarchy *hierarchy;
    /* Traces rays together, as far as that pays. Returns true at a candidate, with its rays in `lanes`; then
     * the same function, of no lanes, goes on. In the end results stand in shared.hit, and `left` has the
     * lanes whose rays have something left: references, and changes of level before them. */
    bool (*trace_packet)(struct native_rays *r, uint32_t lanes);
    bool in_packet; /* the candidate is a packet's */
    uint32_t left;
    uint32_t left_size, left_count[X86_LANES_MOST], left_level[X86_LANES_MOST];
    uint32_t stack_size; /* of one lane: what is left over, then references that wait */
    waiting *stacks;     /* of each lane, one behind the other */
    packet_waiting *packet_stack;
    void *packet;    /* PACKET_BYTES, aligned to 64 */
    uint32_t loaded; /* bit k: traversals[k] is there */
    struct traversal *traversals;
    uint64_t order[1 << WIDE]; /* see find_orders in rays.c */
};

/* A level, or a block with candidates. */
static inline bool is_for_rays(uint32_t reference)
{
    const uint32_t mixed = WIDE_BLOCK | WIDE_MIXED;
    return reference >= WIDE_LEVEL || (reference & mixed) == mixed;
}

/* Leaves a reference on a level to a lane. */
void rays_leave(native_rays *r, uint32_t lane, uint32_t level, waiting w);
/* Rays of a packet, a few, go through what is below a reference on a level, each by itself; at[k]: where lane
 * k enters that. What they cannot do they leave. Their nearest hits are in shared.hit before and behind.
 * Returns the lanes that have all that they want. */
uint32_t rays_trace_few(native_rays *r, uint32_t lanes, uint32_t level, uint32_t reference, const float *at);

/* packet_avx2.c, packet_avx512.c: native_rays.trace_packet */
bool packet_trace_avx2(native_rays *r, uint32_t lanes);
bool packet_trace_avx512(native_rays *r, uint32_t lanes);

#endif
