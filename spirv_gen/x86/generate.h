/* SPDX-License-Identifier: BSD-3-Clause
 * What the files of this folder share: the state of one generation.
 *
 * Registers. rbx: the workspace, with a bias that brings its constants into reach of short displacements.
 * rbp: the frame of the running function. r9: memory for temporary vectors. r10 to r15: the buffers that are
 * read most. rax, rcx, rdx, rsi, rdi, r8: free within one op. Vector registers 0 to 4 are free within one op,
 * the others are allocated (allocate.c). Masks: lanes.h.
 *
 * Every value has one place for its whole life: a register, a slot of the frame, or, where it depends on
 * constants, uniforms and constant buffers alone, a word of the workspace that the prologue computes
 * (`uniform` values). Words are read as operands that are broadcast. */
#ifndef SPIRV_GEN_X86_GENERATE_H
#define SPIRV_GEN_X86_GENERATE_H

#include "spirv_gen/x86/encode.h"
#include "spirv_gen/x86/x86.h"

enum {
    X86_FIRST_VECTOR = 5, /* below: free within one op */
    X86_TEMPORARIES = 8,  /* vectors at r9 */
    X86_BIAS = 1024,      /* rbx = workspace + this: words 512 .. 1532 are within 8 bits of 4 bytes each */
    X86_FIXED_BUFFERS = 6,
    X86_NAN_BITS = 0x7FC00000, /* of every NaN in memory */
    X86_GLOBAL_ID = 0xFFFFFFF  /* as a slot: where the invocation indices are */
};

typedef enum x86_place {
    X86_NOWHERE,
    X86_WORD,   /* `at` bytes in the workspace: the same for all lanes */
    X86_VECTOR, /* a register or `at` bytes in the frame */
    X86_MASK,   /* the same, of a bool that differs between lanes */
    X86_ARRAY   /* a local array, `at` bytes in the frame */
} x86_place;

/* How a value is computed. */
typedef enum x86_fusion {
    X86_ALONE,
    X86_UNUSED,      /* not at all: nobody reads it, or those who do have it fused */
    X86_MINIMUM,     /* a < b ? a : b in one instruction */
    X86_MAXIMUM,     /* a < b ? b : a */
    X86_GROUP_FIRST, /* the load at which a group of loads is done (load_groups.c) */
    X86_GROUP_MEMBER
} x86_fusion;

typedef struct x86_value {
    uint8_t place, fusion;
    bool in_register, named; /* named: `at` has been set */
    uint8_t reg;
    uint32_t at;
    uint32_t first, last; /* live from .. to: instruction i reads at 2 i, or 2 i + 1 where its result may not
                             take the place of an operand, and writes at 2 i + 1 */
    uint32_t uses;        /* by instructions that are generated */
    float weight;         /* uses, times 8 for each loop around them */
    uint32_t home;        /* slot that keeps the register during calls */
    uint32_t swap;        /* of a STATE that becomes another one: slot for its next value */
} x86_value;

/* Control structure, by instruction. */
typedef struct x86_region {
    uint32_t loop;  /* the innermost LOOP around it; of a LOOP the one around that */
    uint32_t other; /* IF: its ELSE; ELSE: its ENDIF; LOOP: its ENDLOOP */
    uint32_t end;   /* IF: its ENDIF */
    uint32_t last;  /* LOOP: its last STATE */
} x86_region;

/* Loads of one buffer at `base` + known offsets. A quad is up to four neighbouring words. */
typedef struct x86_quad {
    uint32_t offset; /* words, modulo 2^32 */
    uint32_t id[4];  /* 0: nobody wants it */
} x86_quad;
typedef struct x86_group {
    uint32_t first, base, buffer, quad, quad_count; /* quads stand at quad .. of the function's list */
} x86_group;

typedef struct x86_function {
    const ir_func *f;
    x86_value *values;
    x86_region *regions;
    uint32_t *group_of; /* of a GROUP_FIRST */
    ARRAY(x86_group) groups;
    ARRAY(x86_quad) quads;
    ARRAY(uint32_t) kept; /* values whose registers live across some call */
    /* Frame: parameters, results, slots. */
    uint32_t param_bytes, frame_bytes;
    uint32_t saved_masks; /* slots for the masks of open regions, by depth */
    uint32_t call_area;   /* slots of x86_call: selector, running lanes, lanes to go */
    uint32_t depth_bytes; /* the frame with those of the deepest chain of callees; 0: not known yet */
    bool called_in_part;  /* some call site has other targets, too */
    uint32_t label;
} x86_function;

typedef struct x86_open_region {
    uint32_t id, label[2];
    bool skips[2]; /* a jump stands in front of the then, the else branch */
} x86_open_region;

typedef struct x86_gen {
    const ir_module *m;
    x86_target target;
    uint32_t lanes, bytes; /* of a vector */
    x86_assembler code;
    arena memory;
    x86_function *functions;
    ARRAY(uint32_t) constants; /* words behind X86_WORKSPACE_CONSTANTS */
    uint32_t *constant_table, constant_table_size;
    uint32_t fixed_buffer[X86_FIXED_BUFFERS]; /* ~0: none */
    uint32_t iota;                            /* 0, 1, 2, .. : place in the workspace, of a whole vector */
    ARRAY(x86_open_region) open;
    x86_function *fn; /* being generated */
    bool in_prologue; /* code of words is being made */
    bl_error error;
} x86_gen;

void x86_fail(x86_gen *g, const char *format, ...) BL_PRINTF(2, 3);

/* ---- generate.c ---- */
uint32_t x86_constant(x86_gen *g,
                      uint32_t bits); /* its place in the workspace; constants of equal bits share one */

/* ---- analyse.c, load_groups.c, allocate.c: places of a function's values, before any code ---- */
void x86_analyse(x86_gen *g, x86_function *fn);
void x86_group_loads(x86_function *fn);
void x86_allocate(x86_gen *g, x86_function *fn);
/* The same for all lanes. */
static inline bool x86_is_uniform(const x86_function *fn, uint32_t id)
{
    return fn->values[id].place == X86_WORD;
}
/* The value is computed before the call and read after it. */
static inline bool x86_lives_across(const x86_value *v, uint32_t call)
{
    return v->first / 2 < call && call < v->last / 2;
}
uint32_t x86_new_word(x86_gen *g); /* a word of the workspace, zero until the prologue writes it */

/* ---- value.c, memory.c, loads.c, control.c, call.c: code of one instruction ---- */
void x86_value_op(x86_gen *g, uint32_t id, ir_inst inst);
/* A value as it stands in memory: bools as 0 or 1, all NaNs as one. A register: `scratch`, or its own. */
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
/* The register of fixed_buffer[k]: r10 to r15. */
static inline ZydisRegister x86_fixed_register(uint32_t k) { return (ZydisRegister)(ZYDIS_REGISTER_R10 + k); }
/* The register that holds a buffer's address: its own, or r8, which the code loads first. */
ZydisRegister x86_buffer(x86_gen *g, uint32_t buffer);
/* Where to load a value, and what to call then. A bool is loaded as a word, any but 0 is true: to vector
 * register 0, and x86_finish_loaded makes the mask. */
uint32_t x86_load_destination(const x86_gen *g, uint32_t id);
void x86_finish_loaded(x86_gen *g, uint32_t id, uint32_t reg);
void x86_select(x86_gen *g, uint32_t id, uint32_t condition, uint32_t yes, uint32_t no);

/* ---- operands.c: where values are, as operands ---- */
bool x86_wanted(const x86_gen *g, uint32_t id);                      /* it has a place */
x86_operand x86_word(const x86_gen *g, uint32_t at, uint32_t bytes); /* of the workspace */
x86_operand x86_slot(const x86_gen *g, uint32_t at, uint32_t bytes); /* of the frame */
x86_operand x86_temporary(const x86_gen *g, uint32_t k);             /* vector k at r9 */
x86_operand x86_v(const x86_gen *g, uint32_t reg);                   /* vector register */
/* As the last operand of an instruction; where that cannot be, it is loaded into `scratch`. */
x86_operand x86_source(x86_gen *g, uint32_t id, uint32_t scratch);
x86_operand x86_constant_source(x86_gen *g, uint32_t bits, uint32_t scratch);
uint32_t x86_source_register(x86_gen *g, uint32_t id, uint32_t scratch);
bool x86_in_register(const x86_gen *g, uint32_t id);
void x86_load_to(x86_gen *g, uint32_t reg, uint32_t id);
/* Where to compute a value: its register, or vector register 0 (mask: scratch 0); and what to call then. */
uint32_t x86_destination(const x86_gen *g, uint32_t id);
void x86_finish(x86_gen *g, uint32_t id, uint32_t reg);
uint32_t x86_mask_source(x86_gen *g, uint32_t id, uint32_t scratch);
uint32_t x86_mask_destination(const x86_gen *g, uint32_t id);
void x86_mask_finish(x86_gen *g, uint32_t id, uint32_t mask);

/* Emission. GP: an instruction without lanes. VEC: of vector registers, all lanes. */
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
