/* SPDX-License-Identifier: BSD-3-Clause
 * A fit: a job whose parameters an optimiser moves towards target images. */
#ifndef BL_API_FIT_H
#define BL_API_FIT_H

#include "api/job_dispatch.h"

typedef struct fit_view {
    gpu_buffer *target;   /* without a batch; where the fit is weighted, the weights are behind it */
    const float *pixels;  /* the target, with a batch: the caller's; so are */
    const float *weights; /* NULL: all are 1 */
    double share;         /* of its loss in that of the step */
    uint32_t sensor;
    bool posed, held_out;
    float to_world[16];
} fit_view;

/* With a batch: the pixels of a step. */
typedef struct fit_batch {
    uint32_t *list;
    float *gathered; /* their targets, and */
    gpu_buffer *target;
    uint32_t side; /* they come in blocks of side x side, for losses with levels; 1 for others */
} fit_batch;

/* Hashes of everything on which a fit's results depend. There are several, so that a message can say what
 * differs (fit_state.c). */
typedef struct fit_identity {
    uint64_t program, scene, job;
} fit_identity;

/* What bl_fit_parameter says of one of the job's parameters, with defaults resolved. */
typedef struct fit_parameter {
    double rate, beta_1, beta_2;
    bool sparse;
    float lower, upper;
    double total_variation, smoothing;
    bl_prior prior;
    double prior_weight, prior_centre;
    double lambda;              /* of large steps; 0: the parameter moves by ordinary ones */
    fit_smoothing *large_steps; /* NULL: so, too */
    uint32_t fixed_axes;
} fit_parameter;

/* A parameter of the descriptor, among the job's requested ones. */
typedef struct fit_asked {
    uint32_t first, count; /* requested parameters that it has brought along */
    uint32_t to_world;     /* the scene's parameter that they move; PLAN_NONE: it is the one itself */
} fit_asked;

/* A second gradient of the same values (fit_noise.c). */
typedef struct fit_probe {
    bool running, found; /* it is being computed; it is in: */
    float *gradient;     /* as many values as the job's gradient has; NULL: no step looks */
    bl_fit_noise *noise; /* in the order of the descriptor's parameters */
} fit_probe;

/* The samples of a step, and what they follow from (fit_samples.c). */
typedef struct fit_samples {
    uint32_t image, gradient; /* of a pixel, in the next step */
    uint32_t before;          /* of the gradient before; 0: there is none */
    uint32_t pairs;           /* of gradients that have been compared */
    double *means;            /* NULL: the samples stay; else for each parameter of the descriptor two */
    float *gradients;         /* the one before, and room for the present one */
} fit_samples;

/* The recursive image of a view (fit_recursion.c). */
typedef struct fit_trail {
    float *state, *scratch;
    uint32_t steps;
} fit_trail;

/* How many samples moving edges have (fit_edges.c). */
typedef struct fit_edges {
    gpu_buffer *step; /* the step's gradient, while that of edges alone is found; NULL: they have the usual */
    float *before;    /* the gradient of the step before: without edges, of edges alone; and room for this
                         step's */
    float share;      /* of the gradient's samples; 0: as usual */
} fit_edges;

/* Means of the values over steps (fit_average.c). */
typedef struct fit_average {
    float *means; /* of the job's requested parameters, one after the other; NULL: none are kept */
    uint32_t steps;
} fit_average;

/* Lines of gradients over values (fit_roots.c). */
typedef struct fit_roots {
    void *lines;    /* of the values of the job's requested parameters; NULL: there are none */
    float *values;  /* before a step, and room for their gradients */
    double *shares; /* by which settling has moved parameters of the descriptor */
    uint32_t steps; /* that lines have seen */
    bool settled;   /* since the last one of them */
} fit_roots;

struct bl_fit {
    bl_job *job;
    bl_fit_desc desc; /* defaults are resolved; of its pointers only schedule is set, and the fit owns it */
    fit_view *views;
    uint32_t *seen, seen_count; /* the views that are not held out */
    fit_batch batch;
    fit_probe probe;
    fit_samples samples;
    fit_average average;
    fit_roots roots;
    fit_edges edges;
    fit_trail *trails;         /* of the views; NULL: images are those of the step alone */
    fit_parameter *parameters; /* in the order of the job's requested parameters */
    fit_asked *asked;          /* in the order of the descriptor's */
    uint32_t asked_count;
    double largest_adjoint;
    uint32_t coarser; /* number of steps by which overflows have made the fixed-point scale coarser */
    gpu_buffer *state[2], *optimizer_status;
    bool weighted;                    /* some view has weights of its pixels */
    fit_composite *composite;         /* of a loss that is a sum; NULL: it is one loss */
    double terms[BL_LOSS_TERMS_MOST]; /* what each has added to the loss of the last step */
    uint32_t term_count;
    gpu_buffer *losses; /* of the views of a recorded step (fit_vulkan.c); NULL until one is prepared */
    uint64_t bytes;     /* size of the buffers above and the targets */
    fit_identity identity;
    bl_fit_status status; /* status of the last step */
};

/* What a step is made of, for steps that are recorded. The gradient pass; to the job's batch: the comparison
 * of the image in the film with a target; the optimiser's move, the one after step fit->status.step. */
job_work_desc fit_gradient_work(const bl_fit *fit, const job_loss *loss, uint32_t seed);
void fit_record_comparison(bl_fit *fit, const job_loss *loss);
void fit_record_move(bl_fit *fit);

#endif
