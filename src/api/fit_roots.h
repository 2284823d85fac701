/* SPDX-License-Identifier: BSD-3-Clause
 * Where the gradients of a fit's last steps vanish. */
#ifndef BL_API_FIT_ROOTS_H
#define BL_API_FIT_ROOTS_H

#include "api/fit.h"

bl_result fit_roots_create(bl_fit *fit, bl_error *err);
void fit_roots_destroy(bl_fit *fit);
/* Whether this step counts. Its gradients then are in the job's output after its move. */
bool fit_roots_due(const bl_fit *fit, uint32_t step);
/* Before the move of a step that counts: keeps the values. After it: takes them and their gradients. */
bl_result fit_roots_look(bl_fit *fit, uint32_t step, bl_error *err);
bl_result fit_roots_follow(bl_fit *fit, uint32_t step, bl_error *err);
/* Moves the values there, as far as each can be told (bl_fit_settle). */
bl_result fit_roots_settle(bl_fit *fit, bl_error *err);
/* As words of a checkpoint: to them, or from them (store). */
uint32_t fit_roots_words(const bl_fit *fit);
void fit_roots_move(bl_fit *fit, float *words, bool store);

#endif
