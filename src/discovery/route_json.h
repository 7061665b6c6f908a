/* route_json.h: a JSON text as a cJSON tree, held to the grammar and to its
 * bounds before cJSON sees it. Only route_parse.c and its tests. */
#ifndef EPI_DISCOVERY_ROUTE_JSON_H
#define EPI_DISCOVERY_ROUTE_JSON_H

#include <cjson/cJSON.h>
#include <stddef.h>

#include "epdx/status.h"

#define EPI_JSON_DEPTH_MAX 8
#define EPI_JSON_BYTES_MAX 65536

/** EPDX_ERR_MALFORMED with words; *root_p, which the caller gives to
 *  cJSON_Delete(), is set on success only. */
EPDX_MUST_CHECK epdx_status_t epi_json_parse(const char *text, size_t length,
                                             cJSON **root_p);

#endif
