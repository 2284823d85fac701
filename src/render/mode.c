/* SPDX-License-Identifier: BSD-3-Clause
 * The table of modes, and how they are found by name. Mitsuba's variants are names of modes, too: what they
 * say of the backend and of precision (llvm_ad_.., .._double) means nothing here. */
#include "render/mode.h"
#include "render/spectrum/spectrum.h"

#include <string.h>

const render_mode render_modes[MODE_COUNT] = {
    [MODE_RGB] = {.name = "rgb", .light = LIGHT_RGB, .channels = 3, .film_channels = 3},
    [MODE_MONO] = {.name = "mono", .light = LIGHT_MONO, .channels = 1, .film_channels = 1},
    [MODE_SPECTRAL] = {.name = "spectral",
                       .light = LIGHT_SPECTRAL,
                       .channels = WAVELENGTHS,
                       .film_channels = 3},
    [MODE_MONO_POLARIZED] =
        {.name = "mono_polarized", .light = LIGHT_MONO, .channels = 1, .film_channels = 1, .polarized = true},
    [MODE_RGB_POLARIZED] =
        {.name = "rgb_polarized", .light = LIGHT_RGB, .channels = 3, .film_channels = 3, .polarized = true},
    [MODE_SPECTRAL_POLARIZED] = {.name = "spectral_polarized",
                                 .light = LIGHT_SPECTRAL,
                                 .channels = WAVELENGTHS,
                                 .film_channels = 3,
                                 .polarized = true},
};

/* Whether the mode's name is all of a name but what Mitsuba's variants have before and behind it. */
static bool is_variant(const char *name, const char *mode)
{
    static const char *const before[] = {"scalar_", "llvm_", "llvm_ad_", "cuda_", "cuda_ad_"};
    static const char *const behind[] = {"", "_double"};
    for (size_t k = 0; k < sizeof before / sizeof *before; k++) {
        size_t front = strlen(before[k]), length = strlen(mode);
        if (strncmp(name, before[k], front) != 0 || strncmp(name + front, mode, length) != 0)
            continue;
        for (size_t j = 0; j < sizeof behind / sizeof *behind; j++)
            if (strcmp(name + front + length, behind[j]) == 0)
                return true;
    }
    return false;
}

static bl_result unknown(const char *name, bl_error *err)
{
    const char *names[MODE_COUNT];
    uint32_t distance = UINT32_MAX;
    text list = {0};
    for (uint32_t k = 0; k < MODE_COUNT; k++) {
        names[k] = render_modes[k].name;
        text_add(&list, "%s%s", k ? ", " : "", names[k]);
    }
    const char *near = name_nearest(name, names, MODE_COUNT, &distance);
    bl_result r =
        near ? error_set(err, BL_ERROR_ARGUMENT, "there is no mode \"%.60s\"; did you mean \"%s\"?", name,
                         near)
             : error_set(err, BL_ERROR_ARGUMENT, "there is no mode \"%.60s\"; there are %s", name, list.data);
    text_free(&list);
    return r;
}

bl_result render_mode_find(const char *name, const render_mode **out, bl_error *err)
{
    *out = &render_modes[MODE_RGB];
    for (uint32_t k = 0; name && k < MODE_COUNT; k++)
        if (strcmp(name, render_modes[k].name) == 0 || is_variant(name, render_modes[k].name)) {
            *out = &render_modes[k];
            return BL_OK;
        }
    return name ? unknown(name, err) : BL_OK;
}

bl_result render_mode_spectral(const char *name, bool *spectral, bl_error *err)
{
    const render_mode *mode;
    bl_result r = render_mode_find(name, &mode, err);
    *spectral = mode->light == LIGHT_SPECTRAL;
    return r;
}
