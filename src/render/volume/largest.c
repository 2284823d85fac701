/* SPDX-License-Identifier: BSD-3-Clause
 * The largest value of a volume, for bounds that follow its values. First LARGEST_LANES lanes look through
 * a share of the values each, and then a second step looks through their results. The result is part of a
 * sampling table, so it is detached. */
#include "render/classes.h"

void largest_part(tracer *t, const class_node *volume, ir_ref at, ir_ref words, ir_ref lane)
{
    BL_ASSERT(volume_of(volume)->most, "the volume %s has no bound", volume->cls->plugin.name);
    ir_ref most = volume_of(volume)->most(t, volume, at, lane, LARGEST_LANES);
    ir_store(t->f, BUFFER_VALUES, ir_add(t->f, words, lane), most);
}

ir_ref largest_of(tracer *t, ir_ref words)
{
    ir_func *f = t->f;
    ir_ref state[2] = {t_u32(t, 0), t_f32(t, 0)}, loop = ir_loop(f, state, 2);
    ir_while(f, ir_lt(f, state[0], t_u32(t, LARGEST_LANES)));
    ir_ref part = ir_load(f, IR_F32, BUFFER_VALUES, ir_add(f, words, state[0]));
    ir_ref next[2] = {ir_add(f, state[0], t_u32(t, 1)), ir_max(f, state[1], part)};
    ir_endloop(f, loop, next, 2);
    return state[1];
}
