/* SPDX-License-Identifier: BSD-3-Clause
 * Backlight: a differentiable, physically based renderer on Vulkan compute.
 *
 *     bl_context *ctx;  bl_device *dev;  bl_scene *scene;  bl_job *job;
 *     bl_context_create(NULL, &ctx);
 *     bl_device_create(ctx, "auto", &dev);
 *     bl_scene_load(ctx, "scene.xml", NULL, &scene);
 *     bl_job_create(dev, scene, &(bl_job_desc){.parameters = names, .parameter_count = 2}, &job);
 *     bl_job_render(job, &(bl_render_desc){.spp = 64}, image, NULL);
 *     bl_job_gradient(job, &(bl_gradient_desc){.spp = 64, .adjoint = weights}, &stats);
 *     bl_job_read_gradient(job, 0, gradient);
 *
 * Conventions. Images are row-major float32, row 0 at the top, height*width*channels values; channels
 * (bl_scene_info) is 3, linear RGB, Rec. 709, or, in mode "mono", 1, luminance, or as many as the film has
 * bands or entries of Stokes vectors. A zeroed descriptor means defaults, and a NULL descriptor is a zeroed
 * one. Structs end in `reserved`, zeros, where later versions have further fields (docs/versions.md). Every
 * fallible call returns a bl_result; the text of the last failure is bl_context_error. Destroy functions
 * accept NULL; destroy jobs and fits before their device and scene, and those before the context: another
 * order is a mistake of the program, which ends it with a message. One thread at a time per context.
 * Otherwise the library never prints, exits or installs handlers. */
#ifndef BACKLIGHT_H
#define BACKLIGHT_H

#include <backlight/result.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of these headers, and of the library that runs: docs/versions.md says which of them go together. */
#define BL_VERSION_MAJOR 0
#define BL_VERSION_MINOR 1
#define BL_VERSION_PATCH 0
#define BL_VERSION_TEXT "0.1.0"
#define BL_VERSION_NUMBER (BL_VERSION_MAJOR * 1000000 + BL_VERSION_MINOR * 1000 + BL_VERSION_PATCH)

/* What the shared library exports. */
#ifndef BL_API
#ifdef __GNUC__
#define BL_API __attribute__((visibility("default")))
#else
#define BL_API
#endif
#endif

BL_API uint32_t bl_version(void);         /* BL_VERSION_NUMBER of the library */
BL_API const char *bl_version_text(void); /* BL_VERSION_TEXT of the library */

typedef struct bl_context bl_context; /* Vulkan instances, the log, the last error */
typedef struct bl_device bl_device;   /* a device of ours and its queue */
typedef struct bl_scene bl_scene;     /* a loaded scene: structure and initial parameter values */
typedef struct bl_job bl_job;         /* scene + device + requested gradients: kernels and buffers */
typedef struct bl_fit bl_fit;         /* an optimisation */

/* Called about ten times a second during long work, on the calling thread. done in [0, 1]. Returning false
 * cancels (BL_ERROR_CANCELLED). */
typedef bool (*bl_progress)(void *user, double done);

/* ---- context ---- */

typedef struct bl_context_desc {
    bool no_devices;         /* no driver is opened: for scenes and images alone */
    bool validation;         /* Vulkan validation layer, where it is installed; messages go to log */
    const char *swiftshader; /* path of libvk_swiftshader.so; NULL: look for it (BL_SWIFTSHADER, data folders,
                                known programs) */
    void (*log)(void *user, const char *message);
    void *user;
    /* Folder that keeps compiled kernels between runs, created as needed; NULL: none is kept. Only the user
     * may be able to write to it. It never changes a result: an entry that is not whole, or not of this very
     * program, is compiled anew. */
    const char *cache;
    uint64_t cache_limit; /* bytes in that folder; what was not used for longest goes first. 0: 256 MiB */
    const struct bl_context_testing *testing; /* backlight_testing.h; NULL */
    bool untrusted;                           /* bl_image_read has the strict limits of bl_limits */
    uint64_t reserved[7];
} bl_context_desc;

BL_API bl_result bl_context_create(const bl_context_desc *desc, bl_context **out);
BL_API void bl_context_destroy(bl_context *ctx);
/* Text of the last failure of any object of this context; "" if none. Valid until the next call. NULL: why
 * this thread's last bl_context_create failed. */
BL_API const char *bl_context_error(const bl_context *ctx);
BL_API const char *bl_result_text(bl_result result);
BL_API uint32_t bl_context_validation_messages(const bl_context *ctx);

/* The path of the folder `part` in Backlight's folder of the user's cache, which is $BL_CACHE_DIR,
 * $XDG_CACHE_HOME/backlight or ~/.cache/backlight, the first that is set. The program `backlight` keeps
 * kernels in "kernels". Writes at most `room` bytes, the last of them 0. Returns the length of the whole
 * path, or 0 where the user has no cache. */
BL_API size_t bl_user_cache(const char *part, char *path, size_t room);

typedef struct bl_cache_info {
    const char *folder;    /* string of the context; NULL: nothing is cached */
    const char *unusable;  /* why the folder is not used; NULL: it is */
    uint64_t bytes, limit; /* of all entries, on disk now */
    uint32_t entries;
    uint64_t hits, misses; /* of this context */
    uint64_t reserved[8];
} bl_cache_info;
BL_API bl_cache_info bl_context_cache_info(const bl_context *ctx);

/* ---- devices ---- */

typedef struct bl_device_info {
    const char *name, *driver, *found; /* strings of the context */
    const char *kind; /* "discrete", "integrated", "other", "native", "lavapipe", "swiftshader" */
    uint32_t api_major, api_minor, api_patch; /* of Vulkan; native device: 0 */
    uint32_t subgroup_size;
    uint64_t max_buffer_range, max_allocation; /* bytes */
    bool float_atomics, ray_query, int64, float64;
    const char *uuid; /* the driver's, the same in every process; native device: NULL */
    uint64_t reserved[7];
} bl_device_info;

BL_API uint32_t bl_device_count(const bl_context *ctx); /* in the order "auto" prefers them */
BL_API bl_result bl_device_info_at(const bl_context *ctx, uint32_t index, bl_device_info *out);
/* selector: NULL or "auto", "native", "swiftshader", "lavapipe", an index of bl_device_info_at ("1"), "uuid:"
 * and a UUID or its beginning, or part of a device's name. "native" is this processor without Vulkan. */
BL_API bl_result bl_device_create(bl_context *ctx, const char *selector, bl_device **out);
/* The same device, to make kernels with and nothing else: it holds no memory, so null hardware will do (a
 * driver's compiler without a device, as RADV has it), and drivers tell what they have made
 * (bl_job_kernel_statistic). What would run something is BL_ERROR_UNSUPPORTED; so it is on null hardware
 * that bl_device_create opens. */
BL_API bl_result bl_device_create_compiler(bl_context *ctx, const char *selector, bl_device **out);
BL_API void bl_device_destroy(bl_device *device);
BL_API bl_result bl_device_info_get(const bl_device *device, bl_device_info *out);

typedef struct bl_device_stats {
    uint64_t pipelines_created, dispatches, submits, bytes_allocated, bytes_peak;
    double compile_seconds; /* spent in the driver's compiler */
    uint64_t reserved[8];
} bl_device_stats;
BL_API bl_device_stats bl_device_stats_get(const bl_device *device);

/* ---- plugins: what scenes are made of ---- */

/* What can be done with a plugin: bits. */
typedef enum bl_plugin_ability {
    BL_PLUGIN_IMAGE = 1,
    BL_PLUGIN_REVERSE = 2,  /* gradients by its parameters; an integrator makes gradients */
    BL_PLUGIN_FORWARD = 4,  /* derivatives of images by them; an integrator makes these */
    BL_PLUGIN_IN_MEDIA = 8, /* it works with volumetric integrators; an integrator is one */
    BL_PLUGIN_MOVING = 16,  /* gradients follow what it moves, or what moves it; an integrator has those of
                               cameras and shapes */
    BL_PLUGIN_NESTED = 32   /* it holds others of its category, and can do what they can */
} bl_plugin_ability;

typedef struct bl_plugin_info {
    const char *category; /* the XML tag: "bsdf" */
    const char *name, *help;
    bool available; /* false: a plugin of Mitsuba 3 that is not implemented; help says why, where there is a
                       reason */
    uint32_t parameters, slots;
    const char *data;   /* name of differentiable values that come from a file or from several parameters
                           ("data"); NULL: none */
    unsigned abilities; /* bl_plugin_ability; 0 where it is not available */
    uint64_t reserved[8];
} bl_plugin_info;

typedef struct bl_plugin_parameter {
    const char *name, *help;
    const char *type;    /* "float", "colour or texture" */
    const char *preset;  /* the default as written in XML; NULL: none */
    bool required;       /* must be given */
    bool differentiable; /* as NAME, or where it takes a texture as NAME.value, or as what that texture
                            differentiates */
    double least, most;  /* range of numbers; both 0: any */
    uint64_t reserved[8];
} bl_plugin_parameter;

/* Objects inside that are not parameters: at least `least`, at most `most` (0: any number). */
typedef struct bl_plugin_slot {
    const char *category;
    uint32_t least, most;
    uint64_t reserved[8];
} bl_plugin_slot;

/* Strings live as long as the context. */
BL_API uint32_t bl_plugin_count(const bl_context *ctx);
BL_API bl_result bl_plugin_info_at(const bl_context *ctx, uint32_t plugin, bl_plugin_info *out);
BL_API bl_result bl_plugin_parameter_at(const bl_context *ctx, uint32_t plugin, uint32_t parameter,
                                        bl_plugin_parameter *out);
BL_API bl_result bl_plugin_slot_at(const bl_context *ctx, uint32_t plugin, uint32_t slot,
                                   bl_plugin_slot *out);

/* ---- scenes ---- */

typedef struct bl_define {
    const char *key, *value;
} bl_define;

/* How often a light is sampled, against others. Images have the same expectation, and a noise that
 * differs. */
typedef enum bl_light_choice {
    BL_LIGHTS_BY_WEIGHT, /* by the lights' sampling_weight (Mitsuba) */
    BL_LIGHTS_UNIFORM,   /* all alike */
    BL_LIGHTS_BY_POWER,  /* by weight times power, which follows the values; none is ever left out */
    BL_LIGHTS_BY_TREE,   /* by weight times power, distance and direction, bounded over a tree of lights: for
                            scenes with many */
    BL_LIGHTS_AUTO,      /* by the tree from ten lights on, else by weight */
    BL_LIGHTS_COUNT
} bl_light_choice;
/* "weight", "uniform", "power", "tree", "auto"; NULL past the last. */
BL_API const char *bl_light_choice_name(bl_light_choice choice);

/* What a scene may take, so that a file of hostile make cannot take the machine: BL_ERROR_LIMIT beyond. 0:
 * the default, in brackets, and behind it that of untrusted scenes. docs/security.md says more. */
typedef struct bl_limits {
    uint64_t memory;    /* bytes of host memory while it is loaded [2^40; 3 * 2^29] */
    uint64_t text;      /* bytes of its files and of values of variables put in [2^30; 2^26] */
    uint64_t pixels;    /* of its film and all its images [2^30; 2^24] */
    uint64_t triangles; /* [2^28; 2^21] */
    uint64_t voxels;    /* numbers in its grids [2^30; 2^25] */
    uint64_t kernel;    /* operations in one kernel, which drivers take long to compile [2^22; 2^18] */
    uint64_t seconds;   /* to load it [2^30; 15] */
    uint64_t reserved[8];
} bl_limits;
/* Names of the fields, in their order: "memory", ..; NULL past the last. strict: what stands for 0 where a
 * scene is untrusted. */
BL_API const char *bl_limit_name(uint32_t index);
BL_API uint64_t bl_limit_preset(uint32_t index, bool strict);

/* What a gradient has of edges that move with a parameter: silhouettes, borders of shadows and of lights, and
 * these in reflections (docs/theory/edges.md). They are found by samples of their own, behind a gradient or
 * forward pass whose parameters move something, and cost nothing otherwise. */
typedef enum bl_edges {
    BL_EDGES_AUTO,       /* all that can be found; bl_parameter_info.reason says what cannot */
    BL_EDGES_NONE,       /* nothing: the gradient along paths that stay, which frozen differences have, too */
    BL_EDGES_PROJECTIVE, /* by points sampled on silhouettes (Zhang et al. 2023): today what AUTO is */
    BL_EDGES_COUNT
} bl_edges;
BL_API const char *bl_edges_name(bl_edges edges); /* "auto", "none", "projective"; NULL past the last */

/* What light is on a path, and so how many channels an image has (docs/theory/modes.md): "rgb"; "mono",
 * luminance alone; "spectral", wavelengths, of which an image has three channels again; "rgb_polarized",
 * "mono_polarized" and "spectral_polarized", with polarisation, of which images show the intensity, and the
 * channels of the integrator `stokes` the rest. Parameters stay what they are in any mode, and gradients go
 * to them. */
BL_API const char *bl_mode_name(uint32_t index); /* NULL past the last */

typedef struct bl_scene_desc {
    const bl_define *defines; /* values for $key in the file */
    uint32_t define_count;
    bool untrusted; /* read files only below the scene's folder and roots[], and no .vdb; strict limits */
    const char *const *roots;
    uint32_t root_count;
    const char *integrator; /* replaces the scene's: "path", "direct", "prb"; NULL: the scene's */
    int32_t max_depth;      /* replaces the integrator's; 0: the scene's, -1: unbounded */
    uint32_t sensor; /* which of the scene's sensors to look through, in the order of its file; its film is
                        the image */
    bl_light_choice lights;  /* which light a path samples; program and Python package: BL_LIGHTS_AUTO */
    bl_edges edges;          /* of gradients of its jobs */
    const bl_limits *limits; /* NULL: the defaults */
    /* Ids of shapes, separated by commas; "": all. The image is how much of each pixel they cover, whatever
     * the scene's integrator is: as with the integrator `silhouette`. NULL: an image of light. */
    const char *silhouette;
    /* What light is: bl_mode_name, or a variant of Mitsuba ("llvm_ad_mono"). NULL: the mode that the scene's
     * file names, <?backlight mode="spectral"?>, else "rgb". */
    const char *mode;
    /* How the random numbers of a pixel's samples are spread, in all passes: a sampler by name; NULL: the
     * scene's, with its sample counts; "auto": "paddedsobol" where the scene has "independent" or none, else
     * the scene's. It has less noise for the same samples and takes any number of them
     * (docs/decisions/stratified-gradients.md). Means are the same. */
    const char *sampler;
    bool guides; /* also the channels "albedo" and "normal" (bl_scene_channel_count), which guide
                    bl_scene_denoise; not of spectral modes, whose albedo is no colour */
    uint64_t reserved[3];
} bl_scene_desc;

/* Mitsuba 3 XML, or glTF 2.0 (.gltf, .glb), by what the file holds. Of a glTF file `camera` (a name or a
 * number) and `resolution` (of the longer side) can be defined; bl_scene_warnings lists what the scene does
 * not take from it. */
BL_API bl_result bl_scene_load(bl_context *ctx, const char *path, const bl_scene_desc *desc, bl_scene **out);
/* folder: where it looks for files; NULL: the working folder. */
BL_API bl_result bl_scene_load_string(bl_context *ctx, const char *xml, const char *folder,
                                      const bl_scene_desc *desc, bl_scene **out);
/* Writes a glTF file as Mitsuba 3 XML, which loads as the same scene; its meshes and textures into a folder
 * beside it, called as the file with "_files" for the ending. desc: definitions, untrusted, roots, limits.
 * notes (may be NULL): what the scene does not take from the file, one a line; free(). */
BL_API bl_result bl_scene_convert(bl_context *ctx, const char *path, const bl_scene_desc *desc,
                                  const char *output, char **notes);
BL_API void bl_scene_destroy(bl_scene *scene);

/* ---- scenes that a program makes ---- */

/* Objects by plugin name with properties, as in a file of version 3; `backlight plugins` lists both. Objects
 * and what is set are copied, and live as long as their builder. Nothing fails before bl_builder_finish,
 * which returns the first mistake. */
typedef struct bl_builder bl_builder;
typedef struct bl_object bl_object;
BL_API bl_result bl_builder_create(bl_context *ctx, bl_builder **out);
BL_API void bl_builder_destroy(bl_builder *builder); /* not after bl_builder_finish */
BL_API bl_object *
bl_builder_root(bl_builder *builder); /* what sensors, shapes, lights, the integrator are added to */
/* category: "bsdf", "shape", .., the XML tag. id: what parameters are called by; NULL: by their path. */
BL_API bl_object *bl_builder_object(bl_builder *builder, const char *category, const char *type,
                                    const char *id);
BL_API void bl_object_number(bl_object *object, const char *name, double value);
BL_API void bl_object_integer(bl_object *object, const char *name, int64_t value);
BL_API void bl_object_flag(bl_object *object, const char *name, bool value);
BL_API void bl_object_text(bl_object *object, const char *name, const char *value); /* names, files */
BL_API void bl_object_color(bl_object *object, const char *name, double red, double green, double blue);
BL_API void bl_object_point(bl_object *object, const char *name, double x, double y, double z);
BL_API void bl_object_transform(bl_object *object, const char *name,
                                const double matrix[16]); /* row-major, acts on columns */
/* A curve over wavelengths, through samples at `count` ascending wavelengths (nm), 0 outside of them;
 * wavelengths NULL and count 1: the same value at all. */
BL_API void bl_object_spectrum(bl_object *object, const char *name, const double *wavelengths,
                               const double *values, uint32_t count);
/* Pixels of a texture or an environment, voxels of a volume or a distance field, in place of the file that
 * the parameter `name` ("filename") names. `values` are the caller's, and are read by bl_object_grid and
 * bl_builder_finish. */
typedef struct bl_grid {
    uint32_t size[3];    /* width and height, depth; of pixels the depth is 1 */
    uint32_t channels;   /* of pixels 1 or 3, linear RGB; of voxels 1, 3, 6, 12 or 27 */
    const float *values; /* [depth][height][width][channels], finite; row 0 of pixels is the top */
    uint64_t reserved[8];
} bl_grid;
BL_API void bl_object_grid(bl_object *object, const char *name, const bl_grid *grid);
/* name: of the parameter or slot that the child is for, NULL where its category says that. A child may be
 * added to several parents: it is then shared. */
BL_API void bl_object_add(bl_object *parent, const char *name, bl_object *child);

/* Triangles. Arrays are the caller's, and are read by bl_builder_mesh and bl_builder_finish. Later changes:
 * bl_job_set_parameter of "ID.vertex_positions". */
typedef struct bl_mesh {
    uint32_t vertex_count, face_count;
    const float *positions; /* 3 a vertex, finite */
    const float
        *normals; /* 3 a vertex; NULL: generated from the positions, unless the object has "face_normals" */
    const float *uvs;      /* 2 a vertex; NULL */
    const uint32_t *faces; /* 3 vertices each, counter-clockwise seen from outside */
    uint64_t reserved[8];
} bl_mesh;
/* A shape "mesh", which has the properties face_normals, flip_normals, to_world. */
BL_API bl_object *bl_builder_mesh(bl_builder *builder, const char *id, const bl_mesh *mesh);
/* Takes the builder, also on failure. folder: where files are looked for; NULL: the current one. desc: as for
 * files, but for defines. */
BL_API bl_result bl_builder_finish(bl_builder *builder, const char *folder, const bl_scene_desc *desc,
                                   bl_scene **out);

BL_API const char *bl_scene_warnings(const bl_scene *scene); /* one a line; "" if none */

typedef struct bl_scene_info {
    uint32_t width, height, spp; /* of the film and sampler */
    const char *integrator;
    int32_t max_depth, rr_depth;
    uint32_t shapes, primitives, emitters, parameters, bvh_nodes;
    uint32_t
        sensors; /* a job looks through the one of bl_scene_desc, unless told otherwise (bl_job_set_sensor) */
    uint32_t channels; /* of an image */
    const char *mode;
    const char *sampler;   /* how random numbers are spread: the scene's, or what bl_scene_desc asked for */
    const char *file_mode; /* the mode that the scene's file names; NULL: none */
    uint64_t reserved[4];
} bl_scene_info;
BL_API bl_result bl_scene_info_get(const bl_scene *scene, bl_scene_info *out);
/* Channels that the scene's image has besides its colours: alpha "A" where the film asks for it, and those of
 * an aov integrator ("nn.X"). */
BL_API uint32_t bl_scene_channel_count(const bl_scene *scene);
BL_API const char *bl_scene_channel_name(const bl_scene *scene, uint32_t index); /* NULL past the last */
/* Writes an image of the scene's film in the film's pixel and component format; the ending of path decides
 * between .exr, .hdr, .pfm, .png and .jpg. channels (may be NULL): as bl_render_desc.channels; only EXR files
 * keep them. */
BL_API bl_result bl_scene_write_image(const bl_scene *scene, const char *path, const float *image,
                                      const float *channels);
/* Takes the noise out of an image of the scene's film, in place, by Open Image Denoise 2, whose library is
 * looked for when this is called: in the folder that the environment's BL_OIDN names, else where the system
 * has its libraries. channels (may be NULL): as bl_render_desc.channels; the scene's first albedo and shading
 * normal among them guide it (bl_scene_desc.guides). The result is biased, so nothing else calls this: no
 * gradient and no fit sees it. BL_ERROR_UNSUPPORTED: there is no such library, or the image has no colours;
 * an image of NULL asks for no more than that. */
BL_API bl_result bl_scene_denoise(const bl_scene *scene, float *image, const float *channels);
/* Where the film has bands of wavelengths (specfilm) or Stokes vectors (stokesfilm), what channel `index` of
 * the image is called; NULL past the last, and of films with colours. Such images are kept in EXR files
 * alone, under these names. */
BL_API const char *bl_scene_band_name(const bl_scene *scene, uint32_t index);
/* Reads a file as an image of the scene's film, which has its size: bands by their names; colours as
 * bl_image_read, in mode "mono" their luminance, grey in all channels. image: height*width*channels floats.
 */
BL_API bl_result bl_scene_read_image(const bl_scene *scene, const char *path, float *image);
/* What shape and instance number `index` of a hit (bl_hit) are called, as parameters of theirs begin; ""
 * where an instance stands for the shapes outside of shapegroups. Strings of the scene; NULL past the last.
 */
BL_API const char *bl_scene_shape_name(const bl_scene *scene, uint32_t index);
BL_API const char *bl_scene_instance_name(const bl_scene *scene, uint32_t index);
/* The number of samples that is taken where `spp` are asked for: some samplers can only do squares and the
 * like, and round up. */
BL_API uint32_t bl_scene_spp(const bl_scene *scene, uint32_t spp);

typedef struct bl_parameter_info {
    const char *name; /* "red.reflectance.value": by the nearest id, of the object or of what holds it */
    const char *path; /* the same as in Mitsuba's traverse, where ids of nested objects do not count:
                         "box.bsdf.reflectance.value" */
    uint32_t rank, shape[4]; /* row-major; a scalar has rank 1, shape [1]; a colour [3]; a bitmap [height,
                                width, channels] */
    uint32_t count;          /* product of the shape */
    float least, most;       /* meaningful range, for bounds; -INFINITY, INFINITY where there is none */
    bool differentiable;
    const char *reason; /* why not, or what is missing in its gradient; NULL if complete */
    bool resizable;     /* an image or grid: bl_scene_resize_parameter takes it */
    bool geometry;    /* of the camera, or positions, normals or texture coordinates of a mesh: commands take
                         them only by name */
    bool only_listed; /* to_world of shapes, arrays of ellipsoids, the pose of an environment: jobs take other
                         values only if they were created with it among their parameters */
    uint64_t reserved[8];
} bl_parameter_info;
BL_API uint32_t bl_scene_parameter_count(const bl_scene *scene);
BL_API bl_result bl_scene_parameter_info(const bl_scene *scene, uint32_t index, bl_parameter_info *out);
/* Index of what is called so, by name or by path, or a failure whose text has the nearest name. */
BL_API bl_result bl_scene_find_parameter(const bl_scene *scene, const char *name, uint32_t *index);
BL_API bl_result bl_scene_get_parameter(const bl_scene *scene, uint32_t index,
                                        float *values); /* initial values */

/* Gives an image [y, x, channels] or a grid [z, y, x, channels] (whatever is `resizable`) other sides and, as
 * initial values, `values`. The number of channels stays. For fits from coarse to fine; bl_resample
 * interpolates values. Names and indices stay what they are. No job or fit of the scene may exist. */
BL_API bl_result bl_scene_resize_parameter(bl_scene *scene, uint32_t index, const uint32_t *shape,
                                           const float *values);
/* Values of such an array, rank 3 or 4, at other sides: linear interpolation between centres of cells; along
 * axes that become shorter a mean, weighted by a tent that is as wide as two new cells. It belongs to no
 * context, so its failures have no text: BL_ERROR_ARGUMENT for another rank, another number of channels, or
 * sides of 0, BL_ERROR_MEMORY. */
BL_API bl_result bl_resample(uint32_t rank, const uint32_t *shape, const float *values,
                             const uint32_t *new_shape, float *new_values);

/* ---- jobs: render and gradient ---- */

typedef enum bl_accumulate {
    BL_ACCUMULATE_FIXED, /* 64-bit fixed point: the same bytes on every run */
    BL_ACCUMULATE_FLOAT  /* float atomics, where the device has them: order of arrival, so sums vary by
                            rounding */
} bl_accumulate;

typedef enum bl_rays {
    BL_RAYS_AUTO,  /* ray queries on a GPU that has them, where the geometry is not baked; else our own
                      hierarchy */
    BL_RAYS_BVH,   /* our own hierarchy, or baked geometry */
    BL_RAYS_QUERY, /* ray queries, never baked geometry; BL_ERROR_UNSUPPORTED on a device without
                      (bl_device_info.ray_query) */
    BL_RAYS_COUNT
} bl_rays;

/* How the gradient of a heterogeneous medium's extinction is found at collisions; the expectation is the
 * same. */
typedef enum bl_volume_gradient {
    BL_VOLUME_GRADIENT_AUTO, /* DRT for a requested grid much of which is empty, as the scene has it when the
                                job is made, and in a fit for a grid of one value; else REPLAY */
    BL_VOLUME_GRADIENT_REPLAY, /* at the collisions of the paths themselves, which are given a least chance
                                  everywhere */
    BL_VOLUME_GRADIENT_DRT,    /* differential ratio tracking (Nimier-David et al. 2022): at places sampled in
                                  proportion to transmittance, from each of which one more path is walked */
    BL_VOLUME_GRADIENT_COUNT
} bl_volume_gradient;
BL_API const char *
bl_volume_gradient_name(bl_volume_gradient how); /* "auto", "replay", "drt"; NULL past the last */

/* Where the samples of a gradient pass are; the expectation is the same. */
typedef enum bl_pixels {
    BL_PIXELS_UNIFORM, /* as many in every pixel */
    BL_PIXELS_ADJOINT, /* as many in all, in proportion to |dL/dI| (over the channels, Euclidean): less
                          variance where the loss depends on few of the pixels. dL/dI comes to the host for
                          that. Path replay, with the samplers `paddedsobol` and `independent`; not in
                          two walks, whose samples are those of the image */
    BL_PIXELS_COUNT
} bl_pixels;
BL_API const char *bl_pixels_name(bl_pixels pixels); /* "uniform", "adjoint"; NULL past the last */

/* Whether a job's walks are one kernel, or are cut into many, which pass states of walks on in memory (at
 * most 64 MiB). Images are the same; gradients are to rounding, since lanes then have no private sums. For
 * comparison: it is mostly slower (docs/decisions/wavefront.md). BL_ERROR_UNSUPPORTED: images by
 * Metropolis, passes that are recorded into a caller's commands, devices of BL_DEBUG=bounds. */
typedef enum bl_wavefront {
    BL_WAVEFRONT_NONE,   /* one kernel */
    BL_WAVEFRONT_VERTEX, /* cut by vertex: a kernel does one vertex of all walks that go on */
    BL_WAVEFRONT_TARGET, /* and by material: a kernel for each kind of material, for the walks that are on it
                          */
    BL_WAVEFRONT_COUNT
} bl_wavefront;
BL_API const char *bl_wavefront_name(bl_wavefront how); /* "none", "vertex", "target"; NULL: no such value */

/* What a job's kernels compute in. Double precision is for references: finite differences with tiny steps,
 * and how much of a result is rounding. It takes about twice as long. Every real in a kernel is a double
 * then, and so are derived values, sums of images and of gradients; parameters, dL/dI, and the words of a
 * scene (vertices, also those that follow parameters) are the floats that they are. Random numbers are those
 * of single precision, so a sample walks the same path, unless rounding decides where it goes.
 * BL_ERROR_UNSUPPORTED: devices that have no doubles (shaderFloat64), ray queries, wavefront mode, float
 * accumulation, Metropolis integrators, guides, the integrator tape (docs/decisions/double-precision.md). */
typedef enum bl_precision { BL_PRECISION_SINGLE, BL_PRECISION_DOUBLE, BL_PRECISION_COUNT } bl_precision;
BL_API const char *bl_precision_name(bl_precision precision); /* "single", "double"; NULL past the last */

typedef struct bl_job_desc {
    const char *const *parameters; /* whose gradients will be asked for; may be empty */
    uint32_t parameter_count;
    bool frozen; /* also build the kernel for bl_render_desc.frozen */
    bl_accumulate accumulate;
    bool sensor_moves;     /* bl_job_set_sensor will be called: the sensor does not become a constant of the
                              kernels */
    bool geometry_changes; /* positions, normals or uv of meshes will be set that are not among the
                              parameters: geometry does not become constants of the kernels */
    bool no_baking; /* traverse the hierarchy also where the scene is so small that its geometry would become
                       constants of the kernels */
    bl_rays rays;   /* of all passes */
    bl_volume_gradient volume_gradient; /* with `frozen`, whose paths are those of replay, REPLAY */
    bl_pixels pixels; /* of gradient passes; ADJOINT is BL_ERROR_UNSUPPORTED where it cannot be */
    const struct bl_job_testing *testing; /* backlight_testing.h; NULL */
    uint64_t print_bytes; /* room for what kernels print in one pass (bl_job_prints), at most 2^24; 0: they
                             print nothing */
    bl_wavefront wavefront;
    bl_precision precision;
    uint64_t guide; /* not 0: directions are guided (docs/theory/variance.md). Before a pass the job learns
                       from so many samples per pixel, at most 65536, where light comes from; again where
                       values or the sensor have changed since. Not in recorded passes; BL_ERROR_UNSUPPORTED
                       where the scene or what is requested has no guide */
    uint64_t reserved[5];
} bl_job_desc;

/* Traces and compiles what is needed on first use; parameters' values never cause a compilation. */
BL_API bl_result bl_job_create(bl_device *device, const bl_scene *scene, const bl_job_desc *desc,
                               bl_job **out);
BL_API void bl_job_destroy(bl_job *job);
/* How the job's rays find what they hit: "baked", "bvh" or "query". */
BL_API const char *bl_job_rays(const bl_job *job);
/* How its gradients of extinction are found, never BL_VOLUME_GRADIENT_AUTO. */
BL_API bl_volume_gradient bl_job_volume_gradient(const bl_job *job);
/* What its gradients take for constant of a sampled path: "detached", points and directions; "attached", the
 * random numbers, so that directions of smooth lobes and the camera's rays follow parameters (Vicini,
 * Speierer, Jakob 2021, section 4.2); "local", random numbers where something requested moves vertices;
 * "split", local for what moves shapes and attached for all else, in a pass of its own each. It follows from
 * all requested parameters together. */
BL_API const char *bl_job_sampling(const bl_job *job);

/* Values of any parameter of the scene, bl_parameter_info.count of them, by its index in the scene; a job
 * starts with the scene's. Positions of meshes are in the world (of a shapegroup's in the group's space) and
 * must be finite; the hierarchy follows on the device before the next pass, and is built anew on the host
 * where that has made it bad; generated normals, areas and sampling tables follow, too. The scene's bounding
 * sphere (of distant lights) stays. */
BL_API bl_result bl_job_set_parameter(bl_job *job, uint32_t index, const float *values);
BL_API bl_result bl_job_get_parameter(bl_job *job, uint32_t index, float *values);

/* From now on the job looks through sensor number `sensor` of the scene (in order of its file), posed by
 * to_world instead of its own transform if that is not NULL: 16 floats, row-major, camera to world. Plugin
 * and film must be those of the sensor that the scene was loaded for. Compiles nothing. Needs
 * bl_job_desc.sensor_moves. Where parameters of sensors are among the job's, to_world must be NULL
 * (BL_ERROR_UNSUPPORTED), and gradients by those of other sensors than this one are 0. */
BL_API bl_result bl_job_set_sensor(bl_job *job, uint32_t sensor, const float *to_world);

/* What the last pass has printed (bl_trace_print). */
typedef struct bl_print {
    uint32_t x, y;   /* pixel, from the upper left */
    uint32_t sample; /* of the pixel, from 0 */
    const char *text;
} bl_print;
/* The messages of the last pass, sorted by row, column, sample and, within a sample, as they were printed:
 * the same on every run, unless there were more than bl_job_desc.print_bytes can hold. Then *more is set, and
 * which are missing is chance. They are the job's and live until its next pass or bl_job_prints. more may be
 * NULL. BL_ERROR_ARGUMENT: the job was made without print_bytes. */
BL_API bl_result bl_job_prints(bl_job *job, const bl_print **out, uint32_t *count, bool *more);

/* How a gradient pass walks its samples; the gradient has the same expectation in all forms. */
typedef enum bl_gradient_form {
    BL_FORM_AUTO,      /* the fastest that is right for the loss */
    BL_FORM_FUSED,     /* one kernel walks each sample twice; no memory per sample */
    BL_FORM_SEPARATE,  /* one kernel walks, a second one walks again and differentiates; 32 bytes per sample
                          (224 with heterogeneous media) of a tile of bounded size */
    BL_FORM_TWO_WALK,  /* the same kernels, but the samples are halves A and B: dL/dI of A's image drives the
                          adjoint of B's samples and the reverse (contracts and limits: bl_gradient_desc.form)
                        */
    BL_FORM_ONE_IMAGE, /* the same kernels, but dL/dI is that of the image of the very samples that are
                          differentiated: exact where samples have no noise */
    BL_FORM_COUNT
} bl_gradient_form;
BL_API const char *bl_gradient_form_name(bl_gradient_form form); /* "fused"; NULL past the last */
/* Whether the pass makes the image that it differentiates, and so finds image and loss. */
BL_API bool bl_gradient_form_finds_loss(bl_gradient_form form);

enum { BL_SINGULAR_DEPTHS = 8 };
typedef struct bl_stats {
    double seconds;        /* wall time of the call */
    double device_seconds; /* sum of the dispatches' device time */
    uint64_t paths;  /* camera samples; with BL_PIXELS_ADJOINT fewer than asked for by those that rounding
                        leaves over */
    uint64_t slices; /* dispatches the work was split into */
    uint64_t device_bytes; /* held by the job now */
    uint64_t drifted;      /* gradient: samples whose replay took another path or left a residual */
    uint64_t overflowed, underflowed; /* gradient: contributions outside the fixed-point range; one for all
                                         that a lookup adds to */
    uint64_t non_finite;   /* samples that count as 0: NaN, infinite, or cut; they bias the image */
    bl_gradient_form form; /* gradient: the form that was used, never BL_FORM_AUTO */
    uint32_t rebuilds;     /* hierarchies built anew on the host, because moved vertices had made them bad */
    uint32_t repeats;      /* gradient: passes repeated with a coarser scale after an overflow */
    double loss; /* gradient: the loss against a target, or sum(W*I) with an adjoint W (of the gradient's
                    samples) */
    uint64_t singular[BL_SINGULAR_DEPTHS]; /* derivatives of rays, along mirrors, glass and smooth lobes, that
                                              were no numbers and dropped, by the depth of the vertex; the
                                              last entry: of all deeper ones, too */
    uint64_t edges;                        /* most samples of moving edges: passes share them by their
                                              variance; 0: none moves, or none was wanted */
    uint64_t cut; /* stretches of paths that ended in a medium so dense that they had 2^16 collisions; where
                     light would have come from behind, the sample is one of non_finite */
    uint64_t reserved[6];
} bl_stats;

typedef struct bl_render_desc {
    uint32_t spp; /* 0: the scene's */
    uint32_t seed;
    double slice_seconds; /* longest dispatch aimed at; 0: 0.1. The result does not depend on it */
    /* Frozen-path evaluation: directions, choices and densities from the job's parameters, weights from these
     * values (all parameters of the scene, concatenated in index order). NULL: ordinary. Needs
     * bl_job_desc.frozen. */
    const float *frozen;
    bool gradient_stream; /* draw the random numbers of a gradient pass with the same seed, not those of an
                             image */
    float *variance;      /* height*width*channels, or NULL: variance of one sample, per pixel and channel */
    float *channels;      /* height*width*bl_scene_channel_count, or NULL: the scene's further channels */
    bl_progress progress;
    void *user;
    /* A render that is cancelled also leaves in image what there is: each pixel is the mean of the samples
     * that it has. The share of all samples is what progress was told last. Pixels at the end may have none
     * yet and are black. With light tracing and Metropolis integrators the whole image is dark in
     * proportion. */
    bool partial;
    double *doubles; /* height*width*channels, or NULL: the image as it is before it is rounded to floats. Of
                        jobs in double precision */
    const double *frozen_doubles; /* in place of frozen, so that steps are exact, however small (48 bits are
                                     kept). Of jobs in double precision */
    uint64_t reserved[5];
} bl_render_desc;

/* image: height*width*channels floats, or NULL. stats may be NULL. */
BL_API bl_result bl_job_render(bl_job *job, const bl_render_desc *desc, float *image, bl_stats *stats);

/* Of the last image of a job whose scene has a Metropolis integrator (pssmlt, cpmmlt, mmlt): how its Markov
 * chains have done. */
typedef struct bl_chains {
    uint64_t count;          /* of chains; 0: there is no such image */
    uint64_t particles;      /* paths of a step of one chain */
    uint64_t steps;          /* of each chain; 0: no probe has found light, and the image is black */
    uint64_t probes;         /* independent steps of each chain before those, from which starts are chosen */
    uint64_t vertices;       /* of all paths of steps: each sends a ray onward and, mostly, one to a light */
    double mean, mean_error; /* mean luminance of a path, which is that of the image (without direct light,
                                where the integrator's separate_direct is true), and its standard error; a
                                factor of what chains find, from probes */
    double large_mean;       /* the same from steps that are independent, to compare with */
    double taken, large_taken; /* share of small and of large steps that chains have taken, 0 to 1 */
    uint64_t reserved[4];
} bl_chains;
/* Never fails. */
BL_API bl_chains bl_job_chains(const bl_job *job);

/* ---- rays: what the caller's rays meet in a job's scene, for picking, visibility, measurements ---- */

/* The points origin + t direction with tmin < t < tmax, in the world and its units of length. The direction
 * is of unit length; one that is not is never refused, but what it meets is then not defined. tmax may be
 * INFINITY; nothing is met beyond 1e30. Nothing at all is met by what is no ray: a number that is NaN or (but
 * for tmax) infinite, a direction of zeros, tmin below 0 or not below tmax. */
typedef struct bl_ray {
    float origin[3], tmin, direction[3], tmax;
} bl_ray;

#define BL_NO_HIT UINT32_MAX
typedef struct bl_hit {
    float t;            /* INFINITY where nothing is hit */
    float u, v;         /* on a triangle: barycentric weights of its second and third corner; on other shapes
                           numbers of their own */
    uint32_t shape;     /* bl_scene_shape_name; BL_NO_HIT where nothing is hit */
    uint32_t primitive; /* in the shape: a mesh's face */
    uint32_t instance;  /* bl_scene_instance_name; BL_NO_HIT in a scene without instances */
} bl_hit;

/* The first surface that each ray meets, or whether it meets any at all, on the job's device, by the job's
 * way of tracing rays (bl_job_desc.rays), with vertices and places as they are now. Materials and media play
 * no part: what lets light through is hit as well. count: of rays and of results, any number, 0 too; arrays
 * are the caller's and not kept. A ray's result does not depend on other rays or how work is cut. From device
 * to device and way to way t, u, v differ by rounding, and so does what a ray along an edge meets. stats (may
 * be NULL): seconds, device_seconds, slices, device_bytes, rebuilds. */
BL_API bl_result bl_job_closest_hits(bl_job *job, uint64_t count, const bl_ray *rays, bl_hit *hits,
                                     bl_stats *stats);
BL_API bl_result bl_job_any_hits(bl_job *job, uint64_t count, const bl_ray *rays, bool *blocked,
                                 bl_stats *stats);
/* The camera's rays of sample number `sample` of `spp` (0: the scene's) of each pixel, as bl_job_render draws
 * them. rays: height*width, row 0 at the top. */
BL_API bl_result bl_job_camera_rays(bl_job *job, uint32_t spp, uint32_t seed, uint32_t sample, bl_ray *rays);

typedef struct bl_rays_info {
    const char *name;                    /* as bl_job_rays */
    double host_seconds, device_seconds; /* building hierarchies took: with the scene, our own two-wide ones;
                                            then with the job, the device's structure for ray queries, or the
                                            native device's eight-wide ones (0: neither is there) */
    uint64_t host_bytes, device_bytes;   /* their sizes, with copies of the primitives */
    uint64_t reserved[8];
} bl_rays_info;
BL_API bl_rays_info bl_job_rays_info(const bl_job *job);

/* Every loss is a mean over the values of the image I (height*width*channels) against a target T. */
typedef enum bl_loss {
    BL_LOSS_L2,          /* (I - T)^2 */
    BL_LOSS_L1,          /* |I - T| */
    BL_LOSS_RELATIVE_L2, /* (I - T)^2 / (T^2 + epsilon) */
    BL_LOSS_HUBER,       /* (I - T)^2 / 2 where |I - T| <= delta, delta (|I - T| - delta / 2) elsewhere */
    BL_LOSS_COUNT
} bl_loss;

typedef struct bl_loss_info {
    const char *name;          /* "relative_l2" */
    const char *constant_name; /* of its own number, "epsilon"; NULL where it has none */
    double constant;           /* its default */
    bool unbiased; /* dL/dI is affine in I, so noise of the image does not bias the gradient; others get
                      better with spp */
    uint64_t reserved[8];
} bl_loss_info;
BL_API bl_loss_info bl_loss_info_get(bl_loss loss); /* name NULL: there is no such loss */

/* A term of a loss that is a weighted sum. With levels it compares pyramids: level 0 is image and target
 * themselves, each further level has half the width and height of the one before, rounded up, of means over
 * 2 x 2 pixels (over fewer at the border; by their weights, where pixels have some). */
typedef struct bl_loss_term {
    bl_loss loss;
    uint32_t levels; /* 0: 1, the image alone; at most BL_LOSS_LEVELS_MOST, and no more than halve the film */
    double constant; /* the loss's own number; 0: its default */
    double weight;   /* 0: 1 */
    const double *level_weights; /* levels numbers, 0 or above, or NULL: each is 1 / levels */
    uint64_t reserved[8];
} bl_loss_term;
enum { BL_LOSS_TERMS_MOST = 8, BL_LOSS_LEVELS_MOST = 8 };
typedef struct bl_composite_loss {
    const bl_loss_term *terms;
    uint32_t term_count; /* at most BL_LOSS_TERMS_MOST */
    uint64_t reserved[8];
} bl_composite_loss;

typedef struct bl_gradient_desc {
    /* Other forms than BL_FORM_TWO_WALK render an image, take dL/dI from it, and walk other samples twice:
     * three walks, biased where dL/dI is not affine in I. Two walks need a target, such a loss
     * (bl_loss_info.unbiased) and an even number of samples of the gradient. These make the image, too, and
     * the loss is then an unbiased estimate that may be negative. Where two walks are asked for by name, the
     * image may have more samples: those beyond the gradient's make one image, which both halves count with
     * its share of all samples. The gradient stays without bias; the loss contains a part of the variance of
     * that image (docs/theory/two_walks.md). BL_FORM_AUTO takes two walks where it can, with as many samples
     * for image as for gradient. One image needs a target and as many samples for image as for gradient, of
     * which one may do, and takes any loss.
     * Its gradient is that of the expected loss of the images that are rendered: for squared errors that of
     * the expected image plus the variance of the image. */
    bl_gradient_form form;
    uint32_t spp; /* of the gradient pass, a pixel's or, with BL_PIXELS_ADJOINT, a pixel's on average; 0: the
                     scene's */
    uint32_t spp_primal; /* of the image, where one is rendered (target or image given); 0: spp */
    uint32_t seed;
    double slice_seconds;
    const float *adjoint; /* dL/dI, height*width*channels finite numbers; or */
    const float *target;  /* an image of as many, for the loss below */
    bl_loss loss;
    double loss_constant; /* the loss's own number (epsilon, delta); 0: its default */
    float *image;         /* receives an image of the primal's stream, height*width*channels; or NULL */
    bl_progress progress;
    void *user;
    bl_edges edges; /* BL_EDGES_NONE leaves them out of this one */
    uint64_t reserved[7];
} bl_gradient_desc;

/* Reverse mode: path replay backpropagation with detached sampling (Vicini, Speierer, Jakob 2021, section
 * 4.1). Gradients stay in the job until the next call. With the integrators rb_biased2 and rb_biased1_2
 * (pipelined radiative backpropagation) dL/dI is that of the image which the call before with a target has
 * made along with its gradient; the first call renders one. stats may be NULL. */
BL_API bl_result bl_job_gradient(bl_job *job, const bl_gradient_desc *desc, bl_stats *stats);
/* k: index into bl_job_desc.parameters. values: count of that parameter. Zeros before the first gradient. */
BL_API bl_result bl_job_read_gradient(bl_job *job, uint32_t k, float *values);
/* The same before it is rounded to floats; of jobs in double precision. */
BL_API bl_result bl_job_read_gradient_doubles(bl_job *job, uint32_t k, double *values);

typedef struct bl_forward_desc {
    uint32_t spp; /* 0: the scene's */
    uint32_t seed;
    double slice_seconds;
    /* The direction: per parameter of bl_job_desc.parameters its values, NULL for zeros. NULL: ones for all
     * of them. */
    const float *const *tangents;
    bl_progress progress;
    void *user;
    bl_edges edges; /* BL_EDGES_NONE leaves them out of this one */
    uint64_t reserved[7];
} bl_forward_desc;

/* Forward mode: the derivative of the image along a direction of parameter space. image:
 * height*width*channels floats. Walks the paths of bl_job_gradient with the same seed, so sum(W * image) is
 * that gradient for the adjoint W, along the direction, up to rounding. image and stats may be NULL. */
BL_API bl_result bl_job_forward(bl_job *job, const bl_forward_desc *desc, float *image, bl_stats *stats);

typedef enum bl_pass {
    BL_PASS_PRIMAL,
    BL_PASS_GRADIENT, /* of BL_FORM_FUSED */
    BL_PASS_REPLAY,   /* the two of BL_FORM_SEPARATE */
    BL_PASS_ADJOINT,
    BL_PASS_FROZEN,
    BL_PASS_FORWARD,
    BL_PASS_VARIANCE, /* the image with squares of its samples */
    BL_PASS_CHANNELS, /* channels of the first hit */
    BL_PASS_TAPE,     /* the two of the integrator `tape` */
    BL_PASS_TAPE_ADJOINT,
    BL_PASS_UPDATE,             /* derived values, */
    BL_PASS_UPDATE_ADJOINT,     /* their gradients to those of parameters, after a gradient pass, */
    BL_PASS_UPDATE_TANGENT,     /* and their tangents, before a forward pass */
    BL_PASS_TABLES,             /* sampling tables */
    BL_PASS_GEOMETRY,           /* what follows from moved vertices; of derived normals */
    BL_PASS_GEOMETRY_ADJOINT,   /* gradients */
    BL_PASS_GEOMETRY_TANGENT,   /* and tangents */
    BL_PASS_CAMERA_RAYS,        /* bl_job_camera_rays, */
    BL_PASS_RAYS,               /* bl_job_closest_hits, */
    BL_PASS_RAYS_ANY,           /* bl_job_any_hits */
    BL_PASS_EDGES_SEEN,         /* moving edges, behind a gradient pass: seen by the sensor, */
    BL_PASS_EDGES_PATH,         /* seen by surfaces, */
    BL_PASS_EDGES_LIT,          /* and borders of shadows; */
    BL_PASS_EDGES_SEEN_FORWARD, /* behind a forward pass */
    BL_PASS_EDGES_PATH_FORWARD,
    BL_PASS_EDGES_LIT_FORWARD,
    BL_PASS_EDGES_LEARN,  /* before each of these: where on edges they look */
    BL_PASS_CHAIN_ACCEPT, /* of Metropolis integrators, behind each BL_PASS_PRIMAL */
    BL_PASS_GUIDE_LEARN,  /* before others of a job with a guide (bl_job_desc.guide) */
    BL_PASS_COUNT
} bl_pass;

typedef struct bl_pass_info {
    const char *name; /* "tape-adjoint" */
    const char *help; /* what it does, in a line */
    bool gradient;    /* a job without parameters does not have it */
    uint64_t reserved[8];
} bl_pass_info;
BL_API bl_pass_info bl_pass_info_get(bl_pass pass); /* name NULL: there is no such pass */

/* A job is split where what moves shapes is among its parameters, and what turns mirrors and glass, or the
 * camera beside those, is, too (docs/theory/moving_geometry.md). It then has two kernels of each pass that
 * differentiates paths or edges, and runs both. The functions below that speak of a pass mean the kernel of
 * the part that bl_job_show_part has chosen, at first of part 0. */
/* The name of a part of a pass: "shapes" (0) or "others" (1) in a split job, else "" (0); NULL: there is no
 * such part. */
BL_API const char *bl_job_part_name(const bl_job *job, bl_pass pass, uint32_t part);
BL_API bl_result bl_job_show_part(bl_job *job, uint32_t part);

/* The trace of a pass as text: optimised false as recorded, true as it goes to code generation. free() the
 * text. */
BL_API bl_result bl_job_trace_text(bl_job *job, bl_pass pass, bool optimised, char **out);
/* Calls visit with the trace of a pass as text: "recorded", then after each compiler pass, named, in the
 * order they run. */
BL_API bl_result bl_job_trace_stages(bl_job *job, bl_pass pass,
                                     void (*visit)(void *user, const char *stage, const char *text),
                                     void *user);
/* The trace as a graph in the DOT language of Graphviz. free() the text. */
BL_API bl_result bl_job_trace_graph(bl_job *job, bl_pass pass, bool optimised, char **out);
typedef struct bl_kernel_info {
    double trace_seconds, optimise_seconds,
        generate_seconds;  /* recording the trace, passes over it, SPIR-V */
    double cache_seconds;  /* looking the words up, keeping them */
    double driver_seconds; /* creating the pipeline; some drivers compile part of it, or all, on the first
                              dispatch */
    uint64_t spirv_words;  /* native device: words of the kernel that the processor runs */
    uint32_t functions, ops,
        calls; /* of the optimised trace; 0 where the words are cached, and of a reference */
    uint32_t call_bytes, state_bytes; /* arguments, selectors and results of all calls; states of all loops */
    bool baked;                       /* the geometry is in the kernel (bl_job_desc.no_baking) */
    bool cached;                      /* the words come from the cache on disk (bl_context_desc.cache) */
    uint64_t reserved[8];
} bl_kernel_info;
/* Makes the kernel of a pass, if it is not there yet. info (may be NULL): what making it took. */
BL_API bl_result bl_job_compile(bl_job *job, bl_pass pass, bl_kernel_info *info);
/* Whether the pass would do something in this job; bl_job_compile fails where not. */
BL_API bool bl_job_has_pass(const bl_job *job, bl_pass pass);
/* Number `index` of what the compiler tells of a pass's kernel, which is there; false: there is no such
 * number. *name: the compiler's own, valid as long as the job. Vulkan: of bl_device_create_compiler, where
 * the driver has VK_KHR_pipeline_executable_properties ("VGPRs", "Scratch size", ..). Native device: "Code
 * size" and "Workspace size", in bytes; each thread has one workspace. */
BL_API bool bl_job_kernel_statistic(const bl_job *job, bl_pass pass, uint32_t index, const char **name,
                                    double *value);
/* Of the kernels that are the same for every scene (losses, optimisers, sums), number k: a device makes each
 * when a job or a fit first needs it, this function makes it now. *name: a string of the library; NULL, with
 * BL_OK: there is no kernel k. Of *info it sets the words, the size of the trace and the times of generation
 * and driver. */
BL_API bl_result bl_device_compile_fixed(bl_device *device, uint32_t k, const char **name,
                                         bl_kernel_info *info);
/* SPIR-V words; free() them. */
BL_API bl_result bl_job_spirv(bl_job *job, bl_pass pass, uint32_t **words, size_t *word_count);
/* The machine code of a pass on the native device, disassembled: below each instruction of the trace, as a
 * comment, what is made of it. free() the text. BL_ERROR_UNSUPPORTED: the job's device is another one. */
BL_API bl_result bl_job_machine_code(bl_job *job, bl_pass pass, char **out);

/* ---- fits ---- */

/* With the defaults and formulas of Mitsuba's (Dr.Jit's) optimisers of these names. */
typedef enum bl_optimizer {
    BL_OPTIMIZER_ADAM,
    BL_OPTIMIZER_SGD,
    BL_OPTIMIZER_RMSPROP,
    BL_OPTIMIZER_COUNT
} bl_optimizer;
BL_API const char *
bl_optimizer_name(bl_optimizer optimizer); /* "adam", "sgd", "rmsprop"; NULL past the last */

/* What a fit may do with the to_world of a shape, an instance or a camera (perspective, thinlens). */
typedef enum bl_motion {
    BL_MOTION_RIGID,      /* move and turn it: the fit's steps are of its translation and rotation (not of the
                             rotation of a ball that looks the same from all sides) */
    BL_MOTION_SIMILARITY, /* and scale it alike in all directions: of its scale, too; not for cameras */
    BL_MOTION_FREE,       /* change each number of the matrix on its own, so that it may also shear */
    BL_MOTION_COUNT
} bl_motion;
BL_API const char *bl_motion_name(bl_motion motion); /* "rigid", "similarity", "free"; NULL past the last */

/* What draws a parameter's values to a centre. */
typedef enum bl_prior {
    BL_PRIOR_NONE,
    BL_PRIOR_L2, /* the square of the difference: far values most */
    BL_PRIOR_L1, /* its magnitude: all alike, so that values without a reason to be elsewhere reach the centre
                  */
    BL_PRIOR_COUNT
} bl_prior;
BL_API const char *bl_prior_name(bl_prior prior); /* "none", "l2", "l1"; NULL past the last */

typedef struct bl_fit_parameter {
    const char *name;
    double rate;          /* learning rate; 0: the fit's */
    double least, most;   /* bounds applied after each step; both 0: the parameter's own range */
    const float *initial; /* count values, or NULL: the scene's */
    /* Of an image or a grid (shape [y, x, channels] or [z, y, x, channels]): this times its total variation
     * is added to the loss that is minimised (not to the one reported): the mean over entries of
     * sqrt(smoothing^2 + the squares of the differences to the next entry along each axis). 0: nothing. */
    double total_variation, smoothing; /* smoothing 0: 0.001 */
    /* Above 0, of a mesh's vertex_positions or a heightfield's heights: large steps (Nicolet et al. 2021),
     * preconditioned by the inverse of I + large_steps L, L the Laplacian of the mesh's edges: their lambda,
     * 19 is a good one. Steps are AdamUniform's, so the optimiser must be adam; no bounds.
     * BL_ERROR_UNSUPPORTED, with what to install, where the library CHOLMOD is not there. */
    double large_steps;
    uint32_t fixed_axes; /* of large steps: bit k, coordinate k of every vertex stays */
    /* A bl_motion, of the to_world of a shape, an instance or a camera. Unless it is FREE, `initial` and
     * bl_fit_get are matrices all the same, and rate is that of the translation (in the scene's units) and of
     * the rotation (in radians) alike. There are no bounds; those of a translation, say, are set by naming
     * it, alone or beside to_world, which then moves in the other ways only. */
    uint64_t motion;
    /* A bl_prior: prior_weight times its mean over all values is added to the loss that is minimised (not to
     * the one reported). Not of a to_world that moves as a whole. prior_weight is above 0 where there is one.
     */
    uint64_t prior;
    double prior_weight, prior_centre;
    double beta_1, beta_2; /* adam; 0: the fit's */
    /* Not 0: a step leaves elements as they are whose gradient is exactly 0, as PyTorch's SparseAdam: for
     * large textures of which a step sees little. Their moments do not decay, so they do not move on by what
     * was seen of them before. Needs adam, and neither prior, total variation nor large steps. Where all
     * elements have gradients it changes nothing. */
    uint64_t sparse;
    uint64_t reserved[1];
} bl_fit_parameter;

typedef struct bl_fit_view {
    const float *target; /* height*width*channels, finite where the weight is not 0; held out: may be NULL */
    uint32_t sensor;     /* as in bl_job_set_sensor; its parameters may be among the fit's */
    const float *to_world; /* as in bl_job_set_sensor */
    bool held_out;         /* no step sees this view; bl_fit_render shows it */
    /* height*width numbers, 0 or above, or NULL: all are 1. The view's loss is the mean over all values of
     * the pixel's weight times the value's loss; 0: the pixel does not count, whatever its target. */
    const float *weights;
    double weight; /* of the view's loss in the mean over views, 0: 1; shares are weights over their sum */
    uint64_t reserved[6];
} bl_fit_view;

typedef struct bl_fit_change {
    uint32_t step; /* from this step on (the first is 1) */
    double factor; /* rates are the given ones times this */
    /* spp and spp_gradient are the given ones times this; 0: as before the change. Where any change says it,
     * all steps' are rounded up to even numbers. Not with wanted_noise, recursive_images, rb_biased2 and
     * rb_biased1_2. */
    double samples;
} bl_fit_change;

#define BL_AVERAGE_AUTO (1ull << 32) /* added to a step, in bl_fit_desc.average_from */

typedef struct bl_fit_desc {
    const bl_fit_parameter *parameters;
    uint32_t parameter_count;
    const float *target; /* one view: an image through the scene's first sensor, as bl_fit_view.target; or */
    const bl_fit_view *views; /* several; the loss is the mean of theirs, by their weights */
    uint32_t view_count;
    bl_loss loss;
    bl_gradient_form form; /* as in bl_gradient_desc */
    double loss_constant;  /* the loss's own number (epsilon, delta); 0: its default */
    bl_optimizer optimizer;
    double rate;                   /* 0: 0.05 */
    double beta_1, beta_2;         /* adam; 0: .9, .999 */
    double momentum;               /* sgd; 0 is the default */
    bool nesterov;                 /* sgd */
    double alpha;                  /* rmsprop; 0: .99 */
    double epsilon;                /* adam, rmsprop; 0: 1e-8 */
    const bl_fit_change *schedule; /* rates and samples over time, steps ascending; before the first change
                                      both are as given */
    uint32_t schedule_count;
    uint32_t spp, spp_gradient, seed; /* 0: 16; spp */
    bool common_numbers; /* all steps have the random numbers of the first: losses compare from step to step,
                            and noise does not average out over steps */
    /* Steps that an earlier fit has done: the schedule, random numbers and bl_fit_status.step go on from
     * there. The optimiser starts anew. */
    uint32_t first_step;
    bool no_baking; /* as in bl_job_desc */
    bl_rays rays;
    bl_volume_gradient volume_gradient;
    bl_pixels pixels; /* as in bl_job_desc */
    /* Above 0: a step sees so many pixels, drawn from all views that are not held out, instead of all of
     * them. The loss is the mean over these pixels, and its expectation that of all. The draw depends on seed
     * and step alone (with common_numbers, too), and no pixel comes again before all others have come. The
     * targets must then stay as they are until the fit is destroyed. */
    uint32_t batch;
    const float *weights; /* of the pixels of `target`, as in bl_fit_view */
    /* Above 0: of the first step and every so many steps after it the gradient is found twice, with
     * independent random numbers at the same values; bl_fit_get_noise says how much the two differ. The
     * second one moves nothing, so all values stay the same bytes. */
    uint64_t variance_steps;
    /* Above 0: the samples of a step follow from the steps before, so that the standard error of its gradient
     * is about this times the gradient's magnitude: few where the way is clear, more near the end. spp and
     * spp_gradient are then the most that a step has, spp_least the least of the gradient (0: 2); the image
     * has its part of as many. */
    double wanted_noise;
    uint64_t spp_least;
    /* Not 0: the image of a step is that of the step before, corrected by how much two images of the same
     * random numbers differ that are rendered before and after its move (Nicolet et al. 2023), so its noise
     * falls from step to step. Needs one image more a step, a form with an image of its own (fused,
     * separate), and an even spp. */
    uint64_t recursive_images;
    /* Above 0: from this step on (the first is 1) the mean of the values after all steps is kept, for
     * bl_fit_settle. With BL_AVERAGE_AUTO added: what tells, value by value, where its gradient vanishes. */
    uint64_t average_from;
    /* Instead of loss and loss_constant: a weighted sum of losses. It is unbiased, and may be stepped in two
     * walks, where all of its terms are. With more levels than one a batch is of blocks of pixels, one for
     * each pixel of the coarsest level; their side must divide the image's, their size the batch. */
    const bl_composite_loss *composite;
    uint64_t reserved[1];
} bl_fit_desc;

/* Minimises the loss against the target, entirely on the device. */
BL_API bl_result bl_fit_create(bl_device *device, const bl_scene *scene, const bl_fit_desc *desc,
                               bl_fit **out);
BL_API void bl_fit_destroy(bl_fit *fit);

typedef struct bl_fit_status {
    uint32_t step;                            /* steps done */
    double loss;                              /* of the images before the last step: the mean over views, or
                                                 over the pixels of its batch */
    bl_gradient_form form;                    /* that steps are made in, never BL_FORM_AUTO */
    bl_volume_gradient volume_gradient;       /* as bl_job_volume_gradient */
    uint64_t drifted, overflowed, non_finite; /* of the last step, as in bl_stats */
    uint64_t skipped; /* since the first step: times an element was left as it was because its gradient was
                         not finite */
    uint32_t repeats; /* since the first step: how often the fixed-point scale became coarser and the step was
                         repeated */
    uint64_t device_bytes; /* held by the fit */
    uint64_t cut;          /* of the last step, as in bl_stats */
    uint64_t samples;      /* since the first step: of images and gradients; without looks at the noise */
    uint32_t spp, spp_gradient; /* of the last step */
    uint64_t reserved[5];
} bl_fit_status;

/* One step. All work stays on the device; only the loss and status words come back (and dL/dI with
 * BL_PIXELS_ADJOINT). A parameter with a value that is NaN or infinite after the step is an error that names
 * it: the fit cannot go on then, but from what was saved before. status may be NULL. */
BL_API bl_result bl_fit_step(bl_fit *fit, bl_fit_status *status);
/* Makes the values the means over all steps from bl_fit_desc.average_from on (Polyak, Juditsky 1992): noise
 * moves parameters to and fro at the end of a fit, and their mean is nearer to where they would go without.
 * Before the first of these steps it changes nothing. Meant for the end; further steps go on from there.
 * With BL_AVERAGE_AUTO each value goes to where its gradient over these steps vanishes, by least squares
 * (Frees, Ruppert 1990), by a share that says how surely anything holds it: 1 of a value that has arrived, or
 * overshot, and moves to and fro, about 0 of one that still drifts, for which a mean would be of the past. It
 * takes at least 8 steps, the later half of all, say. Meshes of large steps stay as they are. */
BL_API bl_result bl_fit_settle(bl_fit *fit);
/* That share, of parameter k of the descriptor: the mean over its values. 0 without BL_AVERAGE_AUTO, and
 * before bl_fit_settle. */
BL_API bl_result bl_fit_get_settled(const bl_fit *fit, uint32_t k, double *share);
/* What the last step returned; after bl_fit_restore, what it had returned when the state was saved. */
BL_API bl_fit_status bl_fit_status_get(const bl_fit *fit);
BL_API const char *bl_fit_sampling(const bl_fit *fit); /* bl_job_sampling of its gradients */
/* Whether a loss has stopped falling. */
typedef struct bl_plateau {
    double before, after; /* means of the window before, and of the last one */
    double error; /* standard error of their difference, from differences of neighbouring steps, so that
                     a slope does not count as noise */
    bool reached; /* before - after is no more than improvement * |before| + 2 * error */
    uint64_t reserved[8];
} bl_plateau;
/* Of the losses of the last 2 * window steps, oldest first. window: at least 1. */
BL_API bl_plateau bl_loss_plateau(const double *losses, uint32_t window, double improvement);

/* What each term of a composite loss has added to the loss of the last step (term_count values); zeros before
 * the first step since the fit was created or restored. */
BL_API bl_result bl_fit_get_terms(const bl_fit *fit, double *values);
/* Current values of parameter k of the descriptor: bl_parameter_info.count of the scene's parameter. */
BL_API bl_result bl_fit_get(bl_fit *fit, uint32_t k, float *values);

/* How noisy the gradient of a parameter is, from two independent estimates g and h of it: over the n values
 * of the parameter (of a to_world that moves as a whole, over its translation, rotation and scale). Without
 * priors and total variation, which have no noise. */
typedef struct bl_fit_noise {
    uint32_t step;   /* whose gradient this is; 0: none has been looked at */
    double variance; /* of one gradient: sum (g - h)^2 / 2n */
    double square;   /* of the gradient without noise: sum g h / n. Its expectation is right whatever the
                        noise, so it may be negative; means over several looks tell more */
    uint64_t reserved[4];
} bl_fit_noise;
/* That of parameter k of the descriptor as it was last looked at (bl_fit_desc.variance_steps) since the fit
 * was created or restored. Where a sum overflowed there is no look. */
BL_API bl_result bl_fit_get_noise(const bl_fit *fit, uint32_t k, bl_fit_noise *out);
/* Image of the current parameters, height*width*channels, from an independent stream, through a view of the
 * descriptor. */
BL_API bl_result bl_fit_render(bl_fit *fit, uint32_t view, const bl_render_desc *desc, float *image);

/* Writes all that the next steps depend on (parameters, the optimiser's state, step, fixed-point scale) to a
 * file, with a checksum: under a temporary name, synced to disk, then renamed, so that a crash at any moment
 * leaves the old file or the new one. note: bytes of the caller's own that travel along. */
BL_API bl_result bl_fit_save(bl_fit *fit, const char *path, const void *note, size_t note_size);
/* Goes on from a file of bl_fit_save, in a fit that was created with the same scene and descriptor by the
 * same version of the library on the same device and driver: steps from here on give the same bytes as if
 * there had been no interruption. Anything else, and a file that is damaged, is an error that says what
 * differs, and leaves the fit as it was. *note (may be NULL with note_size): free() it. */
BL_API bl_result bl_fit_restore(bl_fit *fit, const char *path, void **note, size_t *note_size);
/* The note alone, before there is a fit: free() it. */
BL_API bl_result bl_fit_read_note(bl_context *ctx, const char *path, void **note, size_t *note_size);

/* ---- images in files ---- */

/* By extension: .exr (float32), .pfm, .hdr (Radiance), .png and .jpg (sRGB, clipped to [0, 1]); written under
 * a temporary name, then renamed. channels 1 or 3. */
BL_API bl_result bl_image_write(bl_context *ctx, const char *path, uint32_t width, uint32_t height,
                                uint32_t channels, const float *pixels);
/* EXR, PNG, JPEG, PFM, Radiance (.hdr), as linear values. free() the pixels. */
BL_API bl_result bl_image_read(bl_context *ctx, const char *path, uint32_t *width, uint32_t *height,
                               uint32_t *channels, float **pixels);
/* The same, over a background (three linear values; NULL: alpha is dropped). Where the file has an alpha
 * channel, the image is that of its colours in front of the background, composed as linear values. */
BL_API bl_result bl_image_read_over(bl_context *ctx, const char *path, const float *background,
                                    uint32_t *width, uint32_t *height, uint32_t *channels, float **pixels);
/* How close an image is to another, both height*width*3 linear values, as they are displayed: clipped to
 * [0, 1] and sRGB-encoded, with the peak 1. Failures have no text: BL_ERROR_ARGUMENT for no pixels,
 * BL_ERROR_MEMORY. */
typedef struct bl_image_quality {
    double psnr; /* dB, of the mean square over all values; infinite where the images are equal */
    /* Structural similarity (Wang et al. 2004): windows of 11 x 11 pixels weighted by a Gaussian of
     * sigma 1.5, K1 .01, K2 .03; the mean over all windows inside the image, and over the three channels. NaN
     * where a side is below 11 pixels. */
    double ssim;
    uint64_t reserved[8];
} bl_image_quality;
BL_API bl_result bl_image_compare(uint32_t width, uint32_t height, const float *image, const float *truth,
                                  bl_image_quality *out);

#ifdef __cplusplus
}
#endif
#endif
