#version 450
// SPDX-License-Identifier: BSD-3-Clause
// Film to image: sums the strips of each pixel in ascending order and multiplies by a scale (one over the
// sample count). One invocation per value of the image (3 per pixel).
//
// binding 0  film, float: lane l = strip * pixels + pixel owns words l*lane_words .. ; its r, g, b start at
//            lane_first
// binding 1  image, float, written: 3 * pixels, interleaved
// push       pixels, strips, scale (float), lane_words, lane_first
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

BUFFER(0, readonly, float, film)
BUFFER(1, writeonly, float, image)
layout(push_constant) uniform Push { uint pixels, strips; float scale; uint lane_words, lane_first; };

void main()
{
    uint i = linear_index();
    if (i >= 3u * pixels)
        return;
    uint pixel = i / 3u, word = pixel * lane_words + lane_first + i % 3u;
    precise float sum = 0.0;
    for (uint strip = 0u; strip < strips; strip++) {
        sum = sum + film.data[word];
        word += pixels * lane_words;
    }
    precise float value = sum * scale;
    image.data[i] = value;
}
