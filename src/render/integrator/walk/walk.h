/* SPDX-License-Identifier: BSD-3-Clause
 * What a walk is, and what it carries from vertex to vertex. Primal, gradient, forward, frozen, unrolled and
 * tape kernels have these structs in common, so that they cannot walk different paths.
 *
 * Fields are detached unless they say otherwise. "Differentiated" means: with derivatives or, in a frozen
 * pass, of the other set of values. Fields marked (V) exist in volumetric walks only. */
#ifndef BL_RENDER_WALK_H
#define BL_RENDER_WALK_H

#include "render/integrator/walk/motion.h"
#include "render/spectrum/spectrum.h"

/* The traced functions of a module. Each list has one function per class (or kind), in the order of the
 * plan's lists. */
typedef struct walk_functions {
    ir_func *intersect[SHAPE_KIND_COUNT]; /* of every kind in use */
    uint32_t kinds;
    ir_func **interact; /* of every kind in use, or, without PLAN_SHARE_SHAPES, of every shape */
    ir_func **interact_differentiated; /* differentiated by what moves surfaces; NULL where nothing does */
    uint32_t interacts;
    /* What these take and return is described in vertex/plugin_functions.h. In volumetric walks phase
     * functions stand behind the materials in bsdf_sample and bsdf_value. */
    ir_func **bsdf_sample;
    ir_func **bsdf_value, **bsdf_value_differentiated;
    ir_func **bsdf_polarized, **bsdf_polarized_differentiated; /* where walk.polarized */
    ir_func **bsdf_albedo;                                     /* for channels only */
    ir_func **emitter_sample;
    ir_func **emitter_ray;                /* for light tracing only */
    ir_func **emitter_ray_differentiated; /* the same where such paths move: by what moves the light */
    ir_func **emitter_radiance, **emitter_radiance_differentiated;
    ir_func **emitter_moved; /* differentiated by what moves the light; NULL where no light moves */
    /* Where walk.wants.surface_anew, interact_differentiated intersects the entry again with the ray that it
     * is given. slide_before does the same, detached. It exists in RENDER_FROZEN. */
    ir_func **slide_before;
    ir_func **lobe_direction;          /* directions of discrete lobes, differentiated */
    ir_func **lobe_direction_before;   /* the same, detached, in RENDER_FROZEN */
    ir_func **attach, **attach_before; /* in place of these two where walk.attaches */
    ir_func **emitter_pdf;
    ir_func **emitter_smooth; /* where walk.smooth: emitter_pdf with emitter_hit.smooth */
    /* The next functions are for volumetric walks. media/medium_functions.h describes those of media. */
    /* The share of light that goes on as if there were no surface. */
    ir_func **bsdf_through, **bsdf_through_differentiated;
    ir_func **extinction, **extinction_differentiated;
    ir_func **albedo, **albedo_differentiated;
    /* Of phase functions, where walk.flakes: the projected area of the microflakes, and a bound of it. */
    ir_func **area, **area_differentiated, **most_area;
    ir_func **emission, **emission_differentiated; /* NULL where no medium emits */
    ir_func **bounds;
    /* into: a ray in the volume's space. cell: bounds of the extinction in the cell at a distance along it.
     */
    ir_func **into, **cell;
    /* Where walk.bends (eikonal/curve.c). The last two are differentiated and exist where motion chains. */
    ir_func **eikonal_begin, **eikonal_step, **eikonal_arrive;
    ir_func **eikonal_flown, **eikonal_arrive_differentiated;
} walk_functions;

/* The number of vertices for which walk_known.seen has bits. Shadow rays of later vertices are traced
 * again. */
enum { SEEN_MOST = 32 };

/* Where media are all that changes a transmittance: a point drawn evenly from the stretches in them. */
typedef struct shadow_point {
    ir_ref medium, distance; /* u32: as walk_stretch.medium; from where the shadow ray begins */
    ir_ref length;           /* of all the stretches */
} shadow_point;

/* What is known of a path before it is walked, mostly from an earlier walk. The kernel's own struct walk has
 * nothing of this. For each vertex that struct is copied, and the copy gets what is known (replay_walk,
 * drt_enter). */
typedef struct walk_known {
    ir_ref again, seen; /* where walk.notes. again: bool, an earlier walk has filled `seen`; seen: u32, bit k
                           says that the light sampled at vertex k is visible */
    bool forces;        /* the path may be made to collide */
    ir_ref forced;      /* where `forces`: the distance at which it collides; negative: it is not forced */
    bool recalls;       /* the transmittance toward the sampled light may be known
                           (media/remembered_transmittance.c) */
    ir_ref recalled;    /* bool, where `recalls`: the transmittance is known */
    color transmittance;
    ir_ref transmittance_stages; /* walk_shadow.stages of that transmittance, */
    shadow_point point;          /* or its point */
    bool recalls_hit;            /* what the path's ray meets may be known (vertex/remembered_hits.c) */
    ir_ref hit_recalled;         /* bool, where `recalls_hit`: `hit` is that */
    bool on_line;                /* shadow rays that go through surfaces stay on their line */
    bool looks;       /* where the sensor's parameters are wanted: the camera's ray, as it moves, may be */
    ir_ref looks_now; /* bool, where `looks`: that of another place */
    vec2 film, lens;  /* on the image, in [0,1]^2, and on the aperture */
    bool meets;       /* what the path's ray meets may be known to its caller */
    ir_ref met;       /* bool, where `meets`: it is, */
    walk_hit hit;     /* and this is it; its point is left out */
} walk_known;

/* Where random numbers are the state of a Markov chain (primary_samples.c): whose, and which step proposes
 * them. */
typedef struct walk_chain {
    bool any;               /* they are */
    ir_ref numbers;         /* u32: word of BUFFER_SAMPLES where the chain's numbers begin */
    ir_ref name, step;      /* u32: they name the random numbers of the step, */
    ir_ref particle, first; /* u32: with `step` those of the particle, and of the first one of the chain */
    ir_ref large;           /* bool: the step does not depend on the state */
    ir_ref probes, starts;  /* bool: in CHAIN_PROBE, in CHAIN_START */
} walk_chain;

/* Where a sampler spreads samples over two walks (docs/theory/two_walks.md): the half of its pixel's samples
 * that the lane is of. */
typedef struct sampler_half {
    bool any;      /* samples may be in halves, and the sampler spreads them */
    ir_ref halves; /* u32: 2, or 1: they are not in halves */
    ir_ref number; /* u32: 0 or 1 */
    ir_ref before; /* u32: how many of the pixel's samples before the lane's are of the other half */
} sampler_half;

/* Which functions a walk needs because of motion, and which results of functions (motion/choose.c). */
typedef struct walk_wants {
    bool surface_differentiated; /* interact_differentiated */
    bool surface_anew; /* interact_differentiated intersects the entry again with the ray that it is given */
    bool surface_before;   /* slide_before, which does that detached */
    bool lobe_directions;  /* lobe_direction, lobe_direction_before */
    bool attached_lobes;   /* attach, attach_before, and the roughness that bsdf_sample returns */
    bool hit_mis;          /* walk_motion_class.hit_mis: MIS weights of light that rays have hit move */
    bool light_normal;     /* the normal on sampled lights */
    bool moving_reference; /* emitter_moved sees lights, also delta lights, from a point that moves */
} walk_wants;

/* Of the longest path of direct light: from the sensor to a surface, to a light. */
enum { DIRECT_SEGMENTS = 2 };

struct walk {
    tracer t;
    const plan *plan;
    render_pass pass;
    bool next_event;                 /* next-event estimation: lights are sampled */
    bool bsdf_emission;              /* emission that the material's sample has hit counts */
    bool behind_null;                /* the hidden environment stays hidden behind null lobes */
    const walk_motion_class *motion; /* how paths move with parameters */
    uint32_t moves; /* enum mesh_moves: what moves surfaces under the local convention, in all passes alike */
    walk_wants wants;
    bool attaches;            /* paths are attached, and so are rough lobes (attached_lobe.c) */
    bool some_lobes_detached; /* where walk.attaches: some material mixes lobes, of which some may stay
                                 detached */
    bool smooth;       /* MIS weights use densities of light sampling without the steps of its tables, because
                          attached samples cross these steps. If one pass of a gradient attaches rough lobes,
                          all of its passes do this. */
    bool weighted;     /* samples have weights: walk_position.weight */
    bool volumetric;   /* surfaces crossed in a straight line are not vertices, and collisions in media are
                          vertices. The fields marked (V) exist. */
    bool media;        /* (V) the plan has media */
    bool bends;        /* rays bend in some medium: walk_position.medium is carried */
    bool bends_lit;    /* some medium that bends rays absorbs or emits */
    bool meets_light;  /* rays can meet what shines: lights with extent, an environment, media, a field */
    bool polarized;    /* light has Stokes vectors */
    bool multiplexed;  /* paths from the sensor and paths from lights share what both can find
                          (path/technique_weights.h) */
    bool direct;       /* this walk finds direct light: it has two segments at most */
    bool skips_direct; /* what it finds by two segments or fewer is left out */
    bool chains;       /* vertices are backpropagated along chains (kernels/attached_replay.c) */
    bool walks_again;  /* there: a lane keeps no positions along a chain, but walks to them again */
    bool packs_rows;   /* positions that it keeps are in one array (kept_rows.h) */
    bool disperses;    /* the index of some material differs by channel */
    bool chromatic;    /* that, or the extinction of some medium does: walk_position.share is carried */
    uint32_t film_channels; /* of the image; those of light are t.channels */
    uint32_t entries;       /* of Stokes vectors on the film: 4, or 1, the intensity alone */
    bool cells;             /* some medium has bounds in cells */
    bool flakes;            /* the extinction of some medium depends on the direction (microflakes) */
    bool drt;               /* the extinction's gradient at collisions comes from DRT paths
                                   (differential_ratio_tracking.c), not from the path's own collisions */
    walk_functions fn;
    ir_ref pixel, seed, stream, spp;
    wavelength_set wavelengths; /* where light is spectral: of the sample that walk_set_wavelengths was last
                                   called with; t.wavelengths points here, also in copies of the walk */
    const sampler_class *sampler;
    sampler_half half;
    walk_chain chain;
    bool past_lights; /* the sensor does not see lights that stand on shapes, but through them (hide_emitters)
                       */
    bool from_sensor; /* paths from lights are those that begin at the sensor: of shapes that rays meet from
                         outside only, they see what rays from the sensor see */
    bool straight;    /* rays that go straight through surfaces stay on their line (path/visit.c) */
    ir_ref printing;  /* where walk_prints: u32, the sample whose vertex was last visited */
    bool notes; /* the first walk of a path notes which sampled lights are visible, so that the second walk
                   needs no shadow rays */
    walk_known known;
};

/* Where a path stands before a vertex. */
struct walk_position {
    ir_ref sample, depth; /* u32 */
    vec3 o, d;
    ir_ref tmax;   /* negative: the path has ended, and the ray hits nothing */
    ir_ref pdf;    /* density with which d was sampled; where walk.behind_null, -1 while the path has met null
                      lobes only */
    ir_ref delta;  /* bool: a discrete lobe has sampled d, or the ray is the camera's */
    ir_ref weight; /* where walk.weighted: weight of the sample in its pixel, from filter and sensor */
    ir_ref event;  /* (V) u32: number of vertices and of surfaces crossed so far; it names random numbers */
    ir_ref medium; /* (V) and where walk.bends: u32: word of the scene buffer where the ray's medium is
                      described (enum medium_word); 0: vacuum */
    vec3 scattered; /* (V) the point where the path last changed its direction. Light sampling would have
                       started there. */
    color share;    /* where walk.chromatic: probability of each channel to have sampled this path, if one of
                       them did; their sum is 1 (spectral MIS) */
    /* Each of these exists where walk.motion is of that kind. */
    attached_position attached;
    local_surface_position local_surface;
    local_volume_position local_volume;
};

/* A light that the ray has hit, or that was sampled. walk_radiance evaluates its radiance, detached or
 * differentiated. */
struct walk_light {
    ir_ref there;       /* bool: the light was hit, or the sampled light is seen */
    ir_ref cls, record; /* u32; valid references also where `there` is false */
    ir_ref index;       /* u32: the number of a sampled light */
    vec2 uv;
    ir_ref distance, facing; /* facing: bool, the light is seen from the side that shines */
    bool sampled;            /* light_choose has sampled the light; else the ray has hit it */
    vec3 ref, d;  /* of a sampled light: the point from which it is seen; unit direction toward it */
    bool d_moves; /* d carries derivatives */
    vec3 n;       /* where walk.wants.light_normal or walk.multiplexed: the normal of a sampled light on a
                     shape */
    surface on;   /* as far as plan.light_needs: face and b of the point on the light; p, if it was hit */
    walk_hit seen_from; /* where surfaces move locally. Of a sampled light: the hit whose point is ref. Of a
                           light that the ray has hit: that hit. */
    /* Each of these exists where walk.motion is of that kind. */
    attached_light attached;
    local_volume_light local_volume;
};

/* A stretch of a ray up to the next surface, which may lie in a medium (media/free_flight.c). */
struct walk_stretch {
    ir_ref there;       /* bool: the stretch lies in a medium */
    ir_ref cls, record; /* class and record of the medium; valid references also where there is none */
    ir_ref medium;      /* word of the scene buffer that describes the medium (enum medium_word); a valid
                           reference also where there is none */
    ir_ref homogeneous; /* bool: the medium is homogeneous */
    vec3 o, d;
    ir_ref limit;          /* distance to the next surface */
    ir_ref sample, key;    /* u32: they name the stretch's random numbers */
    ir_ref step;           /* u32: the first block of its random numbers that is not used yet */
    ir_ref number;         /* u32: how many stretches of the same key come before it */
    stretch_motion motion; /* where walk.motion->moves_stretches */
};

/* A free flight through a stretch, sampled. */
typedef struct walk_flight {
    walk_stretch s;
    ir_ref collides; /* bool: the flight ends in the medium, at distance t */
    ir_ref mean;     /* heterogeneous media: mean distance between tentative collisions at t, 1 / majorant */
    ir_ref t;
    ir_ref steps; /* u32: number of null collisions and borders of cells before t */
    color weight; /* transmittance, times the scattering coefficient if the flight collides, over the
                     density of all choices; a scattering coefficient of 0 is left out */
    ir_ref zeros[COLOR_MOST]; /* u32: number of factors that are 0 */
    color share;              /* walk_position.share after the flight */
    ir_ref growth;            /* where walk.motion->moves_stretches: segment_motion.growth */
} walk_flight;

/* Transmittance from a vertex to its sampled light, through media and surfaces that let light through
 * (media/transmittance.c). */
typedef struct walk_shadow {
    ir_ref open;              /* bool: no opaque surface is in the way */
    color product;            /* product of all factors that are not 0 */
    ir_ref zeros[COLOR_MOST]; /* u32: number of factors that are 0, counted to 2 */
    /* In kernels that may call shadow_adjoint: */
    ir_ref stages; /* u32: number of stretches up to the last one that has a derivative */
    shadow_point point;
} walk_shadow;

struct walk_vertex {
    interaction si;
    frame frame;    /* frame of the shading normal; the world's where the vertex is a collision */
    walk_hit met;   /* what the ray has hit, and where */
    walk_light hit; /* the light that the ray has hit: at the vertex, or the environment */
    ir_ref hit_mis; /* MIS weight of the light that was hit, against light sampling; 0 where none is hit */
    ir_ref goes_on; /* bool: there is a surface or a collision, and depth allows another segment */
    ir_ref ends;    /* bool: a path from the sensor cannot find light behind it; none: it may */
    ir_ref bsdf_class, bsdf_record;
    vec3 wi, to_light, wo;    /* unit directions in `frame` */
    walk_light light;         /* the sampled light */
    ir_ref light_probability; /* probability with which the light was chosen, where a table chooses it */
    ir_ref light_weight;      /* visibility * mis / (pdf * choice probability) */
    ir_ref light_visible;     /* bool: the sampled light is seen */
    ir_ref to_light_pdf;      /* density with which the material's sampling would have chosen to_light */
    walk_shadow shadow;       /* (V) transmittance toward the sampled light */
    vec3 light_d;             /* unit direction toward the sampled light, in the world */
    walk_flight flight;       /* (V) where walk.media */
    walk_curve curve;         /* where walk.bends */
    ir_ref bends_on;          /* bool, where walk.bends: the ray that goes on bends */
    ir_ref samples_light;     /* (V) bool, where walk.media: lights are sampled at this vertex */
    ir_ref through;           /* (V) bool: the path crosses the surface in a straight line */
    ir_ref hero;        /* where walk.disperses: u32, the wavelength by which the material is sampled, */
    color share;        /* and walk_position.share behind it */
    ir_ref collision_z; /* (V) third coordinate of a collision's point; the first two are si.uv */
    ir_ref medium;      /* (V) and where walk.bends: walk_position.medium of the ray that goes on */
    bsdf_sample sample;
    vec3 next_o, next_d;        /* the ray that goes on */
    ir_ref u_roulette, u_march; /* uniform random numbers */
    ir_ref decisions;           /* u32: hash of all choices made at the vertex, for the drift test */
    /* Each of these exists where walk.motion is of that kind. */
    attached_vertex attached;
    local_surface_vertex local_surface;
    local_volume_vertex local_volume;
};

/* The walk's tracer, set to evaluate differentiated values. */
static inline tracer walk_differentiated(const walk *w)
{
    tracer t = w->t;
    t.differentiated = true, t.frozen = w->pass == RENDER_FROZEN;
    return t;
}

/* The tracer of a function that the walk's kernel calls. */
static inline tracer walk_function_tracer(const walk *w, ir_func *f, bool differentiated)
{
    tracer t = w->t;
    t.f = f, t.differentiated = differentiated, t.frozen = w->pass == RENDER_FROZEN;
    return t;
}

/* ---- walk.c: questions about a walk, its random numbers ---- */

bool walk_tracks(const walk *w); /* the pass evaluates differentiated values */
/* Functions of materials print: in images whose paths begin at the sensor (render/print.h). */
bool walk_prints(const walk *w);
/* Where condition holds, `at` moved by now - before; else `at`. In derivatives the moved value is the value
 * of `at` with the derivative of `now`. */
ir_ref walk_shifted(walk *w, ir_ref condition, ir_ref at, ir_ref now, ir_ref before);
walk_border border_none(walk *w); /* no surface: valid is false */
/* The surface at a hit as a border. n: its geometric normal; start, d: origin and unit direction of the
 * segment. */
walk_border border_of(walk *w, const walk_hit *hit, vec3 n, vec3 start, vec3 d);
ir_ref walk_begins(walk *w, const walk_position *at); /* bool: nothing has happened on this path yet */
/* u32: the number, from 0 on, of the vertex among those of the path that may sample a light. */
ir_ref walk_number(const walk *w, const walk_position *at);
/* u32: the number, from 0 on, of the vertex along the path. Vertices that light goes straight through count.
 */
ir_ref walk_order(const walk *w, const walk_position *at);
/* The longest path in segments; negative: there is none. */
int32_t walk_longest(const walk *w);
/* A block of the random numbers of a sample of the lane's pixel. */
random4 walk_numbers(walk *w, ir_ref sample, ir_ref block, sampler_slots slots);
/* A block of the random numbers of a stretch. The sampler spreads those of its first event alone: later ones
 * lie at another place in each sample. */
random4 walk_stretch_numbers(walk *w, const walk_stretch *s, ir_ref step);
/* ---- primary_samples.c: random numbers that are the state of a Markov chain ---- */

/* A block of the numbers that the step proposes for the chain; and, where a chain has several particles,
 * those of the lane's particle near by. */
random4 primary_proposed(walk *w, ir_ref block);
random4 primary_numbers(walk *w, ir_ref block);
/* Numbers of the step that are not its path's: u[0] says whether it is large, u[1] whether it is taken. */
random4 primary_decisions(walk *w);
/* Where walk.multiplexed: bool, the step proposes a path from a light. All particles of a chain agree. */
ir_ref primary_begins_at_light(walk *w);
/* u32: the first block of a path; those before it say how the path begins. */
uint32_t primary_first_block(const walk *w);
/* Where r is block 0: takes the pixel out of r.u[0] and r.u[1], in which it is the whole part of their
 * product with the film's size. What is left of both is uniform again. */
typedef struct primary_pixel {
    ir_ref x, y; /* u32 */
} primary_pixel;
primary_pixel primary_take_pixel(walk *w, random4 *r);

/* ---- walk.c ---- */

/* Where light is spectral: the wavelengths of a sample, from a random number of their own, become those of
 * the walk, from here on in the trace. */
void walk_set_wavelengths(walk *w, ir_ref sample);
/* c times the sample's weight. */
color walk_weigh(walk *w, walk_position at, color c);
/* Entry and level where nothing is hit: the scene's first ones. Kernels load their words whether there is a
 * hit or not. */
ir_ref walk_no_entry(tracer *t);
ir_ref walk_no_level(tracer *t);

#endif
