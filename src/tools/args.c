/* args.c: strict option parsing by a table. */
#include "tools/args.h"

#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/text.h"
#include "epdx/epdx.h"
#include "tools/world.h"

#define SHOWN_MAX 72

/* A value as it is shown in one line: cut, and without control bytes. */
typedef struct shown {
    char text[SHOWN_MAX + 4];
} shown_t;

static shown_t show(const char *value)
{
    shown_t shown;
    size_t length = strnlen(value, SHOWN_MAX + 1);

    (void)snprintf(shown.text, sizeof(shown.text), "%.*s%s", SHOWN_MAX, value,
                   length > SHOWN_MAX ? "..." : "");
    for (char *at = shown.text; *at != '\0'; at++) {
        unsigned char byte = (unsigned char)*at;

        if (byte < 0x20 || byte == 0x7f) {
            *at = '?';
        }
    }
    return shown;
}

static epdx_status_t wrong(const epi_arg_t *arg, const char *value,
                           const char *cause)
{
    return epi_fail(EPDX_ERR_INVALID, "--%s: \"%s\" %s", arg->name,
                    show(value).text, cause);
}

static epdx_status_t set_count(const epi_arg_t *arg, const char *value,
                               uint64_t *out)
{
    uint64_t number;

    if (!epi_text_number(value, arg->max, &number) || number < arg->min) {
        return epi_fail(
            EPDX_ERR_INVALID, "--%s: \"%s\" is not a number from %llu to %llu",
            arg->name, show(value).text, (unsigned long long)arg->min,
            (unsigned long long)arg->max);
    }
    *out = number;
    return EPDX_OK;
}

static epdx_status_t set_seconds(const epi_arg_t *arg, const char *value,
                                 uint64_t *out)
{
    if (!epi_text_seconds(value, out) || *out == 0) {
        return wrong(arg, value, "is not a number of seconds above 0");
    }
    return EPDX_OK;
}

static epdx_status_t check_host(const epi_arg_t *arg, const char *value)
{
    epi_address_t address;
    char joined[EPDX_ADDRESS_MAX + 8];

    if (strlen(value) > EPDX_ADDRESS_MAX ||
        !epi_address_format(value, 1, joined, sizeof(joined)) ||
        !epi_address_parse(joined, &address)) {
        return wrong(arg, value, "is not a host");
    }
    if (epi_address_wildcard(value)) {
        return wrong(arg, value,
                     "names every interface; name one that peers can reach");
    }
    return EPDX_OK;
}

/* A bootstrap server that is asked may be one of https; where a program is to
 * listen itself (any port will do), the settings of TLS say so. */
static const char *behind_scheme(const epi_arg_t *arg, const char *value)
{
    const char *scheme = "https://";

    return arg->min > 0 && strncmp(value, scheme, strlen(scheme)) == 0
               ? value + strlen(scheme)
               : value;
}

static epdx_status_t check_address(const epi_arg_t *arg, const char *value)
{
    epi_address_t address;

    if (!epi_address_parse(behind_scheme(arg, value), &address) ||
        address.port < arg->min) {
        return wrong(arg, value,
                     arg->min > 0 ? "is not HOST:PORT with a port from 1"
                                  : "is not HOST:PORT");
    }
    if (epi_address_wildcard(address.host)) {
        return wrong(arg, value,
                     "names every interface; name one that peers can reach");
    }
    return EPDX_OK;
}

static epdx_status_t add_address(const epi_arg_t *arg, const char *value,
                                 epi_arg_list_t *list)
{
    epdx_status_t status = check_address(arg, value);

    if (status != EPDX_OK) {
        return status;
    }
    if (list->count == EPI_ARG_LIST_MAX) {
        return epi_fail(EPDX_ERR_INVALID, "--%s: more than %d of them",
                        arg->name, EPI_ARG_LIST_MAX);
    }
    list->values[list->count++] = value;
    return EPDX_OK;
}

static epdx_status_t set_dtype(const epi_arg_t *arg, const char *value,
                               epdx_dtype_t *out)
{
    epdx_dtype_t dtype = epdx_dtype_parse(value);

    if (dtype == EPDX_DTYPE_NONE) {
        return wrong(arg, value, "is not bfloat16, float16 or float32");
    }
    *out = dtype;
    return EPDX_OK;
}

static epdx_status_t set_memory(const epi_arg_t *arg, const char *value,
                                epdx_memory_t *out)
{
    if (strcmp(value, "host") == 0) {
        *out = EPDX_MEMORY_HOST;
    } else if (strcmp(value, "cuda") == 0) {
        *out = EPDX_MEMORY_CUDA;
    } else {
        return wrong(arg, value, "is not host or cuda");
    }
    return EPDX_OK;
}

static epdx_status_t set_part(const epi_arg_t *arg, const char *value,
                              epi_arg_part_t *out)
{
    const char *slash = strchr(value, '/');
    uint64_t index, count;

    if (slash == NULL || !epi_text_number(slash + 1, arg->max, &count) ||
        !epi_text_u64(value, (size_t)(slash - value), UINT32_MAX, &index) ||
        index >= count) {
        return wrong(arg, value, "is not I/K with I below K");
    }
    *out = (epi_arg_part_t){(uint32_t)index, (uint32_t)count};
    return EPDX_OK;
}

static epdx_status_t set_text(const epi_arg_t *arg, const char *value,
                              const char **out)
{
    epdx_status_t status = EPDX_OK;

    if (value[0] == '\0') {
        return epi_fail(EPDX_ERR_INVALID, "--%s: its value is empty",
                        arg->name);
    }
    if (arg->kind == EPI_ARG_ADDRESS) {
        status = check_address(arg, value);
    } else if (arg->kind == EPI_ARG_HOST) {
        status = check_host(arg, value);
    }
    if (status == EPDX_OK) {
        *out = value;
    }
    return status;
}

static epdx_status_t set(const epi_arg_t *arg, const char *value, void *options)
{
    void *out = (char *)options + arg->offset;

    switch (arg->kind) {
    case EPI_ARG_FLAG:
        *(bool *)out = true;
        return EPDX_OK;
    case EPI_ARG_COUNT:
        return set_count(arg, value, out);
    case EPI_ARG_SECONDS:
        return set_seconds(arg, value, out);
    case EPI_ARG_ADDRESSES:
        return add_address(arg, value, out);
    case EPI_ARG_DTYPE:
        return set_dtype(arg, value, out);
    case EPI_ARG_MEMORY:
        return set_memory(arg, value, out);
    case EPI_ARG_PART:
        return set_part(arg, value, out);
    case EPI_ARG_TEXT:
    case EPI_ARG_HOST:
    case EPI_ARG_ADDRESS:
        return set_text(arg, value, out);
    }
    return epi_fail(EPDX_ERR_INVALID, "--%s: unknown kind", arg->name);
}

static const epi_arg_t *find(const epi_args_t *args, const char *name,
                             size_t length, size_t *index_p)
{
    for (size_t i = 0; i < args->count; i++) {
        if (strlen(args->args[i].name) == length &&
            memcmp(args->args[i].name, name, length) == 0) {
            *index_p = i;
            return &args->args[i];
        }
    }
    return NULL;
}

/* One option at (*argv_p)[0], and its value; *argv_p moves past both. */
static epdx_status_t take(const epi_args_t *args, char ***argv_p, void *options,
                          uint64_t *given_p)
{
    const char *word = *(*argv_p)++;
    size_t length = strcspn(word, "=");
    const char *value = word[length] == '=' ? word + length + 1 : NULL;
    const epi_arg_t *arg;
    size_t index;

    if (strncmp(word, "--", 2) != 0 ||
        (arg = find(args, word + 2, length - 2, &index)) == NULL) {
        return epi_fail(EPDX_ERR_INVALID, "unknown option \"%s\"",
                        show(word).text);
    }
    if ((*given_p & UINT64_C(1) << index) && arg->kind != EPI_ARG_ADDRESSES) {
        return epi_fail(EPDX_ERR_INVALID, "--%s: given twice", arg->name);
    }
    *given_p |= UINT64_C(1) << index;
    if (arg->kind == EPI_ARG_FLAG) {
        return value == NULL ? set(arg, "", options)
                             : wrong(arg, value, "is one value too many");
    }
    if (value == NULL) {
        value = **argv_p;
        if (value == NULL || strncmp(value, "--", 2) == 0) {
            return epi_fail(EPDX_ERR_INVALID, "--%s: needs a value", arg->name);
        }
        (*argv_p)++;
    }
    return set(arg, value, options);
}

epdx_status_t epi_args_parse(const epi_args_t *args, char **argv, void *options,
                             const char **show_p)
{
    uint64_t given = 0;

    if (*argv != NULL) {
        argv++;
    }
    while (*argv != NULL) {
        epdx_status_t status;

        if (strcmp(*argv, "--help") == 0 || strcmp(*argv, "--version") == 0) {
            *show_p = *argv + 2;
            return EPDX_IN_PROGRESS;
        }
        status = take(args, &argv, options, &given);
        if (status != EPDX_OK) {
            return status;
        }
    }
    return args->check == NULL ? EPDX_OK : args->check(options);
}

/* Help texts may hold line ends: each further line is indented alike. */
static void help_line(FILE *out, const char *name, const char *value,
                      const char *help)
{
    char head[40];

    (void)snprintf(head, sizeof(head), "  --%s %s", name,
                   value == NULL ? "" : value);
    fprintf(out, "%-25s ", head);
    for (; *help != '\0'; help++) {
        fputc(*help, out);
        if (*help == '\n') {
            fprintf(out, "%-26s", "");
        }
    }
    fputc('\n', out);
}

void epi_args_help(const epi_args_t *args, FILE *out)
{
    fprintf(out, "usage: %s %s\n\n%s\n\n", args->program, args->usage,
            args->about);
    for (size_t i = 0; i < args->count; i++) {
        help_line(out, args->args[i].name, args->args[i].value,
                  args->args[i].help);
    }
    help_line(out, "help", NULL, "this text");
    help_line(out, "version", NULL, "the version");
}

/* All ranks of an mpirun parse alike and one line is enough. mpirun ends the
 * other ranks as soon as one has failed, so rank 0 must be the first. */
static void let_rank_0_speak(void)
{
    const struct timespec time = {1, 0};

    (void)nanosleep(&time, NULL);
}

bool epi_args_main(const epi_args_t *args, char **argv, void *options,
                   int *exit_p)
{
    const char *what = "";
    epdx_status_t status = epi_args_parse(args, argv, options, &what);

    if (status == EPDX_OK) {
        return true;
    }
    *exit_p = status == EPDX_IN_PROGRESS ? 0 : EPI_EXIT_USAGE;
    if (epi_world_env_rank() != 0) {
        let_rank_0_speak();
    } else if (status != EPDX_IN_PROGRESS) {
        fprintf(stderr, "%s: %s; see --help\n", args->program,
                epdx_last_error());
    } else if (strcmp(what, "help") == 0) {
        epi_args_help(args, stdout);
    } else {
        printf("%s %s\n", args->program, epdx_version());
    }
    return false;
}
