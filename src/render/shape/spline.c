/* SPDX-License-Identifier: BSD-3-Clause
 * The uniform cubic B-spline along which a curve's tube runs, of points and of radii. */
#include "render/shape/curve.h"

/* The sum of four values times their weights. */
static ir_ref weigh(tracer *t, const ir_ref *weight, const ir_ref *value)
{
    ir_ref sum = ir_mul(t->f, weight[0], value[0]);
    for (int k = 1; k < 4; k++)
        sum = t_mad(t, weight[k], value[k], sum);
    return sum;
}

spline spline_at(tracer *t, ir_ref points, ir_ref s)
{
    static const float basis[4][4][4] = {
        /* each row has the coefficients of 1, s, s^2, s^3 of one control point */
        {{1 / 6.0f, -.5f, .5f, -1 / 6.0f},
         {4 / 6.0f, 0, -1, .5f},
         {1 / 6.0f, .5f, .5f, -.5f},
         {0, 0, 0, 1 / 6.0f}},
        {{-.5f, 1, -.5f, 0}, {0, -2, 1.5f, 0}, {.5f, 1, -1.5f, 0}, {0, 0, .5f, 0}},
        {{1, -1, 0, 0}, {-2, 3, 0, 0}, {1, -3, 0, 0}, {0, 1, 0, 0}},
        {{-1, 0, 0, 0}, {3, 0, 0, 0}, {-3, 0, 0, 0}, {1, 0, 0, 0}},
    };
    ir_ref value[4][4], result[4][4];
    for (uint32_t k = 0; k < 4; k++) {
        vec3 p = kind_point(t, t_offset(t, points, 4 * k));
        value[0][k] = p.x, value[1][k] = p.y, value[2][k] = p.z, value[3][k] = t_real(t, points, 4 * k + 3);
    }
    for (int derivative = 0; derivative < 4; derivative++) {
        ir_ref weight[4];
        for (int k = 0; k < 4; k++) {
            const float *c = basis[derivative][k];
            weight[k] = t_mad(t, t_mad(t, t_mad(t, t_f32(t, c[3]), s, t_f32(t, c[2])), s, t_f32(t, c[1])), s,
                              t_f32(t, c[0]));
        }
        for (int axis = 0; axis < 4; axis++)
            result[derivative][axis] = weigh(t, weight, value[axis]);
    }
    return (spline){v3(result[0][0], result[0][1], result[0][2]),
                    v3(result[1][0], result[1][1], result[1][2]),
                    v3(result[2][0], result[2][1], result[2][2]),
                    v3(result[3][0], result[3][1], result[3][2]),
                    result[0][3],
                    result[1][3],
                    result[2][3]};
}
