/* SPDX-License-Identifier: BSD-3-Clause
 * Which light a vertex samples, where not all have the same probability: in proportion to their
 * sampling_weight, or to that times their power, which follows the values. It is a sampling table (plan.h) of
 * cumulative probabilities, one f32 per light, inverted by binary search. Detached, like all choices
 * (docs/theory/detached_replay.md).
 *
 * Invariant: choosing by power, every light gets a share of the mean power in addition to its own, a larger
 * one if its gradient is wanted. So a light that is dark now, and is differentiated or becomes brighter in a
 * fit, is still sampled (docs/theory/support.md). Only a weight of 0 excludes a light: the scene asks for
 * that. */
#include "render/integrator/derived/derived.h"

uint32_t light_choice_words(const render_scene *s) { return s->emitters.count; }
uint32_t light_choice_lanes(const render_scene *s, enum light_step step)
{
    return step == LIGHT_STEP_WEIGHTS ? s->emitters.count : 1;
}

static bool by_power(const plan *p)
{
    return p->scene->light_choice == LIGHTS_BY_POWER || p->scene->light_choice == LIGHTS_BY_TREE;
}

static ir_ref table(tracer *t)
{
    BL_ASSERT(t->plan->lights_tabled, "%u lights without a table", t->plan->scene->emitters.count);
    return t_word(t, t_u32(t, 0), HEADER_LIGHT_TABLE);
}
static ir_ref entry(tracer *t, ir_ref light)
{
    return ir_load(t->f, IR_F32, BUFFER_VALUES, ir_add(t->f, table(t), light));
}
static void set_entry(tracer *t, ir_ref light, ir_ref v)
{
    ir_store(t->f, BUFFER_VALUES, ir_add(t->f, table(t), light), v);
}

/* ---- while walking ---- */

ir_ref light_table_probability(tracer *t, ir_ref light)
{
    ir_func *f = t->f;
    ir_ref one = t_u32(t, 1), first = ir_lt(f, light, one),
           before = entry(t, ir_sub(f, ir_max(f, light, one), one));
    return ir_sub(f, entry(t, light), ir_select(f, first, t_f32(t, 0), before));
}

ir_ref light_table_sample(tracer *t, ir_ref u)
{
    return warp_discrete(t, BUFFER_VALUES, table(t), t_u32(t, t->plan->scene->emitters.count), u);
}

/* ---- the table ---- */

static ir_func *make_power(ir_module *m, const plan *p, const class_node *n)
{
    ir_func *f = ir_func_create(m, "power");
    tracer t = plan_tracer(p, f);
    ir_ref power = emitter_of(n)->power(&t, n, ir_param(f, IR_U32));
    ir_return(f, &power, 1);
    return f;
}

/* The first step, a lane per light: its power if lights are chosen by power, else 1. */
static void step_weights(tracer *t, ir_ref light)
{
    ir_func *f = t->f;
    const plan *p = t->plan;
    ir_ref power = t_f32(t, 1);
    if (by_power(p)) {
        ir_func **functions = arena_alloc(&f->module->arena, p->emitters.count * sizeof *functions);
        for (uint32_t i = 0; i < p->emitters.count; i++)
            functions[i] = make_power(f->module, p, p->emitters.data[i]);
        ir_ref at = ir_add(f, t_word(t, t_u32(t, 0), HEADER_EMITTERS), ir_shl(f, light, t_u32(t, 1))),
               record = t_word(t, at, 1);
        ir_call(f, t_word(t, at, 0), functions, p->emitters.count, &record, 1, &power);
    }
    set_entry(t, light, power);
}

/* The sum over the lights of (power + share * mean) * weight. If `total` is given, the partial sums over it
 * are the table's entries. */
static ir_ref add_up(tracer *t, ir_ref mean, const ir_ref *total)
{
    ir_func *f = t->f;
    uint32_t n = t->plan->scene->emitters.count;
    ir_ref state[2] = {t_u32(t, 0), t_f32(t, 0)}, loop = ir_loop(f, state, 2);
    ir_while(f, ir_lt(f, state[0], t_u32(t, n)));
    ir_ref at = ir_add(f, t_word(t, t_u32(t, 0), HEADER_LIGHT_WEIGHTS), state[0]), weight = t_real(t, at, 0),
           power = t_mad(t, mean, t_real(t, at, n), entry(t, state[0]));
    ir_ref sum = ir_add(f, state[1], ir_mul(f, power, weight));
    if (total)
        set_entry(t, state[0], ir_div(f, sum, *total));
    ir_endloop(f, loop, (ir_ref[]){ir_add(f, state[0], t_u32(t, 1)), sum}, 2);
    return state[1];
}

/* The second step, one lane: sums up the table. */
static void step_sum(tracer *t)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), mean = zero;
    /* If all lights are dark, they are chosen by their weights and shares. */
    if (by_power(t->plan)) {
        ir_ref sum = add_up(t, zero, NULL);
        mean = ir_select(f, ir_gt(f, sum, zero),
                         ir_mul(f, sum, t_f32(t, 1 / (float)t->plan->scene->emitters.count)), t_f32(t, 1));
    }
    ir_ref total = add_up(t, mean, NULL);
    add_up(t, mean, &total);
}

void light_table_step(tracer *t, enum light_step step, ir_ref light)
{
    if (step == LIGHT_STEP_WEIGHTS)
        step_weights(t, light);
    else
        step_sum(t);
}
