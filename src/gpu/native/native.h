/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef GPU_NATIVE_H
#define GPU_NATIVE_H

#include "gpu/gpu_internal.h"

static inline void native_list(gpu *g) { (void)g; }

#endif
