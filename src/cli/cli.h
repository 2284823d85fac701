/* SPDX-License-Identifier: BSD-3-Clause
 * What the commands of the program share. The program sees the public header alone.
 *
 * A command is a row in main.c, a struct of arguments that begins with cli_common, a table of options that
 * fills the struct, and a run function. Functions that can fail print one message to stderr and return an
 * exit status: 0 success, CLI_FAILED, CLI_USAGE. Where a signal was the reason of a failure, main.c ends with
 * that signal's status. */
#ifndef BL_CLI_H
#define BL_CLI_H

#include <backlight/backlight.h>
#include <stdarg.h>
#include <stdio.h>

enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

#define CLI_TRY(call)                                                                                        \
    do {                                                                                                     \
        int cli_status_ = (call);                                                                            \
        if (cli_status_ != CLI_OK)                                                                           \
            return cli_status_;                                                                              \
    } while (0)

#if defined(__GNUC__)
#define CLI_PRINTF(fmt, args) __attribute__((format(printf, fmt, args), nonnull(fmt)))
#else
#define CLI_PRINTF(fmt, args)
#endif

/* ---- options.c ---- */

typedef struct cli_names {
    const char **items;
    uint32_t count;
} cli_names;

typedef struct cli_common {
    cli_names defines, roots, limits;
    const char *mode, *integrator, *sampler, *device, *ray_backend, *lights, *volume_gradient, *edges;
    const char *silhouette;            /* of a fit's job: as bl_scene_desc */
    bool denoise;                      /* of render: its scene has what guides a denoiser */
    const char *wavefront, *precision; /* no common options, but of commands that have them */
    uint32_t guide;
    uint32_t spp, spp_grad, seed, sensor;
    bool seed_given;
    int32_t max_depth;
    bool strict, untrusted, no_baking, no_cache, quiet, verbose, json, help;
    bool compile_only; /* no option, but of commands that run nothing: the device holds no memory */
} cli_common;

typedef enum cli_kind {
    CLI_POSITIONAL, /* const char *: an argument without an option; `name` is what help calls it */
    CLI_FLAG,       /* bool */
    CLI_TEXT,       /* const char *; with `choices`, one of them */
    CLI_TEXTS,      /* cli_names: one value per occurrence */
    CLI_NAMES,      /* cli_names: one or more values per occurrence, up to the next option */
    CLI_NUMBERS,    /* cli_names: one or more finite numbers per occurrence, which may be negative */
    CLI_COUNT,      /* uint32_t, at least 1 */
    CLI_SEED,       /* uint32_t */
    CLI_DEPTH,      /* int32_t, at least 1, or -1 */
    CLI_NUMBER,     /* double, above 0 */
    CLI_SIGNED,     /* double */
} cli_kind;

typedef struct cli_option {
    const char *name; /* "--spp" */
    char letter;      /* 'o' for -o, or 0 */
    cli_kind kind;
    const char *value; /* how help calls the value */
    size_t offset;     /* of the field in the command's struct */
    size_t given;      /* of a bool that says that the option came, or 0 */
    const char *help;
    bool required;
    const char *choices; /* "bvh|query" */
    const char *(*choice)(
        uint32_t k); /* instead: the k-th choice, as the library lists them; NULL past the last */
    unsigned groups; /* of a common option: for commands that have one of them; 0: for all */
} cli_option;

/* What common options are about. Help, manual and completion of a command have those of its groups. */
enum { CLI_SCENE = 1, CLI_SAMPLES = 2, CLI_GRADIENTS = 4, CLI_DEVICE = 8, CLI_ALL = 15 };

typedef struct cli_command {
    const char *name, *summary;
    const char *usage;   /* after the name */
    const char *example; /* one command line */
    const cli_option *options;
    uint32_t option_count;
    unsigned groups; /* of common options that it has a use for */
    size_t arguments_size;
    int (*run)(void *arguments);
} cli_command;

/* Adds a "key=value" to defines, unless they have the key. */
void define_default(cli_names *defines, const char *key_value);
/* Sets the field that "NAME=N" names; false: it names none, or N is no whole number above 0. */
bool limit_set(bl_limits *limits, const char *text);
/* Fills `arguments` (zeroed before) from argv; prints what is wrong. */
int options_parse(const cli_command *command, int argc, char **argv, void *arguments);
void options_help(const cli_command *command);
void options_help_common(void); /* all common options */
/* "-o, --output FILE" */
void option_left(const cli_option *option, char *text, size_t size);
/* The next common option of the command (NULL: of all) from *at on, which moves past it; NULL: no more. */
const cli_option *option_common(const cli_command *command, uint32_t *at);
char *option_choices(const cli_option *option); /* "bvh|query"; NULL: any value. free() it */
/* Prints words from column `at` on, further lines from `indent` on, as wide as the terminal. Returns the
 * column where it ends. */
int print_wrapped(int at, int indent, const char *text);
/* Columns of standard output, from 60 to 120; where it is no terminal, COLUMNS, else 100. */
int terminal_width(void);
void options_free(const cli_command *command, void *arguments);
/* Prints the message with the command's name and where help is; returns CLI_USAGE. */
int usage_error(const char *command, const char *format, ...) CLI_PRINTF(2, 3);
/* The candidate nearest to text, or NULL where none is near. candidates ends with NULL. */
const char *nearest_name(const char *text, const char *const *candidates);

/* ---- manual.c: from the tables of options ---- */

/* "man" [COMMAND], or "bash", "zsh", "fish": prints a page, or completion, on standard output. Returns false
 * where `what` is none of these. */
bool manual_print(const cli_command *const *commands, uint32_t count, const char *what, const char *command);

/* ---- messages.c ---- */

int fail(const char *format, ...) CLI_PRINTF(1, 2); /* prints a message; returns CLI_FAILED */
const char *last_error(void);                       /* messages of errors so far, a line each */
/* A message that was printed otherwise. */
void remember_error(const char *format, va_list args);
void note(const cli_common *common, const char *format, ...) CLI_PRINTF(2, 3); /* to stderr unless --quiet */
void tell(const cli_common *common, const char *format, ...) CLI_PRINTF(2, 3); /* to stderr with --verbose */
/* Where samples were dropped: how many, and what that means. */
void note_dropped(const cli_common *common, const bl_stats *stats);
/* Whether the text is the pattern's: * stands for any characters, ? for one. */
bool text_matches(const char *pattern, const char *text);
char *text_format(const char *format, ...) CLI_PRINTF(1, 2); /* malloc'ed; out of memory ends the program */
void *memory_or_exit(size_t size);                           /* zeroed */

/* ---- session.c: context, scene, device ---- */

typedef struct cli_session {
    const cli_common *common;
    bl_context *ctx;
    bl_scene *scene;
    bl_device *device;
    bl_scene_info info; /* of the scene */
    bl_device_info device_info;
    bl_rays rays; /* --ray-backend or BL_RAY_BACKEND */
} cli_session;

/* scene NULL: none. All close functions may follow a failed open. */
int session_open(cli_session *session, const cli_common *common, const char *scene);
int session_open_files(cli_session *session, const cli_common *common); /* no scene, and no device */
int session_open_device(cli_session *session);
/* A glTF file as a scene file, by the common options. notes: what it leaves out, a line each; free() it. */
int session_convert(cli_session *session, const char *path, const char *output, char **notes);
/* A job on the session's device and scene, as the common options want it. */
bl_volume_gradient session_volume_gradient(const cli_session *session); /* of --volume-gradient */
bl_wavefront session_wavefront(const cli_session *session);             /* of --wavefront */
bool session_doubles(const cli_session *session);                       /* --precision double */
/* The gradient of requested parameter k, of so many values, in the precision of the job. */
bl_result session_read_gradient(const cli_session *session, bl_job *job, uint32_t k, uint32_t count,
                                double *values);
/* Adds what the common options say about jobs to `desc`, and creates the job. */
int session_create_job(const cli_session *session, bl_job_desc desc, bl_job **job);
/* Makes the kernel of a pass now. A signal ends the program meanwhile. */
int session_compile(const cli_session *session, bl_job *job, bl_pass pass);
void session_close(cli_session *session);
/* Prints the context's error; returns CLI_FAILED. */
int session_fail(const cli_session *session, bl_result result);
#define SESSION_TRY(session, call)                                                                           \
    do {                                                                                                     \
        bl_result cli_result_ = (call);                                                                      \
        if (cli_result_ != BL_OK)                                                                            \
            return session_fail(session, cli_result_);                                                       \
    } while (0)

typedef struct cli_parameter {
    uint32_t index;
    bl_parameter_info info;
} cli_parameter;
/* The names that were asked for; where none was, all parameters that have gradients, but those of geometry.
 * In place of a name with * (any characters, dots included) or ? (one) those of all parameters with gradients
 * that it matches and that have not been named before. free() *names, also after a failure. */
int session_choose_parameters(const cli_session *session, const cli_names *asked, const char ***names,
                              uint32_t *count);
/* The same in place of the names. */
int session_expand_names(const cli_session *session, cli_names *names);
/* Looks names up, refuses what has no gradient, and with --strict gradients that lack terms. */
int session_find_parameters(const cli_session *session, const char *const *names, uint32_t count,
                            cli_parameter *out);
/* What the gradients of parameters lack, in one line: names and reasons; NULL: nothing. free() it. */
char *session_incomplete(const cli_parameter *p, uint32_t count);
void session_warn_incomplete(const cli_session *session, const cli_parameter *p, uint32_t count);
/* An image file as bl_scene_read_image. free() the pixels. */
int session_read_image(const cli_session *session, const char *path, float **pixels);
/* The same, or from an array of NumPy [height, width, channel] (.npy). */
int session_read_pixels(const cli_session *session, const char *path, float **pixels);
size_t session_pixels(const cli_session *session); /* width * height */
size_t session_values(const cli_session *session); /* of an image: session_pixels * info.channels */
float luminance(const float *rgb);                 /* of a linear colour */
/* Its values as they are, whatever formats the film asks for; of bands as bl_scene_write_image. */
bl_result session_write_image(const cli_session *session, const char *path, const float *image);
bool find_loss(const char *name, bl_loss *loss); /* false: no loss has that name */

/* ---- progress.c ---- */

typedef struct cli_progress {
    const char *label;
    uint64_t paths;           /* whole amount of work, for the rate */
    double start, from, last; /* when the first news came, and how much was done then; the last drawing */
    bool enabled, drawn;
} cli_progress;
double seconds_now(void);
void interrupt_install(void); /* Ctrl-C sets a flag instead of ending the program; a second one ends it */
/* Between true and false a signal ends the program at once: while a driver compiles it asks nobody, and
 * cannot be stopped otherwise. Only where no result is being written. false: there was a signal already. */
bool interrupt_may_end(bool may);
bool interrupted(void);
int interrupt_status(void); /* the shell's exit status for that signal: 130 for SIGINT, 143 for SIGTERM */
bool progress_on_terminal(const cli_common *common);
cli_progress progress_begin(const cli_common *common, const char *label, uint64_t paths);
bool progress_call(void *progress, double done); /* a bl_progress */
void progress_end(cli_progress *progress);
/* "12 s" or "3:05 min"; rotates through a few static buffers. */
const char *duration_text(double seconds);

/* ---- output.c: whole files or none ---- */

int save_file(const char *path, const void *data, size_t size);
char *read_whole(const char *path, size_t limit,
                 size_t *size); /* malloc'ed, zero byte appended; NULL after printing why */
bool is_file(const char *path); /* an ordinary one */
/* Where the answer decides about work of hours: what cannot be seen is an error, not absent. */
int find_path(const char *path, bool *there);
int remove_file(const char *path); /* that may be there */
int make_folder(const char *path);
int check_writable(const char *path);   /* before the work that the file will hold */
int check_image_path(const char *path); /* its extension, and writable */
bool is_png(const char *path);          /* .png, in any case */
bool is_exr(const char *path);
bool is_npy(const char *path);
bool is_display_image(const char *path); /* 8 bits, for screens: .png, .jpg */
int copy_to_stdout(const char *path);
int save_npy(const char *path, const float *values, const uint32_t *shape, uint32_t rank);
int save_npy_doubles(const char *path, const double *values, const uint32_t *shape, uint32_t rank);
/* float32 or float64, C order, exactly count values. free() them. */
int load_npy(const char *path, uint32_t count, float **values);
int load_npy_image(const char *path, const uint32_t shape[3], float **values); /* height, width, channels */
int check_file_name(const char *parameter); /* names become files: nothing that leaves the folder */
struct cJSON;
int save_json(const char *path, const struct cJSON *json);
void print_json(const struct cJSON *json); /* to standard output */
bool json_printed(void);                   /* whether it has been called */
struct cJSON *json_floats(const float *values, uint32_t count);
struct cJSON *json_shape(const bl_parameter_info *info);
/* Where results come from: version, scene, device, driver. */
void json_add_origin(struct cJSON *json, const cli_session *session, const char *scene);
uint64_t host_peak_bytes(void);

/* ---- picture.c ---- */

typedef struct signed_picture {
    uint32_t width, height, channels;
    const float *values; /* the mean over channels is shown */
    double scale;        /* of full colour; 0: the 99th percentile of |value| */
    /* NULL: pixels alone. Else the picture is to be looked at: enlarged where it is small, over a bar of the
     * colours with their values and this title. */
    const char *title;
} signed_picture;
/* The sRGB curve: displayed values in [0, 1] of linear ones, and back. */
double encode_srgb(double linear);
double decode_srgb(double displayed);
/* A blue-white-red picture of signed values; white is 0. */
int save_signed_png(const cli_session *session, const char *path, const signed_picture *p);
/* A parameter's gradient of rank 2 or more, slices of higher ranks one below the other. */
int save_gradient_png(const cli_session *session, const char *path, const bl_parameter_info *info,
                      const float *values);

typedef struct plot_bar {
    const char *label; /* printed in capitals */
    double value, error;
    uint32_t colour; /* 0xRRGGBB */
} plot_bar;
typedef struct plot_group {
    const char *label, *verdict; /* the verdict stands at the right of the label */
    const plot_bar *bars;
    uint32_t bar_count;
} plot_group;
/* legend: lines below all groups, ending with NULL. */
int save_bar_plot(const cli_session *session, const char *path, const plot_group *groups,
                  uint32_t group_count, const char *const *legend);

/* ---- live.c: for others to follow ---- */

typedef struct cli_live {
    FILE *events; /* NULL: nobody wants them */
    int tev;      /* a socket; -1: none */
    double begun;
} cli_live;
/* path, address NULL: none. */
int live_open_events(cli_live *live, const char *path, bool append);
int live_open_tev(cli_live *live, const char *address); /* "HOST:PORT" */
/* An event with its kind and the time; NULL where nobody wants it. live_send takes it. */
struct cJSON *live_event(const cli_live *live, const char *kind);
struct cJSON *live_end(const cli_live *live, int status); /* the last event, of a command that ends with it */
void live_send(const cli_live *live, struct cJSON *event);
void live_image(cli_live *live, const cli_session *session, const char *name, const float *image);
void live_close(cli_live *live);
#define CLI_LIVE_OPTIONS(events_offset, tev_offset)                                                          \
    {.name = "--events",                                                                                     \
     .kind = CLI_TEXT,                                                                                       \
     .value = "FILE",                                                                                        \
     .offset = (events_offset),                                                                              \
     .help = "what happens, while it does, as lines of JSON for programs (/dev/stderr, a pipe)"},            \
    {                                                                                                        \
        .name = "--tev", .kind = CLI_TEXT, .value = "HOST:PORT", .offset = (tev_offset),                     \
        .help = "show pictures in the viewer tev as they come (tev listens on 127.0.0.1:14158)"              \
    }

/* ---- tonemap.c ---- */

/* In place: values times 2^exposure, then by the curve: clip (none), filmic, aces or agx. An image has 1 or 3
 * channels. */
void tonemap(float *image, size_t pixels, uint32_t channels, double exposure, const char *curve);

/* ---- grad_forward.c: backlight grad --forward ---- */

typedef struct cli_forward {
    const cli_common *common;
    const char *scene, *output;
    const cli_names *parameters; /* NAME or NAME=VALUE */
    const cli_names *tangents;   /* files, one per parameter, or none */
} cli_forward;
int grad_forward(const cli_forward *args);

/* ---- grad_variance.c: values that come again and again ---- */

typedef struct cli_moments {
    uint32_t count, values; /* how often; how many */
    double *mean, *squares; /* squares: of differences from the mean, summed */
    uint32_t kept;          /* of the first so many: */
    double *each;           /* all values; NULL: none are kept */
} cli_moments;
void moments_begin(cli_moments *m, uint32_t values, uint32_t kept);
void moments_end(cli_moments *m);
void moments_add(cli_moments *m, const double *values);
void moments_variance(const cli_moments *m, double *out); /* of one of them; 2 or more */
/* rms_gradient, and of the variance of one gradient mean and largest; standard_error: rms, of the mean
 * gradient. */
void grad_add_variance(struct cJSON *parameter, const cli_moments *m);

/* ---- grad_summary.c: parts of both modes' summary ---- */

void grad_add_parameters(struct cJSON *json, const cli_parameter *parameters, uint32_t count);
/* Derivatives of rays that were dropped, by depth (bl_stats.singular); and as a warning if there are any. */
void grad_add_singular(struct cJSON *json, const bl_stats *stats);
void grad_note_singular(const cli_common *common, const bl_stats *stats);
/* start: seconds_now() when the command began. */
void grad_add_effort(struct cJSON *json, const cli_session *session, const bl_stats *stats, double start);

/* ---- bench_timing.c ---- */

enum { ROUNDS_MOST = 1000 };
double cpu_seconds(void);                            /* of this process */
double median(const double *values, uint32_t count); /* at most ROUNDS_MOST values */

/* ---- ablation.c: bench --ablation ---- */

typedef struct cli_ablation {
    const char *scene;
    const char **names; /* parameters of the gradient pass; none: primal only */
    uint32_t name_count, rounds, spp;
    float *image, *weights; /* room for an image; adjoint of the gradient pass */
    double cores;
    bool on_cpu; /* the device is the CPU: time is CPU time over cores */
} cli_ablation;
int bench_ablation(const cli_session *session, const cli_ablation *args);

/* ---- bench_rays.c: bench --rays ---- */

typedef struct cli_ray_bench {
    const char *scene;
    uint32_t rounds;
} cli_ray_bench;
int bench_rays(const cli_session *session, const cli_ray_bench *args);

/* ---- commands ---- */

extern const cli_command command_devices, command_render, command_params, command_grad, command_check,
    command_fit, command_design, command_import, command_bench, command_ir, command_compile, command_plugins;

#define CLI_OPTIONS(table) .options = (table), .option_count = (uint32_t)(sizeof(table) / sizeof(table)[0])

#endif
