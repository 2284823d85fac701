/* SPDX-License-Identifier: BSD-3-Clause
 * The scene buffer as a growing array of words. Who writes into it and in which order: plan.c. */
#include "render/plan_internal.h"

uint32_t plan_reserve(plan *p, uint32_t count)
{
    uint32_t at = p->words.count;
    array_reserve(&p->words, at + count + 1);
    memset(p->words.data + at, 0, count * sizeof(uint32_t));
    p->words.count += count;
    return at;
}

void plan_align(plan *p) { plan_reserve(p, -p->words.count % 4); }

void plan_append(plan *p, const uint32_t *words, uint32_t count)
{
    uint32_t at = plan_reserve(p, count);
    if (count)
        memcpy(p->words.data + at, words, count * sizeof(uint32_t));
}

uint32_t plan_sensor_word(const plan *p) { return p->words.data[HEADER_SENSOR]; }
