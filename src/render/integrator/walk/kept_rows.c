/* SPDX-License-Identifier: BSD-3-Clause
 * See kept_rows.h. A truth is kept as a word. */
#include "render/integrator/walk/kept_rows.h"

/* Whether it is kept as one. */
static bool is_number(const kept_rows *rows, ir_func *f, ir_ref r)
{
    return !rows->packed && ir_type_of(f, r) == IR_F32;
}

static ir_ref word_of(ir_func *f, ir_ref r)
{
    ir_type type = ir_type_of(f, r);
    return type == IR_BOOL ? ir_to_u32(f, r) : type == IR_F32 ? ir_bits_to_u32(f, r) : r;
}

static ir_ref of_word(ir_func *f, ir_ref word, ir_type type)
{
    return type == IR_BOOL ? ir_ne(f, word, ir_u32(f, 0)) : type == IR_F32 ? ir_bits_to_f32(f, word) : word;
}

kept_rows rows_make(ir_func *f, const loop_state *row, uint32_t count, bool packed)
{
    kept_rows p = {.packed = packed};
    for (uint32_t k = 0; k < row->count; k++)
        *(is_number(&p, f, row->r[k]) ? &p.number_count : &p.word_count) += 1;
    if (!packed)
        p.numbers = ir_local(f, IR_F32, count * p.number_count);
    p.words = ir_local(f, IR_U32, count * p.word_count);
    return p;
}

void rows_keep(tracer *t, const kept_rows *rows, ir_ref when, ir_ref number, const loop_state *row)
{
    BL_ASSERT(row->count == rows->number_count + rows->word_count, "%u references in a row of %u", row->count,
              rows->number_count + rows->word_count);
    ir_func *f = t->f;
    ir_if(f, when);
    ir_ref at = ir_mul(f, number, t_u32(t, rows->number_count)),
           word = ir_mul(f, number, t_u32(t, rows->word_count));
    uint32_t numbers = 0, words = 0;
    for (uint32_t k = 0; k < row->count; k++)
        if (is_number(rows, f, row->r[k]))
            ir_lstore(f, rows->numbers, t_offset(t, at, numbers++), row->r[k]);
        else
            ir_lstore(f, rows->words, t_offset(t, word, words++), word_of(f, row->r[k]));
    ir_else(f);
    ir_endif(f);
}

void rows_recall(tracer *t, const kept_rows *rows, ir_ref when, ir_ref number, loop_state *row)
{
    ir_func *f = t->f;
    BL_ASSERT(row->count == rows->number_count + rows->word_count, "%u references in a row of %u", row->count,
              rows->number_count + rows->word_count);
    ir_ref kept[STATE_MOST], branch = ir_if(f, when);
    ir_ref at = ir_mul(f, number, t_u32(t, rows->number_count)),
           word = ir_mul(f, number, t_u32(t, rows->word_count));
    uint32_t numbers = 0, words = 0;
    for (uint32_t k = 0; k < row->count; k++)
        if (is_number(rows, f, row->r[k]))
            kept[k] = ir_lload(f, rows->numbers, t_offset(t, at, numbers++));
        else
            kept[k] = ir_lload(f, rows->words, t_offset(t, word, words++));
    for (uint32_t k = 0; k < row->count; k++)
        if (!is_number(rows, f, row->r[k]))
            kept[k] = of_word(f, kept[k], ir_type_of(f, row->r[k]));
    ir_else(f);
    ir_endif(f);
    for (uint32_t k = 0; k < row->count; k++)
        row->r[k] = ir_phi(f, branch, kept[k], row->r[k]);
    state_read(row);
}
