/* SPDX-License-Identifier: BSD-3-Clause
 * What the files of src/scene/gltf share: a glTF 2.0 file (Khronos, glTF 2.0 Specification, 2021) as JSON and
 * flat arrays, and the objects that an assembly gets of it. All input is hostile: every index, count and
 * offset is checked against what is there before it is used. */
#ifndef BL_SCENE_GLTF_H
#define BL_SCENE_GLTF_H

#include "scene/scene_internal.h"

#include <cjson/cJSON.h>

/* Arrays of the file that others point into by index. */
#define GLTF_ARRAYS(X)                                                                                       \
    X(ACCESSORS, "accessors")                                                                                \
    X(BUFFER_VIEWS, "bufferViews")                                                                           \
    X(BUFFERS, "buffers")                                                                                    \
    X(CAMERAS, "cameras")                                                                                    \
    X(IMAGES, "images")                                                                                      \
    X(LIGHTS, "lights") /* of KHR_lights_punctual */                                                         \
    X(MATERIALS, "materials")                                                                                \
    X(MESHES, "meshes")                                                                                      \
    X(NODES, "nodes")                                                                                        \
    X(SAMPLERS, "samplers")                                                                                  \
    X(SCENES, "scenes")                                                                                      \
    X(TEXTURES, "textures")
typedef enum gltf_array {
#define GLTF_ENUM(id, name) GLTF_##id,
    GLTF_ARRAYS(GLTF_ENUM)
#undef GLTF_ENUM
        GLTF_ARRAY_COUNT,
    GLTF_FILE = GLTF_ARRAY_COUNT /* a place: the file as a whole */
} gltf_array;

enum { GLTF_NONE = 0xFFFFFFFFu };

/* An element of an array, for messages. */
typedef struct gltf_place {
    gltf_array array;
    uint32_t index;
} gltf_place;

typedef struct gltf_list {
    const cJSON **items;
    uint32_t count;
} gltf_list;

typedef struct gltf_bytes {
    const uint8_t *data;
    size_t size;
} gltf_bytes;

typedef struct gltf_note_line {
    const char *text;
    uint32_t times;
} gltf_note_line;

/* Triangles of a mesh with one material. */
typedef struct gltf_primitive {
    scene_mesh *mesh;     /* NULL: there are no triangles */
    scene_mesh *mirrored; /* the same with the faces turned, made when it is needed; shares all else */
    uint32_t material;    /* GLTF_NONE: the default one */
    double box[6];        /* least, then most */
    uint32_t colours;     /* channels of the vertex colours that the material takes: 0, 3, 4 */
} gltf_primitive;

typedef struct gltf_mesh {
    bool read;
    gltf_primitive *primitives;
    uint32_t count;
    uint32_t users;         /* nodes of the scene that show it, as it is and not mirrored */
    struct raw_node *group; /* a shapegroup; NULL: none yet */
} gltf_mesh;

/* A material as objects, for a number of channels of vertex colours. */
typedef struct gltf_material {
    struct raw_node *bsdf; /* NULL: not made yet */
} gltf_material;

typedef struct gltf_cached_texture {
    const char *key;
    struct raw_node *node;
} gltf_cached_texture;

/* A node of the scene, placed in the world, and what it shows. */
typedef struct gltf_instance {
    uint32_t node, mesh, light, camera; /* GLTF_NONE: none */
    double to_world[16];                /* row-major */
} gltf_instance;

typedef struct gltf {
    const char *name; /* of the file */
    arena memory;     /* of the reading alone */
    const scene_load_options *options;
    scene_paths paths;
    scene_assembly *assembly;
    bl_error *err;
    cJSON *json;
    void *held;        /* stands for the memory of `json` in the budget */
    gltf_bytes binary; /* of a GLB file */
    gltf_list lists[GLTF_ARRAY_COUNT];
    gltf_bytes *buffers;      /* by index; data NULL: not read yet */
    gltf_bytes *images;       /* files of images, likewise */
    const char **image_paths; /* of those that are files, as the scene names them; else NULL */
    gltf_mesh *meshes;
    gltf_material (
        *materials)[3]; /* by index and channels of vertex colours (0, 3, 4); the last is the default */
    ARRAY(gltf_cached_texture) textures;
    ARRAY(gltf_instance) instances;
    ARRAY(gltf_note_line) notes;
    uint32_t notes_left; /* that did not fit */
    uint32_t id_number;  /* the last one that made an id different from others */
    bool lit;            /* something emits */
    double box[6];       /* of all shapes: least, then most */
} gltf;

/* ---- gltf_values.c: looking into the JSON ---- */

/* "FILE: materials[3] "Wood": what" */
bl_result gltf_error(gltf *g, bl_result code, gltf_place where, const char *format, ...) BL_PRINTF(4, 5);
/* Something of the file that the scene does not have. Said once; how often it came is counted. */
void gltf_note(gltf *g, const char *format, ...) BL_PRINTF(2, 3);
void gltf_write_notes(gltf *g); /* as warnings of the assembly */

const cJSON *gltf_item(const gltf *g, gltf_place at);
const cJSON *gltf_get(const cJSON *object, const char *key); /* NULL: `object` is none, or has no such key */
const char *gltf_text(const cJSON *object, const char *key); /* NULL: none */
bool gltf_flag(const cJSON *object, const char *key);
const char *gltf_name(const gltf *g, gltf_place at); /* NULL: none */
/* The name of a node, or else of what it shows; NULL: none. */
const char *gltf_name_shown(const gltf *g, const gltf_instance *at, gltf_place what);
/* The object of an extension; NULL: none. */
const cJSON *gltf_extension(const cJSON *object, const char *name);
/* Notes extensions of an object whose names `known` does not have (NULL-terminated). what: "a node". */
void gltf_note_extensions(gltf *g, const cJSON *object, const char *what, const char *const *known);

/* Each takes the value of a key where the object has it, and leaves *out as it is where not. */
bl_result gltf_index(gltf *g, gltf_place where, const cJSON *object, const char *key, gltf_array array,
                     uint32_t *out);
bl_result gltf_count(gltf *g, gltf_place where, const cJSON *object, const char *key, uint64_t *out);
/* `count` finite numbers, each within the bounds. count 1: the number itself, else an array. */
bl_result gltf_numbers(gltf *g, gltf_place where, const cJSON *object, const char *key, uint32_t count,
                       double least, double most, double *out);

/* ---- gltf_file.c: GLB, the arrays, extensions, buffers, images ---- */

bl_result gltf_open(gltf *g, const char *name, const void *data, size_t size);
void gltf_close(gltf *g);
bl_result gltf_view(gltf *g, uint32_t view, gltf_bytes *out, uint64_t *stride); /* stride 0: packed */
bl_result gltf_image(gltf *g, uint32_t image, gltf_bytes *out,
                     const char **path); /* its file; path or NULL */

/* ---- gltf_accessor.c ---- */

typedef struct gltf_accessor {
    gltf_place where;
    uint32_t count, components;
    uint32_t type; /* 5120 ..: GL's number of the component type */
    bool normalized;
    const uint8_t *data; /* NULL: all is 0 */
    uint64_t stride;
    uint32_t sparse_count, index_type;
    const uint8_t *sparse_indices, *sparse_values;
} gltf_accessor;

bl_result gltf_accessor_open(gltf *g, uint32_t index, gltf_accessor *out);
/* The first `components` of each element, as numbers that must be finite; integers of a normalised accessor
 * in [0, 1] or [-1, 1]. */
bl_result gltf_read_floats(gltf *g, const gltf_accessor *a, uint32_t components, float *out);
bl_result gltf_read_indices(gltf *g, const gltf_accessor *a, uint32_t *out);

/* ---- gltf_mesh.c ---- */

bl_result gltf_read_mesh(gltf *g, uint32_t mesh);

/* ---- gltf_texture.c ---- */

/* What a texture of a material becomes. */
typedef enum gltf_channel {
    GLTF_COLOUR, /* sRGB */
    GLTF_NORMAL, /* the three numbers as they are; factors are of what is above 1/2 */
    GLTF_RED,    /* one number of each texel */
    GLTF_GREEN,
    GLTF_BLUE,
    GLTF_ALPHA,
    GLTF_ALPHA_CUT /* 1 where alpha is at least scale[0], else 0 */
} gltf_channel;

typedef struct gltf_texture_use {
    gltf_channel channel;
    double scale[3]; /* factors; of one number the first */
} gltf_texture_use;

/* The set of texture coordinates that a textureInfo names. */
bl_result gltf_texture_set(gltf *g, gltf_place where, const cJSON *info, uint32_t *set);
/* The texture of a textureInfo as an object. */
bl_result gltf_texture(gltf *g, gltf_place where, const cJSON *info, const gltf_texture_use *use,
                       struct raw_node **out);

/* ---- gltf_material.c ---- */

/* The set of texture coordinates that meshes of the material need. */
bl_result gltf_material_set(gltf *g, uint32_t material, uint32_t *set);
bool gltf_material_takes_colours(const gltf *g, uint32_t material);
bool gltf_material_emits(const gltf *g, uint32_t material);
bl_result gltf_make_material(gltf *g, uint32_t material, uint32_t colours, struct raw_node **out);
/* A new emitter for a shape of the material; NULL where it does not emit. */
bl_result gltf_make_emitter(gltf *g, uint32_t material, struct raw_node **out);

/* ---- gltf_node.c: the tree of nodes, shapes and instances ---- */

bl_result gltf_place_nodes(gltf *g); /* fills `instances`, counts users of meshes */
bl_result gltf_make_shapes(gltf *g);

/* ---- gltf_view.c: cameras and lights ---- */

bl_result gltf_make_lights(gltf *g);  /* after the shapes */
bl_result gltf_make_cameras(gltf *g); /* after the shapes */

/* ---- gltf.c ---- */

/* An id for an object that is called `name` (or `otherwise`), which nobody has: dots and blanks become "_".
 */
const char *gltf_id(gltf *g, const char *name, const char *otherwise, uint32_t index);
/* The value of -D key=...; NULL: none. */
const char *gltf_define(const gltf *g, const char *key);

#endif
