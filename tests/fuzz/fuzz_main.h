/* SPDX-License-Identifier: BSD-3-Clause
 * The frame of the fuzz targets. Built by clang with -fsanitize=fuzzer -DBL_LIBFUZZER it is libFuzzer's
 * (scripts/fuzz); otherwise main() below runs the target on the committed corpus, which is the files that
 * FUZZ_MAIN names and those of tests/data/fuzz/TARGET, and, for BL_FUZZ_SECONDS (default 2; with BL_LONG=1
 * 600), on mutations of it: bytes changed, removed, doubled, inputs spliced, interesting words put in.
 * Deterministic up to the number of rounds. No input may take more than FUZZ_SECONDS_MOST of CPU time or
 * FUZZ_BYTES_MOST of memory. One that does, or that ends the process, goes to the file fuzz_input. Arguments:
 * files to run once, such as that one. */
#ifndef BL_FUZZ_MAIN_H
#define BL_FUZZ_MAIN_H

#include "base/base.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#ifndef BL_LIBFUZZER

enum { FUZZ_INPUTS = 96, FUZZ_SIZE = 1 << 16, FUZZ_SECONDS_MOST = 20 };
static const size_t FUZZ_BYTES_MOST = (size_t)3 << 30;

typedef struct fuzz_input {
    uint8_t *data;
    size_t size;
} fuzz_input;

static fuzz_input fuzz_inputs[FUZZ_INPUTS];
static uint32_t fuzz_count, fuzz_state = 1;

/* The input of this moment, for the handler of what ends the process. */
static const uint8_t *fuzz_data;
static size_t fuzz_size;

static void fuzz_keep_input(void)
{
    const int file = open("fuzz_input", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const bool kept = file >= 0 && write(file, fuzz_data, fuzz_size) == (ssize_t)fuzz_size;
    static const char told[] = "the input is in fuzz_input\n", lost[] = "the input cannot be written\n";
    if (write(STDERR_FILENO, kept ? told : lost, kept ? sizeof told - 1 : sizeof lost - 1) < 0 || file >= 0)
        close(file);
}

static void fuzz_on_signal(int number)
{
    fuzz_keep_input();
    signal(number, SIG_DFL);
    raise(number);
}

#ifdef __SANITIZE_ADDRESS__
void __sanitizer_set_death_callback(void (*callback)(void));
#endif

static void fuzz_watch(void)
{
    signal(SIGPROF, fuzz_on_signal);
    signal(SIGABRT, fuzz_on_signal);
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_set_death_callback(fuzz_keep_input);
#else
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    for (size_t k = 0; k < sizeof deadly / sizeof *deadly; k++)
        signal(deadly[k], fuzz_on_signal);
#endif
}

static void fuzz_one(const uint8_t *data, size_t size)
{
    struct rusage used;
    fuzz_data = data, fuzz_size = size;
    setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_sec = FUZZ_SECONDS_MOST}, NULL);
    LLVMFuzzerTestOneInput(data, size);
    BL_ASSERT(getrusage(RUSAGE_SELF, &used) == 0 && (size_t)used.ru_maxrss * 1024 <= FUZZ_BYTES_MOST,
              "an input of %zu bytes has taken %ld KB", size, used.ru_maxrss);
}

static uint32_t fuzz_random(uint32_t below)
{
    fuzz_state ^= fuzz_state << 13;
    fuzz_state ^= fuzz_state >> 17;
    fuzz_state ^= fuzz_state << 5;
    return below ? fuzz_state % below : 0;
}

static void fuzz_add(const char *path)
{
    void *data = NULL;
    size_t size = 0;
    if (fuzz_count < FUZZ_INPUTS && file_read(path, FUZZ_SIZE, &data, &size, NULL) == BL_OK)
        fuzz_inputs[fuzz_count++] = (fuzz_input){data, size};
}

/* Files of tests/data/FOLDER whose names end in one of the extensions (separated by blanks); NULL: all of
 * them. */
static void fuzz_add_folder(const char *folder, const char *extensions)
{
    char path[1300];
    const char *source = getenv("BL_SOURCE_DIR");
    snprintf(path, sizeof path, "%s/tests/data/%s", source ? source : ".", folder);
    DIR *open = opendir(path);
    for (struct dirent *entry; open && (entry = readdir(open));) {
        const char *dot = strrchr(entry->d_name, '.');
        char file[1700];
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        if (extensions ? dot && dot != entry->d_name && strstr(extensions, dot) : *entry->d_name != '.')
            fuzz_add(file);
    }
    if (open)
        closedir(open);
}

static size_t fuzz_mutate(uint8_t *data, size_t size)
{
    static const uint32_t words[] = {0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x10000, 0xFF, 0x01000000};
    size_t at = fuzz_random((uint32_t)size), length = 1 + fuzz_random(fuzz_random(8) ? 4 : 64);
    length = length < size - at ? length : size - at;
    switch (fuzz_random(5)) {
    case 0:
        data[at] ^= (uint8_t)(1u << fuzz_random(8));
        return size;
    case 1:
        data[at] = (uint8_t)fuzz_random(256);
        return size;
    case 2:
        memcpy(data + at, &words[fuzz_random(8)], length < 4 ? length : 4);
        return size;
    case 3: /* remove */
        memmove(data + at, data + at + length, size - at - length);
        return size - length;
    default: /* double */
        if (size + length > FUZZ_SIZE)
            return size;
        memmove(data + at + length, data + at, size - at);
        return size + length;
    }
}

static void fuzz_round(void)
{
    static uint8_t data[FUZZ_SIZE];
    const fuzz_input *input = &fuzz_inputs[fuzz_random(fuzz_count)],
                     *other = &fuzz_inputs[fuzz_random(fuzz_count)];
    size_t size = input->size;
    memcpy(data, input->data, size);
    if (fuzz_random(16) == 0 && other->size > 0 && size > 0) { /* the beginning of one, the end of another */
        size_t cut = fuzz_random((uint32_t)size), from = fuzz_random((uint32_t)other->size);
        size_t tail = other->size - from < FUZZ_SIZE - cut ? other->size - from : FUZZ_SIZE - cut;
        memcpy(data + cut, other->data + from, tail);
        size = cut + tail;
    }
    for (uint32_t steps = 1 + fuzz_random(6); steps > 0 && size > 0; steps--)
        size = fuzz_mutate(data, size);
    uint8_t *exact = malloc(size ? size : 1); /* so that the sanitizer sees a read behind the end */
    memcpy(exact, data, size);
    fuzz_one(exact, size);
    free(exact);
}

/* The folder of tests/data whose files scripts/fuzz --add has found for the target: `fuzz/NAME` of
 * FOLDER/fuzz_NAME.c. */
static void fuzz_add_found(const char *source_file)
{
    static const char prefix[] = "fuzz_";
    const char *slash = strrchr(source_file, '/'),
               *name = (slash ? slash + 1 : source_file) + sizeof prefix - 1;
    char folder[100];
    snprintf(folder, sizeof folder, "fuzz/%.*s", (int)strcspn(name, "."), name);
    fuzz_add_folder(folder, NULL);
}

static int fuzz_main(int argc, char **argv, const char *source_file, const char *folder,
                     const char *extensions)
{
    const char *limit = getenv("BL_FUZZ_SECONDS"), *seed = getenv("BL_FUZZ_SEED");
    double end = clock_seconds() + (limit ? atof(limit) : getenv("BL_LONG") ? 600 : 2);
    uint32_t rounds = 0;
    fuzz_watch();
    fuzz_state = seed && atoi(seed) ? (uint32_t)atoi(seed) : 1;
    for (int i = 1; i < argc; i++)
        fuzz_add(argv[i]);
    if (argc <= 1) {
        fuzz_add_folder(folder, extensions);
        fuzz_add_found(source_file);
    }
    for (uint32_t i = 0; i < fuzz_count; i++)
        fuzz_one(fuzz_inputs[i].data, fuzz_inputs[i].size);
    for (; argc <= 1 && fuzz_count > 0 && clock_seconds() < end; rounds++)
        fuzz_round();
    setitimer(ITIMER_PROF, &(struct itimerval){0}, NULL);
    printf("%u inputs, %u mutations\n", fuzz_count, rounds);
    bool empty = fuzz_count == 0;
    while (fuzz_count > 0)
        free(fuzz_inputs[--fuzz_count].data);
    return empty; /* a corpus that is not found must not pass */
}

#define FUZZ_MAIN(folder, extensions)                                                                        \
    int main(int argc, char **argv) { return fuzz_main(argc, argv, __FILE__, folder, extensions); }
#else
#define FUZZ_MAIN(folder, extensions)
#endif

#endif
