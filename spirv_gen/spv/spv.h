/* SPDX-License-Identifier: BSD-3-Clause
 * Trace -> SPIR-V words. The module must be lowered (opt_run). Equal modules give equal words. */
#ifndef SPIRV_GEN_SPV_H
#define SPIRV_GEN_SPV_H

#include "spirv_gen/ir/ir.h"

/* How RAY_* become ray queries (ray.c). Words are those of scene_buffer. */
typedef struct spv_rays {
    bool query; /* false: RAY_* is an error, opt_rays should have lowered it */
    uint32_t scene_buffer;
    uint32_t accel_word;      /* holds the device address of the acceleration structure, low word first */
    uint32_t entry_base_word; /* holds the word offset of entry 0 */
    uint32_t level_word;    /* holds the word offset of the table of instances: (first entry, level record) of
                               each; 0: one level, and an instance's custom index is its first entry */
    uint32_t triangle_kind; /* index of the intersection function of triangles, which the device intersects
                               itself; ~0: there are none */
} spv_rays;

/* How f32 quotients and square roots become the nearest numbers. */
typedef enum spv_rounding {
    SPV_ROUNDING_OWN,   /* the device's own are */
    SPV_ROUNDING_FUSED, /* its own are corrected by its Fma, which rounds once (rounded.c) */
    SPV_ROUNDING_WORDS  /* its own are corrected by integers (rounded.c) */
} spv_rounding;

typedef struct spv_options {
    uint32_t local_size;               /* 0: 64 */
    bool names;                        /* OpName for functions, buffers, values' ops */
    bool signed_zero_inf_nan_preserve; /* device offers it for 32 bits: ask for it */
    spv_rounding rounding;
    bool volatile_memory; /* what a kernel both loads and stores is accessed as Volatile (memory.c) */
    bool branching_calls; /* a call of several targets is a chain of branches, not a switch (control.c) */
    bool scalar_loads;    /* every word is read on its own (vector_loads.c) */
    spv_rays rays;
    uint32_t addressed; /* bit i: buffer i, of the first 32, is larger than a binding reaches. Its binding
                           holds two words instead, its device address, low word first */
} spv_options;

typedef struct spv_code {
    uint32_t *words; /* malloc'ed; free with spv_code_free */
    size_t word_count;
} spv_code;

/* Binding i = buffer i of the module, descriptor set 0. Push constants: m->uniform_count words. Every f32
 * arithmetic op is decorated NoContraction. Float atomics (ATOMIC_ADD of f32) request
 * VK_EXT_shader_atomic_float's capability. */
bl_result spv_generate(const ir_module *m, const spv_options *options, spv_code *out, bl_error *err);
void spv_code_free(spv_code *code);

#endif
