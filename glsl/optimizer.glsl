// SPDX-License-Identifier: BSD-3-Clause
// What all optimisers share: one invocation per element reads its gradient and state, asks optimizer_step for
// the way to go, and stores x = clamp(x - rate * way, lower, upper). An optimiser is a file that defines
// STATES (arrays of state it keeps, 1 or 2), includes this one and defines optimizer_step. An element whose
// gradient, state or way is NaN or infinite keeps its value and its state, and is counted. So is an element
// whose value is NaN or infinite in the end.
//
// binding 0  parameters x, float; element i is word parameter_first + i
// binding 1  gradient: float per element, or two uint (fixed_point.glsl) with flag 1; element i is
//            gradient_first + i,
//            which is also its index in bindings 2 .. 4
// binding 2  scale, float per element (read with flag 1 only)
// binding 3  state 1, float      binding 4  state 2, float (untouched if STATES is 1)
// binding 5  status, uint: word 0 counts elements left unchanged, word 1 those whose value is not finite
// push       count, parameter_first, gradient_first, flags (1: fixed point), then floats: rate, lower, upper,
//            and six numbers of the optimiser's own
#include "common.glsl"
#include "fixed_point.glsl"

BUFFER(0, , float, parameters)
BUFFER(1, readonly, uint, gradient)
BUFFER(2, readonly, float, scale)
BUFFER(3, , float, state_1)
#if STATES > 1
BUFFER(4, , float, state_2)
#endif
BUFFER(5, , uint, status)
const uint UNCHANGED = 0u, LOST = 1u; // words of it
layout(push_constant) uniform Push {
    uint count, parameter_first, gradient_first, flags;
    float rate, lower, upper;
    float number_0, number_1, number_2, number_3, number_4, number_5;
};

// The way for gradient g, to be multiplied by the rate; a and b: state before, and after.
float optimizer_step(float g, inout float a, inout float b);

// By bits: a compiler may assume that isnan and isinf never hold.
bool not_finite(float v) { return (floatBitsToUint(v) & 0x7f800000u) == 0x7f800000u; }

void main()
{
    uint i = linear_index();
    if (i >= count)
        return;
    uint e = gradient_first + i, p = parameter_first + i;
    float g;
    if ((flags & 1u) != 0u)
        g = fixed_to_float(gradient.data[2u * e], gradient.data[2u * e + 1u], scale.data[e]);
    else
        g = uintBitsToFloat(gradient.data[e]);
    float a = state_1.data[e], b = 0.0;
#if STATES > 1
    b = state_2.data[e];
#endif
    precise float way = rate * optimizer_step(g, a, b);
    if (not_finite(g) || not_finite(a) || not_finite(b) || not_finite(way)) {
        atomicAdd(status.data[UNCHANGED], 1u);
        if (not_finite(parameters.data[p]))
            atomicAdd(status.data[LOST], 1u);
        return;
    }
    state_1.data[e] = a;
#if STATES > 1
    state_2.data[e] = b;
#endif
    precise float next = parameters.data[p] - way;
    // A NaN would become a bound, or not: that is up to the device.
    float bounded = (floatBitsToUint(next) & 0x7fffffffu) > 0x7f800000u ? next : min(max(next, lower), upper);
    if (not_finite(bounded))
        atomicAdd(status.data[LOST], 1u);
    parameters.data[p] = bounded;
}
