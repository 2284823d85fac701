#version 450
// SPDX-License-Identifier: BSD-3-Clause
// Gradients from fixed point to float, rounded once: out = (high * 2^32 + low, as a signed number) / scale.
//
// binding 0  gradient, uint: element i at words 2i (low) and 2i+1 (high)
// binding 1  scale, float: one power of two per element
// binding 2  output, float, written
// push       count, gradient_first (element, also of scale), output_first
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "fixed_point.glsl"

BUFFER(0, readonly, uint, gradient)
BUFFER(1, readonly, float, scale)
BUFFER(2, writeonly, float, values)
layout(push_constant) uniform Push { uint count, gradient_first, output_first; };

void main()
{
    uint i = linear_index();
    if (i >= count)
        return;
    uint g = gradient_first + i;
    uint low = gradient.data[2u * g], high = gradient.data[2u * g + 1u];
    values.data[output_first + i] = fixed_to_float(low, high, scale.data[g]);
}
