/* SPDX-License-Identifier: BSD-3-Clause
 * What a fit has in memory as words, to save and restore it. If `store`, words go to the fit; else they come
 * from it. */
#ifndef BL_API_FIT_WORDS_H
#define BL_API_FIT_WORDS_H

#include "api/fit.h"

/* Of the host. */
void fit_copy_words(void *own, float *words, size_t count, bool store);
/* Of the device. */
bl_result fit_move_words(gpu_buffer *b, uint64_t offset, float *words, uint32_t count, bool store,
                         bl_error *err);
/* The values of all that the job requests, one parameter after the other, and how many they are. */
uint32_t fit_value_count(const bl_fit *fit);
bl_result fit_move_values(bl_fit *fit, float *words, bool store, bl_error *err);

#endif
