/* SPDX-License-Identifier: BSD-3-Clause
 * Edges that move: a point where visibility jumps, the light on both of its sides, and how it moves
 * (docs/theory/edges.md). */
#ifndef BL_RENDER_BOUNDARY_H
#define BL_RENDER_BOUNDARY_H

#include "render/integrator/path/light_path.h"
#include "render/shape/silhouette.h"
#include "render/shape/silhouette_words.h"

/* ---- guide.c ---- */

/* Random numbers of a sample that are spread evenly over all samples of a pass, for: */
enum boundary_spread {
    SPREAD_CELL,      /* the place on the curves */
    SPREAD_CANDIDATE, /* which candidate is kept */
    SPREAD_LIGHT,     /* boundary_lit.c: which light, */
    SPREAD_LIGHT_AT,  /* and the place on it, two numbers */
    SPREAD_COUNT = SPREAD_LIGHT_AT + 2
};

/* How a pass chooses. While it learns, it looks at a cell of the lane's own. */
typedef struct boundary_guide {
    enum edge_table table;
    ir_ref usual, own;           /* bool: it does not learn; u32: the lane's cell */
    ir_ref spread[SPREAD_COUNT]; /* f32: uniform numbers of the sample (enum boundary_spread) */
} boundary_guide;
typedef struct boundary_cell {
    ir_ref index, probability;
    ir_ref value; /* what goes past edges there to the image, of what could; 1 while learning */
} boundary_cell;
/* Chooses a cell of the curves. *u: uniform, and uniform again. */
boundary_cell boundary_choose_cell(walk *w, const boundary_guide *g, ir_ref *u);
/* Makes the table of a pass (which: u32, enum edge_table) of what was found for each cell, in
 * BUFFER_SAMPLES, in two steps of LEARN_LANES lanes: each adds up its cells; then each writes them, and the
 * sums of all lanes say where it begins. A third step of one lane writes the variance of the pass. */
void boundary_add_up(tracer *t, ir_ref which, ir_ref own);
void boundary_learn(tracer *t, ir_ref which, ir_ref own);
void boundary_add_variance(tracer *t, ir_ref which);
/* u32: of how many samples the pass takes one. That of the passes whose samples have the most variance for
 * their cost takes all. */
ir_ref boundary_spared(tracer *t, enum edge_table own);

/* ---- pick.c ---- */

/* A boundary segment: the ray from a viewpoint through a point of a silhouette or a crease. */
typedef struct boundary_point {
    ir_ref there; /* bool; the other fields are finite in any case */
    silhouette_place place;
    vec3 viewpoint;
    vec3 p, d;       /* the point; unit direction from the viewpoint to it */
    vec3 n;          /* unit, at a right angle to d and the curve, away from the surface */
    ir_ref distance; /* from the viewpoint */
    ir_ref weight;   /* 1 / density of the point by length of the curve, as seen along d */
    ir_ref possible; /* the integral of the angle times boundary_wish.value over the cell, while learning */
    ir_ref closed;   /* bool: silhouette_point.closed */
    ir_ref offset;   /* how far beside the point rays pass that miss the surface, or meet it */
} boundary_point;

/* What is wanted of a point, besides that it is on a curve. */
typedef struct boundary_wish {
    uint32_t candidates;   /* many where viewpoints differ, so that what was learnt says little of each */
    bool creases;          /* points at which nothing is hidden will do, too */
    bool backwards;        /* rays run toward the viewpoint, which is a light */
    const sensor_view *by; /* the sensor must see it, through the point of its aperture that `lens` chooses;
                              NULL: no matter */
    vec2 lens;
    bool far; /* what the sensor sees may lie behind its far plane */
    /* What else a contribution in a direction is in proportion to, 0 or more; NULL: 1. */
    ir_ref (*value)(walk *w, const void *of, vec3 d);
    const void *of;
} boundary_wish;

/* A distance so large that a viewpoint there stands for one that is infinitely far. */
float boundary_far(const walk *w);
/* Samples a point, seen from a viewpoint: one of some candidates, resampled by the angle that their edges
 * take up, times the wish's value, times the value of their cells (Talbot et al. 2005). Candidates lie at
 * equal distances on the curves, and one random number decides between all of them. */
boundary_point boundary_pick(walk *w, vec3 viewpoint, ir_ref sample, const boundary_guide *guide,
                             const boundary_wish *wish);
/* Random numbers of a boundary segment, apart from those of any path. which: 0, 1, .. */
random4 boundary_numbers(walk *w, ir_ref sample, uint32_t which);
/* The point beside the edge on the side without the surface, at the distance `offset`. */
vec3 boundary_beside(walk *w, const boundary_point *b);

/* ---- sides.c ---- */

/* What is seen from a point beyond the edge: [0] on the side of the surface, [1] on the other. */
typedef struct boundary_sides {
    color radiance[2];
    walk_hit hit[2]; /* the surface that is each ray's first vertex; in media that vertex may be a collision,
                        and then there is no such surface */
    ir_ref reach[2]; /* f32: distance to the first vertex; a large number where there is none */
    ir_ref seen;     /* bool: nothing stands between `from` and the edge */
} boundary_sides;
/* Both rays have the same random numbers from there on. at: the position before the vertex that the rays lead
 * to; its tmax limits them, too. */
boundary_sides boundary_trace(walk *w, const boundary_point *b, vec3 from, const walk_position *at);

/* The same past another kind of step, by the two rays with which its sides begin. Where `when` (bool); `seen`
 * is not set. */
boundary_sides boundary_trace_rays(walk *w, const walk_position rays[2], ir_ref when);

/* ---- motion.c: differentiated ---- */

/* The point of a hit. It moves with its surface, and with its ray if that has derivatives. */
vec3 boundary_hit_moved(walk *w, const walk_hit *hit);
/* An edge's point as it moves, and the share of its motion that counts. */
typedef struct boundary_edge {
    vec3 p;
    ir_ref share; /* f32, detached */
} boundary_edge;
/* The edge seen from a viewpoint that may move. Where it stands on the surface that is seen past it, as a
 * cube on a floor, it moves as the curve in which both surfaces meet: as if the cube sank, because a gap
 * within the offset of rays is not seen. Where both surfaces end there, both have that edge, and each counts
 * half. */
boundary_edge boundary_edge_moved(walk *w, const boundary_point *b, const boundary_sides *s, vec3 from);
/* By how much the edge moves along n, relative to the segment from x to y. x and y: its ends, differentiated;
 * y_far: bool, y lies at infinity. The value is 0 up to rounding. */
typedef struct boundary_segment {
    vec3 x, y;
    ir_ref y_far;
    const vec3 *edge; /* the edge's point, differentiated; NULL: that of b's place, seen
                          from x */
    ir_ref share;     /* f32: of the motion; none: 1 */
} boundary_segment;
ir_ref boundary_motion(walk *w, const boundary_point *b, const boundary_segment *s);
/* The sensor's ray through a place of the film, differentiated by the sensor's parameters. */
ray boundary_camera_ray(walk *w, vec2 position, vec2 lens);

#endif
