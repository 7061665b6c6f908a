/* seldom.h: log lines about strangers, who must not fill a log: one a minute.
 */
#ifndef EPI_BASE_SELDOM_H
#define EPI_BASE_SELDOM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

#define EPI_SELDOM_NS (60 * EPI_S)

typedef struct epi_seldom {
    uint64_t due_ns; /* 0: never yet */
} epi_seldom_t;

/** Whether a line may come now; then the next may in a minute. One thread. */
static inline bool epi_seldom(epi_seldom_t *seldom, uint64_t now)
{
    if (now < seldom->due_ns) {
        return false;
    }
    seldom->due_ns = epi_after(now, EPI_SELDOM_NS);
    return true;
}

#endif
