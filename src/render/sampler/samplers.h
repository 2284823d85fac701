/* SPDX-License-Identifier: BSD-3-Clause
 * The interface of samplers: how the random numbers of one dimension are spread over the samples of a
 * pixel. */
#ifndef BL_RENDER_SAMPLERS_H
#define BL_RENDER_SAMPLERS_H

#include "render/class.h"

/* The samples of a pixel that share strata. Sets of a pixel are independent. u32: */
typedef struct sampler_set {
    ir_ref index, count; /* of the sample in its set; of samples in a set */
    ir_ref number, sets; /* of the set; of sets in a pixel */
} sampler_set;
/* Says whose numbers are asked for. The whole path of one sample has the same place. */
typedef struct sampler_place {
    ir_ref pixel, sample, seed, stream; /* u32 */
    sampler_set set;
    bool jittered;
} sampler_place;
/* The layout of the four numbers of a block: two dimensions of two numbers each; or one, two, one: u[0],
 * (u[1], u[2]), u[3]. */
typedef enum sampler_slots { SAMPLER_PAIRS, SAMPLER_ONE_TWO_ONE } sampler_slots;
struct dimension;

typedef struct sampler_class {
    render_class base;
    /* The least number of samples of a pixel, n or more, that it can spread over so many sets. */
    uint32_t (*count)(uint32_t n, uint32_t sets);
    /* The one or two numbers of one dimension. NULL: they are independent of all others. */
    ir_ref (*one)(tracer *t, const struct dimension *d);
    vec2 (*two)(tracer *t, const struct dimension *d);
} sampler_class;

/* Makes the four numbers of a block, as random_block does, but spread over the samples of the pixel by the
 * sampler. */
random4 sampler_block(tracer *t, const sampler_class *sampler, const sampler_place *at, ir_ref block,
                      sampler_slots slots);
/* spp, rounded up to what the sampler of the scene can do in so many sets. */
uint32_t sampler_count(const render_scene *s, uint32_t spp, uint32_t sets);
bool sampler_jitters(const render_scene *s);
static inline const sampler_class *sampler_of(const scene_object *o)
{
    return (const sampler_class *)(const void *)o->cls;
}

#endif
