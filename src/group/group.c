/* group.c: the public calls that every kind of group answers alike. */
#include "group/group.h"

uint32_t epdx_group_rank(const epdx_group_t *group)
{
    return group == NULL ? 0 : group->rank;
}

uint32_t epdx_group_size(const epdx_group_t *group)
{
    return group == NULL ? 0 : group->size;
}

void epdx_group_close(epdx_group_t *group)
{
    if (group != NULL) {
        group->ops->close(group);
    }
}
