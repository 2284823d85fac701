/* SPDX-License-Identifier: BSD-3-Clause
 * A render_scene is a loaded scene: geometry, parameters and their initial values, structure. What it looks
 * like is the same for all plans made of it. */
#ifndef BL_RENDER_RENDER_SCENE_H
#define BL_RENDER_RENDER_SCENE_H

#include "base/bvh_layout.h"
#include "render/mode.h"
#include "scene/scene.h"

enum {
    PLAN_NONE = 0xFFFFFFFFu,
    PLAN_DERIVED_SLOT = 30,
    PLAN_DATA_SLOT = 31,
    PLAN_MAX_CHILDREN = 8,
    PLAN_ELLIPSOID_SLOT = 48, /* of ellipsoids, the first of their arrays: enum ellipsoid_array */
    PLAN_ARRAY_SLOT = 64      /* of a mesh, the first of its arrays: enum mesh_array */
};

/* What the parameters of an object are called before their last dot: by the nearest id, its own or of what
 * holds it; and (path) as in Mitsuba's traverse, where the ids of nested objects do not count: by the way to
 * it from an object of the scene. "" for the scene. */
typedef struct object_name {
    const char *name, *path;
} object_name;

typedef struct render_parameter {
    const char *name, *path; /* the same if there is no other */
    uint32_t offset,
        count; /* in the flat array of values; of geometry, behind all that are in it, where it would stand */
    uint32_t source; /* of geometry, positions, normals and uv of a mesh: its words in render_scene.geometry,
                        which plans take values from that need them; PLAN_NONE: all others, whose values are
                        in render_scene.values */
    uint32_t rank, shape[4];
    uint32_t least_side; /* the class's, of its data array; 0: the shape is fixed */
    float least, most;
    uint32_t object, slot; /* owner; parameter index of its class, PLAN_DATA_SLOT for its data array,
                              PLAN_ARRAY_SLOT + array of a mesh */
    bool turns;            /* mirrored or refracted directions depend on it */
    bool curves;           /* it is of a medium that bends rays */
    const char *reason;    /* why its gradient is incomplete or missing; NULL: complete */
    bool emits;            /* radiance, intensity: what everything else is lit by */
    float emitting_area;   /* then, of what shapes emit: the area of the largest, as loaded; 0: none */
    uint32_t factor;       /* for parameters that emit: the parameter that multiplies it; PLAN_NONE: none */
    bool absent;           /* 0, of a part that kernels leave out unless this is requested (PLUGIN_PART) */
    int length_power;      /* a typical derivative of radiance is the scene's radius to this power: -2 for an
                              intensity */
    uint32_t next;         /* the parameter of the same object that was registered before: 1 + its index */
    uint32_t place;        /* of those that say where a shape or an instance is: 1 + their index in
                              render_scene.places; 0: all others */
} render_parameter;

/* Where a shape or an instance is: its to_world and, besides, translation, rotation and scale, which belong
 * to an object of their own (shape/pose.c). */
typedef struct render_place {
    const scene_object *object, *pose;
    uint32_t to_world, translation, rotation, scale; /* parameters */
} render_place;

typedef struct render_shape {
    const scene_object *object;
    uint32_t kind; /* index of the intersection function: enum shape_kind */
    uint32_t first_entry_primitive, primitive_count;
    uint32_t vertex_count; /* of a mesh */
    bool normals_made;     /* of a mesh: generated from its positions */
    const scene_object *bsdf,
        *emitter; /* bsdf: NULL where the shape cannot be hit, being there for its points alone */
    const scene_object *interior, *exterior; /* media; NULL: vacuum */
    uint32_t data;  /* word offset of the kind's data, relative to the geometry block */
    uint32_t group; /* where there are groups: which one it stands in */
    float area;
} render_shape;

/* The shapes of one shapegroup. The first group has those that stand in no shapegroup. */
typedef struct render_group {
    const scene_object *object; /* NULL: the first */
    scene_bvh bvh;              /* over its own primitives; order: indices of the scene's */
    float bounds[6];
} render_group;

/* A place where a group is seen. Maps are 3 rows of 4. */
typedef struct render_instance {
    const scene_object *object; /* NULL: of the first group, which stands where it is */
    uint32_t group;
    float to_world[12], to_group[12];
    bool hidden; /* to_world_hides */
} render_instance;

enum shape_kind {
    SHAPE_TRIANGLES,
    SHAPE_SPHERE,
    SHAPE_DISK,
    SHAPE_CYLINDER,
    SHAPE_SDF,
    SHAPE_LINEAR_CURVE,
    SHAPE_BSPLINE,
    SHAPE_ELLIPSOID,
    SHAPE_KIND_COUNT
};

/* One primitive of the hierarchy: its box and its entry (base/bvh_layout.h). */
typedef struct render_primitive {
    float bounds[6];
    uint32_t entry[BVH_ENTRY_WORDS];
} render_primitive;

/* Further channels of the image: of the first hit, and Stokes vectors (integrator/kernels/channels.c). */
enum channel_kind {
    CHANNEL_ALPHA,
    CHANNEL_DEPTH,
    CHANNEL_POSITION,
    CHANNEL_UV,
    CHANNEL_GEO_NORMAL,
    CHANNEL_SH_NORMAL,
    CHANNEL_DP_DU,
    CHANNEL_DP_DV,
    CHANNEL_PRIM_INDEX,
    CHANNEL_SHAPE_INDEX,
    CHANNEL_ALBEDO,
    CHANNEL_STOKES,
    CHANNEL_KIND_COUNT
};
enum { CHANNELS_MOST = 60, CHANNEL_NAME_MOST = 255 /* of EXR files */ };
typedef struct render_channel {
    const char *name; /* "A", "nn.X" */
    enum channel_kind kind;
    uint32_t component;
} render_channel;
/* What the probability of sampling a light is proportional to. */
enum light_choice {
    LIGHTS_BY_WEIGHT /* their sampling_weight (Mitsuba) */,
    LIGHTS_UNIFORM,
    LIGHTS_BY_POWER /* sampling_weight times power */,
    LIGHTS_BY_TREE /* that, and what may reach the vertex of it (integrator/derived/light_tree.c) */,
    LIGHTS_AUTO /* by the tree where lights are many, else by weight; scene_bind.c replaces it */
};
enum { LIGHTS_MANY = 10 /* docs/decisions/choice-of-lights.md */ };

/* What a gradient pass takes for the radiance that is still to come at a vertex. */
enum gradient_method {
    METHOD_REPLAY,    /* what remains of the path's own radiance */
    METHOD_RECURSIVE, /* an independent estimate at each vertex */
    METHOD_UNIT,      /* 1: biased I of radiative backpropagation */
    METHOD_TAPE,      /* the path's own radiance; all vertices are stored */
    METHOD_OWN        /* what an application's integrator says */
};

/* Samples per pixel of gradients where a call gives none: of their interior, and of edges that the sensor
 * sees or that are seen otherwise. PLAN_NONE: as many as the sampler gives. Edges with 0 have none in any
 * case. */
typedef struct render_edge_samples {
    uint32_t interior, seen, indirect;
} render_edge_samples;

/* How the integrator radiance_field marches. */
typedef struct render_march {
    double step;               /* distance between samples; 0: as the field's resolution asks for */
    float least_transmittance; /* rays end below it */
    float empty_below;         /* samples of less opacity may be left out */
    uint32_t thin; /* not 0: replays differentiate one sample of so many, and one voxel of its lookups */
    bool jitter;   /* samples of a ray are shifted by a random part of a step */
} render_march;

/* How Metropolis integrators walk through the space of random numbers (docs/theory/metropolis.md). */
typedef struct render_metropolis {
    uint32_t particles;          /* paths that are evaluated together, around one state of a chain; 0: the
                                    integrator is another one */
    uint32_t chains;             /* 0: as the number of samples asks for */
    float large_step;            /* probability of a step that does not depend on the state */
    float step_least, step_most; /* of one number in other steps */
    float spread;                /* standard deviation of particles, in each number */
    bool separates_direct;       /* chains leave direct light out; each step samples it besides */
    float light_paths;           /* probability of a path from a light in place of one from the sensor; 0: all
                                    paths begin at the sensor */
} render_metropolis;

/* Words of render_scene.geometry that belong to an object, other than a shape. */
typedef struct object_words {
    uint32_t object, begin, kind; /* kind: what the class likes to know again of them */
} object_words;

typedef struct render_scene {
    arena memory;
    const render_mode *mode;
    uint32_t film_channels; /* of the image: the mode's, or as many as the film has names */
    uint32_t film_entries;  /* of Stokes vectors in them, one after the other: 4, or 1, the intensity */
    const char *const *film_names;  /* [film_channels], of bands and entries; NULL: colours */
    const struct film_bands *bands; /* what the channels of a film with bands, or the sensor, respond to;
                                       NULL: to all that the eye sees */
    /* Light is spectral, and the index of some material is a curve; of a rough one. */
    bool disperses, disperses_rough;
    scene_description *description;
    ARRAY(render_parameter) parameters;
    ARRAY(uint32_t) last_parameter; /* by object index: 1 + the object's last one; 0: it has none */
    ARRAY(float) values;
    ARRAY(render_shape) shapes;
    ARRAY(render_primitive) primitives;
    ARRAY(uint32_t) geometry; /* words: shape data */
    ARRAY(object_words) object_words;
    ARRAY(const char *)
    attributes; /* names of all meshes' attributes, each once; a shape's are its object's arrays */
    ARRAY(const scene_object *) emitters; /* in order of the scene; area emitters once per shape */
    ARRAY(uint32_t) emitter_shape;        /* shape of an area emitter, or PLAN_NONE */
    uint64_t kernel_most;                 /* operations that a kernel of this scene may have */
    double bvh_seconds;                   /* building all hierarchies took */
    scene_bvh bvh;   /* over the primitives; where there are groups, over the instances, one a leaf */
    bool has_groups; /* shapegroups: two levels */
    ARRAY(render_group) groups; /* else empty */
    ARRAY(render_instance) instances;
    ARRAY(render_place) places; /* of all shapes and instances that can move */
    uint32_t *place_of;         /* by object index: 1 + index in places; 0: it has none */
    object_name *names;         /* by object index; name NULL: it is nowhere in the scene */
    bool has_normals, has_uvs;  /* any mesh with vertex normals; with uvs */
    bool has_smooth_sdf;
    bool grids_end;         /* the grid of some medium ends within it (scene_grids.c) */
    bool edges_lack_known;  /* edges_reasons.c: whether edges_lack has been found */
    bool clipped;           /* a clip plane of the sensor may cut what is in the scene */
    const char *edges_lack; /* what gradients by parameters that move edges still lack; NULL: nothing */
    bool has_heights;       /* any heightfield */
    bool kind_used[SHAPE_KIND_COUNT];
    float center[3], radius;             /* bounding sphere */
    const struct sampler_class *spreads; /* how random numbers are spread: the sampler's, or another */
    const scene_object *sensor, *film, *filter, *sampler,
        *integrator;                     /* sensor: the one to look through; film, filter, sampler: its */
    ARRAY(const scene_object *) sensors; /* in order of the scene */
    bool *is_sensor;                     /* by object index: one of these; of the scene's own objects, */
    uint32_t own_objects;                /* of which there are so many; sensor_is asks */
    uint32_t sensor_index;               /* of `sensor` */
    uint32_t environment;                /* index of the emitter at infinity, or PLAN_NONE */
    enum light_choice light_choice;
    uint32_t width, height, spp;                      /* of the image: the film's crop window */
    uint32_t full_width, full_height, crop_x, crop_y; /* the film, and where on it the window begins */
    int32_t max_depth, rr_depth;                      /* max_depth < 0: unbounded */
    bool hide_emitters, use_next_event, use_bsdf_sampling;
    bool sees_through;         /* alpha and hide_emitters look behind null lobes */
    float attach_below;        /* rough lobes of this alpha or less are sampled attached
                                  (integrator/motion/attached_lobe.c); */
    uint32_t look_ahead;       /* at most so many of them follow each other in a chain; any number where
                                  `inverts` */
    bool inverts;              /* chains are backpropagated by Jacobians
                                  (integrator/kernels/attached_inversion.c); */
    float regularization;      /* noise of this size makes these regular; 0: none */
    bool attaches;             /* the scene has lobes as smooth as that */
    uint32_t paths_per_sample; /* of direct with more than one sample of a kind: as many paths stand in for
                                  one sample */
    bool edges;                /* moving edges are differentiated (docs/theory/edges.md) */
    render_edge_samples edge_samples;
    bool depth_image;     /* the image is the depth of the first hit */
    bool ellipsoid_field; /* ellipsoids are kernels that emit (integrator/kernels/ellipsoid_field.c) */
    bool srgb_primitives; /* their colours are sRGB */
    enum gradient_method method;
    bool detached;  /* directions stay, whatever turns mirrors and glass */
    bool pipelined; /* dL/dI of a gradient is that of the image before: biased II of radiative backpropagation
                     */
    const struct integrator_class *own; /* an application's integrator (own_integrator.h); NULL: none */
    double *own_settings;               /* its numbers, in the order of its table */
    render_metropolis metropolis;       /* the image is a sum of splats of Markov chains */
    bool light_tracing;                 /* paths begin at lights; the image is a sum of splats */
    bool both_ways;                     /* and as many begin at the sensor (kernels/sensor_paths.c) */
    bool no_image;                      /* channels are all there is */
    ARRAY(render_channel) channels;     /* alpha first, if the film has it */
    const scene_object *field;          /* NULL: none, or the integrator does not see it */
    render_march march;                 /* where there is a field */
    const char *silhouette;             /* the integrator shows shapes with these ids, separated by commas, as
                                           bright, and others as black; "": all; NULL: it shows light */
    bool volumetric;                    /* the integrator knows media, and surfaces that are not there */
    ARRAY(const scene_object *) media;  /* those that bound shapes or hold the sensor, each once */
    const scene_object *sensor_medium;  /* NULL: vacuum */
    const scene_object *default_phase;  /* of media that name none: isotropic */
} render_scene;

/* In the order of the public bl_edges. */
enum edges_wish { EDGES_BY_SCENE, EDGES_NONE, EDGES_PROJECTIVE };

typedef struct render_overrides {
    const char *mode;       /* render_mode_find; NULL: the one that the scene's file names, else rgb */
    const char *integrator; /* NULL: the scene's */
    const char *sampler;    /* as bl_scene_desc.sampler */
    const char *silhouette; /* as render_scene.silhouette, in its place; NULL: none */
    int32_t max_depth;      /* 0: the scene's */
    uint32_t sensor;        /* which one to look through, in order of the scene */
    enum light_choice light_choice;
    bool guides;                     /* as bl_scene_desc.guides */
    enum edges_wish edges;           /* whether moving edges are differentiated */
    const plugin_registry *registry; /* where integrators of an application are looked up by name */
} render_overrides;

extern const plugin_registry render_registry; /* registry.c */

/* ---- scene_hierarchy.c: from shapes to one or two levels of hierarchies ---- */

bl_result render_build_levels(render_scene *s, bl_error *err);
/* Box of a box's image, with slack for maps of rays in f32. m: 3 rows of 4. */
void render_map_box(const float m[12], const float box[6], float out[6]);
/* Makes a box hold another one, too. */
void render_join_box(float into[6], const float box[6]);
/* The box of all primitives of a shape; of none, least is infinity and most is -infinity. */
void render_shape_bounds(const render_scene *s, const render_shape *shape, float out[6]);

/* ---- scene_structure.c ---- */

/* How the scene's integrator makes gradients, in words. */
const char *render_method_name(const render_scene *s);

/* ---- scene_edges.c ---- */

/* Whether a material, or one that it holds, is of a kind; whether one of a shape of the scene is. */
bool render_has_bsdf(const scene_object *bsdf, bool (*is)(const scene_object *bsdf));
bool render_some_bsdf(const render_scene *s, bool (*is)(const scene_object *bsdf));
bool bsdf_is_smooth(const scene_object *bsdf); /* itself a mirror or smooth glass */
bool bsdf_is_mask(const scene_object *bsdf);   /* lets a ray straight through */
/* Whether a ray may meet light on its way to a vertex. Such light would have to move in another way than the
 * vertex does (integrator/motion/local_volume.c). */
bool render_shines_on_the_way(const render_scene *s);
bool edges_differentiated(const render_scene *s); /* whether moving edges are, in this scene */
/* Whether borders of shadows are sampled from lights (kernels/boundary_lit.c): paths can begin at all of
 * them, and the sensor can be connected to surfaces. */
bool edges_lit_possible(const render_scene *s);
/* Whether they are where there are media, or surfaces that are not there (kernels/boundary_shaft.c). */
bool edges_shafts_possible(const render_scene *s);
bool edges_from_lights_possible(const render_scene *s); /* either */
/* Whether some of this light is found by paths that hit a light, too (kernels/boundary_path.c). */
bool edges_light_shared(const render_scene *s);
bool edges_some_delta_light(const render_scene *s); /* a light that no ray hits */
/* Whether silhouettes are sampled that the sensor sees in flat mirrors (kernels/boundary_mirror.c), and
 * whether a shape is one. */
bool edges_mirrors_possible(const render_scene *s);
bool edges_cuts_possible(const render_scene *s); /* of clip planes that cut something */
bool edges_flat_mirror(const render_shape *shape);

/* ---- scene_build.c ---- */

/* Takes ownership of the description (also on failure). */
bl_result render_scene_create(scene_description *d, const render_overrides *o, render_scene **out,
                              bl_error *err);
void render_scene_destroy(render_scene *s);

/* ---- scene_objects.c ---- */

/* Whether the value of the object's parameter `param`, a PLUGIN_PART, is a plain 0. */
bool render_part_is_zero(const scene_object *o, const char *param);

/* ---- parameters.c ---- */

/* A parameter's shape, bounds and the values that it has in the file. */
typedef struct initial_values {
    uint32_t rank;
    const uint32_t *shape; /* [rank] */
    float least, most;
    const float *values; /* as many as the shape says; copied */
} initial_values;

/* For load hooks: registers a parameter of o and returns its index. */
uint32_t render_add_parameter(render_scene *s, const scene_object *o, uint32_t slot, const initial_values *v);
/* Discrete lobes turn with a parameter: paths follow it (integrator/motion/attached_path.c). */
void render_turns(render_scene *s, uint32_t parameter);
/* Whether paths follow it in walks through media and through surfaces that let light through. */
bool render_attaches_through(const render_scene *s);
/* The same for all parameters of an object, and of the textures that it reads. */
void render_turns_all(render_scene *s, const scene_object *o);
/* Says what the gradients lack of all parameters of an object, and of the textures that it reads. A reason
 * that is there stays. */
void render_reason_all(render_scene *s, const scene_object *o, const char *reason);
extern const char render_turned_normals[]; /* the reason of what turns normals */
/* Reasons of what turns mirrored and refracted directions: in volumetric integrators, as long as the scene is
 * not known to have render_attaches_through; and where paths follow it. */
extern const char render_turned_through[], render_turned_edges_through[];
/* Like render_add_parameter, for a parameter whose name is `field`. */
uint32_t render_add_array(render_scene *s, const scene_object *o, const char *field, uint32_t slot,
                          const initial_values *v);
object_name render_name_below(render_scene *s, object_name of,
                              const char *child); /* of what is called `child` there */
uint32_t render_parameter_called(
    const render_scene *s,
    const char *name); /* by its name or, if there is none, by its path; PLAN_NONE: none */
/* The parameter of the object that was registered last, from which render_parameter.next goes on: 1 + its
 * index; 0: it has none. */
static inline uint32_t render_last_parameter(const render_scene *s, const scene_object *o)
{
    return o->index < s->last_parameter.count ? s->last_parameter.data[o->index] : 0;
}
uint32_t render_find_parameter(const render_scene *s, const scene_object *o,
                               uint32_t slot); /* PLAN_NONE: none */
/* The parameter that an object offers under this name; PLAN_NONE: none. o: NULL has none. */
uint32_t render_offered_parameter(const render_scene *s, const scene_object *o, const char *name);
/* For load hooks, before they add so many values and words of geometry: BL_ERROR_MEMORY where there is no
 * room for them. */
bl_result render_room(const render_scene *s, uint64_t values, uint64_t geometry, bl_error *err);
/* The first further channel of a kind; channels.count: there is none. */
uint32_t render_first_channel(const render_scene *s, enum channel_kind kind);
/* Gives a data array other sides, all but the channels, and new values; plans made before are void. */
bl_result render_resize_parameter(render_scene *s, uint32_t index, const uint32_t *shape, const float *values,
                                  bl_error *err);
/* For load hooks, after render_room: words of an object that never change, zeroed, to be written at once.
 * render_words: where they are. Records refer to them by plan.geometry + begin. */
uint32_t *render_add_words(render_scene *s, const scene_object *o, uint32_t count, uint32_t kind);
const object_words *render_words(const render_scene *s, const scene_object *o);
/* Like render_add_array, for geometry: the values stay where they are, in s->geometry from `source` on. */
uint32_t render_add_geometry(render_scene *s, const scene_object *o, const char *field, uint32_t slot,
                             uint32_t rank, const uint32_t *shape, uint32_t source);
const float *render_initial(const render_scene *s, const render_parameter *p); /* count values */

#endif
