/* SPDX-License-Identifier: BSD-3-Clause
 * Between light and the film: the response turns the channels of light into those of the film, and its
 * transpose turns the derivative of the loss by a pixel into that by a sample's radiance
 * (docs/theory/modes.md). The sample's weight, of filter and sensor, is a factor of both. Sums of the film
 * are loaded, carried and stored here, too.
 *
 * Invariant: film_adjoint is the transpose of film_of at the same position, and no other code turns one kind
 * of channels into the other. */
#include "render/integrator/walk/kernel.h"

static void copy_channels(const walk *w, const ir_ref *from, ir_ref *to)
{
    BL_ASSERT(w->film_channels == w->t.channels, "%u channels of light on a film of %u", w->t.channels,
              w->film_channels);
    memcpy(to, from, w->film_channels * sizeof *to);
}

film_value film_plain(const walk *w, color c)
{
    film_value v = {0};
    copy_channels(w, c.c, v.c);
    return v;
}

color film_light(const walk *w, film_value v)
{
    color c = {0};
    copy_channels(w, v.c, c.c);
    return c;
}

/* The response at the wavelengths of the sample that the walk stands at. */
static film_response response_of(walk *w)
{
    tracer *t = &w->t;
    const film_bands *bands = w->plan->scene->bands;
    BL_ASSERT(t->wavelengths, "a film of %u channels before any sample", w->film_channels);
    return bands ? response_bands(t, plan_bands(t), bands->count, t->wavelengths)
                 : response_rgb(t, t->wavelengths);
}

film_value film_unweighed(walk *w, color radiance)
{
    if (w->t.light == LIGHT_SPECTRAL) {
        film_response r = response_of(w);
        film_value v = {0};
        response_apply(&w->t, &r, radiance.c, v.c);
        return v;
    }
    return film_plain(w, radiance);
}

film_value film_of(walk *w, const walk_position *at, color radiance)
{
    return film_unweighed(w, walk_weigh(w, *at, radiance));
}

color film_adjoint_unweighed(walk *w, film_value dL)
{
    if (w->t.light == LIGHT_SPECTRAL) {
        film_response r = response_of(w);
        color c = {0};
        response_transposed(&w->t, &r, dL.c, c.c);
        return c;
    }
    return film_light(w, dL);
}

color film_adjoint(walk *w, const walk_position *at, film_value dL)
{
    return walk_weigh(w, *at, film_adjoint_unweighed(w, dL));
}

film_value film_none(walk *w)
{
    film_value v = {0};
    for (uint32_t c = 0; c < w->film_channels; c++)
        v.c[c] = t_f32(&w->t, 0);
    return v;
}

void state_film(const walk *w, loop_state *s, film_value *v) { state_refs(s, v->c, w->film_channels); }

void film_take(walk *w, ir_ref where, ir_ref value, ir_ref *sum, ir_ref *squares)
{
    tracer *t = &w->t;
    ir_ref v = ir_select(t->f, where, value, t_f32(t, 0));
    *sum = ir_add(t->f, *sum, v);
    if (squares)
        *squares = t_mad(t, v, v, *squares);
}

/* ---- the buffer ---- */

film_value kernel_load_sum(walk *w, ir_ref word, ir_ref inside)
{
    tracer *t = &w->t;
    ir_ref at = ir_select(t->f, inside, word, t_u32(t, 0));
    film_value v = {0};
    for (uint32_t c = 0; c < w->film_channels; c++)
        v.c[c] = ir_load(t->f, IR_F32, BUFFER_FILM, t_offset(t, at, c));
    return v;
}

void kernel_store_sum(walk *w, ir_ref word, ir_ref inside, film_value sum)
{
    tracer *t = &w->t;
    ir_if(t->f, inside);
    for (uint32_t c = 0; c < w->film_channels; c++)
        ir_store(t->f, BUFFER_FILM, t_offset(t, word, c), sum.c[c]);
    ir_else(t->f);
    ir_endif(t->f);
}

ir_ref kernel_squares_word(walk *w, const lane *l)
{
    ir_func *f = w->t.f;
    ir_ref pixels = kernel_pixels(w);
    return ir_add(
        f, l->film,
        ir_mul(f, ir_mul(f, pixels, ir_uniform(f, IR_U32, UNIFORM_STRIPS)), t_u32(&w->t, w->film_channels)));
}
