/* encode_options.c: the command line of epdx_encode. */
#include "tools/encode_options.h"

#include "base/error.h"
#include "tools/world.h"

#define TP_MAX         1024
#define NODES_MAX      1024
#define MB_MAX         1048576

#define OPTION(member) offsetof(epi_encode_options_t, member)

static const epi_arg_t table[] = {
    EPI_SOURCE_ARGS(epi_encode_options_t),
    {"node", "I/K",
     "the items of node I of K: item j of request i is that\n"
     "of node (i + j) % K (0/1)",
     EPI_ARG_PART, OPTION(node), 0, NODES_MAX},
    {"listen", "HOST:PORT",
     "where the bootstrap server inside rank 0 listens;\n"
     "port 0 takes a free one (EPDX_HOST:0)",
     EPI_ARG_ADDRESS, OPTION(listen), 0, 0},
    {"tp", "M", "encode ranks of this node (1, or those of mpirun)",
     EPI_ARG_COUNT, OPTION(tp), 1, TP_MAX},
    {"rank", "E",
     "this process is rank E of --tp; ranks above 0 need\n"
     "--bootstrap. Not under mpirun, which says it",
     EPI_ARG_COUNT, OPTION(rank), 0, TP_MAX - 1},
    {"bootstrap", "HOST:PORT",
     "register with this server; there is none inside", EPI_ARG_ADDRESS,
     OPTION(bootstrap), 1, 0},
    {"host", "HOST", "address to bind and to publish (EPDX_HOST)", EPI_ARG_HOST,
     OPTION(host), 0, 0},
    {"ring-mb", "MB", "memory for rows under way (EPDX_ENCODE_RING_MB)",
     EPI_ARG_COUNT, OPTION(ring_mb), 1, MB_MAX},
    {"memory", "KIND", "where rows are: host or cuda (EPDX_MEMORY)",
     EPI_ARG_MEMORY, OPTION(memory), 0, 0},
    {"timeout", "S",
     "how long rows wait to be asked for\n"
     "(EPDX_WAITING_TIMEOUT_S)",
     EPI_ARG_SECONDS, OPTION(timeout_ns), 0, 0},
    {"once", NULL,
     "end when every item has been delivered: exit 0, or 1 if\n"
     "one failed",
     EPI_ARG_FLAG, OPTION(once), 0, 0},
    {"chunk-own", NULL, "send from own memory instead of the ring",
     EPI_ARG_FLAG, OPTION(chunk_own), 0, 0},
    {"hold", "N",
     "for tests: after the first N items of this node send\n"
     "none until SIGUSR1",
     EPI_ARG_COUNT, OPTION(hold), 0, EPI_REQUESTS_MAX},
};

static epdx_status_t check_ranks(epi_encode_options_t *options)
{
    options->mpi = options->rank == EPI_ARG_UNSET && epi_world_launched();
    if (options->mpi) {
        return EPDX_OK;
    }
    if (options->rank == EPI_ARG_UNSET && options->tp > 1) {
        return epi_fail(EPDX_ERR_INVALID,
                        "--tp %llu: needs --rank, or an mpirun of as many "
                        "ranks",
                        (unsigned long long)options->tp);
    }
    options->tp = options->tp == 0 ? 1 : options->tp;
    options->rank = options->rank == EPI_ARG_UNSET ? 0 : options->rank;
    if (options->rank >= options->tp) {
        return epi_fail(
            EPDX_ERR_INVALID, "--rank %llu: is not below --tp, which is %llu",
            (unsigned long long)options->rank, (unsigned long long)options->tp);
    }
    if (options->once && options->tp > 1) {
        return epi_fail(EPDX_ERR_INVALID,
                        "--once: several ranks must end together, and only "
                        "under mpirun can they");
    }
    if (options->rank > 0 && options->bootstrap == NULL) {
        return epi_fail(EPDX_ERR_INVALID,
                        "--rank %llu: needs --bootstrap, the line that rank 0 "
                        "prints",
                        (unsigned long long)options->rank);
    }
    return EPDX_OK;
}

static epdx_status_t check(void *untyped)
{
    epi_encode_options_t *options = untyped;
    epdx_status_t status = epi_source_check(&options->source);

    if (status != EPDX_OK) {
        return status;
    }
    if (options->listen != NULL && options->bootstrap != NULL) {
        return epi_fail(EPDX_ERR_INVALID,
                        "--listen and --bootstrap do not go together");
    }
    return check_ranks(options);
}

const epi_args_t epi_encode_args = {
    .program = "epdx_encode",
    .usage = "--workload FILE | --npy DIR [options]",
    .about =
        "One rank of an encode node: serves embeddings, made up or from "
        "arrays, to the\nprefill ranks that ask for them, until SIGINT or "
        "SIGTERM. Rank 0 prints\n\"epdx_encode: bootstrap HOST:PORT\", where "
        "prefill ranks find the node.\n\nWith several ranks: one process a "
        "rank (--tp, --rank, --bootstrap), or one mpirun.",
    .args = table,
    .count = sizeof(table) / sizeof(table[0]),
    .check = check,
};
