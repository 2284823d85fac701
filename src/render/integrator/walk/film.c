/* SPDX-License-Identifier: BSD-3-Clause
 * Between light and the film: the response turns the channels of light into those of the film, and its
 * transpose turns the derivative of the loss by a pixel into that by a sample's radiance
 * (docs/theory/modes.md). The sample's weight, of filter and sensor, is a factor of both. Sums of the film
 * are loaded, carried and stored here, too.
 *
 * A film with the entries of Stokes vectors (walk.entries) has those of the intensity first, then those of
 * the next entry, and so on; to each entry the response is the same.
 *
 * Invariant: film_adjoint is the transpose of film_of at the same position, and no other code turns one kind
 * of channels into the other. */
#include "render/integrator/walk/kernel.h"

/* How many channels the film has for one entry. */
static uint32_t entry_channels(const walk *w) { return w->film_channels / w->entries; }

static void copy_channels(const walk *w, const ir_ref *from, ir_ref *to)
{
    const uint32_t count = entry_channels(w);
    BL_ASSERT(count == w->t.channels, "%u channels of light on a film of %u", w->t.channels, count);
    memcpy(to, from, count * sizeof *to);
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
    if (!bands)
        return response_rgb(t->wavelengths);
    return bands->colours ? response_srf(t, plan_bands(t), t->wavelengths)
                          : response_bands(t, plan_bands(t), bands->count, t->wavelengths);
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
    BL_ASSERT(w->entries == 1, "intensity on a film of Stokes vectors");
    return film_unweighed(w, walk_weigh(w, *at, radiance));
}

film_value film_of_entries(walk *w, const walk_position *at, color radiance, const color others[3])
{
    const uint32_t count = entry_channels(w);
    film_value r = {0};
    for (uint32_t k = 0; k < w->entries; k++) {
        film_value v = film_unweighed(w, walk_weigh(w, *at, k ? others[k - 1] : radiance));
        memcpy(r.c + k * count, v.c, count * sizeof *v.c);
    }
    return r;
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
    BL_ASSERT(w->entries == 1, "the adjoint of Stokes vectors by intensity alone");
    return walk_weigh(w, *at, film_adjoint_unweighed(w, dL));
}

void film_adjoint_entries(walk *w, const walk_position *at, film_value dL, color out[4])
{
    const uint32_t count = entry_channels(w);
    for (uint32_t k = 0; k < w->entries; k++) {
        film_value of = {0};
        memcpy(of.c, dL.c + k * count, count * sizeof *of.c);
        out[k] = walk_weigh(w, *at, film_adjoint_unweighed(w, of));
    }
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

ir_ref film_luminance(walk *w, const film_value *v)
{
    tracer *t = &w->t;
    static const float luminance[3] = {0.212671f, 0.715160f, 0.072169f};
    ir_ref sum = t_f32(t, 0);
    for (uint32_t c = 0; c < w->film_channels; c++) {
        float by = w->film_channels == 3 ? luminance[c] : 1.0f / (float)w->film_channels;
        sum = t_mad(t, t_f32(t, by), ir_abs(t->f, v->c[c]), sum);
    }
    return sum;
}
