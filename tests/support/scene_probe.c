/* SPDX-License-Identifier: BSD-3-Clause */
#include "support/scene_probe.h"

void scene_probe_random(uint32_t pixel, uint32_t sample, uint32_t seed, uint32_t stream, uint32_t block,
                        double u[4])
{
    uint32_t x = pixel, y = sample, z = seed, w = stream << 24 | block;
    x = x * 1664525u + 1013904223u, y = y * 1664525u + 1013904223u, z = z * 1664525u + 1013904223u,
    w = w * 1664525u + 1013904223u;
    x += y * w, y += z * x, z += x * y, w += y * z;
    x ^= x >> 16, y ^= y >> 16, z ^= z >> 16, w ^= w >> 16;
    x += y * w, y += z * x, z += x * y, w += y * z;
    const uint32_t v[4] = {x, y, z, w};
    for (int k = 0; k < 4; k++)
        u[k] = (v[k] >> 8) * 0x1p-24;
}

void scene_probe_box(const scene_eval *e, uint32_t pixel, uint32_t sample, uint32_t seed, double position[2])
{
    double u[4];
    scene_probe_random(pixel, sample, seed, 0, 0, u);
    position[0] = pixel % e->scene->width + u[0];
    position[1] = (double)(pixel / e->scene->width) + u[1];
}

void scene_probe_sample(scene_eval *e, uint32_t pixel, uint32_t sample, uint32_t seed, double rgb[3])
{
    bl_error err = {0};
    bl_result r = scene_eval_run(
        e, RENDER_PRIMAL, (scene_eval_at){.pixel = pixel, .sample = sample, .seed = seed, .f64 = true}, &err);
    BL_ASSERT(r == BL_OK, "%s", err.text);
    for (uint32_t c = 0; c < 3; c++)
        rgb[c] = e->film[3 * pixel + c];
}
