/* SPDX-License-Identifier: BSD-3-Clause
 * The native device: this processor, which runs kernels of its own machine code (spirv_gen/x86/x86.h is their
 * contract) in as many threads as it has cores. It has no driver, and Vulkan is not opened for it.
 *
 * Environment: BL_THREADS=N sets the number of threads, BL_NATIVE=avx2 takes the narrower code where the
 * processor has AVX-512, BL_NATIVE=off leaves the device out; BL_PERF_MAP=1 names the functions of kernels
 * for `perf`. */
#ifndef GPU_NATIVE_H
#define GPU_NATIVE_H

#include "gpu/gpu_internal.h"

/* ---- device.c ---- */

/* Appends the device to g->candidates or, where there is none, the reason to g->notes. */
#ifdef BL_WITH_NATIVE
void native_list(gpu *g);
#else
static inline void native_list(gpu *g)
{
    bl_error reason;
    error_set(&reason, BL_ERROR_NO_DEVICE, "native: this build is without it (BL_NATIVE, which needs Zydis)");
    gpu_note(g, &reason);
}
#endif

#endif
