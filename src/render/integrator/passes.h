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
    NEEDS_LIT = 512,            /* lights from which borders of shadows are found (edges_lit_possible) */
    NEEDS_CHAINS = 1024,        /* Markov chains */
    NEEDS_LINK = 2048           /* a sensor that points of the scene can be linked to (sensor_class.link) */
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
    uint32_t unrolled_depth; /* RENDER_UNROLLED: vertices */
    bool fixed_point; /* RENDER_UPDATE_ADJOINT: how it finds gradients, as in opt/accumulate.c; else as f32 */
} render_trace_options;

/* Whether lanes of the pass are listed: BUFFER_ADJOINT is then a list (enum lane_word). */
bool render_lists_lanes(const plan *p, render_pass pass);

/* The kernel of a pass as a trace: entry function without parameters. */
bl_result render_trace(const plan *p, render_pass pass, const render_trace_options *o, ir_module **out,
                       bl_error *err);

/* ---- integrator/derived/light_choice.c: the table lights are chosen by ---- */

enum { LIGHT_CHOICE_STEPS = 2 };
uint32_t light_choice_words(const render_scene *s);
uint32_t light_choice_lanes(const render_scene *s, uint32_t step);

/* ---- integrators.c ---- */

void render_add_channels(render_scene *s, const char *name, enum channel_kind kind);

#endif
