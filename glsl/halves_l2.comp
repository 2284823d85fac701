#version 450
// SPDX-License-Identifier: BSD-3-Clause
// The loss of term_l2.glsl of two halves.
#extension GL_GOOGLE_include_directive : require
#include "loss_halves.glsl"
#include "term_l2.glsl"
