/* SPDX-License-Identifier: BSD-3-Clause
 * The derivative of the image along one direction of parameter space: forward mode over the same detached
 * paths that the gradient kernel walks (same stream, same roulette, same treatment of zeros). A path carries
 * the tangents of its weight (its throughput) and of its radiance. At each vertex
 *
 *     radiance += weight * (mis * Le + f * mis * visibility / pdf * Ld)      weight *= f / pdf
 *
 * are differentiated. The tangent of the weight is given, those of Le, Ld and f come from the tangents of the
 * parameters (BUFFER_TANGENT), and everything else is detached. Forward mode divides by no factor, so a
 * factor of 0 is no special case: the weight becomes 0 and its tangent does not.
 *
 * The film receives tangents instead of radiance. For any W, the inner product <W, film> equals the gradient
 * kernel's result for the adjoint W along the same direction, sample by sample, up to rounding; that is what
 * tests/gradient/forward.c checks.
 *
 * Where walk.drt, a DRT path follows each path (media/differential_ratio_tracking.c). It gathers radiance,
 * which is then multiplied by the tangent of the extinction at the point where the DRT path began. */
#include "render/integrator/eikonal/curve.h"
#include "render/integrator/kernels/kernels.h"
#include "spirv_gen/ad/ad.h"

typedef struct forward_state {
    walk_position at;
    throughput b;           /* decides the path */
    color weight, radiance; /* tangents; where walk.polarized `weight` is that of the row's first entry, */
    color row[3];           /* and these are those of the others */
    /* Where walk.entries is 4: the other rows, the tangents of what they have found, and their own. */
    path_entries others;
    color moved[3][4];
    ir_ref ray[RAY_MOST]; /* tangents of attached_position.now, where the motion chains */
    film_value sum;
    drt_path drt_path; /* where drt_any */
    color light;       /* where drt_any: radiance that the DRT path has found */
} forward_state;

static void state_forward(walk *w, loop_state *s, forward_state *p)
{
    state_position(w, s, &p->at);
    state_throughput(w, s, &p->b);
    state_color(s, &w->t, &p->weight), state_color(s, &w->t, &p->radiance), state_film(w, s, &p->sum);
    for (int k = 0; k < 3 && w->polarized; k++)
        state_color(s, &w->t, &p->row[k]);
    if (w->entries > 1)
        state_entries(w, s, &p->others);
    for (int k = 0; k < 12 && w->entries > 1; k++)
        state_color(s, &w->t, &p->moved[k / 4][k % 4]);
    if (w->motion->chains)
        state_refs(s, p->ray, ray_width(w));
    if (drt_any(w))
        state_drt(w, s, &p->drt_path), state_color(s, &w->t, &p->light);
}

/* The detached value with the derivative of the differentiated one. The latter's own value is not used, so
 * its computation falls away. */
static color with_derivative(tracer *t, color value, color differentiated)
{
    COLOR_EACH(r, ir_replace_grad(t->f, value.c[c], differentiated.c[c]));
    return r;
}

static color radiance(walk *w, walk_light light)
{
    return with_derivative(&w->t, walk_radiance(w, light, false), walk_radiance(w, light, true));
}

/* The light of a vertex, without the weight. */
static color contribution(walk *w, const walk_vertex *v, const walk_position *at, color for_light)
{
    tracer *t = &w->t;
    if (w->plan->scene->emitters.count == 0)
        return color_all(t_f32(t, 0));
    ir_ref mis = ir_detach(t->f, v->hit_mis);
    w->motion->hit_mis(w, v, &mis);
    color found = color_scale(t, radiance(w, v->hit), mis);
    if (!w->next_event)
        return found;
    color sampled =
        color_mul(t, color_mul(t, radiance(w, v->light), for_light), walk_light_scale(w, v, at, true));
    COLOR_EACH(r, ir_add(t->f, found.c[c], sampled.c[c]));
    return r;
}

/* ---- DRT paths ---- */

/* Adds the light of a vertex to that of the DRT path, if one is being walked; b: the throughput. */
static void gather(walk *w, forward_state *p, const throughput *b, color found)
{
    tracer *t = &w->t;
    color light = color_mul(t, throughput_whole(w, b), found), none = color_all(t_f32(t, 0));
    for (uint32_t c = 0; c < t->channels; c++)
        light.c[c] = ir_detach(t->f, light.c[c]);
    p->light = color_add(t, p->light, color_select(t, p->drt_path.on, light, none));
}

/* Where the path has ended: a DRT path begins, or the one that ended adds its derivative. Returns whether the
 * sample goes on. */
static ir_ref continue_with_drt(walk *w, forward_state *p, ir_ref alive)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref ended = ir_not(f, alive), arrived = ir_and(f, ended, p->drt_path.on),
           back = ir_and(f, ended, drt_waits(w, &p->drt_path));
    color none = color_all(t_f32(t, 0)), value = drt_value(w, &p->drt_path), tangent;
    ad_forward(f, NULL, NULL, 0, value.c, tangent.c, t->channels);
    p->radiance = color_add(t, p->radiance, color_select(t, arrived, color_mul(t, p->light, tangent), none));
    p->light = color_select(t, ended, none, p->light);
    drt_begin(w, &p->drt_path, &p->at, &p->b, back);
    drt_forget(w, &p->drt_path, ir_and(f, ended, ir_not(f, back)));
    return ir_or(f, alive, back);
}

/* ---- the walk ---- */

/* What a vertex does to polarised light, differentiated. */
typedef struct polarized_factors {
    const polarized_vertex *m;
    color hit, lit[4], light; /* emission that was hit; the sampled light, as Stokes vectors and a factor */
    bool emits, sampled;      /* whether there are such */
    color flight, emitted;    /* where walk.media: the weight of the flight, and what the medium emits */
    ir_ref over_pdf;
} polarized_factors;

/* Carries the tangents of a row over the vertex, and adds that of the light that the row sees. */
static void carry_row(walk *w, const polarized_factors *of, const color row[4], color *tangent[4],
                      color *found)
{
    tracer *t = &w->t;
    const uint32_t n = t->channels;
    color arrived[4], next[4], added = color_all(t_f32(t, 0));
    for (int k = 0; k < 4; k++)
        arrived[k] = w->media ? color_mul(t, row[k], of->flight) : row[k];
    if (of->emits)
        added = color_mul(t, arrived[0], of->hit);
    if (of->sampled)
        added = color_add(t, added, color_mul(t, polarized_dot(w, arrived, of->lit), of->light));
    if (w->media && emission_any(w))
        added = color_add(t, added, color_mul(t, row[0], of->emitted));
    polarized_row(w, of->m, arrived, next);
    ir_ref from[4 * COLOR_MOST], moved[4 * COLOR_MOST], outputs[5 * COLOR_MOST], tangents[5 * COLOR_MOST];
    for (uint32_t c = 0; c < n; c++) {
        outputs[c] = added.c[c];
        for (uint32_t k = 0; k < 4; k++) {
            from[k * n + c] = row[k].c[c], moved[k * n + c] = tangent[k]->c[c];
            outputs[(1 + k) * n + c] = ir_mul(t->f, next[k].c[c], of->over_pdf);
        }
    }
    ad_forward(t->f, from, moved, 4 * n, outputs, tangents, 5 * n);
    for (uint32_t c = 0; c < n; c++) {
        found->c[c] = ir_add(t->f, found->c[c], tangents[c]);
        for (uint32_t k = 0; k < 4; k++)
            tangent[k]->c[c] = tangents[(1 + k) * n + c];
    }
}

/* One vertex of a polarised path: carries the tangents of its rows over it. */
static ir_ref step_polarized(walk *w, forward_state *p)
{
    tracer *t = &w->t;
    walk_vertex v = walk_visit(w, p->at);
    polarized_vertex walked = polarized_at(w, &v, &p->at, p->b.basis),
                     m = polarized_differentiated(w, &v, &p->at, p->b.basis, &walked);
    color row[4], decided[4], *tangent[4] = {&p->weight, &p->row[0], &p->row[1], &p->row[2]};
    polarized_factors of = {.m = &m, .emits = w->plan->scene->emitters.count > 0};
    of.sampled = of.emits && w->next_event;
    if (of.emits)
        of.hit = color_scale(t, radiance(w, v.hit), ir_detach(t->f, v.hit_mis));
    if (of.sampled) {
        polarized_lit(w, &m, of.lit);
        of.light = color_mul(t, radiance(w, v.light), walk_light_scale(w, &v, &p->at, true));
    }
    if (w->media)
        of.flight = flight_weight(w, &v.flight, p->at.share);
    if (w->media && emission_any(w))
        of.emitted =
            with_derivative(t, emission_radiance(w, &v.flight, false), emission_radiance(w, &v.flight, true));
    for (int k = 0; k < 4; k++)
        row[k] = throughput_where(w, p->b.zeros, 0, p->b.row[k]);
    throughput_fly(w, &v, &p->b);
    polarized_row(w, &walked, p->b.row, decided);
    passage onward = throughput_pass_polarized(w, p->at.depth, &v, decided, walked.basis,
                                               walked.of.sample.depolarizes, &p->b);
    of.over_pdf = ir_detach(t->f, onward.inverse_pdf);
    carry_row(w, &of, row, tangent, &p->radiance);
    for (uint32_t j = 0; j + 1 < w->entries; j++) {
        color *moved[4] = {&p->moved[j][0], &p->moved[j][1], &p->moved[j][2], &p->moved[j][3]};
        carry_row(w, &of, p->others.rows[j], moved, &p->others.found[j]);
    }
    if (w->media && w->entries > 1)
        entries_scale(w, &p->others, throughput_flown(w, &v));
    if (w->entries > 1)
        entries_pass(w, &walked, onward.inverse_pdf, &p->others);
    p->at = walk_next(w, p->at, &v, onward.alive);
    return onward.alive;
}

/* What the path goes through on its way to a vertex, differentiated. */
typedef struct forward_way {
    color weight, arrived; /* throughput at its beginning, and at its end */
    throughput before;     /* detached, at its beginning */
    field_passage passed;  /* where field_any */
    color bent;            /* where walk.bends_lit: what the curve emits */
} forward_way;

/* Takes the path over its way to the vertex. */
static forward_way go_way(walk *w, forward_state *p, const walk_vertex *v)
{
    tracer *t = &w->t;
    forward_way k = {.weight = throughput_whole(w, &p->b), .bent = color_all(t_f32(t, 0))};
    k.arrived = k.weight;
    if (w->media)
        k.arrived = color_mul(t, k.weight, flight_weight(w, &v->flight, p->at.share));
    if (drt_any(w))
        drt_offer(w, &p->drt_path, v, &p->at, &p->b, ir_not(t->f, p->drt_path.on));
    k.before = p->b;
    if (field_any(w)) {
        field_segment s = field_segment_to(w, &p->at, v);
        k.passed = field_march(w, &s, ir_bool(t->f, true), true);
        k.arrived = color_scale(t, k.arrived, k.passed.transmittance);
        p->b.beta = color_scale(t, p->b.beta, k.passed.left);
    }
    if (w->bends_lit) {
        eikonal_passage passed = eikonal_passed(w, &v->curve);
        const walk_curve curve = curve_moved(w, v);
        eikonal_passage moved = eikonal_passed(w, &curve);
        k.bent = moved.emitted;
        k.arrived = color_mul(t, k.arrived, moved.left), p->b.beta = color_mul(t, p->b.beta, passed.left);
    }
    throughput_fly(w, v, &p->b);
    return k;
}

/* The light that comes to be on the way, added to that of the vertex. */
static color add_way(walk *w, forward_state *p, const walk_vertex *v, const forward_way *k, color added)
{
    tracer *t = &w->t;
    for (uint32_t c = 0; field_any(w) && c < t->channels; c++)
        added.c[c] = t_mad(t, k->weight.c[c], k->passed.emitted.c[c], added.c[c]);
    for (uint32_t c = 0; w->bends_lit && c < t->channels; c++)
        added.c[c] = t_mad(t, k->weight.c[c], k->bent.c[c], added.c[c]);
    if (w->media && emission_any(w)) {
        color emitted = with_derivative(t, emission_radiance(w, &v->flight, false),
                                        emission_radiance(w, &v->flight, true));
        for (uint32_t c = 0; c < t->channels; c++)
            added.c[c] = t_mad(t, k->weight.c[c], emitted.c[c], added.c[c]);
        if (drt_any(w))
            gather(w, p, &k->before, emitted);
    }
    return added;
}

/* Carries the tangents of weight and ray to `next`, the throughput behind the vertex, and to the ray that
 * goes on, and adds that of `added`. */
static void carry_tangents(walk *w, forward_state *p, walk_vertex *v, color weight, color added, color next,
                           ir_ref alive)
{
    tracer *t = &w->t;
    const uint32_t n = t->channels;
    ir_ref from[COLOR_MOST + ARRIVALS_MOST], moved[COLOR_MOST + RAY_MOST], outputs[2 * COLOR_MOST + RAY_MOST],
        tangents[2 * COLOR_MOST + RAY_MOST];
    for (uint32_t c = 0; c < n; c++)
        outputs[c] = added.c[c], outputs[n + c] = next.c[c], from[c] = weight.c[c], moved[c] = p->weight.c[c];
    uint32_t width = w->motion->onward(w, v, outputs + 2 * n);
    BL_ASSERT(width <= RAY_MOST, "%u numbers of a ray", width);
    if (width > 0) {
        uint32_t inputs = w->motion->inputs(w, &p->at, v, from + n);
        BL_ASSERT(inputs == width, "a ray of %u numbers leads to one of %u", inputs, width);
        memcpy(moved + n, p->ray, width * sizeof *p->ray);
    }
    ad_forward(t->f, from, moved, n + width, outputs, tangents, 2 * n + width);
    memcpy(p->ray, tangents + 2 * n, width * sizeof *p->ray);
    if (width > 0)
        drop_singular(w, alive, p->at.depth, p->ray);
    for (uint32_t c = 0; c < n; c++) {
        ir_ref here = drt_any(w) ? ir_select(t->f, p->drt_path.on, t_f32(t, 0), tangents[c]) : tangents[c];
        p->radiance.c[c] = ir_add(t->f, p->radiance.c[c], here);
        p->weight.c[c] = tangents[n + c];
    }
}

/* One vertex: carries the tangents over it. Returns whether the path goes on. */
static ir_ref step(const walk *kernel, forward_state *p)
{
    walk own = *kernel, *w = &own;
    if (w->polarized)
        return step_polarized(w, p);
    tracer *t = &w->t;
    if (drt_any(w))
        drt_enter(w, &p->drt_path);
    walk_vertex v = walk_visit(w, p->at);
    color for_light, for_sample, light_differentiated, sample_differentiated;
    walk_values(w, &v, false, &for_light, &for_sample);
    walk_values(w, &v, true, &light_differentiated, &sample_differentiated);
    const forward_way way = go_way(w, p, &v);
    color found = contribution(w, &v, &p->at, with_derivative(t, for_light, light_differentiated));
    if (drt_any(w))
        gather(w, p, &p->b, found);
    passage onward = throughput_pass(w, p->at.depth, &v, for_sample, &p->b);
    color factor = color_scale(t, with_derivative(t, for_sample, sample_differentiated),
                               ir_detach(t->f, onward.inverse_pdf));
    color added = color_mul(t, way.arrived, found), next = color_mul(t, way.arrived, factor);
    carry_tangents(w, p, &v, way.weight, add_way(w, p, &v, &way, added), next, onward.alive);
    p->at = walk_next(w, p->at, &v, onward.alive);
    if (drt_any(w))
        drt_passed(w, &p->drt_path);
    return onward.alive;
}

/* Where a path has ended: the tangent of its radiance joins the sum, and the next sample begins. */
static void finish_path(walk *w, forward_state *p, ir_ref alive)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), ended = ir_not(f, alive), finite = color_finite(t, p->radiance);
    film_value weighed = film_of_entries(w, &p->at, p->radiance, p->others.found);
    kernel_count(w, ir_and(f, ended, ir_not(f, finite)), STATUS_NON_FINITE);
    ir_ref add = ir_and(f, ended, finite);
    for (uint32_t c = 0; c < FILM_MOST; c++) {
        if (c < w->film_channels)
            film_take(w, add, weighed.c[c], &p->sum.c[c], NULL);
        if (c >= t->channels)
            continue;
        p->radiance.c[c] = ir_select(f, alive, p->radiance.c[c], zero);
        p->weight.c[c] = ir_select(f, alive, p->weight.c[c], zero);
    }
    for (int k = 0; k < 3 && w->polarized; k++)
        p->row[k] = color_select(t, alive, p->row[k], color_all(zero));
    if (w->entries > 1)
        entries_restart(w, alive, &p->others);
    for (int k = 0; k < 12 && w->entries > 1; k++)
        p->moved[k / 4][k % 4] = color_select(t, alive, p->moved[k / 4][k % 4], color_all(zero));
    throughput_restart(w, alive, &p->b);
    p->at = walk_restart(w, alive, p->at);
    p->at.sample = ir_add(f, p->at.sample, ir_to_u32(f, ended));
}

/* The tangent of the camera's ray, where a path begins. */
static void begin_ray(walk *w, forward_state *p, ir_ref fresh)
{
    ir_func *f = w->t.f;
    ir_ref values[RAY_MOST], tangents[RAY_MOST];
    uint32_t width = ray_pack(w, attached_camera_ray(w, p->at.sample), values);
    ad_forward(f, NULL, NULL, 0, values, tangents, width);
    for (uint32_t k = 0; k < width; k++)
        p->ray[k] = ir_select(f, fresh, tangents[k], p->ray[k]);
}

bl_result kernel_forward(walk *w, ir_module *m)
{
    BL_ASSERT(w->pass == RENDER_FORWARD, "forward mode in pass %d", (int)w->pass);
    tracer *t = &w->t;
    ir_func *f = t->f;
    lane l = kernel_lane(w, m);
    ir_ref zero = t_f32(t, 0);
    color none = color_all(zero);
    forward_state p = {
        .at = walk_before(w, l.first),
        .b = throughput_start(w),
        .weight = none,
        .row = {none, none, none},
        .radiance = none,
        .sum = kernel_load_sum(w, l.film, l.inside),
        .drt_path = drt_none(w),
        .light = none,
    };
    for (uint32_t k = 0; k < RAY_MOST; k++)
        p.ray[k] = zero;
    if (w->entries > 1)
        entries_start(w, &p.others);
    for (int k = 0; k < 12 && w->entries > 1; k++)
        p.moved[k / 4][k % 4] = none;
    loop_state state = {0}, next = {0};
    state_forward(w, &state, &p);
    ir_ref loop = state_loop(f, &state);
    state_forward(w, &state, &p);
    ir_while(f, ir_lt(f, p.at.sample, l.last));
    ir_ref fresh = walk_begins(w, &p.at);
    p.at = walk_start(w, fresh, p.at);
    polarized_refer(w, fresh, &p.at, &p.b.basis);
    if (w->motion->chains)
        begin_ray(w, &p, fresh);
    ir_ref alive = step(w, &p);
    if (drt_any(w))
        alive = continue_with_drt(w, &p, alive);
    finish_path(w, &p, alive);
    state_forward(w, &next, &p);
    state_endloop(f, loop, &state, &next);
    state_forward(w, &state, &p);
    state_end(&state);
    kernel_store_sum(w, l.film, l.inside, p.sum);
    ir_return(f, NULL, 0);
    return BL_OK;
}
