/* epdx_bootstrap.c: the discovery server alone, until SIGINT or SIGTERM. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "epdx/bootstrap.h"
#include "tools/args.h"

#define TOKEN_MAX 255

typedef struct options {
    const char *listen;
    const char *token_file;    /* NULL: EPDX_BOOTSTRAP_TOKEN */
    char token[TOKEN_MAX + 1]; /* what the file holds */
} options_t;

static const epi_arg_t table[] = {
    {"listen", "HOST:PORT",
     "where to listen; port 0 takes a free one, and a host of\n"
     "every interface, such as 0.0.0.0, is allowed",
     EPI_ARG_TEXT, offsetof(options_t, listen), 0, 0},
    {"token-file", "FILE",
     "its first line is the bearer token that registrations\n"
     "must carry; without it EPDX_BOOTSTRAP_TOKEN, if set",
     EPI_ARG_TEXT, offsetof(options_t, token_file), 0, 0},
};

/* The file's first line, without its end. EPDX_ERR_INVALID with words. */
static epdx_status_t read_token(const char *path, char token[TOKEN_MAX + 1])
{
    char line[TOKEN_MAX + 3] = ""; /* with a line end of two characters */
    FILE *file = fopen(path, "re");
    bool got;

    if (file == NULL) {
        return epi_fail(EPDX_ERR_INVALID,
                        "--token-file: '%.300s' cannot be read: %s", path,
                        strerrordesc_np(errno));
    }
    got = fgets(line, sizeof(line), file) != NULL;
    (void)fclose(file);
    line[strcspn(line, "\r\n")] = '\0';
    if (!got || strlen(line) > TOKEN_MAX ||
        !epi_text_printable(line, strlen(line))) {
        return epi_fail(EPDX_ERR_INVALID,
                        "--token-file: the first line of '%.300s' is not 1 to "
                        "%d printable characters without space",
                        path, TOKEN_MAX);
    }
    (void)epi_text_copy(token, TOKEN_MAX + 1, line);
    return EPDX_OK;
}

static epdx_status_t check(void *self)
{
    options_t *options = self;
    epi_address_t address;

    if (options->listen == NULL) {
        return epi_fail(EPDX_ERR_INVALID, "--listen: HOST:PORT is needed");
    }
    if (!epi_address_parse(options->listen, &address)) {
        return epi_fail(EPDX_ERR_INVALID, "--listen: '%.300s' is not HOST:PORT",
                        options->listen);
    }
    return options->token_file == NULL
               ? EPDX_OK
               : read_token(options->token_file, options->token);
}

static const epi_args_t arguments = {
    .program = "epdx_bootstrap",
    .usage = "--listen HOST:PORT [--token-file FILE]",
    .about = "The discovery server of an encode node: encode ranks register "
             "with it, prefill\nranks look them up. Prints "
             "\"epdx_bootstrap: listening on HOST:PORT\" and serves\nuntil "
             "SIGINT or SIGTERM.",
    .args = table,
    .count = sizeof(table) / sizeof(table[0]),
    .check = check,
};

static int serve(const epdx_bootstrap_params_t *params)
{
    epdx_bootstrap_t *bootstrap = NULL;
    sigset_t ending;
    int caught = 0;

    /* Before any thread is made, so that sigwait() alone takes them. */
    (void)sigemptyset(&ending);
    (void)sigaddset(&ending, SIGINT);
    (void)sigaddset(&ending, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &ending, NULL);
    if (epdx_bootstrap_open(params, &bootstrap) != EPDX_OK) {
        fprintf(stderr, "%s: %s\n", arguments.program, epdx_last_error());
        return EXIT_FAILURE;
    }
    printf("%s: listening on %s\n", arguments.program,
           epdx_bootstrap_address(bootstrap));
    (void)fflush(stdout);
    (void)sigwait(&ending, &caught);
    epdx_bootstrap_close(bootstrap);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    epdx_bootstrap_params_t params = {.struct_size = sizeof(params)};
    options_t options = {.listen = NULL};
    int exit_status;

    (void)argc;
    if (!epi_args_main(&arguments, argv, &options, &exit_status)) {
        return exit_status;
    }
    params.listen = options.listen;
    params.token = options.token_file == NULL ? NULL : options.token;
    return serve(&params);
}
