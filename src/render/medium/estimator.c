/* SPDX-License-Identifier: BSD-3-Clause
 * The choice of the estimator for the gradient of a grid of extinctions, where --volume-gradient is auto.
 *
 * Replay learns of a voxel where paths collide in it. A tentative collision there is real with probability
 * extinction over bound, but at least LEAST_REAL_CHANCE (integrator/media/tracking.c), and the contribution
 * is divided by this probability. So the variance of replay grows with the number of tentative collisions
 * that a real one takes. Empty voxels beside dense ones take the most, and they are the noise of the whole
 * gradient.
 *
 * Detours (integrator/media/differential_ratio_tracking.c) go everywhere alike, but they cost another path.
 * So they are worth it where that number, on average over the voxels, is large. How thick the medium is
 * matters less. The limit comes from measurements (docs/decisions/volume-gradient-estimator.md).
 *
 * A fit that starts from a grid of one value knows nothing of it yet: much of it may become empty. Detours
 * lose less where it does not than replay loses where it does. */
#include "render/classes.h"

static const double tries_worth_a_detour = 5;

enum { REACH = 2 /* so many voxels beyond a cell count for its bound (volume/gridvolume.c) */ };

/* A block of voxels: along each of the three sides those in [first, end). */
typedef struct block {
    uint32_t first[3], end[3];
} block;

/* The voxels of a cell, and `reach` more on every side. */
static block block_of(const extinction_grid *g, const uint32_t cell[3], uint32_t reach)
{
    block b;
    for (int k = 0; k < 3; k++) {
        uint32_t first = (uint32_t)((uint64_t)cell[k] * g->size[k] / g->cells);
        uint32_t end = (uint32_t)((uint64_t)(cell[k] + 1) * g->size[k] / g->cells);
        b.first[k] = first > reach ? first - reach : 0;
        b.end[k] = end + reach < g->size[k] ? end + reach : g->size[k];
    }
    return b;
}

static const float *voxel_at(const extinction_grid *g, uint32_t x, uint32_t y, uint32_t z)
{
    return g->values + g->channels * (((size_t)z * g->size[1] + y) * g->size[0] + x);
}

static double largest_in(const extinction_grid *g, block b)
{
    double most = 0;
    for (uint32_t z = b.first[2]; z < b.end[2]; z++)
        for (uint32_t y = b.first[1]; y < b.end[1]; y++)
            for (uint32_t x = b.first[0]; x < b.end[0]; x++)
                for (uint32_t c = 0; c < g->channels; c++)
                    most = fmax(most, (double)voxel_at(g, x, y, z)[c]);
    return most;
}

/* The sum over the voxels of the block of the number of tentative collisions that a real one takes. */
static double tries_in(const extinction_grid *g, block b, double bound)
{
    double sum = 0;
    for (uint32_t z = b.first[2]; z < b.end[2]; z++)
        for (uint32_t y = b.first[1]; y < b.end[1]; y++)
            for (uint32_t x = b.first[0]; x < b.end[0]; x++) {
                double chance = 0;
                for (uint32_t c = 0; c < g->channels; c++)
                    chance += fmax((double)voxel_at(g, x, y, z)[c] / bound, (double)LEAST_REAL_CHANCE);
                sum += g->channels / chance;
            }
    return sum;
}

double extinction_tries(const extinction_grid *g)
{
    double sum = 0, least = (double)MAJORANT_LEAST_OPTICAL / g->thickness;
    uint32_t cell[3];
    for (cell[2] = 0; cell[2] < g->cells; cell[2]++)
        for (cell[1] = 0; cell[1] < g->cells; cell[1]++)
            for (cell[0] = 0; cell[0] < g->cells; cell[0]++) {
                double most = largest_in(g, block_of(g, cell, REACH));
                sum += tries_in(g, block_of(g, cell, 0), fmax((double)MAJORANT_MARGIN * most, least));
            }
    return sum / ((double)g->size[0] * g->size[1] * g->size[2]);
}

static bool has_one_value(const extinction_grid *g)
{
    const size_t count = (size_t)g->channels * g->size[0] * g->size[1] * g->size[2];
    for (size_t i = g->channels; i < count; i++)
        if (g->values[i] != g->values[i % g->channels])
            return false;
    return true;
}

/* For the grid of a medium. False if the gradient of the voxels is not wanted. */
static bool prefers_detours(const plan *p, const scene_object *medium, bool for_fit)
{
    const scene_object *volume = scene_get(medium, "sigma_t")->object;
    const volume_class *cls = (const volume_class *)(const void *)volume->cls;
    uint32_t index = render_find_parameter(p->scene, volume, PLAN_DATA_SLOT);
    if (index == PLAN_NONE || p->gradient_offset[index] == PLAN_NONE)
        return false;
    const render_parameter *data = &p->scene->parameters.data[index];
    uint32_t cells = cls->cells && !(p->off & PLAN_CELLS) ? cls->cells(p->scene, volume) : 0;
    extinction_grid g = {
        .values = render_initial(p->scene, data),
        .cells = cells ? cells : 1,
        .size = {data->shape[2], data->shape[1], data->shape[0]},
        .channels = data->shape[3],
        .thickness = scene_number(medium, "scale") * medium_diagonal(medium),
    };
    return (for_fit && has_one_value(&g)) || extinction_tries(&g) > tries_worth_a_detour;
}

bool plan_prefers_detours(const plan *p, bool for_fit)
{
    bool any = false;
    for (uint32_t i = 0; p->scene->volumetric && i < p->scene->media.count; i++)
        if (!medium_bends_rays(p->scene->media.data[i])) /* there are no collisions where it does */
            any |= prefers_detours(p, p->scene->media.data[i], for_fit);
    return any;
}
