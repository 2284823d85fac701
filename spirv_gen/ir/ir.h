/* SPDX-License-Identifier: BSD-3-Clause
 * The trace: an append-only SSA program that C functions record by calling builders.
 *
 * A module holds functions; a function is one array of 16-byte instructions in emission order, and an ir_ref
 * is an index into it (0: none). Scalars only (bool, i32, u32, f32); vectors are C structs of references in
 * the code that traces. Control flow is structured and linear in the array:
 *
 *     IF c .. ELSE .. ENDIF            followed by PHI(then, else) for each result
 *     LOOP, STATE.., .. WHILE c .. ENDLOOP states come right after LOOP; code between LOOP and WHILE runs
 *     before each
 *                                      test; after the loop the STATE references are the final values
 *     CALL selector, targets, args     dynamic dispatch over functions of this module of one signature; the
 *                                      selector is
 *                                      an index into the targets; RESULT k picks a result
 *
 * A value is visible from its definition to the end of the region (branch, loop) that holds it; only STATEs
 * of a loop remain visible after it. Constants, parameters and uniforms are visible everywhere.
 *
 * Building folds constants and merges equal values as it appends (build.c), so references to equal
 * expressions are equal. The first error sticks to the module, later builders return reference 0 and do
 * nothing, and ir_finish reports it.
 *
 * Memory is words of 32 bits in numbered buffers; every access names the buffer as an immediate and gives a
 * word index. Reads of constant buffers move; so one whose address is made of constants, uniforms and such
 * reads alone must be in range even where it is not reached (and an integer divisor made of these not be
 * zero). */
#ifndef SPIRV_GEN_IR_H
#define SPIRV_GEN_IR_H

#include "base/base.h"

typedef enum ir_type { IR_VOID, IR_BOOL, IR_I32, IR_U32, IR_F32, IR_TYPE_COUNT } ir_type;

typedef enum ir_op {
    IR_NOP,
#define IR_VALUE(NAME, name, n, rule, commutes, fold, f, i, u, b, sf, si, su, sb, adjoint) IR_##NAME,
#define IR_STRUCT(NAME, name, effect, a, b, c, adjoint) IR_##NAME,
#include "spirv_gen/ir/ops.def"
#undef IR_VALUE
#undef IR_STRUCT
    IR_OP_COUNT
} ir_op;

/* Type rules of value ops. NUM: operands and result one numeric type. INT: integers. REAL: f32. COMPARE: two
 * of one type -> bool. ORDER: two of one numeric type -> bool. LOGIC: bool or integer. SHIFT: integer,
 * shifted by u32. SELECT: bool, x, x -> x. TO_*: numeric or bool -> that type (bool gives 0, 1). BITS_U: f32
 * or integer -> u32. BITS_F: integer -> f32. SAME: any -> same. */
typedef enum ir_rule {
    IR_RULE_NONE,
    IR_RULE_NUM,
    IR_RULE_INT,
    IR_RULE_REAL,
    IR_RULE_COMPARE,
    IR_RULE_ORDER,
    IR_RULE_LOGIC,
    IR_RULE_SHIFT,
    IR_RULE_SELECT,
    IR_RULE_TO_I32,
    IR_RULE_TO_U32,
    IR_RULE_TO_F32,
    IR_RULE_BITS_U,
    IR_RULE_BITS_F,
    IR_RULE_SAME
} ir_rule;
typedef enum ir_effect {
    IR_EFFECT_PURE,
    IR_EFFECT_READ,
    IR_EFFECT_WRITE,
    IR_EFFECT_CONTROL,
    IR_EFFECT_FLOAT
} ir_effect;
typedef enum ir_kind { IR_KIND_NONE, IR_KIND_REF, IR_KIND_IMM, IR_KIND_POOL } ir_kind;
typedef enum ir_adjoint { IR_ADJOINT_NONE, IR_ADJOINT_FLAT, IR_ADJOINT_DIFF } ir_adjoint;
enum { IR_ORDERED, IR_COMMUTES };
typedef enum ir_fold { IR_FOLD_NEVER, IR_FOLD_ALWAYS, IR_FOLD_DIVISOR, IR_FOLD_I32, IR_FOLD_U32 } ir_fold;

typedef struct ir_op_info {
    const char *name;
    uint8_t arity; /* of value ops */
    uint8_t rule, effect, adjoint;
    uint8_t commutes, fold; /* of value ops; ir_fold */
    uint8_t kind[3];
} ir_op_info;
extern const ir_op_info ir_op_table[IR_OP_COUNT];
extern const char *const ir_type_names[IR_TYPE_COUNT]; /* "void", "bool", "i32", "u32", "f32" */

typedef struct ir_ref {
    uint32_t id;
} ir_ref;
static inline bool ir_is_none(ir_ref r) { return r.id == 0; }
static inline bool ir_same(ir_ref a, ir_ref b) { return a.id == b.id; }

/* Flags of an instruction. */
enum {
    IR_SUSPENDED = 1, /* a constant of every derivative (ir_suspend) */
    IR_PARKED = 2,    /* of a LOCAL: ir_parking */
};

typedef struct ir_inst {
    uint8_t op, type;
    uint16_t flags;
    uint32_t a, b, c; /* meaning by ir_op_table[op].kind */
} ir_inst;

/* Buffers of a module. Reads of a `constant` buffer are values (merged, movable); a buffer with a gradient
 * partner may be read by DLOAD. How ACCUM reaches memory is the business of opt/accumulate.c. */
typedef struct ir_buffer {
    const char *name;
    bool constant;    /* never written by this program */
    int32_t gradient; /* index of the buffer that receives gradients of DLOADs, or -1 */
    int32_t tangent;  /* index of the buffer whose words are the tangents of this one's (forward mode reads
                         them beside DLOADs and adds to them beside ACCUMs), or -1 */
    bool paired; /* of a module of doubles: element i of n is words i and i + n, the nearest float and what
                    it lacks, itself rounded. Words of integers have no second word. The buffer is twice as
                    long, so that n is half of its words */
    const uint32_t *known; /* contents that will not change while the program is in use, so that loads at
                              constant places fold; NULL. Not owned, not printed. Constant buffers only */
    uint32_t known_count;
} ir_buffer;

typedef struct ir_module ir_module;

typedef struct ir_func {
    ir_module *module;
    const char *name;
    uint32_t index;      /* in module->functions */
    ARRAY(ir_inst) inst; /* inst.data[0] is a NOP */
    ARRAY(uint32_t)
    scope; /* per instruction: the region instruction (IF, ELSE, LOOP) that holds it, 0: the top */
    ARRAY(uint32_t) pool;  /* operands of CALL, RAY_*, ATOMIC_CAS */
    ARRAY(uint8_t) params; /* types */
    ARRAY(ir_ref) results;
    bool finished;
    bool derived;               /* made by reverse or forward mode: found again by its name (ad/derived.c) */
    struct ir_func *jvp, *vjp;  /* derivatives supplied by the user (ad.h: ad_custom), or NULL */
    struct ir_builder *builder; /* build.c */
} ir_func;

struct ir_module {
    arena arena; /* names, functions */
    ARRAY(ir_func *) functions;
    ARRAY(ir_buffer) buffers;
    uint32_t uniform_count; /* push-constant words used */
    ir_func *entry;         /* kernel: no parameters, no results */
    bl_error error;         /* the first one */
    bool doubles; /* f32 values are computed and kept in f64, as the interpreter does with ir_eval_env.f64;
                     casts to and from bits, conversions from integers and memory keep their f32 meaning */
    bool no_fold, no_merge; /* for tests and ablation */
};

/* ---- module and function life (build.c) ---- */

ir_module *ir_module_create(void);
void ir_module_destroy(ir_module *m); /* functions included; NULL is fine */
uint32_t ir_buffer_add(ir_module *m, const char *name, bool constant,
                       int32_t gradient); /* without tangents: assign `tangent` afterwards */
ir_func *ir_func_create(ir_module *m, const char *name);
void ir_func_reserve(
    ir_func *f, uint32_t count); /* about so many instructions will come: saves growing; for a new function */
ir_ref ir_param(ir_func *f, ir_type type);
void ir_return(ir_func *f, const ir_ref *values,
               uint32_t count); /* ends the function; all regions must be closed */
/* BL_OK, or the module's first error, copied to err. */
bl_result ir_finish(ir_module *m, bl_error *err);
/* Records an error at the current place unless there is one already. */
void ir_fail(ir_func *f, const char *format, ...) BL_PRINTF(2, 3);

static inline ir_inst ir_get(const ir_func *f, ir_ref r) { return f->inst.data[r.id]; }
static inline ir_type ir_type_of(const ir_func *f, ir_ref r) { return (ir_type)f->inst.data[r.id].type; }
/* For asserts: whether there is such a reference. Of a trace that has failed there need be none. */
static inline bool ir_made(const ir_func *f, ir_ref r)
{
    return !ir_is_none(r) || f->module->error.code != BL_OK;
}
/* What is wrong with r as a value of this type at the current place, in words; NULL: nothing. */
const char *ir_misfit(const ir_func *f, ir_ref r, ir_type type);
bool ir_is_const(const ir_func *f, ir_ref r);
bool ir_const_is(const ir_func *f, ir_ref r, float value); /* a f32 constant of this value */

/* ---- emission (build.c); all fold and merge ---- */

ir_ref ir_const(ir_func *f, ir_type type, uint32_t bits);
ir_ref ir_f32(ir_func *f, float value);
ir_ref ir_u32(ir_func *f, uint32_t value);
ir_ref ir_i32(ir_func *f, int32_t value);
ir_ref ir_bool(ir_func *f, bool value);
ir_ref ir_value_op(ir_func *f, ir_op op, ir_ref a, ir_ref b, ir_ref c); /* any row of IR_VALUE */
#define IR_BUILDER_1(name, NAME)                                                                             \
    static inline ir_ref ir_##name(ir_func *f, ir_ref a)                                                     \
    {                                                                                                        \
        return ir_value_op(f, IR_##NAME, a, (ir_ref){0}, (ir_ref){0});                                       \
    }
#define IR_BUILDER_2(name, NAME)                                                                             \
    static inline ir_ref ir_##name(ir_func *f, ir_ref a, ir_ref b)                                           \
    {                                                                                                        \
        return ir_value_op(f, IR_##NAME, a, b, (ir_ref){0});                                                 \
    }
#define IR_BUILDER_3(name, NAME)                                                                             \
    static inline ir_ref ir_##name(ir_func *f, ir_ref a, ir_ref b, ir_ref c)                                 \
    {                                                                                                        \
        return ir_value_op(f, IR_##NAME, a, b, c);                                                           \
    }
#define IR_VALUE(NAME, name, n, rule, commutes, fold, f, i, u, b, sf, si, su, sb, adjoint)                   \
    IR_BUILDER_##n(name, NAME)
#define IR_STRUCT(NAME, name, effect, a, b, c, adjoint)
#include "spirv_gen/ir/ops.def"
#undef IR_VALUE
#undef IR_STRUCT
static inline ir_ref ir_gt(ir_func *f, ir_ref a, ir_ref b) { return ir_lt(f, b, a); }
static inline ir_ref ir_ge(ir_func *f, ir_ref a, ir_ref b) { return ir_le(f, b, a); }

/* Suspends differentiation of what is emitted from here on (true), or resumes it; returns what it was, so
 * that scopes nest. A value from a suspended scope is a constant of every derivative; the same expression
 * outside is another value. */
bool ir_suspend(ir_func *f, bool suspended);

ir_ref ir_uniform(ir_func *f, ir_type type, uint32_t word);
ir_ref ir_global_id(ir_func *f);

/* if: ir_if, then-code, ir_else (always), else-code, ir_endif, then one ir_phi per result (values of the two
 * branches). */
ir_ref ir_if(ir_func *f, ir_ref condition);
void ir_else(ir_func *f);
void ir_endif(ir_func *f);
ir_ref ir_phi(ir_func *f, ir_ref if_op, ir_ref then_value, ir_ref else_value);

/* loop: ir_loop turns state[i] from initial value into the STATE reference, in place. Then code,
 * ir_while(condition), body, and ir_endloop(loop, next values). */
ir_ref ir_loop(ir_func *f, ir_ref *state, uint32_t count);
void ir_while(ir_func *f, ir_ref condition);
void ir_endloop(ir_func *f, ir_ref loop, const ir_ref *next, uint32_t count);

/* targets: functions of this module, finished, equal signatures. results: as many as the targets have. A
 * selector outside [0, target_count) is undefined. */
void ir_call(ir_func *f, ir_ref selector, ir_func *const *targets, uint32_t target_count, const ir_ref *args,
             uint32_t arg_count, ir_ref *results);

/* Rays. args: origin xyz, direction xyz, tmin, tmax. intersect[k] (traced, one per kind of primitive) has
 * parameters (data u32, origin xyz, direction xyz, tmin, tmax) and results (t f32, u f32, v f32); no hit is t
 * >= tmax, where `data` is the word offset of the primitive's entry. Results of closest: t (tmax where
 * nothing was hit), entry index u32 (~0: none), u, v, level. Of hits at equal distances the one with the
 * smallest entry counts, but for ray queries, which choose among triangles as they like. The acceleration
 * structure that is meant is the module's one; opt/ray_bvh.c, spv/ray.c and x86/ray.c, which lower rays,
 * state its layout. */
void ir_ray_closest(ir_func *f, ir_func *const *intersect, uint32_t kinds, const ir_ref args[8],
                    ir_ref results[5]);
ir_ref ir_ray_any(ir_func *f, ir_func *const *intersect, uint32_t kinds, const ir_ref args[8]);
/* The next hit of a ray whose hits are visited one after another, in the order of distance and, of equal
 * distances, of entries: a RAY_CLOSEST with one more argument, the entry (u32) of the hit before, whose
 * distance is tmin. So hits at equal distances are neither lost nor found twice. The first call has tmin = 0
 * and the entry 0. Results are those of ir_ray_closest. */
void ir_ray_next(ir_func *f, ir_func *const *intersect, uint32_t kinds, const ir_ref args[9],
                 ir_ref results[5]);

ir_ref ir_load(ir_func *f, ir_type type, uint32_t buffer, ir_ref index);
ir_ref ir_dload(ir_func *f, uint32_t buffer, ir_ref index, ir_ref gradient_index); /* f32 */
void ir_store(ir_func *f, uint32_t buffer, ir_ref index, ir_ref value);
ir_ref ir_atomic_add(ir_func *f, uint32_t buffer, ir_ref index, ir_ref value); /* u32 or f32; old content */
ir_ref ir_atomic_cas(ir_func *f, uint32_t buffer, ir_ref index, ir_ref expected,
                     ir_ref value); /* u32; old content */
void ir_accum(ir_func *f, uint32_t gradient_buffer, ir_ref index, ir_ref value);
/* Marks a place where earlier ACCUMs of this invocation are to reach memory, if `condition`: a kernel may sum
 * them privately between such places (opt/accumulate.c). A kernel that never flushes sums nothing privately.
 * Entry functions only. */
void ir_flush(ir_func *f, uint32_t gradient_buffer, ir_ref condition);
ir_ref ir_local(ir_func *f, ir_type type, uint32_t count);
/* An array of u32 of which a device may keep the elements of a workgroup's lanes together, away from their
 * registers. Those of all functions may be one: a function leaves alone the elements that its callers need.
 */
ir_ref ir_parking(ir_func *f, uint32_t count);
ir_ref ir_lload(ir_func *f, ir_ref local, ir_ref index);
void ir_lstore(ir_func *f, ir_ref local, ir_ref index, ir_ref value);

static inline bool ir_is_call(uint8_t op)
{
    return op == IR_CALL || op == IR_RAY_CLOSEST || op == IR_RAY_ANY;
}
/* Operand lists of CALL and RAY_*. */
typedef struct ir_operands {
    const uint32_t *targets, *args; /* function indices; references */
    uint32_t target_count, arg_count;
} ir_operands;
ir_operands ir_call_operands(const ir_func *f, ir_inst call);
/* number and types of results of a CALL or RAY_* */
uint32_t ir_result_count(const ir_func *f, ir_inst call);
ir_type ir_result_type(const ir_func *f, ir_inst call, uint32_t k);

/* ---- copy.c: re-emission, which every pass is made of ---- */

/* Re-emits instructions [first, last) of `from` into `to` at its current place. map[old id] = new reference;
 * constants, parameters (unless mapped before) and uniforms are copied on demand. `hook`, where given, sees
 * each instruction first and returns true if it has dealt with it (and set map[id] itself). `live`, where
 * given, has a nonzero byte per instruction to keep. */
typedef struct ir_copier ir_copier;
typedef bool (*ir_copy_hook)(ir_copier *c, uint32_t id, ir_inst inst);
struct ir_copier {
    const ir_func *from;
    ir_func *to;
    ir_ref *map;               /* from->inst.count entries, zero: not yet copied */
    ir_func *const *functions; /* new function by old index; NULL: same module, same functions */
    const uint8_t *live;       /* NULL: everything */
    ir_copy_hook hook;
    bool keep_suspended; /* instructions keep IR_SUSPENDED; else they lose it and merge with others */
    void *user;
};
void ir_copy_range(ir_copier *c, uint32_t first, uint32_t last);
ir_ref ir_copied(ir_copier *c, uint32_t id); /* the new reference of an operand */
void ir_copy_inst(ir_copier *c, uint32_t id);
/* Inlines finished function `callee` (of the same module) with the given arguments. */
void ir_inline(ir_func *f, const ir_func *callee, const ir_ref *args, ir_ref *results);

/* Calls visit(user, operand) for every reference operand of an instruction, pool operands included. */
void ir_each_operand(const ir_func *f, ir_inst inst, void (*visit)(void *user, uint32_t ref), void *user);
/* Is holds(user, operand) true of all of them? */
bool ir_every_operand(const ir_func *f, ir_inst inst, bool (*holds)(const void *user, uint32_t ref),
                      const void *user);

/* ---- text: print.c, parse.c; verify.c ---- */

void ir_print_func(const ir_func *f, text *out);
void ir_print_inst(const ir_func *f, uint32_t id, text *out); /* one instruction, without a line end */
void ir_print(const ir_module *m, text *out);
void ir_dot(const ir_module *m, text *out); /* as a graph, in the DOT language (dot.c) */
/* parse(print(m)) prints the same. Errors name line and token. */
bl_result ir_parse(const char *source, ir_module **out, bl_error *err);
bl_result ir_verify(const ir_module *m, bl_error *err);

/* ---- eval.c: the reference interpreter ---- */

typedef union ir_value {
    uint32_t u;
    int32_t i;
    bool b;
    double f; /* holds a float's value exactly in f32 runs */
} ir_value;

typedef struct ir_eval_buffer {
    uint32_t *words; /* NULL where `reals` is given */
    double *reals;   /* f64 runs: f32 loads and stores of this buffer use these doubles instead of words */
    uint64_t count;
} ir_eval_buffer;

typedef struct ir_eval_env {
    ir_eval_buffer *buffers; /* by buffer index */
    uint32_t buffer_count;
    const uint32_t *uniforms;
    uint32_t uniform_count;
    uint32_t global_id;
    bool f64;            /* reals in double precision; bit casts and integer conversions keep f32 meaning */
    uint64_t step_limit; /* instructions; 0: 2^40. Exceeding it is an error */
} ir_eval_env;

/* Runs a function. ACCUM adds to buffer[index] as a real. An access out of range is an error that names op
 * and index. RAY_* must have been lowered before. */
bl_result ir_eval(const ir_func *f, const ir_value *args, ir_value *results, ir_eval_env *env, bl_error *err);

/* One value op on constants, shared by folder and interpreter (eval_op.c, built without contraction). type:
 * of the deciding operand. */
ir_value ir_eval_op(ir_op op, ir_type type, bool f64, ir_value a, ir_value b, ir_value c);

#endif
