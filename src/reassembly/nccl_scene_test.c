/* nccl_scene_test.c: see nccl_scene_test.h. */
#include "reassembly/nccl_scene_test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "epdx/shard.h"

void rank_barrier(const rank_t *self)
{
    uint64_t word = 0;

    (void)self->group->ops->min_u64(self->group, &word, 1);
}

/* The byte of every place of a row. */
static int byte_of(uint64_t row, size_t row_bytes)
{
    return (uint8_t)(1 + row + row_bytes / 32);
}

static void fill(uint8_t *rows, size_t row_bytes, epdx_rows_t share)
{
    uint8_t bytes[DEEP_ROW];

    for (uint64_t r = share.start; r < share.start + share.count; r++) {
        memset(bytes, byte_of(r, row_bytes), row_bytes);
        epi_gpu_put(rows + r * row_bytes, bytes, row_bytes);
    }
}

static bool whole(const uint8_t *rows, size_t row_bytes)
{
    uint8_t bytes[DEEP_ROW];

    for (uint64_t r = 0; r < SPAN; r++) {
        memset(bytes, byte_of(r, row_bytes), row_bytes);
        if (!epi_gpu_holds(rows + r * row_bytes, bytes, row_bytes)) {
            return false;
        }
    }
    return true;
}

static void item_open(rank_t *self)
{
    void *main_rows = NULL, *deep_rows = NULL;
    epdx_rows_t share =
        epdx_shard_rows(SPAN, self->group->rank, self->group->size);

    if (cudaMalloc(&main_rows, SPAN * ROW) != cudaSuccess ||
        cudaMalloc(&deep_rows, SPAN * DEEP_ROW) != cudaSuccess) {
        abort();
    }
    self->item = (epdx_landed_t){.span = SPAN,
                                 .share = share,
                                 .main = main_rows,
                                 .deepstack = deep_rows};
    fill(main_rows, ROW, share);
    fill(deep_rows, DEEP_ROW, share);
}

/* What a plan of one rank leaves out, as its rows are whole: broadcasts from it
 * to itself, so that NCCL is used. */
static void add_alone(rank_t *self)
{
    epi_plan_t *plan = &self->plan;
    epi_gather_t gather = {.base = self->item.main,
                           .row_bytes = ROW,
                           .starts = plan->starts,
                           .counts = plan->counts};

    plan->starts[0] = 0;
    plan->counts[0] = SPAN;
    plan->gathers[plan->gather_count++] = gather;
    gather.base = self->item.deepstack;
    gather.row_bytes = DEEP_ROW;
    plan->gathers[plan->gather_count++] = gather;
}

void rank_launch(rank_t *self)
{
    epi_plan_clear(&self->plan);
    self->record->run = epi_plan_add(&self->plan, &self->item,
                                     self->group->rank, ROW, DEEP_ROW);
    if (self->group->size == 1) {
        add_alone(self);
    }
    if (self->record->run == EPDX_OK) {
        self->record->run = self->reassembly->ops->run(
            self->reassembly, &self->plan, &self->ready);
    }
    if (self->record->run != EPDX_OK) {
        (void)snprintf(self->record->words, EPDX_REASON_MAX, "%s",
                       epdx_last_error());
    }
}

void rank_poll(rank_t *self)
{
    self->record->poll = self->reassembly->ops->poll(self->reassembly);
    if (self->record->poll != EPDX_OK) {
        (void)snprintf(self->record->words, EPDX_REASON_MAX, "%s",
                       epdx_last_error());
    }
}

void rank_poll_through(rank_t *self)
{
    do {
        sched_yield();
        rank_poll(self);
    } while (self->record->poll == EPDX_OK &&
             self->reassembly->done < self->reassembly->launched);
}

void rank_rebuild(rank_t *self)
{
    rank_launch(self);
    rank_poll_through(self);
}

static void end(rank_t *self)
{
    record_t *record = self->record;

    record->launched = self->reassembly->launched;
    record->done = self->reassembly->done;
    record->counters = self->reassembly->counters;
    record->closed = epi_reassembly_close(self->reassembly);
    record->right =
        whole(self->item.main, ROW) && whole(self->item.deepstack, DEEP_ROW);
    if (self->scene->after != NULL) {
        self->scene->after(self);
    }
}

static void run_rank(void *context, epdx_group_t *group)
{
    scene_t *scene = context;
    record_t *record = &scene->records[group->rank];
    rank_t self = {.scene = scene, .group = group, .record = record};
    epi_reassembly_params_t params = {
        .memory = {.ops = epi_memory_cuda(),
                   .device = epi_gpu_device((int)group->rank)},
        .cuda = &self.cuda,
        .timeout_ns = scene->timeout_ns};

    self.cuda = (epdx_cuda_t){.struct_size = sizeof(epdx_cuda_t),
                              .device = params.memory.device};
    (void)cudaSetDevice(params.memory.device);
    item_open(&self);
    if (scene->before != NULL) {
        scene->before(&self);
    }
    (void)cudaSetDevice(epi_gpu_device(RANKS)); /* of the caller's other work */
    record->open = epi_plan_init(&self.plan, 1, group->size);
    if (record->open == EPDX_OK) {
        record->open = epi_reassembly_open(group, &params, &self.reassembly);
    }
    if (record->open != EPDX_OK) {
        (void)snprintf(record->words, EPDX_REASON_MAX, "%s", epdx_last_error());
    } else {
        scene->act(&self);
        end(&self);
    }
    (void)cudaGetDevice(&record->device_after);
    record->last_error = cudaGetLastError();
    epi_plan_fini(&self.plan);
    (void)cudaFree(self.item.main);
    (void)cudaFree(self.item.deepstack);
}

int scene_setup(void **state)
{
    scene_t *scene = calloc(1, sizeof(*scene));

    epi_fake_cuda_reset();
    epi_fake_nccl_reset();
    epi_fake_calls_reset();
    if (scene == NULL) {
        return -1;
    }
    scene->ranks = epi_gpu_ranks(RANKS);
    scene->broadcasts = 2 * scene->ranks;
    if (epi_group_fake_open((uint32_t)scene->ranks, &scene->fake) != EPDX_OK) {
        free(scene);
        return -1;
    }
    scene->timeout_ns = 60 * EPI_S;
    *state = scene;
    return 0;
}

int scene_teardown(void **state)
{
    scene_t *scene = *state;

    epi_group_fake_close(scene->fake);
    free(scene);
    return 0;
}

void scene_run(scene_t *scene, void (*act)(rank_t *))
{
    scene->act = act;
    epi_group_fake_run(scene->fake, run_rank, scene);
}

void assert_clean(const scene_t *scene)
{
    epi_fake_cuda_live_t live = epi_fake_cuda_live();

    assert_int_equal(epi_fake_nccl_live(), 0);
    assert_int_equal(live.streams, 0);
    assert_int_equal(live.events, 0);
    assert_int_equal(live.device_allocations, 0);
    assert_int_equal(epi_fake_cuda_violations(), 0);
    for (int r = 0; r < scene->ranks; r++) {
        assert_int_equal(scene->records[r].device_after, epi_gpu_device(RANKS));
        assert_int_equal(scene->records[r].last_error, cudaSuccess);
    }
}

void assert_says(const char *text, const char *words)
{
    if (strstr(text, words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", text, words);
    }
}

void assert_rebuilt(const scene_t *scene)
{
    for (int r = 0; r < scene->ranks; r++) {
        const record_t *record = &scene->records[r];

        assert_int_equal(record->open, EPDX_OK);
        assert_int_equal(record->run, EPDX_OK);
        assert_int_equal(record->poll, EPDX_OK);
        assert_int_equal(record->done, record->launched);
        assert_true(record->right);
        assert_true(record->closed);
    }
}
