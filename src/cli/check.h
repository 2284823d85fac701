/* SPDX-License-Identifier: BSD-3-Clause
 * What backlight check measures (check.c) and says of it (check_report.c). */
#ifndef BL_CLI_CHECK_H
#define BL_CLI_CHECK_H

#include "cli.h"

typedef struct check_arguments {
    cli_common common;
    const char *scene, *adjoint, *direction, *output;
    cli_names parameters;
    double epsilon;
    uint32_t seeds;
} check_arguments;

typedef struct stencil {
    const char *name;
    int count;
    double offset[3], weight[3]; /* derivative = sum weight f(p + offset h d) / h */
} stencil;

typedef struct check_series { /* one number per seed */
    double mean, error;
} check_series;

typedef struct check_finding { /* about one parameter */
    cli_parameter parameter;
    float *values, *direction;
    double epsilon;
    const stencil *differences;
    double *gradient, *frozen, *plain; /* per seed */
    double *inside;                    /* per seed: the gradient without edges that move */
    check_series gradient_series, frozen_series, plain_series,
        gap_series;                                  /* the last: gradient less frozen */
    double worst, worst_difference, worst_tolerance; /* of gradient against frozen, in tolerances */
    double curvature; /* mean over seeds: what differences at h and h/2 differ by */
    double z;
    bool frozen_agrees, plain_agrees;
    bool mean_agrees;  /* where frozen ones do not in every seed: their mean does */
    double short_step; /* where frozen ones do not: with this step, shorter than epsilon, they do; 0: with
                          none */
} check_finding;

typedef struct check_work {
    cli_session *session;
    const check_arguments *args;
    check_finding *findings;
    float *weights, *image, *all; /* all: values of every parameter of the scene */
    double *slope;                /* dI/dh per value of the image */
    bl_job *job;
    size_t n;
    uint32_t spp, seeds, renders_done, renders;
} check_work;

/* Judges all findings and prints them; CLI_FAILED where a gradient is wrong. */
int check_report(check_work *w);

#endif
