/* SPDX-License-Identifier: BSD-3-Clause
 * The parameter "material" (metal.h). In RGB, an index of refraction is the colour of its curve under a
 * constant spectrum. This is Mitsuba's rule. Channels below 0 become 0. */
#include "render/bsdf/metal.h"

/* The colour of a metal's curve. which: 1 is the real part, 2 the extinction. */
static void colour_of(const metal *m, int which, double out[3])
{
    arena a = {0};
    double *wavelengths = arena_alloc(&a, m->count * sizeof *wavelengths),
           *values = arena_alloc(&a, m->count * sizeof *values);
    for (uint32_t i = 0; i < m->count; i++)
        wavelengths[i] = m->samples[i][0], values[i] = m->samples[i][which];
    spectrum_rgb(wavelengths, values, m->count, SPECTRUM_POWER, out);
    arena_free(&a);
}

static bl_result unknown(const scene_object *o, const scene_value *material, bl_error *err)
{
    uint32_t distance = UINT32_MAX;
    const char *nearest = NULL;
    for (uint32_t i = 0; i < metal_count; i++) {
        const char *better = name_nearest(material->text, &metals[i].name, 1, &distance);
        nearest = better ? better : nearest;
    }
    return scene_error(
        err, BL_ERROR_SCENE, material->where,
        "%s: no material \"%.60s\" is known%s%s%s; give the name of one, as Au, or \"eta\" and \"k\"",
        o->cls->name, material->text, nearest ? ", did you mean \"" : "", nearest ? nearest : "",
        nearest ? "\"?" : "");
}

bl_result metal_load(const scene_object *o, bl_error *err)
{
    static const char *const params[] = {"eta", "k"};
    const scene_value *material = scene_get(o, "material");
    if (strcmp(material->text, "none") == 0)
        return BL_OK;
    if (scene_get(o, "eta")->given || scene_get(o, "k")->given)
        return scene_error(err, BL_ERROR_SCENE, material->where,
                           "%s: give either \"material\" or \"eta\" and \"k\", not both", o->cls->name);
    uint32_t i = 0;
    while (i < metal_count && strcmp(metals[i].name, material->text) != 0)
        i++;
    if (i == metal_count)
        return unknown(o, material, err);
    for (int k = 0; k < 2; k++) { /* the default textures of eta and k belong to this object alone */
        scene_value *value = &scene_get(o, params[k])->object->values[0];
        colour_of(&metals[i], 1 + k, value->vector);
        value->grey = false;
    }
    return BL_OK;
}
