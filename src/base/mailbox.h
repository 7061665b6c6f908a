/*
 * mailbox.h: small messages from one thread to another, in order. It holds the
 * only lock on the way of a transfer, which covers one copy of a message and
 * nothing else.
 *
 * What a message points to belongs to the thread that has the message: the
 * poster writes it before posting and leaves it alone until told otherwise.
 */
#ifndef EPI_BASE_MAILBOX_H
#define EPI_BASE_MAILBOX_H

#include <stdbool.h>
#include <stddef.h>

#include "epdx/status.h"

typedef struct epi_mailbox epi_mailbox_t;

/** capacity messages of message_bytes each, all allocated now. Errors:
 *  EPDX_ERR_INVALID (a zero), EPDX_ERR_NO_MEMORY; *mailbox_p unchanged. */
EPDX_MUST_CHECK epdx_status_t epi_mailbox_open(size_t capacity,
                                               size_t message_bytes,
                                               epi_mailbox_t **mailbox_p);

/** Copy a message in. Any thread. EPDX_ERR_FULL when capacity is reached: the
 *  owners size it so that this cannot happen, and treat it as a defect. */
EPDX_MUST_CHECK epdx_status_t epi_mailbox_post(epi_mailbox_t *mailbox,
                                               const void *message);

/** Copy the oldest message out; false when there is none. Any thread. Costs
 *  one atomic load when there is none. */
bool epi_mailbox_take(epi_mailbox_t *mailbox, void *message_p);

/** NULL is allowed. No thread may still use it. */
void epi_mailbox_close(epi_mailbox_t *mailbox);

#endif
