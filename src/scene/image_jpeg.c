/* SPDX-License-Identifier: BSD-3-Clause
 * JPEG by libjpeg-turbo: grey or YCbCr, baseline or progressive, always 8 bits and sRGB-encoded unless the
 * user says raw; embedded colour profiles and the orientation tag do not matter, as in Mitsuba. CMYK is
 * refused.
 *
 * libjpeg reports errors by longjmp: everything that must survive it lives in jpeg_job. It also makes up an
 * end where a file is cut off; our source manager makes that an error. The number of scans is bounded, since
 * each one costs a pass over the whole image however short it is. */
#include "scene/scene_internal.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

enum { SCANS_MAX = 200 };

typedef struct jpeg_job {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_source_mgr source;
    struct jpeg_progress_mgr progress;
    jmp_buf jump;
    uint8_t *row;
    char reason[JMSG_LENGTH_MAX];
} jpeg_job;

static jpeg_job *job_of(j_common_ptr jpeg) { return jpeg->client_data; }

static void stop(j_common_ptr jpeg, const char *reason)
{
    jpeg_job *job = job_of(jpeg);
    snprintf(job->reason, sizeof job->reason, "%s", reason);
    longjmp(job->jump, 1);
}

static void on_error(j_common_ptr jpeg)
{
    char reason[JMSG_LENGTH_MAX];
    jpeg->err->format_message(jpeg, reason);
    stop(jpeg, reason);
}

static void on_message(j_common_ptr jpeg, int level) { (void)jpeg, (void)level; }

static void on_progress(j_common_ptr jpeg)
{
    if (job_of(jpeg)->jpeg.input_scan_number > SCANS_MAX)
        stop(jpeg, "too many scans");
}

static void on_source(j_decompress_ptr jpeg) { (void)jpeg; }

static boolean on_empty(j_decompress_ptr jpeg)
{
    stop((j_common_ptr)jpeg, "the file is truncated");
    return FALSE;
}

static void on_skip(j_decompress_ptr jpeg, long count)
{
    if (count <= 0)
        return;
    if ((size_t)count > jpeg->src->bytes_in_buffer)
        stop((j_common_ptr)jpeg, "the file is truncated");
    jpeg->src->next_input_byte += count;
    jpeg->src->bytes_in_buffer -= (size_t)count;
}

static void job_begin(jpeg_job *job, const uint8_t *data, size_t size)
{
    job->jpeg.err = jpeg_std_error(&job->errors);
    job->errors.error_exit = on_error;
    job->errors.emit_message = on_message;
    job->jpeg.client_data = job;
    job->source = (struct jpeg_source_mgr){
        .next_input_byte = data,
        .bytes_in_buffer = size,
        .init_source = on_source,
        .fill_input_buffer = on_empty,
        .skip_input_data = on_skip,
        .resync_to_restart = jpeg_resync_to_restart,
        .term_source = on_source,
    };
}

static bl_result read_header(jpeg_job *job, size_t size, scene_image *out, bl_error *err)
{
    struct jpeg_decompress_struct *jpeg = &job->jpeg;
    jpeg_create_decompress(jpeg);
    jpeg->client_data = job; /* create clears it in some versions */
    jpeg->src = &job->source;
    job->progress.progress_monitor = on_progress;
    jpeg->progress = &job->progress;
    jpeg_read_header(jpeg, TRUE);
    if (jpeg->num_components != 1 && jpeg->num_components != 3)
        return error_set(err, BL_ERROR_UNSUPPORTED,
                         "JPEG images with %d channels are not supported, grey and RGB are",
                         jpeg->num_components);
    return image_create(out, jpeg->image_width, jpeg->image_height, (uint32_t)jpeg->num_components, size,
                        err);
}

static bl_result read_rows(jpeg_job *job, bool raw, scene_image *out, bl_error *err)
{
    size_t stride = (size_t)out->width * out->channels;
    float table[256];
    image_byte_table(raw, table);
    job->row = memory_alloc(stride);
    if (!job->row)
        return error_set(err, BL_ERROR_MEMORY, "out of memory");
    job->jpeg.out_color_space = out->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_start_decompress(&job->jpeg);
    while (job->jpeg.output_scanline < job->jpeg.output_height) {
        size_t y = job->jpeg.output_scanline;
        JSAMPROW rows[1] = {job->row};
        if (jpeg_read_scanlines(&job->jpeg, rows, 1) != 1)
            return error_set(err, BL_ERROR_FORMAT, "bad JPEG image: a row is missing");
        for (size_t i = 0; i < stride; i++)
            out->pixels[y * stride + i] = table[job->row[i]];
    }
    jpeg_finish_decompress(&job->jpeg);
    out->eight_bit = true;
    return BL_OK;
}

static bl_result decode(jpeg_job *job, size_t size, bool raw, scene_image *out, bl_error *err)
{
    if (setjmp(job->jump) != 0)
        return error_set(err, BL_ERROR_FORMAT, "bad JPEG image: %s", job->reason);
    TRY(read_header(job, size, out, err));
    return read_rows(job, raw, out, err);
}

bl_result image_decode_jpeg(const uint8_t *data, size_t size, bool raw, scene_image *out, bl_error *err)
{
    jpeg_job *job = memory_zeroed(1, sizeof *job);
    if (!job)
        return error_set(err, BL_ERROR_MEMORY, "out of memory");
    job_begin(job, data, size);
    bl_result result = decode(job, size, raw, out, err);
    jpeg_destroy_decompress(&job->jpeg);
    if (result != BL_OK)
        image_free(out);
    memory_free(job->row);
    memory_free(job);
    return result;
}

/* ---- writing ---- */

enum { QUALITY = 95 };

typedef struct jpeg_output {
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    jmp_buf jump;
    uint8_t *row;
    unsigned char *bytes; /* libjpeg's */
    unsigned long size;
    char reason[JMSG_LENGTH_MAX];
} jpeg_output;

static void on_output_error(j_common_ptr jpeg)
{
    jpeg_output *out = jpeg->client_data;
    jpeg->err->format_message(jpeg, out->reason);
    longjmp(out->jump, 1);
}

static void write_rows(jpeg_output *o, const scene_image *image)
{
    const size_t stride = (size_t)image->width * image->channels;
    o->jpeg.image_width = image->width, o->jpeg.image_height = image->height;
    o->jpeg.input_components = (int)image->channels;
    o->jpeg.in_color_space = image->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&o->jpeg);
    jpeg_set_quality(&o->jpeg, QUALITY, TRUE);
    jpeg_start_compress(&o->jpeg, TRUE);
    while (o->jpeg.next_scanline < o->jpeg.image_height) {
        const float *from = image->pixels + o->jpeg.next_scanline * stride;
        for (size_t i = 0; i < stride; i++)
            o->row[i] = image_encode_byte(from[i]);
        jpeg_write_scanlines(&o->jpeg, &o->row, 1);
    }
    jpeg_finish_compress(&o->jpeg);
}

static bl_result encode(jpeg_output *o, const scene_image *image, bl_error *err)
{
    if (setjmp(o->jump) != 0)
        return error_set(err, BL_ERROR_IO, "cannot encode a JPEG image: %s", o->reason);
    jpeg_create_compress(&o->jpeg);
    o->jpeg.client_data = o; /* create clears it in some versions */
    jpeg_mem_dest(&o->jpeg, &o->bytes, &o->size);
    write_rows(o, image);
    return BL_OK;
}

bl_result image_encode_jpeg(const scene_image *image, text *out, bl_error *err)
{
    jpeg_output *o = memory_zeroed(1, sizeof *o);
    if (o)
        o->row = memory_alloc((size_t)image->width * image->channels);
    if (!o || !o->row) {
        memory_free(o);
        return error_set(err, BL_ERROR_MEMORY, "out of memory");
    }
    o->jpeg.err = jpeg_std_error(&o->errors);
    o->errors.error_exit = on_output_error;
    o->errors.emit_message = on_message;
    o->jpeg.client_data = o;
    bl_result result = encode(o, image, err);
    if (result == BL_OK)
        text_add_bytes(out, o->bytes, o->size);
    jpeg_destroy_compress(&o->jpeg);
    free(o->bytes);
    memory_free(o->row);
    memory_free(o);
    return result;
}
