/* SPDX-License-Identifier: BSD-3-Clause
 * Manual pages (man(7)) and completion for bash, zsh and fish, from the same tables that parse command lines.
 * The build writes them, and installs them where shells and man look. */
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct command_list {
    const cli_command *const *items;
    uint32_t count;
} command_list;

/* ---- man ---- */

/* Text of a page: no dot or quote begins a line, and a hyphen can be copied. */
static void roff(const char *text)
{
    for (; *text; text++)
        if (*text == '-')
            printf("\\-");
        else if (*text == '\\')
            printf("\\e");
        else
            putchar(*text);
}

static void roff_option(const cli_option *option)
{
    char left[64];
    option_left(option, left, sizeof left);
    printf(".TP\n\\fB");
    roff(left);
    printf("\\fR\n\\&");
    roff(option->help);
    char *choices = option_choices(option);
    if (choices && option->choices) {
        printf(" (");
        roff(choices);
        printf(")");
    }
    free(choices);
    printf("\n");
}

static void man_head(const char *name, const char *summary)
{
    printf(".TH \"%s\" 1 \"\" \"Backlight %s\" \"Backlight\"\n.SH NAME\n", name, BL_VERSION_TEXT);
    roff(name);
    printf(" \\- ");
    roff(summary);
    printf("\n.SH SYNOPSIS\n");
}

static void man_command(const cli_command *command)
{
    char name[64];
    snprintf(name, sizeof name, "backlight-%s", command->name);
    man_head(name, command->summary);
    printf("\\fBbacklight %s\\fR ", command->name);
    roff(command->usage);
    printf(" [OPTIONS]\n.SH OPTIONS\n");
    for (uint32_t i = 0; i < command->option_count; i++)
        roff_option(&command->options[i]);
    printf(".SH \"COMMON OPTIONS\"\n");
    const cli_option *option;
    for (uint32_t i = 0; (option = option_common(command, &i));)
        roff_option(option);
    printf(".SH EXAMPLE\n.nf\n");
    roff(command->example);
    printf(
        "\n.fi\n.SH \"EXIT STATUS\"\n0 success, 1 failed work, 2 wrong usage, 130 after Ctrl\\-C, 143 after "
        "SIGTERM.\n.SH \"SEE ALSO\"\n.BR backlight (1)\n");
}

static void man_program(const command_list *list)
{
    man_head("backlight", "renders Mitsuba 3 scenes and their gradients, and fits scenes to pictures");
    printf("\\fBbacklight\\fR COMMAND [ARGUMENTS]\n.SH COMMANDS\n");
    for (uint32_t i = 0; i < list->count; i++) {
        printf(".TP\n.BR backlight\\-%s (1)\n", list->items[i]->name);
        roff(list->items[i]->summary);
        printf("\n");
    }
    printf(".SH \"COMMON OPTIONS\"\n");
    const cli_option *option;
    for (uint32_t i = 0; (option = option_common(NULL, &i));)
        roff_option(option);
}

/* ---- completion ---- */

/* An option of the command, its own first; NULL past the last. */
static const cli_option *next_option(const cli_command *command, uint32_t *own, uint32_t *common)
{
    while (*own < command->option_count) {
        const cli_option *option = &command->options[(*own)++];
        if (option->kind != CLI_POSITIONAL)
            return option;
    }
    return option_common(command, common);
}

static void words_of(const cli_option *option)
{
    char *choices = option_choices(option);
    for (char *c = choices; c && *c; c++)
        putchar(*c == '|' ? ' ' : *c);
    free(choices);
}

static void bash_command(const cli_command *command)
{
    const cli_option *option;
    printf("    %s)\n        case $before in\n", command->name);
    for (uint32_t own = 0, common = 0; (option = next_option(command, &own, &common));) {
        if (!option->choices && !option->choice)
            continue;
        printf("        %s) words='", option->name);
        words_of(option);
        printf("' ;;\n");
    }
    printf("        *) words='");
    for (uint32_t own = 0, common = 0; (option = next_option(command, &own, &common));) {
        printf("%s ", option->name);
        if (option->letter)
            printf("-%c ", option->letter);
    }
    printf("' ;;\n        esac ;;\n");
}

static void bash(const command_list *list)
{
    printf("# Completion of backlight for bash, written from its tables of options.\n"
           "_backlight() {\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words=\n"
           "    if [ \"$COMP_CWORD\" = 1 ]; then\n        COMPREPLY=($(compgen -W '");
    for (uint32_t i = 0; i < list->count; i++)
        printf("%s ", list->items[i]->name);
    printf("help' -- \"$word\"))\n        return\n    fi\n    case ${COMP_WORDS[1]} in\n");
    for (uint32_t i = 0; i < list->count; i++)
        bash_command(list->items[i]);
    printf("    esac\n"
           "    case $word in\n    -*) ;;\n"
           "    *) case $words in -*) words= ;; esac ;;\n    esac\n" /* a file, unless an option begins */
           "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
           "    if [ -z \"$words\" ]; then COMPREPLY=($(compgen -f -- \"$word\")); fi\n}\n"
           "complete -o filenames -F _backlight backlight\n");
}

/* In single quotes of a shell; zsh's _arguments ends a description at a bracket, and takes colons as its
 * own. */
static void quoted(const char *text, bool zsh)
{
    for (; *text; text++)
        if (*text == '\'')
            printf("'\\''");
        else if (zsh && strchr("[]:\\", *text))
            printf("\\%c", *text);
        else
            putchar(*text);
}

static void zsh_option(const cli_option *option)
{
    const bool flag = option->kind == CLI_FLAG;
    for (int form = 0; form < (option->letter ? 2 : 1); form++) {
        const char letter[3] = {'-', option->letter, 0};
        printf("        '*%s[", form ? letter : option->name);
        quoted(option->help, true);
        printf("]");
        if (!flag) {
            printf(":%s:", option->value);
            char *choices = option_choices(option);
            printf(choices ? "(" : "_files");
            free(choices);
            words_of(option);
            printf(option->choices || option->choice ? ")" : "");
        }
        printf("' \\\n");
    }
}

static void zsh(const command_list *list)
{
    const cli_option *option;
    printf("#compdef backlight\n# Completion of backlight for zsh, written from its tables of options.\n"
           "if (( CURRENT == 2 )); then\n    local -a commands=(\n");
    for (uint32_t i = 0; i < list->count; i++) {
        printf("        '%s:", list->items[i]->name);
        quoted(list->items[i]->summary, true);
        printf("'\n");
    }
    printf("    )\n    _describe command commands\n    return\nfi\n"
           "local command=$words[2]\nshift words; (( CURRENT-- ))\ncase $command in\n");
    for (uint32_t i = 0; i < list->count; i++) {
        printf("    %s)\n        _arguments \\\n", list->items[i]->name);
        for (uint32_t own = 0, common = 0; (option = next_option(list->items[i], &own, &common));)
            zsh_option(option);
        printf("        '*:file:_files' ;;\n");
    }
    printf("esac\n");
}

static void fish(const command_list *list)
{
    const cli_option *option;
    printf("# Completion of backlight for fish, written from its tables of options.\n");
    for (uint32_t i = 0; i < list->count; i++) {
        const cli_command *command = list->items[i];
        printf("complete -c backlight -n __fish_use_subcommand -f -a %s -d '", command->name);
        quoted(command->summary, false);
        printf("'\n");
        for (uint32_t own = 0, common = 0; (option = next_option(command, &own, &common));) {
            printf("complete -c backlight -n '__fish_seen_subcommand_from %s'", command->name);
            if (option->name[1] == '-')
                printf(" -l %s", option->name + 2);
            else
                printf(" -s %c", option->name[1]);
            if (option->letter)
                printf(" -s %c", option->letter);
            if (option->kind != CLI_FLAG)
                printf(" -r");
            if (option->choices || option->choice) {
                printf(" -f -a '");
                words_of(option);
                printf("'");
            }
            printf(" -d '");
            quoted(option->help, false);
            printf("'\n");
        }
    }
}

bool manual_print(const cli_command *const *commands, uint32_t count, const char *what, const char *command)
{
    const command_list list = {.items = commands, .count = count};
    for (uint32_t i = 0; i < count && command; i++)
        if (!strcmp(what, "man") && !strcmp(commands[i]->name, command)) {
            man_command(commands[i]);
            return true;
        }
    if (command)
        return false;
    static const struct {
        const char *name;
        void (*print)(const command_list *list);
    } kinds[] = {{"man", man_program}, {"bash", bash}, {"zsh", zsh}, {"fish", fish}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (!strcmp(what, kinds[k].name)) {
            kinds[k].print(&list);
            return true;
        }
    return false;
}
