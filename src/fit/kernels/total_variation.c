/* SPDX-License-Identifier: BSD-3-Clause
 * Adds the derivative of weight * sum s(j) to gradients, s being the smoothed isotropic total variation
 * (Rudin, Osher and Fatemi 1992) of an array of cells in up to three dimensions, every channel on its own:
 *     s(j) = sqrt(smoothing^2 + sum over axes a of d_a(j)^2),   d_a(j) = x(j + e_a) - x(j),
 * where d_a is 0 at the last cell of the axis. Cell i stands in its own term with every difference, and in
 * that of its predecessor along each axis with one.
 *
 * binding 0  x, f32; element i is word parameter_first + i; channel fastest, then x, y, z
 * binding 1  gradient, f32; element i is gradient_first + i, added to
 * push       count, parameter_first, gradient_first, columns, rows, channels, weight and smoothing (f32) */
#include "fit/kernels/traces.h"

enum { PARAMETERS, GRADIENT, BINDINGS };
enum { COUNT, PARAMETER_FIRST, GRADIENT_FIRST, COLUMNS, ROWS, CHANNELS, WEIGHT, SMOOTHING };
enum { AXES = 3 };

typedef struct grid {
    ir_ref size[AXES], stride[AXES]; /* cells; elements from one to the next */
} grid;

typedef struct cell {
    ir_ref element, at[AXES];
} cell;

typedef struct differences {
    ir_ref d[AXES], s; /* s: what divides them */
} differences;

static grid grid_of(ir_func *f)
{
    ir_ref columns = fit_word(f, COLUMNS), rows = fit_word(f, ROWS), channels = fit_word(f, CHANNELS);
    ir_ref row = ir_mul(f, columns, channels), plane = ir_mul(f, rows, row);
    return (grid){.size = {columns, rows, ir_div(f, fit_word(f, COUNT), plane)},
                  .stride = {channels, row, plane}};
}

static cell cell_of(ir_func *f, const grid *g, ir_ref element)
{
    return (cell){.element = element,
                  .at = {ir_mod(f, ir_div(f, element, g->stride[0]), g->size[0]),
                         ir_mod(f, ir_div(f, element, g->stride[1]), g->size[1]),
                         ir_div(f, element, g->stride[2])}};
}

static ir_ref parameter(ir_func *f, ir_ref element)
{
    return ir_load(f, IR_F32, PARAMETERS, ir_add(f, fit_word(f, PARAMETER_FIRST), element));
}

/* Of a cell that exists. */
static differences differences_of(ir_func *f, const grid *g, const cell *c)
{
    ir_ref zero = ir_f32(f, 0), here = parameter(f, c->element), smoothing = fit_real(f, SMOOTHING);
    ir_ref square = ir_mul(f, smoothing, smoothing);
    differences r;
    for (int a = 0; a < AXES; a++) {
        ir_ref goes_on = ir_lt(f, ir_add(f, c->at[a], ir_u32(f, 1)), g->size[a]);
        ir_ref next = ir_select(f, goes_on, ir_add(f, c->element, g->stride[a]), c->element);
        r.d[a] = ir_select(f, goes_on, ir_sub(f, parameter(f, next), here), zero);
        square = ir_add(f, square, ir_mul(f, r.d[a], r.d[a]));
    }
    r.s = ir_sqrt(f, square);
    return r;
}

/* What the term of the cell before c along an axis adds to the slope: nothing where c is the first one. */
static ir_ref predecessor(ir_func *f, const grid *g, const cell *c, int axis)
{
    ir_ref exists = ir_lt(f, ir_u32(f, 0), c->at[axis]);
    cell before = *c;
    before.element = ir_select(f, exists, ir_sub(f, c->element, g->stride[axis]), c->element);
    before.at[axis] = ir_select(f, exists, ir_sub(f, c->at[axis], ir_u32(f, 1)), c->at[axis]);
    differences r = differences_of(f, g, &before);
    return ir_select(f, exists, ir_div(f, r.d[axis], r.s), ir_f32(f, 0));
}

ir_module *fit_trace_total_variation(void)
{
    static const fit_binding bindings[BINDINGS] = {{"parameters", true}, {"gradient", false}};
    ir_func *f = fit_trace_begin("total_variation", bindings, BINDINGS);
    ir_ref i = ir_global_id(f);
    fit_where(f, ir_lt(f, i, fit_word(f, COUNT)));
    grid g = grid_of(f);
    cell c = cell_of(f, &g, i);
    differences own = differences_of(f, &g, &c);
    ir_ref all = ir_add(f, ir_add(f, own.d[0], own.d[1]), own.d[2]), sum = ir_div(f, ir_neg(f, all), own.s);
    for (int a = 0; a < AXES; a++)
        sum = ir_add(f, sum, predecessor(f, &g, &c, a));
    ir_ref at = ir_add(f, fit_word(f, GRADIENT_FIRST), i);
    ir_store(f, GRADIENT, at,
             ir_add(f, ir_load(f, IR_F32, GRADIENT, at), ir_mul(f, fit_real(f, WEIGHT), sum)));
    fit_where_end(f);
    return fit_trace_end(f);
}
