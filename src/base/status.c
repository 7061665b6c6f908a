/* status.c: names and sentences of the codes, from the one list. */
#include "epdx/status.h"

const char *epdx_status_text(epdx_status_t status)
{
    switch (status) {
#define STATUS_TEXT(name, value, text)                                         \
    case name:                                                                 \
        return text;
        EPDX_STATUS_LIST(STATUS_TEXT)
#undef STATUS_TEXT
    }
    return "unknown status";
}

const char *epdx_status_name(epdx_status_t status)
{
    switch (status) {
#define STATUS_NAME(name, value, text)                                         \
    case name:                                                                 \
        return #name;
        EPDX_STATUS_LIST(STATUS_NAME)
#undef STATUS_NAME
    }
    return "EPDX_UNKNOWN";
}
