/* SPDX-License-Identifier: BSD-3-Clause
 * The derivative of a vertex of a polarised path (docs/theory/polarized_replay.md). It is
 *
 *     row . (beta E' + column' D + M' s)
 *
 * for the row that the path arrives with and the Stokes vector s that comes by the sample. s is known at the
 * end of a segment, where light has no polarisation, from the sums L and M. From there it goes back from
 * vertex to vertex along the chain (kernels/attached_replay.c). No matrix is inverted. A flight through a
 * medium is a number: all light that comes back through it is a multiple of its weight. */
#include "render/integrator/path/adjoint.h"

void polarized_arriving(walk *w, const replay_state *p, const throughput *b, const passage *onward,
                        ir_ref ends, color out[4])
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0);
    color L = sums_L(t, &p->sums), M = sums_M(t, &p->sums);
    for (uint32_t c = 0; c < t->channels; c++) {
        ir_ref left_out = ir_ne(f, b->zeros[c], p->chain.b.zeros[c]), dark = ir_eq(f, b->row[0].c[c], zero);
        ir_ref over = ir_div(f, ir_select(f, left_out, M.c[c], L.c[c]),
                             ir_select(f, dark, t_f32(t, 1), b->row[0].c[c]));
        for (int j = 0; j < 4; j++) {
            ir_ref light = ir_select(f, ends, j == 0 ? over : zero, p->chain.light[j].c[c]);
            out[j].c[c] = ir_select(f, onward->alive, ir_mul(f, light, onward->inverse_pdf), zero);
        }
    }
}

void polarized_outputs(walk *w, const replay_state *p, const vertex_adjoint *of, ir_ref *outputs,
                       ir_ref *seeds)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const contribution *k = of->k;
    polarized_vertex m = polarized_differentiated(w, of->v, &p->at, p->b.basis, &k->polarized);
    color lit[4], row[4], light[4];
    const color *arrives = w->entries > 1 ? p->b.asked : p->b.row;
    for (int j = 0; j < 4; j++)
        row[j] = color_detach(t, arrives[j]), light[j] = color_detach(t, p->chain.light[j]);
    polarized_lit(w, &m, lit);
    color toward = polarized_dot(w, row, lit);
    polarized_row(w, &m, row, row);
    color onward = polarized_dot(w, row, light);
    color seed = w->entries > 1 ? color_all(t_f32(t, 1)) : throughput_where(w, p->b.zeros, 0, of->dL);
    for (uint32_t c = 0; c < t->channels; c++) {
        outputs[c] = toward.c[c];
        seeds[c] = ir_mul(f, seed.c[c], ir_mul(f, k->light_scale.c[c], k->light_radiance.c[c]));
        outputs[t->channels + c] = onward.c[c];
        seeds[t->channels + c] = seed.c[c];
    }
}

void polarized_sent(walk *w, const walk_vertex *v, const contribution *k, const color arriving[4],
                    color out[4])
{
    tracer *t = &w->t;
    color lit[4], none = color_all(t_f32(t, 0));
    polarized_leaving(w, &k->polarized, arriving, out);
    for (int j = 0; j < 4; j++)
        out[j] = color_select(t, v->goes_on, out[j], none);
    if (w->plan->scene->emitters.count == 0)
        return;
    out[0] = color_add(t, out[0], color_scale(t, k->hit_radiance, v->hit_mis));
    polarized_lit(w, &k->polarized, lit);
    for (int j = 0; j < 4 && w->next_event; j++)
        out[j] = color_add(t, out[j], color_mul(t, color_mul(t, lit[j], k->light_radiance), k->light_scale));
}

void polarized_flight(walk *w, replay_state *p, const vertex_adjoint *of, const throughput *before,
                      color emitted, arrivals *arrived)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const walk_flight *fl = &of->v->flight;
    color row[4],
        flown = throughput_flown(w, of->v), to_come = color_all(t_f32(t, 0)), missing = to_come,
        seed = w->entries > 1 ? before->asked[0] : color_mul(t, throughput_whole(w, before), of->dL);
    for (int j = 0; j < 4; j++) /* behind the flight, its zeros left out */
        row[j] = w->entries > 1 ? color_mul(t, before->asked[j], fl->weight)
                                : color_mul(t, throughput_where(w, before->zeros, 0, p->b.row[j]), of->dL);
    color by_weight = polarized_dot(w, row, p->chain.light);
    for (uint32_t c = 0; c < t->channels; c++) {
        to_come.c[c] = ir_select(f, ir_eq(f, fl->zeros[c], t_u32(t, 0)), by_weight.c[c], to_come.c[c]);
        missing.c[c] = ir_select(f, ir_eq(f, fl->zeros[c], t_u32(t, 1)), by_weight.c[c], missing.c[c]);
    }
    flight_adjoint(w, fl, of->when, to_come, missing, arrived);
    if (emission_any(w))
        emission_adjoint(w, fl, of->when, emitted, seed, arrived);
    for (int j = 0; j < 4; j++) {
        color sent = color_mul(t, flown, p->chain.light[j]);
        if (j == 0)
            sent = color_add(t, sent, emitted);
        p->chain.light[j] = color_select(t, of->when, sent, p->chain.light[j]);
    }
}
