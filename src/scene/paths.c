/* SPDX-License-Identifier: BSD-3-Clause
 * Where the files that a scene names are looked for: the resource folders (<path>, the last one first), the
 * folder of the scene that was loaded, then the folder of the file in which the name stands. An untrusted
 * scene sees only what lies, after following all links, below its own folder or one of the roots; for it
 * everything else does not exist. */
#include "scene/scene_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *path_folder(arena *memory, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return ".";
    return slash == path ? "/" : arena_strndup(memory, path, (size_t)(slash - path));
}

static void allow(scene_paths *p, const char *folder)
{
    char *canonical = realpath(folder, NULL);
    if (canonical)
        array_push(&p->allowed, arena_strdup(p->memory, canonical));
    memory_free(canonical);
}

void paths_init(scene_paths *p, arena *memory, const char *scene_folder, const scene_load_options *options)
{
    *p = (scene_paths){.memory = memory, .scene_folder = scene_folder, .untrusted = options->untrusted};
    if (options->untrusted) {
        allow(p, scene_folder);
        for (uint32_t i = 0; i < options->root_count; i++)
            allow(p, options->roots[i]);
    }
}

void paths_free(scene_paths *p)
{
    array_free(&p->resources);
    array_free(&p->allowed);
}

static bool is_below(const char *path, const char *folder)
{
    size_t length = strlen(folder);
    if (length == 1) /* "/" */
        return true;
    return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == 0);
}

static bool is_allowed(const scene_paths *p, const char *path)
{
    if (!p->untrusted)
        return true;
    char *canonical = realpath(path, NULL);
    bool allowed = false;
    for (uint32_t i = 0; canonical && i < p->allowed.count; i++)
        allowed = allowed || is_below(canonical, p->allowed.data[i]);
    memory_free(canonical);
    return allowed;
}

static const char *join(arena *memory, const char *folder, const char *name)
{
    if (name[0] == '/' || strcmp(folder, ".") == 0)
        return name;
    return arena_printf(memory, "%s%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/", name);
}

/* The joined path where it is what is wanted and allowed, or NULL. */
static const char *try_folder(const scene_paths *p, const char *in, const char *name, bool folder)
{
    const char *path = join(p->memory, in, name);
    struct stat status;
    if (stat(path, &status) != 0 || !(folder ? S_ISDIR(status.st_mode) : S_ISREG(status.st_mode)))
        return NULL;
    return is_allowed(p, path) ? path : NULL;
}

const char *paths_find(const scene_paths *p, const char *name, const char *own_folder, bool folder)
{
    const char *found = NULL;
    if (name[0] == 0)
        return NULL;
    for (uint32_t i = p->resources.count; i-- > 0 && !found;)
        found = try_folder(p, p->resources.data[i], name, folder);
    if (!found)
        found = try_folder(p, p->scene_folder, name, folder);
    if (!found && own_folder)
        found = try_folder(p, own_folder, name, folder);
    return found;
}
