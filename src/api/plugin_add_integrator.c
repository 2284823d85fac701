/* SPDX-License-Identifier: BSD-3-Clause
 * backlight_integrator.h: an application's integrators as classes of the renderer, and what their functions
 * ask of the scene (render/own_integrator.h). */
#include "api/plugin_add.h"
#include "render/print.h"

#include <backlight/backlight_integrator.h>

typedef struct added_integrator {
    integrator_class cls; /* first */
    bl_integrator_plugin plugin;
} added_integrator;

/* ---- the renderer's functions, in terms of the application's ---- */

static bl_trace_ray outer_ray(const ray *r)
{
    return (bl_trace_ray){outer3(r->o), outer3(r->d), outer(r->tmax)};
}
static ray inner_ray(bl_trace_ray r) { return (ray){inner3(r.o), inner3(r.d), inner(r.tmax)}; }

static const bl_integrator_plugin *plugin_of(const integrator_class *cls)
{
    return &((const added_integrator *)(const void *)cls)->plugin;
}

static color added_radiance(own_trace *t, const integrator_class *cls, const ray *r)
{
    bl_plugin_trace trace = {.t = own_tracer(t), .own = t, .user = plugin_of(cls)->user};
    return plugin_returned_color(&trace, "radiance", plugin_of(cls)->radiance(&trace, outer_ray(r)));
}

static color added_adjoint(own_trace *t, const integrator_class *cls, const ray *r, color dL)
{
    bl_plugin_trace trace = {.t = own_tracer(t), .own = t, .user = plugin_of(cls)->user};
    ir_ref rgb[3];
    light_shown_adjoint(trace.t, dL, rgb);
    const bl_plugin_color given = {{outer(rgb[0]), outer(rgb[1]), outer(rgb[2])}};
    return plugin_returned_color(&trace, "adjoint", plugin_of(cls)->adjoint(&trace, outer_ray(r), given));
}

/* ---- what they ask ---- */

/* Whether t is of an integrator's function. Else sets the trace's error. */
static bool asks(bl_plugin_trace *t)
{
    if (!t->own)
        ir_fail(t->t->f, "bl_trace_..: only an integrator's functions can ask the scene");
    return t->own != NULL;
}

double bl_trace_setting(bl_plugin_trace *t, uint32_t parameter)
{
    return asks(t) ? own_setting(t->own, parameter) : 0;
}

void bl_trace_random(bl_plugin_trace *t, bl_ir_value place, bl_ir_value u[4])
{
    random4 r = asks(t) ? own_random(t->own, inner(place)) : (random4){{{0}}};
    for (int k = 0; k < 4; k++)
        u[k] = outer(r.u[k]);
}

bl_surface bl_trace_closest(bl_plugin_trace *t, bl_trace_ray r)
{
    const ray given = inner_ray(r);
    if (!asks(t))
        return (bl_surface){.id = 0};
    own_surface s = own_closest(t->own, &given);
    return (bl_surface){outer(s.valid), outer(s.distance), outer3(s.p), outer3(s.ng),
                        outer3(s.ns),   outer2(s.uv),      s.id};
}

bl_ir_value bl_trace_any(bl_plugin_trace *t, bl_trace_ray r)
{
    const ray given = inner_ray(r);
    return asks(t) ? outer(own_any(t->own, &given)) : (bl_ir_value){0};
}

bl_trace_ray bl_trace_leave(bl_plugin_trace *t, const bl_surface *s, bl_plugin_vec3 d)
{
    if (!asks(t))
        return (bl_trace_ray){.tmax = {0}};
    const ray r = own_leave(t->own, s->id, inner3(d));
    return outer_ray(&r);
}

bl_plugin_vec3 bl_trace_to_local(bl_plugin_trace *t, const bl_surface *s, bl_plugin_vec3 v)
{
    return outer3(asks(t) ? own_to_local(t->own, s->id, inner3(v)) : v3_none());
}

bl_plugin_vec3 bl_trace_to_world(bl_plugin_trace *t, const bl_surface *s, bl_plugin_vec3 v)
{
    return outer3(asks(t) ? own_to_world(t->own, s->id, inner3(v)) : v3_none());
}

static color no_color(void) { return color_all((ir_ref){0}); }

bl_plugin_color bl_trace_emission(bl_plugin_trace *t, const bl_surface *s)
{
    return plugin_color(t->t, asks(t) ? own_emission(t->own, s->id) : no_color());
}

bl_ir_value bl_trace_emission_pdf(bl_plugin_trace *t, const bl_surface *s)
{
    return asks(t) ? outer(own_emission_pdf(t->own, s->id)) : (bl_ir_value){0};
}

static void three(const bl_ir_value u[3], ir_ref out[3])
{
    for (int k = 0; k < 3; k++)
        out[k] = inner(u[k]);
}

bl_bsdf_draw bl_trace_bsdf_sample(bl_plugin_trace *t, const bl_surface *s, const bl_ir_value u[3])
{
    ir_ref numbers[3];
    three(u, numbers);
    if (!asks(t))
        return (bl_bsdf_draw){.id = 0};
    own_draw d = own_bsdf_sample(t->own, s->id, numbers);
    return (bl_bsdf_draw){outer3(d.d), outer(d.pdf), outer(d.delta), outer(d.eta), d.id};
}

bl_plugin_color bl_trace_bsdf_drawn(bl_plugin_trace *t, const bl_bsdf_draw *draw)
{
    return plugin_color(t->t, asks(t) ? own_bsdf_drawn(t->own, draw->id) : no_color());
}

bl_plugin_color bl_trace_bsdf_value(bl_plugin_trace *t, const bl_surface *s, bl_plugin_vec3 d)
{
    return plugin_color(t->t, asks(t) ? own_bsdf_value(t->own, s->id, inner3(d)) : no_color());
}

bl_ir_value bl_trace_bsdf_pdf(bl_plugin_trace *t, const bl_surface *s, bl_plugin_vec3 d)
{
    return asks(t) ? outer(own_bsdf_pdf(t->own, s->id, inner3(d))) : (bl_ir_value){0};
}

bl_light_draw bl_trace_light_sample(bl_plugin_trace *t, const bl_surface *s, const bl_ir_value u[3])
{
    ir_ref numbers[3];
    three(u, numbers);
    if (!asks(t))
        return (bl_light_draw){.id = 0};
    own_draw d = own_light_sample(t->own, s->id, numbers);
    return (bl_light_draw){outer3(d.d), outer(d.distance), outer(d.pdf), outer(d.delta), d.id};
}

bl_ir_value bl_trace_light_seen(bl_plugin_trace *t, const bl_light_draw *light, bl_ir_value wanted)
{
    return asks(t) ? outer(own_light_seen(t->own, light->id, inner(wanted))) : (bl_ir_value){0};
}

bl_plugin_color bl_trace_light_radiance(bl_plugin_trace *t, const bl_light_draw *light)
{
    return plugin_color(t->t, asks(t) ? own_light_radiance(t->own, light->id) : no_color());
}

bool bl_trace_suspend(bl_plugin_trace *t, bool on) { return asks(t) && own_suspend(t->own, on); }

void bl_trace_print(bl_plugin_trace *t, bl_ir_value when, const char *format, const bl_ir_value *values,
                    uint32_t count)
{
    ir_ref given[BL_PRINT_VALUES_MOST];
    _Static_assert((int)BL_PRINT_VALUES_MOST == (int)PRINT_VALUES_MOST, "one bound for both");
    for (uint32_t k = 0; k < count && k < BL_PRINT_VALUES_MOST; k++)
        given[k] = inner(values[k]);
    if (t->own)
        own_print(t->own, inner(when), format, given, count);
    else
        print_of_material(t->t, inner(when), format, given, count);
}

/* ---- adding ---- */

bl_result bl_plugin_add_integrator(bl_context *ctx, const bl_integrator_plugin *p)
{
    bl_error err = {0};
    const plugin_sheet sheet = {
        .category = PLUGIN_INTEGRATOR,
        .name = p->name,
        .help = p->help,
        .params = p->parameters,
        .count = p->parameter_count,
        .complete = p->radiance != NULL,
    };
    if (plugin_check(ctx, &sheet, &err) != BL_OK)
        return context_fail(ctx, &err);
    for (uint32_t k = 0; k < p->parameter_count; k++)
        if (p->parameters[k].kind != BL_PLUGIN_NUMBER) {
            error_set(&err, BL_ERROR_ARGUMENT, "plugin \"%s\": parameter \"%s\" of an integrator is a number",
                      p->name, p->parameters[k].name);
            return context_fail(ctx, &err);
        }
    added_integrator *a = arena_alloc(&ctx->memory, sizeof *a);
    plugin_param *table;
    a->plugin = *p;
    a->cls = (integrator_class){
        .base.plugin = plugin_describe(&ctx->memory, &sheet, &table),
        .radiance = added_radiance,
        .adjoint = p->adjoint ? added_adjoint : NULL,
    };
    a->cls.base.only_rgb = true;
    plugin_add_class(ctx, &a->cls.base.plugin);
    return BL_OK;
}
