// SPDX-License-Identifier: BSD-3-Clause
// Shared by all fixed kernels: one-dimensional groups of 64, and the linear index of an invocation or a
// group. The host splits dispatches of more than 65535 groups over y (gpu.h), so every kernel compares the
// index with its own bound.
const uint group_size = 64u;
layout(local_size_x = 64) in;

uint group_index() { return gl_WorkGroupID.x + gl_WorkGroupID.y * 65535u; }
uint linear_index() { return group_index() * group_size + gl_LocalInvocationID.x; }
