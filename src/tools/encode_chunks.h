/*
 * encode_chunks.h: the items of an encode rank as chunks: in the sender's ring
 * or, with --chunk-own and where the ring can never hold one, in own memory,
 * filled with the source's rows. In device memory they are copied there, and
 * the chunk's ready event tells when.
 */
#ifndef EPI_TOOLS_ENCODE_CHUNKS_H
#define EPI_TOOLS_ENCODE_CHUNKS_H

#include "epdx/sender.h"
#include "tools/device.h"
#include "tools/encode_options.h"

/** What an item's chunk stands on until its outcome. */
typedef struct epi_encode_made {
    void *memory; /* own; NULL: the ring's, or the file's */
    void *ready;
} epi_encode_made_t;

typedef struct epi_encode_chunks {
    const epi_encode_options_t *options;
    const epi_source_t *source;
    epdx_sender_t *sender;
    epi_device_t *device;
    epi_encode_made_t *made; /* by place in workload.rows */
    uint64_t own_bytes;
    uint64_t own_max; /* of own memory at a time, or one item */
} epi_encode_chunks_t;

/** The other fields are the caller's to set first. EPDX_ERR_NO_MEMORY. */
EPDX_MUST_CHECK epdx_status_t
epi_encode_chunks_init(epi_encode_chunks_t *chunks);

/** Make an item's chunk, filled or being filled. EPDX_ERR_FULL: not now;
 *  EPDX_ERR_NO_MEMORY: it cannot be made; EPDX_ERR_IO: the device. */
EPDX_MUST_CHECK epdx_status_t epi_encode_chunk_make(epi_encode_chunks_t *chunks,
                                                    epi_source_item_t at,
                                                    epdx_chunk_t *chunk_p);

/** The item's outcome is known: what its chunk stood on is freed. */
void epi_encode_chunk_end(epi_encode_chunks_t *chunks, epi_source_item_t at);

/** Once the sender is closed. */
void epi_encode_chunks_fini(epi_encode_chunks_t *chunks);

#endif
