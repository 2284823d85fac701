/* SPDX-License-Identifier: BSD-3-Clause
 * The wavelengths of a path. A share u of the range below a wavelength under the density that follows the eye
 * is (tanh(a (first - m)) - tanh(a (nm - m))) / (tanh(a (first - m)) - tanh(a (last - m))), with a = .0072
 * and m = 538 (Radziszewski, Boryczko and Alda, An Improved Technique for Full Spectral Rendering, 2009;
 * Mitsuba has the same). */
#include "render/spectrum/spectrum.h"

static const float steep = 0.0072f, middle = 538;
static const float tanh_first = 0.8569106254698279f; /* tanh(a (m - first)) */
static const float tanh_range = 1.8275019724092267f; /* and how much it falls to the last wavelength */

/* The wavelength below which a share u lies. With y the tanh there, the density is a (1 - y^2) / tanh_range.
 */
static ir_ref visible(tracer *t, ir_ref u, ir_ref *inverse_pdf)
{
    ir_func *f = t->f;
    ir_ref y = ir_sub(f, t_f32(t, tanh_first), ir_mul(f, t_f32(t, tanh_range), u)), one = t_f32(t, 1);
    ir_ref over = ir_add(f, one, y), by = ir_div(f, one, ir_mul(f, over, ir_sub(f, one, y)));
    ir_ref twice = ir_log(f, ir_mul(f, t_sqr(t, over), by)); /* log((1 + y) / (1 - y)) = 2 artanh(y) */
    ir_ref nm = ir_sub(f, t_f32(t, middle), ir_mul(f, twice, t_f32(t, 0.5f / steep)));
    *inverse_pdf = ir_mul(f, by, t_f32(t, tanh_range / steep));
    return t_clamp(t, nm, WAVELENGTH_FIRST, WAVELENGTH_LAST);
}

ir_ref wavelength_turned(tracer *t, ir_ref u, uint32_t k)
{
    ir_ref turned = ir_add(t->f, u, t_f32(t, (float)k / WAVELENGTHS));
    return ir_sub(t->f, turned, ir_floor(t->f, turned));
}

wavelength_set wavelengths_sample(tracer *t, ir_ref u)
{
    wavelength_set w = {0};
    for (unsigned k = 0; k < WAVELENGTHS; k++)
        w.nm[k] = visible(t, wavelength_turned(t, u, k), &w.inverse[k]);
    return w;
}
