/* SPDX-License-Identifier: BSD-3-Clause
 * This header declares what the files of this folder share: the state of one generation, and the functions
 * that one file offers the others.
 *
 * Registers have fixed roles. rbx points into the workspace, X86_BIAS bytes behind its start, which brings
 * the constants into reach of short displacements. rbp points to the frame of the running function, r9 to
 * memory for temporary vectors, r10 to r15 to the buffers that are read most. rax, rcx, rdx, rsi, rdi and r8
 * are free within one op, and so are vector registers 0 to 4. allocate.c gives the other vector registers to
 * values. lanes.h says where masks are.
 *
 * Every value has one place for its whole life. A value that depends on constants, uniforms and constant
 * buffers alone is `uniform`: the prologue computes it, and its place is a word of the workspace, which
 * instructions broadcast. The place of any other value is a register or a slot of the frame.
 *
 * A module of doubles (ir.h) has half as many lanes. Then a real is a vector of doubles, which fills a
 * register and a slot; vectors of integers fill the lower half of either. x86_v and x86_r are the two
 * views of a vector register, which are the same one otherwise. A uniform real is two words. */
#ifndef SPIRV_GEN_X86_GENERATE_H
#define SPIRV_GEN_X86_GENERATE_H

#include "spirv_gen/x86/encode.h"
#include "spirv_gen/x86/x86.h"

enum {
    X86_FIRST_VECTOR = 5,      /* the first that allocate.c gives away */
    X86_TEMPORARIES = 8,       /* the number of vectors at r9; behind them are the invocation indices */
    X86_BIAS = 1024,           /* bytes; a displacement of 8 bits, in words, reaches bytes 512 .. 1532 */
    X86_FIXED_BUFFERS = 6,     /* the number of buffers that have a register */
    X86_NAN_BITS = 0x7FC00000, /* every NaN in memory has these bits */
    X86_GLOBAL_ID = 0xFFFFFFF  /* stands for the slot of the invocation indices */
};

typedef enum x86_place {
    X86_NOWHERE,
    X86_WORD,   /* `at` bytes into the workspace; the value is the same for all lanes */
    X86_VECTOR, /* a register, or `at` bytes into the frame */
    X86_MASK,   /* a mask register, or `at` bytes into the frame: a bool that differs between lanes */
    X86_ARRAY   /* `at` bytes into the frame: a local array */
} x86_place;

/* How a value is computed. */
typedef enum x86_fusion {
    X86_ALONE,
    X86_UNUSED,      /* it is not computed: nobody reads it, or its readers compute it themselves */
    X86_MINIMUM,     /* one instruction computes a < b ? a : b */
    X86_MAXIMUM,     /* one instruction computes a < b ? b : a */
    X86_GROUP_FIRST, /* a group of loads is done where this load stands (load_groups.c) */
    X86_GROUP_MEMBER /* the first load of its group loads it */
} x86_fusion;

typedef struct x86_value {
    uint8_t place, fusion;
    bool in_register, named; /* named: `at` has been set */
    uint8_t reg;
    uint32_t at;
    uint32_t first, last; /* the value lives from first to last: instruction i writes at 2 i + 1; it reads at
                             2 i, or at 2 i + 1 if its result may not take the place of an operand */
    uint32_t uses;        /* how many generated instructions read it */
    float weight;         /* the sum over its uses of 8 to the power of the number of loops around it */
    uint32_t home;        /* the slot that keeps its register during calls */
    uint32_t swap;        /* of a STATE whose next value is another STATE: the slot for that value */
} x86_value;

/* What instruction i knows of the control structure. */
typedef struct x86_region {
    uint32_t loop;  /* the innermost LOOP around it, which is never itself; 0: none */
    uint32_t other; /* IF: its ELSE; ELSE: its ENDIF; LOOP: its ENDLOOP */
    uint32_t end;   /* IF: its ENDIF */
    uint32_t last;  /* LOOP: its last STATE */
} x86_region;

/* A group is loads of one buffer at `base` + known offsets; `first` is the load at which they are done. It
 * has quad_count quads, from number `quad` of the function's list on. A quad is four neighbouring words. */
typedef struct x86_quad {
    uint32_t offset; /* of the first word from the base, in words, modulo 2^32 */
    uint32_t id[4];  /* the load of each word; 0: nobody wants it */
} x86_quad;
typedef struct x86_group {
    uint32_t first, base, buffer, quad, quad_count;
} x86_group;

/* How lanes take further invocations (refill.c). */
typedef struct x86_refill_plan {
    uint32_t loop;           /* the LOOP in which lanes do so; 0: there is none */
    ARRAY(uint32_t) values;  /* what must outlive a refill: values from before the loop, and its states */
    uint32_t area, words;    /* refill.c's own: slots, words of the workspace */
    uint32_t body, epilogue; /* labels: the function's first instruction; the code behind the loop */
    uint32_t lost_most;      /* lanes, summed over trips, that may be lost before a refill */
    bool waits;              /* lanes wait for the last one, unless too many are lost */
} x86_refill_plan;

typedef struct x86_function {
    const ir_func *f;
    x86_value *values;
    x86_region *regions;
    uint32_t *group_of; /* the group of each GROUP_FIRST */
    ARRAY(x86_group) groups;
    ARRAY(x86_quad) quads;
    ARRAY(uint32_t) kept; /* values in registers that live across some call */
    /* A frame holds the parameters, then the results, then slots. */
    uint32_t param_bytes, frame_bytes;
    uint32_t saved_masks; /* the slots for the masks of open regions, by depth */
    uint32_t call_area;   /* the slots of x86_call: selector, running lanes, lanes to go */
    uint32_t ray_area;    /* the slot of x86_ray: running lanes */
    x86_refill_plan refill;
    uint32_t depth_bytes; /* of the frame and the frames of the deepest chain of callees; 0: not known yet */
    bool called_in_part;  /* some call that may reach it has other targets, too */
    uint32_t label;
} x86_function;

typedef struct x86_open_region {
    uint32_t id, label[2];
    bool skips[2]; /* a jump stands in front of the then, the else branch */
} x86_open_region;

/* Where a part of the code begins. It ends where the next one begins. */
typedef enum x86_part {
    X86_PROLOGUE,
    X86_RUN,
    X86_FUNCTION,    /* the subroutine of a function: what comes before its first instruction */
    X86_INSTRUCTION, /* the code of one instruction, in its function or in the prologue; there may be none */
    X86_END          /* of the prologue, or of a function */
} x86_part;
typedef struct x86_mark {
    uint32_t at, part, function, id; /* function, id: of an instruction, the end of a function, .. */
} x86_mark;

typedef struct x86_gen {
    const ir_module *m;
    const x86_options *options;
    x86_target target;
    bool doubles;          /* of the module */
    uint32_t lanes, bytes; /* in a vector of words */
    uint32_t slot;         /* bytes of a vector of reals, and of a slot of the frame */
    x86_assembler code;
    arena memory;
    x86_function *functions;
    ARRAY(uint32_t) constants; /* the words from X86_WORKSPACE_CONSTANTS on */
    uint32_t *constant_table, constant_table_size;
    ARRAY(uint32_t) doubles_at;               /* constants that are doubles: their first words */
    uint32_t fixed_buffer[X86_FIXED_BUFFERS]; /* the buffers that have a register; ~0: none */
    uint32_t iota;                            /* the place in the workspace of the vector 0, 1, 2, .. */
    ARRAY(x86_open_region) open;
    x86_function *fn; /* the function that is being generated */
    bool in_prologue; /* the code that is being generated is that of the prologue */
    bool has_rays;    /* some code calls who answers rays */
    uint32_t sums;    /* the number of the buffer of sums, plus 1; 0: there is none */
    bool listed;      /* a listing will be made, so marks are wanted */
    ARRAY(x86_mark) marks;
    bl_error error;
} x86_gen;

void x86_fail(x86_gen *g, const char *format, ...) BL_PRINTF(2, 3);

/* ---- generate.c ---- */
/* The place of a constant in the workspace. Constants of equal bits share one. */
uint32_t x86_constant(x86_gen *g, uint32_t bits);
uint32_t x86_constant_double(x86_gen *g, uint64_t bits); /* two words */

/* ---- listing.c: the finished code as text, for x86_list ---- */
void x86_write_listing(x86_gen *g, const x86_header *h, text *out);

/* ---- analyse.c, load_groups.c, allocate.c: places of a function's values, before any code ---- */
void x86_analyse(x86_gen *g, x86_function *fn);
void x86_group_loads(x86_function *fn);
void x86_allocate(x86_gen *g, x86_function *fn);
/* The value is the same for all lanes. */
static inline bool x86_is_uniform(const x86_function *fn, uint32_t id)
{
    return fn->values[id].place == X86_WORD;
}
/* The value is computed before the call and read after it. */
static inline bool x86_lives_across(const x86_value *v, uint32_t call)
{
    return v->first / 2 < call && call < v->last / 2;
}
/* ---- refill.c: lanes that take further invocations ---- */
void x86_plan_refill(x86_gen *g, x86_function *fn);                  /* of the entry: after x86_analyse */
uint32_t x86_refill_bytes(const x86_gen *g, const x86_function *fn); /* of the frame */
void x86_begin_refills(x86_gen *g);                                  /* in the prologue */
/* In `run`: esi holds the first invocation, edx their number, rbp the entry's frame. */
void x86_begin_range(x86_gen *g);
/* Behind the loop's WHILE, and in front of its first trip. `launched`: the slot for the lanes that have begun
 * an invocation and not ended it. */
void x86_refill(x86_gen *g, x86_operand launched);
void x86_refilled(x86_gen *g, x86_operand launched);

uint32_t x86_new_word(x86_gen *g); /* a word of the workspace, zero until the prologue writes it */

/* ---- value.c, memory.c, loads.c, control.c, call.c, ray.c: code of one instruction ---- */
void x86_value_op(x86_gen *g, uint32_t id, ir_inst inst);
/* A register with the value as memory holds it: a bool is 0 or 1, and all NaNs have the same bits. The
 * register is `scratch` or the value's own. */
uint32_t x86_stored_bits(x86_gen *g, uint32_t id, uint32_t scratch);
void x86_load(x86_gen *g, uint32_t id, ir_inst inst);
void x86_store(x86_gen *g, uint32_t id, ir_inst inst);
void x86_atomic_add(x86_gen *g, uint32_t id, ir_inst inst);
void x86_atomic_cas(x86_gen *g, uint32_t id, ir_inst inst);
void x86_local_load(x86_gen *g, uint32_t id, ir_inst inst);
void x86_local_store(x86_gen *g, uint32_t id, ir_inst inst);
void x86_if(x86_gen *g, uint32_t id, ir_inst inst);
void x86_else(x86_gen *g, uint32_t id, ir_inst inst);
void x86_endif(x86_gen *g, uint32_t id, ir_inst inst);
void x86_phi(x86_gen *g, uint32_t id, ir_inst inst);
void x86_loop(x86_gen *g, uint32_t id, ir_inst inst);
void x86_while(x86_gen *g, uint32_t id, ir_inst inst);
void x86_endloop(x86_gen *g, uint32_t id, ir_inst inst);
void x86_call(x86_gen *g, uint32_t id, ir_inst inst);
void x86_result(x86_gen *g, uint32_t id, ir_inst inst);
void x86_return(x86_gen *g);
void x86_ray(x86_gen *g, uint32_t id, ir_inst inst);
void x86_ray_result(x86_gen *g, uint32_t id, ir_inst inst);
/* The register of fixed_buffer[k], one of r10 to r15. */
static inline ZydisRegister x86_fixed_register(uint32_t k) { return (ZydisRegister)(ZYDIS_REGISTER_R10 + k); }
/* The register that holds a buffer's address: its own, or r8, which the code loads first. */
ZydisRegister x86_buffer(x86_gen *g, uint32_t buffer);
void x86_select(x86_gen *g, uint32_t id, uint32_t condition, uint32_t yes, uint32_t no);

/* ---- doubles.c: words of memory and doubles ---- */
/* x86_finish of what x86_v(reg) holds as memory does. */
void x86_finish_words(x86_gen *g, uint32_t id, uint32_t reg);
/* A register with the value's words, as x86_stored_bits gives them, but NaNs are what they are. */
uint32_t x86_word_register(x86_gen *g, uint32_t id, uint32_t scratch);
void x86_uniform(x86_gen *g, uint32_t id, ir_inst inst); /* of one that becomes a double */
/* Reals of this type are two words in the buffer (ir_buffer.paired). */
bool x86_is_pair(const x86_gen *g, uint32_t buffer, ir_type type);
void x86_pair_load(x86_gen *g, uint32_t id, ir_inst inst);
void x86_checked_pair(x86_gen *g, uint32_t id, ir_inst inst); /* in the prologue */
void x86_store_rest(x86_gen *g, ir_inst inst);                /* of a store of a pair: its second words */

/* ---- operands.c: where values are, as operands ---- */
bool x86_wanted(const x86_gen *g, uint32_t id);                      /* the value has a place */
x86_operand x86_word(const x86_gen *g, uint32_t at, uint32_t bytes); /* memory of the workspace */
x86_operand x86_slot(const x86_gen *g, uint32_t at, uint32_t bytes); /* memory of the frame */
x86_operand x86_temporary(const x86_gen *g, uint32_t k);             /* vector k at r9 */
x86_operand x86_v(const x86_gen *g, uint32_t reg);                   /* a vector register, of words */
x86_operand x86_r(const x86_gen *g, uint32_t reg);                   /* of reals */
/* The view of a register, and the bytes, that values of a type have. */
x86_operand x86_register(const x86_gen *g, ir_type type, uint32_t reg);
uint32_t x86_vector_bytes(const x86_gen *g, ir_type type);
/* A value as the last operand of an instruction. If it cannot be one, the code loads it into `scratch`. */
x86_operand x86_source(x86_gen *g, uint32_t id, uint32_t scratch);
x86_operand x86_constant_source(x86_gen *g, uint32_t bits, uint32_t scratch);
void x86_load_real(x86_gen *g, uint32_t reg, float value); /* of that type */
x86_operand x86_double_source(x86_gen *g, uint64_t bits, uint32_t scratch);
x86_operand x86_real_source(x86_gen *g, float value,
                            uint32_t scratch); /* of the type of the module's reals */
/* The value's own register, or `scratch`, which the code loads. */
uint32_t x86_source_register(x86_gen *g, uint32_t id, uint32_t scratch);
bool x86_in_register(const x86_gen *g, uint32_t id);
void x86_load_to(x86_gen *g, uint32_t reg, uint32_t id);
/* The register to compute a value in: its own, or vector register 0. Call x86_finish when it is computed:
 * that brings it to its place. */
uint32_t x86_destination(const x86_gen *g, uint32_t id);
void x86_finish(x86_gen *g, uint32_t id, uint32_t reg);
/* The same for masks, whose numbers lanes.h explains; `scratch` is the number of a scratch mask, 0 to 2. */
uint32_t x86_mask_source(x86_gen *g, uint32_t id, uint32_t scratch);
uint32_t x86_mask_destination(const x86_gen *g, uint32_t id);
void x86_mask_finish(x86_gen *g, uint32_t id, uint32_t mask);

/* GP and GP0 emit an instruction without lanes, VEC one of vector registers that writes all lanes. */
#define X86_COUNT(...) (sizeof((x86_operand[]){__VA_ARGS__}) / sizeof(x86_operand))
#define GP(g, NAME, ...)                                                                                     \
    x86_put(&(g)->code, ZYDIS_MNEMONIC_##NAME, (x86_lanes_written){0}, (x86_operand[]){__VA_ARGS__},         \
            X86_COUNT(__VA_ARGS__))
#define GP0(g, NAME) x86_put(&(g)->code, ZYDIS_MNEMONIC_##NAME, (x86_lanes_written){0}, NULL, 0)
#define VEC(g, NAME, ...)                                                                                    \
    x86_vector(g, ZYDIS_MNEMONIC_##NAME, (x86_operand[]){__VA_ARGS__}, X86_COUNT(__VA_ARGS__))
void x86_vector(x86_gen *g, ZydisMnemonic mnemonic, const x86_operand *operands, size_t count);

#define RAX x86_reg(ZYDIS_REGISTER_RAX)
#define EAX x86_reg(ZYDIS_REGISTER_EAX)
#define RCX x86_reg(ZYDIS_REGISTER_RCX)
#define ECX x86_reg(ZYDIS_REGISTER_ECX)
#define EDX x86_reg(ZYDIS_REGISTER_EDX)
#define ESI x86_reg(ZYDIS_REGISTER_ESI)
#define EDI x86_reg(ZYDIS_REGISTER_EDI)

#endif
