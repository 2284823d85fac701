/* SPDX-License-Identifier: BSD-3-Clause
 * What happens at a vertex as a whole: the camera's ray, the visit, values that carry derivatives, and the
 * adjoint. */
#ifndef BL_RENDER_PATH_H
#define BL_RENDER_PATH_H

#include "render/integrator/field/field.h"
#include "render/integrator/media/media.h"
#include "render/integrator/vertex/plugin_functions.h"
#include "render/integrator/vertex/vertex.h"

/* ---- camera.c ---- */

/* The scene's sensor. Where its parameters are wanted, it is as they are now. */
sensor_view walk_view(walk *w);
/* The position before the first vertex of a sample: the camera's ray. It uses block 0 of the sample's random
 * numbers. */
walk_position walk_camera(walk *w, ir_ref sample);
/* The basis of Stokes vectors that arrive at the sensor along the ray d of a sample: horizontal in the image,
 * as in Mitsuba. Where a sensor has no image to be horizontal in, it is that of d alone. */
vec3 walk_camera_basis(walk *w, ir_ref sample, vec3 d);
/* fresh ? walk_camera : at. The camera's ray is made only where `fresh`. */
walk_position walk_start(walk *w, ir_ref fresh, walk_position at);

/* ---- material_sample.c ---- */

/* Sets v->sample from v's material and three random numbers, wanted or not as walk_call has it. *light_pdf:
 * the density of that sampling for the direction v->to_light. */
void walk_sample_bsdf(walk *w, walk_vertex *v, ir_ref when, ir_ref u_lobe, ir_ref u1, ir_ref u2,
                      ir_ref *light_pdf);
/* The density of that sampling for the direction wo, where the path comes from wi. Both are local and lead
 * away from v. */
ir_ref walk_bsdf_density(walk *w, const walk_vertex *v, vec3 wi, vec3 wo);
/* bool: the material of class cls has a lobe that is not discrete, which may scatter what a light sends. */
ir_ref walk_has_smooth_lobe(walk *w, ir_ref cls);

/* ---- guided.c ---- */

/* walk_sample_bsdf by four numbers in place of three, where the walk is guided (guide_any): sample, its
 * density and *light_pdf are those of the material and the guide together. when: bool, the path may scatter.
 */
void walk_sample_guided(walk *w, walk_vertex *v, ir_ref when, const random4 *r, ir_ref *light_pdf);

/* ---- visit.c ---- */

/* Puts the vertex at the collision, where its flight has ended in the medium of the position. Its directions
 * are then in the world, and it has no surface. */
void walk_take_collision(walk *w, walk_vertex *v, walk_position at);
/* The frame of the shading normal of si. Where v is a collision, it is the frame of the world. */
frame walk_frame(walk *w, const walk_vertex *v, const interaction *si);
/* The sample that a vertex at `at` takes at a surface, from `block` of its random numbers. */
bsdf_sample walk_sample_at(walk *w, const interaction *si, const walk_position *at, ir_ref block);
/* bool: there is a surface, and the sample goes straight on. */
ir_ref walk_is_through(tracer *t, const interaction *si, const bsdf_sample *s);
/* hide_emitters: the camera's ray, behind shapes that are lights, which it passes through (Mitsuba's
 * skip_area_emitters). Rays of other vertices stay as they are. */
walk_position walk_skip_lights(walk *w, walk_position at);
/* The vertex that the ray of `at` leads to, with everything decided there. */
walk_vertex walk_visit(walk *w, walk_position at);

/* ---- radiance.c ---- */

/* Of the Stokes vector that arrives at the sensor, the entries behind the intensity: the rows by which what
 * arrives at the path is multiplied, and what they have found. */
typedef struct path_entries {
    color rows[3][4], found[3];
} path_entries;

/* A path whose radiance is wanted, between two vertices. */
typedef struct radiance_walk {
    walk_position at;
    color beta, radiance; /* the throughput; what the path has found so far */
    ir_ref eta;           /* product of the relative indices of refraction, for roulette */
    /* Where walk.polarized: the row by which the light that arrives is multiplied, without its first entry,
     * which is beta; and its basis, a unit vector of the world across the ray. */
    color row[3];
    vec3 basis;
    ir_ref reach; /* where walk.multiplexed: technique_reach of the path so far */
    bool whole;   /* of a film or a channel of Stokes vectors: */
    path_entries others;
} radiance_walk;

/* ---- polarized.c ---- */

/* A path begins: nothing has been found. */
void entries_start(walk *w, path_entries *e);
/* The same where not alive. */
void entries_restart(walk *w, ir_ref alive, path_entries *e);
void state_entries(walk *w, loop_state *s, path_entries *e);
/* Light arrives that is not polarised. */
void entries_see(walk *w, path_entries *e, color light);
void entries_scale(walk *w, path_entries *e, color by);

/* Where walk.polarized: p's row sees the intensity of whatever arrives. */
void polarized_start(walk *w, radiance_walk *p);
/* The same, and all of the vector that arrives is wanted, in this basis. */
void polarized_start_whole(walk *w, radiance_walk *p, vec3 basis);
/* Visits what p carries besides beta and radiance, as state of a loop. */
void state_polarized(walk *w, loop_state *s, radiance_walk *p);
/* Where not alive, a path begins: p's rows are those of the start again, and nothing has been found. */
void polarized_restart(walk *w, ir_ref alive, radiance_walk *p);
/* Where the film has Stokes vectors (walk.entries) and a sample begins (`fresh`, bool) at `at`, after
 * walk_start: rows refer to the basis of the camera; and of a path whose gradient is wanted, the loss asks
 * for dL. */
void polarized_refer(walk *w, ir_ref fresh, const walk_position *at, vec3 *basis);
void polarized_ask(walk *w, ir_ref fresh, const walk_position *at, film_value dL, throughput *b);
/* Takes the rows past v's material, and scales them by over_pdf. lit: per row, what it sees of light of
 * radiance 1 that the material at v scatters from the sampled light; the last three where p is whole. */
void polarized_pass(walk *w, const walk_vertex *v, radiance_walk *p, ir_ref over_pdf, color lit[4]);

/* What a vertex does to polarised light: the material's matrices, and the rotations between their bases and
 * those of the path. */
typedef struct polarized_vertex {
    bsdf_polarized_results of;
    mueller to_sample, to_light; /* from the bases of `of` to that in which the path arrives */
    mueller behind;              /* differentiated only: from `basis` to that of the sample */
    vec3 basis;                  /* of the path behind the vertex: unit vector of the world, detached */
} polarized_vertex;
/* At v, for a path that arrives with this basis. at: the position before v. */
polarized_vertex polarized_at(walk *w, const walk_vertex *v, const walk_position *at, vec3 basis);
/* The same differentiated, at a path that stays. walked: what polarized_at has found. */
polarized_vertex polarized_differentiated(walk *w, const walk_vertex *v, const walk_position *at, vec3 basis,
                                          const polarized_vertex *walked);
/* Sets out to the row times the matrix of v's sample. out may be row. */
void polarized_row(walk *w, const polarized_vertex *m, const color row[4], color out[4]);
/* Sets out to that matrix times the light that arrives by the sample. out may be arriving. */
void polarized_leaving(walk *w, const polarized_vertex *m, const color arriving[4], color out[4]);
/* Sets out to what the material sends on of the sampled light, of radiance 1. */
void polarized_lit(walk *w, const polarized_vertex *m, color out[4]);
color polarized_dot(walk *w, const color row[4], const color s[4]);
/* Takes the rows past the material, and scales them by over_pdf. */
void entries_pass(walk *w, const polarized_vertex *m, ir_ref over_pdf, path_entries *e);

/* ---- radiance.c ---- */

/* A path of which nothing has been walked. */
radiance_walk radiance_start(walk *w, const walk_position *at);
/* What lies between p's position and v, the vertex that is visited there: emission and extinction of media,
 * or a field. */
void radiance_cross(walk *w, radiance_walk *p, walk_vertex *v);
/* One vertex: adds its light and moves on. *alive: whether the path goes on (bool). Returns the vertex. */
walk_vertex radiance_vertex(walk *w, radiance_walk *p, ir_ref *alive);

/* ---- light_visibility.c ---- */

/* bool: the sampled light is seen from the vertex. It is false where not `wanted`. In volumetric walks this
 * sets v->shadow, too. */
ir_ref light_visible(walk *w, walk_vertex *v, const walk_position *at, ir_ref wanted);

/* ---- values.c ---- */

/* Replaces direction, distance and uv of a sampled light by differentiated ones, which move with parameters.
 * *factor: the growth of its solid angle, as a factor. Returns false if nothing moves the light; *factor is
 * then not set. */
bool walk_move_light(walk *w, walk_light *light, ir_ref *factor);
/* The radiance of a light. It is black where the light is not there. If differentiated, it has derivatives
 * (or comes from the frozen values). */
color walk_radiance(walk *w, walk_light light, bool differentiated);
/* The radiance where the light is there; elsewhere it may be 0 (walk_spares). */
color walk_radiance_where(walk *w, walk_light light);
/* The arguments by which bsdf_value is called at a vertex; detached, so that they stay, if the value is to be
 * differentiated. */
bsdf_value_arguments walk_value_arguments(walk *w, const walk_vertex *v, bool detached);
/* The material's values at a vertex: toward the sampled light, and of the sampled direction. */
void walk_values(walk *w, const walk_vertex *v, bool differentiated, color *for_light, color *for_sample);
/* The values where the path goes on; elsewhere they may be 0 (walk_spares). */
void walk_values_where(walk *w, const walk_vertex *v, color *for_light, color *for_sample);
/* The factor of the sampled light's radiance and the material's value for it: the light's weight times the
 * transmittance up to it. at: the position before the vertex. If differentiated, the transmittance is
 * differentiated. It then has loops, so it is not for reverse mode. */
color walk_light_scale(walk *w, const walk_vertex *v, const walk_position *at, bool differentiated);

#endif
