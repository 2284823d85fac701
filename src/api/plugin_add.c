/* SPDX-License-Identifier: BSD-3-Clause
 * backlight_plugin.h: an application's plugins as classes of the renderer. Each added class begins with the
 * renderer's class struct, so that its functions find the application's through the class node that they are
 * given; references and public values are the same thing under two names (ir.c). */
#include "api/plugin_add.h"
#include "render/plan.h"

#include <stdlib.h>
#include <string.h>

enum { PARAMS_MOST = 30 };
_Static_assert(PARAMS_MOST <= (int)PLAN_DERIVED_SLOT, "class_node has a bit per parameter");
_Static_assert((int)BL_PLUGIN_THROUGH == (int)LOBE_NULL, "numbers of lobes are the renderer's");
_Static_assert(sizeof(bl_plugin_vec2) == sizeof(vec2) && sizeof(bl_plugin_vec3) == sizeof(vec3),
               "values are references");

typedef struct added_bsdf {
    bsdf_class cls; /* first */
    bl_bsdf_plugin plugin;
} added_bsdf;

typedef struct added_texture {
    texture_class cls; /* first */
    bl_texture_plugin plugin;
} added_texture;

/* ---- for use in a plugin's functions ---- */

bl_ir_func *bl_plugin_func(bl_plugin_trace *t) { return (bl_ir_func *)t->t->f; }

bl_ir *bl_plugin_ir(bl_plugin_trace *t)
{
    t->ir.module = t->t->f->module;
    return &t->ir;
}

void *bl_plugin_user(bl_plugin_trace *t) { return t->user; }

void bl_plugin_fail(bl_plugin_trace *t, const char *why) { ir_fail(t->t->f, "%.500s", why ? why : ""); }

static const plugin_class *class_of(const bl_plugin_trace *t)
{
    return t->own ? &t->t->plan->scene->own->base.plugin : &t->node->cls->plugin;
}

ir_ref plugin_returned(bl_plugin_trace *t, const char *function, bl_ir_value v, ir_type type)
{
    ir_func *f = t->t->f;
    const char *misfit = ir_misfit(f, inner(v), type);
    if (misfit)
        ir_fail(f, "%s of \"%s\" returns %s where %s is expected", function, class_of(t)->name, misfit,
                ir_type_names[type]);
    return misfit ? (ir_ref){0} : inner(v);
}

vec2 plugin_returned_2(bl_plugin_trace *t, const char *function, bl_plugin_vec2 v)
{
    return (vec2){plugin_returned(t, function, v.x, IR_F32), plugin_returned(t, function, v.y, IR_F32)};
}

vec3 plugin_returned_3(bl_plugin_trace *t, const char *function, bl_plugin_vec3 v)
{
    return v3(plugin_returned(t, function, v.x, IR_F32), plugin_returned(t, function, v.y, IR_F32),
              plugin_returned(t, function, v.z, IR_F32));
}

bl_plugin_color plugin_color(tracer *t, color c)
{
    ir_ref rgb[3];
    light_shown(t, c, rgb);
    return (bl_plugin_color){{outer(rgb[0]), outer(rgb[1]), outer(rgb[2])}};
}

color plugin_returned_color(bl_plugin_trace *t, const char *function, bl_plugin_color c)
{
    ir_ref rgb[3];
    for (int k = 0; k < 3; k++)
        rgb[k] = plugin_returned(t, function, c.c[k], IR_F32);
    return light_of_rgb(t->t, rgb);
}

/* The name by which the renderer knows a parameter. If there is none of that kind, sets the trace's error and
 * returns NULL. */
static const char *param_name(bl_plugin_trace *t, const char *what, uint32_t parameter, plugin_kind kind)
{
    const plugin_class *cls = class_of(t);
    if (parameter < cls->param_count && cls->params[parameter].kind == kind)
        return cls->params[parameter].name;
    ir_fail(t->t->f, "%s: parameter %u of \"%s\" is not %s", what, parameter, cls->name,
            kind == PLUGIN_FLOAT ? "a number" : "a texture");
    return NULL;
}

bl_ir_value bl_plugin_number(bl_plugin_trace *t, uint32_t parameter)
{
    const char *name = param_name(t, "bl_plugin_number", parameter, PLUGIN_FLOAT);
    if (name && t->own)
        return outer(t_f32(t->t, (float)own_setting(t->own, parameter)));
    return outer(name ? plan_number(t->t, t->node, t->record, name) : t_f32(t->t, 0));
}

bl_plugin_color bl_plugin_texture(bl_plugin_trace *t, uint32_t parameter, bl_plugin_vec2 uv)
{
    const char *name = param_name(t, "bl_plugin_texture", parameter, PLUGIN_TEXTURED);
    color c = name ? plan_texture(t->t, t->node, t->record, name, inner2(uv)) : color_all(t_f32(t->t, 0));
    return plugin_color(t->t, c);
}

bl_ir_value bl_plugin_texture_1(bl_plugin_trace *t, uint32_t parameter, bl_plugin_vec2 uv)
{
    const char *name = param_name(t, "bl_plugin_texture_1", parameter, PLUGIN_TEXTURED);
    return outer(name ? plan_texture_1(t->t, t->node, t->record, name, inner2(uv)) : t_f32(t->t, 0));
}

bl_plugin_vec3 bl_plugin_cosine_hemisphere(bl_plugin_trace *t, bl_ir_value u1, bl_ir_value u2)
{
    return outer3(warp_cosine_hemisphere(t->t, inner(u1), inner(u2)));
}

bl_plugin_vec3 bl_plugin_uniform_sphere(bl_plugin_trace *t, bl_ir_value u1, bl_ir_value u2)
{
    return outer3(warp_uniform_sphere(t->t, inner(u1), inner(u2)));
}

/* ---- the renderer's functions, in terms of the application's ---- */

static const bl_bsdf_plugin *bsdf_plugin(const class_node *n)
{
    return &((const added_bsdf *)(const void *)n->cls)->plugin;
}

static bl_plugin_trace trace_of(const bsdf_context *ctx)
{
    return (bl_plugin_trace){
        .t = ctx->t, .node = ctx->n, .record = ctx->record, .user = bsdf_plugin(ctx->n)->user};
}

static ir_ref added_pdf(const bsdf_context *ctx, vec3 wo)
{
    bl_plugin_trace trace = trace_of(ctx);
    return plugin_returned(&trace, "pdf",
                           bsdf_plugin(ctx->n)->pdf(&trace, outer3(ctx->wi), outer3(wo), outer2(ctx->uv)),
                           IR_F32);
}

static bsdf_sample added_sample(const bsdf_context *ctx, ir_ref u_lobe, ir_ref u1, ir_ref u2)
{
    tracer *t = ctx->t;
    bl_plugin_trace trace = trace_of(ctx);
    if (bsdf_plugin(ctx->n)->choose) {
        bl_bsdf_choice c = bsdf_plugin(ctx->n)->choose(&trace, outer3(ctx->wi), outer2(ctx->uv),
                                                       outer(u_lobe), outer(u1), outer(u2));
        return (bsdf_sample){
            .wo = plugin_returned_3(&trace, "choose", c.wo),
            .pdf = plugin_returned(&trace, "choose", c.pdf, IR_F32),
            .eta = plugin_returned(&trace, "choose", c.eta, IR_F32),
            .delta = plugin_returned(&trace, "choose", c.discrete, IR_BOOL),
            .lobe = plugin_returned(&trace, "choose", c.lobe, IR_U32),
        };
    }
    vec3 wo = plugin_returned_3(&trace, "sample",
                                bsdf_plugin(ctx->n)->sample(&trace, outer3(ctx->wi), outer2(ctx->uv),
                                                            outer(u_lobe), outer(u1), outer(u2)));
    return (bsdf_sample){
        .wo = wo,
        .pdf = added_pdf(ctx, wo),
        .eta = t_f32(t, 1),
        .delta = ir_bool(t->f, false),
        .lobe = t_u32(t, 0),
    };
}

static color added_value(const bsdf_context *ctx, vec3 wo, ir_ref delta, ir_ref lobe)
{
    tracer *t = ctx->t;
    bl_plugin_trace trace = trace_of(ctx);
    color smooth = plugin_returned_color(
        &trace, "value", bsdf_plugin(ctx->n)->value(&trace, outer3(ctx->wi), outer3(wo), outer2(ctx->uv)));
    if (!bsdf_plugin(ctx->n)->coefficient)
        return smooth;
    color coefficient = plugin_returned_color(
        &trace, "coefficient",
        bsdf_plugin(ctx->n)->coefficient(&trace, outer3(ctx->wi), outer2(ctx->uv), outer(lobe)));
    return color_select(t, delta, coefficient, smooth);
}

static vec3 added_lobe_direction(const bsdf_context *ctx, ir_ref lobe)
{
    bl_plugin_trace trace = trace_of(ctx);
    return plugin_returned_3(
        &trace, "leads", bsdf_plugin(ctx->n)->leads(&trace, outer3(ctx->wi), outer2(ctx->uv), outer(lobe)));
}

static color added_eval(tracer *t, const class_node *n, ir_ref record, vec2 uv)
{
    const bl_texture_plugin *plugin = &((const added_texture *)(const void *)n->cls)->plugin;
    bl_plugin_trace trace = {.t = t, .node = n, .record = record, .user = plugin->user};
    return plugin_returned_color(&trace, "eval", plugin->eval(&trace, outer2(uv)));
}

/* ---- adding: tables are copied, after they were found to be right ---- */

static bool is_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    return name && *name && strlen(name) <= 64 && strspn(name, letters) == strlen(name);
}

/* Whether the default is right: one number, or three for a colour. */
static bool is_preset(const bl_plugin_param *p)
{
    const char *at = p->preset, *end = at + strlen(at);
    double number = 0;
    int count = 0;
    for (; at && at < end; count++) {
        at = number_scan(at + strspn(at, " ,"), end, &number);
        if (at && (p->least != 0 || p->most != 0) && (number < p->least || number > p->most))
            return false;
        at = at ? at + strspn(at, " ,") : NULL;
    }
    return at && (count == 1 || (count == 3 && p->kind == BL_PLUGIN_TEXTURE));
}

static bl_result check_param(const char *plugin, const bl_plugin_param *params, uint32_t k, bl_error *err)
{
    const bl_plugin_param *p = &params[k];
    if (!is_name(p->name))
        return error_set(err, BL_ERROR_ARGUMENT,
                         "plugin \"%s\": parameter %u needs a name of letters, digits and _", plugin, k);
    for (uint32_t i = 0; i < k; i++)
        if (strcmp(params[i].name, p->name) == 0)
            return error_set(err, BL_ERROR_ARGUMENT, "plugin \"%s\": two parameters are called \"%s\"",
                             plugin, p->name);
    if (p->kind != BL_PLUGIN_NUMBER && p->kind != BL_PLUGIN_TEXTURE)
        return error_set(err, BL_ERROR_ARGUMENT,
                         "plugin \"%s\": parameter \"%s\" is of kind %d, which does not exist", plugin,
                         p->name, (int)p->kind);
    if (!(p->least <= p->most))
        return error_set(err, BL_ERROR_ARGUMENT, "plugin \"%s\": parameter \"%s\" ranges from %g to %g",
                         plugin, p->name, p->least, p->most);
    if (p->preset && !is_preset(p))
        return error_set(err, BL_ERROR_ARGUMENT, "plugin \"%s\": \"%s\" is no default for parameter \"%s\"",
                         plugin, p->preset, p->name);
    return BL_OK;
}

bl_result plugin_check(const bl_context *ctx, const plugin_sheet *sheet, bl_error *err)
{
    const char *tag = plugin_category_names[sheet->category], *name = sheet->name;
    BL_ASSERT(sheet->own < PARAMS_MOST, "%u parameters of the renderer", sheet->own);
    if (!is_name(name))
        return error_set(err, BL_ERROR_ARGUMENT, "a plugin for <%s> needs a name of letters, digits and _",
                         tag);
    if (registry_find(&ctx->registry, sheet->category, name))
        return error_set(err, BL_ERROR_ARGUMENT, "there is a plugin \"%s\" for <%s> already", name, tag);
    if (!sheet->complete)
        return error_set(err, BL_ERROR_ARGUMENT, "plugin \"%s\": a function is missing", name);
    if (sheet->count > PARAMS_MOST - sheet->own || (sheet->count > 0 && !sheet->params))
        return error_set(err, BL_ERROR_ARGUMENT,
                         "plugin \"%s\": a table of %u parameters; it must be there, and %u are possible",
                         name, sheet->count, PARAMS_MOST - sheet->own);
    for (uint32_t k = 0; k < sheet->count; k++)
        TRY(check_param(name, sheet->params, k, err));
    return BL_OK;
}

static const char *copy_text(arena *memory, const char *chars)
{
    return arena_strdup(memory, chars ? chars : "");
}

static plugin_param copy_param(arena *memory, plugin_category category, const bl_plugin_param *p)
{
    bool texture = p->kind == BL_PLUGIN_TEXTURE;
    unsigned colour = category == PLUGIN_EMITTER ? PLUGIN_EMISSION : 0;
    unsigned number = category == PLUGIN_INTEGRATOR ? 0 : PLUGIN_DIFFERENTIABLE;
    unsigned flags =
        (texture ? p->most == 1 ? PLUGIN_REFLECTANCE : colour : number) | (p->preset ? 0 : PLUGIN_REQUIRED);
    return (plugin_param){
        .name = copy_text(memory, p->name),
        .kind = texture ? PLUGIN_TEXTURED : PLUGIN_FLOAT,
        .flags = flags,
        .preset = p->preset ? copy_text(memory, p->preset) : NULL,
        .least = texture ? 0 : p->least,
        .most = texture ? 0 : p->most,
        .help = copy_text(memory, p->help),
    };
}

plugin_class plugin_describe(arena *memory, const plugin_sheet *sheet, plugin_param **table)
{
    uint32_t count = sheet->count + sheet->own;
    *table = arena_alloc(memory, (count + 1) * sizeof **table);
    for (uint32_t k = 0; k < sheet->count; k++)
        (*table)[k] = copy_param(memory, sheet->category, &sheet->params[k]);
    return (plugin_class){
        .category = sheet->category,
        .name = copy_text(memory, sheet->name),
        .params = *table,
        .param_count = count,
        .help = copy_text(memory, sheet->help),
    };
}

void plugin_add_class(bl_context *ctx, const plugin_class *cls)
{
    array_push(&ctx->classes, cls);
    ctx->registry = (plugin_registry){ctx->classes.data, ctx->classes.count};
}

bl_result bl_plugin_add_bsdf(bl_context *ctx, const bl_bsdf_plugin *p)
{
    bl_error err = {0};
    bool sampled = p->choose ? p->coefficient != NULL : p->sample && !p->coefficient && !p->leads;
    const plugin_sheet sheet = {
        .category = PLUGIN_BSDF,
        .name = p->name,
        .help = p->help,
        .params = p->parameters,
        .count = p->parameter_count,
        .complete = sampled && p->pdf && p->value,
    };
    plugin_param *table;
    if (plugin_check(ctx, &sheet, &err) != BL_OK)
        return context_fail(ctx, &err);
    added_bsdf *a = arena_alloc(&ctx->memory, sizeof *a);
    a->plugin = *p;
    a->cls = (bsdf_class){
        .base.plugin = plugin_describe(&ctx->memory, &sheet, &table),
        .transmits = p->transmits,
        .null = p->through,
        .lobe_direction = p->leads ? added_lobe_direction : NULL,
        .sample = added_sample,
        .pdf = added_pdf,
        .value = added_value,
    };
    a->cls.base.only_rgb = true;
    plugin_add_class(ctx, &a->cls.base.plugin);
    return BL_OK;
}

bl_result bl_plugin_add_texture(bl_context *ctx, const bl_texture_plugin *p)
{
    bl_error err = {0};
    const plugin_sheet sheet = {
        .category = PLUGIN_TEXTURE,
        .name = p->name,
        .help = p->help,
        .params = p->parameters,
        .count = p->parameter_count,
        .complete = p->eval != NULL,
    };
    plugin_param *table;
    if (plugin_check(ctx, &sheet, &err) != BL_OK)
        return context_fail(ctx, &err);
    added_texture *a = arena_alloc(&ctx->memory, sizeof *a);
    a->plugin = *p;
    a->cls = (texture_class){
        .base.plugin = plugin_describe(&ctx->memory, &sheet, &table),
        .eval = added_eval,
    };
    a->cls.base.only_rgb = true;
    plugin_add_class(ctx, &a->cls.base.plugin);
    return BL_OK;
}
