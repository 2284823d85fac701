/* SPDX-License-Identifier: BSD-3-Clause
 * Random numbers that are the state of a Markov chain: primary sample space (Kelemen et al. 2002;
 * docs/theory/metropolis.md). The first CHAIN_BLOCKS blocks of a path are stored in BUFFER_SAMPLES for each
 * chain. A large step draws them anew; a small step moves each number by the distribution of Kelemen's
 * section 4.1, on a circle, so that numbers stay uniform. Blocks behind the stored ones, and numbers that
 * loops in media draw by names of their own, are new in every step: the value of a path is then an estimate,
 * which a chain may use if it keeps it (pseudo-marginal; Andrieu and Roberts 2009).
 *
 * Where a chain has several particles, each subtracts offsets of its own, normally distributed, from all
 * numbers (Nimier-David et al. 2019, equation 2). They are new in every step and are not stored. Probes have
 * none. A start puts its chain where the first particle's offsets lead back to the probe; so the particles
 * are distributed as those of a chain that has always walked (docs/theory/metropolis.md).
 *
 * Where walk.multiplexed, a path begins at the sensor or at a light, by the first number of block 0; what
 * else the path reads begins with block 1. Particles have no offsets in block 0, so all of a chain begin
 * alike.
 *
 * Invariant: primary_proposed gives the same numbers wherever it is asked for the same step, until the
 * chain's stored numbers change. */
#include "render/integrator/walk/walk.h"

#include <math.h>

enum { STREAM_OF_STEPS = 2, STREAM_OF_PARTICLES = 3 }; /* 0 and 1 are those of images and gradients */

enum { BLOCK_OF_DECISIONS = 0xFFFFFF }; /* no vertex has it */

/* x on the circle [0, 1). */
static ir_ref wrapped(tracer *t, ir_ref x)
{
    ir_ref inside = ir_sub(t->f, x, ir_floor(t->f, x));
    return ir_min(t->f, inside, t_f32(t, 1 - 0x1p-24f));
}

/* A number moved by step_least to step_most, up or down; the density is that of 1 / distance. u: uniform. */
static ir_ref moved(walk *w, ir_ref x, ir_ref u)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const render_metropolis *m = &w->plan->scene->metropolis;
    ir_ref up = ir_lt(f, u, t_f32(t, 0.5f)), twice = ir_add(f, u, u),
           v = ir_select(f, up, twice, ir_sub(f, twice, t_f32(t, 1)));
    ir_ref by = ir_mul(f, t_f32(t, m->step_most),
                       ir_exp(f, ir_mul(f, t_f32(t, -logf(m->step_most / m->step_least)), v)));
    return wrapped(t, ir_add(f, x, ir_select(f, up, by, ir_neg(f, by))));
}

/* Where chains have particles: r plus `by` times the offsets of a particle (Box and Muller 1958). */
static random4 offset(walk *w, random4 r, ir_ref particle, ir_ref block, ir_ref by)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    random4 u = random_block(t, particle, w->chain.step, w->seed, t_u32(t, STREAM_OF_PARTICLES), block);
    for (uint32_t k = 0; k < 4; k += 2) {
        ir_ref far = ir_sqrt(f, ir_mul(f, t_f32(t, -2), ir_log(f, ir_sub(f, t_f32(t, 1), u.u[k])))),
               turn = ir_mul(f, t_f32(t, 6.28318531f), u.u[k + 1]), radius = ir_mul(f, by, far);
        r.u[k] = wrapped(t, t_mad(t, radius, ir_cos(f, turn), r.u[k]));
        r.u[k + 1] = wrapped(t, t_mad(t, radius, ir_sin(f, turn), r.u[k + 1]));
    }
    return r;
}

uint32_t primary_first_block(const walk *w) { return w->multiplexed ? 1 : 0; }

/* bool: the particles of a chain have this block in common. */
static ir_ref is_common(walk *w, ir_ref block)
{
    return ir_lt(w->t.f, block, t_u32(&w->t, primary_first_block(w)));
}

static bool spreads(const render_metropolis *m) { return m->particles > 1 && m->spread > 0; }

random4 primary_proposed(walk *w, ir_ref block)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const walk_chain *c = &w->chain;
    const render_metropolis *m = &w->plan->scene->metropolis;
    random4 r = random_block(t, c->name, c->step, w->seed, t_u32(t, STREAM_OF_STEPS), block);
    ir_ref small = ir_and(f, ir_lt(f, block, t_u32(t, CHAIN_BLOCKS)), ir_not(f, c->large)), word, next[4];
    word = t_aligned(t, ir_add(f, c->numbers, ir_mul(f, block, t_u32(t, CHAIN_BLOCK))));
    ir_ref branch = ir_if(f, small);
    for (uint32_t k = 0; k < 4; k++)
        next[k] = moved(w, ir_load(f, IR_F32, BUFFER_SAMPLES, t_offset(t, word, k)), r.u[k]);
    ir_else(f);
    ir_endif(f);
    for (uint32_t k = 0; k < 4; k++)
        r.u[k] = ir_phi(f, branch, next[k], r.u[k]);
    if (!spreads(m))
        return r;
    ir_ref starts =
        ir_if(f, w->multiplexed ? ir_and(f, c->starts, ir_not(f, is_common(w, block))) : c->starts);
    random4 around = offset(w, r, c->first, block, t_f32(t, m->spread));
    ir_else(f);
    ir_endif(f);
    for (uint32_t k = 0; k < 4; k++)
        r.u[k] = ir_phi(f, starts, around.u[k], r.u[k]);
    return r;
}

random4 primary_numbers(walk *w, ir_ref block)
{
    tracer *t = &w->t;
    const render_metropolis *m = &w->plan->scene->metropolis;
    random4 r = primary_proposed(w, block);
    if (!spreads(m))
        return r;
    ir_ref by = ir_select(t->f, w->chain.probes, t_f32(t, 0), t_f32(t, -m->spread));
    return offset(w, r, w->chain.particle, block, by);
}

ir_ref primary_begins_at_light(walk *w)
{
    tracer *t = &w->t;
    BL_ASSERT(w->multiplexed, "all paths begin at the sensor");
    return ir_lt(t->f, primary_proposed(w, t_u32(t, 0)).u[0],
                 t_f32(t, w->plan->scene->metropolis.light_paths));
}

random4 primary_decisions(walk *w)
{
    tracer *t = &w->t;
    return random_block(t, w->chain.name, w->chain.step, w->seed, t_u32(t, STREAM_OF_STEPS),
                        t_u32(t, BLOCK_OF_DECISIONS));
}

static ir_ref whole_part(tracer *t, ir_ref *u, ir_ref size)
{
    ir_func *f = t->f;
    ir_ref wide = ir_mul(f, *u, ir_to_f32(f, size)),
           whole = ir_min(f, ir_floor(f, wide), ir_to_f32(f, ir_sub(f, size, t_u32(t, 1))));
    *u = t_clamp(t, ir_sub(f, wide, whole), 0, 1 - 0x1p-24f);
    return ir_to_u32(f, whole);
}

primary_pixel primary_take_pixel(walk *w, random4 *r)
{
    tracer *t = &w->t;
    primary_pixel p;
    p.x = whole_part(t, &r->u[0], ir_uniform(t->f, IR_U32, UNIFORM_WIDTH));
    p.y = whole_part(t, &r->u[1], ir_uniform(t->f, IR_U32, UNIFORM_HEIGHT));
    return p;
}
