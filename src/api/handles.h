/* SPDX-License-Identifier: BSD-3-Clause
 * What is behind the public handles. Only src/api sees this. */
#ifndef BL_API_HANDLES_H
#define BL_API_HANDLES_H

#include <backlight/backlight.h>

#include "api/kernel_cache.h"
#include "base/base.h"
#include "fit/fit.h"
#include "gpu/gpu.h"
#include "render/integrator/passes.h"
#include "render/plan.h"
#include "render/sensor/sensor.h"
#include "spirv_gen/opt/opt.h"
#include "spirv_gen/spv/spv.h"

struct bl_context {
    gpu *gpu;
    bl_error error;                      /* of the last call that failed */
    arena memory;                        /* of added plugins */
    ARRAY(const plugin_class *) classes; /* the renderer's and those added, */
    plugin_registry registry;            /* as the loader takes them */
    kernel_cache *cache;                 /* NULL: none */
    bool cache_verify;                   /* what was found is compiled all the same and compared */
    bool checked;                        /* BL_DEBUG=bounds: kernels are checked (bounds.c) */
    uint64_t cache_hits, cache_misses;   /* of kernels' words */
};

struct bl_device {
    bl_context *context;
    gpu_device *gpu;
    fit_kernels *fixed;
    kernel_key identity; /* for the cache; zero where there is none */
};

struct bl_scene {
    bl_context *context;
    render_scene *render;
};

enum { LOCAL_SIZE = 64 /* of generated kernels */, LANES_LEAST = 1 << 12 /* of a part of a pass */ };
enum { SAMPLES_SUMMED = 32 }; /* of a lane: gradients of so many are added as floats (job_pass.c) */

/* ---- context.c ---- */

/* Takes the description. desc: NULL. */
bl_result scene_from_description(bl_context *ctx, scene_description *d, const bl_scene_desc *desc,
                                 bl_scene **out);

enum { REPEATS_MOST = 4 /* of a pass, with a coarser fixed-point scale each */ };

/* ---- bounds.c ---- */

/* BL_DEBUG: sets *checked, or says what is wrong with it. */
bl_result bounds_wanted(bool *checked, bl_error *err);
/* What the checked kernels of a job, or one of a caller's trace, report to: their last buffer, behind
 * `buffers` others. */
typedef struct kernel_bounds {
    opt_sites sites;
    gpu_buffer *report;
    uint32_t buffers, *sizes; /* sizes: of the buffers, in words, as last armed */
} kernel_bounds;
bl_result bounds_create(gpu_device *d, uint32_t buffers, kernel_bounds **out, bl_error *err);
void bounds_destroy(kernel_bounds *b); /* NULL is fine */
/* Before a dispatch with these buffers is recorded: their sizes. */
bl_result bounds_arm(kernel_bounds *b, gpu_buffer *const *buffers, bl_error *err);
/* After dispatches: BL_ERROR_BOUNDS, and ready for the next ones, if an access was reported. b may be
 * NULL. */
bl_result bounds_check(kernel_bounds *b, bl_error *err);

enum job_work { WORK_RESULTS = 4 }; /* f32 words that come back: slot 0 is the loss */

struct bl_job {
    bl_device *device;
    bl_context *context;
    const render_scene *scene;
    plan *plan;
    bl_job_desc desc;
    float *host_values;                   /* of parameters, as they were last set from the host */
    uint32_t *requested, requested_count; /* scene parameter indices, and desc.parameters in the same order */
    bool fixed_point;
    bool values_changed;           /* since derived values were updated, */
    bool *changed;                 /* and which parameters' */
    bool tables_built;             /* once at least */
    bool pipeline_filled;          /* render_scene.pipelined: `image` is that of the last gradient pass */
    bool lights_moved;             /* their tables are not up to date */
    struct job_geometry *geometry; /* NULL until vertices have moved */

    gpu_kernel *kernels[RENDER_PASS_COUNT];
    bl_kernel_info compiled[RENDER_PASS_COUNT];
    uint32_t addressed[RENDER_PASS_COUNT];      /* of the kernels, as in gpu_kernel_desc */
    double paths_per_second[RENDER_PASS_COUNT]; /* measured, for slicing */
    gpu_batch *batch;
    gpu_accel *accel;      /* NULL unless rays are queries */
    kernel_bounds *bounds; /* NULL unless kernels are checked */

    gpu_buffer *words, *values, *gradient, *film, *status, *adjoint, *frozen, *scale, *image, *target,
        *partials, *results, *output, *tangent, *lanes, /* the list of lanes, where the plan lists them */
        *samples,                     /* of a tile: what a replay pass leaves for the adjoint pass */
        *refit;                       /* render/refit.h */
    gpu_buffer *splats, *splat_scale; /* of light tracing: the image in fixed point, and its scale */
    uint64_t film_words;
    uint64_t bytes;
};

/* A part of a pass: samples [first, last) of each strip's own, of these lanes. */
typedef struct job_range {
    uint32_t first_lane, lane_count, first_sample, last_sample;
} job_range;
static inline uint32_t job_range_paths(job_range r)
{
    return r.lane_count * (r.last_sample - r.first_sample);
}

/* What a two-walk pass compares its halves with. */
typedef struct job_loss {
    bl_loss kind;
    double constant, weight; /* as in fit_loss */
    gpu_buffer *target;
} job_loss;

/* A list of lanes (pixels.c). */
typedef struct job_lanes {
    uint32_t count;   /* 0: there is none, lanes are the strips of all pixels */
    uint32_t longest; /* samples of a lane */
    uint64_t samples; /* of all lanes */
    double largest;   /* |dL/dI| of a sample, times its weight */
} job_lanes;

/* One range of work of a pass: everything that push constants say. */
typedef struct job_work_desc {
    render_pass pass;
    bl_gradient_form form; /* of RENDER_GRADIENT; never BL_FORM_AUTO */
    const job_loss *loss;  /* of BL_FORM_TWO_WALK */
    uint32_t spp, seed, stream, strips;
    job_lanes lanes;
    double slice_seconds;
    bl_progress progress;
    void *user;
    double progress_from, progress_to;
    bool adds;       /* gradient: to the sums that are there, instead of to zeros */
    bool unfinished; /* gradient: a pass that adds follows, so derived quantities' gradients stay where they
                        are */
} job_work_desc;

/* ---- rays.c ---- */

/* How a job's rays find what they hit: what the descriptor asks for, or what suits device and scene. */
bl_result rays_choose(const gpu_info *device, const render_scene *s, const bl_job_desc *desc, plan_rays *out,
                      bl_error *err);
/* Builds the acceleration structure of a plan for ray queries and puts its address into the plan's words.
 * changes: as in gpu_accel_desc. */
bl_result rays_build(gpu_device *d, plan *p, bool changes, gpu_accel **out, bl_error *err);
/* For code generation. */
spv_rays rays_lowering(const plan *p);

/* ---- refused.c ---- */

/* Why a parameter has no gradient with the scene's integrator; NULL: it has one. And whether it turns an
 * environment. */
const char *parameter_refused(const render_scene *s, uint32_t parameter);
bool parameter_turns_environment(const render_scene *s, uint32_t parameter);

/* ---- job.c ---- */

uint32_t job_pixels(const render_scene *s);
/* Whether the job follows new values of a parameter. */
bl_result job_check_change(const bl_job *job, uint32_t index, bl_error *err);

/* ---- job_buffers.c ---- */

/* Those of a job whose plan is there, and the acceleration structure, if any; film and samples follow when a
 * pass wants them. */
bl_result job_make_buffers(bl_job *job, bl_error *err);
void job_drop_buffers(bl_job *job);
/* The buffers of generated kernels as they are now. */
void job_buffers(const bl_job *job, render_pass pass, gpu_buffer *buffers[BUFFER_COUNT + 1]);
/* Another buffer of so many bytes in place of *out, which may be NULL. */
bl_result job_replace_buffer(bl_job *job, uint64_t bytes, const char *label, gpu_buffer **out, bl_error *err);
void job_value_changed(bl_job *job,
                       uint32_t parameter); /* index in the scene: what follows from it is not up to date */
/* Buffers of a size that depends on the form: samples between two kernels, images of dL/dI. */
bl_result job_reserve_samples(bl_job *job, uint64_t words, bl_error *err);
bl_result job_reserve_adjoints(bl_job *job, uint32_t images, bl_error *err);
bl_result job_reserve_film(bl_job *job, render_pass pass, uint32_t lanes, bl_error *err);
/* Tangents of all values, parameters' and (any) derived ones, for forward passes. */
bl_result job_tangents(bl_job *job, const float *tangents, bl_error *err);

/* ---- job_kernels.c ---- */

bl_result job_kernel(bl_job *job, render_pass pass, gpu_kernel **out, bl_error *err);
bl_result
job_pass(bl_job *job, bl_pass pass,
         render_pass *out); /* the renderer's name of a public pass; an error if it would be empty */
bl_result job_trace(const bl_job *job, render_pass pass, ir_module **out, bl_error *err);
opt_options job_lowering(const bl_job *job);

/* ---- job_geometry.c ---- */

/* New values of geometry, finite. */
bl_result geometry_set(bl_job *job, uint32_t parameter, const float *values, bl_error *err);
bl_result geometry_get(bl_job *job, uint32_t parameter, float *values, bl_error *err);
/* Before a pass: whatever follows from geometry that has changed. */
bl_result geometry_follow(bl_job *job, bl_stats *stats, bl_error *err);
/* Of derived normals: the frozen values', gradients on to positions, tangents. */
bl_result geometry_freeze(bl_job *job, bl_stats *stats, bl_error *err);
bl_result geometry_adjoint(bl_job *job, bl_stats *stats, bl_error *err);
bl_result geometry_tangent(bl_job *job, bl_stats *stats, bl_error *err);
void geometry_destroy(bl_job *job);

/* ---- job_pass.c ---- */

/* A dispatch of the pass's kernel, which is there. values: in place of BUFFER_VALUES. */
void job_record(bl_job *job, render_pass pass, gpu_buffer *values, const uint32_t *push, uint32_t lanes);

uint32_t job_strips(const render_scene *s, uint32_t spp);
/* Runs a pass over all lanes and samples, sliced by measured time, after zeroing film (image passes) or
 * gradient and bringing derived values up to date. After a gradient pass, parameters' gradients are
 * complete. */
bl_result job_run(bl_job *job, const job_work_desc *w, bl_stats *stats, bl_error *err);
/* All lanes and samples of a pass over `pixels`, or of its list. */
job_range job_everything(const job_work_desc *w, uint32_t pixels);
/* The window's lanes and samples as dispatches of about slice_seconds each that `record` appends to the
 * batch; together: none has a part of a lane's samples. *speed: measured paths per second, kept by the caller
 * from pass to pass. */
bl_result job_slice(gpu_batch *batch, const job_work_desc *w, job_range window, bool together, double *speed,
                    void (*record)(void *user, job_range r), void *user, bl_stats *stats, bl_error *err);
/* A part of a pass after preparation, by the kernel of `pass`; BUFFER_SAMPLES is laid out for this part,
 * which begins at a multiple of SAMPLES_SUMMED where it adds to gradients. */
bl_result job_run_part(bl_job *job, const job_work_desc *w, render_pass pass, job_range part, bl_stats *stats,
                       bl_error *err);
bl_result job_submit(gpu_batch *batch, bl_stats *stats, double *seconds,
                     bl_error *err); /* and wait; seconds: of the device */
/* Film to job->image. */
void job_record_resolve(bl_job *job, uint32_t spp, uint32_t strips);
bl_result job_read_loss(bl_job *job, double *loss, bl_error *err); /* slot 0 of the results */
bl_result job_read_status(bl_job *job, uint32_t status[STATUS_COUNT], bl_error *err);

/* ---- gradient_scale.c ---- */

bool job_splats(const bl_job *job,
                render_pass pass); /* the pass adds to an image of splats, instead of to film or gradient */
/* Scale of that image; `coarser` as below. */
bl_result job_set_splat_scale(bl_job *job, uint32_t spp, uint32_t coarser, bl_error *err);
/* Scale of the fixed-point gradient from the largest |dL/dI| and the sample count; `coarser` steps of 2^8. */
bl_result job_set_scale(bl_job *job, double largest_adjoint, uint32_t spp, uint32_t coarser, bl_error *err);

/* render.c: shared with forward.c */
uint32_t job_seed(const bl_job *job, uint32_t seed);  /* with the scene's sampler's */
uint32_t job_spp(const bl_job *job, uint32_t wanted); /* what the scene's sampler can do; 0: the scene's */
bl_result job_read_counters(bl_job *job, bl_stats *stats, bl_error *err);
/* Film to job->image and, where given, to `image`. */
bl_result job_resolve(bl_job *job, uint32_t spp, uint32_t strips, float *image, bl_stats *stats,
                      bl_error *err);

/* ---- kernel_code.c ---- */

typedef struct kernel_source {
    bl_context *context;
    kernel_key device;
    const ir_module *trace;
    const opt_options *passes;
    const spv_options *generate;
} kernel_source;

typedef struct kernel_code {
    spv_code spirv;
    uint32_t push_words;
} kernel_code;

/* Sets of *took what follows recording the trace. */
bl_result kernel_code_make(const kernel_source *source, kernel_code *out, bl_kernel_info *took,
                           bl_error *err);
/* gpu_kernel_create, with what the driver kept of an earlier one. */
bl_result kernel_create(const bl_device *device, const gpu_kernel_desc *desc, gpu_kernel **out,
                        bl_error *err);

/* see.c: with BL_DUMP=FOLDER in the environment, what a kernel is made from, as files FOLDER/NAME.*; else
 * nothing */
bl_result see_dump(const ir_module *trace, const opt_options *passes, const spv_code *code, const char *name,
                   bl_error *err);

/* ---- fits ---- */

typedef struct fit_view {
    gpu_buffer *target;
    uint32_t sensor;
    bool posed;
    float to_world[16];
} fit_view;

/* Of everything that a fit's results depend on; what differs is named (fit_state.c). */
typedef struct fit_identity {
    uint64_t program, scene, job;
} fit_identity;

/* What bl_fit_parameter says, defaults resolved, of one of the job's parameters. */
typedef struct fit_parameter {
    double rate;
    float lower, upper;
    double total_variation, smoothing;
    fit_smoothing *large_steps; /* NULL: it moves by ordinary steps */
    uint32_t fixed_axes;
} fit_parameter;

struct bl_fit {
    bl_job *job;
    bl_fit_desc desc; /* defaults resolved; of its pointers only schedule, owned */
    fit_view *views;
    fit_parameter *parameters; /* as the job's */
    double largest_adjoint;
    uint32_t coarser; /* steps of the fixed-point scale taken after overflows; they stay */
    gpu_buffer *state[2], *optimizer_status;
    uint64_t bytes; /* of the buffers above and the targets */
    fit_identity identity;
    bl_fit_status status; /* of the last step */
};

/* fit_state.c: what is hashed comes from the caller's descriptor as it is and from the fit's buffers */
bl_result fit_identify(bl_fit *fit, const bl_scene *scene, const bl_fit_desc *desc, bl_error *err);

/* fit_large_steps.c */
bl_result large_steps_create(bl_fit *fit, const bl_fit_desc *desc, bl_error *err);
void large_steps_destroy(bl_fit *fit);
/* factor: of the rate, in this step */
bl_result large_steps_move(bl_fit *fit, uint32_t k, double factor, bl_fit_status *status, bl_error *err);

/* ---- forms.c ---- */

/* What a gradient is asked for. */
typedef struct form_wish {
    bl_gradient_form form;
    bool target; /* dL/dI comes from a loss, not from the caller */
    bl_loss loss;
    uint32_t spp, spp_gradient;
} form_wish;
/* The form to use; an error where the one asked for cannot do it. */
bl_result forms_choose(const bl_job *job, const form_wish *wish, bl_gradient_form *out, bl_error *err);
/* Strips of a gradient pass: two walks need an even number. */
uint32_t forms_strips(const bl_job *job, bl_gradient_form form, uint32_t spp);
/* A prepared gradient pass of the forms that keep samples between two kernels. Two walks leave image and loss
 * (in the results). */
bl_result forms_run(bl_job *job, const job_work_desc *w, bl_stats *stats, bl_error *err);

/* ---- tape.c ---- */

/* A gradient pass of METHOD_TAPE; no other pass begins before it is over. */
bl_result tape_run(bl_job *job, const job_work_desc *w, bl_stats *stats, bl_error *err);

/* ---- pixels.c ---- */

/* Whether the job's samples can go where its `pixels` says. */
bl_result pixels_check(const bl_job *job, bl_error *err);
/* Of a gradient pass whose dL/dI is in job->adjoint: sets w->lanes, where they are listed. */
bl_result pixels_place(bl_job *job, job_work_desc *w, bl_error *err);

/* Lanes as the device reads them (enum lane_word), at least one. */
typedef struct pixel_list {
    float *adjoint; /* 3 a lane */
    uint32_t *rows; /* LANE_WORDS a lane */
    job_lanes lanes;
} pixel_list;
/* The samples, at most pixels * spp < 2^32, in lanes of at most `longest`. random: any number, evenly
 * distributed. */
void pixels_list(const float *adjoint, uint32_t pixels, uint32_t spp, uint32_t longest, uint64_t random,
                 pixel_list *out);
void pixels_list_free(pixel_list *list);

/* Stores the error with the context and returns its code. */
bl_result context_fail(bl_context *ctx, const bl_error *err);

#endif
