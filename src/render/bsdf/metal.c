/* SPDX-License-Identifier: BSD-3-Clause
 * The parameter "material" (metal.h). In RGB, an index of refraction is the colour of its curve under a
 * constant spectrum. This is Mitsuba's rule. Channels below 0 become 0. */
#include "render/bsdf/metal.h"
#include "render/scene_internal.h"
#include "render/spectrum/spectrum.h"

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

/* The object "irregular" with a curve of the metal. */
static scene_object *curve_of(render_scene *s, const metal *m, int which, scene_place where)
{
    scene_object *curve = render_new_object(s, &texture_irregular.base.plugin, where);
    for (int list = 0; list < 2; list++) { /* wavelengths, values */
        text numbers = {0};
        for (uint32_t i = 0; i < m->count; i++)
            number_print(&numbers, m->samples[i][list ? which : 0], i > 0);
        curve->values[list] =
            (scene_value){.given = true, .where = where, .text = arena_strdup(&s->memory, numbers.data)};
        text_free(&numbers);
    }
    return curve;
}

static const char *const params[] = {"eta", "k"};

/* Where light is spectral: says of samples of an index that it is 0 beyond them. */
static bl_result say_what_is_missing(render_scene *s, const scene_object *o, bl_error *err)
{
    double wavelengths[SPECTRUM_SAMPLES_MOST], values[SPECTRUM_SAMPLES_MOST];
    uint32_t count;
    for (int k = 0; k < 2; k++) {
        const scene_object *curve = scene_get(o, params[k])->object;
        if (curve->cls != &texture_regular.base.plugin && curve->cls != &texture_irregular.base.plugin)
            continue;
        TRY(spectrum_samples(curve, wavelengths, values, &count, err));
        if (wavelengths[0] > (double)WAVELENGTH_FIRST || wavelengths[count - 1] < (double)WAVELENGTH_LAST)
            text_add(&s->description->warnings,
                     "%s:%u: %s: \"%s\" has samples from %g to %g nm; beyond these it is 0\n",
                     curve->where.file, curve->where.line, o->cls->name, params[k], wavelengths[0],
                     wavelengths[count - 1]);
    }
    return BL_OK;
}

bl_result metal_load(render_scene *s, const scene_object *o, bl_error *err)
{
    const scene_value *material = scene_get(o, "material");
    if (strcmp(material->text, "none") == 0)
        return s->mode->light == LIGHT_SPECTRAL ? say_what_is_missing(s, o, err) : BL_OK;
    if (scene_get(o, "eta")->given || scene_get(o, "k")->given)
        return scene_error(err, BL_ERROR_SCENE, material->where,
                           "%s: give either \"material\" or \"eta\" and \"k\", not both", o->cls->name);
    uint32_t i = 0;
    while (i < metal_count && strcmp(metals[i].name, material->text) != 0)
        i++;
    if (i == metal_count)
        return unknown(o, material, err);
    for (int k = 0; k < 2; k++) { /* the default textures of eta and k belong to this object alone */
        if (s->mode->light == LIGHT_SPECTRAL) {
            scene_value *whole = &o->values[scene_param_index(o, params[k])];
            const plugin_param *param = whole->object->use;
            whole->object = curve_of(s, &metals[i], 1 + k, material->where);
            whole->object->use = param;
            continue;
        }
        scene_value *value = &scene_get(o, params[k])->object->values[0];
        colour_of(&metals[i], 1 + k, value->vector);
        value->grey = false;
    }
    return BL_OK;
}
