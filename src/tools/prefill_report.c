/* prefill_report.c: totals of all ranks, for people and for machines. */
#include "tools/prefill_report.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* Everything that is printed. */
typedef struct report {
    const epi_prefill_t *prefill;
    epi_prefill_totals_t *totals;
    epdx_admission_stats_t admission;
    epdx_receiver_stats_t receiver;
    uint64_t *bytes; /* received, by rank; on rank 0 */
    uint64_t bytes_total;
    uint64_t mismatched_bytes;
    uint64_t write_errors;
    double seconds;
    double gib_per_s;
    double p50_ms, p99_ms;
} report_t;

static void print_failures(const report_t *report)
{
    const epi_prefill_totals_t *totals = report->totals;

    for (size_t i = 0; i < totals->failures_kept; i++) {
        printf("request %s failed: %s\n", totals->failures[i].id,
               totals->failures[i].reason);
    }
    if (totals->failed + totals->revoked > totals->failures_kept) {
        printf("... and %llu more\n",
               (unsigned long long)(totals->failed + totals->revoked -
                                    totals->failures_kept));
    }
}

static const char *dtype_name(const report_t *report)
{
    const char *name = epdx_dtype_name(report->prefill->source->dtype);
    const char *dot = strchr(name, '.');

    return dot == NULL ? name : dot + 1;
}

static const char *sharding(const report_t *report)
{
    return epdx_admission_sharded(report->prefill->admission) ? "sharded"
                                                              : "not sharded";
}

static uint64_t requests(const report_t *report)
{
    return report->prefill->source->workload.count -
           report->prefill->options->skip;
}

static void print_table(const report_t *report)
{
    const epi_prefill_totals_t *totals = report->totals;
    const epi_source_t *source = report->prefill->source;

    printf("epdx_prefill: %u ranks, %s, %zu encode nodes\n",
           report->prefill->world->size, sharding(report),
           report->prefill->options->encode.count);
    epi_report_row(stdout, "rows of", "%llu x %s, %u deepstack levels",
                   (unsigned long long)source->hidden, dtype_name(report),
                   source->levels);
    epi_report_row(stdout, "requests", "%llu: %llu admitted, %llu failed",
                   (unsigned long long)requests(report),
                   (unsigned long long)totals->admitted,
                   (unsigned long long)totals->failed);
    epi_report_row(stdout, "items, rows", "%llu, %llu",
                   (unsigned long long)totals->items,
                   (unsigned long long)totals->rows);
    epi_report_row(stdout, "received", "%.3f GiB by all ranks",
                   (double)report->bytes_total / (1 << 30));
    epi_report_row(stdout, "in", "%.3f s (%.3f GiB/s)", report->seconds,
                   report->gib_per_s);
    epi_report_row(stdout, "staged to admitted", "p50 %.2f ms, p99 %.2f ms",
                   report->p50_ms, report->p99_ms);
    epi_report_row(stdout, "drains", "%llu, %llu with something pending",
                   (unsigned long long)report->admission.drains,
                   (unsigned long long)report->admission.drains_pending);
    epi_report_row(stdout, "transport", "%s", report->receiver.transport);
    if (report->prefill->options->verify) {
        epi_report_row(stdout, "wrong bytes", "%llu",
                       (unsigned long long)report->mismatched_bytes);
    }
    if (report->write_errors > 0) {
        epi_report_row(stdout, "arrays not written", "%llu",
                       (unsigned long long)report->write_errors);
    }
}

static void json_collectives(epi_json_t *json,
                             const epdx_collectives_t *collectives)
{
    epi_json_open(json, "collectives", '{');
    epi_json_u64(json, "creation", collectives->creation);
    epi_json_u64(json, "ballot", collectives->ballot);
    epi_json_u64(json, "reason", collectives->reason);
    epi_json_u64(json, "reassembly", collectives->reassembly);
    epi_json_u64(json, "launch", collectives->launch);
    epi_json_u64(json, "nccl_groups", collectives->nccl_groups);
    epi_json_u64(json, "nccl_broadcasts", collectives->nccl_broadcasts);
    epi_json_close(json, '{');
}

static void json_shape(epi_json_t *json, const report_t *report)
{
    const epi_source_t *source = report->prefill->source;

    epi_json_text(json, "dtype", dtype_name(report));
    epi_json_u64(json, "hidden", source->hidden);
    epi_json_u64(json, "levels", source->levels);
    epi_json_bool(json, "sharded",
                  epdx_admission_sharded(report->prefill->admission));
    epi_json_u64(json, "encode_nodes", report->prefill->options->encode.count);
    epi_json_bool(json, "verified", report->prefill->options->verify);
}

/* What decides about success stands last, where it is seen. */
static void print_json(const report_t *report)
{
    const epi_prefill_totals_t *totals = report->totals;
    epi_json_t json;

    epi_json_begin(&json, stdout);
    epi_json_u64(&json, "ranks", report->prefill->world->size);
    epi_json_u64(&json, "requests", requests(report));
    epi_json_u64(&json, "admitted", totals->admitted);
    epi_json_u64(&json, "items", totals->items);
    epi_json_u64(&json, "rows", totals->rows);
    epi_json_array(&json, "bytes_received_per_rank", report->bytes,
                   report->prefill->world->size);
    epi_json_u64(&json, "bytes_total", report->bytes_total);
    epi_json_double(&json, "seconds", report->seconds);
    epi_json_double(&json, "verify_seconds", (double)totals->verify_ns / 1e9);
    epi_json_double(&json, "gib_per_s", report->gib_per_s);
    epi_json_double(&json, "land_ms_p50", report->p50_ms);
    epi_json_double(&json, "land_ms_p99", report->p99_ms);
    epi_json_u64(&json, "drains", report->admission.drains);
    epi_json_u64(&json, "drains_pending", report->admission.drains_pending);
    epi_json_u64(&json, "drains_admitting", report->admission.drains_admitting);
    json_collectives(&json, &report->admission.collectives);
    epi_json_text(&json, "transport", report->receiver.transport);
    epi_device_json(report->prefill->device, &json);
    epi_json_u64(&json, "bytes_direct", report->receiver.bytes_direct);
    epi_json_u64(&json, "bytes_staged", report->receiver.bytes_staged);
    json_shape(&json, report);
    epi_json_u64(&json, "write_errors", report->write_errors);
    epi_json_u64(&json, "revoked", totals->revoked);
    epi_json_u64(&json, "failed", totals->failed);
    epi_json_u64(&json, "mismatched_bytes", report->mismatched_bytes);
    epi_json_end(&json);
}

static epdx_status_t gather(report_t *report)
{
    uint64_t sums[2] = {report->totals->mismatched_bytes,
                        report->totals->write_errors};
    epdx_status_t status = epi_world_sum(report->prefill->world, sums, 2);

    if (status != EPDX_OK) {
        return status;
    }
    report->mismatched_bytes = sums[0];
    report->write_errors = sums[1];
    return epi_world_gather(report->prefill->world,
                            report->receiver.bytes_landed, report->bytes);
}

static void derive(report_t *report)
{
    epi_prefill_totals_t *totals = report->totals;

    for (uint32_t i = 0; i < report->prefill->world->size; i++) {
        report->bytes_total += report->bytes[i];
    }
    report->seconds = (double)totals->elapsed_ns / 1e9;
    if (totals->elapsed_ns > 0) {
        report->gib_per_s =
            (double)report->bytes_total / (1 << 30) / report->seconds;
    }
    report->p50_ms = epi_latencies_ms(&totals->latencies, 50);
    report->p99_ms = epi_latencies_ms(&totals->latencies, 99);
}

epdx_status_t epi_prefill_report(const epi_prefill_t *prefill,
                                 epi_prefill_totals_t *totals, bool *good_p)
{
    report_t report = {.prefill = prefill, .totals = totals};
    epdx_status_t status;

    epdx_admission_stats(prefill->admission, &report.admission,
                         &report.receiver);
    report.bytes = calloc(prefill->world->size, sizeof(*report.bytes));
    if (report.bytes == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY, "no memory for the report");
    }
    status = gather(&report);
    if (status == EPDX_OK) {
        *good_p = totals->failed == 0 && totals->revoked == 0 &&
                  report.mismatched_bytes == 0 && report.write_errors == 0;
    }
    if (status == EPDX_OK && prefill->world->rank == 0) {
        derive(&report);
        print_failures(&report);
        print_table(&report);
        print_json(&report);
    }
    free(report.bytes);
    return status;
}

epdx_status_t epi_prefill_print_sizes(const epi_source_t *source)
{
    epi_workload_sizes_t sizes;
    epi_json_t json;
    epdx_status_t status =
        epi_workload_sizes(&source->workload, source->main_row_bytes,
                           source->deepstack_row_bytes, &sizes);

    if (status != EPDX_OK) {
        return status;
    }
    epi_json_begin(&json, stdout);
    epi_json_u64(&json, "requests", source->workload.count);
    epi_json_u64(&json, "items", source->workload.rows_count);
    epi_json_u64(&json, "rows", sizes.total_rows);
    epi_json_u64(&json, "largest_item_bytes", sizes.item_bytes);
    epi_json_u64(&json, "largest_request_bytes", sizes.request_bytes);
    epi_json_end(&json);
    return EPDX_OK;
}
