/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Does a walk that keeps some of its places (integrator/walk/checkpoints.h) come to its vertices from the
 * last to the first, at the places that it had on its way forth, and in how many visits? The walk here is a
 * sequence of words that cannot be gone through backward. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "render/integrator/walk/checkpoints.h"

typedef struct place {
    ir_ref number, word;
} place;

static ir_ref step(ir_func *f, ir_ref word, ir_ref number)
{
    return ir_add(f, ir_mul(f, word, ir_u32(f, 1664525)), ir_add(f, number, ir_u32(f, 1013904223)));
}

static uint32_t mixed(uint32_t hash, uint32_t word) { return hash * 31 + word; }

/* The walk's loop state. */
typedef struct walk_back {
    place at;
    ir_ref back, target, hash, visits;
    checkpoints kept;
} walk_back;

static void state_walk(loop_state *s, walk_back *p)
{
    state_ref(s, &p->at.number), state_ref(s, &p->at.word), state_ref(s, &p->back), state_ref(s, &p->target);
    state_ref(s, &p->hash), state_ref(s, &p->visits);
    state_checkpoints(s, &p->kept);
}

/* n -> a hash of the words in the order in which vertices have their turn, the number of visits. */
static ir_func *walk_function(ir_module *m)
{
    ir_func *f = ir_func_create(m, "walk");
    tracer t = {.f = f, .channels = 3};
    ir_ref n = ir_param(f, IR_U32), zero = ir_u32(f, 0), one = ir_u32(f, 1);
    ir_ref words = ir_local(f, IR_U32, CHECKPOINTS), numbers = ir_local(f, IR_U32, CHECKPOINTS);
    walk_back p = {{zero, one}, ir_bool(f, false), n, zero, zero, checkpoints_none(&t)};
    loop_state state = {0}, next = {0};
    state_walk(&state, &p);
    ir_ref loop = state_loop(f, &state);
    state_walk(&state, &p);
    ir_while(f, ir_ne(f, p.target, ir_u32(f, ~0u))); /* that of the first vertex less 1 */
    ir_ref row, keeps = checkpoints_keep(&t, &p.kept, ir_bool(f, true), p.at.number, p.back, p.target, &row);
    ir_if(f, keeps);
    ir_lstore(f, words, row, p.at.word), ir_lstore(f, numbers, row, p.at.number);
    ir_else(f);
    ir_endif(f);
    ir_ref turn = ir_eq(f, p.at.number, ir_select(f, p.back, p.target, ir_sub(f, n, one)));
    p.visits = ir_add(f, p.visits, one);
    p.hash = ir_select(f, turn, ir_add(f, ir_mul(f, p.hash, ir_u32(f, 31)), p.at.word), p.hash);
    p.target = ir_select(f, turn, ir_sub(f, p.at.number, one), p.target);
    p.back = ir_or(f, p.back, turn);
    place onward = {ir_add(f, p.at.number, one), step(f, p.at.word, p.at.number)};
    row = checkpoints_turn(&t, &p.kept, turn, p.target);
    ir_ref first = ir_eq(f, row, ir_u32(f, CHECKPOINTS)), at = ir_select(f, first, zero, row);
    place again = {ir_select(f, first, zero, ir_lload(f, numbers, at)),
                   ir_select(f, first, one, ir_lload(f, words, at))};
    p.at.number = ir_select(f, turn, again.number, onward.number);
    p.at.word = ir_select(f, turn, again.word, onward.word);
    state_walk(&next, &p);
    state_endloop(f, loop, &state, &next);
    state_walk(&state, &p);
    ir_return(f, (ir_ref[]){p.hash, p.visits}, 2);
    return f;
}

static void walks_go_back(void **state)
{
    (void)state;
    static const struct {
        uint32_t vertices, visits;
    } most[] = {{1, 1}, {2, 3}, {CHECKPOINTS + 1, 2 * CHECKPOINTS + 1}, {32, 87}, {64, 210}, {128, 565}};
    enum { COUNT = sizeof most / sizeof *most, LONGEST = 300 };
    static uint32_t word[LONGEST + 1] = {1};
    ir_module *m = ir_module_create();
    ir_func *f = walk_function(m);
    bl_error err = {0};
    if (ir_finish(m, &err) != BL_OK || ir_verify(m, &err) != BL_OK)
        fail_msg("%s", err.text);
    for (uint32_t k = 0; k < LONGEST; k++)
        word[k + 1] = word[k] * 1664525u + k + 1013904223u;
    uint32_t next = 0;
    for (uint32_t n = 1; n <= LONGEST; n++) {
        ir_value args[1] = {{.u = n}}, out[2];
        ir_eval_env env = {.f64 = true};
        if (ir_eval(f, args, out, &env, &err) != BL_OK)
            fail_msg("%s", err.text);
        uint32_t hash = 0;
        for (uint32_t k = n; k-- > 0;)
            hash = mixed(hash, word[k]);
        if (out[0].u != hash)
            fail_msg("of %u vertices some were in another place, or had another turn", n);
        if (next == COUNT || n != most[next].vertices)
            continue;
        if (out[1].u > most[next++].visits)
            fail_msg("%u vertices take %u visits", n, (unsigned)out[1].u);
    }
    assert_int_equal(next, COUNT); /* every bound has had its turn: they ascend, and end below LONGEST */
    ir_module_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(walks_go_back)};
    return cmocka_run_group_tests_name("checkpoints", tests, NULL, NULL);
}
