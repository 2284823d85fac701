/* SPDX-License-Identifier: BSD-3-Clause
 * Eight-wide hierarchies: what hierarchy.c builds and rays.c traverses.
 *
 * They are made of the two-wide hierarchies that stand packed in a scene buffer (base/bvh_layout.h), whose
 * boxes they have, and hold copies of its triangles, eight beside each other. */
#ifndef GPU_NATIVE_HIERARCHY_H
#define GPU_NATIVE_HIERARCHY_H

#include "gpu/native/internal.h"

enum { WIDE = 8 };

/* References: the number of a node; or, with bit 31, of a block; or of a level to enter. */
#define WIDE_BLOCK 0x80000000u
#define WIDE_MIXED 0x20000000u /* of a block: not all of it are triangles */
#define WIDE_LEVEL 0xC0000000u
#define WIDE_NUMBER 0x1FFFFFFFu /* the bits of the number */
#define WIDE_AGAIN 0xE0000000u  /* on the stack: what follows is on this level */
#define WIDE_END 0xFFFFFFFDu    /* on the stack: there is nothing more */
#define WIDE_BACK 0xFFFFFFFEu   /* on the stack: what follows is on the outer level */
#define WIDE_NONE 0xFFFFFFFFu

/* Boxes of up to eight children. Planes count from the origin of the level's grid. A child that is not there
 * has an inverted box. */
typedef struct wide_node {
    float least[3][WIDE], most[3][WIDE];
    uint32_t child[WIDE];
} wide_node;

/* Up to eight primitives whose entries follow each other. What is no triangle has NaNs, which nothing meets.
 */
typedef struct wide_block {
    float v0[3][WIDE], e1[3][WIDE], e2[3][WIDE];
    _Alignas(32) uint32_t first; /* entry */
    uint32_t others;             /* bit k: entry first + k is no triangle */
    uint32_t count;              /* of primitives */
} wide_block;

static inline bool has_triangles(const wide_block *b) { return (b->others + 1) >> b->count == 0; }

/* What nodes and blocks are filled from. */
typedef struct wide_node_source {
    uint32_t grid;                      /* word of its tree's */
    uint32_t count;                     /* of children */
    uint32_t child[WIDE], source[WIDE]; /* references; 2 * word of a packed node + side */
} wide_node_source;
typedef struct wide_block_source {
    uint32_t first, count, others;
} wide_block_source;

/* Level 0 is the outer one, or the only one. */
typedef struct wide_level {
    _Alignas(16) float column[4][4]; /* of the map from the world; the last one is the translation */
    float origin[4];                 /* of its grid */
    uint32_t root;                   /* reference */
    uint32_t record;                 /* word of its record; 0 where there is one level */
} wide_level;

struct gpu_hierarchy {
    native_device *device;
    const uint32_t *words; /* of the scene buffer */
    gpu_hierarchy_desc desc;
    uint32_t entries; /* word of entry 0 */
    wide_node *nodes; /* aligned to 64, as blocks */
    wide_block *blocks;
    ARRAY(wide_level) levels;
    ARRAY(wide_node_source) node_sources;
    ARRAY(wide_block_source) block_sources;
    uint32_t stack_size; /* references that wait at most, while a ray is traced */
};

/* ---- rays.c ---- */

typedef struct native_rays
    native_rays; /* what a thread needs while rays are traced; begins with an x86_rays */

/* Room for `stack_size` references for each lane; packets: of as many rays as the target has lanes. */
native_rays *native_rays_create(uint32_t stack_size, x86_target target);
void native_rays_destroy(native_rays *r);

#endif
