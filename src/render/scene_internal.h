/* SPDX-License-Identifier: BSD-3-Clause
 * The steps in which render_scene_create makes a scene. */
#ifndef BL_RENDER_SCENE_INTERNAL_H
#define BL_RENDER_SCENE_INTERNAL_H

#include "render/classes.h"

/* ---- scene_objects.c ---- */

bool scene_is(const scene_object *o, const plugin_class *c); /* false of NULL */
/* An object that the description lacks, its values all 0. */
scene_object *render_new_object(render_scene *s, const plugin_class *cls, scene_place where);
/* Depth first: names the object (its own id goes before `name`), registers its parameters, runs its class's
 * load hook, goes on to what it holds. */
bl_result render_visit(render_scene *s, const scene_object *o, object_name name,
                       const plugin_param *owner_param, bl_error *err);

/* ---- edges_reasons.c ---- */

/* Whether the density of some medium that paths go through steps from voxel to voxel. */
bool render_densities_step(const render_scene *s);

/* What gradients lack of edges that move, where some are differentiated; NULL: nothing. */
const char *edges_lack(render_scene *s);
/* Says it of the places of delta lights. */
void edges_reasons_of_lights(render_scene *s);

/* ---- scene_structure.c ---- */

/* Integrator, sensor, film, filter, sampler; first of all steps. */
bl_result render_read_structure(render_scene *s, const render_overrides *o, bl_error *err);
/* Light tracing needs to know how rays leave the lights and how the sensor sees places. After lights are
 * bound. */
bl_result render_check_light_tracing(const render_scene *s, bl_error *err);
bl_result render_check_polarized(const render_scene *s, bl_error *err);
bl_result render_check_ellipsoids(const render_scene *s, bl_error *err);
/* scene_spectral.c: where light is spectral, whether kernels can render the scene so; and, of an object that
 * has been loaded, whether its colours become spectra. */
bl_result render_check_spectral(const render_scene *s, bl_error *err);
bl_result render_check_spectra_of(const render_scene *s, const scene_object *o, bl_error *err);

/* ---- scene_expansion.c ---- */

/* Bounds what kernels expand; before anything else walks materials and textures. */
bl_result render_check_expansion(const render_scene *s, bl_error *err);

/* ---- scene_bind.c: after all objects were visited, in this order ---- */

bl_result render_bind_shapes(render_scene *s, bl_error *err);
void render_bind_media(render_scene *s);
bl_result render_check_field(const render_scene *s, bl_error *err); /* against media, once they are bound */
bl_result render_bind_lights(render_scene *s, bl_error *err);

/* ---- scene_places.c ---- */

/* Offers translation, rotation and scale of all shapes and instances with a differentiable to_world. Once
 * all objects were visited, and before geometry becomes parameters. */
bl_result render_add_places(render_scene *s, bl_error *err);

/* ---- scene_grids.c ---- */

/* Whether rays enter or leave the grid of some medium within the medium. Once the scene has its hierarchies.
 */
bool render_grids_end(const render_scene *s);

/* ---- scene_reasons.c ---- */

/* Says what gradients by parameters lack that move shapes, vertices and sensors. Once the scene has its
 * hierarchies. */
void render_add_reasons(render_scene *s);

/* ---- parameters.c ---- */

/* Values that single precision does not hold are an error; negative extinctions are counted in a warning. */
bl_result render_check_values(const render_scene *s, bl_error *err);

#endif
