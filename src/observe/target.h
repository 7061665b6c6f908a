/* target.h: what EPDX_METRICS says. Pure. */
#ifndef EPI_OBSERVE_TARGET_H
#define EPI_OBSERVE_TARGET_H

#include "base/text.h"

typedef enum epi_target_kind {
    EPI_TARGET_OFF,     /* "" or "0" */
    EPI_TARGET_COLLECT, /* "on" */
    EPI_TARGET_SERVE,   /* "port" or "host:port" */
} epi_target_kind_t;

typedef struct epi_target {
    epi_target_kind_t kind;
    epi_address_t address; /* to listen on; port 0: any */
} epi_target_t;

/** text is "", "0", "on", a port of host's, or "host:port"; local_rank is added
 *  to a port that is not 0. EPDX_ERR_INVALID with words. */
EPDX_MUST_CHECK epdx_status_t epi_target_parse(const char *text,
                                               const char *host,
                                               unsigned local_rank,
                                               epi_target_t *target_p);

#endif
