/* SPDX-License-Identifier: BSD-3-Clause
 * What a film or a sensor responds to: spectra of samples, as bands (spectrum/bands.c). The bands of a film
 * are its channels (specfilm.c). A sensor has one response, `srf`, which weighs the light before a film with
 * colours sees it, as in Mitsuba: channel c of the image is the integral of response times observer's curve c
 * times light, and wavelengths of paths are sampled by the response. Responses belong to the measurement:
 * they are no parameters. */
#include "render/classes.h"
#include "render/spectrum/spectrum.h"

#include <stdlib.h>

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

film_bands *responses_bands(render_scene *s, const response *r, uint32_t count)
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

/* The k-th response of a film or a sensor; NULL: it has no more. */
static const scene_object *response_of(const scene_object *o, uint32_t k, const char **name)
{
    for (uint32_t i = 0; o && i < o->child_count; i++)
        if (o->children[i]->cls->category == PLUGIN_TEXTURE && k-- == 0) {
            *name = o->child_names[i];
            return o->children[i];
        }
    return NULL;
}

bl_result film_read_srf(render_scene *s, bl_error *err)
{
    const char *name, *other;
    const scene_object *o = response_of(s->sensor, 0, &name);
    if (!o)
        return BL_OK;
    if (s->mode->light != LIGHT_SPECTRAL)
        return scene_error(
            err, BL_ERROR_UNSUPPORTED, o->where,
            "%s: \"%s\" needs light of wavelengths, which mode %s has not; --mode spectral has "
            "them",
            s->sensor->cls->name, name, s->mode->name);
    if (response_of(s->film, 0, &other))
        return scene_error(err, BL_ERROR_SCENE, o->where,
                           "%s: \"%s\" is for films with colours; the film responds in the band \"%.100s\"",
                           s->sensor->cls->name, name, other);
    response *r = memory_need_zeroed(1, sizeof *r);
    bl_result result = spectrum_samples(o, r->wavelengths, r->values, &r->count, err);
    if (result == BL_OK) {
        film_bands *band = responses_bands(s, r, 1);
        band->colours = true;
        s->bands = band;
        if (!(bands_integral_of(band, 0) > 0))
            result = scene_error(err, BL_ERROR_SCENE, o->where, "%s: \"%s\" is 0 everywhere",
                                 s->sensor->cls->name, name);
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

bool film_same_responses(const scene_object *a, const scene_object *b)
{
    for (uint32_t k = 0;; k++) {
        const char *name[2];
        const scene_object *x = response_of(a, k, &name[0]), *y = response_of(b, k, &name[1]);
        if (!x || !y)
            return x == y;
        if (strcmp(name[0], name[1]) != 0 || !same_texture(x, y))
            return false;
    }
}

bl_result film_check_responses(const render_scene *s, const scene_object *of, bl_error *err)
{
    const char *name;
    const scene_object *o;
    for (uint32_t k = 0; (o = response_of(of, k, &name)) != NULL; k++)
        if (s->names[o->index].name)
            return scene_error(err, BL_ERROR_UNSUPPORTED, o->where,
                               "%s: the response \"%.100s\" is also a spectrum of the scene, which may "
                               "change; write it twice",
                               of->cls->name, name);
    return BL_OK;
}
