/* SPDX-License-Identifier: BSD-3-Clause
 * One vertex of a path whose radiance is wanted, and nothing of its derivatives: the image, and both sides of
 * an edge that moves. The path is that of the gradient kernels, since walk_visit and walk_survival decide it
 * there too. Only throughput is simpler here: a factor of 0 ends the path. */
#include "render/integrator/eikonal/curve.h"
#include "render/integrator/path/path.h"
#include "render/integrator/path/technique_weights.h"

radiance_walk radiance_start(walk *w, const walk_position *at)
{
    ir_ref zero = t_f32(&w->t, 0), one = t_f32(&w->t, 1);
    radiance_walk p = {.at = *at, .beta = color_all(one), .radiance = color_all(zero), .eta = one};
    if (w->multiplexed)
        p.reach = zero;
    polarized_start(w, &p);
    return p;
}

/* What the path finds at its vertex by so many segments more than its depth, unless it is left out. */
static color counted(walk *w, const radiance_walk *p, uint32_t more, color found)
{
    tracer *t = &w->t;
    if (!w->skips_direct)
        return found;
    ir_ref counts = ir_gt(t->f, ir_add(t->f, p->at.depth, t_u32(t, more)), t_u32(t, DIRECT_SEGMENTS));
    return color_select(t, counts, found, color_all(t_f32(t, 0)));
}

void radiance_cross(walk *w, radiance_walk *p, walk_vertex *v)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    if (field_any(w)) {
        field_segment s = field_segment_to(w, &p->at, v);
        field_passage q = field_march(w, &s, ir_bool(f, true), false);
        q.emitted = counted(w, p, 1, q.emitted);
        for (uint32_t c = 0; c < t->channels; c++)
            p->radiance.c[c] = t_mad(t, p->beta.c[c], q.emitted.c[c], p->radiance.c[c]);
        p->beta = color_scale(t, p->beta, q.transmittance);
    }
    if (w->bends_lit) {
        eikonal_passage q = eikonal_passed(w, &v->curve);
        q.emitted = counted(w, p, 1, q.emitted);
        for (uint32_t c = 0; c < t->channels; c++)
            p->radiance.c[c] = t_mad(t, p->beta.c[c], q.emitted.c[c], p->radiance.c[c]);
        p->beta = color_mul(t, p->beta, q.left);
    }
    if (w->media && emission_any(w)) {
        color emitted = counted(w, p, 1, emission_radiance(w, &v->flight, false));
        for (uint32_t c = 0; c < t->channels; c++)
            p->radiance.c[c] = t_mad(t, p->beta.c[c], emitted.c[c], p->radiance.c[c]);
        if (p->whole)
            entries_see(w, &p->others, emitted);
    }
    if (!w->media)
        return;
    const color flown = throughput_flown(w, v);
    p->beta = color_mul(t, p->beta, flown);
    for (int k = 0; k < 3 && w->polarized; k++)
        p->row[k] = color_mul(t, p->row[k], flown);
    if (p->whole)
        entries_scale(w, &p->others, flown);
}

walk_vertex radiance_vertex(walk *w, radiance_walk *p, ir_ref *alive)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    walk_vertex v = walk_visit(w, p->at);
    radiance_cross(w, p, &v);
    if (w->multiplexed && !w->direct)
        technique_weigh_visit(w, &p->at, &v, &p->reach);
    color for_light, for_sample, lit[4] = {0};
    if (!w->polarized)
        walk_values_where(w, &v, &for_light, &for_sample);
    bool lights = w->plan->scene->emitters.count > 0;
    if (lights) {
        color hit = counted(w, p, 1, color_scale(t, walk_radiance_where(w, v.hit), v.hit_mis));
        for (uint32_t c = 0; c < t->channels; c++)
            p->radiance.c[c] = t_mad(t, p->beta.c[c], hit.c[c], p->radiance.c[c]);
        if (p->whole)
            entries_see(w, &p->others, hit);
    }
    if (w->polarized)
        polarized_pass(w, &v, p, t_ratio(t, t_f32(t, 1), v.sample.pdf), lit);
    if (lights && w->next_event && w->polarized) {
        color seen = color_mul(t, walk_radiance_where(w, v.light), walk_light_scale(w, &v, &p->at, false));
        for (uint32_t c = 0; c < t->channels; c++)
            p->radiance.c[c] = t_mad(t, lit[0].c[c], seen.c[c], p->radiance.c[c]);
        for (int j = 0; j < 3 && p->whole; j++)
            p->others.found[j] = color_add(t, p->others.found[j], color_mul(t, lit[1 + j], seen));
    } else if (lights && w->next_event) {
        color scale = walk_light_scale(w, &v, &p->at, false),
              direct = color_mul(t, color_mul(t, walk_radiance_where(w, v.light), for_light), scale);
        direct = counted(w, p, 2, direct);
        for (uint32_t c = 0; c < t->channels; c++)
            p->radiance.c[c] = t_mad(t, p->beta.c[c], direct.c[c], p->radiance.c[c]);
    }
    if (!w->polarized)
        p->beta = color_mul(t, p->beta, color_scale(t, for_sample, t_ratio(t, t_f32(t, 1), v.sample.pdf)));
    p->eta = ir_mul(f, p->eta, v.sample.eta);
    ir_ref most = color_max(t, p->beta),
           q = walk_survival(w, &v, ir_add(f, p->at.depth, t_u32(t, 1)), most, p->eta);
    ir_ref up = t_ratio(t, t_f32(t, 1), q);
    p->beta = color_scale(t, p->beta, up);
    for (int k = 0; k < 3 && w->polarized; k++)
        p->row[k] = color_scale(t, p->row[k], up);
    if (p->whole)
        entries_scale(w, &p->others, color_all(up));
    *alive =
        ir_and(f, walk_may_go_on(w, &v), ir_and(f, ir_gt(f, most, t_f32(t, 0)), ir_lt(f, v.u_roulette, q)));
    p->at = walk_next(w, p->at, &v, *alive);
    return v;
}
