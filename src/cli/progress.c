/* SPDX-License-Identifier: BSD-3-Clause
 * Progress on a terminal, time, and Ctrl-C. */
#include "cli.h"

#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A signal handler has nowhere else to put it. */
static volatile sig_atomic_t interrupting_signal;

/* Nothing is lost by ending at once, and nothing would look at the signal for long. */
static volatile sig_atomic_t may_end;

/* A bar stands on the terminal's line. */
static volatile sig_atomic_t bar_drawn;

static void on_interrupt(int signal_number)
{
    if (may_end) {
        static const char clear[] = "\r\033[K";
        if (bar_drawn && write(STDERR_FILENO, clear, sizeof clear - 1) < 0)
            bar_drawn = 0; /* and the line stays as it is */
        _exit(128 + signal_number);
    }
    interrupting_signal = signal_number;
}

bool interrupt_may_end(bool may)
{
    may_end = may;
    return !interrupted(); /* a signal that came just before ends the work at its next question */
}

void interrupt_install(void)
{
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool interrupted(void) { return interrupting_signal != 0; }

int interrupt_status(void) { return 128 + (int)interrupting_signal; }

const char *duration_text(double seconds)
{
    static char buffers[4][32];
    static int next;
    char *text = buffers[next++ & 3];
    if (!(seconds >= 0 && seconds < 1e8))
        snprintf(text, sizeof buffers[0], "?");
    else if (seconds < 10)
        snprintf(text, sizeof buffers[0], "%.1f s", seconds);
    else if (seconds < 100)
        snprintf(text, sizeof buffers[0], "%.0f s", seconds);
    else if (seconds < 6000)
        snprintf(text, sizeof buffers[0], "%d:%02d min", (int)seconds / 60, (int)seconds % 60);
    else
        snprintf(text, sizeof buffers[0], "%d:%02d h", (int)(seconds / 3600), (int)(seconds / 60) % 60);
    return text;
}

bool progress_on_terminal(const cli_common *common) { return !common->quiet && isatty(STDERR_FILENO); }

cli_progress progress_begin(const cli_common *common, const char *label, uint64_t paths)
{
    return (cli_progress){.label = label, .paths = paths, .enabled = progress_on_terminal(common)};
}

/* Rate and rest go by what came after the first news: kernels are compiled before that. */
bool progress_call(void *user, double done)
{
    cli_progress *p = user;
    const double now = seconds_now();
    if (p->start == 0)
        p->start = now, p->from = done;
    const double elapsed = now - p->start, more = done - p->from;
    if (!p->enabled || elapsed < .3 || now - p->last < .1)
        return !interrupted();
    char bar[31];
    for (int i = 0; i < 30; i++)
        bar[i] = (double)i < done * 30 ? '#' : '.';
    bar[30] = 0;
    fprintf(stderr, "\r%s [%s] %3.0f %%", p->label, bar, 100 * done);
    if (more > 0)
        fprintf(stderr, "  %.2f Mpaths/s  ETA %s \033[K", 1e-6 * more * (double)p->paths / elapsed,
                duration_text(elapsed * (1 - done) / more));
    p->drawn = true, bar_drawn = 1;
    p->last = now;
    return !interrupted();
}

void progress_end(cli_progress *progress)
{
    if (progress->drawn)
        fprintf(stderr, "\r\033[K");
    progress->drawn = false, bar_drawn = 0;
}
