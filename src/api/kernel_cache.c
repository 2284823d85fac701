/* SPDX-License-Identifier: BSD-3-Clause
 * Bytes under keys in a folder: one file an entry, named by its key.
 *
 * A file is believed only if everything holds: magic and format, the key it is asked for, the length that its
 * head gives, and a checksum (XXH3, 64 bits) over all that follows it. What is not believed counts as
 * missing, and the store that follows replaces it; so a file cut at any length, changed, or of another
 * program costs a compilation and nothing else. The checksum finds accidents, not forgeries: against those
 * the folder and each entry must be the user's own, and nobody else may write to them, whatever the umask
 * is (folders are made with 0700, entries with 0600; links are not followed). Who may write files as the user
 * needs no cache to run code as the user.
 *
 * Files are written under a temporary name, synced and renamed:
 * processes that share the folder see whole files, and of two that store one key the last wins, with the same
 * bytes.
 *
 * The size is bounded: a hit sets the file's time, and when the entries exceed the limit the oldest go until
 * three quarters are left. The sum is counted once and then carried along, so processes at work together may
 * pass the limit by what the others wrote meanwhile; the next one to start brings it back. Only names that an
 * entry can have are ever removed. */
#include "api/kernel_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { FORMAT = 1, NAME_DIGITS = 32, ENTRY_MOST = 64 << 20, ORPHAN_SECONDS = 3600 };
static const uint64_t default_limit = 256ull << 20;
static const uint64_t magic = 0x0A1A0D434B544C42u; /* "BLTKC\r\032\n" where the lowest byte comes first */
static const char suffix[] = ".kernel";

/* It has no padding: its bytes are those of the file. */
typedef struct entry_head {
    uint64_t magic, checksum; /* checksum: of everything behind it in the file */
    kernel_key key;
    uint64_t size; /* number of bytes behind the head */
    uint32_t format, zero;
} entry_head;

enum { CHECKED_FROM = 16 };
_Static_assert(offsetof(entry_head, key) == CHECKED_FROM && sizeof(entry_head) == 48,
               "the checksum covers what follows it; no padding");

struct kernel_cache {
    arena memory;
    const char *folder;
    uint64_t limit;
    bool counted;   /* `bytes` is valid */
    uint64_t bytes; /* bytes of all entries, as far as this process knows */
};

kernel_cache *kernel_cache_open(const char *folder, uint64_t limit)
{
    kernel_cache *c = memory_need_zeroed(1, sizeof *c);
    c->folder = arena_strdup(&c->memory, folder);
    c->limit = limit ? limit : default_limit;
    return c;
}

void kernel_cache_close(kernel_cache *c)
{
    if (!c)
        return;
    arena_free(&c->memory);
    memory_free(c);
}

/* ---- the folder ---- */

/* Whoever can write the folder decides what runs on the device, so it must be the user's own. */
static const char *refuse(const kernel_cache *c)
{
    struct stat status;
    if (stat(c->folder, &status) != 0)
        return NULL; /* The folder is not there yet. */
    if (!S_ISDIR(status.st_mode))
        return "it is not a folder";
    if (status.st_uid != geteuid())
        return "it belongs to another user";
    if (status.st_mode & (S_IWGRP | S_IWOTH))
        return "others may write to it (chmod go-w)";
    return access(c->folder, R_OK | W_OK | X_OK) == 0 ? NULL : "it may not be written to";
}

typedef struct file_seen {
    char name[NAME_DIGITS + sizeof suffix];
    uint64_t bytes;
    struct timespec used;
} file_seen;

typedef ARRAY(file_seen) file_list;

static bool is_entry_name(const char *name)
{
    return strspn(name, "0123456789abcdef") == NAME_DIGITS && strcmp(name + NAME_DIGITS, suffix) == 0;
}

/* Whether the file was left by a process that ended while it wrote. */
static bool is_orphan(const char *name, const struct stat *status)
{
    return strspn(name, "0123456789abcdef") == NAME_DIGITS &&
           strncmp(name + NAME_DIGITS, ".kernel.tmp-", 12) == 0 &&
           time(NULL) - status->st_mtime > ORPHAN_SECONDS;
}

static void list_entries(const kernel_cache *c, file_list *out)
{
    DIR *folder = opendir(c->folder);
    const struct dirent *e;
    struct stat status;
    while (folder && (e = readdir(folder))) {
        if (fstatat(dirfd(folder), e->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode))
            continue;
        if (is_orphan(e->d_name, &status))
            unlinkat(dirfd(folder), e->d_name, 0);
        if (!is_entry_name(e->d_name))
            continue;
        file_seen seen = {.bytes = (uint64_t)status.st_size, .used = status.st_mtim};
        memcpy(seen.name, e->d_name, sizeof seen.name);
        array_push(out, seen);
    }
    if (folder)
        closedir(folder);
}

static uint64_t sum(const file_list *files)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < files->count; i++)
        bytes += files->data[i].bytes;
    return bytes;
}

static int by_time(const void *a, const void *b)
{
    const struct timespec *x = &((const file_seen *)a)->used, *y = &((const file_seen *)b)->used;
    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

/* Brings the entries below the limit, if they are not. Another process may be removing the same ones. */
static void evict(kernel_cache *c)
{
    file_list files = {0};
    list_entries(c, &files);
    c->bytes = sum(&files), c->counted = true;
    if (c->bytes > c->limit) {
        arena names = {0};
        qsort(files.data, files.count, sizeof *files.data, by_time);
        for (uint32_t i = 0; i < files.count && c->bytes > c->limit / 4 * 3; i++) {
            unlink(arena_printf(&names, "%s/%s", c->folder, files.data[i].name));
            c->bytes -= files.data[i].bytes;
        }
        arena_free(&names);
    }
    array_free(&files);
}

kernel_cache_usage kernel_cache_measure(const kernel_cache *c)
{
    if (!c)
        return (kernel_cache_usage){0};
    file_list files = {0};
    list_entries(c, &files);
    kernel_cache_usage u = {
        .folder = c->folder,
        .bytes = sum(&files),
        .limit = c->limit,
        .entries = files.count,
        .unusable = refuse(c),
    };
    array_free(&files);
    return u;
}

/* ---- entries ---- */

static char *entry_path(arena *a, const kernel_cache *c, kernel_key key)
{
    return arena_printf(a, "%s/%016llx%016llx%s", c->folder, (unsigned long long)key.high,
                        (unsigned long long)key.low, suffix);
}

static bool believed(const char *bytes, size_t size, kernel_key key)
{
    entry_head head;
    if (size < sizeof head)
        return false;
    memcpy(&head, bytes, sizeof head);
    return head.magic == magic && head.format == FORMAT && head.key.low == key.low &&
           head.key.high == key.high && head.size == size - sizeof head &&
           XXH3_64bits(bytes + CHECKED_FROM, size - CHECKED_FROM) == head.checksum;
}

void *kernel_cache_find(const kernel_cache *c, kernel_key key, size_t *size)
{
    if (!c)
        return NULL;
    arena memory = {0};
    char *path = entry_path(&memory, c, key);
    void *file = NULL;
    size_t file_size;
    char *found = NULL;
    if (!refuse(c) && file_read_private(path, ENTRY_MOST, &file, &file_size, NULL) == BL_OK &&
        believed(file, file_size, key)) {
        *size = file_size - sizeof(entry_head);
        found = memory_alloc(*size + 1);
        if (found)
            memcpy(found, (char *)file + sizeof(entry_head), *size);
        utimensat(AT_FDCWD, path, NULL,
                  AT_SYMLINK_NOFOLLOW); /* The time says when the entry was last used. */
    }
    memory_free(file);
    arena_free(&memory);
    return found;
}

void kernel_cache_store(kernel_cache *c, kernel_key key, const void *data, size_t size)
{
    BL_ASSERT(data && size > 0, "an entry of %zu bytes", size);
    size_t whole = sizeof(entry_head) + size;
    if (!c || whole > ENTRY_MOST || whole > c->limit || refuse(c) ||
        folder_create(c->folder, 0700, NULL) != BL_OK)
        return;
    char *bytes = memory_alloc(whole);
    if (!bytes)
        return;
    entry_head head = {.magic = magic, .key = key, .size = size, .format = FORMAT};
    memcpy(bytes, &head, sizeof head);
    memcpy(bytes + sizeof head, data, size);
    head.checksum = XXH3_64bits(bytes + CHECKED_FROM, whole - CHECKED_FROM);
    memcpy(bytes, &head, sizeof head);
    arena memory = {0};
    bool written = file_write_private(entry_path(&memory, c, key), bytes, whole, NULL) == BL_OK;
    arena_free(&memory);
    memory_free(bytes);
    c->bytes += written ? whole : 0;
    if (written && (!c->counted || c->bytes > c->limit))
        evict(c);
}
