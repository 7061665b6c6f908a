/* random.c: numbers that a peer cannot guess. */
#include "base/random.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/log.h"

uint64_t epi_random_u64(void)
{
    uint64_t value = 0;

    while (value == 0) {
        ssize_t got = getrandom(&value, sizeof(value), 0);

        /* A signal may cut the wait for the pool at boot; reads of this size
         * are otherwise whole. */
        if (got == (ssize_t)sizeof(value)) {
            continue;
        }
        value = 0;
        if (got < 0 && errno != EINTR) {
            epi_log_error("getrandom(2) failed: %s; epdx needs a kernel that "
                          "has it",
                          strerrordesc_np(errno));
            abort();
        }
    }
    return value;
}
