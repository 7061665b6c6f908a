/* expand.c: see expand.h. */
#include "base/expand.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"

#define NAMES 3

static const char *const rank_names[NAMES] = {"OMPI_COMM_WORLD_RANK",
                                              "PMIX_RANK", "SLURM_PROCID"};
static const char *const local_names[NAMES] = {
    "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"};

/* The first of these variables that is set and not empty. */
static const char *first_set(const char *const names[NAMES])
{
    for (size_t i = 0; i < NAMES; i++) {
        const char *value = getenv(names[i]);

        if (value != NULL && value[0] != '\0') {
            return value;
        }
    }
    return "0";
}

void epi_host_name(char host[EPI_HOST_BYTES])
{
    if (gethostname(host, EPI_HOST_BYTES) != 0) {
        (void)snprintf(host, EPI_HOST_BYTES, "unknown");
    }
    host[EPI_HOST_BYTES - 1] = '\0';
}

const char *epi_rank_text(void)
{
    return first_set(rank_names);
}

unsigned epi_local_rank(void)
{
    uint64_t rank = 0;

    return epi_text_number(first_set(local_names), UINT16_MAX, &rank)
               ? (unsigned)rank
               : 0;
}

/* What stands for % and the letter; NULL: nothing does. */
static const char *value_of(char letter, const char *host, const char *pid)
{
    switch (letter) {
    case 'h':
        return host;
    case 'p':
        return pid;
    case 'r':
        return epi_rank_text();
    case '%':
        return "%";
    default:
        return NULL;
    }
}

epdx_status_t epi_expand(const char *setting, const char *file, char *out,
                         size_t size)
{
    size_t used = 0;
    char host[EPI_HOST_BYTES];
    char pid[24];

    epi_host_name(host);
    (void)snprintf(pid, sizeof(pid), "%ld", (long)getpid());
    for (; *file != '\0'; file++) {
        char one[2] = {*file, '\0'};
        const char *piece = one;
        size_t length;

        if (file[0] == '%') {
            file++;
            piece = value_of(*file, host, pid);
        }
        if (piece == NULL) {
            return epi_fail(EPDX_ERR_INVALID,
                            "%s has %%%.1s, which is none of %%h (host), %%p "
                            "(process id), %%r (rank) and %%%% (a %%)",
                            setting, file);
        }
        length = strlen(piece);
        if (length >= size - used) {
            return epi_fail(EPDX_ERR_TOO_LARGE, "%s is too long", setting);
        }
        memcpy(out + used, piece, length);
        used += length;
    }
    out[used] = '\0';
    return EPDX_OK;
}
