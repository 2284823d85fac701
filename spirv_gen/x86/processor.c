/* SPDX-License-Identifier: BSD-3-Clause
 * This file asks what the processor can run. The compiler's support library asks CPUID for the features, and
 * XGETBV whether the operating system keeps the registers that they use. */
#include "spirv_gen/x86/x86.h"

x86_target x86_processor(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi"))
        return X86_NONE;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return X86_AVX512;
    return X86_AVX2;
#else
    return X86_NONE;
#endif
}
