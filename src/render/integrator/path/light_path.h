/* SPDX-License-Identifier: BSD-3-Clause
 * Paths that begin at lights, one vertex at a time. The image and its gradient have these functions in common
 * (light_path.c, kernels/splatting.c). */
#ifndef BL_RENDER_LIGHT_PATH_H
#define BL_RENDER_LIGHT_PATH_H

#include "render/integrator/path/path.h"

/* Where a path stands before a vertex. Vertex 0 is the point on the light. */
typedef struct light_position {
    ir_ref sample, depth; /* u32 */
    vec3 o, d;
    ir_ref tmax;
    ir_ref medium; /* where walk.bends or walk.media: u32: as in walk_position. Lights stand outside of
                      what bends rays */
    ir_ref event;  /* where walk.media: as in walk_position */
    color share;   /* where walk.chromatic: as in walk_position */
} light_position;

/* Where a vertex is seen on the image. */
typedef struct light_splat {
    ir_ref there; /* bool */
    vec2 at;      /* in pixels */
} light_splat;

typedef struct light_vertex {
    ir_ref begins; /* bool: this is the point on the light, where `emission` and `radiance` are valid and v is
                      no surface. At later vertices it is the other way round. */
    walk_light emission; /* the light, which gives the same radiance along the ray and toward the sensor */
    color radiance;      /* the radiance of `emission`, detached */
    vec3 light_normal;   /* the geometric normal there; 0: the light is not on a shape */
    walk_vertex v;       /* its to_light is the direction toward the sensor */
    light_splat splat;
    ir_ref scale; /* detached. The splat is scale * throughput on the light, and scale * throughput *
                     for_sensor at later vertices. */
    color for_sensor, for_sample; /* values of the material: importance toward the sensor; for the sample */
    ir_ref onward;  /* detached: the factor of the throughput besides the material's value over its density */
    ir_ref goes_on; /* bool: the path may go on */
    vec3 next_o, next_d; /* the ray that goes on */
    color passed;        /* where walk.media: what gets through to the sensor, detached; */
    walk_vertex crosses; /* the same as the way from a vertex to a light that it has sampled, */
    walk_position from;  /* and the position before this vertex */
    ir_ref way;          /* u32: hash of what was decided of the path, without the connection */
} light_vertex;

/* A light, and a ray that leaves it. */
typedef struct light_emission {
    emitter_ray ray;
    ir_ref index, cls, record, choice; /* choice: 1 / the probability with which the light was chosen */
    color radiance;
    ir_ref far; /* bool: the light is an environment */
} light_emission;
/* Chooses a light, and a ray of it, with the first two blocks of the sample's random numbers. moved: with
 * derivatives by what moves the light, at random numbers that are held. */
light_emission light_begin(walk *w, ir_ref sample, bool moved);
/* By given numbers: for the choice of the light, and for its ray. */
light_emission light_begin_by(walk *w, ir_ref u, emitter_ray_arguments a, bool moved);
/* The random numbers with which the vertex at a position is connected to the sensor. */
vec2 light_lens(walk *w, const light_position *at);

/* The position before a sample's first vertex: no path has begun. */
light_position light_before(walk *w, ir_ref sample);
/* Loop state: visits the position without the sample. */
void state_light_place(const walk *w, loop_state *s, light_position *at);
/* The vertex that the ray of `before` leads to or, at depth 0, the point on a light. connects: bool, it is
 * connected to the sensor; none: it always is. */
light_vertex light_visit(walk *w, const light_position *before, ir_ref connects);
/* The vertex's splat over the throughput; 0 if it has none. */
color light_splat_factor(walk *w, const light_vertex *v);
/* The values of v's material, differentiated or not. */
void light_values(walk *w, const light_vertex *v, bool differentiated, color *for_sensor, color *for_sample);
/* After a vertex: updates the throughput b and the position, and returns whether the path lives. At the
 * light, b has the light's radiance already (light_emit), and the density of the passage is 1. */
passage light_pass(walk *w, const light_vertex *v, light_position *at, throughput *b);
/* Where v->begins, makes the radiance of the light the first factor of the throughput. */
void light_emit(walk *w, const light_vertex *v, throughput *b);

/* ---- parts of a vertex, which motion/light_motion.c evaluates again where it moves ---- */

typedef struct light_connection {
    sensor_link link;
    vec3 to;         /* unit direction from the vertex to the sensor's point */
    ir_ref distance; /* from the vertex to that point */
} light_connection;
/* Connects a vertex p to the sensor. An environment is infinitely far: a point far out in its direction
 * stands for it, and any such point is as good. */
light_connection light_connect(walk *w, const light_position *at, vec3 p, const light_emission *e);
vec2 light_place(walk *w, vec2 position); /* in pixels. position: on the image, in [0,1]^2 */
/* Whether the sensor is a surface that paths meet instead, and what it receives where d, a ray, meets si. */
bool light_receives(const walk *w);
sensor_reception light_receive(walk *w, const interaction *si, vec3 d);
/* The cosine at a point on a light, toward the sensor; 1 where the light is infinitely far. */
ir_ref light_cosine(walk *w, const light_emission *e, const light_connection *c);
/* At a surface that the ray with direction d has met: sets l->onward, and returns the adjoint of shading
 * toward the sensor. */
ir_ref light_weigh(walk *w, vec3 d, const light_connection *c, light_vertex *l);

/* ---- light_media.c: where walk.media ---- */

/* u32: the medium (as in walk_position) in which a ray begins at p on a light, where `begins`. */
ir_ref light_medium_at(walk *w, vec3 p, vec3 d, ir_ref begins);
/* What the ray of `at` leads to: the flight, and the surface or collision at its end, with what scatters
 * there. */
void light_fly(walk *w, const light_position *at, walk_vertex *v);
/* Where the way to the sensor begins: the point, and the geometric normal there. far: bool, on a light at
 * infinity. */
typedef struct light_way {
    vec3 p, n;
    ir_ref far;
} light_way;
/* Sets l->passed, and where something opaque is in the way, l->splat.there to false. */
void light_to_sensor(walk *w, const light_position *at, const light_connection *c, const light_way *from,
                     light_vertex *l);
/* What gets through to the sensor, differentiated, and what the flight to the vertex multiplies light by. */
color light_passed(walk *w, const light_vertex *l);
color light_flown(walk *w, const light_position *at, const light_vertex *l);

#endif
