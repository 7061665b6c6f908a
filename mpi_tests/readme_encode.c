/* readme_encode.c: one encode rank, as README.md shows it. Its argument is the
 * "host:port" that its bootstrap server listens on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "epdx/epdx.h"

static void check(epdx_status_t status)
{
    if (status != EPDX_OK) {
        fprintf(stderr, "%s: %s\n", epdx_status_name(status),
                epdx_last_error());
        exit(1);
    }
}

int main(int argc, char **argv)
{
    epdx_bootstrap_params_t discovery = {.struct_size = sizeof(discovery)};
    epdx_sender_params_t params = {.struct_size = sizeof(params)};
    epdx_bootstrap_t *bootstrap = NULL;
    epdx_sender_t *sender = NULL;
    epdx_outcome_t outcome;
    epdx_chunk_t chunk;

    if (argc != 2) {
        fprintf(stderr, "usage: %s HOST:PORT\n", argv[0]);
        return 2;
    }
    discovery.listen = argv[1];
    check(epdx_bootstrap_open(&discovery, &bootstrap));
    printf("bootstrap %s\n", epdx_bootstrap_address(bootstrap));
    fflush(stdout);

    params.dtype = EPDX_BFLOAT16;
    params.hidden = 2048;
    params.bootstrap = epdx_bootstrap_address(bootstrap);
    check(epdx_sender_open(&params, &sender));

    /* The vision tower writes its rows where they are sent from. */
    check(epdx_sender_lease(sender, 1024, &chunk));
    memset(chunk.main, 'e', (size_t)1024 * 2048 * 2);
    check(epdx_sender_send(sender, 42, &chunk));
    while (epdx_sender_poll(sender, &outcome, 1) == 0) {
        usleep(1000); /* or run the tower on the next item */
    }
    printf("room 42: %s %s\n", epdx_status_name(outcome.status),
           outcome.reason);

    epdx_sender_close(sender); /* unregisters: before the server is closed */
    epdx_bootstrap_close(bootstrap);
    return outcome.status == EPDX_OK ? 0 : 1;
}
