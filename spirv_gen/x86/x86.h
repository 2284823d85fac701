/* SPDX-License-Identifier: BSD-3-Clause
 * This folder turns a trace into x86-64 machine code. A kernel runs 16 invocations at a time with AVX-512
 * (F, BW, DQ, VL) and 8 with AVX2. The folder knows neither rendering nor Vulkan. It allocates no executable
 * memory and starts no thread; src/gpu/native, which runs the kernels, does both.
 *
 * A kernel is a header, its constants, its code and the names of its functions, all in one array of words,
 * which may be kept on disk. The code does not depend on its address. It works on a workspace, which is
 * memory of one thread. Before a dispatch the caller writes what X86_WORKSPACE_* name: buffers, uniforms,
 * sizes, and the constants of the kernel. The rest of the workspace belongs to the code, which has two
 * functions:
 *
 *     void prologue(void *workspace);
 *     void run(void *workspace, uint32_t first, uint32_t count);
 *
 * The prologue computes the values that depend on uniforms and constant buffers alone. Every thread calls it
 * once per dispatch, before its first run. `run` runs invocations first .. first + count - 1; count is at
 * most `lanes`, or anything if the header says that the kernel refills: then lanes that have ended take the
 * next invocations. Both obey the System V calling convention.
 *
 * Buffers are arrays of words, aligned to 16 bytes. The code may read, but never writes, up to X86_PADDING
 * bytes behind the last word. */
#ifndef SPIRV_GEN_X86_H
#define SPIRV_GEN_X86_H

#include "spirv_gen/ir/ir.h"

typedef enum x86_target { X86_NONE, X86_AVX2, X86_AVX512 } x86_target;

/* The best target that this processor and its operating system support. It is X86_NONE if they support
 * neither, or if this is no x86-64; then no kernel can run. */
x86_target x86_processor(void);
uint32_t x86_lanes(x86_target target); /* 8 or 16; kernels of doubles have half as many */

enum {
    X86_MAGIC = 0x36384C42, /* "BL86" */
    X86_VERSION = 7,
    X86_LANES_MOST = 16,
    X86_BUFFERS_MOST = 32,
    X86_UNIFORMS_MOST = 32,
    X86_PADDING = 64,
    /* Offsets in a workspace, in bytes; it is aligned to 64. */
    X86_WORKSPACE_BUFFERS = 0,     /* the address of each buffer, 8 bytes */
    X86_WORKSPACE_UNIFORMS = 256,  /* words */
    X86_WORKSPACE_SIZES = 384,     /* of each buffer, in words; at most 2^32 - 1 */
    X86_WORKSPACE_RAYS = 512,      /* the address of an x86_rays, 8 bytes */
    X86_WORKSPACE_SHARED = 520,    /* a word that is not 0 if other threads add to the sums, too */
    X86_WORKSPACE_CONSTANTS = 576, /* x86_header.constant_count words */
};

typedef struct x86_header {
    uint32_t magic, version;
    uint32_t target; /* x86_target */
    uint32_t lanes;
    uint32_t workspace_bytes; /* a multiple of 64 */
    uint32_t constant_count;  /* words behind this header */
    uint32_t code_bytes;      /* behind the constants, which are padded to a multiple of 16 words */
    uint32_t prologue, run;   /* where these functions begin, in bytes of the code */
    uint32_t buffer_count, uniform_count; /* used: at most X86_BUFFERS_MOST, X86_UNIFORMS_MOST */
    uint32_t has_rays;                    /* 1: it calls who answers rays */
    uint32_t function_count; /* words behind the code: where each traced function begins, in bytes of the
                                code; behind `run`, ascending */
    uint32_t name_bytes; /* behind them: the names of these functions, a zero byte after each, and padding */
    uint32_t refills;    /* 1: `run` takes any number of invocations */
    uint32_t sums;       /* the number of the buffer of sums, plus 1; 0: there is none */
    uint32_t status_buffer, overflow_word; /* of the sums */
    uint32_t reserved[14];                 /* zero */
} x86_header;

/* ---- sums ---- */

/* One buffer may hold sums: integers of 64 bits to which the kernel adds and does nothing else. Then a thread
 * may be given another array in its place, zero at first, whose integers are added to the buffer when all
 * threads have ended. Nobody else adds to that array, so X86_WORKSPACE_SHARED is 0, and no addition takes an
 * atomic instruction, which is most of the time of a gradient by many elements. The sums are the same bits.
 * Who adds the arrays up counts, in the word overflow_word of status_buffer, sums whose high word has left
 * +-2^X86_SUM_BITS, as the kernel does (opt/fixed_point.c). */
enum { X86_SUM_BITS = 30 };

/* ---- rays ---- */

typedef enum x86_ray_want {
    X86_RAY_CLOSEST, /* the nearest hit, of equally near ones the first entry's */
    X86_RAY_ANY,     /* whether there is a hit */
    X86_RAY_NEXT     /* the nearest hit behind the one at tmin with entry `after` (ir_ray_next) */
} x86_ray_want;

/* Kernels do not traverse hierarchies. RAY_* calls whoever answers rays, through this memory of one thread,
 * whose address stands at X86_WORKSPACE_RAYS; it is aligned to 64, and lane k has element k of each array.
 *
 * The kernel writes `ray` and calls `begin` for some lanes. The answer is the number of lanes that have come
 * to a candidate: a primitive that only the kernel can intersect, by the traced function of its kind. Their
 * words of `has_candidate` are ~0, all others 0. For these the kernel runs the function, writes what it
 * returns to `found`, and calls `resume`, until no lane has a candidate any more. Then `hit` is complete. */
typedef struct x86_rays {
    float ray[8][X86_LANES_MOST];    /* origin xyz, direction xyz, tmin, tmax */
    uint32_t after[X86_LANES_MOST];  /* of X86_RAY_NEXT */
    uint32_t hit[5][X86_LANES_MOST]; /* t (tmax: none), entry (~0: none), u, v, level; as of RAY_CLOSEST */
    uint32_t has_candidate[X86_LANES_MOST];
    uint32_t data[X86_LANES_MOST];      /* of candidates: the word of the entry, */
    uint32_t kind[X86_LANES_MOST];      /* the target of RAY_*, */
    float candidate[8][X86_LANES_MOST]; /* the ray on the level of the entry, and the interval to search */
    float found[3][X86_LANES_MOST];     /* t, u, v */
    /* hierarchy: the 64 bits at x86_options.rays_word. lanes: bit k is lane k. */
    uint32_t (*begin)(struct x86_rays *r, uint64_t hierarchy, uint32_t lanes, x86_ray_want want);
    uint32_t (*resume)(struct x86_rays *r);
} x86_rays;

typedef struct x86_options {
    x86_target target;
    uint32_t rays_buffer,
        rays_word;          /* of RAY_*: where the two words stand that name the hierarchy; an even word */
    uint32_t triangle_kind; /* the target of RAY_* that has no candidates; ~0: none */
    uint32_t sums, status_buffer, overflow_word; /* as in x86_header, of a buffer in fixed point */
} x86_options;

typedef struct x86_code {
    uint32_t *words;
    size_t word_count;
} x86_code;

/* Makes the code of a module that opt_run has lowered. The error of an op without a lowering names the op. */
bl_result x86_generate(const ir_module *m, const x86_options *options, x86_code *out, bl_error *err);
void x86_code_free(x86_code *code);
/* Appends to `out` the code that x86_generate makes, as text beside the trace (listing.c says how). */
bl_result x86_list(const ir_module *m, const x86_options *options, text *out, bl_error *err);

#endif
