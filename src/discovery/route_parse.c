/*
 * route_parse.c: bodies from the network, hostile until they have passed here.
 * Where a field comes twice, the first counts. A missing or null field means
 * "not ready" in an answer, and is malformed in a registration.
 */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "discovery/route.h"
#include "discovery/route_fields.h"
#include "discovery/route_json.h"

typedef struct range {
    uint64_t min, max;
} range_t;

static const range_t any_count = {1, UINT32_MAX};
static const range_t any_rank = {0, UINT32_MAX};
static const range_t any_port = {1, UINT16_MAX};

/* A field that is there, or NULL. */
static const cJSON *find(const cJSON *root, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, name);

    return item == NULL || cJSON_IsNull(item) ? NULL : item;
}

static bool whole(const cJSON *item, range_t range, uint64_t *value_p)
{
    double number = item->valuedouble;

    /* Also false for NaN; both bounds are exact as doubles. */
    if (!(number >= (double)range.min && number <= (double)range.max) ||
        number != (double)(uint64_t)number) {
        return false;
    }
    *value_p = (uint64_t)number;
    return true;
}

/* Decimal text, blanks around it as existing clients take them. */
static bool decimal(const char *text, range_t range, uint64_t *value_p)
{
    size_t length;
    uint64_t value;

    text += strspn(text, " \t\r\n");
    length = strcspn(text, " \t\r\n");
    if (text[length + strspn(text + length, " \t\r\n")] != '\0' ||
        !epi_text_u64(text, length, range.max, &value) || value < range.min) {
        return false;
    }
    *value_p = value;
    return true;
}

static epdx_status_t read_number(const cJSON *root, const char *name,
                                 range_t range, uint32_t *value_p)
{
    const cJSON *item = find(root, name);
    uint64_t value;

    if (item == NULL) {
        return epi_fail(EPDX_IN_PROGRESS, "%s is missing", name);
    }
    if (!(cJSON_IsNumber(item) && whole(item, range, &value)) &&
        !(cJSON_IsString(item) && decimal(item->valuestring, range, &value))) {
        return epi_fail(EPDX_ERR_MALFORMED,
                        "%s is not a whole number from %" PRIu64 " to %" PRIu64,
                        name, range.min, range.max);
    }
    *value_p = (uint32_t)value;
    return EPDX_OK;
}

static epdx_status_t read_host(const cJSON *root, const char *name,
                               char host[EPDX_ADDRESS_MAX + 1])
{
    const cJSON *item = find(root, name);
    char bare[EPDX_ADDRESS_MAX + 1];
    const char *text;
    size_t length;

    if (item == NULL) {
        return epi_fail(EPDX_IN_PROGRESS, "%s is missing", name);
    }
    text = cJSON_IsString(item) ? item->valuestring : "";
    length = strlen(text);
    if (length >= 2 && text[0] == '[' && text[length - 1] == ']' &&
        memchr(text, ':', length) != NULL) {
        text++;
        length -= 2;
    }
    if (length > EPDX_ADDRESS_MAX) {
        return epi_fail(EPDX_ERR_MALFORMED, "%s is over %d characters", name,
                        EPDX_ADDRESS_MAX);
    }
    memcpy(bare, text, length);
    bare[length] = '\0';
    if (!epi_route_host_ok(bare)) {
        return epi_fail(EPDX_ERR_MALFORMED, "%s is not the address of one host",
                        name);
    }
    memcpy(host, bare, length + 1);
    return EPDX_OK;
}

/* An older implementation gives none: "" then. */
static epdx_status_t read_instance(const cJSON *root,
                                   char instance[EPI_ROUTE_INSTANCE_MAX + 1])
{
    const cJSON *item = find(root, "instance_id");

    if (item == NULL) {
        instance[0] = '\0';
        return EPDX_OK;
    }
    if (!cJSON_IsString(item) || !epi_route_instance_ok(item->valuestring)) {
        return epi_fail(EPDX_ERR_MALFORMED,
                        "instance_id is not a text of at most %d letters, "
                        "digits, '.', '-' or '_'",
                        EPI_ROUTE_INSTANCE_MAX);
    }
    (void)epi_text_copy(instance, EPI_ROUTE_INSTANCE_MAX + 1,
                        item->valuestring);
    return EPDX_OK;
}

/* Left out by ranks without CURVE, and by older implementations. */
static epdx_status_t read_key(const cJSON *root, char key[EPI_ROUTE_KEY + 1])
{
    const cJSON *item = find(root, "curve_public_key");
    const char *text = "";

    if (item != NULL) {
        text = cJSON_IsString(item) ? item->valuestring : " ";
    }
    if (!epi_route_key_ok(text)) {
        return epi_fail(EPDX_ERR_MALFORMED,
                        "curve_public_key is not a text of %d characters of "
                        "Z85",
                        EPI_ROUTE_KEY);
    }
    (void)epi_text_copy(key, EPI_ROUTE_KEY + 1, text);
    return EPDX_OK;
}

static epdx_status_t read_shape(const char *world_name, const char *dp_name,
                                const cJSON *root, uint32_t *world_p,
                                uint32_t *dp_p)
{
    epdx_status_t status = read_number(root, world_name, any_count, world_p);

    if (status == EPDX_OK) {
        status = read_number(root, dp_name, any_count, dp_p);
    }
    if (status == EPDX_OK && *world_p % *dp_p != 0) {
        return epi_fail(EPDX_ERR_MALFORMED,
                        "%s %" PRIu32 " is not a multiple of %s %" PRIu32,
                        world_name, *world_p, dp_name, *dp_p);
    }
    return status;
}

static epdx_status_t read_address(const cJSON *root, epi_address_t *address)
{
    epdx_status_t status = read_host(root, "rank_ip", address->host);
    uint32_t port = 0;

    if (status == EPDX_OK) {
        status = read_number(root, "rank_port", any_port, &port);
    }
    if (status == EPDX_OK) {
        address->port = (uint16_t)port;
    }
    return status;
}

static epdx_status_t read_role(const cJSON *root)
{
    const cJSON *role = find(root, "role");

    if (!cJSON_IsString(role) || strcmp(role->valuestring, "Prefill") != 0) {
        return epi_fail(EPDX_ERR_MALFORMED, "role is not \"Prefill\"");
    }
    return EPDX_OK;
}

static epdx_status_t read_registration(const cJSON *root,
                                       epi_route_registration_t *out)
{
    epdx_status_t status = read_role(root);

    if (status == EPDX_OK) {
        status = read_shape("world_size", "dp_size", root, &out->world_size,
                            &out->dp_size);
    }
    if (status == EPDX_OK) {
        status = read_address(root, &out->address);
    }
    if (status == EPDX_OK) {
        status = read_number(root, "engine_rank", any_rank, &out->engine_rank);
    }
    if (status == EPDX_OK && out->engine_rank >= out->world_size) {
        return epi_fail(EPDX_ERR_MALFORMED,
                        "engine_rank %" PRIu32
                        " is not below world_size %" PRIu32,
                        out->engine_rank, out->world_size);
    }
    if (status == EPDX_OK) {
        status = read_instance(root, out->instance);
    }
    if (status == EPDX_OK) {
        status = read_key(root, out->curve_key);
    }
    /* A body has all of its fields; only an answer may still lack some. */
    return status == EPDX_IN_PROGRESS
               ? epi_fail(EPDX_ERR_MALFORMED, "%s", epdx_last_error())
               : status;
}

/* The object of a body. EPDX_IN_PROGRESS: the text is null. */
static epdx_status_t parse_object(const char *body, size_t length,
                                  cJSON **root_p)
{
    cJSON *root = NULL;
    epdx_status_t status = epi_json_parse(body, length, &root);

    if (status != EPDX_OK) {
        return status;
    }
    if (cJSON_IsObject(root)) {
        *root_p = root;
        return EPDX_OK;
    }
    status = cJSON_IsNull(root)
                 ? epi_fail(EPDX_IN_PROGRESS, "the answer is null")
                 : epi_fail(EPDX_ERR_MALFORMED, "not a JSON object");
    cJSON_Delete(root);
    return status;
}

epdx_status_t epi_route_registration_parse(const char *body, size_t length,
                                           epi_route_registration_t *out_p)
{
    epi_route_registration_t out = {0};
    cJSON *root = NULL;
    epdx_status_t status = parse_object(body, length, &root);

    if (status == EPDX_IN_PROGRESS) {
        return epi_fail(EPDX_ERR_MALFORMED, "not a JSON object");
    }
    if (status != EPDX_OK) {
        return status;
    }
    status = read_registration(root, &out);
    cJSON_Delete(root);
    if (status == EPDX_OK) {
        *out_p = out;
    }
    return status;
}

epdx_status_t epi_route_world_parse(const char *body, size_t length,
                                    epi_route_world_t *out_p)
{
    epi_route_world_t out = {0};
    cJSON *root = NULL;
    epdx_status_t status = parse_object(body, length, &root);

    if (status != EPDX_OK) {
        return status;
    }
    status = read_shape("prefill_tp_size", "prefill_dp_size", root,
                        &out.world_size, &out.dp_size);
    cJSON_Delete(root);
    if (status == EPDX_OK) {
        *out_p = out;
    }
    return status;
}

epdx_status_t epi_route_rank_parse(const char *body, size_t length,
                                   epi_route_rank_t *out_p)
{
    epi_route_rank_t out = {0};
    cJSON *root = NULL;
    epdx_status_t status = parse_object(body, length, &root);

    if (status != EPDX_OK) {
        return status;
    }
    status = read_address(root, &out.address);
    if (status == EPDX_OK) {
        status = read_instance(root, out.instance);
    }
    if (status == EPDX_OK) {
        status = read_key(root, out.curve_key);
    }
    cJSON_Delete(root);
    if (status == EPDX_OK) {
        *out_p = out;
    }
    return status;
}
