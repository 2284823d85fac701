/* SPDX-License-Identifier: BSD-3-Clause
 * What the passes share: the module rebuild (rebuild.c) and liveness (live.c). Private to spirv_gen. */
#ifndef SPIRV_GEN_OPT_PASS_H
#define SPIRV_GEN_OPT_PASS_H

#include "spirv_gen/opt/opt.h"

/* ---- rebuild.c: a new module with every needed function re-emitted, callees before callers ---- */

typedef struct opt_pass opt_pass;
struct opt_pass {
    const ir_module *from;
    const opt_options *options;
    ir_copy_hook hook; /* the copier's `user` is the opt_pass; NULL: plain copy */
    void (*begin)(
        ir_copier *c); /* before a function's first instruction, behind its parameters; NULL: nothing */
    void (*end)(ir_copier *c); /* at the end of every function, before it returns; NULL: nothing */
    /* malloc'ed bytes, one per instruction: what to keep; NULL: everything */
    uint8_t *(*keep)(const opt_pass *pass, const ir_func *f);
    void *user;
    const uint32_t *
        same; /* per function: the one to take in its place (itself: none); NULL: every function is its own */
    uint8_t *const *params, *const *results; /* per function: which parameters and results stay; NULL: all.
                                                The hook re-emits the calls */
    bool keep_suspended;                     /* for passes before differentiation */
    ARRAY(ir_ref)
    more_results;  /* `end` pushes values that the function returns behind its own; emptied by its return */
    ir_module *to; /* the result so far */
    ir_func **functions; /* new function by old index */
};
/* Functions that the entry cannot reach are dropped; a module without entry keeps all. A failure is in the
 * new module's `error`. */
ir_module *opt_rebuild(opt_pass *pass);
/* Emits a CALL of the same selector and targets, as they are in the new module, with other arguments; all
 * results that they have now. */
void opt_emit_call(ir_copier *c, ir_inst call, const ir_ref *args, uint32_t arg_count, ir_ref *results);
/* Gives the results of the CALL or RAY_* `id`, which a hook has replaced, their new values. */
void opt_replace_results(ir_copier *c, uint32_t id, const ir_ref *results);

/* Does any function hold an instruction of this kind? */
bool opt_holds(const ir_module *m, ir_op op);
/* Is it a read of a buffer that is constant? */
bool opt_reads_constant(const ir_func *f, ir_inst inst);

/* ---- groups.c: which functions share a signature ---- */

enum { OPT_CALLED = 1, OPT_BY_RAY = 2 };
typedef struct opt_groups {
    uint32_t *leader; /* per function: the same one for all of its group */
    uint8_t *reached; /* per function: what reaches its group in this module, OPT_CALLED and OPT_BY_RAY */
} opt_groups;
opt_groups opt_group_targets(const ir_module *m);
void opt_groups_free(opt_groups *g);

/* ---- accumulate.c ---- */

/* Are ACCUMs of the entry function summed privately, for there are few elements? */
bool opt_sums_privately(const ir_module *m, const opt_options *o);

/* ---- live.c: what a set of values and effects needs ---- */

/* Per function of the module: does calling it change memory? malloc'ed. */
uint8_t *opt_writes(const ir_module *m);
/* Is it a call that can change memory? writes: of opt_writes */
bool opt_calls_writer(const ir_func *f, ir_inst inst, const uint8_t *writes);
/* Per instruction of f: is it needed by roots[], or, where `writes` (of opt_writes) is given, by an effect?
 * malloc'ed. `params`: per function of the module and parameter, whether calls need that argument; NULL: they
 * need all. */
uint8_t *opt_live(const ir_func *f, const ir_ref *roots, uint32_t count, const uint8_t *writes,
                  uint8_t *const *params);

#endif
