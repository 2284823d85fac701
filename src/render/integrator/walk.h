/* SPDX-License-Identifier: BSD-3-Clause
 * One vertex of a path, traced: what primal, gradient, frozen and unrolled kernels have in common, so that they cannot walk different paths.
 * vertex.c intersects and evaluates; it knows nothing of sums and derivatives. */
#ifndef BL_RENDER_WALK_H
#define BL_RENDER_WALK_H

#include "render/classes.h"

/* Traced functions of a module, one per class (or kind) in the order of the plan's lists. */
typedef struct walk_functions {
    ir_func *intersect[SHAPE_KIND_COUNT]; /* of every kind in use */
    uint32_t kinds;
    ir_func **interact; /* of every kind in use, or, without PLAN_SHARE_SHAPES, of every shape */
    uint32_t interacts;
    ir_func **bsdf_sample;     /* record, wi 3, uv 2, to light 3, u 3 -> pdf of the light's direction, wo 3, pdf, eta, delta, lobe */
    ir_func **bsdf_value;      /* record, wi 3, uv 2, to light 3, wo 3, delta, lobe -> value for the light 3, value of the sample 3 */
    ir_func **bsdf_value_tracked;
    ir_func **emitter_sample;  /* record, reference 3, u 2 -> d 3, distance, pdf, uv 2, facing */
    ir_func **emitter_radiance; /* record, uv 2, distance, facing -> 3 */
    ir_func **emitter_radiance_tracked;
    ir_func **emitter_place;   /* record, reference 3, d 3, distance, uv 2 -> d 3, distance, uv 2: as functions of what moves the light; NULL
                                  where no light's place is tracked */
    ir_func **emitter_pdf;     /* record, reference 3, d 3, distance, normal 3, uv 2 -> pdf */
} walk_functions;

typedef struct walk {
    tracer t;
    const plan *plan;
    render_pass pass;
    bool next_event;   /* sample lights */
    bool bsdf_emission; /* count lights that the material's sample found */
    bool behind_null;   /* the hidden environment stays hidden behind null lobes */
    bool weighted;      /* samples have weights: walk_position.weight */
    walk_functions fn;
    ir_ref pixel, seed, stream, spp;
    const sampler_class *sampler;
    bool notes;           /* the walk keeps `seen`, so that walking the same path again needs no shadow rays */
    ir_ref seen, again;   /* u32: bit k, the light sampled at vertex k is visible; bool: this walk follows one that filled it */
} walk;

enum { SEEN_MOST = 32 }; /* vertices that `seen` has bits for; deeper ones are traced again */

/* Where a path stands before a vertex. */
typedef struct walk_position {
    ir_ref sample, depth;  /* u32 */
    vec3 o, d;
    ir_ref tmax;           /* negative: a path that has ended; nothing will be hit */
    ir_ref pdf;            /* with which d was sampled; where walk.behind_null, -1 as long as nothing but null lobes was met */
    ir_ref delta;          /* bool: by a discrete lobe, or d is a camera ray */
    ir_ref weight;         /* of the sample in its pixel, where walk.weighted: filter times sensor */
} walk_position;

/* Light found by the ray itself, or sampled: radiance is evaluated by walk_radiance, tracked or not. */
typedef struct walk_light {
    ir_ref there;            /* bool */
    ir_ref cls, record;      /* u32; valid references also where `there` is false */
    vec2 uv;
    ir_ref distance, facing;
    bool sampled;            /* by choose_light: seen from ref in direction d */
    vec3 ref, d;
} walk_light;

typedef struct walk_vertex {
    interaction si;
    frame frame;          /* of the shading normal */
    walk_light hit;       /* emission at the vertex (or of the environment) */
    ir_ref hit_mis;       /* weight of the material's sample against light sampling; 0 where nothing is hit */
    ir_ref goes_on;       /* bool: there is a surface and depth allows another segment */
    ir_ref bsdf_class, bsdf_record;
    vec3 wi, to_light, wo; /* local */
    walk_light light;     /* sampled light */
    ir_ref light_weight;  /* visibility * mis / (pdf * choice probability) */
    ir_ref light_visible; /* bool */
    bsdf_sample sample;
    vec3 next_o, next_d;  /* the ray that goes on */
    ir_ref u_roulette;
    ir_ref decisions;     /* u32: mixes what was decided here, for the drift test */
} walk_vertex;

bl_result walk_begin(walk *w, ir_module *m, ir_func *f);
walk_position walk_camera(walk *w, ir_ref sample); /* block 0 of the sample's random numbers */
/* A sample's radiance, or dL/dI of its pixel, times the sample's weight. */
color walk_weigh(walk *w, walk_position at, color c);
/* What a ray hits. */
interaction walk_intersect(walk *w, walk_position at);
bool walk_has_null(const walk *w); /* some material of the scene has a null lobe */
walk_vertex walk_visit(walk *w, walk_position at);
/* Radiance of a light; black where it is not there. tracked: with derivatives (or from the frozen values). */
color walk_radiance(walk *w, walk_light light, bool tracked);
/* The material's values at a vertex: toward the sampled light, and of the sampled direction. */
void walk_values(walk *w, const walk_vertex *v, bool tracked, color *for_light, color *for_sample);
/* Roulette after a vertex (Mitsuba's path): survival probability from the throughput's maximum; 1 before rr_depth. */
ir_ref walk_survival(walk *w, ir_ref depth, ir_ref throughput_max, ir_ref eta);

/* surface.c: what an interaction is made of, as results and arguments of traced functions. What no class of the plan needs is left out. */
enum { INTERACT_RESULTS = 17, SURFACE_ARGS = 11 };
uint32_t surface_pack(tracer *t, const interaction *si, ir_ref out[INTERACT_RESULTS]); /* how many */
void surface_unpack(tracer *t, const ir_ref *in, interaction *si);
frame surface_frame(tracer *t, const interaction *si);
surface surface_params(tracer *t); /* of the function being traced, after its others; and the arguments for them: how many */
uint32_t surface_args(tracer *t, const interaction *si, frame fr, ir_ref out[SURFACE_ARGS]);

/* baked.c: the two ray questions where the plan is baked; results as ir_ray_closest's. tmin is 0. */
void baked_closest(walk *w, const ray *ray, ir_ref out[4]);
ir_ref baked_any(walk *w, const ray *ray);

#endif
