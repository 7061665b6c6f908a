/*
 * fake_cuda_log.c: the order of what was called and what ran. Entries are
 * appended without a lock and without ordering those who append: a place is
 * claimed, written, then marked as written for those who read.
 */
#include <stdarg.h>
#include <stdio.h>

#include "base/log.h"
#include "testing/fake_cuda_internal.h"

typedef struct slot {
    epi_fake_cuda_entry_t entry;
    atomic_bool written;
} slot_t;

static slot_t slots[EPI_FAKE_CUDA_LOG_MAX];
static atomic_size_t claimed;
static atomic_uint_fast64_t violations;

void epi_fake_cuda_log_add(const epi_fake_cuda_entry_t *entry)
{
    size_t place = atomic_fetch_add_explicit(&claimed, 1, memory_order_relaxed);

    if (place < EPI_FAKE_CUDA_LOG_MAX) {
        slots[place].entry = *entry;
        atomic_store_explicit(&slots[place].written, true,
                              memory_order_release);
    }
}

/** Nobody appends meanwhile, or it is a test's mistake. */
void epi_fake_cuda_log_reset(void)
{
    size_t count = epi_fake_cuda_log_count();
    size_t i;

    for (i = 0; i < count && i < EPI_FAKE_CUDA_LOG_MAX; i++) {
        atomic_store_explicit(&slots[i].written, false, memory_order_relaxed);
    }
    atomic_store_explicit(&claimed, 0, memory_order_relaxed);
    atomic_store_explicit(&violations, 0, memory_order_relaxed);
}

size_t epi_fake_cuda_log_count(void)
{
    return atomic_load_explicit(&claimed, memory_order_relaxed);
}

bool epi_fake_cuda_log_entry(size_t nth, epi_fake_cuda_entry_t *entry_p)
{
    if (nth >= EPI_FAKE_CUDA_LOG_MAX ||
        !atomic_load_explicit(&slots[nth].written, memory_order_acquire)) {
        return false;
    }
    *entry_p = slots[nth].entry;
    return true;
}

static bool is(size_t nth, epi_fake_cuda_kind_t kind,
               epi_fake_cuda_stage_t stage)
{
    epi_fake_cuda_entry_t entry;

    return epi_fake_cuda_log_entry(nth, &entry) && entry.kind == kind &&
           entry.stage == stage;
}

size_t epi_fake_cuda_log_find(size_t from, epi_fake_cuda_kind_t kind,
                              epi_fake_cuda_stage_t stage)
{
    size_t count = epi_fake_cuda_log_count();
    size_t i;

    for (i = from; i < count; i++) {
        if (is(i, kind, stage)) {
            return i;
        }
    }
    return SIZE_MAX;
}

size_t epi_fake_cuda_log_total(epi_fake_cuda_kind_t kind,
                               epi_fake_cuda_stage_t stage)
{
    size_t count = epi_fake_cuda_log_count();
    size_t total = 0;
    size_t i;

    for (i = 0; i < count; i++) {
        total += is(i, kind, stage) ? 1 : 0;
    }
    return total;
}

cudaError_t epi_fake_cuda_violation(cudaError_t error, const char *format, ...)
{
    char text[256];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    (void)atomic_fetch_add_explicit(&violations, 1, memory_order_relaxed);
    epi_log_error("fake cuda: %s", text);
    return error;
}

uint64_t epi_fake_cuda_violations(void)
{
    return atomic_load_explicit(&violations, memory_order_relaxed);
}
