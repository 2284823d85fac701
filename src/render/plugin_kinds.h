/* SPDX-License-Identifier: BSD-3-Clause
 * The functions that a plugin of each kind exports: texture, volume, phase function, medium, material, light,
 * shape and filter. Those of sensors are in sensor/sensor.h, those of samplers in sampler/samplers.h.
 * shape/kinds.h has the primitives that shapes are made of. Sampling, densities and choices are detached. A
 * function whose comment says that it may run differentiated carries derivatives. */
#ifndef BL_RENDER_PLUGIN_KINDS_H
#define BL_RENDER_PLUGIN_KINDS_H

#include "render/class.h"
#include "render/polarization/polarization.h"

typedef struct texture_class {
    render_class base;
    bool constant; /* the same everywhere */
    color (*eval)(tracer *t, const class_node *n, ir_ref record, vec2 uv);
    ir_ref (*eval_1)(tracer *t, const class_node *n, ir_ref record,
                     vec2 uv); /* NULL: the luminance of eval */
    vec2 (*slope)(tracer *t, const class_node *n, ir_ref record,
                  vec2 uv); /* d eval_1 / d uv; NULL: the texture has no usable slope */
} texture_class;

/* A ray in coordinates of a volume's unit cube. */
typedef struct volume_ray {
    vec3 o, d;
} volume_ray;

/* The ray from o along d, mapped by the record's affine map at `map`. */
static inline volume_ray volume_ray_into(tracer *t, ir_ref record, uint32_t map, vec3 o, vec3 d)
{
    ir_ref p[3], q[3];
    for (uint32_t k = 0; k < 3; k++) {
        p[k] = v3_point_by_row(t, record, map + 4 * k, o);
        q[k] = v3_vector_by_row(t, record, map + 4 * k, d);
    }
    return (volume_ray){vec3_at(p), vec3_at(q)};
}

/* A place in the unit cube of a volume that has `size` voxels along x, y and z. Volumes of one size are asked
 * with the same references, so that what they compute alike is computed once. */
typedef struct volume_place {
    vec3 p;
    ir_ref size[3];        /* u32 */
    const ir_ref *chooses; /* NULL, or three uniform numbers: a lookup that interpolates returns, instead,
                              what it interpolates between at one of the points, chosen with the probability
                              of its weight: an estimate of the lookup */
} volume_place;

typedef struct volume_class {
    render_class base;
    bool constant;                                                        /* the same everywhere */
    color (*eval)(tracer *t, const class_node *n, ir_ref record, vec3 p); /* p: in the world */
    bool (*grey)(const class_node *n); /* the three channels of eval are one and the same reference */
    /* For grids: the number of channels; NULL: three. `six` reads all channels at p of a grid with six. */
    uint32_t (*channels)(const render_scene *s, const scene_object *o);
    void (*six)(tracer *t, const class_node *n, ir_ref record, vec3 p, ir_ref out[6]);
    /* The first `count` channels at a place in coordinates of the unit cube, for fields. NULL: fields cannot
     * hold it. */
    void (*in_cube)(tracer *t, const class_node *n, ir_ref record, const volume_place *at, uint32_t count,
                    ir_ref *out);
    void (*size)(tracer *t, const class_node *n, ir_ref record, ir_ref out[3]); /* voxels along x, y, z (u32);
                                                                                   NULL: there are none */
    /* The largest value of any channel in one share of the volume. Shares 0 .. lanes-1 (u32) together cover
     * everything that eval can interpolate. */
    ir_ref (*most)(tracer *t, const class_node *n, ir_ref record, ir_ref lane, uint32_t lanes);
    /* The number of cells along each side of the unit cube that are worth bounds of their own. 0 or NULL:
     * there are no cells. Where this is NULL, `into`, `most_in` and `least_in` are NULL as well. */
    uint32_t (*cells)(const render_scene *s, const scene_object *o);
    /* Maps a ray into coordinates of the unit cube. */
    volume_ray (*into)(tracer *t, const class_node *n, ir_ref record, vec3 o, vec3 d);
    /* The largest value of any channel that eval may give in one of cells^3 cells and a little beyond it, or
     * `least` if that is larger. Cells at the border have no end outwards. */
    ir_ref (*most_in)(tracer *t, const class_node *n, ir_ref record, const ir_ref cell[3], uint32_t cells,
                      float least);
    ir_ref (*least_in)(tracer *t, const class_node *n, ir_ref record, const ir_ref cell[3],
                       uint32_t cells); /* the smallest value there */
    /* The first channel as a number, and *slope, its gradient per unit length of the world. It may run
     * differentiated, also by p. NULL: there is none. */
    ir_ref (*with_slope)(tracer *t, const class_node *n, ir_ref record, vec3 p, vec3 *slope);
} volume_class;

/* A radiance field: a density, by which light is absorbed and emitted, and a colour that depends on the
 * direction, within a cube. Functions that say so may run differentiated. */
enum { FIELD_BASIS_MOST = 9, FIELD_CHANNELS_MOST = 3 * FIELD_BASIS_MOST };
typedef struct field_class {
    render_class base;
    /* Maps a ray into coordinates of the unit cube. It may run differentiated by the ray. */
    volume_ray (*into)(tracer *t, const class_node *n, ir_ref record, vec3 o, vec3 d);
    /* The functions of the direction that `raw_color` combines, for a unit vector w of the world. It may run
     * differentiated by w. */
    void (*basis)(tracer *t, const class_node *n, vec3 w, ir_ref out[FIELD_BASIS_MOST]);
    /* The raw values at p in the cube: that of the density, and those of red, green and blue in the
     * direction of `basis`. chooses: as in volume_place. They may run differentiated. */
    ir_ref (*raw_density)(tracer *t, const class_node *n, ir_ref record, vec3 p, const ir_ref *chooses);
    color (*raw_color)(tracer *t, const class_node *n, ir_ref record, vec3 p, const ir_ref *basis,
                       const ir_ref *chooses);
    /* The density that follows from its raw value, per unit length of the world, and the radiance. They may
     * run differentiated. */
    ir_ref (*density)(tracer *t, const class_node *n, ir_ref raw);
    color (*radiance)(tracer *t, const class_node *n, color raw);
    ir_ref (*step)(tracer *t, const class_node *n, ir_ref record); /* the distance between samples */
    ir_ref (*least_transmittance)(tracer *t, const class_node *n, ir_ref record); /* rays end below it */
    /* An upper bound of the density around cells of the cube, of which there are `cells` along each side. It
     * is 0 where every sample's opacity rounds to 0, or is as small as the user allows. NULL: none. */
    uint32_t (*cells)(const class_node *n);
    ir_ref (*bound)(tracer *t, const class_node *n, ir_ref record, ir_ref cell);
    /* Whether the derivative by the density is 0, up to rounding, in cells whose bound is 0. */
    bool (*dead)(const class_node *n);
} field_class;

/* Phase functions, which are densities over solid angle. Directions are unit vectors in the world. As the
 * path is walked, wi points back to where it comes from, and wo points onward. p is the place. */
typedef struct phase_class {
    render_class base;
    vec3 (*sample)(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec3 p, const ir_ref u[3]);
    ir_ref (*value)(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec3 wo,
                    vec3 p); /* may run differentiated */
    /* The density with which `sample` chooses wo. */
    ir_ref (*pdf)(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec3 wo, vec3 p);
    /* For flakes: the area that they show in a direction, to which extinction is proportional. It may run
     * differentiated. NULL: the area is 1. most_area is an upper bound of it. */
    ir_ref (*area)(tracer *t, const class_node *n, ir_ref record, vec3 w, vec3 p);
    ir_ref (*most_area)(tracer *t, const class_node *n, ir_ref record);
} phase_class;

/* An index of refraction at a point, and its gradient per unit length of the world. */
typedef struct medium_index {
    ir_ref n;
    vec3 slope;
} medium_index;

/* Media that scatter have the parameters sigma_t, albedo and scale (medium/media.c). */
typedef struct medium_class {
    render_class base;
    bool homogeneous; /* sigma_t is the same everywhere, or the medium bends rays */
    /* For media that bend rays and scatter nothing (medium/grin.c); else NULL. p: in the world. They may run
     * differentiated, also by p. */
    medium_index (*index)(tracer *t, const class_node *n, ir_ref record, vec3 p);
    ir_ref (*step)(tracer *t, const class_node *n, ir_ref record);  /* of leapfrog, in units of t */
    ir_ref (*steps)(tracer *t, const class_node *n, ir_ref record); /* u32: the most of one ray */
} medium_class;

/* Lobes. A class numbers its discrete lobes from 0. A material that holds another one adds the count of its
 * own lobes to the other one's numbers. Where samples are attached, mixtures number their parts as well.
 * LOBE_NULL: the lobe goes straight through, as if there were no surface. No addition reaches this bit.
 * LOBE_DETACHED: the sample is of a part of a mixture that is not attached
 *   (integrator/motion/attached_lobe.c).
 * LOBE_REFRACTION_LIMIT: the directions lie on a curve, and pdf is the density along it
 *   (bsdf/refraction_limit.h). Integrators treat it as a discrete lobe. */
enum { LOBE_NULL = 0x40000000, LOBE_DETACHED = 0x20000000, LOBE_REFRACTION_LIMIT = 0x10000000 };

typedef struct bsdf_sample {
    vec3 wo;
    ir_ref pdf;   /* density in solid angle, or the probability of the discrete lobe; 0: there is no sample */
    ir_ref eta;   /* relative index of refraction along the sample; 1 for reflection */
    ir_ref delta; /* bool: the sample is of a discrete lobe */
    ir_ref lobe; /* u32: the lobe's number where delta is true; where samples are attached, also the part of a
                    mixture that made the sample */
} bsdf_sample;

/* What made a sample: where it leads, the number of its discrete lobe or of its part of a mixture, and the
 * two uniform numbers that a continuous lobe was sampled with. */
typedef struct bsdf_draw {
    vec3 wo;
    ir_ref lobe, u1, u2;
} bsdf_draw;

typedef struct bsdf_attached {
    vec3 wo;
    /* The density of wo in solid angle, given the choices, up to a factor that no parameter moves. Parts of a
     * mixture may lead to the same wo. Then it is the number by which f has to be divided so that the
     * estimates of all parts add up to the integral of f, whatever the parameters are. The probabilities of
     * the choices between parts are read by t_deciding: their derivatives cancel in the sum over the parts,
     * and would be noise in each one. */
    ir_ref density;
} bsdf_attached;

/* What every function of a material is asked about: a record of its class, the direction wi, which points
 * back along the path, and the place on the surface. The tracer says whether reads carry derivatives. It also
 * holds what a class needs of the surface besides uv (enum surface_need). */
typedef struct bsdf_context {
    tracer *t;
    const class_node *n;
    ir_ref record;
    vec3 wi;
    vec2 uv;
} bsdf_context;

/* A value with polarisation: for each channel a matrix, for light that comes from wo and leaves along wi. Its
 * basis is on both sides `axis`, a unit vector across both directions. */
typedef struct bsdf_polarized {
    mueller m[COLOR_MOST];
    vec3 axis;
    ir_ref depolarizes; /* bool: whatever m is, only its first entry is not 0 */
} bsdf_polarized;

/* Directions are in the local frame of the shading normal. wi and wo point away from the surface. Values
 * include |cos(wo)|. */
typedef struct bsdf_class {
    render_class base;
    bool transmits;           /* it has a lobe to the other side; the null lobe counts */
    const char *transmits_by; /* it has such a lobe if this parameter (PLUGIN_PART) is not a plain 0 */
    bool null;                /* it has a null lobe */
    bsdf_sample (*sample)(const bsdf_context *ctx, ir_ref u_lobe, ir_ref u1, ir_ref u2);
    /* The density in solid angle with which `sample` chooses wo by all lobes that are not discrete. */
    ir_ref (*pdf)(const bsdf_context *ctx, vec3 wo);
    /* The value in the measure that was sampled (docs/theory/detached_replay.md). Where delta is false, it is
     * the sum of all lobes that are not discrete, else the coefficient of the discrete lobe. It may run
     * differentiated. */
    color (*value)(const bsdf_context *ctx, vec3 wo, ir_ref delta, ir_ref lobe);
    /* `value` with polarisation. Its first entries are those of `value`. NULL: null lobes keep what goes
     * through, and all other lobes depolarise (bsdf/polarized.c). */
    bsdf_polarized (*polarized)(const bsdf_context *ctx, vec3 wo, ir_ref delta, ir_ref lobe);
    /* Where the discrete lobe `lobe` leads, which is not a null lobe. It is the wo of `sample` with the lobe
     * given, and it may run differentiated. NULL: the class has no such lobe. */
    vec3 (*lobe_direction)(const bsdf_context *ctx, ir_ref lobe);
    /* The eta of that sample. It may run differentiated. NULL: 1. */
    ir_ref (*lobe_eta)(const bsdf_context *ctx, ir_ref lobe);
    /* Attached sampling (PRB section 4.2): the wo of `sample`, of a lobe that is not discrete, as a function
     * of parameters and wi. The random numbers and the choices are detached. It runs differentiated. NULL:
     * sampling is detached. */
    bsdf_attached (*attached)(const bsdf_context *ctx, const bsdf_draw *draw);
    bool mixes; /* only with `attached`: it chooses between parts, which may be attached or detached. The
                   draw.wo of a detached part may move */
    /* Samples are attached where this is at most render_scene.attach_below. For mixtures it is the roughness
     * of the part that the lobe's number names. Where `lobe` is none, it is the least of all parts. Every
     * class with `attached` has it. */
    ir_ref (*roughness)(const bsdf_context *ctx, ir_ref lobe);
    /* Whether an object's own roughness can be at most render_scene.attach_below. Classes with `attached`
     * that hold no materials have it. */
    bool (*attaches)(const render_scene *s, const scene_object *o);
    /* Whether those lobes of the object that turn also turn with texture coordinates or with dp/du. NULL:
     * they do not. */
    bool (*directions_move_by_uv)(const scene_object *o);
    /* The coefficient of all null lobes together. NULL: it is the value of LOBE_NULL where `null` is set,
     * else 0. It may run differentiated. */
    color (*through)(const bsdf_context *ctx);
    /* The channel `albedo` (bsdf/albedo.c). albedo_param names the parameter that it shows, seen from either
     * side. A material that holds others computes it from theirs by `albedo`. Where both are NULL, it is pi
     * times the value toward the normal. */
    const char *albedo_param;
    color (*albedo)(const bsdf_context *ctx);
} bsdf_class;

typedef struct emitter_sample {
    vec3 d;          /* from the reference point to the light, unit */
    ir_ref distance; /* a large number for lights at infinity */
    ir_ref pdf;      /* density in solid angle; 1 for delta lights; 0: nothing was sampled */
    vec2 uv;         /* texture coordinates of the point on the light */
    ir_ref facing;   /* bool: the light's emitting side faces the reference point */
    vec3 n;          /* for a light on a shape: the geometric normal at the point */
    ir_ref smooth;   /* pdf without the steps of a sampling table; none: it has no steps */
    ir_ref face;     /* u32: the face of a mesh that the point lies on; none: the light is no mesh */
    vec2 b;          /* barycentrics of the point on the face */
} emitter_sample;

/* Where a ray has met a light. */
typedef struct emitter_hit {
    vec3 ref, d; /* the ray */
    ir_ref distance;
    vec3 normal; /* geometric */
    vec2 uv;
    ir_ref entry; /* word offset of the primitive's entry in the hierarchy */
    vec2 at;      /* the place on the primitive: what the kind's `intersect` returns behind the distance */
    bool smooth;  /* the density is wanted without the steps of a table, as emitter_sample.smooth */
} emitter_hit;

/* Where an emitter is and where it shines: a box, and a cone of directions around a unit axis, in which its
 * normals lie. Along a direction it shines up to an angle `reach` from such a normal. Detached, and need not
 * be strict: lights that are not seen as bright as they are still have a share. */
typedef struct emitter_bound {
    vec3 least, most, axis;
    ir_ref cos_spread, cos_reach; /* cosines of the half angle of the cone, in [-1, 1], and of the reach */
} emitter_bound;

/* How light leaves an emitter: a ray, for paths that begin there. */
typedef struct emitter_ray {
    vec3 p, d;   /* the ray starts at p on the light itself and goes along the unit vector d */
    vec3 n;      /* geometric normal of a light on a shape, else 0 */
    vec3 ns;     /* for a light on a shape, a vector on the side of the surface that shines; else none */
    vec2 uv;     /* radiance(.., uv, 1, true) is the radiance along d */
    ir_ref face; /* face and b are those of emitter_sample */
    vec2 b;
    ir_ref weight; /* |cos| over the density of the ray by area times solid angle; a light at a point or of
                      one direction has only one of these two measures */
    ir_ref point_weight; /* for lights that can be seen: 1 over the density of p by area, or, for an
                            environment, 1 over the density of -d by solid angle; for others 0 */
} emitter_ray;

/* A point of the border at which the light of a delta light ends at once. */
typedef struct emitter_border {
    ir_ref there;         /* bool: the light has such a border; the other fields are finite in any case */
    vec3 p, along, light; /* the point; its derivative by u; leads to the lit side, at a right angle to both
                             `along` and the ray from the light */
} emitter_border;

typedef struct emitter_class {
    render_class base;
    bool delta;           /* no ray can hit it */
    bool environment;     /* it lies at infinity */
    bool on_shape;        /* a shape carries it (its extra words are enum area_word) */
    uint32_t pose_params; /* one bit for each parameter that moves the light. A delta light that has some runs
                             `sample` differentiated, an environment runs `locate` differentiated */
    emitter_sample (*sample)(tracer *t, const class_node *n, ir_ref record, vec3 ref, ir_ref u1, ir_ref u2);
    /* The radiance toward the reference point; for delta lights the radiant intensity over the squared
     * distance. It may run differentiated. Textures of a light on a shape that need the place on the shape
     * find it in tracer.surface: mesh, face, b, p. */
    color (*radiance)(tracer *t, const class_node *n, ir_ref record, vec2 uv, ir_ref distance, ir_ref facing);
    /* The density in solid angle with which `sample` would have chosen the point that a ray hit. */
    ir_ref (*pdf)(tracer *t, const class_node *n, ir_ref record, const emitter_hit *hit);
    /* About how much light it sends into the scene, at least 0: the luminance of its flux. Lights are chosen
     * by this power. It is detached. */
    ir_ref (*power)(tracer *t, const class_node *n, ir_ref record);
    /* What the tree of lights (integrator/derived/light_tree.c) knows of its place. NULL: it lies at
     * infinity, or has none. */
    emitter_bound (*bound)(tracer *t, const class_node *n, ir_ref record);
    /* For light tracing: a ray sampled with four uniform numbers. It is detached. NULL: paths cannot begin
     * there. */
    emitter_ray (*ray)(tracer *t, const class_node *n, ir_ref record, const ir_ref u[4]);
    /* The radiance along the ray that `ray` returns. NULL: it is `radiance` at that ray's uv. */
    color (*emission)(tracer *t, const class_node *n, ir_ref record, vec2 uv, ir_ref distance, ir_ref facing);
    /* For delta lights at a point: the border of what they light, at a distance from them; u in [0, 1) goes
     * once around it. It may run differentiated by pose_params. NULL: they fade. */
    emitter_border (*border)(tracer *t, const class_node *n, ir_ref record, ir_ref u, float distance);
    /* For an environment that is not constant: the uv of a direction. */
    vec2 (*locate)(tracer *t, const class_node *n, ir_ref record, vec3 d);
} emitter_class;

/* Extra words of an emitter class. plan.c fills them for area lights. */
enum area_word {
    AREA_SHAPE_DATA,
    AREA_INVERSE_AREA,
    AREA_SHAPE /* word of its record: enum shape_word */,
    AREA_WORDS
};

typedef struct shape_class {
    render_class base; /* its load hook appends to the scene's shapes, primitives and geometry */
} shape_class;

/* Filter importance sampling (docs/theory/film.md): `sample` returns the offset from the pixel's centre, in
 * pixels. Where the class is weighted, it multiplies *weight by the weight of the sample, whose mean is 1. */
typedef struct filter_class {
    render_class base;
    bool weighted;
    vec2 (*sample)(tracer *t, ir_ref record, ir_ref u1, ir_ref u2, ir_ref *weight);
    /* For splats: the filter along one dimension at a distance >= 0 in pixels, which is not normalised, and
     * the radius at which it ends. NULL: the filter is the box. */
    ir_ref (*value)(tracer *t, ir_ref record, ir_ref distance);
    double (*radius)(const scene_object *filter);
    uint32_t edges; /* word of the record where the FILTER_EDGES * 4 words of filter_within begin; 0: no
                       sample leaves its pixel */
} filter_class;

#endif
