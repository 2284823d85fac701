/* SPDX-License-Identifier: BSD-3-Clause
 * Passes over a module: each re-emits functions through the builder, so that folding and merging happen
 * again. */
#ifndef SPIRV_GEN_OPT_H
#define SPIRV_GEN_OPT_H

#include "spirv_gen/ir/ir.h"

/* How gradients reach memory (opt/accumulate.c; estimators: docs/architecture.md, Fixed-point scale). */
typedef enum opt_accumulate {
    OPT_ACCUMULATE_FIXED, /* gradient element i = words 2i, 2i+1 of the gradient buffer: 64-bit two's
                             complement, low word first */
    OPT_ACCUMULATE_FLOAT, /* float atomic add on word i */
    OPT_ACCUMULATE_CAS    /* compare-exchange loop on word i */
} opt_accumulate;

/* Passes that only make a program faster, and can be left out, for measuring what each is worth. */
typedef enum opt_switch {
    OPT_DEAD = 1,
    OPT_CALL_RESULTS = 2,
    OPT_CALL_ARGUMENTS = 4,
    OPT_CALL_UNUSED = 8,
    OPT_MERGE = 16,
    OPT_INLINE_SINGLE = 32,
    OPT_LOOP_STATES = 64,
    OPT_LOADS = 128,
    OPT_CALL_COMMON = 256,
    OPT_LOOP_INVARIANTS = 512,
    OPT_CALL_ACCUMS = 1024,
    OPT_VECTOR_LOADS = 2048, /* of code generation: spv_options.scalar_loads */
    OPT_SWITCH_COUNT = 12
} opt_switch;
extern const char *const opt_switch_names[OPT_SWITCH_COUNT]; /* of bit k: the pass's file */

/* bounds.c: the accesses of checked kernels, by the number that a kernel reports. Several kernels may share a
 * list. */
typedef struct opt_site {
    const char *kernel; /* name of the entry function */
    const char
        *place; /* function "f", instruction 7 `store %3 @1 %6`, as in the trace that the pass has read */
    const char *name;               /* of the buffer; NULL: a local array */
    uint32_t buffer, element_words; /* which buffer; words per element that its index counts */
    uint32_t array_size;            /* of a local array */
} opt_site;
typedef struct opt_sites {
    arena memory;
    ARRAY(opt_site) list;
} opt_sites;
void opt_sites_free(opt_sites *sites);

/* Words of a checked kernel's last buffer behind the n sizes (in words) of its other buffers. Zeroed before a
 * run. */
enum opt_report {
    OPT_REPORT_SITE /* 0: nothing happened; else site + 1 */,
    OPT_REPORT_INDEX,
    OPT_REPORT_INVOCATION,
    OPT_REPORT_WORDS
};

/* Of values that wait in memory of the workgroup. */
typedef struct opt_goal {
    uint32_t words; /* that a lane may have there */
    uint32_t live;  /* so many values may live: no others wait then */
    uint32_t over;  /* the goal is met, too, where so many more do when all words are taken */
} opt_goal;
enum { OPT_GOALS_MOST = 8 };

typedef struct opt_options {
    uint32_t off; /* opt_switch: passes to leave out */
    /* Not 0, for devices that share out registers: values are computed late (order.c) and, where more than so
     * many live at once, again (recompute.c). small_uniforms: this uniform and the next are below 2^30. */
    uint32_t live_most, small_uniforms;
    /* Of these, where still too many live: values wait in memory of the workgroup (park.c), by the first of
     * these goals that can be met. */
    opt_goal parking[OPT_GOALS_MOST];
    uint32_t parking_count; /* 0: none wait */
    bool ray_queries;       /* RAY_* stay: spv_generate makes ray queries of them, x86_generate calls */
    /* Else: acceleration structure for RAY_* (ray_bvh.c). */
    uint32_t scene_buffer;    /* buffer with nodes and entries */
    uint32_t node_base_word;  /* word of the scene buffer that holds the word offset of the packed nodes */
    uint32_t entry_base_word; /* ... of entry 0 */
    uint32_t level_word; /* word of the scene buffer that holds the word offset of the outer level's record;
                            0: there is one level */
    uint32_t
        stack_size; /* entries of the traversal stack: depth of the tree + 1; of two levels the sum of both */
    opt_accumulate accumulate;
    uint32_t gradient_elements; /* elements of the gradient buffer, if known: few of them are summed
                                   privately; 0: never */
    uint32_t scale_buffer;      /* FIXED: buffer with the f32 scale of gradient element i at scale_base + i */
    uint32_t scale_base;
    uint32_t status_buffer; /* FIXED: overflow and underflow counters */
    uint32_t overflow_word, underflow_word;
    /* Not 0: what is not finite is left out and counted there; else it is an overflow, or (FLOAT) is added.
     */
    uint32_t non_finite_word;
    opt_sites *sites; /* not NULL: the kernel is checked (bounds.c), and its accesses are appended here */
    /* From here on nothing may change the result: what stands above is the key of kernels kept on disk
     * (src/api/kernel_key.c). */
    void (*dump)(void *user, const char *pass, const ir_module *m); /* after each pass; NULL: none */
    void *user;
} opt_options;

/* ray_nodes.c: from a hierarchy with planes in f32 to the nodes that ray_bvh.c traverses. nodes: 16 words
 * each, [0..2] left child's box minimum, [3..5] maximum, [6..8], [9..11] the right one's, [12], [13]
 * references: number of an inner node, or as in ray_bvh.c. words: opt_packed_words(count) of them, grid and
 * nodes. */
void opt_pack_nodes(const uint32_t *nodes, uint32_t count, uint32_t *words);
uint32_t opt_packed_words(uint32_t count);

/* pipeline.c: everything that must and should happen before code generation, in order. Returns a new module;
 * the old one stays. */
bl_result opt_run(const ir_module *m, const opt_options *options, ir_module **out, bl_error *err);
/* The first of these steps, which lower nothing. */
bl_result opt_simplify(const ir_module *m, const opt_options *options, ir_module **out, bl_error *err);

/* measure.c: how large a module is. Bytes count 4 per value. */
typedef struct opt_size {
    uint32_t functions, ops, calls; /* ops: instructions but constants and their kin */
    uint32_t call_bytes;            /* selectors, arguments and results of all calls */
    uint32_t state_bytes;           /* states of all loops */
} opt_size;
opt_size opt_measure(const ir_module *m);

/* The passes; each returns a new module, those marked (*) NULL where they have nothing to change. */
ir_module *opt_dead(const ir_module *m);                       /* unused values, loop states, functions */
ir_module *opt_rays(const ir_module *m, const opt_options *o); /* RAY_* -> BVH traversal */
ir_module *opt_unroll(const ir_module *m,
                      uint32_t trips); /* every loop as so many trips, for validating derivatives */
ir_module *opt_inline_single(const ir_module *m); /* CALL with one target -> its body */
ir_module *opt_call_results(const ir_module *m);  /* (*) results known at the call site leave their CALL */
ir_module *
opt_call_arguments(const ir_module *m); /* (*) arguments equal at every call site move into the function */
ir_module *opt_call_unused(const ir_module *m); /* parameters and results that nobody reads */
ir_module *opt_merge(const ir_module *m);       /* (*) functions of equal bodies become one */
ir_module *opt_loop_states(const ir_module *m); /* (*) loop states that never change leave their loop */
ir_module *opt_loads(const ir_module *m);       /* loads of a word that has been loaded already */
ir_module *opt_loop_invariants(
    const ir_module *m); /* (*) what is the same in every iteration is computed before the loop */
ir_module *
opt_call_common(const ir_module *m); /* (*) values of several targets of a call are computed by the caller */
ir_module *opt_call_accums(const ir_module *m,
                           const opt_options *o); /* (*) ACCUMs of a call's targets become the caller's */
ir_module *opt_bounds(const ir_module *m,
                      const opt_options *o); /* checks before accesses; one more buffer, for reports */
ir_module *opt_accumulate_lower(const ir_module *m, const opt_options *o); /* ACCUM -> atomics */
ir_module *opt_order(const ir_module *m); /* values are computed late: few live at once */
/* (*) values are computed again where too many live at once; after opt_order */
ir_module *opt_recompute(const ir_module *m, const opt_options *o);
/* (*) values wait in memory of the workgroup where too many live at once; after opt_recompute */
ir_module *opt_park(const ir_module *m, const opt_options *o);
/* (*) the same with these goals; if none can be met, as few live as the words of the largest allow; near:
 * instructions between uses that one load serves */
ir_module *opt_park_to(const ir_module *m, const opt_goal *wanted, uint32_t count, uint32_t near);
ir_module *opt_math(const ir_module *m); /* sin, cos, .. -> polynomials; detach, replace_grad -> operand; min,
                                            max -> select */

#endif
