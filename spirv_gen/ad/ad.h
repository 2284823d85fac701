/* SPDX-License-Identifier: BSD-3-Clause
 * Differentiation of traces into traces. Reverse mode emits, at the current place of a function, the code
 * that carries adjoints of values back to DLOADs (as ACCUM on the gradient buffer) and to chosen inputs;
 * forward mode the code that carries tangents of chosen inputs and of DLOADs (from the tangent buffer) on to
 * values. Both also make derived functions, and may be applied to them again. */
#ifndef SPIRV_GEN_AD_H
#define SPIRV_GEN_AD_H

#include "spirv_gen/ir/ir.h"

/* Backpropagates seeds[i] (f32) into outputs[i] (f32). Everything the outputs depend on must be visible at
 * the current place, except that values behind PHIs are recomputed inside a new IF. Effects: one ACCUM per
 * DLOAD reached whose gradient index is not the constant ~0. wrt[j]: values whose adjoints are wanted; the
 * sweep stops there; wrt_adjoints[j] receives the adjoint (constant 0 where nothing arrived). Loops between
 * outputs and inputs are an error that says what to do (detach it, or replay it). */
void ad_backward(ir_func *f, const ir_ref *outputs, const ir_ref *seeds, uint32_t count, const ir_ref *wrt,
                 ir_ref *wrt_adjoints, uint32_t wrt_count);

/* The derived function of `callee`: parameters are its parameters followed by one f32 adjoint per f32 result;
 * results are one f32 adjoint per f32 parameter. Built once per module and function. NULL if nothing in it
 * can be differentiated. */
ir_func *ad_vjp(ir_func *callee);

/* Tangents of outputs[i] (f32) for wrt_tangents[j] of wrt[j] and the tangents of DLOADs; a constant 0 where
 * nothing depends on either. The tangent of a DLOAD is the word at the same index of its buffer's tangent
 * buffer, 0 where its gradient index is ~0; without a tangent buffer reads are constants. What wrt has needs
 * no other tangent, whatever computed it: a call, a branch, or a closed loop (its last value is meant).
 * Values inside closed branches and loops are computed again, so what they do must bear repetition. A state
 * of a loop that is still open has the tangent that wrt gives it; otherwise it must be detached where it is
 * used. */
void ad_forward(ir_func *f, const ir_ref *wrt, const ir_ref *wrt_tangents, uint32_t wrt_count,
                const ir_ref *outputs, ir_ref *output_tangents, uint32_t count);

/* `callee` with tangents: parameters are its parameters followed by one f32 tangent per f32 parameter;
 * results are its results followed by one f32 tangent per f32 result. Has callee's effects, once; beside an
 * ACCUM to a buffer with a tangent buffer it accumulates there the tangent of what is added. Built once per
 * module and function. */
ir_func *ad_jvp(ir_func *callee);

/* A custom operation: calls of `primal` are differentiated by calling these instead of differentiating its
 * body. Finished functions of primal's module, each NULL for "as the body says".
 *   jvp: primal's parameters, then one f32 tangent per f32 parameter -> one f32 tangent per f32 result;
 *   vjp: primal's parameters, then one f32 adjoint per f32 result -> one f32 adjoint per f32 parameter. It
 *   may ACCUM what primal reads.
 * To be said before anything that calls `primal` is differentiated. Passes forget it: differentiate first. */
void ad_custom(ir_func *primal, ir_func *jvp, ir_func *vjp);

#endif
