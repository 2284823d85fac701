#version 450
// SPDX-License-Identifier: BSD-3-Clause
// Adds the derivative of weight * sum s(j) to gradients, s being the smoothed isotropic total variation
// (Rudin, Osher and Fatemi 1992) of an array of cells in up to three dimensions, every channel on its own:
//     s(j) = sqrt(smoothing^2 + sum over axes a of d_a(j)^2),   d_a(j) = x(j + e_a) - x(j),
//
// where d_a is 0 at the last cell of the axis.
// Cell i stands in its own term with every difference, and in that of its predecessor along each axis with
// one.
//
// binding 0  x, float; element i is word parameter_first + i. channel fastest, then x, y, z
// binding 1  gradient, float; element i is gradient_first + i, added to
// push       count, parameter_first, gradient_first, columns, rows, channels, weight and smoothing (floats)
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

BUFFER(0, readonly, float, parameters)
BUFFER(1, , float, gradient)
layout(push_constant) uniform Push {
    uint count, parameter_first, gradient_first, columns, rows, channels;
    float weight, smoothing;
};

// The differences of the cell at element i and what divides them.
vec3 differences(uint i, uvec3 at, uvec3 size, uvec3 stride, out float s)
{
    precise vec3 d = vec3(0.0);
    float here = parameters.data[parameter_first + i];
    for (int a = 0; a < 3; a++)
        if (at[a] + 1u < size[a])
            d[a] = parameters.data[parameter_first + i + stride[a]] - here;
    precise float square = smoothing * smoothing + d.x * d.x + d.y * d.y + d.z * d.z;
    s = sqrt(square);
    return d;
}

void main()
{
    uint i = linear_index();
    if (i >= count)
        return;
    uint row = columns * channels, plane = rows * row;
    uvec3 size = uvec3(columns, rows, count / plane), stride = uvec3(channels, row, plane);
    uvec3 at = uvec3(i / channels % columns, i / row % rows, i / plane);
    float s;
    vec3 d = differences(i, at, size, stride, s);
    precise float sum = -(d.x + d.y + d.z) / s;
    for (int a = 0; a < 3; a++)
        if (at[a] > 0u) {
            uvec3 before = at;
            before[a]--;
            d = differences(i - stride[a], before, size, stride, s);
            sum += d[a] / s;
        }
    precise float g = gradient.data[gradient_first + i] + weight * sum;
    gradient.data[gradient_first + i] = g;
}
