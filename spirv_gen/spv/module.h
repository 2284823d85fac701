/* SPDX-License-Identifier: BSD-3-Clause
 * Inside of spirv_gen/spv: the module being written (module.c), the opcode table (opcode.c) and the walk over
 * a trace (lower.c: values; control.c: if, call; loop.c; memory.c: buffers, uniforms, locals, atomics;
 * vector_loads.c: neighbouring words; rounded.c: division and roots; doubles.c: modules of doubles; ray.c:
 * ray queries).
 *
 * Invariants: a stream is appended to, never reordered, so ids and words depend on the trace alone; `block`
 * is the label of the block that the body stream is in, which is what a phi has to name as predecessor. */
#ifndef SPIRV_GEN_SPV_MODULE_H
#define SPIRV_GEN_SPV_MODULE_H

#include "spirv_gen/spv/spv.h"
#include <spirv/unified1/GLSL.std.450.h>
#include <spirv/unified1/spirv.h>

/* In the order of the finished module. The function is in four pieces, because variables have to come first
 * in its first block, and uniforms are loaded there too. */
typedef enum spv_section {
    SPV_CAPABILITIES,
    SPV_EXTENSIONS,
    SPV_IMPORTS,
    SPV_MEMORY_MODEL,
    SPV_ENTRY,
    SPV_MODES,
    SPV_NAMES,
    SPV_DECORATIONS,
    SPV_GLOBALS,
    SPV_FUNCTION,
    SPV_VARIABLES,
    SPV_PREAMBLE,
    SPV_BODY,
    SPV_SECTION_COUNT
} spv_section;

typedef ARRAY(uint32_t) spv_stream;

/* As what a buffer is seen: an array of u32, f32 or of four u32. */
typedef enum spv_view { SPV_WORDS, SPV_REALS, SPV_QUADS, SPV_VIEW_COUNT } spv_view;

typedef struct spv_binding {
    uint32_t view[SPV_VIEW_COUNT]; /* variables (of an addressed buffer, pointers), 0: not used */
    uint32_t address;              /* of an addressed buffer, once it is used */
    uint32_t half;                 /* of a paired buffer: half of its length, once it is used */
    bool loaded, stored;           /* by the kernel; with volatile_memory alone */
} spv_binding;

/* What vector_loads.c knows of a value as an index: it is root + offset (root 0: itself + 0). */
typedef struct spv_index {
    uint32_t root, offset;
    bool multiple; /* it is one of four */
} spv_index;

/* Four words of a buffer that have been read in the block of the body stream: those from root + 4 *
 * number. */
typedef struct spv_quad {
    uint32_t buffer, root, number, value;
} spv_quad;

/* One function being lowered at one place: the entry, or a target of a call. The lists hold, in order, the
 * PHIs of an IF, the STATEs of a LOOP, the RESULTs of a CALL: first[owner], then next[member], 0 at the
 * end. */
typedef struct spv_frame {
    const ir_func *f;
    const uint32_t *args; /* ids of the parameters */
    uint32_t *id;         /* per instruction: the id of its value, 0: none yet */
    uint32_t *first, *next, *last;
    uint32_t *empty_else; /* per IF: nonzero where nothing is emitted between its ELSE and ENDIF */
    uint32_t *last_use; /* per instruction: the last one that has it as an operand; the function's results are
                           behind all */
} spv_frame;

/* An open IF or LOOP; the innermost region belongs to the innermost frame. */
typedef struct spv_region {
    uint32_t merge;  /* label of the merge block */
    uint32_t other;  /* IF: label of the else block, 0 where it is empty; LOOP: label of the continue block */
    uint32_t header; /* IF: label of the block that branches; LOOP: of the header */
    uint32_t then_end; /* IF: label of the block that the then-branch ends in */
    uint32_t phis;     /* LOOP: offset in the body stream of the first STATE's phi */
    uint32_t top;      /* LOOP: label of the block that ends with WHILE */
} spv_region;

typedef struct spv_gen {
    const ir_module *m;
    spv_options options;
    spv_stream section[SPV_SECTION_COUNT];
    uint32_t last_id, block;
    spv_stream interned; /* hash table over SPV_GLOBALS: offset + 1, 0: free; count a power of two */
    uint32_t interned_count;
    uint32_t glsl, main;
    uint32_t global_id;                  /* value of GLOBAL_ID, 0: not used */
    uint32_t push;                       /* the push-constant block, 0: not used */
    uint32_t parking, lane;              /* the array of the workgroup, a lane's place in it; 0: not used */
    uint32_t query;                      /* the ray query variable, 0: not used */
    uint32_t query_uv[2];                /* variables: u and v of the hit in a box */
    uint32_t block_type[SPV_VIEW_COUNT]; /* Block structs of buffers, 0: not used */
    spv_binding *bindings;               /* per buffer of the module */
    uint32_t (*uniforms)[IR_TYPE_COUNT]; /* per word and type: the id of its value */
    uint32_t **locals;                   /* per function and instruction: the variable of a LOCAL */
    spv_stream interface;                /* module variables, for OpEntryPoint */
    ARRAY(spv_region) regions;
    ARRAY(spv_index) indices; /* by id */
    ARRAY(spv_quad) quads;
    arena arena;
    bl_error error;
} spv_gen;

/* ---- module.c: words, ids, capabilities, types, constants ---- */

void spv_emit(spv_gen *g, spv_section section, SpvOp op, const uint32_t *operands, uint32_t count);
#define SPV_EMIT(g, section, op, ...)                                                                        \
    spv_emit(g, section, op, (const uint32_t[]){__VA_ARGS__},                                                \
             sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))
/* An instruction with a result: type, new id, operands. Returns the id. */
uint32_t spv_emit_value(spv_gen *g, spv_section section, SpvOp op, uint32_t type, const uint32_t *operands,
                        uint32_t count);
#define SPV_VALUE(g, op, type, ...)                                                                          \
    spv_emit_value(g, SPV_BODY, op, type, (const uint32_t[]){__VA_ARGS__},                                   \
                   sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))
typedef struct spv_words {
    const uint32_t *data;
    uint32_t count;
} spv_words;
/* An instruction with a literal string and the words around it. */
void spv_emit_text(spv_gen *g, spv_section section, SpvOp op, spv_words before, const char *string,
                   spv_words after);
uint32_t spv_id(spv_gen *g);
void spv_fail(spv_gen *g, const char *format, ...) BL_PRINTF(2, 3);
void spv_name(spv_gen *g, uint32_t id, const char *name); /* only where names are asked for */
void spv_capability(spv_gen *g, SpvCapability capability);
void spv_extension(spv_gen *g, const char *name);
uint32_t spv_glsl(spv_gen *g); /* the GLSL.std.450 import */
uint32_t spv_type(spv_gen *g, ir_type type);
uint32_t spv_type_of(spv_gen *g, SpvOp op, const uint32_t *operands, uint32_t count); /* hash-consed */
uint32_t spv_pointer(spv_gen *g, SpvStorageClass storage, uint32_t type);
uint32_t spv_const(spv_gen *g, ir_type type, uint32_t bits);
static inline uint32_t spv_u32(spv_gen *g, uint32_t value) { return spv_const(g, IR_U32, value); }
uint32_t spv_global(spv_gen *g, SpvStorageClass storage, uint32_t type); /* a module variable */
void spv_module_begin(spv_gen *g);
bl_result spv_module_end(spv_gen *g, spv_code *out);

/* ---- opcode.c: the spv columns of ops.def ---- */

typedef enum spv_form { SPV_FORM_NONE, SPV_FORM_CORE, SPV_FORM_GLSL, SPV_FORM_LOWER } spv_form;
typedef struct spv_opcode {
    spv_form form;
    uint32_t code;
} spv_opcode;
spv_opcode spv_opcode_of(ir_op op, ir_type operand);

/* ---- lower.c ---- */

/* Lowers a function's body at the current place; results receives one id per result of the function. */
void spv_lower_function(spv_gen *g, const ir_func *f, const uint32_t *args, uint32_t *results);
uint32_t spv_operand(spv_gen *g, spv_frame *frame, uint32_t ref);
void spv_begin_block(spv_gen *g, uint32_t label);
void spv_branch(spv_gen *g, uint32_t label);
void spv_lower_inst(spv_gen *g, spv_frame *frame, uint32_t id); /* by the table of lowerings */
typedef void (*spv_lower)(spv_gen *g, spv_frame *frame, uint32_t id, ir_inst inst);

/* ---- control.c ---- */

/* value_k where control comes from block_k. */
uint32_t spv_phi(spv_gen *g, ir_type type, uint32_t value_1, uint32_t block_1, uint32_t value_2,
                 uint32_t block_2);

spv_region *spv_innermost(spv_gen *g);
void spv_lower_if(spv_gen *g, spv_frame *frame, uint32_t id, ir_inst inst);
void spv_lower_else(spv_gen *g, spv_frame *frame, uint32_t id, ir_inst inst);
void spv_lower_endif(spv_gen *g, spv_frame *frame, uint32_t id, ir_inst inst);
void spv_lower_call(spv_gen *g, spv_frame *frame, uint32_t id, ir_inst inst);

/* A call: one case per distinct target. */
typedef struct spv_call_case {
    const ir_func *target;
    uint32_t label, end; /* blocks where the inlined body begins and ends */
    uint32_t *results;
} spv_call_case;
typedef struct spv_call {
    spv_call_case *cases;
    uint32_t *which; /* case of each target */
    uint32_t count, target_count;
} spv_call;
/* Inlines function targets[selector] at the current place; args: a value per parameter. */
spv_call spv_emit_call(spv_gen *g, const uint32_t *targets, uint32_t target_count, uint32_t selector,
                       const uint32_t *args);
/* Result k; before anything else is emitted, because it may be a phi. */
uint32_t spv_call_result(spv_gen *g, const spv_call *call, uint32_t k, ir_type type);

/* ---- loop.c ---- */

void spv_lower_loop(spv_gen *g, spv_frame *frame, uint32_t id, ir_inst inst);
void spv_lower_while(spv_gen *g, spv_frame *frame, uint32_t id, ir_inst inst);
void spv_lower_endloop(spv_gen *g, spv_frame *frame, uint32_t id, ir_inst inst);

/* ---- ray.c ---- */

void spv_lower_ray(spv_gen *g, spv_frame *frame, uint32_t id, ir_inst inst);

/* ---- rounded.c ---- */

/* a / b and sqrt x of f32, rounded to the nearest. */
uint32_t spv_rounded_div(spv_gen *g, uint32_t a, uint32_t b);
uint32_t spv_rounded_sqrt(spv_gen *g, uint32_t x);

/* The same by integers, without Fma. */
uint32_t spv_words_div(spv_gen *g, uint32_t a, uint32_t b);
uint32_t spv_words_sqrt(spv_gen *g, uint32_t x);

/* ---- doubles.c ---- */

uint32_t spv_float(spv_gen *g); /* the type of 32 bits, whatever the module's reals are */
uint32_t spv_double_of_word(spv_gen *g, spv_section section, uint32_t word);
uint32_t spv_word_of_double(spv_gen *g, uint32_t value);
uint32_t spv_double_of_integer(spv_gen *g, SpvOp op, uint32_t value); /* op: ConvertSToF, ConvertUToF */
/* Reals of this type are two words in the buffer. */
bool spv_is_pair(const spv_gen *g, uint32_t buffer, ir_type type);
uint32_t spv_rest_index(spv_gen *g, uint32_t buffer, uint32_t index); /* of the second word */
uint32_t spv_double_of_pair(spv_gen *g, uint32_t word, uint32_t rest);
uint32_t spv_rest_word(spv_gen *g, uint32_t value); /* the second word of a real */

/* ---- memory.c ---- */

uint32_t spv_half_length(spv_gen *g, uint32_t buffer); /* in words */

/* Element `index` (u32 id) of a view of a buffer. */
uint32_t spv_load_element(spv_gen *g, uint32_t buffer, uint32_t index, spv_view view);
/* The word of a buffer at an index (u32 id). */
uint32_t spv_load_word(spv_gen *g, uint32_t buffer, uint32_t index);
uint32_t spv_uniform(spv_gen *g, ir_type type, uint32_t word);
uint32_t spv_global_id(spv_gen *g);
void spv_memory_begin(spv_gen *g);
void spv_memory_end(spv_gen *g); /* what is known only at the end */
void spv_lower_load(spv_gen *g, spv_frame *frame, uint32_t id, ir_inst inst);
void spv_lower_store(spv_gen *g, spv_frame *frame, uint32_t id, ir_inst inst);
void spv_lower_atomic_add(spv_gen *g, spv_frame *frame, uint32_t id, ir_inst inst);
void spv_lower_atomic_cas(spv_gen *g, spv_frame *frame, uint32_t id, ir_inst inst);
void spv_lower_local(spv_gen *g, spv_frame *frame, uint32_t id, ir_inst inst);
void spv_lower_lload(spv_gen *g, spv_frame *frame, uint32_t id, ir_inst inst);
void spv_lower_lstore(spv_gen *g, spv_frame *frame, uint32_t id, ir_inst inst);

/* ---- vector_loads.c ---- */

/* Takes note of what a value op has made, as an index. */
void spv_note_index(spv_gen *g, const spv_frame *frame, ir_inst inst, uint32_t value);
/* The word that LOAD or DLOAD `id` reads at an index (u32 id), as part of a vector; 0: not to be read so. */
uint32_t spv_vector_word(spv_gen *g, const spv_frame *frame, uint32_t id, uint32_t index);

#endif
