/* SPDX-License-Identifier: BSD-3-Clause
 * Between a scene's objects and its kernels.
 *
 * A render_scene is a loaded scene: geometry, parameters and their initial values, structure. A plan is the scene prepared for one set of
 * requested gradients: the words of the scene buffer and the classes that kernels are specialised to.
 *
 * A class is the tree of plugin kinds of an object, twosided(diffuse(bitmap)), with the parameter slots that any instance of it has
 * requested. Instances of one class differ only in their record. A record holds the fields of its object in the order of the
 * plugin's parameter table: a differentiable number or colour as (value offset, gradient offset), a textured parameter as the nested
 * object's record in place, then the records of nested objects, then (value offset, gradient offset) of its derived values, then the
 * class's own extra words.
 *
 * Derived values (estimators.md 2) are what a class computes from its parameters once instead of at every vertex: its `update`, traced, is a
 * kernel of its own that runs after parameters have changed. They stand behind the parameters in the buffer of values, and, where a
 * parameter they may depend on is requested, behind the parameters' elements in the buffer of gradients; the derivative of `update` is one
 * more kernel (integrator/update.c).
 *
 * Sampling tables are derived, too, but large and detached: distributions over texels, say. They stand behind the derived values and are
 * built in steps by traced functions whenever values have changed (integrator/tables.c). */
#ifndef BL_RENDER_PLAN_H
#define BL_RENDER_PLAN_H

#include "render/trace.h"
#include "scene/scene.h"
#include "spirv_gen/opt/opt.h"

enum { PLAN_NONE = 0xFFFFFFFFu, PLAN_DERIVED_SLOT = 30, PLAN_DATA_SLOT = 31, PLAN_MAX_CHILDREN = 8,
       PLAN_ARRAY_SLOT = 64 /* of a mesh, the first of its arrays: enum mesh_array */ };

typedef struct render_parameter {
    const char *name;
    uint32_t offset, count; /* in the flat array of values */
    uint32_t rank, shape[4];
    float least, most;
    uint32_t object, slot; /* owner; parameter index of its class, PLAN_DATA_SLOT for its data array, PLAN_ARRAY_SLOT + array of a mesh */
    const char *reason;    /* why its gradient is incomplete or missing; NULL: complete */
    bool emits;            /* radiance, intensity: what everything else is lit by */
    uint32_t factor;       /* parameter that multiplies it, PLAN_NONE: none. Of those that emit */
    bool absent;           /* 0, of a part that kernels leave out unless this is requested (PLUGIN_PART) */
    int length_power;      /* a typical derivative of radiance is the scene's radius to this power: -2 for an intensity */
} render_parameter;

typedef struct render_shape {
    const scene_object *object;
    uint32_t kind;         /* index of the intersection function: enum shape_kind */
    uint32_t first_entry_primitive, primitive_count;
    uint32_t vertex_count; /* of a mesh */
    bool normals_made;     /* of a mesh: generated from its positions */
    const scene_object *bsdf, *emitter; /* bsdf: NULL where the shape cannot be hit, being there for its points alone */
    const scene_object *interior, *exterior; /* media; NULL: vacuum */
    uint32_t data;         /* word offset of the kind's data, relative to the geometry block */
    uint32_t group;        /* where there are groups: which one it stands in */
    float area;
} render_shape;

/* What stands in one shapegroup, or (the first) in none. */
typedef struct render_group {
    const scene_object *object; /* NULL: the first */
    scene_bvh bvh;              /* over its own primitives; order: indices of the scene's */
    float bounds[6];
} render_group;

/* A group where it is seen. Rows of 4. */
typedef struct render_instance {
    const scene_object *object; /* NULL: of the first group, which stands where it is */
    uint32_t group;
    float to_world[12], to_group[12];
} render_instance;

enum shape_kind { SHAPE_TRIANGLES, SHAPE_SPHERE, SHAPE_DISK, SHAPE_CYLINDER, SHAPE_SDF, SHAPE_LINEAR_CURVE, SHAPE_BSPLINE, SHAPE_ELLIPSOID, SHAPE_KIND_COUNT };

/* One primitive of the hierarchy: its box and the 12 words of its entry (opt/ray_bvh.c). */
typedef struct render_primitive {
    float bounds[6];
    uint32_t entry[12];
} render_primitive;

/* Further channels of the image: of the first hit (integrator/channels.c). */
enum channel_kind { CHANNEL_ALPHA, CHANNEL_DEPTH, CHANNEL_POSITION, CHANNEL_UV, CHANNEL_GEO_NORMAL, CHANNEL_SH_NORMAL, CHANNEL_DP_DU, CHANNEL_DP_DV, CHANNEL_PRIM_INDEX, CHANNEL_SHAPE_INDEX,
                    CHANNEL_ALBEDO, CHANNEL_KIND_COUNT };
enum { CHANNELS_MOST = 60 };
typedef struct render_channel {
    const char *name; /* "A", "nn.X" */
    enum channel_kind kind;
    uint32_t component;
} render_channel;
/* With which probability a light is sampled. */
enum light_choice { LIGHTS_BY_WEIGHT /* their sampling_weight (Mitsuba) */, LIGHTS_UNIFORM, LIGHTS_BY_POWER /* times their power */ };

typedef struct render_scene {
    arena memory;
    scene_description *description;
    ARRAY(render_parameter) parameters;
    ARRAY(float) values;
    ARRAY(render_shape) shapes;
    ARRAY(render_primitive) primitives;
    ARRAY(uint32_t) geometry;          /* words: shape data */
    ARRAY(const char *) attributes;    /* names of all meshes' attributes, each once; a shape's are its object's arrays */
    ARRAY(const scene_object *) emitters; /* in order of the scene; area emitters once per shape */
    ARRAY(uint32_t) emitter_shape;     /* shape of an area emitter, or PLAN_NONE */
    scene_bvh bvh;                     /* over the primitives; where there are groups, over the instances, one a leaf */
    bool has_groups;                   /* shapegroups: two levels */
    ARRAY(render_group) groups;        /* else empty */
    ARRAY(render_instance) instances;
    void **object_data;                /* by object index: what a class's load hook left there */
    bool has_normals, has_uvs;         /* any mesh with vertex normals; with uvs */
    bool has_smooth_sdf;
    bool kind_used[SHAPE_KIND_COUNT];
    float center[3], radius;           /* bounding sphere */
    const scene_object *sensor, *film, *filter, *sampler, *integrator; /* sensor: the one to look through; film, filter, sampler: its */
    ARRAY(const scene_object *) sensors; /* in order of the scene */
    uint32_t sensor_index;             /* of `sensor` */
    uint32_t environment;              /* index of the emitter at infinity, or PLAN_NONE */
    enum light_choice light_choice;
    uint32_t width, height, spp;       /* of the image: the film's crop window */
    uint32_t full_width, full_height, crop_x, crop_y; /* the film, and where on it the window begins */
    int32_t max_depth, rr_depth;       /* max_depth < 0: unbounded */
    bool hide_emitters, use_next_event, use_bsdf_sampling;
    bool depth_image; /* the image is the depth of the first hit */
    bool no_image;    /* channels are all there is */
    ARRAY(render_channel) channels; /* alpha first, if the film has it */
    bool volumetric;                   /* the integrator knows media, and surfaces that are not there */
    ARRAY(const scene_object *) media; /* those that bound shapes or hold the sensor, each once */
    const scene_object *sensor_medium; /* NULL: vacuum */
    const scene_object *default_phase; /* of media that name none: isotropic */
} render_scene;

struct plan;
typedef struct class_node class_node;
typedef ARRAY(uint32_t) uint32_list;

enum { UPDATE_ELEMENT = 16 /* bits of a class's index in plan.updates */ };

/* Every class of the renderer begins with this. */
typedef struct render_class {
    plugin_class plugin;
    uint32_t extra_words;
    const char *data_name; /* of the parameter with PLAN_DATA_SLOT, values that `load` makes from others or a file; NULL: it has none */
    /* Once per object when the scene is loaded: reads files, registers data parameters. */
    bl_result (*load)(render_scene *s, const scene_object *o, bl_error *err);
    /* After the object and all that it holds: says which parameters have incomplete gradients (render_mark). */
    void (*mark)(render_scene *s, const scene_object *o);
    /* Fills the extra words of an instance. */
    void (*extra)(const struct plan *p, const scene_object *o, uint32_t *words);
    /* Derived values of an instance, f32, from its parameters and those of its textured ones, read with plan_load and its kin. Runs tracked
     * and untracked; no effects, no loops between parameters and results. What kernels read back is plan_derived. */
    uint32_t derived_count;
    void (*update)(tracer *t, const class_node *n, ir_ref record, ir_ref *derived);
    /* In its place, where they are many: derived value `element` (u32), each by a lane of its own. A loop may stand between parameters and result
     * if it only adds. */
    ir_ref (*update_element)(tracer *t, const class_node *n, ir_ref record, ir_ref element);
    /* Sampling table of an instance: table_words(..) f32 in BUFFER_VALUES from plan_table_at on. Step k of building it has table_lanes(.., k)
     * lanes, reads parameters with plan_load and its kin and what earlier steps have left, and writes. table_steps 0, or no words: no table.
     * shape: that carries an emitter, else NULL. */
    uint32_t table_steps;
    uint32_t (*table_words)(const render_scene *s, const scene_object *o, const render_shape *shape);
    uint32_t (*table_lanes)(const render_scene *s, const scene_object *o, uint32_t step);
    void (*table_step)(tracer *t, const class_node *n, ir_ref record, uint32_t step, ir_ref lane);
    /* Structure that the parameter tree does not show (filter mode ..), part of the class. */
    uint32_t (*variant)(const render_scene *s, const scene_object *o);
    /* What the traced functions of a material or texture read of the surface besides uv: enum surface_need, of this class alone. NULL: nothing.
     * Where no class of a plan needs a thing, it costs nothing. */
    uint32_t (*needs)(const class_node *n);
} render_class;

struct class_node {
    const render_class *cls;
    char *key;
    uint32_t words, derived_word, table_word, extra_word; /* record size; where the pair of the derived values stands; the offset of the
                                                             sampling table; where the extra words start */
    uint32_t *field;              /* per parameter of the class: word of its field, PLAN_NONE if it has none */
    class_node **param_child;     /* per parameter: class of a textured one */
    class_node *child[PLAN_MAX_CHILDREN];
    uint32_t child_word[PLAN_MAX_CHILDREN], child_count;
    uint32_t requested;           /* bit per parameter (or PLAN_DATA_SLOT): some instance wants its gradient; PLAN_DERIVED_SLOT: or
                                     that of a parameter its derived values may depend on */
    uint32_t variant;
    uint32_t absent;              /* bit per parameter with PLUGIN_PART: the part is not there */
    bool tabled;                  /* it has a sampling table */
};

typedef ARRAY(class_node *) class_list;

/* One dispatch of building tables: a step of one instance, or of the choice of lights. */
typedef struct plan_table {
    uint32_t function; /* index over classes and their steps, those of the choice last: UNIFORM_TABLE_STEP */
    uint32_t record, lanes;
    const uint32_t *follows; /* parameters whose values the table is made of */
    uint32_t follow_count;
} plan_table;

/* Entries of a group. ray queries: boxes, then triangles, so that either's follow each other. */
typedef struct plan_group {
    uint32_t first, count, box_count;
} plan_group;

/* tangents: the first axis of the local frame is dp/du without its part along the normal (Mitsuba), not just any. slopes: surface.du, dv, ng.
 * face: surface.mesh, face, b; of triangles alone. */
enum surface_need { NEED_TANGENTS = 1, NEED_SLOPES = 2, NEED_FACE = 4 };

typedef struct plan {
    const render_scene *scene;
    uint32_t off;              /* plan_switch */
    arena memory;
    ARRAY(uint32_t) words;     /* the scene buffer */
    uint32_t *gradient_offset; /* per parameter: element of the gradient buffer, PLAN_NONE */
    uint32_t gradient_count;   /* elements, those of derived values included */
    uint32_t value_count;      /* of the buffer of values: parameters, then derived values and tables */
    class_list bsdfs, emitters, media, phases;
    uint32_t needs;            /* of all materials: enum surface_need */
    uint32_t moves;            /* enum mesh_moves: arrays of meshes, of which some are requested */
    class_list updates;        /* classes with derived values */
    class_list tables;         /* classes with sampling tables */
    ARRAY(plan_table) table_builds; /* in the order in which they must run */
    bool lights_tabled;        /* lights are chosen by a table (integrator/choice.c), whose place is in HEADER_LIGHT_TABLE; else alike */
    uint32_t update_count;     /* lanes of updating: HEADER_UPDATES points to (index in updates | element << UPDATE_ELEMENT, record) of each:
                                  objects with derived values, or every single value where the class has update_element */
    bool update_elements;      /* some class has */
    bool update_requested;     /* some derived value has a gradient */
    struct derived_place *derived; /* by object index */
    ARRAY(uint32_t) update_words;  /* while the plan is made */
    class_node *filter;
    class_node *sensor;        /* where parameters of the sensor are wanted; else NULL */
    bool any_request;
    const uint32_t *order;     /* primitive of each entry */
    uint32_t geometry;         /* where the scene's begins in words */
    plan_group *groups;        /* of the scene; where it has none, of all its primitives as one */
    uint32_t group_count;
    bool baked; /* small static geometry: the scene buffer's words are constants of the kernels */
    bool sensor_moves; /* but for the sensor's */
    bool query; /* rays are ray queries: no nodes; entries of triangles follow all others */
} plan;

typedef struct render_overrides {
    const char *integrator; /* NULL: the scene's */
    int32_t max_depth;      /* 0: the scene's */
    uint32_t sensor;        /* which one to look through, in order of the scene */
    enum light_choice light_choice;
} render_overrides;

extern const plugin_registry render_registry; /* registry.c */

/* ---- levels.c: from shapes to one or two levels of hierarchies ---- */

bl_result render_build_levels(render_scene *s, bl_error *err);
/* Box of a box's image, with slack for maps of rays in f32. m: 3 rows of 4. */
void render_map_box(const float m[12], const float box[6], float out[6]);

/* ---- scene_build.c ---- */

/* Takes ownership of the description (also on failure). */
bl_result render_scene_create(scene_description *d, const render_overrides *o, render_scene **out, bl_error *err);
void render_scene_destroy(render_scene *s);
/* For load hooks: registers a parameter of o with initial values and returns its index. */
uint32_t render_add_parameter(render_scene *s, const scene_object *o, uint32_t slot, uint32_t rank, const uint32_t *shape, float least,
                              float most, const float *values);
/* The gradients of o's parameters, and of those of its textures, are incomplete for this reason. */
void render_mark(render_scene *s, const scene_object *o, const char *reason);
/* The same with a name of its own. */
uint32_t render_add_array(render_scene *s, const scene_object *o, const char *field, uint32_t slot, uint32_t rank, const uint32_t *shape, float least,
                          float most, const float *values);
uint32_t render_find_parameter(const render_scene *s, const scene_object *o, uint32_t slot); /* PLAN_NONE: none */

/* ---- plan.c ---- */

/* How rays find what they hit. */
typedef enum plan_rays {
    PLAN_RAYS_BVH,
    PLAN_RAYS_BAKED, /* where plan_can_bake, else PLAN_RAYS_BVH */
    PLAN_RAYS_QUERY  /* whoever runs the kernels builds the acceleration structure and puts its address into words[HEADER_ACCEL] */
} plan_rays;

/* What recording does to make kernels small, and can leave out, for measuring what it is worth. */
typedef enum plan_switch {
    PLAN_FOLD = 1,         /* constants fold */
    PLAN_NUMBER = 2,       /* equal values are one */
    PLAN_CELLS = 4,        /* densities have bounds in cells, not one for all of a medium */
    /* last, because bench --ablation shows what is left with nothing but these: */
    PLAN_SHARE = 8,        /* materials and lights of a class share its functions and differ by their records; else each has its own */
    PLAN_SHARE_SHAPES = 16, /* the same for the interactions of shapes of a kind; where rays hit is asked by kind in any case */
    PLAN_SWITCH_COUNT = 5
} plan_switch;
extern const char *const plan_switch_names[PLAN_SWITCH_COUNT];

/* requested: parameter indices. off: plan_switch, what to leave out. */
plan *plan_create(const render_scene *s, const uint32_t *requested, uint32_t count, plan_rays rays, uint32_t off);
/* Whether the scene is small enough for its geometry to be constants of kernels. */
bool plan_can_bake(const render_scene *s);
void plan_destroy(plan *p);
/* How the plan's rays are traced by passes; fields of other concern stay. */
void plan_ray_options(const plan *p, opt_options *o);
uint32_t plan_sensor_word(const plan *p); /* where the SENSOR_WORDS of the sensor's record begin in the scene buffer */
uint32_t plan_value_offset(const plan *p, const scene_object *o, uint32_t slot);
uint32_t plan_gradient_offset(const plan *p, const scene_object *o, uint32_t slot);
uint32_t plan_reserve(plan *p, uint32_t count); /* zeroed words at the end of the scene buffer; where they begin */
void plan_write_entries(plan *p);               /* entries.c: hierarchies, levels, entries and the header's words of them */

/* Element `element` (u32) of the number or colour whose (value, gradient) offset pair stands at `word` of the record. */
ir_ref plan_load(tracer *t, const class_node *n, ir_ref record, uint32_t word, uint32_t slot, ir_ref element);
/* Element `element` of values that begin at `value` of BUFFER_VALUES and whose gradients begin at `gradient`, PLAN_NONE: they have none (u32). requested:
 * some gradient is wanted at all. */
ir_ref plan_value(tracer *t, ir_ref value, ir_ref gradient, bool requested, ir_ref element);
/* A colour parameter of the class by name; a number parameter. */
color plan_color(tracer *t, const class_node *n, ir_ref record, const char *param);
ir_ref plan_number(tracer *t, const class_node *n, ir_ref record, const char *param);
/* Derived value `element` (u32) of an instance of the class. */
ir_ref plan_derived(tracer *t, const class_node *n, ir_ref record, ir_ref element);
/* The data words of shape number `shape` of the scene. */
ir_ref plan_shape_data(tracer *t, uint32_t shape);
/* First word of BUFFER_VALUES of an instance's sampling table. */
ir_ref plan_table_at(tracer *t, const class_node *n, ir_ref record);
/* Whether the textured parameter `param`, optional, was given. Known while tracing. */
bool plan_given(const class_node *n, const char *param);
/* Luminance; of grey exactly that grey. */
ir_ref color_luminance(tracer *t, color v);
/* The textured parameter `param` at uv. */
color plan_texture(tracer *t, const class_node *n, ir_ref record, const char *param, vec2 uv);
/* The volumetric parameter `param` at a point of the world. */
color plan_volume(tracer *t, const class_node *n, ir_ref record, const char *param, vec3 p);
/* The same as one number (Mitsuba's eval_1): luminance, exact for grey. */
ir_ref plan_texture_1(tracer *t, const class_node *n, ir_ref record, const char *param, vec2 uv);
/* Its derivative with respect to uv; the texture's class has a `slope`. */
vec2 plan_texture_slope(tracer *t, const class_node *n, ir_ref record, const char *param, vec2 uv);
ir_ref color_luminance(tracer *t, color v);
/* Of an object: the value of a PLUGIN_PART is a plain 0. */
bool plan_part_is_zero(const scene_object *o, const char *param);
/* Whether the part whose weight is `param` (PLUGIN_PART) exists, that is may be other than 0 or is differentiated. Known while tracing. */
bool plan_has(const class_node *n, const char *param);
/* As plan_texture_1 of the weight of a part; 0 where there is none. */
ir_ref plan_weight(tracer *t, const class_node *n, ir_ref record, const char *param, vec2 uv);
/* The gradient of some parameter of the class, textures and volumes included, is wanted by some instance. */
bool plan_requests(const class_node *n);
/* The gradient of the parameter `param`, textured, volumetric or the data, is wanted by some instance. */
bool plan_wants(const class_node *n, const char *param);
/* Probability with which one of two parts is chosen whose share depends on the parameter `param`, textured or the data: the share, but where its gradient is
 * wanted neither part is ever left out (estimators.md 4). The image of such a plan is chosen alike, which the two-walk form needs. */
ir_ref plan_probability(tracer *t, const class_node *n, const char *param, ir_ref share);

/* ---- classes ---- */

typedef struct texture_class {
    render_class base;
    color (*eval)(tracer *t, const class_node *n, ir_ref record, vec2 uv);
    ir_ref (*eval_1)(tracer *t, const class_node *n, ir_ref record, vec2 uv); /* NULL: the luminance of eval */
    vec2 (*slope)(tracer *t, const class_node *n, ir_ref record, vec2 uv);    /* d eval_1 / d uv; NULL: it has none to speak of */
} texture_class;

typedef struct volume_class {
    render_class base;
    bool constant; /* the same everywhere */
    color (*eval)(tracer *t, const class_node *n, ir_ref record, vec3 p); /* p: in the world */
    bool (*grey)(const class_node *n);                                   /* the three channels of eval are one reference */
    /* The largest value of any channel among a share of all: shares 0 .. lanes-1 (u32) cover everything that eval can interpolate. */
    ir_ref (*most)(tracer *t, const class_node *n, ir_ref record, ir_ref lane, uint32_t lanes);
    /* How many cells along each side of the unit cube are worth bounds of their own; 0: none. NULL: none; then the others are, too. */
    uint32_t (*cells)(const render_scene *s, const scene_object *o);
    /* A ray in coordinates of the unit cube. */
    void (*into)(tracer *t, const class_node *n, ir_ref record, vec3 o, vec3 d, vec3 *o_in, vec3 *d_in);
    /* The largest value of any channel that eval may give in one of cells^3 cells and a little beyond; cells at the border have no end outwards. */
    ir_ref (*most_in)(tracer *t, const class_node *n, ir_ref record, const ir_ref cell[3], uint32_t cells);
} volume_class;

/* Phase functions, densities over solid angle. Directions in the world, unit: wi back to where light comes from as the path is walked, wo
 * onward; p the place. */
typedef struct phase_class {
    render_class base;
    vec3 (*sample)(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec3 p, const ir_ref u[3]);
    ir_ref (*value)(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec3 wo, vec3 p); /* may run tracked */
    ir_ref (*pdf)(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec3 wo, vec3 p);   /* of sample */
} phase_class;

/* Both media have the parameters sigma_t, albedo and scale; see medium/media.c. */
typedef struct medium_class {
    render_class base;
    bool homogeneous; /* sigma_t is the same everywhere */
} medium_class;

/* Words of a medium, in the list at HEADER_MEDIA: class, record, those of its phase function, and whether lights are sampled in it. Shapes and the sensor refer to it by the place
 * of these words in the scene buffer; 0 is vacuum. */
enum medium_word { MEDIUM_CLASS, MEDIUM_RECORD, MEDIUM_PHASE_CLASS, MEDIUM_PHASE_RECORD, MEDIUM_SAMPLES_LIGHTS, MEDIUM_WORDS };

/* Lobes: a class numbers its discrete lobes from 0. One that holds another passes that one's numbers on, raised by the count of its own.
 * The bit LOBE_NULL, which no addition reaches, says that the lobe goes straight through as if there were no surface. */
enum { LOBE_NULL = 0x40000000 };

typedef struct bsdf_sample {
    vec3 wo;
    ir_ref pdf;    /* solid angle, or probability of the discrete lobe; 0: no sample */
    ir_ref eta;    /* relative index of refraction along the sample; 1 for reflection */
    ir_ref delta;  /* bool: the sample is of a discrete lobe */
    ir_ref lobe;   /* u32; means something where delta is true */
} bsdf_sample;

/* Local frame of the shading normal; wi and wo point away from the surface. Values include |cos(wo)|. */
typedef struct bsdf_class {
    render_class base;
    bool transmits; /* has a lobe to the other side, were it the null lobe */
    const char *transmits_by; /* or has one where this parameter (PLUGIN_PART) is not a plain 0 */
    bool null;      /* has a null lobe */
    bool turns;     /* has a discrete lobe whose direction depends on the normal */
    bsdf_sample (*sample)(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec2 uv, ir_ref u_lobe, ir_ref u1, ir_ref u2);
    /* Non-delta lobes only. */
    ir_ref (*pdf)(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec3 wo, vec2 uv);
    /* The differentiable value in the measure that was sampled (estimators.md 1): with delta false the sum of all non-delta lobes, else
     * the coefficient of the discrete lobe. May run tracked. */
    color (*value)(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec3 wo, vec2 uv, ir_ref delta, ir_ref lobe);
    /* The coefficient of all null lobes together. NULL: that of LOBE_NULL where `null`, else 0. May run tracked. */
    color (*through)(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec2 uv);
} bsdf_class;

typedef struct emitter_sample {
    vec3 d;          /* from the reference point to the light, unit */
    ir_ref distance; /* a large number for lights at infinity */
    ir_ref pdf;      /* solid angle; for delta lights 1. 0: nothing was sampled */
    vec2 uv;         /* of the point on the light */
    ir_ref facing;   /* bool: the light's emitting side faces the reference point */
    vec3 n;          /* of a light on a shape: the geometric normal there */
} emitter_sample;

/* Where a ray has met a light. */
typedef struct emitter_hit {
    vec3 ref, d;     /* the ray */
    ir_ref distance;
    vec3 normal;     /* geometric */
    vec2 uv;
    ir_ref entry;    /* word offset of the primitive's entry in the hierarchy, */
    vec2 at;         /* and where on it: what the kind's `intersect` returns behind the distance */
} emitter_hit;

typedef struct emitter_class {
    render_class base;
    bool delta;       /* cannot be hit by a ray */
    bool environment; /* at infinity */
    bool on_shape;    /* carried by a shape (its extra words are enum area_word) */
    uint32_t place_params; /* bit per parameter that moves the light: a delta light whose `sample` may run tracked */
    emitter_sample (*sample)(tracer *t, const class_node *n, ir_ref record, vec3 ref, ir_ref u1, ir_ref u2);
    /* Radiance (delta lights: radiant intensity over squared distance) toward the reference point. May run tracked. */
    color (*radiance)(tracer *t, const class_node *n, ir_ref record, vec2 uv, ir_ref distance, ir_ref facing);
    /* Solid-angle density with which `sample` would have chosen the point a ray hit. */
    ir_ref (*pdf)(tracer *t, const class_node *n, ir_ref record, const emitter_hit *hit);
    /* About how much light it sends into the scene (luminance of the flux), at least 0: for the choice of lights by power. Untracked. */
    ir_ref (*power)(tracer *t, const class_node *n, ir_ref record);
    /* Of an environment that is not the same everywhere: uv of a direction. */
    vec2 (*locate)(tracer *t, const class_node *n, ir_ref record, vec3 d);
} emitter_class;

/* Extra words of an emitter class: filled by plan.c for area lights. */
enum area_word { AREA_SHAPE_DATA, AREA_INVERSE_AREA, AREA_CDF, AREA_FACES, AREA_WORDS };

typedef struct shape_class {
    render_class base; /* load appends to shapes, primitives, geometry */
} shape_class;

/* Filter importance sampling (estimators.md 10): offset from the pixel's centre, in pixels. Where the class is weighted, *weight is multiplied by
 * the sample's, whose mean is 1. */
typedef struct filter_class {
    render_class base;
    bool weighted;
    vec2 (*sample)(tracer *t, ir_ref record, ir_ref u1, ir_ref u2, ir_ref *weight);
} filter_class;

/* Words of a level's record: what opt/ray_bvh.c reads, and the way back. */
enum level_word { LEVEL_TO_GROUP, LEVEL_GRID = 12, LEVEL_ROOT = 18, LEVEL_TO_WORLD = 20, LEVEL_WORDS = 32 };

/* ---- film/hdrfilm.c ---- */

bool film_has_alpha(const render_scene *s);
/* The image (RGB) and, where given, the scene's channels, in the film's formats, by the ending of path. */
bl_result film_write(const render_scene *s, const char *path, const float *image, const float *channels, bl_error *err);

/* ---- integrator/integrators.c ---- */

void render_add_channels(render_scene *s, const char *name, enum channel_kind kind);

/* ---- sampler/samplers.c ---- */

/* Whose numbers: all of one sample's path have the same. */
typedef struct sampler_place {
    ir_ref pixel, sample, spp, seed, stream; /* u32 */
    bool jittered;
} sampler_place;
/* What the four numbers of a block are: two of two dimensions; or one, two, one: u[0], (u[1], u[2]), u[3]. */
typedef enum sampler_slots { SAMPLER_PAIRS, SAMPLER_ONE_TWO_ONE } sampler_slots;
struct dimension;

typedef struct sampler_class {
    render_class base;
    uint32_t (*count)(uint32_t n); /* the least number of samples that it can do, n or more */
    /* Numbers of one dimension. NULL: independent of all others. */
    ir_ref (*one)(tracer *t, const struct dimension *d);
    vec2 (*two)(tracer *t, const struct dimension *d);
} sampler_class;

/* As random_block, with the numbers spread over the pixel's samples as the sampler does. */
random4 sampler_block(tracer *t, const sampler_class *sampler, const sampler_place *at, ir_ref block, sampler_slots slots);
uint32_t sampler_count(const render_scene *s, uint32_t spp); /* spp, rounded up to what the scene's sampler can do */
bool sampler_jitters(const render_scene *s);
static inline const sampler_class *sampler_of(const scene_object *o) { return (const sampler_class *)(const void *)o->cls; }

typedef struct ray {
    vec3 o, d; /* d of unit length */
    ir_ref tmax;
} ray;

/* ---- shape/: kinds of primitives ---- */

typedef struct interaction {
    ir_ref valid; /* bool */
    ir_ref t;
    vec3 p, ng;  /* geometric normal on the side the shape's orientation says */
    vec3 ns;     /* shading normal */
    vec2 uv;
    vec2 b;            /* coordinates of the hit, of a triangle the barycentrics of v1 and v2 */
    vec3 dp_du, dp_dv; /* where the plan needs them; a kind that leaves them out gets a frame around ng */
    ir_ref entry, shape; /* entry of the hierarchy; word offset of the shape's record */
    ir_ref level;        /* where the scene has groups: that of the instance's level */
} interaction;

/* Words of a shape's record in the scene buffer; SHAPE_DATA points to the kind's own. */
enum shape_word { SHAPE_BSDF_CLASS, SHAPE_BSDF_RECORD, SHAPE_EMITTER_CLASS, SHAPE_EMITTER_RECORD, SHAPE_DATA, SHAPE_INTERIOR, SHAPE_EXTERIOR,
                  SHAPE_EMITTER_INDEX, SHAPE_WORDS = 8 };

/* Data words of a mesh. Offsets are absolute words of the scene buffer, PLAN_NONE where the array is missing. At MESH_ARRAYS, where a class of the
 * plan needs it, stand three words for each array of the mesh that is a parameter: offset of the first value (PLAN_NONE: the mesh has none such), offset
 * of the first gradient or PLAN_NONE, values per vertex or face. */
enum mesh_word { MESH_FACES, MESH_POSITIONS, MESH_NORMALS, MESH_UVS, MESH_CDF, MESH_FACE_COUNT, MESH_FLIP, MESH_ARRAYS, MESH_WORDS };
/* Data words of a sphere: centre, radius, rows of the rotation world to object, +1 or -1. */
enum sphere_word { SPHERE_CENTER, SPHERE_RADIUS = 3, SPHERE_ROTATION, SPHERE_SIGN = 13, SPHERE_WORDS };
/* Data words of a disk: centre, images of the x and y axes, unit normal. */
enum disk_word { DISK_CENTER, DISK_S = 3, DISK_T = 6, DISK_NORMAL = 9, DISK_WORDS = 12 };

enum mesh_array { MESH_ARRAY_POSITIONS, MESH_ARRAY_NORMALS, MESH_ARRAY_UVS, MESH_ATTRIBUTE /* + index in render_scene.attributes */ };
/* Bit k: of array k; attributes are one. */
enum mesh_moves { MOVE_POSITIONS = 1 << MESH_ARRAY_POSITIONS, MOVE_NORMALS = 1 << MESH_ARRAY_NORMALS, MOVE_UVS = 1 << MESH_ARRAY_UVS,
                  MOVE_ATTRIBUTES = 1 << MESH_ATTRIBUTE, MOVE_SURFACE = MOVE_POSITIONS | MOVE_NORMALS | MOVE_UVS };

typedef struct shape_kind_class {
    const char *name;
    void (*intersect)(tracer *t, ir_ref data, vec3 o, vec3 d, ir_ref tmin, ir_ref tmax, ir_ref out[3]); /* t, u, v */
    void (*interact)(tracer *t, ir_ref entry_word, ir_ref shape_data, vec3 o, vec3 d, ir_ref hit_t, ir_ref u, ir_ref v, interaction *si);
    /* As a light; NULL: cannot be one. */
    emitter_sample (*sample)(tracer *t, ir_ref shape_data, ir_ref inverse_area, vec3 ref, ir_ref u1, ir_ref u2);
    ir_ref (*pdf)(tracer *t, ir_ref shape_data, ir_ref inverse_area, vec3 ref, vec3 d, ir_ref distance, vec3 normal);
    /* A point chosen uniformly in area: p, ng, uv. NULL: not there yet. */
    interaction (*point)(tracer *t, ir_ref shape_data, ir_ref u1, ir_ref u2);
    /* Where a point that a ray met comes from: the inverse of `point`, of kinds whose `sample` goes through it. NULL: others. */
    vec2 (*unit)(tracer *t, ir_ref shape_data, const emitter_hit *hit);
    bool entry_points; /* word 0 of an entry's payload is a place in the geometry (an offset until the plan is made) */
} shape_kind_class;
extern const shape_kind_class *const shape_kinds[SHAPE_KIND_COUNT]; /* shape/kinds.c */
extern const shape_kind_class shape_kind_triangles, shape_kind_sphere, shape_kind_disk, shape_kind_cylinder, shape_kind_sdf, shape_kind_linear,
    shape_kind_bspline, shape_kind_ellipsoid;

/* ---- shape/mesh_arrays.c: arrays of meshes that are parameters ---- */

/* While the shape is loaded: registers its attributes. */
void mesh_add_attributes(render_scene *s, const scene_object *o, const scene_mesh *m);
uint32_t mesh_find_attribute(const render_scene *s, const char *name); /* index in s->attributes, or PLAN_NONE */
/* Once everything is loaded: positions, normals and uv of the meshes, as parameters behind all others. */
void mesh_add_parameters(render_scene *s);
/* The words at MESH_ARRAYS of a mesh: three per array. */
void mesh_array_words(const plan *p, const render_shape *shape, uint32_t *words);
uint32_t mesh_array_count(const render_scene *s);
/* Components of the vertex `index` (u32) of a mesh's array, or of `from`, words of the scene buffer, where no parameter of the plan moves them. */
void mesh_vertex(tracer *t, ir_ref mesh, enum mesh_array array, ir_ref from, ir_ref index, uint32_t components, ir_ref *out);
/* The colour of an attribute at the surface that is being looked at (tracer.surface). May run tracked. */
color mesh_attribute_at(tracer *t, uint32_t attribute, bool of_faces);

/* ---- sensor/fov.c: of objects with the parameters fov, fov_axis and focal_length ---- */

typedef struct fov_view {
    double degrees, factor; /* tangent of half the horizontal field of view: factor * tan(degrees / 2) */
} fov_view;
fov_view fov_read(const scene_object *o, double aspect); /* aspect: width over height */
double fov_tangent_x(fov_view view);
bl_result fov_check(const scene_object *o, bl_error *err);

/* ---- sensor/ ---- */

/* What a sensor looks at: its film, and the window of it that is the image. */
typedef struct sensor_film {
    uint32_t full_width, full_height, x, y, width, height;
} sensor_film;

/* A sensor while tracing. Its record begins at a word of the scene buffer. */
typedef struct sensor_view {
    const scene_object *object;
    ir_ref record;
    const class_node *node; /* where the sensor's parameters are wanted: the record is that of its class, and what `record` makes its derived values */
} sensor_view;

enum { SENSOR_WORDS = 32 /* of a record, at most; a batch has one more for each of its sensors */ };

typedef struct sensor_class {
    render_class base;
    bool one_pixel; /* the film must be a single pixel */
    float weight;   /* of every ray, the same for all; 0 stands for 1 */
    /* Once the scene's shapes are there. NULL: nothing to check. */
    bl_result (*bind)(const render_scene *s, const scene_object *sensor, bl_error *err);
    /* to_world: row-major; the sensor's own or what stands in for it. */
    void (*record)(const render_scene *s, const scene_object *sensor, const double to_world[16], const sensor_film *film, uint32_t *words);
    /* position: on the image, in [0,1]^2, y down (filters reach beyond); lens: uniform numbers for what else is sampled. */
    ray (*ray)(tracer *t, const sensor_view *v, vec2 position, vec2 lens);
} sensor_class;

uint32_t sensor_words(const scene_object *sensor); /* of its record in the scene buffer */
/* to_world: 16 floats, row-major, instead of the sensor's own; NULL. */
void sensor_record(const render_scene *s, const scene_object *sensor, const float *to_world, uint32_t *words);
/* Whether the scene's kernels can look through its sensor number `index`, posed by to_world (16 floats, row-major; NULL: as it is): plugin and
 * film must be those of the sensor that the scene was loaded for. */
bl_result sensor_check(const render_scene *s, uint32_t index, const float *to_world, bl_error *err);
ray sensor_ray(tracer *t, const sensor_view *v, vec2 position, vec2 lens);
float sensor_weight(const render_scene *s); /* of every ray of the scene's sensor */

/* ---- medium/media.c ---- */

/* Both media, at a point p of the world. May run tracked. */
color medium_extinction(tracer *t, const class_node *n, ir_ref record, vec3 p);
color medium_albedo(tracer *t, const class_node *n, ir_ref record, vec3 p);
bool medium_grey(const class_node *n);              /* extinction is the same in all channels, as one reference */
bool medium_wants_extinction(const class_node *n);  /* its gradient is wanted */
/* Heterogeneous ones: the bound of the extinction, and the box outside of which there is none. */
ir_ref medium_majorant(tracer *t, const class_node *n, ir_ref record);
/* Bounds in cells of the volume, cells^3 of them (0: none). Where a ray, in the coordinates of medium_into, is at `distance`: the bound, and the distance at
 * which it leaves the cell (1e30: never). */
uint32_t medium_cells(const tracer *t, const class_node *n);
void medium_into(tracer *t, const class_node *n, ir_ref record, vec3 o, vec3 d, vec3 *o_in, vec3 *d_in);
void medium_cell(tracer *t, const class_node *n, ir_ref record, vec3 o_in, vec3 d_in, ir_ref distance, ir_ref *bound, ir_ref *leaves);
vec3 medium_low(tracer *t, const class_node *n, ir_ref record);
vec3 medium_high(tracer *t, const class_node *n, ir_ref record);
/* ---- integrator/choice.c: the table lights are chosen by ---- */

enum { CHOICE_STEPS = 2 };
uint32_t choice_words(const render_scene *s);
uint32_t choice_lanes(const render_scene *s, uint32_t step);

/* ---- integrator/path.c ---- */

typedef enum render_pass {
    RENDER_PRIMAL,
    RENDER_VARIANCE,
    RENDER_CHANNELS, /* the film receives the scene's channels */
    RENDER_GRADIENT, /* fused: replay and adjoint of each sample in one kernel */
    RENDER_REPLAY,   /* separate: radiance of each sample into BUFFER_SAMPLES, */
    RENDER_ADJOINT,  /* and from there gradients */
    RENDER_FROZEN,
    RENDER_UNROLLED,
    RENDER_FORWARD,        /* the film receives tangents of radiance */
    RENDER_UPDATE,         /* derived values of object UNIFORM_FIRST_LANE + lane, in BUFFER_VALUES */
    RENDER_UPDATE_ADJOINT, /* their gradients to those of the parameters, after a gradient pass */
    RENDER_TABLES,         /* one step of one sampling table */
    RENDER_UPDATE_TANGENT, /* tangents of derived values, in BUFFER_TANGENT, from those of the parameters, before a forward pass */
    RENDER_PASS_COUNT
} render_pass;

typedef struct render_trace_options {
    bool no_next_event;
    uint32_t unrolled_depth; /* RENDER_UNROLLED: vertices */
    bool fixed_point;        /* RENDER_UPDATE_ADJOINT: how it finds gradients, as in opt/accumulate.c; else as f32 */
} render_trace_options;

/* The kernel of a pass as a trace: entry function without parameters. */
bl_result render_trace(const plan *p, render_pass pass, const render_trace_options *o, ir_module **out, bl_error *err);

#endif
