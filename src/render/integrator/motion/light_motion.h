/* SPDX-License-Identifier: BSD-3-Clause
 * What a vertex of a path from a light leads to, differentiated: its splat, and the ray that goes on
 * (docs/theory/light_tracing.md). */
#ifndef BL_RENDER_LIGHT_MOTION_H
#define BL_RENDER_LIGHT_MOTION_H

#include "render/integrator/path/light_path.h"

/* Outcomes of a vertex. Where walk.motion->chains they are functions of the ray that leads to it, too, and
 * `place` and `next` move. */
typedef struct light_outcome {
    color splat;  /* the splat over the throughput before the vertex */
    color onward; /* the factor of the throughput, without the density of the choices that were made */
    vec2 place;   /* of the splat, in pixels */
    vec3 next_o, next_d;
} light_outcome;

/* The point on the light at which the sample of `at` begins. */
light_outcome light_outcome_at_light(walk *w, const light_position *at, const light_vertex *l);
/* The surface that `l` has met. o, d: the ray that leads there. */
light_outcome light_outcome_at_surface(walk *w, const light_position *at, const light_vertex *l, vec3 o,
                                       vec3 d);

/* The numbers of an outcome: colours of `splat` and `onward`, and, where walk.motion->chains, the place and
 * the ray. light_outcome_pack returns how many there are. */
enum {
    LIGHT_PLACE_NUMBERS = 2,
    LIGHT_RAY_NUMBERS = 6,
    LIGHT_OUTCOME_MOST = 2 * COLOR_MOST + LIGHT_PLACE_NUMBERS + LIGHT_RAY_NUMBERS
};
uint32_t light_outcome_pack(const walk *w, const light_outcome *r, ir_ref out[LIGHT_OUTCOME_MOST]);
light_outcome light_outcome_unpack(const walk *w, const ir_ref *in);

#endif
