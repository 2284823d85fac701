/* SPDX-License-Identifier: BSD-3-Clause
 * What of a path moves with parameters, and how: the structs in which a walk carries it, and the interface of
 * the ways in which it may (docs/theory/moving_geometry.md, attached_replay.md). One of them is chosen when
 * a walk begins (motion/none.c); each is a file of motion/, and all that the rooms below know of it is
 * struct walk_motion_class. */
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

/* What a ray met, all detached: enough to say again where it is. */
typedef struct walk_hit {
    ir_ref valid; /* bool; the rest means something all the same */
    ir_ref entry, level, t;
    vec2 b;    /* coordinates on the primitive */
    vec3 o, d; /* the ray */
    vec3 p;
    ir_ref slides; /* bool, where shapes move with their to_world: the ray is given, and the hit slides along
                      it; else it goes along with its shape */
} walk_hit;

typedef struct walk_ray {
    vec3 o, d;
    ir_ref pdf; /* where walk.attaches: with which d was sampled */
} walk_ray;
enum { RAY_MOST = 7 };

/* ---- what moves ---- */

/* What of a ray moves with parameters, where paths are attached (attached_path.c). */
enum walk_link {
    LINK_FIXED,
    LINK_POINT,
    LINK_RAY,
    LINK_ATTACHED /* as RAY; d was sampled attached, so its pdf moves */
};

/* Something that crosses a ray: enough to say how it slides along it. */
typedef struct walk_border {
    ir_ref valid, entry, level, t; /* as walk_hit's, as is this: */
    vec2 b;
    vec3 n;          /* geometric normal */
    ir_ref distance; /* from where the segment begins */
} walk_border;

/* A surface, and a ray that crosses it and is held, by whose sliding along that a vertex moves; or, where
 * axis is not 0, a point of its material, by whose going along with the shape. */
typedef struct motion_anchor {
    ir_ref there; /* bool: there is one, and light went on by no discrete lobe */
    walk_border on;
    vec3 o, d;   /* the ray, from where its segment begins */
    ir_ref axis; /* u32: 1 to 3, along which the point's motion is looked at */
    vec3 by;     /* what the vertex moves by for each unit of that, over the probability of having chosen it
                    (local_volume.c) */
} motion_anchor;

/* What a vertex moves by as the camera's ray does: rows of the matrices that its shift and its turn (struct
 * segment_motion) are multiplied with. */
typedef struct motion_carry {
    ir_ref there; /* bool: it does */
    vec3 shift[3], turn[3];
} motion_carry;

/* How a vertex of a volumetric walk, and the segment up to it, move with parameters; 0 in derivatives but for
 * growth. What stands on the ray at a distance from where the segment begins moves by shift + turn *
 * distance; and besides along the ray, the beginning of the last stretch by `near`, its end by `far`. */
typedef struct segment_motion {
    vec3 shift, turn;
    ir_ref near, far;
    ir_ref growth;     /* of the measure of the way that a collision has its share of; 1 in derivatives */
    vec3 displacement; /* the vertex */
    ir_ref origin;     /* detached: distance of where the last stretch begins */
} segment_motion;

/* The same of a stretch by itself: what is at a distance from its beginning moves by shift + turn * distance,
 * and along the ray by between near, at the beginning, and far, at `end`. */
typedef struct stretch_motion {
    vec3 shift, turn;
    ir_ref near, far, end;
} stretch_motion;

/* How a ray moves, tracked: what stands on it at a distance from where it begins, by shift + turn *
 * distance. */
typedef struct ray_motion {
    vec3 shift, turn;
} ray_motion;

/* What stands at a distance along a ray moves by. */
static inline vec3 motion_along(tracer *t, vec3 shift, vec3 turn, ir_ref distance)
{
    return v3_add(t, shift, v3_scale(t, turn, distance));
}

/* A stretch of a ray that begins at start and has direction d: from `origin`, where it has gone through the
 * surface `near`, to the surface `far`; or, if that is not there, as long as it is. */
typedef struct ray_stretch {
    const walk_border *near, *far;
    vec3 start, d;         /* d: unit */
    ir_ref origin, length; /* distances, as they were */
} ray_stretch;

/* ---- what a position, a vertex and a light have besides, by the kind of motion ---- */

typedef struct attached_position {
    ir_ref link;  /* u32: enum walk_link */
    ir_ref count; /* u32, where walk.attaches: attached vertices so far in this chain */
    walk_ray
        now; /* the ray as tracked evaluations have it; its value is that of o and d but in frozen ones */
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
    ir_ref next_valid;    /* from a vertex that moves: bool, the ray that goes on hits something, */
    ir_ref next_delta;    /* bool: which then samples a discrete lobe, */
    vec3 next_p, next_ng; /* where */
    ir_ref onward;        /* u32: link to the next vertex */
    /* where walk.attaches: */
    ir_ref weighs;       /* bool: weights against light sampling are tracked, */
    ir_ref sampled;      /* and this sample is attached, which was made */
    ir_ref u1, u2;       /* by these numbers; */
    ir_ref density_only; /* bool: it is of a part of a mixture that is detached, so only its density moves */
    ir_ref count;        /* u32: attached_position.count */
    /* where walk.smooth, of light sampling without the steps of its tables: */
    ir_ref hit_pdf, light_pdf; /* of the light that was hit; of the sampled one */
} attached_vertex;

typedef struct attached_light {
    ir_ref on_shape;      /* bool: of a sampled light */
    walk_arrival arrival; /* at the vertex that it is seen from */
} attached_light;

typedef struct local_surface_position {
    walk_hit last; /* the vertex before; valid where it may move, and its lobe was not discrete */
} local_surface_position;

typedef struct local_surface_vertex {
    walk_hit last;    /* local_surface_position.last */
    interaction next; /* what the ray that goes on meets */
} local_surface_vertex;

typedef struct local_volume_position {
    motion_anchor anchor; /* what moves the vertex before, */
    motion_carry carry;   /* also where the camera's parameters are wanted; */
    walk_border border;   /* the surface that the ray has gone through since, the last one; */
    ir_ref reach;         /* how far it is from that vertex to the next, where the segment swings about that,
                             else negative; */
    ir_ref target; /* u32: the shape's record, where that is a point which goes along with its shape; 0:
                      it is held */
} local_volume_position;

typedef struct local_volume_vertex {
    segment_motion motion;
    walk_border border; /* the surface that the ray meets, collision or not; */
    vec3 hit_normal;    /* its geometric normal */
    motion_carry carry;
    motion_anchor anchor;
    ir_ref next_reach;  /* from here to the next vertex of the path, where the segment is to swing about that,
                           else negative; */
    vec3 next_n;        /* the normal there; */
    ir_ref next_target; /* local_volume_position.target */
} local_volume_vertex;

typedef struct local_volume_light {
    segment_motion motion; /* of the vertex that it is seen from */
} local_volume_light;

/* ---- what the interface passes ---- */

/* Values whose adjoints are wanted besides those of parameters, and what has arrived at them so far: of the
 * ray that leads to a vertex (attached_path.c), or of how it moves (local_volume.c). None: count 0. */
enum { ARRIVALS_MOST = 12 };
typedef struct arrivals {
    ir_ref at[ARRIVALS_MOST], sum[ARRIVALS_MOST];
    uint32_t count;
} arrivals;

/* By what the values of a material are multiplied as its vertex moves. */
typedef struct motion_factors {
    ir_ref measure;       /* of the sample: ratio of the measures around the next vertex; 1 where it stays */
    ir_ref light, sample; /* where paths are attached: geometry terms and densities; else none */
} motion_factors;

/* ---- the interface ---- */

/* A way in which paths move with parameters. Functions are called in this order at each vertex, and all of
 * them in all walks; `motion_none` has those that do nothing. */
typedef struct walk_motion_class {
    const char *name;
    bool chains;          /* adjoints of rays are carried on, so vertices are backpropagated along chains */
    bool moves_stretches; /* so do media, and what lies in them: walk_stretch.motion */

    /* ---- state: fields of walk_position ---- */

    void (*state)(walk *w, loop_state *s, walk_position *at); /* visits each field (loop_state.h) */
    void (*before)(walk *w, walk_position *at);               /* no path has begun */
    /* Where a path begins: of the camera's position; what `at` takes from that behind its branch, before and
     * after the ray. */
    void (*camera)(walk *w, walk_position *camera);
    void (*join)(walk *w, ir_ref branch, const walk_position *camera, walk_position *at);
    void (*begun)(walk *w, ir_ref fresh, walk_position *at);
    void (*next)(walk *w, const walk_position *at, const walk_vertex *v, ir_ref alive, walk_position *next);

    /* ---- a visit, all detached but for how the vertex moves: fields of walk_vertex ---- */

    void (*met)(walk *w, walk_vertex *v, const walk_position *at);    /* v->met is known */
    void (*stands)(walk *w, walk_vertex *v, const walk_position *at); /* surface or collision is decided */
    void (*light_chosen)(walk *w, walk_vertex *v, vec3 normal);       /* v->light; normal: on it */
    /* v->sample, of that roughness (none: there is no material) and made by these numbers */
    void (*sampled)(walk *w, walk_vertex *v, ir_ref roughness, ir_ref u1, ir_ref u2);
    void (*look_ahead)(walk *w, walk_vertex *v, const walk_position *at); /* where the path goes on to */

    /* ---- values, tracked ---- */

    /* The point that a sampled light is seen from: light's, and in the arguments of emitter_moved, which are
     * detached. */
    void (*light_reference)(walk *w, walk_light *light, struct emitter_moved_arguments *a);
    /* Where on a light a ray has found it: uv, direction and `on`. Returns whether these move. */
    bool (*emission)(walk *w, walk_light *light);
    /* Arguments of bsdf_value, in place of the detached ones; light: as seen from the vertex. */
    void (*arguments)(walk *w, const walk_vertex *v, const walk_light *light, struct bsdf_value_arguments *a,
                      motion_factors *by);
    /* The weight of light that the ray has found. Returns whether it moves; else *mis stays. */
    bool (*hit_mis)(walk *w, const walk_vertex *v, ir_ref *mis);

    /* ---- toward lights through media, tracked: where moves_stretches ---- */

    ray_motion (*to_light)(walk *w, const walk_vertex *v);                         /* of the shadow ray */
    stretch_motion (*between)(walk *w, const ray_motion *l, const ray_stretch *s); /* of a stretch on it */
    /* Arguments of bsdf_through at a surface that it meets, in place of the detached ones. In all walks. */
    void (*through)(walk *w, const walk_hit *hit, const segment_motion *s, struct bsdf_color_arguments *a);

    /* ---- adjoint ---- */

    /* What derivatives of a vertex arrive at besides parameters; how many. */
    uint32_t (*inputs)(walk *w, const walk_position *at, const walk_vertex *v, ir_ref out[ARRIVALS_MOST]);
    /* Where `chains`: the ray that goes on, tracked; how many numbers. */
    uint32_t (*onward)(walk *w, const walk_vertex *v, ir_ref out[RAY_MOST]);
    /* What has arrived goes on to what moves the vertex; carried: where `chains`, the adjoint of the ray that
     * goes on, and then of the one that leads here. */
    void (*adjoint)(walk *w, const walk_position *at, const walk_vertex *v, ir_ref when, arrivals *arrived,
                    ir_ref carried[RAY_MOST]);
} walk_motion_class;

#endif
