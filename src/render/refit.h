/* SPDX-License-Identifier: BSD-3-Clause
 * What has to be done anew on the device when vertices have moved (integrator/derived/geometry.c does it): a
 * list of dispatches in their order, and the work buffer that they share, whose lists are made on the host
 * once.
 *
 * A slot is a place of 8 words behind HEADER_NODES: a hierarchy's grid, or a node. Nodes are listed as pairs
 * (slot, slot of the grid), in rounds: the children of a node are leaves or nodes of earlier rounds; the
 * outer hierarchy's rounds come after those of all groups. */
#ifndef BL_RENDER_REFIT_H
#define BL_RENDER_REFIT_H

#include "render/plan.h"

/* The first words of the work buffer. Places are words of the work buffer but for REFIT_LEVELS. */
enum refit_header {
    REFIT_BOXES, /* f32, 12 a slot: the left child's least and most corner, the right one's */
    REFIT_FIXED, /* boxes like these of primitives that are no triangles, if refit_has_fixed */
    REFIT_NODE_COUNT,
    REFIT_COSTS,       /* f32: REFIT_COST_PARTS sums */
    REFIT_LEVELS,      /* word of the scene buffer: the outer level's record, then those of all instances */
    REFIT_LEVEL_GRIDS, /* slots of their grids */
    REFIT_NUMBERS,     /* where shapes move: of each entry its primitive's number in its shape */
    REFIT_HEADER_WORDS = 8
};
enum { REFIT_COST_PARTS = 64, REFIT_AREA_BLOCK = 64 };

/* A mesh's words. */
enum refit_mesh {
    REFIT_MESH_DATA /* in the scene buffer */,
    REFIT_MESH_INVERSE_AREA /* in the scene buffer; PLAN_NONE: no light */,
    REFIT_MESH_BLOCKS /* f32: room for 1 + the number of blocks of faces */,
    REFIT_MESH_STARTS /* of each vertex's corners, and the end */,
    REFIT_MESH_CORNERS /* 3 face + corner */,
    REFIT_MESH_NORMAL_VALUES,
    REFIT_MESH_NORMAL_GRADIENTS /* where plan.normals_of: of the first */,
    REFIT_MESH_WORDS
};
/* A shape that is no mesh. */
enum refit_solid {
    REFIT_SOLID_TO_WORLD,     /* its place record, in the scene buffer */
    REFIT_SOLID_ENTRIES,      /* where its entries are listed */
    REFIT_SOLID_INVERSE_AREA, /* where 1 / area is, in the scene buffer; PLAN_NONE: no light */
    REFIT_SOLID_KIND,         /* enum shape_kind */
    REFIT_SOLID_WORDS
};
/* An instance that moves: its place record and its level's, in the scene buffer. Where rays are queries, what
 * its acceleration structure is told: a map with an inverse, 12 f32, and the mask of rays that see it. */
enum refit_instance {
    REFIT_INSTANCE_TO_WORLD,
    REFIT_INSTANCE_LEVEL,
    REFIT_INSTANCE_MAP,
    REFIT_INSTANCE_MASK = REFIT_INSTANCE_MAP + 12,
    REFIT_INSTANCE_WORDS
};
/* A group, where rays are queries: its first entry of a triangle, and where the corners of its triangles go,
 * 9 f32 each. */
enum refit_group { REFIT_GROUP_ENTRY, REFIT_GROUP_CORNERS, REFIT_GROUP_WORDS };

/* After each step: what its record is; what its lanes are; what it does. */
typedef enum refit_step {
    REFIT_TO_WORLD,         /* place record in the scene buffer; vertices; maps them to the world */
    REFIT_TO_WORLD_INVERSE, /* place record in the scene buffer; 1; inverts its map */
    REFIT_INSTANCE,         /* refit_instance; 1; the maps of its level */
    REFIT_TRANSFORM_POINTS, /* refit_solid; points that describe it; where its kind has `settle` */
    REFIT_SOLID,            /* refit_solid; primitives; everything about a moving shape that is no mesh */
    REFIT_NORMAL_VALUES,    /* refit_mesh; vertices; normals into the values, from the values that are bound
                               alone */
    REFIT_NORMALS,          /* refit_mesh; vertices; normals into the scene buffer */
    REFIT_AREA_BLOCKS,      /* refit_mesh; blocks of faces */
    REFIT_AREA_SUMS,        /* refit_mesh; 1 */
    REFIT_AREA_TABLE,       /* refit_mesh; faces */
    REFIT_ENTRIES,          /* none; entries */
    REFIT_ROUND,            /* the first of its pairs; pairs */
    REFIT_GRID,             /* the first of a list of slots of grids; grids */
    REFIT_LEVEL,            /* none; levels */
    REFIT_PACK,             /* the first of all pairs; pairs */
    REFIT_COST,             /* the first of all pairs; parts */
    REFIT_CORNER,           /* refit_group; triangles */
    REFIT_REMAKE,           /* refit_solid; primitives; shapes whose description is a parameter. From here on:
                               only scenes with such shapes have the step */
    REFIT_HEIGHTS,          /* data words of a heightfield; vertices; positions from heights */
    REFIT_STEP_COUNT
} refit_step;
extern const char *const refit_step_names[REFIT_STEP_COUNT];

typedef struct refit_dispatch {
    refit_step step;
    uint32_t record, lanes;
    uint32_t parameter; /* only where this one has changed; PLAN_NONE: always */
} refit_dispatch;

typedef struct refit {
    ARRAY(uint32_t) work; /* the buffer as it is before the first dispatch */
    ARRAY(refit_dispatch) dispatches;
    uint32_t *corners;   /* per group of a plan for queries: REFIT_GROUP_CORNERS */
    uint32_t *instances; /* per instance: its refit_instance; 0: it does not move */
    double cost;         /* of the hierarchies as they were built: what REFIT_COSTS would add up to */
} refit;

/* moves: by parameter of the scene, the positions and to_world of shapes and instances that may have
 * changed. */
void refit_create(const plan *p, const bool *moves, refit *out);
void refit_free(refit *r);
/* New hierarchies over the triangles as the plan's words have them, which were read back from the device; no
 * deeper than the old ones, so kernels stay as they are. The plan's words change, and may be more, behind the
 * records. Entries of moved triangles are then for dispatches to bring up to date. */
bl_result refit_rebuild(plan *p, bl_error *err);

static inline bool refit_has_fixed(const render_scene *s)
{
    bool any = false;
    for (int k = SHAPE_TRIANGLES + 1; k < SHAPE_KIND_COUNT; k++)
        any |= s->kind_used[k];
    return any;
}

#endif
