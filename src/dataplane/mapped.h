/*
 * mapped.h: rows that planes of other processes of this host read in place,
 * without a transport. For the thread of the plane.
 *
 * The source shares two sealed files: the rows, and a head with a generation
 * for each offer that is under way.
 *
 *     source:  begin() gives slot s, generation g --offer--> ... end(s): g + 1
 *     view:            copies, then looks: is s still at g?
 *
 * The source ends a slot before anybody may reuse the rows, so a copy whose
 * slot is still at its generation afterwards is whole; any other may hold
 * anything. A view trusts no more of its source than that: what it reads is
 * bounded by the files' size, which the seals fix.
 */
#ifndef EPI_DATAPLANE_MAPPED_H
#define EPI_DATAPLANE_MAPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epdx/status.h"

/** Offers of one source that may be under way in this way at a time. */
#define EPI_MAPPED_SLOTS 4096
/** Bytes of an announcement. */
#define EPI_MAPPED_ANNOUNCE_BYTES 40

typedef struct epi_mapped_head epi_mapped_head_t;

typedef struct epi_mapped_source {
    const uint8_t *rows; /* of the file: not owned */
    size_t bytes;
    int rows_fd; /* not owned */
    int head_fd;
    epi_mapped_head_t *head;
    uint32_t *free_slots;
    uint32_t free_count;
} epi_mapped_source_t;

typedef struct epi_mapped_view {
    const uint8_t *rows;
    size_t bytes;
    const epi_mapped_head_t *head; /* NULL: there is no view */
} epi_mapped_view_t;

/** What a reader is told of one offer. */
typedef struct epi_mapped_place {
    uint64_t offset; /* of the payload in the rows */
    uint64_t generation;
    uint32_t slot;
    uint32_t zero;
} epi_mapped_place_t;

/** Share [rows, rows + bytes), which is the whole of the sealed file rows_fd.
 *  Errors: EPDX_ERR_NO_MEMORY. */
EPDX_MUST_CHECK epdx_status_t epi_mapped_source_open(
    const void *rows, size_t bytes, int rows_fd, epi_mapped_source_t *source_p);

/** What a view is opened by. */
void epi_mapped_announce(const epi_mapped_source_t *source,
                         uint8_t out[EPI_MAPPED_ANNOUNCE_BYTES]);

/** A slot for [payload, payload + bytes); false when it does not lie in the
 *  rows, or no slot is free. */
bool epi_mapped_begin(epi_mapped_source_t *source, const void *payload,
                      size_t bytes, epi_mapped_place_t *place_p);

/** Before the payload may be reused. */
void epi_mapped_end(epi_mapped_source_t *source, uint32_t slot);

/** Zeroed ones are allowed. */
void epi_mapped_source_close(epi_mapped_source_t *source);

/** Errors: EPDX_ERR_MALFORMED: no such announcement; EPDX_ERR_UNREACHABLE: its
 *  files are not within reach (another host, user or pid namespace), or are not
 *  what they should be. */
EPDX_MUST_CHECK epdx_status_t epi_mapped_view_open(const void *announce,
                                                   size_t length,
                                                   epi_mapped_view_t *view_p);

/** The payload of an offer, NULL when it would not lie in the rows. */
const void *epi_mapped_at(const epi_mapped_view_t *view,
                          const epi_mapped_place_t *place, uint64_t bytes);

/** Whether the offer stands: what was copied before this call is whole. */
bool epi_mapped_holds(const epi_mapped_view_t *view,
                      const epi_mapped_place_t *place);

/** Zeroed ones are allowed. */
void epi_mapped_view_close(epi_mapped_view_t *view);

#endif
