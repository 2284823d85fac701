/* SPDX-License-Identifier: BSD-3-Clause
 * Film to image: the strips of each pixel are summed in ascending order and multiplied by a scale (one over
 * the sample count). One invocation per value of the image.
 *
 * binding 0  film, f32: lane l = strip * pixels + pixel owns words l * lane_words ..; its channels start
 *            at lane_first
 * binding 1  image, f32, written: channels * pixels, interleaved
 * push       pixels, strips, scale (f32), lane_words, lane_first, channels */
#include "fit/kernels/traces.h"

enum { FILM, IMAGE, BINDINGS };
enum { PIXELS, STRIPS, SCALE, LANE_WORDS, LANE_FIRST, CHANNELS };

typedef struct strips {
    ir_ref word, step; /* of the first strip; from one to the next */
} strips;

static ir_ref strip_value(ir_func *f, ir_ref strip, const void *user)
{
    const strips *s = user;
    return ir_load(f, IR_F32, FILM, ir_add(f, s->word, ir_mul(f, strip, s->step)));
}

ir_module *fit_trace_resolve(void)
{
    static const fit_binding bindings[BINDINGS] = {{"film", true}, {"image", false}};
    ir_func *f = fit_trace_begin("resolve", bindings, BINDINGS);
    ir_ref i = ir_global_id(f), channels = fit_word(f, CHANNELS), pixels = fit_word(f, PIXELS);
    fit_where(f, ir_lt(f, i, ir_mul(f, channels, pixels)));
    ir_ref lane_words = fit_word(f, LANE_WORDS),
           channel = ir_add(f, fit_word(f, LANE_FIRST), ir_mod(f, i, channels));
    strips s = {.word = ir_add(f, ir_mul(f, ir_div(f, i, channels), lane_words), channel),
                .step = ir_mul(f, pixels, lane_words)};
    ir_ref sum = fit_sum(f, ir_u32(f, 0), fit_word(f, STRIPS), ir_u32(f, 1), strip_value, &s);
    ir_store(f, IMAGE, i, ir_mul(f, sum, fit_real(f, SCALE)));
    fit_where_end(f);
    return fit_trace_end(f);
}
