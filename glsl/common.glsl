// SPDX-License-Identifier: BSD-3-Clause
// Shared by all fixed kernels: one-dimensional groups of 64, and the linear index of an invocation or a
// group. The host splits dispatches of more than 65535 groups over y (gpu.h), so every kernel compares the
// index with its own bound.
//
// Every fixed kernel of src/fit is compiled twice. BUFFER(binding, access, type, name) declares an array
// name.data[] of 32-bit words; access is readonly, writeonly, or nothing for both. In one module the array is
// what is bound. In the other (ADDRESSED) the binding holds the array's device address, so that it may be
// larger than a binding reaches.
#ifdef ADDRESSED
#extension GL_EXT_buffer_reference : require
#define BUFFER(slot, access, type, name)                                                                     \
    layout(std430, buffer_reference, buffer_reference_align = 4) access buffer name##_words                  \
    {                                                                                                        \
        type data[];                                                                                         \
    };                                                                                                       \
    layout(std430, set = 0, binding = slot) readonly buffer name##_address { name##_words name; };
#else
#define BUFFER(slot, access, type, name)                                                                     \
    layout(std430, set = 0, binding = slot) access buffer name##_words { type data[]; }                      \
    name;
#endif

const uint group_size = 64u;
layout(local_size_x = 64) in;

uint group_index() { return gl_WorkGroupID.x + gl_WorkGroupID.y * 65535u; }
uint linear_index() { return group_index() * group_size + gl_LocalInvocationID.x; }
