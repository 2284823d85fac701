/* SPDX-License-Identifier: BSD-3-Clause
 * The parts of a fit's state as words, in both directions. fit_state.c says in which order they lie in a
 * checkpoint. */
#include "api/fit_words.h"

#include <string.h>

void fit_copy_words(void *own, float *words, size_t count, bool store)
{
    memcpy(store ? own : words, store ? words : own, 4 * count);
}

bl_result fit_move_words(gpu_buffer *b, uint64_t offset, float *words, uint32_t count, bool store,
                         bl_error *err)
{
    return store ? gpu_buffer_write(b, offset, words, 4ull * count, err)
                 : gpu_buffer_read(b, offset, words, 4ull * count, err);
}

uint32_t fit_value_count(const bl_fit *fit)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < fit->job->requested_count; k++)
        n += fit->job->scene->parameters.data[fit->job->requested[k]].count;
    return n;
}

bl_result fit_move_values(bl_fit *fit, float *words, bool store, bl_error *err)
{
    const bl_job *job = fit->job;
    for (uint32_t k = 0; k < job->requested_count; k++) {
        const render_parameter *p = &job->scene->parameters.data[job->requested[k]];
        TRY(fit_move_words(job->values, 4ull * job->plan->value_offset[job->requested[k]], words, p->count,
                           store, err));
        words += p->count;
    }
    return BL_OK;
}
