/* SPDX-License-Identifier: BSD-3-Clause
 * Looking into the JSON of a glTF file: values of the right type and within bounds, or an error that names
 * the place; and notes of what the scene does not take from the file. */
#include "scene/gltf/gltf.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

enum { NOTES_MOST = 100, SHOWN_NAME_MOST = 60 };
#define WHOLE_MOST 9007199254740992.0 /* 2^53: whole numbers up to here are exact */

static const char *const array_names[GLTF_ARRAY_COUNT] = {
#define GLTF_NAME(id, name) name,
    GLTF_ARRAYS(GLTF_NAME)
#undef GLTF_NAME
};

bl_result gltf_error(gltf *g, bl_result code, gltf_place where, const char *format, ...)
{
    char what[700], place[160] = "";
    va_list args;
    va_start(args, format);
    if (vsnprintf(what, sizeof what, format, args) < 0)
        what[0] = 0;
    va_end(args);
    const char *name = where.array == GLTF_FILE ? NULL : gltf_name(g, where);
    if (where.array != GLTF_FILE)
        snprintf(place, sizeof place, name ? "%s[%u] \"%.*s\": " : "%s[%u]: ", array_names[where.array],
                 where.index, SHOWN_NAME_MOST, name ? name : "");
    return error_set(g->err, code, "%s: %s%s", g->name, place, what);
}

void gltf_note(gltf *g, const char *format, ...)
{
    char what[500];
    va_list args;
    va_start(args, format);
    if (vsnprintf(what, sizeof what, format, args) < 0)
        what[0] = 0;
    va_end(args);
    for (char *c = what; *c; c++) /* a note is one line, whatever names hold */
        *c = (unsigned char)*c < ' ' ? ' ' : *c;
    for (uint32_t i = 0; i < g->notes.count; i++)
        if (strcmp(g->notes.data[i].text, what) == 0) {
            g->notes.data[i].times++;
            return;
        }
    if (g->notes.count == NOTES_MOST) {
        g->notes_left++;
        return;
    }
    const gltf_note_line line = {arena_strdup(&g->memory, what), 1};
    array_push(&g->notes, line);
}

void gltf_write_notes(gltf *g)
{
    for (uint32_t i = 0; i < g->notes.count; i++) {
        const gltf_note_line *n = &g->notes.data[i];
        char times[40] = "";
        if (n->times > 1)
            snprintf(times, sizeof times, " (%u times)", n->times);
        assembly_warn(g->assembly, arena_printf(&g->memory, "%s: %s%s", g->name, n->text, times));
    }
    if (g->notes_left)
        assembly_warn(g->assembly,
                      arena_printf(&g->memory, "%s: and %u more such notes", g->name, g->notes_left));
}

/* ---- looking ---- */

const cJSON *gltf_item(const gltf *g, gltf_place at)
{
    BL_ASSERT(at.array < GLTF_ARRAY_COUNT && at.index < g->lists[at.array].count, "%d[%u]", (int)at.array,
              at.index);
    return g->lists[at.array].items[at.index];
}

const cJSON *gltf_get(const cJSON *object, const char *key)
{
    return cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, key) : NULL;
}

const char *gltf_text(const cJSON *object, const char *key)
{
    const cJSON *v = gltf_get(object, key);
    return cJSON_IsString(v) ? v->valuestring : NULL;
}

bool gltf_flag(const cJSON *object, const char *key) { return cJSON_IsTrue(gltf_get(object, key)); }

const char *gltf_name(const gltf *g, gltf_place at)
{
    const char *name = at.index < g->lists[at.array].count ? gltf_text(gltf_item(g, at), "name") : NULL;
    return name && *name ? name : NULL;
}

const char *gltf_name_shown(const gltf *g, const gltf_instance *at, gltf_place what)
{
    const char *name = gltf_name(g, (gltf_place){GLTF_NODES, at->node});
    return name ? name : gltf_name(g, what);
}

const cJSON *gltf_extension(const cJSON *object, const char *name)
{
    return gltf_get(gltf_get(object, "extensions"), name);
}

void gltf_note_extensions(gltf *g, const cJSON *object, const char *what, const char *const *known)
{
    const cJSON *list = gltf_get(object, "extensions"), *e;
    cJSON_ArrayForEach(e, list)
    {
        bool is_known = false;
        for (uint32_t k = 0; known[k]; k++)
            is_known |= strcmp(known[k], e->string) == 0;
        if (!is_known)
            gltf_note(g, "the extension %.100s of %s is not used", e->string, what);
    }
}

/* ---- values ---- */

static bool is_whole(const cJSON *v, double most)
{
    return cJSON_IsNumber(v) && v->valuedouble >= 0 && v->valuedouble <= most &&
           v->valuedouble == floor(v->valuedouble);
}

bl_result gltf_index(gltf *g, gltf_place where, const cJSON *object, const char *key, gltf_array array,
                     uint32_t *out)
{
    const cJSON *v = gltf_get(object, key);
    if (!v)
        return BL_OK;
    if (!is_whole(v, WHOLE_MOST))
        return gltf_error(g, BL_ERROR_SCENE, where, "\"%s\" is not an index", key);
    if (v->valuedouble >= (double)g->lists[array].count)
        return gltf_error(g, BL_ERROR_SCENE, where, "\"%s\" is %.0f, and there are %u %s", key,
                          v->valuedouble, g->lists[array].count, array_names[array]);
    *out = (uint32_t)v->valuedouble;
    return BL_OK;
}

bl_result gltf_count(gltf *g, gltf_place where, const cJSON *object, const char *key, uint64_t *out)
{
    const cJSON *v = gltf_get(object, key);
    if (!v)
        return BL_OK;
    if (!is_whole(v, WHOLE_MOST))
        return gltf_error(g, BL_ERROR_SCENE, where, "\"%s\" is not a whole number", key);
    *out = (uint64_t)v->valuedouble;
    return BL_OK;
}

bl_result gltf_numbers(gltf *g, gltf_place where, const cJSON *object, const char *key, uint32_t count,
                       double least, double most, double *out)
{
    const cJSON *v = gltf_get(object, key);
    if (!v)
        return BL_OK;
    if (count > 1 && (!cJSON_IsArray(v) || cJSON_GetArraySize(v) != (int)count))
        return gltf_error(g, BL_ERROR_SCENE, where, "\"%s\" is not an array of %u numbers", key, count);
    const cJSON *item = count > 1 ? v->child : v;
    for (uint32_t k = 0; k < count; k++, item = item->next) {
        if (!cJSON_IsNumber(item) || !isfinite(item->valuedouble))
            return gltf_error(g, BL_ERROR_SCENE, where, "\"%s\" is not a finite number", key);
        if (item->valuedouble < least || item->valuedouble > most)
            return gltf_error(g, BL_ERROR_SCENE, where, "\"%s\" is %g, and must be from %g to %g", key,
                              item->valuedouble, least, most);
        out[k] = item->valuedouble;
    }
    return BL_OK;
}
