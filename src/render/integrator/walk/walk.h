/* SPDX-License-Identifier: BSD-3-Clause
 * What a walk is, and what it carries from vertex to vertex: the structs that primal, gradient, frozen and
 * unrolled kernels have in common, so that they cannot walk different paths. */
#ifndef BL_RENDER_WALK_H
#define BL_RENDER_WALK_H

#include "render/integrator/walk/motion.h"

/* Traced functions of a module, one per class (or kind) in the order of the plan's lists. */
typedef struct walk_functions {
    ir_func *intersect[SHAPE_KIND_COUNT]; /* of every kind in use */
    uint32_t kinds;
    ir_func **interact;         /* of every kind in use, or, without PLAN_SHARE_SHAPES, of every shape */
    ir_func **interact_tracked; /* as functions of what moves surfaces; NULL where nothing does */
    uint32_t interacts;
    /* What these take and return is described in vertex/plugin_functions.h. In volumetric walks phase
     * functions follow the materials in bsdf_sample and bsdf_value. */
    ir_func **bsdf_sample;
    ir_func **bsdf_value, **bsdf_value_tracked;
    ir_func **bsdf_albedo; /* of channels alone */
    ir_func **emitter_sample;
    ir_func **emitter_ray; /* of light tracing alone */
    ir_func **emitter_radiance, **emitter_radiance_tracked;
    ir_func *
        *emitter_moved;     /* as functions of what moves the light; NULL where no light's place is tracked */
    ir_func **slide_before; /* where walk.wants.surface_anew, interact_tracked meets the entry anew with the
                               ray that it is given; this is the same untracked, in RENDER_FROZEN */
    ir_func **lobe_direction;          /* of discrete lobes, tracked */
    ir_func **lobe_direction_before;   /* the same untracked, in RENDER_FROZEN */
    ir_func **attach, **attach_before; /* in the place of those where walk.attaches */
    ir_func **emitter_pdf;
    ir_func **emitter_smooth; /* as emitter_pdf, where walk.smooth: emitter_hit.smooth */
    /* Of volumetric walks: the share that goes on as if there were no surface. */
    ir_func **bsdf_through, **bsdf_through_tracked;
    ir_func **extinction, **extinction_tracked; /* record, p 3 -> 3 */
    ir_func **albedo, **albedo_tracked;         /* record, p 3 -> 3 */
    ir_func **area, **area_tracked,
        **most_area; /* of phase functions: record, direction 3, p 3 -> 1; record -> 1; where walk.flakes */
    ir_func **emission, **emission_tracked; /* record, p 3 -> 3; NULL where no medium emits */
    ir_func **bounds;                       /* record -> majorant, low 3, high 3 of the box */
    ir_func **into, **cell; /* record, o 3, d 3 -> the same in the volume; record, these, distance -> bound,
                               one from below, where it ends */
} walk_functions;

enum { SEEN_MOST = 32 }; /* vertices that walk_known.seen has bits for; deeper ones are traced again */

/* What is known of a path before it is walked, from an earlier walk. A kernel's walk knows nothing; for one
 * vertex it is copied, and the copy is told (replay_walk, drt_enter). */
typedef struct walk_known {
    ir_ref again, seen; /* where walk.notes: bool, an earlier walk has filled `seen`; u32, bit k: the light
                           sampled at vertex k is visible */
    bool forces;        /* the path is made to collide, where this is not negative: */
    ir_ref forced;      /* at this distance */
    bool recalls;       /* what reaches the vertex of its sampled light may be known
                           (remembered_transmittance.c): */
    ir_ref recalled;    /* bool: it is */
    color transmittance;
    ir_ref transmittance_stages;
} walk_known;

/* Which functions of what moves a walk needs, and which of their results (motion/none.c). */
typedef struct walk_wants {
    bool surface_tracked;  /* interact_tracked */
    bool surface_anew;     /* which meets the entry anew with the ray that it is given */
    bool surface_before;   /* and the same untracked: slide_before */
    bool lobe_directions;  /* lobe_direction, lobe_direction_before */
    bool attached_lobes;   /* attach, attach_before, and of bsdf_sample the roughness */
    bool hit_mis;          /* walk_motion_class.hit_mis: weights of light that rays have found move */
    bool light_normal;     /* on sampled lights */
    bool moving_reference; /* emitter_moved: of delta lights, too, as seen from a point that moves */
} walk_wants;

struct walk {
    tracer t;
    const plan *plan;
    render_pass pass;
    bool next_event;                 /* sample lights */
    bool bsdf_emission;              /* count lights that the material's sample found */
    bool behind_null;                /* the hidden environment stays hidden behind null lobes */
    const walk_motion_class *motion; /* how paths move with parameters */
    uint32_t moves; /* enum mesh_moves: of surfaces, by a local convention; whatever the pass */
    walk_wants wants;
    bool attaches; /* paths are attached, and rough lobes, too: attached_lobe.c */
    bool holds;    /* of some materials perhaps not all of them */
    bool smooth; /* weights against light sampling leave out the steps of its tables, because attached samples
                    cross them: in all passes of a gradient where some attaches */
    bool weighted;   /* samples have weights: walk_position.weight */
    bool volumetric; /* surfaces that are not there are no vertices, and media are; else none of what is
                        marked (V) below exists */
    bool media;      /* there are any */
    bool spectral;   /* the extinction of some medium differs by channel */
    bool cells;      /* some medium has bounds in cells */
    bool flakes;     /* the extinction of some medium goes by the direction */
    bool drt;        /* the extinction's gradient at collisions comes from DRT paths
                            (differential_ratio_tracking.c), not from the path's own collisions */
    walk_functions fn;
    ir_ref pixel, seed, stream, spp;
    const sampler_class *sampler;
    bool notes; /* kernels keep which lights were seen, so that walking a path again needs no shadow rays */
    walk_known known;
};

/* Where a path stands before a vertex. */
struct walk_position {
    ir_ref sample, depth; /* u32 */
    vec3 o, d;
    ir_ref tmax; /* negative: a path that has ended; nothing will be hit */
    ir_ref pdf;  /* with which d was sampled; where walk.behind_null, -1 as long as nothing but null lobes was
                    met */
    ir_ref delta;  /* bool: by a discrete lobe, or d is a camera ray */
    ir_ref weight; /* of the sample in its pixel, where walk.weighted: filter times sensor */
    ir_ref event; /* (V) u32: vertices, collisions and surfaces that were crossed so far; random numbers go by
                     it */
    ir_ref medium; /* (V) u32: where the scene buffer describes what the ray travels in (enum medium_word); 0:
                      vacuum */
    vec3 scattered; /* (V) where the path last changed its direction: what light sampling would have started
                       from */
    color share;    /* (V) how likely each channel is to have sampled this path, if one of the three does the
                       sampling; sum 1 */
    /* Where walk.motion is of that kind: */
    attached_position attached;
    local_surface_position local_surface;
    local_volume_position local_volume;
};

/* Light found by the ray itself, or sampled: radiance is evaluated by walk_radiance, tracked or not. */
struct walk_light {
    ir_ref there;       /* bool */
    ir_ref cls, record; /* u32; valid references also where `there` is false */
    vec2 uv;
    ir_ref distance, facing;
    bool sampled; /* by choose_light: seen from ref */
    vec3 ref, d;  /* d: toward it, unit */
    bool d_moves; /* d carries derivatives */
    vec3 n;       /* where walk.wants.light_normal: of a sampled light on a shape */
    surface on;   /* where plan.light_needs: face and b of the point on the light, and p, of one that is not
                     sampled */
    walk_hit seen_from; /* where surfaces move locally: whose point ref is; of light that the ray has found,
                           where */
    /* Where walk.motion is of that kind: */
    attached_light attached;
    local_volume_light local_volume;
};

/* A stretch of a ray up to the next surface, where it lies in a medium (free_flight.c). */
typedef struct walk_stretch {
    ir_ref there;       /* bool: it does */
    ir_ref cls, record; /* of the medium; valid also where there is none, as this: */
    ir_ref medium;      /* word of the scene buffer where it is described (enum medium_word) */
    ir_ref homogeneous; /* bool */
    vec3 o, d;
    ir_ref limit;          /* distance to the next surface */
    ir_ref sample, key;    /* u32: name its random numbers, */
    ir_ref step;           /* u32: which are used from here on */
    stretch_motion motion; /* where walk.motion moves stretches */
} walk_stretch;

/* The decided way through a stretch. */
typedef struct walk_flight {
    walk_stretch s;
    ir_ref collides; /* bool: it ends in the medium, at distance t */
    ir_ref mean;     /* heterogeneous: mean distance between tentative collisions there */
    ir_ref t;
    ir_ref steps;    /* u32: collisions before that changed nothing, and cells that were left */
    color weight;    /* transmittance, and scattering at the end, over the density of all decisions; where the
                        end's factor is 0, without it */
    ir_ref zeros[3]; /* u32: factors that are 0 */
    color share;     /* walk_position.share behind it */
    ir_ref growth;   /* where walk.motion moves stretches: segment_motion.growth */
} walk_flight;

/* What reaches a vertex of the light it has sampled, through media and surfaces that let light through
 * (transmittance.c). */
typedef struct walk_shadow {
    ir_ref open;     /* bool: nothing is in the way that lets nothing through */
    color product;   /* of all factors that are not 0 */
    ir_ref zeros[3]; /* u32: of the others the number, counted to 2 */
    ir_ref stages; /* u32: stretches up to the last one that shadow_adjoint has anything to do in; in kernels
                      that may want it */
} walk_shadow;

struct walk_vertex {
    interaction si;
    frame frame;    /* of the shading normal */
    walk_hit met;   /* what the ray has met, and where */
    walk_light hit; /* emission at the vertex (or of the environment) */
    ir_ref hit_mis; /* weight of the material's sample against light sampling; 0 where nothing is hit */
    ir_ref goes_on; /* bool: there is a surface and depth allows another segment */
    ir_ref bsdf_class, bsdf_record;
    vec3 wi, to_light, wo;    /* local */
    walk_light light;         /* sampled light */
    ir_ref light_probability; /* f32: with which the light was chosen; of tabled choices */
    ir_ref light_weight;      /* visibility * mis / (pdf * choice probability) */
    ir_ref light_visible;     /* bool */
    walk_shadow shadow;       /* (V) on the way to the light */
    vec3 light_d;             /* (V) toward it */
    walk_flight flight;       /* (V) where walk.media */
    ir_ref samples_light;     /* (V) bool: where walk.media */
    ir_ref through;           /* (V) bool: goes on as if there were no surface */
    ir_ref collision_z;       /* (V) of the point of a collision; its x and y are si.uv */
    ir_ref medium;            /* (V) as walk_position's: on the side that the ray goes on to */
    bsdf_sample sample;
    vec3 next_o, next_d; /* the ray that goes on */
    ir_ref u_roulette;
    ir_ref decisions; /* u32: mixes what was decided here, for the drift test */
    /* Where walk.motion is of that kind: */
    attached_vertex attached;
    local_surface_vertex local_surface;
    local_volume_vertex local_volume;
};

/* The walk's tracer, its values carrying derivatives (or being the frozen ones). */
static inline tracer walk_tracked(const walk *w)
{
    tracer t = w->t;
    t.tracked = true, t.frozen = w->pass == RENDER_FROZEN;
    return t;
}

/* ---- walk.c: questions about a walk, its random numbers ---- */

bool walk_tracks(const walk *w); /* the pass looks at values that carry derivatives */
/* `at` (detached, but for what it follows already), moved as far as `now` is from `before`; only where
 * condition. In derivatives that is the value of `at` with the derivative of `now`. */
ir_ref walk_shifted(walk *w, ir_ref condition, ir_ref at, ir_ref now, ir_ref before);
walk_border border_none(walk *w);
/* start: where the ray begins that crosses it; d: unit. */
walk_border border_of(walk *w, const walk_hit *hit, vec3 n, vec3 start, vec3 d);
ir_ref walk_begins(walk *w, const walk_position *at); /* bool: nothing has happened on this path yet */
/* u32: which of the path's vertices that may sample a light, from 0 on */
ir_ref walk_number(const walk *w, const walk_position *at);
random4 walk_numbers(walk *w, ir_ref sample, ir_ref block, sampler_slots slots); /* of the lane's pixel */
/* A sample's radiance, or dL/dI of its pixel, times the sample's weight. */
color walk_weigh(walk *w, walk_position at, color c);
ir_ref walk_shape_of(tracer *t, ir_ref entry); /* the record of the shape that an entry belongs to */

#endif
