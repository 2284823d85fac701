/* SPDX-License-Identifier: BSD-3-Clause
 * Files of named arrays, the format of the measurements of Dupuy and Jakob (2018), little-endian:
 *
 *     "tensor_file" and a byte 0, bytes 1 and 0 (version), uint32 number of fields; of each field
 *     uint16 length of the name, the name, uint16 rank, byte type (1: uint8, 10: float32, others are not
 *     read here), uint64 where its numbers begin in the file, and rank times a uint64, the shape. */
#include "scene/scene_internal.h"

#include <string.h>

enum { MAGIC_BYTES = 12, HEADER_BYTES = MAGIC_BYTES + 6, FIELDS_MOST = 64 };
static const char magic[MAGIC_BYTES] = "tensor_file";

static uint64_t read_number(const uint8_t *bytes, int count)
{
    uint64_t value = 0;
    for (int k = 0; k < count; k++)
        value |= (uint64_t)bytes[k] << 8 * k;
    return value;
}

/* What is left to read. */
typedef struct cursor {
    const uint8_t *at, *end;
} cursor;

static const uint8_t *take(cursor *c, size_t bytes)
{
    if ((size_t)(c->end - c->at) < bytes)
        return NULL;
    c->at += bytes;
    return c->at - bytes;
}

static size_t type_bytes(int type) { return type == TENSOR_UINT8 ? 1 : type == TENSOR_FLOAT32 ? 4 : 0; }

/* The next field, without its numbers. */
static bool read_field(cursor *c, tensor_field *out, uint64_t *offset)
{
    const uint8_t *length = take(c, 2);
    size_t name = length ? (size_t)read_number(length, 2) : 0;
    const uint8_t *characters = length ? take(c, name) : NULL, *rest = characters ? take(c, 11) : NULL;
    if (!rest)
        return false;
    uint64_t rank = read_number(rest, 2);
    *out = (tensor_field){.name = (const char *)characters, .name_length = name, .type = rest[2]};
    *offset = read_number(rest + 3, 8);
    const uint8_t *shape = rank <= TENSOR_RANK_MOST ? take(c, 8 * (size_t)rank) : NULL;
    if (!shape)
        return false;
    out->rank = (uint32_t)rank;
    for (uint32_t k = 0; k < out->rank; k++)
        out->shape[k] = read_number(shape + 8 * k, 8);
    return true;
}

/* The place of a field's numbers, which must lie in the file as a whole. */
static bool find_numbers(const uint8_t *data, size_t size, uint64_t offset, tensor_field *field)
{
    uint64_t count = 1, most = size / type_bytes(field->type);
    for (uint32_t k = 0; k < field->rank; k++) {
        if (field->shape[k] == 0 || count > most / field->shape[k])
            return false;
        count *= field->shape[k];
    }
    if (offset > size || count > (size - offset) / type_bytes(field->type))
        return false;
    field->count = (size_t)count, field->data = data + offset;
    return true;
}

bl_result tensor_find(const void *bytes, size_t size, const char *name, tensor_field *out, bl_error *err)
{
    const uint8_t *data = bytes;
    *out = (tensor_field){0};
    if (size < HEADER_BYTES || memcmp(data, magic, MAGIC_BYTES) != 0)
        return error_set(err, BL_ERROR_FORMAT, "not a file of tensors: it does not begin with \"%s\"", magic);
    if (data[MAGIC_BYTES] != 1)
        return error_set(err, BL_ERROR_FORMAT, "version %u of the tensor format is not known, 1 is",
                         data[MAGIC_BYTES]);
    uint64_t count = read_number(data + MAGIC_BYTES + 2, 4);
    if (count > FIELDS_MOST)
        return error_set(err, BL_ERROR_FORMAT, "%ju fields of a file of tensors, %d are possible",
                         (uintmax_t)count, FIELDS_MOST);
    cursor c = {data + HEADER_BYTES, data + size};
    for (uint64_t k = 0; k < count; k++) {
        uint64_t offset;
        tensor_field field;
        if (!read_field(&c, &field, &offset))
            return error_set(err, BL_ERROR_FORMAT, "the list of fields is truncated or malformed");
        if (field.name_length != strlen(name) || memcmp(field.name, name, field.name_length) != 0)
            continue;
        if (type_bytes(field.type) == 0)
            return error_set(err, BL_ERROR_FORMAT, "the field \"%s\" has the type %d, which is not read here",
                             name, field.type);
        if (!find_numbers(data, size, offset, &field))
            return error_set(err, BL_ERROR_FORMAT, "the field \"%s\" is empty or lies outside of the file",
                             name);
        *out = field;
        return BL_OK;
    }
    return error_set(err, BL_ERROR_FORMAT, "the file has no field \"%s\"", name);
}

float tensor_float(const tensor_field *field, size_t index)
{
    uint32_t word = (uint32_t)read_number(field->data + 4 * index, 4);
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}
