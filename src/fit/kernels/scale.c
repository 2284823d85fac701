/* SPDX-License-Identifier: BSD-3-Clause
 * The fixed-point scale of gradients from the largest |dL/dI|, on the device; or from the largest and the
 * smallest magnitude of a target.
 *
 * largest: one stage of it. Of `count` values, invocation i of `lanes` looks at numbers i, i + lanes, .., and
 * leaves the bits of the largest finite magnitude, which are in the order of the magnitudes. For the smallest
 * one the bits are turned: those of infinity less them, and 0 where there is none.
 * binding 0  values, f32: read unless `what` is FIT_REDUCED_PARTIALS, from word 0 on
 * binding 1  partial results, u32: read if it is, from word `first` on; written from word `out` on
 * push       first, count, lanes, out, what: fit_reduced
 *
 * scales: scale[first + i] = a power of two for i below count. The caller wants 2^p, p = c - exponent(x y),
 * where x is the largest magnitude and y a number that it knows; the exponent of the product is the sum of
 * both, or one less where the mantissa of x lies below a threshold. A divisor of x adds its exponent. p is
 * kept within -120 and 120.
 * binding 0  partial results, u32: x stands in word `slot`, the smallest magnitude, turned, in word `dark`
 * binding 1  scale, f32, written
 * push       slot, first, count, base: 1024 + 127 - 256 + p for an x of exponent bits 0, mantissa: the
 *            threshold, none: the bits of the scale where x is 0; least, most: floats between which x is kept
 *            first; dark, divisor: 256 + the exponent of the least divisor; 0: there is none */
#include "fit/kernels/traces.h"

static ir_ref u32(ir_func *f, uint32_t value) { return ir_u32(f, value); }

enum { VALUES, PARTIALS };
enum { FIRST, COUNT, LANES, OUT, WHAT };
enum { INFINITE = 0x7f800000 };

/* Bits of the magnitude of a value, turned or not; 0 of one that is not finite. */
static ir_ref magnitude(ir_func *f, ir_ref bits)
{
    ir_ref size = ir_and(f, bits, u32(f, 0x7fffffffu)), infinite = u32(f, INFINITE),
           turned = ir_eq(f, fit_word(f, WHAT), u32(f, FIT_REDUCED_TURNED));
    return ir_select(f, ir_lt(f, size, infinite), ir_select(f, turned, ir_sub(f, infinite, size), size),
                     u32(f, 0));
}

static ir_ref candidate(ir_func *f, ir_ref number)
{
    ir_ref in_values = ir_if(f, ir_ne(f, fit_word(f, WHAT), u32(f, FIT_REDUCED_PARTIALS)));
    ir_ref value = magnitude(f, ir_load(f, IR_U32, VALUES, number));
    ir_else(f);
    ir_ref partial = ir_load(f, IR_U32, PARTIALS, ir_add(f, fit_word(f, FIRST), number));
    ir_endif(f);
    return ir_phi(f, in_values, value, partial);
}

ir_module *fit_trace_largest(void)
{
    static const fit_binding bindings[] = {{"values", true}, {"partials", false}};
    ir_func *f = fit_trace_begin("largest", bindings, 2);
    ir_ref i = ir_global_id(f), lanes = fit_word(f, LANES);
    fit_where(f, ir_lt(f, i, lanes));
    ir_ref state[2] = {i, u32(f, 0)}, loop = ir_loop(f, state, 2);
    ir_while(f, ir_lt(f, state[0], fit_word(f, COUNT)));
    ir_ref most = ir_max(f, state[1], candidate(f, state[0]));
    ir_endloop(f, loop, (ir_ref[]){ir_add(f, state[0], lanes), most}, 2);
    ir_store(f, PARTIALS, ir_add(f, fit_word(f, OUT), i), state[1]);
    fit_where_end(f);
    return fit_trace_end(f);
}

enum { SLOT, SCALE_FIRST, SCALE_COUNT, BASE, MANTISSA, NONE, LEAST, MOST, DARK, DIVISOR };

/* 256 + the exponent of the divisor: that of the smallest magnitude's square, or the least one. */
static ir_ref divisor(ir_func *f)
{
    ir_ref dark = ir_sub(f, u32(f, INFINITE), ir_load(f, IR_U32, 0, fit_word(f, DARK))),
           square = ir_add(f, ir_shl(f, ir_shr(f, dark, u32(f, 23)), u32(f, 1)), u32(f, 256 - 2 * 127)),
           least = fit_word(f, DIVISOR);
    return ir_select(f, ir_eq(f, least, u32(f, 0)), u32(f, 256), ir_max(f, least, square));
}

ir_module *fit_trace_scales(void)
{
    static const fit_binding bindings[] = {{"partials", true}, {"scale", false}};
    ir_func *f = fit_trace_begin("scales", bindings, 2);
    ir_ref i = ir_global_id(f);
    fit_where(f, ir_lt(f, i, fit_word(f, SCALE_COUNT)));
    ir_ref most = ir_load(f, IR_U32, 0, fit_word(f, SLOT)); /* floats that are not negative compare by bits */
    most = ir_min(f, ir_max(f, most, fit_word(f, LEAST)), fit_word(f, MOST));
    ir_ref below = ir_to_u32(f, ir_lt(f, ir_and(f, most, u32(f, 0x7fffff)), fit_word(f, MANTISSA)));
    ir_ref power = ir_add(f, ir_sub(f, fit_word(f, BASE), ir_shr(f, most, u32(f, 23))), below);
    power = ir_add(f, power, divisor(f));
    power = ir_min(f, ir_max(f, power, u32(f, 1024 + 127 - 120)), u32(f, 1024 + 127 + 120));
    ir_ref bits = ir_shl(f, ir_sub(f, power, u32(f, 1024)), u32(f, 23));
    bits = ir_select(f, ir_eq(f, most, u32(f, 0)), fit_word(f, NONE), bits);
    ir_store(f, 1, ir_add(f, fit_word(f, SCALE_FIRST), i), ir_bits_to_f32(f, bits));
    fit_where_end(f);
    return fit_trace_end(f);
}
