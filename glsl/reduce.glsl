// SPDX-License-Identifier: BSD-3-Clause
// Sum over a group in an order that never changes: a balanced tree over shared memory. No subgroup
// operations, whose width, and so whose order, depends on the device. Every invocation of the group must call
// it; all get the sum.
shared float reduce_shared[64];

float group_sum(float value)
{
    uint lane = gl_LocalInvocationID.x;
    reduce_shared[lane] = value;
    barrier();
    for (uint half_width = 32u; half_width > 0u; half_width >>= 1) {
        if (lane < half_width) {
            precise float sum = reduce_shared[lane] + reduce_shared[lane + half_width];
            reduce_shared[lane] = sum;
        }
        barrier();
    }
    return reduce_shared[0];
}
