/* SPDX-License-Identifier: BSD-3-Clause
 * What the files about stretches in media share: coefficients.c, tracking.c, free_flight.c, emission.c. */
#ifndef BL_RENDER_FLIGHT_H
#define BL_RENDER_FLIGHT_H

#include "render/integrator/media/media.h"

/* ---- coefficients.c ---- */

bool media_any(const walk *w, bool homogeneous); /* the plan has media of this kind */
bool media_want_extinction(const walk *w);       /* the gradient of some medium's extinction is wanted */
bool media_exact(const walk *w); /* grey extinction whose gradient nobody wants: tracking divides by what it
                                    multiplies with */
bool media_track_exact(const walk *w); /* the same of heterogeneous ones; also where their collisions are not
                                          what the gradient is found at */
color stretch_extinction(walk *w, const walk_stretch *s, vec3 p, bool tracked);
color stretch_albedo(walk *w, const walk_stretch *s, vec3 p, bool tracked);
color stretch_emission(walk *w, const walk_stretch *s, vec3 p, bool tracked); /* only where emission_any */
vec3 stretch_point(tracer *t, const walk_stretch *s, ir_ref distance);
/* Where walk.motion moves stretches, tracked: the place that a point at that distance moves to, and by what
 * the stretch grows; else the point, and 1. */
vec3 stretch_moved_point(walk *w, const walk_stretch *s, ir_ref distance);
/* The same of where it begins and of how long it is, tracked or not. */
vec3 stretch_begin(walk *w, const walk_stretch *s, bool tracked);
ir_ref stretch_extent(walk *w, const walk_stretch *s, bool tracked);
ir_ref stretch_growth(walk *w, const walk_stretch *s);
ir_ref flight_growth(walk *w,
                     const walk_flight *fl); /* of the measure of the way that its end is a share of */
ir_ref stretch_length(walk *w, const walk_stretch *s, ir_ref distance); /* a distance along it, as it grows */

/* Loop state of values that are one number where no extinction differs by channel. */
void state_channels(const walk *w, loop_state *s, color *c);
/* Seeds for a factor of this value (flight_adjoint, media.h). */
color channels_seed(walk *w, color value, color to_come, color missing);

/* sum of share * chance; and share * chance over that. */
ir_ref share_mixture(walk *w, color share, color chance);
color share_after(walk *w, color share, color chance, ir_ref mixed);

/* ---- tracking.c: tentative collisions in heterogeneous media ---- */

typedef struct track {
    ir_ref mean;      /* mean distance between tentative collisions, without cells */
    ir_ref near, far; /* where the ray is in the medium's box, before the limit */
    vec3 diagonal;    /* of the box */
    vec3 o, d;        /* of walk.cells: the ray in the volume */
    ir_ref most_area; /* where walk.flakes */
    bool residual;    /* set by who wants collisions with what exceeds the cell's bound from below only
                         (track_residual) */
    bool shortened;   /* set by who wants more collisions than the extinction asks for: */
    ir_ref longest;   /* mean distances are no longer than this */
} track;

/* What comes next on a ray: a tentative collision, or the border of a cell, behind which tracking begins anew
 * (distances have no memory). */
typedef struct tentative {
    ir_ref distance;
    ir_ref inside;   /* bool: before the end */
    ir_ref collides; /* bool: inside, and no border */
    ir_ref mean;     /* mean distance between tentative collisions there */
    ir_ref least;    /* where track.residual: what all extinction there is at least, */
    ir_ref crossed;  /* and the distance up to here */
    ir_ref u;        /* a number that decides about it */
    vec3 p;
} tentative;

track track_begin(walk *w, const walk_stretch *s);
/* The next one behind `distance`; its random numbers are those of number `step`, from s->step on. */
tentative track_next(walk *w, const walk_stretch *s, const track *k, ir_ref distance, ir_ref step);
/* bool: more of them than tracking can do; what is computed is then to be not finite */
ir_ref track_exhausted(walk *w, const walk_stretch *s, ir_ref step);
/* Of media of flakes (walk.flakes; 1 of others): a bound of the area that they show. */
ir_ref stretch_most_area(walk *w, const walk_stretch *s);
color track_real(walk *w, const walk_stretch *s, ir_ref mean, vec3 p,
                 bool tracked); /* extinction over majorant */
color track_passed(walk *w, const walk_stretch *s, ir_ref mean,
                   ir_ref distance); /* the same, tracked, as a collision that is passed has it */
/* The share of the extinction's derivative at collisions that DRT paths find; the paths' own collisions find
 * the rest. Where sigma is small, collisions are rare and their weights large; where it is large, they are
 * many and find more than one DRT path can. The share is the balance heuristic for one candidate in the whole
 * box. Any function of the point is unbiased. */
ir_ref track_drt_share(walk *w, const track *k, color sigma);
color track_null(walk *w, color real); /* what a collision that changes nothing leaves */

/* What a walk over the collisions of a stretch has found. */
typedef struct collisions {
    const walk_stretch *s;
    const track *k;
    const walk_flight *fl; /* ends before the collision where this does; NULL: at the stretch's end */
    bool tracked;
    bool two;             /* there is another colour beside the product */
    color product, other; /* product: from 1 on, one number where no extinction differs by channel */
    ir_ref distance, step, going;
    ir_ref over; /* bool: there are more than the walk has room for */
} collisions;
/* What the next one, or a border, does to the product and to the other colour. */
typedef void collision_step(walk *w, const tentative *at, collisions *c);
/* From the beginning, given s, k, fl, tracked, two and other. Loops of what is tracked are for forward mode;
 * RENDER_UNROLLED has them written out. */
collisions track_collisions(walk *w, collisions c, collision_step *each);
/* A value that the walk has found; not finite where it is over. */
color collisions_found(walk *w, const collisions *c, color value);

/* ---- tracking.c: heterogeneous media, as the functions of media.h ---- */

walk_flight track_flight(walk *w, const walk_stretch *s, color share);
color track_weight(walk *w, const walk_flight *fl, color share);
void track_adjoint(walk *w, const walk_flight *fl, ir_ref when, color to_come, color missing, arrivals *sum);
color track_transmittance(walk *w, walk_stretch *s, bool tracked);
void track_stretch_adjoint(walk *w, walk_stretch *s, ir_ref when, color to_come, arrivals *sum);

#endif
