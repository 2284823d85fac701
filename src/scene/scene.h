/* SPDX-License-Identifier: BSD-3-Clause
 * Scenes on the host: XML to a validated tree of objects, meshes, images, the acceleration structure. Knows
 * plugins by their parameter tables only (plugin.h). All input is hostile: sizes are checked before
 * allocation. */
#ifndef BL_SCENE_H
#define BL_SCENE_H

#include "base/base.h"
#include "scene/plugin.h"

/* ---- the object tree ---- */

typedef struct scene_place {
    const char *file;
    uint32_t line;
} scene_place;

typedef struct scene_object scene_object;
typedef struct scene_mesh scene_mesh;

/* Pixels or voxels of the caller in place of a file, while the scene is being made; or, of pixels, the file's
 * bytes. */
typedef struct scene_grid {
    uint32_t size[3], channels; /* x, y, z; of pixels z is 1 */
    const float *values;        /* [z][y][x][channel], finite; NULL: `file` */
    const void *file;
    size_t file_size;
} scene_grid;

typedef struct scene_value {
    bool given; /* written in the file (as opposed to the default) */
    scene_place where;
    double number;          /* FLOAT, INTEGER, BOOLEAN; FLOAT_OR_NAME without a name */
    const char *text;       /* STRING; FILE: as written; FLOAT_OR_NAME: the name, or NULL */
    const char *curve[2];   /* FLOAT_OR_NAME with PLUGIN_CURVE: lists of wavelengths and values, or NULL */
    const char *path;       /* FILE: resolved, exists; NULL where there is a grid */
    const scene_grid *grid; /* FILE with PLUGIN_GRID: what a program gives in place of the file, or NULL */
    double vector[3];       /* POINT, COLOR */
    bool grey;              /* COLOR: written as one float, or its default is */
    bool as_is;             /* COLOR, of a light: power at all wavelengths alike, not times D65 */
    double matrix[16];      /* TRANSFORM, row-major; acts on column vectors */
    scene_object *object;   /* TEXTURED, VOLUMETRIC */
} scene_value;

struct scene_object {
    const plugin_class *cls;
    const char *id;   /* explicit id, or NULL */
    const char *name; /* explicit name in its first parent, or NULL */
    scene_place where;
    scene_value *values;      /* one per parameter of the class */
    scene_object **children;  /* nested objects that are not parameters, in document order; shared when
                                 referenced twice */
    const char **child_names; /* the name each child has under this parent (slot name or explicit name) */
    uint32_t child_count;
    const scene_mesh *mesh; /* shape "mesh": the caller's arrays, while the scene is being made */
    uint32_t
        index; /* unique in the scene, in order of first visit from the root (depth first): for side tables */
    const plugin_param *use; /* of a texture or volume: the parameter it was first given to; NULL: none */
};

typedef struct scene_define {
    const char *key, *value;
} scene_define;

typedef struct scene_load_options {
    const plugin_registry *registry;
    const scene_define *defines; /* -D key=value */
    uint32_t define_count;
    bool untrusted; /* files only below the scene's folder and roots[] */
    const char *const *roots;
    uint32_t root_count;
    bool spectral; /* spectra of samples stay curves (texture "irregular"), instead of colours */
    /* Whether a mode that the file names is spectral; an error if there is none of that name. NULL: what the
     * file says of modes does not count, and `spectral` does. */
    bl_result (*named_mode)(const char *name, bool *spectral, bl_error *err);
} scene_load_options;

typedef struct scene_description {
    arena memory;
    scene_object *root;    /* class of category SCENE */
    uint32_t object_count; /* indices are below */
    const char *mode;      /* what the file names, <?backlight mode="NAME"?>; NULL: nothing */
    text warnings;         /* one a line */
    ARRAY(void *) kept;    /* meshes and grids of an assembly, until the scene is loaded */
} scene_description;

/* ---- assembly.c: scenes from calls, as from files of version 3 ---- */

typedef struct scene_assembly scene_assembly;
struct raw_node; /* an object that is being made; lives as long as the assembly */
scene_assembly *assembly_create(void);
void assembly_destroy(scene_assembly *a);
struct raw_node *assembly_root(scene_assembly *a);
/* id: for parameter names; NULL. */
struct raw_node *assembly_object(scene_assembly *a, plugin_category category, const char *type,
                                 const char *id);
/* kind: what stands there: PLUGIN_STRING, BOOLEAN, INTEGER; of numbers FLOAT, POINT, COLOR, TRANSFORM (16,
 * row-major). */
void assembly_text(scene_assembly *a, struct raw_node *object, plugin_kind kind, const char *name,
                   const char *value);
void assembly_numbers(scene_assembly *a, struct raw_node *object, plugin_kind kind, const char *name,
                      const double *numbers, uint32_t count);
/* Samples of a spectrum at `count` wavelengths (nm); wavelengths NULL: one value for all. */
void assembly_spectrum(scene_assembly *a, struct raw_node *object, const char *name,
                       const double *wavelengths, const double *values, uint32_t count);
/* In place of a file; kept until the scene has been loaded. */
void assembly_grid(scene_assembly *a, struct raw_node *object, const char *name, const scene_grid *grid);
/* name: of the parameter or slot; NULL. A child may be added to several. */
void assembly_add(scene_assembly *a, struct raw_node *parent, const char *name, struct raw_node *child);
void assembly_mesh(struct raw_node *object,
                   const scene_mesh *mesh); /* kept until the scene has been loaded */
/* Memory that lasts as long as the description: of an arena; and malloc'ed memory, which is taken over and
 * freed when scene_drop_kept says that the scene is loaded. */
void *assembly_alloc(scene_assembly *a, size_t size);
void assembly_keep(scene_assembly *a, void *memory);
void assembly_warn(scene_assembly *a, const char *warning);
const char *assembly_warnings(const scene_assembly *a); /* one a line; "" */
bool assembly_has_id(const scene_assembly *a, const char *id);
void assembly_fail(scene_assembly *a, const struct raw_node *object,
                   const char *what); /* if nothing failed before; object NULL: the scene */
/* The description, or the first mistake. folder: where files are looked for. The assembly is then good for
 * nothing but being destroyed. */
bl_result assembly_finish(scene_assembly *a, const char *folder, const scene_load_options *options,
                          scene_description **out, bl_error *err);

/* Writes what an assembly holds as a scene file, and meshes and pixels into a folder beside it, which is
 * called as the file is, with "_files" for its ending. folder: where files that the assembly names are looked
 * for. The assembly is then good for nothing but being destroyed. */
bl_result assembly_write(scene_assembly *a, const char *folder, const scene_load_options *options,
                         const char *path, bl_error *err);

/* ---- gltf/: scenes in glTF 2.0 ---- */

bool scene_is_gltf(const void *data, size_t size);
/* Adds all objects of a file; its notes are warnings of the assembly. name: of the file, for messages. Of the
 * options: defines `camera` (a name or number: that one alone) and `resolution` (of the longer side), and
 * what is allowed to an untrusted scene. */
bl_result assembly_add_gltf(scene_assembly *a, const char *name, const char *folder, const void *data,
                            size_t size, const scene_load_options *options, bl_error *err);
/* A glTF file as a scene file (assembly_write). warnings: of the assembly, one a line. */
bl_result scene_convert_gltf(const char *path, const scene_load_options *options, const char *output,
                             text *warnings, bl_error *err);

/* Loads and validates, XML or glTF by content. Errors: file:line: what, plugin, parameter, nearest known
 * name. */
bl_result scene_load(const char *path, const scene_load_options *options, scene_description **out,
                     bl_error *err);
bl_result scene_load_string(const char *xml, const char *folder, const scene_load_options *options,
                            scene_description **out, bl_error *err);
void scene_free(scene_description *s);
void scene_drop_kept(scene_description *s); /* its meshes and grids are no longer needed */

/* The parameter of this name among those of the object's class; -1 or NULL: the class has none. */
int scene_find_param(const scene_object *o, const char *name);
const scene_value *scene_find(const scene_object *o, const char *name);
int scene_param_index(const scene_object *o, const char *name); /* asserts that the class has it */
const scene_value *scene_get(const scene_object *o, const char *name);
double scene_number(const scene_object *o, const char *name);
scene_object *scene_child(const scene_object *o, plugin_category category); /* first, or NULL */
/* Whether `is` holds of the object, or of one that is below it: among its values, its children, and so on. */
bool scene_any(const scene_object *o, bool (*is)(const scene_object *o));
/* "file:line: " + text, for errors found later by the code that knows the plugin. */
bl_result scene_error(bl_error *err, bl_result code, scene_place where, const char *format, ...)
    BL_PRINTF(4, 5);

/* ---- what is known of plugins besides their tables ---- */

const char *kind_name(plugin_kind kind); /* "a float", for messages */
/* Mitsuba's own plugins, zero-terminated list. */
const char *const *plugin_known_names(plugin_category category);
/* Why one of them will not come, and what to do instead; NULL: it may. */
const char *plugin_unsupported_reason(plugin_category category, const char *name);
/* The name of `count` names nearest to `name` by edit distance, or NULL where none is near. Keeps the best of
 * several calls when *distance is carried over; start with UINT32_MAX. */
const char *name_nearest(const char *name, const char *const *names, uint32_t count, uint32_t *distance);
const plugin_class *registry_find(const plugin_registry *registry, plugin_category category,
                                  const char *name); /* or NULL */

/* ---- spectrum.c ---- */

/* x, y and z of the CIE 1931 2 degree observer and relative power of D65, every 5 nm from 360 to 830 nm. By
 * the norms the integral of y is 1, and that of y times D65, too. */
enum { SPECTRUM_CURVE_SAMPLES = 95 };
extern const double spectrum_curves[SPECTRUM_CURVE_SAMPLES][4], spectrum_luminance_norm, spectrum_d65_norm;
extern const double spectrum_rgb_rows[3][3]; /* XYZ to linear sRGB */

/* What a curve over wavelengths is the colour of. */
typedef enum spectrum_rule {
    SPECTRUM_POWER,      /* light: of its power */
    SPECTRUM_COLOUR,     /* anything else: under D65, so that a constant c is the grey c */
    SPECTRUM_REFLECTANCE /* the same, at most 1 */
} spectrum_rule;
spectrum_rule spectrum_rule_of(unsigned flags); /* of the parameter that it is for: plugin_flags */
/* Linear sRGB of a curve through samples at ascending wavelengths (nm), at least two, 0 outside of them; not
 * negative. */
void spectrum_rgb(const double *wavelengths, const double *values, uint32_t count, spectrum_rule rule,
                  double out[3]);
/* Gives an error where the observer sees none of the samples: that is a mistake, mostly one of units. */
bl_result spectrum_check_range(const double *wavelengths, uint32_t count, bl_error *err);
/* The colour of the curve that is 1 at sample k and 0 at all others, which may be negative. The colour of any
 * curve through these samples is a sum of these colours. */
void spectrum_weight(const double *wavelengths, uint32_t count, uint32_t k, spectrum_rule rule,
                     double out[3]);

/* ---- number.c: numbers in text, whatever the process's locale ---- */

/* One finite number at `at`, before `end`; returns what follows it, or NULL. */
const char *number_scan(const char *at, const char *end, double *out);
/* Appends a number as text that reads back as the same; after a comma. */
void number_print(text *out, double number, bool comma);
/* The whole text, blanks around it allowed. */
bool number_parse(const char *chars, double *out);
/* A list separated by commas and blanks. At most `most` numbers are stored; returns how many there are, or -1
 * after storing the place of the first that is malformed. */
int numbers_parse(const char *chars, double *out, int most, const char **malformed);

/* ---- meshes (malloc'ed; mesh_free) ---- */

/* Numbers of a mesh's vertices or faces that a texture may name. */
typedef struct scene_attribute {
    char *name;        /* "vertex_..." or "face_...", which says what it belongs to */
    uint32_t channels; /* 1 or 3 */
    float *values;     /* channels a vertex or face */
} scene_attribute;

struct scene_mesh {
    uint32_t vertex_count, face_count;
    float *positions; /* 3 a vertex */
    float *normals;   /* 3 a vertex, or NULL */
    float *uvs;       /* 2 a vertex, or NULL */
    uint32_t *faces;  /* 3 vertex indices a face, all in range */
    scene_attribute *attributes;
    uint32_t attribute_count;
};

/* In object space. Missing normals stay NULL (mesh_generate_normals makes them). */
bl_result mesh_load_obj(const char *path, bool flip_tex_coords, scene_mesh *out, bl_error *err);
bl_result mesh_parse_obj(const char *text, size_t size, bool flip_tex_coords, scene_mesh *out, bl_error *err);
/* ascii, binary little and big endian; triangles only. */
bl_result mesh_load_ply(const char *path, bool flip_tex_coords, scene_mesh *out, bl_error *err);
bl_result mesh_parse_ply(const void *data, size_t size, bool flip_tex_coords, scene_mesh *out, bl_error *err);
/* Binary little endian, with all that a mesh has but attributes of faces; loading gives the same floats. */
bl_result mesh_save_ply(const char *path, const scene_mesh *m, bl_error *err);
/* Named columns of the vertices, the first element of a PLY file. The caller sets names, count and required:
 * the first `required` columns must be there, others may be missing. */
enum { PLY_COLUMNS_MOST = 128, PLY_NO_COLUMN = -1 };
typedef struct ply_columns {
    const char *const *names;
    uint32_t count, required;
    int place[PLY_COLUMNS_MOST]; /* of each name: its place in a row, or PLY_NO_COLUMN */
    float *rows;                 /* row_count rows of `width` finite numbers (malloc'ed) */
    uint32_t row_count, width;
} ply_columns;
bl_result ply_load_columns(const char *path, ply_columns *columns, bl_error *err);
bl_result ply_parse_columns(const void *data, size_t size, ply_columns *columns, bl_error *err);
/* Mitsuba's own format, versions 3 and 4; index: which of the meshes in the file. */
bl_result mesh_load_serialized(const char *path, uint32_t index, scene_mesh *out, bl_error *err);
bl_result mesh_parse_serialized(const void *data, size_t size, uint32_t index, scene_mesh *out,
                                bl_error *err);
void mesh_rectangle(scene_mesh *out);      /* [-1,1]^2, normal +z, uv [0,1]^2 */
void mesh_cube(scene_mesh *out);           /* [-1,1]^3, 12 faces, normals and uv per face as Mitsuba's cube */
void mesh_generate_normals(scene_mesh *m); /* angle-weighted (Thuermer and Wuethrich 1998) */
void mesh_fill_normals(scene_mesh *m);     /* generates those that are zero, where there are any at all */
bool attribute_of_faces(const char *name); /* else of vertices */
void mesh_drop_normals(scene_mesh *m);
void mesh_flip(scene_mesh *m); /* turns the winding of all faces */
/* Positions by the matrix, normals by its inverse transpose; flips both normals and winding where asked.
 * Singular matrix: error. */
bl_result mesh_transform(scene_mesh *m, const double matrix[16], bool flip_normals, bl_error *err);
void mesh_free(scene_mesh *m);

bool matrix_invert(const double m[16], double out[16]); /* false: singular */
/* The upper three rows times (v, w): points have w = 1, directions 0. out may be v. */
void matrix_apply(const double m[16], const double v[3], double w, double out[3]);
/* The box along the axes of the world around the unit cube that the matrix places. */
void matrix_box(const double m[16], double low[3], double high[3]);
double matrix_determinant3(const double m[16]); /* of the upper left 3x3; negative: mirrors */

/* ---- images ---- */

typedef struct scene_image {
    uint32_t width, height, channels; /* 1 or 3 after image_load; row 0 is the top */
    float *pixels;                    /* linear; malloc'ed */
    bool eight_bit;                   /* came from 8-bit data */
    bool straight;                    /* colours are not multiplied by the alpha that follows them */
} scene_image;

/* EXR (half, float, uint; any compression OpenEXR's core reads), PNG (8/16 bit), JPEG, Radiance HDR, BMP,
 * PFM, by content not by name. raw: no sRGB decoding of PNG, JPEG and BMP. Alpha is dropped. NaN or infinity
 * is an error that names the pixel. */
bl_result image_load(const char *path, bool raw, scene_image *out, bl_error *err);
bool image_has_extension(const char *path, const char *extension); /* ".exr"; more than that alone */
bool image_is_jpeg(const char *path);                              /* by its extension, .jpg or .jpeg */
/* The channels of an EXR file that have these names, in their order. */
bl_result image_load_channels(const char *path, const char *const *names, uint32_t count, scene_image *out,
                              bl_error *err);
/* What a parameter of kind FILE says: its file, or the grid in its place, whose values are linear. */
bl_result image_load_value(const scene_value *file, bool raw, scene_image *out, bl_error *err);
/* The same (sRGB decoded), over a background: where the file has an alpha channel, colours are composed with
 * the background's, as linear values. Colours of PNG files are straight, those of EXR files are multiplied by
 * alpha already. */
bl_result image_load_over(const char *path, const float background[3], scene_image *out, bl_error *err);
/* By extension: .exr (float32, or float16 if half), .pfm, .hdr (Radiance), .png (sRGB-encoded, clamped).
 * Atomic. channels 1 or 3. */
bl_result image_save(const char *path, uint32_t width, uint32_t height, uint32_t channels,
                     const float *pixels, bool half, bl_error *err);
typedef enum image_components {
    IMAGE_FLOAT32,
    IMAGE_FLOAT16,
    IMAGE_UINT32 /* of values in [0, 1] */
} image_components;
/* How the channels of an image are kept. */
typedef struct image_layout {
    const char *const *names; /* of all channels; they differ */
    uint32_t colours; /* 1 or 3: a format without names keeps only so many channels, the first ones; PNG
                         also a channel "A" behind them */
    image_components components; /* of EXR files */
} image_layout;
bl_result image_save_channels(const char *path, const scene_image *image, const image_layout *layout,
                              bl_error *err);
void image_free(scene_image *image);

/* ---- volumes: grids of numbers (malloc'ed; volume_free) ---- */

typedef struct scene_volume {
    uint32_t size[3], channels; /* x, y, z; 1, 3, 6, 12 or 27 */
    float box[12];              /* the box that the file names: rows of 4, from the unit cube */
    float *values;              /* [z][y][x][channel], finite */
} scene_volume;

/* By the file's ending: .nvdb, NanoVDB; .vdb, OpenVDB; anything else, Mitsuba's .vol, version 3. */
bl_result volume_load(const char *path, scene_volume *out, bl_error *err);
/* What a parameter of kind FILE says: its file, or the grid in its place, in the unit cube. */
bl_result volume_load_value(const scene_value *file, scene_volume *out, bl_error *err);
bool volume_channels_known(uint32_t channels);
bool volume_is_openvdb(const char *path); /* not for untrusted scenes (volume_vdb.c) */
bl_result volume_parse_vdb(const void *data, size_t size, scene_volume *out, bl_error *err);
bl_result volume_parse_nvdb(const void *data, size_t size, scene_volume *out, bl_error *err);
bl_result volume_parse_vol(const void *data, size_t size, scene_volume *out, bl_error *err);
void volume_free(scene_volume *v);

/* ---- measured materials (malloc'ed; measured_free) ---- */

/* Numbers over the unit square, one square after another: [slice][row][column], none negative. */
typedef struct measured_grid {
    uint32_t slices, height, width; /* sides are at least 2 */
    float *values;
} measured_grid;

/* Where there are slices, they are those of the directions that light came from: [phi][theta]. */
typedef struct scene_measured {
    uint32_t phi_count, theta_count; /* at least 1 and 2 */
    float *phi, *theta;              /* radians, ascending */
    measured_grid ndf, sigma;        /* by microfacet normal; by direction. One slice */
    measured_grid visible, luminance;
    measured_grid light; /* [phi][theta][channel] */
    bool jacobian;       /* light is to be multiplied by ndf / (4 sigma) */
    uint32_t nm_count;   /* channels are at so many wavelengths; 0: they are red, green and blue */
    float *nm;           /* ascending */
} scene_measured;

/* spectra: the file's spectra are read, else its colours. A file has one of the two. */
bl_result measured_load(const char *path, bool spectra, scene_measured *out, bl_error *err);
bl_result measured_parse(const void *data, size_t size, bool spectra, scene_measured *out, bl_error *err);
void measured_free(scene_measured *m);

/* ---- curves: lists of control points (malloc'ed; curves_free) ---- */

typedef struct scene_curves {
    float *points;    /* x y z radius each, finite, radius >= 0 */
    uint32_t *firsts; /* curve k has the points firsts[k] .. firsts[k + 1] - 1 */
    uint32_t point_count, curve_count;
} scene_curves;

/* least: control points that a curve must have. */
bl_result curves_load(const char *path, uint32_t least, scene_curves *out, bl_error *err);
bl_result curves_parse(const char *text, size_t size, uint32_t least, scene_curves *out, bl_error *err);
void curves_free(scene_curves *c);

/* ---- bounding volume hierarchy (layout of nodes: spirv_gen/opt/ray_bvh.c) ---- */

enum { BVH_LEAF_MAX = 4 };

typedef struct scene_bvh {
    uint32_t *nodes; /* 16 words each; malloc'ed */
    uint32_t node_count;
    uint32_t *order; /* entry i is primitive order[i] */
    uint32_t count;
    uint32_t depth; /* greatest number of inner nodes on a path from the root, so a traversal stack of depth +
                       1 suffices */
} scene_bvh;

/* bounds: min xyz, max xyz per primitive. Binned SAH, two-wide, leaves of at most leaf_most (1 ..
 * BVH_LEAF_MAX) primitives, all cores; deterministic. Zero primitives give one empty node. Non-finite bounds
 * are an error. Depth is bounded (median split below a limit). */
bl_result bvh_build(const float (*bounds)[6], uint32_t count, uint32_t leaf_most, scene_bvh *out,
                    bl_error *err);
/* Like bvh_build, with a depth of at most depth_most, for up to leaf_most * 2^depth_most primitives. */
bl_result bvh_build_within(const float (*bounds)[6], uint32_t count, uint32_t leaf_most, uint32_t depth_most,
                           scene_bvh *out, bl_error *err);
void bvh_free(scene_bvh *b);

#endif
