/* SPDX-License-Identifier: BSD-3-Clause */
#include "api/job_prints.h"
#include "render/print.h"

enum { BYTES_MOST = 1 << 24 };

struct job_prints {
    print_table table;
    print_messages messages; /* those that `list` shows */
    bl_print *list;          /* in the arena of messages */
};

bl_result job_prints_create(bl_job *job, bl_error *err)
{
    uint64_t bytes = job->desc.print_bytes;
    if (bytes == 0)
        return BL_OK;
    if (bytes < 64 || bytes > BYTES_MOST)
        return error_set(err, BL_ERROR_ARGUMENT, "bl_job_desc.print_bytes is %llu, not between 64 and %d",
                         (unsigned long long)bytes, (int)BYTES_MOST);
    job->prints = memory_need_zeroed(1, sizeof *job->prints);
    job->prints->table.words = (uint32_t)(bytes / 4);
    job->plan->prints = &job->prints->table;
    return BL_OK;
}

void job_prints_destroy(bl_job *job)
{
    if (!job->prints)
        return;
    print_table_free(&job->prints->table);
    print_messages_free(&job->prints->messages);
    memory_free(job->prints);
}

uint64_t job_prints_words(const bl_job *job)
{
    return job->prints ? 1 + (uint64_t)job->prints->table.words : 0;
}

static bl_result read_messages(bl_job *job, bl_error *err)
{
    struct job_prints *p = job->prints;
    size_t bytes = 4 * (size_t)job_prints_words(job);
    print_messages_free(&p->messages);
    p->messages = (print_messages){0};
    TRY(memory_check(bytes, err));
    uint32_t *words = memory_need(bytes);
    bl_result r = gpu_buffer_read(job->status, 4ull * PRINT_USED, words, bytes, err);
    if (r == BL_OK)
        print_read(&p->table, words, &p->messages);
    memory_free(words);
    return r;
}

bl_result bl_job_prints(bl_job *job, const bl_print **out, uint32_t *count, bool *more)
{
    bl_error err = {0};
    struct job_prints *p = job->prints;
    *out = NULL, *count = 0;
    if (!p)
        error_set(&err, BL_ERROR_ARGUMENT, "the job was made without bl_job_desc.print_bytes");
    if (!p || read_messages(job, &err) != BL_OK)
        return context_fail(job->context, &err);
    const print_messages *m = &p->messages;
    p->list = arena_alloc(&p->messages.memory, (m->count + 1) * sizeof *p->list);
    for (uint32_t k = 0; k < m->count; k++)
        p->list[k] = (bl_print){m->at[k].pixel % job->scene->width, m->at[k].pixel / job->scene->width,
                                m->at[k].sample, m->at[k].text};
    *out = p->list, *count = m->count;
    if (more)
        *more = m->more;
    return BL_OK;
}
