/* SPDX-License-Identifier: BSD-3-Clause
 * What a fit adds to the loss. The total variation of an array keeps values whose gradients are weak or noisy
 * close to their neighbours', and leaves edges where the images ask for them. A prior keeps them close to a
 * centre. */
#include "fit/fit_internal.h"

bool fit_has_variation(uint32_t rank) { return rank == 3 || rank == 4; }

void fit_record_variation(gpu_batch *batch, fit_kernels *kernels, const fit_variation *args)
{
    BL_ASSERT(fit_has_variation(args->rank) && args->smoothing > 0, "an array of rank %u", args->rank);
    const uint32_t *last = args->shape + args->rank - 1; /* channels; before it columns, rows */
    uint32_t count = 1;
    for (uint32_t k = 0; k < args->rank; k++)
        count *= args->shape[k];
    BL_ASSERT((args->parameter_first + (uint64_t)count) * 4 <= gpu_buffer_size(args->parameters),
              "parameters %u + %u", args->parameter_first, count);
    BL_ASSERT((args->gradient_first + (uint64_t)count) * 4 <= gpu_buffer_size(args->gradient),
              "gradient %u + %u", args->gradient_first, count);
    gpu_buffer *buffers[] = {args->parameters, args->gradient};
    uint32_t push[] = {count,
                       args->parameter_first,
                       args->gradient_first,
                       last[-1],
                       last[-2],
                       last[0],
                       float_word(args->weight / count),
                       float_word(args->smoothing)};
    fit_dispatch(batch, kernels, FIT_TOTAL_VARIATION, buffers, push, count);
}

const char *fit_prior_name(bl_prior prior)
{
    static const char *const names[BL_PRIOR_COUNT] = {"none", "l2", "l1"};
    return names[prior];
}

void fit_record_prior(gpu_batch *batch, fit_kernels *kernels, const fit_prior *args)
{
    BL_ASSERT(args->kind > BL_PRIOR_NONE && args->kind < BL_PRIOR_COUNT, "prior %d", (int)args->kind);
    BL_ASSERT((args->parameter_first + (uint64_t)args->count) * 4 <= gpu_buffer_size(args->parameters) &&
                  (args->gradient_first + (uint64_t)args->count) * 4 <= gpu_buffer_size(args->gradient),
              "parameters %u, gradient %u, + %u", args->parameter_first, args->gradient_first, args->count);
    gpu_buffer *buffers[] = {args->parameters, args->gradient};
    uint32_t push[] = {args->count, args->parameter_first, args->gradient_first,
                       float_word(args->weight / args->count), float_word(args->centre)};
    fit_dispatch(batch, kernels, args->kind == BL_PRIOR_L2 ? FIT_PRIOR_L2 : FIT_PRIOR_L1, buffers, push,
                 args->count);
}
