/* SPDX-License-Identifier: BSD-3-Clause
 * The film whose channels are bands of wavelengths, in modes whose light is spectral. What each responds to
 * is a spectrum of samples in the film; its value is the integral of the response times the light, per nm, as
 * in Mitsuba. Wavelengths of paths are sampled by the sum of all responses, which may lie outside of what the
 * eye sees (spectrum/bands.c). Responses belong to the measurement: they are no parameters. */
#include "render/classes.h"
#include "render/spectrum/spectrum.h"

#include <stdlib.h>

/* The samples of a band. */
typedef struct response {
    const char *name;
    double wavelengths[SPECTRUM_SAMPLES_MOST], values[SPECTRUM_SAMPLES_MOST];
    uint32_t count;
} response;

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The value of a response at a wavelength, coming from below or from above. */
static double side_of(const response *r, double nm, bool above)
{
    uint32_t last = r->count - 1, k = 0;
    if (above ? nm < r->wavelengths[0] || nm >= r->wavelengths[last]
              : nm <= r->wavelengths[0] || nm > r->wavelengths[last])
        return 0;
    while (k + 1 < last && r->wavelengths[k + 1] < nm)
        k++;
    double share = (nm - r->wavelengths[k]) / (r->wavelengths[k + 1] - r->wavelengths[k]);
    return r->values[k] + share * (r->values[k + 1] - r->values[k]);
}

/* At a wavelength one knot, or two where a response begins or ends with a jump. */
static void add_knots(const response *r, uint32_t count, double nm, film_bands *b, double *at, double *values)
{
    bool jumps = false;
    for (uint32_t k = 0; k < count; k++)
        jumps |= side_of(&r[k], nm, false) != side_of(&r[k], nm, true);
    for (int above = jumps ? 0 : 1; above < 2; above++) {
        for (uint32_t k = 0; k < count; k++)
            values[b->knots * count + k] = side_of(&r[k], nm, above);
        at[b->knots++] = nm;
    }
}

static const film_bands *bands_of(render_scene *s, const response *r, uint32_t count)
{
    film_bands *b = arena_alloc(&s->memory, sizeof *b);
    uint32_t places = 0, all = 0;
    for (uint32_t k = 0; k < count; k++)
        all += r[k].count;
    double *place = memory_need_zeroed(all, sizeof *place);
    for (uint32_t k = 0; k < count; places += r[k++].count)
        memcpy(place + places, r[k].wavelengths, r[k].count * sizeof *place);
    qsort(place, all, sizeof *place, compare_numbers);
    double *nm = arena_alloc(&s->memory, 2 * (size_t)all * sizeof *nm),
           *values = arena_alloc(&s->memory, 2 * (size_t)all * count * sizeof *values);
    *b = (film_bands){.count = count, .nm = nm, .values = values};
    for (uint32_t i = 0; i < all; i++)
        if (i == 0 || place[i] > place[i - 1])
            add_knots(r, count, place[i], b, nm, values);
    memory_free(place);
    return b;
}

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
        const film_bands *bands = bands_of(s, r, count);
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

static bool same_texture(const scene_object *a, const scene_object *b)
{
    bool same = a->cls == b->cls;
    for (uint32_t k = 0; same && k < a->cls->param_count; k++) {
        const scene_value *x = &a->values[k], *y = &b->values[k];
        same = x->number == y->number &&
               (x->text && y->text ? strcmp(x->text, y->text) == 0 : x->text == y->text);
    }
    return same;
}

bool film_same_bands(const scene_object *a, const scene_object *b)
{
    bool same = a && b ? a->child_count == b->child_count : a == b;
    for (uint32_t k = 0; same && a && k < a->child_count; k++)
        if (a->children[k]->cls->category == PLUGIN_TEXTURE)
            same = strcmp(a->child_names[k], b->child_names[k]) == 0 &&
                   same_texture(a->children[k], b->children[k]);
    return same;
}

bl_result film_check_bands(const render_scene *s, bl_error *err)
{
    for (uint32_t i = 0; s->bands && i < s->film->child_count; i++)
        if (s->film->children[i]->cls->category == PLUGIN_TEXTURE &&
            s->names[s->film->children[i]->index].name)
            return scene_error(
                err, BL_ERROR_UNSUPPORTED, s->film->children[i]->where,
                "specfilm: the band \"%.100s\" is also a spectrum of the scene, which may change; "
                "write it twice",
                s->film->child_names[i]);
    return BL_OK;
}

static const plugin_param specfilm_params[] = {FILM_PARAMS};
static const plugin_slot specfilm_slots[] = {{PLUGIN_RFILTER, "rfilter", 0, 1},
                                             {PLUGIN_TEXTURE, "band", 1, RESPONSE_BANDS_MOST}};
const render_class film_specfilm = {
    .plugin = {PLUGIN_FILM, "specfilm", PLUGIN_TABLE(specfilm_params), PLUGIN_TABLE(specfilm_slots),
               "bands of wavelengths: a channel for each spectrum of samples in it, under that name"},
    .load = specfilm_load};
