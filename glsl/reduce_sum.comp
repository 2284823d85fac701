#version 450
// SPDX-License-Identifier: BSD-3-Clause
// Second stage of every loss: one group sums all partial sums, always in the same order, and stores the total
// in one slot of a result buffer, so that a fit can keep the losses of several steps in flight.
//
// binding 0  partial sums, float
// binding 1  results, float: word `slot` is written
// push       n, slot
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "reduce.glsl"

BUFFER(0, readonly, float, partial)
BUFFER(1, writeonly, float, results)
layout(push_constant) uniform Push { uint n, slot; };

void main()
{
    precise float sum = 0.0;
    for (uint i = gl_LocalInvocationID.x; i < n; i += group_size)
        sum = sum + partial.data[i];
    float total = group_sum(sum);
    if (linear_index() == 0u)
        results.data[slot] = total;
}
