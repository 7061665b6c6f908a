/*
 * fake_cuda_point.c: points in a stream, which are done once the stream has
 * come to them. An event names one; so does the order between the default
 * stream and others. Who looks at one that is done has seen what ran before it.
 */
#include <stdlib.h>

#include "testing/fake_cuda_internal.h"

struct epi_fake_point {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool done;
    atomic_bool seen;
    atomic_uint references;
};

typedef struct point_op {
    epi_fake_op_t base;
    epi_fake_point_t *point;
} point_op_t;

epi_fake_point_t *epi_fake_point_open(void)
{
    epi_fake_point_t *point = calloc(1, sizeof(*point));

    if (point != NULL) {
        (void)pthread_mutex_init(&point->lock, NULL);
        (void)pthread_cond_init(&point->changed, NULL);
        atomic_init(&point->references, 1);
    }
    return point;
}

epi_fake_point_t *epi_fake_point_share(epi_fake_point_t *point)
{
    if (point != NULL) {
        (void)atomic_fetch_add_explicit(&point->references, 1,
                                        memory_order_relaxed);
    }
    return point;
}

void epi_fake_point_drop(epi_fake_point_t *point)
{
    if (point != NULL && atomic_fetch_sub(&point->references, 1) == 1) {
        (void)pthread_cond_destroy(&point->changed);
        (void)pthread_mutex_destroy(&point->lock);
        free(point);
    }
}

bool epi_fake_point_done(epi_fake_point_t *point)
{
    bool done;

    (void)pthread_mutex_lock(&point->lock);
    done = point->done;
    (void)pthread_mutex_unlock(&point->lock);
    return done;
}

void epi_fake_point_await(epi_fake_point_t *point)
{
    (void)pthread_mutex_lock(&point->lock);
    while (!point->done) {
        (void)pthread_cond_wait(&point->changed, &point->lock);
    }
    (void)pthread_mutex_unlock(&point->lock);
}

bool epi_fake_point_see(epi_fake_point_t *point)
{
    return !atomic_exchange_explicit(&point->seen, true, memory_order_relaxed);
}

static void drop_op(epi_fake_op_t *op)
{
    epi_fake_point_drop(((point_op_t *)op)->point);
    free(op);
}

static void run_end(epi_fake_op_t *op)
{
    epi_fake_point_t *point = ((point_op_t *)op)->point;

    (void)pthread_mutex_lock(&point->lock);
    point->done = true;
    (void)pthread_cond_broadcast(&point->changed);
    (void)pthread_mutex_unlock(&point->lock);
    drop_op(op);
}

static void run_wait(epi_fake_op_t *op)
{
    epi_fake_point_await(((point_op_t *)op)->point);
    drop_op(op);
}

static epi_fake_op_t *open_op(void (*run)(epi_fake_op_t *op),
                              epi_fake_point_t *point,
                              const epi_fake_cuda_entry_t *entry)
{
    point_op_t *op;

    if (point == NULL) {
        return NULL;
    }
    op = calloc(1, sizeof(*op));
    if (op == NULL) {
        return NULL;
    }
    op->base.run = run;
    op->base.drop = drop_op;
    op->base.quiet = entry == NULL;
    if (entry != NULL) {
        op->base.entry = *entry;
    }
    op->point = epi_fake_point_share(point);
    return &op->base;
}

epi_fake_op_t *epi_fake_point_end_op(epi_fake_point_t *point,
                                     const epi_fake_cuda_entry_t *entry)
{
    return open_op(run_end, point, entry);
}

epi_fake_op_t *epi_fake_point_wait_op(epi_fake_point_t *point,
                                      const epi_fake_cuda_entry_t *entry)
{
    return open_op(run_wait, point, entry);
}

void epi_fake_op_drop(epi_fake_op_t *op)
{
    if (op != NULL) {
        op->drop(op);
    }
}
