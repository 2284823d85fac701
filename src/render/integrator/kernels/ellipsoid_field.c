/* SPDX-License-Identifier: BSD-3-Clause
 * Ellipsoids as Gaussian kernels that emit (Mitsuba's volprim_rf_basic; docs/theory/ellipsoids.md). A ray
 * visits the kernels that it enters, in the order of entry, and adds up
 *
 *     L = sum T_i alpha_i c_i       T_i = product over j < i of (1 - alpha_j)
 *
 * until it has visited max_depth of them, T is at most 0.01, or it meets something else. Nothing else emits.
 *
 * This file has the walk and its image, with path regeneration as in primal.c: one loop over the kernels of
 * all samples of a lane. The frozen check is the same image, whose alpha and colour come from the other set
 * of values.
 *
 * Invariant: hits are ordered by distance and entry (ir_ray_next). So of kernels that begin at the same
 * distance none is lost, and every pass visits the same kernels in the same order. */
#include "render/integrator/kernels/ellipsoid_field.h"
#include "spirv_gen/ad/ad.h"

static const float least_transmittance = 0.01f;

/* ---- the walk ---- */

ellipsoid_ray ellipsoids_before(walk *w, ir_ref sample)
{
    tracer *t = &w->t;
    return (ellipsoid_ray){walk_before(w, sample), t_f32(t, 0), t_u32(t, 0), t_f32(t, 1)};
}

void state_ellipsoids(walk *w, loop_state *s, ellipsoid_ray *r)
{
    state_position(w, s, &r->at);
    state_ref(s, &r->t), state_ref(s, &r->entry), state_ref(s, &r->transmittance);
}

void ellipsoids_start(walk *w, ellipsoid_ray *r) { r->at = walk_start(w, walk_begins(w, &r->at), r->at); }

/* The number of the kind among those in use. */
static uint32_t kind_number(const render_scene *s, enum shape_kind kind)
{
    uint32_t number = 0;
    for (int k = 0; k < (int)kind; k++)
        number += s->kind_used[k];
    return number;
}

/* Where the ray has met a kernel: alpha and colour, by the tracer that reads. */
static ellipsoid_values values_at(walk *w, tracer *reads, const ellipsoid_visit *v)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), branch = ir_if(f, v->there);
    ellipsoid_values r = {ellipsoid_alpha(reads, &v->hit), ellipsoid_color(reads, &v->hit)};
    ir_else(f);
    ir_endif(f);
    r.alpha = ir_phi(f, branch, r.alpha, zero);
    for (uint32_t c = 0; c < t->channels; c++)
        r.c.c[c] = ir_phi(f, branch, r.c.c[c], zero);
    return r;
}

ellipsoid_visit ellipsoids_next(walk *w, const ellipsoid_ray *r)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const walk_position *at = &r->at;
    ir_ref args[9] = {at->o.x, at->o.y, at->o.z, at->d.x, at->d.y, at->d.z, r->t, at->tmax, r->entry},
           found[5], ellipsoid = t_u32(t, kind_number(w->plan->scene, SHAPE_ELLIPSOID));
    BL_ASSERT(!w->plan->baked && !w->plan->scene->has_groups, "hits of ellipsoids in no order");
    ir_ray_next(f, w->fn.intersect, w->fn.kinds, args, found);
    ir_ref hit = ir_ne(f, found[1], t_u32(t, PLAN_NONE)), index = ir_select(f, hit, found[1], t_u32(t, 0));
    ir_ref entry = ir_add(f, t_aligned(t, t_word(t, t_u32(t, 0), HEADER_ENTRIES)),
                          ir_mul(f, index, t_u32(t, BVH_ENTRY_WORDS)));
    ellipsoid_visit v = {
        .there = ir_and(f, hit, ir_eq(f, t_word(t, entry, BVH_ENTRY_KIND), ellipsoid)),
        .hit = {.data = t_word(t, shape_of_entry(t, entry), SHAPE_DATA),
                .number = t_word(t, entry, BVH_ENTRY_PRIMITIVE),
                .o = v3_detach(t, at->o),
                .d = v3_detach(t, at->d)},
        .t = found[0],
        .entry = index,
    };
    tracer reads = t_deciding(t);
    ellipsoid_values own = values_at(w, &reads, &v);
    v.alpha = own.alpha, v.c = own.c;
    return v;
}

ellipsoid_values ellipsoids_differentiated(walk *w, const ellipsoid_visit *v)
{
    tracer reads = walk_differentiated(w);
    return values_at(w, &reads, v);
}

ir_ref ellipsoids_pass(walk *w, const ellipsoid_visit *v, ellipsoid_ray *r)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    r->transmittance = ir_mul(f, r->transmittance, ir_sub(f, t_f32(t, 1), v->alpha));
    r->at.depth = ir_add(f, r->at.depth, t_u32(t, 1));
    r->t = v->t, r->entry = v->entry;
    ir_ref alive = ir_and(f, v->there, ir_gt(f, r->transmittance, t_f32(t, least_transmittance)));
    if (w->plan->scene->max_depth >= 0)
        alive = ir_and(f, alive, ir_lt(f, r->at.depth, t_u32(t, (uint32_t)w->plan->scene->max_depth)));
    r->at.tmax = ir_select(f, alive, r->at.tmax, t_f32(t, -1));
    return alive;
}

void ellipsoids_restart(walk *w, ir_ref alive, ellipsoid_ray *r)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    r->at = walk_restart(w, alive, r->at);
    r->t = ir_select(f, alive, r->t, t_f32(t, 0)), r->entry = ir_select(f, alive, r->entry, t_u32(t, 0));
    r->transmittance = ir_select(f, alive, r->transmittance, t_f32(t, 1));
}

/* ---- sRGB ---- */

color ellipsoids_image(walk *w, color sum)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    for (uint32_t c = 0; w->plan->scene->srgb_primitives && c < t->channels; c++) {
        ir_ref v = sum.c[c], dark = ir_le(f, v, t_f32(t, 0.04045f)),
               base = ir_mul(f, ir_add(f, v, t_f32(t, 0.055f)), t_f32(t, 1 / 1.055f));
        ir_ref power = ir_pow(f, base, t_f32(t, 2.4f));
        sum.c[c] = ir_select(f, dark, ir_mul(f, v, t_f32(t, 1 / 12.92f)), power);
    }
    return sum;
}

color ellipsoids_image_slope(walk *w, color sum)
{
    color image = ellipsoids_image(w, sum), ones = color_all(t_f32(&w->t, 1)), slope = ones;
    if (w->plan->scene->srgb_primitives)
        ad_forward(w->t.f, sum.c, ones.c, w->t.channels, image.c, slope.c, w->t.channels);
    return slope;
}

/* ---- the image ---- */

typedef struct image_state {
    ellipsoid_ray r;
    color radiance;
    ir_ref weight; /* in a frozen pass: the transmittance by the other values */
    film_value sum, squares;
} image_state;

static void state_image(walk *w, loop_state *s, image_state *p)
{
    state_ellipsoids(w, s, &p->r);
    state_color(s, &w->t, &p->radiance), state_film(w, s, &p->sum);
    if (w->pass == RENDER_FROZEN)
        state_ref(s, &p->weight);
    if (w->pass == RENDER_VARIANCE)
        state_film(w, s, &p->squares);
}

/* One kernel: adds its light. Returns whether the ray goes on. */
static ir_ref visit(walk *w, image_state *p)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ellipsoid_visit v = ellipsoids_next(w, &p->r);
    bool frozen = w->pass == RENDER_FROZEN;
    ellipsoid_values own = frozen ? ellipsoids_differentiated(w, &v) : (ellipsoid_values){v.alpha, v.c};
    ir_ref weight = frozen ? p->weight : p->r.transmittance, share = ir_mul(f, weight, own.alpha);
    for (uint32_t c = 0; c < t->channels; c++)
        p->radiance.c[c] = t_mad(t, share, own.c.c[c], p->radiance.c[c]);
    if (frozen)
        p->weight = ir_mul(f, weight, ir_sub(f, t_f32(t, 1), own.alpha));
    return ellipsoids_pass(w, &v, &p->r);
}

/* Where a ray has ended: its radiance joins the sums and the next sample begins. */
static void finish_image(walk *w, image_state *p, ir_ref alive)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), ended = ir_not(f, alive);
    color weighed = walk_weigh(w, p->r.at, ellipsoids_image(w, p->radiance));
    ir_ref finite = color_finite(t, weighed), add = ir_and(f, ended, finite);
    kernel_count(w, ir_and(f, ended, ir_not(f, finite)), STATUS_NON_FINITE);
    for (uint32_t c = 0; c < t->channels; c++) {
        film_take(w, add, weighed.c[c], &p->sum.c[c], w->pass == RENDER_VARIANCE ? &p->squares.c[c] : NULL);
        p->radiance.c[c] = ir_select(f, alive, p->radiance.c[c], zero);
    }
    if (w->pass == RENDER_FROZEN)
        p->weight = ir_select(f, alive, p->weight, t_f32(t, 1));
    ellipsoids_restart(w, alive, &p->r);
    p->r.at.sample = ir_add(f, p->r.at.sample, ir_to_u32(f, ended));
}

bl_result kernel_ellipsoids_image(walk *w, ir_module *m)
{
    BL_ASSERT(w->pass == RENDER_PRIMAL || w->pass == RENDER_VARIANCE || w->pass == RENDER_FROZEN,
              "an image in pass %d", (int)w->pass);
    tracer *t = &w->t;
    ir_func *f = t->f;
    lane l = kernel_lane(w, m);
    bool squares = w->pass == RENDER_VARIANCE;
    image_state p = {.r = ellipsoids_before(w, l.first),
                     .radiance = color_all(t_f32(t, 0)),
                     .weight = t_f32(t, 1),
                     .sum = kernel_load_sum(w, l.film, l.inside)};
    ir_ref squares_at = squares ? kernel_squares_word(w, &l) : l.film;
    if (squares)
        p.squares = kernel_load_sum(w, squares_at, l.inside);
    loop_state state = {0}, next = {0};
    state_image(w, &state, &p);
    ir_ref loop = state_loop(f, &state);
    state_image(w, &state, &p);
    ir_while(f, ir_lt(f, p.r.at.sample, l.last));
    ellipsoids_start(w, &p.r);
    ir_ref alive = visit(w, &p);
    finish_image(w, &p, alive);
    state_image(w, &next, &p);
    state_endloop(f, loop, &state, &next);
    state_image(w, &state, &p);
    state_end(&state);
    kernel_store_sum(w, l.film, l.inside, p.sum);
    if (squares)
        kernel_store_sum(w, squares_at, l.inside, p.squares);
    ir_return(f, NULL, 0);
    return BL_OK;
}
