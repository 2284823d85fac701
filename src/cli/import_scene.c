/* SPDX-License-Identifier: BSD-3-Clause
 * `backlight import` of a glTF file: a scene file, and a list of what the scene does not take from it. */
#include "import.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

static void print_result(const char *output, const char *notes)
{
    cJSON *json = cJSON_CreateObject(), *list;
    cJSON_AddStringToObject(json, "scene", output);
    list = cJSON_AddArrayToObject(json, "notes");
    while (*notes) {
        const size_t length = strcspn(notes, "\n");
        char *line = text_format("%.*s", (int)length, notes);
        cJSON_AddItemToArray(list, cJSON_CreateString(line));
        free(line);
        notes += length + (notes[length] == '\n');
    }
    print_json(json);
    cJSON_Delete(json);
}

int import_scene(cli_session *session, const char *path, const char *output)
{
    char *notes = NULL;
    CLI_TRY(session_convert(session, path, output, &notes));
    size_t length = strlen(notes);
    while (length > 0 && notes[length - 1] == '\n')
        length--;
    if (session->common->json)
        print_result(output, notes);
    else if (length > 0)
        note(session->common, "%.*s", (int)length, notes);
    free(notes);
    return CLI_OK;
}
