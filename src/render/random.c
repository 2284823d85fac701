/* SPDX-License-Identifier: BSD-3-Clause
 * Counter-based random numbers: pcg4d of Jarzynski and Olano 2020, "Hash Functions for GPU Rendering",
 * section 4. The state is the counter (pixel, sample, seed, stream and block), so a number depends on where
 * it is used and on nothing else. */
#include "render/trace.h"

static void cross_add(ir_func *f, ir_ref v[4])
{
    static const unsigned from[4][3] = {{0, 1, 3}, {1, 2, 0}, {2, 0, 1}, {3, 1, 2}};
    for (unsigned k = 0; k < 4; k++)
        v[from[k][0]] = ir_add(f, v[from[k][0]], ir_mul(f, v[from[k][1]], v[from[k][2]]));
}

void random_words(tracer *t, const random_counter *c, ir_ref v[4])
{
    ir_func *f = t->f;
    ir_ref last = ir_or(f, c->block, ir_shl(f, c->stream, t_u32(t, 24)));
    v[0] = c->pixel, v[1] = c->sample, v[2] = c->seed, v[3] = last;
    for (unsigned k = 0; k < 4; k++)
        v[k] = ir_add(f, ir_mul(f, v[k], t_u32(t, 1664525u)), t_u32(t, 1013904223u));
    cross_add(f, v);
    for (unsigned k = 0; k < 4; k++)
        v[k] = ir_xor(f, v[k], ir_shr(f, v[k], t_u32(t, 16)));
    cross_add(f, v);
}

random4 random_block(tracer *t, ir_ref pixel, ir_ref sample, ir_ref seed, ir_ref stream, ir_ref block)
{
    ir_func *f = t->f;
    ir_ref v[4];
    random_words(t, &(random_counter){pixel, sample, seed, stream, block}, v);
    random4 r;
    for (unsigned k = 0; k < 4; k++)
        r.u[k] = ir_mul(f, ir_to_f32(f, ir_shr(f, v[k], t_u32(t, 8))), t_f32(t, 0x1p-24f));
    return r;
}
