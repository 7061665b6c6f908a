/*
 * log.c: one line an event, to the caller's sink, a file or standard error.
 *
 * There is no lock: a line is built on the stack and leaves in one write(2),
 * which O_APPEND (a file) and PIPE_BUF (a pipe) keep whole.
 */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_BYTES   1024
#define PREFIX_BYTES 128
#define HOST_BYTES   65

/* Beside the level until someone has chosen one. */
#define UNSET 0x100

static atomic_int log_level = EPDX_LOG_WARN | UNSET;
static atomic_int log_fd = STDERR_FILENO;
static atomic_flag log_configured = ATOMIC_FLAG_INIT;

/* Set before the first object, so before any thread of epdx exists. */
static epdx_log_sink_t log_sink;
static void *log_sink_context;

static const char *level_name(epdx_log_level_t level)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};

    return (unsigned)level < 4 ? names[level] : "debug";
}

static void host_name(char host[HOST_BYTES])
{
    if (gethostname(host, HOST_BYTES) != 0) {
        (void)snprintf(host, HOST_BYTES, "unknown");
    }
    host[HOST_BYTES - 1] = '\0';
}

static const char *rank_text(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                        "SLURM_PROCID"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = getenv(names[i]);

        if (value != NULL && value[0] != '\0') {
            return value;
        }
    }
    return "0";
}

/* Text from peers must not end a line or steer a terminal. */
static void blunt(char *line)
{
    for (; *line != '\0'; line++) {
        unsigned char byte = (unsigned char)*line;

        if (byte < 0x20 || byte == 0x7f) {
            *line = '?';
        }
    }
}

static void write_line(epdx_log_level_t level, const char *line)
{
    char out[PREFIX_BYTES + LINE_BYTES + 1];
    char host[HOST_BYTES];
    int length;
    int saved = errno;

    host_name(host);
    length = snprintf(out, sizeof(out), "epdx: %s:%ld %s: %s\n", host,
                      (long)getpid(), level_name(level), line);
    if (length > 0 && (size_t)length < sizeof(out)) {
        ssize_t written = write(atomic_load(&log_fd), out, (size_t)length);

        /* A log that cannot be written must not fail the call that logs. */
        (void)written;
    }
    errno = saved;
}

/* The file's name with %h, %p and %r filled in; false when too long. */
static bool expand_name(const char *file, char *out, size_t size)
{
    size_t used = 0;
    char host[HOST_BYTES];
    char pid[24];

    host_name(host);
    (void)snprintf(pid, sizeof(pid), "%ld", (long)getpid());
    while (*file != '\0') {
        char one[2] = {*file, '\0'};
        const char *piece = one;
        size_t length;

        if (file[0] == '%' && file[1] != '\0' && strchr("hpr", file[1])) {
            file++;
            piece = *file == 'h' ? host : *file == 'p' ? pid : rank_text();
        }
        file++;
        length = strlen(piece);
        if (length >= size - used) {
            return false;
        }
        memcpy(out + used, piece, length);
        used += length;
    }
    out[used] = '\0';
    return true;
}

bool epi_log_on(epdx_log_level_t level)
{
    return (int)level <=
           (atomic_load_explicit(&log_level, memory_order_relaxed) & ~UNSET);
}

void epi_log(epdx_log_level_t level, const char *format, ...)
{
    char line[LINE_BYTES];
    va_list arguments;

    if (!epi_log_on(level)) {
        return;
    }
    va_start(arguments, format);
    if (vsnprintf(line, sizeof(line), format, arguments) < 0) {
        line[0] = '\0';
    }
    va_end(arguments);
    blunt(line);
    if (log_sink != NULL) {
        log_sink(log_sink_context, level, line);
    } else {
        write_line(level, line);
    }
}

void epi_log_configure(epdx_log_level_t level, const char *file)
{
    char name[PATH_MAX];
    int unset = EPDX_LOG_WARN | UNSET;
    int fd;

    if (atomic_flag_test_and_set(&log_configured)) {
        return;
    }
    /* Fails, as it should, when epdx_log_set_level() came first. */
    (void)atomic_compare_exchange_strong(&log_level, &unset, (int)level);
    if (file[0] == '\0') {
        return;
    }
    if (!expand_name(file, name, sizeof(name))) {
        epi_log_warn("EPDX_LOG_FILE is too long; logging to standard error");
        return;
    }
    fd = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0) {
        epi_log_warn("EPDX_LOG_FILE %s cannot be opened: errno %d; logging to "
                     "standard error",
                     name, errno);
        return;
    }
    atomic_store(&log_fd, fd);
}

void epdx_log_set_sink(epdx_log_sink_t sink, void *context)
{
    log_sink_context = context;
    log_sink = sink;
}

void epdx_log_set_level(epdx_log_level_t level)
{
    atomic_store(&log_level, (int)level);
}
