/* SPDX-License-Identifier: BSD-3-Clause
 * Sums and products of Mueller matrices. Entries that are known to be 0 cost nothing, and neither do those
 * that are known to be 1, since the builders fold a product with 1. */
#include "render/polarization/polarization.h"

static ir_ref plus(tracer *t, ir_ref a, ir_ref b)
{
    if (ir_is_none(a) || ir_is_none(b))
        return ir_is_none(a) ? b : a;
    return ir_add(t->f, a, b);
}

static ir_ref times(tracer *t, ir_ref a, ir_ref b)
{
    if (ir_is_none(a) || ir_is_none(b))
        return (ir_ref){0};
    return ir_mul(t->f, a, b);
}

mueller mueller_mul(tracer *t, const mueller *a, const mueller *b)
{
    mueller r = {0};
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            for (int k = 0; k < 4; k++)
                r.m[i][j] = plus(t, r.m[i][j], times(t, a->m[i][k], b->m[k][j]));
    return r;
}

mueller mueller_add(tracer *t, const mueller *a, const mueller *b)
{
    mueller r;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            r.m[i][j] = plus(t, a->m[i][j], b->m[i][j]);
    return r;
}

mueller mueller_scale(tracer *t, const mueller *a, ir_ref factor)
{
    mueller r;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            r.m[i][j] = times(t, a->m[i][j], factor);
    return r;
}

mueller mueller_transpose(const mueller *a)
{
    mueller r;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            r.m[i][j] = a->m[j][i];
    return r;
}

mueller mueller_select(tracer *t, ir_ref condition, const mueller *a, const mueller *b)
{
    mueller r = {0};
    ir_ref zero = t_f32(t, 0);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            ir_ref x = a->m[i][j], y = b->m[i][j];
            if (!ir_is_none(x) || !ir_is_none(y))
                r.m[i][j] = ir_select(t->f, condition, ir_is_none(x) ? zero : x, ir_is_none(y) ? zero : y);
        }
    return r;
}

stokes mueller_apply(tracer *t, const mueller *a, const stokes *s)
{
    stokes r = {0};
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 4; k++)
            r.s[i] = plus(t, r.s[i], times(t, a->m[i][k], s->s[k]));
    return r;
}

stokes mueller_apply_row(tracer *t, const stokes *row, const mueller *a)
{
    mueller across = mueller_transpose(a);
    return mueller_apply(t, &across, row);
}
