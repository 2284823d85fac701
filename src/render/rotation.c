/* SPDX-License-Identifier: BSD-3-Clause
 * Rotations given by a vector r, on the host and traced. With q = |r|^2, a = sin |r| / |r| and
 * b = (1 - cos |r|) / q, the matrix is (1 - b q) I + a [r]x + b r r^T, where [r]x v is the cross product of r
 * and v. */
#include "render/rotation.h"

#include <math.h>

/* Entry (i, j) of [r]x is this number's sign times r[3 - i - j]. */
static int sign_across(int i, int j) { return j == (i + 1) % 3 ? -1 : 1; }

void rotation_matrix(const double r[3], double out[3][3])
{
    double q = r[0] * r[0] + r[1] * r[1] + r[2] * r[2], angle = sqrt(q);
    double a = q > 0 ? sin(angle) / angle : 1, b = q > 0 ? (1 - cos(angle)) / q : 0.5;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double across = i == j ? 0 : sign_across(i, j) * r[3 - i - j];
            out[i][j] = (i == j ? 1 - b * q : 0) + a * across + b * r[i] * r[j];
        }
}

/* A polynomial in q = x^2 with the coefficients sign^k / (2 k + first)!. It is sin(x) / x for first = 1 and
 * (1 - cos x) / x^2 for first = 2, to 1e-8 up to half a turn. It is smooth in q, where sine and cosine of a
 * length are not, so it has derivatives at 0. */
static ir_ref trigonometric(tracer *t, ir_ref q, int first)
{
    double coefficient[10] = {first == 1 ? 1 : 0.5};
    for (int k = 1; k < 10; k++)
        coefficient[k] = -coefficient[k - 1] / ((2 * k + first - 1) * (2 * k + first));
    ir_ref sum = t_f32(t, (float)coefficient[9]);
    for (int k = 8; k >= 0; k--)
        sum = t_mad(t, sum, q, t_f32(t, (float)coefficient[k]));
    return sum;
}

/* a and b: beyond half a turn by sine and cosine. */
static void coefficients(tracer *t, ir_ref q, ir_ref *a, ir_ref *b)
{
    ir_func *f = t->f;
    ir_ref half_turn = t_f32(t, 9.8696044f), far = ir_gt(f, q, half_turn),
           angle = ir_sqrt(f, ir_select(f, far, q, half_turn)), near_q = ir_select(f, far, half_turn, q);
    *a = ir_select(f, far, ir_div(f, ir_sin(f, angle), angle), trigonometric(t, near_q, 1));
    *b = ir_select(f, far, ir_div(f, ir_sub(f, t_f32(t, 1), ir_cos(f, angle)), ir_mul(f, angle, angle)),
                   trigonometric(t, near_q, 2));
}

void rotation_columns(tracer *t, vec3 radians, vec3 out[3])
{
    ir_func *f = t->f;
    const ir_ref r[3] = {radians.x, radians.y, radians.z};
    ir_ref q = v3_dot(t, radians, radians), a, b, column[3];
    coefficients(t, q, &a, &b);
    for (int j = 0; j < 3; j++) {
        for (int i = 0; i < 3; i++) {
            ir_ref outer = ir_mul(f, b, ir_mul(f, r[i], r[j])),
                   rest = i == j
                              ? ir_sub(f, t_f32(t, 1), ir_mul(f, b, q))
                              : ir_mul(f, a, sign_across(i, j) < 0 ? ir_neg(f, r[3 - i - j]) : r[3 - i - j]);
            column[i] = ir_add(f, outer, rest);
        }
        out[j] = vec3_at(column);
    }
}
