/* SPDX-License-Identifier: BSD-3-Clause
 * The direction in which a path goes on, sampled by a mixture of the material and of the guide of directions
 * (vertex/direction_guide.c; docs/theory/variance.md). The density of the mixture enters throughput and MIS
 * weights. It is detached, like all that decides, and the guide stays as it is during a pass. So replay sees
 * nothing but another density.
 *
 * One random number says which of the two samples, and is stretched to choose a lobe or a bin. Discrete lobes
 * are the material's alone. */
#include "render/integrator/path/path.h"

static const float ONE_BELOW = 0x1.fffffep-1f;

/* The density of the material for a direction of the world, and that direction in the vertex's frame. */
static ir_ref material_density(walk *w, const walk_vertex *v, vec3 d, vec3 *local)
{
    *local = frame_to_local(&w->t, v->frame, d);
    return walk_bsdf_density(w, v, v->wi, *local);
}

/* The densities of the guide for the sample and for the sampled light, 0 where it has no share. */
typedef struct guide_densities {
    ir_ref sample, light;
} guide_densities;

static guide_densities densities_of(walk *w, const walk_vertex *v, const guide_cell *g, ir_ref share, vec3 wo)
{
    tracer *t = &w->t;
    ir_ref zero = t_f32(t, 0), branch = ir_if(t->f, ir_gt(t->f, share, zero));
    guide_densities r = {
        guide_density(w, g, v3_normalize(t, frame_to_world(t, v->frame, wo))),
        guide_density(w, g, v->light_d),
    };
    ir_else(t->f);
    ir_endif(t->f);
    r.sample = ir_phi(t->f, branch, r.sample, zero), r.light = ir_phi(t->f, branch, r.light, zero);
    return r;
}

/* share * by_guide + (1 - share) * by_material; 0 where the material has none. */
static ir_ref mixed(tracer *t, ir_ref share, ir_ref by_guide, ir_ref by_material)
{
    ir_func *f = t->f;
    ir_ref rest = ir_mul(f, ir_sub(f, t_f32(t, 1), share), by_material);
    return ir_select(f, ir_gt(f, by_material, t_f32(t, 0)), t_mad(t, share, by_guide, rest), t_f32(t, 0));
}

void walk_sample_guided(walk *w, walk_vertex *v, ir_ref when, const random4 *r, ir_ref *light_pdf)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1);
    guide_cell g = guide_at(w, v->si.p);
    ir_ref share = ir_select(f, ir_and(f, when, walk_has_smooth_lobe(w, v->bsdf_class)), g.share, zero),
           guided = ir_lt(f, r->u[0], share);
    ir_ref rest = ir_div(f, ir_sub(f, r->u[0], share), ir_sub(f, one, share));
    ir_ref u = ir_select(f, guided, t_f32(t, 0.5f), ir_min(f, rest, t_f32(t, ONE_BELOW)));
    walk_sample_bsdf(w, v, when, u, r->u[1], r->u[2], light_pdf);

    ir_ref branch = ir_if(f, guided);
    vec3 local, d = guide_sample(w, &g, t_ratio(t, r->u[0], share), r->u[1], r->u[2]);
    ir_ref density = material_density(w, v, d, &local);
    ir_else(f);
    ir_endif(f);
    bsdf_sample *s = &v->sample;
    v->wo = s->wo = v3_phi(t, branch, local, v->wo);
    density = ir_phi(f, branch, density, s->pdf);
    s->delta = ir_and(f, s->delta, ir_not(f, guided));
    s->lobe = ir_select(f, guided, t_u32(t, 0), s->lobe);

    guide_densities by = densities_of(w, v, &g, share, v->wo);
    s->pdf = mixed(t, share, ir_select(f, s->delta, zero, by.sample), density);
    *light_pdf = mixed(t, share, by.light, *light_pdf);
    /* Roulette goes by what the throughput would be without the guide, if that is more: a direction that the
     * guide likes has a large density and brings light. eta is squared there. */
    ir_ref likes = ir_sqrt(f, ir_max(f, t_ratio(t, s->pdf, density), one));
    s->eta = ir_mul(f, ir_select(f, guided, one, s->eta), ir_select(f, s->delta, one, likes));
}
