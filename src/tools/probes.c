/* probes.c: see probes.h. */
#include "tools/probes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "dataplane/mapped.h"
#include "tools/command.h"

#define FACTS_FD 3
/** A process that lost its parent ends by itself. */
#define LIFE_S 60
/** Of the process's own deadlines; the parent's end it in any case. */
#define UCX_LIMIT_NS (10 * EPI_S)

typedef struct probe {
    const char *name;
    size_t bytes; /* of its facts */
    void (*run)(const char *argument, void *facts);
} probe_t;

static void probe_ucx(const char *argument, void *facts)
{
    epi_ucx_probe(argument, UCX_LIMIT_NS, facts);
}

static bool parse_announce(const char *text,
                           uint8_t out[EPI_MAPPED_ANNOUNCE_BYTES])
{
    if (strlen(text) != 2 * (size_t)EPI_MAPPED_ANNOUNCE_BYTES) {
        return false;
    }
    for (size_t i = 0; i < EPI_MAPPED_ANNOUNCE_BYTES; i++) {
        char digits[3] = {text[2 * i], text[2 * i + 1], '\0'};
        char *end;

        out[i] = (uint8_t)strtoul(digits, &end, 16);
        if (*end != '\0') {
            return false;
        }
    }
    return true;
}

static void probe_share(const char *argument, void *facts_p)
{
    uint8_t announce[EPI_MAPPED_ANNOUNCE_BYTES];
    epi_share_facts_t *facts = facts_p;
    epi_mapped_view_t view = {0};

    if (!parse_announce(argument, announce)) {
        (void)epi_text_copy(facts->error, sizeof(facts->error),
                            "no announcement came");
        return;
    }
    facts->shared =
        epi_mapped_view_open(announce, sizeof(announce), &view) == EPDX_OK;
    if (!facts->shared) {
        (void)epi_text_copy(facts->error, sizeof(facts->error),
                            epdx_last_error());
    }
    epi_mapped_view_close(&view);
}

static void probe_gpu(const char *argument, void *facts_p)
{
    epi_device_facts_t *facts = facts_p;

    (void)argument;
    epi_cuda_facts(&facts->cuda);
    epi_facts_nccl(facts);
}

/** By epi_probe_t. */
static const probe_t probes[] = {
    {"ucx", sizeof(epi_ucx_facts_t), probe_ucx},
    {"share", sizeof(epi_share_facts_t), probe_share},
    {"gpu", sizeof(epi_device_facts_t), probe_gpu},
};

#define PROBE_COUNT (sizeof(probes) / sizeof(probes[0]))

epdx_status_t epi_probe_run(epi_probe_t probe, const char *argument,
                            uint64_t timeout_ns, void *facts)
{
    const char *const argv[] = {epi_command_self(), "probe", probes[probe].name,
                                argument, NULL};
    const epi_command_t command = {argv, FACTS_FD, timeout_ns};
    epi_command_end_t end = {.bytes = 0};
    epdx_status_t status;

    if (argv[0] == NULL) {
        return epi_fail(EPDX_ERR_IO, "/proc is not mounted");
    }
    status = epi_command_run(&command, facts, probes[probe].bytes, &end);
    if (status == EPDX_OK && end.bytes != probes[probe].bytes) {
        return epi_fail(EPDX_ERR_IO, "the process that tried it ended with %d",
                        end.status);
    }
    return status;
}

/** Everything to the parent; false: nobody reads it. */
static bool hand_over(const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t wrote = write(FACTS_FD, bytes, count);

        if (wrote < 0 && errno == EINTR) {
            continue;
        }
        if (wrote <= 0) {
            return false;
        }
        bytes += wrote;
        count -= (size_t)wrote;
    }
    return true;
}

bool epi_probe_main(char **argv, int *exit_p)
{
    if (argv[0] == NULL || argv[1] == NULL || strcmp(argv[1], "probe") != 0) {
        return false;
    }
    *exit_p = 2;
    for (size_t i = 0; i < PROBE_COUNT; i++) {
        void *facts;

        if (argv[2] == NULL || argv[3] == NULL ||
            strcmp(argv[2], probes[i].name) != 0) {
            continue;
        }
        (void)alarm(LIFE_S);
        facts = calloc(1, probes[i].bytes);
        if (facts != NULL) {
            probes[i].run(argv[3], facts);
            *exit_p = hand_over(facts, probes[i].bytes) ? 0 : 1;
        }
        free(facts);
        break;
    }
    return true;
}
