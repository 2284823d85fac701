/* SPDX-License-Identifier: BSD-3-Clause
 * The absorption of hair by its two pigments, per radius of the fibre (d'Eon et al. 2011, section 6.1): red,
 * green and blue, or, where light is spectral, the smooth spectra of these colours, as those of extinctions
 * are found (render/plan_spectral.c): `factor` times the spectrum of the colour over it, with factor = max(1,
 * 2 x - 1) for the largest channel x. The colours are constant, so their coefficients are, too. */
#include "render/bsdf/hair_lobes.h"

typedef struct pigment {
    float rgb[3], factor, coefficients[3];
} pigment;

static const pigment eumelanin = {{0.419f, 0.697f, 1.37f},
                                  1.74f,
                                  {1.76891231f, -0.599755899f, -0.423292147f}},
                     pheomelanin = {{0.187f, 0.4f, 1.05f}, 1.1f, {5.32680694f, -0.174297081f, -0.629335788f}};

/* At the c-th wavelength of a path. */
static ir_ref pigment_at(tracer *t, const pigment *p, uint32_t c)
{
    upsampling u = {.scale = t_f32(t, 1)};
    for (int k = 0; k < 3; k++)
        u.c[k] = t_f32(t, p->coefficients[k]);
    return ir_mul(t->f, upsampled(t, &u, t->wavelengths->nm[c]), t_f32(t, p->factor));
}

color hair_absorption(tracer *t, ir_ref brown, ir_ref red)
{
    ir_func *f = t->f;
    color light = {0};
    ir_ref rgb[3];
    for (uint32_t c = 0; c < t->channels && t->light == LIGHT_SPECTRAL; c++)
        light.c[c] =
            t_mad(t, brown, pigment_at(t, &eumelanin, c), ir_mul(f, red, pigment_at(t, &pheomelanin, c)));
    if (t->light == LIGHT_SPECTRAL)
        return light;
    for (uint32_t c = 0; c < 3; c++)
        rgb[c] = t_mad(t, brown, t_f32(t, eumelanin.rgb[c]), ir_mul(f, red, t_f32(t, pheomelanin.rgb[c])));
    return light_of_rgb(t, rgb);
}
