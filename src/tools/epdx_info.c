/* epdx_info.c: versions, settings and transports, and the doctor, as a
 * program. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/options.h"
#include "epdx/epdx.h"
#include "tools/args.h"
#include "tools/facts.h"
#include "tools/info_doctor.h"
#include "tools/info_mpi.h"
#include "tools/probes.h"
#include "tools/report.h"
#include "tools/world.h"

#define VALUE_BYTES  512
#define MPI_LIMIT_NS (30 * EPI_S)

typedef struct info_options {
    bool json;
    bool doctor;
    bool mpi;
    epi_arg_list_t encode;
} info_options_t;

typedef struct library {
    const char *name;
    const char *version; /* "": it was left out of this build */
} library_t;

/** What is printed. */
typedef struct info {
    epi_options_t options;
    char mpi[128];
    epi_plane_facts_t plane;
} info_t;

static epdx_status_t check(void *options)
{
    const info_options_t *chosen = options;

    if (chosen->encode.count > 0 && !chosen->doctor) {
        return epi_fail(EPDX_ERR_INVALID, "--encode: goes with --doctor");
    }
    if (chosen->mpi && (chosen->doctor || chosen->json)) {
        return epi_fail(EPDX_ERR_INVALID, "--mpi: goes alone");
    }
    return EPDX_OK;
}

static const epi_arg_t table[] = {
    {"json", NULL, "print one JSON object", EPI_ARG_FLAG,
     offsetof(info_options_t, json), 0, 0},
    {"doctor", NULL,
     "look whether epdx will work on this node; each finding\n"
     "has its cure",
     EPI_ARG_FLAG, offsetof(info_options_t, doctor), 0, 0},
    {"encode", "HOST:PORT",
     "with --doctor: also whether this bootstrap server can be\n"
     "reached from here; may be repeated",
     EPI_ARG_ADDRESSES, offsetof(info_options_t, encode), 1, 0},
    {"mpi", NULL, "join the MPI job and print `rank R of N`", EPI_ARG_FLAG,
     offsetof(info_options_t, mpi), 0, 0},
};

static const epi_args_t args = {
    .program = "epdx_info",
    .usage = "[--json] [--doctor [--encode HOST:PORT]...] | --mpi",
    .about = "Prints the version of epdx, of the libraries that it was built "
             "with, the\ntransports that UCX would use, and every setting: its "
             "value now, where that is\nfrom, its default, and what it does. "
             "Settings are read from the environment.",
    .args = table,
    .count = sizeof(table) / sizeof(table[0]),
    .check = check,
};

/* The build's versions come from CMake. */
static const library_t libraries[] = {
    {"UCX", EPDX_INFO_UCX},
    {"ZeroMQ", EPDX_INFO_ZMQ},
    {"libcurl", EPDX_INFO_CURL},
    {"cJSON", EPDX_INFO_CJSON},
    {"libmicrohttpd", EPDX_INFO_MICROHTTPD},
    {"CUDA", EPDX_INFO_CUDA},
    {"NCCL", EPDX_INFO_NCCL},
    {"DLPack", EPDX_INFO_DLPACK},
};

#define LIBRARIES (sizeof(libraries) / sizeof(libraries[0]))

static const char *source_of(const epi_option_info_t *info)
{
    const char *text = getenv(info->name);

    return text == NULL || text[0] == '\0' ? "default" : "environment";
}

static void print_setting(const epi_options_t *options, size_t index)
{
    const epi_option_info_t *info = epi_option_info(index);
    char value[VALUE_BYTES];

    epi_option_format(options, index, value, sizeof(value));
    printf("%s=%s%s%s\n    %s (default: %s, source: %s)\n", info->name, value,
           info->unit[0] == '\0' ? "" : " ", info->unit, info->help,
           info->preset[0] == '\0' ? "empty" : info->preset, source_of(info));
}

static void print_transports(const info_t *info)
{
    const epi_ucx_facts_t *ucx = &info->plane.ucx;

    printf("transports of UCX %s with EPDX_HOST %s\n", ucx->version,
           info->options.host);
    if (ucx->resources[0] != '\0') {
        printf("  there are %s\n", ucx->resources);
    }
    if (ucx->error[0] != '\0') {
        printf("  none works: %s\n", ucx->error);
        return;
    }
    printf("  within this node, from a ring: %s\n"
           "  within this node, from other memory: %s\n",
           ucx->shared_transport, ucx->transport);
}

static void print_text(const info_t *info)
{
    printf("epdx %s\n", epdx_version());
    for (size_t i = 0; i < LIBRARIES; i++) {
        if (libraries[i].version[0] == '\0') {
            printf("  without %s\n", libraries[i].name);
        } else {
            printf("  %s %s\n", libraries[i].name, libraries[i].version);
        }
    }
    printf("  %s\n\n", info->mpi);
    print_transports(info);
    printf("\n");
    for (size_t i = 0; i < epi_option_count(); i++) {
        print_setting(&info->options, i);
    }
}

static void json_setting(epi_json_t *json, const epi_options_t *options,
                         size_t index)
{
    const epi_option_info_t *info = epi_option_info(index);
    char value[VALUE_BYTES];

    epi_option_format(options, index, value, sizeof(value));
    epi_json_open(json, NULL, '{');
    epi_json_text(json, "name", info->name);
    epi_json_text(json, "value", value);
    epi_json_text(json, "unit", info->unit);
    epi_json_text(json, "default", info->preset);
    epi_json_text(json, "source", source_of(info));
    epi_json_text(json, "help", info->help);
    epi_json_close(json, '{');
}

static void json_transports(epi_json_t *json, const epi_ucx_facts_t *ucx)
{
    epi_json_open(json, "transports", '{');
    epi_json_text(json, "ucx", ucx->version);
    epi_json_text(json, "resources", ucx->resources);
    epi_json_text(json, "ring_within_node", ucx->shared_transport);
    epi_json_text(json, "other_within_node", ucx->transport);
    epi_json_bool(json, "cuda", ucx->cuda);
    epi_json_text(json, "error", ucx->error);
    epi_json_close(json, '{');
}

static void print_json(const info_t *info)
{
    epi_json_t json;

    epi_json_begin(&json, stdout);
    epi_json_text(&json, "version", epdx_version());
    epi_json_open(&json, "libraries", '{');
    for (size_t i = 0; i < LIBRARIES; i++) {
        epi_json_text(&json, libraries[i].name, libraries[i].version);
    }
    epi_json_text(&json, "MPI", info->mpi);
    epi_json_close(&json, '{');
    json_transports(&json, &info->plane.ucx);
    epi_json_open(&json, "settings", '[');
    for (size_t i = 0; i < epi_option_count(); i++) {
        json_setting(&json, &info->options, i);
    }
    epi_json_close(&json, '[');
    epi_json_end(&json);
}

/** Join the job, and count its ranks by a collective. */
static int say_rank(void)
{
    epi_world_t world = {.size = 0};
    uint64_t ranks = 1;
    epdx_status_t status = epi_world_open(MPI_LIMIT_NS, &world);

    if (status == EPDX_OK) {
        status = epi_world_sum(&world, &ranks, 1);
    }
    if (status != EPDX_OK) {
        fprintf(stderr, "%s: %s\n", args.program, epdx_last_error());
        epi_world_abort(1);
    }
    printf("rank %u of %u\n", world.rank, (unsigned)ranks);
    epi_world_close();
    return 0;
}

static void gather(info_t *info)
{
    epi_network_facts_t network;

    epi_info_mpi(info->mpi, sizeof(info->mpi));
    epi_facts_network(&info->options, &network);
    epi_facts_ucx(&network, EPDX_INFO_UCX, &info->plane);
}

static int run(const info_options_t *chosen)
{
    static info_t info;

    if (epi_options_load(&info.options) != EPDX_OK) {
        fprintf(stderr, "%s: %s\n", args.program, epdx_last_error());
        return 1;
    }
    if (chosen->doctor) {
        return epi_info_doctor(&(epi_doctor_t){.options = &info.options,
                                               .encode = &chosen->encode,
                                               .ucx_built = EPDX_INFO_UCX,
                                               .json = chosen->json});
    }
    gather(&info);
    if (chosen->json) {
        print_json(&info);
    } else {
        print_text(&info);
    }
    return 0;
}

int main(int argc, char **argv)
{
    static info_options_t chosen;
    int exit_status = 0;

    (void)argc;
    if (epi_probe_main(argv, &exit_status) ||
        !epi_args_main(&args, argv, &chosen, &exit_status)) {
        return exit_status;
    }
    return chosen.mpi ? say_rank() : run(&chosen);
}
