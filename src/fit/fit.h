/* SPDX-License-Identifier: BSD-3-Clause
 * The fixed kernels of an optimisation step (glsl/), as calls that append to a batch: film to image, losses and their adjoints,
 * gradients out of fixed point, Adam. Sees gpu.h and nothing above it; who owns which buffer is the caller's business.
 * Every result is the same bytes on every run: sums have a fixed order that depends on sizes alone. */
#ifndef BL_FIT_H
#define BL_FIT_H

#include "gpu/gpu.h"

/* ---- kernels.c ---- */

typedef struct fit_kernels fit_kernels; /* one set per device; usable by any number of batches */

bl_result fit_kernels_create(gpu_device *device, fit_kernels **out, bl_error *err);
void fit_kernels_destroy(fit_kernels *kernels);

/* ---- film.c ---- */

/* image[3 * pixels] = scale * sum over strips of film, in ascending order. Lane strip * pixels + pixel owns lane_words words of film;
 * its r, g, b start at word lane_first. lane_words 0 means 3. */
typedef struct fit_resolve {
    gpu_buffer *film, *image;
    uint32_t pixels, strips;
    uint32_t lane_words, lane_first;
    float scale; /* one over the samples of a pixel */
} fit_resolve;
void fit_record_resolve(gpu_batch *batch, const fit_kernels *kernels, const fit_resolve *args);

/* output[output_first + i] = gradient[gradient_first + i] / scale[gradient_first + i], rounded once. A gradient element is two
 * words (low, high) of a two's complement 64-bit integer; a scale is a power of two. */
typedef struct fit_gradient_read {
    gpu_buffer *gradient, *scale, *output;
    uint32_t count, gradient_first, output_first;
} fit_gradient_read;
void fit_record_gradient_read(gpu_batch *batch, const fit_kernels *kernels, const fit_gradient_read *args);

/* ---- loss.c ---- */

/* Floats that the partial sums of an n-value loss need. */
uint32_t fit_loss_partials(uint32_t n);

/* results[slot] = mean of (image - target)^2, adjoint = its derivative by the image; n values each. */
typedef struct fit_loss_l2 {
    gpu_buffer *image, *target, *adjoint;
    gpu_buffer *partials, *results;
    uint32_t n, slot;
} fit_loss_l2;
void fit_record_loss_l2(gpu_batch *batch, const fit_kernels *kernels, const fit_loss_l2 *args);

/* results[slot] = sum of image * weights. */
typedef struct fit_loss_dot {
    gpu_buffer *image, *weights;
    gpu_buffer *partials, *results;
    uint32_t n, slot;
} fit_loss_dot;
void fit_record_loss_dot(gpu_batch *batch, const fit_kernels *kernels, const fit_loss_dot *args);

/* ---- adam.c ---- */

/* One step for `count` elements: parameter words from parameter_first, everything else from gradient_first on (an index of
 * elements in gradient, scale, moments, rate and bounds). Moments start as zeros. Bounds may be infinite. */
typedef struct fit_adam {
    gpu_buffer *parameters;
    gpu_buffer *gradient; /* floats, or with fixed_point two words per element */
    gpu_buffer *scale;    /* with fixed_point only; else NULL */
    gpu_buffer *m, *v;
    gpu_buffer *rate, *lower, *upper;
    gpu_buffer *
        status; /* word 0 counts elements left unchanged because their gradient was not finite; never reset here */
    uint32_t count, parameter_first, gradient_first;
    bool fixed_point;
    uint32_t step;                  /* 1 for the first */
    double beta_1, beta_2, epsilon; /* epsilon is added to sqrt(v) before bias correction, as Mitsuba does */
} fit_adam;
void fit_record_adam(gpu_batch *batch, const fit_kernels *kernels, const fit_adam *args);

#endif
