/* SPDX-License-Identifier: BSD-3-Clause
 * Reverse-mode differentiation of traces: emits, at the current place of a function, the code that carries adjoints of values back to
 * DLOADs (as ACCUM on the gradient buffer) and to chosen inputs. */
#ifndef SPIRV_GEN_AD_H
#define SPIRV_GEN_AD_H

#include "spirv_gen/ir/ir.h"

/* Backpropagates seeds[i] (f32) into outputs[i] (f32). Everything the outputs depend on must be visible at the current place, except
 * that values behind PHIs are recomputed inside a new IF. Effects: one ACCUM per DLOAD reached whose gradient index is not the constant
 * ~0. wrt[j]: values whose adjoints are wanted; the sweep stops there; wrt_adjoints[j] receives the adjoint (constant 0 where nothing
 * arrived). Loops between outputs and inputs are an error that says what to do (detach it, or replay it). */
void ad_backward(ir_func *f, const ir_ref *outputs, const ir_ref *seeds, uint32_t count, const ir_ref *wrt, ir_ref *wrt_adjoints,
                 uint32_t wrt_count);

/* The derived function of `callee`: parameters are its parameters followed by one f32 adjoint per f32 result; results are one f32
 * adjoint per f32 parameter. Built once per module and function. NULL if nothing in it can be differentiated. */
ir_func *ad_vjp(ir_func *callee);

#endif
