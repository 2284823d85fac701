/* SPDX-License-Identifier: BSD-3-Clause
 * Spectra that are given: by samples, or by the temperature of a black body. */
#include "render/spectrum/spectrum.h"

/* Between samples k and k + 1, at `share` of the way; 0 where `inside` is false. */
static ir_ref between(tracer *t, const sampled_curve *c, ir_ref k, ir_ref share, ir_ref inside)
{
    ir_func *f = t->f;
    ir_ref low = c->value(t, c->of, k), high = c->value(t, c->of, t_offset(t, k, 1));
    return ir_select(f, inside, t_mad(t, share, ir_sub(f, high, low), low), t_f32(t, 0));
}

ir_ref curve_irregular(tracer *t, const sampled_curve *c, ir_ref places, ir_ref nm)
{
    ir_func *f = t->f;
    ir_ref last = ir_sub(f, c->count, t_u32(t, 1)),
           above = warp_discrete_between(t, BUFFER_VALUES, places, t_u32(t, 1), last, nm),
           k = ir_sub(f, above, t_u32(t, 1));
    ir_ref low = ir_load(f, IR_F32, BUFFER_VALUES, ir_add(f, places, k)),
           high = ir_load(f, IR_F32, BUFFER_VALUES, ir_add(f, places, above));
    ir_ref inside = ir_and(f, ir_ge(f, nm, ir_load(f, IR_F32, BUFFER_VALUES, places)),
                           ir_le(f, nm, ir_load(f, IR_F32, BUFFER_VALUES, ir_add(f, places, last))));
    return between(t, c, k, ir_div(f, ir_sub(f, nm, low), ir_sub(f, high, low)), inside);
}

/* 1 / (e^x - 1) is computed as e^-x / (1 - e^-x), which does not overflow. */
ir_ref planck_factor(tracer *t, ir_ref temperature, ir_ref nm)
{
    ir_func *f = t->f;
    ir_ref x = ir_div(f, t_f32(t, (float)PLANCK_SECOND), ir_mul(f, nm, temperature));
    ir_ref part = ir_exp(f, ir_neg(f, x));
    return ir_div(f, part, ir_sub(f, t_f32(t, 1), part));
}

ir_ref curve_blackbody(tracer *t, ir_ref temperature, ir_ref nm)
{
    ir_func *f = t->f;
    ir_ref inside =
        ir_and(f, ir_ge(f, nm, t_f32(t, WAVELENGTH_FIRST)), ir_le(f, nm, t_f32(t, WAVELENGTH_LAST)));
    ir_ref squared = t_sqr(t, nm), fifth = ir_mul(f, t_sqr(t, squared), nm);
    ir_ref power =
        ir_mul(f, ir_div(f, t_f32(t, (float)PLANCK_FIRST), fifth), planck_factor(t, temperature, nm));
    return ir_select(f, inside, power, t_f32(t, 0));
}
