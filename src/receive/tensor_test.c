/*
 * tensor_test.c: landed rows as DLPack tensors: every field and byte as a
 * consumer sees it, and how long they hold their rows.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "epdx/dlpack.h"
#include "receive/landing_fixture.h"

static DLManagedTensor *must_make(epdx_job_t *job, size_t item,
                                  epdx_part_t part)
{
    DLManagedTensor *tensor = NULL;

    assert_int_equal(epdx_job_tensor(job, item, part, &tensor), EPDX_OK);
    assert_non_null(tensor);
    return tensor;
}

/* A consumer: copies what a tensor says it holds, element by element at its
 * strides, as any framework must be able to. */
static void consume(const DLTensor *tensor, uint8_t *out, size_t out_bytes)
{
    size_t element = (size_t)(tensor->dtype.bits * tensor->dtype.lanes + 7) / 8;
    const uint8_t *base = (const uint8_t *)tensor->data + tensor->byte_offset;
    size_t at = 0;

    assert_int_equal(tensor->ndim, 2);
    for (int64_t i = 0; i < tensor->shape[0]; i++) {
        for (int64_t j = 0; j < tensor->shape[1]; j++) {
            int64_t place = i * tensor->strides[0] + j * tensor->strides[1];

            assert_true(at + element <= out_bytes);
            memcpy(out + at, base + (size_t)place * element, element);
            at += element;
        }
    }
    assert_int_equal(at, out_bytes);
}

static void check_fields(const DLTensor *tensor, int64_t rows, int64_t columns,
                         DLDataType dtype)
{
    assert_int_equal(tensor->device.device_type, kDLCPU);
    assert_int_equal(tensor->device.device_id, 0);
    assert_int_equal(tensor->ndim, 2);
    assert_int_equal(tensor->shape[0], rows);
    assert_int_equal(tensor->shape[1], columns);
    assert_int_equal(tensor->strides[0], columns);
    assert_int_equal(tensor->strides[1], 1);
    assert_int_equal(tensor->dtype.code, dtype.code);
    assert_int_equal(tensor->dtype.bits, dtype.bits);
    assert_int_equal(tensor->dtype.lanes, dtype.lanes);
    assert_int_equal(tensor->byte_offset, 0);
    assert_int_equal((uintptr_t)tensor->data % 256, 0);
}

static void test_a_consumer_sees_the_rows_of_both_parts(void **state)
{
    epdx_receiver_params_t params = landing_params();
    landing_t *landing;
    epdx_job_t *job;
    DLManagedTensor *rows;
    DLManagedTensor *deep;
    uint8_t seen[10 * 16 * 3];
    const DLDataType bfloat16 = {kDLBfloat, 16, 1};

    (void)state;
    params.levels = 3;
    landing = landing_open(&params);
    job = landing_land(landing, "r1", 10, 700);
    rows = must_make(job, 0, EPDX_PART_MAIN);
    deep = must_make(job, 0, EPDX_PART_DEEPSTACK);
    check_fields(&rows->dl_tensor, 10, 8, bfloat16);
    check_fields(&deep->dl_tensor, 10, 24, bfloat16);
    consume(&rows->dl_tensor, seen, 160);
    assert_memory_equal(seen, landing->rows + 700, 160);
    consume(&deep->dl_tensor, seen, 480);
    assert_memory_equal(seen, landing->rows + 860, 480);
    rows->deleter(rows);
    deep->deleter(deep);
    epdx_job_release(job);
    landing_close(landing);
}

static void test_dtypes_are_dlpacks(void **state)
{
    static const struct {
        epdx_dtype_t ours;
        DLDataType theirs;
    } pairs[] = {{EPDX_BFLOAT16, {kDLBfloat, 16, 1}},
                 {EPDX_FLOAT16, {kDLFloat, 16, 1}},
                 {EPDX_FLOAT32, {kDLFloat, 32, 1}}};

    (void)state;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        epdx_receiver_params_t params = landing_params();
        landing_t *landing;
        epdx_job_t *job;
        DLManagedTensor *tensor;

        params.dtype = pairs[i].ours;
        landing = landing_open(&params);
        job = landing_land(landing, "r1", 3, 0);
        tensor = must_make(job, 0, EPDX_PART_MAIN);
        check_fields(&tensor->dl_tensor, 3, 8, pairs[i].theirs);
        tensor->deleter(tensor);
        landing_close(landing);
    }
}

static void test_what_has_no_rows_is_refused(void **state)
{
    epdx_receiver_params_t params = landing_params();
    landing_t *landing = landing_open(&params);
    epdx_job_t *pending = landing_stage(landing, "pending", 4);
    epdx_item_t item = {.room = 900, .span = 4, .received = true};
    epdx_request_t request = {.id = "skip", .items = &item, .item_count = 1};
    epdx_job_t *skipped;
    epdx_job_t *job;
    DLManagedTensor *tensor = NULL;

    (void)state;
    assert_int_equal(epdx_job_tensor(pending, 0, EPDX_PART_MAIN, &tensor),
                     EPDX_ERR_INVALID);
    assert_non_null(strstr(epdx_last_error(), "has not landed"));
    landing_send(landing, pending, 0);
    job = pending;
    assert_int_equal(epdx_job_tensor(job, 1, EPDX_PART_MAIN, &tensor),
                     EPDX_ERR_INVALID);
    assert_int_equal(epdx_job_tensor(job, 0, (epdx_part_t)2, &tensor),
                     EPDX_ERR_INVALID);
    assert_int_equal(epdx_job_tensor(job, 0, EPDX_PART_DEEPSTACK, &tensor),
                     EPDX_ERR_NOT_FOUND);
    assert_non_null(strstr(epdx_last_error(), "levels are 0"));
    assert_int_equal(epdx_receiver_stage(landing->receiver, &request, &skipped),
                     EPDX_OK);
    assert_int_equal(epdx_job_tensor(skipped, 0, EPDX_PART_MAIN, &tensor),
                     EPDX_ERR_NOT_FOUND);
    assert_non_null(strstr(epdx_last_error(), "was skipped"));
    assert_null(tensor);
    epdx_job_release(skipped);
    epdx_job_release(job);
    assert_int_equal(landing_stats(landing).pool_leased_bytes, 0);
    assert_int_equal(epdx_job_tensor(job, 0, EPDX_PART_MAIN, &tensor),
                     EPDX_ERR_INVALID);
    assert_non_null(strstr(epdx_last_error(), "was released"));
    assert_int_equal(epdx_job_tensor(NULL, 0, EPDX_PART_MAIN, &tensor),
                     EPDX_ERR_INVALID);
    assert_string_equal(epdx_last_error(), "epdx_job_tensor: job is NULL");
    assert_int_equal(epdx_job_tensor(job, 0, EPDX_PART_MAIN, NULL),
                     EPDX_ERR_INVALID);
    assert_null(tensor);
    landing_close(landing);
}

/* The next request needs the whole pool, and waits for the last deleter. */
static void test_rows_go_back_after_release_and_every_deleter(void **state)
{
    epdx_receiver_params_t params = landing_params();
    landing_t *landing = landing_open(&params);
    epdx_job_t *first = landing_land(landing, "first", 1024, 0);
    DLManagedTensor *a = must_make(first, 0, EPDX_PART_MAIN);
    DLManagedTensor *b = must_make(first, 0, EPDX_PART_MAIN);
    epdx_job_t *second;

    (void)state;
    a->deleter(a); /* not yet released: the caller has the rows */
    epdx_receiver_poll(landing->receiver);
    assert_int_equal(epdx_job_state(first), EPDX_LANDED);
    a = must_make(first, 0, EPDX_PART_MAIN);
    epdx_job_release(first);
    assert_int_equal(landing_stats(landing).bytes_held, 16384);
    second = landing_stage(landing, "second", 1024);
    a->deleter(a);
    for (int i = 0; i < 20; i++) {
        landing_step(landing);
    }
    assert_int_equal(landing_stats(landing).requests_waiting, 1);
    assert_memory_equal(b->dl_tensor.data, landing->rows, 16384);
    b->deleter(b);
    assert_int_equal(landing_stats(landing).pool_leased_bytes, 16384);
    landing_send(landing, second, 300);
    assert_int_equal(landing_stats(landing).bytes_held, 0);
    epdx_job_release(second);
    assert_int_equal(landing_stats(landing).pool_leased_bytes, 0);
    landing_close(landing);
}

static void test_err_full_and_tensors_are_used_again(void **state)
{
    enum { TENSORS = 2 * 16384 }; /* 2 * EPDX_MAX_ITEMS */
    epdx_receiver_params_t params = landing_params();
    landing_t *landing = landing_open(&params);
    epdx_job_t *job = landing_land(landing, "r1", 4, 0);
    DLManagedTensor **out = calloc(TENSORS, sizeof(DLManagedTensor *));
    DLManagedTensor *more = NULL;

    (void)state;
    assert_non_null(out);
    assert_int_equal(landing->receiver->shared.config.max_items, TENSORS / 2);
    for (size_t i = 0; i < TENSORS; i++) {
        out[i] = must_make(job, 0, EPDX_PART_MAIN);
    }
    assert_int_equal(epdx_job_tensor(job, 0, EPDX_PART_MAIN, &more),
                     EPDX_ERR_FULL);
    assert_null(more);
    out[7]->deleter(out[7]);
    /* Without a poll between them. */
    more = must_make(job, 0, EPDX_PART_MAIN);
    assert_ptr_equal(more, out[7]);
    epdx_job_release(job);
    for (size_t i = 0; i < TENSORS; i++) {
        out[i]->deleter(out[i]);
    }
    epdx_receiver_poll(landing->receiver);
    assert_int_equal(landing_stats(landing).pool_leased_bytes, 0);
    free(out);
    landing_close(landing);
}

static void test_a_tensor_outlives_the_receiver(void **state)
{
    epdx_receiver_params_t params = landing_params();
    landing_t *landing = landing_open(&params);
    epdx_job_t *job = landing_land(landing, "r1", 16, 40);
    DLManagedTensor *first = must_make(job, 0, EPDX_PART_MAIN);
    DLManagedTensor *last = must_make(job, 0, EPDX_PART_MAIN);
    uint8_t seen[256];

    (void)state;
    epdx_receiver_close(landing->receiver); /* the job was not released */
    landing->receiver = NULL;
    first->deleter(first);
    check_fields(&last->dl_tensor, 16, 8, (DLDataType){kDLBfloat, 16, 1});
    consume(&last->dl_tensor, seen, 256);
    assert_memory_equal(seen, landing->rows + 40, 256);
    last->deleter(last);
    landing_close(landing);
}

static void test_a_pool_of_the_callers_is_not_freed(void **state)
{
    epdx_receiver_params_t params = landing_params();
    uint8_t *pool = aligned_alloc(256, params.pool_bytes);
    landing_t *landing;
    epdx_job_t *job;
    DLManagedTensor *tensor;

    (void)state;
    assert_non_null(pool);
    params.pool = pool;
    landing = landing_open(&params);
    job = landing_land(landing, "r1", 16, 0);
    tensor = must_make(job, 0, EPDX_PART_MAIN);
    assert_ptr_equal(tensor->dl_tensor.data, pool);
    epdx_receiver_close(landing->receiver);
    landing->receiver = NULL;
    tensor->deleter(tensor);
    assert_memory_equal(pool, landing->rows, 256);
    free(pool);
    landing_close(landing);
}

#define THREADS 3

typedef struct worker {
    _Atomic(DLManagedTensor *) hand;
    atomic_bool end;
    uint64_t sum; /* of the bytes it has read */
    uint64_t tensors;
} worker_t;

/* A framework's thread: reads a tensor, then drops it. */
static void *work(void *context)
{
    worker_t *worker = context;

    while (!atomic_load(&worker->end)) {
        DLManagedTensor *tensor = atomic_exchange(&worker->hand, NULL);
        const uint8_t *bytes;

        if (tensor == NULL) {
            sched_yield();
            continue;
        }
        bytes = tensor->dl_tensor.data;
        for (size_t i = 0; i < 256; i++) {
            worker->sum += bytes[i];
        }
        worker->tensors++;
        tensor->deleter(tensor);
    }
    return NULL;
}

/* Requests land in the same bytes again and again, each only after all threads
 * have dropped its tensors; the thread sanitizer sees to it. */
static void test_deleters_run_on_any_thread_while_the_receiver_polls(
    void **state)
{
    enum { ROUNDS = 60 };
    epdx_receiver_params_t params = landing_params();
    static worker_t workers[THREADS];
    pthread_t threads[THREADS];
    landing_t *landing;
    uint64_t expected = 0;

    (void)state;
    params.pool_bytes = 256;
    landing = landing_open(&params);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]),
                         0);
    }
    for (size_t round = 0; round < ROUNDS; round++) {
        epdx_job_t *job = landing_land(landing, "r", 16, round * 16);

        for (size_t i = 0; i < 256; i++) {
            expected += landing->rows[round * 16 + i];
        }
        for (int i = 0; i < THREADS; i++) {
            atomic_store(&workers[i].hand, must_make(job, 0, EPDX_PART_MAIN));
        }
        epdx_job_release(job);
    }
    epdx_receiver_close(landing->receiver); /* maybe before the last deleters */
    landing->receiver = NULL;
    for (int i = 0; i < THREADS; i++) {
        while (atomic_load(&workers[i].hand) != NULL) {
            sched_yield();
        }
        atomic_store(&workers[i].end, true);
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(workers[i].tensors, ROUNDS);
        assert_int_equal(workers[i].sum, expected);
    }
    landing_close(landing);
}

#if defined(DLPACK_MAJOR_VERSION) && DLPACK_MAJOR_VERSION >= 1
static void test_the_versioned_form_says_the_same(void **state)
{
    epdx_receiver_params_t params = landing_params();
    landing_t *landing = landing_open(&params);
    epdx_job_t *job = landing_land(landing, "r1", 16, 40);
    struct DLManagedTensorVersioned *tensor = NULL;
    uint8_t seen[256];

    (void)state;
    assert_int_equal(
        epdx_job_tensor_versioned(job, 0, EPDX_PART_DEEPSTACK, &tensor),
        EPDX_ERR_NOT_FOUND);
    assert_null(tensor);
    assert_int_equal(epdx_job_tensor_versioned(job, 0, EPDX_PART_MAIN, &tensor),
                     EPDX_OK);
    assert_int_equal(tensor->version.major, DLPACK_MAJOR_VERSION);
    assert_int_equal(tensor->version.minor, DLPACK_MINOR_VERSION);
    assert_int_equal(tensor->flags, 0);
    check_fields(&tensor->dl_tensor, 16, 8, (DLDataType){kDLBfloat, 16, 1});
    consume(&tensor->dl_tensor, seen, 256);
    assert_memory_equal(seen, landing->rows + 40, 256);
    epdx_job_release(job);
    assert_int_equal(landing_stats(landing).bytes_held, 256);
    tensor->deleter(tensor);
    epdx_receiver_poll(landing->receiver);
    assert_int_equal(landing_stats(landing).pool_leased_bytes, 0);
    landing_close(landing);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_consumer_sees_the_rows_of_both_parts),
        cmocka_unit_test(test_dtypes_are_dlpacks),
        cmocka_unit_test(test_what_has_no_rows_is_refused),
        cmocka_unit_test(test_rows_go_back_after_release_and_every_deleter),
        cmocka_unit_test(test_err_full_and_tensors_are_used_again),
        cmocka_unit_test(test_a_tensor_outlives_the_receiver),
        cmocka_unit_test(test_a_pool_of_the_callers_is_not_freed),
        cmocka_unit_test(
            test_deleters_run_on_any_thread_while_the_receiver_polls),
#if defined(DLPACK_MAJOR_VERSION) && DLPACK_MAJOR_VERSION >= 1
        cmocka_unit_test(test_the_versioned_form_says_the_same),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
