// SPDX-License-Identifier: BSD-3-Clause
// Squared error relative to the target: (I - T)^2 / (T^2 + constant). With the target, not the image, in the
// denominator the slope stays affine in I.
void loss_term(float i, float t, out float value, out float slope)
{
    precise float difference = i - t, weight = 1.0 / (t * t + constant);
    precise float square = difference * difference * weight, twice = 2.0 * difference * weight;
    value = square;
    slope = twice;
}
