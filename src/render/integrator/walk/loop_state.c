/* SPDX-License-Identifier: BSD-3-Clause
 * The list of references that a loop carries, written and read by the same functions (loop_state.h). The
 * asserts notice a list that is read in another form than it was written in. */
#include "render/integrator/walk/loop_state.h"

void state_ref(loop_state *s, ir_ref *r)
{
    if (s->reads) {
        BL_ASSERT(s->cursor < s->count, "reads reference %u of a state of %u", s->cursor, s->count);
        *r = s->r[s->cursor++];
    } else {
        BL_ASSERT(s->count < STATE_MOST, "no room for reference %u of the state", s->count);
        s->r[s->count++] = *r;
    }
}

void state_refs(loop_state *s, ir_ref *r, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        state_ref(s, &r[k]);
}

void state_vec2(loop_state *s, vec2 *v) { state_ref(s, &v->x), state_ref(s, &v->y); }

void state_vec3(loop_state *s, vec3 *v) { state_ref(s, &v->x), state_ref(s, &v->y), state_ref(s, &v->z); }

void state_color(loop_state *s, const tracer *t, color *c) { state_refs(s, c->c, t->channels); }

void state_read(loop_state *s) { s->reads = true, s->cursor = 0; }

void state_end(const loop_state *s)
{
    BL_ASSERT(s->reads && s->cursor == s->count, "%u references of %u were read", s->cursor, s->count);
}

ir_ref state_loop(ir_func *f, loop_state *s)
{
    BL_ASSERT(!s->reads, "a state of %u references that is being read", s->count);
    ir_ref loop = ir_loop(f, s->r, s->count);
    state_read(s);
    return loop;
}

void state_endloop(ir_func *f, ir_ref loop, loop_state *s, const loop_state *next)
{
    state_end(s);
    BL_ASSERT(!next->reads && next->count == s->count, "%u references after a trip, %u before", next->count,
              s->count);
    ir_endloop(f, loop, next->r, next->count);
    state_read(s);
}

void state_select(ir_func *f, ir_ref condition, loop_state *s, const loop_state *other)
{
    BL_ASSERT(!s->reads && !other->reads && s->count == other->count, "a state of %u references or one of %u",
              s->count, other->count);
    for (uint32_t k = 0; k < s->count; k++)
        s->r[k] = ir_select(f, condition, s->r[k], other->r[k]);
    state_read(s);
}
