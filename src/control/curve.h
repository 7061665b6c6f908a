/*
 * curve.h: CURVE keys of ZeroMQ: pairs, and the file that holds one. Keys are
 * Z85 text of 40 characters. The tools make pairs with it, control.c reads
 * them.
 */
#ifndef EPI_CONTROL_CURVE_H
#define EPI_CONTROL_CURVE_H

#include <stdbool.h>
#include <stddef.h>

#include "epdx/status.h"

#define EPI_CURVE_KEY 40 /* characters */

typedef struct epi_curve_pair {
    char public_key[EPI_CURVE_KEY + 1];
    char secret_key[EPI_CURVE_KEY + 1];
} epi_curve_pair_t;

/** Make a new pair. EPDX_ERR_UNSUPPORTED: this libzmq has no CURVE. */
EPDX_MUST_CHECK epdx_status_t epi_curve_keypair(epi_curve_pair_t *pair_p);

/** Read a pair from a file of the two lines that epi_curve_format() writes;
 *  blank lines and lines that begin with # are passed over. EPDX_ERR_INVALID
 *  with words: it cannot be read, others can read it, it is not such a file, or
 *  the keys do not belong together; _UNSUPPORTED, _NO_MEMORY. */
EPDX_MUST_CHECK epdx_status_t epi_curve_read(const char *path,
                                             epi_curve_pair_t *pair_p);

/** The text of a key file; false when it does not fit. */
bool epi_curve_format(const epi_curve_pair_t *pair, char *out, size_t size);

/** Whether a text is a key: 40 characters of Z85. */
bool epi_curve_key_ok(const char *key);

/** Overwrite the pair. */
void epi_curve_wipe(epi_curve_pair_t *pair);

#endif
