/* SPDX-License-Identifier: BSD-3-Clause
 * The samples of a spectrum that is given by them: for the textures themselves (spectra.c), and for films
 * with bands. */
#include "render/classes.h"

static bl_result read_list(const scene_object *o, const char *param, double *out, uint32_t *count,
                           bl_error *err)
{
    const scene_value *list = scene_get(o, param);
    const char *malformed = NULL;
    int n = numbers_parse(list->text, out, SPECTRUM_SAMPLES_MOST, &malformed);
    if (n < 2 || n > SPECTRUM_SAMPLES_MOST)
        return scene_error(err, BL_ERROR_SCENE, list->where, "%s: \"%s\" must be a list of 2 to %d numbers",
                           o->cls->name, param, SPECTRUM_SAMPLES_MOST);
    *count = (uint32_t)n;
    return BL_OK;
}

static bl_result check_samples(const scene_object *o, const double *wavelengths, const double *values,
                               uint32_t count, bl_error *err)
{
    for (uint32_t k = 0; k < count; k++) {
        if (!(values[k] >= 0 && values[k] <= 1e30))
            return scene_error(err, BL_ERROR_SCENE, scene_get(o, "values")->where,
                               "%s: %g in \"values\" is not in [0, 1e30]", o->cls->name, values[k]);
        if (!(k ? wavelengths[k] > wavelengths[k - 1] && wavelengths[k] <= 1e9 : wavelengths[k] >= 0))
            return scene_error(err, BL_ERROR_SCENE, o->where, "%s: wavelengths must ascend, %g nm does not",
                               o->cls->name, wavelengths[k]);
    }
    return BL_OK;
}

static bl_result regular_samples(const scene_object *o, double *wavelengths, double *values, uint32_t *count,
                                 bl_error *err)
{
    TRY(read_list(o, "values", values, count, err));
    double first = scene_number(o, "wavelength_min"), last = scene_number(o, "wavelength_max");
    for (uint32_t k = 0; k < *count; k++)
        wavelengths[k] = first + k * (last - first) / (*count - 1);
    return BL_OK;
}

static bl_result irregular_samples(const scene_object *o, double *wavelengths, double *values,
                                   uint32_t *count, bl_error *err)
{
    uint32_t places;
    TRY(read_list(o, "values", values, count, err));
    TRY(read_list(o, "wavelengths", wavelengths, &places, err));
    if (*count != places)
        return scene_error(err, BL_ERROR_SCENE, o->where, "irregular: %u \"wavelengths\" and %u \"values\"",
                           places, *count);
    return BL_OK;
}

bl_result spectrum_samples(const scene_object *o, double *wavelengths, double *values, uint32_t *count,
                           bl_error *err)
{
    if (o->cls == &texture_regular.base.plugin)
        TRY(regular_samples(o, wavelengths, values, count, err));
    else if (o->cls == &texture_irregular.base.plugin)
        TRY(irregular_samples(o, wavelengths, values, count, err));
    else
        return scene_error(err, BL_ERROR_SCENE, o->where,
                           "\"%s\" is no spectrum of samples, which is needed here: regular, irregular, or "
                           "wavelength:value in a <spectrum>",
                           o->cls->name);
    return check_samples(o, wavelengths, values, *count, err);
}
