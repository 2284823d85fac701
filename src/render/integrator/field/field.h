/* SPDX-License-Identifier: BSD-3-Clause
 * The radiance field between two vertices of a path: what it emits along the segment, and what it lets
 * through. Only where field_any. */
#ifndef BL_RENDER_WALK_FIELD_H
#define BL_RENDER_WALK_FIELD_H

#include "render/integrator/walk/kernel.h"

/* A segment of a path up to `limit`. `offset`, in [0,1), shifts all of its samples by that part of a step. */
typedef struct field_segment {
    vec3 o, d; /* the ray, detached */
    ir_ref limit, offset;
    ir_ref sample; /* u32: which one of the pixel */
    bool dark;     /* only the transmittance is wanted. Nothing is emitted, and the ray does not move */
    bool moves;    /* the ray moves with parameters. Then */
    walk_ray now;  /* .. this is the ray, differentiated */
} field_segment;

/* What a segment does to light that travels against its direction. */
typedef struct field_passage {
    color emitted;        /* radiance that arrives at the segment's beginning */
    ir_ref transmittance; /* of light that enters at the segment's end */
    ir_ref left;          /* the same, detached: it decides how the path goes on */
    ir_ref end;           /* u32: the number of the first sample that the march did not look at */
} field_passage;

/* The adjoint of a segment's light. */
typedef struct field_seeds {
    color emitted; /* dL/dI times the throughput before the segment */
    color to_come; /* dL/dI times all radiance that the path finds from the segment's beginning on */
} field_seeds;

static inline bool field_any(const walk *w) { return w->plan->field != NULL; }
/* The segment that leads from `at` to v. */
field_segment field_segment_to(walk *w, const walk_position *at, const walk_vertex *v);
/* The march, where `when` (bool); elsewhere nothing is emitted and all is let through. If differentiated, it
 * is a loop for forward mode and frozen passes, and straight-line code in RENDER_UNROLLED. */
field_passage field_march(walk *w, const field_segment *s, ir_ref when, bool differentiated);
/* Replays the march where `when`, and backpropagates it. Returns what field_march returns, bit for bit. */
field_passage field_replay(walk *w, const field_segment *s, ir_ref when, const field_seeds *seeds,
                           arrivals *sum);
/* u32: the hash of a vertex's decisions, with those of the march up to it. */
static inline ir_ref field_mix(walk *w, ir_ref decisions, const field_passage *q)
{
    ir_func *f = w->t.f;
    return ir_xor(f, ir_mul(f, decisions, t_u32(&w->t, 16777619u)), q->end);
}
/* Transmittance between v and its sampled light, where that is there; 1 elsewhere. Differentiated as above.
 */
ir_ref field_shadow(walk *w, const walk_vertex *v, bool differentiated);
/* Backpropagates that transmittance where `when`. arrives: dL/dI times the light that arrives, per channel.
 */
void field_shadow_replay(walk *w, const walk_vertex *v, ir_ref when, color arrives);
/* condition ? a : b */
field_passage field_select(walk *w, ir_ref condition, const field_passage *a, const field_passage *b);

#endif
