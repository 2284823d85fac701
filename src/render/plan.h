/* SPDX-License-Identifier: BSD-3-Clause
 * Between a scene's objects and its kernels.
 *
 * A plan is the scene prepared for one set of requested gradients: the words of the scene buffer and the
 * classes (class.h) that kernels are specialised to.
 *
 * Derived values (docs/theory/derived_quantities.md) are what a class computes from its parameters once
 * instead of at every vertex: its `update`, traced, is a kernel of its own that runs after parameters have
 * changed. They stand behind the parameters in the buffer of values, and, where a parameter they may depend
 * on is requested, behind the parameters' elements in the buffer of gradients; the derivative of `update` is
 * one more kernel (integrator/derived/update.c).
 *
 * Sampling tables are derived, too, but large and detached: distributions over texels, say. They stand behind
 * the derived values and are built in steps by traced functions whenever values have changed
 * (integrator/derived/sampling_tables.c). */
#ifndef BL_RENDER_PLAN_H
#define BL_RENDER_PLAN_H

#include "render/class.h"
#include "spirv_gen/opt/opt.h"

enum {
    UPDATE_ELEMENT = 16,        /* bits of a class's index in plan.updates */
    UPDATE_ELEMENT_SPECTRAL = 8 /* where light is spectral, and every texel may be an element */
};

/* One dispatch of building tables: a step of one instance, or of the choice of lights. */
typedef struct plan_table {
    uint32_t function; /* index over the steps of the choice, if it has a table, then over classes and their
                          steps: UNIFORM_TABLE_STEP */
    uint32_t record, lanes;
    const uint32_t *follows; /* parameters whose values the table is made of */
    uint32_t follow_count;
} plan_table;

/* A guide of directions (integrator/vertex/direction_guide.c): cells of the scene's box, and in each of them
 * bins of directions. */
typedef struct plan_guide {
    uint32_t cells[3];             /* along each axis; 0: there is none */
    uint32_t at;                   /* its words in BUFFER_VALUES */
    float least[3], per_length[3]; /* the box's corner; cells for a unit of length */
} plan_guide;
enum {
    GUIDE_CELLS = 12, /* along the longest side of the box, at most */
    GUIDE_SIDE = 16,  /* of the square of bins */
    GUIDE_BINS = GUIDE_SIDE * GUIDE_SIDE,
    GUIDE_LEVELS = 16, /* of the thresholds of the alias table: a bin's probability is a whole number of
                          parts, of which there are GUIDE_LEVELS for each bin */
    /* Bits of a bin's word: the alias, the threshold above it, the parts above that, and a mark that makes
     * the word an ordinary number as f32. */
    GUIDE_LEVEL_BIT = 8,
    GUIDE_PARTS_BIT = 13,
    GUIDE_PARTS_END = 26,
    GUIDE_MARK = 0x20000000
};
/* Words of the guide: f32. Behind its header the cells; of a cell: the share of the samples that follow the
 * guide, and the words of its bins. */
enum guide_word { GUIDE_LEAST, GUIDE_PER_LENGTH = 3, GUIDE_HEADER = 8 };
enum guide_cell_word { GUIDE_SHARE, GUIDE_BIN, GUIDE_CELL_WORDS = GUIDE_BIN + GUIDE_BINS };
static inline uint32_t plan_guide_cells(const plan_guide *g)
{
    return g->cells[0] * g->cells[1] * g->cells[2];
}
static inline uint32_t plan_guide_words(const plan_guide *g)
{
    return GUIDE_HEADER + plan_guide_cells(g) * GUIDE_CELL_WORDS;
}

/* Entries of a group. ray queries: boxes, then triangles, so that either's follow each other. */
typedef struct plan_group {
    uint32_t first, count, box_count;
} plan_group;

/* What the kernels of a plan differentiate: all that is requested; or, where that takes two sets of kernels
 * (plan_splits), what moves shapes, that is vertices and places, under the local convention, or all else,
 * along attached paths. */
typedef enum plan_split { PLAN_TOGETHER, PLAN_SHAPES, PLAN_OTHERS } plan_split;
enum { PLAN_SPLITS = 2 };

typedef struct plan {
    const render_scene *scene;
    plan_split split;
    uint32_t off; /* plan_switch */
    arena memory;
    ARRAY(uint32_t) words;     /* the scene buffer */
    uint32_t *value_offset;    /* per parameter: in the buffer of values; PLAN_NONE: of geometry that is not
                                  requested, which stays in the scene buffer */
    uint32_t *gradient_offset; /* per parameter: element of the gradient buffer, PLAN_NONE */
    uint32_t *normals_of; /* per parameter: requested positions that these normals, not requested themselves,
                             are generated from: derived values with gradients
                             (integrator/derived/geometry.c); else PLAN_NONE */
    bool normals_derived; /* there are some */
    uint32_t first_derived;  /* element of the first of these normals */
    uint32_t gradient_count; /* elements, those of derived values included */
    uint32_t stored_count;   /* values of parameters: the scene's, then those of requested geometry */
    uint32_t value_count;    /* of the buffer of values: parameters, then derived values and tables */
    class_list bsdfs, emitters, media, phases;
    uint32_t needs;                 /* of all materials: enum surface_need; */
    uint32_t light_needs;           /* of all lights on shapes */
    uint32_t moves;                 /* enum mesh_moves: arrays of meshes, of which some are requested */
    class_list updates;             /* classes with derived values */
    class_list tables;              /* classes with sampling tables */
    ARRAY(plan_table) table_builds; /* in the order in which they must run */
    bool lights_tabled; /* lights are chosen by a table (integrator/derived/light_choice.c), whose place is in
                           HEADER_LIGHT_TABLE; else alike */
    bool lights_tree;   /* and by a tree over those that are somewhere (integrator/derived/light_tree.c), */
    uint32_t light_levels, lights_afar; /* whose leaves are 2^light_levels; so many lights are beside it */
    uint32_t update_count; /* lanes of updating: HEADER_UPDATES points to (index in updates | element <<
                              plan_element_bit, record) of each: objects with derived values, or every single
                              value where the class has update_element */
    bool update_elements;  /* some class has */
    bool update_requested; /* some derived value has a gradient */
    bool lights_slide;     /* meshes that shine move by their arrays, which changes what is seen of them in a
                              given direction */
    bool posed;            /* places of shapes are among the derived values (shape/pose.c) */
    struct derived_place *derived; /* by object index */
    ARRAY(uint32_t) update_words;  /* while the plan is made */
    class_node *field;             /* NULL: none */
    class_node *filter;
    class_node *sensor; /* where parameters of sensors are wanted, that of the scene's sensor; else NULL. */
    uint32_t *views;    /* Then, by number of the sensor: its record. 0: it is of another class */
    bool camera;        /* parameters of sensors are differentiated */
    bool turns;         /* some of what is requested turns mirrored or refracted directions */
    bool touches;       /* a shape that is requested to move is next to another one */
    bool curves;        /* some of what is requested is of a medium that bends rays */
    bool any_request;
    uint32_t *order;    /* primitive of each entry */
    uint32_t geometry;  /* where the scene's begins in words */
    plan_group *groups; /* of the scene; where it has none, of all its primitives as one */
    uint32_t group_count;
    uint32_t *level_motions; /* of each instance: LEVEL_MOTION */
    scene_bvh *rebuilt;  /* in place of the scene's: of the groups, then the outer one; NULL: the scene's */
    bool baked;          /* small static geometry: the scene buffer's words are constants of the kernels */
    bool sensor_moves;   /* but for the sensor's */
    bool edges;          /* moving edges are differentiated, too (docs/theory/edges.md) */
    uint32_t edge_cells; /* of their curves; the passes have a table of these each, EDGE_TABLES */
    bool edge_turns;     /* silhouettes have curves along which normals turn away (shape/silhouette_turn.c) */
    bool edge_cuts;      /* curves in which clip planes of the sensor cut surfaces are sampled, too */
    bool edge_seams;     /* borders of meshes coincide (shape/silhouette_seams.c) */
    bool edge_crossings; /* shapes go through each other (shape/silhouette_crossing.c) */
    uint32_t edge_mirrors;      /* flat mirrors in which the sensor may see edges */
    bool drt;                   /* the extinction's gradient by differential ratio tracking
                                       (integrator/media/differential_ratio_tracking.c); set before tracing */
    struct print_table *prints; /* what kernels print goes there (print.h); NULL: they print nothing. Set
                                   before tracing, and whoever sets it owns it */
    bool remembers_hits; /* rays cost more than memory: what they meet is noted (plan_hit_words); set before
                            tracing */
    bool cut_at_calls;   /* walks are cut into kernels at their calls (spirv_gen/opt/cut.c), so that none is
                            inside of a branch; set before tracing */
    bool lists_lanes;    /* samples of gradient passes go to pixels by a list of lanes (enum lane_word); set
                            before tracing */
    /* The pixels of a pass are so many listed ones, in place of those of the film; 0: they are the film's.
     * Each stands in the scene buffer as view * width * height + pixel; there is a sensor's record for each
     * of batch_views (plan_reserve_batch). */
    uint32_t batch_pixels, batch_views;
    bool doubles; /* kernels compute in double precision (ir_module.doubles); set before the first trace */
    plan_guide guide; /* plan_place_guide makes it, before tracing */
    bool query;       /* rays are ray queries: no nodes; entries of triangles follow all others */
} plan;

/* Words of a level's record: what opt/ray_bvh.c reads, where it moves, and the way back. */
enum level_word {
    LEVEL_TO_GROUP,
    LEVEL_GRID = BVH_RECORD_GRID,
    LEVEL_ROOT = BVH_RECORD_ROOT,
    LEVEL_MOTION /* as SHAPE_TO_WORLD */,
    LEVEL_TO_WORLD,
    LEVEL_WORDS = LEVEL_TO_WORLD + 12
};

/* How rays find what they hit. */
typedef enum plan_rays {
    PLAN_RAYS_BVH,
    PLAN_RAYS_BAKED, /* where plan_can_bake, else PLAN_RAYS_BVH */
    PLAN_RAYS_QUERY  /* whoever runs the kernels builds the acceleration structure and puts its address into
                        words[HEADER_ACCEL] */
} plan_rays;

/* What recording does to make kernels small, and can leave out, for measuring what it is worth. */
typedef enum plan_switch {
    PLAN_FOLD = 1,   /* constants fold */
    PLAN_NUMBER = 2, /* equal values are one */
    PLAN_CELLS = 4,  /* densities have bounds in cells: not one for all of a medium, and none of a radiance
                        field, which is marched through empty space */
    PLAN_RESIDUAL =
        8, /* and bounds from below, so that light sampling tracks only what lies between the two */
    /* last, because bench --ablation shows what is left with nothing but these: */
    PLAN_SHARE = 16, /* materials and lights of a class share its functions and differ by their records; else
                        each has its own */
    PLAN_SHARE_SHAPES = 32, /* the same for the interactions of shapes of a kind; where rays hit is asked by
                               kind in any case */
    PLAN_SWITCH_COUNT = 6
} plan_switch;
extern const char *const plan_switch_names[PLAN_SWITCH_COUNT];

/* Whether differentiated evaluations follow the rays that lead to vertices
 * (integrator/motion/attached_path.c). */
bool plan_attaches_paths(const plan *p);
/* Whether they do so in walks through media and through surfaces that let light through
 * (integrator/motion/attached_volume.c). */
bool plan_attaches_through(const plan *p);
/* Whether requested parameters move paths that begin at lights (integrator/motion/light_motion.c). */
bool plan_moves_light_paths(const plan *p);
/* Whether hits move on the surface. */
bool plan_hits_move(const plan *p);
/* Whether requested parameters move vertices of volumetric walks, or what lies between these
 * (integrator/motion/local_volume.c). */
bool plan_moves_segments(const plan *p);
/* requested: parameter indices. off: plan_switch, what to leave out. */
plan *plan_create(const render_scene *s, const uint32_t *requested, uint32_t count, plan_rays rays,
                  uint32_t off);
/* Whether gradients of all that is requested need two sets of kernels: paths are attached for the sake of
 * some of it, and surfaces move with other. */
bool plan_splits(const plan *p);
/* The plan as the kernels of a part of its gradients see it: words, values and elements of gradients are
 * those of the whole, to which everything that it points to belongs. It is made anew whenever the whole
 * changes. */
plan plan_part(const plan *whole, plan_split split);
/* The part to which a parameter belongs: PLAN_SHAPES or PLAN_OTHERS. */
plan_split plan_split_of(const render_scene *s, uint32_t parameter);
/* Whether the scene is small enough for its geometry to be constants of kernels. */
bool plan_can_bake(const render_scene *s);
/* Whether some material lets paths through. */
bool plan_has_nulls(const plan *p);
/* Whether the integrator knows media and the scene has some. */
bool plan_has_media(const plan *p);
/* Whether its walks go through media, or through surfaces in a straight line. */
bool plan_goes_through(const plan *p);
/* Whether its walks are volumetric (walk.volumetric): for that reason, or because camera and surfaces move,
 * or surfaces that touch. */
bool plan_is_volumetric(const plan *p);
/* No surface both lets paths through and samples a light, so a path samples one light at each depth. */
bool plan_numbers_by_depth(const plan *p);
/* The number of sampled lights whose transmittance the first walk of a sample notes for the second
 * (integrator/media/remembered_transmittance.c). */
uint32_t plan_remembers_transmittance(const plan *p);
/* Whether that is every light that a sample can sample. */
bool plan_remembers_all_transmittance(const plan *p);
/* How many words of BUFFER_SAMPLES has what a ray meets, which the first walk of a sample notes for the
 * second of HITS_REMEMBERED rays (integrator/vertex/remembered_hits.c); 0: it notes none. And which is the
 * first. */
uint32_t plan_hit_words(const plan *p);
uint32_t plan_first_hit_word(const plan *p);
/* Planes of BUFFER_SAMPLES (enum sample_plane). */
uint32_t plan_sample_words(const plan *p);
/* Whether differential ratio tracking is the better estimator for some grid of extinctions whose gradient is
 * requested, as the scene has it (medium/estimator.c), or, in a fit, as it may become. */
bool plan_prefers_detours(const plan *p, bool for_fit);
/* plan_guide.c: gives the plan a guide of directions, behind all values that it has. paths: from so many it
 * will learn; few paths fill few cells. */
void plan_place_guide(plan *p, uint64_t paths);
static inline bool plan_has_guide(const plan *p) { return p->guide.cells[0] > 0; }
/* The words of the guide. sums: of each bin of each cell what it is to be sampled in proportion to, 0 or
 * more; a cell of zeros, or NULL: nothing is known. */
void plan_write_guide(const plan *p, const double *sums, float *words);
void plan_destroy(plan *p);
void plan_initial_values(const plan *p, float *values); /* stored_count of them */
/* Fills in how passes of the compiler lower the plan's rays; other fields of the options stay. */
void plan_ray_options(const plan *p, opt_options *o);
uint32_t
plan_sensor_word(const plan *p); /* where the SENSOR_WORDS of the sensor's record begin in the scene buffer */
/* Makes room for a batch: behind the sensor's record those of further views, then the list. */
void plan_reserve_batch(plan *p, uint32_t views, uint32_t pixels);
uint32_t plan_batch_word(const plan *p); /* where the list begins */
uint32_t plan_value_offset(const plan *p, const scene_object *o, uint32_t slot);
uint32_t plan_gradient_offset(const plan *p, const scene_object *o, uint32_t slot);
/* The derived values of an object that no other record refers to: it gets one, while the plan is made. */
typedef struct plan_values {
    uint32_t value, gradient; /* of the first; PLAN_NONE: no gradient is wanted */
} plan_values;
plan_values plan_derive(plan *p, const scene_object *o);
uint32_t plan_reserve(plan *p,
                      uint32_t count); /* zeroed words at the end of the scene buffer; where they begin */
void plan_align(plan *p); /* the next reservation begins at a multiple of four words: t_aligned */
void plan_write_entries(
    plan *p); /* plan_bvh.c: hierarchies, levels, entries and the header's words of them */
/* Entries in the order of shapes and their primitives, for ray queries in a scene of triangles of one level.
 */
void plan_order_by_shape(plan *p);
const scene_bvh *plan_group_bvh(const plan *p, uint32_t group);
const scene_bvh *plan_outer_bvh(const plan *p); /* or, without groups, the only one */
/* Word of the record of an instance's level. */
static inline uint32_t plan_level(const plan *p, uint32_t instance)
{
    return p->words.data[HEADER_LEVEL] + (1 + instance) * LEVEL_WORDS;
}
/* Replaces the plan's hierarchies (plan.rebuilt), which the plan then owns. The words behind the updates are
 * written anew. */
void plan_take_hierarchies(plan *p, scene_bvh *made);

static inline uint32_t plan_element_bit(const plan *p)
{
    return p->scene->mode->light == LIGHT_SPECTRAL ? UPDATE_ELEMENT_SPECTRAL : UPDATE_ELEMENT;
}

/* ---- plan_spectral.c: where light is spectral, colours as smooth spectra ---- */

enum { SPECTRAL_WORDS = 5 }; /* derived values of a colour */
/* Derives the words of colour `element`. */
void plan_spectral_update(tracer *t, const class_node *n, ir_ref record, ir_ref element,
                          ir_ref words[SPECTRAL_WORDS]);
/* Colour k (u32) of an instance as light at the path's wavelengths. */
color plan_spectral(tracer *t, const class_node *n, ir_ref record, ir_ref k);
/* The sum of weight[i] times the light of colour k[i], for interpolation between `count` colours. */
enum { SPECTRAL_MIX_MOST = 8 };
color plan_spectral_mix(tracer *t, const class_node *n, ir_ref record, const ir_ref *k, const ir_ref *weight,
                        uint32_t count);
/* The least and the largest value of that spectrum at all wavelengths that paths have, of what is no light of
 * its own (COLOUR_EMISSION). Detached. */
void plan_spectral_range(tracer *t, const class_node *n, ir_ref record, ir_ref k, ir_ref range[2]);
/* Where the film has bands, the word of the scene buffer at which their table stands (bands_table). */
ir_ref plan_bands(tracer *t);
/* The word at which the lists of meshes with attributes stand (mesh_write_lists). */
ir_ref plan_attributes(tracer *t);
/* One number as light, in any mode: grey; where light is spectral, D65 times it of what is emitted. */
color plan_grey(tracer *t, const class_node *n, ir_ref grey);

/* ---- plan_read.c: traced reads of parameters ---- */

/* What records f, a function of a kernel of the plan, in the scene's mode. */
tracer plan_tracer(const plan *p, ir_func *f);

/* Element `element` (u32) of the number or colour whose (value, gradient) offset pair stands at `word` of the
 * record. */
ir_ref plan_load(tracer *t, const class_node *n, ir_ref record, uint32_t word, uint32_t slot, ir_ref element);
/* Colour k (u32) of the data array of a class whose colours stand one after the other, its pair at `word`. */
void plan_load_rgb(tracer *t, const class_node *n, ir_ref record, uint32_t word, ir_ref k, ir_ref rgb[3]);
/* Elements [first, first + count) of the data array of a class whose (value, gradient) pair stands at `word`,
 * where place and first are multiples of four, so that they are read as vectors. */
void plan_load_quads(tracer *t, const class_node *n, ir_ref record, uint32_t word, ir_ref first,
                     uint32_t count, ir_ref *out);
/* Element `element` of values that begin at `value` of BUFFER_VALUES and whose gradients begin at `gradient`,
 * PLAN_NONE: they have none (u32). requested: some gradient is wanted at all. */
ir_ref plan_value(tracer *t, ir_ref value, ir_ref gradient, bool requested, ir_ref element);
/* A colour parameter of the class by name, as light; a point or a direction; a number parameter. */
color plan_color(tracer *t, const class_node *n, ir_ref record, const char *param);
vec3 plan_vector(tracer *t, const class_node *n, ir_ref record, const char *param);
ir_ref plan_number(tracer *t, const class_node *n, ir_ref record, const char *param);
/* Derived value `element` (u32) of an instance of the class. */
ir_ref plan_derived(tracer *t, const class_node *n, ir_ref record, ir_ref element);
/* The data words of shape number `shape` of the scene. */
ir_ref plan_shape_data(tracer *t, uint32_t shape);
/* First word of BUFFER_VALUES of an instance's sampling table. */
ir_ref plan_table_at(tracer *t, const class_node *n, ir_ref record);
/* Whether the textured parameter `param`, optional, was given. Known while tracing. */
bool plan_given(const class_node *n, const char *param);
/* The textured parameter `param` at uv, as light. */
color plan_texture(tracer *t, const class_node *n, ir_ref record, const char *param, vec2 uv);
/* The volumetric parameter `param` at a point of the world. */
color plan_volume(tracer *t, const class_node *n, ir_ref record, const char *param, vec3 p);
/* The textured parameter `param` at uv as one number (Mitsuba's eval_1): the luminance of an image, the mean
 * of a constant colour. Greys are exact. */
ir_ref plan_texture_1(tracer *t, const class_node *n, ir_ref record, const char *param, vec2 uv);
/* Its derivative with respect to uv; the texture's class has a `slope`. */
vec2 plan_texture_slope(tracer *t, const class_node *n, ir_ref record, const char *param, vec2 uv);
/* Whether the part whose weight is `param` (PLUGIN_PART) exists: its weight may differ from 0, or it is
 * differentiated. Known while tracing. */
bool plan_has(const class_node *n, const char *param);
/* The weight of a part, read by plan_texture_1; 0 where the part does not exist. */
ir_ref plan_weight(tracer *t, const class_node *n, ir_ref record, const char *param, vec2 uv);
/* The gradient of some parameter of the class, textures and volumes included, is wanted by some instance. */
bool plan_requests(const class_node *n);
/* Whether a material of this class, or one in it, has an index that depends on the wavelength. */
bool plan_disperses(const class_node *n);
/* The gradient of the parameter `param`, textured, volumetric or the data, is wanted by some instance. */
bool plan_wants(const class_node *n, const char *param);
/* Probability with which one of two parts is chosen whose share depends on the parameter `param`, textured or
 * the data: the share, but where its gradient is wanted neither part is ever left out
 * (docs/theory/support.md). The image of such a plan is chosen alike, which the two-walk form needs. */
ir_ref plan_probability(tracer *t, const class_node *n, const char *param, ir_ref share);

#endif
