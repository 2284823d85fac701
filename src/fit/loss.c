/* SPDX-License-Identifier: BSD-3-Clause
 * Losses in stages: values to partial sums (kernels/loss.c), these to fewer ones (kernels/reduce.c), until
 * one number is left, in a slot of the results. Partial sums of all stages stand one behind another in one
 * buffer. */
#include "fit/fit_internal.h"

#include <float.h>
#include <math.h>

/* ---- what is known of each loss ---- */

typedef struct loss_class {
    const char *name;
    fit_kernel kernel;
    bool affine;
    fit_kernel halves;                         /* of affine ones: the kernel of fit_record_loss_halves */
    const char *constant_name;                 /* of the loss's own number; NULL where it has none */
    double constant;                           /* the default */
    fit_slope_bound (*bound)(double constant); /* of the slope of one value */
} loss_class;

static const float black = 1e-3f; /* what a target without light counts as */

static fit_slope_bound bound_l2(double constant)
{
    return (void)constant, (fit_slope_bound){2, black, FLT_MAX, 0};
}
static fit_slope_bound bound_relative_l2(double epsilon)
{
    return (fit_slope_bound){2, black, FLT_MAX, epsilon};
}
static fit_slope_bound bound_l1(double constant) { return (void)constant, (fit_slope_bound){1, 1, 1, 0}; }
static fit_slope_bound bound_huber(double delta) { return (fit_slope_bound){1, black, (float)delta, 0}; }

static const loss_class losses[BL_LOSS_COUNT] = {
    [BL_LOSS_L2] = {"l2", FIT_LOSS_L2, true, FIT_HALVES_L2, NULL, 0, bound_l2},
    [BL_LOSS_L1] = {"l1", FIT_LOSS_L1, false, 0, NULL, 0, bound_l1},
    [BL_LOSS_RELATIVE_L2] = {"relative_l2", FIT_LOSS_RELATIVE_L2, true, FIT_HALVES_RELATIVE_L2, "epsilon",
                             0.01, bound_relative_l2},
    [BL_LOSS_HUBER] = {"huber", FIT_LOSS_HUBER, false, 0, "delta", 1, bound_huber},
};

bl_loss_info fit_loss_info(bl_loss loss)
{
    const loss_class *c = &losses[loss];
    return (bl_loss_info){
        .name = c->name, .constant_name = c->constant_name, .constant = c->constant, .unbiased = c->affine};
}

static double constant_of(bl_loss loss, double given) { return given > 0 ? given : losses[loss].constant; }

fit_slope_bound fit_loss_bound(bl_loss loss, double constant)
{
    return losses[loss].bound(constant_of(loss, constant));
}

static int exponent_of(double x)
{
    int exponent = 0;
    frexp(x, &exponent);
    return exponent - 1;
}

int fit_slope_divisor(double epsilon, float darkest)
{
    enum { LEAST = -140, MOST = 256 /* of infinity: nothing is finite */ };
    int own = epsilon >= 0x1p-140 ? exponent_of(epsilon) : LEAST,
        theirs = darkest >= FLT_MIN ? isfinite(darkest) ? 2 * exponent_of((double)darkest) : MOST : LEAST;
    return own > theirs ? own : theirs;
}

double fit_loss_steepest(bl_loss loss, double constant, const fit_goal *goal)
{
    const fit_slope_bound bound = fit_loss_bound(loss, constant);
    float brightest = 0, darkest = INFINITY, heaviest = 0;
    for (uint32_t i = 0; i < goal->pixels * goal->channels; i++) {
        const float weight = goal->weights ? goal->weights[i / goal->channels] : 1;
        heaviest = fmaxf(heaviest, weight);
        if (isfinite(goal->target[i]) && weight > 0) {
            brightest = fmaxf(brightest, fabsf(goal->target[i]));
            darkest = fminf(darkest, goal->averaged && goal->target[i] < 0 ? 0 : fabsf(goal->target[i]));
        }
    }
    double slope = bound.factor * (double)fminf(fmaxf(brightest, bound.least), bound.most) *
                   (double)heaviest / (goal->pixels * goal->channels);
    return bound.epsilon > 0 ? ldexp(slope, -fit_slope_divisor(bound.epsilon, darkest)) : slope;
}

/* ---- recording ---- */

static uint32_t parts(uint32_t n, uint32_t of) { return n / of + (n % of != 0); }

/* Partial sums of the first stage. */
static uint32_t first_stage(uint32_t n) { return FIT_BLOCK_LANES * parts(n, FIT_BLOCK_VALUES); }

uint32_t fit_loss_partials(uint32_t n)
{
    uint32_t count = first_stage(n), all = count;
    for (count = parts(count, FIT_FAN_IN); count > 1; count = parts(count, FIT_FAN_IN))
        all += count;
    return all;
}

void fit_record_loss_sum(gpu_batch *batch, fit_kernels *kernels, gpu_buffer *partials, gpu_buffer *results,
                         uint32_t n, uint32_t slot)
{
    BL_ASSERT(gpu_buffer_size(results) / 4 > slot, "no slot %u in the results", slot);
    gpu_buffer *buffers[] = {partials, results};
    for (uint32_t first = 0, count = first_stage(n), lanes; count > 1; first += count, count = lanes) {
        lanes = parts(count, FIT_FAN_IN);
        uint32_t push[] = {first, count, lanes, slot};
        fit_dispatch(batch, kernels, FIT_REDUCE_SUM, buffers, push, lanes);
    }
}

static void check_partials(gpu_buffer *partials, uint32_t n)
{
    uint32_t count = fit_loss_partials(n);
    BL_ASSERT(n > 0 && count * 4ull <= gpu_buffer_size(partials), "%u partial sums of %u values", count, n);
}

void fit_record_loss(gpu_batch *batch, fit_kernels *kernels, const fit_loss *args)
{
    check_partials(args->partials, args->n);
    BL_ASSERT(args->n * 4ull <= gpu_buffer_size(args->image) &&
                  args->n * (args->weighted ? 8ull : 4ull) <= gpu_buffer_size(args->target) &&
                  args->n * 4ull <= gpu_buffer_size(args->adjoint),
              "%u values do not fit", args->n);
    gpu_buffer *buffers[] = {args->image, args->target, args->adjoint, args->partials};
    double weight = args->weight > 0 ? args->weight : 1;
    uint32_t push[] = {args->n, float_word(weight / args->n),
                       float_word(constant_of(args->loss, args->constant)), args->weighted ? args->n : 0};
    fit_dispatch(batch, kernels, losses[args->loss].kernel, buffers, push, first_stage(args->n));
    fit_record_loss_sum(batch, kernels, args->partials, args->results, args->n, args->slot);
}

void fit_record_loss_halves(gpu_batch *batch, fit_kernels *kernels, const fit_loss_halves *args)
{
    uint32_t channels = args->channels ? args->channels : 3, n = channels * args->pixels,
             first = channels * args->first_pixel, end = first + channels * args->pixel_count;
    BL_ASSERT(losses[args->loss].affine, "%s in two walks", losses[args->loss].name);
    BL_ASSERT(first % FIT_BLOCK_VALUES == 0 && end <= n && (end == n || end % FIT_BLOCK_VALUES == 0),
              "tile of pixels %u to %u", first / channels, end / channels);
    BL_ASSERT(args->strips % 2 == 0 && n * 4ull * args->strips <= gpu_buffer_size(args->film) &&
                  n * 8ull <= gpu_buffer_size(args->adjoint) &&
                  n * (args->weighted ? 8ull : 4ull) <= gpu_buffer_size(args->target),
              "%u strips of %u values do not fit", args->strips, n);
    check_partials(args->partials, n);
    gpu_buffer *buffers[] = {args->film, args->target, args->image, args->adjoint, args->partials};
    double weight = args->weight > 0 ? args->weight : 1;
    uint32_t push[] = {first,
                       end,
                       n,
                       args->strips,
                       float_word(weight / n),
                       float_word(constant_of(args->loss, args->constant)),
                       float_word(2.0 / args->spp),
                       args->weighted ? n : 0};
    fit_dispatch(batch, kernels, losses[args->loss].halves, buffers, push, first_stage(end - first));
}

void fit_record_loss_dot(gpu_batch *batch, fit_kernels *kernels, const fit_loss_dot *args)
{
    check_partials(args->partials, args->n);
    BL_ASSERT(args->n * 4ull <= gpu_buffer_size(args->image) &&
                  args->n * 4ull <= gpu_buffer_size(args->weights),
              "%u values do not fit", args->n);
    gpu_buffer *buffers[] = {args->image, args->weights, args->partials};
    uint32_t push[] = {args->n};
    fit_dispatch(batch, kernels, FIT_LOSS_DOT, buffers, push, first_stage(args->n));
    fit_record_loss_sum(batch, kernels, args->partials, args->results, args->n, args->slot);
}
