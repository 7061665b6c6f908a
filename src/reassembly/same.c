/*
 * same.c: see same.h. NCCL's own start fails late, or hangs, where versions
 * differ. Values go into one MIN as (x, ~x), and with them the lowest rank that
 * is not prepared.
 */
#include "reassembly/same.h"

#include <inttypes.h>

#include "base/error.h"

/* As the header's NCCL_VERSION() codes it since 2.9; before: 1000 * major. */
static void split(uint64_t code, unsigned parts[3])
{
    unsigned scale = code < 10000 ? 1000 : 10000;

    parts[0] = (unsigned)(code / scale);
    parts[1] = (unsigned)(code % scale / 100);
    parts[2] = (unsigned)(code % 100);
}

static epdx_status_t other_version(uint64_t least, uint64_t most, uint64_t own)
{
    unsigned a[3], b[3], c[3];

    split(least, a);
    split(most, b);
    split(own, c);
    return epi_fail(EPDX_ERR_DISAGREE,
                    "nccl's version differs across ranks, from %u.%u.%u to "
                    "%u.%u.%u (here %u.%u.%u); every rank must load the same "
                    "library",
                    a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2]);
}

epdx_status_t epi_same_failed(const epi_outcome_t *outcome)
{
    if (outcome->status == EPDX_OK) {
        return EPDX_OK;
    }
    return epi_fail(outcome->status,
                    "rank %" PRIu32
                    " could not open reassembly by nccl: %.440s",
                    outcome->rank, outcome->reason);
}

epdx_status_t epi_same_agree(epdx_group_t *group, const epi_same_t *own,
                             epi_outcome_t *prepared, uint64_t *made_p)
{
    uint64_t version = (uint64_t)own->version;
    uint64_t given = own->given;
    uint64_t words[5] = {version, ~version, given, ~given,
                         prepared->status == EPDX_OK ? UINT64_MAX
                                                     : group->rank};
    epdx_status_t status;

    ++*made_p;
    status = group->ops->min_u64(group, words, 5);
    if (status != EPDX_OK) {
        return status;
    }
    if (words[4] != UINT64_MAX) {
        status = epi_outcome_share(group, (uint32_t)words[4], prepared, made_p);
        return status == EPDX_OK ? epi_same_failed(prepared) : status;
    }
    if (words[0] != ~words[1]) {
        return other_version(words[0], ~words[1], version);
    }
    if (words[2] != ~words[3]) {
        return epi_fail(EPDX_ERR_DISAGREE,
                        "nccl_comm is given on some ranks only (here %s); give "
                        "one on every rank or on none",
                        own->given ? "given" : "not given");
    }
    return EPDX_OK;
}
