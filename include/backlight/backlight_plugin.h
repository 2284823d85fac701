/* SPDX-License-Identifier: BSD-3-Clause
 * Materials and textures of your own, in scenes of a context, without touching the library. EXPERIMENTAL: may change in any version.
 *
 *     static bl_plugin_color my_value(bl_plugin_trace *t, bl_plugin_vec3 wi, bl_plugin_vec3 wo, bl_plugin_vec2 uv) {..}
 *     bl_plugin_add_bsdf(ctx, &(bl_bsdf_plugin){.name = "mine", .parameters = .., .sample = .., .pdf = .., .value = my_value});
 *     bl_scene_load(ctx, "scene.xml", NULL, &scene);          with <bsdf type="mine"> in it
 *
 * A plugin's functions are called while kernels are traced, not while they run: they record operations with the builders of backlight_ir.h, on
 * bl_plugin_func(t). Each instance of the plugin in a scene shares what was recorded and differs in its parameters' values, which the
 * functions read with bl_plugin_number and bl_plugin_texture: so they are parameters of the scene like any others, differentiable in forward and
 * reverse mode, and bl_job_set_parameter changes them without compiling. What the functions decide in C is fixed for all.
 *
 * Gradients are those of detached sampling: `value` is differentiated, `sample` and `pdf` are not. A mistake in recording is the error of the job that
 * first needs the kernel. Functions may be called from any thread that uses the context, with the same result every time. */
#ifndef BACKLIGHT_PLUGIN_H
#define BACKLIGHT_PLUGIN_H

#include <backlight/backlight_ir.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bl_plugin_trace bl_plugin_trace; /* of one instance's functions; means something during the call alone */
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

bl_ir_func *bl_plugin_func(bl_plugin_trace *t); /* what to record in */
/* Parameters, by their index in the plugin's table: a BL_PLUGIN_NUMBER; a BL_PLUGIN_TEXTURE at uv, as a colour, as one number (luminance). */
bl_ir_value bl_plugin_number(bl_plugin_trace *t, uint32_t parameter);
bl_plugin_color bl_plugin_texture(bl_plugin_trace *t, uint32_t parameter, bl_plugin_vec2 uv);
bl_ir_value bl_plugin_texture_1(bl_plugin_trace *t, uint32_t parameter, bl_plugin_vec2 uv);
/* Two uniform numbers to a direction of the upper hemisphere with density cos / pi. */
bl_plugin_vec3 bl_plugin_cosine_hemisphere(bl_plugin_trace *t, bl_ir_value u1, bl_ir_value u2);

/* ---- tables ---- */

typedef enum bl_plugin_kind {
    BL_PLUGIN_NUMBER, /* a float */
    BL_PLUGIN_TEXTURE /* a colour, a number (grey) or a texture */
} bl_plugin_kind;

typedef struct bl_plugin_param {
    const char *name; /* letters, digits and _ */
    bl_plugin_kind kind;
    const char *preset; /* default, as in XML: "0.5", "1, .8, .2" (textures); NULL: must be given */
    double least, most; /* of a number; both 0: any. Of a texture: colours outside of [0, 1] are an error where most is 1 */
    const char *help;
} bl_plugin_param;

/* ---- materials ---- */

/* Directions are of unit length, in the local frame of the shading normal (0, 0, 1), and point away from the surface: wi to where the path comes
 * from, wo to where it goes. */
typedef struct bl_bsdf_plugin {
    const char *name, *help;
    const bl_plugin_param *parameters;
    uint32_t parameter_count; /* 30 at most */
    bool transmits;           /* sends light to the other side, too */
    /* A direction from three uniform numbers in [0, 1): one to choose between lobes, two for the direction. */
    bl_plugin_vec3 (*sample)(bl_plugin_trace *t, bl_plugin_vec3 wi, bl_plugin_vec2 uv, bl_ir_value u_lobe, bl_ir_value u1, bl_ir_value u2);
    /* Its density per solid angle; not 0 where `value` is not. */
    bl_ir_value (*pdf)(bl_plugin_trace *t, bl_plugin_vec3 wi, bl_plugin_vec3 wo, bl_plugin_vec2 uv);
    /* The material's f(wi, wo) times |cos(wo)|, for any two directions. */
    bl_plugin_color (*value)(bl_plugin_trace *t, bl_plugin_vec3 wi, bl_plugin_vec3 wo, bl_plugin_vec2 uv);
} bl_bsdf_plugin;

/* From now on scenes that are loaded in the context know <bsdf type="NAME">; bl_plugin_info_at lists it. The descriptor and what it points to may go
 * after the call, but for the functions. BL_ERROR_ARGUMENT, with a text that names plugin and parameter: the name is taken, or the table
 * is not right. */
bl_result bl_plugin_add_bsdf(bl_context *ctx, const bl_bsdf_plugin *plugin);

/* ---- textures ---- */

typedef struct bl_texture_plugin {
    const char *name, *help;
    const bl_plugin_param *parameters;
    uint32_t parameter_count;
    bl_plugin_color (*eval)(bl_plugin_trace *t, bl_plugin_vec2 uv);
} bl_texture_plugin;

bl_result bl_plugin_add_texture(bl_context *ctx, const bl_texture_plugin *plugin); /* as bl_plugin_add_bsdf */

#ifdef __cplusplus
}
#endif
#endif
