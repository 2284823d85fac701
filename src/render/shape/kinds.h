/* SPDX-License-Identifier: BSD-3-Clause
 * What a ray can meet: the kinds of primitives, the words that describe shapes to the device, and the
 * surface at a hit. It also declares arrays of meshes that are parameters (mesh_arrays.c) and shapes that
 * move with their to_world (to_world.c). */
#ifndef BL_RENDER_SHAPE_KINDS_H
#define BL_RENDER_SHAPE_KINDS_H

#include "render/plugin_kinds.h"

typedef struct interaction {
    ir_ref valid; /* bool */
    ir_ref t;
    vec3 p, ng; /* p: the point; ng: geometric normal on the side that the orientation of the shape says */
    vec3 ns;    /* shading normal */
    vec2 uv;
    vec2 b; /* coordinates of the hit; of a triangle the barycentrics of v1 and v2 */
    vec3 dp_du,
        dp_dv; /* only where the plan needs them; a kind that leaves them out gets a frame around ng */
    ir_ref entry, shape; /* the entry in the hierarchy, and the word offset of the record of the shape */
    ir_ref
        /* u32. Only for a point that `point` of a mesh has chosen: the face of the point. b then holds its
         * barycentrics. */
        face;
    /* Only where the scene has groups: the record of the level of the instance. */
    ir_ref level;
} interaction;

/* Words of a shape's record in the scene buffer; SHAPE_DATA points to the kind's own. */
enum shape_word {
    SHAPE_BSDF_CLASS,
    SHAPE_BSDF_RECORD,
    SHAPE_EMITTER_CLASS,
    SHAPE_EMITTER_RECORD,
    SHAPE_DATA,
    SHAPE_INTERIOR,
    SHAPE_EXTERIOR,
    SHAPE_EMITTER_INDEX,
    SHAPE_TO_WORLD /* word of its to_world record; 0: it does not move */,
    SHAPE_WORDS
};

/* Data words of a mesh. Offsets are absolute words of the scene buffer, and PLAN_NONE where the mesh does
 * not have the array. MESH_ARRAYS is for plans in which a class needs it. Three words for each array of the
 * mesh that is a parameter stand there: the offset of the first value (PLAN_NONE: the mesh has no such
 * array), the offset of the first gradient or PLAN_NONE, and the number of values per vertex or face. */
enum mesh_word {
    MESH_FACES,
    MESH_POSITIONS,
    MESH_NORMALS,
    MESH_UVS,
    MESH_CDF,
    MESH_FACE_COUNT,
    MESH_HEIGHTS, /* 0: the mesh is no heightfield */
    MESH_ARRAYS,
    MESH_WORDS
};
/* Words at MESH_HEIGHTS: how many columns the grid has; where it begins, with all heights 0; steps to the
 * next column and row; what a height of 1 adds; and the heights, row by row. */
enum heights_word {
    HEIGHTS_COLUMNS,
    HEIGHTS_ORIGIN,
    HEIGHTS_COLUMN = 4,
    HEIGHTS_ROW = 7,
    HEIGHTS_AXIS = 10,
    HEIGHTS_VALUES = 13
};
/* Data words of a sphere: centre, radius, rows of the rotation from world to object, and the sign +1 or -1
 * of its normals. */
enum sphere_word { SPHERE_CENTER, SPHERE_RADIUS = 3, SPHERE_ROTATION, SPHERE_SIGN = 13, SPHERE_WORDS };
/* Data words of a disk: centre, images of the x and y axes, unit normal. */
enum disk_word { DISK_CENTER, DISK_S = 3, DISK_T = 6, DISK_NORMAL = 9, DISK_WORDS = 12 };

/* The to_world record of a shape whose to_world or pose is requested. It holds the offsets of the matrix's
 * values and gradient, how the shape moves with it (enum moves_as), the shape's data, and the columns of the
 * inverse of to_world as it is now. The record of a mesh also says where its vertices and normals in object
 * space stand (PLAN_NONE: it has no normals). The record of another shape says where the numbers of the
 * kind's `object_data` stand, and the boxes of its primitives. */
enum to_world_word {
    TO_WORLD_VALUE,
    TO_WORLD_GRADIENT,
    TO_WORLD_MOVES_AS,
    TO_WORLD_DATA,
    TO_WORLD_INVERSE,
    TO_WORLD_POSITIONS = TO_WORLD_INVERSE + 12,
    TO_WORLD_NORMALS,
    TO_WORLD_OBJECT_DATA,
    TO_WORLD_BOXES,
    TO_WORLD_WORDS
};

/* What moves with to_world. MOVES_AS_MATERIAL: every point of the surface goes along. MOVES_AS_SPHERE:
 * every point goes along, but only as far as a sphere stays a sphere. MOVES_AS_POINTS: the points that
 * describe the shape go along, and where a ray meets the shape follows from them. */
enum moves_as { MOVES_AS_MATERIAL, MOVES_AS_SPHERE, MOVES_AS_POINTS };

enum mesh_array {
    MESH_ARRAY_POSITIONS,
    MESH_ARRAY_NORMALS,
    MESH_ARRAY_UVS,
    MESH_ATTRIBUTE /* the first one; the index in render_scene.attributes is added */
};
/* What the requested parameters of a plan move. Bit k stands for array k of enum mesh_array, and all
 * attributes share one bit. MOVE_TO_WORLD stands for the to_world of a shape of any kind, or of an
 * instance. */
enum mesh_moves {
    MOVE_POSITIONS = 1 << MESH_ARRAY_POSITIONS,
    MOVE_NORMALS = 1 << MESH_ARRAY_NORMALS,
    MOVE_UVS = 1 << MESH_ARRAY_UVS,
    MOVE_ATTRIBUTES = 1 << MESH_ATTRIBUTE,
    MOVE_TO_WORLD = MOVE_ATTRIBUTES << 1,
    MOVE_HITS = MOVE_POSITIONS | MOVE_TO_WORLD,
    MOVE_SURFACE = MOVE_HITS | MOVE_NORMALS | MOVE_UVS
};

typedef struct affine_map {
    vec3 column[4]; /* the images of the three axes, and that of the origin */
} affine_map;

/* A primitive of a shape that moves: the words of the kind's `object_data`, of the shape's data and of the
 * entry, and the number of the primitive within the shape. */
typedef struct object_primitive {
    ir_ref object_data, data, entry, number;
} object_primitive;

/* A primitive that moves, as `transform` makes it in the world: words of the shape's data (from the first
 * on), the first words of its entry, its box, and the area of a shape that may be a light. shared: the
 * words are the same for all primitives of the shape. */
enum { TRANSFORMED_WORDS = 13, TRANSFORMED_ENTRY = 9 };
typedef struct transformed_primitive {
    ir_ref to, words[TRANSFORMED_WORDS], entry[TRANSFORMED_ENTRY], least[3], most[3], area;
    uint32_t word_count, entry_count;
    bool shared;
} transformed_primitive;

/* A ray against a primitive. Only hits with tmin < t < tmax count. */
typedef struct shape_ray {
    vec3 o, d;
    ir_ref tmin, tmax;
} shape_ray;

/* A hit that `intersect` has found: words of the entry in the hierarchy and of the shape's data, the ray, the
 * distance t, and what the kind keeps of the place (u, v). */
typedef struct shape_hit {
    ir_ref entry, data;
    vec3 o, d;
    ir_ref t, u, v;
} shape_hit;

/* What a kind of primitive does. Functions that are traced take words of the scene buffer: `entry`, those of
 * the primitive in the hierarchy, `shape_data`, those at SHAPE_DATA of its shape. */
struct silhouette_point;
struct silhouette_query;
struct silhouette_pieces;
typedef struct shape_kind_class {
    const char *name;
    /* Finds where the ray meets the primitive, and writes t, u, v. Without a hit t is query->tmax. */
    void (*intersect)(tracer *t, ir_ref entry, const shape_ray *query, ir_ref out[3]);
    /* Fills in the surface at a hit. */
    void (*interact)(tracer *t, const shape_hit *hit, interaction *si);
    /* Samples the shape as a light, seen from `ref`, and gives the density of that. NULL: the shape cannot
     * be a light. */
    emitter_sample (*sample)(tracer *t, ir_ref shape_data, ir_ref inverse_area, vec3 ref, ir_ref u1,
                             ir_ref u2);
    ir_ref (*pdf)(tracer *t, ir_ref shape_data, ir_ref inverse_area, const emitter_hit *hit);
    /* Chooses a point uniformly in area, and fills in p, ng, ns (of any length) and uv. NULL: the kind has
     * no such sampling. */
    interaction (*point)(tracer *t, ir_ref shape_data, ir_ref u1, ir_ref u2);
    /* The inverse of `point`: the two numbers that lead to a point that a ray met. Only kinds whose `sample`
     * goes through `point` have it; the others have NULL. */
    vec2 (*unit)(tracer *t, ir_ref shape_data, const emitter_hit *hit);
    /* For kinds whose points are parameters: where the line from o along d meets a primitive (u32: its number
     * in the shape), as these parameters have it. Fills in t, b and uv. The others have NULL. */
    void (*slide)(tracer *t, ir_ref shape_data, ir_ref number, vec3 o, vec3 d, interaction *si);
    /* For the same kinds: the point of the material at coordinates b of a primitive, as these parameters have
     * it. Fills in p, uv, ns of any length, and ng, whose length is in proportion to the primitive's area. */
    void (*material)(tracer *t, ir_ref shape_data, ir_ref number, vec2 b, interaction *si);
    /* The next two are hooks of kinds that move with their to_world and are no meshes; the others have NULL.
     * object_data writes the numbers that describe the shape in object space, and returns how many they are;
     * with out == NULL it only counts. transform makes a primitive of them, in the world. */
    uint32_t (*object_data)(const render_scene *s, const render_shape *shape, float *out);
    void (*transform)(tracer *t, const affine_map *to_world, const object_primitive *at,
                      transformed_primitive *out);
    /* For kinds whose description is a parameter, at SHAPE_DATA: makes the primitive of it, in the world. */
    void (*remake)(tracer *t, const object_primitive *at, transformed_primitive *out);
    /* Follows a known hit (at: t, u, v) as a function of the ray, exactly to first order. The ray may meet
     * the primitive a little beyond its border: by rounding, or in frozen evaluations. NULL: `intersect` is
     * differentiated instead. */
    void (*follow)(tracer *t, ir_ref entry, vec3 o, vec3 d, ir_ref at[3]);
    /* The reason why a shape cannot have this to_world, or NULL. A kind without this hook takes every matrix
     * that has an inverse. */
    const char *(*refuses)(const double to_world[16]);
    /* For kinds whose data hold points (vertex_count of them) besides what `transform` writes: transforms one
     * of these points and stores it in the data. */
    void (*transform_point)(tracer *t, const affine_map *to_world, const object_primitive *at);
    /* What moves with to_world. With MOVES_AS_POINTS, functions that may be differentiated read the points
     * with kind_point. */
    enum moves_as moves;
    /* The curve along which the shape turns away from a viewpoint, and its borders: a point of it
     * (shape/silhouette.h). Only triangles have NULL: their edges are listed. */
    struct silhouette_point (*silhouette)(tracer *t, const struct silhouette_query *at);
    /* Lists the parts of that curve. NULL: it is one, about as long as that of a ball with the shape's area.
     */
    void (*silhouette_pieces)(const render_scene *s, const render_shape *shape,
                              struct silhouette_pieces *out);
    /* With MOVES_AS_POINTS: where the point p of the curve is after tracer.motion; p itself is detached. */
    vec3 (*silhouette_moved)(tracer *t, const struct silhouette_query *at, vec3 p);
    bool shell; /* rays meet it from outside only */
    /* Word 0 of the payload of an entry is a place in the geometry; until the plan is made, an offset. */
    bool entry_points;
} shape_kind_class;
extern const shape_kind_class *const shape_kinds[SHAPE_KIND_COUNT]; /* shape/kinds.c */
extern const shape_kind_class shape_kind_triangles, shape_kind_sphere, shape_kind_disk, shape_kind_cylinder,
    shape_kind_sdf, shape_kind_linear, shape_kind_bspline, shape_kind_ellipsoid;

/* bool: two distances solve an equation, and a hit is known to be at one of them, up to rounding. Says
 * whether it is the far one. */
static inline ir_ref root_is_far(tracer *t, ir_ref near, ir_ref far, ir_ref at)
{
    return ir_gt(t->f, ir_abs(t->f, ir_sub(t->f, near, at)), ir_abs(t->f, ir_sub(t->f, far, at)));
}

/* The point at a word of the scene buffer, one of those that describe a shape. While the motion of the
 * shape is differentiated (tracer.motion) the result is where that motion takes the point. */
vec3 kind_point(tracer *t, ir_ref word);

/* Appends data, whole words, to the geometry of the scene, after render_room. Returns its first word there.
 */
uint32_t shape_put_words(render_scene *s, const void *data, size_t bytes);

/* The record (enum shape_word) of the shape that an entry belongs to. */
static inline ir_ref shape_of_entry(tracer *t, ir_ref entry)
{
    ir_ref words = ir_mul(t->f, t_word(t, entry, BVH_ENTRY_SHAPE), t_u32(t, SHAPE_WORDS));
    return ir_add(t->f, t_word(t, t_u32(t, 0), HEADER_SHAPES), words);
}

/* ---- shape/mesh.c ---- */

/* Adds the mesh to the scene as the last shape, and frees it in any case. make_normals: vertex normals are
 * generated from the mesh in world space, where angles may differ from those in the file. */
bl_result mesh_add(render_scene *s, const scene_object *o, scene_mesh *m, bool make_normals, bl_error *err);
/* The vertices of a face, as the parameters hold them. data: words of the mesh. May run differentiated. */
void mesh_face_vertices(tracer *t, ir_ref data, ir_ref face, vec3 out[3]);

/* ---- shape/heights.c: meshes whose positions follow from heights over a grid ---- */

/* Where vertex `index` (u32) of a heightfield is with this height. grid: its word MESH_HEIGHTS. */
vec3 heights_vertex(tracer *t, ir_ref grid, ir_ref index, ir_ref height);
/* The name, shape and place of the array that says where the vertices of a mesh are. */
typedef struct mesh_positions {
    const char *name;
    uint32_t rank, shape[3], source;
} mesh_positions;
/* Of a heightfield: its heights. Returns false for any other mesh. */
bool heights_array(const render_scene *s, const render_shape *shape, mesh_positions *out);

/* ---- shape/mesh_arrays.c: arrays of meshes that are parameters ---- */

/* Call it while the shape is loaded: registers its attributes. */
void mesh_add_attributes(render_scene *s, const scene_object *o, const scene_mesh *m);
/* The index in s->attributes, or PLAN_NONE. */
uint32_t mesh_find_attribute(const render_scene *s, const char *name);
/* Call it once everything is loaded: offers positions, normals and uv of the meshes as parameters, behind
 * all others. */
void mesh_add_parameters(render_scene *s);
/* Whether some texture of the object or of what it holds jumps somewhere. */
bool texture_has_steps(const scene_object *o);
/* The words at MESH_ARRAYS of a mesh: three per array. */
void mesh_array_words(const plan *p, const render_shape *shape, uint32_t *words);
uint32_t mesh_array_count(const render_scene *s);
uint32_t mesh_first_count(const render_scene *s); /* words behind these, where light is spectral */
/* Whether a parameter's slot is that of positions, normals or texture coordinates. */
static inline bool mesh_slot_moves(uint32_t slot)
{
    return slot >= PLAN_ARRAY_SLOT && slot < PLAN_ARRAY_SLOT + MESH_ATTRIBUTE;
}
/* A vertex array of a mesh (positions, normals or texture coordinates): the mesh's data words, and the words
 * of the scene buffer where the values stand that hold while no parameter of the plan moves them. */
typedef struct mesh_vertices {
    ir_ref mesh;
    enum mesh_array array;
    ir_ref from;
    uint32_t components;
} mesh_vertices;
/* The components of vertex `index` (u32). May run differentiated. */
void mesh_vertex(tracer *t, const mesh_vertices *array, ir_ref index, ir_ref *out);
/* bool: a parameter whose gradient is requested moves the positions of the mesh. mesh: data words of a
 * shape of triangles. Only for plans whose `moves` has MOVE_POSITIONS. */
ir_ref mesh_positions_requested(tracer *t, ir_ref mesh);
/* The colour of an attribute at the surface that is being looked at (tracer.surface). May run
 * differentiated. */
color mesh_attribute_at(tracer *t, uint32_t attribute, bool of_faces);
/* Where light is spectral: the same as light, interpolated between the spectra of n (plan_spectral.c), of
 * which there is one for each vertex or face of each mesh with the attribute, in the order of parameters. */
color mesh_attribute_light(tracer *t, const class_node *n, ir_ref record, uint32_t attribute, bool of_faces);
uint32_t mesh_attribute_colours(const render_scene *s, uint32_t attribute); /* so many; 0: it is all grey */
void mesh_attribute_colour(tracer *t, uint32_t attribute, ir_ref k, ir_ref rgb[3]); /* the k-th colour */
/* The lists by which these are found, of each attribute of the scene its meshes: how many words, and what
 * they are from word `at` of the scene buffer on. */
uint32_t mesh_list_words(const render_scene *s);
void mesh_write_lists(const plan *p, uint32_t at, uint32_t *words);

/* ---- shape/pose.c: translation, rotation and scale besides to_world ---- */

enum pose_slot { POSE_TRANSLATION, POSE_ROTATION, POSE_SCALE };
extern const render_class shape_pose;
/* The point of the shape's own space about which the pose turns and scales. */
void pose_pivot(const render_scene *s, const render_place *place, double out[3]);
typedef struct pose_values {
    double translation[3], rotation[3], scale;
} pose_values;
/* The matrix that to_world m becomes by a pose, and the way back. 16 numbers, row-major. */
void pose_apply(const pose_values *pose, const double pivot[3], const double m[16], double out[16]);
void pose_undo(const pose_values *pose, const double pivot[3], const double m[16], double out[16]);

/* ---- shape/to_world.c: shapes that move with their to_world ---- */

/* An instance is hidden, as if it were not in the scene, where the first three columns of its to_world are 0.
 * Its map to the group then takes every ray to one point far outside of the group, without a direction: rays
 * go on to meet its box, which is a point, and miss what is in it. So kernels need not know. */
bool to_world_hides(const double m[16]);
static const float hidden_at = 1e15f; /* all coordinates of that point */

vec3 affine_point(tracer *t, const affine_map *m, vec3 p);
vec3 affine_vector(tracer *t, const affine_map *m, vec3 v);
/* Maps a normal by the matrix of cofactors. The result is not normalised. */
vec3 affine_normal(tracer *t, const affine_map *m, vec3 n);
/* A matrix without an inverse gives finite numbers. */
affine_map affine_inverse(tracer *t, const affine_map *m);

const render_place *to_world_place(const render_scene *s, const scene_object *o); /* NULL: it cannot move */
/* The parameter that is the to_world of a shape or an instance. PLAN_NONE: it is not offered, or there is
 * no such object. */
uint32_t to_world_parameter(const render_scene *s, const scene_object *o);
/* Whether a parameter says where some shape or instance is: its to_world, translation, rotation or scale. */
bool to_world_is(const render_scene *s, uint32_t parameter);
uint32_t to_world_said_by(const render_scene *s, uint32_t parameter); /* the to_world of that; PLAN_NONE */
bool to_world_requested(const plan *p, const scene_object *o);        /* or a part of its pose */
bool to_world_twice(const plan *p, const scene_object *o);            /* both are */
/* Whether requested parameters move the vertices of a mesh; that, or the shape as a whole. */
bool shape_vertices_requested(const plan *p, const render_shape *shape);
bool shape_motion_requested(const plan *p, const render_shape *shape);
/* Whether a shape or instance of the plan moves when this parameter changes. */
bool to_world_follows(const plan *p, uint32_t parameter);
bool to_world_moves_levels(const plan *p);  /* whether to_world of some instance is requested */
bool to_world_moves_grouped(const plan *p); /* whether to_world of some shape in a group is requested */
/* Gives an error unless the values can be what the parameter says of a place. The 16 numbers of a to_world
 * must be finite and have an inverse, and the kind of shape must accept them; the last row is not looked at.
 * An instance may be hidden. */
bl_result to_world_check(const render_scene *s, uint32_t parameter, const float *values, bl_error *err);
void to_world_write(plan *p); /* writes the to_world records of all requested ones */
/* Writes the record of a shape whose kind has `remake`: of its words TO_WORLD_DATA and TO_WORLD_BOXES only.
 */
void to_world_write_remade(plan *p, uint32_t shape);
/* Whether shapes that are no meshes may move: their boxes are in their records. */
bool to_world_solids_move(const plan *p);
/* place is SHAPE_TO_WORLD of a shape or LEVEL_MOTION of a level. to_world_map is the matrix itself.
 * to_world_motion is the motion of the surface's material away from where the shape is, in the space that
 * the shape stands in: its value is the identity, and its derivatives are those of to_world. */
affine_map to_world_map(tracer *t, ir_ref place);
affine_map to_world_motion(tracer *t, ir_ref place);
/* The motion of the points that describe the shape. For kinds with MOVES_AS_POINTS to_world_motion, that of
 * the material, has no derivatives. */
affine_map to_world_motion_of_points(tracer *t, ir_ref place);
affine_map to_world_level_motion(tracer *t, ir_ref level); /* level: the record of the level */
/* The motion, seen in the world, of a shape that stands in a level. level: none where the scene has no
 * groups, or where the shape stands in no group. */
affine_map to_world_motion_within(tracer *t, ir_ref shape, ir_ref level);
/* Moves a surface along with a motion. */
void to_world_carry(tracer *t, const affine_map *motion, interaction *si);

#endif
