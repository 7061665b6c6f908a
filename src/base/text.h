/* text.h: strict numbers, host:port, bounded copies. Pure. */
#ifndef EPI_BASE_TEXT_H
#define EPI_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epdx/types.h"

/** A host and a port. host has no brackets. */
typedef struct epi_address {
    char host[EPDX_ADDRESS_MAX + 1];
    uint16_t port;
} epi_address_t;

/** Copy text into out of size bytes, always closed; false when it was cut. */
bool epi_text_copy(char *out, size_t size, const char *text);

/** snprintf() for texts that may be cut: out is always closed. */
void epi_text_format(char *out, size_t size, const char *format, ...)
    EPDX_PRINTF(3, 4);

/** Decimal digits only, no sign, no space, no leading zero but "0" itself, at
 *  most max. length bytes, which need no closing zero. *value_p is set on
 *  success only. */
bool epi_text_u64(const char *text, size_t length, uint64_t max,
                  uint64_t *value_p);

/** The same of a closed text. */
bool epi_text_number(const char *text, uint64_t max, uint64_t *value_p);

/** Decimal seconds such as "300", "0.5" or "1e-3" to nanoseconds; false for
 *  anything else, a negative number, or one over 1e9. */
bool epi_text_seconds(const char *text, uint64_t *nanoseconds_p);

/** "host:port", "[v6]:port" or "v6:port" (the last colon splits); the port is
 *  0 ... 65535, the host 1 ... EPDX_ADDRESS_MAX printable characters without
 *  space, '/', '?', '#', '@' or '%'. *address_p is set on success only. */
bool epi_address_parse(const char *text, epi_address_t *address_p);

/** "host:port", with brackets around a host that has a colon. False when it
 *  does not fit in size. */
bool epi_address_format(const char *host, uint16_t port, char *out,
                        size_t size);

/** Whether a host names every interface: "0.0.0.0", "::", "*", or empty. Such
 *  an address is bound by nobody here and never published. */
bool epi_address_wildcard(const char *host);

/** Whether a closed text has 1 ... max bytes and no control character, so that
 *  it can be quoted in a line of a log. Other bytes may be any UTF-8. */
bool epi_text_quotable(const char *text, size_t max);

/** Text that may be anything, to be shown within quotes: bytes that are no
 *  printable ASCII, quotes and backslashes become \xNN, and what does not fit
 *  in size is cut, with "..." for it. size is over 8. */
void epi_text_show(char *out, size_t size, const char *text);

/** Whether every byte is printable ASCII (0x21 ... 0x7e); false when empty. */
bool epi_text_printable(const char *text, size_t length);

#endif
