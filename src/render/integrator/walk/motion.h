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
typedef struct walk_stretch walk_stretch;
struct bsdf_color_arguments; /* these three: vertex/plugin_functions.h */
struct bsdf_value_arguments;
struct emitter_moved_arguments;

/* ---- what a ray meets ---- */

/* What a ray has met: enough to evaluate the surface there again. All fields are detached. */
typedef struct walk_hit {
    ir_ref valid; /* bool: the ray has met something. The other fields are valid references also where it is
                     false. */
    ir_ref entry, level, t; /* entry: word of the entry in the scene buffer; level: of its group, where the
                               scene has groups; t: distance along the ray */
    vec2 b;                 /* coordinates on the primitive */
    vec3 o, d;              /* the ray */
    vec3 p;                 /* the point that was hit */
    ir_ref slides;          /* bool, where shapes move with their to_world: the ray stays and the hit slides
                               along it. Else the hit is a point of the material, which goes along with its
                               shape. */
} walk_hit;

/* How a ray has come through a medium that bends it (eikonal/curve.c), or straight. All fields are detached.
 * It exists where walk.bends. */
enum { CURVE_NUMBERS_MOST = 6 + 2 * COLOR_MOST };
typedef struct walk_curve {
    ir_ref bends;                     /* bool */
    ir_ref cls, record;               /* u32: of the medium; valid references also where it does not bend */
    ir_ref steps;                     /* u32: steps before the last stretch */
    ir_ref state[CURVE_NUMBERS_MOST]; /* f32: the ray there (eikonal_pack): its place, its velocity, .. */
    vec3 d;                           /* unit direction in which the ray arrives at its end */
    color thickness, emitted; /* where walk.bends_lit: optical thickness of the way, and radiance that it
                                 emits and that arrives at its beginning */
} walk_curve;

typedef struct walk_ray {
    vec3 o, d;
    ir_ref pdf; /* where walk.attaches: the density with which d was sampled */
    vec3 from;  /* where walk.attaches in volumetric walks: walk_position.scattered, as it moves */
} walk_ray;
/* The most numbers of a walk_ray. */
enum { RAY_MOST = 10 };

/* ---- what moves ---- */

/* Which part of a ray moves with parameters, where paths are attached (motion/attached_path.c). */
enum walk_link {
    LINK_FIXED,   /* nothing moves */
    LINK_POINT,   /* the origin moves; the vertex at the end of the ray stays */
    LINK_RAY,     /* origin and direction move */
    LINK_ATTACHED /* as LINK_RAY; the direction was sampled attached, so its pdf moves too */
};

/* A surface that crosses a ray: enough to say how it slides along the ray. */
typedef struct walk_border {
    ir_ref valid, entry, level, t; /* as in walk_hit */
    vec2 b;                        /* as in walk_hit */
    vec3 n;                        /* geometric normal */
    ir_ref distance;               /* along the segment, from the segment's beginning */
} walk_border;

/* The one source of a vertex's motion that a path keeps (motion/local_volume.c). If axis is 0, it is a
 * surface that slides along a fixed ray. Else it is a point of the surface's material, which goes along with
 * its shape. */
typedef struct motion_anchor {
    ir_ref there; /* bool: the vertex has a source of motion, and the path did not go on by a discrete lobe */
    walk_border on;
    vec3 o, d;   /* the ray; its origin is where its segment begins */
    ir_ref axis; /* u32: 0, the surface slides; 1 to 3, the axis along which the point's motion counts */
    vec3 by; /* motion of the vertex per unit of the source's motion, over the probability of the choice of
                this source */
} motion_anchor;

/* How a vertex moves with the camera's ray: the rows of the two matrices that multiply the shift and the turn
 * of that ray (struct ray_motion). */
typedef struct motion_carry {
    ir_ref there; /* bool: the vertex moves with the camera's ray */
    vec3 shift[3], turn[3];
} motion_carry;

/* How a vertex of a volumetric walk, and the segment up to it, move with parameters. In derivatives the
 * values are 0 (growth: 1). A point of the segment at a distance from its beginning moves by shift + turn *
 * distance. In addition the beginning of the last stretch slides along the ray by `near`, and its end by
 * `far`. */
typedef struct segment_motion {
    vec3 shift, turn;
    ir_ref near, far;
    ir_ref growth;     /* growth, as a factor, of the length of which the collision keeps its share */
    vec3 displacement; /* displacement of the vertex */
    ir_ref origin;     /* detached: distance from the segment's beginning to that of the last stretch */
} segment_motion;

/* How one stretch moves: a point at a distance from the stretch's beginning moves by shift + turn * distance,
 * and slides along the ray by a value that goes linearly from `near` at the beginning to `far` at the
 * distance `end`. */
typedef struct stretch_motion {
    vec3 shift, turn;
    ir_ref near, far, end;
} stretch_motion;

/* How a ray moves, differentiated: a point at a distance from its origin moves by shift + turn * distance. */
typedef struct ray_motion {
    vec3 shift, turn;
} ray_motion;

/* The motion of a point at a distance along a ray. */
static inline vec3 motion_along(tracer *t, vec3 shift, vec3 turn, ir_ref distance)
{
    return v3_add(t, shift, v3_scale(t, turn, distance));
}

/* A stretch of a ray with origin start and direction d. It begins at the distance `origin`, where the ray has
 * crossed the surface `near`, and ends at the surface `far`. An end without a valid surface does not
 * slide. */
typedef struct ray_stretch {
    const walk_border *near, *far;
    vec3 start, d; /* d: unit direction */
    ir_ref origin,
        length; /* detached distances: from start to the stretch's beginning; from there to its end */
    const walk_stretch *in; /* where walk.media: the stretch in its medium */
} ray_stretch;

/* ---- what positions, vertices and lights carry for each kind of motion ---- */

typedef struct attached_position {
    ir_ref link;  /* u32: enum walk_link */
    ir_ref count; /* u32, where walk.attaches: number of attached vertices so far in this chain */
    walk_ray now; /* the differentiated ray; its value differs from o and d in frozen evaluations only */
} attached_position;

/* How a vertex was reached. */
typedef struct walk_arrival {
    ir_ref link; /* u32: enum walk_link */
    walk_hit hit;
    walk_curve curve;       /* where walk.bends */
    walk_ray now;           /* attached_position.now, when the vertex was reached */
    ir_ref pdf;             /* where walk.attaches: walk_position.pdf, when the vertex was reached, */
    vec3 from;              /* and, in volumetric walks, walk_position.scattered */
    ir_ref collides, flown; /* where walk.media: bool, the vertex is a collision before the hit; its distance
                               along the ray */
} walk_arrival;

typedef struct attached_vertex {
    walk_arrival arrival;
    ir_ref next_valid;    /* bool: the ray that goes on from a moving vertex hits something */
    ir_ref next_delta;    /* bool: the vertex that it hits samples a discrete lobe */
    vec3 next_p, next_ng; /* point and geometric normal of that vertex */
    ir_ref onward;        /* u32: enum walk_link, the link to the next vertex */
    /* Where walk.volumetric (motion/attached_volume.c): */
    ir_ref swings;         /* bool: the ray that goes on, whose link is LINK_RAY, turns about next_p */
    segment_motion motion; /* of the ray that leads here, and of the vertex */
    /* The next five fields exist where walk.attaches. */
    ir_ref weighs;       /* bool: MIS weights against light sampling are differentiated */
    ir_ref sampled;      /* bool: the sampled direction is attached */
    ir_ref u1, u2;       /* the random numbers with which the direction was sampled */
    ir_ref density_only; /* bool: a detached part of a mixture gave the direction. Only its density moves. */
    ir_ref count;        /* u32: attached_position.count, when the vertex was reached */
    /* Where walk.smooth: densities of light sampling without the steps of its tables. */
    ir_ref hit_pdf, light_pdf; /* density of the light that was hit, and of the sampled light */
} attached_vertex;

typedef struct attached_light {
    ir_ref on_shape;      /* bool: the sampled light is on a shape */
    walk_arrival arrival; /* how the vertex was reached from which the light is seen */
} attached_light;

typedef struct local_surface_position {
    walk_hit last; /* the hit of the vertex before; valid where it may move and its lobe was not discrete */
} local_surface_position;

typedef struct local_surface_vertex {
    walk_hit last;    /* local_surface_position.last, when the vertex was reached */
    interaction next; /* the surface that the ray that goes on meets */
} local_surface_vertex;

typedef struct local_volume_position {
    motion_anchor anchor; /* the source of motion of the vertex before */
    motion_carry carry;   /* how the vertex before moves with the camera, where the camera's parameters are
                             wanted */
    walk_border border;   /* the last surface that the ray has crossed since the vertex before */
    ir_ref reach;  /* distance from the vertex before to the next, if the segment swings about the next;
                      else negative */
    ir_ref target; /* u32: record of the shape that the next vertex goes along with; 0: it stays */
} local_volume_position;

typedef struct local_volume_vertex {
    segment_motion motion;
    walk_border border; /* the surface that the ray meets, also where the vertex is a collision before it */
    vec3 hit_normal;    /* geometric normal of that surface */
    motion_carry carry;
    motion_anchor anchor;
    ir_ref next_reach;  /* distance to the next vertex, if the segment swings about that; else negative */
    vec3 next_n;        /* geometric normal at the next vertex */
    ir_ref next_target; /* local_volume_position.target of the next position */
} local_volume_vertex;

typedef struct local_volume_light {
    segment_motion motion; /* how the vertex moves from which the light is seen */
} local_volume_light;

/* ---- what the interface passes ---- */

/* Values whose adjoints are wanted in addition to those of parameters, and for each the sum of the adjoints
 * that have arrived so far. They are numbers of the ray that leads to a vertex (motion/attached_path.c) or of
 * the vertex's motion (motion/local_volume.c). Without motion, count is 0. */
enum { ARRIVALS_MOST = 12 };
typedef struct arrivals {
    ir_ref at[ARRIVALS_MOST], sum[ARRIVALS_MOST];
    uint32_t count;
} arrivals;

/* Factors by which a material's values change as its vertex moves. */
typedef struct motion_factors {
    ir_ref measure;       /* factor of the sample's value: ratio of the measures at the next vertex; 1 where
                             nothing moves */
    ir_ref light, sample; /* where paths are attached: factors of the values for the light and for the sample,
                             from geometry terms and densities; else no references */
} motion_factors;

/* ---- the interface ---- */

/* A kind of motion. All walks call its functions in this order at each vertex. The functions of motion_none
 * do nothing. */
typedef struct walk_motion_class {
    const char *name;
    bool chains;          /* adjoints of rays are carried on, so vertices are backpropagated along chains */
    bool moves_stretches; /* media, and what lies in them, move too: walk_stretch.motion is set */

    /* ---- state: fields of walk_position ---- */

    void (*state)(walk *w, loop_state *s, walk_position *at); /* visits each field (loop_state.h) */
    void (*before)(walk *w, walk_position *at);               /* sets the fields before any path has begun */
    /* These three are called where a path begins. `camera` sets the fields of the camera's position, inside a
     * branch. `join` copies them to `at` behind the branch, before o and d are copied. `begun` does what
     * needs o and d of `at`. */
    void (*camera)(walk *w, walk_position *camera);
    void (*join)(walk *w, ir_ref branch, const walk_position *camera, walk_position *at);
    void (*begun)(walk *w, ir_ref fresh, walk_position *at);
    /* Sets the fields of the next position. */
    void (*next)(walk *w, const walk_position *at, const walk_vertex *v, ir_ref alive, walk_position *next);

    /* ---- a visit: fields of walk_vertex. Only how the vertex moves is differentiated ---- */

    /* Called when v->met is known. */
    void (*met)(walk *w, walk_vertex *v, const walk_position *at);
    /* Called when it is decided whether the vertex is a surface or a collision. */
    void (*stands)(walk *w, walk_vertex *v, const walk_position *at);
    /* Called when v->light is chosen. normal: the normal on the light. */
    void (*light_chosen)(walk *w, walk_vertex *v, vec3 normal);
    /* Called when v->sample is known. Its lobe has this roughness (no reference, if the scene has no
     * material), and it was sampled with the random numbers u1 and u2. */
    void (*sampled)(walk *w, walk_vertex *v, ir_ref roughness, ir_ref u1, ir_ref u2);
    /* Called when the ray that goes on is known. Finds where the path goes on to. */
    void (*look_ahead)(walk *w, walk_vertex *v, const walk_position *at);

    /* ---- values, differentiated ---- */

    /* Sets the point from which a sampled light is seen, in `light` and in `a`. The arguments a of
     * emitter_moved are detached before. */
    void (*light_reference)(walk *w, walk_light *light, struct emitter_moved_arguments *a);
    /* Sets uv, direction and `on` where a ray has hit a light. Returns whether these move. */
    bool (*emission)(walk *w, walk_light *light);
    /* Replaces the detached arguments of bsdf_value. light: the sampled light, as seen from the vertex. */
    void (*arguments)(walk *w, const walk_vertex *v, const walk_light *light, struct bsdf_value_arguments *a,
                      motion_factors *by);
    /* The MIS weight of the light that the ray has found. Returns whether it moves. If not, *mis stays. */
    bool (*hit_mis)(walk *w, const walk_vertex *v, ir_ref *mis);

    /* ---- toward lights through media, differentiated ---- */

    /* Where moves_stretches: how the shadow ray moves, and how a stretch s of it moves. */
    ray_motion (*to_light)(walk *w, const walk_vertex *v);
    stretch_motion (*between)(walk *w, const ray_motion *l, const ray_stretch *s);
    /* In all walks: replaces the detached arguments of bsdf_through at a surface that the shadow ray
     * crosses. */
    void (*through)(walk *w, const walk_hit *hit, const segment_motion *s, struct bsdf_color_arguments *a);

    /* ---- adjoint ---- */

    /* Writes the inputs, besides parameters, at which derivatives of a vertex arrive. Returns their
     * number. */
    uint32_t (*inputs)(walk *w, const walk_position *at, const walk_vertex *v, ir_ref out[ARRIVALS_MOST]);
    /* Where `chains`: writes the ray that goes on, differentiated. Returns how many numbers it has. */
    uint32_t (*onward)(walk *w, const walk_vertex *v, ir_ref out[RAY_MOST]);
    /* Passes the adjoints that have arrived on to the parameters that move the vertex. Where `chains`,
     * carried is, in, the adjoint of the ray that goes on, and out, that of the ray that leads here. */
    void (*adjoint)(walk *w, const walk_position *at, const walk_vertex *v, ir_ref when, arrivals *arrived,
                    ir_ref carried[RAY_MOST]);
} walk_motion_class;

#endif
