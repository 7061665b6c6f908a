/*
 * soak.c: see soak.h. Arguments after the time limit: requests, seed, minutes
 * after which no more are staged (0: no such end). Prints one line of JSON;
 * ends with 1 when a byte was wrong or something was left.
 */
#include "soak.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "epdx/group_mpi.h"
#include "harness.h"
#include "proxy.h"
#include "tools/synthetic.h"

#define POOL_BYTES   ((size_t)12 << 20)
#define TIMEOUT_NS   (1500 * EPI_MS)
#define HELD_MAX     4096
#define WARM_UP_PART 10  /* a tenth of all requests */
#define AGREE_EVERY  256 /* drains, on whether to go on */

/** Why requests failed, by class. */
static const struct reason_class {
    epdx_status_t status;
    const char *name;
} classes[] = {
    {EPDX_ERR_TIMEOUT, "deadline"},    {EPDX_ERR_UNREACHABLE, "unreachable"},
    {EPDX_ERR_PEER, "encode_failed"},  {EPDX_ERR_MISMATCH, "mismatch"},
    {EPDX_ERR_CANCELLED, "cancelled"}, {EPDX_ERR_IO, "io"},
};
#define CLASSES (sizeof(classes) / sizeof(classes[0]))

/** A request in flight. */
typedef struct flight {
    uint64_t number;
    uint64_t staged_at; /* drain */
    uint32_t cancel_rank, cancel_after;
    bool used;
    bool cancelled;
} flight_t;

static struct {
    uint64_t requests, seed, stop_ns;
    char addresses[SOAK_NODES][EPDX_ADDRESS_MAX + 1];
    epdx_group_t *group;
    epdx_admission_t *admission;
    test_seeded_t seeded; /* this rank's own */
    flight_t flights[SOAK_WINDOW];
    uint64_t staged, ended, drains;
    uint64_t held[HELD_MAX]; /* admitted, not yet released */
    size_t held_count;
    uint64_t admitted, failed[CLASSES + 1];
    uint64_t cancels, late_releases;
    epi_wrong_t wrong;
    uint64_t rss_start_kb;
} soak;

static uint64_t resident_kb(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long size = 0;
    unsigned long resident = 0;

    if (file != NULL) {
        (void)fscanf(file, "%lu %lu", &size, &resident);
        (void)fclose(file);
    }
    return resident * (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
}

static uint64_t sum(uint64_t value)
{
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_UINT64_T, MPI_SUM,
                  harness_comm());
    return value;
}

static void open_all(uint32_t encode_tp)
{
    epdx_admission_params_t params = {
        .struct_size = sizeof(params),
        .receiver = {.struct_size = sizeof(epdx_receiver_params_t),
                     .dtype = EPDX_BFLOAT16,
                     .hidden = SOAK_HIDDEN,
                     .levels = SOAK_LEVELS,
                     .shard = EPDX_ON,
                     .host = "127.0.0.1",
                     .pool_bytes = POOL_BYTES,
                     .waiting_timeout_ns = TIMEOUT_NS,
                     .bootstrap_timeout_ns = TIMEOUT_NS}};

    if (harness_rank() == 0) {
        soak_encode_open(soak.seed, encode_tp, soak.addresses);
    }
    MPI_Bcast(soak.addresses, sizeof(soak.addresses), MPI_CHAR, 0,
              harness_comm());
    CHECK_ALL_STATUS(epdx_group_mpi(harness_comm(), 0, &soak.group), EPDX_OK);
    CHECK_ALL_STATUS(epdx_admission_open(soak.group, &params, &soak.admission),
                     EPDX_OK);
}

static flight_t *flight_of(uint64_t number, bool used)
{
    for (size_t i = 0; i < SOAK_WINDOW; i++) {
        if (soak.flights[i].used == used &&
            (!used || soak.flights[i].number == number)) {
            return &soak.flights[i];
        }
    }
    (void)fprintf(stderr, "soak: request %" PRIu64 " is not known\n", number);
    abort();
}

static void stage_one(void)
{
    uint64_t number = soak.staged++;
    flight_t *flight = flight_of(0, false);
    epdx_item_t items[SOAK_ITEM_MAX];
    soak_request_t plan;
    char id[32];
    epdx_request_t request = {.id = id, .items = items};

    soak_plan(soak.seed, number, (uint32_t)harness_size(), &plan);
    (void)snprintf(id, sizeof(id), "%" PRIu64, number);
    request.item_count = plan.item_count;
    for (size_t i = 0; i < plan.item_count; i++) {
        items[i] = (epdx_item_t){.room = plan.items[i].room,
                                 .span = plan.items[i].span,
                                 .encode = soak.addresses[plan.items[i].node]};
    }
    *flight = (flight_t){.number = number,
                         .staged_at = soak.drains,
                         .cancel_rank = plan.cancel_rank,
                         .cancel_after = plan.cancel_after,
                         .used = true};
    if (epdx_admission_stage(soak.admission, &request) != EPDX_OK) {
        (void)fprintf(stderr, "soak: stage: %s\n", epdx_last_error());
        abort();
    }
    if (harness_rank() == 0) {
        soak_encode_request(&plan);
    }
}

static void cancel_some(void)
{
    for (size_t i = 0; i < SOAK_WINDOW; i++) {
        flight_t *flight = &soak.flights[i];
        char id[32];

        if (!flight->used || flight->cancelled ||
            flight->cancel_rank != (uint32_t)harness_rank() ||
            soak.drains < flight->staged_at + flight->cancel_after) {
            continue;
        }
        (void)snprintf(id, sizeof(id), "%" PRIu64, flight->number);
        flight->cancelled = true;
        soak.cancels += epdx_admission_cancel(soak.admission, id) == EPDX_OK;
    }
}

static void check(const epdx_landed_t *item, uint64_t span)
{
    epi_synthetic_t pattern = {.room = item->room,
                               .part = EPI_PART_MAIN,
                               .columns = SOAK_HIDDEN,
                               .element_bytes = 2};
    epdx_rows_t all = {0, item->span};

    if (item->span != span || item->deepstack == NULL) {
        soak.wrong.bytes++;
        return;
    }
    (void)epi_synthetic_verify(&pattern, all, item->main, &soak.wrong);
    pattern.part = EPI_PART_DEEPSTACK;
    pattern.columns = (uint64_t)SOAK_HIDDEN * SOAK_LEVELS;
    (void)epi_synthetic_verify(&pattern, all, item->deepstack, &soak.wrong);
}

static void note_admitted(const epdx_admitted_t *admitted)
{
    uint64_t number = strtoull(admitted->id, NULL, 10);
    soak_request_t plan;

    soak_plan(soak.seed, number, (uint32_t)harness_size(), &plan);
    for (size_t i = 0; i < admitted->item_count; i++) {
        check(&admitted->items[i], plan.items[i].span);
    }
    flight_of(number, true)->used = false;
    soak.held[soak.held_count++] = number;
    soak.admitted++;
    soak.ended++;
}

static void note_failed(const epdx_rejected_t *failed)
{
    size_t class = 0;

    while (class < CLASSES && classes[class].status != failed->status) {
        class ++;
    }
    if (class == CLASSES || failed->reason[0] == '\0') {
        (void)fprintf(stderr, "soak: request %s failed: %s: %s\n", failed->id,
                      epdx_status_name(failed->status), failed->reason);
    }
    flight_of(strtoull(failed->id, NULL, 10), true)->used = false;
    soak.failed[class]++;
    soak.ended++;
}

/* Each rank gives back what it likes, when it likes, in its own order. */
static void release_some(bool all)
{
    size_t tries = soak.held_count;

    while (soak.held_count > 0 && (all || tries-- > 0)) {
        size_t index = (size_t)test_seeded_below(&soak.seeded, soak.held_count);
        char id[32];

        if (!all && test_seeded_below(&soak.seeded, 4) != 0) {
            soak.late_releases++;
            continue;
        }
        (void)snprintf(id, sizeof(id), "%" PRIu64, soak.held[index]);
        if (epdx_admission_release(soak.admission, id) != EPDX_OK) {
            (void)fprintf(stderr, "soak: release: %s\n", epdx_last_error());
            abort();
        }
        soak.held[index] = soak.held[--soak.held_count];
    }
}

static size_t drain(void)
{
    epdx_decisions_t decisions;

    if (epdx_admission_drain(soak.admission, &decisions) != EPDX_OK) {
        (void)fprintf(stderr, "soak: drain: %s\n", epdx_last_error());
        abort();
    }
    soak.drains++;
    for (size_t i = 0; i < decisions.admitted_count; i++) {
        note_admitted(&decisions.admitted[i]);
    }
    for (size_t i = 0; i < decisions.failed_count; i++) {
        note_failed(&decisions.failed[i]);
    }
    return decisions.admitted_count + decisions.failed_count;
}

/* Let the I/O threads have the processor. */
static void rest(void)
{
    struct timespec moment = {0, 300 * (long)EPI_US};

    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
}

/* Whether the time is over, as rank 0 has it. */
static void agree_to_stop(void)
{
    char over = soak.stop_ns != 0 && epi_now_ns() > soak.stop_ns;

    MPI_Bcast(&over, 1, MPI_CHAR, 0, harness_comm());
    if (over) {
        soak.requests = soak.staged;
    }
}

static void warm(void)
{
    if (soak.rss_start_kb == 0 && soak.ended >= soak.requests / WARM_UP_PART) {
        soak.rss_start_kb = resident_kb();
    }
}

static void run(void)
{
    HARNESS_AT("the soak");
    while (soak.ended < soak.requests) {
        while (soak.staged < soak.requests &&
               soak.staged - soak.ended < SOAK_WINDOW) {
            stage_one();
        }
        cancel_some();
        if (drain() == 0) {
            rest();
        }
        release_some(false);
        if (harness_rank() == 0) {
            soak_encode_step();
        }
        if (soak.drains % AGREE_EVERY == 0) {
            agree_to_stop();
        }
        warm();
    }
    release_some(true);
}

/* Leases that do not come back within 20 s. */
static uint64_t leases_left(void)
{
    uint64_t limit = epi_now_ns() + 20 * EPI_S;
    epdx_receiver_stats_t stats;
    epdx_decisions_t decisions;

    do {
        rest();
        if (epdx_admission_drain(soak.admission, &decisions) != EPDX_OK) {
            abort();
        }
        epdx_admission_stats(soak.admission, NULL, &stats);
    } while (stats.pool_leased_bytes > 0 && epi_now_ns() < limit);
    return stats.requests_waiting + (stats.pool_leased_bytes > 0 ? 1 : 0);
}

static void print_failed(void)
{
    printf("\"failed\":{");
    for (size_t i = 0; i < CLASSES; i++) {
        printf("\"%s\":%" PRIu64 ",", classes[i].name, soak.failed[i]);
    }
    printf("\"other\":%" PRIu64 "},", soak.failed[CLASSES]);
}

static void print_faults(const soak_faults_t *faults, uint64_t cancels,
                         uint64_t late_releases)
{
    printf("\"faults\":{");
    for (int act = 0; act < PROXY_ACTS; act++) {
        printf("\"frame_%s\":%" PRIu64 ",", proxy_act_name((proxy_act_t)act),
               faults->frames[act]);
    }
    printf("\"forged_status\":%" PRIu64 ",\"forged_cancel\":%" PRIu64
           ",\"forged_ask\":%" PRIu64 ",\"failed_item\":%" PRIu64
           ",\"wrong_span\":%" PRIu64 ",\"missing_chunk\":%" PRIu64
           ",\"late_chunk\":%" PRIu64 ",\"encode_restart\":%" PRIu64
           ",\"cut_connection\":%" PRIu64 ",\"cancel\":%" PRIu64
           ",\"late_release\":%" PRIu64 "},",
           faults->forged_statuses, faults->forged_cancels, faults->forged_asks,
           faults->failed_items, faults->wrong_spans, faults->missing_chunks,
           faults->late_chunks, faults->encode_restarts,
           faults->cut_connections, cancels, late_releases);
}

static void a_soak(void)
{
    uint32_t encode_tp = harness_size() % SOAK_TP_MAX == 0 ? SOAK_TP_MAX : 1;
    uint64_t begin = epi_now_ns();
    soak_faults_t faults = {0};
    soak_left_t left = {0};
    uint64_t leases;
    uint64_t wrong;
    uint64_t cancels;
    uint64_t late;
    uint64_t rss[2];

    open_all(encode_tp);
    run();
    if (harness_rank() == 0) {
        soak_encode_finish(&faults, &left);
    }
    leases = sum(leases_left());
    wrong = sum(soak.wrong.bytes);
    cancels = sum(soak.cancels);
    late = sum(soak.late_releases);
    rss[0] = sum(soak.rss_start_kb);
    rss[1] = sum(resident_kb());
    if (harness_rank() == 0) {
        printf("{\"requests\":%" PRIu64 ",\"admitted\":%" PRIu64 ",",
               soak.requests, soak.admitted);
        print_failed();
        print_faults(&faults, cancels, late);
        printf("\"mismatched_bytes\":%" PRIu64 ",\"leaked_leases\":%" PRIu64
               ",\"leaked_rooms\":%" PRIu64 ",\"leaked_ring_slots\":%" PRIu64
               ",\"rss_start_mb\":%.1f,\"rss_end_mb\":%.1f,\"seconds\":%.1f,"
               "\"ranks\":%d,\"seed\":%" PRIu64 "}\n",
               wrong, leases, left.rooms, left.ring_slots,
               (double)rss[0] / 1024, (double)rss[1] / 1024,
               (double)(epi_now_ns() - begin) / 1e9, harness_size(), soak.seed);
        (void)fflush(stdout);
    }
    CHECK_ALL(wrong == 0);
    CHECK_ALL(leases == 0);
    CHECK_ALL(left.rooms == 0 && left.ring_slots == 0);
    CHECK_ALL(soak.failed[CLASSES] == 0);
    epdx_admission_close(soak.admission);
    epdx_group_close(soak.group);
    if (harness_rank() == 0) {
        soak_encode_close();
    }
}

static uint64_t argument(int index, uint64_t otherwise)
{
    const char *text = harness_argument(index);
    uint64_t value = otherwise;

    if (text != NULL && !epi_text_number(text, UINT64_MAX, &value)) {
        (void)fprintf(stderr, "soak: \"%s\" is not a number\n", text);
        abort();
    }
    return value;
}

static void start(void)
{
    uint64_t minutes = argument(2, 0);

    soak.requests = argument(0, 2000);
    soak.seed = argument(1, 1);
    soak.stop_ns =
        minutes == 0 ? 0 : epi_after(epi_now_ns(), minutes * 60 * EPI_S);
    soak.seeded = soak_seeded(soak.seed, (uint64_t)harness_rank(), 3);
    if (harness_rank() == 0) {
        (void)fprintf(stderr, "soak: seed %" PRIu64 "\n", soak.seed);
    }
    a_soak();
}

int main(int argc, char **argv)
{
    static const harness_case_t cases[] = {HARNESS_CASE(start)};

    return harness_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
