/*
 * gate_drain.c: `gate_drain PENDING STEPS`: so many drains with so many
 * requests pending and nothing changed, in a group of one, for callgrind to
 * count the instructions of the caller's thread. The requests' encode node is
 * never found.
 */
#include <stdio.h>
#include <stdlib.h>

#include "admission/admission_internal.h"
#include "base/text.h"
#include "dataplane/loopback.h"
#include "epdx/epdx.h"

#define PENDING_MAX 65536
#define STEPS_MAX   100000
#define HIDDEN      8

static epdx_status_t open_admission(epi_loopback_hub_t *hub,
                                    epdx_group_t *group,
                                    epdx_admission_t **admission_p)
{
    epdx_admission_params_t params = {
        .struct_size = sizeof(params),
        .receiver = {.struct_size = sizeof(params.receiver),
                     .dtype = EPDX_BFLOAT16,
                     .hidden = HIDDEN,
                     .host = "127.0.0.1",
                     .pool_bytes = (size_t)64 << 20},
    };
    epi_dataplane_t *dp;
    epdx_status_t status = epi_dataplane_loopback(hub, &dp);

    return status == EPDX_OK
               ? epi_admission_open_with(group, &params, dp, admission_p)
               : status;
}

static epdx_status_t stage_all(epdx_admission_t *admission, uint64_t pending)
{
    epdx_status_t status = EPDX_OK;

    for (uint64_t i = 0; status == EPDX_OK && i < pending; i++) {
        char id[24];
        /* Port 1 of this host: nobody answers, and the look-up is tried again
         * until its deadline, which is far off. */
        epdx_item_t item = {.room = i + 1, .span = 1, .encode = "127.0.0.1:1"};
        epdx_request_t request = {.id = id, .items = &item, .item_count = 1};

        (void)snprintf(id, sizeof(id), "%llu", (unsigned long long)i);
        status = epdx_admission_stage(admission, &request);
    }
    return status;
}

static epdx_status_t run(uint64_t pending, uint64_t steps)
{
    epi_loopback_hub_t *hub = NULL;
    epdx_group_t *group = NULL;
    epdx_admission_t *admission = NULL;
    epdx_decisions_t decisions;
    epdx_status_t status = epi_loopback_hub_open(&hub);

    if (status == EPDX_OK) {
        status = epdx_group_single(&group);
    }
    if (status == EPDX_OK) {
        status = open_admission(hub, group, &admission);
    }
    if (status == EPDX_OK) {
        status = stage_all(admission, pending);
    }
    for (uint64_t i = 0; status == EPDX_OK && i < steps; i++) {
        status = epdx_admission_drain(admission, &decisions);
    }
    epdx_admission_close(admission);
    epdx_group_close(group);
    if (hub != NULL) {
        epi_loopback_hub_close(hub);
    }
    return status;
}

int main(int argc, char **argv)
{
    uint64_t pending, steps;

    if (argc != 3 || !epi_text_number(argv[1], PENDING_MAX, &pending) ||
        !epi_text_number(argv[2], STEPS_MAX, &steps)) {
        fprintf(stderr, "usage: gate_drain PENDING STEPS\n");
        return 2;
    }
    if (run(pending, steps) != EPDX_OK) {
        fprintf(stderr, "gate_drain: %s\n", epdx_last_error());
        return 1;
    }
    return 0;
}
