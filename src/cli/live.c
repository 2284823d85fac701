/* SPDX-License-Identifier: BSD-3-Clause
 * What others may follow while a command works: events as lines of JSON in a file or pipe, and pictures in
 * the viewer tev, over its network protocol (the one of pbrt-v4's display server; github.com/Tom94/tev, Ipc).
 * A packet is its length with itself (u32), a type (u8), and what the type has; numbers are little-endian,
 * texts end in 0. */
#include "cli.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { UPDATE_IMAGE = 3, CREATE_IMAGE = 4 }; /* types of packets */

/* ---- events ---- */

int live_open_events(cli_live *live, const char *path, bool append)
{
    live->begun = seconds_now();
    if (!path)
        return CLI_OK;
    live->events = fopen(path, append ? "a" : "w");
    return live->events ? CLI_OK : fail("cannot write events to %s: %s", path, strerror(errno));
}

cJSON *live_event(const cli_live *live, const char *kind)
{
    if (!live->events)
        return NULL;
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "event", kind);
    cJSON_AddNumberToObject(json, "seconds", seconds_now() - live->begun);
    return json;
}

cJSON *live_end(const cli_live *live, int status)
{
    cJSON *event = live_event(live, "end");
    if (event)
        cJSON_AddNumberToObject(event, "status", interrupted() ? interrupt_status() : status);
    return event;
}

void live_send(const cli_live *live, cJSON *event)
{
    char *text = event ? cJSON_PrintUnformatted(event) : NULL;
    if (text) {
        fprintf(live->events, "%s\n", text);
        fflush(live->events); /* whoever reads must not wait for a full buffer */
    }
    cJSON_free(text);
    cJSON_Delete(event);
}

/* ---- tev ---- */

static int connect_to(const char *host, const char *port, const char *address)
{
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    int file = -1, reason = getaddrinfo(host, port, &wanted, &found);
    if (reason) {
        fail("cannot reach tev at %s: %s", address, gai_strerror(reason));
        return -1;
    }
    for (const struct addrinfo *a = found; a && file < 0; a = a->ai_next) {
        file = socket(a->ai_family, a->ai_socktype, a->ai_protocol);
        if (file >= 0 && connect(file, a->ai_addr, a->ai_addrlen) != 0) {
            reason = errno;
            close(file);
            file = -1;
        }
    }
    freeaddrinfo(found);
    if (file < 0)
        fail("cannot reach tev at %s: %s", address, strerror(reason));
    return file;
}

int live_open_tev(cli_live *live, const char *address)
{
    live->tev = -1;
    if (!address)
        return CLI_OK;
    char *host = text_format("%s", address), *colon = strrchr(host, ':');
    if (colon)
        *colon = 0;
    live->tev = connect_to(*host ? host : "127.0.0.1", colon ? colon + 1 : "14158", address);
    free(host);
    return live->tev >= 0 ? CLI_OK : CLI_FAILED;
}

typedef struct packet {
    FILE *out;
    char *bytes;
    size_t size;
} packet;

/* The stream knows where p lies. */
static void packet_begin(packet *p, unsigned char type, const char *name)
{
    *p = (packet){0};
    p->out = open_memstream(&p->bytes, &p->size);
    if (!p->out)
        exit(fail("out of memory"));
    const uint32_t length = 0; /* known at the end */
    const unsigned char head[2] = {type, 0 /* the viewer need not come to the front */};
    fwrite(&length, 4, 1, p->out);
    fwrite(head, 1, 2, p->out);
    fwrite(name, 1, strlen(name) + 1, p->out);
}

static void put(packet *p, int32_t number) { fwrite(&number, 4, 1, p->out); }

/* A viewer that was closed is no reason to stop: nothing is sent any more. */
static void packet_send(cli_live *live, packet *p)
{
    if (fclose(p->out) != 0)
        exit(fail("out of memory"));
    const uint32_t length = (uint32_t)p->size;
    memcpy(p->bytes, &length, 4);
    for (size_t sent = 0; sent < p->size && live->tev >= 0;) {
        const ssize_t now = send(live->tev, p->bytes + sent, p->size - sent, MSG_NOSIGNAL);
        if (now < 0 && errno == EINTR)
            continue;
        if (now <= 0) {
            close(live->tev);
            live->tev = -1;
        }
        sent += now > 0 ? (size_t)now : 0;
    }
    free(p->bytes);
}

static const char *const channel_names[3] = {"R", "G", "B"};

static void create_image(cli_live *live, const cli_session *session, const char *name)
{
    packet p;
    packet_begin(&p, CREATE_IMAGE, name);
    put(&p, (int32_t)session->info.width);
    put(&p, (int32_t)session->info.height);
    put(&p, 3);
    for (int c = 0; c < 3; c++)
        fwrite(channel_names[c], 1, 2, p.out);
    packet_send(live, &p);
}

void live_image(cli_live *live, const cli_session *session, const char *name, const float *image)
{
    const uint32_t channels = session->info.channels;
    if (live->tev < 0)
        return;
    create_image(live, session, name); /* one that is there stays */
    for (uint32_t c = 0; c < 3 && live->tev >= 0; c++) {
        packet p;
        packet_begin(&p, UPDATE_IMAGE, name);
        fwrite(channel_names[c], 1, 2, p.out);
        put(&p, 0), put(&p, 0);
        put(&p, (int32_t)session->info.width);
        put(&p, (int32_t)session->info.height);
        for (size_t i = 0; i < session_pixels(session); i++)
            fwrite(&image[channels * i + (channels == 3 ? c : 0)], 4, 1, p.out);
        packet_send(live, &p);
    }
}

void live_close(cli_live *live)
{
    if (live->events)
        fclose(live->events);
    if (live->tev >= 0)
        close(live->tev);
    *live = (cli_live){.tev = -1};
}
