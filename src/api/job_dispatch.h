/* SPDX-License-Identifier: BSD-3-Clause
 * The work of a pass as ranges of lanes and samples, and ranges as dispatches. */
#ifndef BL_API_JOB_DISPATCH_H
#define BL_API_JOB_DISPATCH_H

#include "api/job.h"

enum { SAMPLES_SUMMED = 32 /* number of samples of a lane whose gradients are added as floats */ };

/* A part of a pass: a range of lanes, and from each lane its own samples [first_sample, last_sample). */
typedef struct job_range {
    uint32_t first_lane, lane_count, first_sample, last_sample;
} job_range;
static inline uint32_t job_range_paths(job_range r)
{
    return r.lane_count * (r.last_sample - r.first_sample);
}

/* A list of lanes (pixel_sampling.h). */
typedef struct job_lanes {
    uint32_t count;   /* number of lanes; 0: there is no list, and lanes are the strips of all pixels */
    uint32_t longest; /* most samples of a lane */
    uint64_t samples; /* number of samples of all lanes */
    double largest;   /* largest |dL/dI| of a sample, times the sample's weight */
} job_lanes;

/* One pass: everything that push constants say. */
typedef struct job_work_desc {
    render_pass pass;
    bl_gradient_form form; /* for RENDER_GRADIENT; never BL_FORM_AUTO */
    const job_loss *loss;  /* for forms that find the loss (gradient_forms.h) */
    uint32_t spp, seed, stream, strips;
    job_lanes lanes;
    double slice_seconds;
    bl_progress progress;
    void *user;
    double progress_from, progress_to;
    bl_edges edges;     /* BL_EDGES_NONE: of a gradient or forward pass without them */
    bool own_counts;    /* edges have the sample counts of the scene's integrator */
    bool edges_learnt;  /* edges choose by what a pass before has learnt */
    bool edges_alone;   /* gradient pass: nothing but edges, by the dL/dI that is there */
    uint32_t edges_spp; /* samples of a pass of edges; 0: as docs/theory/edges.md says */
    uint32_t shared;    /* gradient pass in two walks: samples of an image that both halves see besides */
    uint32_t film_spp;  /* of RENDER_EDGES_PATH_FORWARD: by how many samples the film is divided */
    bool keeps_status;  /* counters of the pass before go on */
    uint32_t part;      /* of a pass that differentiates: 1 + the part of a split job; 0: all of them */
    bool compared;      /* gradient pass that finds the loss: an earlier part has found it */
    bool adds;          /* gradient pass: adds to the sums that are there, instead of to zeros */
    bool unfinished; /* gradient pass: a pass that adds follows, so gradients of derived quantities stay where
                        they are */
} job_work_desc;

/* The number of strips of a pass over `pixels`, which is the number of lanes of a pixel. */
uint32_t job_strips(uint32_t pixels, uint32_t spp);
/* All lanes and samples of a pass over `pixels`, or of its list. */
job_range job_everything(const job_work_desc *w, uint32_t pixels);

/* Appends one dispatch of the pass's kernel, which must be there. values: is bound as BUFFER_VALUES. */
void job_record(bl_job *job, render_pass pass, gpu_buffer *values, const uint32_t *push, uint32_t lanes);
/* The same of a pass over derived values, all of them. */
void job_record_update(bl_job *job, render_pass pass, gpu_buffer *values);
/* Appends the dispatch of a range of the pass. tile: the part whose samples BUFFER_SAMPLES holds. */
void job_record_range(bl_job *job, const job_work_desc *w, render_pass pass, job_range tile, job_range r);
/* Least number of lanes in a part of a pass: fewer do not fill the device. */
uint32_t job_lanes_least(const bl_device *device);
/* Whether dispatches of the pass add sums over SAMPLES_SUMMED samples to gradients, and so end where these
 * do. */
bool job_pass_sums(render_pass pass);
/* Submits the batch and waits. *seconds: time that the device took. */
bl_result job_submit(bl_job *job, bl_stats *stats, double *seconds, bl_error *err);

/* A window of a pass that is cut into dispatches. */
typedef struct job_slices {
    const bl_device *device;
    gpu_batch *batch;
    const job_work_desc *work;
    job_range window;
    bool together;                           /* no dispatch has a part of a lane's samples */
    double *speed;                           /* measured paths per second, kept from pass to pass */
    void (*record)(void *user, job_range r); /* appends the dispatch of a range to the batch */
    bl_result (*run)(void *user, job_range r, double *seconds, bl_error *err); /* or runs it; or NULL */
    bl_result (*ran)(void *user, job_range r, bl_error *err);                  /* after it has run; or NULL */
    job_reached *reached;                                                      /* kept up to date; or NULL */
    void *user;
} job_slices;
/* Runs the window in dispatches of about work->slice_seconds each. */
bl_result job_slice(const job_slices *s, bl_stats *stats, bl_error *err);
/* Runs a part of a pass after preparation, by the kernel of `pass`. BUFFER_SAMPLES is laid out for this part,
 * which begins at a multiple of SAMPLES_SUMMED where it adds to gradients. */
bl_result job_run_part(bl_job *job, const job_work_desc *w, render_pass pass, job_range part, bl_stats *stats,
                       bl_error *err);

#endif
