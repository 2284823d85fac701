/* SPDX-License-Identifier: BSD-3-Clause
 * The kernels of the renderer, as passes of a plan. */
#ifndef BL_RENDER_PASSES_H
#define BL_RENDER_PASSES_H

#include "render/plan.h"

typedef enum render_pass {
#define WALK(id, name, kind, kernel, needs, light, public, help) RENDER_##id,
#define STEP(id, name, kind, kernel, needs, public, help) RENDER_##id,
#include "render/integrator/passes.def"
    RENDER_PASS_COUNT
} render_pass;

enum render_pass_kind {
    PASS_IMAGE,    /* the film receives an image, or what is known of one */
    PASS_GRADIENT, /* derivatives of radiance along paths */
    PASS_EDGES,    /* derivatives of what jumps along paths (docs/theory/edges.md) */
    PASS_CHECK,    /* the same by other means, to check them */
    PASS_RAYS,     /* single rays, in place of paths */
    PASS_DERIVED,  /* derived values and sampling tables, before and after the passes above */
    PASS_GEOMETRY  /* what follows from moved vertices; the work buffer of refit.h stands in place of
                      BUFFER_SAMPLES */
};

/* Words of a ray and of its closest hit in BUFFER_SAMPLES (kernels/rays.c). */
enum { RENDER_RAY_WORDS = 8, RENDER_HIT_WORDS = 6 };

/* What a plan must have for a pass to have a meaning. */
enum render_pass_need {
    NEEDS_REQUEST = 1,          /* a parameter whose gradient is requested */
    NEEDS_TAPE = 2,             /* METHOD_TAPE */
    NEEDS_CHANNELS = 4,         /* channels of the first hit */
    NEEDS_DERIVED = 8,          /* derived values */
    NEEDS_DERIVED_REQUEST = 16, /* derived values of requested parameters */
    NEEDS_TABLES = 32,          /* sampling tables */
    NEEDS_GEOMETRY = 64,        /* geometry in memory, not in kernels */
    NEEDS_NORMALS = 128,        /* normals that are derived from positions */
    NEEDS_EDGES = 256,          /* edges that move */
    NEEDS_LIT = 512,     /* lights from which borders of shadows are found (edges_from_lights_possible) */
    NEEDS_CHAINS = 1024, /* Markov chains */
    NEEDS_GUIDE = 4096,  /* a guide of directions */
    NEEDS_LINK = 2048    /* a sensor that points of the scene can be linked to (sensor_class.link) */
};

typedef struct render_pass_info {
    const char *name, *help;
    enum render_pass_kind kind;
    unsigned needs;     /* enum render_pass_need */
    bool light_tracing; /* light tracing has it */
} render_pass_info;
extern const render_pass_info render_passes[RENDER_PASS_COUNT];

/* Which of these needs the plan does not meet, in words; NULL: it meets all. */
const char *render_pass_lacks(const plan *p, unsigned needs);
/* Why the scene's integrator does not have the pass; NULL: it has it. */
const char *render_pass_refused(const render_scene *s, render_pass pass);
/* Whether the pass walks paths, instead of preparing or finishing those that do. */
static inline bool render_pass_walks(render_pass pass) { return render_passes[pass].kind < PASS_DERIVED; }

typedef struct render_trace_options {
    bool no_next_event;
    bool walks_again;        /* walk.walks_again */
    bool packs_rows;         /* walk.packs_rows, but in double precision */
    uint32_t unrolled_depth; /* RENDER_UNROLLED: vertices */
    bool fixed_point; /* RENDER_UPDATE_ADJOINT: how it finds gradients, as in opt/accumulate.c; else as f32 */
} render_trace_options;

/* Whether lanes of the pass are listed: BUFFER_ADJOINT is then a list (enum lane_word). */
bool render_lists_lanes(const plan *p, render_pass pass);

/* The kernel of a pass as a trace: entry function without parameters. */
bl_result render_trace(const plan *p, render_pass pass, const render_trace_options *o, ir_module **out,
                       bl_error *err);

/* ---- integrator/derived/light_choice.c, light_tree.c: what lights are chosen by ---- */

/* The functions that the steps of building it take: the first two make the table, the others the tree.
 * LIGHT_STEP_NODES has the first node of a level as its record. */
enum light_step { LIGHT_STEP_WEIGHTS, LIGHT_STEP_SUM, LIGHT_STEP_LEAVES, LIGHT_STEP_NODES };
/* What lights have of the mean power in addition to their own. Those whose gradient is wanted have as much as
 * the mean: the derivative by a lamp's own power is no less for a dim lamp. */
#define LIGHT_LEAST_SHARE 0.1f
uint32_t light_choice_functions(const plan *p); /* how many there are; 0: lights are all alike */
uint32_t light_choice_words(const render_scene *s);
uint32_t light_choice_lanes(const render_scene *s, enum light_step step); /* of a step of the table */

/* Words of the scene buffer at HEADER_LIGHT_TREE. Behind them: the light of each leaf (PLAN_NONE: it has
 * none); the leaf of each light, or LIGHT_AFAR or LIGHT_LEFT_OUT; the lights that are afar. */
enum light_tree_word { LIGHT_TREE_NODES /* in BUFFER_VALUES, a multiple of four */, LIGHT_TREE_LEAVES };
enum { LIGHT_LEFT_OUT = 0x7ffffffe /* its weight is 0 */, LIGHT_AFAR };
/* Words of a node in BUFFER_VALUES, f32. Node 1 is the root, and node k has the children 2 k and 2 k + 1. */
enum light_node_word {
    LIGHT_NODE_CENTRE,
    LIGHT_NODE_RADIUS2 = 3, /* of the sphere around the box, squared */
    LIGHT_NODE_AXIS,
    LIGHT_NODE_SPREAD = 7, /* cosine, as is */
    LIGHT_NODE_REACH,
    LIGHT_NODE_POWER, /* the table's probabilities, summed up; 0: there is no light */
    LIGHT_NODE_LEAST = 12,
    LIGHT_NODE_MOST = 15,
    LIGHT_NODE_WORDS = 20
};

/* ---- integrators.c ---- */

void render_add_channels(render_scene *s, const char *name, enum channel_kind kind);
/* Those of bl_scene_desc.guides that the scene has not. */
bl_result render_add_guides(render_scene *s, bl_error *err);

#endif
