/* SPDX-License-Identifier: BSD-3-Clause
 * backlight_ir.h: traces of the caller's own. Handles are the compiler's objects under other names. This file
 * adds checks of what callers can do wrong and our own code cannot: go on building after the end, mix traces,
 * differentiate what has not ended. Each such mistake becomes the trace's error, if it is the first. ir_run.c
 * runs traces. */
#include "api/ir.h"

#include "spirv_gen/ad/ad.h"

#include <stdlib.h>
#include <string.h>

_Static_assert((int)BL_IR_BOOL == (int)IR_BOOL && (int)BL_IR_I32 == (int)IR_I32 &&
                   (int)BL_IR_U32 == (int)IR_U32 && (int)BL_IR_F32 == (int)IR_F32,
               "the public types are the compiler's");

/* Every value op is public. This compares the lists of the header with the table. */
#define COUNT(name) +1
#define IR_VALUE(NAME, name, n, rule, commutes, fold, f, i, u, b, sf, si, su, sb, adjoint) +1
#define IR_STRUCT(NAME, name, effect, a, b, c, adjoint)
_Static_assert((0 BL_IR_UNARY(COUNT) BL_IR_BINARY(COUNT) BL_IR_TERNARY(COUNT)) == (0
#include "spirv_gen/ir/ops.def"
                                                                                   ),
               "a value op of ops.def is missing in backlight_ir.h");
#undef IR_VALUE
#undef IR_STRUCT

static ir_func *inner(const bl_ir_func *f) { return (ir_func *)(uintptr_t)f; }
static bl_ir_func *outer(ir_func *f) { return (bl_ir_func *)f; }
static ir_ref ref(bl_ir_value v) { return (ir_ref){v.id}; }
static bl_ir_value value(ir_ref r) { return (bl_ir_value){r.id}; }

/* Arrays of references are passed through as they are. */
_Static_assert(sizeof(bl_ir_value) == sizeof(ir_ref), "values are references");
static const ir_ref *refs(const bl_ir_value *v) { return (const ir_ref *)v; }
static ir_ref *refs_out(bl_ir_value *v) { return (ir_ref *)v; }

/* Whether something can be emitted into f. */
static bool is_open(const bl_ir_func *f, const char *what)
{
    ir_func *g = inner(f);
    if (g->module->error.code == BL_OK && g->finished)
        ir_fail(g, "%s emitted after the end of the function", what);
    return g->module->error.code == BL_OK;
}

static bool is_type(const bl_ir_func *f, const char *what, bl_ir_type type, bool word)
{
    if (type < (word ? BL_IR_I32 : BL_IR_BOOL) || type > BL_IR_F32)
        ir_fail(inner(f), "%s: type %d, expected %si32, u32 or f32", what, (int)type, word ? "" : "bool, ");
    return inner(f)->module->error.code == BL_OK;
}

/* ---- traces and buffers ---- */

bl_ir *bl_ir_create(void)
{
    bl_ir *ir = memory_zeroed(1, sizeof *ir);
    if (ir)
        ir->module = ir_module_create();
    return ir;
}

void bl_ir_destroy(bl_ir *ir)
{
    if (!ir)
        return;
    ir_module_destroy(ir->module);
    memory_free(ir);
}

const char *bl_ir_error(const bl_ir *ir)
{
    return ir->module->error.code != BL_OK ? ir->module->error.text : ir->error.text;
}

uint32_t bl_ir_buffer(bl_ir *ir, const char *name, bool constant)
{
    return ir_buffer_add(ir->module, name ? name : "", constant, -1);
}

static bool are_buffers(bl_ir *ir, const char *what, uint32_t buffer, uint32_t partner)
{
    uint32_t count = ir->module->buffers.count;
    if (ir->module->error.code == BL_OK && (buffer >= count || partner >= count))
        error_set(&ir->module->error, BL_ERROR_COMPILE, "trace: %s: buffer %u does not exist", what,
                  buffer >= count ? buffer : partner);
    return ir->module->error.code == BL_OK;
}

void bl_ir_buffer_gradient(bl_ir *ir, uint32_t buffer, uint32_t gradient)
{
    if (are_buffers(ir, "buffer_gradient", buffer, gradient))
        ir->module->buffers.data[buffer].gradient = (int32_t)gradient;
}

void bl_ir_buffer_tangent(bl_ir *ir, uint32_t buffer, uint32_t tangent)
{
    if (are_buffers(ir, "buffer_tangent", buffer, tangent))
        ir->module->buffers.data[buffer].tangent = (int32_t)tangent;
}

/* ---- functions ---- */

bl_ir_func *bl_ir_func_create(bl_ir *ir, const char *name)
{
    return outer(ir_func_create(ir->module, name ? name : ""));
}

bl_ir_value bl_ir_param(bl_ir_func *f, bl_ir_type type)
{
    bool fine = is_open(f, "param") && is_type(f, "param", type, false);
    return fine ? value(ir_param(inner(f), (ir_type)type)) : (bl_ir_value){0};
}

void bl_ir_return(bl_ir_func *f, const bl_ir_value *values, uint32_t count)
{
    if (is_open(f, "return"))
        ir_return(inner(f), refs(values), count);
}

void bl_ir_entry(bl_ir_func *f)
{
    ir_func *g = inner(f);
    if (!g->finished || g->params.count || g->results.count)
        ir_fail(g, "entry: \"%s\" has %u parameters and %u results and is %sended; what runs has none and is",
                g->name, g->params.count, g->results.count, g->finished ? "" : "not ");
    else
        g->module->entry = g;
}

/* ---- values ---- */

#define CONSTANT(name, type)                                                                                 \
    bl_ir_value bl_ir_##name(bl_ir_func *f, type v)                                                          \
    {                                                                                                        \
        return is_open(f, #name) ? value(ir_##name(inner(f), v)) : (bl_ir_value){0};                         \
    }
CONSTANT(f32, float)
CONSTANT(u32, uint32_t)
CONSTANT(i32, int32_t)
CONSTANT(bool, bool)

bl_ir_value bl_ir_global_id(bl_ir_func *f)
{
    return is_open(f, "global_id") ? value(ir_global_id(inner(f))) : (bl_ir_value){0};
}

bl_ir_value bl_ir_uniform(bl_ir_func *f, bl_ir_type type, uint32_t word)
{
    if (!is_open(f, "uniform") || !is_type(f, "uniform", type, true))
        return (bl_ir_value){0};
    if (word >= BL_IR_UNIFORMS) {
        ir_fail(inner(f), "uniform: word %u, there are %d", word, BL_IR_UNIFORMS);
        return (bl_ir_value){0};
    }
    return value(ir_uniform(inner(f), (ir_type)type, word));
}

#define VALUE_1(name)                                                                                        \
    bl_ir_value bl_ir_##name(bl_ir_func *f, bl_ir_value a)                                                   \
    {                                                                                                        \
        return is_open(f, #name) ? value(ir_##name(inner(f), ref(a))) : (bl_ir_value){0};                    \
    }
#define VALUE_2(name)                                                                                        \
    bl_ir_value bl_ir_##name(bl_ir_func *f, bl_ir_value a, bl_ir_value b)                                    \
    {                                                                                                        \
        return is_open(f, #name) ? value(ir_##name(inner(f), ref(a), ref(b))) : (bl_ir_value){0};            \
    }
#define VALUE_3(name)                                                                                        \
    bl_ir_value bl_ir_##name(bl_ir_func *f, bl_ir_value a, bl_ir_value b, bl_ir_value c)                     \
    {                                                                                                        \
        return is_open(f, #name) ? value(ir_##name(inner(f), ref(a), ref(b), ref(c))) : (bl_ir_value){0};    \
    }
BL_IR_UNARY(VALUE_1)
BL_IR_BINARY(VALUE_2)
BL_IR_TERNARY(VALUE_3)

/* ---- control flow ---- */

bl_ir_value bl_ir_if(bl_ir_func *f, bl_ir_value condition)
{
    return is_open(f, "if") ? value(ir_if(inner(f), ref(condition))) : (bl_ir_value){0};
}

void bl_ir_else(bl_ir_func *f)
{
    if (is_open(f, "else"))
        ir_else(inner(f));
}

void bl_ir_endif(bl_ir_func *f)
{
    if (is_open(f, "endif"))
        ir_endif(inner(f));
}

bl_ir_value bl_ir_phi(bl_ir_func *f, bl_ir_value if_op, bl_ir_value then_value, bl_ir_value else_value)
{
    return is_open(f, "phi") ? value(ir_phi(inner(f), ref(if_op), ref(then_value), ref(else_value)))
                             : (bl_ir_value){0};
}

bl_ir_value bl_ir_loop(bl_ir_func *f, bl_ir_value *state, uint32_t count)
{
    return is_open(f, "loop") ? value(ir_loop(inner(f), refs_out(state), count)) : (bl_ir_value){0};
}

void bl_ir_while(bl_ir_func *f, bl_ir_value condition)
{
    if (is_open(f, "while"))
        ir_while(inner(f), ref(condition));
}

void bl_ir_endloop(bl_ir_func *f, bl_ir_value loop, const bl_ir_value *next, uint32_t count)
{
    if (is_open(f, "endloop"))
        ir_endloop(inner(f), ref(loop), refs(next), count);
}

void bl_ir_call(bl_ir_func *f, bl_ir_value selector, bl_ir_func *const *targets, uint32_t target_count,
                const bl_ir_value *args, uint32_t arg_count, bl_ir_value *results)
{
    if (is_open(f, "call"))
        ir_call(inner(f), ref(selector), (ir_func *const *)targets, target_count, refs(args), arg_count,
                refs_out(results));
}

/* ---- memory ---- */

bl_ir_value bl_ir_load(bl_ir_func *f, bl_ir_type type, uint32_t buffer, bl_ir_value index)
{
    bool fine = is_open(f, "load") && is_type(f, "load", type, true);
    return fine ? value(ir_load(inner(f), (ir_type)type, buffer, ref(index))) : (bl_ir_value){0};
}

bl_ir_value bl_ir_dload(bl_ir_func *f, uint32_t buffer, bl_ir_value index, bl_ir_value gradient_index)
{
    return is_open(f, "dload") ? value(ir_dload(inner(f), buffer, ref(index), ref(gradient_index)))
                               : (bl_ir_value){0};
}

void bl_ir_store(bl_ir_func *f, uint32_t buffer, bl_ir_value index, bl_ir_value v)
{
    if (is_open(f, "store"))
        ir_store(inner(f), buffer, ref(index), ref(v));
}

bl_ir_value bl_ir_atomic_add(bl_ir_func *f, uint32_t buffer, bl_ir_value index, bl_ir_value v)
{
    if (!is_open(f, "atomic_add"))
        return (bl_ir_value){0};
    ir_func *g = inner(f);
    if (v.id < g->inst.count &&
        ir_type_of(g, ref(v)) ==
            IR_F32) { /* Not every device adds reals atomically; accum works everywhere. */
        ir_fail(g, "atomic_add: operand %%%u is f32, expected u32 (accum adds reals)", v.id);
        return (bl_ir_value){0};
    }
    return value(ir_atomic_add(g, buffer, ref(index), ref(v)));
}

void bl_ir_accum(bl_ir_func *f, uint32_t buffer, bl_ir_value index, bl_ir_value v)
{
    if (is_open(f, "accum"))
        ir_accum(inner(f), buffer, ref(index), ref(v));
}

bl_ir_value bl_ir_local(bl_ir_func *f, bl_ir_type type, uint32_t count)
{
    bool fine = is_open(f, "local") && is_type(f, "local", type, false);
    return fine ? value(ir_local(inner(f), (ir_type)type, count)) : (bl_ir_value){0};
}

bl_ir_value bl_ir_lload(bl_ir_func *f, bl_ir_value local, bl_ir_value index)
{
    return is_open(f, "lload") ? value(ir_lload(inner(f), ref(local), ref(index))) : (bl_ir_value){0};
}

void bl_ir_lstore(bl_ir_func *f, bl_ir_value local, bl_ir_value index, bl_ir_value v)
{
    if (is_open(f, "lstore"))
        ir_lstore(inner(f), ref(local), ref(index), ref(v));
}

/* ---- differentiation ---- */

void bl_ir_backward(bl_ir_func *f, const bl_ir_value *outputs, const bl_ir_value *seeds, uint32_t count,
                    const bl_ir_value *wrt, bl_ir_value *wrt_adjoints, uint32_t wrt_count)
{
    for (uint32_t k = 0; k < wrt_count; k++)
        wrt_adjoints[k] = (bl_ir_value){0};
    if (is_open(f, "backward"))
        ad_backward(inner(f), refs(outputs), refs(seeds), count, refs(wrt), refs_out(wrt_adjoints),
                    wrt_count);
}

void bl_ir_forward(bl_ir_func *f, const bl_ir_value *wrt, const bl_ir_value *wrt_tangents, uint32_t wrt_count,
                   const bl_ir_value *outputs, bl_ir_value *output_tangents, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        output_tangents[k] = (bl_ir_value){0};
    if (is_open(f, "forward"))
        ad_forward(inner(f), refs(wrt), refs(wrt_tangents), wrt_count, refs(outputs),
                   refs_out(output_tangents), count);
}

void bl_ir_custom(bl_ir_func *f, bl_ir_func *jvp, bl_ir_func *vjp)
{
    if (!inner(f)->finished)
        ir_fail(inner(f), "custom: \"%s\" is not ended", inner(f)->name);
    if (inner(f)->module->error.code == BL_OK)
        ad_custom(inner(f), inner(jvp), inner(vjp));
}
