/* SPDX-License-Identifier: BSD-3-Clause
 * Directions that the material of a vertex samples, or the phase function in its place, and their density.
 * Detached. */
#include "render/integrator/path/path.h"
#include "render/integrator/vertex/plugin_functions.h"

/* A density that is asked for without a vertex prints nothing. */
static print_place printing(walk *w, ir_ref when)
{
    const bool visits = !ir_is_none(when) && !ir_is_none(w->printing);
    return (print_place){
        .when = visits ? when : ir_bool(w->t.f, false),
        .pixel = w->pixel,
        .sample = visits ? w->printing : t_u32(&w->t, 0),
    };
}

void walk_sample_bsdf(walk *w, walk_vertex *v, ir_ref when, ir_ref u_lobe, ir_ref u1, ir_ref u2,
                      ir_ref *light_pdf)
{
    BL_ASSERT(ir_made(w->t.f, v->wi.x) && ir_made(w->t.f, v->to_light.x),
              "directions come before the sample");
    if (walk_scatterers(w) == 0) { /* a scene without shapes */
        tracer *t = &w->t;
        v->sample = (bsdf_sample){v->wi, t_f32(t, 0), t_f32(t, 1), ir_bool(t->f, false), t_u32(t, 0)};
        v->wo = v->wi;
        w->motion->sampled(w, v, (ir_ref){0}, u1, u2);
        *light_pdf = t_f32(t, 0);
        return;
    }
    bsdf_sample_arguments a = {
        .wi = v->wi,
        .uv = v->si.uv,
        .to_light = v->to_light,
        .u = {u_lobe, u1, u2},
        .on = surface_seen(&w->t, &v->si, v->frame),
        .collision_z = v->collision_z,
        .hero = v->hero,
        .share = v->share,
    };
    if (walk_prints(w))
        a.print = printing(w, when);
    bsdf_sample_results r = {.roughness = {0}};
    ref_list in = refs_for(v->bsdf_record), out = refs_results();
    bsdf_sample_visit(w, &in, &a), collision_z_visit(w, &in, &a.collision_z);
    walk_call(w, when, v->bsdf_class, w->fn.bsdf_sample, walk_scatterers(w), &in, out.at);
    bsdf_sample_results_visit(w, &out, &r);
    *light_pdf = r.light_pdf, v->sample = r.sample, v->wo = r.sample.wo;
    if (w->disperses)
        v->share = r.share;
    w->motion->sampled(w, v, r.roughness, u1, u2);
}

ir_ref walk_bsdf_density(walk *w, const walk_vertex *v, vec3 wi, vec3 wo)
{
    walk_vertex toward = *v;
    ir_ref half = t_f32(&w->t, 0.5f), density; /* Which sample is taken does not matter. */
    toward.wi = wi, toward.to_light = wo;
    walk_sample_bsdf(w, &toward, (ir_ref){0}, half, half, half, &density);
    return density;
}

ir_ref walk_has_smooth_lobe(walk *w, ir_ref cls)
{
    ir_func *f = w->t.f;
    ir_ref has = ir_bool(f, true);
    for (uint32_t i = 0; i < w->plan->bsdfs.count; i++)
        if (bsdf_of(w->plan->bsdfs.data[i])->pdf == bsdf_no_density)
            has = ir_and(f, has, ir_ne(f, cls, t_u32(&w->t, i)));
    return has;
}
