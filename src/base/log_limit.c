/* log_limit.c: see log_limit.h. */
#include "base/log_limit.h"

#include <stddef.h>

/* Places looked at before a kind is not limited. */
#define PROBES 16

static epi_log_kind_t *kind_of(epi_log_limit_t *limit, const char *format)
{
    uintptr_t key = (uintptr_t)format;
    size_t at = (size_t)((key >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 40);

    for (size_t i = 0; i < PROBES; i++) {
        epi_log_kind_t *kind = &limit->kinds[(at + i) % EPI_LOG_KINDS];
        uintptr_t none = 0;

        if (atomic_load(&kind->format) == key ||
            atomic_compare_exchange_strong(&kind->format, &none, key) ||
            none == key) {
            return kind;
        }
    }
    return NULL;
}

epi_log_verdict_t epi_log_limit(epi_log_limit_t *limit, const char *format,
                                uint64_t now, uint32_t burst,
                                uint32_t *left_out_p)
{
    epi_log_kind_t *kind = burst == 0 ? NULL : kind_of(limit, format);
    uint64_t since;
    uint32_t count;

    *left_out_p = 0;
    if (kind == NULL) {
        return EPI_LOG_WRITE;
    }
    since = atomic_load(&kind->since_ns);
    if (since == 0 || now - since >= EPI_LOG_WINDOW_NS) {
        if (atomic_compare_exchange_strong(&kind->since_ns, &since, now)) {
            atomic_store(&kind->count, 0);
            *left_out_p = atomic_exchange(&kind->left_out, 0);
        }
    }
    count = atomic_fetch_add(&kind->count, 1) + 1;
    if (count <= burst) {
        return count == burst ? EPI_LOG_WRITE_LAST : EPI_LOG_WRITE;
    }
    atomic_fetch_add(&kind->left_out, 1);
    return EPI_LOG_LEAVE_OUT;
}
