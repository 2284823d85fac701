/* SPDX-License-Identifier: BSD-3-Clause
 * What commands share whose work takes hours and leaves its files in a folder as it goes (fit, design): the
 * folder belongs to one of them at a time (work_folder.c), and lines are appended to a log in it
 * (work_log.c). */
#ifndef BL_CLI_WORK_FOLDER_H
#define BL_CLI_WORK_FOLDER_H

#include "cli.h"

typedef struct work_folder {
    const cli_common *common;
    const char *path, *job; /* job: the file that says what to do */
    const char *work;       /* what is done, for messages: "fit" */
    bool resume, force;
    int lock; /* an open file; -1: none */
} work_folder;

int work_folder_lock(work_folder *f); /* from here on no other work is done in it */
void work_folder_unlock(work_folder *f);
/* Refuses to begin anew where that would lose the checkpoint of work that was not finished, or the result of
 * another job. */
int work_folder_check(const work_folder *f);
/* Whether to go on from DIR/checkpoint. Where not, it and the result before are removed:
 * work_folder_check has seen that this is wanted. */
int work_folder_resumes(const work_folder *f, bool *resumes);
/* Removes what work that was killed has left of files that it was writing. The lock is held, so nobody writes
 * them now. */
void work_folder_remove_remains(const work_folder *f);
/* "job_path" of result.json, by which later work sees whether the folder is of another job. */
struct cJSON;
void work_folder_add_job(const work_folder *f, struct cJSON *json);

/* ---- work_log.c: a text file of lines that is the same bytes with interruptions as without ---- */

typedef struct work_log work_log;
/* Where a log is: in a checkpoint. No padding. */
typedef struct work_log_mark {
    uint64_t bytes, hash;
} work_log_mark;

work_log *work_log_begin(char *path, int *status); /* a new file; takes path, which was malloc'ed */
/* Goes on after what the checkpoint knows of; what follows that in the file is cut off. */
work_log *work_log_resume(char *path, work_log_mark mark, int *status);
int work_log_add(work_log *log, const char *line, size_t length);
int work_log_sync(work_log *log, work_log_mark *mark); /* to the disk; *mark is then what is there */
const char *work_log_path(const work_log *log);
void work_log_free(work_log *log); /* may be NULL */

#endif
