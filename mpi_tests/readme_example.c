/* readme_example.c: one prefill rank of several, as README.md shows it. Its
 * argument is the encode node's "host:port". */
#include <stdio.h>
#include <unistd.h>

#include "epdx/epdx.h"
#include "epdx/group_mpi.h"

static void check(epdx_status_t status)
{
    if (status != EPDX_OK) {
        fprintf(stderr, "%s: %s\n", epdx_status_name(status),
                epdx_last_error());
        _exit(1); /* mpirun then ends the other ranks; MPI_Abort may hang */
    }
}

int main(int argc, char **argv)
{
    epdx_admission_params_t params = {.struct_size = sizeof(params)};
    epdx_item_t item = {.room = 42, .span = 1024};
    epdx_request_t request = {.id = "r1", .items = &item, .item_count = 1};
    epdx_group_t *group = NULL;
    epdx_admission_t *admission = NULL;
    epdx_decisions_t now;
    int provided;

    if (argc != 2) {
        fprintf(stderr, "usage: %s HOST:PORT (the encode node's)\n", argv[0]);
        return 2;
    }
    item.encode = argv[1];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    check(epdx_group_mpi(MPI_COMM_WORLD, UINT64_C(60000000000), &group));

    params.receiver.struct_size = sizeof(params.receiver);
    params.receiver.dtype = EPDX_BFLOAT16;
    params.receiver.hidden = 2048;
    check(epdx_admission_open(group, &params, &admission));

    /* Every rank stages the same requests in the same order, and drains once a
     * scheduling cycle: every rank gets the same answer in the same cycle. */
    check(epdx_admission_stage(admission, &request));
    while (epdx_admission_pending(admission) > 0) {
        check(epdx_admission_drain(admission, &now));
        for (size_t i = 0; i < now.admitted_count; i++) {
            const epdx_admitted_t *ready = &now.admitted[i];

            /* Prefill reads rows where they landed, then gives them back. */
            printf("%s: %zu bytes at %p, the first is '%c'\n", ready->id,
                   ready->items[0].main_bytes, ready->items[0].main,
                   *(const char *)ready->items[0].main);
            check(epdx_admission_release(admission, ready->id));
        }
        for (size_t i = 0; i < now.failed_count; i++) {
            printf("%s: failed: %s\n", now.failed[i].id, now.failed[i].reason);
        }
    }

    epdx_admission_close(admission);
    epdx_group_close(group);
    MPI_Finalize();
    return 0;
}
