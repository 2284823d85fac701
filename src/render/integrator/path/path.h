/* SPDX-License-Identifier: BSD-3-Clause
 * What happens at a vertex as a whole: the camera's ray, the visit, values that carry derivatives, and the
 * adjoint. */
#ifndef BL_RENDER_PATH_H
#define BL_RENDER_PATH_H

#include "render/integrator/media/media.h"
#include "render/integrator/vertex/vertex.h"

/* ---- camera.c ---- */

walk_position walk_camera(walk *w, ir_ref sample); /* block 0 of the sample's random numbers */
/* `fresh ? camera : at`, with the camera ray built only where needed. */
walk_position walk_start(walk *w, ir_ref fresh, walk_position at);

/* ---- visit.c ---- */

/* Of the shading normal of si; the world's where v is a collision. */
frame walk_frame(walk *w, const walk_vertex *v, const interaction *si);
/* The sample that a vertex at `at` takes at a surface, from `block` of its random numbers. */
bsdf_sample walk_sample_at(walk *w, const interaction *si, const walk_position *at, ir_ref block);
ir_ref walk_is_through(tracer *t, const interaction *si,
                       const bsdf_sample *s); /* bool: there is a surface, and the sample goes straight on */
/* v's sample from its material and three numbers. *light_pdf: the density with which the material samples the
 * direction v->to_light, for the MIS weight of the sampled light. */
void walk_sample_bsdf(walk *w, walk_vertex *v, ir_ref u_lobe, ir_ref u1, ir_ref u2, ir_ref *light_pdf);
walk_vertex walk_visit(walk *w, walk_position at);

/* ---- light_visibility.c ---- */

/* bool: the sampled light is seen; only where wanted. Volumetric: v->shadow. */
ir_ref light_visible(walk *w, walk_vertex *v, const walk_position *at, ir_ref wanted);

/* ---- values.c ---- */

/* Differentiated: the light with direction, distance and uv as they move, and by what its solid angle grows;
 * false: nothing moves it. */
bool walk_move_light(walk *w, walk_light *light, ir_ref *factor);
/* Radiance of a light; black where it is not there. differentiated: with derivatives (or from the frozen
 * values). */
color walk_radiance(walk *w, walk_light light, bool differentiated);
/* The material's values at a vertex: toward the sampled light, and of the sampled direction. */
void walk_values(walk *w, const walk_vertex *v, bool differentiated, color *for_light, color *for_sample);
/* What the sampled light's radiance and the material's value for it are multiplied with: the light's weight,
 * and transmittance up to it. at: before the vertex. differentiated: the transmittance is; loops, so not for
 * reverse mode. */
color walk_light_scale(walk *w, const walk_vertex *v, const walk_position *at, bool differentiated);

#endif
