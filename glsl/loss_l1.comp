#version 450
// SPDX-License-Identifier: BSD-3-Clause
// Absolute error: |I - T|, slope 0 where both are equal.
#extension GL_GOOGLE_include_directive : require
#include "loss.glsl"

void loss_term(float i, float t, out float value, out float slope)
{
    precise float difference = i - t;
    value = abs(difference);
    slope = sign(difference);
}
