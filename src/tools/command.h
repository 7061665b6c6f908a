/*
 * command.h: another program, run to its end or to a deadline, and what it
 * said. One thread. Nothing of the caller's but its environment and what is
 * inherited reaches the program.
 */
#ifndef EPI_TOOLS_COMMAND_H
#define EPI_TOOLS_COMMAND_H

#include <stddef.h>
#include <stdint.h>

#include "epdx/status.h"

typedef struct epi_command {
    const char *const *argv; /* argv[0] is looked for in PATH; NULL ends it */
    int fd; /* of the program, that is read: 1, with 2; or 3, alone */
    uint64_t timeout_ns;
} epi_command_t;

typedef struct epi_command_end {
    size_t bytes; /* read; what out has no room for is thrown away */
    int status;   /* its exit status; 128 and the signal that ended it */
} epi_command_end_t;

/** Run it; out gets what it wrote. EPDX_ERR_INVALID: there is no such program;
 *  EPDX_ERR_TIMEOUT: it was ended, by SIGTERM and then by SIGKILL;
 *  EPDX_ERR_IO. With words. */
EPDX_MUST_CHECK epdx_status_t epi_command_run(const epi_command_t *command,
                                              void *out, size_t size,
                                              epi_command_end_t *end_p);

/** The path of this program, to run it again; NULL: not known. */
const char *epi_command_self(void);

#endif
