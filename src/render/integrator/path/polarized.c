/* SPDX-License-Identifier: BSD-3-Clause
 * Polarised light at a vertex. Light of all lights is unpolarised. A path from the camera carries a row per
 * channel, by which the Stokes vector of what arrives is multiplied, and light goes the other way, from
 * vertex to vertex, as Stokes vectors. Both are color[4]: entry k of all channels.
 *
 * A row refers to a basis, a unit vector across the ray. At a vertex the row is taken from the carried basis
 * to the one that the material's matrix has, which is then carried on (docs/theory/polarized_replay.md).
 *
 * What a material says may move its basis: the angle of a polariser does. The basis that is carried on is
 * that of the path that was walked, so differentiated light is turned once more behind the material. */
#include "render/integrator/path/path.h"
#include "render/integrator/vertex/plugin_functions.h"

/* ---- the entries behind the intensity ---- */

void entries_start(walk *w, path_entries *e)
{
    tracer *t = &w->t;
    for (int j = 0; j < 3; j++) {
        e->found[j] = color_all(t_f32(t, 0));
        for (int k = 0; k < 4; k++)
            e->rows[j][k] = color_all(t_f32(t, k == j + 1));
    }
}

void entries_restart(walk *w, ir_ref alive, path_entries *e)
{
    tracer *t = &w->t;
    path_entries fresh;
    entries_start(w, &fresh);
    for (int j = 0; j < 3; j++) {
        e->found[j] = color_select(t, alive, e->found[j], fresh.found[j]);
        for (int k = 0; k < 4; k++)
            e->rows[j][k] = color_select(t, alive, e->rows[j][k], fresh.rows[j][k]);
    }
}

void state_entries(walk *w, loop_state *s, path_entries *e)
{
    for (int j = 0; j < 3; j++) {
        state_color(s, &w->t, &e->found[j]);
        for (int k = 0; k < 4; k++)
            state_color(s, &w->t, &e->rows[j][k]);
    }
}

void entries_see(walk *w, path_entries *e, color light)
{
    tracer *t = &w->t;
    for (int j = 0; j < 3; j++)
        e->found[j] = color_add(t, e->found[j], color_mul(t, e->rows[j][0], light));
}

void entries_scale(walk *w, path_entries *e, color by)
{
    for (int j = 0; j < 3; j++)
        for (int k = 0; k < 4; k++)
            e->rows[j][k] = color_mul(&w->t, e->rows[j][k], by);
}

void entries_pass(walk *w, const polarized_vertex *m, ir_ref over_pdf, path_entries *e)
{
    for (int j = 0; j < 3; j++)
        polarized_row(w, m, e->rows[j], e->rows[j]);
    entries_scale(w, e, color_all(over_pdf));
}

/* ---- a path ---- */

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

void polarized_start_whole(walk *w, radiance_walk *p, vec3 basis)
{
    polarized_start(w, p);
    p->whole = true, p->basis = basis;
    entries_start(w, &p->others);
}

void state_polarized(walk *w, loop_state *s, radiance_walk *p)
{
    tracer *t = &w->t;
    for (int k = 0; k < 3 && w->polarized; k++)
        state_color(s, t, &p->row[k]);
    if (w->polarized)
        state_vec3(s, &p->basis);
    if (p->whole)
        state_entries(w, s, &p->others);
}

void polarized_restart(walk *w, ir_ref alive, radiance_walk *p)
{
    tracer *t = &w->t;
    color zero = color_all(t_f32(t, 0));
    for (int k = 0; k < 3 && w->polarized; k++)
        p->row[k] = color_select(t, alive, p->row[k], zero);
    if (p->whole)
        entries_restart(w, alive, &p->others);
}

void polarized_refer(walk *w, ir_ref fresh, const walk_position *at, vec3 *basis)
{
    ir_func *f = w->t.f;
    if (w->entries == 1)
        return;
    ir_ref branch = ir_if(f, fresh);
    vec3 own = walk_camera_basis(w, at->sample, at->d);
    ir_else(f);
    ir_endif(f);
    *basis = (vec3){ir_phi(f, branch, own.x, basis->x), ir_phi(f, branch, own.y, basis->y),
                    ir_phi(f, branch, own.z, basis->z)};
}

void polarized_ask(walk *w, ir_ref fresh, const walk_position *at, film_value dL, throughput *b)
{
    color asked[4];
    if (w->entries == 1)
        return;
    film_adjoint_entries(w, at, dL, asked);
    for (int k = 0; k < 4; k++)
        b->asked[k] = color_select(&w->t, fresh, asked[k], b->asked[k]);
    polarized_refer(w, fresh, at, &b->basis);
}

static polarized_vertex nothing(walk *w, vec3 basis)
{
    tracer *t = &w->t;
    polarized_vertex m = {.basis = basis, .of.sample.depolarizes = ir_bool(t->f, true)};
    for (int k = 0; k < 4; k++)
        m.to_sample.m[k][k] = m.to_light.m[k][k] = m.behind.m[k][k] = t_f32(t, 1);
    return m;
}

static frame detached(tracer *t, frame f)
{
    return (frame){v3_detach(t, f.s), v3_detach(t, f.t), v3_detach(t, f.n)};
}

static polarized_vertex evaluate(walk *w, const walk_vertex *v, const walk_position *at, vec3 basis,
                                 bool differentiated)
{
    tracer *t = &w->t;
    if (walk_scatterers(w) == 0) /* a scene without shapes */
        return nothing(w, basis);
    polarized_vertex m = {0};
    bsdf_value_arguments a = walk_value_arguments(w, v, differentiated);
    ref_list in = refs_for(v->bsdf_record), out = refs_results();
    bsdf_value_visit(w, &in, &a), collision_z_visit(w, &in, &a.collision_z);
    ir_call(t->f, v->bsdf_class, differentiated ? w->fn.bsdf_polarized_differentiated : w->fn.bsdf_polarized,
            walk_scatterers(w), in.at, in.count, out.at);
    bsdf_polarized_results_visit(w, &out, &m.of);
    vec3 away = v3_neg(t, at->d);
    frame local = v->frame;
    if (differentiated)
        away = v3_detach(t, away), basis = v3_detach(t, basis), local = detached(t, local);
    m.basis = frame_to_world(t, local, m.of.sample.axis);
    m.to_sample = stokes_rotation(t, away, m.basis, basis);
    m.to_light = stokes_rotation(t, away, frame_to_world(t, local, m.of.light_axis), basis);
    return m;
}

polarized_vertex polarized_at(walk *w, const walk_vertex *v, const walk_position *at, vec3 basis)
{
    return evaluate(w, v, at, basis, false);
}

polarized_vertex polarized_differentiated(walk *w, const walk_vertex *v, const walk_position *at, vec3 basis,
                                          const polarized_vertex *walked)
{
    BL_ASSERT(walk_tracks(w), "derivatives in the pass %d", (int)w->pass);
    tracer *t = &w->t;
    polarized_vertex m = evaluate(w, v, at, basis, true);
    vec3 onward = v3_detach(t, v3_neg(t, v->next_d)), stays = v3_detach(t, walked->basis);
    if (walk_scatterers(w) > 0)
        m.behind = stokes_rotation(t, onward, stays, m.basis);
    m.basis = walked->basis;
    return m;
}

static stokes channel_of(const color s[4], uint32_t c)
{
    return (stokes){{s[0].c[c], s[1].c[c], s[2].c[c], s[3].c[c]}};
}

static void put_channel(tracer *t, const stokes *s, uint32_t c, color out[4])
{
    for (int k = 0; k < 4; k++)
        out[k].c[c] = ir_is_none(s->s[k]) ? t_f32(t, 0) : s->s[k];
}

/* Whether a rotation behind the material has been recorded. */
static bool turned_behind(const polarized_vertex *m) { return !ir_is_none(m->behind.m[0][0]); }

void polarized_row(walk *w, const polarized_vertex *m, const color row[4], color out[4])
{
    tracer *t = &w->t;
    for (uint32_t c = 0; c < t->channels; c++) {
        stokes r = channel_of(row, c);
        r = mueller_apply_row(t, &r, &m->to_sample);
        r = mueller_apply_row(t, &r, &m->of.sample.m[c]);
        if (turned_behind(m))
            r = mueller_apply_row(t, &r, &m->behind);
        put_channel(t, &r, c, out);
    }
}

void polarized_leaving(walk *w, const polarized_vertex *m, const color arriving[4], color out[4])
{
    tracer *t = &w->t;
    for (uint32_t c = 0; c < t->channels; c++) {
        stokes s = channel_of(arriving, c);
        s = mueller_apply(t, &m->of.sample.m[c], &s);
        s = mueller_apply(t, &m->to_sample, &s);
        put_channel(t, &s, c, out);
    }
}

void polarized_lit(walk *w, const polarized_vertex *m, color out[4])
{
    tracer *t = &w->t;
    for (uint32_t c = 0; c < t->channels; c++) {
        stokes s = mueller_apply(t, &m->to_light, &m->of.light[c]);
        put_channel(t, &s, c, out);
    }
}

color polarized_dot(walk *w, const color row[4], const color s[4])
{
    tracer *t = &w->t;
    color r = color_mul(t, row[0], s[0]);
    for (uint32_t c = 0; c < t->channels; c++)
        for (int k = 1; k < 4; k++)
            r.c[c] = t_mad(t, row[k].c[c], s[k].c[c], r.c[c]);
    return r;
}

void polarized_pass(walk *w, const walk_vertex *v, radiance_walk *p, ir_ref over_pdf, color lit[4])
{
    tracer *t = &w->t;
    polarized_vertex m = polarized_at(w, v, &p->at, p->basis);
    color row[4] = {p->beta, p->row[0], p->row[1], p->row[2]}, light[4];
    polarized_lit(w, &m, light);
    lit[0] = polarized_dot(w, row, light);
    polarized_row(w, &m, row, row);
    p->beta = color_scale(t, row[0], over_pdf);
    for (int k = 0; k < 3; k++)
        p->row[k] = color_scale(t, row[1 + k], over_pdf);
    for (int j = 0; j < 3 && p->whole; j++)
        lit[1 + j] = polarized_dot(w, p->others.rows[j], light);
    if (p->whole)
        entries_pass(w, &m, over_pdf, &p->others);
    p->basis = m.basis;
}
