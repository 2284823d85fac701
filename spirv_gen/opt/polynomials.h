/* SPDX-License-Identifier: BSD-3-Clause
 * Printed by scripts/fit_polynomials.py; do not edit. Lowest power first. `error` is the largest relative
 * error of the whole expression with these coefficients in exact arithmetic. */
// clang-format off
#ifndef SPIRV_GEN_OPT_POLYNOMIALS_H
#define SPIRV_GEN_OPT_POLYNOMIALS_H

/* pi/2 in three parts, the first two of 11 bits: their products with integers up to 2^13 are exact */
#define MATH_PI_2_PART_1 0x1.92p+0f /* 1.5703125 */
#define MATH_PI_2_PART_2 0x1.fb4p-12f /* 0.000483751297 */
#define MATH_PI_2_PART_3 0x1.4442d2p-24f /* 7.54979013e-08 */

/* ln 2 in two parts, the first of 16 bits: its products with integers up to 2^8 are exact */
#define MATH_LN_2_PART_1 0x1.62e4p-1f /* 0.693145752 */
#define MATH_LN_2_PART_2 0x1.7f7d1cp-20f /* 1.42860677e-06 */
#define MATH_2_OVER_PI 0x1.45f306p-1f /* 0.636619747 */
#define MATH_1_OVER_LN_2 0x1.715476p+0f /* 1.44269502 */
#define MATH_PI_2 0x1.921fb6p+0f /* 1.57079637 */
#define MATH_PI 0x1.921fb6p+1f /* 3.14159274 */

/* sin r = r + r s p(s), s = r^2, |r| <= pi/4; error 2^-32.5 */
#define POLYNOMIAL_SIN { \
    -0x1.555556p-3f, /* -0.166666672 */ \
    0x1.111174p-7f, /* 0.0083333794 */ \
    -0x1.a05954p-13f, /* -0.000198530644 */ \
    0x1.7c2c4ep-19f, /* 2.83251006e-06 */ \
}

/* cos r = 1 - s/2 + s^2 p(s), s = r^2, |r| <= pi/4; error 2^-33.0 */
#define POLYNOMIAL_COS { \
    0x1.55554ap-5f, /* 0.0416666456 */ \
    -0x1.6c0c28p-10f, /* -0.00138873095 */ \
    0x1.99e80cp-16f, /* 2.44323273e-05 */ \
}

/* exp r = 1 + r + r^2 p(r), |r| <= ln(2)/2; error 2^-28.2 */
#define POLYNOMIAL_EXP { \
    0x1.fffffcp-2f, /* 0.49999994 */ \
    0x1.55548cp-3f, /* 0.166665167 */ \
    0x1.55585ap-5f, /* 0.0416681059 */ \
    0x1.123d5cp-7f, /* 0.00836913101 */ \
    0x1.6ab6bep-10f, /* 0.00138364348 */ \
}

/* log(1 + f) = f - f^2/2 + f^3 p(f), sqrt(1/2) <= 1 + f < sqrt(2); error 2^-29.8 */
#define POLYNOMIAL_LOG { \
    0x1.555548p-2f, /* 0.333333135 */ \
    -0x1.000008p-2f, /* -0.250000119 */ \
    0x1.99a46p-3f, /* 0.200020552 */ \
    -0x1.555b48p-3f, /* -0.166678011 */ \
    0x1.233dcep-3f, /* 0.142207727 */ \
    -0x1.fc532ap-4f, /* -0.124102749 */ \
    0x1.e6bd44p-4f, /* 0.118832842 */ \
    -0x1.dce586p-4f, /* -0.116429828 */ \
    0x1.1326d4p-4f, /* 0.0671757013 */ \
}

/* atan a = a + a s p(s), s = a^2, 0 <= a <= 1; error 2^-28.5 */
#define POLYNOMIAL_ATAN { \
    -0x1.55553ep-2f, /* -0.333332986 */ \
    0x1.9991e4p-3f, /* 0.199985296 */ \
    -0x1.242084p-3f, /* -0.142640144 */ \
    0x1.c08c1ap-4f, /* 0.109508611 */ \
    -0x1.580814p-4f, /* -0.0839920789 */ \
    0x1.da24cap-5f, /* 0.0578788705 */ \
    -0x1.fd6fbcp-6f, /* -0.0310935341 */ \
    0x1.6410e6p-7f, /* 0.0108662723 */ \
    -0x1.d32dbcp-10f, /* -0.00178214512 */ \
}

/* asin a = a + a s p(s), s = a^2, 0 <= a <= 1/2; error 2^-27.6 */
#define POLYNOMIAL_ASIN { \
    0x1.5555c8p-3f, /* 0.166667521 */ \
    0x1.330204p-4f, /* 0.0749530941 */ \
    0x1.747bbap-5f, /* 0.0454691537 */ \
    0x1.8c3e2ap-6f, /* 0.0241847429 */ \
    0x1.595c8cp-5f, /* 0.0421583876 */ \
}

#endif
