/* SPDX-License-Identifier: BSD-3-Clause
 * The program `backlight`: a table of commands. Results go to files and standard output, everything else to
 * standard error; exit status 0 success, 1 failed work, 2 wrong usage. */
#include "cli.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const cli_command *const commands[] = {
    &command_devices, &command_render, &command_params, &command_grad, &command_check,   &command_import,
    &command_fit,     &command_design, &command_bench,  &command_ir,   &command_compile, &command_plugins};
enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

static void print_help(FILE *to)
{
    fprintf(to,
            "Backlight %s: renders Mitsuba 3 scenes and their gradients, and fits scenes to pictures.\n\n"
            "usage: backlight COMMAND [ARGUMENTS]\n\ncommands:\n",
            BL_VERSION_TEXT);
    for (uint32_t i = 0; i < COMMAND_COUNT; i++)
        fprintf(to, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    fprintf(
        to,
        "\n'backlight COMMAND --help' explains a command, 'backlight help options' the options that many "
        "have.\n"
        "'backlight help man [COMMAND]' prints a manual page, 'backlight help bash' (zsh, fish) completion.\n"
        "'backlight --version' prints the version.\n");
}

static int unknown_command(const char *name)
{
    const char *names[COMMAND_COUNT + 1] = {0};
    for (uint32_t i = 0; i < COMMAND_COUNT; i++)
        names[i] = commands[i]->name;
    const char *near = nearest_name(name, names);
    fprintf(stderr, "backlight: no command '%s'%s%s%s\n", name, near ? " (did you mean '" : "",
            near ? near : "", near ? "'?)" : "");
    fprintf(stderr, "Commands: ");
    for (uint32_t i = 0; i < COMMAND_COUNT; i++)
        fprintf(stderr, "%s%s", i ? ", " : "", commands[i]->name);
    fprintf(stderr, ". Try 'backlight --help'.\n");
    return CLI_USAGE;
}

/* Also where the command line is wrong elsewhere. */
static bool wants_json(int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (!strcmp(argv[i], "--json"))
            return true;
    return false;
}

static void print_error(int status)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "error", last_error());
    cJSON_AddNumberToObject(json, "status", status);
    print_json(json);
    cJSON_Delete(json);
}

static int run_command(const cli_command *command, int argc, char **argv)
{
    void *arguments = memory_or_exit(command->arguments_size);
    int status = options_parse(command, argc, argv, arguments);
    if (status == CLI_OK) {
        if (((const cli_common *)arguments)->help)
            options_help(command);
        else
            status = command->run(arguments);
    }
    if (status == CLI_FAILED && interrupted())
        status = interrupt_status();
    if (status != CLI_OK && wants_json(argc, argv) && !json_printed())
        print_error(status);
    options_free(command, arguments);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "backlight: cannot write to standard output\n");
        status = status ? status : CLI_FAILED;
    }
    return status;
}

int main(int argc, char **argv)
{
    /* A node that could not be made would be a field that is missing, and nobody would know. */
    cJSON_InitHooks(&(cJSON_Hooks){.malloc_fn = memory_or_exit, .free_fn = free});
    if (argc < 2) {
        print_help(stderr);
        return CLI_USAGE;
    }
    const char *name = argv[1];
    if (!strcmp(name, "--version")) {
        printf("backlight %s\n", BL_VERSION_TEXT);
        return CLI_OK;
    }
    bool help = !strcmp(name, "help");
    if (!strcmp(name, "--help") || !strcmp(name, "-h") || (help && argc == 2)) {
        print_help(stdout);
        return CLI_OK;
    }
    if (help)
        name = argv[2];
    if (help && !strcmp(name, "options")) {
        options_help_common();
        return CLI_OK;
    }
    if (help && manual_print(commands, COMMAND_COUNT, name, argc > 3 ? argv[3] : NULL))
        return CLI_OK;
    for (uint32_t i = 0; i < COMMAND_COUNT; i++)
        if (!strcmp(name, commands[i]->name)) {
            if (!help)
                return run_command(commands[i], argc - 2, argv + 2);
            options_help(commands[i]);
            return CLI_OK;
        }
    return unknown_command(name);
}
