/* SPDX-License-Identifier: BSD-3-Clause
 * The functions of materials and phase functions that a kernel calls, for each class of the plan: samples and
 * densities, detached; values, detached and differentiated; what attached paths want of lobes. */
#include "render/integrator/vertex/plugin_functions.h"
#include "render/integrator/vertex/vertex.h"

/* The material of an instance at a surface. The function goes on at `on` and `wavelengths`, which have to
 * last. */
static bsdf_context material_at(plugin_function *p, const class_node *n, vec3 wi, vec2 uv, const surface *on,
                                const wavelength_set *wavelengths)
{
    p->t.surface = on, p->t.wavelengths = wavelengths;
    return (bsdf_context){&p->t, n, p->record, wi, uv};
}

static ir_func *make_bsdf_sample(walk *w, const class_node *n)
{
    plugin_function p = plugin_function_begin(w, "bsdf_sample", false);
    tracer *t = &p.t;
    bsdf_sample_arguments a = {0};
    bsdf_sample_visit(w, &p.in, &a);
    t->print = walk_prints(w) ? &a.print : NULL;
    bsdf_context ctx = material_at(&p, n, a.wi, a.uv, &a.on, &a.wavelengths);
    bsdf_sample_results r = {.share = a.share};
    if (plan_disperses(n)) {
        dispersion_sample(&ctx, &a, &r);
    } else {
        r.light_pdf = bsdf_of(n)->pdf(&ctx, a.to_light);
        r.sample = bsdf_of(n)->sample(&ctx, a.u[0], a.u[1], a.u[2]);
    }
    collision_z_visit(w, &p.in, &a.collision_z);
    if (w->wants.attached_lobes)
        r.roughness = bsdf_roughness(&ctx, (ir_ref){0});
    if (w->wants.attached_lobes && bsdf_mixes(n)) {
        bsdf_sample *s = &r.sample;
        ir_ref attached = ir_or(p.f, s->delta, bsdf_smooth_enough(t, bsdf_roughness(&ctx, s->lobe)));
        s->lobe = ir_select(p.f, attached, s->lobe, ir_or(p.f, s->lobe, t_u32(t, LOBE_DETACHED)));
    }
    bsdf_sample_results_visit(w, &p.out, &r);
    return plugin_function_end(&p);
}

bool vertex_some_mix(const plan *p)
{
    bool any = false;
    for (uint32_t i = 0; i < p->bsdfs.count; i++)
        any |= bsdf_mixes(p->bsdfs.data[i]);
    return any;
}

/* A phase function in the place of a material. Its directions are in the world. */
static ir_func *make_phase_sample(walk *w, const class_node *n)
{
    plugin_function p = plugin_function_begin(w, "phase_sample", false);
    tracer *t = &p.t;
    bsdf_sample_arguments a = {0};
    bsdf_sample_visit(w, &p.in, &a), collision_z_visit(w, &p.in, &a.collision_z);
    t->wavelengths = &a.wavelengths;
    const phase_class *cls = phase_of(n);
    vec3 at = v3(a.uv.x, a.uv.y, a.collision_z);
    bsdf_sample_results r = {.sample.wo = cls->sample(t, n, p.record, a.wi, at, a.u), .share = a.share};
    r.light_pdf = cls->pdf(t, n, p.record, a.wi, a.to_light, at);
    r.sample.pdf = cls->pdf(t, n, p.record, a.wi, r.sample.wo, at);
    r.sample.eta = t_f32(t, 1), r.sample.delta = ir_bool(p.f, false), r.sample.lobe = t_u32(t, 0);
    if (w->wants.attached_lobes)
        r.roughness = t_f32(t, BSDF_NEVER_ATTACHED);
    bsdf_sample_results_visit(w, &p.out, &r);
    return plugin_function_end(&p);
}

static ir_func *make_bsdf_value(walk *w, const class_node *n, bool differentiated)
{
    plugin_function p =
        plugin_function_begin(w, differentiated ? "bsdf_value_differentiated" : "bsdf_value", differentiated);
    tracer *t = &p.t;
    bsdf_value_arguments a = {0};
    bsdf_value_visit(w, &p.in, &a);
    t->print = walk_prints(w) ? &a.print : NULL;
    bsdf_context ctx = material_at(&p, n, a.wi, a.uv, &a.on, &a.wavelengths);
    bsdf_value_results r;
    ir_ref any = t_u32(t, 0), no = ir_bool(p.f, false);
    bool disperses = plan_disperses(n);
    r.for_light = disperses ? dispersion_value(&ctx, a.hero, a.to_light, no, any)
                            : bsdf_of(n)->value(&ctx, a.to_light, no, any);
    r.for_sample = disperses ? dispersion_value(&ctx, a.hero, a.wo, a.delta, a.lobe)
                             : bsdf_of(n)->value(&ctx, a.wo, a.delta, a.lobe);
    collision_z_visit(w, &p.in, &a.collision_z);
    bsdf_value_results_visit(w, &p.out, &r);
    return plugin_function_end(&p);
}

static ir_ref filled(tracer *t, ir_ref entry) { return ir_is_none(entry) ? t_f32(t, 0) : entry; }

/* Classes differ in which entries are known to be 0, so all are returned. */
static ir_func *make_bsdf_polarized(walk *w, const class_node *n, bool differentiated)
{
    plugin_function p = plugin_function_begin(
        w, differentiated ? "bsdf_polarized_differentiated" : "bsdf_polarized", differentiated);
    tracer *t = &p.t;
    bsdf_value_arguments a = {0};
    bsdf_value_visit(w, &p.in, &a), collision_z_visit(w, &p.in, &a.collision_z);
    t->print = walk_prints(w) ? &a.print : NULL;
    bsdf_context ctx = material_at(&p, n, a.wi, a.uv, &a.on, &a.wavelengths);
    ir_ref no = ir_bool(p.f, false), any = t_u32(t, 0);
    bool disperses = plan_disperses(n);
    bsdf_polarized light = disperses ? dispersion_polarized(&ctx, a.hero, a.to_light, no, any)
                                     : bsdf_polarize(&ctx, a.to_light, no, any);
    bsdf_polarized_results r = {.light_axis = light.axis};
    r.sample = disperses ? dispersion_polarized(&ctx, a.hero, a.wo, a.delta, a.lobe)
                         : bsdf_polarize(&ctx, a.wo, a.delta, a.lobe);
    for (uint32_t c = 0; c < t->channels; c++)
        for (int k = 0; k < 16; k++) {
            r.sample.m[c].m[k / 4][k % 4] = filled(t, r.sample.m[c].m[k / 4][k % 4]);
            r.light[c].s[k / 4] = filled(t, light.m[c].m[k / 4][0]);
        }
    bsdf_polarized_results_visit(w, &p.out, &r);
    return plugin_function_end(&p);
}

/* A phase function in the place of a material: declares its arguments, and evaluates it toward the light and
 * along the sample. *a has to last. */
static void phase_values(walk *w, plugin_function *p, const class_node *n, bsdf_value_arguments *a,
                         ir_ref *for_light, ir_ref *for_sample)
{
    bsdf_value_visit(w, &p->in, a), collision_z_visit(w, &p->in, &a->collision_z);
    p->t.wavelengths = &a->wavelengths;
    const vec3 at = v3(a->uv.x, a->uv.y, a->collision_z);
    *for_light = phase_of(n)->value(&p->t, n, p->record, a->wi, a->to_light, at);
    *for_sample = phase_of(n)->value(&p->t, n, p->record, a->wi, a->wo, at);
}

/* Phase functions depolarise, as Mitsuba's do. */
static ir_func *make_phase_polarized(walk *w, const class_node *n, bool differentiated)
{
    plugin_function p = plugin_function_begin(
        w, differentiated ? "phase_polarized_differentiated" : "phase_polarized", differentiated);
    tracer *t = &p.t;
    ir_ref zero = t_f32(t, 0), for_light, for_sample;
    bsdf_value_arguments a = {0};
    phase_values(w, &p, n, &a, &for_light, &for_sample);
    bsdf_polarized_results r = {.sample = {.axis = stokes_basis(t, a.wi), .depolarizes = ir_bool(p.f, true)}};
    r.light_axis = r.sample.axis;
    for (uint32_t c = 0; c < t->channels; c++)
        for (int k = 0; k < 16; k++) {
            r.sample.m[c].m[k / 4][k % 4] = k == 0 ? for_sample : zero;
            r.light[c].s[k / 4] = k < 4 ? for_light : zero;
        }
    bsdf_polarized_results_visit(w, &p.out, &r);
    return plugin_function_end(&p);
}

static ir_func *make_phase_value(walk *w, const class_node *n, bool differentiated)
{
    plugin_function p = plugin_function_begin(
        w, differentiated ? "phase_value_differentiated" : "phase_value", differentiated);
    bsdf_value_arguments a = {0};
    ir_ref for_light, for_sample;
    phase_values(w, &p, n, &a, &for_light, &for_sample);
    bsdf_value_results r = {color_all(for_light), color_all(for_sample)};
    bsdf_value_results_visit(w, &p.out, &r);
    return plugin_function_end(&p);
}

static ir_func *make_bsdf_colour(walk *w, const class_node *n, bool differentiated, bsdf_colour *of,
                                 const char *name)
{
    plugin_function p = plugin_function_begin(w, name, differentiated);
    tracer *t = &p.t;
    bsdf_color_arguments a = {0};
    bsdf_color_visit(w, &p.in, &a);
    const bsdf_context ctx = material_at(&p, n, a.wi, a.uv, &a.on, &a.wavelengths);
    color c = plan_disperses(n) ? dispersion_colour(&ctx, of) : of(&ctx);
    ir_return(p.f, c.c, t->channels);
    return p.f;
}

static ir_func *make_bsdf_lobe_direction(walk *w, const class_node *n, bool differentiated)
{
    plugin_function p = plugin_function_begin(w, "bsdf_turn", differentiated);
    bsdf_lobe_direction_arguments a = {0};
    bsdf_lobe_direction_visit(w, &p.in, &a);
    const bsdf_context ctx = material_at(&p, n, a.wi, a.uv, &a.on, &a.wavelengths);
    bsdf_lobe_direction_results r = {.d = bsdf_lobe_direction(&ctx, a.lobe)};
    if (w->plan->scene->light_tracing)
        r.eta = bsdf_lobe_eta(&ctx, a.lobe);
    bsdf_lobe_direction_results_visit(w, &p.out, &r);
    return plugin_function_end(&p);
}

static ir_func *make_bsdf_attach(walk *w, const class_node *n, bool differentiated)
{
    plugin_function p = plugin_function_begin(w, "bsdf_attach", differentiated);
    tracer *t = &p.t;
    ir_ref one = t_f32(t, 1);
    bsdf_attach_arguments a = {0};
    bsdf_attach_visit(w, &p.in, &a);
    const bsdf_class *cls = bsdf_of(n);
    const bsdf_context ctx = material_at(&p, n, a.wi, a.uv, &a.on, &a.wavelengths);
    bsdf_attach_results r = {.to = bsdf_attach(&ctx, &a.draw)};
    vec3 sampled = r.to.wo;
    r.to.wo = v3_select(t, a.delta, bsdf_lobe_direction(&ctx, a.draw.lobe), sampled);
    r.pdf = cls->attached ? cls->pdf(&ctx, sampled) : one;
    r.light_pdf = cls->attached ? cls->pdf(&ctx, a.to_light) : one;
    bsdf_attach_results_visit(&p.out, &r);
    return plugin_function_end(&p);
}

uint32_t walk_scatterers(const walk *w)
{
    return w->plan->bsdfs.count + (w->media ? w->plan->phases.count : 0);
}

void vertex_bsdf_functions(walk *w)
{
    const plan *p = w->plan;
    walk_functions *fn = &w->fn;
    fn->bsdf_sample = plugin_function_array(w, walk_scatterers(w)),
    fn->bsdf_value = plugin_function_array(w, walk_scatterers(w));
    fn->bsdf_value_differentiated = plugin_function_array(w, walk_scatterers(w));
    for (uint32_t i = 0; i < p->bsdfs.count; i++) {
        fn->bsdf_sample[i] = make_bsdf_sample(w, p->bsdfs.data[i]);
        fn->bsdf_value[i] = make_bsdf_value(w, p->bsdfs.data[i], false);
        fn->bsdf_value_differentiated[i] = make_bsdf_value(w, p->bsdfs.data[i], true);
    }
    fn->bsdf_polarized = plugin_function_array(w, walk_scatterers(w)),
    fn->bsdf_polarized_differentiated = plugin_function_array(w, walk_scatterers(w));
    for (uint32_t i = 0; w->polarized && i < p->bsdfs.count; i++) {
        fn->bsdf_polarized[i] = make_bsdf_polarized(w, p->bsdfs.data[i], false);
        if (walk_tracks(w))
            fn->bsdf_polarized_differentiated[i] = make_bsdf_polarized(w, p->bsdfs.data[i], true);
    }
    fn->bsdf_albedo = plugin_function_array(w, p->bsdfs.count);
    for (uint32_t i = 0; w->pass == RENDER_CHANNELS && i < p->bsdfs.count; i++)
        fn->bsdf_albedo[i] = make_bsdf_colour(w, p->bsdfs.data[i], false, bsdf_albedo, "bsdf_albedo");
    fn->lobe_direction = plugin_function_array(w, p->bsdfs.count),
    fn->lobe_direction_before = plugin_function_array(w, p->bsdfs.count);
    fn->attach = plugin_function_array(w, p->bsdfs.count),
    fn->attach_before = plugin_function_array(w, p->bsdfs.count);
    for (uint32_t i = 0; w->wants.attached_lobes && i < p->bsdfs.count; i++) {
        fn->attach[i] = make_bsdf_attach(w, p->bsdfs.data[i], true);
        fn->attach_before[i] = make_bsdf_attach(w, p->bsdfs.data[i], false);
    }
    for (uint32_t i = 0; w->wants.lobe_directions && i < p->bsdfs.count; i++) {
        fn->lobe_direction[i] = make_bsdf_lobe_direction(w, p->bsdfs.data[i], true);
        fn->lobe_direction_before[i] = make_bsdf_lobe_direction(w, p->bsdfs.data[i], false);
    }
}

/* Traces phase functions, which stand behind the materials in the lists, and the functions of materials that
 * only volumetric walks call. */
void vertex_phase_functions(walk *w)
{
    const plan *p = w->plan;
    walk_functions *fn = &w->fn;
    BL_ASSERT(w->volumetric && fn->bsdf_sample,
              "phase functions go behind the materials of volumetric walks");
    uint32_t n = p->bsdfs.count;
    for (uint32_t i = 0; i < p->phases.count; i++) {
        fn->bsdf_sample[n + i] = make_phase_sample(w, p->phases.data[i]);
        fn->bsdf_value[n + i] = make_phase_value(w, p->phases.data[i], false);
        fn->bsdf_value_differentiated[n + i] = make_phase_value(w, p->phases.data[i], true);
        if (w->polarized)
            fn->bsdf_polarized[n + i] = make_phase_polarized(w, p->phases.data[i], false);
        if (w->polarized && walk_tracks(w))
            fn->bsdf_polarized_differentiated[n + i] = make_phase_polarized(w, p->phases.data[i], true);
    }
    fn->bsdf_through = plugin_function_array(w, n),
    fn->bsdf_through_differentiated = plugin_function_array(w, n);
    for (uint32_t i = 0; i < n; i++) {
        fn->bsdf_through[i] = make_bsdf_colour(w, p->bsdfs.data[i], false, bsdf_through, "bsdf_through");
        fn->bsdf_through_differentiated[i] =
            make_bsdf_colour(w, p->bsdfs.data[i], true, bsdf_through, "bsdf_through_differentiated");
    }
}
