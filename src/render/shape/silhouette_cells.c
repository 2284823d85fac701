/* SPDX-License-Identifier: BSD-3-Clause
 * Divides the curves of silhouettes into cells: parts of about equal probability, in the order of the lists.
 * Passes learn by how much each cell matters to the image, and choose among cells by that
 * (integrator/boundary/guide.c). So a long edge is cut into stretches, and many short ones are one cell. */
#include "render/plan_internal.h"
#include "render/shape/silhouette.h"
#include "render/shape/silhouette_words.h"

#include <math.h>
#include <string.h>

enum { CELLS = 1024 /* about so many */, STRETCHES_MOST = 256 /* of one edge */ };

typedef struct cell {
    uint32_t carrier[2], edge[2]; /* first and last */
    double from, size, probability;
} cell;
typedef struct cells {
    plan *p;
    uint32_t carriers; /* the word where they begin */
    ARRAY(cell) all;
    cell open; /* grows until it is as probable as a cell shall be */
} cells;

static double real_at(const plan *p, uint32_t word)
{
    float v;
    memcpy(&v, &p->words.data[word], sizeof v);
    return (double)v;
}

static void close(cells *c)
{
    if (c->open.probability > 0)
        array_push(&c->all, c->open);
    c->open = (cell){0};
}

/* Adds to the open cell what follows on it, or begins a new one. */
static void add(cells *c, const cell *more)
{
    if (c->open.probability + more->probability > 1.0 / CELLS)
        close(c);
    if (c->open.probability == 0)
        c->open = *more;
    else
        c->open.carrier[1] = more->carrier[1], c->open.edge[1] = more->edge[1],
        c->open.probability += more->probability;
}

static void add_edge(cells *c, uint32_t carrier, uint32_t edge, double probability)
{
    double wanted = ceil(probability * CELLS);
    uint32_t stretches = wanted < 1 ? 1 : wanted > STRETCHES_MOST ? STRETCHES_MOST : (uint32_t)wanted;
    for (uint32_t k = 0; k < stretches; k++) {
        if (stretches > 1) /* A stretch is a cell of its own. */
            close(c);
        add(c, &(cell){{carrier, carrier},
                       {edge, edge},
                       k / (double)stretches,
                       1.0 / stretches,
                       probability / stretches});
    }
    if (stretches > 1)
        close(c);
}

static void add_carrier(cells *c, uint32_t k)
{
    uint32_t at = c->carriers + k * CARRIER_WORDS, edges = c->p->words.data[at + CARRIER_EDGES];
    double probability = real_at(c->p, at + CARRIER_PROBABILITY);
    if (probability * CELLS <= 1) {
        add(c, &(cell){{k, k}, {0, PLAN_NONE}, 0, 1, probability});
        return;
    }
    close(c);
    for (uint32_t i = 0; i < c->p->words.data[at + CARRIER_EDGE_COUNT]; i++)
        add_edge(c, k, i, probability * real_at(c->p, edges + i * EDGE_WORDS + EDGE_PROBABILITY));
    close(c);
}

static void write_cell(plan *p, uint32_t at, const cell *c)
{
    const uint32_t words[CELL_WORDS] = {
        [CELL_CARRIER_FIRST] = c->carrier[0],
        [CELL_CARRIER_LAST] = c->carrier[1],
        [CELL_EDGE_FIRST] = c->edge[0],
        [CELL_EDGE_LAST] = c->edge[1],
        [CELL_FROM] = float_word((float)c->from),
        [CELL_SIZE] = float_word((float)c->size),
        [CELL_PROBABILITY] = float_word((float)c->probability),
    };
    for (uint32_t k = 0; k < CELL_WORDS; k++)
        p->words.data[at + k] = words[k];
}

void silhouette_place_guide(plan *p)
{
    p->words.data[p->words.data[HEADER_SILHOUETTES] + SILHOUETTE_GUIDE] = p->value_count;
    p->value_count += EDGE_TABLES * (CELL_TABLE_WORDS * p->edge_cells + 1);
}

uint32_t silhouette_write_cells(plan *p, uint32_t head, uint32_t count, uint32_t moving)
{
    cells c = {.p = p, .carriers = p->words.data[head + SILHOUETTE_CARRIERS]};
    uint32_t moved = 0;
    for (uint32_t k = 0; k < count; k++) {
        if (k == moving)
            close(&c), moved = c.all.count;
        add_carrier(&c, k);
    }
    close(&c);
    uint32_t n = c.all.count, at = plan_reserve(p, n * CELL_WORDS);
    for (uint32_t k = 0; k < n; k++)
        write_cell(p, at + k * CELL_WORDS, &c.all.data[k]);
    p->words.data[head + SILHOUETTE_CELLS] = at, p->words.data[head + SILHOUETTE_CELL_COUNT] = n;
    p->words.data[head + SILHOUETTE_CELLS_MOVING] = moving == count ? n : moved;
    array_free(&c.all);
    return n;
}
