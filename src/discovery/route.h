/*
 * route.h: the bootstrap server's queries and bodies, both ends: JSON to a
 * rank's address and back. Pure (cJSON on text in memory). docs/wire.md has
 * the forms.
 */
#ifndef EPI_DISCOVERY_ROUTE_H
#define EPI_DISCOVERY_ROUTE_H

#include "base/text.h"
#include "epdx/types.h"

#define EPI_ROUTE_INSTANCE_MAX 32
#define EPI_ROUTE_KEY          40 /* characters of a CURVE key, in Z85 */
#define EPI_ROUTE_BODY_MAX     1024

/** PUT /route: an encode rank registers itself. */
typedef struct epi_route_registration {
    uint32_t world_size;   /* >= 1, a multiple of dp_size */
    uint32_t dp_size;      /* >= 1 */
    uint32_t engine_rank;  /* < world_size */
    epi_address_t address; /* rank_ip (no wildcard), rank_port 1 ... 65535 */
    char instance[EPI_ROUTE_INSTANCE_MAX + 1]; /* "" when not given */
    char curve_key[EPI_ROUTE_KEY + 1];         /* public; "": without CURVE */
} epi_route_registration_t;

/** GET /route?engine_rank=-1&target_dp_group=-1 */
typedef struct epi_route_world {
    uint32_t world_size; /* prefill_tp_size */
    uint32_t dp_size;    /* prefill_dp_size */
} epi_route_world_t;

/** GET /route?engine_rank=R&target_dp_group=G */
typedef struct epi_route_rank {
    epi_address_t address;
    char instance[EPI_ROUTE_INSTANCE_MAX + 1];
    char curve_key[EPI_ROUTE_KEY + 1];
} epi_route_rank_t;

/** "http://HOST:PORT/route?engine_rank=R&target_dp_group=G"; rank and group -1
 *  ask for the world. bootstrap is "host:port", bracketed if IPv6; a leading
 *  "http://" or "https://" in it is kept. EPDX_ERR_INVALID: not an address. */
EPDX_MUST_CHECK epdx_status_t epi_route_query_url(const char *bootstrap,
                                                  int64_t rank, int64_t group,
                                                  char *out, size_t size);
/** "http://HOST:PORT/route", for PUT and DELETE; DELETE adds
 *  "?engine_rank=R&instance_id=I". */
EPDX_MUST_CHECK epdx_status_t epi_route_put_url(const char *bootstrap,
                                                char *out, size_t size);
EPDX_MUST_CHECK epdx_status_t epi_route_delete_url(const char *bootstrap,
                                                   uint32_t rank,
                                                   const char *instance,
                                                   char *out, size_t size);

/** Body of a PUT: {"role":"Prefill","world_size":W,"dp_size":D,"rank_ip":"..",
 *  "rank_port":P,"engine_rank":E,"instance_id":"..","curve_public_key":".."};
 *  the last two are left out when empty. */
EPDX_MUST_CHECK epdx_status_t epi_route_registration_format(
    const epi_route_registration_t *in, char *out, size_t size);
EPDX_MUST_CHECK epdx_status_t
epi_route_world_format(const epi_route_world_t *in, char *out, size_t size);
EPDX_MUST_CHECK epdx_status_t epi_route_rank_format(const epi_route_rank_t *in,
                                                    char *out, size_t size);
/** {"error":"words"}, cut where it does not fit; what is not printable ASCII in
 *  words becomes '?'. size is at least 16. */
void epi_route_error_format(const char *words, char *out, size_t size);

/*
 * Parsers. Whole numbers come as JSON numbers or as decimal text; unknown
 * fields are ignored; of a field that comes twice the first counts. Over 64
 * KiB, nesting over 8, anything after the value but white space, a missing
 * role, or a wrong type or value is EPDX_ERR_MALFORMED with the field in
 * epdx_last_error(). EPDX_IN_PROGRESS: the answer means "not ready" (JSON
 * null, or a field missing or null): ask again; in a registration that is
 * malformed, too. Outputs on success only.
 */
EPDX_MUST_CHECK epdx_status_t epi_route_registration_parse(
    const char *body, size_t length, epi_route_registration_t *out_p);
EPDX_MUST_CHECK epdx_status_t epi_route_world_parse(const char *body,
                                                    size_t length,
                                                    epi_route_world_t *out_p);
EPDX_MUST_CHECK epdx_status_t epi_route_rank_parse(const char *body,
                                                   size_t length,
                                                   epi_route_rank_t *out_p);

#endif
