/* SPDX-License-Identifier: BSD-3-Clause
 * Files that are whole or not there: written under a temporary name beside the target, then renamed. NumPy
 * arrays and JSON. */
#include "cli.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- whole files ---- */

/* A new file beside `path`, whose mode is left to the umask. Its name ends in random digits and it must not
 * exist (O_EXCL), so programs that write one path do not meet, and no planted link is followed. */
static int create_beside(const char *path, char **name)
{
    int file = -1;
    *name = NULL;
    for (int tries = 0; file < 0 && tries < 100; tries++) {
        unsigned long long digits;
        if (getrandom(&digits, sizeof digits, 0) != sizeof digits)
            break;
        free(*name);
        *name = text_format("%s.tmp-%016llx", path, digits);
        file = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file < 0 && errno != EEXIST)
            break;
    }
    return file;
}

static bool write_all(int file, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t written = write(file, data, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        data += written;
        size -= (size_t)written;
    }
    return true;
}

static int open_temporary(const char *path, char **name)
{
    struct stat info;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) { /* a device would be gone after the rename */
        fail("cannot write %s: it is %s", path, S_ISDIR(info.st_mode) ? "a folder" : "no ordinary file");
        return -1;
    }
    int file = create_beside(path, name);
    if (file < 0) {
        fail("cannot write %s: %s", path, strerror(errno));
        free(*name);
    }
    return file;
}

int save_file(const char *path, const void *data, size_t size)
{
    char *name;
    int file = open_temporary(path, &name);
    if (file < 0)
        return CLI_FAILED;
    bool good = write_all(file, data, size) && fsync(file) == 0;
    int reason = errno;
    if (close(file) != 0 && good) {
        good = false;
        reason = errno;
    }
    if (good && rename(name, path) != 0) {
        good = false;
        reason = errno;
    }
    if (!good)
        unlink(name);
    free(name);
    return good ? CLI_OK : fail("cannot write %s: %s", path, strerror(reason));
}

int find_path(const char *path, bool *there)
{
    *there = access(path, F_OK) == 0;
    return *there || errno == ENOENT || errno == ENOTDIR
               ? CLI_OK
               : fail("cannot tell whether there is %s: %s", path, strerror(errno));
}

int remove_file(const char *path)
{
    return unlink(path) == 0 || errno == ENOENT ? CLI_OK
                                                : fail("cannot remove %s: %s", path, strerror(errno));
}

bool is_file(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

int check_writable(const char *path)
{
    char *name;
    int file = open_temporary(path, &name);
    if (file < 0)
        return CLI_FAILED;
    close(file);
    unlink(name);
    free(name);
    return CLI_OK;
}

static bool has_extension(const char *path, const char *extension)
{
    const char *dot = strrchr(path, '.');
    return dot && strcasecmp(dot, extension) == 0;
}

bool is_png(const char *path) { return has_extension(path, ".png"); }
bool is_exr(const char *path) { return has_extension(path, ".exr"); }
bool is_npy(const char *path) { return has_extension(path, ".npy"); }

bool is_display_image(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && (!strcmp(dot, ".png") || !strcmp(dot, ".jpg") || !strcmp(dot, ".jpeg"));
}

int copy_to_stdout(const char *path)
{
    size_t size;
    char *data = read_whole(path, (size_t)1 << 32, &size);
    if (!data)
        return CLI_FAILED;
    bool good = fwrite(data, 1, size, stdout) == size && fflush(stdout) == 0;
    free(data);
    return good ? CLI_OK : fail("cannot write to standard output");
}

int check_image_path(const char *path)
{
    const char *dot = strrchr(path, '.');
    if (!dot || (strcmp(dot, ".exr") != 0 && strcmp(dot, ".pfm") != 0 && strcmp(dot, ".hdr") != 0 &&
                 strcmp(dot, ".png") != 0 && strcmp(dot, ".jpg") != 0 && strcmp(dot, ".jpeg") != 0)) {
        fail("%s: an image's name must end in .exr, .pfm, .hdr, .png or .jpg", path);
        return CLI_USAGE;
    }
    return check_writable(path);
}

int make_folder(const char *path)
{
    char *partial = text_format("%s", path);
    for (char *c = partial + 1; *partial; c++) {
        if (*c != '/' && *c != 0)
            continue;
        bool last = *c == 0;
        *c = 0;
        if (mkdir(partial, 0777) != 0 && errno != EEXIST) {
            int status = fail("cannot create the folder %s: %s", partial, strerror(errno));
            free(partial);
            return status;
        }
        if (last)
            break;
        *c = '/';
    }
    free(partial);
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode))
        return fail("%s is not a folder", path);
    char *probe = text_format("%s/.backlight", path);
    int status = check_writable(probe);
    free(probe);
    return status;
}

int check_file_name(const char *parameter)
{
    if (strchr(parameter, '/') || parameter[0] == '.' || strlen(parameter) > 200)
        return fail("the parameter name '%s' cannot be used as a file name", parameter);
    return CLI_OK;
}

/* ---- NumPy, format version 1.0 ---- */

/* values: floats or doubles, by their bytes */
static int save_numbers(const char *path, const void *values, uint32_t bytes, const uint32_t *shape,
                        uint32_t rank)
{
    enum { PREAMBLE = 10, HEADER = 128 };
    size_t count = 1;
    char dimensions[80] = "";
    for (uint32_t i = 0; i < rank; i++) {
        size_t used = strlen(dimensions);
        snprintf(dimensions + used, sizeof dimensions - used, "%u%s", shape[i],
                 rank == 1      ? ","
                 : i + 1 < rank ? ", "
                                : "");
        count *= shape[i];
    }
    unsigned char *file = memory_or_exit(HEADER + count * bytes);
    memcpy(file, "\x93NUMPY\x01\x00", 8);
    file[8] = (HEADER - PREAMBLE) & 255;
    file[9] = (HEADER - PREAMBLE) >> 8;
    memset(file + PREAMBLE, ' ', HEADER - PREAMBLE);
    int length = snprintf((char *)file + PREAMBLE, HEADER - PREAMBLE,
                          "{'descr': '<f%u', 'fortran_order': False, 'shape': (%s), }", bytes, dimensions);
    file[PREAMBLE + length] = ' ';
    file[HEADER - 1] = '\n';
    for (size_t i = 0; i < count; i++) {
        uint32_t word;
        uint64_t number;
        const unsigned char *from = (const unsigned char *)values + bytes * i;
        memcpy(&word, from, sizeof word);
        number = word;
        if (bytes == sizeof number)
            memcpy(&number, from, sizeof number);
        for (uint32_t k = 0; k < bytes; k++)
            file[HEADER + bytes * i + k] = (unsigned char)(number >> 8 * k);
    }
    int status = save_file(path, file, HEADER + count * bytes);
    free(file);
    return status;
}

int save_npy(const char *path, const float *values, const uint32_t *shape, uint32_t rank)
{
    return save_numbers(path, values, sizeof *values, shape, rank);
}

int save_npy_doubles(const char *path, const double *values, const uint32_t *shape, uint32_t rank)
{
    return save_numbers(path, values, sizeof *values, shape, rank);
}

char *read_whole(const char *path, size_t limit, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        fail("cannot open %s: %s", path, strerror(errno));
        return NULL;
    }
    struct stat info;
    size_t room = fstat(fileno(file), &info) == 0 && S_ISREG(info.st_mode) && (uintmax_t)info.st_size < limit
                      ? (size_t)info.st_size
                      : limit;
    char *data = malloc(room + 2);
    *size = data ? fread(data, 1, room + 1, file) : 0;
    bool good = data && !ferror(file) && *size <= room;
    fclose(file);
    if (!good) {
        fail("cannot read %s", path);
        free(data);
        return NULL;
    }
    data[*size] = 0;
    return data;
}

static bool npy_values(const char *data, size_t size, uint32_t count, float *values)
{
    if (size < 10 || memcmp(data, "\x93NUMPY\x01", 7) != 0)
        return false;
    size_t header = (size_t)(unsigned char)data[8] | (size_t)(unsigned char)data[9] << 8;
    if (size < 10 + header || memchr(data + 10, 0, header))
        return false;
    const char *end = data + 10 + header;
    const char *single = strstr(data + 10, "'<f4'"), *twice = strstr(data + 10, "'<f8'");
    const char *fortran = strstr(data + 10, "'fortran_order': True");
    bool wide = twice && twice < end;
    if ((!wide && !(single && single < end)) || (fortran && fortran < end))
        return false;
    size_t width = wide ? 8 : 4;
    if (size - 10 - header != count * width)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        double value;
        if (wide)
            memcpy(&value, end + 8 * (size_t)i, 8);
        else
            memcpy(&values[i], end + 4 * (size_t)i, 4);
        if (wide)
            values[i] = (float)value;
        if (!isfinite(values[i]))
            return false;
    }
    return true;
}

static bool npy_has_shape(const char *data, const uint32_t shape[3])
{
    const char *name = "'shape': (", *at = strstr(data + 10, name);
    char *end = NULL;
    at = at ? at + strlen(name) : "";
    for (uint32_t k = 0; k < 3; k++, at = end + strspn(end, ", "))
        if (strtoul(at, &end, 10) != shape[k] || end == at)
            return false;
    return *at == ')';
}

/* shape: three numbers, or NULL: any. what: of the array, for the message. */
static int load_array(const char *path, uint32_t count, const uint32_t *shape, const char *what,
                      float **values)
{
    size_t size;
    *values = NULL;
    char *data = read_whole(path, 8 * (size_t)count + 70000, &size);
    if (!data)
        return CLI_FAILED;
    *values = memory_or_exit(count * sizeof **values);
    bool good = npy_values(data, size, count, *values) && (!shape || npy_has_shape(data, shape));
    free(data);
    if (good)
        return CLI_OK;
    free(*values);
    *values = NULL;
    return fail("%s is not a NumPy array %s (little-endian float32 or float64, C order)", path, what);
}

int load_npy_image(const char *path, const uint32_t shape[3], float **values)
{
    char *what = text_format("[%u, %u, %u] of finite values", shape[0], shape[1], shape[2]);
    int status = load_array(path, shape[0] * shape[1] * shape[2], shape, what, values);
    free(what);
    return status;
}

int load_npy(const char *path, uint32_t count, float **values)
{
    char *what = text_format("of %u finite values", count);
    int status = load_array(path, count, NULL, what, values);
    free(what);
    return status;
}

/* ---- JSON ---- */

static char *json_text(const cJSON *json)
{
    char *text = cJSON_Print(json);
    if (!text) {
        fprintf(stderr, "backlight: out of memory\n");
        exit(CLI_FAILED);
    }
    return text;
}

int save_json(const char *path, const cJSON *json)
{
    char *text = json_text(json);
    char *line = text_format("%s\n", text);
    int status = save_file(path, line, strlen(line));
    free(line);
    cJSON_free(text);
    return status;
}

static bool printed;

bool json_printed(void) { return printed; }

void print_json(const cJSON *json)
{
    printed = true;
    char *text = json_text(json);
    printf("%s\n", text);
    cJSON_free(text);
}

cJSON *json_floats(const float *values, uint32_t count)
{
    cJSON *array = cJSON_CreateArray();
    for (uint32_t i = 0; i < count; i++) {
        char text[32];
        snprintf(text, sizeof text, "%.9g",
                 (double)values[i]); /* shortest that keeps a float; NaN is not JSON */
        cJSON_AddItemToArray(array, isfinite(values[i]) ? cJSON_CreateRaw(text) : cJSON_CreateNull());
    }
    return array;
}

void json_add_origin(cJSON *json, const cli_session *session, const char *scene)
{
    cJSON_AddStringToObject(json, "version", BL_VERSION_TEXT);
    cJSON_AddStringToObject(json, "scene", scene);
    if (session->info.mode) /* what is compiled may be no scene */
        cJSON_AddStringToObject(json, "light_mode", session->info.mode);
    cJSON_AddStringToObject(json, "device", session->device_info.name);
    cJSON_AddStringToObject(json, "driver", session->device_info.driver);
}

cJSON *json_shape(const bl_parameter_info *info)
{
    cJSON *array = cJSON_CreateArray();
    for (uint32_t i = 0; i < info->rank; i++)
        cJSON_AddItemToArray(array, cJSON_CreateNumber(info->shape[i]));
    return array;
}

uint64_t host_peak_bytes(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_maxrss * 1024 : 0; /* Linux counts KiB */
}
