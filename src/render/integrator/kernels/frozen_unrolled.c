/* SPDX-License-Identifier: BSD-3-Clause
 * Two kernels that check the gradient kernel. Both walk exactly its paths: same stream, same roulette, same
 * treatment of zeros. Unlike replay they carry throughput and radiance as differentiated expressions, over
 * detached densities.
 *
 *   frozen    The image whose directions, choices and densities come from the job's values and whose weights
 *             come from another set of values: perturbation Monte Carlo, for differences along frozen paths
 *             (docs/theory/replay_equality.md). A loop, like the primal kernel.
 *   unrolled  Reverse mode over the whole path. As many vertices as asked for, and a bounded number of
 *             collisions on each segment, are written out as straight-line code. The result equals path
 *             replay sample by sample, up to rounding (PRB, section 4.1). One sample per lane:
 *             UNIFORM_FIRST_SAMPLE. */
#include "render/integrator/eikonal/curve.h"
#include "render/integrator/kernels/kernels.h"
#include "spirv_gen/ad/ad.h"

typedef struct check_state {
    walk_position at;
    throughput b;        /* detached: decides the path */
    color weight;        /* the differentiated throughput; where walk.polarized the row's first entry, */
    color row[3];        /* and the others */
    color radiance;      /* differentiated */
    path_entries others; /* where walk.entries is 4, the same */
} check_state;

/* Takes the rows past the flight up to a vertex, and adds what the medium emits on the way. */
static void fly_polarized(walk *w, check_state *p, const walk_vertex *v, color row[4])
{
    tracer *t = &w->t;
    color flown = flight_weight(w, &v->flight, p->at.share);
    if (emission_any(w)) {
        color emitted = emission_radiance(w, &v->flight, true);
        p->radiance = color_add(t, p->radiance, color_mul(t, row[0], emitted));
        if (w->entries > 1)
            entries_see(w, &p->others, emitted);
    }
    for (int k = 0; k < 4; k++)
        row[k] = color_mul(t, row[k], flown);
    if (w->entries > 1)
        entries_scale(w, &p->others, flown);
    throughput_fly(w, v, &p->b);
}

/* One vertex of a polarised path, in the place of the lines below that have weight and values: adds its
 * light, and multiplies the row. Returns whether the path lives. */
static ir_ref step_polarized(walk *w, check_state *p)
{
    tracer *t = &w->t;
    walk_vertex v = walk_visit(w, p->at);
    polarized_vertex walked = polarized_at(w, &v, &p->at, p->b.basis),
                     m = polarized_differentiated(w, &v, &p->at, p->b.basis, &walked);
    color row[4] = {p->weight, p->row[0], p->row[1], p->row[2]}, lit[4], decided[4];
    if (w->media)
        fly_polarized(w, p, &v, row);
    if (w->plan->scene->emitters.count > 0) {
        color hit = color_scale(t, walk_radiance(w, v.hit, true), v.hit_mis);
        p->radiance = color_add(t, p->radiance, color_mul(t, row[0], hit));
        if (w->entries > 1)
            entries_see(w, &p->others, hit);
    }
    if (w->plan->scene->emitters.count > 0 && w->next_event) {
        polarized_lit(w, &m, lit);
        color light =
            color_mul(t, walk_radiance(w, v.light, true), walk_light_scale(w, &v, &p->at, w->volumetric));
        p->radiance = color_add(t, p->radiance, color_mul(t, polarized_dot(w, row, lit), light));
        for (uint32_t j = 0; j + 1 < w->entries; j++)
            p->others.found[j] = color_add(t, p->others.found[j],
                                           color_mul(t, polarized_dot(w, p->others.rows[j], lit), light));
    }
    polarized_row(w, &walked, p->b.row, decided);
    passage onward = throughput_pass_polarized(w, p->at.depth, &v, decided, walked.basis,
                                               walked.of.sample.depolarizes, &p->b);
    polarized_row(w, &m, row, row);
    p->weight = color_scale(t, row[0], onward.inverse_pdf);
    for (int k = 0; k < 3; k++)
        p->row[k] = color_scale(t, row[1 + k], onward.inverse_pdf);
    if (w->entries > 1)
        entries_pass(w, &m, onward.inverse_pdf, &p->others);
    p->at = walk_next(w, p->at, &v, onward.alive);
    return onward.alive;
}

/* One vertex: adds its light, multiplies the weight, moves on. Returns whether the path lives. */
static ir_ref step(walk *w, check_state *p)
{
    if (w->polarized)
        return step_polarized(w, p);
    tracer *t = &w->t;
    ir_func *f = t->f;
    walk_vertex v = walk_visit(w, p->at);
    if (field_any(w)) {
        field_segment s = field_segment_to(w, &p->at, &v);
        field_passage q = field_march(w, &s, ir_bool(f, true), true);
        for (uint32_t c = 0; c < t->channels; c++)
            p->radiance.c[c] = t_mad(t, p->weight.c[c], q.emitted.c[c], p->radiance.c[c]);
        p->weight = color_scale(t, p->weight, q.transmittance);
        p->b.beta = color_scale(t, p->b.beta, q.left);
    }
    if (w->bends_lit) {
        eikonal_passage passed = eikonal_passed(w, &v.curve);
        const walk_curve curve = curve_moved(w, &v);
        eikonal_passage moved = eikonal_passed(w, &curve);
        for (uint32_t c = 0; c < t->channels; c++)
            p->radiance.c[c] = t_mad(t, p->weight.c[c], moved.emitted.c[c], p->radiance.c[c]);
        p->weight = color_mul(t, p->weight, moved.left);
        p->b.beta = color_mul(t, p->b.beta, passed.left);
    }
    if (w->media && emission_any(w)) {
        color emitted = emission_radiance(w, &v.flight, true);
        for (uint32_t c = 0; c < t->channels; c++)
            p->radiance.c[c] = t_mad(t, p->weight.c[c], emitted.c[c], p->radiance.c[c]);
    }
    if (w->media)
        p->weight = color_mul(t, p->weight, flight_weight(w, &v.flight, p->at.share));
    throughput_fly(w, &v, &p->b);
    color for_light, for_sample, light_differentiated, sample_differentiated, scale = color_all(t_f32(t, 0));
    walk_values(w, &v, false, &for_light, &for_sample);
    walk_values(w, &v, true, &light_differentiated, &sample_differentiated);
    bool lights = w->plan->scene->emitters.count > 0;
    if (lights && w->next_event)
        scale = walk_light_scale(w, &v, &p->at, w->volumetric || field_any(w));
    color hit = lights ? walk_radiance(w, v.hit, true) : scale,
          light = lights && w->next_event ? walk_radiance(w, v.light, true) : scale;
    ir_ref hit_mis = v.hit_mis;
    if (lights)
        w->motion->hit_mis(w, &v, &hit_mis);
    for (uint32_t c = 0; lights && c < t->channels; c++) {
        ir_ref term = ir_mul(f, hit.c[c], hit_mis);
        if (w->next_event)
            term = t_mad(t, ir_mul(f, light.c[c], light_differentiated.c[c]), scale.c[c], term);
        p->radiance.c[c] = t_mad(t, p->weight.c[c], term, p->radiance.c[c]);
    }
    passage onward = throughput_pass(w, p->at.depth, &v, for_sample, &p->b);
    p->weight = color_mul(t, p->weight, color_scale(t, sample_differentiated, onward.inverse_pdf));
    walk_ray differentiated = w->motion->chains ? attached_next_ray(w, &v) : p->at.attached.now;
    p->at = walk_next(w, p->at, &v, onward.alive);
    p->at.attached.now = differentiated;
    return onward.alive;
}

static check_state start(walk *w, ir_ref sample)
{
    tracer *t = &w->t;
    ir_ref zero = t_f32(t, 0);
    check_state p = {
        .at = walk_before(w, sample),
        .b = throughput_start(w),
        .weight = color_all(t_f32(t, 1)),
        .row = {color_all(zero), color_all(zero), color_all(zero)},
        .radiance = color_all(zero),
    };
    if (w->entries > 1)
        entries_start(w, &p.others);
    return p;
}

/* ---- frozen ---- */

static void state_frozen(walk *w, loop_state *s, check_state *p, film_value *sum)
{
    state_position(w, s, &p->at);
    state_throughput(w, s, &p->b);
    state_color(s, &w->t, &p->weight), state_color(s, &w->t, &p->radiance), state_film(w, s, sum);
    for (int k = 0; k < 3 && w->polarized; k++)
        state_color(s, &w->t, &p->row[k]);
    if (w->entries > 1)
        state_entries(w, s, &p->others);
}

/* Where a path has ended, its radiance joins the sum and the next sample begins. */
static void finish_path(walk *w, check_state *p, film_value *sum, ir_ref alive)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1), finite = color_finite(t, p->radiance);
    film_value weighed = film_of_entries(w, &p->at, p->radiance, p->others.found);
    kernel_count(w, ir_and(f, ir_not(f, alive), ir_not(f, finite)), STATUS_NON_FINITE);
    ir_ref add = ir_and(f, ir_not(f, alive), finite);
    for (uint32_t c = 0; c < FILM_MOST; c++) {
        if (c < w->film_channels)
            film_take(w, add, weighed.c[c], &sum->c[c], NULL);
        if (c >= t->channels)
            continue;
        p->radiance.c[c] = ir_select(f, alive, p->radiance.c[c], zero);
        p->weight.c[c] = ir_select(f, alive, p->weight.c[c], one);
    }
    for (int k = 0; k < 3 && w->polarized; k++)
        p->row[k] = color_select(t, alive, p->row[k], color_all(zero));
    if (w->entries > 1)
        entries_restart(w, alive, &p->others);
    throughput_restart(w, alive, &p->b);
    p->at = walk_restart(w, alive, p->at);
    p->at.sample = ir_add(f, p->at.sample, ir_to_u32(f, ir_not(f, alive)));
}

bl_result kernel_frozen(walk *w, ir_module *m)
{
    BL_ASSERT(w->pass == RENDER_FROZEN, "frozen paths in pass %d", (int)w->pass);
    tracer *t = &w->t;
    ir_func *f = t->f;
    lane l = kernel_lane(w, m);
    check_state p = start(w, l.first);
    film_value sum = kernel_load_sum(w, l.film, l.inside);
    loop_state state = {0}, next = {0};
    state_frozen(w, &state, &p, &sum);
    ir_ref loop = state_loop(f, &state);
    state_frozen(w, &state, &p, &sum);
    ir_while(f, ir_lt(f, p.at.sample, l.last));
    ir_ref fresh = walk_begins(w, &p.at);
    p.at = walk_start(w, fresh, p.at);
    polarized_refer(w, fresh, &p.at, &p.b.basis);
    ir_ref alive = step(w, &p);
    finish_path(w, &p, &sum, alive);
    state_frozen(w, &next, &p, &sum);
    state_endloop(f, loop, &state, &next);
    state_frozen(w, &state, &p, &sum);
    state_end(&state);
    kernel_store_sum(w, l.film, l.inside, sum);
    ir_return(f, NULL, 0);
    return BL_OK;
}

/* ---- unrolled ---- */

bl_result kernel_unrolled(walk *w, ir_module *m, uint32_t depth)
{
    BL_ASSERT(w->pass == RENDER_UNROLLED && depth > 0, "%u vertices in pass %d", depth, (int)w->pass);
    BL_ASSERT(!w->plan->batch_pixels, "a check of paths of %u listed pixels", w->plan->batch_pixels);
    tracer *t = &w->t;
    ir_func *f = t->f;
    lane l = kernel_lane(w, m);
    check_state p = start(w, ir_uniform(f, IR_U32, UNIFORM_FIRST_SAMPLE));
    walk_hit none = p.at.local_surface.last;
    walk_set_wavelengths(w, p.at.sample);
    p.at = walk_camera(w, p.at.sample);
    p.at.local_surface.last = none;
    w->motion->before(w, &p.at);
    w->motion->camera(w, &p.at);
    if (w->entries > 1)
        p.b.basis = walk_camera_basis(w, p.at.sample, p.at.d);
    for (uint32_t k = 0; k < depth; k++)
        step(w, &p); /* after the path has ended, nothing is hit and all weights of lights are 0 */
    ir_ref at = ir_mul(f, w->pixel, t_u32(t, w->film_channels)), seeds[FILM_MOST];
    kernel_count(w, ir_not(f, color_finite(t, p.radiance)), STATUS_NON_FINITE);
    film_value found = film_of_entries(w, &p.at, p.radiance, p.others.found);
    for (uint32_t c = 0; c < w->film_channels; c++)
        seeds[c] =
            ir_select(f, l.inside, ir_load(f, IR_F32, BUFFER_ADJOINT, t_offset(t, at, c)), t_f32(t, 0));
    ad_backward(f, found.c, seeds, w->film_channels, NULL, NULL, 0);
    for (uint32_t c = 0; c < w->film_channels; c++)
        ir_store(f, BUFFER_FILM, t_offset(t, l.film, c), found.c[c]);
    ir_return(f, NULL, 0);
    return BL_OK;
}
