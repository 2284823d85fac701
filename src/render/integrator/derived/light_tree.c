/* SPDX-License-Identifier: BSD-3-Clause
 * Which light a vertex samples, by what can reach it of each (Conty Estevez and Kulla 2018, "Importance
 * Sampling of Many Lights with Adaptive Tree Splitting"; without the splitting). A binary tree stands over
 * the lights that have a place (plan_lights.c). A node bounds what its lights are and do: a box, a cone of
 * directions, and their power. From the root on, one of two children is chosen in proportion to a bound of
 * its irradiance at the vertex, by one random number, which is used again at each level. So the probability
 * of a light is a product over the levels, and it is known for a light that a ray has met, too: MIS needs it.
 *
 *     bound = power cos(t) / max(distance^2, radius^2)        (section 4.2 without the receiver's cosine)
 *
 * radius is that of the sphere around the box; t is the angle by which the vertex lies outside of the cone,
 * less the angle under which it sees the sphere; where t is beyond the lights' reach, the bound is 0.
 *
 * Bounds of areas are those of a few of their points, and a bound of 0 can be wrong. So a share of the
 * samples is chosen by the table of powers (light_choice.c), whatever the bounds say: no light is ever left
 * out, and the weight of a sample is at most 1 / by_table times what it is with the table alone (defensive
 * importance sampling, Hesterberg 1995). Lights without a place have equal shares of their own beside the
 * tree.
 *
 * Nodes follow the values of parameters: leaves are made anew, then level after level, each as a step of
 * sampling tables. All of it is detached. */
#include "render/integrator/derived/derived.h"

static const float by_table = 0.1f;
static const float below_one = 0x1.fffffep-1f;

/* ---- places ---- */

static ir_ref tree_word(tracer *t, uint32_t word)
{
    BL_ASSERT(t->plan->lights_tree, "%u lights without a tree", t->plan->scene->emitters.count);
    return t_offset(t, t_word(t, t_u32(t, 0), HEADER_LIGHT_TREE), word);
}

static uint32_t leaf_count(const tracer *t) { return 1u << t->plan->light_levels; }

static ir_ref light_at(tracer *t, ir_ref leaf)
{
    return t_word(t, ir_add(t->f, tree_word(t, LIGHT_TREE_LEAVES), leaf), 0);
}
static ir_ref leaf_of(tracer *t, ir_ref light)
{
    return t_word(t, ir_add(t->f, tree_word(t, LIGHT_TREE_LEAVES + leaf_count(t)), light), 0);
}
static ir_ref light_afar(tracer *t, ir_ref k)
{
    const uint32_t lights = t->plan->scene->emitters.count;
    return t_word(t, ir_add(t->f, tree_word(t, LIGHT_TREE_LEAVES + leaf_count(t) + lights), k), 0);
}

/* The probability of going to the tree, and to each of the lights beside it. */
static float one_of_all(const tracer *t) { return 1 / (float)(t->plan->lights_afar + 1); }

static ir_ref node_at(tracer *t, ir_ref node)
{
    ir_ref first = t_word(t, tree_word(t, LIGHT_TREE_NODES), 0);
    return t_aligned(t, ir_add(t->f, first, ir_mul(t->f, node, t_u32(t, LIGHT_NODE_WORDS))));
}
static ir_ref node_value(tracer *t, ir_ref at, uint32_t word)
{
    return ir_load(t->f, IR_F32, BUFFER_VALUES, t_offset(t, at, word));
}
static vec3 node_vector(tracer *t, ir_ref at, uint32_t word)
{
    return v3(node_value(t, at, word), node_value(t, at, word + 1), node_value(t, at, word + 2));
}

/* ---- while walking ---- */

static ir_ref sine_of(tracer *t, ir_ref cosine)
{
    return t_safe_sqrt(t, ir_sub(t->f, t_f32(t, 1), t_sqr(t, cosine)));
}

/* The cosine of max(0, a - b), of the cosines of two angles of at most pi. */
static ir_ref cosine_beyond(tracer *t, ir_ref cos_a, ir_ref cos_b)
{
    ir_func *f = t->f;
    ir_ref apart = t_mad(t, cos_a, cos_b, ir_mul(f, sine_of(t, cos_a), sine_of(t, cos_b)));
    return ir_select(f, ir_gt(f, cos_a, cos_b), t_f32(t, 1), apart);
}

typedef struct node_bound {
    ir_ref irradiance, power;
} node_bound;

static node_bound bound_of(tracer *t, ir_ref at, vec3 from)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1), power = node_value(t, at, LIGHT_NODE_POWER),
           radius2 = node_value(t, at, LIGHT_NODE_RADIUS2);
    vec3 away = v3_sub(t, from, node_vector(t, at, LIGHT_NODE_CENTRE));
    ir_ref square = v3_dot(t, away, away), least = t_f32(t, 1e-20f), inside = ir_le(f, square, radius2);
    ir_ref distance2 = ir_max(f, square, least), inverse = ir_div(f, one, ir_sqrt(f, distance2));
    ir_ref toward = ir_mul(f, v3_dot(t, node_vector(t, at, LIGHT_NODE_AXIS), away), inverse);
    toward = t_clamp(t, toward, -1, 1);
    ir_ref sphere = t_safe_sqrt(t, ir_sub(f, one, ir_div(f, radius2, distance2)));
    ir_ref outside = cosine_beyond(t, cosine_beyond(t, toward, node_value(t, at, LIGHT_NODE_SPREAD)), sphere);
    outside = ir_select(f, inside, one, outside);
    ir_ref shines = ir_or(f, ir_ge(f, outside, one), ir_gt(f, outside, node_value(t, at, LIGHT_NODE_REACH)));
    ir_ref seen = ir_select(f, shines, ir_max(f, outside, zero), zero);
    return (node_bound){
        .irradiance = ir_div(f, ir_mul(f, power, seen), ir_max(f, distance2, radius2)),
        .power = power,
    };
}

typedef struct descent {
    ir_ref leaf, probability;
} descent;

/* From the root to a leaf: to `leaf` where `given` (bool), else by u. */
static descent descend(tracer *t, vec3 from, ir_ref given, ir_ref leaf, ir_ref u)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_u32(t, 1), none = t_u32(t, 0);
    ir_ref state[4] = {t_u32(t, t->plan->light_levels), one, t_f32(t, 1), u}, loop = ir_loop(f, state, 4);
    ir_while(f, ir_gt(f, state[0], none));
    ir_ref below = ir_sub(f, state[0], one), left = ir_shl(f, state[1], one);
    node_bound a = bound_of(t, node_at(t, left), from),
               b = bound_of(t, node_at(t, ir_add(f, left, one)), from);
    ir_ref dark = ir_le(f, ir_add(f, a.irradiance, b.irradiance), zero);
    ir_ref x = ir_select(f, dark, a.power, a.irradiance), y = ir_select(f, dark, b.power, b.irradiance);
    ir_ref sum = ir_add(f, x, y), to_left = t_ratio(t, x, sum), to_right = t_ratio(t, y, sum);
    ir_ref told = ir_ne(f, ir_and(f, ir_shr(f, leaf, below), one), none);
    ir_ref right = ir_select(f, given, told, ir_ge(f, state[3], to_left));
    ir_ref share = ir_select(f, right, to_right, to_left);
    ir_ref rest = t_ratio(t, ir_sub(f, state[3], ir_select(f, right, to_left, zero)), share);
    ir_ref next[4] = {below, ir_add(f, left, ir_to_u32(f, right)), ir_mul(f, state[2], share),
                      t_clamp(t, rest, 0, below_one)};
    ir_endloop(f, loop, next, 4);
    return (descent){ir_sub(f, state[1], t_u32(t, leaf_count(t))), state[2]};
}

/* The probability of a light by tree and table. there: its leaf, or why it has none. by_tree: the
 * probability of its leaf. */
static ir_ref mixed(tracer *t, ir_ref light, ir_ref there, ir_ref by_tree)
{
    ir_func *f = t->f;
    const float tree = one_of_all(t);
    ir_ref own = ir_mul(f, by_tree, t_f32(t, tree));
    own = ir_select(f, ir_eq(f, there, t_u32(t, LIGHT_AFAR)), t_f32(t, tree), own);
    own = ir_select(f, ir_eq(f, there, t_u32(t, LIGHT_LEFT_OUT)), t_f32(t, 0), own);
    return t_mad(t, own, t_f32(t, 1 - by_table),
                 ir_mul(f, light_table_probability(t, light), t_f32(t, by_table)));
}

/* The leaf, or any where the light has none. */
static ir_ref some_leaf(tracer *t, ir_ref there)
{
    return ir_select(t->f, ir_lt(t->f, there, t_u32(t, leaf_count(t))), there, t_u32(t, 0));
}

ir_ref light_tree_probability(tracer *t, vec3 from, ir_ref light)
{
    ir_ref there = leaf_of(t, light);
    descent d = descend(t, from, ir_bool(t->f, true), some_leaf(t, there), t_f32(t, 0));
    return mixed(t, light, there, d.probability);
}

/* (u - from) / length, below 1. */
static ir_ref part_of(tracer *t, ir_ref u, float from, float length)
{
    ir_func *f = t->f;
    return t_clamp(t, ir_mul(f, ir_sub(f, u, t_f32(t, from)), t_f32(t, 1 / length)), 0, below_one);
}

ir_ref light_tree_sample(tracer *t, vec3 from, ir_ref u, ir_ref *probability)
{
    ir_func *f = t->f;
    const uint32_t afar = t->plan->lights_afar;
    const float tree = one_of_all(t);
    ir_ref none = t_u32(t, 0), given = ir_lt(f, u, t_f32(t, by_table)), branch = ir_if(f, given);
    ir_ref light = light_table_sample(t, part_of(t, u, 0, by_table));
    ir_else(f);
    ir_endif(f);
    light = ir_phi(f, branch, light, none);
    ir_ref rest = part_of(t, u, by_table, 1 - by_table);
    if (afar) {
        ir_ref far = ir_and(f, ir_not(f, given), ir_ge(f, rest, t_f32(t, tree)));
        ir_ref k = ir_to_u32(f, ir_mul(f, part_of(t, rest, tree, 1 - tree), t_f32(t, (float)afar)));
        light = ir_select(f, far, light_afar(t, ir_min(f, k, t_u32(t, afar - 1))), light);
        given = ir_or(f, given, far), rest = part_of(t, rest, 0, tree);
    }
    ir_ref there = leaf_of(t, light);
    descent d = descend(t, from, given, some_leaf(t, there), rest);
    ir_ref found = light_at(t, d.leaf),
           empty = ir_and(f, ir_eq(f, found, t_u32(t, PLAN_NONE)), ir_not(f, given));
    light = ir_select(f, given, light, ir_select(f, empty, none, found));
    there = ir_select(f, given, there, d.leaf);
    *probability = ir_select(f, empty, t_f32(t, 0), mixed(t, light, there, d.probability));
    return light;
}

/* ---- the nodes ---- */

typedef struct node {
    vec3 least, most, axis;
    ir_ref spread, reach, power;
} node;

static node node_load(tracer *t, ir_ref at)
{
    return (node){
        .least = node_vector(t, at, LIGHT_NODE_LEAST),
        .most = node_vector(t, at, LIGHT_NODE_MOST),
        .axis = node_vector(t, at, LIGHT_NODE_AXIS),
        .spread = node_value(t, at, LIGHT_NODE_SPREAD),
        .reach = node_value(t, at, LIGHT_NODE_REACH),
        .power = node_value(t, at, LIGHT_NODE_POWER),
    };
}

static void node_store(tracer *t, ir_ref at, const node *n)
{
    ir_func *f = t->f;
    ir_ref half = t_f32(t, 0.5f);
    vec3 size = v3_scale(t, v3_sub(t, n->most, n->least), half), centre = v3_add(t, n->least, size);
    const ir_ref words[LIGHT_NODE_WORDS] = {
        centre.x,   centre.y,   centre.z,   v3_dot(t, size, size),
        n->axis.x,  n->axis.y,  n->axis.z,  n->spread,
        n->reach,   n->power,   {0},        {0},
        n->least.x, n->least.y, n->least.z, n->most.x,
        n->most.y,  n->most.z,
    };
    for (uint32_t k = 0; k < LIGHT_NODE_WORDS; k++)
        if (ir_made(f, words[k]))
            ir_store(f, BUFFER_VALUES, t_offset(t, at, k), words[k]);
}

static vec3 vector_by(tracer *t, ir_ref (*by)(ir_func *f, ir_ref a, ir_ref b), vec3 a, vec3 b)
{
    return v3(by(t->f, a.x, b.x), by(t->f, a.y, b.y), by(t->f, a.z, b.z));
}

static ir_ref angle_of(tracer *t, ir_ref cosine) { return ir_atan2(t->f, sine_of(t, cosine), cosine); }

/* The cone around those of a and b (section 4.1, algorithm 1): *axis, and the cosine of its angle. */
static ir_ref cone_around(tracer *t, const node *a, const node *b, vec3 *axis)
{
    ir_func *f = t->f;
    const float pi = 3.14159265358979323846f;
    ir_ref swap = ir_lt(f, b->spread, a->spread); /* the wider one first */
    vec3 wide = v3_select(t, swap, b->axis, a->axis), narrow = v3_select(t, swap, a->axis, b->axis);
    ir_ref cos_wide = ir_min(f, a->spread, b->spread), own = angle_of(t, cos_wide),
           other = angle_of(t, ir_max(f, a->spread, b->spread)),
           between = angle_of(t, t_clamp(t, v3_dot(t, wide, narrow), -1, 1));
    ir_ref holds = ir_le(f, ir_min(f, ir_add(f, between, other), t_f32(t, pi)), own);
    ir_ref angle = ir_mul(f, ir_add(f, own, ir_add(f, between, other)), t_f32(t, 0.5f)),
           turn = ir_sub(f, angle, own), sine = ir_sin(f, between);
    ir_ref all = ir_or(f, ir_ge(f, angle, t_f32(t, pi)), ir_lt(f, sine, t_f32(t, 1e-3f)));
    ir_ref by = t_ratio(t, t_f32(t, 1), sine);
    vec3 turned = v3_add(t, v3_scale(t, wide, ir_mul(f, ir_sin(f, ir_sub(f, between, turn)), by)),
                         v3_scale(t, narrow, ir_mul(f, ir_sin(f, turn), by)));
    *axis = v3_select(t, ir_or(f, holds, all), wide, turned);
    return ir_select(f, holds, cos_wide, ir_select(f, all, t_f32(t, -1), ir_cos(f, angle)));
}

static node node_select(tracer *t, ir_ref c, const node *a, const node *b)
{
    return (node){
        .least = v3_select(t, c, a->least, b->least),
        .most = v3_select(t, c, a->most, b->most),
        .axis = v3_select(t, c, a->axis, b->axis),
        .spread = ir_select(t->f, c, a->spread, b->spread),
        .reach = ir_select(t->f, c, a->reach, b->reach),
        .power = ir_select(t->f, c, a->power, b->power),
    };
}

/* A step of a level, a lane per node: from its two children. first: the level's first node. */
static void step_nodes(tracer *t, ir_ref first, ir_ref id)
{
    ir_func *f = t->f;
    ir_ref at = ir_add(f, first, id), left = ir_shl(f, at, t_u32(t, 1)), zero = t_f32(t, 0);
    node a = node_load(t, node_at(t, left)), b = node_load(t, node_at(t, ir_add(f, left, t_u32(t, 1))));
    node both = {
        .least = vector_by(t, ir_min, a.least, b.least),
        .most = vector_by(t, ir_max, a.most, b.most),
        .reach = ir_min(f, a.reach, b.reach),
        .power = ir_add(f, a.power, b.power),
    };
    both.spread = cone_around(t, &a, &b, &both.axis);
    both = node_select(t, ir_le(f, a.power, zero), &b, &both);
    both = node_select(t, ir_le(f, b.power, zero), &a, &both);
    node_store(t, node_at(t, at), &both);
}

static ir_func *make_bound(ir_module *m, const plan *p, const class_node *n)
{
    ir_func *f = ir_func_create(m, "bound");
    tracer t = plan_tracer(p, f);
    ir_ref record = ir_param(f, IR_U32), zero = t_f32(&t, 0);
    vec3 none = v3(zero, zero, zero);
    emitter_bound b = {none, none, none, zero, zero}; /* of a light that is at no leaf */
    if (emitter_of(n)->bound)
        b = emitter_of(n)->bound(&t, n, record);
    const ir_ref out[] = {b.least.x, b.least.y, b.least.z, b.most.x,     b.most.y,   b.most.z,
                          b.axis.x,  b.axis.y,  b.axis.z,  b.cos_spread, b.cos_reach};
    ir_return(f, out, sizeof out / sizeof *out);
    return f;
}

/* The first step, a lane per leaf. */
static void step_leaves(tracer *t, ir_ref leaf)
{
    ir_func *f = t->f;
    const plan *p = t->plan;
    ir_func **functions = arena_alloc(&f->module->arena, p->emitters.count * sizeof *functions);
    for (uint32_t i = 0; i < p->emitters.count; i++)
        functions[i] = make_bound(f->module, p, p->emitters.data[i]);
    ir_ref own = light_at(t, leaf), there = ir_ne(f, own, t_u32(t, PLAN_NONE)),
           light = ir_select(f, there, own, t_u32(t, 0)),
           at = ir_add(f, t_word(t, t_u32(t, 0), HEADER_EMITTERS), ir_shl(f, light, t_u32(t, 1)));
    ir_ref record = t_word(t, at, 1), out[11];
    ir_call(f, t_word(t, at, 0), functions, p->emitters.count, &record, 1, out);
    node n = {
        .least = v3(out[0], out[1], out[2]),
        .most = v3(out[3], out[4], out[5]),
        .axis = v3(out[6], out[7], out[8]),
        .spread = out[9],
        .reach = out[10],
        .power = ir_select(f, there, light_table_probability(t, light), t_f32(t, 0)),
    };
    node_store(t, node_at(t, ir_add(f, leaf, t_u32(t, leaf_count(t)))), &n);
}

void light_tree_step(tracer *t, enum light_step step, ir_ref record, ir_ref id)
{
    if (step == LIGHT_STEP_LEAVES)
        step_leaves(t, id);
    else
        step_nodes(t, record, id);
}
