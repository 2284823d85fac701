/* SPDX-License-Identifier: BSD-3-Clause
 * refuse_calls COMMAND ...: runs a command and lets one of its calls of the system fail, or that and all
 * later ones. Calls count that use a file below the working folder, by a path or by an open file: they are
 * stopped before the system sees them (ptrace), so what libraries and stdio call counts like our own. Ends as
 * the command does: with its status, or 128 and the number of the signal that ended it.
 *
 * REFUSE_AT=N      the call, from 1; none: nothing fails
 * REFUSE_LATER=1   and all later ones of its kind (as on a full disk); else the command runs on alone, so
 *                  that it can look for leaks
 * REFUSE_ERROR=N   errno, ENOSPC without it
 * REFUSE_SHORT=1   the call does not fail, but reads or writes only half of what is asked for
 * REFUSE_LIST=FILE gets a line for each call: its name
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#if !defined __x86_64__
#error "registers are those of x86-64"
#endif

/* Which argument of a call is a file: an open one, a path, or a path below an open folder; -1: none. */
typedef struct kind {
    long number;
    const char *name;
    int file, path, folder;
} kind;
static const kind kinds[] = {
    {SYS_open, "open", -1, 0, -1},
    {SYS_openat, "openat", -1, 1, 0},
    {SYS_creat, "creat", -1, 0, -1},
    {SYS_read, "read", 0, -1, -1},
    {SYS_pread64, "pread", 0, -1, -1},
    {SYS_readv, "readv", 0, -1, -1},
    {SYS_write, "write", 0, -1, -1},
    {SYS_pwrite64, "pwrite", 0, -1, -1},
    {SYS_writev, "writev", 0, -1, -1},
    {SYS_fsync, "fsync", 0, -1, -1},
    {SYS_fdatasync, "fdatasync", 0, -1, -1},
    {SYS_ftruncate, "ftruncate", 0, -1, -1},
    {SYS_close, "close", 0, -1, -1},
    {SYS_lseek, "lseek", 0, -1, -1},
    {SYS_rename, "rename", -1, 0, -1},
    {SYS_renameat, "renameat", -1, 1, 0},
    {SYS_renameat2, "renameat2", -1, 1, 0},
    {SYS_unlink, "unlink", -1, 0, -1},
    {SYS_unlinkat, "unlinkat", -1, 1, 0},
    {SYS_mkdir, "mkdir", -1, 0, -1},
    {SYS_mkdirat, "mkdirat", -1, 1, 0},
    {SYS_stat, "stat", -1, 0, -1},
    {SYS_lstat, "lstat", -1, 0, -1},
    {SYS_fstat, "fstat", 0, -1, -1},
    {SYS_newfstatat, "fstatat", -1, 1, 0},
    {SYS_statx, "statx", -1, 1, 0},
    {SYS_access, "access", -1, 0, -1},
    {SYS_faccessat, "faccessat", -1, 1, 0},
    {SYS_faccessat2, "faccessat2", -1, 1, 0},
    {SYS_mmap, "mmap", 4, -1, -1},
    {SYS_flock, "flock", 0, -1, -1},
    {SYS_getdents64, "getdents", 0, -1, -1},
    {SYS_chmod, "chmod", -1, 0, -1},
    {SYS_fchmod, "fchmod", 0, -1, -1},
    {SYS_readlink, "readlink", -1, 0, -1},
    {SYS_utimensat, "utimensat", -1, 1, 0},
};

enum { THREADS_MOST = 256 };
typedef struct thread {
    pid_t id;
    enum { RUNS, REFUSED, SHORT } call; /* what was made of the call that it is in */
    unsigned long asked;                /* of a short one: how much */
} thread;
static thread threads[THREADS_MOST];
static int thread_count;
static char below[PATH_MAX];
static size_t below_length;

static thread *find(pid_t id)
{
    for (int k = 0; k < thread_count; k++)
        if (threads[k].id == id)
            return &threads[k];
    if (thread_count == THREADS_MOST)
        exit(125);
    threads[thread_count] = (thread){.id = id};
    return &threads[thread_count++];
}

static void forget(pid_t id)
{
    thread *t = find(id);
    *t = threads[--thread_count];
}

/* The system stops a new thread, too, before we hear of it: it must be on the list to be let go. */
static void note_clone(pid_t id, int event)
{
    unsigned long made = 0;
    if (event == PTRACE_EVENT_CLONE && ptrace(PTRACE_GETEVENTMSG, id, NULL, &made) == 0 && made)
        find((pid_t)made);
}

static int is_below(const char *path)
{
    return !strncmp(path, below, below_length) && (path[below_length] == '/' || path[below_length] == 0);
}

static int file_is_below(pid_t id, int file)
{
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/%d/fd/%d", (int)id, file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    return is_below(path);
}

static int path_is_below(pid_t id, unsigned long address, int folder, int with_folder)
{
    char path[PATH_MAX] = "";
    for (size_t at = 0;
         at < sizeof path - 1;) { /* up to the end of a page at a time: the next may not be there */
        size_t most = 4096 - (address + at) % 4096;
        most = most < sizeof path - 1 - at ? most : sizeof path - 1 - at;
        struct iovec to = {path + at, most}, from = {(void *)(address + at), most}; // NOLINT
        if (process_vm_readv(id, &to, 1, &from, 1, 0) != (ssize_t)most || memchr(path + at, 0, most))
            break;
        at += most;
    }
    if (path[0] == '/')
        return is_below(path);
    if (with_folder && folder != -100) /* AT_FDCWD */
        return file_is_below(id, folder);
    return path[0] != 0; /* the command does not change its folder */
}

static const kind *counted(pid_t id, const struct user_regs_struct *r)
{
    const unsigned long arguments[6] = {r->rdi, r->rsi, r->rdx, r->r10, r->r8, r->r9};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const kind *c = &kinds[k];
        if (c->number != (long)r->orig_rax)
            continue;
        if (c->file >= 0)
            return (int)arguments[c->file] >= 0 && file_is_below(id, (int)arguments[c->file]) ? c : NULL;
        return path_is_below(id, arguments[c->path], c->folder >= 0 ? (int)arguments[c->folder] : 0,
                             c->folder >= 0)
                   ? c
                   : NULL;
    }
    return NULL;
}

static unsigned long number(const char *name, unsigned long otherwise)
{
    const char *text = getenv(name);
    return text ? strtoul(text, NULL, 10) : otherwise;
}

static int end_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

/* Lets every thread run on alone. A thread can be let go only while it stands. */
static void let_go(pid_t command, int *result)
{
    for (int k = 0; k < thread_count; k++)
        ptrace(PTRACE_INTERRUPT, threads[k].id, NULL, NULL);
    while (thread_count > 0) {
        int status;
        pid_t id = waitpid(-1, &status, __WALL);
        if (id < 0)
            break;
        find(id);
        const int stop = WIFSTOPPED(status) ? WSTOPSIG(status) : 0, event = status >> 16;
        note_clone(id, event);
        if (!WIFSTOPPED(status) && id == command)
            *result = end_of(status);
        if (WIFSTOPPED(status))
            ptrace(PTRACE_DETACH, id, NULL, (void *)(long)(event || stop == (SIGTRAP | 0x80) ? 0 : stop));
        forget(id);
    }
}

typedef struct watcher {
    unsigned long at, error, count;
    int later, half;
    FILE *list;
    const kind *refused;
} watcher;

/* A thread stands before a call or behind it. 1: the one call is refused, and the command may run on alone.
 */
static int at_call(watcher *w, thread *t)
{
    struct __ptrace_syscall_info info;
    struct user_regs_struct r;
    ptrace(PTRACE_GET_SYSCALL_INFO, t->id, (void *)sizeof info, &info);
    ptrace(PTRACE_GETREGS, t->id, NULL, &r);
    if (info.op == PTRACE_SYSCALL_INFO_EXIT) {
        const int was = (int)t->call;
        t->call = RUNS;
        if (was == REFUSED) /* it was none; what does the command get? */
            r.rax = (unsigned long)-(long)w->error;
        else if (was == SHORT) /* calls leave arguments as they were */
            r.rdx = t->asked;
        if (was != RUNS)
            ptrace(PTRACE_SETREGS, t->id, NULL, &r);
        return was != RUNS && !w->later;
    }
    const kind *c = counted(t->id, &r);
    if (!c)
        return 0;
    w->count++;
    if (w->list)
        fprintf(w->list, "%s\n", c->name);
    if (w->at && (w->count == w->at || (w->refused && c->number == w->refused->number))) {
        w->refused = w->later ? c : NULL;
        t->call = w->half ? SHORT : REFUSED;
        if (w->half)
            t->asked = r.rdx, r.rdx = r.rdx > 1 ? r.rdx / 2 : r.rdx; /* read, pread, readv, write, ... */
        else
            r.orig_rax = (unsigned long)-1;
        ptrace(PTRACE_SETREGS, t->id, NULL, &r);
    }
    return 0;
}

static int watch(pid_t command)
{
    watcher w = {.at = number("REFUSE_AT", 0),
                 .error = number("REFUSE_ERROR", ENOSPC),
                 .later = getenv("REFUSE_LATER") != NULL,
                 .half = getenv("REFUSE_SHORT") != NULL,
                 .list = getenv("REFUSE_LIST") ? fopen(getenv("REFUSE_LIST"), "w") : NULL};
    int status, result = -1;
    for (pid_t id; (id = waitpid(-1, &status, __WALL)) > 0;) {
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            forget(id);
            if (id == command)
                result = end_of(status);
            continue;
        }
        const int stop = WSTOPSIG(status), event = status >> 16;
        if (stop == (SIGTRAP | 0x80) && at_call(&w, find(id))) {
            ptrace(PTRACE_DETACH, id, NULL, NULL);
            forget(id);
            let_go(command, &result);
            break;
        }
        note_clone(id, event);
        find(id);
        ptrace(PTRACE_SYSCALL, id, NULL, (void *)(long)(event || (stop & 0x7F) == SIGTRAP ? 0 : stop));
    }
    if (w.list)
        fclose(w.list);
    while (result < 0) { /* let go */
        pid_t id = waitpid(command, &status, 0);
        result = id == command ? end_of(status) : id < 0 && errno != EINTR ? 125 : -1;
    }
    return result;
}

int main(int argc, char **argv)
{
    int ready[2];
    if (argc < 2 || !getcwd(below, sizeof below) || pipe(ready) != 0)
        return 125;
    below_length = strlen(below);
    const pid_t command = fork();
    if (command == 0) {
        char byte;
        close(ready[1]);
        if (read(ready[0], &byte, 1) != 1)
            _exit(125);
        close(ready[0]);
        execvp(argv[1], argv + 1);
        _exit(125);
    }
    const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
    close(ready[0]);
    if (command < 0 || ptrace(PTRACE_SEIZE, command, NULL, (void *)options) != 0) {
        perror("refuse_calls: ptrace");
        kill(command, SIGKILL);
        return 126;
    }
    if (write(ready[1], "x", 1) != 1)
        return 125;
    close(ready[1]);
    return watch(command);
}
