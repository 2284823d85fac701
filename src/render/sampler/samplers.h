/* SPDX-License-Identifier: BSD-3-Clause
 * Samplers: how the random numbers of one dimension are spread over a pixel's samples. */
#ifndef BL_RENDER_SAMPLERS_H
#define BL_RENDER_SAMPLERS_H

#include "render/class.h"

/* Whose numbers: all of one sample's path have the same. */
typedef struct sampler_place {
    ir_ref pixel, sample, spp, seed, stream; /* u32 */
    bool jittered;
} sampler_place;
/* What the four numbers of a block are: two of two dimensions; or one, two, one: u[0], (u[1], u[2]), u[3]. */
typedef enum sampler_slots { SAMPLER_PAIRS, SAMPLER_ONE_TWO_ONE } sampler_slots;
struct dimension;

typedef struct sampler_class {
    render_class base;
    uint32_t (*count)(uint32_t n); /* the least number of samples that it can do, n or more */
    /* Numbers of one dimension. NULL: independent of all others. */
    ir_ref (*one)(tracer *t, const struct dimension *d);
    vec2 (*two)(tracer *t, const struct dimension *d);
} sampler_class;

/* As random_block, with the numbers spread over the pixel's samples as the sampler does. */
random4 sampler_block(tracer *t, const sampler_class *sampler, const sampler_place *at, ir_ref block,
                      sampler_slots slots);
uint32_t sampler_count(const render_scene *s,
                       uint32_t spp); /* spp, rounded up to what the scene's sampler can do */
bool sampler_jitters(const render_scene *s);
static inline const sampler_class *sampler_of(const scene_object *o)
{
    return (const sampler_class *)(const void *)o->cls;
}

#endif
