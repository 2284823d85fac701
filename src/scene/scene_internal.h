/* SPDX-License-Identifier: BSD-3-Clause
 * What the files of src/scene share among themselves: numbers, names, file lookup, the raw XML tree and the
 * steps that turn it into objects. Nobody outside this folder (and its tests) includes it. */
#ifndef BL_SCENE_INTERNAL_H
#define BL_SCENE_INTERNAL_H

#include "base/bvh_layout.h"
#include "scene/scene.h"

/* ---- number.c: independent of the process's locale ---- */

bool integer_parse(const char *chars, int64_t *out);

/* ---- names.c ---- */

/* The error of a plugin that the registry does not have, with the reason. */
bl_result plugin_missing(const plugin_registry *registry, plugin_category category, const char *name,
                         scene_place where, bl_error *err);

/* ---- paths.c: where files are looked for, and what an untrusted scene may open ---- */

typedef struct scene_paths {
    arena *memory;
    const char *scene_folder;
    ARRAY(const char *) resources; /* added by <path>; the last one is searched first */
    ARRAY(const char *) allowed;   /* untrusted: canonical folders */
    bool untrusted;
} scene_paths;

void paths_init(scene_paths *p, arena *memory, const char *scene_folder, const scene_load_options *options);
void paths_free(scene_paths *p);
/* Resource folders, the scene's folder, then own_folder (may be NULL). A regular file, or a folder where
 * `folder`. NULL: none. */
const char *paths_find(const scene_paths *p, const char *name, const char *own_folder, bool folder);
const char *path_folder(arena *memory, const char *path); /* "." where the path has none */

/* ---- xml.c: text to raw tree; includes, defaults, substitution, aliases and paths are gone after this
 * ---- */

typedef enum raw_kind {
    RAW_OBJECT,
    RAW_FLOAT,
    RAW_INTEGER,
    RAW_BOOLEAN,
    RAW_STRING,
    RAW_POINT,
    RAW_RGB,
    RAW_SPECTRUM,
    RAW_TRANSFORM,
    RAW_TRANSLATE,
    RAW_SCALE,
    RAW_ROTATE,
    RAW_LOOKAT,
    RAW_MATRIX,
    RAW_GRID, /* from calls alone: scene_grid */
    RAW_REF,
    RAW_INCLUDE,
    RAW_ALIAS,
    RAW_DEFAULT,
    RAW_PATH
} raw_kind;

typedef struct raw_attribute {
    const char *name, *value;
} raw_attribute;

typedef struct raw_node raw_node;
struct raw_node {
    raw_kind kind;
    const char *tag;
    plugin_category category; /* RAW_OBJECT */
    scene_place where;
    const char *folder; /* of the file it stands in */
    const raw_attribute *attributes;
    uint32_t attribute_count;
    const char *name; /* attribute "name", or NULL */
    raw_node *parent, *first, *last, *next;
    raw_node *target;       /* RAW_REF: what it refers to, where that is known; else by its id */
    const scene_mesh *mesh; /* scene_object.mesh */
    const scene_grid *grid; /* RAW_GRID */
    raw_node *splice;       /* root of an included scene: children go to this node instead */
    uint32_t depth;
    bool old;             /* the file's version is below 2.0 */
    scene_object *object; /* bind.c */
    bool open;            /* bind.c: being bound, so a reference to it is a cycle */
};

typedef struct raw_parameter {
    const char *key, *value;
    size_t key_length;
    bool used, from_user;
} raw_parameter;

typedef struct raw_id {
    const char *id;
    raw_node *node;
} raw_id;

typedef struct raw_scene {
    arena *memory;
    scene_paths *paths;
    raw_node *root;
    ARRAY(raw_parameter) parameters;
    raw_id *ids; /* hash table, linear probing */
    uint32_t id_count, id_capacity;
    uint32_t file_count;
    const char *mode; /* what <?backlight mode=".."?> names; NULL: there is none */
    scene_place mode_where;
    text *warnings;
} raw_scene;

bl_result raw_parse(raw_scene *scene, const char *name, const char *folder, const char *xml, size_t size,
                    bl_error *err);
void raw_free(raw_scene *scene);
const char *raw_attribute_get(const raw_node *node, const char *name); /* NULL where absent */
raw_node *raw_find_id(const raw_scene *scene, const char *id);
bl_result raw_add_id(raw_scene *scene, const char *id, raw_node *node, scene_place where, bl_error *err);
raw_node *raw_child_create(arena *memory, raw_node *parent, raw_kind kind, const char *tag, const char *name);
/* "$name" replaced, "\$" unescaped; *out lives in the arena. */
bl_result raw_substitute(raw_scene *scene, scene_place where, const char *value, const char **out,
                         bl_error *err);
bl_result raw_define(raw_scene *scene, scene_place where, const char *key, const char *value, bl_error *err);

/* ---- scene_write.c ---- */
/* As assembly_write. The nodes are then good for nothing else. */
bl_result raw_write(raw_node *root, const scene_paths *paths, const char *path, bl_error *err);

/* ---- upgrade.c: files of versions below 2.0 ---- */
void raw_upgrade(arena *memory, raw_node *object);

/* ---- transform.c, colour.c, value.c, bind.c ---- */

bl_result transform_parse(const raw_node *node, double matrix[16], bl_error *err);
/* Three numbers from x/y/z or value (1 or 3 numbers). Where `missing` is NULL all of x, y and z are
 * needed. */
bl_result vector_parse(const raw_node *node, const double *missing, double out[3], bl_error *err);
/* Colour of a float, integer, rgb, point, vector or spectrum tag, by the flags of the parameter it is for.
 * spectral: a uniform spectrum of a light is grey. */
bl_result colour_parse(const raw_node *node, const scene_paths *paths, unsigned flags, bool spectral,
                       double out[3], bl_error *err);
bl_result colour_check(scene_place where, const plugin_class *cls, const plugin_param *param,
                       const double colour[3], bl_error *err);

/* Of a <spectrum> tag: whether it has samples, in a list or a file, and these as lists of numbers. */
typedef struct spectrum_text {
    text wavelengths, values;
} spectrum_text;
bool colour_is_curve(const raw_node *node);
bl_result colour_curve(const raw_node *node, const scene_paths *paths, spectrum_text *out, bl_error *err);

/* ---- mesh_attributes.c ---- */

enum { ATTRIBUTES_MOST = 32, ATTRIBUTE_NONE = 0xFFFFFFFFu };

typedef struct property_name {
    const char *chars; /* not terminated */
    size_t length;
} property_name;

/* Groups the properties of an element (those that are not `taken`) to attributes of the mesh, which gets
 * names and channels of them, not yet values. slots[i]: 3 * attribute + channel of property i, or
 * ATTRIBUTE_NONE. */
void attributes_group(scene_mesh *m, bool faces, const property_name *names, const bool *taken,
                      uint32_t count, uint32_t *slots);

/* ---- spectrum.c ---- */

bl_result spectrum_lists(const char *data, size_t size, char separator, spectrum_text *out, bl_error *err);
/* Colour of a list of pairs: wavelength in nm, `separator` (0: blanks), value. */
bl_result spectrum_decode(const char *data, size_t size, char separator, spectrum_rule rule, double out[3],
                          bl_error *err);

typedef struct binder {
    raw_scene *raw;
    const plugin_registry *registry;
    const plugin_class *constant; /* texture */
    scene_description *scene;
    uint32_t depth;
    bool spectral; /* scene_load_options */
    bl_error *err;
} binder;

scene_object *object_create(binder *b, const plugin_class *cls, scene_place where);
bl_result bind_scene(binder *b);
/* What an object whose class says so stands for (PLUGIN_STANDS). */
bl_result object_standing(binder *b, const scene_object *object, scene_object **out);
/* Value of one parameter from a property tag. */
bl_result value_parse(binder *b, scene_object *object, uint32_t index, const raw_node *node);
bl_result value_preset(binder *b, scene_object *object, uint32_t index);
/* The texture "irregular" with the samples of a <spectrum>. */
bl_result curve_create(binder *b, const raw_node *node, scene_object **out);

/* ---- image_*.c: one decoder and one encoder a format; bytes in memory, so that limits and atomic writing
 * are in one place ---- */

enum { IMAGE_PIXELS_MAX = 1 << 28, IMAGE_SIDE_MAX = 1 << 20 };

/* Allocates pixels after checking that `bytes` bytes of file can stand for that many pixels at all. */
bl_result image_create(scene_image *image, uint64_t width, uint64_t height, uint32_t channels, size_t bytes,
                       bl_error *err);
double image_srgb_to_linear(double v);
void image_byte_table(bool raw, float table[256]); /* values of 8-bit data: sRGB decoded, or i / 255 */
bl_result image_decode(const void *data, size_t size, bool raw, scene_image *out, bl_error *err);
/* alpha follows the colours where the file has it: 1 to 4 channels. */
bl_result image_decode_alpha(const void *data, size_t size, bool raw, scene_image *out, bl_error *err);
/* alpha: where the file has an alpha channel it follows the colours, so there are 2 or 4 channels. In EXR
 * files the colours are multiplied by it already. */
bl_result image_decode_exr(const uint8_t *data, size_t size, bool alpha, scene_image *out, bl_error *err);
enum { IMAGE_CHANNELS_MOST = 64 };
bl_result image_decode_exr_channels(const uint8_t *data, size_t size, const char *const *names,
                                    uint32_t count, scene_image *out, bl_error *err);
bl_result image_decode_png(const uint8_t *data, size_t size, bool raw, bool alpha, scene_image *out,
                           bl_error *err);
bl_result image_decode_jpeg(const uint8_t *data, size_t size, bool raw, scene_image *out, bl_error *err);
bl_result image_decode_stb(const uint8_t *data, size_t size, bool raw, scene_image *out,
                           bl_error *err); /* Radiance HDR, BMP */
bl_result image_decode_pfm(const uint8_t *data, size_t size, scene_image *out, bl_error *err);
/* names: of the channels, in their order. */
bl_result image_encode_exr(const scene_image *image, const char *const *names, image_components components,
                           text *out, bl_error *err);
bl_result image_encode_hdr(const scene_image *image, text *out, bl_error *err);
uint8_t image_encode_byte(float linear);                                         /* sRGB, clipped to [0, 1] */
bl_result image_encode_jpeg(const scene_image *image, text *out, bl_error *err); /* 1 or 3 channels */
bl_result image_encode_png(const scene_image *image, text *out, bl_error *err);
bl_result image_encode_pfm(const scene_image *image, text *out, bl_error *err);

/* ---- bvh.c ---- */

enum { BVH_DEPTH_MAX = 48 };
/* Like bvh_build, with a given number of threads. The result does not depend on that number. */
bl_result bvh_build_threads(const float (*bounds)[6], uint32_t count, uint32_t leaf_most, uint32_t threads,
                            scene_bvh *out, bl_error *err);

/* ---- tensor_file.c: named arrays ---- */

enum { TENSOR_RANK_MOST = 8, TENSOR_UINT8 = 1, TENSOR_FLOAT32 = 10 };
typedef struct tensor_field {
    const char *name; /* in the file's bytes, as all here; not terminated */
    size_t name_length;
    int type;
    uint32_t rank;
    uint64_t shape[TENSOR_RANK_MOST];
    size_t count; /* of numbers, at least 1 */
    const uint8_t *data;
} tensor_field;
/* BL_ERROR_FORMAT where there is no such field, or it does not lie in the file as a whole. */
bl_result tensor_find(const void *bytes, size_t size, const char *name, tensor_field *out, bl_error *err);
float tensor_float(const tensor_field *field, size_t index); /* of a field of TENSOR_FLOAT32 */

#endif
