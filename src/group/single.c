/* single.c: a group of one rank. Every collective is done when it is called. */
#include <stdlib.h>

#include "base/error.h"
#include "base/params.h"
#include "group/group.h"

static epdx_status_t single_min_u8(epdx_group_t *group, uint8_t *values,
                                   size_t count)
{
    (void)group;
    (void)values;
    (void)count;
    return EPDX_OK;
}

static epdx_status_t single_min_u64(epdx_group_t *group, uint64_t *values,
                                    size_t count)
{
    (void)group;
    (void)values;
    (void)count;
    return EPDX_OK;
}

static epdx_status_t single_broadcast(epdx_group_t *group, void *bytes,
                                      size_t count, uint32_t root)
{
    (void)group;
    (void)bytes;
    (void)count;
    if (root != 0) {
        return epi_fail(EPDX_ERR_INVALID,
                        "broadcast from rank %u in a group of one rank", root);
    }
    return EPDX_OK;
}

static epdx_status_t single_gather(epdx_group_t *group,
                                   const epi_gather_t *gathers, size_t count)
{
    (void)group;
    (void)gathers;
    (void)count;
    return EPDX_OK;
}

static void single_close(epdx_group_t *group)
{
    free(group);
}

static const epi_group_ops_t single_ops = {
    .min_u8 = single_min_u8,
    .min_u64 = single_min_u64,
    .broadcast = single_broadcast,
    .gather = single_gather,
    .close = single_close,
};

epdx_status_t epdx_group_single(epdx_group_t **group_p)
{
    epdx_status_t status = epi_given(group_p);
    epdx_group_t *group;

    if (status != EPDX_OK) {
        return status;
    }
    group = calloc(1, sizeof(*group));
    if (group == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY,
                        "no memory for a group of one rank");
    }
    group->ops = &single_ops;
    group->rank = 0;
    group->size = 1;
    *group_p = group;
    return EPDX_OK;
}
