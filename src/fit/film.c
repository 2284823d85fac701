/* SPDX-License-Identifier: BSD-3-Clause
 * Film to image, and gradients out of fixed point. */
#include "fit/fit_internal.h"

void fit_record_resolve(gpu_batch *batch, fit_kernels *kernels, const fit_resolve *args)
{
    uint32_t channels = args->channels ? args->channels : 3,
             lane_words = args->lane_words ? args->lane_words : channels;
    uint64_t words = (uint64_t)args->pixels * args->strips * lane_words;
    BL_ASSERT(args->lane_first + channels <= lane_words, "%u + %u words of %u", args->lane_first, channels,
              lane_words);
    BL_ASSERT(words * 4 <= gpu_buffer_size(args->film), "film needs %llu words", (unsigned long long)words);
    BL_ASSERT(args->pixels * 4ull * channels <= gpu_buffer_size(args->image), "image of %u pixels",
              args->pixels);
    gpu_buffer *buffers[] = {args->film, args->image};
    uint32_t push[] = {args->pixels, args->strips,     float_word(args->scale),
                       lane_words,   args->lane_first, channels};
    fit_dispatch(batch, kernels, FIT_RESOLVE, buffers, push, (uint64_t)channels * args->pixels);
}

void fit_record_gradient_read(gpu_batch *batch, fit_kernels *kernels, const fit_gradient_read *args)
{
    uint64_t last = (uint64_t)args->gradient_first + args->count;
    BL_ASSERT(last * 8 <= gpu_buffer_size(args->gradient), "gradient element %llu", (unsigned long long)last);
    BL_ASSERT(last * 4 <= gpu_buffer_size(args->scale), "scale element %llu", (unsigned long long)last);
    if (args->count == 0)
        return;
    gpu_buffer *buffers[] = {args->gradient, args->scale, args->output};
    uint32_t push[] = {args->count, args->gradient_first, args->output_first};
    fit_dispatch(batch, kernels, FIT_GRADIENT_READ, buffers, push, args->count);
}
