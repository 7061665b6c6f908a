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
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/expand.h"
#include "base/log_form.h"
#include "base/log_limit.h"

#define LINE_BYTES 1024

/* Beside the level until someone has chosen one. */
#define UNSET 0x100

static atomic_int log_level = EPDX_LOG_WARN | UNSET;
static atomic_int log_fd = STDERR_FILENO;
static atomic_int log_form = EPI_LOG_TEXT;
static _Atomic uint32_t log_burst;
static epi_log_limit_t log_limit;
static atomic_flag log_configured = ATOMIC_FLAG_INIT;

/* Set before the first object, so before any thread of epdx exists. */
static epdx_log_sink_t log_sink;
static void *log_sink_context;

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

static void write_line(epdx_log_level_t level, const char *text)
{
    char out[EPI_LOG_FORM_BYTES];
    char host[EPI_HOST_BYTES];
    epi_log_line_t line = {.form = (epi_log_form_t)atomic_load(&log_form),
                           .level = level,
                           .host = host,
                           .pid = (long)getpid(),
                           .rank = epi_rank_text(),
                           .wall_ns = epi_wall_ns(),
                           .text = text};
    size_t length;
    int saved = errno;

    epi_host_name(host);
    length = epi_log_form(&line, out);
    if (length > 0) {
        ssize_t written = write(atomic_load(&log_fd), out, length);

        /* A log that cannot be written must not fail the call that logs. */
        (void)written;
    }
    errno = saved;
}

bool epi_log_on(epdx_log_level_t level)
{
    return (int)level <=
           (atomic_load_explicit(&log_level, memory_order_relaxed) & ~UNSET);
}

static void append(char line[LINE_BYTES], const char *format, ...)
    EPDX_PRINTF(2, 3);

static void append(char line[LINE_BYTES], const char *format, ...)
{
    size_t used = strlen(line);
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(line + used, LINE_BYTES - used, format, arguments);
    va_end(arguments);
}

void epi_log(epdx_log_level_t level, const char *format, ...)
{
    char line[LINE_BYTES];
    uint32_t burst = atomic_load_explicit(&log_burst, memory_order_relaxed);
    uint32_t left_out = 0;
    epi_log_verdict_t verdict;
    va_list arguments;

    if (!epi_log_on(level)) {
        return;
    }
    /* Whoever wants lines of debug wants all of them. */
    verdict = epi_log_limit(&log_limit, format, epi_now_ns(),
                            level == EPDX_LOG_DEBUG ? 0 : burst, &left_out);
    if (verdict == EPI_LOG_LEAVE_OUT) {
        return;
    }
    va_start(arguments, format);
    if (vsnprintf(line, sizeof(line), format, arguments) < 0) {
        line[0] = '\0';
    }
    va_end(arguments);
    if (left_out > 0) {
        append(line, " (%u lines like this one were left out)", left_out);
    }
    if (verdict == EPI_LOG_WRITE_LAST) {
        append(line, " (more like this one are left out for up to 10 s: "
                     "EPDX_LOG_BURST)");
    }
    blunt(line);
    if (log_sink != NULL) {
        log_sink(log_sink_context, level, line);
    } else {
        write_line(level, line);
    }
}

void epi_log_configure(const epi_log_setup_t *setup)
{
    char name[PATH_MAX];
    int unset = EPDX_LOG_WARN | UNSET;
    int fd;

    if (atomic_flag_test_and_set(&log_configured)) {
        return;
    }
    /* Fails, as it should, when epdx_log_set_level() came first. */
    (void)atomic_compare_exchange_strong(&log_level, &unset, (int)setup->level);
    atomic_store(&log_form, (int)setup->form);
    atomic_store(&log_burst, setup->burst);
    if (setup->file[0] == '\0') {
        return;
    }
    if (epi_expand("EPDX_LOG_FILE", setup->file, name, sizeof(name)) !=
        EPDX_OK) {
        epi_log_warn("%s; logging to standard error", epdx_last_error());
        return;
    }
    fd = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0) {
        epi_log_warn("EPDX_LOG_FILE %s cannot be opened: %s; logging to "
                     "standard error",
                     name, strerrordesc_np(errno));
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
