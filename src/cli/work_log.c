/* SPDX-License-Identifier: BSD-3-Clause
 * A log of long work. Lines are appended as they come, so that none of them is held in memory. A checkpoint
 * knows how many bytes belong to it, and their hash; going on cuts the file there, so that the whole is the
 * same bytes as without an interruption. */
#include "work_folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

struct work_log {
    FILE *file;
    char *path;
    uint64_t bytes;
    XXH3_state_t hash; /* of the bytes so far */
};

static int cannot_write(const work_log *log)
{
    return fail("cannot write %s: %s", log->path, strerror(errno));
}

static work_log *new_log(char *path, const char *mode)
{
    work_log *log = aligned_alloc(64, (sizeof *log + 63) / 64 * 64); /* the hash's state is aligned */
    if (!log)
        exit(fail("out of memory"));
    *log = (work_log){.path = path, .file = fopen(path, mode)};
    XXH3_64bits_reset(&log->hash);
    return log;
}

work_log *work_log_begin(char *path, int *status)
{
    work_log *log = new_log(path, "w");
    *status = log->file ? CLI_OK : cannot_write(log);
    return log;
}

/* Hashes what belongs to the checkpoint. */
static bool same_beginning(work_log *log, work_log_mark mark)
{
    char block[1 << 16];
    while (log->bytes < mark.bytes) {
        uint64_t rest = mark.bytes - log->bytes;
        size_t got = fread(block, 1, rest < sizeof block ? (size_t)rest : sizeof block, log->file);
        if (got == 0)
            return false;
        log->bytes += got;
        XXH3_64bits_update(&log->hash, block, got);
    }
    return XXH3_64bits_digest(&log->hash) == mark.hash;
}

work_log *work_log_resume(char *path, work_log_mark mark, int *status)
{
    work_log *log = new_log(path, "r+");
    if (!log->file)
        *status = fail("cannot open %s, which the checkpoint goes on from: %s", path, strerror(errno));
    else if (!same_beginning(log, mark))
        *status = fail("%s was changed since the checkpoint was written: it cannot be gone on from", path);
    else if (ftruncate(fileno(log->file), (off_t)log->bytes) != 0 ||
             fseeko(log->file, (off_t)log->bytes, SEEK_SET) != 0)
        *status = cannot_write(log);
    else
        *status = CLI_OK;
    return log;
}

int work_log_add(work_log *log, const char *line, size_t length)
{
    if (fwrite(line, 1, length, log->file) != length)
        return cannot_write(log);
    log->bytes += length;
    XXH3_64bits_update(&log->hash, line, length);
    return CLI_OK;
}

int work_log_sync(work_log *log, work_log_mark *mark)
{
    if (fflush(log->file) != 0 || fsync(fileno(log->file)) != 0)
        return cannot_write(log);
    *mark = (work_log_mark){log->bytes, XXH3_64bits_digest(&log->hash)};
    return CLI_OK;
}

const char *work_log_path(const work_log *log) { return log->path; }

void work_log_free(work_log *log)
{
    if (!log)
        return;
    if (log->file)
        fclose(log->file);
    free(log->path);
    free(log);
}
