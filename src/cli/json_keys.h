/* SPDX-License-Identifier: BSD-3-Clause
 * Tables of the keys of JSON objects. */
#ifndef BL_CLI_JSON_KEYS_H
#define BL_CLI_JSON_KEYS_H

#include "cli.h"

struct cJSON;

typedef struct json_place { /* where we are, for messages */
    const char *file;
    char path[200]; /* "parameters[1]." */
} json_place;

/* Reads a JSON file. *json: cJSON_Delete it; *text: the file as it is, free() it. Both NULL where it fails.
 */
int json_read_file(const char *path, struct cJSON **json, char **text);
/* The path as seen from the folder of the file, from which paths in it count. malloc'ed. */
char *json_beside(const char *file, const char *path);
/* Prints file, place, key and what is wrong with it; returns CLI_FAILED. */
int json_wrong(const json_place *at, const char *key, const char *format, ...) CLI_PRINTF(3, 4);

/* Steps of a fit: far from where sums of a few of them leave 32 bits. */
enum { JSON_STEPS_MOST = 1000000000 };

typedef enum json_key_type {
    KEY_TEXT,
    KEY_COUNT,    /* uint32_t, 1 or above */
    KEY_STEPS,    /* uint32_t, 1 to JSON_STEPS_MOST */
    KEY_SEED,     /* uint32_t */
    KEY_POSITIVE, /* double from 1.2e-38 to 3.4e38, which single precision holds */
    KEY_SHARE,    /* double between 0 and 1, both excluded */
    KEY_MOMENTUM, /* the same with 0 */
    KEY_FLAG,     /* bool */
    KEY_OTHER     /* whoever asked looks at it */
} json_key_type;

typedef struct json_key {
    const char *name; /* NULL ends a table */
    json_key_type type;
    size_t offset; /* of its field in the object */
    bool required;
} json_key;

/* Checks all keys of json against the table, and stores those of simple types into object. */
int json_read_keys(const json_place *at, const struct cJSON *json, const json_key *keys, void *object);
/* An object in `field`: at becomes its place, "stop.". what: "an object with a type". */
int json_enter(json_place *at, const char *field, const char *what, const struct cJSON *json);
/* The k-th object of a list: at becomes its place, "views[2].", and its keys are read like those of any
 * other. what: "an object with a target". */
int json_read_item(json_place *at, const char *list, uint32_t k, const char *what, const struct cJSON *one,
                   const json_key *keys, void *object);
/* One of the names that name_of gives for 0, 1, .. until NULL; name NULL: *index stays. */
int json_find_name(const json_place *at, const char *field, const char *what, const char *name,
                   const char *(*name_of)(uint32_t), uint32_t *index);
/* "type" of an object, before its other keys are looked at: which they are depends on it. */
int json_read_type(const json_place *at, const struct cJSON *json, const char *what,
                   const char *(*name_of)(uint32_t), uint32_t *index);

#endif
