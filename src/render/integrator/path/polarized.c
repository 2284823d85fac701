/* SPDX-License-Identifier: BSD-3-Clause
 * Polarised light along a path from the camera. Light of all lights is unpolarised, and the film shows
 * intensities. So what is carried is one row per channel: the first row of the product of the matrices of the
 * vertices so far. Its first entry is the throughput, beta. A surface that depolarises leaves only that.
 *
 * A row refers to a basis, a unit vector across the ray. At a vertex the row is taken from the carried basis
 * to the one that the material's matrix has, which is then carried on (docs/theory/polarized_replay.md). */
#include "render/integrator/path/path.h"
#include "render/integrator/vertex/plugin_functions.h"

void polarized_start(walk *w, radiance_walk *p)
{
    tracer *t = &w->t;
    if (!w->polarized)
        return;
    ir_ref zero = t_f32(t, 0);
    for (int k = 0; k < 3; k++)
        p->row[k] = color_all(zero);
    p->basis = v3(t_f32(t, 1), zero, zero);
}

static bsdf_polarized_results values_at(walk *w, const walk_vertex *v)
{
    tracer *t = &w->t;
    bsdf_value_arguments a = {.wi = v->wi,
                              .uv = v->si.uv,
                              .to_light = v->to_light,
                              .wo = v->wo,
                              .delta = v->sample.delta,
                              .lobe = v->sample.lobe,
                              .on = surface_seen(t, &v->si, v->frame)};
    bsdf_polarized_results r;
    ref_list in = refs_for(v->bsdf_record), out = refs_results();
    bsdf_value_visit(w, &in, &a);
    ir_call(t->f, v->bsdf_class, w->fn.bsdf_polarized, w->plan->bsdfs.count, in.at, in.count, out.at);
    bsdf_polarized_results_visit(w, &out, &r);
    return r;
}

color polarized_pass(walk *w, const walk_vertex *v, radiance_walk *p, ir_ref over_pdf)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    color lit = color_all(t_f32(t, 0));
    if (walk_scatterers(w) == 0) { /* a scene without shapes */
        p->beta = lit;
        return lit;
    }
    bsdf_polarized_results r = values_at(w, v);
    vec3 away = v3_neg(t, p->at.d), axis = frame_to_world(t, v->frame, r.sample.axis),
         light_axis = frame_to_world(t, v->frame, r.light_axis);
    mueller to_sample = stokes_rotation(t, away, axis, p->basis),
            to_light = stokes_rotation(t, away, light_axis, p->basis);
    for (uint32_t c = 0; c < t->channels; c++) {
        stokes row = {{p->beta.c[c], p->row[0].c[c], p->row[1].c[c], p->row[2].c[c]}};
        stokes seen = mueller_apply_row(t, &row, &to_light);
        lit.c[c] = ir_mul(f, seen.s[0], r.light[c].s[0]);
        for (int k = 1; k < 4; k++)
            lit.c[c] = t_mad(t, seen.s[k], r.light[c].s[k], lit.c[c]);
        row = mueller_apply_row(t, &row, &to_sample);
        row = mueller_apply_row(t, &row, &r.sample.m[c]);
        p->beta.c[c] = ir_mul(f, row.s[0], over_pdf);
        for (int k = 0; k < 3; k++)
            p->row[k].c[c] = ir_mul(f, row.s[1 + k], over_pdf);
    }
    p->basis = axis;
    return lit;
}
