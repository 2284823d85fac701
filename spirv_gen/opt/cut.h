/* SPDX-License-Identifier: BSD-3-Clause
 * Cuts a kernel at its walk, a loop that every invocation takes many trips of, into kernels that each do a
 * part of one trip for many invocations (cut.c). Who runs them keeps queues and the memory between. */
#ifndef SPIRV_GEN_OPT_CUT_H
#define SPIRV_GEN_OPT_CUT_H

#include "spirv_gen/opt/opt.h"

/* Push-constant words of the kernels, behind those of the trace. */
enum opt_cut_uniform {
    OPT_CUT_COUNT,   /* invocations of this dispatch that do anything */
    OPT_CUT_SLOTS,   /* slots of the memory: invocations of the trace */
    OPT_CUT_FROM,    /* word of the queue that is read */
    OPT_CUT_TO,      /* word of the queue that is written; of classes: of the first, they are SLOTS apart */
    OPT_CUT_COUNTER, /* word of its counter; of classes: of the first */
    OPT_CUT_UNIFORMS
};

typedef struct opt_cut_options {
    uint32_t uniforms; /* where these begin */
    bool by_target;    /* calls of several targets become kernels of their own, one for each target */
} opt_cut_options;

/* The kernels. All have one more buffer behind those of the trace. It holds `words` planes of SLOTS words,
 * and queues of slots and their counters where the uniforms say. A trip is segment 0, then the calls of group
 * 0, segment 1, and so on. */
typedef struct opt_cut {
    ir_module *begin;     /* for every slot: what is before the loop; slots that enter it are queued */
    ir_module **segments; /* groups + 1, for the slots of a queue. The last one queues those that go on. The
                             first one, where there are groups, queues all by the class of their target */
    ir_module **calls;    /* of group g and target k at g * targets + k: for the slots of a class */
    ir_module *end;       /* for every slot: what is behind the loop */
    uint32_t groups, targets, words;
} opt_cut;

/* The trace should be simplified (opt_simplify): what nobody reads would be kept in memory. Fails with
 * BL_ERROR_UNSUPPORTED where the trace cannot be cut. */
bl_result opt_cut_walk(const ir_module *m, const opt_cut_options *options, opt_cut *out, bl_error *err);
void opt_cut_free(opt_cut *cut);

#endif
