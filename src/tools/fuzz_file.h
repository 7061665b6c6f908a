/* fuzz_file.h: an input of a fuzz program as a file, for the readers that take
 * a path. */
#ifndef EPI_TOOLS_FUZZ_FILE_H
#define EPI_TOOLS_FUZZ_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/** Ends the program, as a finding, unless it holds. */
static inline void fuzz_require(int holds)
{
    if (!holds) {
        abort();
    }
}

/** A file in memory that holds the bytes; its path is valid until the next
 *  call. */
const char *fuzz_file(const uint8_t *data, size_t size);

#endif
