/* SPDX-License-Identifier: BSD-3-Clause
 * backlight plugins: what scenes are made of, from the tables that the loader itself reads: for people, for
 * programs, and as docs/plugins.md. */
#include "cli.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct arguments {
    cli_common common;
    const char *name, *output;
    bool markdown;
} arguments;

typedef struct plugin {
    uint32_t index;
    bl_plugin_info info;
} plugin;

typedef struct listing {
    const bl_context *ctx;
    plugin *plugins; /* by category, then those that are available, then by name */
    uint32_t count;
} listing;

static int compare(const void *a, const void *b)
{
    const bl_plugin_info *x = &((const plugin *)a)->info, *y = &((const plugin *)b)->info;
    int order = strcmp(x->category, y->category);
    order = order ? order : (int)y->available - (int)x->available;
    return order ? order : strcmp(x->name, y->name);
}

/* All but the scene itself, which has no parameters. */
static listing list_plugins(const bl_context *ctx)
{
    uint32_t count = bl_plugin_count(ctx);
    listing l = {.ctx = ctx, .plugins = memory_or_exit((count + 1) * sizeof *l.plugins)};
    for (uint32_t i = 0; i < count; i++) {
        plugin *p = &l.plugins[l.count];
        p->index = i;
        if (bl_plugin_info_at(ctx, i, &p->info) == BL_OK && strcmp(p->info.category, "scene") != 0)
            l.count++;
    }
    qsort(l.plugins, l.count, sizeof *l.plugins, compare);
    return l;
}

static bl_plugin_parameter parameter_at(const listing *l, const plugin *p, uint32_t k)
{
    bl_plugin_parameter parameter = {0};
    if (bl_plugin_parameter_at(l->ctx, p->index, k, &parameter) != BL_OK)
        abort(); /* k is below the count that the library gave */
    return parameter;
}

static bl_plugin_slot slot_at(const listing *l, const plugin *p, uint32_t k)
{
    bl_plugin_slot slot = {0};
    if (bl_plugin_slot_at(l->ctx, p->index, k, &slot) != BL_OK)
        abort();
    return slot;
}

/* ---- texts that people and docs share ---- */

/* How a parameter is called in gradients: "" if it has none. Rotates through a few static buffers. */
static const char *gradient_name(const bl_plugin_parameter *p)
{
    static char buffers[2][128];
    static int next;
    if (!p->differentiable)
        return "";
    char *out = buffers[next++ % 2];
    snprintf(out, sizeof buffers[0], "%s%s", p->name,
             strstr(p->type, "texture")  ? ".value"
             : strstr(p->type, "volume") ? ".value.value"
                                         : "");
    return out;
}

static const char *default_of(const bl_plugin_parameter *p)
{
    return p->required ? "required" : p->preset ? p->preset : "none";
}

static void print_slots(FILE *to, const listing *l, const plugin *p)
{
    for (uint32_t k = 0; k < p->info.slots; k++) {
        bl_plugin_slot s = slot_at(l, p, k);
        fprintf(to, "%s%s (%u", k ? ", " : "", s.category, s.least);
        if (s.most == 0)
            fprintf(to, " or more)");
        else if (s.most != s.least)
            fprintf(to, " to %u)", s.most);
        else
            fprintf(to, ")");
    }
}

/* ---- for people ---- */

/* Of all kinds, or of one. */
static void print_overview(FILE *to, const listing *l, const char *kind)
{
    for (uint32_t i = 0; i < l->count; i++) {
        const bl_plugin_info *p = &l->plugins[i].info;
        if (kind && strcmp(p->category, kind) != 0)
            continue;
        if (i == 0 || strcmp(p->category, l->plugins[i - 1].info.category) != 0)
            fprintf(to, "%s%s\n", i && !kind ? "\n" : "", p->category);
        fprintf(to, "  %-18s %s%s\n", p->name, p->available ? "" : "- ", p->help);
    }
    fprintf(to, "\n'backlight plugins NAME' lists the parameters of one.\n");
}

static void print_plugin(FILE *to, const listing *l, const plugin *p)
{
    fprintf(to, "%s %s: %s\n", p->info.category, p->info.name, p->info.help);
    if (p->info.slots) {
        fprintf(to, "  holds ");
        print_slots(to, l, p);
        fprintf(to, "\n");
    }
    for (uint32_t k = 0; k < p->info.parameters; k++) {
        bl_plugin_parameter a = parameter_at(l, p, k);
        fprintf(to, "  %-24s %-18s %-12s %s%s%s%s\n", a.name, a.type, default_of(&a), a.help,
                a.differentiable ? "  [gradient: " : "", gradient_name(&a), a.differentiable ? "]" : "");
    }
    if (p->info.data)
        fprintf(to,
                "  %-24s %-18s %-12s values that the plugin makes of a file or of other parameters  "
                "[gradient: %s]\n",
                "", "", "", p->info.data);
}

/* ---- as a document ---- */

static const char document_head[] =
    "# Plugins\n\n"
    "What scenes are made of. Written by `backlight plugins --markdown -o docs/plugins.md` from the tables "
    "that the loader reads; a test compares.\n"
    "Names, defaults and meanings are those of Mitsuba 3. `backlight plugins NAME` prints the same for one "
    "plugin, `--json` for programs.\n\n"
    "*In gradients*: how the parameter is called behind the object's name, as in Mitsuba's `traverse`; empty "
    "where it is not differentiated. One that takes\n"
    "a texture has the name `NAME.value` when it is a plain number or colour, else the names of the "
    "texture's own parameters (`NAME.data` of a bitmap);\n"
    "where it takes a volume, `NAME.value.value` and `NAME.data` of a grid.\n"
    "`backlight params SCENE` lists the parameters of a scene and says of each what its gradient lacks, if "
    "anything.\n";

static void markdown_text(FILE *to, const char *text)
{
    for (; *text; text++)
        fprintf(to, *text == '|' ? "\\|" : "%c", *text);
}

static void markdown_range(FILE *to, const bl_plugin_parameter *p)
{
    if (p->least != 0 || p->most != 0)
        fprintf(to, "%.9g to %.9g", p->least, p->most);
}

static void markdown_plugin(FILE *to, const listing *l, const plugin *p)
{
    fprintf(to, "\n### `%s`\n\n", p->info.name);
    markdown_text(to, p->info.help);
    fprintf(to, ".%s", p->info.slots ? " Holds: " : "");
    print_slots(to, l, p);
    fprintf(to, "%s\n", p->info.slots ? "." : "");
    if (p->info.data)
        fprintf(to, "Further values in gradients, from a file or from several parameters: `%s`.\n",
                p->info.data);
    for (uint32_t k = 0; k < p->info.parameters; k++) {
        bl_plugin_parameter a = parameter_at(l, p, k);
        if (k == 0)
            fprintf(to,
                    "\n| parameter | type | default | range | in gradients | |\n|---|---|---|---|---|---|\n");
        fprintf(to, "| `%s` | %s | %s | ", a.name, a.type, default_of(&a));
        markdown_range(to, &a);
        fprintf(to, a.differentiable ? " | `%s` | " : " | %s | ", gradient_name(&a));
        markdown_text(to, a.help);
        fprintf(to, " |\n");
    }
}

static const struct {
    const char *name;
    unsigned bit;
} abilities[] = {
    {"image", BL_PLUGIN_IMAGE},       {"reverse", BL_PLUGIN_REVERSE}, {"forward", BL_PLUGIN_FORWARD},
    {"in media", BL_PLUGIN_IN_MEDIA}, {"moving", BL_PLUGIN_MOVING},
};
enum { ABILITIES = sizeof abilities / sizeof *abilities };

static const char abilities_head[] =
    "\n## What works\n\n"
    "From the plugins' classes. *image*: images can be made with it. *reverse*, *forward*: its parameters "
    "have "
    "gradients, and derivatives of images; an\nintegrator makes them. *in media*: it works with volumetric "
    "integrators; an integrator is one. *moving*: gradients follow what it moves, or what\nmoves it: "
    "directions "
    "that a material's lobes lead to, places of lights, shapes and cameras; an integrator has all of these. "
    "*held*: that, too, which what\nit holds can do. Empty: nothing of the kind.\n\n";

static void markdown_abilities(FILE *to, const listing *l)
{
    fputs(abilities_head, to);
    fprintf(to, "| category | plugin |");
    for (int k = 0; k < ABILITIES; k++)
        fprintf(to, " %s |", abilities[k].name);
    fprintf(to, " held |\n|---|---|");
    for (int k = 0; k < ABILITIES; k++)
        fprintf(to, "---|");
    fprintf(to, "---|\n");
    for (uint32_t i = 0; i < l->count; i++) {
        const bl_plugin_info *p = &l->plugins[i].info;
        if (!p->available)
            continue;
        fprintf(to, "| %s | `%s` |", p->category, p->name);
        for (int k = 0; k < ABILITIES; k++)
            fprintf(to, "%s |", p->abilities & abilities[k].bit ? " yes" : "");
        fprintf(to, "%s |\n", p->abilities & BL_PLUGIN_NESTED ? " yes" : "");
    }
}

static void print_markdown(FILE *to, const listing *l)
{
    fputs(document_head, to);
    markdown_abilities(to, l);
    for (uint32_t i = 0; i < l->count; i++) {
        const bl_plugin_info *p = &l->plugins[i].info;
        if (i == 0 || strcmp(p->category, l->plugins[i - 1].info.category) != 0)
            fprintf(to, "\n## %s\n", p->category);
        if (p->available) {
            markdown_plugin(to, l, &l->plugins[i]);
            continue;
        }
        bool first = i == 0 || l->plugins[i - 1].info.available ||
                     strcmp(p->category, l->plugins[i - 1].info.category) != 0;
        fprintf(to, "%s* `%s`: ", first ? "\nOf Mitsuba 3, but not here:\n\n" : "", p->name);
        markdown_text(to, p->help);
        fprintf(to, "\n");
    }
}

/* ---- for programs ---- */

static cJSON *plugin_json(const listing *l, const plugin *p)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "category", p->info.category);
    cJSON_AddStringToObject(json, "name", p->info.name);
    cJSON_AddStringToObject(json, "help", p->info.help);
    cJSON_AddBoolToObject(json, "available", p->info.available);
    if (p->info.data)
        cJSON_AddStringToObject(json, "data", p->info.data);
    cJSON *can = cJSON_AddArrayToObject(json, "abilities");
    for (int k = 0; k < ABILITIES; k++)
        if (p->info.abilities & abilities[k].bit)
            cJSON_AddItemToArray(can, cJSON_CreateString(abilities[k].name));
    cJSON *parameters = cJSON_AddArrayToObject(json, "parameters"),
          *holds = cJSON_AddArrayToObject(json, "holds");
    for (uint32_t k = 0; k < p->info.parameters; k++) {
        bl_plugin_parameter a = parameter_at(l, p, k);
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "name", a.name);
        cJSON_AddStringToObject(item, "type", a.type);
        cJSON_AddItemToObject(item, "default", a.preset ? cJSON_CreateString(a.preset) : cJSON_CreateNull());
        cJSON_AddBoolToObject(item, "required", a.required);
        cJSON_AddBoolToObject(item, "differentiable", a.differentiable);
        if (a.least != 0 || a.most != 0) {
            cJSON_AddNumberToObject(item, "least", a.least);
            cJSON_AddNumberToObject(item, "most", a.most);
        }
        cJSON_AddStringToObject(item, "help", a.help);
        cJSON_AddItemToArray(parameters, item);
    }
    for (uint32_t k = 0; k < p->info.slots; k++) {
        bl_plugin_slot s = slot_at(l, p, k);
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "category", s.category);
        cJSON_AddNumberToObject(item, "least", s.least);
        cJSON_AddNumberToObject(item, "most", s.most);
        cJSON_AddItemToArray(holds, item);
    }
    return json;
}

/* Whether it is meant: by its name, or by its kind ("bsdf"). */
static bool is_wanted(const bl_plugin_info *p, const char *name)
{
    return !name || strcmp(p->name, name) == 0 || strcmp(p->category, name) == 0;
}

/* name NULL: all. */
static void print_plugins_json(const listing *l, const char *name)
{
    cJSON *json = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(json, "plugins");
    for (uint32_t i = 0; i < l->count; i++)
        if (is_wanted(&l->plugins[i].info, name))
            cJSON_AddItemToArray(list, plugin_json(l, &l->plugins[i]));
    print_json(json);
    cJSON_Delete(json);
}

/* ---- the command ---- */

static int check_name(const listing *l, const char *name)
{
    const char **names = memory_or_exit((2 * (size_t)l->count + 1) * sizeof *names);
    bool known = false;
    for (uint32_t i = 0; i < l->count; i++) {
        names[2 * i] = l->plugins[i].info.name, names[2 * i + 1] = l->plugins[i].info.category;
        known |= is_wanted(&l->plugins[i].info, name);
    }
    const char *near = known ? NULL : nearest_name(name, names);
    free(names);
    if (known)
        return CLI_OK;
    return fail("there is no plugin \"%s\"%s%s%s", name, near ? "; did you mean \"" : "", near ? near : "",
                near ? "\"?" : "");
}

static bool is_kind(const listing *l, const char *name)
{
    for (uint32_t i = 0; i < l->count; i++)
        if (strcmp(l->plugins[i].info.category, name) == 0)
            return true;
    return false;
}

/* The text that the options ask for. */
static void print_listing(FILE *to, const listing *l, const arguments *args)
{
    if (args->markdown)
        print_markdown(to, l);
    else if (!args->name || is_kind(l, args->name))
        print_overview(to, l, args->name);
    for (uint32_t i = 0; i < l->count && args->name; i++)
        if (strcmp(l->plugins[i].info.name, args->name) == 0)
            print_plugin(to, l, &l->plugins[i]);
}

static int write_listing(const listing *l, const arguments *args)
{
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (!memory)
        return fail("out of memory");
    print_listing(memory, l, args);
    int status = fclose(memory) == 0 ? save_file(args->output, text, size) : fail("out of memory");
    free(text);
    return status;
}

static int show(const listing *l, const arguments *args)
{
    if (args->name)
        CLI_TRY(check_name(l, args->name));
    if (args->common.json)
        print_plugins_json(l, args->name);
    else if (args->output)
        return write_listing(l, args);
    else
        print_listing(stdout, l, args);
    return CLI_OK;
}

static int run(void *argument)
{
    const arguments *args = argument;
    if (args->markdown && (args->name || args->common.json))
        return usage_error("plugins", "--markdown is about all plugins, and not JSON");
    if (args->output && args->common.json)
        return usage_error("plugins", "JSON goes to standard output, not to a file");
    bl_context *context = NULL;
    if (bl_context_create(&(bl_context_desc){0}, &context) !=
        BL_OK) /* what devices there are interests nobody */
        return fail("out of memory");
    listing l = list_plugins(context);
    int status = show(&l, args);
    free(l.plugins);
    bl_context_destroy(context);
    return status;
}

// clang-format off
static const cli_option options[] = {
    {.name = "NAME", .kind = CLI_POSITIONAL, .offset = offsetof(arguments, name),
     .help = "a plugin, whose parameters are listed, or a kind, such as bsdf (default: an overview of all)"},
    {.name = "--markdown", .kind = CLI_FLAG, .offset = offsetof(arguments, markdown),
     .help = "all plugins and parameters as a document: docs/plugins.md"},
    {.name = "--output", .letter = 'o', .kind = CLI_TEXT, .value = "FILE",
     .offset = offsetof(arguments, output),
     .help = "text to a file instead of standard output"},
};
// clang-format on
const cli_command command_plugins = {
    .name = "plugins",
    .summary = "what scenes are made of: plugins and their parameters",
    .usage = "[NAME] [--markdown] [-o FILE]",
    .example = "backlight plugins dielectric",
    CLI_OPTIONS(options),
    .groups = 0,
    .arguments_size = sizeof(arguments),
    .run = run,
};
