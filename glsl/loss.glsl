// SPDX-License-Identifier: BSD-3-Clause
// What all losses share: L = scale * sum over values of a term of (image, target), and dL/dI. Each group
// covers 1024 values: invocation k takes values k, k + 64, .. of them, and the group's sum becomes one
// partial sum for reduce_sum.comp. A loss is a file that includes this one and defines loss_term.
//
// binding 0  image I, float
// binding 1  target T, float
// binding 2  adjoint dL/dI, float, written
// binding 3  partial sums, float, written: one per group, ceil(n / 1024)
// push       n, scale (float: what one value weighs, 1 / n for a mean), constant (float: the loss's
//            own number)
#include "common.glsl"
#include "reduce.glsl"

BUFFER(0, readonly, float, image)
BUFFER(1, readonly, float, target)
BUFFER(2, writeonly, float, adjoint)
BUFFER(3, writeonly, float, partial)
layout(push_constant) uniform Push { uint n; float scale, constant; };

// One value's share of the sum, and its derivative by the image's value i.
void loss_term(float i, float t, out float value, out float slope);

void main()
{
    uint group = group_index(), first = group * 1024u;
    precise float sum = 0.0;
    for (uint k = gl_LocalInvocationID.x; k < 1024u; k += group_size) {
        uint at = first + k;
        if (at < n) {
            float value, slope;
            loss_term(image.data[at], target.data[at], value, slope);
            precise float scaled_slope = slope * scale;
            adjoint.data[at] = scaled_slope;
            sum = sum + value;
        }
    }
    float total = group_sum(sum);
    if (gl_LocalInvocationID.x == 0u && first < n) {
        precise float scaled = total * scale;
        partial.data[group] = scaled;
    }
}
