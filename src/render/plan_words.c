/* SPDX-License-Identifier: BSD-3-Clause
 * The scene buffer as a growing array of words. Who writes into it and in which order: plan.c. */
#include "render/plan_internal.h"
#include "render/sensor/sensor.h"

#include <string.h>

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

/* The record of the sensor is the last part of the buffer, so those of other views follow it. Until they are
 * set they are those of the scene's sensor. */
void plan_reserve_batch(plan *p, uint32_t views, uint32_t pixels)
{
    uint32_t stride = sensor_words(p->scene->sensor);
    BL_ASSERT(views > 0 && pixels > 0 && p->batch_pixels == 0, "%u pixels of %u views", pixels, views);
    BL_ASSERT(plan_sensor_word(p) + stride == p->words.count, "the sensor's record is at word %u of %u",
              plan_sensor_word(p), p->words.count);
    for (uint32_t v = 1; v < views; v++) {
        uint32_t at = plan_reserve(p, stride);
        memcpy(p->words.data + at, p->words.data + plan_sensor_word(p), stride * sizeof *p->words.data);
    }
    plan_reserve(p, pixels);
    p->batch_views = views, p->batch_pixels = pixels;
    p->edges = false;
}

uint32_t plan_batch_word(const plan *p)
{
    BL_ASSERT(p->batch_pixels > 0, "a plan with %u pixels of a batch", p->batch_pixels);
    return plan_sensor_word(p) + p->batch_views * sensor_words(p->scene->sensor);
}
