/* SPDX-License-Identifier: BSD-3-Clause
 * The film whose channels are bands of wavelengths, in modes whose light is spectral. What each responds to
 * is a spectrum of samples in the film; its value is the integral of the response times the light, per nm, as
 * in Mitsuba. Wavelengths of paths are sampled by the sum of all responses, which may lie outside of what the
 * eye sees (spectrum/bands.c). Responses belong to the measurement: they are no parameters. */
#include "render/classes.h"
#include "render/spectrum/spectrum.h"

static bl_result read_responses(const scene_object *o, response *r, uint32_t *count, bl_error *err)
{
    for (uint32_t i = 0; i < o->child_count; i++) {
        if (o->children[i]->cls->category != PLUGIN_TEXTURE)
            continue;
        response *next = &r[(*count)++];
        next->name = o->child_names[i];
        for (uint32_t k = 0; k + 1 < *count; k++)
            if (strcmp(r[k].name, next->name) == 0)
                return scene_error(err, BL_ERROR_SCENE, o->children[i]->where,
                                   "specfilm: two bands are called \"%.100s\"", next->name);
        if (strlen(next->name) > CHANNEL_NAME_MOST)
            return scene_error(err, BL_ERROR_SCENE, o->children[i]->where,
                               "specfilm: the name \"%.40s...\" is longer than %d letters: EXR files cannot "
                               "have it",
                               next->name, CHANNEL_NAME_MOST);
        TRY(spectrum_samples(o->children[i], next->wavelengths, next->values, &next->count, err));
    }
    return BL_OK;
}

static bl_result specfilm_load(render_scene *s, const scene_object *o, bl_error *err)
{
    uint32_t count = 0;
    if (s->mode->light != LIGHT_SPECTRAL)
        return scene_error(err, BL_ERROR_UNSUPPORTED, o->where,
                           "specfilm: light has no wavelengths in mode %s; --mode spectral has them",
                           s->mode->name);
    TRY(film_check_components(o, err));
    response *r = memory_need_zeroed(RESPONSE_BANDS_MOST, sizeof *r);
    bl_result result = read_responses(o, r, &count, err);
    if (result == BL_OK) {
        const film_bands *bands = responses_bands(s, r, count);
        for (uint32_t k = 0; k < count && result == BL_OK; k++)
            if (!(bands_integral_of(bands, k) > 0))
                result = scene_error(err, BL_ERROR_SCENE, o->where,
                                     "specfilm: the band \"%.100s\" is 0 everywhere", r[k].name);
        const char **names = arena_alloc(&s->memory, count * sizeof *names);
        for (uint32_t k = 0; k < count; k++)
            names[k] = r[k].name;
        if (o == s->film)
            s->bands = bands, s->film_channels = count, s->film_names = names;
    }
    memory_free(r);
    return result;
}

static const plugin_param specfilm_params[] = {FILM_PARAMS};
static const plugin_slot specfilm_slots[] = {{PLUGIN_RFILTER, "rfilter", 0, 1},
                                             {PLUGIN_TEXTURE, "band", 1, RESPONSE_BANDS_MOST}};
const render_class film_specfilm = {
    .plugin = {PLUGIN_FILM, "specfilm", PLUGIN_TABLE(specfilm_params), PLUGIN_TABLE(specfilm_slots),
               "bands of wavelengths: a channel for each spectrum of samples in it, under that name"},
    .load = specfilm_load};
