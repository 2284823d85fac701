/* SPDX-License-Identifier: BSD-3-Clause
 * Messages that kernels write while they run, each with the pixel and the sample that it comes from. A print
 * is made of operations that kernels have anyway: it reserves room behind the counters of BUFFER_STATUS with
 * an atomic addition, and stores a number of its text, the pixel, the sample and its values there. So it runs
 * on every device and in the interpreter. Texts stay on the host, in the table.
 *
 * Lanes write in any order. print_read sorts by pixel, sample and time of writing within a sample. */
#ifndef BL_RENDER_PRINT_H
#define BL_RENDER_PRINT_H

#include "render/trace.h"

enum { PRINT_VALUES_MOST = 16, PRINT_TEXT_MOST = 1000 };
/* Of BUFFER_STATUS: how many words have been reserved, and where they begin. */
enum { PRINT_USED = STATUS_COUNT, PRINT_FIRST };

typedef struct print_text {
    const char *text; /* with a {} for each value */
    ir_type types[PRINT_VALUES_MOST];
    uint32_t count;
} print_text;

typedef struct print_table {
    uint32_t words; /* room for messages, in BUFFER_STATUS behind PRINT_FIRST */
    ARRAY(print_text) texts;
    arena memory;
} print_table;

void print_table_free(print_table *table);

/* Records a print where `when` (bool). Values may have any type. Sets the error of the trace's module if
 * format and values do not fit. pixel, sample: u32. */
void print_record(tracer *t, print_table *table, ir_ref when, ir_ref pixel, ir_ref sample, const char *format,
                  const ir_ref *values, uint32_t count);

/* The same from a material's function, if it may print; else records nothing. */
void print_of_material(tracer *t, ir_ref when, const char *format, const ir_ref *values, uint32_t count);

typedef struct print_message {
    uint32_t pixel, sample;
    char *text; /* in the arena */
} print_message;
typedef struct print_messages {
    print_message *at;
    uint32_t count;
    bool more; /* there was no room for all */
    arena memory;
} print_messages;
/* Reads what kernels have written: `words` from PRINT_USED on, 1 + table->words of them. `out` is given back
 * by print_messages_free. */
void print_read(const print_table *table, const uint32_t *words, print_messages *out);
void print_messages_free(print_messages *m);

#endif
