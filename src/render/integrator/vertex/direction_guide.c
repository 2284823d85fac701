/* SPDX-License-Identifier: BSD-3-Clause
 * A guide of directions: where light comes from at a place, as earlier samples of the same scene have found
 * it (docs/theory/variance.md). The scene's box has cells, and each cell has a density over directions of the
 * world, constant in each bin of a square (cf. the trees of Müller, Gross, Novák 2017, which refine both).
 *
 * The square is the octahedral map, which takes no angles: d over the sum s of its coordinates' sizes lies on
 * an octahedron, and its lower half is folded outward. A piece of the square is s^3 times as large in solid
 * angle. */
#include "render/integrator/vertex/vertex.h"

bool guide_any(const walk *w)
{
    const bool walks = render_passes[w->pass].kind != PASS_EDGES && render_passes[w->pass].kind < PASS_RAYS;
    return plan_has_guide(w->plan) && walks;
}

static ir_ref header(walk *w, uint32_t word)
{
    return ir_load(w->t.f, IR_F32, BUFFER_VALUES, t_u32(&w->t, w->plan->guide.at + word));
}

/* u32: the cell that holds p. shift: numbers in [0, 1) by which p is moved first, each by up to half a cell;
 * NULL: it is not. */
static ir_ref cell_of(walk *w, vec3 p, const ir_ref *shift)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const uint32_t *cells = w->plan->guide.cells;
    ir_ref x[3], at[3];
    vec3_put(p, x);
    for (uint32_t k = 0; k < 3; k++) {
        ir_ref c = ir_mul(f, ir_sub(f, x[k], header(w, GUIDE_LEAST + k)), header(w, GUIDE_PER_LENGTH + k));
        if (shift)
            c = ir_add(f, c, ir_sub(f, shift[k], t_f32(t, 0.5f)));
        at[k] = ir_to_u32(f, t_clamp(t, c, 0, (float)cells[k] - 0.5f));
    }
    ir_ref row = ir_add(f, ir_mul(f, at[2], t_u32(t, cells[1])), at[1]);
    return ir_add(f, ir_mul(f, row, t_u32(t, cells[0])), at[0]);
}

guide_cell guide_at(walk *w, vec3 p)
{
    tracer *t = &w->t;
    ir_ref at = t_offset(t, ir_mul(t->f, cell_of(w, p, NULL), t_u32(t, GUIDE_CELL_WORDS)),
                         w->plan->guide.at + GUIDE_HEADER);
    return (guide_cell){at, ir_load(t->f, IR_F32, BUFFER_VALUES, t_offset(t, at, GUIDE_SHARE))};
}

/* u32: the word of a bin; and the bits of it from `bit` up to `end`. */
static ir_ref bin_word(walk *w, const guide_cell *c, ir_ref bin)
{
    tracer *t = &w->t;
    ir_ref at = t_offset(t, ir_add(t->f, c->at, bin), GUIDE_BIN);
    return ir_bits_to_u32(t->f, ir_load(t->f, IR_F32, BUFFER_VALUES, at));
}
static ir_ref bits_of(tracer *t, ir_ref word, uint32_t bit, uint32_t end)
{
    return ir_and(t->f, ir_shr(t->f, word, t_u32(t, bit)), t_u32(t, (1u << (end - bit)) - 1));
}

/* v, with the sign of s */
static ir_ref with_sign(tracer *t, ir_ref v, ir_ref s)
{
    return ir_select(t->f, ir_lt(t->f, s, t_f32(t, 0)), ir_neg(t->f, v), v);
}

/* u32: the bin that a number in [0, 1) chooses by the alias table of the cell. */
static ir_ref choose_bin(walk *w, const guide_cell *c, ir_ref u)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref x = ir_mul(f, u, t_f32(t, GUIDE_BINS)),
           slot = ir_min(f, ir_to_u32(f, x), t_u32(t, GUIDE_BINS - 1)),
           within = ir_to_u32(f, ir_mul(f, ir_sub(f, x, ir_to_f32(f, slot)), t_f32(t, GUIDE_LEVELS)));
    ir_ref word = bin_word(w, c, slot), level = bits_of(t, word, GUIDE_LEVEL_BIT, GUIDE_PARTS_BIT);
    return ir_select(f, ir_lt(f, within, level), slot, bits_of(t, word, 0, GUIDE_LEVEL_BIT));
}

/* A coordinate in the square, from the number of a row or column and a place in it, [0, 1). */
static ir_ref in_square(tracer *t, ir_ref number, ir_ref u)
{
    ir_ref at = ir_add(t->f, ir_to_f32(t->f, number), u);
    return ir_sub(t->f, ir_mul(t->f, at, t_f32(t, 2.0f / GUIDE_SIDE)), t_f32(t, 1));
}

vec3 guide_sample(walk *w, const guide_cell *c, ir_ref u, ir_ref u1, ir_ref u2)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref bin = choose_bin(w, c, u), side = t_u32(t, GUIDE_SIDE), row = ir_div(f, bin, side),
           column = ir_sub(f, bin, ir_mul(f, row, side));
    ir_ref x = in_square(t, column, u1), y = in_square(t, row, u2),
           z = ir_sub(f, t_f32(t, 1), ir_add(f, ir_abs(f, x), ir_abs(f, y))),
           folded = ir_max(f, ir_neg(f, z), t_f32(t, 0));
    vec3 q = {ir_sub(f, x, with_sign(t, folded, x)), ir_sub(f, y, with_sign(t, folded, y)), z};
    return v3_normalize(t, q);
}

/* u32: the row or column of a coordinate in the square. */
static ir_ref number_of(tracer *t, ir_ref x)
{
    ir_ref at = ir_mul(t->f, ir_add(t->f, x, t_f32(t, 1)), t_f32(t, 0.5f * GUIDE_SIDE));
    return ir_to_u32(t->f, t_clamp(t, at, 0, GUIDE_SIDE - 0.5f));
}

/* u32: the bin of a unit direction. *sum: of the sizes of its coordinates. */
static ir_ref bin_of(walk *w, vec3 d, ir_ref *sum)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), x = ir_abs(f, d.x), y = ir_abs(f, d.y), below = ir_lt(f, d.z, t_f32(t, 0));
    *sum = ir_add(f, ir_add(f, x, y), ir_abs(f, d.z));
    ir_ref over = ir_div(f, one, ir_max(f, *sum, t_f32(t, 1e-20f)));
    x = ir_mul(f, x, over), y = ir_mul(f, y, over);
    ir_ref column = number_of(t, with_sign(t, ir_select(f, below, ir_sub(f, one, y), x), d.x)),
           row = number_of(t, with_sign(t, ir_select(f, below, ir_sub(f, one, x), y), d.y));
    return ir_add(f, ir_mul(f, row, t_u32(t, GUIDE_SIDE)), column);
}

ir_ref guide_density(walk *w, const guide_cell *c, vec3 d)
{
    tracer *t = &w->t;
    ir_ref sum, bin = bin_of(w, d, &sum),
                parts = bits_of(t, bin_word(w, c, bin), GUIDE_PARTS_BIT, GUIDE_PARTS_END);
    /* The square has an area of 4. */
    ir_ref q = ir_mul(t->f, ir_to_f32(t->f, parts), t_f32(t, 0.25f / GUIDE_LEVELS));
    return ir_div(t->f, q, ir_mul(t->f, sum, t_sqr(t, sum)));
}

void guide_teach(walk *w, const guide_lesson *l)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref sum, cell = cell_of(w, l->p, l->shift),
                element = ir_add(f, ir_mul(f, cell, t_u32(t, GUIDE_BINS)), bin_of(w, l->d, &sum));
    ir_accum(f, BUFFER_GRADIENT, ir_select(f, l->when, element, t_u32(t, PLAN_NONE)), l->value);
}
