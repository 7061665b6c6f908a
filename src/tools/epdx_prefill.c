/* epdx_prefill.c: the ranks of a prefill engine, as a program. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/log.h"
#include "epdx/epdx.h"
#include "tools/prefill_mpi.h"
#include "tools/prefill_report.h"

#define MB ((size_t)1 << 20)

/* Says what is wrong and gives exit_status back. */
static int fault(const char *words, int exit_status)
{
    fprintf(stderr, "%s: %s\n", epi_prefill_args.program, words);
    return exit_status;
}

static int print_sizes(const epi_prefill_options_t *options)
{
    epi_source_t source;
    epdx_status_t status = epi_source_open(&options->source, &source);

    if (status != EPDX_OK) {
        return fault(epdx_last_error(), EPI_EXIT_USAGE);
    }
    status = epi_prefill_print_sizes(&source);
    epi_source_close(&source);
    return status == EPDX_OK ? 0 : fault(epdx_last_error(), EPI_EXIT_USAGE);
}

static epdx_status_t make_out(const epi_prefill_options_t *options)
{
    struct stat stat_out;

    if (options->out == NULL) {
        return EPDX_OK;
    }
    if (mkdir(options->out, 0777) != 0 && errno != EEXIST) {
        return epi_fail(EPDX_ERR_IO, "%s: %s", options->out, strerror(errno));
    }
    if (stat(options->out, &stat_out) != 0 || !S_ISDIR(stat_out.st_mode)) {
        return epi_fail(EPDX_ERR_IO, "%s: not a directory", options->out);
    }
    return EPDX_OK;
}

static epdx_status_t open_admission(epi_prefill_t *prefill, epdx_group_t *group)
{
    const epi_prefill_options_t *options = prefill->options;
    epdx_admission_params_t params = {
        .struct_size = sizeof(params),
        .receiver =
            {
                .struct_size = sizeof(params.receiver),
                .dtype = prefill->source->dtype,
                .hidden = prefill->source->hidden,
                .levels = prefill->source->levels,
                .shard = options->no_shard ? EPDX_OFF : EPDX_DEFAULT,
                .host = options->host,
                .pool_bytes = (size_t)options->pool_mb * MB,
                .waiting_timeout_ns = options->timeout_ns,
                .memory = epi_device_kind(prefill->device),
                .cuda = epi_device_cuda(prefill->device),
            },
    };

    return epdx_admission_open(group, &params, &prefill->admission);
}

/* A group that failed in the middle cannot be left in order. */
static int run_workload(const epi_prefill_t *prefill)
{
    static epi_prefill_totals_t totals;
    bool good = false;
    epdx_status_t status = epi_prefill_run(prefill, &totals);

    if (status == EPDX_OK) {
        status = epi_prefill_report(prefill, &totals, &good);
    }
    epi_prefill_totals_fini(&totals);
    if (status != EPDX_OK) {
        fprintf(stderr, "%s: rank %u: %s\n", epi_prefill_args.program,
                prefill->world->rank, epdx_last_error());
        epi_world_abort(1);
    }
    return good ? 0 : 1;
}

/* What the arguments name: alike on every rank. */
static epdx_status_t open_named(const epi_prefill_t *prefill,
                                epi_source_t *source)
{
    const epi_prefill_options_t *options = prefill->options;
    epdx_status_t status = epi_source_open(&options->source, source);

    if (status == EPDX_OK && options->skip >= source->workload.count) {
        status = epi_fail(
            EPDX_ERR_INVALID, "--skip %llu: leaves nothing of %zu requests",
            (unsigned long long)options->skip, source->workload.count);
    }
    if (status == EPDX_OK && prefill->world->rank == 0) {
        status = make_out(options);
    }
    return epi_world_agree(prefill->world, status);
}

/* Errors before the first drain are the same on every rank: rank 0 says them,
 * the others only in their logs, and all end in order; but where a collective
 * failed or passed its deadline, MPI_Finalize() would wait for a rank that does
 * not come. */
static int run_ranks(epi_prefill_t *prefill, epi_source_t *source)
{
    epdx_group_t *group = NULL;
    int exit_status = EPI_EXIT_USAGE;
    epdx_status_t status = open_named(prefill, source);

    if (status == EPDX_OK) {
        exit_status = 1;
        status = epi_world_agree(prefill->world,
                                 epi_device_open(prefill->options->memory,
                                                 prefill->world->rank,
                                                 prefill->device));
    }
    if (status == EPDX_OK) {
        status = epi_world_agree(prefill->world,
                                 epi_prefill_group(prefill->world, &group));
    }
    if (status == EPDX_OK) {
        status = open_admission(prefill, group);
    }
    if (status == EPDX_ERR_TIMEOUT || status == EPDX_ERR_GROUP) {
        (void)fault(epdx_last_error(), 1);
        epi_world_abort(1);
    }
    if (status == EPDX_OK) {
        exit_status = run_workload(prefill);
    } else if (prefill->world->rank == 0) {
        exit_status = fault(epdx_last_error(), exit_status);
    } else {
        epi_log_info("%s", epdx_last_error());
    }
    epi_device_close(prefill->device);
    epdx_admission_close(prefill->admission);
    epdx_group_close(group);
    epi_source_close(source);
    return exit_status;
}

int main(int argc, char **argv)
{
    static epi_prefill_options_t options = EPI_PREFILL_OPTIONS_PRESET;
    static epi_source_t source;
    epi_device_t device = {.pinned = NULL};
    epi_world_t world;
    epi_prefill_t prefill = {.options = &options,
                             .source = &source,
                             .world = &world,
                             .device = &device};
    int exit_status = 0;

    (void)argc;
    if (!epi_args_main(&epi_prefill_args, argv, &options, &exit_status)) {
        return exit_status;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    if (options.sizes) {
        return print_sizes(&options);
    }
    if (epi_world_open(options.collective_timeout_ns, &world) != EPDX_OK) {
        return fault(epdx_last_error(), 1);
    }
    exit_status = run_ranks(&prefill, &source);
    epi_world_close();
    return exit_status;
}
