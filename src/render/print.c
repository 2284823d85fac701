/* SPDX-License-Identifier: BSD-3-Clause */
#include "render/print.h"
#include "render/plan.h"

#include <stdlib.h>
#include <string.h>

/* MESSAGE_TEXT: 1 + the number of the text; 0 where no message has been written. */
enum { MESSAGE_TEXT, MESSAGE_PIXEL, MESSAGE_SAMPLE, MESSAGE_VALUES };

void print_table_free(print_table *table)
{
    array_free(&table->texts);
    arena_free(&table->memory);
}

/* ---- tracing ---- */

static uint32_t places(const char *format)
{
    uint32_t count = 0;
    for (const char *at = format; (at = strstr(at, "{}")); at += 2)
        count++;
    return count;
}

static bool same_text(const print_text *a, const print_text *b)
{
    return strcmp(a->text, b->text) == 0 && a->count == b->count &&
           memcmp(a->types, b->types, a->count * sizeof *a->types) == 0;
}

/* The number of a text. A kernel that is traced again finds the same ones. */
static uint32_t number_of(print_table *table, print_text wanted)
{
    for (uint32_t k = 0; k < table->texts.count; k++)
        if (same_text(&table->texts.data[k], &wanted))
            return k;
    wanted.text = arena_strdup(&table->memory, wanted.text);
    array_push(&table->texts, wanted);
    return table->texts.count - 1;
}

static ir_ref word_of(ir_func *f, ir_ref value)
{
    bool yes_or_no = ir_type_of(f, value) == IR_BOOL;
    return ir_detach(f, yes_or_no ? ir_select(f, value, ir_u32(f, 1), ir_u32(f, 0)) : value);
}

/* Whether the trace can go on. Else its module has the error. */
static bool check(ir_func *f, ir_ref when, const char *format, const ir_ref *values, uint32_t count)
{
    const char *misfit = ir_misfit(f, when, IR_BOOL);
    if (!format || strlen(format) > PRINT_TEXT_MOST)
        ir_fail(f, "a print needs a text of at most %d bytes", (int)PRINT_TEXT_MOST);
    else if (count > PRINT_VALUES_MOST)
        ir_fail(f, "print \"%s\": %u values, there are at most %d", format, count, (int)PRINT_VALUES_MOST);
    else if (places(format) != count)
        ir_fail(f, "print \"%s\": %u times {}, and %u values", format, places(format), count);
    for (uint32_t k = 0; k < count && !misfit && f->module->error.code == BL_OK; k++)
        misfit = ir_is_none(values[k]) ? "there is no such value"
                                       : ir_misfit(f, values[k], ir_type_of(f, values[k]));
    if (misfit)
        ir_fail(f, "print \"%s\": %s", format, misfit);
    return f->module->error.code == BL_OK;
}

void print_record(tracer *t, print_table *table, ir_ref when, ir_ref pixel, ir_ref sample, const char *format,
                  const ir_ref *values, uint32_t count)
{
    ir_func *f = t->f;
    if (f->module->error.code != BL_OK || !check(f, when, format, values, count))
        return;
    print_text kept = {.text = format, .count = count};
    for (uint32_t k = 0; k < count; k++)
        kept.types[k] = ir_type_of(f, values[k]);
    const ir_ref head[MESSAGE_VALUES] = {ir_u32(f, 1 + number_of(table, kept)), pixel, sample};
    const uint32_t size = MESSAGE_VALUES + count;
    ir_ref used = ir_u32(f, PRINT_USED), room = ir_u32(f, table->words);
    ir_if(f, when);
    /* Once the room is full nothing is added any more, so the count cannot come round to 0. */
    ir_if(f, ir_lt(f, ir_load(f, IR_U32, BUFFER_STATUS, used), room));
    ir_ref at = ir_atomic_add(f, BUFFER_STATUS, used, ir_u32(f, size));
    ir_if(f, ir_le(f, ir_add(f, at, ir_u32(f, size)), room));
    ir_ref first = ir_add(f, at, ir_u32(f, PRINT_FIRST));
    for (uint32_t k = 0; k < size; k++)
        ir_store(f, BUFFER_STATUS, ir_add(f, first, ir_u32(f, k)),
                 k < MESSAGE_VALUES ? head[k] : word_of(f, values[k - MESSAGE_VALUES]));
    for (int open = 0; open < 3; open++) {
        ir_else(f);
        ir_endif(f);
    }
}

void print_of_material(tracer *t, ir_ref when, const char *format, const ir_ref *values, uint32_t count)
{
    const print_place *p = t->print;
    const char *misfit = ir_misfit(t->f, when, IR_BOOL);
    if (misfit)
        ir_fail(t->f, "print \"%s\": %s", format ? format : "", misfit);
    else if (p)
        print_record(t, t->plan->prints, ir_and(t->f, when, p->when), p->pixel, p->sample, format, values,
                     count);
}

/* ---- reading ---- */

static void add_value(text *out, ir_type type, uint32_t word)
{
    float number;
    memcpy(&number, &word, sizeof number);
    if (type == IR_F32)
        text_add(out, "%.9g", (double)number);
    else if (type == IR_I32)
        text_add(out, "%d", (int32_t)word);
    else if (type == IR_BOOL)
        text_add(out, "%s", word ? "true" : "false");
    else
        text_add(out, "%u", word);
}

static char *fill_in(arena *memory, const print_text *what, const uint32_t *values)
{
    text out = {0};
    const char *from = what->text, *place;
    for (uint32_t k = 0; (place = strstr(from, "{}")); k++) {
        text_add_bytes(&out, from, (size_t)(place - from));
        add_value(&out, what->types[k], values[k]);
        from = place + 2;
    }
    text_add(&out, "%s", from);
    char *kept = arena_strdup(memory, out.data);
    text_free(&out);
    return kept;
}

typedef struct place {
    uint32_t pixel, sample, at;
} place;

static int compare(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->pixel != y->pixel)
        return x->pixel < y->pixel ? -1 : 1;
    if (x->sample != y->sample)
        return x->sample < y->sample ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

void print_read(const print_table *table, const uint32_t *words, print_messages *out)
{
    uint32_t used = words[0], at = 0;
    const uint32_t *of = words + 1;
    ARRAY(place) found = {0};
    *out = (print_messages){.more = used > table->words};
    /* Nothing has been written for the first message that had no room, nor for any behind it. */
    while (at < used && at < table->words && of[at + MESSAGE_TEXT]) {
        BL_ASSERT(of[at] <= table->texts.count, "text %u of %u", of[at], table->texts.count);
        uint32_t size = MESSAGE_VALUES + table->texts.data[of[at] - 1].count;
        BL_ASSERT(size <= table->words - at, "a message of %u words at %u", size, at);
        array_push(&found, ((place){of[at + MESSAGE_PIXEL], of[at + MESSAGE_SAMPLE], at}));
        at += size;
    }
    if (found.count)
        qsort(found.data, found.count, sizeof *found.data, compare);
    out->at = arena_alloc(&out->memory, (found.count + 1) * sizeof *out->at);
    for (uint32_t k = 0; k < found.count; k++) {
        const uint32_t *message = of + found.data[k].at;
        out->at[k] = (print_message){
            found.data[k].pixel, found.data[k].sample,
            fill_in(&out->memory, &table->texts.data[message[MESSAGE_TEXT] - 1], message + MESSAGE_VALUES)};
    }
    out->count = found.count;
    array_free(&found);
}

void print_messages_free(print_messages *m) { arena_free(&m->memory); }
