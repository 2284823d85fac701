#version 450
// SPDX-License-Identifier: BSD-3-Clause
// RMSProp (Hinton's lecture 6), as in Mitsuba, Dr.Jit and PyTorch:
//     v = alpha v + (1 - alpha) g^2        way = factor * g / (sqrt(v) + epsilon).
// numbers    alpha, 1 - alpha, epsilon, factor: the schedule's
#extension GL_GOOGLE_include_directive : require
#define STATES 1
#include "optimizer.glsl"

float optimizer_step(float g, inout float a, inout float b)
{
    precise float v = number_0 * a + number_1 * (g * g);
    precise float way = number_3 * g / (sqrt(v) + number_2);
    a = v;
    return way;
}
