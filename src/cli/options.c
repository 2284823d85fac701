/* SPDX-License-Identifier: BSD-3-Clause
 * Command lines from declarative tables: a command's own options and the common ones fill one struct, and the
 * same tables print the help. Values may follow as the next argument or after '='; "--" ends a list of
 * names. */
#include "cli.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

// clang-format off
#define COMMON(field) offsetof(cli_common, field)
static const cli_option common_options[] = {
    {.groups = CLI_SCENE, .name = "-D",
     .kind = CLI_TEXTS, .value = "KEY=VALUE", .offset = COMMON(defines),
     .help = "set a variable of the scene ($KEY); repeatable"},
    {.groups = CLI_SAMPLES, .name = "--spp",
     .kind = CLI_COUNT, .value = "N", .offset = COMMON(spp),
     .help = "samples per pixel (default: the scene's)"},
    {.groups = CLI_GRADIENTS, .name = "--spp-grad",
     .kind = CLI_COUNT, .value = "N", .offset = COMMON(spp_grad),
     .help = "samples per pixel of gradient passes (default: --spp)"},
    {.groups = CLI_SAMPLES, .name = "--seed",
     .kind = CLI_SEED, .value = "S", .offset = COMMON(seed), .given = COMMON(seed_given),
     .help = "random seed; the same seed gives the same bytes (default: 0)"},
    {.groups = CLI_SCENE, .name = "--mode",
     .kind = CLI_TEXT, .value = "MODE", .offset = COMMON(mode),
     .help = "what light is: rgb; mono, luminance alone in one channel; spectral, wavelengths; or, with "
             "polarisation, rgb_polarized, mono_polarized and spectral_polarized; names of Mitsuba's "
             "variants say the same (llvm_ad_mono) (default: what <?backlight mode=\"NAME\"?> in the scene "
             "says, else rgb)"},
    {.groups = CLI_SCENE, .name = "--integrator",
     .kind = CLI_TEXT, .value = "NAME", .offset = COMMON(integrator),
     .help = "instead of the scene's: path, direct, prb, prb_attached, prb_detached, prb_basic, tape, rb, "
             "rb_biased1, rb_biased2, rb_biased1_2, depth, ptracer, volpath, volpathmis, prbvolpath"},
    {.groups = CLI_SCENE, .name = "--sampler",
     .kind = CLI_TEXT, .value = "NAME", .offset = COMMON(sampler),
     .help = "how random numbers are spread over a pixel's samples, in all passes: scene, as the scene says; "
             "auto, paddedsobol where the scene says independent or nothing, for less noise; or a sampler "
             "(default: auto in grad and fit, else scene)",
     .choices = "scene|auto|independent|stratified|multijitter|orthogonal|ldsampler|paddedsobol"},
    {.groups = CLI_SCENE, .name = "--max-depth",
     .kind = CLI_DEPTH, .value = "N", .offset = COMMON(max_depth),
     .help = "longest path in segments instead of the integrator's; -1: unbounded"},
    {.groups = CLI_SCENE, .name = "--sensor",
     .kind = CLI_SEED, .value = "N", .offset = COMMON(sensor),
     .help = "which of the scene's sensors to look through, counted from 0 (default: 0)"},
    {.groups = CLI_SCENE, .name = "--lights",
     .kind = CLI_TEXT, .value = "HOW", .offset = COMMON(lights),
     .help = "how often a light is sampled: by its sampling_weight (weight), like any other (uniform), by "
             "weight times power (power), or by what of that can reach the point, bounded over a tree of "
             "lights (tree); auto (the default) takes the tree from ten lights on, else weight",
     .choices = "auto|weight|uniform|power|tree"},
    {.groups = CLI_GRADIENTS, .name = "--volume-gradient",
     .kind = CLI_TEXT, .value = "HOW", .offset = COMMON(volume_gradient),
     .help = "how the gradient of extinction in heterogeneous media is found: replay, or drt, differential "
             "ratio tracking; auto (the default) takes drt for grids much of which is empty, "
             "and in fits that start from a grid of one value",
     .choices = "auto|replay|drt"},
    {.groups = CLI_GRADIENTS, .name = "--edges",
     .kind = CLI_TEXT, .value = "HOW", .offset = COMMON(edges),
     .help = "what gradients have of silhouettes and shadows that move: auto (the default), what can be "
             "found; projective, by samples on silhouettes; none",
     .choices = "auto|none|projective"},
    {.groups = CLI_GRADIENTS, .name = "--strict",
     .kind = CLI_FLAG, .offset = COMMON(strict),
     .help = "a gradient known to lack terms is an error, not a warning"},
    {.groups = CLI_SCENE, .name = "--untrusted",
     .kind = CLI_FLAG, .offset = COMMON(untrusted),
     .help = "the scene may read files only below its own folder and --root, and no .vdb; strict limits"},
    {.groups = CLI_SCENE, .name = "--root",
     .kind = CLI_TEXTS, .value = "DIR", .offset = COMMON(roots),
     .help = "another folder that an untrusted scene may read; repeatable"},
    {.groups = CLI_SCENE, .name = "--limit",
     .kind = CLI_TEXTS, .value = "NAME=N", .offset = COMMON(limits),
     .help = "what a scene may take at most: bytes of memory or text, numbers of pixels, triangles or "
             "voxels, operations of a kernel, seconds to load; lower by default with --untrusted; "
             "repeatable"},
    {.groups = CLI_DEVICE, .name = "--device",
     .kind = CLI_TEXT, .value = "NAME", .offset = COMMON(device),
     .help = "auto, native, swiftshader, lavapipe, a number in the order of `backlight devices`, "
             "uuid:UUID, or part of a device's name (or BL_DEVICE)"},
    {.groups = CLI_DEVICE, .name = "--ray-backend",
     .kind = CLI_TEXT, .value = "NAME", .offset = COMMON(ray_backend),
     .help = "how rays meet the scene: bvh (our own hierarchy) or query (ray queries of the device); "
             "default: query on GPUs that have them (or BL_RAY_BACKEND)",
     .choices = "bvh|query"},
    {.groups = CLI_DEVICE, .name = "--no-baking",
     .kind = CLI_FLAG, .offset = COMMON(no_baking),
     .help = "keep the geometry of small scenes in memory instead of in the kernels (slower)"},
    {.groups = CLI_DEVICE, .name = "--no-cache",
     .kind = CLI_FLAG, .offset = COMMON(no_cache),
     .help = "neither look for compiled kernels on disk nor keep them there; Mesa's drivers do not, either"},
    {.name = "--json", .kind = CLI_FLAG, .offset = COMMON(json),
     .help = "results on standard output as JSON"},
    {.name = "--quiet", .letter = 'q', .kind = CLI_FLAG, .offset = COMMON(quiet),
     .help = "no progress and no messages but errors"},
    {.name = "--verbose", .letter = 'v', .kind = CLI_FLAG, .offset = COMMON(verbose),
     .help = "also how devices were looked for, which one was taken, and how long each thing took"},
    {.name = "--help", .letter = 'h', .kind = CLI_FLAG, .offset = COMMON(help), .help = "this text"},
};
// clang-format on
enum { COMMON_COUNT = sizeof common_options / sizeof common_options[0] };

/* ---- messages ---- */

int usage_error(const char *command, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "backlight %s: ", command);
    vfprintf(stderr, format, args);
    fprintf(stderr, "\nTry 'backlight %s --help'.\n", command);
    va_end(args);
    va_start(args, format);
    remember_error(format, args);
    va_end(args);
    return CLI_USAGE;
}

/* Levenshtein distance; texts longer than 63 letters are compared by their beginning. */
static uint32_t edit_distance(const char *a, const char *b)
{
    uint32_t row[64];
    uint32_t length = (uint32_t)strnlen(b, 63);
    for (uint32_t j = 0; j <= length; j++)
        row[j] = j;
    for (uint32_t i = 0; a[i] && i < 63; i++) {
        uint32_t corner = row[0];
        row[0] = i + 1;
        for (uint32_t j = 0; j < length; j++) {
            uint32_t change = corner + (a[i] != b[j]);
            corner = row[j + 1];
            uint32_t step = (row[j] < row[j + 1] ? row[j] : row[j + 1]) + 1;
            row[j + 1] = change < step ? change : step;
        }
    }
    return row[length];
}

const char *nearest_name(const char *text, const char *const *candidates)
{
    const char *best = NULL;
    uint32_t least = (uint32_t)strlen(text) / 3 + 2; /* farther away is no help */
    for (uint32_t i = 0; candidates[i]; i++) {
        uint32_t distance = edit_distance(text, candidates[i]);
        if (distance < least) {
            least = distance;
            best = candidates[i];
        }
    }
    return best;
}

/* ---- finding an option ---- */

static bool takes_several(const cli_option *option)
{
    return option->kind == CLI_NAMES || option->kind == CLI_NUMBERS || option->kind == CLI_TEXTS;
}

static const cli_option *option_at(const cli_command *command, uint32_t i)
{
    if (i < command->option_count)
        return &command->options[i];
    i -= command->option_count;
    return i < COMMON_COUNT ? &common_options[i] : NULL;
}

/* Matches "--name", "--name=value", "-o", "-ovalue", "-DKEY=VALUE". *value is what is attached, or NULL. */
static bool option_matches(const cli_option *option, const char *argument, const char **value)
{
    *value = NULL;
    if (option->kind == CLI_POSITIONAL)
        return false;
    char letter = option->name[1] != '-' ? option->name[1] : option->letter;
    if (letter && argument[0] == '-' && argument[1] == letter) {
        *value = argument[2] ? argument + 2 : NULL;
        return true;
    }
    size_t length = strlen(option->name);
    if (strncmp(argument, option->name, length) != 0 || option->name[1] != '-')
        return false;
    if (argument[length] == '=')
        *value = argument + length + 1;
    return argument[length] == 0 || argument[length] == '=';
}

static const cli_option *find_option(const cli_command *command, const char *argument, const char **value)
{
    const cli_option *option;
    for (uint32_t i = 0; (option = option_at(command, i)); i++)
        if (option_matches(option, argument, value))
            return option;
    return NULL;
}

static int unknown_option(const cli_command *command, const char *argument)
{
    const char *names[64] = {0};
    uint32_t count = 0;
    const cli_option *option;
    for (uint32_t i = 0; (option = option_at(command, i)) && count < 63; i++)
        if (option->kind != CLI_POSITIONAL)
            names[count++] = option->name;
    char text[64];
    snprintf(text, sizeof text, "%.*s", (int)strcspn(argument, "="), argument);
    const char *near = nearest_name(text, names);
    if (near)
        return usage_error(command->name, "unknown option %s (did you mean %s?)", text, near);
    return usage_error(command->name, "unknown option %s", text);
}

/* ---- storing a value ---- */

static void push_name(cli_names *names, const char *text)
{
    const char **grown = realloc(names->items, (names->count + 1) * sizeof *grown);
    if (!grown) {
        fprintf(stderr, "backlight: out of memory\n");
        exit(CLI_FAILED);
    }
    names->items = grown;
    names->items[names->count++] = text;
}

static bool parse_integer(const char *text, long long least, long long most, long long *out)
{
    char *end;
    errno = 0;
    *out = strtoll(text, &end, 10);
    return end != text && *end == 0 && errno == 0 && *out >= least && *out <= most;
}

static bool choice_allowed(const char *choices, const char *text)
{
    size_t length = strlen(text);
    for (const char *c = choices; *c; c += strcspn(c, "|"), c += *c == '|')
        if (strcspn(c, "|") == length && !strncmp(c, text, length))
            return true;
    return false;
}

/* `choices`, or the library's list in that form; to be freed. */
char *option_choices(const cli_option *option)
{
    char *all = option->choices ? text_format("%s", option->choices) : NULL;
    for (uint32_t k = 0; option->choice && option->choice(k); k++) {
        char *before = all;
        all = text_format("%s%s%s", before ? before : "", before ? "|" : "", option->choice(k));
        free(before);
    }
    return all;
}

static int store_integer(const cli_command *command, const cli_option *option, const char *text, void *field)
{
    bool depth = option->kind == CLI_DEPTH;
    long long least = option->kind == CLI_SEED ? 0 : depth ? -1 : 1, number;
    if (!parse_integer(text, least, depth ? 1000000 : 0xffffffffll, &number) || (depth && number == 0))
        return usage_error(command->name, "%s: '%s' is not %s", option->name, text,
                           depth                      ? "a whole number above 0, or -1"
                           : option->kind == CLI_SEED ? "a whole number from 0 to 4294967295"
                                                      : "a whole number above 0");
    if (depth)
        *(int32_t *)field = (int32_t)number;
    else
        *(uint32_t *)field = (uint32_t)number;
    return CLI_OK;
}

static int store_text(const cli_command *command, const cli_option *option, const char *text, void *field)
{
    char *choices = option_choices(option);
    int status = choices && !choice_allowed(choices, text)
                     ? usage_error(command->name, "%s: '%s' is not one of %s", option->name, text, choices)
                     : CLI_OK;
    free(choices);
    if (status != CLI_OK)
        return status;
    if (!*text)
        return usage_error(command->name, "%s: empty value", option->name);
    *(const char **)field = text;
    return CLI_OK;
}

static bool is_number(const char *text)
{
    char *end;
    double number = strtod(text, &end);
    return end != text && !*end && isfinite(number);
}

static int store(const cli_command *command, const cli_option *option, const char *text, void *arguments)
{
    void *field = (char *)arguments + option->offset;
    char *end;
    if (option->given)
        *(bool *)((char *)arguments + option->given) = true;
    switch (option->kind) {
    case CLI_FLAG:
        *(bool *)field = true;
        return CLI_OK;
    case CLI_TEXTS:
    case CLI_NAMES:
        push_name(field, text);
        return CLI_OK;
    case CLI_NUMBERS:
        if (!is_number(text))
            return usage_error(command->name, "%s: '%s' is not a number", option->name, text);
        push_name(field, text);
        return CLI_OK;
    case CLI_NUMBER:
        *(double *)field = strtod(text, &end);
        if (end == text || *end || !isfinite(*(double *)field) || *(double *)field <= 0)
            return usage_error(command->name, "%s: '%s' is not a number above 0", option->name, text);
        return CLI_OK;
    case CLI_SIGNED:
        if (!is_number(text))
            return usage_error(command->name, "%s: '%s' is not a number", option->name, text);
        *(double *)field = strtod(text, NULL);
        return CLI_OK;
    case CLI_COUNT:
    case CLI_SEED:
    case CLI_DEPTH:
        return store_integer(command, option, text, field);
    case CLI_TEXT:
    case CLI_POSITIONAL:
        break;
    }
    return store_text(command, option, text, field);
}

bool limit_set(bl_limits *limits, const char *text)
{
    uint64_t *const fields[] = {&limits->memory, &limits->text,   &limits->pixels, &limits->triangles,
                                &limits->voxels, &limits->kernel, &limits->seconds};
    const size_t length = strcspn(text, "=");
    double number = text[length] ? strtod(text + length + 1, NULL) : 0; /* 2e9 is a whole number, too */
    for (uint32_t k = 0; k < sizeof fields / sizeof *fields && is_number(text + length + (text[length] != 0));
         k++)
        if (!strncmp(bl_limit_name(k), text, length) && !bl_limit_name(k)[length] && number >= 1 &&
            number <= 1e18 && number == floor(number)) {
            *fields[k] = (uint64_t)number;
            return true;
        }
    return false;
}

void define_default(cli_names *defines, const char *key_value)
{
    size_t key = strcspn(key_value, "=") + 1;
    for (uint32_t i = 0; i < defines->count; i++)
        if (!strncmp(defines->items[i], key_value, key))
            return;
    const char **items = memory_or_exit((defines->count + 1) * sizeof *items);
    if (defines->count)
        memcpy(items, defines->items, defines->count * sizeof *items);
    items[defines->count] = key_value;
    free(defines->items);
    *defines = (cli_names){.items = items, .count = defines->count + 1};
}

/* ---- parsing ---- */

static int store_positional(const cli_command *command, const char *text, void *arguments)
{
    for (uint32_t i = 0; i < command->option_count; i++) {
        const cli_option *option = &command->options[i];
        if (option->kind == CLI_POSITIONAL && !*(const char **)((char *)arguments + option->offset))
            return store(command, option, text, arguments);
    }
    return usage_error(command->name, "unexpected argument '%s'", text);
}

/* A command line, and where in it we are. */
typedef struct word_list {
    int count, at;
    char **words;
} word_list;

/* The word after the current one; NULL: that is the last. */
static const char *peek(const word_list *l) { return l->at + 1 < l->count ? l->words[l->at + 1] : NULL; }

/* Whether the word cannot be a value of an option that takes several, or a further one after the first. */
static bool is_no_value(const cli_option *option, const char *word, bool further)
{
    bool number = option->kind == CLI_NUMBERS && is_number(word);
    return further && option->kind == CLI_NUMBERS ? !number : word[0] == '-' && !number;
}

/* Stores the option at l->at, which has matched, and moves there to its last argument. */
static int parse_option(const cli_command *command, const cli_option *option, const char *attached,
                        word_list *l, void *arguments)
{
    if (option->kind == CLI_FLAG) {
        if (attached)
            return usage_error(command->name, "%s takes no value", option->name);
        return store(command, option, NULL, arguments);
    }
    bool listed = (option->kind == CLI_NAMES || option->kind == CLI_NUMBERS) && !attached;
    if (!attached && (!peek(l) || (listed && is_no_value(option, peek(l), false))))
        return usage_error(command->name, "%s needs a value: %s", option->name, option->value);
    CLI_TRY(store(command, option, attached ? attached : l->words[++l->at], arguments));
    while (listed && peek(l) && !is_no_value(option, peek(l), true))
        CLI_TRY(store(command, option, l->words[++l->at], arguments));
    return CLI_OK;
}

static int check_required(const cli_command *command, const void *arguments)
{
    for (uint32_t i = 0; i < command->option_count; i++) {
        const cli_option *option = &command->options[i];
        const void *field = (const char *)arguments + option->offset;
        bool list = takes_several(option);
        if (!option->required ||
            (list ? ((const cli_names *)field)->count > 0 : *(const char *const *)field != NULL))
            continue;
        if (option->kind == CLI_POSITIONAL)
            return usage_error(command->name,
                               "%s is missing (give it before options that take several names)",
                               option->name);
        const char letter[] = {'-', option->letter, 0};
        return usage_error(command->name, "%s %s is missing", option->letter ? letter : option->name,
                           option->value);
    }
    return CLI_OK;
}

static int check_defines(const cli_command *command, const cli_names *defines)
{
    for (uint32_t i = 0; i < defines->count; i++) {
        const char *equals = strchr(defines->items[i], '=');
        if (!equals || equals == defines->items[i])
            return usage_error(command->name, "-D: '%s' is not KEY=VALUE", defines->items[i]);
    }
    return CLI_OK;
}

static int check_limits(const cli_command *command, const cli_names *limits)
{
    bl_limits unused;
    for (uint32_t i = 0; i < limits->count; i++)
        if (!limit_set(&unused, limits->items[i])) {
            fprintf(stderr,
                    "backlight %s: --limit: '%s' is not NAME=N with a whole number N above 0 and one of the "
                    "names",
                    command->name, limits->items[i]);
            for (uint32_t k = 0; bl_limit_name(k); k++)
                fprintf(stderr, "%s%s", k ? ", " : " ", bl_limit_name(k));
            fputc('\n', stderr);
            return CLI_USAGE;
        }
    return CLI_OK;
}

int options_parse(const cli_command *command, int argc, char **argv, void *arguments)
{
    bool only_positional = false;
    for (word_list l = {.count = argc, .words = argv}; l.at < l.count; l.at++) {
        const char *word = l.words[l.at];
        if (!only_positional && !strcmp(word, "--")) {
            only_positional = true;
            continue;
        }
        if (only_positional || word[0] != '-' || !word[1]) {
            CLI_TRY(store_positional(command, word, arguments));
            continue;
        }
        const char *attached;
        const cli_option *option = find_option(command, word, &attached);
        if (!option)
            return unknown_option(command, word);
        CLI_TRY(parse_option(command, option, attached, &l, arguments));
    }
    const cli_common *common = arguments;
    if (common->help)
        return CLI_OK;
    CLI_TRY(check_defines(command, &common->defines));
    CLI_TRY(check_limits(command, &common->limits));
    return check_required(command, arguments);
}

void options_free(const cli_command *command, void *arguments)
{
    const cli_option *option;
    for (uint32_t i = 0; (option = option_at(command, i)); i++)
        if (takes_several(option))
            free(((cli_names *)(void *)((char *)arguments + option->offset))->items);
    free(arguments);
}

/* ---- help ---- */

enum { WIDTH_LEAST = 60, WIDTH_MOST = 120, WIDTH_OTHERWISE = 100, LEFT_COLUMN = 26 };

int terminal_width(void)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    long long width = WIDTH_OTHERWISE;
    if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        width = size.ws_col;
    else if (columns && !parse_integer(columns, 1, 10000, &width))
        width = WIDTH_OTHERWISE;
    return (int)(width < WIDTH_LEAST ? WIDTH_LEAST : width > WIDTH_MOST ? WIDTH_MOST : width);
}

int print_wrapped(int at, int indent, const char *text)
{
    const int width = terminal_width();
    for (bool first = true; *text; first = false) {
        const size_t length = strcspn(text, " ");
        if (!first && at + 1 + (int)length > width) {
            printf("\n%*s", indent, "");
            at = indent;
        } else if (!first) {
            printf(" ");
            at++;
        }
        printf("%.*s", (int)length, text);
        at += (int)length;
        text += length + (text[length] == ' ');
    }
    return at;
}

void option_left(const cli_option *option, char *text, size_t size)
{
    const char letter[5] = {'-', option->letter, ',', ' ', 0};
    snprintf(text, size, "%s%s%s%s%s", option->letter ? letter : "", option->name, option->value ? " " : "",
             option->value ? option->value : "",
             option->kind == CLI_NAMES || option->kind == CLI_NUMBERS ? "..." : "");
}

static void print_option(const cli_option *option)
{
    char left[64];
    option_left(option, left, sizeof left);
    const int used = printf("  %-*s ", LEFT_COLUMN, left);
    print_wrapped(used, 2 + LEFT_COLUMN + 1, option->help);
    printf("\n");
}

const cli_option *option_common(const cli_command *command, uint32_t *at)
{
    for (; *at < COMMON_COUNT; ++*at)
        if (!common_options[*at].groups || !command || (common_options[*at].groups & command->groups))
            return &common_options[(*at)++];
    return NULL;
}

/* Those that the command has a use for, by name alone. */
static void print_common(const cli_command *command)
{
    const int width = terminal_width();
    int at = 1;
    printf("\ncommon options ('backlight help options' explains them):\n ");
    const cli_option *option;
    for (uint32_t i = 0; (option = option_common(command, &i));) {
        char left[64];
        option_left(option, left, sizeof left);
        if (at + 2 + (int)strlen(left) > width)
            at = printf("\n ") - 1;
        at += printf(" %s%s", left, " ");
    }
    printf("\n");
}

void options_help(const cli_command *command)
{
    print_wrapped(printf("backlight %s: ", command->name), 4, command->summary);
    print_wrapped(printf("\n\nusage: backlight %s ", command->name) - 2, 8, command->usage);
    printf(" [OPTIONS]\n");
    if (command->option_count)
        printf("\narguments and options:\n");
    for (uint32_t i = 0; i < command->option_count; i++)
        print_option(&command->options[i]);
    print_common(command);
    print_wrapped(printf("\nexample:\n  ") - 10, 6, command->example);
    printf("\n");
}

void options_help_common(void)
{
    printf("backlight COMMAND [OPTIONS]: options that many commands have\n\n");
    for (uint32_t i = 0; i < COMMON_COUNT; i++)
        print_option(&common_options[i]);
}
