/* SPDX-License-Identifier: BSD-3-Clause
 * Bilinear densities over the unit square (bilinear.h).
 *
 * A slice has height rows of width numbers v. Its integral is a sum over cells of the mean of four numbers.
 * The marginal density of a row, between two rows, is linear in the place between them. So two tables are
 * enough: `columns` has, in each row, the area below the numbers up to each column; `rows` has the sum of the
 * mean of neighbouring rows' areas up to each row. Both are in units of cells, and the last entry of `rows`,
 * the integral of the slice, is 1.
 *
 * To sample, a row is found in `rows`, then the place in it as the root of a quadratic, then the same along
 * the row, with all numbers interpolated between the two rows. Numbers of several slices are weighted sums,
 * and so are their tables: the mixture of densities is sampled exactly. */
#include "render/bsdf/bilinear.h"

/* ---- host ---- */

uint64_t bilinear_room(const measured_grid *g, bool density)
{
    uint64_t values = (uint64_t)g->slices * g->height * g->width;
    return density ? 2 * values + (uint64_t)g->slices * g->height : values;
}

static void write_slice(const float *values, uint32_t width, uint32_t height, double scale, uint32_t *out)
{
    for (uint32_t k = 0; k < width * height; k++)
        out[k] = float_word((float)(scale * (double)values[k]));
}

/* The area up to each column of a row; returns all of it. */
static double write_row(const float *values, uint32_t width, double scale, uint32_t *out)
{
    double sum = 0;
    out[0] = float_word(0);
    for (uint32_t x = 1; x < width; x++) {
        sum += 0.5 * ((double)values[x - 1] + (double)values[x]);
        out[x] = float_word((float)(scale * sum));
    }
    return sum;
}

static double integral(const float *values, uint32_t width, uint32_t height)
{
    double sum = 0;
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++) {
            double v = (double)values[y * width + x];
            sum += v * (x == 0 || x == width - 1 ? 0.5 : 1) * (y == 0 || y == height - 1 ? 0.5 : 1);
        }
    return sum;
}

uint32_t bilinear_write(const measured_grid *g, bool density, uint32_t *block, uint32_t head, uint32_t at)
{
    const uint32_t size = g->width * g->height, values = at, columns = at + g->slices * size,
                   rows = columns + g->slices * size;
    block[head + BILINEAR_WIDTH] = g->width, block[head + BILINEAR_HEIGHT] = g->height;
    block[head + BILINEAR_VALUES] = values;
    block[head + BILINEAR_COLUMNS] = columns, block[head + BILINEAR_ROWS] = rows;
    for (uint32_t k = 0; k < g->slices; k++) {
        const float *from = g->values + (size_t)k * size;
        double whole = density ? integral(from, g->width, g->height) : 1, scale = whole > 0 ? 1 / whole : 0;
        write_slice(from, g->width, g->height, scale, block + values + k * size);
        if (!density)
            continue;
        double sum = 0, before = 0;
        for (uint32_t y = 0; y < g->height; y++) {
            double row = write_row(from + (size_t)y * g->width, g->width, scale,
                                   block + columns + k * size + y * g->width);
            sum += y ? 0.5 * (before + row) : 0;
            block[rows + k * g->height + y] = float_word((float)(scale * sum));
            before = row;
        }
    }
    return at + (uint32_t)bilinear_room(g, density);
}

/* ---- traced ---- */

ir_ref bilinear_interval(tracer *t, ir_ref table, ir_ref count, ir_ref x, ir_ref *part)
{
    ir_func *f = t->f;
    ir_ref decided = ir_detach(f, x);
    ir_ref k = warp_discrete_between(t, BUFFER_SCENE, t_offset(t, table, 1), t_u32(t, 0),
                                     ir_sub(f, count, t_u32(t, 2)), decided);
    ir_ref at = ir_add(f, table, k), low = t_real(t, at, 0), high = t_real(t, at, 1);
    *part = t_clamp(t, ir_div(f, ir_sub(f, x, low), ir_sub(f, high, low)), 0, 1);
    return k;
}

static ir_ref between(tracer *t, ir_ref part, ir_ref a, ir_ref b)
{
    return t_mad(t, part, ir_sub(t->f, b, a), a);
}

/* A table of each slice: where it begins in the block, and how many words a slice has. */
typedef struct layer {
    ir_ref begin, stride;
} layer;

static ir_ref side(tracer *t, const bilinear *g, uint32_t word) { return t_word(t, g->head, word); }

static layer layer_of(tracer *t, const bilinear *g, uint32_t word)
{
    ir_ref height = side(t, g, BILINEAR_HEIGHT),
           stride = word == BILINEAR_ROWS ? height : ir_mul(t->f, height, side(t, g, BILINEAR_WIDTH));
    return (layer){ir_add(t->f, g->block, side(t, g, word)), stride};
}

/* The weighted sum over slices of word `index` of a layer. */
static ir_ref weighted(tracer *t, const bilinear *g, layer l, ir_ref index)
{
    ir_func *f = t->f;
    ir_ref first = ir_add(f, l.begin, index), sum = t_f32(t, 0);
    if (g->slices->count == 0)
        return t_real(t, first, 0);
    for (uint32_t k = 0; k < g->slices->count; k++) {
        ir_ref at = ir_add(f, first, ir_mul(f, g->slices->index[k], l.stride));
        sum = t_mad(t, t_real(t, at, 0), g->slices->weight[k], sum);
    }
    return sum;
}

/* A cell and the place in it. */
typedef struct cell {
    ir_ref column, row;  /* u32 */
    vec2 part;           /* in [0, 1] */
    ir_ref upper, lower; /* words in a slice where the rows on both sides begin */
} cell;

static ir_ref axis(tracer *t, ir_ref u, ir_ref count, ir_ref *part)
{
    ir_func *f = t->f;
    ir_ref cells = ir_sub(f, count, t_u32(t, 1)), last = ir_sub(f, count, t_u32(t, 2));
    ir_ref at = ir_mul(f, t_clamp(t, u, 0, 1), ir_to_f32(f, cells)), k = ir_min(f, ir_to_u32(f, at), last);
    *part = ir_sub(f, at, ir_to_f32(f, k));
    return k;
}

static cell rows_of(tracer *t, const bilinear *g, cell c)
{
    ir_ref width = side(t, g, BILINEAR_WIDTH);
    c.upper = ir_mul(t->f, c.row, width), c.lower = ir_add(t->f, c.upper, width);
    return c;
}

static cell cell_at(tracer *t, const bilinear *g, vec2 u)
{
    cell c = {0};
    c.column = axis(t, u.x, side(t, g, BILINEAR_WIDTH), &c.part.x);
    c.row = axis(t, u.y, side(t, g, BILINEAR_HEIGHT), &c.part.y);
    return rows_of(t, g, c);
}

/* Column x of a layer in rows, between the cell's two rows. */
static ir_ref along(tracer *t, const bilinear *g, layer l, const cell *c, ir_ref x)
{
    return between(t, c->part.y, weighted(t, g, l, ir_add(t->f, c->upper, x)),
                   weighted(t, g, l, ir_add(t->f, c->lower, x)));
}

/* The areas of the cell's two rows. */
static void row_areas(tracer *t, const bilinear *g, const cell *c, ir_ref *upper, ir_ref *lower)
{
    layer columns = layer_of(t, g, BILINEAR_COLUMNS);
    ir_ref last = ir_sub(t->f, side(t, g, BILINEAR_WIDTH), t_u32(t, 1));
    *upper = weighted(t, g, columns, ir_add(t->f, c->upper, last));
    *lower = weighted(t, g, columns, ir_add(t->f, c->lower, last));
}

/* The values at both ends of the cell. */
static void ends(tracer *t, const bilinear *g, const cell *c, ir_ref *low, ir_ref *high)
{
    layer values = layer_of(t, g, BILINEAR_VALUES);
    *low = along(t, g, values, c, c->column);
    *high = along(t, g, values, c, t_offset(t, c->column, 1));
}

ir_ref bilinear_at(tracer *t, const bilinear *g, vec2 u)
{
    cell c = cell_at(t, g, u);
    ir_ref low, high;
    ends(t, g, &c, &low, &high);
    return between(t, c.part.x, low, high);
}

/* Tables count in cells. */
static ir_ref cells(tracer *t, const bilinear *g)
{
    ir_func *f = t->f;
    ir_ref one = t_u32(t, 1), wide = ir_sub(f, side(t, g, BILINEAR_WIDTH), one),
           high = ir_sub(f, side(t, g, BILINEAR_HEIGHT), one);
    return ir_to_f32(f, ir_mul(f, wide, high));
}

ir_ref bilinear_density(tracer *t, const bilinear *g, vec2 u)
{
    return ir_mul(t->f, bilinear_at(t, g, u), cells(t, g));
}

/* The integral from 0 to x of a function that goes from a at 0 to b at 1. */
static ir_ref area_to(tracer *t, ir_ref x, ir_ref a, ir_ref b)
{
    ir_ref half = ir_mul(t->f, t_f32(t, 0.5f), x);
    return ir_mul(t->f, x, t_mad(t, half, ir_sub(t->f, b, a), a));
}

/* The x of an area. */
static ir_ref place_of(tracer *t, ir_ref area, ir_ref a, ir_ref b)
{
    ir_func *f = t->f;
    ir_ref twice = ir_add(f, area, area),
           root = t_safe_sqrt(t, t_mad(t, twice, ir_sub(f, b, a), t_sqr(t, a)));
    return t_clamp(t, t_ratio(t, twice, ir_add(f, a, root)), 0, 1);
}

vec2 bilinear_inverse(tracer *t, const bilinear *g, vec2 u)
{
    ir_func *f = t->f;
    cell c = cell_at(t, g, u);
    ir_ref low, high, upper, lower;
    ends(t, g, &c, &low, &high);
    row_areas(t, g, &c, &upper, &lower);
    ir_ref before = along(t, g, layer_of(t, g, BILINEAR_COLUMNS), &c, c.column),
           x = t_ratio(t, ir_add(f, before, area_to(t, c.part.x, low, high)),
                       between(t, c.part.y, upper, lower));
    ir_ref above = weighted(t, g, layer_of(t, g, BILINEAR_ROWS), c.row),
           y = ir_add(f, above, area_to(t, c.part.y, upper, lower));
    return (vec2){t_clamp(t, x, 0, 1), t_clamp(t, y, 0, 1)};
}

/* What is searched: entries of a layer, in the rows of a cell or, without a cell, in `rows`. */
static ir_ref entry(tracer *t, const bilinear *g, layer l, const cell *c, ir_ref index)
{
    return c ? along(t, g, l, c, index) : weighted(t, g, l, index);
}

/* The last of the first count - 1 entries that is not above the value. Entries ascend from 0. */
static ir_ref search(tracer *t, const bilinear *g, layer l, const cell *c, ir_ref count, ir_ref value)
{
    ir_func *f = t->f;
    ir_ref one = t_u32(t, 1), state[2] = {t_u32(t, 0), ir_sub(f, count, t_u32(t, 2))};
    ir_ref loop = ir_loop(f, state, 2);
    ir_while(f, ir_lt(f, state[0], state[1]));
    ir_ref middle = ir_shr(f, t_offset(t, ir_add(f, state[0], state[1]), 1), one);
    ir_ref above = ir_lt(f, value, entry(t, g, l, c, middle));
    ir_ref next[2] = {ir_select(f, above, state[0], middle),
                      ir_select(f, above, ir_sub(f, middle, one), state[1])};
    ir_endloop(f, loop, next, 2);
    return state[0];
}

vec2 bilinear_sample(tracer *t, const bilinear *g, vec2 uniform)
{
    ir_func *f = t->f;
    ir_ref width = side(t, g, BILINEAR_WIDTH), height = side(t, g, BILINEAR_HEIGHT), low, high, upper, lower;
    layer rows = layer_of(t, g, BILINEAR_ROWS), columns = layer_of(t, g, BILINEAR_COLUMNS);
    cell c = {.row = search(t, g, rows, NULL, height, uniform.y)};
    c = rows_of(t, g, c);
    row_areas(t, g, &c, &upper, &lower);
    c.part.y = place_of(t, ir_sub(f, uniform.y, weighted(t, g, rows, c.row)), upper, lower);
    ir_ref area = ir_mul(f, uniform.x, between(t, c.part.y, upper, lower));
    c.column = search(t, g, columns, &c, width, area);
    ends(t, g, &c, &low, &high);
    c.part.x = place_of(t, ir_sub(f, area, along(t, g, columns, &c, c.column)), low, high);
    ir_ref wide = ir_to_f32(f, ir_sub(f, width, t_u32(t, 1))),
           tall = ir_to_f32(f, ir_sub(f, height, t_u32(t, 1)));
    return (vec2){ir_div(f, ir_add(f, ir_to_f32(f, c.column), c.part.x), wide),
                  ir_div(f, ir_add(f, ir_to_f32(f, c.row), c.part.y), tall)};
}
