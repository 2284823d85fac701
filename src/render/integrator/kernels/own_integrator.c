/* SPDX-License-Identifier: BSD-3-Clause
 * The kernel around an application's integrator (render/own_integrator.h): a loop over the samples of a lane,
 * in which its functions are traced once. They make the radiance of a sample; here are the camera's ray, the
 * sums, and the derivatives of a radiance that brings no adjoint of its own.
 *
 * A lane's next sample begins when its last one has ended: what an application's loop does is not known here,
 * so there is no path regeneration. */
#include "render/integrator/kernels/replay.h"
#include "render/integrator/path/own_trace.h"
#include "spirv_gen/ad/ad.h"

typedef struct own_state {
    ir_ref sample;
    film_value sum, squares;
} own_state;

static void state_own(walk *w, loop_state *s, own_state *p)
{
    state_ref(s, &p->sample), state_film(w, s, &p->sum);
    if (w->pass == RENDER_VARIANCE)
        state_film(w, s, &p->squares);
}

/* Reverse mode of a radiance. */
static void backward(walk *w, color radiance, color dL)
{
    tracer *t = &w->t;
    ir_if(t->f, color_finite(t, radiance));
    color_backward(t, radiance, dL);
    ir_else(t->f);
    ir_endif(t->f);
}

/* What a sample adds to the film: its radiance, or the tangent of it. Returns false if the trace has
 * failed. */
static bool trace_sample(walk *w, const walk_position *at, film_value dL, color *out)
{
    const integrator_class *cls = w->plan->scene->own;
    own_trace own = {.w = w, .sample = at->sample};
    const ray camera = {at->o, at->d, at->tmax};
    bool reverse = w->pass == RENDER_GRADIENT;
    *out = reverse && cls->adjoint ? cls->adjoint(&own, cls, &camera, film_adjoint(w, at, dL))
                                   : cls->radiance(&own, cls, &camera);
    if (!own_end(&own))
        return false;
    if (reverse && !cls->adjoint)
        backward(w, *out, film_adjoint(w, at, dL));
    if (w->pass == RENDER_FORWARD) {
        color tangent;
        ad_forward(w->t.f, NULL, NULL, 0, out->c, tangent.c, w->t.channels);
        *out = tangent;
    }
    return w->t.f->module->error.code == BL_OK;
}

static void add_sample(walk *w, own_state *p, const walk_position *at, color found)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref finite = color_finite(t, found);
    film_value weighed = film_of(w, at, found);
    kernel_count(w, ir_not(f, finite), STATUS_NON_FINITE);
    for (uint32_t c = 0; c < w->film_channels; c++)
        film_take(w, finite, weighed.c[c], &p->sum.c[c],
                  w->pass == RENDER_VARIANCE ? &p->squares.c[c] : NULL);
    p->sample = ir_add(f, p->sample, t_u32(t, 1));
}

bl_result kernel_own(walk *w, ir_module *m)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    bool gradient = w->pass == RENDER_GRADIENT, squares = w->pass == RENDER_VARIANCE;
    BL_ASSERT(gradient || squares || w->pass == RENDER_PRIMAL || w->pass == RENDER_FORWARD,
              "an application's integrator in pass %d", (int)w->pass);
    lane l = kernel_lane(w, m);
    ir_ref squares_at = squares ? kernel_squares_word(w, &l) : l.film;
    film_value dL = gradient ? replay_sample_adjoint(w, &l) : film_none(w);
    own_state p = {.sample = l.first, .sum = kernel_load_sum(w, l.film, l.inside)};
    if (squares)
        p.squares = kernel_load_sum(w, squares_at, l.inside);
    loop_state state = {0}, next = {0};
    state_own(w, &state, &p);
    ir_ref loop = state_loop(f, &state);
    state_own(w, &state, &p);
    ir_while(f, ir_lt(f, p.sample, l.last));
    walk_position at = walk_camera(w, p.sample);
    color found;
    if (!trace_sample(w, &at, dL, &found))
        return BL_OK; /* the module has the error */
    add_sample(w, &p, &at, found);
    state_own(w, &next, &p);
    state_endloop(f, loop, &state, &next);
    if (gradient)
        ir_flush(f, BUFFER_GRADIENT, l.inside);
    state_own(w, &state, &p);
    state_end(&state);
    kernel_store_sum(w, l.film, l.inside, p.sum);
    if (squares)
        kernel_store_sum(w, squares_at, l.inside, p.squares);
    ir_return(f, NULL, 0);
    return BL_OK;
}
