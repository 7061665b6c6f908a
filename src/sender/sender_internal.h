/* sender_internal.h: a sender over a data plane that is given, for tests and
 * for tests. */
#ifndef EPI_SENDER_SENDER_INTERNAL_H
#define EPI_SENDER_SENDER_INTERNAL_H

#include "dataplane/dataplane.h"
#include "epdx/sender.h"

/** Open over a data plane, which the sender takes, also on error. */
EPDX_MUST_CHECK epdx_status_t
epi_sender_open_with(const epdx_sender_params_t *params, epi_dataplane_t *dp,
                     epdx_sender_t **sender_p);

/** The port of its control socket, as the bootstrap server has it. */
uint16_t epi_sender_port(const epdx_sender_t *sender);

/** Its numeric address. */
const char *epi_sender_host(const epdx_sender_t *sender);

#endif
