/* SPDX-License-Identifier: BSD-3-Clause
 * A phase function from a table. The values stand at equal distances over the cosine between the direction
 * in which light travelled and the direction into which it is scattered, from -1 (back) to 1 (on). The
 * function is linear in between, and it is normalised. The values are parameters, and their gradient
 * includes that their integral is divided out.
 *
 * It is sampled exactly. The cumulative areas of intervals, which are a sampling table and so detached,
 * give an interval. The root of a quadratic gives the place within it. Where the gradient is wanted, each
 * value counts there as at least a part of the largest one. So what is 0 is sampled, too
 * (docs/theory/support.md). */
#include "render/classes.h"

enum { EXTRA_VALUE, EXTRA_GRADIENT, EXTRA_COUNT, EXTRA_WORDS, COUNT_MOST = 4096 };
/* Words of the table: the least number that a value counts as, the area below all values, and for each
 * interval k the area of it and of those before as a share of all. */
enum { TABLE_LEAST, TABLE_AREA, TABLE_CUMULATIVE };
static const float least_part = 0.05f, two_pi = 6.28318530717958647692f;

static const render_parameter *table_data(const render_scene *s, const scene_object *o)
{
    return &s->parameters.data[render_find_parameter(s, o, PLAN_DATA_SLOT)];
}

static bl_result tab_load(render_scene *s, const scene_object *o, bl_error *err)
{
    const scene_value *list = scene_get(o, "values");
    double numbers[COUNT_MOST], sum = 0;
    float values[COUNT_MOST];
    const char *malformed;
    int count = numbers_parse(list->text, numbers, COUNT_MOST, &malformed);
    if (count < 2 || count > COUNT_MOST)
        return scene_error(err, BL_ERROR_SCENE, list->where,
                           "tabphase: \"values\" must be a list of 2 to %d numbers", COUNT_MOST);
    for (int k = 0; k < count; k++) {
        if (!(numbers[k] >= 0))
            return scene_error(err, BL_ERROR_SCENE, list->where, "tabphase: %g in \"values\" is below 0",
                               numbers[k]);
        values[k] = (float)numbers[k], sum += numbers[k];
    }
    if (!(sum > 0))
        return scene_error(err, BL_ERROR_SCENE, list->where, "tabphase: all \"values\" are 0");
    const uint32_t shape = (uint32_t)count;
    render_add_parameter(s, o, PLAN_DATA_SLOT, &(initial_values){1, &shape, 0, INFINITY, values});
    return BL_OK;
}

static void tab_extra(const plan *p, const scene_object *o, uint32_t *words)
{
    words[EXTRA_VALUE] = plan_value_offset(p, o, PLAN_DATA_SLOT),
    words[EXTRA_GRADIENT] = plan_gradient_offset(p, o, PLAN_DATA_SLOT);
    words[EXTRA_COUNT] = table_data(p->scene, o)->shape[0];
}

static ir_ref count_of(tracer *t, const class_node *n, ir_ref record)
{
    return t_word(t, record, n->extra_word + EXTRA_COUNT);
}

static ir_ref entry_of(tracer *t, const class_node *n, ir_ref record, ir_ref index)
{
    return plan_load(t, n, record, n->extra_word + EXTRA_VALUE, PLAN_DATA_SLOT, index);
}

/* The value of an entry as it counts for sampling. */
static ir_ref sampled_entry(tracer *t, const class_node *n, ir_ref record, ir_ref index)
{
    return ir_max(t->f, entry_of(t, n, record, index),
                  ir_load(t->f, IR_F32, BUFFER_VALUES, plan_table_at(t, n, record)));
}

typedef ir_ref (*table_entry)(tracer *t, const class_node *n, ir_ref record, ir_ref index);

/* The table, interpolated at a cosine. */
static ir_ref at_cosine(tracer *t, const class_node *n, ir_ref record, ir_ref cosine, table_entry entry)
{
    ir_func *f = t->f;
    ir_ref last = ir_sub(f, count_of(t, n, record), t_u32(t, 2)), half = t_f32(t, 0.5f);
    ir_ref x = ir_mul(f, t_clamp(t, t_mad(t, cosine, half, half), 0, 1), ir_to_f32(f, t_offset(t, last, 1)));
    ir_ref k = ir_min(f, ir_to_u32(f, x), last), part = ir_sub(f, x, ir_to_f32(f, k));
    ir_ref low = entry(t, n, record, k), high = entry(t, n, record, t_offset(t, k, 1));
    return t_mad(t, high, part, ir_mul(f, low, ir_sub(f, t_f32(t, 1), part)));
}

/* The length of an interval of cosines. */
static ir_ref interval(tracer *t, const class_node *n, ir_ref record)
{
    return ir_div(t->f, t_f32(t, 2), ir_to_f32(t->f, ir_sub(t->f, count_of(t, n, record), t_u32(t, 1))));
}

static ir_ref cosine_between(tracer *t, vec3 wi, vec3 wo) { return ir_neg(t->f, v3_dot(t, wi, wo)); }

static ir_ref tab_value(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec3 wo, vec3 p)
{
    (void)p;
    ir_func *f = t->f;
    ir_ref half = t_f32(t, 0.5f), state[2] = {t_u32(t, 0), t_f32(t, 0)},
           end = ir_sub(f, count_of(t, n, record), t_u32(t, 1)), loop = ir_loop(f, state, 2);
    ir_while(f, ir_lt(f, state[0], end));
    ir_ref after = t_offset(t, state[0], 1),
           both = ir_add(f, entry_of(t, n, record, state[0]), entry_of(t, n, record, after));
    ir_ref next[2] = {after, ir_add(f, state[1], ir_mul(f, both, half))};
    ir_endloop(f, loop, next, 2);
    ir_ref area = ir_mul(f, state[1], ir_mul(f, interval(t, n, record), t_f32(t, two_pi)));
    return ir_div(f, at_cosine(t, n, record, cosine_between(t, wi, wo), entry_of), area);
}

static ir_ref tab_pdf(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec3 wo, vec3 p)
{
    (void)p;
    ir_ref area = ir_load(t->f, IR_F32, BUFFER_VALUES, t_offset(t, plan_table_at(t, n, record), TABLE_AREA));
    return ir_div(t->f, at_cosine(t, n, record, cosine_between(t, wi, wo), sampled_entry),
                  ir_mul(t->f, area, t_f32(t, two_pi)));
}

static vec3 tab_sample(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec3 p, const ir_ref u[3])
{
    (void)p;
    ir_func *f = t->f;
    ir_ref one = t_u32(t, 1), table = t_offset(t, plan_table_at(t, n, record), TABLE_CUMULATIVE),
           zero = t_f32(t, 0);
    ir_ref k = warp_discrete(t, BUFFER_VALUES, table, ir_sub(f, count_of(t, n, record), one), u[1]),
           first = ir_eq(f, k, t_u32(t, 0));
    ir_ref before =
        ir_load(f, IR_F32, BUFFER_VALUES, ir_add(f, table, ir_select(f, first, k, ir_sub(f, k, one))));
    before = ir_select(f, first, zero, before);
    ir_ref share = ir_sub(f, ir_load(f, IR_F32, BUFFER_VALUES, ir_add(f, table, k)), before);
    ir_ref rest = t_clamp(t, t_ratio(t, ir_sub(f, u[1], before), share), 0, 1);
    ir_ref low = sampled_entry(t, n, record, k), high = sampled_entry(t, n, record, t_offset(t, k, 1));
    ir_ref root = t_safe_sqrt(t, t_mad(t, rest, ir_sub(f, t_sqr(t, high), t_sqr(t, low)), t_sqr(t, low)));
    ir_ref part = t_ratio(t, ir_mul(f, rest, ir_add(f, low, high)), ir_add(f, low, root));
    ir_ref cosine = t_mad(t, ir_add(f, ir_to_f32(f, k), part), interval(t, n, record), t_f32(t, -1));
    return warp_about(t, v3_neg(t, wi), t_clamp(t, cosine, -1, 1), u[2]);
}

/* ---- the table ---- */

static uint32_t tab_words(const render_scene *s, const scene_object *o, const render_shape *shape)
{
    (void)shape;
    return TABLE_CUMULATIVE + table_data(s, o)->shape[0];
}

static uint32_t tab_lanes(const render_scene *s, const scene_object *o, uint32_t step)
{
    (void)s, (void)o, (void)step;
    return 1;
}

static void tab_step(tracer *t, const class_node *n, ir_ref record, uint32_t step, ir_ref lane)
{
    (void)step, (void)lane;
    ir_func *f = t->f;
    ir_ref table = plan_table_at(t, n, record), count = count_of(t, n, record), one = t_u32(t, 1),
           end = ir_sub(f, count, one);
    ir_ref largest[2] = {t_u32(t, 0), t_f32(t, 0)}, loop = ir_loop(f, largest, 2);
    ir_while(f, ir_lt(f, largest[0], count));
    ir_ref larger[2] = {ir_add(f, largest[0], one),
                        ir_max(f, largest[1], entry_of(t, n, record, largest[0]))};
    ir_endloop(f, loop, larger, 2);
    bool wanted = plan_wants(n, n->cls->data_name);
    ir_store(f, BUFFER_VALUES, table, wanted ? ir_mul(f, largest[1], t_f32(t, least_part)) : t_f32(t, 0));
    ir_ref sum[2] = {t_u32(t, 0), t_f32(t, 0)}, half = ir_mul(f, interval(t, n, record), t_f32(t, 0.5f));
    loop = ir_loop(f, sum, 2);
    ir_while(f, ir_lt(f, sum[0], end));
    ir_ref after = ir_add(f, sum[0], one),
           both = ir_add(f, sampled_entry(t, n, record, sum[0]), sampled_entry(t, n, record, after));
    ir_ref area = t_mad(t, both, half, sum[1]);
    ir_store(f, BUFFER_VALUES, ir_add(f, table, t_offset(t, sum[0], TABLE_CUMULATIVE)), area);
    ir_endloop(f, loop, (ir_ref[2]){after, area}, 2);
    ir_store(f, BUFFER_VALUES, t_offset(t, table, TABLE_AREA), sum[1]);
    ir_ref k = t_u32(t, 0);
    loop = ir_loop(f, &k, 1);
    ir_while(f, ir_lt(f, k, end));
    ir_ref at = ir_add(f, table, t_offset(t, k, TABLE_CUMULATIVE));
    ir_store(f, BUFFER_VALUES, at, t_ratio(t, ir_load(f, IR_F32, BUFFER_VALUES, at), sum[1]));
    ir_ref next = ir_add(f, k, one);
    ir_endloop(f, loop, &next, 1);
}

static const plugin_param tab_params[] = {
    {"values", PLUGIN_STRING, PLUGIN_REQUIRED, NULL, 0, 0,
     "at equal distances over the cosine, from back to on"},
};
const phase_class phase_tabphase = {
    .base = {.plugin = {PLUGIN_PHASE, "tabphase", PLUGIN_TABLE(tab_params), PLUGIN_NONE,
                        "a table over the cosine"},
             .data_name = "values",
             .extra_words = EXTRA_WORDS,
             .load = tab_load,
             .extra = tab_extra,
             .table_steps = 1,
             .table_words = tab_words,
             .table_lanes = tab_lanes,
             .table_step = tab_step},
    .sample = tab_sample,
    .value = tab_value,
    .pdf = tab_pdf,
};
