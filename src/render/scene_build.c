/* SPDX-License-Identifier: BSD-3-Clause
 * From a validated object tree to a render_scene, step by step, and its end. The steps: bounds
 * (scene_expansion.c), structure (scene_structure.c), a visit of every object (scene_objects.c), bindings
 * (scene_bind.c), places (scene_places.c), hierarchies (scene_hierarchy.c), checks. */
#include "render/medium/media.h"
#include "render/scene_internal.h"

bl_result render_scene_create(scene_description *d, const render_overrides *o, render_scene **out,
                              bl_error *err)
{
    render_scene *s = memory_need_zeroed(1, sizeof *s);
    s->description = d;
    s->environment = PLAN_NONE;
    s->kernel_most = budget_most(BUDGET_KERNEL);
    const size_t objects = 4 * (size_t)d->object_count + 1; /* room for default materials, poses */
    s->names = memory_need_zeroed(objects, sizeof *s->names);
    bl_result r = render_mode_find(o && o->mode ? o->mode : d->mode, &s->mode, err);
    if (r == BL_OK)
        r = render_check_expansion(s, err);
    if (r == BL_OK)
        r = render_read_structure(s, o, err);
    if (r == BL_OK)
        r = render_visit(s, d->root, (object_name){"", ""}, NULL, err);
    if (r == BL_OK && o && o->guides && s->mode->light != LIGHT_SPECTRAL)
        r = render_add_guides(s, err);
    if (r == BL_OK)
        r = render_bind_shapes(s, err);
    if (r == BL_OK)
        render_bind_media(s);
    if (r == BL_OK)
        r = render_bind_lights(s, err);
    if (r == BL_OK)
        r = render_add_places(s, err);
    if (r == BL_OK)
        mesh_add_parameters(s);
    if (r == BL_OK)
        r = render_build_levels(s, err);
    if (r == BL_OK)
        s->grids_end = render_grids_end(s), render_add_reasons(s);
    if (r == BL_OK)
        r = render_check_field(s, err);
    if (r == BL_OK && sensor_of(s->sensor)->bind)
        r = sensor_of(s->sensor)->bind(s, s->sensor, err);
    if (r == BL_OK)
        r = render_check_light_tracing(s, err);
    if (r == BL_OK)
        r = render_check_ellipsoids(s, err);
    if (r == BL_OK)
        r = film_check_names(s, err);
    if (r == BL_OK && s->mode->light == LIGHT_SPECTRAL)
        r = render_check_spectral(s, err);
    if (r == BL_OK)
        r = render_check_polarized(s, err);
    if (r == BL_OK)
        r = render_check_values(s, err);
    for (uint32_t i = 0; r == BL_OK && i < s->shapes.count; i++)
        grin_warn_of_border(s, &s->shapes.data[i]);
    if (r != BL_OK) {
        render_scene_destroy(s);
        return r;
    }
    *out = s;
    return BL_OK;
}

void render_scene_destroy(render_scene *s)
{
    if (!s)
        return;
    array_free(&s->sensors);
    array_free(&s->channels);
    array_free(&s->parameters);
    array_free(&s->last_parameter);
    array_free(&s->values);
    array_free(&s->shapes);
    array_free(&s->primitives);
    array_free(&s->geometry);
    array_free(&s->object_words);
    array_free(&s->attributes);
    array_free(&s->emitters);
    array_free(&s->media);
    array_free(&s->emitter_shape);
    bvh_free(&s->bvh);
    for (uint32_t k = 0; k < s->groups.count; k++)
        bvh_free(&s->groups.data[k].bvh);
    array_free(&s->groups);
    array_free(&s->instances);
    array_free(&s->places);
    memory_free(s->place_of);
    memory_free(s->names);
    scene_free(s->description);
    arena_free(&s->memory);
    memory_free(s);
}
