#version 450
// SPDX-License-Identifier: BSD-3-Clause
// The value of a linear loss: L = sum W I, whose adjoint is W itself. Groups and order as in loss_l2.comp.
//
// binding 0  image I, float
// binding 1  weights W, float
// binding 2  partial sums, float, written: one per group, ceil(n / 1024)
// push       n
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "reduce.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Image { float image[]; };
layout(std430, set = 0, binding = 1) readonly buffer Weights { float weights[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Partial { float partial[]; };
layout(push_constant) uniform Push { uint n; };

void main()
{
    uint group = group_index(), first = group * 1024u;
    precise float sum = 0.0;
    for (uint k = gl_LocalInvocationID.x; k < 1024u; k += group_size) {
        uint i = first + k;
        if (i < n)
            sum = sum + image[i] * weights[i];
    }
    float total = group_sum(sum);
    if (gl_LocalInvocationID.x == 0u && first < n)
        partial[group] = total;
}
