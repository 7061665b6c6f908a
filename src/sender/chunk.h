/* chunk.h: a chunk as its caller gives it: whether its rows can be sent, and
 * whether they are still being made. The caller's thread. */
#ifndef EPI_SENDER_CHUNK_H
#define EPI_SENDER_CHUNK_H

#include "sender/shared.h"

/** A chunk of the caller's own memory, or one that cannot be a lease.
 *  EPDX_ERR_INVALID with words; EPDX_ERR_IO: the device cannot be asked. */
EPDX_MUST_CHECK epdx_status_t
epi_chunk_check_own(const epi_send_config_t *config, const epdx_chunk_t *chunk);

/** Whether the chunk's ready event may be waited for. EPDX_ERR_INVALID. */
EPDX_MUST_CHECK epdx_status_t epi_chunk_check_ready(
    const epi_send_config_t *config, const epdx_chunk_t *chunk);

/** Whether something may still write the rows: its ready event is not done. One
 *  that cannot be asked is done with. */
bool epi_chunk_busy(const epdx_chunk_t *chunk);

#endif
