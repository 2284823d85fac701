/* SPDX-License-Identifier: BSD-3-Clause
 * What the kernels of moving edges have in common (docs/theory/edges.md). Each has one loop over samples. */
#ifndef BL_RENDER_KERNELS_BOUNDARY_H
#define BL_RENDER_KERNELS_BOUNDARY_H

#include "render/integrator/boundary/boundary.h"
#include "render/integrator/kernels/kernels.h"

/* Opens the loop over the lane's samples and returns the sample; boundary_end closes it. Before a pass runs,
 * it learns (UNIFORM_EDGES_LEARN): a lane is a cell of the curves, and leaves in BUFFER_SAMPLES how much its
 * samples matter to the image; nothing else is written. */
typedef struct boundary_loop {
    lane l;
    ir_ref loop, sample;
    ir_ref scale; /* f32: samples of a pixel, over those that are taken (boundary_spared) */
    boundary_guide guide;
    ir_ref learnt[CELL_LEARNT_WORDS]; /* f32: their sums so far */
} boundary_loop;
boundary_loop boundary_begin(walk *w, ir_module *m);
/* found: where there is a sample, how much it matters; possible: how much it could; both are 0 or more. */
void boundary_end(walk *w, const boundary_loop *b, ir_ref there, ir_ref found, ir_ref possible);
/* |r| + |g| + |b| */
ir_ref boundary_size(walk *w, color c);

/* The density with which a path's ray takes part where boundary_path.c and boundary_lit.c share the light
 * that comes straight from a light: the material's, times a number. */
ir_ref boundary_material_density(walk *w, const walk_vertex *v, vec3 wi, vec3 wo);

/* Whether the kernel makes a derivative of the image (else gradients). */
bool boundary_forward(const walk *w);
/* Where `when`: backpropagates motions[k] (differentiated) with seeds[k]; what is not finite is counted and
 * left out. */
void boundary_backward(walk *w, ir_ref when, const ir_ref *motions, const ir_ref *seeds, uint32_t count);
/* The tangent of a motion. */
ir_ref boundary_tangent(walk *w, ir_ref motion);

/* ---- boundary_mirror.c ---- */

/* A flat mirror in which the sensor may see the edge. */
typedef struct boundary_mirror {
    ir_ref there;   /* bool: the edge is looked for in the mirror; elsewhere it is seen straight on */
    ir_ref shape;   /* record of the mirror's shape */
    vec3 p, n;      /* a point of the mirror; its unit normal, of either sign */
    ir_ref inverse; /* 1 / probability of the choice */
} boundary_mirror;
/* Where plan.edge_mirrors. u: a uniform number. Half of all are seen straight on. */
boundary_mirror boundary_mirror_choose(walk *w, ir_ref u);
/* The image of a point or vector where m->there, else itself. It may be differentiated; the mirror is held.
 */
vec3 boundary_mirror_point(walk *w, const boundary_mirror *m, vec3 p);
vec3 boundary_mirror_vector(walk *w, const boundary_mirror *m, vec3 v);
/* The image of the edge. */
boundary_point boundary_mirror_edge(walk *w, const boundary_mirror *m, const boundary_point *b);
/* Where m->there: walks from *from, on the way to the point `toward`, over the mirror. *at and *from become
 * what they are behind it, and b->distance follows; b->there becomes false where the way does not lead over
 * the mirror. Returns the throughput. */
color boundary_mirror_pass(walk *w, const boundary_mirror *m, vec3 toward, boundary_point *b,
                           walk_position *at, vec3 *from);

/* ---- boundary_cut.c ---- */

/* A point at which a clip plane of the sensor cuts a surface. */
typedef struct boundary_cut {
    ir_ref there;  /* bool */
    ir_ref far;    /* bool: the plane is the far one */
    vec2 lens;     /* uniform numbers of the ray of the sensor */
    vec2 at;       /* the place on the image, in [0,1]^2, */
    vec2 across;   /* the direction across the cut there, of unit length, */
    ir_ref beside; /* and how far along it rays pass the cut */
    walk_hit hit;  /* the surface */
    vec3 n; /* its normal, as long as the cut moves along `across` when the surface moves by 1 along it */
    ir_ref weight; /* 1 / density of the point by length on the image */
} boundary_cut;
/* Where plan.edge_cuts. r: uniform; when: bool, the point is wanted. */
boundary_cut boundary_cut_pick(walk *w, const sensor_view *view, vec2 lens, const random4 *r, ir_ref when);
/* The sensor's ray on the side to which c->across leads, or on the other one. */
ray boundary_cut_ray(walk *w, const sensor_view *view, const boundary_cut *c, bool outer);
/* How the cut moves along c->across (differentiated). */
ir_ref boundary_cut_motion(walk *w, const boundary_cut *c);

/* ---- boundary_way.c ---- */

/* Which vertex of the path the edge is seen from, counted from 0: k with probability 2^-(k+1), the last with
 * what is left. */
typedef struct boundary_choice {
    ir_ref depth, inverse; /* u32; 1 / probability */
} boundary_choice;
boundary_choice boundary_choose_vertex(walk *w, ir_ref u);

/* A path from the camera, before the vertex from which the edge is seen. */
typedef struct boundary_way {
    radiance_walk p;
    ir_ref alive;    /* bool: the path gets there */
    ir_ref mirrored; /* bool: its first vertex sampled a discrete lobe */
    ir_ref walking;  /* bool: it is not there yet */
} boundary_way;
/* The walk that leads from the camera to x: blind, since lights on the way do not matter. In volumetric walks
 * it moves as a whole. */
walk boundary_blind(const walk *w);
/* Walks, with that walk, to the vertex at a depth. when: bool, none: always. */
boundary_way boundary_walk_to(walk *w, ir_ref sample, ir_ref depth, ir_ref when);
/* Where the paths begin that go past the edge: behind x, which the way has led to. */
walk_position boundary_behind(walk *w, const walk_position *at, const walk_vertex *v, vec3 d);
/* The material's value at a vertex in a direction, a unit vector of the world. */
color boundary_scattered(walk *w, const walk_vertex *v, vec3 d);

/* ---- boundary_light.c ---- */

/* A light as an edge sees it. */
typedef struct boundary_light {
    light_emission e;
    ir_ref delta;   /* bool: the light is a point, or has one direction */
    walk_light at;  /* the light, sampled from the edge */
    color radiance; /* what goes past the edge by solid angle, over the density of the choice */
    ir_ref border;  /* bool, where boundary_some_border: the edge is the border of the light's cone */
    ir_ref along;   /* where boundary_some_border: the place on that border */
    ir_ref reach;   /* distance from the edge to the light; a large number where it is infinitely far */
} boundary_light;
/* Chooses a light, and a point of an edge as seen from it. */
boundary_point boundary_light_pick(walk *w, const boundary_loop *loop, boundary_light *l);
bool boundary_some_border(const walk *w); /* some light's cone has a border that counts as an edge */
/* The light, sampled from a place. */
emitter_sample boundary_light_sampled(walk *w, const light_emission *e, vec3 from);
/* The point on the light, differentiated where lights move; else detached. */
vec3 boundary_light_moved(walk *w, const boundary_light *l);
/* The share of light sampling in the light that reaches v along wo and leaves it along wi (of v's frame), of
 * the two ways to find it; boundary_path.c has the rest. 1 of a light that no ray hits. */
ir_ref boundary_light_share(walk *w, const boundary_light *l, const walk_vertex *v, vec3 wi, vec3 wo);
/* Sets *edge to how the edge moves, seen from the light's point y, where boundary_some_border; else returns
 * false. */
bool boundary_light_edge(walk *w, const boundary_point *b, const boundary_light *l, vec3 y, vec3 *edge);

/* ---- boundary_shaft.c ---- */

/* kernel_edges_lit in volumetric walks. */
bl_result kernel_edges_shaft(walk *w, ir_module *m);

#endif
