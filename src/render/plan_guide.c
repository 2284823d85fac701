/* SPDX-License-Identifier: BSD-3-Clause
 * The guide of directions, on the host: the cells of a scene's box, and what was learnt for them as tables
 * that kernels sample (integrator/vertex/direction_guide.c).
 *
 * Each cell has an alias table over its bins (Walker 1977, by Vose's construction), so a bin takes one read
 * and no search. Probabilities are whole numbers of parts, so the table is exact: a kernel samples what it
 * divides by. Every bin has one part at least, whatever was found there. A bin's word holds all of it,
 * because what guiding costs a processor is the memory that it reads. */
#include "render/plan_internal.h"

#include <math.h>

enum { PARTS = GUIDE_BINS * GUIDE_LEVELS, PATHS_OF_CELL = 500 /* over the square of the cells of a side */ };
static const double BLUR = 0.5;  /* what a bin learns, the bins beside it learn, too, by so much */
static const float SHARE = 0.5f; /* of the samples at a vertex in a cell for which something was learnt */

static void join_shapes(const render_scene *s, float box[6])
{
    for (uint32_t i = 0; i < s->primitives.count; i++)
        render_join_box(box, s->primitives.data[i].bounds);
}

void plan_place_guide(plan *p, uint64_t paths)
{
    const render_scene *s = p->scene;
    plan_guide *g = &p->guide;
    BL_ASSERT(g->cells[0] == 0, "a second guide of %u cells", g->cells[0]);
    float box[6] = {1e30f, 1e30f, 1e30f, -1e30f, -1e30f, -1e30f}, widest = 0;
    if (s->has_groups || s->primitives.count == 0)
        for (uint32_t k = 0; k < 3; k++)
            box[k] = s->center[k] - s->radius, box[3 + k] = s->center[k] + s->radius;
    else
        join_shapes(s, box);
    for (uint32_t k = 0; k < 3; k++)
        widest = box[3 + k] - box[k] > widest ? box[3 + k] - box[k] : widest;
    const double most = sqrt((double)paths / PATHS_OF_CELL);
    const uint32_t side = most < 4 ? 4 : most < GUIDE_CELLS ? (uint32_t)most : GUIDE_CELLS;
    const float size = widest > 0 ? widest / (float)side : 1;
    for (uint32_t k = 0; k < 3; k++) {
        const float cells = (box[3 + k] - box[k]) / size;
        g->least[k] = box[k], g->per_length[k] = 1 / size;
        g->cells[k] = cells < (float)(side - 1) ? (uint32_t)cells + 1 : side;
    }
    p->value_count = (p->value_count + 3) & ~3u;
    g->at = p->value_count;
    p->value_count += plan_guide_words(g);
}

/* Bins with less and with more than GUIDE_LEVELS parts, while an alias table is made. */
typedef struct alias_lists {
    uint32_t small[GUIDE_BINS], large[GUIDE_BINS], smalls, larges;
} alias_lists;

/* Fills the levels and the aliases of a table. parts: of the bins, PARTS in all. */
static void make_alias(const uint32_t parts[GUIDE_BINS], uint32_t level[GUIDE_BINS],
                       uint32_t alias[GUIDE_BINS])
{
    alias_lists l = {.smalls = 0, .larges = 0};
    uint32_t left[GUIDE_BINS];
    for (uint32_t k = 0; k < GUIDE_BINS; k++) {
        alias[k] = k, level[k] = GUIDE_LEVELS, left[k] = parts[k];
        if (left[k] < GUIDE_LEVELS)
            l.small[l.smalls++] = k;
        else
            l.large[l.larges++] = k;
    }
    while (l.smalls) { /* then there is one with more, since the sum is that of all slots */
        const uint32_t few = l.small[--l.smalls], many = l.large[l.larges - 1];
        level[few] = left[few], alias[few] = many;
        left[many] -= GUIDE_LEVELS - left[few];
        if (left[many] < GUIDE_LEVELS)
            l.larges--, l.small[l.smalls++] = many;
    }
}

/* The sum of a bin, blurred over those beside it in the square, as a mean. */
static double blurred(const double *sums, uint32_t bin)
{
    const int32_t row = (int32_t)bin / GUIDE_SIDE, column = (int32_t)bin % GUIDE_SIDE;
    double sum = 0, weight = 0;
    for (int32_t y = row - 1; y <= row + 1; y++)
        for (int32_t x = column - 1; x <= column + 1; x++) {
            const double own = (y == row ? 1 : BLUR) * (x == column ? 1 : BLUR);
            if (x < 0 || y < 0 || x >= GUIDE_SIDE || y >= GUIDE_SIDE)
                continue;
            sum += own * sums[y * GUIDE_SIDE + x], weight += own;
        }
    return sum / weight;
}

/* One part for each bin, the others in proportion to the sums, of which one is above 0. */
static void apportion(const double *sums, uint32_t parts[GUIDE_BINS])
{
    double total = 0, before = 0, each[GUIDE_BINS];
    uint32_t given = 0;
    for (uint32_t k = 0; k < GUIDE_BINS; k++)
        each[k] = blurred(sums, k), total += each[k];
    for (uint32_t k = 0; k < GUIDE_BINS; k++) {
        before += each[k];
        const double wanted = k + 1 == GUIDE_BINS ? 1 : before / total;
        const uint32_t up_to = (uint32_t)(wanted * (PARTS - GUIDE_BINS) + 0.5);
        parts[k] = 1 + (up_to > given ? up_to - given : 0);
        given = up_to > given ? up_to : given;
    }
}

static void write_cell(const double *sums, float *words)
{
    uint32_t parts[GUIDE_BINS], level[GUIDE_BINS], alias[GUIDE_BINS];
    apportion(sums, parts);
    make_alias(parts, level, alias);
    words[GUIDE_SHARE] = SHARE;
    for (uint32_t k = 0; k < GUIDE_BINS; k++) {
        const uint32_t word =
            GUIDE_MARK | parts[k] << GUIDE_PARTS_BIT | level[k] << GUIDE_LEVEL_BIT | alias[k];
        memcpy(words + GUIDE_BIN + k, &word, sizeof word);
    }
}

void plan_write_guide(const plan *p, const double *sums, float *words)
{
    const plan_guide *g = &p->guide;
    memset(words, 0, plan_guide_words(g) * sizeof *words);
    memcpy(words + GUIDE_LEAST, g->least, sizeof g->least);
    memcpy(words + GUIDE_PER_LENGTH, g->per_length, sizeof g->per_length);
    for (uint32_t c = 0; c < plan_guide_cells(g); c++) {
        double total = 0;
        for (uint32_t k = 0; sums && k < GUIDE_BINS; k++)
            total += sums[(size_t)c * GUIDE_BINS + k];
        if (total > 0)
            write_cell(sums + (size_t)c * GUIDE_BINS, words + GUIDE_HEADER + (size_t)c * GUIDE_CELL_WORDS);
    }
}
