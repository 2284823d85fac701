/* SPDX-License-Identifier: BSD-3-Clause
 * Packets of 16 rays, with AVX-512. */
#if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#include <immintrin.h>
#include <stdint.h>

enum { LANES = 16 };
typedef __m512 lanes_float;
typedef __m512i lanes_int;
typedef __mmask16 lanes_mask;

static inline lanes_float lanes_all(float v) { return _mm512_set1_ps(v); }
static inline lanes_float lanes_load(const float *from) { return _mm512_load_ps(from); }
static inline void lanes_store(float *to, lanes_float v) { _mm512_store_ps(to, v); }
static inline lanes_float lanes_add(lanes_float a, lanes_float b) { return _mm512_add_ps(a, b); }
static inline lanes_float lanes_sub(lanes_float a, lanes_float b) { return _mm512_sub_ps(a, b); }
static inline lanes_float lanes_mul(lanes_float a, lanes_float b) { return _mm512_mul_ps(a, b); }
static inline lanes_float lanes_div(lanes_float a, lanes_float b) { return _mm512_div_ps(a, b); }
static inline lanes_float lanes_min(lanes_float a, lanes_float b) { return _mm512_min_ps(a, b); }
static inline lanes_float lanes_max(lanes_float a, lanes_float b) { return _mm512_max_ps(a, b); }
static inline lanes_float lanes_size(lanes_float a) { return _mm512_abs_ps(a); }
static inline lanes_float lanes_fma(lanes_float a, lanes_float b, lanes_float c)
{
    return _mm512_fmadd_ps(a, b, c);
}

/* Of positive numbers: the float before; of others, too: the one after. */
static inline lanes_float lanes_before(lanes_float a)
{
    return _mm512_castsi512_ps(_mm512_sub_epi32(_mm512_castps_si512(a), _mm512_set1_epi32(1)));
}
static inline lanes_float lanes_after(lanes_float a)
{
    return _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(a), _mm512_set1_epi32(1)));
}

static inline lanes_int lanes_all_int(uint32_t v) { return _mm512_set1_epi32((int)v); }
static inline lanes_int lanes_load_int(const uint32_t *from) { return _mm512_load_si512(from); }
static inline void lanes_store_int(uint32_t *to, lanes_int v) { _mm512_store_si512(to, v); }

static inline lanes_mask lanes_less(lanes_float a, lanes_float b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}
static inline lanes_mask lanes_at_most(lanes_float a, lanes_float b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ);
}
static inline lanes_mask lanes_equal(lanes_float a, lanes_float b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ);
}
static inline lanes_mask lanes_less_int(lanes_int a, lanes_int b) { return _mm512_cmplt_epu32_mask(a, b); }
static inline lanes_mask lanes_equal_int(lanes_int a, lanes_int b) { return _mm512_cmpeq_epu32_mask(a, b); }
static inline uint32_t lanes_bits(lanes_mask m) { return m; }
static inline lanes_mask lanes_of_bits(uint32_t bits) { return (lanes_mask)bits; }
static inline lanes_float lanes_choose(lanes_mask m, lanes_float yes, lanes_float no)
{
    return _mm512_mask_blend_ps(m, no, yes);
}
static inline lanes_int lanes_choose_int(lanes_mask m, lanes_int yes, lanes_int no)
{
    return _mm512_mask_blend_epi32(m, no, yes);
}

/* Of the lanes whose bits are set. */
static inline float lanes_least(uint32_t bits, lanes_float v)
{
    return _mm512_mask_reduce_min_ps((__mmask16)bits, v);
}
static inline float lanes_most(uint32_t bits, lanes_float v)
{
    return _mm512_mask_reduce_max_ps((__mmask16)bits, v);
}

#define PACKET_TRACE packet_trace_avx512
#include "gpu/native/packet.h"

#else /* a processor or a compiler without it */
#include "gpu/native/rays.h"

bool packet_trace_avx512(native_rays *r, uint32_t lanes)
{
    (void)r, (void)lanes;
    BL_ASSERT(false, "no AVX-512");
    return false;
}

#endif
