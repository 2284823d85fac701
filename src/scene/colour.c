/* SPDX-License-Identifier: BSD-3-Clause
 * Colours in linear sRGB, by the rules of Mitsuba's RGB mode. A float or integer is grey. <rgb> is taken as
 * it stands. A uniform spectrum is grey as a reflectance, and as an emission the colour of equal-energy
 * white, which is not sRGB's white: constant spectral power c through the CIE 1931 curves and XYZ -> sRGB
 * gives c * (1.204794, .948290, .908915). Sampled spectra: spectrum.c. */
#include "scene/scene_internal.h"

#include <stdlib.h>
#include <string.h>

/* The text with the samples of a <spectrum>: its value, or its file. */
typedef struct samples_text {
    const char *data;
    size_t size;
    char separator;   /* as spectrum_decode takes it */
    const char *file; /* NULL: none, */
    void *owned;      /* else its contents */
} samples_text;

static bl_result samples_open(const raw_node *node, const scene_paths *paths, samples_text *out,
                              bl_error *err)
{
    enum { BYTES_MAX = 1 << 20 };
    const char *value = raw_attribute_get(node, "value"), *file = raw_attribute_get(node, "filename");
    *out = (samples_text){value, value ? strlen(value) : 0, ':', NULL, NULL};
    if (!file || !file[0])
        return BL_OK;
    const char *path = paths_find(paths, file, node->folder, false);
    bl_error reason = {0};
    if (!path)
        return scene_error(err, BL_ERROR_IO, node->where, "cannot find the file \"%.200s\" (%s)", file,
                           node->name);
    bl_result r = file_read(path, BYTES_MAX, &out->owned, &out->size, &reason);
    out->data = out->owned, out->separator = 0, out->file = file;
    return r == BL_OK ? BL_OK : scene_error(err, r, node->where, "\"%.200s\": %s", file, reason.text);
}

/* Frees the text, and says where a mistake in it is. */
static bl_result samples_close(const raw_node *node, samples_text *s, bl_result r, const bl_error *reason,
                               bl_error *err)
{
    memory_free(s->owned);
    if (r == BL_OK)
        return BL_OK;
    return s->file ? scene_error(err, r, node->where, "\"%.200s\": %s", s->file, reason->text)
                   : scene_error(err, BL_ERROR_SCENE, node->where, "<spectrum> \"%s\": %s", node->name,
                                 reason->text);
}

bool colour_is_curve(const raw_node *node)
{
    const char *value = raw_attribute_get(node, "value"), *file = raw_attribute_get(node, "filename");
    bool has_value = value && value[0], has_file = file && file[0];
    return node->kind == RAW_SPECTRUM && has_value != has_file && (has_file || strchr(value, ':'));
}

bl_result colour_curve(const raw_node *node, const scene_paths *paths, spectrum_text *out, bl_error *err)
{
    samples_text s;
    bl_error reason = {0};
    TRY(samples_open(node, paths, &s, err));
    return samples_close(node, &s, spectrum_lists(s.data, s.size, s.separator, out, &reason), &reason, err);
}

static bl_result spectrum_parse(const raw_node *node, const scene_paths *paths, unsigned flags, bool spectral,
                                double out[3], bl_error *err)
{
    static const double equal_energy_white[3] = {1.204794, 0.948290, 0.908915};
    const char *value = raw_attribute_get(node, "value"), *file = raw_attribute_get(node, "filename");
    if ((value && value[0]) == (file && file[0]))
        return scene_error(err, BL_ERROR_SCENE, node->where,
                           "<spectrum> needs either \"value\" or \"filename\"");
    if (colour_is_curve(node)) {
        samples_text s;
        bl_error reason = {0};
        TRY(samples_open(node, paths, &s, err));
        bl_result r = spectrum_decode(s.data, s.size, s.separator, spectrum_rule_of(flags), out, &reason);
        return samples_close(node, &s, r, &reason, err);
    }
    double c = 0;
    if (!number_parse(value, &c))
        return scene_error(err, BL_ERROR_SCENE, node->where, "\"%.60s\" in <spectrum> is not a number",
                           value);
    for (int i = 0; i < 3; i++)
        out[i] = (flags & PLUGIN_EMISSION) && !spectral ? c * equal_energy_white[i] : c;
    return BL_OK;
}

bl_result colour_parse(const raw_node *node, const scene_paths *paths, unsigned flags, bool spectral,
                       double out[3], bl_error *err)
{
    const char *malformed = NULL, *value = raw_attribute_get(node, "value");
    if (node->kind == RAW_SPECTRUM)
        return spectrum_parse(node, paths, flags, spectral, out, err);
    if (node->kind == RAW_POINT)
        return vector_parse(node, NULL, out, err);
    int count = numbers_parse(value, out, 3, &malformed);
    if (count < 0)
        return scene_error(err, BL_ERROR_SCENE, node->where, "\"%.60s\" in <%s> is not a number", malformed,
                           node->tag);
    if (count != 1 && (count != 3 || node->kind != RAW_RGB))
        return scene_error(err, BL_ERROR_SCENE, node->where, "<%s> needs one%s, not %d", node->tag,
                           node->kind == RAW_RGB ? " number or three" : " number", count);
    if (count == 1)
        out[1] = out[2] = out[0];
    return BL_OK;
}

bl_result colour_check(scene_place where, const plugin_class *cls, const plugin_param *param,
                       const double colour[3], bl_error *err)
{
    bool reflectance = param->flags & PLUGIN_REFLECTANCE, bright = param->flags & PLUGIN_PATTERN,
         ranged = param->least != 0 || param->most != 0;
    for (int i = 0; i < 3; i++) {
        if (reflectance && !(colour[i] >= 0 && (colour[i] <= 1 || bright)))
            return scene_error(err, BL_ERROR_SCENE, where,
                               bright ? "\"%s\" of %s \"%s\": %g is negative"
                                      : "\"%s\" of %s \"%s\" is a reflectance: %g is outside [0, 1]",
                               param->name, plugin_category_names[cls->category], cls->name, colour[i]);
        if (ranged && !(colour[i] >= param->least && colour[i] <= param->most))
            return scene_error(err, BL_ERROR_SCENE, where, "\"%s\" of %s \"%s\": %g is outside [%g, %g]",
                               param->name, plugin_category_names[cls->category], cls->name, colour[i],
                               param->least, param->most);
    }
    return BL_OK;
}
