/* SPDX-License-Identifier: BSD-3-Clause
 * OpenEXR by its C core, from and to memory: the first part of a file, scanline or tiled (the finest level),
 * the data window, channels R G B, or Y, or the only one there is, or those that are asked for by name. Deep
 * data and subsampled channels are refused before anything of them is decoded.
 *
 * The core reads and decompresses chunks; taking them apart is done here. Its own routines for that (3.1.5)
 * write through null pointers where a channel is not wanted, and our loop checks every size against the
 * image. A decompressed chunk holds, line by line, all samples of the first channel, then of the next (in
 * alphabetical order), little-endian. The core's allocations are capped, because chunk sizes follow from what
 * a file declares. / */
#include "scene/scene_internal.h"

#include <openexr.h>
#include <stdlib.h>
#include <string.h>

enum { TILE_SIDE_MAX = 4096, ALLOCATION_MAX = 1 << 30 };

typedef struct exr_file {
    const uint8_t *data; /* reading */
    size_t size;
    uint8_t *written; /* writing */
    size_t capacity;
    char reason[200];
} exr_file;

/* The file that this thread reads or writes. OpenEXR reports errors while it holds the lock of a context that
 * writes, so the handler must not ask the context for its user data: it would wait for itself for ever. */
static _Thread_local exr_file *current_file;

static void on_error(exr_const_context_t context, exr_result_t code, const char *message)
{
    (void)context, (void)code;
    if (current_file && !current_file->reason[0])
        snprintf(current_file->reason, sizeof current_file->reason, "%s", message ? message : "");
}

static void *capped_alloc(size_t size) { return size <= ALLOCATION_MAX ? memory_alloc(size) : NULL; }

static int64_t on_read(exr_const_context_t context, void *user, void *to, uint64_t size, uint64_t offset,
                       exr_stream_error_func_ptr_t report)
{
    const exr_file *file = user;
    (void)context, (void)report;
    if (offset >= file->size)
        return 0;
    uint64_t left = file->size - offset, count = size < left ? size : left;
    memcpy(to, file->data + offset, (size_t)count);
    return (int64_t)count;
}

static int64_t on_size(exr_const_context_t context, void *user)
{
    (void)context;
    return (int64_t)((const exr_file *)user)->size;
}

static bl_result exr_failed(const exr_file *file, exr_result_t code, const char *doing, bl_error *err)
{
    const char *why = file->reason[0] ? file->reason : exr_get_default_error_message(code);
    bl_result result = BL_ERROR_FORMAT;
    if (code == EXR_ERR_FEATURE_NOT_IMPLEMENTED)
        result = BL_ERROR_UNSUPPORTED;
    else if (code == EXR_ERR_OUT_OF_MEMORY)
        result = BL_ERROR_MEMORY;
    return error_set(err, result, "cannot %s the EXR image: %s", doing, why);
}

/* ---- reading ---- */

typedef struct exr_reader {
    exr_context_t context;
    exr_file file;
    scene_image *image;
    int part;
    bool alpha;
    const char *const *names; /* of the channels that are wanted; NULL: colours, */
    uint32_t name_count;
    int channel_at[IMAGE_CHANNELS_MOST]; /* index in the file of each channel of the image */
    const exr_attr_chlist_t *list;
    exr_decode_pipeline_t pipeline;
    bool started;
    bl_error *err;
} exr_reader;

static int find_channel(const exr_attr_chlist_t *list, const char *name)
{
    for (int i = 0; i < list->num_channels; i++)
        if (strcmp(list->entries[i].name.str, name) == 0)
            return i;
    return -1;
}

/* All that are wanted, 0 with the reason. */
static uint32_t choose_named(exr_reader *r, const exr_attr_chlist_t *list)
{
    BL_ASSERT(r->name_count <= IMAGE_CHANNELS_MOST, "%u channels", r->name_count);
    for (uint32_t c = 0; c < r->name_count; c++)
        if ((r->channel_at[c] = find_channel(list, r->names[c])) < 0) {
            error_set(r->err, BL_ERROR_FORMAT, "the EXR image has no channel \"%.100s\"", r->names[c]);
            return 0;
        }
    return r->name_count;
}

/* R, G and B, or Y, or the only one; 0 with the reason. */
static uint32_t choose_colours(exr_reader *r, const exr_attr_chlist_t *list)
{
    uint32_t count = 0;
    r->channel_at[0] = find_channel(list, "R");
    r->channel_at[1] = find_channel(list, "G");
    r->channel_at[2] = find_channel(list, "B");
    if (r->channel_at[0] >= 0 && r->channel_at[1] >= 0 && r->channel_at[2] >= 0)
        count = 3;
    else if ((r->channel_at[0] = find_channel(list, "Y")) >= 0 || list->num_channels == 1)
        count = 1;
    if (count == 0) {
        error_set(r->err, BL_ERROR_UNSUPPORTED,
                  "the EXR image has neither the channels R, G, B nor Y, nor a single channel");
        return 0;
    }
    if (r->channel_at[0] < 0)
        r->channel_at[0] = 0;
    if (r->alpha && (r->channel_at[count] = find_channel(list, "A")) >= 0)
        count++;
    return count;
}

/* Chooses the channels to read and returns how many, 0 with the reason. */
static uint32_t choose_channels(exr_reader *r, const exr_attr_chlist_t *list)
{
    for (int i = 0; i < list->num_channels; i++)
        if (list->entries[i].x_sampling != 1 || list->entries[i].y_sampling != 1) {
            error_set(r->err, BL_ERROR_UNSUPPORTED, "the EXR image has subsampled channels");
            return 0;
        }
    return r->names ? choose_named(r, list) : choose_colours(r, list);
}

static float half_to_float(uint32_t half)
{
    uint32_t sign = (half & 0x8000u) << 16, exponent = half >> 10 & 31, mantissa = half & 1023, word;
    float value;
    if (exponent == 0) { /* zero and denormals: a multiple of 2^-24 */
        value = (float)mantissa * 0x1p-24f;
        return sign ? -value : value;
    }
    word = sign | (exponent == 31 ? 255u : exponent + 112) << 23 | mantissa << 13;
    memcpy(&value, &word, sizeof value);
    return value;
}

static size_t sample_size(exr_pixel_type_t type) { return type == EXR_PIXEL_HALF ? 2 : 4; }

static float read_sample(const uint8_t *at, exr_pixel_type_t type)
{
    uint32_t word = (uint32_t)at[0] | (uint32_t)at[1] << 8;
    float value;
    if (type == EXR_PIXEL_HALF)
        return half_to_float(word);
    word |= (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
    if (type == EXR_PIXEL_UINT)
        return (float)word;
    memcpy(&value, &word, sizeof value);
    return value;
}

/* Copies the samples of a chunk of width x height pixels to the place (x0, y0) of the image, clipped. */
static void unpack(const exr_reader *r, const uint8_t *at, int64_t width, int64_t height, int64_t x0,
                   int64_t y0)
{
    scene_image *image = r->image;
    for (int64_t y = 0; y < height && y0 + y < image->height; y++)
        for (int i = 0; i < r->list->num_channels; i++) {
            exr_pixel_type_t type = r->list->entries[i].pixel_type;
            for (uint32_t c = 0; c < image->channels; c++)
                for (int64_t x = 0; r->channel_at[c] == i && x < width && x0 + x < image->width; x++)
                    image
                        ->pixels[((size_t)(y0 + y) * image->width + (size_t)(x0 + x)) * image->channels + c] =
                        read_sample(at + (size_t)x * sample_size(type), type);
            at += (size_t)width * sample_size(type);
        }
}

/* Decodes one chunk, which must have the size given, and copies it to the place (x0, y0) of the image. */
static bl_result read_chunk(exr_reader *r, const exr_chunk_info_t *chunk, int64_t width, int64_t height,
                            int64_t x0, int64_t y0)
{
    exr_decode_pipeline_t *p = &r->pipeline;
    exr_result_t code = r->started ? exr_decoding_update(r->context, r->part, chunk, p)
                                   : exr_decoding_initialize(r->context, r->part, chunk, p);
    if (code == EXR_ERR_SUCCESS && !r->started) {
        code = exr_decoding_choose_default_routines(r->context, r->part, p);
        p->unpack_and_convert_fn = NULL;
    }
    r->started = true;
    uint64_t expected = 0;
    for (int i = 0; i < r->list->num_channels; i++)
        expected += (uint64_t)(width * height) * sample_size(r->list->entries[i].pixel_type);
    if (code == EXR_ERR_SUCCESS && chunk->unpacked_size != expected)
        return error_set(r->err, BL_ERROR_FORMAT, "the EXR image has a chunk of a wrong size");
    if (code == EXR_ERR_SUCCESS)
        code = exr_decoding_run(r->context, r->part, p);
    if (code != EXR_ERR_SUCCESS)
        return exr_failed(&r->file, code, "decode", r->err);
    const uint8_t *samples = p->unpacked_buffer ? p->unpacked_buffer : p->packed_buffer;
    size_t size = p->unpacked_buffer && p->unpacked_buffer != p->packed_buffer ? p->unpacked_alloc_size
                                                                               : p->packed_alloc_size;
    if (!samples || size < expected)
        return error_set(r->err, BL_ERROR_FORMAT, "the EXR image has a chunk of a wrong size");
    unpack(r, samples, width, height, x0, y0);
    return BL_OK;
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static bl_result read_scanlines(exr_reader *r, int32_t first_line)
{
    int32_t lines = 0;
    exr_result_t code = exr_get_scanlines_per_chunk(r->context, r->part, &lines);
    if (code != EXR_ERR_SUCCESS || lines <= 0)
        return exr_failed(&r->file, code, "read", r->err);
    for (int64_t y = 0; y < r->image->height; y += lines) {
        exr_chunk_info_t chunk = {0};
        code = exr_read_scanline_chunk_info(r->context, r->part, (int)(first_line + y), &chunk);
        if (code != EXR_ERR_SUCCESS)
            return exr_failed(&r->file, code, "read", r->err);
        TRY(read_chunk(r, &chunk, r->image->width, smaller(lines, r->image->height - y), 0, y));
    }
    return BL_OK;
}

static bl_result read_tiles(exr_reader *r)
{
    int32_t tile_width = 0, tile_height = 0;
    exr_result_t code = exr_get_tile_sizes(r->context, r->part, 0, 0, &tile_width, &tile_height);
    if (code != EXR_ERR_SUCCESS || tile_width <= 0 || tile_height <= 0)
        return exr_failed(&r->file, code, "read", r->err);
    for (int64_t y = 0; y * tile_height < r->image->height; y++)
        for (int64_t x = 0; x * tile_width < r->image->width; x++) {
            exr_chunk_info_t chunk = {0};
            code = exr_read_tile_chunk_info(r->context, r->part, (int)x, (int)y, 0, 0, &chunk);
            if (code != EXR_ERR_SUCCESS)
                return exr_failed(&r->file, code, "read", r->err);
            int64_t x0 = x * tile_width, y0 = y * tile_height;
            TRY(read_chunk(r, &chunk, smaller(tile_width, r->image->width - x0),
                           smaller(tile_height, r->image->height - y0), x0, y0));
        }
    return BL_OK;
}

static bl_result read_part(exr_reader *r)
{
    exr_storage_t storage = EXR_STORAGE_LAST_TYPE;
    exr_attr_box2i_t window;
    exr_result_t code = exr_get_storage(r->context, r->part, &storage);
    if (code == EXR_ERR_SUCCESS)
        code = exr_get_data_window(r->context, r->part, &window);
    if (code == EXR_ERR_SUCCESS)
        code = exr_get_channels(r->context, r->part, &r->list);
    if (code != EXR_ERR_SUCCESS)
        return exr_failed(&r->file, code, "read", r->err);
    if (storage != EXR_STORAGE_SCANLINE && storage != EXR_STORAGE_TILED)
        return error_set(r->err, BL_ERROR_UNSUPPORTED, "deep EXR images are not supported");
    int64_t width = (int64_t)window.max.x - window.min.x + 1,
            height = (int64_t)window.max.y - window.min.y + 1;
    if (width <= 0 || height <= 0)
        return error_set(r->err, BL_ERROR_FORMAT, "the data window of the EXR image is empty");
    exr_compression_t compression = EXR_COMPRESSION_LAST_TYPE;
    exr_get_compression(r->context, r->part, &compression);
    for (int i = 0; i < r->list->num_channels;
         i++) /* the core (3.1.5) decodes these to wrong values, without an error */
        if ((compression == EXR_COMPRESSION_B44 || compression == EXR_COMPRESSION_B44A) &&
            r->list->entries[i].pixel_type != EXR_PIXEL_HALF)
            return error_set(r->err, BL_ERROR_UNSUPPORTED,
                             "EXR images with B44 compression and 32-bit channels are not supported");
    uint32_t channels = choose_channels(r, r->list);
    if (channels == 0)
        return r->err->code;
    TRY(image_create(r->image, (uint64_t)width, (uint64_t)height, channels, r->file.size, r->err));
    return storage == EXR_STORAGE_SCANLINE ? read_scanlines(r, window.min.y) : read_tiles(r);
}

/* r: where to and which channels. */
static bl_result read_file(exr_reader *r, const uint8_t *data, size_t size)
{
    r->file = (exr_file){.data = data, .size = size};
    exr_context_initializer_t options = EXR_DEFAULT_CONTEXT_INITIALIZER;
    options.error_handler_fn = on_error;
    options.alloc_fn = capped_alloc;
    options.free_fn = free;
    options.user_data = &r->file;
    options.read_fn = on_read;
    options.size_fn = on_size;
    options.max_image_width = options.max_image_height = IMAGE_SIDE_MAX;
    options.max_tile_width = options.max_tile_height = TILE_SIDE_MAX;
    current_file = &r->file;
    exr_result_t code = exr_start_read(&r->context, "image", &options);
    bl_result result = code == EXR_ERR_SUCCESS ? read_part(r) : exr_failed(&r->file, code, "read", r->err);
    if (r->started)
        exr_decoding_destroy(r->context, &r->pipeline);
    if (r->context)
        exr_finish(&r->context);
    current_file = NULL;
    if (result != BL_OK)
        image_free(r->image);
    return result;
}

bl_result image_decode_exr(const uint8_t *data, size_t size, bool alpha, scene_image *out, bl_error *err)
{
    return read_file(&(exr_reader){.alpha = alpha, .image = out, .err = err}, data, size);
}

bl_result image_decode_exr_channels(const uint8_t *data, size_t size, const char *const *names,
                                    uint32_t count, scene_image *out, bl_error *err)
{
    return read_file(&(exr_reader){.names = names, .name_count = count, .image = out, .err = err}, data,
                     size);
}

/* ---- writing ---- */

static int64_t on_write(exr_const_context_t context, void *user, const void *from, uint64_t size,
                        uint64_t offset, exr_stream_error_func_ptr_t report)
{
    exr_file *file = user;
    (void)context, (void)report;
    size_t end = (size_t)(offset + size);
    if (end > file->capacity) {
        size_t capacity = end > 2 * file->capacity ? end : 2 * file->capacity;
        uint8_t *grown = memory_resize(file->written, capacity);
        if (!grown)
            return -1;
        memset(grown + file->capacity, 0, capacity - file->capacity);
        file->written = grown;
        file->capacity = capacity;
    }
    memcpy(file->written + offset, from, (size_t)size);
    file->size = end > file->size ? end : file->size;
    return (int64_t)size;
}

/* An image as it goes into a file. */
typedef struct exr_picture {
    const scene_image *image;
    const char *const *names; /* of the image's channels */
    exr_pixel_type_t type;    /* in the file */
    const uint32_t *integers; /* instead of the image's pixels, NULL */
} exr_picture;

/* Names of more than 31 bytes are marked in the head of the file: readers before OpenEXR 2.0 refuse it. */
static bool has_long_name(const exr_picture *p)
{
    for (uint32_t c = 0; c < p->image->channels; c++)
        if (strlen(p->names[c]) > 31)
            return true;
    return false;
}

static exr_result_t write_header(exr_context_t context, const exr_picture *p, int *part)
{
    const scene_image *image = p->image;
    exr_result_t code = exr_set_longname_support(context, has_long_name(p));
    if (code == EXR_ERR_SUCCESS)
        code = exr_add_part(context, NULL, EXR_STORAGE_SCANLINE, part);
    if (code == EXR_ERR_SUCCESS)
        code = exr_initialize_required_attr_simple(context, *part, (int32_t)image->width,
                                                   (int32_t)image->height, EXR_COMPRESSION_ZIP);
    for (uint32_t c = 0; c < image->channels && code == EXR_ERR_SUCCESS; c++)
        code = exr_add_channel(context, *part, p->names[c], p->type, EXR_PERCEPTUALLY_LINEAR, 1, 1);
    return code == EXR_ERR_SUCCESS ? exr_write_header(context) : code;
}

/* The file has its channels in alphabetical order. */
static uint32_t channel_named(const exr_picture *p, const char *name)
{
    uint32_t c = 0;
    while (c + 1 < p->image->channels && strcmp(p->names[c], name) != 0)
        c++;
    return c;
}

typedef exr_result_t (*exr_compress)(exr_encode_pipeline_t *pipeline);

/* If compression leaves a chunk as large as it was, OpenEXR 3.1.5 writes the compressed bytes; readers take a
 * chunk of that size for one that is not compressed. */
static exr_result_t compress_if_smaller(exr_encode_pipeline_t *pipeline)
{
    exr_result_t code = (*(const exr_compress *)pipeline->encoding_user_data)(pipeline);
    if (code == EXR_ERR_SUCCESS && pipeline->compressed_bytes >= pipeline->packed_bytes) {
        memcpy(pipeline->compressed_buffer, pipeline->packed_buffer, pipeline->packed_bytes);
        pipeline->compressed_bytes = pipeline->packed_bytes;
    }
    return code;
}

static exr_result_t write_chunk(exr_context_t context, int part, const exr_picture *p, uint32_t y,
                                exr_encode_pipeline_t *pipeline, exr_compress *theirs)
{
    const scene_image *image = p->image;
    exr_chunk_info_t chunk = {0};
    exr_result_t code = exr_write_scanline_chunk_info(context, part, (int)y, &chunk);
    if (code == EXR_ERR_SUCCESS)
        code = y == 0 ? exr_encoding_initialize(context, part, &chunk, pipeline)
                      : exr_encoding_update(context, part, &chunk, pipeline);
    if (code != EXR_ERR_SUCCESS)
        return code;
    for (uint32_t c = 0; c < image->channels; c++) {
        exr_coding_channel_info_t *channel = &pipeline->channels[c];
        size_t first = (size_t)y * image->width * image->channels + channel_named(p, channel->channel_name);
        channel->encode_from_ptr =
            p->integers ? (const uint8_t *)(p->integers + first) : (const uint8_t *)(image->pixels + first);
        channel->user_pixel_stride = (int32_t)(4 * image->channels);
        channel->user_line_stride = (int32_t)(4 * image->channels * image->width);
        channel->user_bytes_per_element = 4;
        channel->user_data_type = p->integers ? EXR_PIXEL_UINT : EXR_PIXEL_FLOAT;
    }
    if (y == 0) {
        code = exr_encoding_choose_default_routines(context, part, pipeline);
        *theirs = pipeline->compress_fn;
        pipeline->compress_fn = compress_if_smaller, pipeline->encoding_user_data = theirs;
    }
    return code == EXR_ERR_SUCCESS ? exr_encoding_run(context, part, pipeline) : code;
}

static exr_result_t write_image(exr_context_t context, const exr_picture *p)
{
    int part = 0;
    int32_t lines = 0;
    exr_encode_pipeline_t pipeline = EXR_ENCODE_PIPELINE_INITIALIZER;
    exr_compress theirs;
    exr_result_t code = write_header(context, p, &part);
    if (code == EXR_ERR_SUCCESS)
        code = exr_get_scanlines_per_chunk(context, part, &lines);
    for (uint32_t y = 0; y < p->image->height && code == EXR_ERR_SUCCESS; y += (uint32_t)lines)
        code = write_chunk(context, part, p, y, &pipeline, &theirs);
    exr_encoding_destroy(context, &pipeline);
    return code;
}

/* Values of [0, 1] as integers of all 32 bits; malloc'ed. */
static uint32_t *integers_of(const scene_image *image)
{
    size_t count = (size_t)image->width * image->height * image->channels;
    uint32_t *integers = memory_alloc(count * sizeof *integers);
    for (size_t i = 0; integers && i < count; i++) {
        double v = (double)image->pixels[i];
        integers[i] = v >= 1 ? 0xFFFFFFFFu : v > 0 ? (uint32_t)(v * 4294967295.0 + 0.5) : 0;
    }
    return integers;
}

bl_result image_encode_exr(const scene_image *image, const char *const *names, image_components components,
                           text *out, bl_error *err)
{
    static const exr_pixel_type_t types[] = {
        [IMAGE_FLOAT32] = EXR_PIXEL_FLOAT, [IMAGE_FLOAT16] = EXR_PIXEL_HALF, [IMAGE_UINT32] = EXR_PIXEL_UINT};
    uint32_t *integers = components == IMAGE_UINT32 ? integers_of(image) : NULL;
    if (components == IMAGE_UINT32 && !integers)
        return error_set(err, BL_ERROR_MEMORY, "no memory for the image");
    const exr_picture picture = {image, names, types[components], integers};
    exr_file file = {0};
    exr_context_t context = NULL;
    exr_context_initializer_t options = EXR_DEFAULT_CONTEXT_INITIALIZER;
    options.error_handler_fn = on_error;
    options.user_data = &file;
    options.write_fn = on_write;
    current_file = &file;
    exr_result_t code = exr_start_write(&context, "image", EXR_WRITE_FILE_DIRECTLY, &options);
    if (code == EXR_ERR_SUCCESS)
        code = write_image(context, &picture);
    if (context) {
        exr_result_t finished = exr_finish(&context); /* writes the table of chunks */
        code = code == EXR_ERR_SUCCESS ? finished : code;
    }
    current_file = NULL;
    bl_result result = code == EXR_ERR_SUCCESS ? BL_OK : exr_failed(&file, code, "encode", err);
    if (result == BL_OK)
        text_add_bytes(out, file.written, file.size);
    memory_free(file.written);
    memory_free(integers);
    return result;
}
