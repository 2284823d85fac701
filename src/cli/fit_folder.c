/* SPDX-License-Identifier: BSD-3-Clause
 * The folder of a fit belongs to one fit at a time, and the files that a job names are ordinary ones.
 *
 * The lock is the system's, on DIR/lock: it ends with the process, however that ends, so a file that is left
 * behind locks nothing. What is in the file is for messages. A checkpoint is hours of work: a fit that begins
 * anew replaces that of one that was finished, and any other only where it is told to.
 *
 * An untrusted job may name files below its own folder and below --root, like an untrusted scene, and no
 * folder elsewhere for its output. What the command line names is the user's own. */
#include "fit_work.h"
#include "json_keys.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RESULT_BYTES_MOST = 256 << 20 };

/* ---- files that the job names ---- */

static bool below(const char *path, const char *folder)
{
    char *canonical = realpath(folder, NULL);
    const size_t length = canonical ? strlen(canonical) : 0;
    const bool is = canonical && !strncmp(path, canonical, length) &&
                    (length == 1 || path[length] == '/' || path[length] == 0);
    free(canonical);
    return is;
}

/* Whether an untrusted job may name what is there; links are followed first. */
static bool allowed(const fit_work *w, const char *path)
{
    const cli_names *roots = &w->args->common.roots;
    char *folder = json_beside(w->args->job, "."), *canonical = realpath(path, NULL);
    bool is = canonical && below(canonical, folder);
    for (uint32_t i = 0; canonical && i < roots->count; i++)
        is |= below(canonical, roots->items[i]);
    free(canonical);
    free(folder);
    return is;
}

static int refuse_place(const fit_work *w, const char *what, const char *path)
{
    return fail(
        "%s: %s: %s is not below the folders that an untrusted job may use: its own, and those of --root",
        w->args->job, what, path);
}

static int check_file(const fit_work *w, const char *what, const char *path)
{
    if (w->args->common.untrusted && !allowed(w, path))
        return refuse_place(w, what, path);
    return is_file(path) ? CLI_OK
                         : fail("%s: %s: %s is not an ordinary file%s", w->args->job, what, path,
                                access(path, F_OK) ? ": there is nothing" : "");
}

/* The folder need not be there yet: the nearest one above it that is must be allowed. */
static int check_output(const fit_work *w, const char *path)
{
    char *above = text_format("%s", path), *slash;
    while (access(above, F_OK) != 0 && (slash = strrchr(above, '/')) && slash != above)
        *slash = 0;
    const char *nearest = access(above, F_OK) == 0 ? above : strchr(path, '/') == path ? "/" : ".";
    const bool fine = !strstr(path, "..") && allowed(w, nearest);
    free(above);
    return fine ? CLI_OK : refuse_place(w, "output", path);
}

/* path: NULL where the view has none. */
static int check_view_file(const fit_work *w, uint32_t v, const char *key, const char *path)
{
    char *place = fit_job_place(&w->job, v, key);
    int status = path ? check_file(w, place, path) : CLI_OK;
    free(place);
    return status;
}

int fit_check_paths(const fit_work *w)
{
    CLI_TRY(check_file(w, "scene", w->job.scene));
    for (uint32_t v = 0; v < w->job.view_count; v++) {
        CLI_TRY(check_view_file(w, v, "target", w->job.views[v].target));
        CLI_TRY(check_view_file(w, v, "mask", w->job.views[v].mask));
    }
    return w->args->common.untrusted && !w->args->output && w->job.output ? check_output(w, w->job.output)
                                                                          : CLI_OK;
}

/* ---- the lock ---- */

static int locked_by_another(const fit_work *w, int file)
{
    char owner[32] = "";
    const ssize_t size = pread(file, owner, sizeof owner - 1, 0);
    owner[size > 0 ? strspn(owner, "0123456789") : 0] = 0;
    return fail(
        "another fit%s%s works in %s: give this one another folder, or wait (--force ignores the lock)",
        *owner ? ", process " : "", owner, w->folder);
}

int fit_lock_folder(fit_work *w)
{
    char *path = text_format("%s/lock", w->folder);
    w->lock = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    int status = w->lock < 0 ? fail("cannot open %s: %s", path, strerror(errno)) : CLI_OK;
    free(path);
    CLI_TRY(status);
    if (flock(w->lock, LOCK_EX | LOCK_NB) == 0) {
        const int length = ftruncate(w->lock, 0) == 0 ? dprintf(w->lock, "%ld\n", (long)getpid()) : -1;
        if (length < 0)
            note(&w->args->common, "cannot write the process into %s/lock: %s", w->folder, strerror(errno));
    } else if (errno == EWOULDBLOCK && !w->args->force) {
        return locked_by_another(w, w->lock);
    }
    return CLI_OK; /* some file systems have no locks */
}

void fit_unlock_folder(fit_work *w)
{
    if (w->lock >= 0)
        close(w->lock);
    w->lock = -1;
}

/* ---- what is in the folder already ---- */

/* Whether the folder has the result of a finished fit; *job: the path of its job, where it is told. */
static bool was_finished(const fit_work *w, char **job)
{
    char *path = text_format("%s/result.json", w->folder), *text = NULL;
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

int fit_check_folder(const fit_work *w)
{
    char *path = text_format("%s/checkpoint", w->folder);
    bool there;
    int status = find_path(path, &there);
    free(path);
    CLI_TRY(status);
    char *other = NULL, *own = realpath(w->args->job, NULL);
    const bool finished = was_finished(w, &other), of_another = other && own && strcmp(own, other) != 0;
    status =
        !w->args->force && !w->args->resume && finished && of_another
            ? fail("%s has the result of another job, %s: give this one another folder, or --force, which "
                   "replaces it",
                   w->folder, other)
            : CLI_OK;
    free(other);
    free(own);
    CLI_TRY(status);
    if (!there || w->args->resume || w->args->force || finished)
        return CLI_OK;
    return fail(
        "%s has the checkpoint of a fit that was not finished: --resume goes on from it, --force begins "
        "anew and deletes it",
        w->folder);
}

int fit_remove_result(const fit_work *w)
{
    char *path = text_format("%s/result.json", w->folder);
    int status = remove_file(path);
    free(path);
    return status;
}

/* Names begin with "checkpoint.tmp-"; a fit that was killed while it wrote leaves one. */
void fit_remove_remains(const fit_work *w)
{
    static const char begin[] = "checkpoint.tmp-";
    DIR *folder = opendir(w->folder);
    for (const struct dirent *entry; folder && (entry = readdir(folder));)
        if (!strncmp(entry->d_name, begin, sizeof begin - 1))
            unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder)
        closedir(folder);
}
