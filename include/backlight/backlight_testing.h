/* SPDX-License-Identifier: BSD-3-Clause
 * What tests and measurements of Backlight itself need: settings that no picture is made with, and other
 * renderers to compare with. EXPERIMENTAL: may change in any version. */
#ifndef BACKLIGHT_TESTING_H
#define BACKLIGHT_TESTING_H

#include <backlight/backlight.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- settings ---- */

struct bl_context_testing {
    uint32_t buffer_range; /* bytes that a binding reaches at most, as if devices said so; 0: what they say */
    bool cache_verify;     /* what the cache has is compiled all the same; a difference is BL_ERROR_COMPILE */
};

struct bl_job_testing {
    bool no_next_event;  /* path tracing without emitter sampling */
    uint32_t passes_off; /* bit k leaves out the compiler's optimisation bl_optimisation_name(k) */
    uint32_t
        status_paths; /* the device's counters, of 32 bits, are taken over after so many paths; 0: 2^24 */
    bool as_gpu;      /* kernels are what a GPU would be given, wherever they run */
};
typedef struct bl_context_testing bl_context_testing;
typedef struct bl_job_testing bl_job_testing;

/* Name of the compiler's optimisation k, NULL past the last one. */
BL_API const char *bl_optimisation_name(uint32_t k);

/* ---- self-test: the arithmetic of a device that kernels rely on, on the device itself ---- */

typedef struct bl_self_check {
    const char *name;             /* "division"; NULL: there is no such check */
    const char *expectation;      /* "is rounded correctly" */
    bool holds, needed;           /* needed: without it images and gradients are wrong */
    uint32_t compared, different; /* words, with what the interpreter computes */
    char found[160];              /* the first difference; else "" */
} bl_self_check;
/* Runs check k, from 0 on. BL_OK whether it holds or not; an error where it could not run. */
BL_API bl_result bl_device_self_check(bl_device *device, uint32_t k, bl_self_check *out);

/* ---- the reference: glsl/reference_pt.comp, a path tracer written by hand, as an oracle and a yardstick
 * ---- */

typedef struct bl_reference bl_reference;

/* BL_ERROR_UNSUPPORTED, with the reason, unless the scene consists of triangles without vertex normals, of
 * one-sided diffuse materials and area lights, both with constant colours, seen through a box filter by a
 * perspective sensor with a field of view, and has lights; the integrator is path or prb and does not hide
 * lights. Parameters have the scene's initial values. kernel may be NULL. */
BL_API bl_result bl_reference_create(bl_device *device, const bl_scene *scene, bl_kernel_info *kernel,
                                     bl_reference **out);
BL_API void bl_reference_destroy(bl_reference *reference);
/* As bl_job_render without frozen, gradient_stream, variance. With equal seeds it walks the paths that
 * bl_job_render walks, up to rounding. *rays (may be NULL): rays traced. */
BL_API bl_result bl_reference_render(bl_reference *reference, const bl_render_desc *desc, float *image,
                                     bl_stats *stats, uint64_t *rays);

/* ---- Embree, a yardstick of rays and an oracle: in libraries that are built with BL_EMBREE ---- */

typedef struct bl_embree bl_embree;

/* Embree's hierarchy of the triangles that the scene was loaded with, for as many threads as the device has
 * if it is native, else as there are processors. BL_ERROR_UNSUPPORTED, with the reason: in a library without
 * Embree, of scenes with instances or other shapes than triangles. */
BL_API bl_result bl_embree_create(bl_device *device, const bl_scene *scene, bl_embree **out);
BL_API void bl_embree_destroy(bl_embree *embree);
typedef struct bl_embree_info {
    const char *version; /* "Embree 3.13.5" */
    uint32_t threads;
    double build_seconds;
    uint64_t bytes;
} bl_embree_info;
BL_API bl_embree_info bl_embree_info_get(const bl_embree *embree);
typedef struct bl_embree_rays {
    uint64_t count;
    const bl_ray *rays; /* must be rays (bl_ray) */
    bl_hit *hits;       /* receives closest hits; or, where it is NULL, */
    bool *blocked;      /* any hits */
    bool packets;       /* 16 rays at a time, instead of one */
} bl_embree_rays;
/* As bl_job_closest_hits and bl_job_any_hits. *seconds (may be NULL): wall time. */
BL_API bl_result bl_embree_trace(bl_embree *embree, const bl_embree_rays *rays, double *seconds);

#ifdef __cplusplus
}
#endif
#endif
