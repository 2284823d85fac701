/* SPDX-License-Identifier: BSD-3-Clause
 * Custom integrators: integrators of your own, in scenes of a context, without touching the library.
 * EXPERIMENTAL: may change in any version.
 *
 *     static bl_plugin_color radiance(bl_plugin_trace *t, bl_trace_ray ray)
 *     {
 *         bl_surface s = bl_trace_closest(t, ray);
 *         return bl_trace_emission(t, &s);
 *     }
 *     bl_plugin_add_integrator(ctx, &(bl_integrator_plugin){.name = "glow", .radiance = radiance});
 *     bl_scene_load(ctx, "scene.xml", &(bl_scene_desc){.integrator = "glow"}, &scene);
 *
 * Images, gradients, derivatives of images and fits are then made as with any other integrator.
 *
 * An integrator's functions record what happens for one sample of a pixel, with the builders of
 * backlight_ir.h on bl_plugin_func(t), as those of other plugins do (backlight_plugin.h). Here they may also
 * ask the scene: what a ray meets, what a material scatters, what lights send. Positions and directions are
 * in the world, directions are unit vectors.
 *
 * What carries derivatives. Rays, surfaces, samples and densities are detached: they decide the path, and
 * gradients are those of detached sampling (Vicini, Speierer, Jakob 2021, section 3.2). Values of materials
 * and radiance of lights have derivatives by the requested parameters. bl_ir_detach, bl_ir_replace_grad,
 * bl_ir_custom and bl_trace_suspend change that. What moves geometry, lights or the camera therefore has no
 * gradient with an integrator of yours.
 *
 * Surfaces alone are seen: media and radiance fields are not.
 *
 * A bl_surface, bl_bsdf_draw or bl_light_draw means something where it was recorded and further on in the
 * same block, and in blocks inside that one, as every value does. It cannot be the state of a loop; its
 * numbers can. */
#ifndef BACKLIGHT_INTEGRATOR_H
#define BACKLIGHT_INTEGRATOR_H

#include <backlight/backlight_plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bl_trace_ray {
    bl_plugin_vec3 o, d;
    bl_ir_value tmax; /* f32: how far it goes, exclusive; negative: it meets nothing */
} bl_trace_ray;

/* What a ray has met. Where `valid` is false, the other values may be anything but are not undefined: code
 * may go on with them and select later. */
typedef struct bl_surface {
    bl_ir_value valid;    /* bool: the ray has met a surface */
    bl_ir_value distance; /* f32, along the ray */
    bl_plugin_vec3 p;
    bl_plugin_vec3 ng, ns; /* geometric normal, and the shading normal; ng may point to either side */
    bl_plugin_vec2 uv;
    uint32_t id; /* the library's */
} bl_surface;

/* A direction that a material has sampled. */
typedef struct bl_bsdf_draw {
    bl_plugin_vec3 d;  /* leads away from the surface */
    bl_ir_value pdf;   /* f32: density per solid angle; of a discrete lobe its probability; 0: there is no
                          sample */
    bl_ir_value delta; /* bool: of a discrete lobe (a mirror, smooth glass), which nothing else finds */
    bl_ir_value eta;   /* f32: index of refraction on the side of d over that of the side that the ray came
                          from; 1: reflection */
    uint32_t id;       /* the library's */
} bl_bsdf_draw;

/* A point on a light, or a direction to a light that is far away. */
typedef struct bl_light_draw {
    bl_plugin_vec3 d;     /* from the surface toward the light */
    bl_ir_value distance; /* f32 */
    bl_ir_value pdf;      /* f32: density per solid angle times the probability of the light's choice; of a
                             delta light that probability alone; 0: there is no light */
    bl_ir_value delta;    /* bool: no ray meets the light (a point, a direction) */
    uint32_t id;          /* the library's */
} bl_light_draw;

/* ---- numbers ---- */

/* A number of the integrator's table, as the scene or its preset says: it is decided while tracing, so C code
 * may unroll a loop by it. (bl_plugin_number gives the same as a constant of the trace.) */
BL_API double bl_trace_setting(bl_plugin_trace *t, uint32_t parameter);
/* Uniform numbers in [0, 1) from the scene's sampler, four at a time: u[0] stands alone, (u[1], u[2]) are a
 * pair, u[3] stands alone. `place` says which four: 1, 2, 3, .. (u32, less than 2^23; 0 is the camera's). The
 * same place gives the same numbers each time, in `radiance` as in `adjoint`: that is what path replay rests
 * on. */
BL_API void bl_trace_random(bl_plugin_trace *t, bl_ir_value place, bl_ir_value u[4]);

/* ---- rays ---- */

/* The first surface that the ray meets. */
BL_API bl_surface bl_trace_closest(bl_plugin_trace *t, bl_trace_ray ray);
/* bool: the ray meets something. */
BL_API bl_ir_value bl_trace_any(bl_plugin_trace *t, bl_trace_ray ray);
/* The ray that leaves the surface in direction d, without meeting it at once. Its tmax is 1e30. */
BL_API bl_trace_ray bl_trace_leave(bl_plugin_trace *t, const bl_surface *s, bl_plugin_vec3 d);
/* A vector in the frame of the surface's shading normal, which is its z axis, and one of that frame in the
 * world. */
BL_API bl_plugin_vec3 bl_trace_to_local(bl_plugin_trace *t, const bl_surface *s, bl_plugin_vec3 v);
BL_API bl_plugin_vec3 bl_trace_to_world(bl_plugin_trace *t, const bl_surface *s, bl_plugin_vec3 v);

/* ---- light that the ray has met ---- */

/* What the surface sends back along the ray; where the ray has met nothing, what the sky sends. 0 where there
 * is no light. */
BL_API bl_plugin_color bl_trace_emission(bl_plugin_trace *t, const bl_surface *s);
/* The density with which bl_trace_light_sample, where the ray began, finds that light; 0 where there is no
 * light. */
BL_API bl_ir_value bl_trace_emission_pdf(bl_plugin_trace *t, const bl_surface *s);

/* ---- materials ---- */

/* Samples the surface's material for light that goes back along the ray, from u[0], u[1], u[2] of a place. */
BL_API bl_bsdf_draw bl_trace_bsdf_sample(bl_plugin_trace *t, const bl_surface *s, const bl_ir_value u[3]);
/* The material's value times |cos| for that direction: of a discrete lobe its coefficient, else the sum of
 * the others. */
BL_API bl_plugin_color bl_trace_bsdf_drawn(bl_plugin_trace *t, const bl_bsdf_draw *draw);
/* The same for light from any direction d, discrete lobes left out; and the density with which
 * bl_trace_bsdf_sample finds d. */
BL_API bl_plugin_color bl_trace_bsdf_value(bl_plugin_trace *t, const bl_surface *s, bl_plugin_vec3 d);
BL_API bl_ir_value bl_trace_bsdf_pdf(bl_plugin_trace *t, const bl_surface *s, bl_plugin_vec3 d);

/* ---- lights ---- */

/* Chooses a light, and a point on it, from u[0], u[1], u[2] of a place. */
BL_API bl_light_draw bl_trace_light_sample(bl_plugin_trace *t, const bl_surface *s, const bl_ir_value u[3]);
/* bool: nothing is between the surface and the light. Traces a ray, but not where `wanted` (bool) is false;
 * the answer is then false. */
BL_API bl_ir_value bl_trace_light_seen(bl_plugin_trace *t, const bl_light_draw *light, bl_ir_value wanted);
/* What it sends toward the surface, whether it is seen or not. */
BL_API bl_plugin_color bl_trace_light_radiance(bl_plugin_trace *t, const bl_light_draw *light);

/* ---- differentiation ---- */

/* From here on (on) values of materials and radiance of lights are recorded without derivatives, or (not on)
 * with them. Returns what it was before. */
BL_API bool bl_trace_suspend(bl_plugin_trace *t, bool on);

/* ---- looking into a kernel ---- */

enum { BL_PRINT_VALUES_MOST = 16 };
/* Where `when` (bool), leaves a message for bl_job_prints, with the pixel and the sample that it comes from.
 * format: at most 1000 bytes, copied, with a {} for each value, in their order: "depth {}: pdf {}". values:
 * f32, i32, u32 or bool, at most BL_PRINT_VALUES_MOST. Only jobs with bl_job_desc.print_bytes record
 * messages, and only from `radiance` in images and from `adjoint` in gradients: other kernels stay as they
 * are without. A mistake in format or values is the error of the pass.
 *
 * t may also be that of a material's or a texture's function (backlight_plugin.h). Such functions leave
 * messages in images by the renderer's integrators whose paths begin at the sensor, Metropolis left out, once
 * for each time that a path calls them: at a vertex `sample` and `pdf` once, and `value` for the direction to
 * the light and for the sampled one. A texture leaves those of the materials that read it. */
BL_API void bl_trace_print(bl_plugin_trace *t, bl_ir_value when, const char *format,
                           const bl_ir_value *values, uint32_t count);

/* ---- the table ---- */

typedef struct bl_integrator_plugin {
    const char *name, *help;
    const bl_plugin_param *parameters; /* BL_PLUGIN_NUMBER; gradients by them there are none */
    uint32_t parameter_count;          /* 30 at most */
    /* Radiance that arrives along the ray at its origin. The ray is the camera's. */
    bl_plugin_color (*radiance)(bl_plugin_trace *t, bl_trace_ray ray);
    /* Path replay: carries dL, the derivative of the loss by what `radiance` returns, back to the parameters,
     * by bl_ir_backward of values that have derivatives, and returns the radiance. It draws random numbers at
     * the same places as `radiance`, so it walks the same path. NULL: bl_ir_backward of what `radiance`
     * returns. That does where loops only add to their states. An error otherwise says so. */
    bl_plugin_color (*adjoint)(bl_plugin_trace *t, bl_trace_ray ray, bl_plugin_color dL);
    void *user; /* as of bl_bsdf_plugin */
} bl_integrator_plugin;

/* From now on <integrator type="NAME"> and bl_scene_desc.integrator know it; else as bl_plugin_add_bsdf. */
BL_API bl_result bl_plugin_add_integrator(bl_context *ctx, const bl_integrator_plugin *plugin);

#ifdef __cplusplus
}
#endif
#endif
