/* results.c: see results.h. */
#include "bench/results.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "epdx/epdx.h"
#include "tools/report.h"

static void print_count(const char *name, uint64_t value)
{
    if (value > 0) {
        printf(" %s %llu", name, (unsigned long long)value);
    }
}

static void print(const epi_result_t *result)
{
    printf("%-12s %-14s", result->what, result->way);
    print_count("size", result->size);
    print_count("window", result->window);
    print_count("ranks", result->ranks);
    print_count("pending", result->pending);
    print_count("ready", result->ready);
    printf("  %.4g %s (%.4g to %.4g)", result->value, result->unit, result->low,
           result->high);
    if (result->p99 > 0) {
        printf(", p50 %.4g p99 %.4g", result->p50, result->p99);
    }
    if (result->ratio > 0) {
        printf(", %.3g of %s", result->ratio, result->baseline);
    }
    if (result->transport[0] != '\0') {
        printf(", %s", result->transport);
    }
    printf("%s%s\n", result->note[0] == '\0' ? "" : ", ", result->note);
    (void)fflush(stdout);
}

epdx_status_t epi_results_add(epi_results_t *results,
                              const epi_result_t *result)
{
    if (results->count == results->capacity) {
        size_t capacity = results->capacity * 2 + 64;
        epi_result_t *list =
            realloc(results->list, capacity * sizeof(*results->list));

        if (list == NULL) {
            return epi_fail(EPDX_ERR_NO_MEMORY, "no memory for the results");
        }
        results->list = list;
        results->capacity = capacity;
    }
    results->list[results->count++] = *result;
    print(result);
    return EPDX_OK;
}

static void json_count(epi_json_t *json, const char *key, uint64_t value)
{
    if (value > 0) {
        epi_json_u64(json, key, value);
    }
}

static void json_result(epi_json_t *json, const epi_result_t *result)
{
    epi_json_open(json, NULL, '{');
    epi_json_text(json, "what", result->what);
    epi_json_text(json, "way", result->way);
    json_count(json, "size", result->size);
    json_count(json, "window", result->window);
    json_count(json, "ranks", result->ranks);
    json_count(json, "pending", result->pending);
    json_count(json, "ready", result->ready);
    epi_json_double(json, "value", result->value);
    epi_json_text(json, "unit", result->unit);
    epi_json_double(json, "low", result->low);
    epi_json_double(json, "high", result->high);
    if (result->p99 > 0) {
        epi_json_double(json, "p50", result->p50);
        epi_json_double(json, "p99", result->p99);
    }
    if (result->ratio > 0) {
        epi_json_text(json, "baseline", result->baseline);
        epi_json_double(json, "ratio", result->ratio);
    }
    epi_json_text(json, "transport", result->transport);
    if (result->note[0] != '\0') {
        epi_json_text(json, "note", result->note);
    }
    epi_json_close(json, '{');
}

void epi_results_end(epi_results_t *results)
{
    epi_json_t json;

    if (results->json) {
        epi_json_begin(&json, stdout);
        epi_json_text(&json, "subject", results->subject);
        epi_json_text(&json, "version", epdx_version());
        epi_json_open(&json, "results", '[');
        for (size_t i = 0; i < results->count; i++) {
            json_result(&json, &results->list[i]);
        }
        epi_json_close(&json, '[');
        epi_json_end(&json);
    }
    free(results->list);
    results->list = NULL;
}
