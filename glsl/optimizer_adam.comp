#version 450
// SPDX-License-Identifier: BSD-3-Clause
// Adam (Kingma and Ba 2015, algorithm 1 in the form of the end of section 2, as in Mitsuba and Dr.Jit):
//     m = b1 m + (1 - b1) g        v = b2 v + (1 - b2) g^2        way = correction * m / (sqrt(v) + epsilon),
//     correction = factor * sqrt(1 - b2^t) / (1 - b1^t), computed on the host in double precision; factor:
//     the schedule's.
// numbers    b1, 1 - b1, b2, 1 - b2, epsilon, correction
#extension GL_GOOGLE_include_directive : require
#define STATES 2
#include "optimizer.glsl"

float optimizer_step(float g, inout float a, inout float b)
{
    precise float m = number_0 * a + number_1 * g, v = number_2 * b + number_3 * (g * g);
    precise float way = number_5 * m / (sqrt(v) + number_4);
    a = m;
    b = v;
    return way;
}
