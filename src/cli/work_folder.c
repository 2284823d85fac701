/* SPDX-License-Identifier: BSD-3-Clause
 * The folder of long work belongs to one process at a time.
 *
 * The lock is the system's, on DIR/lock: it ends with the process, however that ends, so a file that is left
 * behind locks nothing. What is in the file is for messages. A checkpoint is hours of work: work that begins
 * anew replaces that of one that was finished, and any other only where it is told to. */
#include "work_folder.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { RESULT_BYTES_MOST = 256 << 20 };

static char *in_folder(const work_folder *f, const char *name) { return text_format("%s/%s", f->path, name); }

/* ---- the lock ---- */

static int locked_by_another(const work_folder *f)
{
    char owner[32] = "";
    const ssize_t size = pread(f->lock, owner, sizeof owner - 1, 0);
    owner[size > 0 ? strspn(owner, "0123456789") : 0] = 0;
    return fail(
        "another %s%s%s works in %s: give this one another folder, or wait (--force ignores the lock)",
        f->work, *owner ? ", process " : "", owner, f->path);
}

int work_folder_lock(work_folder *f)
{
    char *path = in_folder(f, "lock");
    f->lock = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    int status = f->lock < 0 ? fail("cannot open %s: %s", path, strerror(errno)) : CLI_OK;
    free(path);
    CLI_TRY(status);
    if (flock(f->lock, LOCK_EX | LOCK_NB) == 0) {
        const int length = ftruncate(f->lock, 0) == 0 ? dprintf(f->lock, "%ld\n", (long)getpid()) : -1;
        if (length < 0)
            note(f->common, "cannot write the process into %s/lock: %s", f->path, strerror(errno));
    } else if (errno == EWOULDBLOCK && !f->force) {
        return locked_by_another(f);
    }
    return CLI_OK; /* some file systems have no locks */
}

void work_folder_unlock(work_folder *f)
{
    if (f->lock >= 0)
        close(f->lock);
    f->lock = -1;
}

/* ---- what is in the folder already ---- */

/* Whether the folder has the result of finished work; *job: the path of its job, where it is told. */
static bool was_finished(const work_folder *f, char **job)
{
    char *path = in_folder(f, "result.json"), *text = NULL;
    size_t size;
    if (is_file(path))
        text = read_whole(path, RESULT_BYTES_MOST, &size);
    cJSON *json = text ? cJSON_ParseWithLength(text, size) : NULL;
    const bool finished = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, "complete"));
    const cJSON *of = cJSON_GetObjectItemCaseSensitive(json, "job_path");
    *job = cJSON_IsString(of) ? text_format("%s", of->valuestring) : NULL;
    cJSON_Delete(json);
    free(text);
    free(path);
    return finished;
}

void work_folder_add_job(const work_folder *f, cJSON *json)
{
    char *path = realpath(f->job, NULL);
    if (path)
        cJSON_AddStringToObject(json, "job_path", path);
    free(path);
}

int work_folder_check(const work_folder *f)
{
    char *path = in_folder(f, "checkpoint");
    bool there;
    int status = find_path(path, &there);
    free(path);
    CLI_TRY(status);
    char *other = NULL, *own = realpath(f->job, NULL);
    const bool finished = was_finished(f, &other), of_another = other && own && strcmp(own, other) != 0;
    status =
        !f->force && !f->resume && finished && of_another
            ? fail("%s has the result of another job, %s: give this one another folder, or --force, which "
                   "replaces it",
                   f->path, other)
            : CLI_OK;
    free(other);
    free(own);
    CLI_TRY(status);
    if (!there || f->resume || f->force || finished)
        return CLI_OK;
    return fail("%s has the checkpoint of a %s that was not finished: --resume goes on from it, --force "
                "begins anew and deletes it",
                f->path, f->work);
}

int work_folder_resumes(const work_folder *f, bool *resumes)
{
    char *checkpoint = in_folder(f, "checkpoint"), *result = in_folder(f, "result.json");
    bool there;
    int status = find_path(checkpoint, &there);
    *resumes = status == CLI_OK && f->resume && there;
    if (status == CLI_OK && !*resumes) {
        if (f->resume)
            note(f->common, "there is no %s: starting from the beginning", checkpoint);
        status = remove_file(checkpoint);
        if (status == CLI_OK)
            status = remove_file(result);
    }
    free(checkpoint);
    free(result);
    return status;
}

/* Whether a name is that of a file while it is written (base/file.c): NAME.tmp- and 16 hexadecimal digits. */
static bool is_remains(const char *name)
{
    const char *mark = strstr(name, ".tmp-");
    return mark && mark > name && strspn(mark + 5, "0123456789abcdef") == 16 && mark[5 + 16] == 0;
}

void work_folder_remove_remains(const work_folder *f)
{
    DIR *folder = opendir(f->path);
    for (const struct dirent *entry; folder && (entry = readdir(folder));)
        if (is_remains(entry->d_name))
            unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder)
        closedir(folder);
}
