/* SPDX-License-Identifier: BSD-3-Clause
 * Derived values (estimators.md 2, plan.h): small kernels around those that walk paths, one lane per object that has any.
 *
 *   update          derived = update(parameters), in the buffer of values. Runs when parameters have changed; with the frozen values bound in
 *                   their place, before a frozen evaluation.
 *   update adjoint  reads the gradients that a gradient pass has left for derived values, and adds d(derived)/d(parameters) times them to the
 *                   gradients of the parameters.
 *   update tangent  before a forward pass: tangents of derived values from those of the parameters.
 *
 * Parameters' elements are only added to and derived ones only read, so lanes do not meet, and shared parameters are no matter. */
#include "render/integrator/kernel.h"
#include "spirv_gen/ad/ad.h"

/* The object's derived values; their number is that of its class. */
static ir_ref *derive(tracer *t, const class_node *n, ir_ref record)
{
    ir_ref *derived = arena_alloc(&t->f->module->arena, n->cls->derived_count * sizeof *derived);
    n->cls->update(t, n, record, derived);
    return derived;
}

static ir_func *make_update(ir_module *m, const plan *p, const class_node *n)
{
    ir_func *f = ir_func_create(m, n->cls->plugin.name);
    tracer t = {.f = f, .plan = p};
    ir_ref record = ir_param(f, IR_U32), *derived = derive(&t, n, record), first = t_word(&t, record, n->derived_word);
    for (uint32_t k = 0; k < n->cls->derived_count; k++)
        ir_store(f, BUFFER_VALUES, t_offset(&t, first, k), derived[k]);
    ir_return(f, NULL, 0);
    return f;
}

/* ---- adjoint ---- */

/* Gradient element as a number. Of the magnitude, since -1 as (2^32 - 1) - 2^32 would lose it. */
static ir_ref gradient_number(tracer *t, ir_ref element, bool fixed_point)
{
    ir_func *f = t->f;
    if (!fixed_point)
        return ir_load(f, IR_F32, BUFFER_GRADIENT, element);
    ir_ref zero = t_u32(t, 0), at = ir_shl(f, element, t_u32(t, 1));
    ir_ref low = ir_load(f, IR_U32, BUFFER_GRADIENT, at), high = ir_load(f, IR_U32, BUFFER_GRADIENT, t_offset(t, at, 1));
    ir_ref negative = ir_ge(f, high, t_u32(t, 0x80000000u));
    ir_ref borrow = ir_select(f, ir_eq(f, low, zero), t_u32(t, 1), zero);
    high = ir_select(f, negative, ir_add(f, ir_not(f, high), borrow), high);
    low = ir_select(f, negative, ir_sub(f, zero, low), low);
    ir_ref size = t_mad(t, ir_to_f32(f, high), t_f32(t, 4294967296.0f), ir_to_f32(f, low));
    ir_ref number = ir_div(f, size, ir_load(f, IR_F32, BUFFER_SCALE, element));
    return ir_select(f, negative, ir_neg(f, number), number);
}

static ir_func *make_adjoint(ir_module *m, const plan *p, const class_node *n, bool fixed_point)
{
    ir_func *f = ir_func_create(m, n->cls->plugin.name);
    tracer t = {.f = f, .plan = p, .tracked = true};
    ir_ref record = ir_param(f, IR_U32);
    if (n->requested >> PLAN_DERIVED_SLOT & 1) {
        uint32_t count = n->cls->derived_count;
        ir_ref *derived = derive(&t, n, record), *seeds = arena_alloc(&m->arena, count * sizeof *seeds);
        ir_ref first = t_word(&t, record, n->derived_word + 1);
        ir_if(f, ir_ne(f, first, t_u32(&t, PLAN_NONE)));
        for (uint32_t k = 0; k < count; k++)
            seeds[k] = gradient_number(&t, t_offset(&t, first, k), fixed_point);
        ad_backward(f, derived, seeds, count, NULL, NULL, 0);
        ir_else(f);
        ir_endif(f);
    }
    ir_return(f, NULL, 0);
    return f;
}

/* ---- tangent ---- */

static ir_func *make_tangent(ir_module *m, const plan *p, const class_node *n)
{
    ir_func *f = ir_func_create(m, n->cls->plugin.name);
    tracer t = {.f = f, .plan = p, .tracked = true};
    uint32_t count = n->cls->derived_count;
    ir_ref record = ir_param(f, IR_U32), *derived = derive(&t, n, record), *tangents = arena_alloc(&m->arena, count * sizeof *tangents);
    ad_forward(f, NULL, NULL, 0, derived, tangents, count);
    ir_ref first = t_word(&t, record, n->derived_word);
    for (uint32_t k = 0; k < count; k++)
        ir_store(f, BUFFER_TANGENT, t_offset(&t, first, k), tangents[k]);
    ir_return(f, NULL, 0);
    return f;
}

/* ---- kernels ---- */

/* Lane k: the function of its object's class, with its record. */
static void dispatch(ir_module *m, const plan *p, const char *name, ir_func *const *functions)
{
    ir_func *f = ir_func_create(m, name);
    tracer t = {.f = f, .plan = p};
    m->entry = f;
    ir_ref id = ir_global_id(f);
    ir_if(f, ir_lt(f, id, ir_uniform(f, IR_U32, UNIFORM_LANE_COUNT)));
    ir_ref object = ir_add(f, id, ir_uniform(f, IR_U32, UNIFORM_FIRST_LANE));
    ir_ref at = ir_add(f, t_word(&t, t_u32(&t, 0), HEADER_UPDATES), ir_shl(f, object, t_u32(&t, 1)));
    ir_ref record = t_word(&t, at, 1);
    ir_call(f, t_word(&t, at, 0), functions, p->updates.count, &record, 1, NULL);
    ir_else(f);
    ir_endif(f);
    ir_return(f, NULL, 0);
}

bl_result kernel_update(const plan *p, ir_module *m)
{
    BL_ASSERT(p->update_count > 0, "%u objects with derived values", p->update_count);
    m->buffers.data[BUFFER_VALUES].constant = false;
    ir_func **functions = arena_alloc(&m->arena, p->updates.count * sizeof(ir_func *));
    for (uint32_t i = 0; i < p->updates.count; i++)
        functions[i] = make_update(m, p, p->updates.data[i]);
    dispatch(m, p, "update", functions);
    return BL_OK;
}

bl_result kernel_update_adjoint(const plan *p, ir_module *m, bool fixed_point)
{
    BL_ASSERT(p->update_requested, "%u objects with derived values, and no gradient of one", p->update_count);
    ir_func **functions = arena_alloc(&m->arena, p->updates.count * sizeof(ir_func *));
    for (uint32_t i = 0; i < p->updates.count; i++)
        functions[i] = make_adjoint(m, p, p->updates.data[i], fixed_point);
    dispatch(m, p, "update adjoint", functions);
    return BL_OK;
}

bl_result kernel_update_tangent(const plan *p, ir_module *m)
{
    BL_ASSERT(p->update_count > 0, "%u objects with derived values", p->update_count);
    m->buffers.data[BUFFER_TANGENT].constant = false;
    ir_func **functions = arena_alloc(&m->arena, p->updates.count * sizeof(ir_func *));
    for (uint32_t i = 0; i < p->updates.count; i++)
        functions[i] = make_tangent(m, p, p->updates.data[i]);
    dispatch(m, p, "update tangent", functions);
    return BL_OK;
}
