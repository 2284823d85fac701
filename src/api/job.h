/* SPDX-License-Identifier: BSD-3-Clause
 * A job: one scene on one device, with the parameters whose gradients are wanted. All files of a pass see
 * this struct; job.c creates and destroys it and sets values. */
#ifndef BL_API_JOB_H
#define BL_API_JOB_H

#include "api/device.h"
#include "codegen/bounds.h"
#include "fit/fit.h"
#include "render/integrator/passes.h"
#include "render/plan.h"

/* Part number `part` of `parts` of a pass: all of them in this order are the pass. */
typedef struct job_part {
    uint32_t part, parts;
} job_part;

/* How far a pass has come: lanes before `lane` are done, `lanes` from there on have `samples` of their
 * samples. */
typedef struct job_reached {
    uint32_t lane, lanes, samples;
} job_reached;

/* The loss by which a pass compares the image that it makes with the target. */
typedef struct job_loss {
    bl_loss kind;
    double constant, weight; /* as in fit_loss; so */
    bool weighted;
    gpu_buffer *target;
    const fit_composite *composite; /* instead of kind and constant; NULL: those */
} job_loss;

/* Kernels that are made of one plan. */
typedef struct job_kernel_set {
    gpu_kernel *kernels[RENDER_PASS_COUNT];
    struct wavefront *wavefronts[RENDER_PASS_COUNT]; /* instead of these (wavefront.h) */
    bl_kernel_info compiled[RENDER_PASS_COUNT];
    uint32_t addressed[RENDER_PASS_COUNT];      /* gpu_kernel_desc.addressed of each kernel */
    double paths_per_second[RENDER_PASS_COUNT]; /* measured speed, for slicing */
} job_kernel_set;

struct bl_job {
    bl_device *device;
    bl_context *context;
    const render_scene *scene;
    plan *plan;                           /* of which kernels are made: the whole one, or one of its parts */
    job_kernel_set *made;                 /* those of this plan */
    plan *whole, parts[PLAN_SPLITS];      /* see job_split.h */
    job_kernel_set sets[1 + PLAN_SPLITS]; /* of the whole plan, then of its parts */
    bool split;
    uint32_t shown_part, /* bl_job_show_part */
        frozen_part;     /* whose values the last frozen image had */
    bl_job_testing testing;
    bl_job_desc desc;
    float *host_values;                   /* values of parameters, as they were last set from the host */
    uint32_t *requested, requested_count; /* scene parameter indices, in the order of desc.parameters */
    bool fixed_point;
    bool values_changed;           /* some value has changed since derived values were updated */
    bool *changed;                 /* for each parameter: its value has changed since then */
    bool tables_built;             /* sampling tables have been built at least once */
    bool pipeline_filled;          /* render_scene.pipelined: `image` is that of the last gradient pass */
    bool lights_moved;             /* lights have moved, and their tables are not up to date */
    struct job_geometry *geometry; /* NULL until vertices have moved */

    gpu_batch *batch;
    gpu_accel *accel;         /* NULL unless rays are queries, and where the caller gives one (job_accel.c) */
    gpu_hierarchy *hierarchy; /* NULL unless the device is native and traverses */
    struct job_prints *prints; /* NULL: kernels print nothing (job_prints.h) */
    kernel_bounds *bounds;     /* NULL unless kernels are checked */

    gpu_buffer *words, *values, *gradient, *film, *status, *adjoint, *frozen, *scale, *image, *target,
        *partials, *results, *output, *tangent, *lanes, /* the list of lanes, where the plan lists them */
        *samples,                     /* what the replay pass of a tile leaves for the adjoint pass */
        *refit,                       /* see render/refit.h */
        *walks;                       /* states of walks in wavefront mode, */
    gpu_buffer *walk_counters;        /* and how many there are, in the host's memory */
    gpu_buffer *splats, *splat_scale; /* for light tracing: the image in fixed point, and its scale */
    gpu_buffer *texels;               /* for images of the caller's (job_recorded.c); NULL until one comes */
    uint64_t film_words;
    uint32_t tape_room; /* vertices of the longest path of a tape in media so far; 0: that is not known */
    gpu_buffer *lessons, *lesson_scale; /* of the guide of directions: sums in fixed point, their scale */
    bool guided;                        /* the guide is that of the job's values and sensor */
    bl_chains chains;                   /* of the last image by Metropolis */
    job_reached reached;                /* by the last pass, or the last part of it */
    job_part recorded; /* the last part that went into commands of the caller's (job_recorded.c) */
    uint64_t bytes;
    uint64_t counted[STATUS_COUNT]; /* what counters on the device had before they were taken over */
    uint64_t paths_uncounted;       /* paths since then */
    double rays_seconds;            /* building accel or hierarchy took; 0: there is neither */
};

/* Whether the image is a sum of splats in fixed point. */
static inline bool scene_splats(const render_scene *s) { return s->light_tracing || s->metropolis.particles; }
static inline uint32_t film_pixels(const render_scene *s) { return s->width * s->height; }
/* Whether a gradient pass finds the image of its own samples. Paths from lights do not. */
static inline bool job_gradient_leaves_image(const bl_job *job) { return !job->scene->light_tracing; }
/* Channels of the image. */
static inline uint32_t film_channels(const render_scene *s) { return s->film_channels; }
/* The pixels of a pass: those of the film, or of the batch. */
static inline uint32_t job_pixels(const bl_job *job)
{
    return job->plan->batch_pixels ? job->plan->batch_pixels : film_pixels(job->scene);
}
/* Values of an image: those of its pixels' channels. */
static inline uint32_t job_values(const bl_job *job) { return film_channels(job->scene) * job_pixels(job); }

/* The fit that a job is for. Its passes are over a batch of so many listed pixels of so many views
 * (src/api/pixel_batch.h), or, with 0 pixels, over the film. */
typedef struct job_fit {
    uint32_t batch_pixels, views;
} job_fit;

/* bl_job_create, for a fit, or for none (NULL). */
bl_result job_create(bl_device *device, const bl_scene *scene, const bl_job_desc *desc, const job_fit *fit,
                     bl_job **out);
/* Gives an error unless the job can look through a sensor of the scene, as bl_job_set_sensor says. */
bl_result job_check_sensor(const bl_job *job, uint32_t sensor, const float *to_world, bl_error *err);
/* The record of a sensor, which belongs to the caller (memory_free). */
uint32_t *job_sensor_words(const bl_job *job, uint32_t sensor, const float *to_world, uint32_t *count);
/* Sets the record of the sensor behind a view of the batch; without a batch there is view 0 alone. */
bl_result job_write_sensor(bl_job *job, uint32_t view, uint32_t sensor, const float *to_world, bl_error *err);

/* Fails if the job cannot follow new values of a parameter. */
bl_result job_check_change(const bl_job *job, uint32_t index, bl_error *err);

#endif
