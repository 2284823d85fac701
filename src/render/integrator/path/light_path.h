/* SPDX-License-Identifier: BSD-3-Clause
 * Paths that begin at lights, one vertex at a time: what the image and its gradient have in common
 * (light_path.c, splatting.c). */
#ifndef BL_RENDER_LIGHT_PATH_H
#define BL_RENDER_LIGHT_PATH_H

#include "render/integrator/path/path.h"

/* Where a path stands before a vertex. Vertex 0 is the point on the light. */
typedef struct light_position {
    ir_ref sample, depth; /* u32 */
    vec3 o, d;
    ir_ref tmax;
} light_position;

/* Where a vertex is seen on the image. */
typedef struct light_splat {
    ir_ref there; /* bool */
    vec2 at;      /* in pixels */
} light_splat;

typedef struct light_vertex {
    ir_ref begins; /* bool: the point on the light, where only `emission` is; else only what follows it */
    walk_light emission; /* what the light gives along the ray and toward the sensor alike */
    color radiance;      /* its value */
    walk_vertex v;       /* to_light: toward the sensor */
    light_splat splat;
    ir_ref scale; /* the splat is this times throughput, and past the light for_sensor; detached */
    color for_sensor, for_sample; /* values of the material: importance toward the sensor; of the sample */
    ir_ref
        onward; /* by what the throughput changes besides the material's value over its density; detached */
    ir_ref goes_on; /* bool */
    vec3 next_o, next_d;
} light_vertex;

light_position light_before(walk *w, ir_ref sample);
light_vertex light_visit(walk *w, const light_position *at);
/* The values of v's material, differentiated or not. */
void light_values(walk *w, const light_vertex *v, bool differentiated, color *for_sensor, color *for_sample);
/* After the vertex: throughput, whether the path lives, and where it is then. b at the light: with its
 * radiance. */
ir_ref light_pass(walk *w, const light_vertex *v, light_position *at, throughput *b);
/* The radiance of a light as the first factor of a throughput, where `begins`. */
void light_emit(walk *w, const light_vertex *v, throughput *b);

#endif
