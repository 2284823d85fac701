/* SPDX-License-Identifier: BSD-3-Clause
 * The derivative of the image of ellipsoids that emit along one direction of parameter space, and reverse
 * mode over a ray that is written out, which checks the replay. Both visit the kernels that the image visits
 * (ellipsoid_field.c). Forward mode carries the tangents of the transmittance and of the sum of
 * contributions; neither divides by a factor. */
#include "render/integrator/kernels/ellipsoid_field.h"
#include "spirv_gen/ad/ad.h"

/* ---- forward mode ---- */

typedef struct forward_state {
    ellipsoid_ray r;
    ir_ref transmittance;    /* its tangent */
    color radiance, tangent; /* of the radiance */
    film_value sum;
} forward_state;

static void state_forward(walk *w, loop_state *s, forward_state *p)
{
    state_ellipsoids(w, s, &p->r);
    state_ref(s, &p->transmittance);
    state_color(s, &w->t, &p->radiance), state_color(s, &w->t, &p->tangent), state_film(w, s, &p->sum);
}

/* What a kernel adds, and the transmittance behind it. */
static void composite(walk *w, ir_ref transmittance, const ellipsoid_values *own, ir_ref out[COLOR_MOST + 1])
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref share = ir_mul(f, transmittance, own->alpha);
    for (uint32_t c = 0; c < t->channels; c++)
        out[c] = ir_mul(f, share, own->c.c[c]);
    out[t->channels] = ir_mul(f, transmittance, ir_sub(f, t_f32(t, 1), own->alpha));
}

static ir_ref visit(walk *w, forward_state *p)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const uint32_t n = t->channels;
    ellipsoid_visit v = ellipsoids_next(w, &p->r);
    ellipsoid_values own = ellipsoids_differentiated(w, &v);
    ir_ref outputs[COLOR_MOST + 1], tangents[COLOR_MOST + 1];
    composite(w, p->r.transmittance, &own, outputs);
    ad_forward(f, &p->r.transmittance, &p->transmittance, 1, outputs, tangents, n + 1);
    for (uint32_t c = 0; c < t->channels; c++) {
        p->radiance.c[c] = ir_add(f, p->radiance.c[c], ir_detach(f, outputs[c]));
        p->tangent.c[c] = ir_add(f, p->tangent.c[c], tangents[c]);
    }
    p->transmittance = tangents[n];
    return ellipsoids_pass(w, &v, &p->r);
}

/* Where a ray has ended: the tangent of its radiance joins the sum, and the next sample begins. */
static void finish_forward(walk *w, forward_state *p, ir_ref alive)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref ended = ir_not(f, alive);
    color moved = color_mul(t, p->tangent, ellipsoids_image_slope(w, p->radiance)),
          weighed = walk_weigh(w, p->r.at, moved), none = color_all(t_f32(t, 0));
    ir_ref finite = color_finite(t, weighed);
    kernel_count(w, ir_and(f, ended, ir_not(f, finite)), STATUS_NON_FINITE);
    p->sum = film_plain(
        w, color_add(t, film_light(w, p->sum), color_select(t, ir_and(f, ended, finite), weighed, none)));
    p->radiance = color_select(t, alive, p->radiance, none);
    p->tangent = color_select(t, alive, p->tangent, none);
    p->transmittance = ir_select(f, alive, p->transmittance, t_f32(t, 0));
    ellipsoids_restart(w, alive, &p->r);
    p->r.at.sample = ir_add(f, p->r.at.sample, ir_to_u32(f, ended));
}

bl_result kernel_ellipsoids_forward(walk *w, ir_module *m)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    lane l = kernel_lane(w, m);
    color none = color_all(t_f32(t, 0));
    forward_state p = {.r = ellipsoids_before(w, l.first),
                       .transmittance = t_f32(t, 0),
                       .radiance = none,
                       .tangent = none,
                       .sum = kernel_load_sum(w, l.film, l.inside)};
    loop_state state = {0}, next = {0};
    state_forward(w, &state, &p);
    ir_ref loop = state_loop(f, &state);
    state_forward(w, &state, &p);
    ir_while(f, ir_lt(f, p.r.at.sample, l.last));
    ellipsoids_start(w, &p.r);
    ir_ref alive = visit(w, &p);
    finish_forward(w, &p, alive);
    state_forward(w, &next, &p);
    state_endloop(f, loop, &state, &next);
    state_forward(w, &state, &p);
    state_end(&state);
    kernel_store_sum(w, l.film, l.inside, p.sum);
    ir_return(f, NULL, 0);
    return BL_OK;
}

/* ---- reverse mode over the whole ray ---- */

bl_result kernel_ellipsoids_unrolled(walk *w, ir_module *m, uint32_t depth)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    lane l = kernel_lane(w, m);
    ellipsoid_ray r = ellipsoids_before(w, ir_uniform(f, IR_U32, UNIFORM_FIRST_SAMPLE));
    color sum = color_all(t_f32(t, 0));
    ir_ref transmittance = t_f32(t, 1), at = ir_mul(f, w->pixel, t_u32(t, w->film_channels)),
           seeds[COLOR_MOST];
    r.at = walk_camera(w, r.at.sample);
    for (uint32_t k = 0; k < depth; k++) { /* after the ray has ended it meets nothing */
        ellipsoid_visit v = ellipsoids_next(w, &r);
        ellipsoid_values own = ellipsoids_differentiated(w, &v);
        ir_ref out[COLOR_MOST + 1];
        composite(w, transmittance, &own, out);
        for (uint32_t c = 0; c < t->channels; c++)
            sum.c[c] = ir_add(f, sum.c[c], out[c]);
        transmittance = out[t->channels];
        ellipsoids_pass(w, &v, &r);
    }
    color radiance = walk_weigh(w, r.at, ellipsoids_image(w, sum));
    for (uint32_t c = 0; c < t->channels; c++)
        seeds[c] =
            ir_select(f, l.inside, ir_load(f, IR_F32, BUFFER_ADJOINT, t_offset(t, at, c)), t_f32(t, 0));
    ad_backward(f, radiance.c, seeds, t->channels, NULL, NULL, 0);
    for (uint32_t c = 0; c < t->channels; c++)
        ir_store(f, BUFFER_FILM, t_offset(t, l.film, c), radiance.c[c]);
    ir_return(f, NULL, 0);
    return BL_OK;
}
