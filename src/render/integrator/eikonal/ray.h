/* SPDX-License-Identifier: BSD-3-Clause
 * Rays where the index of refraction n varies: the eikonal equation d2x/dt2 = n grad n (Sharma, Kumar, Ghatak
 * 1982; Nimier-David et al. 2019, equation 3), by leapfrog. The ray's velocity v = dx/dt has the length n, so
 * H = (|v|^2 - n^2) / 2 is 0 and stays near 0: leapfrog is symplectic. It is also its own inverse, so the
 * adjoint runs the ray backwards from its end, and nothing of the way is stored
 * (docs/theory/gradient_index.md).
 *
 * The state is the place at a whole step and the velocity half a step ahead. Then each step is one straight
 * stretch, which other code can intersect, and one look at the index:
 *
 *     x' = x + h w        w' = w + h n(x') grad n(x')
 *
 * The functions here are traced and know nothing of scenes: what the ray runs through is an eikonal_law. */
#ifndef BL_RENDER_EIKONAL_RAY_H
#define BL_RENDER_EIKONAL_RAY_H

#include "render/plugin_kinds.h"

/* What a ray runs through. The functions may run differentiated, as the tracer says. */
typedef struct eikonal_law eikonal_law;
struct eikonal_law {
    const void *of;
    ir_ref record; /* u32: what `of` reads of its instance */
    ir_ref step;   /* f32: h, in units of t. A step is about h n long */
    medium_index (*index)(tracer *t, const eikonal_law *law, vec3 p);
    /* Per unit length. NULL: nothing is absorbed; nothing is emitted. */
    color (*extinction)(tracer *t, const eikonal_law *law, vec3 p);
    color (*emission)(tracer *t, const eikonal_law *law, vec3 p);
};

/* A ray on its way. */
typedef struct eikonal_state {
    vec3 x;          /* the place, after a whole number of steps */
    vec3 w;          /* the velocity, half a step later: it leads to the next place. Not of unit length */
    color thickness; /* optical, from the beginning to x */
    color emitted;   /* radiance that was emitted up to x and arrives at the beginning */
} eikonal_state;

/* Where a ray ends on the straight stretch from a state on. */
typedef struct eikonal_arrival {
    vec3 v; /* the velocity there, of about the length n */
    color thickness, emitted;
} eikonal_arrival;

/* A ray that starts at o with the unit direction d. */
eikonal_state eikonal_begin(tracer *t, const eikonal_law *law, vec3 o, vec3 d);
eikonal_state eikonal_step(tracer *t, const eikonal_law *law, const eikonal_state *s);
/* The state before the step that led to s, without `emitted`. */
eikonal_state eikonal_back(tracer *t, const eikonal_law *law, const eikonal_state *s);
/* At the point p of the stretch from s on. */
eikonal_arrival eikonal_arrive(tracer *t, const eikonal_law *law, const eikonal_state *s, vec3 p);

/* ---- the whole way as one function with derivatives of its own (ad_custom) ---- */

/* How many numbers a state has as arguments and results: x, w, and, where `lit`, thickness and emitted. */
enum { EIKONAL_NUMBERS_MOST = 6 + 2 * COLOR_MOST };
typedef struct eikonal_plan {
    tracer t;  /* of the functions, but for the function itself: it says how values are read */
    bool lit;  /* states have thickness and emitted */
    bool runs; /* the function steps forth; else it returns the end that it is given */
    eikonal_law (*law)(tracer *t, const void *of, ir_ref record);
    const void *of;
} eikonal_plan;
/* Writes the numbers of s to `out`; returns how many. And back. */
uint32_t eikonal_pack(const tracer *t, bool lit, const eikonal_state *s, ir_ref out[EIKONAL_NUMBERS_MOST]);
eikonal_state eikonal_unpack(tracer *t, bool lit, const ir_ref *in);
/* The function (record, o, d, steps, end) -> end: the state after `steps` (u32) steps from o along d. `end`
 * is that state, known from walking there. Its derivatives by o, d and what the law reads are those of the
 * steps: in reverse mode the ray runs back from `end`, in forward mode it steps forth with its tangents. */
ir_func *eikonal_flown(ir_module *m, const eikonal_plan *p);

#endif
