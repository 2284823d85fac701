/* SPDX-License-Identifier: BSD-3-Clause
 * backlight ir: the trace of a pass as text, also after every compiler pass, or as a graph; and its
 * SPIR-V, or its machine code. */
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if BL_HAVE_SPIRV_TOOLS
#include <spirv-tools/libspirv.h>
#endif

typedef struct arguments {
    cli_common common;
    const char *scene, *pass, *part, *output, *spirv, *dot;
    cli_names parameters;
    bool optimised, stages, disassemble, native;
} arguments;

static const char *pass_name(uint32_t k) { return bl_pass_info_get((bl_pass)k).name; }

static bl_pass pass_of(const char *name)
{
    uint32_t pass = 0;
    while (strcmp(name, pass_name(pass)) != 0)
        pass++;
    return (bl_pass)pass;
}

static int put_text(const arguments *args, const char *text)
{
    if (args->output)
        return save_file(args->output, text, strlen(text));
    fputs(text, stdout);
    return CLI_OK;
}

#if BL_HAVE_SPIRV_TOOLS
static int disassemble(const arguments *args, const uint32_t *words, size_t count)
{
    spv_context context = spvContextCreate(SPV_ENV_VULKAN_1_2);
    spv_text text = NULL;
    spv_diagnostic diagnostic = NULL;
    uint32_t flags = SPV_BINARY_TO_TEXT_OPTION_INDENT | SPV_BINARY_TO_TEXT_OPTION_FRIENDLY_NAMES;
    spv_result_t result = spvBinaryToText(context, words, count, flags, &text, &diagnostic);
    int status = result == SPV_SUCCESS
                     ? put_text(args, text->str)
                     : fail("cannot disassemble: %s",
                            diagnostic && diagnostic->error ? diagnostic->error : "no reason given");
    spvTextDestroy(text);
    spvDiagnosticDestroy(diagnostic);
    spvContextDestroy(context);
    return status;
}
#else
static int disassemble(const arguments *args, const uint32_t *words, size_t count)
{
    (void)args;
    (void)words;
    (void)count;
    return fail("this program was built without SPIRV-Tools: use --spirv FILE and spirv-dis");
}
#endif

static int put_spirv(const cli_session *session, const arguments *args, bl_job *job)
{
    uint32_t *words;
    size_t count;
    SESSION_TRY(session, bl_job_spirv(job, pass_of(args->pass), &words, &count));
    int status = args->spirv ? save_file(args->spirv, words, count * sizeof *words) : CLI_OK;
    if (status == CLI_OK && args->spirv)
        note(session->common, "%s: %zu words of SPIR-V", args->spirv, count);
    if (status == CLI_OK && args->disassemble)
        status = disassemble(args, words, count);
    free(words);
    return status;
}

static int put_machine_code(const cli_session *session, const arguments *args, bl_job *job)
{
    char *text;
    SESSION_TRY(session, bl_job_machine_code(job, pass_of(args->pass), &text));
    int status = put_text(args, text);
    free(text);
    return status;
}

static int put_trace(const cli_session *session, const arguments *args, bl_job *job)
{
    char *text;
    SESSION_TRY(session, bl_job_trace_text(job, pass_of(args->pass), args->optimised, &text));
    int status = put_text(args, text);
    free(text);
    return status;
}

/* Each stage under a comment, so that what lies between two of them is a trace again. */
static void add_stage(void *user, const char *stage, const char *text)
{
    char **all = user, *before = *all;
    *all = text_format("%s; ==== %s%s\n%s", before ? before : "", before ? "after " : "", stage, text);
    free(before);
}

static int put_stages(const cli_session *session, const arguments *args, bl_job *job)
{
    char *all = NULL;
    bl_result result = bl_job_trace_stages(job, pass_of(args->pass), add_stage, &all);
    int status = result == BL_OK ? put_text(args, all) : session_fail(session, result);
    free(all);
    return status;
}

static int put_graph(const cli_session *session, const arguments *args, bl_job *job)
{
    char *text;
    SESSION_TRY(session, bl_job_trace_graph(job, pass_of(args->pass), args->optimised, &text));
    int status = save_file(args->dot, text, strlen(text));
    free(text);
    return status;
}

static int create_job(const cli_session *session, const arguments *args, bl_job **job)
{
    bl_pass pass = pass_of(args->pass);
    bl_job_desc desc = {.frozen = pass == BL_PASS_FROZEN};
    const char **names = NULL;
    int status = CLI_OK;
    if (bl_pass_info_get(pass).gradient)
        status = session_choose_parameters(session, &args->parameters, &names, &desc.parameter_count);
    desc.parameters = names;
    if (status == CLI_OK)
        status = session_create_job(session, desc, job);
    free(names);
    return status;
}

/* Chooses the part of a split job. */
static int choose_part(const cli_session *session, const arguments *args, bl_job *job)
{
    const char *name = NULL;
    uint32_t part = 0;
    while ((name = bl_job_part_name(job, pass_of(args->pass), part)) && strcmp(name, args->part) != 0)
        part++;
    if (!name)
        return fail("--part: the pass %s of this job is in one part", args->pass);
    SESSION_TRY(session, bl_job_show_part(job, part));
    return CLI_OK;
}

static int with_job(const cli_session *session, const arguments *args)
{
    bl_job *job;
    CLI_TRY(create_job(session, args, &job));
    bool words = args->spirv || args->disassemble;
    int status = args->part ? choose_part(session, args, job) : CLI_OK;
    if (status == CLI_OK && args->dot)
        status = put_graph(session, args, job);
    if (status == CLI_OK && words)
        status = put_spirv(session, args, job);
    else if (status == CLI_OK && args->native)
        status = put_machine_code(session, args, job);
    else if (status == CLI_OK && args->stages)
        status = put_stages(session, args, job);
    else if (status == CLI_OK && !args->dot)
        status = put_trace(session, args, job);
    bl_job_destroy(job);
    return status;
}

static int show(cli_session *session, const arguments *args)
{
    CLI_TRY(session_open(session, &args->common, args->scene));
    if (args->output)
        CLI_TRY(check_writable(args->output));
    if (args->spirv)
        CLI_TRY(check_writable(args->spirv));
    if (args->dot)
        CLI_TRY(check_writable(args->dot));
    CLI_TRY(session_open_device(session));
    return with_job(session, args);
}

static int run(void *argument)
{
    cli_session session = {0};
    arguments *args = argument;
    args->common.compile_only = true;
    if (args->native && !args->common.device)
        args->common.device = "native";
    int status = show(&session, args);
    session_close(&session);
    return status;
}

// clang-format off
#define FIELD(name) offsetof(arguments, name)
static const cli_option options[] = {
    {.name = "SCENE", .kind = CLI_POSITIONAL, .offset = FIELD(scene),
     .help = "a scene of Mitsuba 3 (XML) or in glTF 2.0 (.gltf, .glb)", .required = true},
    {.name = "--pass", .kind = CLI_TEXT, .value = "PASS", .offset = FIELD(pass),
     .help = "the kernel: primal, gradient (fused), its two halves replay and adjoint, forward, frozen, or "
             "one that prepares them (update, tables, geometry, ..); any other word lists all",
     .required = true, .choice = pass_name},
    {.name = "--param", .kind = CLI_NAMES, .value = "NAME", .offset = FIELD(parameters),
     .help = "parameters of gradient and forward passes (default: all that have one)"},
    {.name = "--part", .kind = CLI_TEXT, .value = "NAME", .offset = FIELD(part),
     .help = "of a job that needs two kernels of the pass: shapes (the default), what moves, or others",
     .choices = "shapes|others"},
    {.name = "--optimised", .kind = CLI_FLAG, .offset = FIELD(optimised),
     .help = "the trace as it goes to code generation, not as recorded"},
    {.name = "--stages", .kind = CLI_FLAG, .offset = FIELD(stages),
     .help = "the trace as recorded and after each compiler pass"},
    {.name = "--dot", .kind = CLI_TEXT, .value = "FILE", .offset = FIELD(dot),
     .help = "write the trace (with --optimised the optimised one) as a graph for Graphviz instead"},
    {.name = "--spirv", .kind = CLI_TEXT, .value = "FILE", .offset = FIELD(spirv),
     .help = "write the SPIR-V module instead"},
    {.name = "--disassemble", .kind = CLI_FLAG, .offset = FIELD(disassemble),
     .help = "print the SPIR-V as text instead"},
    {.name = "--native", .kind = CLI_FLAG, .offset = FIELD(native),
     .help = "print the machine code of the device native instead, beside the trace (BL_NATIVE=avx2: that of "
             "narrower vectors)"},
    {.name = "--precision", .kind = CLI_TEXT, .value = "HOW", .offset = FIELD(common.precision),
     .help = "single (the default), or double: what a job in double precision runs",
     .choices = "single|double"},
    {.name = "--output", .letter = 'o', .kind = CLI_TEXT, .value = "FILE", .offset = FIELD(output),
     .help = "text to a file instead of standard output"},
};
// clang-format on
const cli_command command_ir = {
    .name = "ir",
    .summary = "the trace of a pass, or its SPIR-V or machine code",
    .usage = "SCENE --pass PASS",
    .example = "backlight ir assets/cornell/scene.xml --pass primal --optimised\n"
               "  backlight ir assets/cornell/scene.xml --pass gradient --native",
    CLI_OPTIONS(options),
    .groups = CLI_SCENE | CLI_GRADIENTS | CLI_DEVICE,
    .arguments_size = sizeof(arguments),
    .run = run,
};
