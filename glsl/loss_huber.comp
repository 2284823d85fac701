#version 450
// SPDX-License-Identifier: BSD-3-Clause
// Huber 1964: d^2 / 2 for |d| <= constant, constant * (|d| - constant / 2) beyond, d = I - T.
#extension GL_GOOGLE_include_directive : require
#include "loss.glsl"

void loss_term(float i, float t, out float value, out float slope)
{
    precise float difference = i - t, clamped = clamp(difference, -constant, constant);
    precise float term = clamped * (difference - 0.5 * clamped); // both cases at once
    value = term;
    slope = clamped;
}
