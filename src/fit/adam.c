/* SPDX-License-Identifier: BSD-3-Clause
 * One step of Adam (glsl/adam.comp). What depends on the step alone is computed here, in double precision: 1 - beta_2^t
 * loses most of its digits in float for the first steps. */
#include "fit/fit_internal.h"

#include <math.h>

static void check_sizes(const fit_adam *args)
{
    uint64_t last = (uint64_t)args->gradient_first + args->count;
    gpu_buffer *const per_element[] = {args->m, args->v, args->rate, args->lower, args->upper};
    for (uint32_t i = 0; i < sizeof per_element / sizeof per_element[0]; i++)
        BL_ASSERT(last * 4 <= gpu_buffer_size(per_element[i]), "element %llu of array %u",
                  (unsigned long long)last, i);
    uint32_t gradient_bytes = args->fixed_point ? 8 : 4;
    BL_ASSERT(last * gradient_bytes <= gpu_buffer_size(args->gradient), "gradient %llu",
              (unsigned long long)last);
    BL_ASSERT(!args->fixed_point || (args->scale && last * 4 <= gpu_buffer_size(args->scale)), "scale %llu",
              (unsigned long long)last);
    BL_ASSERT((args->parameter_first + (uint64_t)args->count) * 4 <= gpu_buffer_size(args->parameters),
              "parameters %u + %u", args->parameter_first, args->count);
}

void fit_record_adam(gpu_batch *batch, const fit_kernels *kernels, const fit_adam *args)
{
    BL_ASSERT(args->step > 0, "steps count from %u", 1u);
    check_sizes(args);
    if (args->count == 0)
        return;
    double correction = sqrt(1 - pow(args->beta_2, args->step)) / (1 - pow(args->beta_1, args->step));
    gpu_buffer *scale = args->scale ? args->scale : args->gradient; /* a binding cannot be empty */
    gpu_buffer *buffers[] = {args->parameters, args->gradient, scale,       args->m,     args->v,
                             args->rate,       args->lower,    args->upper, args->status};
    uint32_t push[] = {args->count,
                       args->parameter_first,
                       args->gradient_first,
                       args->fixed_point ? 1u : 0u,
                       float_word(args->beta_1),
                       float_word(1 - args->beta_1),
                       float_word(args->beta_2),
                       float_word(1 - args->beta_2),
                       float_word(args->epsilon),
                       float_word(correction)};
    gpu_batch_dispatch(batch, kernels->adam, buffers, push, args->count);
}
