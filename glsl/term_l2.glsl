// SPDX-License-Identifier: BSD-3-Clause
// Squared error: (I - T)^2. Its slope is affine in I, so noise in I does not bias the gradient.
void loss_term(float i, float t, out float value, out float slope)
{
    precise float difference = i - t, square = difference * difference, twice = 2.0 * difference;
    value = square;
    slope = twice;
}
