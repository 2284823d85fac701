// SPDX-License-Identifier: BSD-3-Clause
// 64-bit two's complement fixed point (word 2i low, 2i+1 high) to float, on devices without 64-bit integers.
// value = integer / scale, rounded once (nearest even); scale is a power of two, so dividing by it is exact
// unless the result leaves the range of normal floats.

// exact unless more than 24 bits are significant, then rounded to nearest even
float fixed_magnitude(uint low, uint high)
{
    int top = high != 0u ? 32 + findMSB(high) : findMSB(low); // -1 for zero
    if (top < 24)
        return float(low);
    uint cut = uint(top - 23); // bits below the 24 that stay: 1 .. 40
    // rest: the cut bits, left-aligned in 64 bits, so that a half is 0x80000000:0
    uint kept, rest_high, rest_low;
    if (cut < 32u) {
        kept = (low >> cut) | (high << (32u - cut));
        rest_high = low << (32u - cut);
        rest_low = 0u;
    } else if (cut == 32u) {
        kept = high;
        rest_high = low;
        rest_low = 0u;
    } else {
        kept = high >> (cut - 32u);
        rest_high = (high << (64u - cut)) | (low >> (cut - 32u));
        rest_low = low << (64u - cut);
    }
    bool above = rest_high > 0x80000000u || (rest_high == 0x80000000u && rest_low != 0u);
    bool half_way = rest_high == 0x80000000u && rest_low == 0u;
    if (above || (half_way && (kept & 1u) != 0u))
        kept++;
    return float(kept) * uintBitsToFloat((cut + 127u) << 23);
}

float fixed_to_float(uint low, uint high, float scale)
{
    bool negative = (high & 0x80000000u) != 0u;
    if (negative) {
        high = ~high + (low == 0u ? 1u : 0u);
        low = ~low + 1u;
    }
    float magnitude = fixed_magnitude(low, high);
    uint bits = floatBitsToUint(scale);
    uint exponent = (bits >> 23) & 255u;
    // the reciprocal of a power of two, exactly; anything else takes the device's division
    bool power = (bits & 0x7fffffu) == 0u && exponent >= 1u && exponent <= 253u;
    magnitude = power ? magnitude * uintBitsToFloat((254u - exponent) << 23) : magnitude / scale;
    return negative ? -magnitude : magnitude;
}
