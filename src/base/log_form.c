/* log_form.c: see log_form.h. */
#include "base/log_form.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

static const char *level_name(epdx_log_level_t level)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};

    return (unsigned)level < 4 ? names[level] : "debug";
}

/* Bytes of the UTF-8 character at text; 0: it is none. */
static size_t character(const unsigned char *text)
{
    static const struct {
        unsigned char first, last; /* of its first byte */
        unsigned char least, most; /* of its second byte */
        size_t bytes;
    } forms[] = {
        {0x20, 0x7e, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2},
        {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
        {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4},
        {0xf4, 0xf4, 0x80, 0x8f, 4},
    };

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        size_t bytes = forms[i].bytes;

        if (text[0] < forms[i].first || text[0] > forms[i].last) {
            continue;
        }
        if (bytes > 1 &&
            (text[1] < forms[i].least || text[1] > forms[i].most)) {
            return 0;
        }
        for (size_t j = 2; j < bytes; j++) {
            if ((text[j] & 0xc0) != 0x80) {
                return 0;
            }
        }
        return bytes;
    }
    return 0;
}

/* Inside of a JSON text; out has room for two bytes each. */
static void quote(const char *text, char *out)
{
    while (*text != '\0') {
        size_t bytes = character((const unsigned char *)text);

        if (bytes == 0) {
            *out++ = '?';
            text++;
            continue;
        }
        if (*text == '"' || *text == '\\') {
            *out++ = '\\';
        }
        memcpy(out, text, bytes);
        out += bytes;
        text += bytes;
    }
    *out = '\0';
}

static int form_json(const epi_log_line_t *line, const char *wall,
                     char out[EPI_LOG_FORM_BYTES])
{
    char host[130];
    char rank[130];
    char text[2050];
    char cut[65];

    (void)snprintf(cut, sizeof(cut), "%.64s", line->host);
    quote(cut, host);
    (void)snprintf(cut, sizeof(cut), "%.64s", line->rank);
    quote(cut, rank);
    quote(line->text, text);
    return snprintf(out, EPI_LOG_FORM_BYTES,
                    "{\"time\":\"%s\",\"level\":\"%s\",\"host\":\"%s\","
                    "\"pid\":%ld,\"rank\":\"%s\",\"text\":\"%s\"}\n",
                    wall, level_name(line->level), host, line->pid, rank, text);
}

size_t epi_log_form(const epi_log_line_t *line, char out[EPI_LOG_FORM_BYTES])
{
    char wall[EPI_WALL_TEXT];
    bool timed = line->form == EPI_LOG_TIMED;
    int length;

    epi_wall_text(line->wall_ns, wall);
    if (line->form == EPI_LOG_JSON) {
        length = form_json(line, wall, out);
    } else {
        length = snprintf(out, EPI_LOG_FORM_BYTES, "%s%sepdx: %s:%ld %s: %s\n",
                          timed ? wall : "", timed ? " " : "", line->host,
                          line->pid, level_name(line->level), line->text);
    }
    return length > 0 && length < EPI_LOG_FORM_BYTES ? (size_t)length : 0;
}
