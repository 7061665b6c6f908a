/*
 * answer.h: what the bootstrap server says to one request: a code and a body.
 * Pure but for the registry it asks or changes, and log lines. docs/wire.md
 * has every answer.
 */
#ifndef EPI_BOOTSTRAP_ANSWER_H
#define EPI_BOOTSTRAP_ANSWER_H

#include "bootstrap/registry.h"

#define EPI_ANSWER_BODY_MAX 4096 /* bytes of a request's body */

/** A field of the query. */
typedef struct epi_query_field {
    const char *text; /* not closed; NULL where the field has no value */
    size_t length;
    uint32_t count; /* how often it came */
} epi_query_field_t;

typedef struct epi_query {
    epi_query_field_t engine_rank;
    epi_query_field_t target_dp_group;
    epi_query_field_t instance_id;
} epi_query_t;

typedef struct epi_request {
    const char *method;
    const char *path;
    const char *authorization; /* NULL: none */
    epi_query_t query;
    const char *body;
    size_t body_bytes;
    bool body_too_large; /* then body is cut */
} epi_request_t;

typedef struct epi_answer {
    unsigned code;
    const char *content_type;
    const char *allow; /* of a 405; else NULL */
    char body[EPI_ROUTE_BODY_MAX];
} epi_answer_t;

/** token: what PUT and DELETE must carry; "" asks for none. */
void epi_answer(epi_registry_t *registry, const char *token,
                const epi_request_t *request, epi_answer_t *answer_p);

#endif
