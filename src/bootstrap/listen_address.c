/* listen_address.c: "host:port" as given to a numeric address. */
#include "bootstrap/listen_address.h"

#include <string.h>

#include "base/error.h"
#include "base/resolve.h"

epdx_status_t epi_listen_address(const char *listen, const char *default_host,
                                 epi_address_t *address_p)
{
    epi_address_t given = {.port = 0};
    epi_address_t found = {.port = 0};
    epdx_status_t status;
    bool v6;

    if (listen == NULL) {
        (void)epi_text_copy(given.host, sizeof(given.host), default_host);
    } else if (!epi_address_parse(listen, &given)) {
        return epi_fail(EPDX_ERR_INVALID,
                        "bootstrap: '%.300s' is not \"host:port\" or "
                        "\"[v6]:port\"",
                        listen);
    }
    found.port = given.port;
    if (epi_address_wildcard(given.host)) {
        v6 = strchr(given.host, ':') != NULL;
        (void)epi_text_copy(found.host, sizeof(found.host),
                            v6 ? "::" : "0.0.0.0");
    } else {
        status = epi_resolve(given.host, found.host, sizeof(found.host));
        if (status != EPDX_OK) {
            return status;
        }
    }
    *address_p = found;
    return EPDX_OK;
}

bool epi_listen_is_open(const char *host, const char *token)
{
    return token[0] == '\0' && !epi_host_loopback(host);
}
