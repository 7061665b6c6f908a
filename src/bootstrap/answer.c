/* answer.c: routes, methods and codes. Everything in a request is hostile. */
#include "bootstrap/answer.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/log.h"
#include "discovery/route_fields.h"

#define TOKEN_SCHEME "Bearer "

static void say(epi_answer_t *answer, unsigned code, const char *words)
{
    answer->code = code;
    answer->content_type = "application/json";
    epi_route_error_format(words, answer->body, sizeof(answer->body));
}

static void say_ok(epi_answer_t *answer)
{
    answer->code = 200;
    answer->content_type = "text/plain";
    (void)epi_text_copy(answer->body, sizeof(answer->body), "OK");
}

/* The code of a status; its words are those of the failing call. */
static void say_status(epi_answer_t *answer, epdx_status_t status)
{
    static const struct {
        epdx_status_t status;
        unsigned code;
    } codes[] = {
        {EPDX_IN_PROGRESS, 503},   {EPDX_ERR_NOT_FOUND, 404},
        {EPDX_ERR_MALFORMED, 400}, {EPDX_ERR_INVALID, 400},
        {EPDX_ERR_TOO_LARGE, 400}, {EPDX_ERR_MISMATCH, 409},
    };

    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        if (codes[i].status == status) {
            say(answer, codes[i].code, epdx_last_error());
            return;
        }
    }
    say(answer, 500, epdx_last_error());
}

/* Takes as long for every token of one length. */
static bool same_token(const char *given, const char *token)
{
    size_t given_length = strlen(given);
    size_t length = strlen(token);
    volatile unsigned char difference = given_length != length;

    for (size_t i = 0; i < length; i++) {
        unsigned char c = i < given_length ? (unsigned char)given[i] : 0;

        difference |= c ^ (unsigned char)token[i];
    }
    return difference == 0;
}

static bool authorized(const epi_request_t *request, const char *token)
{
    const char *given = request->authorization;

    return token[0] == '\0' ||
           (given != NULL &&
            strncasecmp(given, TOKEN_SCHEME, strlen(TOKEN_SCHEME)) == 0 &&
            same_token(given + strlen(TOKEN_SCHEME), token));
}

/* A field that came once; EPDX_ERR_MALFORMED. */
static epdx_status_t once(const epi_query_field_t *field, const char *name)
{
    if (field->count == 0) {
        return epi_fail(EPDX_ERR_MALFORMED, "%s is missing", name);
    }
    if (field->count > 1) {
        return epi_fail(EPDX_ERR_MALFORMED, "%s comes more than once", name);
    }
    return EPDX_OK;
}

static epdx_status_t read_rank(const epi_query_field_t *field, const char *name,
                               int64_t *value_p)
{
    epdx_status_t status = once(field, name);
    uint64_t value;

    if (status != EPDX_OK) {
        return status;
    }
    if (field->length == 2 && memcmp(field->text, "-1", 2) == 0) {
        *value_p = -1;
        return EPDX_OK;
    }
    if (field->text == NULL ||
        !epi_text_u64(field->text, field->length, UINT32_MAX, &value)) {
        return epi_fail(EPDX_ERR_MALFORMED,
                        "%s is not -1 or a whole number up to %" PRIu32, name,
                        UINT32_MAX);
    }
    *value_p = (int64_t)value;
    return EPDX_OK;
}

static epdx_status_t world_body(const epi_registry_t *registry,
                                epi_answer_t *answer)
{
    epi_route_world_t world;
    epdx_status_t status = epi_registry_world(registry, &world);

    if (status != EPDX_OK) {
        return status;
    }
    return epi_route_world_format(&world, answer->body, sizeof(answer->body));
}

static epdx_status_t rank_body(const epi_registry_t *registry, uint32_t rank,
                               uint32_t group, epi_answer_t *answer)
{
    epi_route_rank_t route;
    epdx_status_t status = epi_registry_rank(registry, rank, group, &route);

    if (status != EPDX_OK) {
        return status;
    }
    return epi_route_rank_format(&route, answer->body, sizeof(answer->body));
}

static epdx_status_t route_body(const epi_registry_t *registry,
                                const epi_query_t *query, epi_answer_t *answer)
{
    int64_t rank = 0;
    int64_t group = 0;
    epdx_status_t status = read_rank(&query->engine_rank, "engine_rank", &rank);

    if (status == EPDX_OK) {
        status = read_rank(&query->target_dp_group, "target_dp_group", &group);
    }
    if (status != EPDX_OK) {
        return status;
    }
    if ((rank == -1) != (group == -1)) {
        return epi_fail(EPDX_ERR_MALFORMED,
                        "engine_rank and target_dp_group are both -1, or "
                        "neither is");
    }
    return rank == -1
               ? world_body(registry, answer)
               : rank_body(registry, (uint32_t)rank, (uint32_t)group, answer);
}

static void answer_get(const epi_registry_t *registry,
                       const epi_request_t *request, epi_answer_t *answer)
{
    epdx_status_t status = route_body(registry, &request->query, answer);

    if (status != EPDX_OK) {
        say_status(answer, status);
        return;
    }
    answer->code = 200;
    answer->content_type = "application/json";
}

static void log_registration(const epi_registry_t *registry,
                             const epi_route_registration_t *entry)
{
    epi_route_world_t world;

    epi_log_info("bootstrap: encode rank %" PRIu32 " of %" PRIu32
                 " is at %s port %u, instance '%s'",
                 entry->engine_rank, entry->world_size, entry->address.host,
                 entry->address.port, entry->instance);
    if (epi_registry_world(registry, &world) == EPDX_OK) {
        epi_log_info("bootstrap: all %" PRIu32 " encode ranks are registered",
                     world.world_size);
    }
}

static void answer_put(epi_registry_t *registry, const epi_request_t *request,
                       epi_answer_t *answer)
{
    epi_route_registration_t entry;
    epdx_status_t status;

    if (request->body_too_large) {
        say(answer, 413, "the body is over 4096 bytes");
        return;
    }
    status = epi_route_registration_parse(request->body, request->body_bytes,
                                          &entry);
    if (status == EPDX_OK) {
        status = epi_registry_put(registry, &entry);
    }
    if (status != EPDX_OK) {
        /* The client has the reason, too; a stranger must not fill a log. */
        epi_log_info("bootstrap: a registration is refused: %s",
                     epdx_last_error());
        say_status(answer, status);
        return;
    }
    log_registration(registry, &entry);
    say_ok(answer);
}

static epdx_status_t read_instance(const epi_query_field_t *field,
                                   char instance[EPI_ROUTE_INSTANCE_MAX + 1])
{
    epdx_status_t status;

    if (field->count == 0) {
        instance[0] = '\0'; /* any */
        return EPDX_OK;
    }
    status = once(field, "instance_id");
    if (status != EPDX_OK) {
        return status;
    }
    if (field->text == NULL || field->length > EPI_ROUTE_INSTANCE_MAX ||
        memchr(field->text, '\0', field->length) != NULL) {
        return epi_fail(EPDX_ERR_MALFORMED, "instance_id is not one");
    }
    memcpy(instance, field->text, field->length);
    instance[field->length] = '\0';
    return epi_route_instance_ok(instance)
               ? EPDX_OK
               : epi_fail(EPDX_ERR_MALFORMED, "instance_id is not one");
}

static void answer_delete(epi_registry_t *registry,
                          const epi_request_t *request, epi_answer_t *answer)
{
    char instance[EPI_ROUTE_INSTANCE_MAX + 1];
    int64_t rank = 0;
    epdx_status_t status =
        read_rank(&request->query.engine_rank, "engine_rank", &rank);

    if (status == EPDX_OK && rank < 0) {
        status = epi_fail(EPDX_ERR_MALFORMED, "engine_rank is not a rank");
    }
    if (status == EPDX_OK) {
        status = read_instance(&request->query.instance_id, instance);
    }
    if (status == EPDX_OK) {
        status = epi_registry_remove(registry, (uint32_t)rank, instance);
    }
    if (status != EPDX_OK) {
        say_status(answer, status);
        return;
    }
    epi_log_info("bootstrap: encode rank %" PRId64 " is gone", rank);
    say_ok(answer);
}

static void answer_route(epi_registry_t *registry, const char *token,
                         const epi_request_t *request, epi_answer_t *answer)
{
    bool put = strcmp(request->method, "PUT") == 0;

    if (strcmp(request->method, "GET") == 0) {
        answer_get(registry, request, answer);
    } else if (!put && strcmp(request->method, "DELETE") != 0) {
        say(answer, 405, "/route takes GET, PUT and DELETE");
        answer->allow = "DELETE, GET, PUT";
    } else if (!authorized(request, token)) {
        epi_log_debug("bootstrap: a request without the bearer token");
        say(answer, 401, "the bearer token is missing or wrong");
    } else if (put) {
        answer_put(registry, request, answer);
    } else {
        answer_delete(registry, request, answer);
    }
}

void epi_answer(epi_registry_t *registry, const char *token,
                const epi_request_t *request, epi_answer_t *answer_p)
{
    memset(answer_p, 0, sizeof(*answer_p));
    if (strcmp(request->path, "/route") == 0) {
        answer_route(registry, token, request, answer_p);
    } else if (strcmp(request->path, "/health") != 0) {
        say(answer_p, 404, "the paths are /route and /health");
    } else if (strcmp(request->method, "GET") != 0) {
        say(answer_p, 405, "/health takes GET");
        answer_p->allow = "GET";
    } else {
        say_ok(answer_p);
    }
}
