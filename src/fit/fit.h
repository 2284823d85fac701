/* SPDX-License-Identifier: BSD-3-Clause
 * The fixed kernels of an optimisation step (kernels/), as calls that append to a batch: film to image,
 * losses and their adjoints, gradients out of fixed point, optimisers. Sees no scene and no job; who owns
 * which buffer is the caller's business. Every result is the same bytes on every run: sums have a fixed order
 * that depends on sizes alone. */
#ifndef BL_FIT_H
#define BL_FIT_H

#include <backlight/backlight.h>

#include "gpu/gpu.h"

#include <float.h>

/* A setting: 0, which stands for a default, or a positive number that single precision holds. */
static inline bool fit_usable(double number)
{
    return number == 0 || (number >= FLT_MIN && number <= FLT_MAX);
}

/* ---- kernels.c ---- */

/* One set per device, usable by any number of batches. A kernel is made when it is first recorded; if that
 * fails, submitting the batch returns the error. */
typedef struct fit_kernels fit_kernels;

/* checked: every access of the kernels is (codegen/bounds.h). */
bl_result fit_kernels_create(gpu_device *device, bool checked, fit_kernels **out, bl_error *err);
void fit_kernels_destroy(fit_kernels *kernels);
/* The name of kernel k; NULL: there are not so many. */
const char *fit_kernel_name(uint32_t k);
typedef struct fit_kernel_size {
    uint64_t words;
    uint32_t ops; /* of the optimised trace */
} fit_kernel_size;
/* Makes kernel k as it is for buffers that can be bound. */
bl_result fit_kernel_compile(fit_kernels *kernels, uint32_t k, fit_kernel_size *size, bl_error *err);
/* After batches: BL_ERROR_BOUNDS if checked kernels have reported an access out of range. */
bl_result fit_kernels_check(fit_kernels *kernels, bl_error *err);

/* ---- film.c ---- */

/* image[channels * pixels] = scale * sum over strips of film, in ascending order. Lane strip * pixels + pixel
 * owns lane_words words of film; its channels start at word lane_first. lane_words 0: as many as channels. */
typedef struct fit_resolve {
    gpu_buffer *film, *image;
    uint32_t pixels, strips;
    uint32_t channels; /* 0: 3 */
    uint32_t lane_words, lane_first;
    float scale; /* one over the samples of a pixel */
} fit_resolve;
void fit_record_resolve(gpu_batch *batch, fit_kernels *kernels, const fit_resolve *args);

/* output[output_first + i] = gradient[gradient_first + i] / scale[gradient_first + i], rounded once. A
 * gradient element is two words (low, high) of a two's complement 64-bit integer; a scale is a power of
 * two. */
typedef struct fit_gradient_read {
    gpu_buffer *gradient, *scale, *output;
    uint32_t count, gradient_first, output_first;
} fit_gradient_read;
void fit_record_gradient_read(gpu_batch *batch, fit_kernels *kernels, const fit_gradient_read *args);

/* ---- exchange.c: images of a caller's, and a scale from one ---- */

/* kernels/pixels.c */
typedef enum fit_pixel_format { FIT_RGB, FIT_RGBA, FIT_RGBA_HALF, FIT_FACES } fit_pixel_format;
/* Pixels of a caller's buffer: those of the image, row by row, each `stride` words behind the one before. */
typedef struct fit_pixels {
    gpu_buffer *buffer;
    fit_pixel_format format;
    uint32_t first, stride; /* words */
    uint32_t last; /* of FIT_FACES, three indices each, for fit_record_pixels_in: larger ones become this */
} fit_pixels;
/* Between an image of 3 * pixels values, those from word image_first on, and a caller's. A caller's alpha
 * becomes 1, and is not read. */
void fit_record_pixels_out(gpu_batch *batch, fit_kernels *kernels, gpu_buffer *image, const fit_pixels *to,
                           uint32_t pixels);
void fit_record_pixels_in(gpu_batch *batch, fit_kernels *kernels, const fit_pixels *from, gpu_buffer *image,
                          uint32_t image_first, uint32_t pixels);

/* A range of a scale that follows from the largest finite |value|, x: its elements become 2^power(x). The
 * function says power for any x at or above 0. It falls by 1 from some mantissa of x to the next power of
 * two, and with each power of two. x counts as `least` or `most` where it lies outside of them. With an
 * epsilon that is not 0, power(x) is for x over fit_slope_divisor of the smallest |value|, too. */
typedef struct fit_scale_range {
    gpu_buffer *scale;
    uint32_t first, count;
    float least, most; /* 0 and FLT_MAX: all x are meant */
    double epsilon;    /* 0: there is no divisor */
    int (*power)(const void *user, double x);
    const void *user;
} fit_scale_range;
/* The largest and, if asked for, the smallest of n values, in partial sums of fit_loss_partials(n) words;
 * then scales by them. */
void fit_record_largest(gpu_batch *batch, fit_kernels *kernels, gpu_buffer *values, uint32_t n, bool smallest,
                        gpu_buffer *partials);
void fit_record_scales(gpu_batch *batch, fit_kernels *kernels, gpu_buffer *partials, uint32_t n,
                       const fit_scale_range *range);

/* ---- loss.c ---- */

/* Floats that the partial sums of an n-value loss need, those of all stages. */
uint32_t fit_loss_partials(uint32_t n);

bl_loss_info fit_loss_info(bl_loss loss);
/* A target, and how much its pixels count. */
typedef struct fit_goal {
    const float *target;  /* pixels * channels values */
    const float *weights; /* of the pixels; NULL: all are 1 */
    uint32_t pixels, channels;
    bool averaged; /* means over values are compared, which may be darker than all if signs differ */
} fit_goal;
/* A bound of |dL/dI| for images no brighter than the brightest value of the target that counts; weight 1. */
double fit_loss_steepest(bl_loss loss, double constant, const fit_goal *goal);
/* How it follows from the brightest |value| of the target: that, but at least `least` and at most `most`,
 * times `factor`, over n; and over fit_slope_divisor of the darkest |value|. */
typedef struct fit_slope_bound {
    double factor;
    float least, most;
    double epsilon; /* 0: there is no divisor */
} fit_slope_bound;
fit_slope_bound fit_loss_bound(bl_loss loss, double constant);
/* A power of two at or below darkest^2 + epsilon, and above an eighth of that: the larger one of what the
 * exponents of both say, which kernels find, too. As an exponent, and at least 2^-140. */
int fit_slope_divisor(double epsilon, float darkest);

/* results[slot] = weight * mean over n values of their weight times the loss, adjoint = its derivative by the
 * image. */
typedef struct fit_loss {
    bl_loss loss;
    double constant; /* the loss's own number; 0: its default */
    double weight;   /* 0: 1 */
    bool weighted;   /* n weights stand behind the target's values; else all are 1 */
    gpu_buffer *image, *target, *adjoint;
    gpu_buffer *partials, *results;
    uint32_t n, slot;
} fit_loss;
void fit_record_loss(gpu_batch *batch, fit_kernels *kernels, const fit_loss *args);

/* The loss of a two-walk step (docs/theory/two_walks.md): strips of even number and strips of odd number are
 * two halves of the samples, with an image each. For a tile of pixels: adjoint = dL/dI at the even half's
 * image, then (an image on) at the odd half's; image = the mean of both; partial sums of an unbiased
 * estimate of the loss, which may be negative. The tile begins at a multiple of 1024 pixels and ends at one
 * or with the film. fit_record_loss_sum adds up the partial sums once all tiles are done. Affine losses
 * only. */
typedef struct fit_loss_halves {
    bl_loss loss;
    double constant, weight; /* as in fit_loss */
    bool weighted;
    gpu_buffer *film, *target, *image, *adjoint; /* film: strip * pixels + pixel owns a word a channel */
    gpu_buffer *partials;
    uint32_t pixels, strips, spp; /* spp: of both halves */
    uint32_t channels;            /* 0: 3 */
    uint32_t first_pixel, pixel_count;
} fit_loss_halves;
enum { FIT_TILE_PIXELS = 1024 };
void fit_record_loss_halves(gpu_batch *batch, fit_kernels *kernels, const fit_loss_halves *args);
/* results[slot] = sum of the partial sums of n values. */
void fit_record_loss_sum(gpu_batch *batch, fit_kernels *kernels, gpu_buffer *partials, gpu_buffer *results,
                         uint32_t n, uint32_t slot);

/* results[slot] = sum of image * weights. */
typedef struct fit_loss_dot {
    gpu_buffer *image, *weights;
    gpu_buffer *partials, *results;
    uint32_t n, slot;
} fit_loss_dot;
void fit_record_loss_dot(gpu_batch *batch, fit_kernels *kernels, const fit_loss_dot *args);

/* ---- composite.c: losses that are weighted sums, some terms of them of coarser images ---- */

typedef struct fit_composite fit_composite;
typedef struct fit_composite_desc {
    const bl_composite_loss *loss; /* which is good; forgotten afterwards */
    uint32_t width, height, channels;
    bool weighted; /* as in fit_loss */
    bool halves;   /* of two walks */
} fit_composite_desc;
bl_result fit_composite_create(gpu_device *device, const fit_composite_desc *desc, fit_composite **out,
                               bl_error *err);
void fit_composite_destroy(fit_composite *composite);
/* Whether it has more levels than one, so that dL/dI of a pixel depends on other pixels. */
bool fit_composite_whole(const fit_composite *composite);
uint64_t fit_composite_bytes(const fit_composite *composite);
uint32_t fit_term_levels(const bl_loss_term *term);
uint32_t fit_composite_levels(const bl_composite_loss *loss); /* the most of its terms */
/* The name of a loss among its terms that is not affine; NULL: all are. */
const char *fit_composite_biased(const bl_composite_loss *loss);
/* As fit_loss_steepest. */
double fit_composite_steepest(const fit_composite *composite, const fit_goal *goal);

/* results[0] = weight * the sum, adjoint = its derivative by the image; of two halves as
 * fit_record_loss_halves and, once the last tile is done, fit_record_loss_sum. With more levels than one a
 * tile is the whole film. */
typedef struct fit_composite_use {
    double weight; /* 0: 1 */
    gpu_buffer *image, *target, *adjoint, *results;
    gpu_buffer *film; /* of halves, and what follows */
    uint32_t strips, spp, first_pixel, pixel_count;
    bool last;
} fit_composite_use;
void fit_record_composite(gpu_batch *batch, fit_kernels *kernels, const fit_composite *composite,
                          const fit_composite_use *use);
/* After the batch: adds to each of the terms what it has added to the loss. */
bl_result fit_composite_add_values(const fit_composite *composite, double *terms, bl_error *err);

/* ---- optimizer.c ---- */

const char *fit_optimizer_name(bl_optimizer kind);
uint32_t fit_optimizer_states(bl_optimizer kind); /* arrays of state: 1 or 2 */

/* One step for `count` elements: parameter words from parameter_first, everything else from gradient_first on
 * (an index of elements in gradient, scale and state). State starts as zeros. Bounds may be infinite. */
typedef struct fit_optimizer {
    bl_optimizer kind;
    gpu_buffer *parameters;
    gpu_buffer *gradient; /* floats, or with fixed_point two words per element */
    gpu_buffer *scale;    /* with fixed_point only; else NULL */
    gpu_buffer *state[2]; /* as many as fit_optimizer_states says */
    gpu_buffer *status; /* word 0 counts elements left unchanged because their gradient was not finite, word 1
                           those whose value is not; never reset here */
    uint32_t count, parameter_first, gradient_first;
    bool fixed_point;
    bool sparse;         /* adam: elements without a gradient are left as they are, and cost little */
    uint32_t step;       /* 1 for the first */
    double rate, factor; /* factor: of the rate, in this step */
    double lower, upper;
    double beta_1, beta_2; /* adam */
    double momentum;       /* sgd */
    bool nesterov;         /* sgd */
    double alpha;          /* rmsprop */
    double epsilon; /* adam, rmsprop: added to the root of the second moment, before bias correction, as
                       Mitsuba does */
} fit_optimizer;
void fit_record_optimizer(gpu_batch *batch, fit_kernels *kernels, const fit_optimizer *args);

/* ---- penalty.c ---- */

/* Whether an array of this shape has cells beside one another: an image [y, x, channels] or a grid [z, y, x,
 * channels]. */
bool fit_has_variation(uint32_t rank);

/* Adds to gradient (floats) the derivative of weight times the mean over elements of the smoothed total
 * variation (kernels/total_variation.c) of the array of words parameter_first on; element i of it is
 * gradient_first + i. */
typedef struct fit_variation {
    gpu_buffer *parameters, *gradient;
    uint32_t parameter_first, gradient_first;
    uint32_t rank, shape[4];
    double weight,
        smoothing; /* smoothing: above 0, the difference of neighbours below which the penalty is quadratic */
} fit_variation;
void fit_record_variation(gpu_batch *batch, fit_kernels *kernels, const fit_variation *args);

const char *fit_prior_name(bl_prior prior);
/* Adds to gradient (floats) the derivative of weight times the mean over elements of a prior. */
typedef struct fit_prior {
    bl_prior kind; /* not BL_PRIOR_NONE */
    gpu_buffer *parameters, *gradient;
    uint32_t parameter_first, gradient_first, count;
    double weight, centre;
} fit_prior;
void fit_record_prior(gpu_batch *batch, fit_kernels *kernels, const fit_prior *args);

/* ---- smoothing.c: large steps for vertices, on the host ---- */

typedef struct fit_smoothing fit_smoothing; /* I + lambda * Laplacian of a mesh, factorised */

/* For vertices without a face the matrix is the identity. BL_ERROR_UNSUPPORTED where CHOLMOD is not
 * installed, or its headers were not when the library was built. */
bl_result fit_smoothing_create(const uint32_t *faces, uint32_t face_count, uint32_t vertex_count,
                               double lambda, fit_smoothing **out, bl_error *err);
void fit_smoothing_destroy(fit_smoothing *s);
/* values = inverse(matrix) values, of each coordinate; count: 3 a vertex, or of heights 1. */
bl_result fit_smoothing_solve(fit_smoothing *s, double *values, uint32_t count, bl_error *err);
/* A step of AdamUniform: count numbers in each array, as above. */
typedef struct fit_smoothing_move {
    const float *gradient;          /* by the positions, finite */
    float *values, *first, *second; /* positions; first and second moments, which begin as zeros */
    uint32_t count, step;           /* step: 1 for the first */
    double rate, beta_1, beta_2, epsilon;
    uint32_t fixed_axes; /* bit k: coordinate k stays; of positions alone */
} fit_smoothing_move;
bl_result fit_smoothing_step(fit_smoothing *s, const fit_smoothing_move *m, bl_error *err);

/* ---- checkpoint.c ---- */

/* Fixed width and no padding: written as it is. */
typedef struct fit_checkpoint_head {
    uint64_t program, scene, job; /* hashes of what the state belongs to */
    uint64_t skipped;             /* of bl_fit_status */
    double loss;
    uint64_t drifted, overflowed, non_finite, cut, device_bytes, samples;
    uint32_t step, coarser, spp, spp_gradient;
    char device[128], driver[128];
} fit_checkpoint_head;

typedef struct fit_checkpoint {
    fit_checkpoint_head head;
    const float *words; /* parameters, then the optimiser's state */
    uint32_t word_count;
    const void *note; /* the caller's */
    size_t note_size;
    void *storage; /* of a checkpoint that was read: owns words and note */
} fit_checkpoint;

bl_result fit_checkpoint_write(const char *path, const fit_checkpoint *c, bl_error *err);
/* word_most: files with more words are refused before they are read. A file that is not whole and unchanged
 * is an error. */
bl_result fit_checkpoint_read(const char *path, uint32_t word_most, fit_checkpoint *out, bl_error *err);
void fit_checkpoint_free(fit_checkpoint *c);

#endif
