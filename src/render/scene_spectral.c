/* SPDX-License-Identifier: BSD-3-Clause
 * What cannot be rendered where light is spectral: colours that do not become spectra, and passes that take
 * light for red, green and blue. Each is an error that says so, when the scene is loaded. */
#include "render/scene_internal.h"
#include "render/spectrum/spectrum.h"

/* Of one object. */
static const uint32_t spectra_most = 1u << (32 - UPDATE_ELEMENT_SPECTRAL);

bl_result render_check_spectra_of(const render_scene *s, const scene_object *o, bl_error *err)
{
    const render_class *cls = (const render_class *)o->cls;
    if (cls->colours && cls->colours(s, o) > spectra_most)
        return scene_error(
            err, BL_ERROR_UNSUPPORTED, o->where,
            "mode %s: \"%s\" has %u colours, and at most %u become spectra; use a smaller image",
            s->mode->name, o->cls->name, cls->colours(s, o), spectra_most);
    uint32_t data = render_find_parameter(s, o, PLAN_DATA_SLOT);
    const render_parameter *p = data == PLAN_NONE ? NULL : &s->parameters.data[data];
    bool colours = p && p->rank > 1 && p->shape[p->rank - 1] == 3;
    if (!cls->only_rgb && (cls->colours || !colours))
        return BL_OK;
    return scene_error(err, BL_ERROR_UNSUPPORTED, o->where,
                       "mode %s: %s \"%s\" has colours that are not spectra yet; render it in mode rgb",
                       s->mode->name, plugin_category_names[o->cls->category], o->cls->name);
}

/* Whether bounds of an extinction at all wavelengths are known: not of spectra of samples. */
static bool is_bounded(const scene_object *volume)
{
    return volume->cls != &volume_constvolume.base.plugin ||
           scene_get(volume, "value")->object->cls == &texture_constant.base.plugin;
}

/* What takes the film's channels for red, green and blue. */
static bl_result check_bands(const render_scene *s, bl_error *err)
{
    bool polarized = false;
    for (uint32_t k = 0; k < s->channels.count; k++)
        polarized |= s->channels.data[k].kind == CHANNEL_STOKES;
    if (s->bands && !s->bands->colours && (polarized || s->metropolis.particles))
        return scene_error(err, BL_ERROR_UNSUPPORTED, s->film->where,
                           "specfilm: %s see colours, not bands; use hdrfilm",
                           polarized ? "the channels of stokes" : "Metropolis integrators");
    TRY(film_check_responses(s, s->sensor, err));
    return s->film ? film_check_responses(s, s->film, err) : BL_OK;
}

/* A texture has a spectrum for each value of an attribute, of all meshes. */
static bl_result check_attributes(const render_scene *s, bl_error *err)
{
    for (uint32_t a = 0; a < s->attributes.count; a++) {
        uint64_t all = 0;
        for (uint32_t i = 0; i < s->parameters.count; i++)
            if (s->parameters.data[i].slot == PLAN_ARRAY_SLOT + MESH_ATTRIBUTE + a)
                all += s->parameters.data[i].shape[0];
        if (all > spectra_most)
            return error_set(err, BL_ERROR_UNSUPPORTED,
                             "mode %s: meshes have %ju values of \"%s\", and at most %u become spectra",
                             s->mode->name, (uintmax_t)all, s->attributes.data[a], spectra_most);
    }
    return BL_OK;
}

bl_result render_check_spectral(const render_scene *s, bl_error *err)
{
    const char *of = s->mode->name;
    TRY(check_bands(s, err));
    TRY(check_attributes(s, err));
    if (s->disperses && (s->both_ways || s->method == METHOD_TAPE))
        return error_set(err, BL_ERROR_UNSUPPORTED,
                         "mode %s: with %s no index may be a curve; take path, or give one number", of,
                         s->both_ways ? "paths from both ends" : "\"tape\"");
    if (s->own)
        return error_set(err, BL_ERROR_UNSUPPORTED,
                         "mode %s: integrators of an application see red, green and blue; use mode rgb", of);
    for (uint32_t i = 0; i < s->channels.count; i++)
        if (s->channels.data[i].kind == CHANNEL_ALBEDO)
            return error_set(err, BL_ERROR_UNSUPPORTED,
                             "mode %s: the channel albedo is a colour; it is there in other modes only", of);
    for (uint32_t i = 0; i < s->media.count; i++) {
        const scene_object *m = s->media.data[i];
        bool homogeneous = ((const medium_class *)(const void *)m->cls)->homogeneous;
        if (!homogeneous && !is_bounded(scene_get(m, "sigma_t")->object))
            return scene_error(err, BL_ERROR_UNSUPPORTED, m->where,
                               "mode %s: the extinction of a heterogeneous medium must be a number, a colour "
                               "or a grid",
                               of);
    }
    return BL_OK;
}
