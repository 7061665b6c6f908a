/* version.c: the version, which the build takes from its project line. */
#include "epdx/epdx.h"

const char *epdx_version(void)
{
    return EPDX_VERSION_STRING;
}
