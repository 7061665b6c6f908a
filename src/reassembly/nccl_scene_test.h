/*
 * nccl_scene_test.h: reassembly by NCCL over the fakes of CUDA and NCCL, or on
 * GPUs. Ranks are threads over a fake group, each with a device of its own; on
 * one GPU there is one rank, or they share it where NCCL lets them. What a rank
 * sees it keeps in its record; tests assert on the records after all threads
 * ended. Tests only.
 */
#ifndef EPI_REASSEMBLY_NCCL_SCENE_TEST_H
#define EPI_REASSEMBLY_NCCL_SCENE_TEST_H

#include "reassembly/reassembly.h"
#include "testing/fake_nccl.h"
#include "testing/gpu_under_test.h"
#include "testing/group_fake.h"

#define RANKS    3 /* over the fakes, and at most */
#define SPAN     10
#define ROW      96
#define DEEP_ROW 288

typedef struct record {
    epdx_status_t open, run, poll;
    char words[EPDX_REASON_MAX];
    epi_reassembly_counters_t counters;
    uint64_t launched, done, done_before;
    bool ready, right, closed;
    size_t live; /* communicators, after it was closed */
    int device_after;
    cudaError_t last_error;
} record_t;

typedef struct scene scene_t;

/* One rank: its object, and an item of which it has its share. */
typedef struct rank {
    scene_t *scene;
    epdx_group_t *group;
    record_t *record;
    epi_reassembly_t *reassembly;
    epi_plan_t plan;
    epdx_cuda_t cuda;
    epdx_landed_t item;
    void *ready;
} rank_t;

struct scene {
    epi_group_fake_t *fake;
    int ranks;
    int broadcasts;               /* of one item */
    void (*before)(rank_t *self); /* opening; NULL: nothing */
    void (*act)(rank_t *self);    /* once it is open */
    void (*after)(rank_t *self);  /* closing; NULL: nothing */
    uint64_t timeout_ns;
    ncclUniqueId id; /* of communicators that the test makes */
    ncclComm_t comms[RANKS];
    record_t records[RANKS];
};

int scene_setup(void **state);
int scene_teardown(void **state);

/** All ranks: open, act, close. */
void scene_run(scene_t *scene, void (*act)(rank_t *));

/** All ranks of the scene meet. */
void rank_barrier(const rank_t *self);

/** Launch the item's batch. */
void rank_launch(rank_t *self);

void rank_poll(rank_t *self);

/** Poll until every batch is done, or this rank learns of an error. */
void rank_poll_through(rank_t *self);

/** Both. */
void rank_rebuild(rank_t *self);

/** Opened, and every row of the item is right on every rank. */
void assert_rebuilt(const scene_t *scene);

/** Nothing is left, and the callers' threads are as they were. */
void assert_clean(const scene_t *scene);

void assert_says(const char *text, const char *words);

#endif
