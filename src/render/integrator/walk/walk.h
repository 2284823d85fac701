/* SPDX-License-Identifier: BSD-3-Clause
 * One vertex of a path, traced: what primal, gradient, frozen and unrolled kernels have in common, so that
 * they cannot walk different paths. visit.c intersects and evaluates; it knows nothing of sums and
 * derivatives. */
#ifndef BL_RENDER_WALK_H
#define BL_RENDER_WALK_H

#include "render/classes.h"

/* Traced functions of a module, one per class (or kind) in the order of the plan's lists. */
typedef struct walk_functions {
    ir_func *intersect[SHAPE_KIND_COUNT]; /* of every kind in use */
    uint32_t kinds;
    ir_func **interact;         /* of every kind in use, or, without PLAN_SHARE_SHAPES, of every shape */
    ir_func **interact_tracked; /* as functions of what moves surfaces; NULL where nothing does */
    uint32_t interacts;
    ir_func **bsdf_sample; /* record, wi 3, uv 2, to light 3, u 3 -> pdf of the light's direction, wo 3, pdf,
                              eta, delta, lobe */
    ir_func **bsdf_value; /* record, wi 3, uv 2, to light 3, wo 3, delta, lobe -> value for the light 3, value
                             of the sample 3 */
    ir_func **bsdf_value_tracked;
    ir_func **bsdf_albedo; /* record, wi 3, uv 2 -> 3; of channels alone */
    ir_func *
        *emitter_sample;   /* record, reference 3, u 2 -> d 3, distance, pdf, uv 2, facing, normal 3, smooth
                              pdf, face, b 2; but for the first eight only up to what is asked for */
    ir_func **emitter_ray; /* record, u 4 -> p 3, d 3, normal 3, shining side 3, uv 2, weight, point weight,
                              face, b 2; of light tracing alone */
    ir_func **emitter_radiance; /* record, uv 2, distance, facing, then surface_light_args -> 3 */
    ir_func **emitter_radiance_tracked;
    ir_func **emitter_place; /* record, reference 3, d 3, distance, uv 2 -> d 3, distance, uv 2: as functions
                                of what moves the light; NULL where no light's place is tracked */
    ir_func **slide_before;  /* where walk.follows, interact_tracked meets the entry anew with the ray it is
                                given; and untracked, in RENDER_FROZEN */
    ir_func **turn, **turn_before;     /* record, wi 3, uv 2, lobe -> wo 3 of the discrete lobe, tracked;
                                          untracked, in RENDER_FROZEN */
    ir_func **attach, **attach_before; /* in their place where walk.attaches: record, wi 3, uv 2, lobe, delta,
                                          wo 3 as decided, to light 3, u 2 -> wo 3, its density given the
                                          choices, its density, that of the direction to the light */
    ir_func **emitter_smooth;          /* as emitter_pdf, where walk.smooth: emitter_hit.smooth */
    ir_func **emitter_pdf; /* record, reference 3, d 3, distance, normal 3, uv 2, entry, at 2 -> pdf */
    /* Volumetric walks: phase functions follow the materials in bsdf_sample and bsdf_value, with wi, wo in
     * the world and their place in (uv, depth coordinate); all of both have the latter as one more
     * parameter. */
    ir_func **bsdf_through,
        **bsdf_through_tracked; /* record, wi 3, uv 2 -> share that goes on as if there were no surface 3 */
    ir_func **extinction, **extinction_tracked; /* record, p 3 -> 3 */
    ir_func **albedo, **albedo_tracked;         /* record, p 3 -> 3 */
    ir_func **area, **area_tracked,
        **most_area; /* of phase functions: record, direction 3, p 3 -> 1; record -> 1; where walk.flakes */
    ir_func **emission, **emission_tracked; /* record, p 3 -> 3; NULL where no medium emits */
    ir_func **bounds;                       /* record -> majorant, low 3, high 3 of the box */
    ir_func **into, **cell; /* record, o 3, d 3 -> the same in the volume; record, these, distance -> bound,
                               one from below, where it ends */
} walk_functions;

typedef struct walk {
    tracer t;
    const plan *plan;
    render_pass pass;
    bool next_event;    /* sample lights */
    bool bsdf_emission; /* count lights that the material's sample found */
    bool behind_null;   /* the hidden environment stays hidden behind null lobes */
    bool follows;       /* tracked evaluations follow the ray that leads to a vertex: attached_path.c */
    bool attaches;      /* and rough lobes, too: attached_lobe.c */
    bool holds;         /* of some materials perhaps not all of them */
    bool smooth; /* weights against light sampling leave out the steps of its tables, because attached samples
                    cross them: in all passes of a gradient where some attaches */
    bool weighted;   /* samples have weights: walk_position.weight */
    bool volumetric; /* surfaces that are not there are no vertices, and media are; else none of what is
                        marked (V) below exists */
    bool media;      /* there are any */
    bool spectral;   /* the extinction of some medium differs by channel */
    bool cells;      /* some medium has bounds in cells */
    bool flakes;     /* the extinction of some medium goes by the direction */
    bool sways;      /* vertices, and what lies between them, move with parameters (local_volume.c) */
    bool detours;    /* the extinction's gradient at collisions comes from detours
                        (differential_ratio_tracking.c), not from the path's own collisions */
    bool forces;     /* the path is made to collide, where this is not negative: */
    ir_ref forced;   /* at this distance */
    bool recalls; /* what reaches the vertex of its sampled light may be known from another walk of the path
                     (remembered_transmittance.c): */
    ir_ref recalled; /* bool: it is */
    color crossed;
    ir_ref crossed_stages;
    walk_functions fn;
    ir_ref pixel, seed, stream, spp;
    const sampler_class *sampler;
    bool notes;         /* the walk keeps `seen`, so that walking the same path again needs no shadow rays */
    ir_ref seen, again; /* u32: bit k, the light sampled at vertex k is visible; bool: this walk follows one
                           that filled it */
} walk;

enum { SEEN_MOST = 32 }; /* vertices that `seen` has bits for; deeper ones are traced again */

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

/* What of a ray moves with parameters, where walk.follows (attached_path.c). */
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
typedef struct walk_anchor {
    ir_ref there; /* bool: there is one, and light went on by no discrete lobe */
    walk_border on;
    vec3 o, d;   /* the ray, from where its segment begins */
    ir_ref axis; /* u32: 1 to 3, along which the point's motion is looked at */
    vec3 by;     /* what the vertex moves by for each unit of that, over the probability of having chosen it
                    (local_volume.c) */
} walk_anchor;

/* What a vertex moves by as the camera's ray does: rows of the matrices that its shift and its turn (struct
 * walk_sway) are multiplied with. */
typedef struct walk_carry {
    ir_ref there; /* bool: it does */
    vec3 shift[3], turn[3];
} walk_carry;

/* How a vertex of a volumetric walk, and the segment up to it, move with parameters; 0 in derivatives but for
 * growth. What stands on the ray at a distance from where the segment begins moves by shift + turn *
 * distance; and besides along the ray, the beginning of the last stretch by `near`, its end by `far`. */
typedef struct walk_sway {
    vec3 shift, turn;
    ir_ref near, far;
    ir_ref growth; /* of the measure of the way that a collision has its share of; 1 in derivatives */
    vec3 moved;    /* the vertex */
    ir_ref origin; /* detached: distance of where the last stretch begins */
} walk_sway;

/* The same of a stretch by itself: what is at a distance from its beginning moves by shift + turn * distance,
 * and along the ray by between near, at the beginning, and far, at `end`. */
typedef struct walk_motion {
    vec3 shift, turn;
    ir_ref near, far, end;
} walk_motion;

/* Where a path stands before a vertex. */
typedef struct walk_position {
    ir_ref sample, depth; /* u32 */
    vec3 o, d;
    ir_ref tmax; /* negative: a path that has ended; nothing will be hit */
    ir_ref pdf;  /* with which d was sampled; where walk.behind_null, -1 as long as nothing but null lobes was
                    met */
    ir_ref delta;    /* bool: by a discrete lobe, or d is a camera ray */
    ir_ref link;     /* u32: enum walk_link, where walk.follows */
    ir_ref attached; /* u32: attached vertices so far in this chain, where walk.attaches */
    walk_ray now; /* there, the ray as tracked evaluations have it; its value is that of o and d but in frozen
                     ones */
    ir_ref weight; /* of the sample in its pixel, where walk.weighted: filter times sensor */
    ir_ref event; /* (V) u32: vertices, collisions and surfaces that were crossed so far; random numbers go by
                     it */
    ir_ref medium; /* (V) u32: where the scene buffer describes what the ray travels in (enum medium_word); 0:
                      vacuum */
    vec3 scattered; /* (V) where the path last changed its direction: what light sampling would have started
                       from */
    color share;    /* (V) how likely each channel is to have sampled this path, if one of the three does the
                       sampling; sum 1 */
    walk_hit last;  /* where surfaces move: the vertex before; valid where it may move, and its lobe was not
                       discrete */
    walk_anchor anchor; /* where walk.sways: what moves the vertex before, */
    walk_carry carry;   /* also where the camera's parameters are wanted; */
    walk_border border; /* the surface that the ray has gone through since, the last one; */
    ir_ref reach;  /* how far it is from that vertex to the next, where the segment swings about that, else
                      negative; */
    ir_ref target; /* u32: the shape's record, where that is a point which goes along with its shape; 0: it is
                      held */
} walk_position;

/* How a vertex was reached, where walk.follows. */
typedef struct walk_way {
    ir_ref link; /* u32: enum walk_link */
    walk_hit hit;
    walk_ray now; /* walk_position.now */
    ir_ref pdf;   /* where walk.attaches: walk_position.pdf */
} walk_way;

/* Light found by the ray itself, or sampled: radiance is evaluated by walk_radiance, tracked or not. */
typedef struct walk_light {
    ir_ref there;       /* bool */
    ir_ref cls, record; /* u32; valid references also where `there` is false */
    vec2 uv;
    ir_ref distance, facing;
    bool sampled;    /* by choose_light: seen from ref */
    vec3 ref, d;     /* d: toward it, unit */
    vec3 n;          /* of a sampled light on a shape */
    ir_ref on_shape; /* bool; these two where walk.follows, */
    walk_way way;    /* and this */
    surface on; /* where plan.light_needs: face and b of the point on the light, and p, of one that is not
                   sampled */
    walk_hit seen_from; /* where surfaces move: whose point ref is; of light that the ray has found, where */
    walk_sway sway;     /* where walk.sways */
} walk_light;

/* A stretch of a ray up to the next surface, where it lies in a medium (free_flight.c). */
typedef struct walk_stretch {
    ir_ref there;       /* bool: it does */
    ir_ref cls, record; /* of the medium; valid also where there is none, as this: */
    ir_ref place;       /* word of the scene buffer where it is described (enum medium_word) */
    ir_ref homogeneous; /* bool */
    vec3 o, d;
    ir_ref limit;       /* distance to the next surface */
    ir_ref sample, key; /* u32: name its random numbers, */
    ir_ref step;        /* u32: which are used from here on */
    walk_motion motion; /* where walk.sways */
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
    ir_ref growth;   /* where walk.sways: walk_sway.growth */
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

typedef struct walk_vertex {
    interaction si;
    frame frame;              /* of the shading normal */
    walk_hit hit_place, last; /* where surfaces move: this vertex, and the one before */
    interaction next;         /* and what the ray that goes on meets */
    walk_light hit;           /* emission at the vertex (or of the environment) */
    ir_ref hit_pdf; /* where walk.attaches: with which light sampling would have found it, smoothly */
    ir_ref hit_mis; /* weight of the material's sample against light sampling; 0 where nothing is hit */
    ir_ref goes_on; /* bool: there is a surface and depth allows another segment */
    ir_ref bsdf_class, bsdf_record;
    vec3 wi, to_light, wo;            /* local */
    walk_light light;                 /* sampled light */
    ir_ref light_probability;         /* f32: with which the light was chosen; of tabled choices */
    ir_ref light_weight;              /* visibility * mis / (pdf * choice probability) */
    ir_ref light_visible;             /* bool */
    ir_ref light_pdf, light_bsdf_pdf; /* where walk.attaches: densities that light_weight's MIS weighs */
    ir_ref attaches;        /* where walk.attaches, bool: weights against light sampling are tracked, */
    ir_ref attached;        /* and this sample is attached, which was made */
    ir_ref held;            /* but of a part of a mixture that is not, so only its density is; */
    ir_ref u1, u2;          /* by these numbers */
    ir_ref attached_before; /* u32: walk_position.attached */
    walk_shadow shadow;     /* (V) on the way to the light */
    vec3 light_d;           /* (V) toward it */
    walk_flight flight;     /* (V) where walk.media */
    ir_ref samples_light;   /* (V) bool: where walk.media */
    ir_ref through;         /* (V) bool: goes on as if there were no surface */
    walk_sway sway;         /* (V) where walk.sways, as are these: */
    walk_border border;     /* the surface that the ray meets, collision or not; */
    vec3 hit_normal;        /* its geometric normal */
    walk_carry carry;
    walk_anchor anchor;
    ir_ref next_reach;  /* from here to the next vertex of the path, where the segment is to swing about that,
                           else negative; */
    vec3 next_n;        /* the normal there; */
    ir_ref next_target; /* walk_position.target */
    ir_ref third;       /* (V) third coordinate of a collision's place, whose first two are si.uv */
    ir_ref medium;      /* (V) as walk_position's: on the side that the ray goes on to */
    bsdf_sample sample;
    vec3 next_o, next_d;  /* the ray that goes on */
    walk_way way;         /* where walk.follows, */
    ir_ref next_valid;    /* and from a vertex that moves: bool, the ray that goes on hits something, */
    ir_ref next_delta;    /* bool: which then samples a discrete lobe, */
    vec3 next_p, next_ng; /* where */
    ir_ref onward;        /* u32: link to the next vertex */
    ir_ref u_roulette;
    ir_ref decisions; /* u32: mixes what was decided here, for the drift test */
} walk_vertex;

/* The walk's tracer, its values carrying derivatives (or being the frozen ones). */
static inline tracer walk_tracked(const walk *w)
{
    tracer t = w->t;
    t.tracked = true, t.frozen = w->pass == RENDER_FROZEN;
    return t;
}

/* plugin_functions.c */
void walk_begin(walk *w, ir_func *f);
uint32_t walk_scatterers(const walk *w); /* materials, and phase functions where there are media */

/* emitter_sampling.c */
void light_find_emission(walk *w, walk_vertex *v, walk_position at); /* v->hit, hit_mis */
/* v->light, but for where it is seen from there; d: toward it, pdf: of d */
/* The light that u chooses, its class and record, and with which probability. */
ir_ref light_pick(walk *w, ir_ref u, ir_ref *cls, ir_ref *record);
ir_ref light_is_environment(walk *w, ir_ref cls); /* bool */
ir_ref light_is_delta(walk *w, ir_ref cls);       /* bool */
ir_ref light_occluded(walk *w, const ray *r);     /* bool: something is met; tmax < 0: nothing is asked */
void light_choose(walk *w, walk_vertex *v, const random4 *r, vec3 *d, ir_ref *pdf);
ir_ref light_visible(walk *w, walk_vertex *v, const walk_position *at,
                     ir_ref wanted); /* bool; only where wanted */
ir_ref light_weight(walk *w, walk_vertex *v, ir_ref light_pdf, ir_ref bsdf_pdf);
ir_ref
walk_far(walk *w,
         ir_ref length); /* of a shadow ray: where it ends, so that it does not meet the light itself */
/* uv of the surface that a ray meets, or, where there is none, of its direction d on an environment
   that has such. there: bool, the ray meets a surface. */
vec2 light_emission_uv(walk *w, ir_ref there, vec2 uv, vec3 d);
bool walk_locates(const plan *p); /* the environment has a uv of its own for each direction */
/* Tracked: uv of a light that is an environment which turns with parameters. */
void light_locate(walk *w, const walk_light *light, ir_ref uv[2]);

/* visit.c */
random4 walk_numbers(walk *w, ir_ref sample, ir_ref block, sampler_slots slots); /* of the lane's pixel */
walk_position walk_camera(walk *w, ir_ref sample); /* block 0 of the sample's random numbers */
/* A sample's radiance, or dL/dI of its pixel, times the sample's weight. */
color walk_weigh(walk *w, walk_position at, color c);
/* Of the shading normal of si; the world's where v is a collision. */
frame walk_frame(walk *w, const walk_vertex *v, const interaction *si);
/* The sample that a vertex at `at` takes at a surface, from `block` of its random numbers. */
bsdf_sample walk_sample_at(walk *w, const interaction *si, const walk_position *at, ir_ref block);
ir_ref walk_is_through(tracer *t, const interaction *si,
                       const bsdf_sample *s); /* bool: there is a surface, and the sample goes straight on */
/* v's sample from its material and three numbers; *light_pdf: of the direction v->to_light. */
void walk_sample_bsdf(walk *w, walk_vertex *v, ir_ref u_lobe, ir_ref u1, ir_ref u2, ir_ref *light_pdf);
walk_vertex walk_visit(walk *w, walk_position at);
/* Roulette after a vertex (Mitsuba's path and volpath): survival probability from the throughput's maximum; 1
 * before rr_depth. */
ir_ref walk_survival(walk *w, const walk_vertex *v, ir_ref depth, ir_ref throughput_max, ir_ref eta);
ir_ref walk_begins(walk *w, const walk_position *at); /* bool: nothing has happened on this path yet */
ir_ref walk_number(
    const walk *w,
    const walk_position *at); /* u32: which of the path's vertices that may sample a light, from 0 on */

/* local_volume.c */
bool sway_wanted(const walk *w); /* the walk's parameters move vertices (plan_sways), and the pass looks */

/* values.c */
/* Tracked: the light with direction, distance and uv as they move, and by what its solid angle grows; false:
 * nothing moves it. */
bool walk_place_light(walk *w, walk_light *light, ir_ref *factor);
/* Radiance of a light; black where it is not there. tracked: with derivatives (or from the frozen values). */
color walk_radiance(walk *w, walk_light light, bool tracked);
/* The material's values at a vertex: toward the sampled light, and of the sampled direction. */
void walk_values(walk *w, const walk_vertex *v, bool tracked, color *for_light, color *for_sample);
/* What the sampled light's radiance and the material's value for it are multiplied with: the light's weight,
 * and transmittance up to it. at: before the vertex. tracked: the transmittance is; loops, so not for reverse
 * mode. */
color walk_light_scale(walk *w, const walk_vertex *v, const walk_position *at, bool tracked);

/* Values whose adjoints are wanted besides those of parameters, and what has arrived at them so far: of the
 * ray that leads to a vertex (attached_path.c), or of how it moves (local_volume.c). None: count 0. */
enum { ARRIVALS_MOST = 12 };
typedef struct arrivals {
    ir_ref at[ARRIVALS_MOST], sum[ARRIVALS_MOST];
    uint32_t count;
} arrivals;

/* free_flight.c: stretches in media. `tracked` makes values carry derivatives (or come from the frozen ones);
 * what was decided stays detached. Adjoints, where `when`: to_come is the adjoint times the radiance that the
 * whole product of factors carries, which a factor that is not zero divides out again; missing is the same
 * without the factor, for one that is zero. */
void flight_functions(walk *w); /* fills in walk.fn */
walk_flight flight_start(walk *w, const walk_position *at, ir_ref limit);
color flight_weight(walk *w, const walk_flight *fl,
                    color share); /* tracked; share: before it. Loops: not for reverse mode */
void flight_adjoint(walk *w, const walk_flight *fl, ir_ref when, color to_come, color missing, arrivals *sum);
/* Transmittance by ratio tracking, or in closed form. Both move s->step on alike. */
color stretch_transmittance(walk *w, walk_stretch *s, bool tracked);
void stretch_adjoint(walk *w, walk_stretch *s, ir_ref when, color to_come, arrivals *sum);
walk_stretch stretch_in(walk *w, ir_ref medium, vec3 o, vec3 d, ir_ref limit, ir_ref sample, ir_ref key);
ir_ref stretch_key(walk *w, ir_ref event,
                   uint32_t purpose); /* purpose 0: the path's own flight, 1: light sampling */
/* The medium that a ray along d enters at a surface; `medium` where that is no boundary. */
ir_ref medium_behind(walk *w, const interaction *si, vec3 d, ir_ref medium);

/* emission.c: light that media emit. Toward the beginning of a flight's stretch, all along it; the adjoint,
 * where `when`, seeds that with `seed`, emitted being what glow_radiance gave. Only where glow_any. */
bool glow_any(const walk *w);
color glow_radiance(walk *w, const walk_flight *fl, bool tracked);
void glow_adjoint(walk *w, const walk_flight *fl, ir_ref when, color emitted, color seed, arrivals *sum);

/* transmittance.c; tracked as above. */
walk_shadow shadow_cross(walk *w, const walk_vertex *v, const walk_position *at, ir_ref wanted, bool tracked);
/* remembered_transmittance.c, where walk.recalls: what is recalled takes the place of what was crossed.
 * wanted: bool, the light is to be seen */
void crossed_use(walk *w, walk_shadow *shadow, ir_ref wanted);
bool shadow_is_wanted(const walk *w); /* whether the derivative of any of that is */
void shadow_adjoint(walk *w, const walk_vertex *v, const walk_position *at, ir_ref when, color seed,
                    arrivals *sum);

/* intersection.c */
/* From at.o along at.d, up to at.tmax. hit: NULL */
interaction walk_intersect(walk *w, walk_position at, walk_hit *hit);
ir_ref walk_shape_of(tracer *t, ir_ref entry); /* the record of the shape that an entry belongs to */
ir_ref walk_may_slide(walk *w, ir_ref valid, ir_ref entry,
                      ir_ref level); /* bool: some requested parameter moves the surface */
/* The surface there, by one of the lists of interact functions. */
interaction walk_surface(walk *w, const walk_hit *hit, ir_func **interact);
/* The same at a hit whose ray may move, its coordinates as they are; zeros where it is not valid. */
interaction walk_surface_met(walk *w, walk_hit hit, ir_func **interact);
/* local_surface.c: where parameters of the plan move surfaces, in passes that carry derivatives, and paths do
 * not follow */
bool walk_moves(const walk *w, uint32_t what); /* enum mesh_moves */
bool walk_tracks(const walk *w);               /* the pass looks at values that carry derivatives */
/* The point of a hit as a function of what moves it, and its value without. */
vec3 moved_point(walk *w, const walk_hit *hit);
/* Where on a light a ray has found it, as it slides: uv and `on`. */
void moved_emission(walk *w, walk_light *light);
/* Arguments of a material's value, tracked, in place of the detached ones (in the order of bsdf_value's), and
 * by what its two results are to be multiplied. d: to the light, tracked. */
void moved_arguments(walk *w, const walk_vertex *v, vec3 to_light, ir_ref *in, uint32_t count,
                     ir_ref *sample_factor);
/* cos / r^2 toward a point with normal n, seen from `from`; ratios of these go on smoothly beyond the
 * horizon. */
ir_ref moved_solid_angle(tracer *t, vec3 from, vec3 point, vec3 n);
/* t: tracked. A point and its normal go along with the shape (its record) that they are on, in a level or
 * none (place_motion_within); the normal's length, by how much the surface's area grows. */
void moved_with(tracer *t, ir_ref shape, ir_ref level, vec3 *point, vec3 *n);

/* surface.c: what an interaction is made of, as results and arguments of traced functions. What no class of
 * the plan needs is left out. */
enum { INTERACT_RESULTS = 19, SURFACE_ARGS = 14 };
uint32_t surface_pack(tracer *t, const interaction *si, ir_ref out[INTERACT_RESULTS]); /* how many */
void surface_unpack(tracer *t, const ir_ref *in, interaction *si);
frame surface_frame(tracer *t, const interaction *si);
surface surface_params(
    tracer *t); /* of the function being traced, after its others; and the arguments for them: how many */
uint32_t surface_args(tracer *t, const interaction *si, frame fr, ir_ref out[SURFACE_ARGS]);
/* The same of lights, where plan.light_needs; record: of the light whose class n is. */
enum { LIGHT_ARGS = 6 };
surface surface_light_params(tracer *t, const class_node *n, ir_ref record);
uint32_t surface_light_args(tracer *t, const surface *on, ir_ref out[LIGHT_ARGS]);
/* What a surface that a ray has met is to a light that it carries. is: bool, it does. */
surface surface_of_light(tracer *t, const interaction *si, ir_ref is);
/* light_choice.c, where the plan's lights are tabled: the light that u chooses, u32, and with which
 * probability; that of a light. */
ir_ref choice_sample(tracer *t, ir_ref u, ir_ref *probability);
ir_ref choice_probability(tracer *t, ir_ref light);

/* attached_path.c */
typedef struct follow_factors {
    ir_ref light,
        sample; /* geometry terms relative to the path's: of the light's value and of the sample's */
} follow_factors;
bool follow_wanted(const walk *w);
bool follow_planned(const walk *w);                                    /* by the plan, whatever the pass */
uint32_t follow_width(const walk *w);                                  /* numbers of a walk_ray */
uint32_t follow_pack(const walk *w, walk_ray r, ir_ref out[RAY_MOST]); /* how many; and back */
walk_ray follow_unpack(const walk *w, const ir_ref *in);
bool follow_keeps_now(const walk *w); /* the kernel's state has walk_position.now; else it is o and d */
ir_ref follow_link(walk *w, ir_ref link, enum walk_link is); /* bool: it is */
void follow_start(walk *w, walk_position *at);               /* link and ray of a path that begins */
walk_ray follow_camera(walk *w, ir_ref sample);              /* the camera's ray, tracked */
void follow_onward(walk *w, walk_vertex *v);                 /* v->onward, from what else there is in v */
walk_ray follow_next(walk *w, const walk_vertex *v);         /* the ray that goes on, tracked */
/* The derivatives of a ray that leads to, or from, a vertex at `depth` (u32), follow_width of them: 0 where
 * they are not finite, which is counted where `when`. */
void follow_drop_singular(walk *w, ir_ref when, ir_ref depth, ir_ref *derivatives);
/* Tracked: the reference point and, of a light on a shape, direction and distance; uv and `on` of what a ray
 * has met; the arguments of walk_values, in place. to_light: of the world, tracked. */
void follow_place_light(walk *w, walk_light *light);
void follow_emission(walk *w, walk_light *light);
follow_factors follow_values(walk *w, const walk_vertex *v, const walk_light *light, ir_ref *in,
                             uint32_t count);

/* attached_lobe.c: whether rough lobes are to be attached where rays are followed; the others where
 * walk.attaches. */
bool attached_wanted(const walk *w);
/* v->attached, of a sample of that roughness and made by these numbers. */
void attached_choose(walk *w, walk_vertex *v, ir_ref roughness, ir_ref u1, ir_ref u2);
ir_ref attached_next(walk *w, const walk_vertex *v); /* walk_position.attached of the next vertex */
/* v->hit_mis, tracked. */
ir_ref attached_hit_mis(walk *w, const walk_vertex *v);
/* By what the light's weight changes; pdfs of the direction to it by the material, `before` being what the
 * path was decided by; light: as seen from where the vertex moves to. */
ir_ref attached_light_factor(walk *w, const walk_vertex *v, const walk_light *light, ir_ref pdf_now,
                             ir_ref pdf_before);

/* baked_geometry.c: the two ray questions where the plan is baked; results as ir_ray_closest's. tmin is 0. */
void baked_closest(walk *w, const ray *ray, ir_ref out[4]);
ir_ref baked_any(walk *w, const ray *ray);

#endif
