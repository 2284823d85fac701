#version 450
// SPDX-License-Identifier: BSD-3-Clause
// One step of Adam (Kingma and Ba 2015, algorithm 1 in the form of the end of section 2, as in Mitsuba and Dr.Jit):
//     m = b1 m + (1 - b1) g        v = b2 v + (1 - b2) g^2
//     x = clamp(x - rate * correction * m / (sqrt(v) + epsilon), lower, upper),
//     correction = sqrt(1 - b2^t) / (1 - b1^t), computed on the host in double precision.
// An element whose gradient or its square is NaN or infinite keeps its value and its moments, and is counted.
//
// binding 0  parameters x, float; element i is word parameter_first + i
// binding 1  gradient: float per element, or two uint (fixed_point.glsl) with flag 1; element i is gradient_first + i,
//            which is also its index in bindings 2 .. 7
// binding 2  scale, float per element (read with flag 1 only)
// binding 3  m, float      binding 4  v, float
// binding 5  rate, float   binding 6  lower, float   binding 7  upper, float
// binding 8  status, uint: word 0 counts elements left unchanged
// push       count, parameter_first, gradient_first, flags (1: fixed point), b1, 1 - b1, b2, 1 - b2, epsilon, correction
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "fixed_point.glsl"

layout(std430, set = 0, binding = 0) buffer Parameters { float parameters[]; };
layout(std430, set = 0, binding = 1) readonly buffer Gradient { uint gradient[]; };
layout(std430, set = 0, binding = 2) readonly buffer Scale { float scale[]; };
layout(std430, set = 0, binding = 3) buffer First { float first_moment[]; };
layout(std430, set = 0, binding = 4) buffer Second { float second_moment[]; };
layout(std430, set = 0, binding = 5) readonly buffer Rate { float rate[]; };
layout(std430, set = 0, binding = 6) readonly buffer Lower { float lower[]; };
layout(std430, set = 0, binding = 7) readonly buffer Upper { float upper[]; };
layout(std430, set = 0, binding = 8) buffer Status { uint unchanged; };
layout(push_constant) uniform Push {
    uint count, parameter_first, gradient_first, flags;
    float beta_1, one_minus_beta_1, beta_2, one_minus_beta_2, epsilon, correction;
};

void main()
{
    uint i = linear_index();
    if (i >= count)
        return;
    uint e = gradient_first + i, p = parameter_first + i;
    float g;
    if ((flags & 1u) != 0u)
        g = fixed_to_float(gradient[2u * e], gradient[2u * e + 1u], scale[e]);
    else
        g = uintBitsToFloat(gradient[e]);
    precise float m = beta_1 * first_moment[e] + one_minus_beta_1 * g;
    precise float v = beta_2 * second_moment[e] + one_minus_beta_2 * (g * g);
    // v is NaN or infinite when g is, or when g^2 leaves the range; by bits: a compiler may assume that isnan never holds
    if ((floatBitsToUint(v) & 0x7f800000u) == 0x7f800000u) {
        atomicAdd(unchanged, 1u);
        return;
    }
    precise float next = parameters[p] - rate[e] * correction * m / (sqrt(v) + epsilon);
    first_moment[e] = m;
    second_moment[e] = v;
    parameters[p] = min(max(next, lower[e]), upper[e]);
}
