/* SPDX-License-Identifier: BSD-3-Clause
 * What the files of this folder share. Private to spirv_gen/ad. */
#ifndef SPIRV_GEN_AD_SWEEP_H
#define SPIRV_GEN_AD_SWEEP_H

#include "spirv_gen/ad/ad.h"

/* ---- rules.c ---- */

/* One value op at the place where its derivative is emitted: operands and the op's own value, as seen
 * there. */
typedef struct ad_site {
    ir_func *f;
    ir_ref a, b, c, y;
} ad_site;

/* x times the partial derivative of the op with respect to operand k (0: a, 1: b, 2: c); reference 0:
 * zero. */
typedef ir_ref (*ad_rule)(const ad_site *s, unsigned k, ir_ref x);
extern const ad_rule ad_rules[IR_OP_COUNT]; /* NULL: no derivative */
/* Whether a derivative can pass through operand k of a value op with a rule. */
bool ad_carries(ir_op op, unsigned k);

/* ---- activity.c ---- */

typedef enum ad_mode { AD_REVERSE, AD_FORWARD } ad_mode;
/* Per instruction: f32 whose value (or local array whose elements) depends differentiably on one of wrt[] or
 * on a DLOAD with a gradient (forward: with a tangent). malloc'ed. */
uint8_t *ad_active(const ir_func *f, const ir_ref *wrt, uint32_t count, ad_mode mode);

/* ---- repeat.c ---- */

/* Whether computing an instruction of `from` again, as part of what begins at `first`, could give something
 * else or happen twice; then that is the error of `to`. *writes: of opt_writes, made when first needed. */
bool ad_refuse_repeat(ir_func *to, const ir_func *from, uint32_t id, uint32_t first, uint8_t **writes);

/* ---- derived.c: derived functions by name ---- */

/* One byte per result and per parameter of a callee; only f32 ones are ever set. */
typedef struct ad_mask {
    uint8_t *results, *params;
} ad_mask;
ad_mask ad_mask_create(const ir_func *callee);
void ad_mask_free(ad_mask *m);
/* "callee.KIND3_01_110": by which the function is found again, or made. */
const char *ad_derived_name(const ir_func *callee, const char *kind, const ad_mask *m);
ir_func *ad_derived_create(ir_module *m, const char *name);
/* NULL: there is none yet. Other functions may have such a name, too. */
ir_func *ad_derived_find(const ir_module *m, const char *name);
/* The callee's parameters in the derived function: new references by instruction of the callee. malloc'ed. */
ir_ref *ad_derived_params(const ir_func *callee, ir_func *derived);
/* PARAM instructions of the wanted parameters. */
uint32_t ad_param_insts(const ir_func *callee, const uint8_t *wanted, ir_ref *out);

/* ---- reverse.c ---- */

typedef struct ad_touch { /* an adjoint that a branch or loop body has set aside */
    uint32_t id, frame;
    ir_ref adjoint;
} ad_touch;

typedef ARRAY(ad_touch) ad_touch_list;

typedef struct ad_frame { /* the branch or loop body that is being swept; first = 0: none */
    uint32_t first, number;
} ad_frame;

typedef struct ad_sweep {
    ir_func *f; /* receives code */
    const ir_func
        *from; /* what is differentiated; may be f itself, then the first `count` instructions of it */
    uint32_t count;
    ir_copier copy;      /* from -> f: primal values, and the recomputation of branches */
    uint32_t copy_first; /* where the range that is being copied begins */
    uint8_t *active, *stop, *live, *writes;
    ir_ref *adjoint;    /* per instruction of from */
    uint32_t *frame_of; /* the frame that has last touched it */
    ad_frame frame;
    uint32_t frame_count;
    ad_touch_list touched;
    ARRAY(uint32_t) pending; /* PHIs and RESULTs with an adjoint, waiting for their ENDIF or CALL; a stack */
} ad_sweep;

typedef struct ad_values {
    const ir_ref *data;
    uint32_t count;
} ad_values;

/* map: the value in f of each instruction of from, or 0 where it is not visible. Taken over. */
void ad_sweep_begin(ad_sweep *s, ir_func *f, const ir_func *from, ir_ref *map, ad_values outputs,
                    ad_values wrt);
void ad_sweep_end(ad_sweep *s);
/* Copies instructions; refuses what cannot be computed twice. */
void ad_recompute(ad_sweep *s, uint32_t first, uint32_t last);
/* Adds to the adjoint of an instruction. */
void ad_add(ad_sweep *s, uint32_t id, ir_ref value);
/* Carries adjoints of instructions [first, last) to their operands. */
void ad_run(ad_sweep *s, uint32_t first, uint32_t last);
/* Adjoint of a value, constant 0 where nothing arrived. */
ir_ref ad_adjoint(const ad_sweep *s, ir_ref value);
/* Takes the newest pending instruction off if it belongs to `owner` (its CALL or IF); 0: there is none. */
uint32_t ad_take_pending(ad_sweep *s, uint32_t owner);

/* Around the sweep of instructions from `first` on whose values are not visible outside: leaving moves the
 * adjoints that have arrived at values from outside since touched.count was `base` to *out. */
ad_frame ad_enter_frame(ad_sweep *s, uint32_t first);
void ad_leave_frame(ad_sweep *s, ad_frame outer, uint32_t base, ad_touch_list *out);
/* The reverse of a closed loop, if its STATEs have adjoints (sum_loop.c). */
void ad_reverse_loop(ad_sweep *s, uint32_t loop, uint32_t end);

/* ---- array.c: local arrays ---- */

/* Makes arrays of adjoints for those of instructions [first, last) that are visible at their end: s->adjoint
 * of a LOCAL is the array. */
void ad_open_arrays(ad_sweep *s, uint32_t first, uint32_t last);
/* Do instructions [first, last) store to an array from outside that has one? */
bool ad_stores_outside(const ad_sweep *s, uint32_t first, uint32_t last);
void ad_refuse_store_in_loop(ad_sweep *s, uint32_t loop);
void ad_reverse_LSTORE(ad_sweep *s, uint32_t id);

/* ---- the structural ops with a derivative, one function each; `id` is the instruction ---- */
void ad_reverse_PHI(ad_sweep *s, uint32_t id);
void ad_reverse_DLOAD(ad_sweep *s, uint32_t id);
void ad_reverse_RESULT(ad_sweep *s, uint32_t id);
void ad_reverse_LLOAD(ad_sweep *s, uint32_t id); /* array.c */
void ad_reverse_CALL(ad_sweep *s, uint32_t id);  /* call.c */

#endif
