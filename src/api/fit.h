/* SPDX-License-Identifier: BSD-3-Clause
 * A fit: a job whose parameters an optimiser moves towards target images. */
#ifndef BL_API_FIT_H
#define BL_API_FIT_H

#include "api/job.h"
#include "fit/fit.h"

typedef struct fit_view {
    gpu_buffer *target;
    uint32_t sensor;
    bool posed;
    float to_world[16];
} fit_view;

/* Hashes of everything that a fit's results depend on, so that what differs can be named (fit_state.c). */
typedef struct fit_identity {
    uint64_t program, scene, job;
} fit_identity;

/* What bl_fit_parameter says of one of the job's parameters, defaults resolved. */
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

#endif
