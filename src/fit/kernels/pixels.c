/* SPDX-License-Identifier: BSD-3-Clause
 * Images between our layout (3 floats a pixel, without gaps) and that of a caller's buffer. One invocation a
 * pixel, whose words in the caller's buffer begin at first + pixel * stride.
 *
 * format  PIXELS_RGB   3 floats
 *         PIXELS_RGBA  4 floats; alpha is written as 1 and not read
 *         PIXELS_HALF  2 words of two halves each, low half first: as PIXELS_RGBA
 *         PIXELS_FACES 3 indices, u32, of which none comes in that is above `last`; not for pixels_out
 *
 * pixels_out: from ours to the caller's
 * binding 0  image, f32
 * binding 1  the caller's, u32, written
 * pixels_in: from the caller's to ours
 * binding 0  the caller's, u32
 * binding 1  image, f32, written
 * push       pixels, first, stride, format, own: the first word of the image in its buffer, last
 *
 * Halves are made by integers, rounded to nearest even, as hardware does it: beyond the largest half lies
 * infinity, and NaN stays NaN. Below the smallest normal half, the addition of a float whose last bit is that
 * of the smallest half rounds. */
#include "fit/kernels/traces.h"

enum { FROM, TO, BINDINGS };
enum { PIXELS, FIRST, STRIDE, FORMAT, OWN, LAST };

static ir_ref u32(ir_func *f, uint32_t value) { return ir_u32(f, value); }

/* ---- halves ---- */

static ir_ref half_of(ir_func *f, ir_ref value)
{
    const uint32_t infinity = 255u << 23, too_large = (127u + 16) << 23, least_normal = 113u << 23,
                   magic = (127u - 15 + 23 - 10 + 1) << 23;
    ir_ref bits = ir_bits_to_u32(f, value), sign = ir_and(f, bits, u32(f, 0x80000000u)),
           size = ir_and(f, bits, u32(f, 0x7fffffffu));
    ir_ref beyond = ir_select(f, ir_lt(f, u32(f, infinity), size), u32(f, 0x7e00), u32(f, 0x7c00));
    ir_ref small =
        ir_sub(f, ir_bits_to_u32(f, ir_add(f, ir_bits_to_f32(f, size), ir_bits_to_f32(f, u32(f, magic)))),
               u32(f, magic));
    ir_ref odd = ir_and(f, ir_shr(f, size, u32(f, 13)), u32(f, 1));
    ir_ref rounded = ir_add(f, ir_add(f, size, u32(f, ((15u - 127) << 23) + 0xfff)), odd);
    ir_ref normal = ir_shr(f, rounded, u32(f, 13));
    ir_ref finite = ir_select(f, ir_lt(f, size, u32(f, least_normal)), small, normal);
    ir_ref half = ir_select(f, ir_lt(f, size, u32(f, too_large)), finite, beyond);
    return ir_or(f, half, ir_shr(f, sign, u32(f, 16)));
}

/* Of the lower 16 bits. */
static ir_ref float_of(ir_func *f, ir_ref half)
{
    const uint32_t exponents = 0x7c00u << 13, rebias = (127u - 15) << 23, least_normal = 113u << 23;
    ir_ref bits = ir_shl(f, ir_and(f, half, u32(f, 0x7fff)), u32(f, 13)),
           exponent = ir_and(f, bits, u32(f, exponents)), zero = u32(f, 0);
    ir_ref moved = ir_add(f, bits, u32(f, rebias));
    ir_ref special = ir_add(f, moved, u32(f, (128u - 16) << 23));
    ir_ref small = ir_bits_to_u32(f, ir_sub(f, ir_bits_to_f32(f, ir_add(f, moved, u32(f, 1u << 23))),
                                            ir_bits_to_f32(f, u32(f, least_normal))));
    ir_ref size = ir_select(f, ir_eq(f, exponent, u32(f, exponents)), special,
                            ir_select(f, ir_eq(f, exponent, zero), small, moved));
    return ir_bits_to_f32(f, ir_or(f, size, ir_shl(f, ir_and(f, half, u32(f, 0x8000)), u32(f, 16))));
}

/* ---- kernels ---- */

static ir_ref caller_word(ir_func *f, ir_ref pixel)
{
    return ir_add(f, fit_word(f, FIRST), ir_mul(f, pixel, fit_word(f, STRIDE)));
}

static ir_ref own_word(ir_func *f, ir_ref pixel)
{
    return ir_add(f, fit_word(f, OWN), ir_mul(f, pixel, u32(f, 3)));
}

static ir_ref after(ir_func *f, ir_ref word, uint32_t k) { return k ? ir_add(f, word, u32(f, k)) : word; }

static void write_halves(ir_func *f, ir_ref word, const ir_ref rgb[3])
{
    ir_ref half[3];
    for (int c = 0; c < 3; c++)
        half[c] = half_of(f, rgb[c]);
    ir_store(f, TO, word, ir_or(f, half[0], ir_shl(f, half[1], u32(f, 16))));
    ir_store(f, TO, after(f, word, 1), ir_or(f, half[2], u32(f, 0x3c000000u)));
}

ir_module *fit_trace_pixels_out(void)
{
    static const fit_binding bindings[BINDINGS] = {{"image", true}, {"pixels", false}};
    ir_func *f = fit_trace_begin("pixels_out", bindings, BINDINGS);
    ir_ref i = ir_global_id(f), rgb[3];
    fit_where(f, ir_lt(f, i, fit_word(f, PIXELS)));
    ir_ref word = caller_word(f, i), own = own_word(f, i), format = fit_word(f, FORMAT);
    for (uint32_t c = 0; c < 3; c++)
        rgb[c] = ir_load(f, IR_F32, FROM, after(f, own, c));
    ir_if(f, ir_eq(f, format, u32(f, PIXELS_HALF)));
    write_halves(f, word, rgb);
    ir_else(f);
    for (uint32_t c = 0; c < 3; c++)
        ir_store(f, TO, after(f, word, c), ir_bits_to_u32(f, rgb[c]));
    ir_if(f, ir_eq(f, format, u32(f, PIXELS_RGBA)));
    ir_store(f, TO, after(f, word, 3), u32(f, 0x3f800000u));
    ir_else(f);
    ir_endif(f);
    ir_endif(f);
    fit_where_end(f);
    return fit_trace_end(f);
}

ir_module *fit_trace_pixels_in(void)
{
    static const fit_binding bindings[BINDINGS] = {{"pixels", true}, {"image", false}};
    ir_func *f = fit_trace_begin("pixels_in", bindings, BINDINGS);
    ir_ref i = ir_global_id(f);
    fit_where(f, ir_lt(f, i, fit_word(f, PIXELS)));
    ir_ref word = caller_word(f, i), own = own_word(f, i);
    ir_if(f, ir_eq(f, fit_word(f, FORMAT), u32(f, PIXELS_HALF)));
    ir_ref low = ir_load(f, IR_U32, FROM, word), high = ir_load(f, IR_U32, FROM, after(f, word, 1));
    ir_store(f, TO, own, float_of(f, low));
    ir_store(f, TO, after(f, own, 1), float_of(f, ir_shr(f, low, u32(f, 16))));
    ir_store(f, TO, after(f, own, 2), float_of(f, high));
    ir_else(f);
    ir_ref faces = ir_eq(f, fit_word(f, FORMAT), u32(f, PIXELS_FACES));
    for (uint32_t c = 0; c < 3; c++) {
        ir_ref bits = ir_load(f, IR_U32, FROM, after(f, word, c));
        bits = ir_select(f, faces, ir_min(f, bits, fit_word(f, LAST)), bits);
        ir_store(f, TO, after(f, own, c), ir_bits_to_f32(f, bits));
    }
    ir_endif(f);
    fit_where_end(f);
    return fit_trace_end(f);
}
