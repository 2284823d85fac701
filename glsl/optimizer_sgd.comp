#version 450
// SPDX-License-Identifier: BSD-3-Clause
// Stochastic gradient descent with momentum, as in Mitsuba, Dr.Jit and PyTorch (dampening 0):
//     v = momentum v + g        way = factor * v, or with Nesterov's acceleration factor * (g + momentum v).
// numbers    momentum, Nesterov (1 or 0), factor: the schedule's
#extension GL_GOOGLE_include_directive : require
#define STATES 1
#include "optimizer.glsl"

float optimizer_step(float g, inout float a, inout float b)
{
    precise float v = number_0 * a + g, ahead = g + number_0 * v;
    precise float way = number_2 * mix(v, ahead, number_1 != 0.0);
    a = v;
    return way;
}
