/* SPDX-License-Identifier: BSD-3-Clause
 * Polarisers, retarders, absorbers. The matrices are those of Edward Collett, Field Guide to Polarization,
 * 2005. The sign of the retarder follows Mitsuba 3. */
#include "render/polarization/polarization.h"

mueller mueller_absorber(ir_ref transmittance)
{
    mueller r = {0};
    for (int i = 0; i < 4; i++)
        r.m[i][i] = transmittance;
    return r;
}

mueller mueller_depolarizer(ir_ref transmittance) { return (mueller){.m[0][0] = transmittance}; }

mueller mueller_linear_polarizer(tracer *t)
{
    ir_ref half = t_f32(t, 0.5f);
    return (mueller){.m = {{half, half}, {half, half}}};
}

mueller mueller_linear_retarder(tracer *t, ir_ref phase)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), c = ir_cos(f, phase), s = ir_sin(f, phase);
    mueller r = {.m[0][0] = one, .m[1][1] = one};
    r.m[2][2] = c, r.m[2][3] = s;
    r.m[3][2] = ir_neg(f, s), r.m[3][3] = c;
    return r;
}

mueller mueller_circular_polarizer(tracer *t, ir_ref left)
{
    ir_ref half = t_f32(t, 0.5f), side = ir_select(t->f, left, t_f32(t, -0.5f), half);
    mueller r = {.m[0][0] = half, .m[3][3] = half};
    r.m[0][3] = r.m[3][0] = side;
    return r;
}

/* To the basis that is turned by the angle, through the element, and back. */
mueller mueller_turned(tracer *t, const mueller *element, ir_ref angle)
{
    ir_ref twice = ir_add(t->f, angle, angle);
    mueller to = stokes_rotator(t, ir_cos(t->f, twice), ir_sin(t->f, twice)), back = mueller_transpose(&to);
    mueller turned = mueller_mul(t, element, &to);
    return mueller_mul(t, &back, &turned);
}
