/* event.c: see event.h. */
#include "memory/event.h"

#include "base/error.h"
#include "memory/memory.h"

epdx_status_t epi_event_done(void *event, bool *done_p)
{
    const epi_memory_ops_t *cuda = epi_memory_cuda();
    epdx_status_t status = EPDX_OK;

    if (event != NULL && cuda == NULL) {
        return epi_fail(EPDX_ERR_INVALID,
                        "a CUDA event is given, and this epdx was built "
                        "without CUDA: build it with -DEPDX_CUDA=ON, or give "
                        "no event");
    }
    if (event != NULL) {
        status = cuda->copies->event_done(event);
    }
    if (status < EPDX_OK) {
        return status;
    }
    *done_p = status == EPDX_OK;
    return EPDX_OK;
}
