/*
 * workload_json.c: one line of a trace:
 *
 *     {"t": seconds, "id": "...", "images": [rows, ...]}
 *
 * exactly these three fields, each once.
 */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tools/workload.h"

#define SECONDS_MAX 1e9

/* cJSON keeps numbers as doubles, which hold all of 1 ... 2^32. */
static epdx_status_t read_rows(const cJSON *images, uint64_t *rows,
                               size_t *count_p)
{
    const cJSON *image;
    size_t count = 0;

    cJSON_ArrayForEach(image, images)
    {
        double value = image->valuedouble;

        if (count == EPI_WORKLOAD_ITEMS_MAX) {
            return epi_fail(EPDX_ERR_MALFORMED, "more than %d images",
                            EPI_WORKLOAD_ITEMS_MAX);
        }
        if (!cJSON_IsNumber(image) || value != floor(value) || value < 1 ||
            value > (double)EPI_WORKLOAD_ROWS_MAX) {
            return epi_fail(EPDX_ERR_MALFORMED,
                            "image %zu is not a whole number of rows from 1 "
                            "to %llu",
                            count, (unsigned long long)EPI_WORKLOAD_ROWS_MAX);
        }
        rows[count++] = (uint64_t)value;
    }
    *count_p = count;
    return EPDX_OK;
}

static epdx_status_t read_seconds(const cJSON *t, uint64_t *ns_p)
{
    if (!cJSON_IsNumber(t) || !isfinite(t->valuedouble) || t->valuedouble < 0 ||
        t->valuedouble > SECONDS_MAX) {
        return epi_fail(EPDX_ERR_MALFORMED,
                        "\"t\" is not a number of seconds from 0 to 1e9");
    }
    *ns_p = (uint64_t)(t->valuedouble * 1e9 + 0.5);
    return EPDX_OK;
}

/* The field of a name, which the object must have once. */
static epdx_status_t field(const cJSON *object, const char *name,
                           const cJSON **field_p)
{
    const cJSON *child;
    const cJSON *found = NULL;

    cJSON_ArrayForEach(child, object)
    {
        if (strcmp(child->string, name) != 0) {
            continue;
        }
        if (found != NULL) {
            return epi_fail(EPDX_ERR_MALFORMED, "has \"%s\" twice", name);
        }
        found = child;
    }
    if (found == NULL) {
        return epi_fail(EPDX_ERR_MALFORMED, "has no \"%s\"", name);
    }
    *field_p = found;
    return EPDX_OK;
}

static epdx_status_t no_other_fields(const cJSON *object)
{
    const cJSON *child;

    cJSON_ArrayForEach(child, object)
    {
        if (strcmp(child->string, "t") != 0 &&
            strcmp(child->string, "id") != 0 &&
            strcmp(child->string, "images") != 0) {
            return epi_fail(EPDX_ERR_MALFORMED, "unknown field \"%.40s\"",
                            child->string);
        }
    }
    return EPDX_OK;
}

static epdx_status_t add_fields(epi_workload_t *workload, const cJSON *t,
                                const cJSON *id, const cJSON *images)
{
    uint64_t rows[EPI_WORKLOAD_ITEMS_MAX];
    size_t count = 0;
    uint64_t due_ns = 0;
    epdx_status_t status = read_seconds(t, &due_ns);

    if (status != EPDX_OK) {
        return status;
    }
    if (!cJSON_IsString(id)) {
        return epi_fail(EPDX_ERR_MALFORMED, "\"id\" is not a text");
    }
    if (!cJSON_IsArray(images)) {
        return epi_fail(EPDX_ERR_MALFORMED, "\"images\" is not an array");
    }
    status = read_rows(images, rows, &count);
    if (status != EPDX_OK) {
        return status;
    }
    status = epi_workload_add(workload, id->valuestring, due_ns, rows, count);
    return status == EPDX_ERR_INVALID ? EPDX_ERR_MALFORMED : status;
}

static epdx_status_t add_object(epi_workload_t *workload, const cJSON *object)
{
    const cJSON *t = NULL;
    const cJSON *id = NULL;
    const cJSON *images = NULL;
    epdx_status_t status;

    if (!cJSON_IsObject(object)) {
        return epi_fail(EPDX_ERR_MALFORMED, "not a JSON object");
    }
    status = no_other_fields(object);
    if (status == EPDX_OK) {
        status = field(object, "t", &t);
    }
    if (status == EPDX_OK) {
        status = field(object, "id", &id);
    }
    if (status == EPDX_OK) {
        status = field(object, "images", &images);
    }
    return status != EPDX_OK ? status : add_fields(workload, t, id, images);
}

epdx_status_t epi_workload_add_line(epi_workload_t *workload, const char *line)
{
    const char *end = line;
    epdx_status_t status;
    cJSON *object;

    /* cJSON would end the text there and take the rest for gone. */
    if (strstr(line, "\\u0000") != NULL) {
        return epi_fail(EPDX_ERR_MALFORMED, "holds a zero character");
    }
    object = cJSON_ParseWithOpts(line, &end, 1);
    if (object == NULL) {
        return epi_fail(EPDX_ERR_MALFORMED, "not JSON, near column %zu",
                        (size_t)(end - line) + 1);
    }
    status = add_object(workload, object);
    cJSON_Delete(object);
    return status;
}
