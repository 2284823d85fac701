/* SPDX-License-Identifier: BSD-3-Clause
 * backlight_plugin.h: an application's lights as classes of the renderer. A light on a shape is sampled as
 * the renderer's own are, by its shape; what an application brings is how much it glows, and of other lights
 * also where they are. */
#include "api/plugin_add.h"
#include "render/classes.h"

typedef struct added_light {
    emitter_class cls; /* first */
    bl_light_plugin plugin;
} added_light;

static const bl_light_plugin *light_plugin(const class_node *n)
{
    return &((const added_light *)(const void *)n->cls)->plugin;
}

static bl_plugin_trace trace_of(tracer *t, const class_node *n, ir_ref record)
{
    return (bl_plugin_trace){.t = t, .node = n, .record = record, .user = light_plugin(n)->user};
}

/* ---- on a shape: words of the record are enum area_word ---- */

static emitter_sample shape_sample(tracer *t, const class_node *n, ir_ref record, vec3 ref, ir_ref u1,
                                   ir_ref u2)
{
    ir_ref data = t_word(t, record, n->extra_word + AREA_SHAPE_DATA),
           inverse_area = t_real(t, record, n->extra_word + AREA_INVERSE_AREA);
    return shape_kinds[n->variant]->sample(t, data, inverse_area, ref, u1, u2);
}

static ir_ref shape_pdf(tracer *t, const class_node *n, ir_ref record, const emitter_hit *hit)
{
    ir_ref data = t_word(t, record, n->extra_word + AREA_SHAPE_DATA),
           inverse_area = t_real(t, record, n->extra_word + AREA_INVERSE_AREA);
    return shape_kinds[n->variant]->pdf(t, data, inverse_area, hit);
}

/* ---- elsewhere: the only word of the record is a distance beyond everything ---- */

static emitter_sample place_sample(tracer *t, const class_node *n, ir_ref record, vec3 ref, ir_ref u1,
                                   ir_ref u2)
{
    bl_plugin_trace trace = trace_of(t, n, record);
    const bl_light_plugin *p = light_plugin(n);
    bl_light_sample s = p->sample(&trace, outer3(ref), outer(u1), outer(u2));
    ir_ref zero = t_f32(t, 0), distance = inner(s.distance);
    bool sky = p->kind == BL_LIGHT_SKY;
    vec3 d = plugin_returned_3(&trace, "sample", s.d);
    vec2 uv = sky ? plugin_returned_2(&trace, "locate", p->locate(&trace, s.d)) : (vec2){zero, zero};
    return (emitter_sample){
        d,
        ir_is_none(distance) || sky ? t_real(t, record, n->extra_word)
                                    : plugin_returned(&trace, "sample", s.distance, IR_F32),
        sky ? plugin_returned(&trace, "sample", s.pdf, IR_F32) : t_f32(t, 1),
        uv,
        ir_bool(t->f, true),
        .n = v3_none(),
    };
}

static ir_ref sky_pdf(tracer *t, const class_node *n, ir_ref record, const emitter_hit *hit)
{
    bl_plugin_trace trace = trace_of(t, n, record);
    return plugin_returned(&trace, "pdf", light_plugin(n)->pdf(&trace, outer3(hit->d)), IR_F32);
}

static vec2 sky_locate(tracer *t, const class_node *n, ir_ref record, vec3 d)
{
    bl_plugin_trace trace = trace_of(t, n, record);
    return plugin_returned_2(&trace, "locate", light_plugin(n)->locate(&trace, outer3(d)));
}

static void place_extra(const plan *p, const scene_object *o, uint32_t *words)
{
    (void)o;
    words[0] = float_word(4 * p->scene->radius + 1);
}

/* ---- any ---- */

static color light_radiance(tracer *t, const class_node *n, ir_ref record, vec2 uv, ir_ref distance,
                            ir_ref facing)
{
    bl_plugin_trace trace = trace_of(t, n, record);
    color r = plugin_returned_color(&trace, "radiance",
                                    light_plugin(n)->radiance(&trace, outer2(uv), outer(distance)));
    return light_plugin(n)->kind == BL_LIGHT_SHAPE ? color_select(t, facing, r, color_all(t_f32(t, 0))) : r;
}

/* Nobody knows the power of an application's lights. So they all count alike in a choice by power. */
static ir_ref light_power(tracer *t, const class_node *n, ir_ref record)
{
    (void)n, (void)record;
    return t_f32(t, 1);
}

static emitter_class light_class(const bl_light_plugin *p)
{
    emitter_class c = {.sample = place_sample,
                       .radiance = light_radiance,
                       .pdf = emitter_no_density,
                       .power = light_power,
                       .base.extra_words = 1,
                       .base.extra = place_extra};
    switch (p->kind) {
    case BL_LIGHT_SHAPE:
        c.on_shape = true, c.sample = shape_sample, c.pdf = shape_pdf, c.base.extra_words = AREA_WORDS,
        c.base.extra = NULL;
        break;
    case BL_LIGHT_POINT:
        c.delta = true;
        break;
    case BL_LIGHT_SKY:
        c.environment = true, c.pdf = sky_pdf, c.locate = sky_locate;
        break;
    }
    return c;
}

static bool is_complete(const bl_light_plugin *p)
{
    bool sky = p->kind == BL_LIGHT_SKY;
    return p->radiance && (p->kind == BL_LIGHT_SHAPE || p->sample) && (!sky || (p->pdf && p->locate));
}

bl_result bl_plugin_add_light(bl_context *ctx, const bl_light_plugin *p)
{
    bl_error err = {0};
    if ((unsigned)p->kind > BL_LIGHT_SKY) {
        error_set(&err, BL_ERROR_ARGUMENT, "plugin \"%s\": a light of kind %d, which does not exist",
                  p->name ? p->name : "", (int)p->kind);
        return context_fail(ctx, &err);
    }
    const plugin_sheet sheet = {
        .category = PLUGIN_EMITTER,
        .name = p->name,
        .help = p->help,
        .params = p->parameters,
        .count = p->parameter_count,
        .own = 1,
        .complete = is_complete(p),
    };
    if (plugin_check(ctx, &sheet, &err) != BL_OK)
        return context_fail(ctx, &err);
    for (uint32_t k = 0; k < p->parameter_count; k++)
        if (strcmp(p->parameters[k].name, "sampling_weight") == 0) {
            error_set(&err, BL_ERROR_ARGUMENT,
                      "plugin \"%s\": every light has the parameter \"sampling_weight\" already", p->name);
            return context_fail(ctx, &err);
        }
    added_light *a = arena_alloc(&ctx->memory, sizeof *a);
    plugin_param *table;
    a->plugin = *p;
    a->cls = light_class(p);
    a->cls.base.plugin = plugin_describe(&ctx->memory, &sheet, &table);
    a->cls.base.plugin.slots = emitter_slots,
    a->cls.base.plugin.slot_count = sizeof emitter_slots / sizeof *emitter_slots;
    table[sheet.count] = (plugin_param){
        "sampling_weight", PLUGIN_FLOAT, 0, "1", 0, 1e9, "how often it is sampled, against other lights"};
    a->cls.base.only_rgb = true;
    plugin_add_class(ctx, &a->cls.base.plugin);
    return BL_OK;
}
