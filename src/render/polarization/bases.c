/* SPDX-License-Identifier: BSD-3-Clause
 * Reference frames of Stokes vectors. A rotation of the basis by an angle rotates (s1, s2) by twice as much.
 * That needs no angle: twice it has the cosine c^2 - s^2 and the sine 2 c s, where c and s are those of the
 * angle itself, a scalar and a triple product. So there is no arc cosine, whose derivative has no bound where
 * two bases agree. */
#include "render/polarization/polarization.h"

vec3 stokes_basis(tracer *t, vec3 w) { return frame_around(t, w).s; }

mueller stokes_rotator(tracer *t, ir_ref cosine, ir_ref sine)
{
    ir_ref one = t_f32(t, 1);
    mueller r = {.m[0][0] = one, .m[3][3] = one};
    r.m[1][1] = cosine, r.m[1][2] = sine;
    r.m[2][1] = ir_neg(t->f, sine), r.m[2][2] = cosine;
    return r;
}

mueller stokes_rotation(tracer *t, vec3 w, vec3 from, vec3 to)
{
    ir_func *f = t->f;
    ir_ref c = v3_dot(t, from, to), s = v3_dot(t, w, v3_cross(t, from, to)), cs = ir_mul(f, c, s);
    return stokes_rotator(t, ir_sub(f, t_sqr(t, c), t_sqr(t, s)), ir_add(f, cs, cs));
}

mueller mueller_between(tracer *t, const mueller *a, const stokes_side *in, const stokes_side *out)
{
    mueller before = stokes_rotation(t, in->w, in->to, in->from),
            after = stokes_rotation(t, out->w, out->from, out->to), whole = mueller_mul(t, a, &before);
    return mueller_mul(t, &after, &whole);
}
