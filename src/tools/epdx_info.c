/* epdx_info.c: versions and settings, as a program. */
#include <stdio.h>

#include "base/error.h"
#include "base/options.h"
#include "epdx/epdx.h"
#include "tools/args.h"
#include "tools/info_mpi.h"
#include "tools/report.h"

#define VALUE_BYTES 512

typedef struct info_options {
    bool json;
} info_options_t;

typedef struct library {
    const char *name;
    const char *version;
} library_t;

static const epi_arg_t table[] = {
    {"json", NULL, "print one JSON object", EPI_ARG_FLAG,
     offsetof(info_options_t, json), 0, 0},
};

static const epi_args_t args = {
    .program = "epdx_info",
    .usage = "[--json]",
    .about = "Prints the version of epdx, of the libraries that it was built "
             "with, and every\nsetting: its value now, its default, and what "
             "it does. Settings are read from\nthe environment.",
    .args = table,
    .count = sizeof(table) / sizeof(table[0]),
};

/* The build's versions come from CMake. */
static const library_t libraries[] = {
    {"UCX", EPDX_INFO_UCX},
    {"ZeroMQ", EPDX_INFO_ZMQ},
    {"libcurl", EPDX_INFO_CURL},
    {"cJSON", EPDX_INFO_CJSON},
    {"libmicrohttpd", EPDX_INFO_MICROHTTPD},
};

#define LIBRARIES (sizeof(libraries) / sizeof(libraries[0]))

static void print_setting(const epi_options_t *options, size_t index)
{
    const epi_option_info_t *info = epi_option_info(index);
    char value[VALUE_BYTES];

    epi_option_format(options, index, value, sizeof(value));
    printf("%s=%s%s%s\n    %s (default: %s)\n", info->name, value,
           info->unit[0] == '\0' ? "" : " ", info->unit, info->help,
           info->preset[0] == '\0' ? "empty" : info->preset);
}

static void print_text(const epi_options_t *options, const char *mpi)
{
    printf("epdx %s\n", epdx_version());
    for (size_t i = 0; i < LIBRARIES; i++) {
        printf("  %s %s\n", libraries[i].name, libraries[i].version);
    }
    printf("  %s\n\n", mpi);
    for (size_t i = 0; i < epi_option_count(); i++) {
        print_setting(options, i);
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
    epi_json_text(json, "help", info->help);
    epi_json_close(json, '{');
}

static void print_json(const epi_options_t *options, const char *mpi)
{
    epi_json_t json;

    epi_json_begin(&json, stdout);
    epi_json_text(&json, "version", epdx_version());
    epi_json_open(&json, "libraries", '{');
    for (size_t i = 0; i < LIBRARIES; i++) {
        epi_json_text(&json, libraries[i].name, libraries[i].version);
    }
    epi_json_text(&json, "MPI", mpi);
    epi_json_close(&json, '{');
    epi_json_open(&json, "settings", '[');
    for (size_t i = 0; i < epi_option_count(); i++) {
        json_setting(&json, options, i);
    }
    epi_json_close(&json, '[');
    epi_json_end(&json);
}

int main(int argc, char **argv)
{
    info_options_t chosen = {false};
    epi_options_t options;
    char mpi[128];
    int exit_status = 0;

    (void)argc;
    if (!epi_args_main(&args, argv, &chosen, &exit_status)) {
        return exit_status;
    }
    if (epi_options_load(&options) != EPDX_OK) {
        fprintf(stderr, "%s: %s\n", args.program, epdx_last_error());
        return 1;
    }
    epi_info_mpi(mpi, sizeof(mpi));
    if (chosen.json) {
        print_json(&options, mpi);
    } else {
        print_text(&options, mpi);
    }
    return 0;
}
