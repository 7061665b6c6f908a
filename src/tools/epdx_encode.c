/* epdx_encode.c: one rank of an encode node, as a program. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "base/text.h"
#include "epdx/epdx.h"
#include "tools/encode_serve.h"
#include "tools/report.h"
#include "tools/world.h"

#define MPI_TIMEOUT_NS (UINT64_C(120) * 1000000000)
#define MB             ((size_t)1 << 20)

typedef struct encode {
    epi_encode_options_t options;
    epi_source_t source;
    epi_world_t world;
    epi_device_t device;
    epdx_bootstrap_t *bootstrap;
    char address[EPDX_ADDRESS_MAX + 1]; /* of the bootstrap server */
} encode_t;

static void fault(const encode_t *encode)
{
    fprintf(stderr, "%s: rank %llu: %s\n", epi_encode_args.program,
            (unsigned long long)encode->options.rank, epdx_last_error());
}

/* An error that all ranks have agreed on: rank 0 says it. */
static int agreed_fault(const encode_t *encode, epdx_status_t status,
                        int exit_status)
{
    if (encode->world.size > 0 &&
        (status == EPDX_ERR_TIMEOUT || status == EPDX_ERR_GROUP)) {
        fault(encode);
        epi_world_abort(1); /* MPI_Finalize() would wait for a lost rank */
    }
    if (encode->world.rank == 0) {
        fprintf(stderr, "%s: %s\n", epi_encode_args.program, epdx_last_error());
    }
    return exit_status;
}

/* Under mpirun: what one rank meets, all end for. */
static epdx_status_t agree(const encode_t *encode, epdx_status_t status)
{
    return encode->options.mpi ? epi_world_agree(&encode->world, status)
                               : status;
}

static epdx_status_t join_world(encode_t *encode)
{
    epi_encode_options_t *options = &encode->options;
    epdx_status_t status;

    if (!options->mpi) {
        return EPDX_OK;
    }
    status = epi_world_open(MPI_TIMEOUT_NS, &encode->world);
    if (status != EPDX_OK) {
        return status;
    }
    if (options->tp != 0 && options->tp != encode->world.size) {
        return epi_fail(EPDX_ERR_INVALID,
                        "--tp %llu: is not the number of ranks, %u",
                        (unsigned long long)options->tp, encode->world.size);
    }
    options->tp = encode->world.size;
    options->rank = encode->world.rank;
    return EPDX_OK;
}

/* The server inside rank 0, and its address to whoever waits for it. */
static epdx_status_t start_bootstrap(encode_t *encode)
{
    char any_port[EPDX_ADDRESS_MAX + 1];
    epdx_bootstrap_params_t params = {
        .struct_size = sizeof(params),
        .listen = encode->options.listen,
    };
    epdx_status_t status;

    if (params.listen == NULL && encode->options.host != NULL) {
        if (!epi_address_format(encode->options.host, 0, any_port,
                                sizeof(any_port))) {
            return epi_fail(EPDX_ERR_INVALID, "--host: too long");
        }
        params.listen = any_port;
    }
    status = epdx_bootstrap_open(&params, &encode->bootstrap);
    if (status != EPDX_OK) {
        return status;
    }
    (void)epi_text_copy(encode->address, sizeof(encode->address),
                        epdx_bootstrap_address(encode->bootstrap));
    return EPDX_OK;
}

/* Whoever waits for this line may begin: this rank serves from here on. */
static epdx_status_t say_bootstrap(const encode_t *encode)
{
    if (encode->bootstrap == NULL) {
        return EPDX_OK;
    }
    printf("%s: bootstrap %s\n", epi_encode_args.program, encode->address);
    return fflush(stdout) == 0
               ? EPDX_OK
               : epi_fail(EPDX_ERR_IO, "standard output is closed");
}

static epdx_status_t find_bootstrap(encode_t *encode)
{
    epdx_status_t status = EPDX_OK;

    if (encode->options.bootstrap != NULL) {
        (void)epi_text_copy(encode->address, sizeof(encode->address),
                            encode->options.bootstrap);
        return EPDX_OK;
    }
    if (encode->options.rank == 0) {
        status = start_bootstrap(encode);
    }
    status = agree(encode, status);
    if (status == EPDX_OK && encode->options.mpi) {
        status = epi_world_broadcast(&encode->world, encode->address,
                                     sizeof(encode->address));
    }
    return status;
}

static epdx_status_t open_sender(encode_t *encode, epdx_sender_t **sender_p)
{
    const epi_encode_options_t *options = &encode->options;
    epdx_sender_params_t params = {
        .struct_size = sizeof(params),
        .dtype = encode->source.dtype,
        .hidden = encode->source.hidden,
        .levels = encode->source.levels,
        .engine_rank = (uint32_t)options->rank,
        .world_size = (uint32_t)options->tp,
        .host = options->host,
        .bootstrap = encode->address,
        .ring_bytes = (size_t)options->ring_mb * MB,
        .waiting_timeout_ns = options->timeout_ns,
    };
    epdx_status_t status = epi_device_open(
        options->memory, (uint32_t)options->rank, &encode->device);

    if (status != EPDX_OK) {
        return status;
    }
    params.memory = epi_device_kind(&encode->device);
    params.cuda = epi_device_cuda(&encode->device);
    return epdx_sender_open(&params, sender_p);
}

static void print_totals(const encode_t *encode,
                         const epi_encode_totals_t *totals)
{
    epi_json_t json;

    epi_json_begin(&json, stdout);
    epi_json_u64(&json, "node", encode->options.node.index);
    epi_json_u64(&json, "nodes", encode->options.node.count);
    epi_json_u64(&json, "rank", encode->options.rank);
    epi_json_u64(&json, "tp", encode->options.tp);
    epi_json_u64(&json, "items", totals->items);
    epi_json_u64(&json, "sent", totals->sent);
    epi_json_u64(&json, "delivered", totals->delivered);
    epi_json_u64(&json, "failed", totals->failed);
    epi_json_u64(&json, "rooms_open", totals->sender.rooms_open);
    epi_json_u64(&json, "ring_leased_bytes", totals->sender.ring_leased_bytes);
    epi_json_u64(&json, "bytes", totals->sender.bytes_offered);
    epi_json_double(&json, "seconds", totals->seconds);
    epi_json_text(&json, "transport", totals->sender.transport);
    epi_device_json(&encode->device, &json);
    epi_json_u64(&json, "bytes_staged", totals->sender.bytes_staged);
    epi_json_end(&json);
}

static int serve(encode_t *encode, epdx_sender_t *sender)
{
    epi_encode_serve_t what = {&encode->options, &encode->source,
                               &encode->device};
    epi_encode_totals_t totals;
    epdx_status_t status = epi_encode_serve(&what, sender, &totals);

    print_totals(encode, &totals);
    if (status != EPDX_OK) {
        fault(encode);
        return 1;
    }
    return encode->options.once && totals.delivered < totals.items ? 1 : 0;
}

/* What the arguments name, and how many ranks they say there are. */
static epdx_status_t open_named(encode_t *encode)
{
    epdx_status_t status = join_world(encode);

    return status != EPDX_OK
               ? status
               : agree(encode, epi_source_open(&encode->options.source,
                                               &encode->source));
}

/* From the arguments to the end of service. */
static int run(encode_t *encode)
{
    epdx_sender_t *sender = NULL;
    epdx_status_t status = open_named(encode);

    if (status != EPDX_OK) {
        return agreed_fault(encode, status, EPI_EXIT_USAGE);
    }
    status = find_bootstrap(encode);
    if (status == EPDX_OK) {
        status = open_sender(encode, &sender);
        if (status == EPDX_OK) {
            status = say_bootstrap(encode);
        }
        status = agree(encode, status);
    }
    if (status != EPDX_OK) {
        epdx_sender_close(sender);
        return agreed_fault(encode, status, 1);
    }
    return serve(encode, sender);
}

int main(int argc, char **argv)
{
    static encode_t encode = {.options = EPI_ENCODE_OPTIONS_PRESET};
    int exit_status = 0;

    (void)argc;
    if (!epi_args_main(&epi_encode_args, argv, &encode.options, &exit_status)) {
        return exit_status;
    }
    epi_encode_block_signals();
    exit_status = run(&encode);
    epi_device_close(&encode.device);
    epdx_bootstrap_close(encode.bootstrap);
    epi_source_close(&encode.source);
    if (encode.options.mpi && encode.world.size > 0) {
        epi_world_close();
    }
    return exit_status;
}
