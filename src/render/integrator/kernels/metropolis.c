/* SPDX-License-Identifier: BSD-3-Clause
 * Metropolis light transport in primary sample space (docs/theory/metropolis.md): Kelemen et al. 2002 and,
 * with several particles a chain, the coherent pseudo-marginal form of Nimier-David et al. 2019, section 4.2.
 *
 * A step is two kernels. kernel_chain_step walks the path of each particle, with numbers that its chain
 * proposes (walk/primary_samples.c), and leaves colour, pixel and luminance in BUFFER_SAMPLES.
 * kernel_chain_accept lets each chain take the step or stay, and splats: the state that is left, with all the
 * weight that it has gathered, or the proposal that is not taken. So there is one splat a path. Lanes are
 * particles; the particles of a chain are neighbours, and so walk alike. All of them decide the same from the
 * same words, so nothing passes between lanes within a kernel.
 *
 * With f the mean luminance of the particles, b its mean over all numbers, and b0 nearly b, a state has the
 * weight (b / b0) / (f / b0 + p), where p is the probability of large steps, times the probability that it is
 * the next state; a proposal of a large step has 1 / (f / b0 + p) besides (Kelemen et al., section 4.3).
 *
 * Direct light, which independent paths find well, is left out of the chains (separate_direct): each step
 * samples it by a path of two segments besides, whose pixels take turns.
 *
 * Invariant: a kernel_chain_accept reads what the kernel_chain_step before it has written, and of
 * BUFFER_SAMPLES a lane writes its own words and its own share of the chain's blocks. */
#include "render/integrator/kernels/metropolis.h"

#include "render/integrator/passes.h"

enum { SEED_OF_DIRECT = 0xD12EC7 }; /* sets samples of direct light apart from chains */

typedef struct chain_lane {
    ir_ref inside;            /* bool */
    ir_ref index, chain, own; /* u32; own: number of the particle within the chain */
    ir_ref lanes;             /* u32: how many there are */
} chain_lane;

static ir_ref plane_word(walk *w, const chain_lane *l, uint32_t plane)
{
    tracer *t = &w->t;
    return ir_add(t->f, l->index,
                  ir_add(t->f, ir_mul(t->f, l->lanes, t_u32(t, plane)), t_u32(t, CHAIN_HEADER)));
}

static ir_ref load(walk *w, const chain_lane *l, ir_type type, uint32_t plane)
{
    return ir_load(w->t.f, type, BUFFER_SAMPLES, plane_word(w, l, plane));
}

static void store(walk *w, const chain_lane *l, uint32_t plane, ir_ref value)
{
    ir_store(w->t.f, BUFFER_SAMPLES, plane_word(w, l, plane), value);
}

static ir_ref header(walk *w, ir_type type, enum chain_header word)
{
    return ir_load(w->t.f, type, BUFFER_SAMPLES, t_u32(&w->t, word));
}

static ir_ref in_phase(walk *w, enum chain_phase phase)
{
    return ir_eq(w->t.f, ir_uniform(w->t.f, IR_U32, UNIFORM_CHAIN_PHASE), t_u32(&w->t, phase));
}

static film_value load_color(walk *w, const chain_lane *l, uint32_t plane)
{
    film_value v = film_none(w);
    for (uint32_t c = 0; c < w->film_channels; c++)
        v.c[c] = load(w, l, IR_F32, plane + c);
    return v;
}

/* Sets the walk's chain to that of the lane. When probing, each lane is a chain of one particle. A start
 * takes a probe for the first particle of its chain. */
static chain_lane open_lane(walk *w, ir_module *m)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    BL_ASSERT(!m->entry && w->film_channels <= 4, "an entry of chains, %u channels", w->film_channels);
    m->entry = f;
    ir_ref id = ir_global_id(f), particles = t_u32(t, w->plan->scene->metropolis.particles);
    chain_lane l = {
        .inside = ir_lt(f, id, ir_uniform(f, IR_U32, UNIFORM_LANE_COUNT)),
        .lanes = ir_uniform(f, IR_U32, UNIFORM_CHAIN_LANES),
    };
    l.index = ir_select(f, l.inside, ir_add(f, id, ir_uniform(f, IR_U32, UNIFORM_FIRST_LANE)), t_u32(t, 0));
    l.chain = ir_div(f, l.index, particles), l.own = ir_sub(f, l.index, ir_mul(f, l.chain, particles));
    w->seed = ir_uniform(f, IR_U32, UNIFORM_SEED), w->stream = ir_uniform(f, IR_U32, UNIFORM_STREAM);
    w->spp = ir_uniform(f, IR_U32, UNIFORM_SPP);
    walk_chain *c = &w->chain;
    ir_ref planes = ir_add(f, ir_mul(f, l.lanes, t_u32(t, CHAIN_PLANES)), t_u32(t, CHAIN_HEADER)),
           name = ir_select(f, in_phase(w, CHAIN_PROBE), l.index, l.chain);
    c->any = true, c->starts = in_phase(w, CHAIN_START), c->probes = in_phase(w, CHAIN_PROBE);
    c->numbers = ir_add(f, planes, ir_mul(f, l.chain, t_u32(t, CHAIN_BLOCKS * CHAIN_BLOCK)));
    c->name = ir_select(f, c->starts, load(w, &l, IR_U32, CHAIN_START_NAME), name);
    c->step = ir_select(f, c->starts, load(w, &l, IR_U32, CHAIN_START_STEP),
                        ir_uniform(f, IR_U32, UNIFORM_CHAIN_STEP));
    c->first = ir_select(f, c->starts, c->name, ir_sub(f, l.index, l.own));
    c->particle = ir_add(f, c->first, ir_select(f, c->starts, ir_mul(f, l.own, l.lanes), l.own));
    c->large = ir_or(f, ir_not(f, in_phase(w, CHAIN_STEP)),
                     ir_lt(f, primary_decisions(w).u[0], t_f32(t, w->plan->scene->metropolis.large_step)));
    w->pixel = c->particle; /* names random numbers of media and wavelengths */
    return l;
}

/* How many more blocks than two for each vertex and one a path may read; a path from a light has one more
 * than one from the sensor, and one says which of them it is. */
static uint32_t more_blocks(const plan *p) { return p->scene->metropolis.light_paths > 0 ? 2 : 0; }

/* ---- a step ---- */

/* What the path of a lane has found, and how many vertices it has. */
typedef struct trial {
    radiance_walk path;
    ir_ref alive, vertices;
} trial;

static void state_trial(walk *w, loop_state *s, trial *p)
{
    state_position(w, s, &p->path.at);
    state_color(s, &w->t, &p->path.beta), state_color(s, &w->t, &p->path.radiance);
    state_ref(s, &p->path.eta), state_ref(s, &p->alive), state_ref(s, &p->vertices);
    if (w->multiplexed)
        state_ref(s, &p->path.reach);
}

static trial walk_path(walk *w, ir_ref sample, ir_ref where)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    walk_position before = walk_before(w, sample), at = walk_start(w, where, before);
    trial p = {.path = radiance_start(w, &at), .alive = where, .vertices = t_u32(t, 0)};
    loop_state state = {0}, next = {0};
    state_trial(w, &state, &p);
    ir_ref loop = state_loop(f, &state);
    state_trial(w, &state, &p);
    ir_while(f, p.alive);
    radiance_vertex(w, &p.path, &p.alive);
    p.vertices = ir_add(f, p.vertices, t_u32(t, 1));
    state_trial(w, &next, &p);
    state_endloop(f, loop, &state, &next);
    state_trial(w, &state, &p);
    state_end(&state);
    return p;
}

static ir_ref chosen_pixel(walk *w)
{
    ir_func *f = w->t.f;
    random4 r = primary_numbers(w, t_u32(&w->t, primary_first_block(w)));
    primary_pixel p = primary_take_pixel(w, &r);
    return ir_add(f, ir_mul(f, p.y, ir_uniform(f, IR_U32, UNIFORM_WIDTH)), p.x);
}

/* Of what a path has found, what is finite. */
static void keep_finite(walk *w, ir_ref any, film_value *found)
{
    ir_func *f = w->t.f;
    ir_ref finite = film_finite(w, found), zero = t_f32(&w->t, 0);
    kernel_count(w, ir_and(f, any, ir_not(f, finite)), STATUS_NON_FINITE);
    finite = ir_and(f, finite, any);
    for (uint32_t c = 0; c < w->film_channels; c++)
        found->c[c] = ir_select(f, finite, found->c[c], zero);
}

/* A path from the sensor, where `any`. */
static chain_path path_from_sensor(walk *w, ir_ref any)
{
    trial p = walk_path(w, w->chain.step, any);
    chain_path r = {.found = film_of(w, &p.path.at, p.path.radiance)};
    keep_finite(w, any, &r.found);
    r.pixel = chosen_pixel(w), r.vertices = p.vertices;
    r.value = film_luminance(w, &r.found);
    return r;
}

/* One of both, by the chain's numbers; what it finds is divided by the probability of that. */
static chain_path path_multiplexed(walk *w, ir_ref any)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const float share = w->plan->scene->metropolis.light_paths;
    ir_ref from_light = primary_begins_at_light(w);
    chain_path a = path_from_sensor(w, ir_and(f, any, ir_not(f, from_light))),
               b = path_from_light(w, ir_and(f, any, from_light));
    keep_finite(w, ir_and(f, any, from_light), &b.found);
    ir_ref over = ir_select(f, from_light, t_f32(t, 1 / share), t_f32(t, 1 / (1 - share)));
    chain_path r = {.pixel = ir_select(f, from_light, b.pixel, a.pixel),
                    .vertices = ir_select(f, from_light, b.vertices, a.vertices),
                    .value = ir_mul(f, over, ir_select(f, from_light, b.value, a.value))};
    for (uint32_t c = 0; c < w->film_channels; c++)
        r.found.c[c] = ir_mul(f, over, ir_select(f, from_light, b.found.c[c], a.found.c[c]));
    return r;
}

/* A sample of direct light. Samples of all lanes and steps take pixels in turn, so each pixel has as many. */
static void sample_direct(const walk *chains, const chain_lane *l, ir_ref any)
{
    walk own = *chains, *w = &own;
    tracer *t = &w->t;
    ir_func *f = t->f;
    w->chain.any = false, w->skips_direct = false, w->direct = true;
    w->seed = ir_xor(f, w->seed, t_u32(t, SEED_OF_DIRECT));
    ir_ref pixels = ir_mul(f, ir_uniform(f, IR_U32, UNIFORM_WIDTH), ir_uniform(f, IR_U32, UNIFORM_HEIGHT)),
           step = ir_sub(f, ir_uniform(f, IR_U32, UNIFORM_CHAIN_STEP), header(w, IR_U32, CHAIN_FIRST)),
           place = ir_add(f, ir_mul(f, step, l->lanes), l->index), sample = ir_div(f, place, pixels);
    w->pixel = ir_sub(f, place, ir_mul(f, sample, pixels));
    any =
        ir_and(f, any, ir_lt(f, step, ir_div(f, t_u32(t, 0xFFFFFFFFu), l->lanes))); /* place does not wrap */
    any = ir_and(f, any, ir_lt(f, sample, header(w, IR_U32, CHAIN_DIRECT)));
    any = ir_and(f, any, ir_not(f, w->chain.starts));
    trial p = walk_path(w, sample, any);
    film_value found = film_of(w, &p.path.at, p.path.radiance);
    keep_finite(w, any, &found);
    ir_if(f, l->inside);
    for (uint32_t c = 0; c < w->film_channels; c++)
        store(w, l, CHAIN_DIRECT_COLOR + c, found.c[c]);
    store(w, l, CHAIN_DIRECT_PIXEL, ir_select(f, any, w->pixel, t_u32(t, PLAN_NONE)));
    ir_else(f);
    ir_endif(f);
}

bl_result kernel_chain_step(walk *w, ir_module *m)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    BL_ASSERT(w->pass == RENDER_PRIMAL && !w->polarized, "chains in pass %d", (int)w->pass);
    chain_lane l = open_lane(w, m);
    ir_ref any = w->plan->scene->max_depth == 0 ? ir_bool(f, false) : l.inside;
    w->skips_direct = w->plan->scene->metropolis.separates_direct;
    if (w->skips_direct)
        sample_direct(w, &l, any);
    chain_path p = w->multiplexed ? path_multiplexed(w, any) : path_from_sensor(w, any);
    ir_ref twice = ir_add(f, p.vertices, p.vertices);
    ir_if(f, l.inside);
    store(w, &l, CHAIN_NEW_VALUE, p.value);
    for (uint32_t c = 0; c < w->film_channels; c++)
        store(w, &l, CHAIN_NEW_COLOR + c, p.found.c[c]);
    store(w, &l, CHAIN_NEW_PIXEL, p.pixel);
    store(w, &l, CHAIN_NEW_BLOCKS, ir_add(f, twice, t_u32(t, 1 + more_blocks(w->plan))));
    ir_else(f);
    ir_endif(f);
    ir_return(f, NULL, 0);
    return BL_OK;
}

/* ---- whether it is taken ---- */

/* The proposal: the mean value of the chain's particles, and the most blocks that one of them has read. */
typedef struct proposal {
    ir_ref value, blocks;
} proposal;

static proposal gather(walk *w, const chain_lane *l)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const uint32_t particles = w->plan->scene->metropolis.particles;
    chain_lane of = *l;
    ir_ref state[3] = {t_u32(t, 0), t_f32(t, 0), t_u32(t, 0)}, loop = ir_loop(f, state, 3);
    ir_while(f, ir_lt(f, state[0], t_u32(t, particles)));
    of.index = ir_add(f, ir_sub(f, l->index, l->own), state[0]);
    ir_ref value = load(w, &of, IR_F32, CHAIN_NEW_VALUE), blocks = load(w, &of, IR_U32, CHAIN_NEW_BLOCKS);
    ir_ref next[3] = {ir_add(f, state[0], t_u32(t, 1)), ir_add(f, state[1], value),
                      ir_max(f, state[2], blocks)};
    ir_endloop(f, loop, next, 3);
    return (proposal){ir_mul(f, state[1], t_f32(t, 1.0f / (float)particles)), state[2]};
}

/* Where `where`, adds value * weight to its pixel. */
static void splat_pixel(walk *w, ir_ref where, ir_ref pixel, const film_value *value, ir_ref weight)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref element = ir_select(f, where, ir_mul(f, pixel, t_u32(t, w->film_channels)), t_u32(t, PLAN_NONE));
    for (uint32_t c = 0; c < w->film_channels; c++)
        ir_accum(f, BUFFER_GRADIENT, ir_element(f, element, t_u32(t, c)), ir_mul(f, value->c[c], weight));
}

/* What a splat of a state of this value is multiplied by, besides the state's own weight. */
static ir_ref splat_factor(walk *w, ir_ref value)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const render_metropolis *m = &w->plan->scene->metropolis;
    ir_ref both = ir_add(f, ir_div(f, value, header(w, IR_F32, CHAIN_MEAN)), t_f32(t, m->large_step));
    ir_ref unit = ir_mul(f, header(w, IR_F32, CHAIN_UNIT), t_f32(t, 1.0f / (float)m->particles));
    return ir_div(f, unit, both);
}

/* The chain's numbers become those of the step: all blocks that the old or the new state has read, of which
 * the particles take turns. So a step and the step back change the same numbers. At a start all do. */
static void take_numbers(walk *w, const chain_lane *l, ir_ref taken, ir_ref blocks)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref block = l->own, loop = ir_loop(f, &block, 1);
    ir_while(f, ir_and(f, taken, ir_lt(f, block, blocks)));
    random4 r = primary_proposed(w, block);
    ir_ref word = ir_add(f, w->chain.numbers, ir_mul(f, block, t_u32(t, CHAIN_BLOCK)));
    for (uint32_t k = 0; k < 4; k++)
        ir_store(f, BUFFER_SAMPLES, t_offset(t, word, k), r.u[k]);
    ir_ref next = ir_add(f, block, t_u32(t, w->plan->scene->metropolis.particles));
    ir_endloop(f, loop, &next, 1);
}

static void count(walk *w, const chain_lane *l, uint32_t plane, ir_ref starts, ir_ref more)
{
    ir_func *f = w->t.f;
    ir_ref before = ir_select(f, starts, t_u32(&w->t, 0), load(w, l, IR_U32, plane));
    store(w, l, plane, ir_add(f, before, more));
}

static void keep_statistics(walk *w, const chain_lane *l, ir_ref starts, ir_ref taken, const proposal *p)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref large = ir_and(f, w->chain.large, ir_not(f, starts)), small = ir_not(f, w->chain.large),
           zero = t_f32(t, 0), vertices = load(w, l, IR_U32, CHAIN_NEW_BLOCKS);
    if (more_blocks(w->plan))
        vertices = ir_sub(f, vertices, t_u32(t, more_blocks(w->plan)));
    vertices = ir_shr(f, vertices, t_u32(t, 1));
    count(w, l, CHAIN_TAKEN, starts, ir_to_u32(f, ir_and(f, taken, small)));
    count(w, l, CHAIN_LARGE, starts, ir_to_u32(f, large));
    count(w, l, CHAIN_LARGE_TAKEN, starts, ir_to_u32(f, ir_and(f, taken, large)));
    count(w, l, CHAIN_VERTICES, starts, ir_select(f, starts, t_u32(t, 0), vertices));
    ir_ref sum = ir_select(f, starts, zero, load(w, l, IR_F32, CHAIN_LARGE_SUM));
    store(w, l, CHAIN_LARGE_SUM, ir_add(f, sum, ir_select(f, large, p->value, zero)));
}

/* Where `taken`, the state becomes the proposal. */
static void take_state(walk *w, const chain_lane *l, ir_ref taken, const film_value *value, ir_ref pixel,
                       const proposal *p)
{
    ir_func *f = w->t.f;
    ir_if(f, taken);
    store(w, l, CHAIN_NOW_VALUE, p->value);
    for (uint32_t c = 0; c < w->film_channels; c++)
        store(w, l, CHAIN_NOW_COLOR + c, value->c[c]);
    store(w, l, CHAIN_NOW_PIXEL, pixel);
    store(w, l, CHAIN_NOW_BLOCKS, p->blocks);
    ir_else(f);
    ir_endif(f);
}

/* What the lane has sampled of direct light joins the image. */
static void splat_direct(walk *w, const chain_lane *l)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    film_value found = load_color(w, l, CHAIN_DIRECT_COLOR);
    ir_ref pixel = load(w, l, IR_U32, CHAIN_DIRECT_PIXEL), there = ir_ne(f, pixel, t_u32(t, PLAN_NONE));
    ir_ref weight = ir_div(f, t_f32(t, 1), ir_to_f32(f, header(w, IR_U32, CHAIN_DIRECT)));
    splat_pixel(w, there, pixel, &found, weight);
}

/* One step of the chain, as far as it concerns the lane. */
static void accept(walk *w, const chain_lane *l)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref starts = in_phase(w, CHAIN_START), zero = t_f32(t, 0), one = t_f32(t, 1),
           ratio = header(w, IR_F32, CHAIN_RATIO);
    proposal p = gather(w, l);
    ir_ref now = ir_select(f, starts, zero, load(w, l, IR_F32, CHAIN_NOW_VALUE));
    ir_ref chance = ir_select(f, ir_gt(f, now, zero),
                              ir_min(f, one, ir_div(f, p.value, ir_max(f, now, t_f32(t, 1e-37f)))), one);
    ir_ref taken = ir_or(f, starts, ir_lt(f, primary_decisions(w).u[1], chance));
    ir_ref stays = ir_mul(f, ratio, ir_sub(f, one, chance)),
           goes = t_mad(t, ratio, chance, ir_to_f32(f, w->chain.large));
    ir_ref gathered = ir_select(f, starts, zero, load(w, l, IR_F32, CHAIN_NOW_WEIGHT));
    ir_ref before = ir_add(f, gathered, stays);
    film_value old = load_color(w, l, CHAIN_NOW_COLOR), new = load_color(w, l, CHAIN_NEW_COLOR), left, kept;
    ir_ref old_pixel = load(w, l, IR_U32, CHAIN_NOW_PIXEL), new_pixel = load(w, l, IR_U32, CHAIN_NEW_PIXEL);
    for (uint32_t c = 0; c < w->film_channels; c++) {
        left.c[c] = ir_select(f, taken, old.c[c], new.c[c]);
        kept.c[c] = ir_select(f, taken, new.c[c], old.c[c]);
    }
    /* What leaves: the old state, if it is left, else the proposal. */
    ir_ref leaving =
        ir_mul(f, ir_select(f, taken, before, goes), splat_factor(w, ir_select(f, taken, now, p.value)));
    splat_pixel(w, ir_not(f, starts), ir_select(f, taken, old_pixel, new_pixel), &left, leaving);
    ir_ref weight = ir_select(f, starts, zero, ir_select(f, taken, goes, before));
    ir_ref last = ir_ne(f, ir_uniform(f, IR_U32, UNIFORM_CHAIN_LAST), t_u32(t, 0));
    splat_pixel(w, last, ir_select(f, taken, new_pixel, old_pixel), &kept,
                ir_mul(f, weight, splat_factor(w, ir_select(f, taken, p.value, now))));
    ir_ref read = ir_max(f, p.blocks,
                         ir_select(f, starts, t_u32(t, CHAIN_BLOCKS), load(w, l, IR_U32, CHAIN_NOW_BLOCKS)));
    take_numbers(w, l, taken, ir_min(f, read, t_u32(t, CHAIN_BLOCKS)));
    take_state(w, l, taken, &new, new_pixel, &p);
    store(w, l, CHAIN_NOW_WEIGHT, weight);
    keep_statistics(w, l, starts, taken, &p);
}

bl_result kernel_chain_accept(const plan *p, ir_module *m)
{
    walk w = {.plan = p, .pass = RENDER_CHAIN_ACCEPT};
    ir_func *f = ir_func_create(m, "chain accept");
    w.t = plan_tracer(p, f), w.film_channels = p->scene->film_channels;
    chain_lane l = open_lane(&w, m);
    ir_if(f, l.inside);
    accept(&w, &l);
    if (p->scene->metropolis.separates_direct)
        splat_direct(&w, &l);
    ir_else(f);
    ir_endif(f);
    ir_return(f, NULL, 0);
    return BL_OK;
}
