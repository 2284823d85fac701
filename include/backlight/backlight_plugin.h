/* SPDX-License-Identifier: BSD-3-Clause
 * Materials, textures and lights of your own, in scenes of a context, without touching the library.
 * EXPERIMENTAL: may change in any version.
 *
 *     static bl_plugin_color my_value(bl_plugin_trace *t, bl_plugin_vec3 wi, bl_plugin_vec3 wo,
 *     bl_plugin_vec2 uv) {..}
 *     bl_plugin_add_bsdf(ctx, &(bl_bsdf_plugin){.name = "mine", .parameters = .., .sample = .., .pdf = ..,
 *     .value = my_value});
 *     bl_scene_load(ctx, "scene.xml", NULL, &scene);          with <bsdf type="mine"> in it
 *
 * A plugin's functions are called while kernels are traced, not while they run: they record operations with
 * the builders of backlight_ir.h, on bl_plugin_func(t). Each instance of the plugin in a scene shares what
 * was recorded and differs in its parameters' values, which the functions read with bl_plugin_number and
 * bl_plugin_texture: so they are parameters of the scene like any others, differentiable in forward and
 * reverse mode, and bl_job_set_parameter changes them without compiling. What the functions decide in C is
 * fixed for all.
 *
 * Gradients are those of detached sampling: `value` is differentiated, `sample` and `pdf` are not. A mistake
 * in recording is the error of the job that first needs the kernel. Functions may be called from any thread
 * that uses the context, with the same result every time. */
#ifndef BACKLIGHT_PLUGIN_H
#define BACKLIGHT_PLUGIN_H

#include <backlight/backlight_ir.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bl_plugin_trace
    bl_plugin_trace; /* of one instance's functions; means something during the call alone */
typedef struct bl_plugin_vec2 {
    bl_ir_value x, y;
} bl_plugin_vec2;
typedef struct bl_plugin_vec3 {
    bl_ir_value x, y, z;
} bl_plugin_vec3;
typedef struct bl_plugin_color {
    bl_ir_value c[3]; /* linear RGB */
} bl_plugin_color;

/* ---- for use in a plugin's functions ---- */

BL_API bl_ir_func *bl_plugin_func(bl_plugin_trace *t); /* what to record in */
/* The trace that it belongs to, for functions of your own that it calls (bl_ir_func_create, bl_ir_call,
 * bl_ir_custom). Not to be destroyed, run or given buffers. */
BL_API bl_ir *bl_plugin_ir(bl_plugin_trace *t);
/* What the descriptor of the plugin has as `user`. */
BL_API void *bl_plugin_user(bl_plugin_trace *t);
/* Makes `why` the trace's error, if it has none yet: the kernel's job fails with this text. */
BL_API void bl_plugin_fail(bl_plugin_trace *t, const char *why);
/* Parameters, by their index in the plugin's table: a BL_PLUGIN_NUMBER; a BL_PLUGIN_TEXTURE at uv, as a
 * colour, as one number (luminance). */
BL_API bl_ir_value bl_plugin_number(bl_plugin_trace *t, uint32_t parameter);
BL_API bl_plugin_color bl_plugin_texture(bl_plugin_trace *t, uint32_t parameter, bl_plugin_vec2 uv);
BL_API bl_ir_value bl_plugin_texture_1(bl_plugin_trace *t, uint32_t parameter, bl_plugin_vec2 uv);
/* Two uniform numbers to a direction of the upper hemisphere with density cos / pi; to any direction, with
 * density 1 / (4 pi). */
BL_API bl_plugin_vec3 bl_plugin_cosine_hemisphere(bl_plugin_trace *t, bl_ir_value u1, bl_ir_value u2);
BL_API bl_plugin_vec3 bl_plugin_uniform_sphere(bl_plugin_trace *t, bl_ir_value u1, bl_ir_value u2);

/* ---- tables ---- */

typedef enum bl_plugin_kind {
    BL_PLUGIN_NUMBER, /* a float */
    BL_PLUGIN_TEXTURE /* a colour, a number (grey) or a texture */
} bl_plugin_kind;

typedef struct bl_plugin_param {
    const char *name; /* letters, digits and _ */
    bl_plugin_kind kind;
    const char *preset; /* default, as in XML: "0.5", "1, .8, .2" (textures); NULL: must be given */
    double least, most; /* of a number; both 0: any. Of a texture: colours outside of [0, 1] are an error
                           where most is 1 */
    const char *help;
} bl_plugin_param;

/* ---- materials ---- */

/* Directions are of unit length, in the local frame of the shading normal (0, 0, 1), and point away from the
 * surface: wi to where the path comes from, wo to where it goes. */
/* What `choose` of a material with discrete lobes returns. */
typedef struct bl_bsdf_choice {
    bl_plugin_vec3 wo;
    bl_ir_value pdf; /* f32: of a discrete lobe, the probability with which it was chosen; else the density
                        per solid angle, `pdf`; 0: nothing was found */
    bl_ir_value discrete; /* bool */
    bl_ir_value lobe; /* u32: number of the discrete lobe, BL_PLUGIN_THROUGH or below; means something where
                         `discrete` is true */
    bl_ir_value
        eta; /* f32: index of refraction on the side of wo over that on the side of wi; 1: reflection */
} bl_bsdf_choice;
enum { BL_PLUGIN_THROUGH = 0x40000000 }; /* the lobe that goes straight on, as if there were no surface */

typedef struct bl_bsdf_plugin {
    const char *name, *help;
    const bl_plugin_param *parameters;
    uint32_t parameter_count; /* 30 at most */
    bool transmits;           /* sends light to the other side, too */
    /* A direction from three uniform numbers in [0, 1): one to choose between lobes, two for the
     * direction. */
    bl_plugin_vec3 (*sample)(bl_plugin_trace *t, bl_plugin_vec3 wi, bl_plugin_vec2 uv, bl_ir_value u_lobe,
                             bl_ir_value u1, bl_ir_value u2);
    /* Its density per solid angle; not 0 where `value` is not. */
    bl_ir_value (*pdf)(bl_plugin_trace *t, bl_plugin_vec3 wi, bl_plugin_vec3 wo, bl_plugin_vec2 uv);
    /* The material's f(wi, wo) times |cos(wo)|, for any two directions; without what discrete lobes add. */
    bl_plugin_color (*value)(bl_plugin_trace *t, bl_plugin_vec3 wi, bl_plugin_vec3 wo, bl_plugin_vec2 uv);
    /* Both or neither. A material with discrete lobes (a mirror, smooth glass, holes) has `choose` in place
     * of `sample`, from the same numbers, and the coefficient of a lobe by its number (u32), which is
     * differentiated: what a mirror reflects, what a hole lets through. The probabilities of `choose` must
     * not be 0 where a coefficient is, or may become, other than 0. */
    bl_bsdf_choice (*choose)(bl_plugin_trace *t, bl_plugin_vec3 wi, bl_plugin_vec2 uv, bl_ir_value u_lobe,
                             bl_ir_value u1, bl_ir_value u2);
    bl_plugin_color (*coefficient)(bl_plugin_trace *t, bl_plugin_vec3 wi, bl_plugin_vec2 uv,
                                   bl_ir_value lobe);
    /* Where the discrete lobe `lobe` leads, as `choose` would go, but differentiated: gradients follow what
     * turns the lobe (normals, its index of refraction). NULL: no lobe but BL_PLUGIN_THROUGH. */
    bl_plugin_vec3 (*leads)(bl_plugin_trace *t, bl_plugin_vec3 wi, bl_plugin_vec2 uv, bl_ir_value lobe);
    bool through; /* one of its lobes is BL_PLUGIN_THROUGH, and `transmits` */
    void *user;   /* the application's, for bl_plugin_user; it has to live as long as the context */
} bl_bsdf_plugin;

/* From now on scenes that are loaded in the context know <bsdf type="NAME">; bl_plugin_info_at lists it. The
 * descriptor and what it points to may go after the call, but for the functions. BL_ERROR_ARGUMENT, with a
 * text that names plugin and parameter: the name is taken, or the table is not right. */
BL_API bl_result bl_plugin_add_bsdf(bl_context *ctx, const bl_bsdf_plugin *plugin);

/* ---- textures ---- */

typedef struct bl_texture_plugin {
    const char *name, *help;
    const bl_plugin_param *parameters;
    uint32_t parameter_count;
    bl_plugin_color (*eval)(bl_plugin_trace *t, bl_plugin_vec2 uv);
    void *user; /* as of bl_bsdf_plugin */
} bl_texture_plugin;

BL_API bl_result bl_plugin_add_texture(bl_context *ctx,
                                       const bl_texture_plugin *plugin); /* as bl_plugin_add_bsdf */

/* ---- lights ---- */

typedef enum bl_light_kind {
    BL_LIGHT_SHAPE, /* inside a <shape>, which glows on the side of its normals; its points are sampled alike
                     */
    BL_LIGHT_POINT, /* no ray meets it: at a place, or a direction */
    BL_LIGHT_SKY    /* seen where a ray leaves the scene; a scene has one */
} bl_light_kind;

typedef struct bl_light_sample {
    bl_plugin_vec3 d;     /* unit, from the point that is lit to the light */
    bl_ir_value distance; /* of BL_LIGHT_POINT; {0}: farther than the scene is large, as a sky */
    bl_ir_value pdf;      /* of BL_LIGHT_SKY: density of d per solid angle */
} bl_light_sample;

/* Every light also has the parameter sampling_weight. */
typedef struct bl_light_plugin {
    const char *name, *help;
    const bl_plugin_param *parameters; /* textures whose `most` is not 1 are emission: a uniform <spectrum> is
                                          equal-energy white */
    uint32_t parameter_count;          /* 29 at most */
    bl_light_kind kind;
    /* Not of BL_LIGHT_SHAPE: from a point of the world and two uniform numbers in [0, 1). */
    bl_light_sample (*sample)(bl_plugin_trace *t, bl_plugin_vec3 point, bl_ir_value u1, bl_ir_value u2);
    /* Of BL_LIGHT_SKY: the density of `sample`, not 0 where it is not dark; and d as two numbers, by which
     * `radiance` and textures know it. */
    bl_ir_value (*pdf)(bl_plugin_trace *t, bl_plugin_vec3 d);
    bl_plugin_vec2 (*locate)(bl_plugin_trace *t, bl_plugin_vec3 d);
    /* Differentiated. Of a shape: emitted radiance at uv; of a sky: radiance from the direction that `locate`
     * made uv of; of a point: what arrives at a point that faces it at this distance (of a point light its
     * intensity over distance^2), uv being 0. */
    bl_plugin_color (*radiance)(bl_plugin_trace *t, bl_plugin_vec2 uv, bl_ir_value distance);
    void *user; /* as of bl_bsdf_plugin */
} bl_light_plugin;

BL_API bl_result bl_plugin_add_light(
    bl_context *ctx, const bl_light_plugin *plugin); /* <emitter type="NAME">; as bl_plugin_add_bsdf */

#ifdef __cplusplus
}
#endif
#endif
