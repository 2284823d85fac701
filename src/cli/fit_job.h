/* SPDX-License-Identifier: BSD-3-Clause
 * A fit job as read from its JSON file (docs/fit-job.schema.json). */
#ifndef BL_CLI_FIT_JOB_H
#define BL_CLI_FIT_JOB_H

#include "cli.h"

typedef struct fit_job_parameter {
    const char *name;
    double rate; /* 0: the optimizer's; so */
    double beta_1, beta_2;
    bool sparse;        /* steps leave values without a gradient as they are */
    double least, most; /* valid where bounded */
    bool bounded;
    double large_steps;                /* lambda of large steps; 0: ordinary ones */
    uint32_t fixed_axes;               /* of large steps: bit per coordinate */
    float *initial;                    /* NULL: the scene's */
    uint32_t initial_count;            /* 1: for all entries */
    double total_variation, smoothing; /* as in bl_fit_parameter */
    bl_prior prior;
    double prior_weight, prior_centre;
    const char *motion_name; /* NULL: rigid */
    uint32_t motion;         /* bl_motion */
} fit_job_parameter;

/* The sides that an image or a grid has from a stage on. */
typedef struct fit_job_size {
    uint32_t parameter; /* of the job's */
    uint32_t sides[3], side_count;
} fit_job_size;

typedef struct fit_job_stage {
    uint32_t steps;
    fit_job_size *sizes;
    uint32_t size_count;
} fit_job_stage;

typedef struct fit_job_view {
    char *target;       /* path; NULL: rendered from the scene's own values */
    bool linear;        /* the numbers of the file, a PNG, are linear values */
    char *mask;         /* path of weights of pixels; NULL: all are 1 */
    double weight;      /* of the view's loss; 0: 1 */
    uint32_t spp, seed; /* of a rendered target; spp 0: the scene's */
    uint32_t sensor;
    bool posed;
    bool held_out;      /* not fitted, but looked at */
    float to_world[16]; /* where posed; row-major */
} fit_job_view;

typedef struct fit_job {
    struct cJSON *json;   /* owns every text below that is a value of the file */
    char *text;           /* the file as it is */
    char *scene, *output; /* paths; output NULL: not given */
    const char *mode;     /* as bl_scene_desc; NULL: not given */
    const char *sampler;  /* as --sampler; NULL: not given */
    fit_job_view *views;
    uint32_t view_count;
    bool several;            /* "views" was given, not "target" */
    uint32_t held_out_count; /* of the views */
    uint32_t held_out_steps; /* from one look at them to the next; 0: the program's choice */
    uint32_t batch;          /* pixels of a step; 0: all of all views */
    char *silhouette;        /* targets are masks of shapes with these ids, as bl_scene_desc; NULL: images */
    bool over;               /* targets with alpha are composed over: */
    float background[3];
    fit_job_parameter *parameters;
    uint32_t parameter_count;
    const char **defines; /* "key=value", malloc'ed */
    uint32_t define_count;
    bl_loss_term terms[BL_LOSS_TERMS_MOST]; /* of the loss; owns level_weights */
    uint32_t term_count;                    /* at least one */
    bl_gradient_form form;
    bl_pixels pixels;
    bl_volume_gradient volume_gradient;
    bl_optimizer optimizer;
    double rate, beta_1, beta_2, momentum, alpha, epsilon; /* 0: defaults */
    bool nesterov;
    bl_fit_change *schedule;
    uint32_t schedule_count;
    fit_job_stage *stages; /* at least one */
    uint32_t stage_count;
    uint32_t steps, spp, spp_grad, seed; /* steps: of all stages */
    bool common_numbers;                 /* the same random numbers in all steps */
    uint32_t checkpoint_steps;           /* 0: by time */
    double wanted_noise;                 /* of adaptive samples; 0: they stay as they are */
    uint32_t spp_least;                  /* so; 0: the library's */
    uint32_t stop_window, stop_patience; /* when to end early; 0: not by that */
    double stop_improvement;             /* 0: the default */
    bool recursive_images;
    uint32_t average;        /* steps whose mean is the result; 0: the last one's values are */
    bool average_auto;       /* the last half of the steps tells what it is (BL_AVERAGE_AUTO) */
    uint32_t variance_steps; /* from one look at the gradients' noise to the next; 0: none */
} fit_job;

/* Prints file, place and key of the first mistake. fit_job_free in any case. */
int fit_job_read(const char *path, fit_job *job);
/* Adds what the job says of scene and gradients, where the command line says nothing else; texts are the
 * job's. */
void fit_job_merge(const fit_job *job, cli_common *common);
/* Whether its loss is a sum, or more than a name and a number. */
bool fit_job_composite(const fit_job *job);
/* Where a view's key stands in the job, "views[2].mask" or "mask". free() it. */
char *fit_job_place(const fit_job *job, uint32_t view, const char *key);
void fit_job_free(fit_job *job);

#endif
