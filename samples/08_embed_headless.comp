// SPDX-License-Identifier: BSD-3-Clause
// The shaders of 08_embed_headless.c, whose own dispatches stand between Backlight's passes.
//
// what 0: dL/dI of L = mean (I - T)^2, one invocation a pixel. what 1: a step against the sign of the
// gradient, which does without its size: the light on the wall has little blue, and so has the gradient.
#version 460
layout(local_size_x = 64) in;
layout(set = 0, binding = 0, rgba32f) uniform readonly image2D picture;
layout(set = 0, binding = 1, std430) readonly buffer Target { float target[]; };
layout(set = 0, binding = 2, std430) writeonly buffer Weights { float weights[]; };
layout(set = 0, binding = 3, std430) buffer Colour { float colour[]; };
layout(set = 0, binding = 4, std430) readonly buffer Gradient { float gradient[]; };
layout(push_constant) uniform Push { uint what; float way; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    ivec2 size = imageSize(picture);
    uint pixels = uint(size.x * size.y);
    if (what == 1) {
        if (i < 3)
            colour[i] = clamp(colour[i] - way * sign(gradient[i]), 0.01, 0.99);
    } else if (i < pixels) {
        vec4 seen = imageLoad(picture, ivec2(i % size.x, i / size.x));
        for (uint c = 0; c < 3; c++)
            weights[3 * i + c] = 2 * (seen[c] - target[3 * i + c]) / float(3 * pixels);
    }
}
