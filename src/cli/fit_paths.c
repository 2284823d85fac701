/* SPDX-License-Identifier: BSD-3-Clause
 * The files that a job names are ordinary ones. An untrusted job may name files below its own folder and
 * below --root, like an untrusted scene, and no folder elsewhere for its output. What the command line names
 * is the user's own. */
#include "fit_work.h"
#include "json_keys.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
