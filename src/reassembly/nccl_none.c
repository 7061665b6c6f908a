/* nccl_none.c: built without NCCL: rows in CUDA memory cannot be rebuilt. Other
 * ranks may be built with it, so all of them learn of it together. */
#include "base/error.h"
#include "reassembly/reassembly.h"
#include "reassembly/same.h"

epdx_status_t epi_reassembly_nccl(epdx_group_t *group,
                                  const epi_reassembly_params_t *params,
                                  epi_reassembly_t **reassembly_p)
{
    const epi_same_t same = {0};
    epi_outcome_t prepared;
    uint64_t made = 0;

    (void)params;
    (void)reassembly_p;
    prepared = epi_outcome_of(
        epi_fail(EPDX_ERR_UNSUPPORTED,
                 "this library was built without nccl, which rebuilds row "
                 "shards in cuda memory: set EPDX_EMBEDDING_SHARD=0, or build "
                 "with -DEPDX_NCCL=ON"));
    return epi_same_agree(group, &same, &prepared, &made);
}
