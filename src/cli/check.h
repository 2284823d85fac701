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

enum { CHECK_POINTS = 3 };

/* derivative = sum weight f(p + offset h d) / h; points stand in equal distances */
typedef struct check_stencil {
    const char *name;
    double offset[CHECK_POINTS], weight[CHECK_POINTS];
} check_stencil;

/* A difference of images, for each value of one. */
typedef struct check_slopes {
    double *slope;
    double *bend;    /* of the slopes in the two halves of the step, where asked for */
    double *squares; /* of what the slope is a sum of, summed, for rounding */
} check_slopes;

/* A difference of images, weighted and summed. */
typedef struct check_difference {
    double value;     /* sum W dI */
    double size;      /* sum |W dI| */
    double rounding;  /* expected error of value from images in float */
    double curvature; /* of two steps: what values differ by */
    double kinks;     /* of two steps: the same if single pixels differ by chance */
    double tolerance; /* of two steps: of a gradient's difference from value */
} check_difference;

/* How many of the pixels that change must change smoothly, so that these decide. */
#define CHECK_SMOOTH_LEAST .5

/* The comparison among pixels that change smoothly. */
typedef struct check_smooth {
    bool agrees;  /* in every seed, and most pixels that change are such */
    double step;  /* of the last comparison; 0: there was none */
    double share; /* of the pixels that change */
} check_smooth;

typedef struct check_series { /* one number per seed */
    double mean, error;
} check_series;

typedef struct check_finding { /* about one parameter */
    cli_parameter parameter;
    float *values, *direction;
    double epsilon;
    const check_stencil *differences;
    double *gradient, *frozen, *plain; /* per seed */
    double *inside;                    /* per seed: the gradient without edges that move */
    check_series gradient_series, frozen_series, plain_series;
    double worst, worst_difference, worst_tolerance; /* of gradient against frozen, in tolerances */
    double differences_sum; /* of gradient against frozen, without signs, over seeds */
    double curvature;       /* mean over seeds: what differences at h and h/2 differ by */
    double z;
    bool frozen_agrees, plain_agrees;
    check_smooth smooth; /* where frozen ones do not agree in every seed */
} check_finding;

typedef struct check_work {
    cli_session *session;
    check_arguments *args;
    check_finding *findings;
    float *weights, *rounded, *all; /* rounded: an image; all: values of every parameter of the scene */
    double *image, *moved;          /* moved: all, with those of a step */
    bool doubles;                   /* --precision double */
    float *smooth;                  /* the weights of pixels that change smoothly */
    check_slopes whole, half;       /* with a step and with half of it */
    bl_job *job;
    size_t n;
    uint32_t spp, seeds, renders_done, renders;
    cli_progress bar;
} check_work;

/* ---- check_differences.c ---- */

extern const check_stencil check_stencils[3]; /* the preferred one first */

/* Which images a difference is of. The step is scale * epsilon. */
typedef struct check_step {
    bool frozen, bends; /* bends: with them, for which the middle is rendered, too */
    uint32_t seed;
    double scale;
} check_step;

/* How many images a difference without bends is made of. */
uint32_t check_images(const check_stencil *s);
int check_differentiate(check_work *w, const check_finding *f, check_step step, check_slopes *out);
check_difference check_weigh(const check_work *w, const check_slopes *s, const float *weights);
/* From w->whole and w->half (Richardson). */
check_difference check_extrapolate(const check_work *w, const float *weights);

/* How many values of images change, and how many of these smoothly. */
typedef struct check_share {
    uint64_t changing, smooth;
} check_share;

/* Writes the weights of the pixels that change smoothly within the step of w->whole, 0 for others, and counts
 * them. */
void check_choose_smooth(const check_work *w, float *weights, check_share *count);

/* Position of a parameter in the concatenation of all. */
int check_place_of(const cli_session *session, uint32_t index, size_t *first);
bool check_progress(void *work, double done); /* a bl_progress of check_work */

/* ---- check_report.c ---- */

/* Judges all findings and prints them; CLI_FAILED where a gradient is wrong. */
int check_report(check_work *w);

#endif
