/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Do places that a lane keeps (integrator/walk/kept_rows.h) come back as they were, of every type, in two
 * arrays and in one? Of several rows only those are written, and only that is read, whose turn it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "render/integrator/walk/kept_rows.h"

enum { ROWS = 3 };

typedef struct place {
    ir_ref number, word, truth, other, lie;
} place;

static void state_place(loop_state *s, place *p)
{
    state_ref(s, &p->number), state_ref(s, &p->word), state_ref(s, &p->truth), state_ref(s, &p->other);
    state_ref(s, &p->lie);
}

/* What stands in row k; of k = ROWS: what is there before. */
static place place_of(ir_func *f, uint32_t k)
{
    return (place){ir_f32(f, 0.1f * (float)k - 0.15f), ir_u32(f, 0x80000001u + k), ir_bool(f, k & 1),
                   ir_f32(f, 1e30f / (float)(k + 1)), ir_bool(f, !(k & 1))};
}

/* which, when -> 1 if row `which` is read as it was written, or, unless `when`, if nothing is. */
static ir_func *rows_function(ir_module *m, bool packed)
{
    ir_func *f = ir_func_create(m, "rows");
    tracer t = {.f = f, .channels = 3};
    ir_ref which = ir_param(f, IR_U32), when = ir_param(f, IR_BOOL), good = ir_bool(f, true);
    place at = place_of(f, ROWS);
    loop_state row = {0};
    state_place(&row, &at);
    kept_rows rows = rows_make(f, &row, ROWS, packed);
    for (uint32_t k = 0; k < ROWS; k++) {
        loop_state one = {0};
        at = place_of(f, k);
        state_place(&one, &at);
        rows_keep(&t, &rows, ir_bool(f, true), ir_u32(f, k), &one);
    }
    at = place_of(f, ROWS);
    loop_state never = {0}, found = {0};
    state_place(&never, &at);
    rows_keep(&t, &rows, ir_bool(f, false), ir_u32(f, 1), &never);
    state_place(&found, &at);
    rows_recall(&t, &rows, when, which, &found);
    state_place(&found, &at);
    state_end(&found);
    for (uint32_t k = 0; k <= ROWS; k++) {
        const place wanted = place_of(f, k);
        ir_ref mine = k < ROWS ? ir_and(f, when, ir_eq(f, which, ir_u32(f, k))) : ir_not(f, when);
        ir_ref same = ir_and(f, ir_eq(f, at.number, wanted.number), ir_eq(f, at.word, wanted.word));
        same = ir_and(f, same, ir_eq(f, at.other, wanted.other));
        same = ir_and(f, same, ir_not(f, ir_xor(f, at.truth, wanted.truth)));
        same = ir_and(f, same, ir_not(f, ir_xor(f, at.lie, wanted.lie)));
        good = ir_and(f, good, ir_or(f, ir_not(f, mine), same));
    }
    ir_return(f, (ir_ref[]){ir_to_u32(f, good)}, 1);
    return f;
}

static void rows_come_back(void **state)
{
    (void)state;
    for (int packed = 0; packed < 2; packed++) {
        ir_module *m = ir_module_create();
        ir_func *f = rows_function(m, packed);
        bl_error err = {0};
        if (ir_finish(m, &err) != BL_OK || ir_verify(m, &err) != BL_OK)
            fail_msg("%s", err.text);
        for (uint32_t k = 0; k < 2 * ROWS; k++) {
            ir_value args[2] = {{.u = k % ROWS}, {.u = k < ROWS}}, out;
            ir_eval_env env = {0};
            if (ir_eval(f, args, &out, &env, &err) != BL_OK)
                fail_msg("%s", err.text);
            if (!out.u)
                fail_msg("row %u of %s, %s", k % ROWS, packed ? "one array" : "two arrays",
                         k < ROWS ? "read" : "left");
        }
        ir_module_destroy(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_come_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
