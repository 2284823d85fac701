/* SPDX-License-Identifier: BSD-3-Clause
 * What of a path moves with parameters, and how (docs/theory/moving_geometry.md, attached_replay.md): the
 * structs in which a walk carries motion, and the interface of the kinds of motion. motion/choose.c chooses
 * one kind when a walk begins. Each kind is a file of motion/; lower rooms know it only by its struct
 * walk_motion_class.
 *
 * "Differentiated" below means: with derivatives or, in a frozen pass, of the other set of values. */
#ifndef BL_RENDER_WALK_MOTION_H
#define BL_RENDER_WALK_MOTION_H

#include "render/classes.h"
#include "render/integrator/walk/loop_state.h"

typedef struct walk walk;
typedef struct walk_position walk_position;
typedef struct walk_vertex walk_vertex;
typedef struct walk_light walk_light;
struct bsdf_color_arguments; /* these three: vertex/plugin_functions.h */
struct bsdf_value_arguments;
struct emitter_moved_arguments;

/* ---- what a ray meets ---- */

/* What a ray has met, all detached: enough to evaluate the surface there again. */
typedef struct walk_hit {
    ir_ref valid; /* bool; the other fields are valid references also where it is false */
    ir_ref entry, level, t;
    vec2 b;    /* coordinates on the primitive */
    vec3 o, d; /* the ray */
    vec3 p;
    ir_ref slides; /* bool, where shapes move with their to_world: the ray stays and the hit slides along it;
                      else the hit is a point of the material and goes along with its shape */
} walk_hit;

typedef struct walk_ray {
    vec3 o, d;
    ir_ref pdf; /* where walk.attaches: the density with which d was sampled */
} walk_ray;
enum { RAY_MOST = 7 };

/* ---- what moves ---- */

/* What of a ray moves with parameters, where paths are attached (attached_path.c). */
enum walk_link {
    LINK_FIXED,   /* nothing */
    LINK_POINT,   /* its origin; the vertex at its end stays */
    LINK_RAY,     /* origin and direction */
    LINK_ATTACHED /* as RAY; d was sampled attached, so its pdf moves too */
};

/* A surface that crosses a ray: enough to say how it slides along the ray. */
typedef struct walk_border {
    ir_ref valid, entry, level, t; /* as in walk_hit */
    vec2 b;                        /* as in walk_hit */
    vec3 n;                        /* geometric normal */
    ir_ref distance;               /* along the segment, from its beginning */
} walk_border;

/* The one source of motion of a vertex that a path keeps (local_volume.c): a surface that slides along a
 * fixed ray; or, where axis is not 0, a point of the surface's material that goes along with its shape. */
typedef struct motion_anchor {
    ir_ref there; /* bool: there is one, and the path did not go on by a discrete lobe */
    walk_border on;
    vec3 o, d;   /* the ray, from where its segment begins */
    ir_ref axis; /* u32: 1 to 3, the axis along which the point's motion counts; 0: see above */
    vec3 by;     /* motion of the vertex per unit of that motion, over the probability of this choice */
} motion_anchor;

/* How a vertex moves with the camera's ray: rows of the matrices that multiply the shift and the turn of that
 * ray (struct segment_motion). */
typedef struct motion_carry {
    ir_ref there; /* bool: it moves with the camera's ray */
    vec3 shift[3], turn[3];
} motion_carry;

/* How a vertex of a volumetric walk, and the segment up to it, move with parameters. In derivatives the
 * values are 0 (growth: 1). A point of the segment at a distance from its beginning moves by shift + turn *
 * distance. In addition the beginning of the last stretch slides along the ray by `near`, its end by `far`.
 */
typedef struct segment_motion {
    vec3 shift, turn;
    ir_ref near, far;
    ir_ref growth;     /* of the length in which the collision has its share, as a factor */
    vec3 displacement; /* of the vertex */
    ir_ref origin;     /* detached: distance at which the last stretch begins */
} segment_motion;

/* The same of one stretch: a point at a distance from its beginning moves by shift + turn * distance, and
 * slides along the ray by a value that goes linearly from `near` at the beginning to `far` at `end`. */
typedef struct stretch_motion {
    vec3 shift, turn;
    ir_ref near, far, end;
} stretch_motion;

/* How a ray moves, differentiated: a point of it at a distance from its origin moves by shift + turn *
 * distance. */
typedef struct ray_motion {
    vec3 shift, turn;
} ray_motion;

/* The motion of a point at a distance along a ray. */
static inline vec3 motion_along(tracer *t, vec3 shift, vec3 turn, ir_ref distance)
{
    return v3_add(t, shift, v3_scale(t, turn, distance));
}

/* A stretch of a ray with origin start and direction d: from the distance `origin`, where the ray has crossed
 * the surface `near`, to the surface `far`. An end without a valid surface does not slide. */
typedef struct ray_stretch {
    const walk_border *near, *far;
    vec3 start, d;         /* d: unit */
    ir_ref origin, length; /* detached distances */
} ray_stretch;

/* ---- what positions, vertices and lights carry for each kind of motion ---- */

typedef struct attached_position {
    ir_ref link;  /* u32: enum walk_link */
    ir_ref count; /* u32, where walk.attaches: attached vertices so far in this chain */
    walk_ray now; /* the differentiated ray; its value is that of o and d, but in frozen evaluations */
} attached_position;

/* How a vertex was reached. */
typedef struct walk_arrival {
    ir_ref link; /* u32: enum walk_link */
    walk_hit hit;
    walk_ray now; /* attached_position.now */
    ir_ref pdf;   /* where walk.attaches: walk_position.pdf */
} walk_arrival;

typedef struct attached_vertex {
    walk_arrival arrival;
    ir_ref next_valid;    /* bool: the ray that goes on from a moving vertex hits something */
    ir_ref next_delta;    /* bool: the vertex there samples a discrete lobe */
    vec3 next_p, next_ng; /* point and geometric normal there */
    ir_ref onward;        /* u32: link to the next vertex */
    /* where walk.attaches: */
    ir_ref weighs;       /* bool: MIS weights against light sampling are differentiated */
    ir_ref sampled;      /* bool: the sampled direction is attached */
    ir_ref u1, u2;       /* the random numbers that it was sampled with */
    ir_ref density_only; /* bool: it is of a detached part of a mixture, so only its density moves */
    ir_ref count;        /* u32: attached_position.count */
    /* where walk.smooth, densities of light sampling without the steps of its tables: */
    ir_ref hit_pdf, light_pdf; /* of the light that was hit; of the sampled light */
} attached_vertex;

typedef struct attached_light {
    ir_ref on_shape;      /* bool: the sampled light is on a shape */
    walk_arrival arrival; /* at the vertex from which the light is seen */
} attached_light;

typedef struct local_surface_position {
    walk_hit last; /* the vertex before; valid where it may move and its lobe was not discrete */
} local_surface_position;

typedef struct local_surface_vertex {
    walk_hit last;    /* local_surface_position.last */
    interaction next; /* what the ray that goes on meets */
} local_surface_vertex;

typedef struct local_volume_position {
    motion_anchor anchor; /* what moves the vertex before */
    motion_carry carry;   /* how that vertex moves with the camera, where its parameters are wanted */
    walk_border border;   /* the last surface that the ray has crossed since that vertex */
    ir_ref reach;         /* distance from that vertex to the next, if the segment swings about the next; else
                             negative */
    ir_ref target;        /* u32: record of the shape that the next vertex goes along with; 0: it stays */
} local_volume_position;

typedef struct local_volume_vertex {
    segment_motion motion;
    walk_border border; /* the surface that the ray meets, also where the vertex is a collision before it */
    vec3 hit_normal;    /* its geometric normal */
    motion_carry carry;
    motion_anchor anchor;
    ir_ref next_reach;  /* distance to the next vertex, if the segment swings about that; else negative */
    vec3 next_n;        /* the normal there */
    ir_ref next_target; /* local_volume_position.target */
} local_volume_vertex;

typedef struct local_volume_light {
    segment_motion motion; /* of the vertex from which the light is seen */
} local_volume_light;

/* ---- what the interface passes ---- */

/* Values whose adjoints are wanted in addition to those of parameters, and the sum of the adjoints so far.
 * They are numbers of the ray that leads to a vertex (attached_path.c) or of its motion (local_volume.c).
 * Without motion count is 0. */
enum { ARRIVALS_MOST = 12 };
typedef struct arrivals {
    ir_ref at[ARRIVALS_MOST], sum[ARRIVALS_MOST];
    uint32_t count;
} arrivals;

/* Factors of a material's values as its vertex moves. */
typedef struct motion_factors {
    ir_ref measure;       /* of the sample: ratio of the measures at the next vertex; 1 where nothing moves */
    ir_ref light, sample; /* where paths are attached: geometry terms and densities; else none */
} motion_factors;

/* ---- the interface ---- */

/* A kind of motion. Its functions are called in this order at each vertex, in all walks; motion_none has
 * those that do nothing. */
typedef struct walk_motion_class {
    const char *name;
    bool chains;          /* adjoints of rays are carried on, so vertices are backpropagated along chains */
    bool moves_stretches; /* media and what lies in them move too: walk_stretch.motion */

    /* ---- state: fields of walk_position ---- */

    void (*state)(walk *w, loop_state *s, walk_position *at); /* visits each field (loop_state.h) */
    void (*before)(walk *w, walk_position *at);               /* no path has begun */
    /* Where a path begins. `camera` fills in its fields of the camera's position, inside a branch; `join`
     * copies them to `at` behind the branch, before o and d; `begun` does what needs o and d. */
    void (*camera)(walk *w, walk_position *camera);
    void (*join)(walk *w, ir_ref branch, const walk_position *camera, walk_position *at);
    void (*begun)(walk *w, ir_ref fresh, walk_position *at);
    void (*next)(walk *w, const walk_position *at, const walk_vertex *v, ir_ref alive, walk_position *next);

    /* ---- a visit, all detached but for how the vertex moves: fields of walk_vertex ---- */

    void (*met)(walk *w, walk_vertex *v, const walk_position *at);    /* v->met is known */
    void (*stands)(walk *w, walk_vertex *v, const walk_position *at); /* surface or collision is decided */
    void (*light_chosen)(walk *w, walk_vertex *v, vec3 normal);       /* v->light; normal: on it */
    /* v->sample is known; of that roughness (none: there is no material), sampled with u1 and u2 */
    void (*sampled)(walk *w, walk_vertex *v, ir_ref roughness, ir_ref u1, ir_ref u2);
    void (*look_ahead)(walk *w, walk_vertex *v, const walk_position *at); /* where the path goes on to */

    /* ---- values, differentiated ---- */

    /* The point from which a sampled light is seen: in `light`, and in the arguments of emitter_moved, which
     * are detached. */
    void (*light_reference)(walk *w, walk_light *light, struct emitter_moved_arguments *a);
    /* Where a ray has hit a light: uv, direction and `on`. Returns whether these move. */
    bool (*emission)(walk *w, walk_light *light);
    /* Arguments of bsdf_value, in place of the detached ones; light: as seen from the vertex. */
    void (*arguments)(walk *w, const walk_vertex *v, const walk_light *light, struct bsdf_value_arguments *a,
                      motion_factors *by);
    /* The weight of light that the ray has found. Returns whether it moves; else *mis stays. */
    bool (*hit_mis)(walk *w, const walk_vertex *v, ir_ref *mis);

    /* ---- toward lights through media, differentiated: where moves_stretches ---- */

    ray_motion (*to_light)(walk *w, const walk_vertex *v);                         /* of the shadow ray */
    stretch_motion (*between)(walk *w, const ray_motion *l, const ray_stretch *s); /* of a stretch on it */
    /* Arguments of bsdf_through at a surface that the shadow ray crosses, in place of the detached ones. In
     * all walks. */
    void (*through)(walk *w, const walk_hit *hit, const segment_motion *s, struct bsdf_color_arguments *a);

    /* ---- adjoint ---- */

    /* The inputs at which derivatives of a vertex arrive, besides parameters. Returns their number. */
    uint32_t (*inputs)(walk *w, const walk_position *at, const walk_vertex *v, ir_ref out[ARRIVALS_MOST]);
    /* Where `chains`: the ray that goes on, differentiated. Returns how many numbers it has. */
    uint32_t (*onward)(walk *w, const walk_vertex *v, ir_ref out[RAY_MOST]);
    /* Passes what has arrived on to what moves the vertex. carried, where `chains`: in, the adjoint of the
     * ray that goes on; out, that of the ray that leads here. */
    void (*adjoint)(walk *w, const walk_position *at, const walk_vertex *v, ir_ref when, arrivals *arrived,
                    ir_ref carried[RAY_MOST]);
} walk_motion_class;

#endif
