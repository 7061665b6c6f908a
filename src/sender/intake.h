/* intake.h: what comes to a sender: control messages from prefill ranks, and
 * orders from the caller. The I/O thread's. */
#ifndef EPI_SENDER_INTAKE_H
#define EPI_SENDER_INTAKE_H

#include "sender/delivery.h"

/** Act on a message of a CURVE key ("": none); one that does not parse is
 *  counted and dropped. */
void epi_sender_message(epi_delivery_t *delivery, const epi_message_t *message,
                        const char *key, uint64_t now);

/** Act on an order of the caller. */
void epi_sender_order(epi_delivery_t *delivery, const epi_send_order_t *order,
                      uint64_t now);

#endif
