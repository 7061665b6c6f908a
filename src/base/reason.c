/* reason.c: see reason.h. */
#include "base/reason.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"

#define FORM "EmbeddingTransferError("

const char *epi_reason_why(const char *text)
{
    const char *end;

    if (strncmp(text, FORM, strlen(FORM)) != 0) {
        return text;
    }
    end = strstr(text, "): ");
    return end == NULL ? text : end + strlen("): ");
}

void epi_reason_format(char *out, size_t size, uint64_t room,
                       const char *remote_endpoint, const char *why)
{
    if (strncmp(why, FORM, strlen(FORM)) == 0) {
        epi_text_format(out, size, "%s", why);
        return;
    }
    epi_text_format(out, size,
                    FORM "bootstrap_room=%" PRIu64 ", remote_endpoint=%s): %s",
                    room, remote_endpoint, why);
}
