/*
 * group_fake.c: see group_fake.h. A collective is one round: each rank leaves
 * what it calls in its place and waits; the last to arrive carries it out for
 * all of them, while the others wait, and answers each in its place. So a rank
 * that goes on at once cannot disturb one that has yet to wake up.
 */
#include "testing/group_fake.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "testing/fake_round.h"

#define GIVE_UP_NS (30 * EPI_S)

typedef struct fake_rank {
    epdx_group_t base;
    epi_group_fake_t *fake;
    bool waiting; /* in the round that is being gathered */
    bool held;
    epdx_status_t answer;
    bool faulty;
    epi_fake_fault_t fault;
    uint64_t counts[EPI_FAKE_ANY];
    uint64_t any_count;
    bool down; /* it failed by a fault */
} fake_rank_t;

struct epi_group_fake {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t size;
    uint32_t arrived;
    uint32_t out; /* ranks that a fault keeps out for good */
    bool let_go;
    char broken[EPDX_REASON_MAX]; /* why; "" while it works */
    epi_fake_call_t *calls;       /* by rank */
    fake_rank_t ranks[];
};

static fake_rank_t *of(epdx_group_t *group)
{
    return (fake_rank_t *)group;
}

/** Wait for a change; false once deadline has passed. */
static bool await_change(epi_group_fake_t *fake, uint64_t deadline)
{
    const struct timespec until = {.tv_sec = (time_t)(deadline / EPI_S),
                                   .tv_nsec = (long)(deadline % EPI_S)};

    return pthread_cond_timedwait(&fake->changed, &fake->lock, &until) == 0 ||
           epi_now_ns() < deadline;
}

/** The last rank has arrived: do it for all, or tell all that they differ. */
static void end_round(epi_group_fake_t *fake)
{
    const epi_fake_call_t *first = &fake->calls[0];
    epdx_status_t answer = EPDX_OK;
    uint32_t r;

    for (r = 1; r < fake->size && answer == EPDX_OK; r++) {
        const epi_fake_call_t *call = &fake->calls[r];

        if (!epi_fake_round_same(first, call, fake->size)) {
            snprintf(fake->broken, sizeof(fake->broken),
                     "ranks make different collectives: rank 0 %s of %zu from "
                     "%u, rank %u %s of %zu from %u",
                     epi_fake_op_name(first->op), first->count, first->root, r,
                     epi_fake_op_name(call->op), call->count, call->root);
            answer = EPDX_ERR_GROUP;
        }
    }
    if (answer == EPDX_OK) {
        epi_fake_round_run(fake->calls, fake->size);
    }
    for (r = 0; r < fake->size; r++) {
        fake->ranks[r].waiting = false;
        fake->ranks[r].answer = answer;
    }
    fake->arrived = 0;
    pthread_cond_broadcast(&fake->changed);
}

/** Whether the fault of a rank strikes the collective it has just begun. */
static bool struck(const fake_rank_t *self, epi_fake_op_t op)
{
    uint64_t begun =
        self->fault.op == EPI_FAKE_ANY ? self->any_count : self->counts[op];

    return self->faulty &&
           (self->fault.op == EPI_FAKE_ANY || self->fault.op == op) &&
           self->fault.nth + 1 == begun;
}

static void break_late(epi_group_fake_t *fake)
{
    uint32_t r = 0;

    while (!fake->ranks[r].waiting) {
        r++;
    }
    snprintf(fake->broken, sizeof(fake->broken),
             "%s over %u ranks passed its deadline: %u entered it",
             epi_fake_op_name(fake->calls[r].op), fake->size, fake->arrived);
    pthread_cond_broadcast(&fake->changed);
}

/** Those who wait give up where nobody else can come. */
static void check_hope(epi_group_fake_t *fake)
{
    if (fake->broken[0] == '\0' && fake->out > 0 && fake->arrived > 0 &&
        fake->arrived + fake->out == fake->size) {
        break_late(fake);
    }
}

static void keep_out(epi_group_fake_t *fake)
{
    fake->out++;
    check_hope(fake);
}

/** The rank stays out until it is let go. */
static void hold(fake_rank_t *self)
{
    epi_group_fake_t *fake = self->fake;
    uint64_t deadline = epi_after(epi_now_ns(), GIVE_UP_NS);

    self->held = true;
    pthread_cond_broadcast(&fake->changed);
    while (!fake->let_go && fake->broken[0] == '\0' &&
           await_change(fake, deadline)) {
    }
    self->held = false;
}

/** The rank stays out until the others have given up. */
static void come_late(fake_rank_t *self)
{
    epi_group_fake_t *fake = self->fake;
    uint64_t deadline = epi_after(epi_now_ns(), GIVE_UP_NS);

    keep_out(fake);
    while (fake->broken[0] == '\0' && await_change(fake, deadline)) {
    }
}

static epdx_status_t join_round(fake_rank_t *self, const epi_fake_call_t *call)
{
    epi_group_fake_t *fake = self->fake;
    uint64_t deadline = epi_after(epi_now_ns(), GIVE_UP_NS);

    if (self->down || fake->broken[0] != '\0') {
        return epi_fail(EPDX_ERR_GROUP, "%s refused: %s",
                        epi_fake_op_name(call->op),
                        self->down ? "this rank failed before" : fake->broken);
    }
    fake->calls[self->base.rank] = *call;
    self->waiting = true;
    if (++fake->arrived == fake->size) {
        end_round(fake);
    } else {
        check_hope(fake);
    }
    while (self->waiting && fake->broken[0] == '\0') {
        if (!await_change(fake, deadline) && self->waiting &&
            fake->broken[0] == '\0') {
            break_late(fake);
        }
    }
    if (self->waiting) {
        return epi_fail(EPDX_ERR_TIMEOUT, "%s", fake->broken);
    }
    if (self->answer != EPDX_OK) {
        return epi_fail(self->answer, "%s", fake->broken);
    }
    return EPDX_OK;
}

static epdx_status_t fail_by_fault(fake_rank_t *self, epi_fake_op_t op,
                                   const char *where)
{
    self->down = true;
    keep_out(self->fake);
    return epi_fail(EPDX_ERR_GROUP, "%s failed on rank %u %s, as the test asks",
                    epi_fake_op_name(op), self->base.rank, where);
}

/** Take part, with the fault where it strikes. */
static epdx_status_t take_part(fake_rank_t *self, const epi_fake_call_t *call,
                               bool strikes)
{
    epdx_status_t status;

    if (strikes && self->fault.kind == EPI_FAKE_FAIL_ENTER) {
        return fail_by_fault(self, call->op, "before it entered");
    }
    if (strikes && self->fault.kind == EPI_FAKE_HOLD_ENTER) {
        hold(self);
    }
    if (strikes && self->fault.kind == EPI_FAKE_LATE_ENTER) {
        come_late(self);
    }
    status = join_round(self, call);
    if (strikes && self->fault.kind == EPI_FAKE_FAIL_LEAVE &&
        status == EPDX_OK) {
        return fail_by_fault(self, call->op, "after it was done");
    }
    return status;
}

static epdx_status_t collective(fake_rank_t *self, const epi_fake_call_t *call)
{
    epdx_status_t status;
    bool strikes;

    pthread_mutex_lock(&self->fake->lock);
    self->counts[call->op]++;
    self->any_count++;
    strikes = struck(self, call->op);
    if (strikes) {
        self->faulty = false;
    }
    status = take_part(self, call, strikes);
    pthread_mutex_unlock(&self->fake->lock);
    return status;
}

static epdx_status_t fake_min_u8(epdx_group_t *group, uint8_t *values,
                                 size_t count)
{
    const epi_fake_call_t call = {
        .op = EPI_FAKE_MIN_U8, .values = values, .count = count};

    return collective(of(group), &call);
}

static epdx_status_t fake_min_u64(epdx_group_t *group, uint64_t *values,
                                  size_t count)
{
    const epi_fake_call_t call = {
        .op = EPI_FAKE_MIN_U64, .values = values, .count = count};

    return collective(of(group), &call);
}

static epdx_status_t fake_broadcast(epdx_group_t *group, void *bytes,
                                    size_t count, uint32_t root)
{
    const epi_fake_call_t call = {.op = EPI_FAKE_BROADCAST,
                                  .values = bytes,
                                  .count = count,
                                  .root = root};

    if (root >= group->size) {
        return epi_fail(EPDX_ERR_INVALID,
                        "broadcast from rank %u in a group of %u ranks", root,
                        group->size);
    }
    return collective(of(group), &call);
}

static epdx_status_t fake_gather(epdx_group_t *group,
                                 const epi_gather_t *gathers, size_t count)
{
    const epi_fake_call_t call = {
        .op = EPI_FAKE_GATHER, .values = (void *)gathers, .count = count};

    return collective(of(group), &call);
}

static void fake_close(epdx_group_t *group)
{
    (void)group;
}

static const epi_group_ops_t fake_ops = {
    .min_u8 = fake_min_u8,
    .min_u64 = fake_min_u64,
    .broadcast = fake_broadcast,
    .gather = fake_gather,
    .close = fake_close,
};

epdx_status_t epi_group_fake_open(uint32_t size, epi_group_fake_t **fake_p)
{
    pthread_condattr_t monotonic;
    epi_group_fake_t *fake;
    uint32_t r;

    if (size == 0) {
        return epi_fail(EPDX_ERR_INVALID, "a group of no ranks");
    }
    fake = calloc(1, sizeof(*fake) + size * sizeof(fake->ranks[0]));
    if (fake != NULL) {
        fake->calls = calloc(size, sizeof(*fake->calls));
    }
    if (fake == NULL || fake->calls == NULL) {
        free(fake);
        return epi_fail(EPDX_ERR_NO_MEMORY, "no memory for a group of %u ranks",
                        size);
    }
    pthread_mutex_init(&fake->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&fake->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    fake->size = size;
    for (r = 0; r < size; r++) {
        fake->ranks[r].base.ops = &fake_ops;
        fake->ranks[r].base.rank = r;
        fake->ranks[r].base.size = size;
        fake->ranks[r].fake = fake;
    }
    *fake_p = fake;
    return EPDX_OK;
}

epdx_group_t *epi_group_fake_rank(epi_group_fake_t *fake, uint32_t rank)
{
    return &fake->ranks[rank].base;
}

void epi_group_fake_fault(epi_group_fake_t *fake, const epi_fake_fault_t *fault)
{
    pthread_mutex_lock(&fake->lock);
    fake->ranks[fault->rank].fault = *fault;
    fake->ranks[fault->rank].faulty = true;
    pthread_mutex_unlock(&fake->lock);
}

void epi_group_fake_let_go(epi_group_fake_t *fake)
{
    pthread_mutex_lock(&fake->lock);
    fake->let_go = true;
    pthread_cond_broadcast(&fake->changed);
    pthread_mutex_unlock(&fake->lock);
}

bool epi_group_fake_await_held(epi_group_fake_t *fake, uint32_t rank)
{
    uint64_t deadline = epi_after(epi_now_ns(), GIVE_UP_NS);
    bool held;

    pthread_mutex_lock(&fake->lock);
    while (!fake->ranks[rank].held && await_change(fake, deadline)) {
    }
    held = fake->ranks[rank].held;
    pthread_mutex_unlock(&fake->lock);
    return held;
}

uint64_t epi_group_fake_count(epi_group_fake_t *fake, uint32_t rank,
                              epi_fake_op_t op)
{
    uint64_t count;

    pthread_mutex_lock(&fake->lock);
    count = op == EPI_FAKE_ANY ? fake->ranks[rank].any_count
                               : fake->ranks[rank].counts[op];
    pthread_mutex_unlock(&fake->lock);
    return count;
}

/** One thread of epi_group_fake_run(). */
typedef struct fake_thread {
    pthread_t thread;
    epdx_group_t *group;
    void (*body)(void *context, epdx_group_t *group);
    void *context;
} fake_thread_t;

static void *run_rank(void *argument)
{
    fake_thread_t *self = argument;

    self->body(self->context, self->group);
    return NULL;
}

void epi_group_fake_run(epi_group_fake_t *fake,
                        void (*body)(void *context, epdx_group_t *group),
                        void *context)
{
    fake_thread_t *threads = calloc(fake->size, sizeof(*threads));
    uint32_t r;

    if (threads == NULL) {
        abort();
    }
    for (r = 0; r < fake->size; r++) {
        threads[r] = (fake_thread_t){.group = epi_group_fake_rank(fake, r),
                                     .body = body,
                                     .context = context};
        if (pthread_create(&threads[r].thread, NULL, run_rank, &threads[r])) {
            abort();
        }
    }
    for (r = 0; r < fake->size; r++) {
        pthread_join(threads[r].thread, NULL);
    }
    free(threads);
}

void epi_group_fake_close(epi_group_fake_t *fake)
{
    if (fake != NULL) {
        pthread_cond_destroy(&fake->changed);
        pthread_mutex_destroy(&fake->lock);
        free(fake->calls);
        free(fake);
    }
}
