/* SPDX-License-Identifier: BSD-3-Clause
 * What a loop carries from trip to trip, as a list of references. Each struct that is carried has one
 * function that visits its fields (state_position, state_throughput, ...). The list has a direction. While it
 * is written, a visit appends the field's reference. While it is read, a visit replaces the field by the next
 * reference. So every field that is written is read, in the same order. A field that exists in some walks
 * only is visited under a condition that is the same in both directions.
 *
 *     loop_state state = {0}, next = {0};
 *     state_throughput(w, &state, &b);                  // writes what b is before the first trip
 *     ir_ref loop = state_loop(f, &state);
 *     state_throughput(w, &state, &b);                  // reads: b is what it is before any trip
 *     ir_while(f, ...);
 *     ...
 *     state_throughput(w, &next, &b);                   // writes what b is after it
 *     state_endloop(f, loop, &state, &next);
 *     state_throughput(w, &state, &b);                  // reads: b is what it is behind the loop
 *     state_end(&state);
 *
 * A field that is not visited keeps its value when the list is read. If that value would be wrong inside the
 * loop, the struct's function overwrites it where s->reads: with a known value, or with nothing, so that a
 * use is noticed. */
#ifndef BL_RENDER_LOOP_STATE_H
#define BL_RENDER_LOOP_STATE_H

#include "render/trace.h"

enum { STATE_MOST = 256 };
typedef struct loop_state {
    ir_ref r[STATE_MOST];
    uint32_t count;  /* number of references that were written */
    uint32_t cursor; /* number of references that were read */
    bool reads;      /* the direction: true while the list is read. {0} is an empty list that is written. */
} loop_state;

/* Each of these visits one field, or `count` references. */
void state_ref(loop_state *s, ir_ref *r);
void state_refs(loop_state *s, ir_ref *r, uint32_t count);
void state_vec2(loop_state *s, vec2 *v);
void state_vec3(loop_state *s, vec3 *v);
void state_color(loop_state *s, const tracer *t, color *c);

/* From now on the list is read, from its first reference on. */
void state_read(loop_state *s);
/* Asserts that all that was written has been read. */
void state_end(const loop_state *s);

/* Opens a loop that carries the list. From then on the list is read. */
ir_ref state_loop(ir_func *f, loop_state *s);
/* Ends the loop. The next trip begins with `next`, which has just been written. s is read once more, behind
 * the loop. */
void state_endloop(ir_func *f, ir_ref loop, loop_state *s, const loop_state *next);
/* s becomes `condition ? s : other`, reference by reference. From then on s is read. */
void state_select(ir_func *f, ir_ref condition, loop_state *s, const loop_state *other);

#endif
