/* SPDX-License-Identifier: BSD-3-Clause
 * Adds the derivative of a prior to gradients: weight * sum of (x - centre)^2 (l2, a Gaussian's) or of
 * |x - centre| (l1, a Laplacian's, whose slope is 0 at the centre).
 *
 * binding 0  x, f32; element i is word parameter_first + i
 * binding 1  gradient, f32; element i is gradient_first + i, added to
 * push       count, parameter_first, gradient_first, weight (f32), centre (f32) */
#include "fit/kernels/traces.h"

enum { PARAMETERS, GRADIENT, BINDINGS };
enum { COUNT, PARAMETER_FIRST, GRADIENT_FIRST, WEIGHT, CENTRE };

/* The losses' terms are the priors', the centre being the target. */
static ir_module *trace_prior(const char *name, fit_loss_function term)
{
    static const fit_binding bindings[BINDINGS] = {{"parameters", true}, {"gradient", false}};
    ir_func *f = fit_trace_begin(name, bindings, BINDINGS);
    ir_ref i = ir_global_id(f);
    fit_where(f, ir_lt(f, i, fit_word(f, COUNT)));
    ir_ref x = ir_load(f, IR_F32, PARAMETERS, ir_add(f, fit_word(f, PARAMETER_FIRST), i)),
           at = ir_add(f, fit_word(f, GRADIENT_FIRST), i);
    ir_ref slope = term(f, x, fit_real(f, CENTRE), ir_f32(f, 0)).slope;
    ir_store(f, GRADIENT, at,
             ir_add(f, ir_load(f, IR_F32, GRADIENT, at), ir_mul(f, fit_real(f, WEIGHT), slope)));
    fit_where_end(f);
    return fit_trace_end(f);
}

ir_module *fit_trace_prior_l2(void) { return trace_prior("prior_l2", fit_term_l2); }
ir_module *fit_trace_prior_l1(void) { return trace_prior("prior_l1", fit_term_l1); }
