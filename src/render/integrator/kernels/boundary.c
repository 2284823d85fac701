/* SPDX-License-Identifier: BSD-3-Clause
 * The loop, and the derivatives, of the kernels of moving edges. */
#include "render/integrator/kernels/boundary.h"
#include "spirv_gen/ad/ad.h"

ir_ref boundary_material_density(walk *w, const walk_vertex *v, vec3 wi, vec3 wo)
{
    static const float times = 4; /* measured: docs/theory/edges.md */
    return ir_mul(w->t.f, walk_bsdf_density(w, v, wi, wo), t_f32(&w->t, times));
}

bool boundary_forward(const walk *w)
{
    return w->pass == RENDER_EDGES_SEEN_FORWARD || w->pass == RENDER_EDGES_LIT_FORWARD ||
           w->pass == RENDER_EDGES_PATH_FORWARD;
}

static enum edge_table table_of_pass(const walk *w)
{
    bool seen = w->pass == RENDER_EDGES_SEEN || w->pass == RENDER_EDGES_SEEN_FORWARD,
         lit = w->pass == RENDER_EDGES_LIT || w->pass == RENDER_EDGES_LIT_FORWARD;
    return seen ? EDGE_TABLE_SEEN : lit ? EDGE_TABLE_LIT : EDGE_TABLE_PATH;
}

/* A pixel for a sample that belongs to none. */
static ir_ref any_pixel(walk *w, ir_ref sample)
{
    ir_func *f = w->t.f;
    ir_ref mixed = ir_mul(f, ir_add(f, sample, t_u32(&w->t, 1)), t_u32(&w->t, 2654435761u)),
           pixels = kernel_pixels(w);
    return ir_sub(f, mixed, ir_mul(f, ir_div(f, mixed, pixels), pixels));
}

/* How many of the first `count` samples are taken if it is each `of`-th. */
static ir_ref part_of(tracer *t, ir_ref count, ir_ref of)
{
    ir_func *f = t->f;
    return ir_div(f, ir_add(f, count, ir_sub(f, of, t_u32(t, 1))), of);
}

/* Sets the numbers of a sample that are spread over all samples of the pass; a pixel has `count` of them.
 * They are a sequence whose steps are powers of 1/g modulo 1, where g^6 = g + 1, as 32-bit fractions (Roberts
 * 2018, "The Unreasonable Effectiveness of Quasirandom Sequences": R5), shifted at random. So each is
 * uniform. */
static void spread(walk *w, boundary_guide *g, ir_ref sample, ir_ref count)
{
    static const uint32_t steps[SPREAD_COUNT] = {3785032107u, 3335640777u, 2939605023u, 2590590015u,
                                                 2283013049u};
    const uint32_t no_pixel = 0xFFFFFFFFu, block = 0x50000000u; /* no other numbers have them */
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref shift[8];
    for (uint32_t k = 0; k < 2; k++)
        random_words(t,
                     &(random_counter){t_u32(t, no_pixel), t_u32(t, k), w->seed, w->stream,
                                       t_u32(t, block + g->table)},
                     shift + 4 * k);
    ir_ref index = ir_select(f, g->usual, ir_add(f, ir_mul(f, w->pixel, count), sample), sample);
    for (uint32_t k = 0; k < SPREAD_COUNT; k++) {
        ir_ref bits = ir_add(f, shift[k], ir_mul(f, index, t_u32(t, steps[k])));
        g->spread[k] = ir_mul(f, ir_to_f32(f, ir_shr(f, bits, t_u32(t, 8))), t_f32(t, 0x1p-24f));
    }
}

boundary_loop boundary_begin(walk *w, ir_module *m)
{
    BL_ASSERT(w->plan->edges, "edges in pass %d of a plan without", (int)w->pass);
    tracer *t = &w->t;
    ir_func *f = t->f;
    boundary_loop b = {.l = kernel_lane(w, m)};
    ir_ref own = ir_uniform(f, IR_U32, UNIFORM_EDGES_LEARN), id = ir_global_id(f), none = t_u32(t, 0);
    ir_ref usual = ir_eq(f, own, none);
    b.guide = (boundary_guide){
        .table = table_of_pass(w), .usual = usual, .own = ir_select(f, b.l.inside, id, none)};
    b.l.film = ir_select(f, usual, b.l.film, none), b.l.adjoint = ir_select(f, usual, b.l.adjoint, none);
    ir_ref spared = boundary_spared(t, b.guide.table), spp = ir_uniform(f, IR_U32, UNIFORM_SPP);
    ir_ref taken = part_of(t, spp, spared);
    b.scale = ir_div(f, ir_to_f32(f, spp), ir_to_f32(f, taken));
    b.scale = ir_select(f, usual, b.scale, t_f32(t, 1));
    ir_ref first = ir_mul(f, id, own), end = ir_select(f, b.l.inside, ir_add(f, first, own), first),
           last = ir_select(f, usual, part_of(t, b.l.last, spared), end), pixel = w->pixel,
           zero = t_f32(t, 0);
    ir_ref state[1 + CELL_LEARNT_WORDS] = {ir_select(f, usual, part_of(t, b.l.first, spared), first)};
    for (uint32_t k = 0; k < CELL_LEARNT_WORDS; k++)
        state[1 + k] = zero;
    b.loop = ir_loop(f, state, 1 + CELL_LEARNT_WORDS);
    b.sample = state[0];
    for (uint32_t k = 0; k < CELL_LEARNT_WORDS; k++)
        b.learnt[k] = state[1 + k];
    ir_while(f, ir_lt(f, b.sample, last));
    spread(w, &b.guide, b.sample, taken);
    w->pixel = ir_select(f, usual, pixel, any_pixel(w, b.sample));
    walk_set_wavelengths(w, b.sample);
    return b;
}

void boundary_end(walk *w, const boundary_loop *b, ir_ref there, ir_ref found, ir_ref possible)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref own = ir_uniform(f, IR_U32, UNIFORM_EDGES_LEARN), zero = t_f32(t, 0);
    found = ir_select(f, there, found, zero);
    ir_ref next[1 + CELL_LEARNT_WORDS] = {ir_add(f, b->sample, t_u32(t, 1)), ir_add(f, b->learnt[0], found),
                                          ir_add(f, b->learnt[1], possible),
                                          t_mad(t, found, found, b->learnt[2])};
    ir_endloop(f, b->loop, next, 1 + CELL_LEARNT_WORDS);
    ir_if(f, ir_and(f, b->l.inside, ir_not(f, b->guide.usual)));
    ir_ref word = ir_mul(f, ir_global_id(f), t_u32(t, CELL_LEARNT_WORDS));
    for (uint32_t k = 0; k < CELL_LEARNT_WORDS; k++)
        ir_store(f, BUFFER_SAMPLES, t_offset(t, word, k), ir_div(f, b->learnt[k], ir_to_f32(f, own)));
    ir_else(f);
    ir_endif(f);
    if (!boundary_forward(w))
        ir_flush(f, BUFFER_GRADIENT, ir_and(f, b->l.inside, b->guide.usual));
}

ir_ref boundary_size(walk *w, color c)
{
    tracer *t = &w->t;
    uint32_t last = t->channels - 1;
    ir_ref sum = ir_abs(t->f, c.c[last]);
    for (uint32_t k = last; k-- > 0;) {
        ir_ref size = ir_abs(t->f, c.c[k]);
        sum = ir_add(t->f, size, sum);
    }
    return sum;
}

void boundary_backward(walk *w, ir_ref when, const ir_ref *motions, const ir_ref *seeds, uint32_t count)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref finite = ir_bool(f, true), some = ir_bool(f, false);
    for (uint32_t k = 0; k < count; k++) {
        finite = ir_and(f, finite, ir_lt(f, ir_abs(f, seeds[k]), t_f32(t, 1e30f)));
        some = ir_or(f, some, ir_ne(f, seeds[k], t_f32(t, 0)));
    }
    kernel_count(w, ir_and(f, when, ir_not(f, finite)), STATUS_NON_FINITE);
    ir_if(f, ir_and(f, when, ir_and(f, some, finite)));
    ad_backward(f, motions, seeds, count, NULL, NULL, 0);
    ir_else(f);
    ir_endif(f);
}

ir_ref boundary_tangent(walk *w, ir_ref motion)
{
    ir_ref tangent;
    ad_forward(w->t.f, NULL, NULL, 0, &motion, &tangent, 1);
    return tangent;
}
