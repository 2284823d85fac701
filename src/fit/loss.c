/* SPDX-License-Identifier: BSD-3-Clause
 * Losses in two stages: groups of 1024 values to partial sums, partial sums to one number in a slot of the results. */
#include "fit/fit_internal.h"

enum { VALUES_PER_GROUP = 1024 }; /* as in glsl/loss_*.comp */

uint32_t fit_loss_partials(uint32_t n) { return n / VALUES_PER_GROUP + (n % VALUES_PER_GROUP != 0); }

static void record_sum(gpu_batch *batch, const fit_kernels *kernels, gpu_buffer *partials,
                       gpu_buffer *results, uint32_t n, uint32_t slot)
{
    BL_ASSERT(gpu_buffer_size(results) / 4 > slot, "no slot %u in the results", slot);
    gpu_buffer *buffers[] = {partials, results};
    uint32_t push[] = {fit_loss_partials(n), slot};
    gpu_batch_dispatch(batch, kernels->reduce_sum, buffers, push, FIT_GROUP);
}

static uint64_t stage_invocations(gpu_buffer *partials, uint32_t n)
{
    uint32_t groups = fit_loss_partials(n);
    BL_ASSERT(n > 0 && groups * 4ull <= gpu_buffer_size(partials), "%u partial sums of %u values", groups, n);
    return (uint64_t)groups * FIT_GROUP;
}

void fit_record_loss_l2(gpu_batch *batch, const fit_kernels *kernels, const fit_loss_l2 *args)
{
    uint64_t invocations = stage_invocations(args->partials, args->n);
    BL_ASSERT(args->n * 4ull <= gpu_buffer_size(args->image) &&
                  args->n * 4ull <= gpu_buffer_size(args->target) &&
                  args->n * 4ull <= gpu_buffer_size(args->adjoint),
              "%u values do not fit", args->n);
    gpu_buffer *buffers[] = {args->image, args->target, args->adjoint, args->partials};
    uint32_t push[] = {args->n, float_word(1.0 / args->n)};
    gpu_batch_dispatch(batch, kernels->loss_l2, buffers, push, invocations);
    record_sum(batch, kernels, args->partials, args->results, args->n, args->slot);
}

void fit_record_loss_dot(gpu_batch *batch, const fit_kernels *kernels, const fit_loss_dot *args)
{
    uint64_t invocations = stage_invocations(args->partials, args->n);
    BL_ASSERT(args->n * 4ull <= gpu_buffer_size(args->image) &&
                  args->n * 4ull <= gpu_buffer_size(args->weights),
              "%u values do not fit", args->n);
    gpu_buffer *buffers[] = {args->image, args->weights, args->partials};
    uint32_t push[] = {args->n};
    gpu_batch_dispatch(batch, kernels->loss_dot, buffers, push, invocations);
    record_sum(batch, kernels, args->partials, args->results, args->n, args->slot);
}
