/* reason.h: the form in which a failed transfer is told, on both ends. */
#ifndef EPI_BASE_REASON_H
#define EPI_BASE_REASON_H

#include <stddef.h>
#include <stdint.h>

/** "EmbeddingTransferError(bootstrap_room=R, remote_endpoint=E): why", cut to
 *  size; a why that has the form already is taken as it is. */
void epi_reason_format(char *out, size_t size, uint64_t room,
                       const char *remote_endpoint, const char *why);

/** The why of a text in that form, within text; all of another text. What a
 * peer sends has the form with us as its remote endpoint. */
const char *epi_reason_why(const char *text);

#endif
