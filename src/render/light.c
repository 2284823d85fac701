/* SPDX-License-Identifier: BSD-3-Clause
 * Where what users give, red, green and blue or one number, becomes light of the trace's channels
 * (docs/theory/modes.md). Parameters stay what they are, and derivatives go to them.
 *
 *     rgb       as it stands
 *     mono      the luminance (Rec. 709, of Mitsuba's digits), which is linear
 *
 * What is no light, such as normals from a texture or weights, is read with light_raw. */
#include "render/classes.h"

tracer light_raw(const tracer *t)
{
    tracer raw = *t;
    raw.light = LIGHT_RGB, raw.channels = 3;
    return raw;
}

tracer light_off_path(const tracer *t) { return t->light == LIGHT_SPECTRAL ? light_raw(t) : *t; }

static const float share[3] = {0.212671f, 0.715160f, 0.072169f}; /* of the luminance */

float light_luminance(const float rgb[3])
{
    return rgb[1] + (share[0] * (rgb[0] - rgb[1]) + share[2] * (rgb[2] - rgb[1]));
}

/* Written as differences from green, so that the luminance of a grey is exactly that grey. */
static ir_ref luminance(tracer *t, const ir_ref rgb[3])
{
    ir_func *f = t->f;
    ir_ref red = ir_mul(f, ir_sub(f, rgb[0], rgb[1]), t_f32(t, share[0])),
           blue = ir_mul(f, ir_sub(f, rgb[2], rgb[1]), t_f32(t, share[2]));
    return ir_add(f, rgb[1], ir_add(f, red, blue));
}

color light_of_rgb(tracer *t, const ir_ref rgb[3])
{
    BL_ASSERT(t->light != LIGHT_SPECTRAL, "%s", "spectra of colours are derived values (plan_spectral.c)");
    return t->light == LIGHT_MONO ? color_all(luminance(t, rgb)) : (color){{rgb[0], rgb[1], rgb[2]}};
}

void light_shown(tracer *t, color c, ir_ref rgb[3])
{
    for (uint32_t k = 0; k < 3; k++)
        rgb[k] = t->light == LIGHT_MONO ? c.c[0] : c.c[k];
}

void light_shown_adjoint(tracer *t, color c, ir_ref rgb[3])
{
    for (uint32_t k = 0; k < 3; k++)
        rgb[k] = t->light == LIGHT_MONO ? ir_mul(t->f, c.c[0], t_f32(t, share[k])) : c.c[k];
}

/* Of light at wavelengths the mean: it is what decisions are made by, of which none needs to be exact. */
ir_ref color_luminance(tracer *t, color v)
{
    return t->light == LIGHT_SPECTRAL ? color_mean(t, v)
           : t->light == LIGHT_MONO   ? v.c[0]
                                      : luminance(t, v.c);
}

ir_ref color_mean(tracer *t, color v)
{
    ir_func *f = t->f;
    if (t->light == LIGHT_MONO)
        return v.c[0];
    if (t->light == LIGHT_SPECTRAL)
        return ir_mul(f, color_sum(t, v), t_f32(t, 1 / (float)t->channels));
    ir_ref differences = ir_add(f, ir_sub(f, v.c[0], v.c[1]), ir_sub(f, v.c[2], v.c[1]));
    return t_mad(t, differences, t_f32(t, 1 / 3.0f), v.c[1]);
}
