/* SPDX-License-Identifier: BSD-3-Clause
 * Packets of 8 rays, with AVX2. */
#if defined(__AVX2__) && defined(__FMA__) && defined(__BMI__)
#include <immintrin.h>
#include <math.h>
#include <stdint.h>

enum { LANES = 8 };
typedef __m256 lanes_float, lanes_mask;
typedef __m256i lanes_int;

static inline lanes_float lanes_all(float v) { return _mm256_set1_ps(v); }
static inline lanes_float lanes_load(const float *from) { return _mm256_load_ps(from); }
static inline void lanes_store(float *to, lanes_float v) { _mm256_store_ps(to, v); }
static inline lanes_float lanes_add(lanes_float a, lanes_float b) { return _mm256_add_ps(a, b); }
static inline lanes_float lanes_sub(lanes_float a, lanes_float b) { return _mm256_sub_ps(a, b); }
static inline lanes_float lanes_mul(lanes_float a, lanes_float b) { return _mm256_mul_ps(a, b); }
static inline lanes_float lanes_div(lanes_float a, lanes_float b) { return _mm256_div_ps(a, b); }
static inline lanes_float lanes_min(lanes_float a, lanes_float b) { return _mm256_min_ps(a, b); }
static inline lanes_float lanes_max(lanes_float a, lanes_float b) { return _mm256_max_ps(a, b); }
static inline lanes_float lanes_size(lanes_float a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
static inline lanes_float lanes_fma(lanes_float a, lanes_float b, lanes_float c)
{
    return _mm256_fmadd_ps(a, b, c);
}

/* Of positive numbers: the float before; of others, too: the one after. */
static inline lanes_float lanes_before(lanes_float a)
{
    return _mm256_castsi256_ps(_mm256_sub_epi32(_mm256_castps_si256(a), _mm256_set1_epi32(1)));
}
static inline lanes_float lanes_after(lanes_float a)
{
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(a), _mm256_set1_epi32(1)));
}

static inline lanes_int lanes_all_int(uint32_t v) { return _mm256_set1_epi32((int)v); }
static inline lanes_int lanes_load_int(const uint32_t *from)
{
    return _mm256_load_si256((const __m256i *)from);
}
static inline void lanes_store_int(uint32_t *to, lanes_int v) { _mm256_store_si256((__m256i *)to, v); }

static inline lanes_mask lanes_less(lanes_float a, lanes_float b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
static inline lanes_mask lanes_at_most(lanes_float a, lanes_float b)
{
    return _mm256_cmp_ps(a, b, _CMP_LE_OQ);
}
static inline lanes_mask lanes_equal(lanes_float a, lanes_float b) { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
static inline lanes_mask lanes_less_int(lanes_int a, lanes_int b)
{
    const __m256i sign = _mm256_set1_epi32(INT32_MIN); /* comparisons are signed */
    return _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_xor_si256(b, sign), _mm256_xor_si256(a, sign)));
}
static inline lanes_mask lanes_equal_int(lanes_int a, lanes_int b)
{
    return _mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b));
}
static inline uint32_t lanes_bits(lanes_mask m) { return (uint32_t)_mm256_movemask_ps(m); }
static inline lanes_mask lanes_of_bits(uint32_t bits)
{
    const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    return lanes_equal_int(_mm256_and_si256(_mm256_set1_epi32((int)bits), bit), bit);
}
static inline lanes_float lanes_choose(lanes_mask m, lanes_float yes, lanes_float no)
{
    return _mm256_blendv_ps(no, yes, m);
}
static inline lanes_int lanes_choose_int(lanes_mask m, lanes_int yes, lanes_int no)
{
    return _mm256_castps_si256(_mm256_blendv_ps(_mm256_castsi256_ps(no), _mm256_castsi256_ps(yes), m));
}

/* Of the lanes whose bits are set. */
static inline float lanes_least(uint32_t bits, lanes_float v)
{
    v = lanes_choose(lanes_of_bits(bits), v, lanes_all(INFINITY));
    __m128 a = _mm_min_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    a = _mm_min_ps(a, _mm_movehl_ps(a, a));
    return _mm_cvtss_f32(_mm_min_ss(a, _mm_movehdup_ps(a)));
}
static inline float lanes_most(uint32_t bits, lanes_float v)
{
    return -lanes_least(bits, _mm256_xor_ps(v, lanes_all(-0.0f)));
}

#define PACKET_TRACE packet_trace_avx2
#include "gpu/native/packet.h"

#else /* a processor that has no native device */
#include "gpu/native/rays.h"

bool packet_trace_avx2(native_rays *r, uint32_t lanes)
{
    (void)r, (void)lanes;
    BL_ASSERT(false, "no AVX2");
    return false;
}

#endif
