/* SPDX-License-Identifier: BSD-3-Clause
 * Whole files in and out. Reading does not trust the reported size (pipes report none, and a file may grow
 * meanwhile): it reads until the end or until the limit is passed. Writing goes to a neighbour file that is
 * renamed at the end, so a reader sees the old content or the new one, and a failure leaves nothing
 * behind. The neighbour's name ends in random digits and the file must be new (O_EXCL): threads and processes
 * that write one path do not meet, and a link that somebody planted under the name is never followed. */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reads the rest of `file` into malloc'ed memory with a zero byte behind it. */
static bl_result read_all(FILE *file, const char *path, size_t limit, size_t guess, void **data, size_t *size,
                          bl_error *err)
{
    size_t capacity = guess + 2, used = 0; /* one byte for the zero, one to see the end without growing */
    char *bytes = memory_alloc(capacity);
    while (bytes) {
        used += fread(bytes + used, 1, capacity - used - 1, file);
        if (used > limit) {
            memory_free(bytes);
            return error_set(err, BL_ERROR_IO, "%s is larger than the limit of %zu bytes", path, limit);
        }
        if (ferror(file)) {
            memory_free(bytes);
            return error_set(err, BL_ERROR_IO, "cannot read %s: %s", path, strerror(errno));
        }
        if (feof(file)) {
            bytes[used] = 0;
            *data = bytes;
            *size = used;
            return BL_OK;
        }
        if (capacity > SIZE_MAX / 2)
            break;
        char *grown = memory_resize(bytes, capacity *= 2);
        if (!grown)
            break;
        bytes = grown;
    }
    memory_free(bytes);
    return error_set(err, BL_ERROR_MEMORY, "out of memory reading %s", path);
}

/* Reads an open file, and closes it. */
static bl_result read_file(FILE *file, const char *path, size_t limit, void **data, size_t *size,
                           bl_error *err)
{
    struct stat status;
    size_t guess = 4096;
    bl_result result = BL_OK;
    if (fstat(fileno(file), &status) == 0) {
        if (S_ISDIR(status.st_mode))
            result = error_set(err, BL_ERROR_IO, "cannot read %s: it is a folder", path);
        else if (status.st_size > 0 && (uintmax_t)status.st_size > limit)
            result = error_set(err, BL_ERROR_IO, "%s has %jd bytes, more than the limit of %zu", path,
                               (intmax_t)status.st_size, limit);
        else if (status.st_size > 0)
            guess = (size_t)status.st_size;
    }
    if (result == BL_OK)
        result = read_all(file, path, limit, guess, data, size, err);
    fclose(file);
    return result;
}

bl_result file_read(const char *path, size_t limit, void **data, size_t *size, bl_error *err)
{
    *data = NULL;
    *size = 0;
    FILE *file = fopen(path, "rb");
    if (!file)
        return error_set(err, BL_ERROR_IO, "cannot open %s: %s", path, strerror(errno));
    return read_file(file, path, limit, data, size, err);
}

/* Asked of the open file, so that nobody can put another one in its place in between. */
static const char *not_private(int file)
{
    struct stat status;
    if (fstat(file, &status) != 0)
        return strerror(errno);
    if (!S_ISREG(status.st_mode))
        return "it is not an ordinary file";
    if (status.st_uid != geteuid())
        return "it belongs to another user";
    return status.st_mode & (S_IWGRP | S_IWOTH) ? "others may write to it" : NULL;
}

bl_result file_read_private(const char *path, size_t limit, void **data, size_t *size, bl_error *err)
{
    *data = NULL;
    *size = 0;
    /* O_NONBLOCK: a pipe must not keep us waiting. */
    int handle = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    const char *why = handle < 0 ? strerror(errno) : not_private(handle);
    FILE *file = why ? NULL : fdopen(handle, "rb");
    if (!file) {
        why = why ? why : strerror(errno);
        if (handle >= 0)
            close(handle);
        return error_set(err, BL_ERROR_IO, "cannot open %s: %s", path, why);
    }
    return read_file(file, path, limit, data, size, err);
}

/* A device or a pipe (`-o /dev/null`) is written in place: renaming would replace the node itself. */
static bool is_special(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

/* A new file beside `path`, of the mode less the umask; -1 with errno. */
static int create_beside(arena *a, const char *path, unsigned mode, char **name)
{
    int file = -1;
    for (int tries = 0; file < 0 && tries < 100; tries++) {
        unsigned long long digits;
        if (getrandom(&digits, sizeof digits, 0) != sizeof digits)
            return -1;
        *name = arena_printf(a, "%s.tmp-%016llx", path, digits);
        file = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (file < 0 && errno != EEXIST)
            break;
    }
    return file;
}

/* Writes all, and closes the file. Zero, or the errno of what went wrong. */
static int write_all(int handle, const void *data, size_t size, bool sync)
{
    FILE *file = fdopen(handle, "wb");
    if (!file) {
        int reason = errno;
        close(handle);
        return reason;
    }
    int reason = 0;
    if (size > 0 && fwrite(data, 1, size, file) != size)
        reason = errno;
    if (sync && reason == 0 && (fflush(file) != 0 || fsync(handle) != 0))
        reason = errno;
    if (fclose(file) != 0 && reason == 0)
        reason = errno;
    return reason;
}

/* So that the new name is on the disk. Some file systems cannot: what they can is what there is. */
static void sync_folder_of(const char *path)
{
    arena memory = {0};
    const char *slash = strrchr(path, '/');
    const char *folder = !slash          ? "."
                         : slash == path ? "/"
                                         : arena_strndup(&memory, path, (size_t)(slash - path));
    int handle = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (handle >= 0) {
        fsync(handle);
        close(handle);
    }
    arena_free(&memory);
}

/* How a file is written. */
typedef struct file_manner {
    unsigned mode; /* less the umask */
    bool sync, replaces_special;
} file_manner;

static int replace(arena *a, const char *path, const void *data, size_t size, file_manner manner)
{
    char *name;
    int file = create_beside(a, path, manner.mode, &name);
    if (file < 0)
        return errno;
    int reason = write_all(file, data, size, manner.sync);
    if (reason == 0 && rename(name, path) != 0)
        reason = errno;
    if (reason != 0)
        unlink(name);
    else if (manner.sync)
        sync_folder_of(path);
    return reason;
}

static int write_in_place(const char *path, const void *data, size_t size)
{
    int file = open(path, O_WRONLY | O_CLOEXEC);
    return file < 0 ? errno : write_all(file, data, size, false);
}

static bl_result write_file(const char *path, const void *data, size_t size, file_manner manner,
                            bl_error *err)
{
    arena memory = {0};
    int reason = !manner.replaces_special && is_special(path) ? write_in_place(path, data, size)
                                                              : replace(&memory, path, data, size, manner);
    arena_free(&memory);
    return reason ? error_set(err, BL_ERROR_IO, "cannot write %s: %s", path, strerror(reason)) : BL_OK;
}

bl_result file_write(const char *path, const void *data, size_t size, bl_error *err)
{
    return write_file(path, data, size, (file_manner){.mode = 0666}, err);
}

bl_result file_write_synced(const char *path, const void *data, size_t size, bl_error *err)
{
    return write_file(path, data, size, (file_manner){.mode = 0666, .sync = true}, err);
}

bl_result file_write_private(const char *path, const void *data, size_t size, bl_error *err)
{
    return write_file(path, data, size, (file_manner){.mode = 0600, .sync = true, .replaces_special = true},
                      err);
}

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

bl_result folder_create(const char *path, unsigned mode, bl_error *err)
{
    arena memory = {0};
    bl_result result = BL_OK;
    char *part = arena_strdup(&memory, path);
    size_t length = strlen(part);
    for (size_t i = 1; i <= length && result == BL_OK; i++) { /* from 1: the root exists */
        if (part[i] != '/' && part[i] != 0)
            continue;
        char end = part[i];
        part[i] = 0;
        /* Tried first and examined after, because another process may be creating the same folder. */
        if (mkdir(part, mode) != 0) {
            int reason = errno;
            if (!is_folder(part))
                result = error_set(err, BL_ERROR_IO, "cannot create folder %s: %s", part, strerror(reason));
        }
        part[i] = end;
    }
    if (length == 0)
        result = error_set(err, BL_ERROR_IO, "cannot create a folder without a name");
    arena_free(&memory);
    return result;
}

bool file_exists(const char *path) { return access(path, F_OK) == 0; }
