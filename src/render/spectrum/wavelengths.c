/* SPDX-License-Identifier: BSD-3-Clause
 * The wavelengths of a path. A share u of the range below a wavelength under the density that follows the eye
 * is (tanh(a (first - m)) - tanh(a (nm - m))) / (tanh(a (first - m)) - tanh(a (last - m))), with a = .0072
 * and m = 538 (Radziszewski, Boryczko and Alda, An Improved Technique for Full Spectral Rendering, 2009;
 * Mitsuba has the same). */
#include "render/spectrum/spectrum.h"

static const float steep = 0.0072f, middle = 538;
static const float tanh_first = 0.8569106254698279f; /* tanh(a (m - first)) */
static const float tanh_range = 1.8275019724092267f; /* and how much it falls to the last wavelength */

static ir_ref share_to_visible(tracer *t, ir_ref u)
{
    ir_func *f = t->f;
    ir_ref y = ir_sub(f, t_f32(t, tanh_first), ir_mul(f, t_f32(t, tanh_range), u)), one = t_f32(t, 1);
    ir_ref twice = ir_log(f, ir_div(f, ir_add(f, one, y), ir_sub(f, one, y))); /* 2 artanh(y) */
    ir_ref nm = ir_sub(f, t_f32(t, middle), ir_mul(f, twice, t_f32(t, 0.5f / steep)));
    return t_clamp(t, nm, WAVELENGTH_FIRST, WAVELENGTH_LAST);
}

ir_ref wavelength_pdf(tracer *t, wavelength_density density, ir_ref nm)
{
    ir_func *f = t->f;
    if (density == WAVELENGTHS_UNIFORM)
        return t_f32(t, 1 / (WAVELENGTH_LAST - WAVELENGTH_FIRST));
    ir_ref x = ir_mul(f, ir_sub(f, nm, t_f32(t, middle)), t_f32(t, steep));
    ir_ref e = ir_exp(f, ir_mul(f, ir_abs(f, x), t_f32(t, -2))); /* 1 / cosh^2 = 4 e / (1 + e)^2 */
    return ir_div(f, ir_mul(f, e, t_f32(t, 4 * steep / tanh_range)), t_sqr(t, ir_add(f, t_f32(t, 1), e)));
}

ir_ref wavelength_turned(tracer *t, ir_ref u, uint32_t k)
{
    ir_ref turned = ir_add(t->f, u, t_f32(t, (float)k / WAVELENGTHS));
    return ir_sub(t->f, turned, ir_floor(t->f, turned));
}

wavelength_set wavelengths_sample(tracer *t, wavelength_density density, ir_ref u)
{
    wavelength_set w = {0};
    for (unsigned k = 0; k < WAVELENGTHS; k++) {
        ir_ref share = wavelength_turned(t, u, k);
        w.nm[k] =
            density == WAVELENGTHS_UNIFORM
                ? t_mad(t, share, t_f32(t, WAVELENGTH_LAST - WAVELENGTH_FIRST), t_f32(t, WAVELENGTH_FIRST))
                : share_to_visible(t, share);
        w.pdf[k] = wavelength_pdf(t, density, w.nm[k]);
    }
    return w;
}
