/* target.c: see target.h. */
#include "observe/target.h"

#include <string.h>

#include "base/error.h"

epdx_status_t epi_target_parse(const char *text, const char *host,
                               unsigned local_rank, epi_target_t *target_p)
{
    epi_target_t target = {.kind = EPI_TARGET_SERVE};
    uint64_t port = 0;

    if (text[0] == '\0' || strcmp(text, "0") == 0) {
        *target_p = (epi_target_t){.kind = EPI_TARGET_OFF};
        return EPDX_OK;
    }
    if (strcmp(text, "on") == 0) {
        *target_p = (epi_target_t){.kind = EPI_TARGET_COLLECT};
        return EPDX_OK;
    }
    if (epi_text_number(text, UINT16_MAX, &port)) {
        (void)epi_text_copy(target.address.host, sizeof(target.address.host),
                            host);
    } else if (epi_address_parse(text, &target.address)) {
        port = target.address.port;
    } else {
        return epi_fail(EPDX_ERR_INVALID,
                        "EPDX_METRICS is '%.64s'; it takes host:port, a port, "
                        "on, or 0",
                        text);
    }
    if (port != 0 && port + local_rank > UINT16_MAX) {
        return epi_fail(EPDX_ERR_INVALID,
                        "EPDX_METRICS is '%.64s'; with rank %u of this host "
                        "added it is no port",
                        text, local_rank);
    }
    target.address.port = (uint16_t)(port == 0 ? 0 : port + local_rank);
    *target_p = target;
    return EPDX_OK;
}
