// SPDX-License-Identifier: BSD-3-Clause
// The loss of a two-walk step: strips of even number are one half of the samples, those of odd number the
// other; each half's image has its own dL/dI, which drives the adjoint of the other half's samples. For
// losses whose slope is affine in I and zero at T, where the gradient is unbiased, and so is the loss:
// slope(A) (B - T) / 2 for squared errors. Film to images and losses of a tile of pixels in one go; groups
// and partial sums as in loss.glsl. A loss is a file that includes this one and defines loss_term.
//
// binding 0  film, float: lane l = strip * n / 3 + pixel owns words 3 l .. 3 l + 2; strips is even
// binding 1  target T, float
// binding 2  image, float, written: the mean of both halves
// binding 3  adjoint, float, written: dL/dI at the even half's image, n values, then at the odd half's
// binding 4  partial sums, float, written
// push       first, end (values of this tile; first is a multiple of 1024), n (of the film), strips,
//            scale (float: what a value weighs), constant (float), share (float: one over the samples of a
//            half)
#include "common.glsl"
#include "reduce.glsl"

BUFFER(0, readonly, float, film)
BUFFER(1, readonly, float, target)
BUFFER(2, writeonly, float, image)
BUFFER(3, writeonly, float, adjoint)
BUFFER(4, writeonly, float, partial)
layout(push_constant) uniform Push { uint first, end, n, strips; float scale, constant, share; };

void loss_term(float i, float t, out float value, out float slope);

float half_image(uint at, uint parity)
{
    precise float sum = 0.0;
    for (uint strip = parity; strip < strips; strip += 2u)
        sum = sum + film.data[strip * n + at];
    precise float mean = sum * share;
    return mean;
}

void main()
{
    uint group = first / 1024u + group_index();
    precise float sum = 0.0;
    for (uint k = gl_LocalInvocationID.x; k < 1024u; k += group_size) {
        uint at = group * 1024u + k;
        if (at < end) {
            float a = half_image(at, 0u), b = half_image(at, 1u), unused, slope_a, slope_b;
            loss_term(a, target.data[at], unused, slope_a);
            loss_term(b, target.data[at], unused, slope_b);
            precise float mean = 0.5 * (a + b), scaled_a = slope_a * scale, scaled_b = slope_b * scale;
            image.data[at] = mean;
            adjoint.data[at] = scaled_a;
            adjoint.data[n + at] = scaled_b;
            sum = sum + 0.5 * slope_a * (b - target.data[at]);
        }
    }
    float total = group_sum(sum);
    if (gl_LocalInvocationID.x == 0u && group * 1024u < end) {
        precise float scaled = total * scale;
        partial.data[group] = scaled;
    }
}
