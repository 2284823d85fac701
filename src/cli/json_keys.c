/* SPDX-License-Identifier: BSD-3-Clause
 * Objects of a JSON file by tables of their keys: a key that is not in the table, given twice, missing, or of
 * the wrong type is an error that names the file and the path of the key. */
#include "json_keys.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *json_beside(const char *file, const char *path)
{
    const char *slash = strrchr(file, '/');
    if (path[0] == '/' || !slash)
        return text_format("%s", path);
    return text_format("%.*s/%s", (int)(slash - file), file, path);
}

int json_wrong(const json_place *at, const char *key, const char *format, ...)
{
    char what[400];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return fail("%s: %s%s: %s", at->file, at->path, key, what);
}

static int read_value(const json_place *at, const json_key *k, const cJSON *value, void *object)
{
    void *field = object ? (char *)object + k->offset : NULL; /* none where all keys are KEY_OTHER */
    double number = value->valuedouble;
    bool whole = cJSON_IsNumber(value) && number == floor(number) && number <= 4294967295.0;
    switch (k->type) {
    case KEY_TEXT:
        if (!cJSON_IsString(value) || !*value->valuestring)
            return json_wrong(at, k->name, "must be a text");
        *(const char **)field = value->valuestring;
        break;
    case KEY_COUNT:
        if (!whole || number < 1)
            return json_wrong(at, k->name, "must be a whole number above 0");
        *(uint32_t *)field = (uint32_t)number;
        break;
    case KEY_STEPS:
        if (!whole || number < 1 || number > JSON_STEPS_MOST)
            return json_wrong(at, k->name, "must be a whole number from 1 to %d", JSON_STEPS_MOST);
        *(uint32_t *)field = (uint32_t)number;
        break;
    case KEY_SEED:
        if (!whole || number < 0)
            return json_wrong(at, k->name, "must be a whole number, 0 or above");
        *(uint32_t *)field = (uint32_t)number;
        break;
    case KEY_POSITIVE:
        if (!cJSON_IsNumber(value) || !(number >= 1.2e-38 && number <= 3.4e38))
            return json_wrong(at, k->name, "must be a number above 0, from 1.2e-38 to 3.4e38");
        *(double *)field = number;
        break;
    case KEY_SHARE:
        if (!cJSON_IsNumber(value) || !(number > 0 && number < 1))
            return json_wrong(at, k->name, "must be a number above 0 and below 1");
        *(double *)field = number;
        break;
    case KEY_MOMENTUM:
        if (!cJSON_IsNumber(value) || !(number >= 0 && number < 1))
            return json_wrong(at, k->name, "must be a number, 0 or above, and below 1");
        *(double *)field = number;
        break;
    case KEY_FLAG:
        if (!cJSON_IsBool(value))
            return json_wrong(at, k->name, "must be true or false");
        *(bool *)field = cJSON_IsTrue(value);
        break;
    case KEY_OTHER:
        break;
    }
    return CLI_OK;
}

static const json_key *find_key(const json_key *keys, const char *name)
{
    for (; keys->name; keys++)
        if (!strcmp(keys->name, name))
            return keys;
    return NULL;
}

static int unknown_key(const json_place *at, const json_key *keys, const char *name)
{
    const char *names[64] = {0};
    char list[800] = "";
    for (uint32_t i = 0; keys[i].name && i < 63; i++) {
        names[i] = keys[i].name;
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "", keys[i].name);
    }
    const char *near = nearest_name(name, names);
    if (near)
        return json_wrong(at, name, "unknown key (did you mean \"%s\"?)", near);
    return json_wrong(at, name, "unknown key (there are: %s)", list);
}

static int read_key(const json_place *at, const cJSON *json, const cJSON *value, const json_key *keys,
                    void *object)
{
    const json_key *k = find_key(keys, value->string);
    if (!k)
        return unknown_key(at, keys, value->string);
    for (const cJSON *other = json->child; other != value; other = other->next)
        if (!strcmp(other->string, value->string))
            return json_wrong(at, k->name, "given twice");
    return read_value(at, k, value, object);
}

/* All mistakes are said, not the first one alone. CLI_FAILED is the only status of mistakes, so statuses add
 * up. */
int json_read_keys(const json_place *at, const cJSON *json, const json_key *keys, void *object)
{
    int status = CLI_OK;
    for (const cJSON *value = json->child; value; value = value->next)
        status |= read_key(at, json, value, keys, object);
    for (; keys->name; keys++)
        if (keys->required && !cJSON_GetObjectItemCaseSensitive(json, keys->name))
            status |= json_wrong(at, keys->name, "missing key");
    return status;
}

int json_enter(json_place *at, const char *field, const char *what, const cJSON *json)
{
    const size_t length = strlen(at->path);
    if (!cJSON_IsObject(json))
        return json_wrong(at, field, "must be %s", what);
    snprintf(at->path + length, sizeof at->path - length, "%s.", field);
    return CLI_OK;
}

int json_read_item(json_place *at, const char *list, uint32_t k, const char *what, const cJSON *one,
                   const json_key *keys, void *object)
{
    snprintf(at->path, sizeof at->path, "%s[%u]", list, k);
    if (!cJSON_IsObject(one))
        return json_wrong(at, "", "must be %s", what);
    strcat(at->path, ".");
    return json_read_keys(at, one, keys, object);
}

int json_find_name(const json_place *at, const char *field, const char *what, const char *name,
                   const char *(*name_of)(uint32_t), uint32_t *index)
{
    char list[200] = "";
    if (!name)
        return CLI_OK;
    for (*index = 0; name_of(*index); ++*index) {
        if (!strcmp(name_of(*index), name))
            return CLI_OK;
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", *index ? ", " : "",
                 name_of(*index));
    }
    return json_wrong(at, field, "unknown %s \"%s\" (there are: %s)", what, name, list);
}

int json_read_type(const json_place *at, const cJSON *json, const char *what,
                   const char *(*name_of)(uint32_t), uint32_t *index)
{
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(json, "type");
    if (!type)
        return json_wrong(at, "type", "missing key");
    if (!cJSON_IsString(type))
        return json_wrong(at, "type", "must be a text");
    return json_find_name(at, "type", what, type->valuestring, name_of, index);
}

/* ---- whole files ---- */

enum { BYTES_MOST = 64 << 20 };

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        fail("cannot open %s: %s", path, strerror(errno));
        return NULL;
    }
    size_t size = 0, capacity = 1 << 16;
    char *text = memory_or_exit(capacity);
    for (size_t got; size < BYTES_MOST && (got = fread(text + size, 1, capacity - size - 1, file)) > 0;) {
        size += got;
        if (capacity - size < 4096) {
            char *grown = realloc(text, capacity *= 2);
            if (!grown)
                break;
            text = grown;
        }
    }
    bool good = !ferror(file) && feof(file);
    fclose(file);
    text[size] = 0;
    if (good && strlen(text) == size)
        return text;
    fail(good ? "%s: contains a zero byte: not JSON" : "cannot read %s", path);
    free(text);
    return NULL;
}

static int syntax_error(const char *path, const char *text, const char *end)
{
    uint32_t line = 1, column = 1;
    for (const char *c = text; c < end && *c; c++, column++)
        if (*c == '\n')
            line++, column = 0;
    return fail("%s:%u:%u: not valid JSON", path, line, column);
}

int json_read_file(const char *path, cJSON **json, char **text)
{
    const char *end;
    *json = NULL, *text = read_text(path);
    if (!*text)
        return CLI_FAILED;
    end = *text;
    *json = cJSON_ParseWithOpts(*text, &end, true);
    if (*json)
        return CLI_OK;
    int status = syntax_error(path, *text, end);
    free(*text);
    *text = NULL;
    return status;
}
