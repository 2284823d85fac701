/* SPDX-License-Identifier: BSD-3-Clause
 * What coefficients.c, tracking.c, free_flight.c, emission.c, transmittance.c and
 * differential_ratio_tracking.c share: coefficients on a stretch, and tentative collisions. `differentiated`
 * asks for differentiated values. */
#ifndef BL_RENDER_FLIGHT_H
#define BL_RENDER_FLIGHT_H

#include "render/integrator/media/media.h"

/* ---- coefficients.c ---- */

bool media_any(const walk *w, bool homogeneous); /* the plan has media of this kind */
bool media_want_extinction(const walk *w);       /* the gradient of some medium's extinction is wanted */
/* Extinction is grey and has no gradient: values equal probabilities, so weights are 1 but for the albedo. */
bool media_exact(const walk *w);
/* The same for delta tracking, also where DRT makes real collisions need no least probability. */
bool media_track_exact(const walk *w);
color stretch_extinction(walk *w, const walk_stretch *s, vec3 p, bool differentiated);
color stretch_albedo(walk *w, const walk_stretch *s, vec3 p, bool differentiated);
color stretch_emission(walk *w, const walk_stretch *s, vec3 p,
                       bool differentiated); /* only where emission_any */
vec3 stretch_point(tracer *t, const walk_stretch *s, ir_ref distance);
/* How a stretch moves, differentiated, where walk.motion moves stretches; else points and lengths are those
 * of the stretch, and growth is 1. */
vec3 stretch_moved_point(walk *w, const walk_stretch *s, ir_ref distance);  /* of a point at that distance */
vec3 stretch_begin(walk *w, const walk_stretch *s, bool differentiated);    /* its first point */
ir_ref stretch_extent(walk *w, const walk_stretch *s, bool differentiated); /* its length */
ir_ref stretch_growth(walk *w, const walk_stretch *s);                      /* relative growth of lengths */
ir_ref stretch_length(walk *w, const walk_stretch *s, ir_ref distance);     /* of a part of that length */
/* Relative growth of the length in which the collision at the flight's end keeps its share. */
ir_ref flight_growth(walk *w, const walk_flight *fl);

/* A point of a stretch, drawn evenly from [near, far] with random numbers of its own; the length of that; and
 * another random number. */
typedef struct drawn_point {
    ir_ref distance, length, u;
} drawn_point;
drawn_point stretch_draw(walk *w, const walk_stretch *s, ir_ref near, ir_ref far);
/* What of a stretch may attenuate (free_flight.c). */
void stretch_inside(walk *w, const walk_stretch *s, ir_ref *near, ir_ref *far);

/* Loop state of a colour that is one number unless some extinction differs by channel. */
void state_channels(const walk *w, loop_state *s, color *c);
/* The adjoint of a factor with this value (flight_adjoint in media.h): to_come / value, or missing if it is
 * 0. */
color channels_seed(walk *w, color value, color to_come, color missing);

/* The density of a choice, sum of share * chance; the shares after it, share * chance over that density. */
ir_ref share_mixture(walk *w, color share, color chance);
color share_after(walk *w, color share, color chance, ir_ref mixed);

/* ---- tracking.c: tentative collisions in heterogeneous media ---- */

typedef struct track {
    ir_ref mean;      /* mean distance between tentative collisions, without cells */
    ir_ref near, far; /* where the ray is in the medium's box, before the limit */
    vec3 diagonal;    /* of the box */
    volume_ray r;     /* where walk.cells: the ray in the volume's space */
    ir_ref most_area; /* where walk.flakes: a bound of their area */
    /* Set by the caller after track_begin: */
    bool residual;  /* collisions only with the extinction above the cell's lower bound (residual_track) */
    bool shortened; /* mean distances are at most `longest`, for more collisions than the extinction needs */
    ir_ref longest;
} track;

/* The next event on a ray: a tentative collision, or the border of a cell, behind which tracking begins again
 * (the exponential distribution has no memory). */
typedef struct tentative {
    ir_ref distance;
    ir_ref inside;   /* bool: before the end of the stretch */
    ir_ref collides; /* bool: inside, and a collision, no border */
    ir_ref mean;     /* mean distance between tentative collisions there */
    ir_ref least;    /* where track.residual: lower bound of the extinction there */
    ir_ref crossed;  /* distance from the event before, within the medium */
    ir_ref u;        /* the random number that chooses real or null */
    vec3 p;
} tentative;

track track_begin(walk *w, const walk_stretch *s);
/* The next event behind `distance`; its random numbers are those of number `step`. Numbers begin at s->step.
 */
tentative track_next(walk *w, const walk_stretch *s, const track *k, ir_ref distance, ir_ref step);
/* bool: there are more than STEPS_MOST events; the result must then be made not finite */
ir_ref track_exhausted(walk *w, const walk_stretch *s, ir_ref step);
/* Only where walk.flakes: a bound of their projected area; 1 for media without flakes. */
ir_ref stretch_most_area(walk *w, const walk_stretch *s);
/* Extinction over majorant at p; mean: 1 / majorant. */
color track_real(walk *w, const walk_stretch *s, ir_ref mean, vec3 p, bool differentiated);
/* The same, differentiated, of what is passed: at the point that it moves to, times the growth. */
color track_passed(walk *w, const walk_stretch *s, ir_ref mean, ir_ref distance);
/* The share of the extinction's derivative at collisions that DRT paths estimate; the paths' own collisions
 * estimate the rest. Where sigma is small, collisions are rare and have large weights. Where it is large,
 * there are many, and they say more than the single DRT path. The share is the balance heuristic for one
 * candidate in the whole box. Any function of the point would be unbiased. */
ir_ref track_drt_share(walk *w, const track *k, color sigma);
color track_null(walk *w, color real); /* 1 - extinction over majorant, the value of a null collision */

/* A walk over the collisions of a stretch: what it walks, and what it has found. */
typedef struct collisions {
    const walk_stretch *s;
    const track *k;
    bool differentiated;
    bool two;             /* `other` is used */
    color product, other; /* product: from 1 on, one number where no extinction differs by channel */
    ir_ref distance, step, going;
    ir_ref over; /* bool: there were more collisions than the walk may visit */
} collisions;
/* What an event does to the product and to the other colour. */
typedef void collision_step(walk *w, const tentative *at, collisions *c);
/* Walks from the beginning, given s, k, differentiated, two and other. Differentiated, it is a loop for
 * forward mode and frozen passes, and straight-line code in RENDER_UNROLLED. */
collisions track_collisions(walk *w, collisions c, collision_step *each);
/* `value`, or a number that is not finite where c->over. */
color collisions_found(walk *w, const collisions *c, color value);

/* ---- tracking.c: flights and transmittance in heterogeneous media; free_flight.c calls them ---- */

walk_flight track_flight(walk *w, const walk_stretch *s, color share);
color track_weight(walk *w, const walk_flight *fl);
void track_adjoint(walk *w, const walk_flight *fl, ir_ref when, color to_come, color missing, arrivals *sum);
color track_transmittance(walk *w, walk_stretch *s, bool differentiated);
void track_stretch_adjoint(walk *w, const walk_stretch *s, ir_ref when, color to_come, arrivals *sum);

#endif
