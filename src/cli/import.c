/* SPDX-License-Identifier: BSD-3-Clause
 * backlight import: what others made as what Backlight works on, by what the input is: a folder of
 * photographs with cameras as a scene with a radiance field and a fit job for it, a glTF file as a scene
 * file. */
#include "import.h"

#include <stdlib.h>
#include <string.h>

typedef struct arguments {
    cli_common common;
    const char *input, *output, *sh_degree;
    cli_names bounds, background;
    uint32_t resolution, steps, batch, held_out;
} arguments;

/* Exactly `count` numbers, or none. */
static int take_numbers(const cli_names *given, const char *option, uint32_t count, double *out)
{
    if (given->count != 0 && given->count != count)
        return usage_error("import", "%s: %u numbers, not %u", option, count, given->count);
    for (uint32_t k = 0; k < given->count; k++)
        out[k] = strtod(given->items[k], NULL);
    return CLI_OK;
}

static int set_box(const arguments *args, import_set *set)
{
    if (!args->bounds.count)
        CLI_TRY(import_find_box(args->input, set));
    for (int k = 0; k < 3; k++)
        if (!(set->box[3 + k] > set->box[k]))
            return usage_error("import", "--bounds: the least x y z, then the most");
    return import_check_box(args->input, set);
}

static bool ends_in(const char *path, const char *ending)
{
    size_t length = strlen(path), tail = strlen(ending);
    return length > tail && !strcmp(path + length - tail, ending) && path[length - tail - 1] != '/';
}

static int import_photographs(const arguments *args, const cli_session *session, import_set *set)
{
    import_options o = {
        .output = args->output,
        .sh_degree = args->sh_degree ? (uint32_t)(*args->sh_degree - '0') : 1,
        .resolution = args->resolution ? args->resolution : 64,
        .steps = args->steps ? args->steps : 2400,
        .batch = args->batch ? args->batch : 4096,
        .background = {1, 1, 1},
    };
    CLI_TRY(take_numbers(&args->bounds, "--bounds", 6, set->box));
    CLI_TRY(take_numbers(&args->background, "--background", 3, o.background));
    CLI_TRY(import_read(session, args->input, args->held_out ? args->held_out : 20, set));
    CLI_TRY(set_box(args, set));
    CLI_TRY(import_write(set, &o));
    note(&args->common, "%u photographs of %u x %u pixels, and %u held out; bounds %g %g %g to %g %g %g",
         set->frame_count - set->held_out_count, set->camera.width, set->camera.height, set->held_out_count,
         set->box[0], set->box[1], set->box[2], set->box[3], set->box[4], set->box[5]);
    return CLI_OK;
}

static int check_scene(const arguments *args)
{
    if (!ends_in(args->output, ".xml"))
        return usage_error("import", "-o %s: the name of a scene ends in .xml", args->output);
    if (args->bounds.count || args->background.count || args->sh_degree || args->resolution || args->steps ||
        args->batch || args->held_out)
        return usage_error("import",
                           "%s is no folder of photographs, which --bounds, --background, --sh-degree, "
                           "--resolution, --steps, --batch and --held-out are for",
                           args->input);
    return CLI_OK;
}

static int check_photographs(const arguments *args)
{
    if (!ends_in(args->output, ".json"))
        return usage_error("import", "-o %s: the name of a fit job ends in .json", args->output);
    return CLI_OK;
}

static int run(void *argument)
{
    const arguments *args = argument;
    const bool scene = is_file(args->input);
    import_set set = {0};
    cli_session session = {0};
    CLI_TRY(scene ? check_scene(args) : check_photographs(args));
    CLI_TRY(check_writable(args->output));
    int status = session_open_files(&session, &args->common);
    if (status == CLI_OK)
        status = scene ? import_scene(&session, args->input, args->output)
                       : import_photographs(args, &session, &set);
    import_free(&set);
    session_close(&session);
    return status;
}

// clang-format off
#define FIELD(name) offsetof(arguments, name)
static const cli_option options[] = {
    {.name = "INPUT", .kind = CLI_POSITIONAL, .offset = FIELD(input), .required = true,
     .help = "a scene in glTF 2.0 (.gltf, .glb); or a folder of photographs with transforms_train.json and "
             "transforms_test.json (NeRF synthetic) or transforms.json (Instant-NGP; every 8th frame is held "
             "out), which the options below are for"},
    {.name = "--output", .letter = 'o', .kind = CLI_TEXT, .value = "FILE", .offset = FIELD(output),
     .help = "of a scene: the scene, FILE.xml, with meshes and textures in FILE_files beside it; of "
             "photographs: the fit job, FILE.json, with its scene, FILE.xml, beside it", .required = true},
    {.name = "--bounds", .kind = CLI_NUMBERS, .value = "X", .offset = FIELD(bounds),
     .help = "six numbers, x0 y0 z0 x1 y1 z1: the box of the field (default: a cube around what the cameras "
             "look at)"},
    {.name = "--background", .kind = CLI_NUMBERS, .value = "C", .offset = FIELD(background),
     .help = "three numbers, linear: the colour behind the field and behind images with alpha (default: "
             "1 1 1)"},
    {.name = "--resolution", .kind = CLI_COUNT, .value = "N", .offset = FIELD(resolution),
     .help = "voxels along each side in the last stage (default: 64; those before have 1/4 and 1/2)"},
    {.name = "--sh-degree", .kind = CLI_TEXT, .value = "N", .offset = FIELD(sh_degree),
     .help = "of the spherical harmonics of colour, 0 to 2 (default: 1)", .choices = "0|1|2"},
    {.name = "--steps", .kind = CLI_COUNT, .value = "N", .offset = FIELD(steps),
     .help = "of all stages (default: 2400)"},
    {.name = "--batch", .kind = CLI_COUNT, .value = "N", .offset = FIELD(batch),
     .help = "pixels of a step, from all photographs (default: 4096)"},
    {.name = "--held-out", .kind = CLI_COUNT, .value = "N", .offset = FIELD(held_out),
     .help = "at most so many photographs are held out, evenly spread (default: 20)"},
};
// clang-format on
const cli_command command_import = {
    .name = "import",
    .summary = "make a scene of a glTF file, or a fit job of photographs with cameras",
    .usage = "INPUT -o FILE",
    .example = "backlight import chair.glb -o chair.xml && backlight render chair.xml -o chair.png",
    CLI_OPTIONS(options),
    .groups = CLI_SCENE,
    .arguments_size = sizeof(arguments),
    .run = run,
};
