/* SPDX-License-Identifier: BSD-3-Clause
 * XML text to a tree of raw nodes. One table of tags says which attributes each may and must have; everything
 * not listed is an error. Tags that act on the loading itself (include, default, alias, path) act when they
 * are met and leave no node, so "a default must precede its use" and "an alias must follow its source" hold
 * by construction. An included scene is spliced: its children become children of the element in which the
 * <include> stands.
 *
 * Hostile input: no DTD entities (they can grow exponentially), bounded nesting, include depth, number of
 * files, attribute length and total memory. The first error sticks, and stops the parser. */
#include "scene/scene_internal.h"

#include <expat.h>
#include <stdlib.h>
#include <string.h>

enum { NESTING_MAX = 64, INCLUDE_DEPTH_MAX = 15, FILES_MAX = 1000, FILE_BYTES_MAX = 256 << 20 };

typedef struct tag_row {
    const char *name;
    raw_kind kind;
    plugin_category category;
    const char *attributes; /* "!" = required */
} tag_row;

// clang-format off
static const tag_row tags[] = {
    {"scene",      RAW_OBJECT,    PLUGIN_SCENE,      "type id name version"},
    {"bsdf",       RAW_OBJECT,    PLUGIN_BSDF,       "!type id name"},
    {"emitter",    RAW_OBJECT,    PLUGIN_EMITTER,    "!type id name"},
    {"film",       RAW_OBJECT,    PLUGIN_FILM,       "!type id name"},
    {"integrator", RAW_OBJECT,    PLUGIN_INTEGRATOR, "!type id name"},
    {"medium",     RAW_OBJECT,    PLUGIN_MEDIUM,     "!type id name"},
    {"phase",      RAW_OBJECT,    PLUGIN_PHASE,      "!type id name"},
    {"rfilter",    RAW_OBJECT,    PLUGIN_RFILTER,    "!type id name"},
    {"sampler",    RAW_OBJECT,    PLUGIN_SAMPLER,    "!type id name"},
    {"sensor",     RAW_OBJECT,    PLUGIN_SENSOR,     "!type id name"},
    {"shape",      RAW_OBJECT,    PLUGIN_SHAPE,      "!type id name"},
    {"texture",    RAW_OBJECT,    PLUGIN_TEXTURE,    "!type id name"},
    {"volume",     RAW_OBJECT,    PLUGIN_VOLUME,     "!type id name"},
    {"field",      RAW_OBJECT,    PLUGIN_FIELD,      "!type id name"},
    {"float",      RAW_FLOAT,     0, "!name !value"},
    {"integer",    RAW_INTEGER,   0, "!name !value"},
    {"boolean",    RAW_BOOLEAN,   0, "!name !value"},
    {"string",     RAW_STRING,    0, "!name !value"},
    {"point",      RAW_POINT,     0, "!name value x y z"},
    {"vector",     RAW_POINT,     0, "!name value x y z"},
    {"rgb",        RAW_RGB,       0, "!name !value"},
    {"spectrum",   RAW_SPECTRUM,  0, "!name value filename"},
    {"transform",  RAW_TRANSFORM, 0, "!name"},
    {"translate",  RAW_TRANSLATE, 0, "value x y z"},
    {"scale",      RAW_SCALE,     0, "value x y z"},
    {"rotate",     RAW_ROTATE,    0, "!angle value x y z"},
    {"lookat",     RAW_LOOKAT,    0, "!origin !target up"},
    {"matrix",     RAW_MATRIX,    0, "!value"},
    {"ref",        RAW_REF,       0, "!id name"},
    {"include",    RAW_INCLUDE,   0, "!filename name"},
    {"alias",      RAW_ALIAS,     0, "!id !as"},
    {"default",    RAW_DEFAULT,   0, "!name !value"},
    {"path",       RAW_PATH,      0, "!value"},
};
// clang-format on
enum { TAG_COUNT = sizeof tags / sizeof tags[0] };
static const char spectrum_plugin_attributes[] = "!type id name";

typedef struct xml_file {
    raw_scene *scene;
    XML_Parser parser;
    const char *name, *folder;
    raw_node *current; /* innermost open element */
    raw_node *attach;  /* where an included file's content goes; NULL: this is the scene file */
    const char *attach_name;
    uint32_t include_depth;
    bool old, text_warned;
    bl_result result;
    bl_error *err;
} xml_file;

static bl_result parse_file(raw_scene *scene, xml_file *file, const char *xml, size_t size);

static scene_place here(const xml_file *file)
{
    return (scene_place){file->name, (uint32_t)XML_GetCurrentLineNumber(file->parser)};
}

/* ---- attributes ---- */

/* Whether the list of allowed attributes has `name`; *required says whether it must be there. */
static bool attribute_listed(const char *list, const char *name)
{
    size_t length = strlen(name);
    while (*list) {
        const char *word = list + (*list == '!');
        size_t word_length = strcspn(word, " ");
        if (word_length == length && memcmp(word, name, length) == 0)
            return true;
        list = word + word_length + (word[word_length] == ' ');
    }
    return false;
}

static bl_result check_attributes(const raw_node *node, const char *list, bl_error *err)
{
    for (uint32_t i = 0; i < node->attribute_count; i++)
        if (!attribute_listed(list, node->attributes[i].name))
            return scene_error(err, BL_ERROR_SCENE, node->where, "unexpected attribute \"%.100s\" in <%s>",
                               node->attributes[i].name, node->tag);
    while (*list) {
        const char *word = list + (*list == '!');
        size_t length = strcspn(word, " ");
        bool found = *list != '!';
        for (uint32_t i = 0; i < node->attribute_count && !found; i++)
            found = strlen(node->attributes[i].name) == length &&
                    memcmp(node->attributes[i].name, word, length) == 0;
        if (!found)
            return scene_error(err, BL_ERROR_SCENE, node->where, "missing attribute \"%.*s\" in <%s>",
                               (int)length, word, node->tag);
        list = word + length + (word[length] == ' ');
    }
    return BL_OK;
}

static bl_result read_attributes(xml_file *file, raw_node *node, const XML_Char **pairs)
{
    uint32_t count = 0;
    while (pairs[2 * count])
        count++;
    raw_attribute *attributes = arena_alloc(file->scene->memory, count * sizeof *attributes);
    for (uint32_t i = 0; i < count; i++) {
        attributes[i].name = arena_strdup(file->scene->memory, pairs[2 * i]);
        TRY(raw_substitute(file->scene, node->where, pairs[2 * i + 1], &attributes[i].value, file->err));
    }
    node->attributes = attributes;
    node->attribute_count = count;
    node->name = raw_attribute_get(node, "name");
    if (node->name && node->name[0] == 0)
        node->name = NULL;
    return BL_OK;
}

/* ---- tags ---- */

static const tag_row *find_tag(const char *name)
{
    for (uint32_t i = 0; i < TAG_COUNT; i++)
        if (strcmp(tags[i].name, name) == 0)
            return &tags[i];
    return NULL;
}

static bl_result unknown_tag(scene_place where, const char *name, bl_error *err)
{
    const char *names[TAG_COUNT];
    for (uint32_t i = 0; i < TAG_COUNT; i++)
        names[i] = tags[i].name;
    uint32_t distance = UINT32_MAX;
    const char *nearest = name_nearest(name, names, TAG_COUNT, &distance);
    if (nearest)
        return scene_error(err, BL_ERROR_SCENE, where, "unknown element <%.100s>; did you mean <%s>?", name,
                           nearest);
    return scene_error(err, BL_ERROR_SCENE, where, "unknown element <%.100s>", name);
}

static bool is_transform_step(raw_kind kind) { return kind >= RAW_TRANSLATE && kind <= RAW_MATRIX; }

/* What may stand inside what. */
static bl_result check_parent(const raw_node *node, bl_error *err)
{
    const raw_node *parent = node->parent;
    if (parent->kind == RAW_TRANSFORM && !is_transform_step(node->kind))
        return scene_error(err, BL_ERROR_SCENE, node->where, "<%s> cannot stand inside a <transform>",
                           node->tag);
    if (parent->kind == RAW_OBJECT && is_transform_step(node->kind))
        return scene_error(err, BL_ERROR_SCENE, node->where, "<%s> can only stand inside a <transform>",
                           node->tag);
    if (parent->kind != RAW_OBJECT && parent->kind != RAW_TRANSFORM)
        return scene_error(err, BL_ERROR_SCENE, node->where,
                           "<%s> cannot stand inside <%s>, which is a property", node->tag, parent->tag);
    if (node->kind == RAW_OBJECT && node->category == PLUGIN_SCENE)
        return scene_error(err, BL_ERROR_SCENE, node->where, "<scene> can only be the outermost element");
    if (node->kind == RAW_PATH && parent->parent && !parent->splice)
        return scene_error(err, BL_ERROR_SCENE, node->where,
                           "<path> can only be a child of the outermost element");
    return BL_OK;
}

static bl_result read_version(xml_file *file, const raw_node *root)
{
    const char *version = raw_attribute_get(root, "version");
    if (!version)
        return scene_error(file->err, BL_ERROR_SCENE, root->where,
                           "missing attribute \"version\" in <%s>, the outermost element", root->tag);
    unsigned major, minor, patch;
    int used = 0;
    if (strlen(version) > 20 || sscanf(version, "%3u.%3u.%3u%n", &major, &minor, &patch, &used) != 3 ||
        version[used] != 0)
        return scene_error(file->err, BL_ERROR_SCENE, root->where,
                           "\"%.40s\" is not a version; expected one like \"3.0.0\"", version);
    if (major > 3)
        return scene_error(file->err, BL_ERROR_UNSUPPORTED, root->where,
                           "scene version %s is newer than this program knows", version);
    file->old = major < 2;
    return BL_OK;
}

/* ---- tags that act at once ---- */

static bl_result include(xml_file *file, const raw_node *node)
{
    raw_scene *scene = file->scene;
    const char *name = raw_attribute_get(node, "filename");
    if (file->include_depth >= INCLUDE_DEPTH_MAX)
        return scene_error(file->err, BL_ERROR_SCENE, node->where, "includes are nested more than %d deep",
                           INCLUDE_DEPTH_MAX);
    if (scene->file_count >= FILES_MAX)
        return scene_error(file->err, BL_ERROR_SCENE, node->where, "more than %d files are included",
                           FILES_MAX);
    const char *path = paths_find(scene->paths, name, file->folder, false);
    if (!path)
        return scene_error(
            file->err, BL_ERROR_IO, node->where, "cannot find the file \"%.200s\" to include%s", name,
            scene->paths->untrusted ? " below the folders that an untrusted scene may read" : "");
    void *xml = NULL;
    size_t size = 0;
    bl_error reason = {0};
    bl_result result = file_read(path, FILE_BYTES_MAX, &xml, &size, &reason);
    if (result != BL_OK)
        return scene_error(file->err, result, node->where, "%s", reason.text);
    xml_file included = {
        .name = arena_strdup(scene->memory, path),
        .folder = path_folder(scene->memory, path),
        .attach = node->parent->splice ? node->parent->splice : node->parent,
        .attach_name = node->name,
        .include_depth = file->include_depth + 1,
        .err = file->err,
    };
    result = parse_file(scene, &included, xml, size);
    memory_free(xml);
    return result;
}

static bl_result add_path(xml_file *file, const raw_node *node)
{
    raw_scene *scene = file->scene;
    const char *name = raw_attribute_get(node, "value");
    const char *path = paths_find(scene->paths, name, file->folder, true);
    if (!path)
        return scene_error(
            file->err, BL_ERROR_IO, node->where, "<path>: cannot find the folder \"%.200s\"%s", name,
            scene->paths->untrusted ? " below the folders that an untrusted scene may read" : "");
    array_push(&scene->paths->resources, path);
    return BL_OK;
}

static bl_result alias(xml_file *file, const raw_node *node)
{
    const char *id = raw_attribute_get(node, "id");
    raw_node *source = raw_find_id(file->scene, id);
    if (!source)
        return scene_error(file->err, BL_ERROR_SCENE, node->where,
                           "<alias>: there is no object with id \"%.100s\" before it", id);
    return raw_add_id(file->scene, raw_attribute_get(node, "as"), source, node->where, file->err);
}

/* ---- elements ---- */

static bl_result open_root(xml_file *file, raw_node *node)
{
    raw_scene *scene = file->scene;
    if (node->kind != RAW_OBJECT)
        return scene_error(file->err, BL_ERROR_SCENE, node->where,
                           "the outermost element must be an object, not <%s>", node->tag);
    TRY(check_attributes(node, "type id name version", file->err));
    TRY(read_version(file, node));
    node->old = file->old;
    if (!file->attach) {
        if (node->category != PLUGIN_SCENE)
            return scene_error(file->err, BL_ERROR_SCENE, node->where,
                               "the outermost element must be <scene>, not <%s>", node->tag);
        scene->root = node;
        return BL_OK;
    }
    node->depth = file->attach->depth + 1;
    if (node->category == PLUGIN_SCENE)
        node->splice = file->attach;
    else if (!raw_attribute_get(node, "type"))
        return scene_error(file->err, BL_ERROR_SCENE, node->where, "missing attribute \"type\" in <%s>",
                           node->tag);
    return BL_OK;
}

static bl_result open_element(xml_file *file, const XML_Char *name, const XML_Char **pairs)
{
    raw_scene *scene = file->scene;
    scene_place where = here(file);
    const tag_row *row = find_tag(name);
    if (!row)
        return unknown_tag(where, name, file->err);
    bool leaves_node = row->kind < RAW_INCLUDE, is_root = !file->current;
    bool is_scene = row->category == PLUGIN_SCENE && row->kind == RAW_OBJECT;
    raw_node *parent = is_root ? (is_scene ? NULL : file->attach) : file->current;
    raw_node *node = raw_child_create(scene->memory, leaves_node ? parent : NULL, row->kind, row->name, NULL);
    node->category = row->category;
    node->where = where;
    node->folder = file->folder;
    node->parent = parent;
    node->old = file->old;
    node->depth = parent ? parent->depth + 1 : 0;
    file->current = node;
    if (node->depth > NESTING_MAX)
        return scene_error(file->err, BL_ERROR_SCENE, where, "elements are nested more than %d deep",
                           NESTING_MAX);
    TRY(budget_check(file->err));
    TRY(read_attributes(file, node, pairs));
    bool is_plugin = node->kind == RAW_SPECTRUM && raw_attribute_get(node, "type");
    if (is_plugin) {
        node->kind = RAW_OBJECT;
        node->category = PLUGIN_TEXTURE;
    }
    if (is_root) {
        TRY(open_root(file, node));
        node->name = file->attach ? file->attach_name : node->name;
    } else {
        TRY(check_parent(node, file->err));
        TRY(check_attributes(node, is_plugin ? spectrum_plugin_attributes : row->attributes, file->err));
    }
    const char *id = node->kind == RAW_OBJECT && !node->splice ? raw_attribute_get(node, "id") : NULL;
    if (id)
        TRY(raw_add_id(scene, id, node, where, file->err));
    switch (node->kind) {
    case RAW_INCLUDE:
        return include(file, node);
    case RAW_PATH:
        return add_path(file, node);
    case RAW_ALIAS:
        return alias(file, node);
    case RAW_DEFAULT:
        return raw_define(scene, where, raw_attribute_get(node, "name"), raw_attribute_get(node, "value"),
                          file->err);
    default:
        return BL_OK;
    }
}

static void fail(xml_file *file, bl_result result)
{
    if (result == BL_OK || file->result != BL_OK)
        return;
    file->result = result;
    XML_StopParser(file->parser, XML_FALSE);
}

static void XMLCALL on_start(void *user, const XML_Char *name, const XML_Char **pairs)
{
    xml_file *file = user;
    if (file->result == BL_OK)
        fail(file, open_element(file, name, pairs));
}

static void XMLCALL on_end(void *user, const XML_Char *name)
{
    xml_file *file = user;
    (void)name;
    if (file->result != BL_OK)
        return;
    raw_node *closed = file->current;
    /* The parent of a spliced or attached root stands in another file. */
    file->current = closed->parent == file->attach ? NULL : closed->parent;
    if (closed->kind == RAW_OBJECT && closed->old && !closed->splice)
        raw_upgrade(file->scene->memory, closed);
}

/* Mitsuba skips text between elements; a warning shows what it may have been meant to be. */
static void XMLCALL on_text(void *user, const XML_Char *chars, int length)
{
    xml_file *file = user;
    for (int i = 0; i < length && !file->text_warned; i++)
        file->text_warned = !strchr(" \t\r\n", chars[i]);
    if (file->text_warned && file->result == BL_OK && length > 0) {
        scene_place where = here(file);
        text_add(file->scene->warnings, "%s:%u: text between elements is ignored\n", where.file, where.line);
        XML_SetCharacterDataHandler(file->parser, NULL);
    }
}

static void XMLCALL on_entity(void *user, const XML_Char *name, int is_parameter, const XML_Char *value,
                              int length, const XML_Char *base, const XML_Char *system,
                              const XML_Char *public_id, const XML_Char *notation)
{
    xml_file *file = user;
    (void)name, (void)is_parameter, (void)value, (void)length, (void)base, (void)system, (void)public_id,
        (void)notation;
    fail(file, scene_error(file->err, BL_ERROR_SCENE, here(file), "entity declarations are not allowed"));
}

/* ---- <?backlight mode="NAME"?>, which other programs skip ---- */

/* The text between the quotes of the only thing that may be said: mode="NAME". NULL: it is not that. */
static const char *said_mode(arena *memory, const char *data)
{
    static const char blanks[] = " \t\r\n";
    const char *at = data + strspn(data, blanks);
    if (strncmp(at, "mode", 4) != 0)
        return NULL;
    at += 4 + strspn(at + 4, blanks);
    if (*at != '=')
        return NULL;
    at += 1 + strspn(at + 1, blanks);
    const char quote = *at, *end = quote == '"' || quote == '\'' ? strchr(at + 1, quote) : NULL;
    if (!end || end[1 + strspn(end + 1, blanks)] != 0)
        return NULL;
    return arena_printf(memory, "%.*s", (int)(end - at - 1), at + 1);
}

static bl_result say_mode(xml_file *file, const char *data)
{
    raw_scene *scene = file->scene;
    const char *mode = strlen(data) <= 200 ? said_mode(scene->memory, data) : NULL;
    if (!mode)
        return scene_error(file->err, BL_ERROR_SCENE, here(file),
                           "<?backlight %.60s?> should be <?backlight mode=\"NAME\"?>", data);
    if (file->include_depth)
        return scene_error(file->err, BL_ERROR_SCENE, here(file),
                           "<?backlight mode=..?> belongs into the scene's own file, not into one that it "
                           "includes");
    if (scene->mode)
        return scene_error(file->err, BL_ERROR_SCENE, here(file),
                           "<?backlight mode=..?> is given twice (before at line %u)",
                           scene->mode_where.line);
    scene->mode = mode, scene->mode_where = here(file);
    return BL_OK;
}

static void XMLCALL on_instruction(void *user, const XML_Char *target, const XML_Char *data)
{
    xml_file *file = user;
    if (file->result == BL_OK && strcmp(target, "backlight") == 0)
        fail(file, say_mode(file, data));
}

static bl_result malformed(const xml_file *file)
{
    const enum XML_Error why = XML_GetErrorCode(file->parser);
    if (why == XML_ERROR_NO_MEMORY)
        return scene_error(file->err, BL_ERROR_MEMORY, here(file), "out of memory");
    return scene_error(file->err, BL_ERROR_SCENE, here(file), "malformed XML: %s", XML_ErrorString(why));
}

static bl_result parse_file(raw_scene *scene, xml_file *file, const char *xml, size_t size)
{
    file->scene = scene;
    scene->file_count++;
    static const XML_Memory_Handling_Suite memory = {memory_alloc, memory_resize, memory_free};
    file->parser = XML_ParserCreate_MM(NULL, &memory, NULL);
    if (!file->parser)
        return error_set(file->err, BL_ERROR_MEMORY, "%s: out of memory", file->name);
    XML_SetUserData(file->parser, file);
    XML_SetElementHandler(file->parser, on_start, on_end);
    XML_SetCharacterDataHandler(file->parser, on_text);
    XML_SetEntityDeclHandler(file->parser, on_entity);
    XML_SetProcessingInstructionHandler(file->parser, on_instruction);
    if (XML_Parse(file->parser, xml, (int)size, 1) != XML_STATUS_OK && file->result == BL_OK)
        file->result = malformed(file);
    XML_ParserFree(file->parser);
    return file->result;
}

bl_result raw_parse(raw_scene *scene, const char *name, const char *folder, const char *xml, size_t size,
                    bl_error *err)
{
    if (size > FILE_BYTES_MAX)
        return error_set(err, BL_ERROR_SCENE, "%s: larger than %d MiB", name, FILE_BYTES_MAX >> 20);
    xml_file file = {.name = name, .folder = folder, .err = err};
    return parse_file(scene, &file, xml, size);
}
