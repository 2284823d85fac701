/* SPDX-License-Identifier: BSD-3-Clause
 * Derived values (docs/theory/derived_quantities.md, plan.h): small kernels before and after those that walk
 * paths. They have a lane per object with derived values, or per value where the class has update_element.
 *
 *   update          Stores derived = update(parameters) in the buffer of values. Runs when parameters have
 *                   changed, and before a frozen evaluation with the frozen values bound instead.
 *   update adjoint  After a gradient pass: reads the gradients of the derived values, multiplies them by
 *                   d(derived)/d(parameters), and adds the product to the gradients of the parameters.
 *   update tangent  Before a forward pass: tangents of derived values from those of the parameters.
 *
 * Invariant: the adjoint only adds to elements of parameters and only reads elements of derived values. So
 * lanes need no order, and several objects may share a parameter. */
#include "render/integrator/derived/derived.h"
#include "spirv_gen/ad/ad.h"

/* What one lane derives: `count` values of an object, from number `first` on. */
typedef struct part {
    ir_ref first; /* u32 */
    uint32_t count;
    ir_ref *values;
} part;

/* The coefficients of the spectrum of colour `element`. */
static part derive_spectrum(tracer *t, const class_node *n, ir_ref record, ir_ref element)
{
    part p = {.first = ir_mul(t->f, element, t_u32(t, SPECTRAL_WORDS)), .count = SPECTRAL_WORDS};
    p.values = arena_alloc(&t->f->module->arena, p.count * sizeof *p.values);
    plan_spectral_update(t, n, record, element, p.values);
    return p;
}

/* element: the value's number, if the class has update_element; else not used. */
static part derive(tracer *t, const class_node *n, ir_ref record, ir_ref element)
{
    if (n->upsampled)
        return derive_spectrum(t, n, record, element);
    bool each = n->cls->update_element != NULL;
    part p = {.first = each ? element : t_u32(t, 0), .count = each ? 1 : n->cls->derived_count};
    BL_ASSERT(p.count > 0, "%s derives no values", n->cls->plugin.name);
    p.values = arena_alloc(&t->f->module->arena, p.count * sizeof *p.values);
    if (each)
        p.values[0] = n->cls->update_element(t, n, record, element);
    else
        n->cls->update(t, n, record, p.values);
    return p;
}

/* A lane's function has the record as its parameter and, if any class has update_element, the element. */
static ir_ref element_param(const plan *p, ir_func *f)
{
    return p->update_elements ? ir_param(f, IR_U32) : (ir_ref){0};
}

/* Where value k of the part is stored; first: where the object's first value is. */
static ir_ref address(tracer *t, ir_ref first, const part *p, uint32_t k)
{
    return t_offset(t, ir_add(t->f, first, p->first), k);
}

static ir_func *make_update(ir_module *m, const plan *p, const class_node *n)
{
    ir_func *f = ir_func_create(m, n->cls->plugin.name);
    tracer t = plan_tracer(p, f);
    ir_ref record = ir_param(f, IR_U32), element = element_param(p, f);
    part derived = derive(&t, n, record, element);
    ir_ref first = t_word(&t, record, n->derived_word);
    for (uint32_t k = 0; k < derived.count; k++)
        ir_store(f, BUFFER_VALUES, address(&t, first, &derived, k), derived.values[k]);
    ir_return(f, NULL, 0);
    return f;
}

/* ---- adjoint ---- */

/* Fixed point is converted by magnitude: -1, as (2^32 - 1) - 2^32 in f32, would be 0. */
ir_ref gradient_number(tracer *t, ir_ref element, bool fixed_point)
{
    ir_func *f = t->f;
    if (!fixed_point)
        return ir_load(f, IR_F32, BUFFER_GRADIENT, element);
    ir_ref zero = t_u32(t, 0), at = ir_shl(f, element, t_u32(t, 1));
    ir_ref low = ir_load(f, IR_U32, BUFFER_GRADIENT, at),
           high = ir_load(f, IR_U32, BUFFER_GRADIENT, t_offset(t, at, 1));
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
    tracer t = plan_tracer(p, f);
    t.differentiated = true;
    ir_ref record = ir_param(f, IR_U32), element = element_param(p, f);
    if (n->requested >> PLAN_DERIVED_SLOT & 1) {
        part derived = derive(&t, n, record, element);
        ir_ref *seeds = arena_alloc(&m->arena, derived.count * sizeof *seeds);
        ir_ref first = t_word(&t, record, n->derived_word + 1);
        ir_if(f, ir_ne(f, first, t_u32(&t, PLAN_NONE)));
        for (uint32_t k = 0; k < derived.count; k++)
            seeds[k] = gradient_number(&t, address(&t, first, &derived, k), fixed_point);
        ad_backward(f, derived.values, seeds, derived.count, NULL, NULL, 0);
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
    tracer t = plan_tracer(p, f);
    t.differentiated = true;
    ir_ref record = ir_param(f, IR_U32), element = element_param(p, f);
    part derived = derive(&t, n, record, element);
    ir_ref *tangents = arena_alloc(&m->arena, derived.count * sizeof *tangents);
    ad_forward(f, NULL, NULL, 0, derived.values, tangents, derived.count);
    ir_ref first = t_word(&t, record, n->derived_word);
    for (uint32_t k = 0; k < derived.count; k++)
        ir_store(f, BUFFER_TANGENT, address(&t, first, &derived, k), tangents[k]);
    ir_return(f, NULL, 0);
    return f;
}

/* ---- kernels ---- */

/* The entry: lane k calls the function of its object's class with the object's record, and its element. */
static void dispatch(ir_module *m, const plan *p, const char *name, ir_func *const *functions)
{
    ir_func *f = ir_func_create(m, name);
    tracer t = plan_tracer(p, f);
    m->entry = f;
    ir_ref id = ir_global_id(f);
    ir_if(f, ir_lt(f, id, ir_uniform(f, IR_U32, UNIFORM_LANE_COUNT)));
    ir_ref object = ir_add(f, id, ir_uniform(f, IR_U32, UNIFORM_FIRST_LANE));
    ir_ref at = ir_add(f, t_word(&t, t_u32(&t, 0), HEADER_UPDATES), ir_shl(f, object, t_u32(&t, 1)));
    ir_ref which = t_word(&t, at, 0), in[2] = {t_word(&t, at, 1)};
    if (p->update_elements) {
        in[1] = ir_shr(f, which, t_u32(&t, plan_element_bit(p)));
        which = ir_and(f, which, t_u32(&t, (1u << plan_element_bit(p)) - 1));
    }
    ir_call(f, which, functions, p->updates.count, in, p->update_elements ? 2 : 1, NULL);
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
