/* until.h: a wait of a test that has a deadline. For cmocka tests only. */
#ifndef EPI_TESTING_UNTIL_H
#define EPI_TESTING_UNTIL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"

/** Do step until holds is true; the test fails, in words, after limit_ns. */
#define EPI_UNTIL(holds, limit_ns, step)                                       \
    do {                                                                       \
        uint64_t until_limit = epi_now_ns() + (limit_ns);                      \
        while (!(holds)) {                                                     \
            if (epi_now_ns() > until_limit) {                                  \
                fail_msg("line %d: %s did not come", __LINE__, #holds);        \
            }                                                                  \
            step;                                                              \
        }                                                                      \
    } while (0)

#endif
