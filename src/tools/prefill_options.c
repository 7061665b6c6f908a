/* prefill_options.c: the command line of epdx_prefill. */
#include "tools/prefill_options.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"

#define CONCURRENCY_PRESET           32
#define CONCURRENCY_MAX              65536
#define COLLECTIVE_TIMEOUT_PRESET_NS (300 * EPI_S)
#define MB_MAX                       1048576

#define OPTION(member)               offsetof(epi_prefill_options_t, member)

static const epi_arg_t table[] = {
    EPI_SOURCE_ARGS(epi_prefill_options_t),
    {"encode", "HOST:PORT",
     "an encode node's bootstrap server; repeatable: item j\n"
     "of request i comes from number (i + j) % K of K",
     EPI_ARG_ADDRESSES, OPTION(encode), 1, 0},
    {"skip", "S",
     "without the first S requests, which another engine has:\n"
     "an encode node serves each but once",
     EPI_ARG_COUNT, OPTION(skip), 0, EPI_REQUESTS_MAX},
    {"verify", NULL, "check every byte of every item on every rank",
     EPI_ARG_FLAG, OPTION(verify), 0, 0},
    {"out", "DIR", "with --npy: write the received arrays there", EPI_ARG_TEXT,
     OPTION(out), 0, 0},
    {"concurrency", "N", "requests staged at a time (32)", EPI_ARG_COUNT,
     OPTION(concurrency), 1, CONCURRENCY_MAX},
    {"realtime", NULL, "stage each request at its time in the trace instead",
     EPI_ARG_FLAG, OPTION(realtime), 0, 0},
    {"no-shard", NULL, "every rank pulls all rows (EPDX_EMBEDDING_SHARD)",
     EPI_ARG_FLAG, OPTION(no_shard), 0, 0},
    {"pool-mb", "MB", "receive pool of a rank (EPDX_RECV_POOL_MB)",
     EPI_ARG_COUNT, OPTION(pool_mb), 1, MB_MAX},
    {"memory", "KIND", "where rows land: host or cuda (EPDX_MEMORY)",
     EPI_ARG_MEMORY, OPTION(memory), 0, 0},
    {"timeout", "S", "deadline of a request (EPDX_WAITING_TIMEOUT_S)",
     EPI_ARG_SECONDS, OPTION(timeout_ns), 0, 0},
    {"collective-timeout", "S", "deadline of one collective (300)",
     EPI_ARG_SECONDS, OPTION(collective_timeout_ns), 0, 0},
    {"host", "HOST", "address to bind and to publish (EPDX_HOST)", EPI_ARG_HOST,
     OPTION(host), 0, 0},
    {"progress", NULL, "show progress also where standard error is no terminal",
     EPI_ARG_FLAG, OPTION(progress), 0, 0},
    {"sizes", NULL,
     "only print what the requests take, as JSON; needs no\n"
     "--encode and no mpirun",
     EPI_ARG_FLAG, OPTION(sizes), 0, 0},
};

static epdx_status_t check_encode(const epi_arg_list_t *encode)
{
    for (size_t i = 0; i < encode->count; i++) {
        for (size_t j = 0; j < i; j++) {
            if (strcmp(encode->values[i], encode->values[j]) == 0) {
                return epi_fail(EPDX_ERR_INVALID, "--encode: %s is there twice",
                                encode->values[i]);
            }
        }
    }
    return EPDX_OK;
}

static epdx_status_t check(void *untyped)
{
    epi_prefill_options_t *options = untyped;
    epdx_status_t status = epi_source_check(&options->source);

    if (status != EPDX_OK) {
        return status;
    }
    if (options->encode.count == 0 && !options->sizes) {
        return epi_fail(EPDX_ERR_INVALID, "--encode is needed");
    }
    if (options->out != NULL && options->source.npy == NULL) {
        return epi_fail(EPDX_ERR_INVALID, "--out goes with --npy");
    }
    if (options->realtime && options->concurrency != 0) {
        return epi_fail(EPDX_ERR_INVALID,
                        "--realtime and --concurrency do not go together");
    }
    if (options->concurrency == 0) {
        options->concurrency = CONCURRENCY_PRESET;
    }
    if (options->collective_timeout_ns == 0) {
        options->collective_timeout_ns = COLLECTIVE_TIMEOUT_PRESET_NS;
    }
    return check_encode(&options->encode);
}

const epi_args_t epi_prefill_args = {
    .program = "epdx_prefill",
    .usage = "--workload FILE | --npy DIR --encode HOST:PORT... [options]",
    .about =
        "The ranks of a prefill engine, under mpirun: receive every request "
        "of a workload\nfrom encode nodes that serve the same one, and report. "
        "The last line of rank 0 is\na JSON object. Exit status 0 only if no "
        "request failed and no byte was wrong.",
    .args = table,
    .count = sizeof(table) / sizeof(table[0]),
    .check = check,
};
