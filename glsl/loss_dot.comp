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

BUFFER(0, readonly, float, image)
BUFFER(1, readonly, float, weights)
BUFFER(2, writeonly, float, partial)
layout(push_constant) uniform Push { uint n; };

void main()
{
    uint group = group_index(), first = group * 1024u;
    precise float sum = 0.0;
    for (uint k = gl_LocalInvocationID.x; k < 1024u; k += group_size) {
        uint i = first + k;
        if (i < n)
            sum = sum + image.data[i] * weights.data[i];
    }
    float total = group_sum(sum);
    if (gl_LocalInvocationID.x == 0u && first < n)
        partial.data[group] = total;
}
