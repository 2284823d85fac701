/* SPDX-License-Identifier: BSD-3-Clause
 * Gradients from fixed point to float: an element is a 64-bit integer in two's complement, word 2i low and
 * 2i + 1 high. Its value is the integer over the element's scale, rounded once, to nearest even. The scale is
 * a power of two, so dividing by it is exact unless the result leaves the range of normal floats.
 *
 * Devices need no 64-bit integers for it: the magnitude is shifted until its highest bit is that of the high
 * word. Of it 24 bits stay, which convert exactly, and the 40 bits below decide on rounding.
 *
 * gradient_read: output[output_first + i] = gradient[gradient_first + i] / scale[gradient_first + i]
 * binding 0  gradient, u32: two words per element
 * binding 1  scale, f32: one power of two per element
 * binding 2  output, f32, written
 * push       count, gradient_first (an element, also of scale), output_first */
#include "fit/kernels/traces.h"

/* The number of the highest bit that is set, of a word that is not 0. The float of all bits but those that
 * follow a set bit has the word's exponent however the device rounds, because such a number is not rounded up
 * to a power of two. */
static ir_ref highest_bit(ir_func *f, ir_ref word)
{
    ir_ref sparse = ir_and(f, word, ir_not(f, ir_shr(f, word, ir_u32(f, 1))));
    ir_ref bits = ir_bits_to_u32(f, ir_to_f32(f, sparse));
    return ir_sub(f, ir_shr(f, bits, ir_u32(f, 23)), ir_u32(f, 127));
}

/* Shifts the 64-bit number left by 0 to 63 places. */
static void shift_left(ir_func *f, ir_ref places, ir_ref *low, ir_ref *high)
{
    ir_ref zero = ir_u32(f, 0), one = ir_u32(f, 1), word = ir_u32(f, 32), whole = ir_le(f, word, places);
    /* In two steps, because 32 places at once would be none. */
    ir_ref carried = ir_shr(f, ir_shr(f, *low, one), ir_sub(f, ir_u32(f, 31), places));
    ir_ref shifted =
        ir_shl(f, *low, places); /* by places - 32, where these are not less: counts are modulo 32 */
    *high = ir_select(f, whole, shifted, ir_or(f, ir_shl(f, *high, places), carried));
    *low = ir_select(f, whole, zero, shifted);
}

/* 2^k, k within the exponents of normal floats. */
static ir_ref power_of_two(ir_func *f, ir_ref k)
{
    return ir_bits_to_f32(f, ir_shl(f, ir_add(f, k, ir_u32(f, 127)), ir_u32(f, 23)));
}

/* Of an integer without a sign. */
static ir_ref magnitude_to_float(ir_func *f, ir_ref low, ir_ref high)
{
    ir_ref zero = ir_u32(f, 0), one = ir_u32(f, 1), large = ir_ne(f, high, zero);
    ir_ref word = ir_select(f, large, high, ir_or(f, low, one)); /* 0 becomes 1: any shift will do for it */
    ir_ref places = ir_sub(f, ir_select(f, large, ir_u32(f, 31), ir_u32(f, 63)), highest_bit(f, word));
    shift_left(f, places, &low, &high);
    ir_ref kept = ir_shr(f, high, ir_u32(f, 8)), rest = ir_and(f, high, ir_u32(f, 255)),
           half = ir_u32(f, 128);
    ir_ref more = ir_or(f, ir_ne(f, low, zero), ir_eq(f, ir_and(f, kept, one), one));
    ir_ref up = ir_or(f, ir_lt(f, half, rest), ir_and(f, ir_eq(f, rest, half), more));
    ir_ref rounded = ir_to_i32(f, ir_add(f, kept, ir_to_u32(f, up))); /* CPUs convert signed words faster */
    return ir_mul(f, ir_to_f32(f, rounded), power_of_two(f, ir_sub(f, ir_u32(f, 40), places)));
}

/* value / scale. The reciprocal of a power of two is exact; anything else takes the device's division. */
static ir_ref divide_by_scale(ir_func *f, ir_ref value, ir_ref scale)
{
    ir_ref bits = ir_bits_to_u32(f, scale), zero = ir_u32(f, 0);
    ir_ref exponent = ir_and(f, ir_shr(f, bits, ir_u32(f, 23)), ir_u32(f, 255));
    ir_ref normal = ir_and(f, ir_le(f, ir_u32(f, 1), exponent), ir_le(f, exponent, ir_u32(f, 253)));
    ir_ref power = ir_and(f, ir_eq(f, ir_and(f, bits, ir_u32(f, 0x7fffffu)), zero), normal);
    ir_ref reciprocal = power_of_two(f, ir_sub(f, ir_u32(f, 127), exponent));
    return ir_select(f, power, ir_mul(f, value, reciprocal), ir_div(f, value, scale));
}

ir_ref fit_fixed_to_float(ir_func *f, ir_ref low, ir_ref high, ir_ref scale)
{
    ir_ref zero = ir_u32(f, 0), negative = ir_ne(f, ir_and(f, high, ir_u32(f, 0x80000000u)), zero);
    ir_ref carry = ir_to_u32(f, ir_eq(f, low, zero));
    ir_ref value = magnitude_to_float(f, ir_select(f, negative, ir_sub(f, zero, low), low),
                                      ir_select(f, negative, ir_add(f, ir_not(f, high), carry), high));
    value = divide_by_scale(f, value, scale);
    return ir_select(f, negative, ir_neg(f, value), value);
}

enum { GRADIENT, SCALE, OUTPUT, BINDINGS };
enum { COUNT, GRADIENT_FIRST, OUTPUT_FIRST };

ir_module *fit_trace_gradient_read(void)
{
    static const fit_binding bindings[BINDINGS] = {{"gradient", true}, {"scale", true}, {"output", false}};
    ir_func *f = fit_trace_begin("gradient_read", bindings, BINDINGS);
    ir_ref i = ir_global_id(f), one = ir_u32(f, 1);
    fit_where(f, ir_lt(f, i, fit_word(f, COUNT)));
    ir_ref element = ir_add(f, fit_word(f, GRADIENT_FIRST), i), word = ir_shl(f, element, one);
    ir_ref low = ir_load(f, IR_U32, GRADIENT, word),
           high = ir_load(f, IR_U32, GRADIENT, ir_add(f, word, one));
    ir_ref value = fit_fixed_to_float(f, low, high, ir_load(f, IR_F32, SCALE, element));
    ir_store(f, OUTPUT, ir_add(f, fit_word(f, OUTPUT_FIRST), i), value);
    fit_where_end(f);
    return fit_trace_end(f);
}
