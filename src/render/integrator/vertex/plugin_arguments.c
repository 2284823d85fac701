/* SPDX-License-Identifier: BSD-3-Clause
 * The fields of each struct of plugin_functions.h, in the order in which traced functions take and return
 * them. An order is free, but it is part of every kernel that calls such a function. */
#include "render/integrator/vertex/plugin_functions.h"

/* ---- lists ---- */

ref_list refs_for(ir_ref record)
{
    return (ref_list){.way = REFS_WRITTEN, .before = 1, .count = 1, .at = {record}};
}

ref_list refs_fields(void) { return (ref_list){.way = REFS_WRITTEN}; }

ref_list refs_results(void) { return (ref_list){.way = REFS_READ}; }

ref_list refs_parameters(ir_func *f, ir_ref *record)
{
    ref_list l = {.way = REFS_DECLARED, .f = f, .before = 1, .count = 1};
    l.at[0] = *record = ir_param(f, IR_U32);
    return l;
}

void refs_rewind(ref_list *l, refs_way way)
{
    BL_ASSERT(way != REFS_DECLARED, "parameters are declared once");
    l->way = way, l->count = l->before;
}

void refs_detach(walk *w, ref_list *l)
{
    for (uint32_t k = l->before; k < l->count; k++)
        l->at[k] = ir_detach(w->t.f, l->at[k]);
}

void refs_shift(walk *w, ir_ref condition, ref_list *at, const ref_list *now, const ref_list *before)
{
    BL_ASSERT(at->count == now->count && at->count == before->count, "%u fields shifted by %u and %u",
              at->count, now->count, before->count);
    for (uint32_t k = at->before; k < at->count; k++)
        if (ir_type_of(w->t.f, at->at[k]) == IR_F32)
            at->at[k] = walk_shifted(w, condition, at->at[k], now->at[k], before->at[k]);
}

/* ---- calls ---- */

bool walk_spares(const walk *w)
{
    const plan *p = w->plan;
    bool moves = plan_attaches_paths(p) || plan_moves_segments(p) || p->moves || w->polarized;
    bool image = w->pass == RENDER_PRIMAL || w->pass == RENDER_VARIANCE || w->pass == RENDER_GUIDE_LEARN;
    bool replay = w->pass == RENDER_GRADIENT || w->pass == RENDER_REPLAY || w->pass == RENDER_ADJOINT;
    return !moves && !p->cut_at_calls && (image || (replay && p->scene->method == METHOD_REPLAY));
}

void walk_end_branch(walk *w, ir_ref branch, ir_ref *values, uint32_t count)
{
    ir_func *f = w->t.f;
    ir_else(f);
    ir_endif(f);
    for (uint32_t k = 0; k < count; k++) {
        ir_type type = ir_type_of(f, values[k]);
        ir_ref none = type == IR_F32 ? ir_f32(f, 0) : type == IR_BOOL ? ir_bool(f, false) : ir_u32(f, 0);
        values[k] = ir_phi(f, branch, values[k], none);
    }
}

void walk_call(walk *w, ir_ref when, ir_ref selector, ir_func *const *targets, uint32_t target_count,
               const ref_list *in, ir_ref *results)
{
    ir_func *f = w->t.f;
    bool spares = !ir_is_none(when) && walk_spares(w);
    ir_ref branch = {0};
    if (spares)
        branch = ir_if(f, when);
    ir_call(f, selector, targets, target_count, in->at, in->count, results);
    if (spares)
        walk_end_branch(w, branch, results, targets[0]->results.count);
}

/* ---- single fields ---- */

/* A field that is written without a value is an error of the trace, where the call or the return is recorded:
 * the functions of an application may leave one. */
void refs_field(ref_list *l, ir_type type, ir_ref *field)
{
    BL_ASSERT(l->count < REFS_MOST, "a traced function has more than %d arguments", REFS_MOST);
    if (l->way == REFS_READ)
        *field = l->at[l->count];
    else if (l->way == REFS_DECLARED)
        l->at[l->count] = *field = ir_param(l->f, type);
    else
        l->at[l->count] = *field;
    l->count++;
}

void refs_number(ref_list *l, ir_ref *field) { refs_field(l, IR_F32, field); }

void refs_vec2(ref_list *l, vec2 *v) { refs_number(l, &v->x), refs_number(l, &v->y); }

void refs_vec3(ref_list *l, vec3 *v) { refs_number(l, &v->x), refs_number(l, &v->y), refs_number(l, &v->z); }

void refs_color(const walk *w, ref_list *l, color *c)
{
    for (uint32_t k = 0; k < w->t.channels; k++)
        refs_number(l, &c->c[k]);
}

/* Inside of a traced function they are numbers without derivatives. */
void refs_wavelengths(const walk *w, ref_list *l, wavelength_set *set)
{
    for (uint32_t k = 0; k < WAVELENGTHS && w->t.light == LIGHT_SPECTRAL; k++) {
        if (l->way == REFS_WRITTEN)
            set->nm[k] = w->t.wavelengths->nm[k], set->d65[k] = w->t.wavelengths->d65[k];
        refs_number(l, &set->nm[k]), refs_number(l, &set->d65[k]);
        if (l->way == REFS_DECLARED)
            set->nm[k] = ir_detach(l->f, set->nm[k]), set->d65[k] = ir_detach(l->f, set->d65[k]);
    }
}

/* ---- the surface ---- */

void surface_visit(const walk *w, ref_list *l, surface *s)
{
    const plan *p = w->plan;
    if (p->needs & NEED_SLOPES)
        refs_vec2(l, &s->du), refs_vec2(l, &s->dv), refs_vec3(l, &s->ng);
    if (p->needs & NEED_FACE)
        refs_field(l, IR_U32, &s->mesh), refs_field(l, IR_U32, &s->face), refs_vec2(l, &s->b);
    if (p->needs & NEED_POSITION)
        refs_vec3(l, &s->p);
}

/* Visits what the radiance of some light of the plan reads. The mesh is that of the light's own shape. */
static void light_surface_visit(const plan *p, ref_list *l, surface *s)
{
    if (p->light_needs & NEED_FACE)
        refs_field(l, IR_U32, &s->face), refs_vec2(l, &s->b);
    if (p->light_needs & NEED_POSITION)
        refs_vec3(l, &s->p);
}

/* ---- materials, and phase functions in their place ---- */

static void print_visit(const walk *w, ref_list *l, print_place *p)
{
    if (walk_prints(w))
        refs_field(l, IR_BOOL, &p->when), refs_field(l, IR_U32, &p->pixel), refs_field(l, IR_U32, &p->sample);
}

void bsdf_sample_visit(const walk *w, ref_list *l, bsdf_sample_arguments *a)
{
    refs_vec3(l, &a->wi), refs_vec2(l, &a->uv), refs_vec3(l, &a->to_light);
    for (int k = 0; k < 3; k++)
        refs_number(l, &a->u[k]);
    surface_visit(w, l, &a->on);
    refs_wavelengths(w, l, &a->wavelengths);
    if (w->disperses)
        refs_field(l, IR_U32, &a->hero), refs_color(w, l, &a->share);
    print_visit(w, l, &a->print);
}

void collision_z_visit(const walk *w, ref_list *l, ir_ref *z)
{
    if (w->volumetric)
        refs_number(l, z);
}

void bsdf_sample_results_visit(const walk *w, ref_list *l, bsdf_sample_results *r)
{
    refs_number(l, &r->light_pdf);
    refs_vec3(l, &r->sample.wo), refs_number(l, &r->sample.pdf), refs_number(l, &r->sample.eta);
    refs_field(l, IR_BOOL, &r->sample.delta), refs_field(l, IR_U32, &r->sample.lobe);
    if (w->wants.attached_lobes)
        refs_number(l, &r->roughness);
    if (w->disperses)
        refs_color(w, l, &r->share);
}

void bsdf_value_directions_visit(ref_list *l, bsdf_value_arguments *a)
{
    refs_vec3(l, &a->wi), refs_vec2(l, &a->uv), refs_vec3(l, &a->to_light), refs_vec3(l, &a->wo);
}

void bsdf_value_visit(const walk *w, ref_list *l, bsdf_value_arguments *a)
{
    bsdf_value_directions_visit(l, a);
    refs_field(l, IR_BOOL, &a->delta), refs_field(l, IR_U32, &a->lobe);
    surface_visit(w, l, &a->on);
    refs_wavelengths(w, l, &a->wavelengths);
    if (w->disperses)
        refs_field(l, IR_U32, &a->hero);
    print_visit(w, l, &a->print);
}

void bsdf_value_results_visit(const walk *w, ref_list *l, bsdf_value_results *r)
{
    refs_color(w, l, &r->for_light), refs_color(w, l, &r->for_sample);
}

void bsdf_polarized_results_visit(const walk *w, ref_list *l, bsdf_polarized_results *r)
{
    for (uint32_t c = 0; c < w->t.channels; c++) {
        for (int k = 0; k < 4; k++)
            refs_number(l, &r->light[c].s[k]);
        for (int k = 0; k < 16; k++)
            refs_number(l, &r->sample.m[c].m[k / 4][k % 4]);
    }
    refs_vec3(l, &r->light_axis), refs_vec3(l, &r->sample.axis);
    refs_field(l, IR_BOOL, &r->sample.depolarizes);
}

void bsdf_color_visit(const walk *w, ref_list *l, bsdf_color_arguments *a)
{
    refs_vec3(l, &a->wi), refs_vec2(l, &a->uv);
    surface_visit(w, l, &a->on);
    refs_wavelengths(w, l, &a->wavelengths);
}

/* Inside of a traced function it is a number without derivatives, as the others are. */
static void refs_bends(const walk *w, ref_list *l, wavelength_set *set)
{
    if (!w->disperses)
        return;
    refs_number(l, &set->bends);
    if (l->way == REFS_DECLARED)
        set->bends = ir_detach(l->f, set->bends);
}

void bsdf_lobe_direction_visit(const walk *w, ref_list *l, bsdf_lobe_direction_arguments *a)
{
    refs_vec3(l, &a->wi), refs_vec2(l, &a->uv), refs_field(l, IR_U32, &a->lobe);
    surface_visit(w, l, &a->on);
    refs_bends(w, l, &a->wavelengths);
}

void bsdf_lobe_direction_results_visit(const walk *w, ref_list *l, bsdf_lobe_direction_results *r)
{
    refs_vec3(l, &r->d);
    if (w->plan->scene->light_tracing)
        refs_number(l, &r->eta);
}

void bsdf_attach_visit(const walk *w, ref_list *l, bsdf_attach_arguments *a)
{
    refs_vec3(l, &a->wi), refs_vec2(l, &a->uv), refs_field(l, IR_U32, &a->draw.lobe),
        refs_field(l, IR_BOOL, &a->delta);
    refs_vec3(l, &a->draw.wo), refs_vec3(l, &a->to_light), refs_number(l, &a->draw.u1),
        refs_number(l, &a->draw.u2);
    surface_visit(w, l, &a->on);
    refs_wavelengths(w, l, &a->wavelengths), refs_bends(w, l, &a->wavelengths);
}

void bsdf_attach_results_visit(ref_list *l, bsdf_attach_results *r)
{
    refs_vec3(l, &r->to.wo), refs_number(l, &r->to.density), refs_number(l, &r->pdf),
        refs_number(l, &r->light_pdf);
}

/* ---- lights ---- */

void emitter_sample_visit(ref_list *l, emitter_sample_arguments *a)
{
    refs_vec3(l, &a->ref), refs_number(l, &a->u[0]), refs_number(l, &a->u[1]);
}

/* The list has the fields in order up to the last one that is needed. */
void emitter_sample_results_visit(const walk *w, ref_list *l, emitter_sample *s)
{
    bool face = w->plan->light_needs & NEED_FACE, smooth = face || w->smooth,
         normal = smooth || w->wants.light_normal || w->multiplexed;
    refs_vec3(l, &s->d), refs_number(l, &s->distance), refs_number(l, &s->pdf), refs_vec2(l, &s->uv);
    refs_field(l, IR_BOOL, &s->facing);
    if (normal)
        refs_vec3(l, &s->n);
    if (smooth)
        refs_number(l, &s->smooth);
    if (face)
        refs_field(l, IR_U32, &s->face), refs_vec2(l, &s->b);
}

void emitter_ray_visit(ref_list *l, emitter_ray_arguments *a)
{
    for (int k = 0; k < 4; k++)
        refs_number(l, &a->u[k]);
}

void emitter_ray_results_visit(const walk *w, ref_list *l, emitter_ray *r)
{
    refs_vec3(l, &r->p), refs_vec3(l, &r->d), refs_vec3(l, &r->n), refs_vec3(l, &r->ns), refs_vec2(l, &r->uv);
    refs_number(l, &r->weight), refs_number(l, &r->point_weight);
    if (w->plan->light_needs & NEED_FACE)
        refs_field(l, IR_U32, &r->face), refs_vec2(l, &r->b);
}

void emitter_radiance_visit(const walk *w, ref_list *l, emitter_radiance_arguments *a)
{
    refs_vec2(l, &a->uv), refs_number(l, &a->distance), refs_field(l, IR_BOOL, &a->facing);
    light_surface_visit(w->plan, l, &a->on);
    refs_wavelengths(w, l, &a->wavelengths);
}

void emitter_moved_visit(const walk *w, ref_list *l, emitter_moved_arguments *a)
{
    refs_vec3(l, &a->ref), refs_vec3(l, &a->d), refs_number(l, &a->distance), refs_vec2(l, &a->uv);
    if (w->moves & MOVE_HITS)
        refs_vec3(l, &a->ref_before), refs_vec3(l, &a->n);
    if (w->plan->lights_slide)
        refs_field(l, IR_U32, &a->face), refs_vec2(l, &a->b);
}

void emitter_moved_results_visit(const walk *w, ref_list *l, emitter_moved_results *r)
{
    refs_vec3(l, &r->d), refs_number(l, &r->distance), refs_vec2(l, &r->uv);
    if (w->moves & MOVE_HITS)
        refs_number(l, &r->growth);
    if (w->plan->lights_slide)
        refs_vec2(l, &r->b);
}

void emitter_pdf_visit(ref_list *l, emitter_hit *hit)
{
    refs_vec3(l, &hit->ref), refs_vec3(l, &hit->d), refs_number(l, &hit->distance),
        refs_vec3(l, &hit->normal);
    refs_vec2(l, &hit->uv), refs_field(l, IR_U32, &hit->entry), refs_vec2(l, &hit->at);
}

/* ---- shapes ---- */

void interact_visit(ref_list *l, interact_arguments *a, bool to_world)
{
    refs_field(l, IR_U32, &a->data), refs_vec3(l, &a->o), refs_vec3(l, &a->d), refs_number(l, &a->t),
        refs_vec2(l, &a->b);
    if (to_world)
        refs_field(l, IR_BOOL, &a->slides), refs_field(l, IR_BOOL, &a->valid);
}

void interact_results_visit(tracer *t, ref_list *l, interaction *si)
{
    refs_vec3(l, &si->p), refs_vec3(l, &si->ng), refs_vec3(l, &si->ns), refs_vec2(l, &si->uv);
    if (t->plan->needs & NEED_TANGENTS)
        refs_vec3(l, &si->dp_du), refs_vec3(l, &si->dp_dv);
    if (plan_hits_move(t->plan))
        refs_vec2(l, &si->b);
}
