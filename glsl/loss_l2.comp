#version 450
// SPDX-License-Identifier: BSD-3-Clause
// Squared error: L = sum (I - T)^2 / n and dL/dI = 2 (I - T) / n. Each group covers 1024 values: invocation k takes
// values k, k + 64, .. of them, and the group's sum becomes one partial sum for reduce_sum.comp.
//
// binding 0  image I, float
// binding 1  target T, float
// binding 2  adjoint dL/dI, float, written
// binding 3  partial sums, float, written: one per group, ceil(n / 1024)
// push       n, scale (float: 1 / n)
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "reduce.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Image { float image[]; };
layout(std430, set = 0, binding = 1) readonly buffer Target { float target[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Adjoint { float adjoint[]; };
layout(std430, set = 0, binding = 3) writeonly buffer Partial { float partial[]; };
layout(push_constant) uniform Push { uint n; float scale; };

void main()
{
    uint group = group_index(), first = group * 1024u;
    precise float sum = 0.0;
    for (uint k = gl_LocalInvocationID.x; k < 1024u; k += group_size) {
        uint i = first + k;
        if (i < n) {
            precise float difference = image[i] - target[i];
            precise float slope = 2.0 * difference * scale;
            adjoint[i] = slope;
            sum = sum + difference * difference;
        }
    }
    float total = group_sum(sum);
    if (gl_LocalInvocationID.x == 0u && first < n) {
        precise float scaled = total * scale;
        partial[group] = scaled;
    }
}
