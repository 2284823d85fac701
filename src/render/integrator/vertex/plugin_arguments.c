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

/* ---- single fields ---- */

static void one(ref_list *l, ir_type type, ir_ref *field)
{
    BL_ASSERT(l->count < REFS_MOST, "a traced function has more than %d arguments", REFS_MOST);
    BL_ASSERT(l->way != REFS_WRITTEN || !ir_is_none(*field), "argument %u has no value", l->count);
    if (l->way == REFS_READ)
        *field = l->at[l->count];
    else if (l->way == REFS_DECLARED)
        l->at[l->count] = *field = ir_param(l->f, type);
    else
        l->at[l->count] = *field;
    l->count++;
}

static void number(ref_list *l, ir_ref *field) { one(l, IR_F32, field); }
static void two(ref_list *l, vec2 *v) { number(l, &v->x), number(l, &v->y); }
static void three(ref_list *l, vec3 *v) { number(l, &v->x), number(l, &v->y), number(l, &v->z); }
static void rgb(ref_list *l, color *c) { number(l, &c->c[0]), number(l, &c->c[1]), number(l, &c->c[2]); }

/* ---- the surface ---- */

void surface_visit(const walk *w, ref_list *l, surface *s)
{
    const plan *p = w->plan;
    if (p->needs & NEED_SLOPES)
        two(l, &s->du), two(l, &s->dv), three(l, &s->ng);
    if (p->needs & NEED_FACE)
        one(l, IR_U32, &s->mesh), one(l, IR_U32, &s->face), two(l, &s->b);
    if (p->needs & NEED_POSITION)
        three(l, &s->p);
}

/* Visits what the radiance of some light of the plan reads. The mesh is that of the light's own shape. */
static void light_surface_visit(const plan *p, ref_list *l, surface *s)
{
    if (p->light_needs & NEED_FACE)
        one(l, IR_U32, &s->face), two(l, &s->b);
    if (p->light_needs & NEED_POSITION)
        three(l, &s->p);
}

/* ---- materials, and phase functions in their place ---- */

void bsdf_sample_visit(const walk *w, ref_list *l, bsdf_sample_arguments *a)
{
    three(l, &a->wi), two(l, &a->uv), three(l, &a->to_light);
    for (int k = 0; k < 3; k++)
        number(l, &a->u[k]);
    surface_visit(w, l, &a->on);
}

void collision_z_visit(const walk *w, ref_list *l, ir_ref *z)
{
    if (w->volumetric)
        number(l, z);
}

void bsdf_sample_results_visit(const walk *w, ref_list *l, bsdf_sample_results *r)
{
    number(l, &r->light_pdf);
    three(l, &r->sample.wo), number(l, &r->sample.pdf), number(l, &r->sample.eta);
    one(l, IR_BOOL, &r->sample.delta), one(l, IR_U32, &r->sample.lobe);
    if (w->wants.attached_lobes)
        number(l, &r->roughness);
}

void bsdf_value_directions_visit(ref_list *l, bsdf_value_arguments *a)
{
    three(l, &a->wi), two(l, &a->uv), three(l, &a->to_light), three(l, &a->wo);
}

void bsdf_value_visit(const walk *w, ref_list *l, bsdf_value_arguments *a)
{
    bsdf_value_directions_visit(l, a);
    one(l, IR_BOOL, &a->delta), one(l, IR_U32, &a->lobe);
    surface_visit(w, l, &a->on);
}

void bsdf_value_results_visit(ref_list *l, bsdf_value_results *r)
{
    rgb(l, &r->for_light), rgb(l, &r->for_sample);
}

void bsdf_color_visit(const walk *w, ref_list *l, bsdf_color_arguments *a)
{
    three(l, &a->wi), two(l, &a->uv);
    surface_visit(w, l, &a->on);
}

void bsdf_lobe_direction_visit(const walk *w, ref_list *l, bsdf_lobe_direction_arguments *a)
{
    three(l, &a->wi), two(l, &a->uv), one(l, IR_U32, &a->lobe);
    surface_visit(w, l, &a->on);
}

void direction_results_visit(ref_list *l, vec3 *d) { three(l, d); }

void bsdf_attach_visit(const walk *w, ref_list *l, bsdf_attach_arguments *a)
{
    three(l, &a->wi), two(l, &a->uv), one(l, IR_U32, &a->draw.lobe), one(l, IR_BOOL, &a->delta);
    three(l, &a->draw.wo), three(l, &a->to_light), number(l, &a->draw.u1), number(l, &a->draw.u2);
    surface_visit(w, l, &a->on);
}

void bsdf_attach_results_visit(ref_list *l, bsdf_attach_results *r)
{
    three(l, &r->to.wo), number(l, &r->to.density), number(l, &r->pdf), number(l, &r->light_pdf);
}

/* ---- lights ---- */

void emitter_sample_visit(ref_list *l, emitter_sample_arguments *a)
{
    three(l, &a->ref), number(l, &a->u[0]), number(l, &a->u[1]);
}

/* The list has the fields in order up to the last one that is needed. */
void emitter_sample_results_visit(const walk *w, ref_list *l, emitter_sample *s)
{
    bool face = w->plan->light_needs & NEED_FACE, smooth = face || w->smooth,
         normal = smooth || w->wants.light_normal;
    three(l, &s->d), number(l, &s->distance), number(l, &s->pdf), two(l, &s->uv);
    one(l, IR_BOOL, &s->facing);
    if (normal)
        three(l, &s->n);
    if (smooth)
        number(l, &s->smooth);
    if (face)
        one(l, IR_U32, &s->face), two(l, &s->b);
}

void emitter_ray_visit(ref_list *l, emitter_ray_arguments *a)
{
    for (int k = 0; k < 4; k++)
        number(l, &a->u[k]);
}

void emitter_ray_results_visit(const walk *w, ref_list *l, emitter_ray *r)
{
    three(l, &r->p), three(l, &r->d), three(l, &r->n), three(l, &r->ns), two(l, &r->uv);
    number(l, &r->weight), number(l, &r->point_weight);
    if (w->plan->light_needs & NEED_FACE)
        one(l, IR_U32, &r->face), two(l, &r->b);
}

void emitter_radiance_visit(const walk *w, ref_list *l, emitter_radiance_arguments *a)
{
    two(l, &a->uv), number(l, &a->distance), one(l, IR_BOOL, &a->facing);
    light_surface_visit(w->plan, l, &a->on);
}

void emitter_moved_visit(const walk *w, ref_list *l, emitter_moved_arguments *a)
{
    three(l, &a->ref), three(l, &a->d), number(l, &a->distance), two(l, &a->uv);
    if (w->moves & MOVE_HITS)
        three(l, &a->ref_before), three(l, &a->n);
}

void emitter_moved_results_visit(const walk *w, ref_list *l, emitter_moved_results *r)
{
    three(l, &r->d), number(l, &r->distance), two(l, &r->uv);
    if (w->moves & MOVE_HITS)
        number(l, &r->growth);
}

void emitter_pdf_visit(ref_list *l, emitter_hit *hit)
{
    three(l, &hit->ref), three(l, &hit->d), number(l, &hit->distance), three(l, &hit->normal);
    two(l, &hit->uv), one(l, IR_U32, &hit->entry), two(l, &hit->at);
}

/* ---- shapes ---- */

void interact_visit(ref_list *l, interact_arguments *a, bool to_world)
{
    one(l, IR_U32, &a->data), three(l, &a->o), three(l, &a->d), number(l, &a->t), two(l, &a->b);
    if (to_world)
        one(l, IR_BOOL, &a->slides), one(l, IR_BOOL, &a->valid);
}

void interact_results_visit(tracer *t, ref_list *l, interaction *si)
{
    three(l, &si->p), three(l, &si->ng), three(l, &si->ns), two(l, &si->uv);
    if (t->plan->needs & NEED_TANGENTS)
        three(l, &si->dp_du), three(l, &si->dp_dv);
    if (plan_hits_move(t->plan))
        two(l, &si->b);
}
