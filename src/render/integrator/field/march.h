/* SPDX-License-Identifier: BSD-3-Clause
 * What march.c, replay.c and shadow.c share: the samples of a segment, and the state of a march. */
#ifndef BL_RENDER_MARCH_H
#define BL_RENDER_MARCH_H

#include "render/integrator/field/field.h"

enum { UNROLLED_STEPS = 24 /* RENDER_UNROLLED writes out so many, since reverse mode takes no such loops */ };

typedef struct march {
    const class_node *n;
    const field_class *cls;
    ir_ref record;
    volume_ray in_cube;             /* detached */
    ir_ref basis[FIELD_BASIS_MOST]; /* detached */
    bool dark;                      /* as in field_segment; there is no basis then */
    bool moves;
    volume_ray now; /* where `moves`: differentiated */
    vec3 w;         /* where `moves`: direction in the world, differentiated */
    ir_ref step, offset, least;
    ir_ref first, last; /* u32: samples [first, last) lie in the cube and before the limit */
    bool skips;
    ir_ref numbers[4]; /* where a replay is thinned: words that its random numbers begin with */
} march;

/* ---- samples.c ---- */

march march_begin(walk *w, const field_segment *s);
/* The distance of sample i (u32) from the segment's beginning, and the place at a distance along a ray. */
ir_ref march_distance(tracer *t, const march *m, ir_ref i);
static inline vec3 march_along(tracer *t, const volume_ray *r, ir_ref distance)
{
    return v3_add(t, r->o, v3_scale(t, r->d, distance));
}
/* u32: the number of the next sample from i on that is not in an empty cell; m->last or more: there is
 * none. */
ir_ref march_next_seen(walk *w, const march *m, ir_ref i);
/* Whether a replay may skip empty cells: no derivative by what is in them matters (field_class.dead). */
bool march_replay_skips(const walk *w, const march *m);
/* bool: there are samples left, and `left`, what the samples so far let through, is not below the bound. */
ir_ref march_goes_on(walk *w, const march *m, ir_ref i, ir_ref left);
/* exp(-thickness); 1 where there is no sample. */
ir_ref march_through(walk *w, ir_ref there, ir_ref thickness);

typedef struct march_state {
    ir_ref i;      /* u32: number of the next sample */
    ir_ref left;   /* transmittance, which decides where the march ends */
    ir_ref passed; /* where differentiated: the same, differentiated */
    bool dark;     /* as in march. Otherwise */
    color sum;     /* .. emitted so far */
} march_state;

/* A sample. Its values are those of the march's place and direction; differentiated, they move with both. */
typedef struct march_sample {
    ir_ref thickness; /* tau */
    color radiance;   /* not where the march is dark */
} march_sample;

/* ---- march.c ---- */

/* The sample that has these raw values. */
march_sample march_activated(tracer *t, const march *m, ir_ref raw_density, color raw_color);
march_sample march_take(walk *w, const march *m, ir_ref i, bool differentiated);
/* Only its thickness, on the ray that stays. */
ir_ref march_thickness(walk *w, const march *m, ir_ref i, bool differentiated);
/* The state before the first sample, where `when`; elsewhere behind the last. */
march_state march_start(walk *w, const march *m, ir_ref when);
void state_march(const walk *w, loop_state *s, march_state *a, bool differentiated);
/* The state behind the next sample that is not skipped, with what that adds. */
march_state march_step(walk *w, const march *m, march_state a, bool differentiated);
/* What the march has found when it has ended. */
field_passage march_found(walk *w, const march *m, const march_state *a, bool differentiated);

#endif
