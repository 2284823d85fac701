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

layout(std430, set = 0, binding = 0) readonly buffer Gradient { uint gradient[]; };
layout(std430, set = 0, binding = 1) readonly buffer Scale { float scale[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Output { float values[]; };
layout(push_constant) uniform Push { uint count, gradient_first, output_first; };

void main()
{
    uint i = linear_index();
    if (i >= count)
        return;
    uint g = gradient_first + i;
    values[output_first + i] = fixed_to_float(gradient[2u * g], gradient[2u * g + 1u], scale[g]);
}
