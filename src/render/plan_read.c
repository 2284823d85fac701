/* SPDX-License-Identifier: BSD-3-Clause
 * Traced reads of parameters, derived values and nested objects, from the record of an instance. */
#include "render/classes.h"

/* The least probability with which a part is chosen whose share is being differentiated. Where the share is 0
 * the estimate of its derivative has a variance of 1 / probability. */
#define LEAST_PROBABILITY 0.1f

tracer plan_tracer(const plan *p, ir_func *f)
{
    const render_mode *mode = p->scene->mode;
    return (tracer){.f = f, .plan = p, .light = mode->light, .channels = mode->channels};
}

ir_ref plan_value(tracer *t, ir_ref value, ir_ref gradient, bool requested, ir_ref element)
{
    ir_func *f = t->f;
    ir_ref index = ir_add(f, value, element);
    if (t->differentiated && t->frozen)
        return ir_load(f, IR_F32, BUFFER_FROZEN, index);
    if (!t->differentiated || !requested)
        return ir_load(f, IR_F32, BUFFER_VALUES, index);
    return ir_dload(f, BUFFER_VALUES, index, ir_element(f, gradient, element));
}

/* How values of materials, lights, textures and sensors are read: those stay where kernels differentiate what
 * moves shapes alone. */
static tracer held(tracer *t) { return t->plan->split == PLAN_SHAPES ? t_deciding(t) : *t; }

ir_ref plan_load(tracer *t, const class_node *n, ir_ref record, uint32_t word, uint32_t slot, ir_ref element)
{
    bool requested = n->requested >> slot & 1;
    tracer now = held(t);
    ir_ref value = t_word(t, record, word),
           gradient = now.differentiated && requested ? t_word(t, record, word + 1) : value;
    return plan_value(&now, value, gradient, requested, element);
}

void plan_load_rgb(tracer *t, const class_node *n, ir_ref record, uint32_t word, ir_ref k, ir_ref rgb[3])
{
    ir_ref first = ir_mul(t->f, k, t_u32(t, 3));
    for (uint32_t c = 0; c < 3; c++)
        rgb[c] = plan_load(t, n, record, word, PLAN_DATA_SLOT, t_offset(t, first, c));
}

void plan_load_quads(tracer *t, const class_node *n, ir_ref record, uint32_t word, ir_ref first,
                     uint32_t count, ir_ref *out)
{
    ir_func *f = t->f;
    tracer now = held(t);
    bool requested = now.differentiated && !t->frozen && n->requested >> PLAN_DATA_SLOT & 1;
    ir_ref base = t_aligned(t, ir_add(f, t_word(t, record, word), first));
    ir_ref gradient = requested ? t_word(t, record, word + 1) : base;
    for (uint32_t c = 0; c < count; c++) {
        ir_ref at = t_offset(t, base, c);
        out[c] = requested ? ir_dload(f, BUFFER_VALUES, at, ir_element(f, gradient, t_offset(t, first, c)))
                           : ir_load(f, IR_F32,
                                     now.differentiated && t->frozen ? BUFFER_FROZEN : BUFFER_VALUES, at);
    }
}

static uint32_t param_of(const class_node *n, const char *param)
{
    for (uint32_t k = 0; k < n->cls->plugin.param_count; k++)
        if (strcmp(n->cls->plugin.params[k].name, param) == 0)
            return k;
    BL_ASSERT(false, "plugin %s has no parameter %s", n->cls->plugin.name, param);
}

color plan_color(tracer *t, const class_node *n, ir_ref record, const char *param)
{
    uint32_t k = param_of(n, param);
    ir_ref rgb[3];
    for (uint32_t c = 0; c < 3; c++)
        rgb[c] = plan_load(t, n, record, n->field[k], k, t_u32(t, c));
    return light_of_rgb(t, rgb);
}

vec3 plan_vector(tracer *t, const class_node *n, ir_ref record, const char *param)
{
    tracer raw = light_raw(t);
    color c = plan_color(&raw, n, record, param);
    return v3(c.c[0], c.c[1], c.c[2]);
}

ir_ref plan_number(tracer *t, const class_node *n, ir_ref record, const char *param)
{
    uint32_t k = param_of(n, param);
    return plan_load(t, n, record, n->field[k], k, t_u32(t, 0));
}

ir_ref plan_derived(tracer *t, const class_node *n, ir_ref record, ir_ref element)
{
    return plan_load(t, n, record, n->derived_word, PLAN_DERIVED_SLOT, element);
}

ir_ref plan_shape_data(tracer *t, uint32_t shape)
{
    return t_word(t, t_word(t, t_u32(t, 0), HEADER_SHAPES), shape * SHAPE_WORDS + SHAPE_DATA);
}

ir_ref plan_table_at(tracer *t, const class_node *n, ir_ref record)
{
    return t_word(t, record, n->table_word);
}

bool plan_given(const class_node *n, const char *param) { return n->param_child[param_of(n, param)] != NULL; }

color plan_texture(tracer *t, const class_node *n, ir_ref record, const char *param, vec2 uv)
{
    uint32_t k = param_of(n, param);
    const class_node *child = n->param_child[k];
    return ((const texture_class *)child->cls)->eval(t, child, t_offset(t, record, n->field[k]), uv);
}

color plan_volume(tracer *t, const class_node *n, ir_ref record, const char *param, vec3 p)
{
    uint32_t k = param_of(n, param);
    return volume_of(n->param_child[k])->eval(t, n->param_child[k], t_offset(t, record, n->field[k]), p);
}

ir_ref plan_texture_1(tracer *t, const class_node *n, ir_ref record, const char *param, vec2 uv)
{
    uint32_t k = param_of(n, param);
    const class_node *child = n->param_child[k];
    const texture_class *cls = (const texture_class *)child->cls;
    ir_ref at = t_offset(t, record, n->field[k]);
    tracer number = light_off_path(t); /* a number has no wavelengths: it is that of the colour */
    return cls->eval_1 ? cls->eval_1(&number, child, at, uv)
                       : color_luminance(&number, cls->eval(&number, child, at, uv));
}

vec2 plan_texture_slope(tracer *t, const class_node *n, ir_ref record, const char *param, vec2 uv)
{
    uint32_t k = param_of(n, param);
    const class_node *child = n->param_child[k];
    return ((const texture_class *)child->cls)->slope(t, child, t_offset(t, record, n->field[k]), uv);
}

bool plan_has(const class_node *n, const char *param)
{
    uint32_t k = param_of(n, param);
    return !(n->absent >> k & 1) || plan_requests(n->param_child[k]);
}

ir_ref plan_weight(tracer *t, const class_node *n, ir_ref record, const char *param, vec2 uv)
{
    return plan_has(n, param) ? plan_texture_1(t, n, record, param, uv) : t_f32(t, 0);
}

bool plan_wants(const class_node *n, const char *param)
{
    if (n->cls->data_name && strcmp(param, n->cls->data_name) == 0)
        return n->requested >> PLAN_DATA_SLOT & 1;
    uint32_t k = param_of(n, param);
    return n->param_child[k] ? plan_requests(n->param_child[k]) : n->requested >> k & 1;
}

ir_ref plan_probability(tracer *t, const class_node *n, const char *param, ir_ref share)
{
    return plan_wants(n, param) ? t_clamp(t, share, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY) : share;
}
